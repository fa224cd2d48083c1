package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/plugins/internal/schedules"
	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// nextTool tells when a schedule is due. The plugin that fires schedules knows that; without it nothing does.
const nextTool = "cron__cron_next"

type cronsInput struct {
	After string `query:"after" maxLength:"256" doc:"Name of the last job of the page before"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most of a page"`
}

type cronsOutput struct {
	Body struct {
		Crons []pluginsdk.CronJob `json:"crons" nullable:"false"`
		More  bool                `json:"more" doc:"There are jobs after the last one"`
		Fired bool                `json:"fired" doc:"Somebody fires them: the plugin cron is enabled, or another that may"`
	}
}

type cronInput struct {
	Name string `path:"name" maxLength:"256"`
}

type cronOutput struct{ Body Cron }

// Cron is a scheduled job, with when it is due.
type Cron struct {
	pluginsdk.CronJob
	Next      []time.Time `json:"next,omitempty" doc:"The next five times at which it is due; absent when nobody fires schedules"`
	Fired     bool        `json:"fired" doc:"Somebody fires schedules: the plugin cron is enabled, or another that may"`
	Version   string      `json:"version" doc:"A checksum of spec, by which what was seen is confirmed and changed"`
	Confirmed *bool       `json:"confirmed,omitempty" doc:"False: it does not fire, for somebody else than an operator has set its when, model, permissionMode, tools or file, or the prompt or cap that they are for; absent when the plugin cron does not answer"`
}

// CronSave is what a scheduled job is to be.
type CronSave struct {
	Spec    CronWanted `json:"spec" doc:"Durations are in nanoseconds. Its name is that of the path"`
	Enabled *bool      `json:"enabled,omitempty" doc:"Whether it is on; absent: one that is made is, and one that there is stays as it is"`
	Version string     `json:"version,omitempty" maxLength:"64" doc:"The version that was seen: 409 when the job has another by now; absent: whatever it has"`
}

// CronWanted is a specification as it is sent: its name may be left out, which is that of the path, and so may what
// becomes of missed times (run).
type CronWanted pluginsdk.CronSpec

// TransformSchema takes out of what is demanded what may be left out.
func (CronWanted) TransformSchema(_ huma.Registry, schema *huma.Schema) *huma.Schema {
	schema.Required = slices.DeleteFunc(schema.Required, func(name string) bool { return name == "name" || name == "missed" })
	return schema
}

// CronConfirm names what is confirmed.
type CronConfirm struct {
	Version string `json:"version" minLength:"1" maxLength:"64" pattern:"^[0-9a-f]+$" doc:"The version that was seen: nothing else is confirmed"`
}

type confirmCronInput struct {
	Name string `path:"name" maxLength:"256"`
	Body CronConfirm
}

type saveCronInput struct {
	Name string `path:"name" maxLength:"256"`
	Body CronSave
}

// CronSwitch turns a scheduled job on or off.
type CronSwitch struct {
	Enabled bool `json:"enabled"`
}

type switchCronInput struct {
	Name string `path:"name" maxLength:"256"`
	Body CronSwitch
}

const (
	firePath = "/api/crons/{name}/fire"
	fireCron = "fire-cron"
	// maxCronData is bytes of a request that has a scheduled job fire.
	maxCronData = pluginsdk.MaxCronText
	// callEvery is how many seconds pass between two fires with data.
	callEvery = "60"
	// noData is what the agent is given when a token for one job sends nothing: such a call counts as one with data.
	noData = "(The request had no body.)"
)

type fireCronInput struct {
	Name string `path:"name" maxLength:"256"`

	body []byte // whatever JSON it is
}

// Resolve keeps the body, which has arrived whole by then.
func (i *fireCronInput) Resolve(ctx huma.Context) (wrong []error) {
	body, err := io.ReadAll(ctx.BodyReader())
	if err != nil {
		return []error{err}
	}
	i.body = body
	return nil
}

type fireCronOutput struct{ Body pluginsdk.CronFire }

type cronFiresInput struct {
	Name   string    `path:"name" maxLength:"256"`
	Before time.Time `query:"before" doc:"When the last fire of the page before was due"`
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most of a page"`
}

type cronFiresOutput struct {
	Body struct {
		Fires []pluginsdk.CronFire `json:"fires" nullable:"false"`
		More  bool                 `json:"more" doc:"There are older ones"`
	}
}

