package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

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

// CronCall asks for a fire of a scheduled job.
type CronCall struct {
	Data string `json:"data,omitempty" maxLength:"65536" doc:"What the agent is given with the prompt, marked as data; with it, once a minute"`
}

type fireCronInput struct {
	Name string `path:"name" maxLength:"256"`
	Body CronCall
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
	huma.Register(api, needs(pluginsdk.ScopeWork, post("fire-cron", path+"/fire", "Have a scheduled job fire now, also one that is off", http.StatusAccepted)), h.fireCron)
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
	if spec.Schedule != "" {
		of := map[string]string{"schedule": spec.Schedule, "timezone": spec.Timezone, "except": spec.Except, "hours": spec.Hours}
		if !spec.Until.IsZero() {
			of["until"] = spec.Until.UTC().Format(time.RFC3339)
		}
		var wrong string
		if next, wrong = h.nextTimes(ctx, of); wrong != "" {
			return nil, invalid("spec.schedule", wrong)
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

func (h *handlers) fireCron(ctx context.Context, input *fireCronInput) (*fireCronOutput, error) {
	answer, err := h.host.Crons.Fire(ctx, &pluginsdk.FireCronRequest{Name: input.Name, Data: input.Body.Data})
	if err != nil {
		return nil, h.fail("fire-cron", err)
	}
	return &fireCronOutput{Body: answer.Fire}, nil
}
