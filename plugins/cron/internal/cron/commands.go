package cron

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const usage = "list | show NAME | next NAME [N] | history NAME [N] | on NAME | off NAME | run NAME | rm NAME | " +
	"add NAME | SCHEDULE | TIMEZONE | PROMPT | edit NAME | FIELD = VALUE ... | confirm NAME | backfill NAME | FROM | TO"

func commands() []pluginsdk.CommandSpec {
	return []pluginsdk.CommandSpec{{
		Name: name, Scope: pluginsdk.ScopeWork, Beside: true, Description: "scheduled jobs: what there is, what became of it, on and off", Usage: usage,
		Options: []pluginsdk.CommandOption{
			{Name: "from", Description: "for backfill: the first time, such as 2026-11-02 00:00", Type: pluginsdk.OptionText, Named: true},
			{Name: "to", Description: "for backfill: the last time", Type: pluginsdk.OptionText, Named: true},
			{Name: "what", Description: "what to do", Type: pluginsdk.OptionChoice, Choices: []string{"list", "show", "next", "history", "on", "off", "run", "rm", "add", "edit", "confirm", "backfill"}},
			{Name: "schedule", Description: "its name; for add: NAME | SCHEDULE | TIMEZONE | PROMPT", Type: pluginsdk.OptionText},
		},
	}}
}

// OnCommand does what a person has typed. An agent has the tools for it.
func (p *Plugin) OnCommand(ctx context.Context, request *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	if request.Name != name {
		return nil, nil
	}
	if request.Origin != pluginsdk.FromPerson {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "/cron is for people; an agent calls the tools cron_list, cron_create and so on")
	}
	body, err := withSpan(strings.TrimSpace(request.Body))
	if err != nil {
		return nil, err
	}
	verb, rest, _ := strings.Cut(body, " ")
	var answer answered
	rest = strings.TrimSpace(rest)
	switch verb { // what an operator alone decides stands in the audit log
	case "edit":
		answer, err = p.edit(ctx, request.Message.Label(), rest)
	case "confirm":
		answer, err = p.confirm(ctx, request.Message.Label(), rest)
	default:
		answer.reply, err = p.typed(ctx, request, verb, rest)
	}
	if err != nil {
		return nil, err
	}
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: answer.reply, Audit: answer.decided}, nil
}

// answered is what comes of a command.
type answered struct {
	reply   string
	decided []string // what the audit log says of it; nil: an operator alone need not have decided it
}

// typed does what a person has typed, but edit and confirm.
func (p *Plugin) typed(ctx context.Context, request *pluginsdk.OnCommandRequest, verb, rest string) (string, error) {
	switch verb {
	case "", "list":
		return p.list(ctx)
	case "add":
		return p.add(ctx, request, rest)
	case "backfill":
		return p.backfill(ctx, request.Thread.ID, rest)
	case "next", "history":
		job, n, err := p.numberedJob(ctx, rest)
		if err != nil {
			return "", err
		}
		if verb == "next" {
			return p.nextWords(job, n)
		}
		return p.historyWords(ctx, job, n)
	case "show", "on", "off", "run", "rm":
	default:
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "/cron has no %q; it has %s", verb, usage)
	}
	find := p.named
	if verb == "rm" {
		find = p.exactly
	}
	job, err := find(ctx, rest)
	if err != nil {
		return "", err
	}
	switch verb {
	case "on", "off":
		if job, err = p.toggle(ctx, job.Spec.Name, verb == "on"); err != nil {
			return "", err
		}
		if verb == "off" {
			return job.Spec.Name + " is off.", nil
		}
		times, err := p.nextWords(job, shownNext)
		return job.Spec.Name + " is on. " + times, err
	case "run":
		if err := p.askFrom(ctx, request.Thread.ID, job, pluginsdk.FireAsked, p.now()); err != nil {
			return "", err
		}
		return job.Spec.Name + " fires now. What becomes of it: /cron history " + job.Spec.Name, nil
	case "rm":
		_, err := p.host.Crons.Delete(ctx, &pluginsdk.DeleteCronRequest{Name: job.Spec.Name})
		return job.Spec.Name + " is removed.", err
	}
	text := line(job) + "\n\n> " + strings.ReplaceAll(job.Spec.Prompt, "\n", "\n> ")
	for _, f := range fields {
		if value := f.get(job.Spec); value != "" {
			text += "\n- " + f.name + ": " + value
		}
	}
	return text, nil
}

// numbered takes a number from the end of words; 0: there is none.
func numbered(words string) (rest string, n int) {
	if i := strings.LastIndex(words, " "); i >= 0 {
		if n, err := strconv.Atoi(words[i+1:]); err == nil && n > 0 {
			return words[:i], n
		}
	}
	return words, 0
}

