package cron

import (
	"context"
	"fmt"
	"strconv"

	"github.com/seed-706843ae/harness/plugins/internal/schedules"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// announce tells the people of the thread in which an agent calls, and those of the job, what it has done to the job, how that
// is undone, and what an operator has to do before it fires: in words, and by buttons.
func (p *Plugin) announce(ctx context.Context, call *pluginsdk.CallToolRequest, job pluginsdk.CronJob, words string) {
	if call.ThreadID == "" {
		return // an operator calls
	}
	var actions []pluginsdk.RowAction
	switch {
	case call.Name == toolDelete:
	case job.Enabled:
		off := turnOff(job)
		words, actions = words+"\n\nTo turn it off: "+off.Command, append(actions, off)
	default:
		on := turnOn(job)
		words, actions = words+"\n\nTo turn it on: "+on.Command, append(actions, on)
	}
	if call.Name != toolDelete && !confirmed(job) {
		show, confirm := pluginsdk.RowAction{Label: "Show", Command: typed("show", job)}, confirming(job)
		words += "\n\nIt does not fire: " + unconfirmedBy(show.Command, confirm.Command)
		actions = append(actions, show, confirm)
	}
	event, key := "schedule_changed", call.Name+":"+job.ID+":"+call.Call.ID
	if call.Name == toolCreate {
		event, key = "schedule_made", "made:"+job.ID
	}
	about := notice{Event: event, Schedule: job.Spec.Name, RowMetadata: offering(actions...)}
	for _, threadID := range p.toldIn(ctx, call, job) {
		if err := p.tellIn(ctx, threadID, key, pluginsdk.NewMessage{Content: words}, about); err != nil {
			p.host.Log.Warn("people were not told what the agent has done to a schedule", "tool", call.Name, "job", job.Spec.Name, "thread", threadID, "err", err)
		}
		key += ":people"
	}
}

// typed is a command about a job. Its name is quoted: without quotes a command takes the beginning of a name as well, and a
// button that is pressed after its job was removed would do something to another one.
func typed(verb string, job pluginsdk.CronJob) string {
	return "/" + name + " " + verb + " " + strconv.Quote(job.Spec.Name)
}

func turnOff(job pluginsdk.CronJob) pluginsdk.RowAction {
	return pluginsdk.RowAction{Label: "Turn off", Command: typed("off", job)}
}

func turnOn(job pluginsdk.CronJob) pluginsdk.RowAction {
	return pluginsdk.RowAction{Label: "Turn on", Command: typed("on", job)}
}

// confirming confirms what a job says now, and nothing else: the agent may change it before somebody presses.
func confirming(job pluginsdk.CronJob) pluginsdk.RowAction {
	return pluginsdk.RowAction{Label: "Confirm", Command: typed("confirm", job) + " | " + schedules.Version(job.Spec)}
}

// offering has a row offer actions. One that no row may have, as of a very long name, is left out: its command stands in the words.
func offering(actions ...pluginsdk.RowAction) (of pluginsdk.RowMetadata) {
	for _, action := range actions {
		if action.Check() == nil {
			of.Actions = append(of.Actions, action)
		}
	}
	return of
}

// promptWords are a prompt in short, with how long it is when that is not all of it.
func promptWords(prompt string) string {
	short := inShort(prompt)
	if len(short) < len(prompt) {
		return fmt.Sprintf("%s (the prompt has %d bytes: /cron show has all of it)", short, len(prompt))
	}
	return short
}
