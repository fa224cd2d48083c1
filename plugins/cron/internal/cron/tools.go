package cron

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The tools. Their names are those of behaviour's commands, so that an agent finds them.
const (
	toolList    = "cron_list"
	toolCreate  = "cron_create"
	toolUpdate  = "cron_update"
	toolDelete  = "cron_delete"
	toolToggle  = "cron_toggle"
	toolHistory = "cron_history"
	toolNext    = "cron_next"
	toolNotify  = "notify"

	urgent = "high"
)

func tools() []pluginsdk.ToolSpec {
	const (
		jobName = `"name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The schedule's name, as people will see it"}`
		which   = `"name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The name of a schedule that there is"}`
		clock   = `"schedule": {"type": "string", "maxLength": 200, "description": "When, again and again: a cron expression of five fields (minute hour day-of-month month day-of-week), such as 0 9 * * mon-fri"},
			"at": {"type": "string", "maxLength": 40, "description": "When, once: a time such as 2026-12-24 17:00, by the clock of the timezone"}`
		timing = clock + `, "trigger": {"enum": ["task", "task:completed", "task:failed", "task:cancelled"], "description": "Instead of a time: whenever a task has ended (so). You are told which"}`
		zone   = `"timezone": {"type": "string", "maxLength": 80, "description": "IANA name of the person's timezone, such as America/Phoenix"}`
		prompt = `"prompt": {"type": "string", "minLength": 1, "maxLength": 60000, "description": "What you are told when it is due. You will not know this conversation then: say all that you will need"}`
		limits = `"missed": {"enum": ["run", "skip"], "description": "What becomes of a time that passes while the daemon is down: run it once later (the default), or skip it"},
			"overlap": {"enum": ["skip", "queue", "cancel"], "description": "What becomes of a time while the run before still goes on: it is skipped (the default), waits, or ends that run"},
			"except": {"type": "string", "maxLength": 4000, "description": "Days on which it is not due, with commas between them: sat, 2026-12-24, 12-24 (of every year), 2026-12-24..2027-01-02"},
			"hours": {"type": "string", "maxLength": 20, "description": "The part of the day in which it may be due, such as 08:00-18:00"},
			"until": {"type": "string", "maxLength": 40, "description": "The last time at which it may be due"},
			"report": {"enum": ["always", "on_notify", "never"], "description": "What of its runs the person is shown: what you answer (the default); only what you give to the tool notify, for a watch that is to be silent until there is something; or nothing"},
			"if_room": {"type": "boolean", "description": "It fires only while the person's plan has room"},
			"keep": {"type": "string", "maxLength": 20, "description": "How long the history of its times is kept, such as 30d or 48h; left out: about 90 days"},
			"cost_cap": {"type": "number", "minimum": 0, "description": "What each run may cost, in USD"}`
	)
	spec := func(name, description, required string, properties ...string) pluginsdk.ToolSpec {
		return pluginsdk.ToolSpec{Name: name, Description: description, InputSchema: json.RawMessage(
			`{"type": "object", "additionalProperties": false, "required": [` + required + `], "properties": {` + strings.Join(properties, ", ") + `}}`)}
	}
	return []pluginsdk.ToolSpec{
		spec(toolList, "The schedules that there are, with when each is due next and what became of it last.", ``),
		spec(toolCreate, "Make a schedule: a prompt that you are given again and again, or once (a reminder). What you then say goes to where this thread's answers go. The person is told of it.",
			`"name", "timezone", "prompt"`, jobName, timing, zone, prompt, limits),
		spec(toolUpdate, "Change a schedule. What is left out stays as it is.", `"name"`, which, timing, zone, prompt, limits),
		spec(toolDelete, "Remove a schedule.", `"name"`, which),
		spec(toolToggle, "Turn a schedule on or off.", `"name", "enabled"`, which, `"enabled": {"type": "boolean"}`),
		spec(toolNext, "The next times at which a schedule is due, or would be: of one that there is (name), or of a time that you have in mind.", ``, which, clock, zone,
			`"trigger": {"type": "string", "maxLength": 16384}`,
			`"except": {"type": "string", "maxLength": 4000}, "hours": {"type": "string", "maxLength": 20}, "until": {"type": "string", "maxLength": 40}`, `"count": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many; 5 when it is left out"}`),
		spec(toolNotify, "Tell people something from the run of a schedule. In a schedule whose answers nobody reads this is all that they get.", `"text"`,
			`"text": {"type": "string", "minLength": 1, "maxLength": 20000, "description": "What they are to know"}`,
			`"urgency": {"enum": ["low", "normal", "high"], "description": "How soon they have to know it"}`),
		spec(toolHistory, "What became of the times at which a schedule was due, the newest first.", `"name"`, which),
	}
}

