package cron

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// neglected is for how many intervals a job may be without a fire that was fine.
	neglected = 3
	// neglectedFor is for how long it may be, whatever its interval: the run of a job that is due each minute may take some.
	neglectedFor = 30 * time.Minute
	// glance is how many of a job's last fires are read first: most jobs have one among them that was fine.
	glance = 10
)

// specSum is a checksum of all that a job is to be.
func specSum(spec pluginsdk.CronSpec) string {
	encoded, _ := json.Marshal(spec) //nolint:errchkjson // strings, numbers and times
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:sumBytes])
}

// paused reports whether a job was turned off after failures, and nobody has turned it on or changed it since.
func paused(job pluginsdk.CronJob) bool { return !job.Enabled && noteOf(job).Paused != "" }

// over reports whether a job that was due once has fired: there is nothing to turn off.
func over(job pluginsdk.CronJob) bool {
	return !job.Spec.FireAt.IsZero() && job.Status.NextRun.IsZero()
}

// off has a decision take in that the job is off. One that was turned off after failures counts as such until it is
// turned on, or somebody changes it, whatever pauseAfter is by then. The failures of one that somebody else has turned off
// do not count any more once none of its runs is at work: so a job that is off and has failures was turned off after them.
func (d *decision) off(job pluginsdk.CronJob, open []pluginsdk.CronFire, now time.Time, pauseAfter int) {
	before := noteOf(job)
	if d.note.Off, d.next = true, (time.Time{}); !before.Off {
		d.note.Decided, d.note.Paused = now, ""
	}
	if before.Off { // it was off already: only a version that kept nothing of it has left Paused empty
		pauseAfter = max(pauseAfter, usualPauseAfter)
	}
	failed, sum := job.Status.Failures, specSum(job.Spec)
	switch {
	case d.note.Paused == "" && failed >= pauseAfter:
		d.note.Paused = sum
	case d.note.Paused != "" && d.note.Paused != sum:
		d.note.Paused, d.afresh = "", true
	case d.note.Paused == "" && failed > 0 && len(open) == 0:
		d.afresh = true
	}
}

// saveByAgent is save for an agent, whose change of a job does not say that somebody has seen why it is off.
func (p *Plugin) saveByAgent(ctx context.Context, spec pluginsdk.CronSpec, job pluginsdk.CronJob) (pluginsdk.CronJob, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	job, err := p.save(ctx, spec, job.Enabled)
	if err != nil || !paused(job) {
		return job, err
	}
	n := noteOf(job)
	n.Paused = specSum(job.Spec)
	job.Status.Mark = n.mark()
	return job, p.report(ctx, job)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// fine reports whether a fire was as it should be: its run has succeeded, or there was no news for it.
func fine(fire pluginsdk.CronFire) bool {
	return fire.State == pluginsdk.FireSucceeded || fire.State == pluginsdk.FireSkipped && strings.HasSuffix(fire.Reason, noNewsWords)
}

// checkFires is what is wrong with the last fires of a job that is on; nil: nothing.
func (p *Plugin) checkFires(ctx context.Context, job pluginsdk.CronJob) (*pluginsdk.Check, error) {
	var fires []pluginsdk.CronFire
	var last *pluginsdk.CronFire         // the last one that was fine
	count, since := 0, noteOf(job).Since // times since then, and since it was turned on, that were not
	for _, n := range []int{glance, mostHistory} {
		var err error
		if fires, err = p.history(ctx, job, n); err != nil {
			return nil, err
		}
		count, last = 0, nil
		for i, fire := range fires {
			if fine(fire) {
				last = &fires[i]
				break
			}
			if ofItself(fire) && !fire.State.Open() && fire.Due.After(since) {
				count += max(fire.Count, 1)
			}
		}
		if last != nil || len(fires) < n {
			break
		}
	}
	if count < neglected {
		return nil, nil
	}
	words := fmt.Sprintf("none of the last %d times at which it was due has succeeded", count)
	if last != nil {
		if job.Status.Failures == 0 && p.now().Before(latest(last.Due, last.EndedAt).Add(neglectedFor)) {
			return nil, nil
		}
		words = "it has not succeeded since " + moment(last.Due, job.Spec)
	}
	return &pluginsdk.Check{
		Name: "schedule " + job.Spec.Name, State: pluginsdk.CheckWarning, Detail: words + "; last: " + job.Status.LastResult,
		Remedy: "see `harness cron history " + job.Spec.Name + "`",
	}, nil
}
