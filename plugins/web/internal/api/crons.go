package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

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
	}
}

type cronInput struct {
	Name string `path:"name" maxLength:"256"`
}

type cronOutput struct{ Body Cron }

// Cron is a scheduled job, with when it is due.
type Cron struct {
	pluginsdk.CronJob
	Next []time.Time `json:"next,omitempty" doc:"The next five times at which it is due; absent when nobody fires schedules"`
}

// CronSave is what a scheduled job is to be.
type CronSave struct {
	Spec    pluginsdk.CronSpec `json:"spec" doc:"Durations are in nanoseconds. Its name is that of the path"`
	Enabled *bool              `json:"enabled,omitempty" doc:"Whether it is on; absent: one that is made is, and one that there is stays as it is"`
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
	output.Body.Crons, output.Body.More = list(answer.Jobs), answer.More
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
	next, _ := h.nextTimes(ctx, map[string]string{"name": job.Spec.Name}) // what cannot be fired says so in its result
	return &cronOutput{Body: Cron{CronJob: job, Next: next}}, nil
}

// nextTimes asks when a schedule is due, or would be. wrong says what is wrong with it.
func (h *handlers) nextTimes(ctx context.Context, of map[string]string) (next []time.Time, wrong string) {
	input, err := json.Marshal(of)
	if err != nil {
		return nil, ""
	}
	answer, err := h.host.Tools.Call(ctx, &pluginsdk.InvokeToolRequest{Name: nextTool, Input: input})
	if err != nil {
		return nil, "" // nobody fires schedules
	}
	if answer.Result.IsError {
		return nil, answer.Result.Text
	}
	var times struct{ Next []time.Time }
	if json.Unmarshal(answer.Result.Structured, &times) != nil {
		return nil, ""
	}
	return times.Next, ""
}

// saveCron refuses a time that the plugin which fires schedules cannot read: else it would be saved, and
// never fire.
func (h *handlers) saveCron(ctx context.Context, input *saveCronInput) (*cronOutput, error) {
	spec := input.Body.Spec
	if spec.Name != input.Name {
		return nil, invalid("spec.name", "expected the name of the path: a scheduled job is not renamed")
	}
	var next []time.Time
	if spec.Schedule != "" || spec.Trigger != "" && spec.OneCause() {
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
		var wrong string
		if next, wrong = h.nextTimes(ctx, of); wrong != "" {
			return nil, invalid("spec."+what, wrong)
		}
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
	return &cronOutput{Body: Cron{CronJob: answer.Job, Next: next}}, nil
}

func (h *handlers) switchCron(ctx context.Context, input *switchCronInput) (*cronOutput, error) {
	answer, err := h.host.Crons.SetEnabled(ctx, &pluginsdk.SetCronEnabledRequest{Name: input.Name, Enabled: input.Body.Enabled})
	if err != nil {
		return nil, h.fail("switch-cron", err)
	}
	return &cronOutput{Body: Cron{CronJob: answer.Job}}, nil
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