// input is what the tools are called with.
type input struct {
	Name     string  `json:"name"`
	Schedule *string `json:"schedule"`
	At       *string `json:"at"`
	Trigger  *string `json:"trigger"`
	Timezone *string `json:"timezone"`
	Prompt   *string `json:"prompt"`
	Missed   *string `json:"missed"`
	Overlap  *string `json:"overlap"`
	Except   *string `json:"except"`
	Hours    *string `json:"hours"`
	Until    *string `json:"until"`
	Enabled  *bool   `json:"enabled"`
	Count    int     `json:"count"`

	Report  *string  `json:"report"`
	IfRoom  *bool    `json:"if_room"`
	CostCap *float64 `json:"cost_cap"`
	Keep    *string  `json:"keep"`

	Text    string `json:"text"`
	Urgency string `json:"urgency"`
}

// CallTool answers the tools. What the agent can correct is an error result.
func (p *Plugin) CallTool(ctx context.Context, call *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	var in input
	if len(bytes.TrimSpace(call.Input)) > 0 {
		if err := json.Unmarshal(call.Input, &in); err != nil {
			return wrong(pluginsdk.Errorf(pluginsdk.CodeInvalid, "input: %w", err))
		}
	}
	var result pluginsdk.ToolResult
	var err error
	if call.Name == toolNext {
		result, err = p.nextResult(ctx, call, in)
	} else {
		result.Text, err = p.call(ctx, call, in)
	}
	if err != nil {
		return wrong(err)
	}
	return &pluginsdk.CallToolResponse{Result: result}, nil
}

// nextResult lists times in words, and for programs.
func (p *Plugin) nextResult(ctx context.Context, call *pluginsdk.CallToolRequest, in input) (result pluginsdk.ToolResult, err error) {
	if err := p.may(ctx, call); err != nil {
		return result, err
	}
	job := pluginsdk.CronJob{Spec: pluginsdk.CronSpec{Name: "it", Prompt: "x"}, Enabled: true}
	if in.Name == "" {
		if err = in.put(&job.Spec); err == nil {
			err = check(job.Spec, p.now())
		}
	} else {
		job, err = p.named(ctx, in.Name)
	}
	if err != nil {
		return result, err
	}
	if result.Text, err = p.nextWords(job, in.Count); err != nil {
		return result, err
	}
	times, err := p.next(job, min(cmp.Or(in.Count, shownNext), mostNext))
	if err != nil {
		return result, err
	}
	result.Structured, err = json.Marshal(map[string]any{"next": times, "confirmed": confirmed(job)})
	return result, err
}

// wrong is the result of a call that came to nothing. That the host does not answer is no mistake
// of the agent's.
func wrong(err error) (*pluginsdk.CallToolResponse, error) {
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others say what was wrong
	case pluginsdk.CodeUnavailable, pluginsdk.CodeDeadline, pluginsdk.CodeCancelled, pluginsdk.CodeInternal:
		return nil, err
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: err.Error(), IsError: true}}, nil
}

func (p *Plugin) call(ctx context.Context, call *pluginsdk.CallToolRequest, in input) (string, error) {
	if call.Name == toolNotify {
		return p.notify(ctx, call, in)
	}
	if err := p.may(ctx, call); err != nil {
		return "", err
	}
	switch call.Name {
	case toolList:
		return p.list(ctx)
	case toolCreate:
		return p.create(ctx, call, in)
	case toolUpdate, toolDelete, toolToggle, toolHistory:
	default:
		return "", pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no tool %q", call.Name)
	}
	find := p.exactly
	if call.Name == toolHistory {
		find = p.named
	}
	job, err := find(ctx, in.Name)
	if err != nil {
		return "", err
	}
	switch call.Name {
	case toolHistory:
		return p.historyWords(ctx, job, 0)
	case toolDelete:
		if _, err := p.host.Crons.Delete(ctx, &pluginsdk.DeleteCronRequest{Name: job.Spec.Name}); err != nil {
			return "", err
		}
		p.announce(ctx, call, job, fmt.Sprintf("The agent has removed the schedule %s (%s, %s). It was told: %s",
			job.Spec.Name, whenWords(job.Spec), job.Spec.Timezone, promptWords(job.Spec.Prompt)))
		return "The schedule " + job.Spec.Name + " is removed.", nil
	case toolToggle:
		if in.Enabled == nil {
			return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "enabled: true or false is needed")
		}
		was := job.Enabled
		if job, err = p.toggle(ctx, job.Spec.Name, *in.Enabled); err != nil {
			return "", err
		}
		if was && !job.Enabled {
			p.announce(ctx, call, job, fmt.Sprintf("The agent has turned off the schedule %s (%s, %s).", job.Spec.Name, whenWords(job.Spec), job.Spec.Timezone))
		}
		if job.Enabled && !was {
			p.announce(ctx, call, job, fmt.Sprintf("The agent has turned on the schedule %s (%s, %s). It will be told: %s",
				job.Spec.Name, whenWords(job.Spec), job.Spec.Timezone, promptWords(job.Spec.Prompt)))
		}
	default:
		spec := job.Spec
		if err := in.put(&spec); err != nil {
			return "", err
		}
		was := job.Spec
		if job, err = p.saveByAgent(ctx, spec, job); err != nil {
			return "", err
		}
		if words := changeWords(was, job.Spec); words != "" {
			p.announce(ctx, call, job, "The agent has changed the schedule "+job.Spec.Name+":"+words)
		}
	}
	return p.told(ctx, job, map[string]string{toolUpdate: "is changed", toolToggle: "is " + map[bool]string{true: "on", false: "off"}[job.Enabled]}[call.Name])
}

