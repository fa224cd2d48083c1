package cron

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// announce tells the people of the thread in which an agent calls what it has done to a job, and how that is switched off. A
// row that a plugin delivers has no buttons: it names the command, and the page with the button.
func (p *Plugin) announce(ctx context.Context, call *pluginsdk.CallToolRequest, job pluginsdk.CronJob, words string) {
	if call.ThreadID == "" {
		return // an operator calls
	}
	if call.Name != toolDelete {
		words += fmt.Sprintf("\n\nTo turn it off: /cron off %s, or the button on its page of the dashboard, /crons/job/%s", job.Spec.Name, url.PathEscape(job.Spec.Name))
	}
	event, key := "schedule_changed", call.Name+":"+job.ID+":"+call.Call.ID
	if call.Name == toolCreate {
		event, key = "schedule_made", "made:"+job.ID
	}
	metadata, err := json.Marshal(notice{Event: event, Schedule: job.Spec.Name})
	if err == nil {
		_, err = p.host.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{
			ThreadID: call.ThreadID, Key: key, Deliver: true,
			Messages: []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Metadata: metadata, Content: words}},
		})
	}
	if err != nil {
		p.host.Log.Warn("nobody was told what the agent has done to a schedule", "tool", call.Name, "job", job.Spec.Name, "err", err)
	}
}

// promptWords are a prompt in short, with how long it is when that is not all of it.
func promptWords(prompt string) string {
	short := inShort(prompt)
	if len(short) < len(prompt) {
		return fmt.Sprintf("%s (the prompt has %d bytes: /cron show has all of it)", short, len(prompt))
	}
	return short
}
