package cron

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// mostAsked is of how many times that a person has asked for fires it is known where.
const mostAsked = 8

// asking is when a person has asked for fires, which were decided then, and in which thread.
type asking struct {
	At     int64  `json:"at"` // Unix, in microseconds
	Thread string `json:"in"`
}

func (n note) askings() (all []asking) {
	_ = json.Unmarshal([]byte(n.Asked), &all) // empty: none
	return all
}

// askedIn has a note say in which thread a person has asked for fires.
func (n *note) askedIn(thread string, at time.Time) {
	if thread == "" {
		return
	}
	all := append(n.askings(), asking{at.UnixMicro(), thread})
	encoded, _ := json.Marshal(all[max(0, len(all)-mostAsked):]) //nolint:errchkjson // numbers and strings
	n.Asked = string(encoded)
}

// asker is the thread in which a person has asked for a fire; empty: nobody knows.
func (n note) asker(fire pluginsdk.CronFire) string {
	for _, one := range n.askings() {
		if one.At == fire.DecidedAt.UnixMicro() {
			return one.Thread
		}
	}
	return ""
}

// tellAsker tells who has asked for a fire that it has failed, or was not made. Where nobody knows in which thread that was
// (who has asked by the page or the API sees the row), the people of the job are told once a day, unless they know already
// that the job fails.
func (p *Plugin) tellAsker(ctx context.Context, job pluginsdk.CronJob, fire pluginsdk.CronFire, thread string) error {
	how := "has failed"
	if fire.State == pluginsdk.FireSkipped {
		how = "was not made"
	}
	words := fmt.Sprintf("The run of the schedule %s that was asked for %s: %s", job.Spec.Name, how, fire.Reason)
	switch {
	case !job.Spec.FireAt.IsZero():
		words += "\n\nTo try it again: /cron run " + job.Spec.Name
	case !job.Enabled:
		words += "\n\nIt is off. To turn it on: /cron on " + job.Spec.Name
	}
	key := "failed:" + submitKey(job.ID, fire.Due)
	if fire.Cause == pluginsdk.FireBackfill { // of several times that are made up for together the first one is told
		key = "backfill:" + submitKey(job.ID, fire.DecidedAt)
	}
	var err error
	switch {
	case thread != "":
		err = p.tellIn(ctx, thread, key, pluginsdk.NewMessage{Content: words}, notice{Event: "schedule_failed", Schedule: job.Spec.Name})
	case fire.State == pluginsdk.FireFailed && job.Status.Failures == 0:
		err = p.tell(ctx, job, "asked:"+job.ID+":"+fire.DecidedAt.UTC().Format(time.DateOnly), words)
	}
	if err != nil && final(err) {
		p.host.Log.Warn("who has asked for a run of a schedule could not be told that it has failed", "job", job.Spec.Name, "err", err)
		return nil
	}
	return err
}