func (h *handlers) registerCrons(api huma.API) {
	const path = "/api/crons/{name}"
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-crons", "/api/crons", "Scheduled jobs, by name")), h.listCrons)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("get-cron", path, "A scheduled job, and when it is due")), h.getCron)
	huma.Register(api, needs(pluginsdk.ScopeWork, put("save-cron", path, "Make a scheduled job, or say what it is to be")), h.saveCron)
	huma.Register(api, needs(pluginsdk.ScopeWork, patch("switch-cron", path, "Turn a scheduled job on or off")), h.switchCron)
	huma.Register(api, needs(pluginsdk.ScopeWork, remove("delete-cron", path, "Remove a scheduled job; its history stays")), h.deleteCron)
	confirm := post("confirm-cron", path+"/confirm", "Confirm what a scheduled job may do beyond others", http.StatusOK)
	confirm.Description = "Of a job that has a command (when), a model, a permission mode, tools or a file which were not set by an operator, or another prompt or cap since, it says that they are wanted; until then the job does not fire."
	huma.Register(api, needs(pluginsdk.ScopeAdmin, confirm), h.confirmCron)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-cron-fires", path+"/fires", "What became of the times at which a scheduled job was due, newest first")), h.listCronFires)
	fire := post(fireCron, firePath, "Have a scheduled job fire now, also one that is off", http.StatusAccepted)
	fire.Description = "The body, JSON of at most 64 KiB, is what the agent is given with the prompt, marked as data; with data a job fires once a minute, and while it is on. " +
		"Of a body that has nothing but a text data, that is the data; without a body, or with an empty object, there is none. " +
		"A token of the scope cron:NAME may have that one job fire, and nothing else; without data it fires once a minute, too."
	huma.Register(api, needs(pluginsdk.ScopeWork, fire), h.fireCron)
	api.OpenAPI().Paths[firePath].Post.RequestBody = &huma.RequestBody{ // after it: the handler reads the body itself
		Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Description: "Any JSON"}}},
	}
}

func (h *handlers) listCrons(ctx context.Context, input *cronsInput) (*cronsOutput, error) {
	answer, err := h.host.Crons.List(ctx, &pluginsdk.ListCronsRequest{After: input.After, Limit: input.Limit})
	if err != nil {
		return nil, h.fail("list-crons", err)
	}
	output := &cronsOutput{}
	output.Body.Crons, output.Body.More, output.Body.Fired = list(answer.Jobs), answer.More, h.fired(ctx)
	return output, nil
}