// may refuses a call of an agent that is not to know of schedules, or not to change them: what it
// makes runs with all that the agent of the owner knows, for as long as nobody looks.
func (p *Plugin) may(ctx context.Context, call *pluginsdk.CallToolRequest) error {
	reads := call.Name == toolList || call.Name == toolHistory || call.Name == toolNext
	if call.TaskID != "" && !reads {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "a task may not make or change schedules: say in your result what should be scheduled")
	}
	switch {
	case call.ThreadID == "" && call.Call.RunID == "": // an operator calls
		return nil
	case call.ThreadID == "":
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "a turn that is part of no conversation does not see or change schedules")
	}
	answer, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: call.ThreadID})
	switch {
	case err != nil:
		return err
	case answer.Thread.Apart:
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "schedules are not for a thread apart: its people are not to know what the workspace holds")
	case answer.Thread.Kind == pluginsdk.ThreadCron && !reads:
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "a schedule may not make or change schedules: say what should be scheduled, and a person decides")
	}
	return nil
}

// mostJobs is how many schedules there may be for an agent to make another.
const mostJobs = 100

// create makes a job whose words go to where those of the calling thread go.
func (p *Plugin) create(ctx context.Context, call *pluginsdk.CallToolRequest, in input) (string, error) {
	jobs, err := p.jobs(ctx)
	if err != nil {
		return "", err
	}
	if find(jobs, in.Name) != nil {
		return "", pluginsdk.Errorf(pluginsdk.CodeConflict, "there is a schedule %q already: choose another name, or change it with %s", in.Name, toolUpdate)
	}
	if len(jobs) >= mostJobs {
		return "", pluginsdk.Errorf(pluginsdk.CodeExhausted, "there are %d schedules, and an agent makes no more than %d: ask the person which to remove", len(jobs), mostJobs)
	}
	spec := pluginsdk.CronSpec{Name: in.Name, Missed: pluginsdk.MissedRun}
	if call.ThreadID != "" {
		spec.ReportTo = pluginsdk.Target{ThreadID: call.ThreadID}
	}
	if err := in.put(&spec); err != nil {
		return "", err
	}
	job, err := p.save(ctx, spec, true)
	if err != nil {
		return "", err
	}
	p.announce(ctx, call, job, fmt.Sprintf("The agent has made the schedule %s (%s, %s). It will be told: %s",
		job.Spec.Name, whenWords(job.Spec), job.Spec.Timezone, promptWords(job.Spec.Prompt)))
	return p.told(ctx, job, "is made, and on")
}

// told says what became of a job, and when it is due next.
func (p *Plugin) told(ctx context.Context, job pluginsdk.CronJob, became string) (string, error) {
	times, err := p.nextWords(job, shownNext)
	return "The schedule " + job.Spec.Name + " " + became + ". " + times + p.fileWords(ctx, job.Spec), err
}

func whenWords(spec pluginsdk.CronSpec) string {
	if !spec.FireAt.IsZero() {
		return "once, " + moment(spec.FireAt, spec)
	}
	if spec.Trigger != "" {
		return "on " + spec.Trigger
	}
	return spec.Schedule
}

// put puts what is given into a specification.
func (in input) put(spec *pluginsdk.CronSpec) (err error) {
	for _, one := range []struct {
		from *string
		to   *string
	}{{in.Timezone, &spec.Timezone}, {in.Prompt, &spec.Prompt}, {in.Except, &spec.Except}, {in.Hours, &spec.Hours}} {
		if one.from != nil {
			*one.to = *one.from
		}
	}
	if in.Missed != nil {
		spec.Missed = pluginsdk.MissedPolicy(*in.Missed)
	}
	if in.Overlap != nil {
		spec.Overlap = pluginsdk.OverlapPolicy(*in.Overlap)
	}
	if in.Report != nil {
		spec.Report = pluginsdk.CronReport(*in.Report)
	}
	if in.IfRoom != nil {
		spec.IfRoom = *in.IfRoom
	}
	if in.CostCap != nil {
		spec.CostCapUSD = *in.CostCap
	}
	if in.Keep != nil {
		if spec.Keep, err = parseDuration(*in.Keep); err != nil {
			return err
		}
	}
	if in.Until != nil {
		if spec.Until, err = parseTime(*in.Until, spec.Timezone); err != nil {
			return err
		}
	}
	switch {
	case in.Schedule != nil && in.At != nil || in.Trigger != nil && (in.Schedule != nil || in.At != nil):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "schedule, at, trigger: only one of them")
	case in.Trigger != nil:
		spec.Schedule, spec.FireAt, spec.Trigger = "", time.Time{}, *in.Trigger
	case in.Schedule != nil:
		spec.Schedule, spec.FireAt, spec.Trigger = *in.Schedule, time.Time{}, ""
	case in.At != nil:
		spec.Schedule, spec.Trigger = "", ""
		spec.FireAt, err = parseTime(*in.At, spec.Timezone)
	}
	return err
}