// numberedJob finds a job that is named before a number; 0: none is said.
func (p *Plugin) numberedJob(ctx context.Context, rest string) (job pluginsdk.CronJob, n int, err error) {
	words, n := numbered(rest)
	job, err = p.named(ctx, words)
	if i := strings.LastIndex(words, " "); pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound && n == 0 && i > 0 {
		if _, other := p.named(ctx, words[:i]); other == nil {
			err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q is not how many to show: say a number from 1 on, or leave it out", words[i+1:])
		}
	}
	return job, n, err
}

func (p *Plugin) list(ctx context.Context) (string, error) {
	jobs, err := p.jobs(ctx)
	if err != nil {
		return "", err
	}
	if len(jobs) == 0 {
		return "There are no schedules. Ask me to remind you of something, or: /cron add NAME | SCHEDULE | TIMEZONE | PROMPT", nil
	}
	lines := make([]string, len(jobs))
	for i, job := range jobs {
		lines[i] = line(job)
	}
	return strings.Join(lines, "\n"), nil
}

func (p *Plugin) nextWords(job pluginsdk.CronJob, n int) (string, error) {
	if n == 0 {
		n = shownNext
	}
	times, err := p.next(job, min(n, mostNext))
	if err != nil {
		return "", err
	}
	if job.Spec.Trigger != "" {
		return "It fires " + triggerWords(job.Spec.Trigger) + ".", nil
	}
	if len(times) == 0 {
		return "It is never due again.", nil
	}
	text := "It is due:"
	for _, at := range times {
		text += "\n- " + moment(at, job.Spec)
	}
	if !job.Enabled {
		text += "\n\nIt is off, and fires at none of these: /cron on " + job.Spec.Name
	}
	return text, nil
}

func (p *Plugin) historyWords(ctx context.Context, job pluginsdk.CronJob, n int) (string, error) {
	if n == 0 {
		n = shownHistory
	}
	fires, err := p.history(ctx, job, min(n, mostHistory))
	if err != nil {
		return "", err
	}
	if len(fires) == 0 {
		return job.Spec.Name + " was not due yet.", nil
	}
	var ids []string
	for _, fire := range fires {
		if fire.State == pluginsdk.FireRunning && fire.RunID != "" {
			ids = append(ids, fire.RunID)
		}
	}
	runs, err := p.runs(ctx, ids)
	if err != nil {
		return "", err
	}
	lines := make([]string, len(fires))
	for i, fire := range fires {
		if fire.State == pluginsdk.FireRunning && runs[fire.RunID].State == pluginsdk.RunQueued {
			fire.State = "waits for its turn" // it is not at work
		}
		lines[i] = historyLine(fire, job.Spec)
	}
	return strings.Join(lines, "\n"), nil
}

// add makes a job of NAME | SCHEDULE | TIMEZONE | PROMPT. Of one whose schedule is in words it shows what they are read
// as, and keeps nothing.
func (p *Plugin) add(ctx context.Context, request *pluginsdk.OnCommandRequest, rest string) (string, error) {
	parts := strings.SplitN(rest, "|", 4)
	if len(parts) < 4 {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "say it so: /cron add NAME | SCHEDULE | TIMEZONE | PROMPT, as in /cron add Stand-up | 0 9 * * mon-fri | Europe/Berlin | Remind me of the stand-up. "+
			"In the place of the schedule may stand a time such as 2026-12-24 17:00, for once, or words such as every weekday at 9")
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	spec := pluginsdk.CronSpec{Name: parts[0], Timezone: parts[2], Prompt: parts[3], Missed: pluginsdk.MissedRun}
	jobs, err := p.jobs(ctx)
	if err != nil {
		return "", err
	}
	if find(jobs, spec.Name) != nil {
		return "", pluginsdk.Errorf(pluginsdk.CodeConflict, "there is a schedule %q already; /cron rm takes it away", spec.Name)
	}
	understood, err := when(&spec, parts[1])
	if err != nil {
		return "", err
	}
	if !understood {
		if err := wellNamed(spec); err != nil { // before the agent is asked, which costs something
			return "", err
		}
		if err := p.inWords(ctx, request, &spec, parts[1]); err != nil {
			return "", err
		}
		return p.proposal(spec, parts[1])
	}
	job, err := p.save(ctx, spec, true)
	if err != nil {
		return "", err
	}
	times, err := p.nextWords(job, shownNext)
	return job.Spec.Name + " is made, and on. " + times + "\n\n" + reportWords(job.Spec), err
}

// when puts an expression, or a time, into a specification. Not understood: the text is neither.
func when(spec *pluginsdk.CronSpec, text string) (understood bool, err error) {
	if isSchedule(text) || len(text) == 0 || text[0] == '@' || strings.Contains(text, "*") {
		spec.Schedule = text
		return true, nil
	}
	if spec.Timezone != "" {
		if _, err := time.LoadLocation(spec.Timezone); err != nil {
			_, err = parseTime("", spec.Timezone)
			return false, err
		}
	}
	at, err := parseTime(text, spec.Timezone)
	if err != nil {
		return false, nil
	}
	spec.FireAt = at
	return true, nil
}