// cron finds a job by its name.
func (h *handlers) cron(ctx context.Context, name string) (pluginsdk.CronJob, error) {
	for after := ""; ; {
		page, err := h.host.Crons.List(ctx, &pluginsdk.ListCronsRequest{After: after, Limit: 1000})
		if err != nil {
			return pluginsdk.CronJob{}, err
		}
		for _, job := range page.Jobs {
			if after = job.Spec.Name; after == name {
				return job, nil
			}
		}
		if !page.More || len(page.Jobs) == 0 {
			return pluginsdk.CronJob{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no scheduled job has the name %q", name)
		}
	}
}

func (h *handlers) getCron(ctx context.Context, input *cronInput) (*cronOutput, error) {
	job, err := h.cron(ctx, input.Name)
	if err != nil {
		return nil, h.fail("get-cron", err)
	}
	return &cronOutput{Body: h.shown(ctx, job)}, nil
}

// shown is a job with what the plugin that fires it says of it.
func (h *handlers) shown(ctx context.Context, job pluginsdk.CronJob) Cron {
	times := h.nextTimes(ctx, map[string]string{"name": job.Spec.Name}) // what cannot be fired says so in its result
	return Cron{CronJob: job, Next: times.Next, Confirmed: times.Confirmed, Fired: h.fired(ctx), Version: schedules.Version(job.Spec)}
}

// due is when a schedule is due, or would be.
type due struct {
	Next      []time.Time
	Confirmed *bool
	wrong     string // what is wrong with the schedule; empty: nothing, or nobody knows
}

// nextTimes asks when a schedule is due, or would be. Nobody knows where nobody fires schedules.
func (h *handlers) nextTimes(ctx context.Context, of map[string]string) (found due) {
	input, err := json.Marshal(of)
	if err != nil {
		return found
	}
	answer, err := h.host.Tools.Call(ctx, &pluginsdk.InvokeToolRequest{Name: nextTool, Input: input})
	if err != nil {
		return found
	}
	if answer.Result.IsError {
		return due{wrong: answer.Result.Text}
	}
	if json.Unmarshal(answer.Result.Structured, &found) != nil {
		return due{}
	}
	return found
}

// nobodyFires is said where something is asked of schedules that nobody fires.
const nobodyFires = "schedules do not run: the plugin cron is off; `harness plugin enable cron` turns it on"

// fired reports whether somebody fires scheduled jobs: a plugin that is enabled and may, but this one. What cannot be known
// is taken for so.
func (h *handlers) fired(ctx context.Context) bool {
	plugins, err := h.allPlugins(ctx)
	return err != nil || slices.ContainsFunc(plugins, func(plugin pluginsdk.PluginInfo) bool {
		return plugin.Enabled && plugin.Name != "web" && slices.Contains(plugin.Granted, pluginsdk.CapCronsWrite)
	})
}

// saveCron refuses what the plugin that fires schedules would not make of a command, such as a time that it cannot read: else
// the job would be saved, and never fire.
func (h *handlers) saveCron(ctx context.Context, input *saveCronInput) (*cronOutput, error) {
	spec := pluginsdk.CronSpec(input.Body.Spec)
	if spec.Name == "" {
		spec.Name = input.Name
	}
	if spec.Missed == "" {
		spec.Missed = pluginsdk.MissedRun
	}
	if err := h.checkCron(ctx, input.Name, spec); err != nil {
		return nil, err
	}
	times, err := h.checkTimes(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := h.stillSeen(ctx, input.Name, input.Body.Version); err != nil {
		return nil, err
	}
	on := input.Body.Enabled == nil || *input.Body.Enabled
	answer, err := h.host.Crons.Save(ctx, &pluginsdk.SaveCronRequest{Spec: spec, Enabled: on})
	if err == nil && input.Body.Enabled != nil && answer.Job.Enabled != on {
		var switched *pluginsdk.SetCronEnabledResponse
		if switched, err = h.host.Crons.SetEnabled(ctx, &pluginsdk.SetCronEnabledRequest{Name: spec.Name, Enabled: on}); err == nil {
			answer.Job = switched.Job
		}
	}
	if err != nil {
		return nil, h.fail("save-cron", err)
	}
	saved := h.shown(ctx, answer.Job)
	if times.Next != nil {
		saved.Next = times.Next
	}
	return &cronOutput{Body: saved}, nil
}

// checkCron refuses a job that would be refused as a command, too.
func (h *handlers) checkCron(ctx context.Context, name string, spec pluginsdk.CronSpec) error {
	if spec.Name != name {
		return invalid("spec.name", "expected the name of the path: a scheduled job is not renamed")
	}
	if _, _, command := pluginsdk.ParseCommand(spec.Prompt); command {
		return invalid("spec.prompt", "expected a prompt that does not begin with /NAME: a schedule gives the agent a prompt, and no command")
	}
	if strings.TrimSpace(spec.Prompt) == "" {
		return invalid("spec.prompt", "expected what the agent is told when it is due")
	}
	if now := time.Now(); !spec.FireAt.IsZero() && !spec.FireAt.After(now) {
		return invalid("spec.fireAt", spec.FireAt.Format(time.RFC3339)+" has passed already: it is "+now.In(spec.FireAt.Location()).Format(time.RFC3339))
	}
	if spec.ThreadID == "" {
		return nil
	}
	_, err := h.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: spec.ThreadID})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return invalid("spec.threadId", "no thread has the id "+strconv.Quote(spec.ThreadID))
	}
	if err != nil {
		return h.fail("save-cron", err)
	}
	return nil
}

// checkTimes has the times of a job read by the plugin that fires schedules. It says what is wrong at the field that it is about.
func (h *handlers) checkTimes(ctx context.Context, spec pluginsdk.CronSpec) (due, error) {
	if !spec.OneCause() || !spec.FireAt.IsZero() {
		return due{}, nil
	}
	of := map[string]string{"timezone": spec.Timezone, "except": spec.Except, "hours": spec.Hours}
	what := "schedule"
	if of[what] = spec.Schedule; spec.Schedule == "" {
		delete(of, what)
		what = "trigger"
		of[what] = spec.Trigger
	}
	if !spec.Until.IsZero() {
		of["until"] = spec.Until.UTC().Format(time.RFC3339)
	}
	times := h.nextTimes(ctx, of)
	if times.wrong == "" {
		return times, nil
	}
	for _, field := range []string{"timezone", "except", "hours", "until"} {
		if strings.HasPrefix(times.wrong, field+" ") || strings.HasPrefix(times.wrong, field+":") {
			what = field
		}
	}
	return times, invalid("spec."+what, times.wrong)
}

