package cron

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// mostReports is of how many values that the report_to of a job had it is known that it had them.
const mostReports = 4

func targetSum(to pluginsdk.Target) string {
	sum := sha256.Sum256([]byte(to.String()))
	return hex.EncodeToString(sum[:sumBytes])
}

// reported reports whether the report_to of the job is known to have been a target.
func (n note) reported(to pluginsdk.Target) bool {
	return slices.Contains(strings.Fields(n.Reports), targetSum(to))
}

// keepReports has a decision keep the report_to of a job: what a thread has of it the plugin has set, and nobody by hand.
func (d *decision) keepReports(spec pluginsdk.CronSpec) {
	if spec.ReportTo == (pluginsdk.Target{}) || d.note.reported(spec.ReportTo) {
		return
	}
	all := append(strings.Fields(d.note.Reports), targetSum(spec.ReportTo))
	d.note.Reports, d.changed = strings.Join(all[max(0, len(all)-mostReports):], " "), true
}

// withoutReports is a job of which a fire was submitted, as its note is then: without a report_to its own thread has none of
// those before any more.
func withoutReports(job pluginsdk.CronJob, fire pluginsdk.CronFire) pluginsdk.CronJob {
	n := noteOf(job)
	if n.Reports == "" || fire.RunID == "" || job.Spec.ThreadID != "" || job.Spec.ReportTo != (pluginsdk.Target{}) {
		return job
	}
	n.Reports = ""
	job.Status.Mark = n.mark()
	return job
}

// carried reports whether the host carries the replies of a job from its own thread: to the place of its report_to, or,
// without one, to the target that somebody has set on that thread by hand.
func carried(spec pluginsdk.CronSpec, target pluginsdk.Target) bool {
	if spec.ReportTo == (pluginsdk.Target{}) {
		return target != pluginsdk.Target{}
	}
	return spec.ReportTo.Plugin != ""
}

// threadOf is where a job's fires are submitted: the thread that it names, of which only the id is known, or one of its own.
func (p *Plugin) threadOf(ctx context.Context, job pluginsdk.CronJob) (pluginsdk.Thread, error) {
	if job.Spec.ThreadID != "" {
		return pluginsdk.Thread{ID: job.Spec.ThreadID}, nil
	}
	thread, err := p.threadTo(ctx, job, job.Spec.ReportTo)
	if err != nil && final(err) && job.Spec.ReportTo.ThreadID != "" { // that thread was deleted, or tells nobody
		thread, err = p.threadTo(ctx, job, pluginsdk.Target{})
	}
	return thread, err
}

// threadTo is the thread of a job's own, with where its rows that are for people are carried: what is asked there, for
// example. Of a job that reports nowhere the thread keeps a target that somebody has set by hand.
func (p *Plugin) threadTo(ctx context.Context, job pluginsdk.CronJob, to pluginsdk.Target) (pluginsdk.Thread, error) {
	made, err := p.host.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{
		Source: name, SourceID: job.ID, Name: job.Spec.Name, Kind: pluginsdk.ThreadCron, ReportTo: to,
	}})
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	thread := made.Thread
	if thread.ReportTo == to || to == (pluginsdk.Target{}) && !noteOf(job).reported(thread.ReportTo) {
		return thread, nil
	}
	_, err = p.host.Threads.Update(ctx, &pluginsdk.UpdateThreadRequest{ID: thread.ID, Patch: pluginsdk.ThreadPatch{ReportTo: &to}})
	thread.ReportTo = to
	return thread, err
}