// stillSeen refuses a change of a job that is not the one any more that was seen.
func (h *handlers) stillSeen(ctx context.Context, name, version string) error {
	if version == "" {
		return nil
	}
	job, err := h.cron(ctx, name)
	switch {
	case err != nil:
		return h.fail("save-cron", err)
	case schedules.Version(job.Spec) != version:
		return huma.Error409Conflict("the scheduled job " + strconv.Quote(name) + " was changed since you have seen it; look at it again, and change it then")
	}
	return nil
}

// confirmCron gives the command in the name of who asks: the plugin takes it from people alone, and from operators.
func (h *handlers) confirmCron(ctx context.Context, input *confirmCronInput) (*cronOutput, error) {
	const operation = "confirm-cron"
	job, err := h.cron(ctx, input.Name)
	if err != nil {
		return nil, h.fail(operation, err)
	}
	if schedules.Version(job.Spec) != input.Body.Version {
		return nil, huma.Error409Conflict("the scheduled job " + strconv.Quote(input.Name) + " was changed since you have seen it; look at it again, and confirm it then")
	}
	name := job.Spec.Name
	if job.Spec.CheckName() != nil { // it was written by SQL: in quotes it is one line, and no other name
		name = strconv.Quote(name)
	}
	if err := h.typeCommand(ctx, operation, "/cron confirm "+name+" | "+input.Body.Version, nobodyFires, huma.Error409Conflict); err != nil {
		return nil, err
	}
	if job, err = h.cron(ctx, input.Name); err != nil {
		return nil, h.fail(operation, err)
	}
	return &cronOutput{Body: h.shown(ctx, job)}, nil
}

func (h *handlers) switchCron(ctx context.Context, input *switchCronInput) (*cronOutput, error) {
	answer, err := h.host.Crons.SetEnabled(ctx, &pluginsdk.SetCronEnabledRequest{Name: input.Name, Enabled: input.Body.Enabled})
	if err != nil {
		return nil, h.fail("switch-cron", err)
	}
	return &cronOutput{Body: h.shown(ctx, answer.Job)}, nil
}

func (h *handlers) deleteCron(ctx context.Context, input *cronInput) (*struct{}, error) {
	if _, err := h.host.Crons.Delete(ctx, &pluginsdk.DeleteCronRequest{Name: input.Name}); err != nil {
		return nil, h.fail("delete-cron", err)
	}
	return &struct{}{}, nil
}

func (h *handlers) listCronFires(ctx context.Context, input *cronFiresInput) (*cronFiresOutput, error) {
	answer, err := h.host.Crons.Fires(ctx, &pluginsdk.CronFiresRequest{Name: input.Name, Before: input.Before, Limit: input.Limit})
	if err != nil {
		return nil, h.fail("list-cron-fires", err)
	}
	output := &cronFiresOutput{}
	output.Body.Fires, output.Body.More = list(answer.Fires), answer.More
	return output, nil
}

// fireCron has a job fire. Data is told to be sent in a minute again when there were data lately.
func (h *handlers) fireCron(ctx context.Context, input *fireCronInput) (*fireCronOutput, error) {
	data, err := dataOf(input.body)
	if err != nil {
		return nil, err
	}
	if data == "" && access.From(ctx).Token.Scope.Cron() != "" {
		data = noData
	}
	if !h.fired(ctx) { // it would stay until somebody does
		if _, err := h.cron(ctx, input.Name); err != nil {
			return nil, h.fail(fireCron, err)
		}
		return nil, huma.Error409Conflict(nobodyFires)
	}
	answer, err := h.host.Crons.Fire(ctx, &pluginsdk.FireCronRequest{Name: input.Name, Data: data})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeExhausted {
		return nil, huma.ErrorWithHeaders(huma.NewError(http.StatusTooManyRequests, err.Error()), http.Header{"Retry-After": {callEvery}})
	}
	if err != nil {
		return nil, h.fail(fireCron, err)
	}
	return &fireCronOutput{Body: answer.Fire}, nil
}

// dataOf returns the data that a body has for a scheduled job: the text of its only field data, nothing of one
// without a field, and else the body as it is, which a program elsewhere has written for nobody in particular.
func dataOf(body []byte) (string, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return "", nil
	}
	if !json.Valid(body) {
		return "", huma.Error400BadRequest("the body is no JSON")
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || len(fields) > 1 {
		return strings.ToValidUTF8(string(body), "\uFFFD"), nil
	}
	var only string
	if given, ok := fields["data"]; len(fields) == 0 || ok && json.Unmarshal(given, &only) == nil {
		return only, nil
	}
	return strings.ToValidUTF8(string(body), "\uFFFD"), nil
}
