package cron

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// eventsApart is how far apart the fires of a job are at least that a trigger causes. What happens meanwhile is
	// in the next one.
	eventsApart = time.Minute
	// eventSettles is how long after its end a task counts: one that is stored late is not passed over.
	eventSettles = 2 * time.Second
	// markEvery is how old the mark of a job gets for which nothing has happened.
	markEvery = time.Hour
	// mostTasks is how many tasks one fire names.
	mostTasks = 20
)

// trigger is what a job fires on beside time: the end of a task, or the change of a file.
type trigger struct {
	status pluginsdk.TaskStatus // of the task; empty: any end
	file   string               // an absolute path; empty: it is a task's end
}

const filePrefix = "file:"

// triggerOf reads a trigger.
func triggerOf(text string) (t trigger, err error) {
	if path, is := strings.CutPrefix(text, filePrefix); is {
		if !filepath.IsAbs(path) && filepath.IsLocal(path) {
			workspace := os.Getenv(workspaceVariable)
			if workspace == "" {
				return t, pluginsdk.Errorf(pluginsdk.CodeInvalid, "trigger %q: this plugin does not know the workspace; give an absolute path", text)
			}
			path = filepath.Join(workspace, path)
		}
		if filepath.IsAbs(path) {
			return trigger{file: filepath.Clean(path)}, nil
		}
		return t, pluginsdk.Errorf(pluginsdk.CodeInvalid, "trigger %q: the path of the file must be absolute, or relative to the workspace and below it", text)
	}
	status, is := strings.CutPrefix(text, "task:")
	if t.status = pluginsdk.TaskStatus(status); is && t.status.Final() {
		return t, nil
	}
	if text == "task" {
		return trigger{}, nil
	}
	return t, pluginsdk.Errorf(pluginsdk.CodeInvalid, "trigger %q: a schedule fires on task, task:completed, task:failed, task:cancelled or file:PATH", text)
}

// triggerWords say when a job with a trigger fires.
func triggerWords(text string) string {
	switch trigger, err := triggerOf(text); {
	case err != nil:
		return "never: " + err.Error()
	case trigger.file != "":
		return "when the file " + trigger.file + " has changed"
	case trigger.status != "":
		how := map[pluginsdk.TaskStatus]string{pluginsdk.TaskCompleted: "is completed", pluginsdk.TaskFailed: "has failed", pluginsdk.TaskCancelled: "was cancelled"}
		return "when a task " + how[trigger.status] + " (one of a schedule, or of a thread apart, does not count)"
	}
	return "when a task has ended (one of a schedule, or of a thread apart, does not count)"
}

// never is when a job with a trigger is due by the clock.
type never struct{}

func (never) Next(time.Time) time.Time { return time.Time{} }

// decidedUpTo is the time up to which is decided what has happened for a job.
func decidedUpTo(job pluginsdk.CronJob, now time.Time) time.Time {
	if n := noteOf(job); n.Of != "" || n.Off {
		return n.Decided
	}
	return since(job, now)
}

// onTasks reports whether a job fires on the end of tasks.
func onTasks(spec pluginsdk.CronSpec) bool {
	return spec.Trigger != "" && !strings.HasPrefix(spec.Trigger, filePrefix)
}

// endedTasks lists the tasks that have ended since the oldest mark of a job that fires on the end of one. Tasks that
// a schedule has caused are left out: schedules would cause each other to fire without end. So are those of threads
// apart, whose words are strangers'.
func (p *Plugin) endedTasks(ctx context.Context, jobs []pluginsdk.CronJob, now time.Time) (tasks []pluginsdk.Task, err error) {
	var oldest time.Time
	for _, job := range jobs {
		if !job.Enabled || !onTasks(job.Spec) || noteOf(job).Bad != "" { // of one that is wrong nothing is decided
			continue
		}
		if at := decidedUpTo(job, now); oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	if oldest.IsZero() {
		return nil, nil
	}
	for after := ""; ; {
		page, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{EndedAfter: oldest, After: after, Limit: pageSize}})
		if err != nil {
			return nil, err
		}
		if len(page.Tasks) == 0 { // one that is not full may have others after it: the host cuts a page by its bytes
			break
		}
		tasks = append(tasks, page.Tasks...)
		after = page.Tasks[len(page.Tasks)-1].ID
	}
	tasks = slices.DeleteFunc(tasks, func(task pluginsdk.Task) bool { return task.Origin.Apart })
	slices.SortFunc(tasks, func(a, b pluginsdk.Task) int { return a.CompletedAt.Compare(b.CompletedAt) })
	return p.withoutSchedules(ctx, tasks)
}

// withoutSchedules leaves out the tasks that the run of a schedule has caused, and those of whose run nobody knows any
// more what has caused it.
func (p *Plugin) withoutSchedules(ctx context.Context, tasks []pluginsdk.Task) ([]pluginsdk.Task, error) {
	var ids []string
	for _, task := range tasks {
		for _, id := range []string{task.RunID, task.Origin.RunID} {
			if id != "" {
				ids = append(ids, id)
			}
		}
	}
	runs, err := p.runs(ctx, ids)
	if err != nil {
		return nil, err
	}
	caused := func(id string) bool {
		run, there := runs[id]
		return id != "" && (!there || run.OnBehalfOf.Source == name || run.Purpose == name)
	}
	return slices.DeleteFunc(tasks, func(task pluginsdk.Task) bool { return caused(task.RunID) || caused(task.Origin.RunID) }), nil
}

// happened adds to a decision the fire for what a job's trigger has noticed. ended are the tasks of endedTasks,
// see is Plugin.see of the job. While the job may not fire yet, what has happened is kept for the next fire; again is when
// to look again, zero: whenever.
func (d *decision) happened(job pluginsdk.CronJob, open []pluginsdk.CronFire, ended []pluginsdk.Task, see func(path, known string) *sight, now time.Time) (again time.Time) {
	trigger, err := triggerOf(job.Spec.Trigger)
	if err != nil || !job.Enabled || d.note.Bad != "" {
		return again
	}
	if trigger.file != "" {
		return d.changedFile(job, trigger.file, open, func(known string) *sight { return see(trigger.file, known) }, now)
	}
	cut := now.Add(-eventSettles).Truncate(time.Microsecond)
	var news []pluginsdk.Task
	for _, task := range ended {
		switch {
		case !task.CompletedAt.After(d.note.Decided) || trigger.status != "" && task.Status != trigger.status:
		case task.CompletedAt.After(cut):
			again = task.CompletedAt.Add(eventSettles)
		default:
			news = append(news, task)
		}
	}
	if len(news) == 0 {
		if cut.Sub(d.note.Decided) > markEvery {
			d.note.Decided, d.changed = cut, true
		}
		return again
	}
	if wait := restsUntil(job, open, now); !wait.IsZero() {
		return wait
	}
	d.note.Decided = cut
	d.addEvent(job, cut, taskWords(news), now)
	return again
}

// addEvent adds a pending fire to a decision.
func (d *decision) addEvent(job pluginsdk.CronJob, due time.Time, data string, now time.Time) {
	d.changed = true
	if last := job.Status.LastRun; !last.IsZero() && now.Before(last.Add(3*eventRest(d.note.Streak))) {
		d.note.Streak++
	} else {
		d.note.Streak = 0
	}
	d.fires = append(d.fires, pluginsdk.CronFire{
		JobID: job.ID, Job: job.Spec.Name, Due: due, Cause: pluginsdk.FireEvent, State: pluginsdk.FirePending, Data: data, DecidedAt: now,
	})
}

// eventRest is how long a job with a trigger rests after a fire. Jobs that cause each other to fire, or whose runs cause
// what they wait for, would fire every minute without end: the tenth fire in a row is followed by ten minutes, the
// twentieth by an hour.
func eventRest(streak int) time.Duration {
	switch {
	case streak < 10:
		return eventsApart
	case streak < 20:
		return 10 * eventsApart
	}
	return time.Hour
}

// restsUntil is until when a job with a trigger does not fire: eventRest after it has fired last, longer when it fails
// again and again, and until its fire before is over, which is looked at in a minute. Zero: it may fire.
func restsUntil(job pluginsdk.CronJob, open []pluginsdk.CronFire, now time.Time) time.Time {
	rest := eventRest(noteOf(job).Streak)
	if n := job.Status.Failures; n > 0 {
		rest = max(rest, backoff(n))
	}
	if last := job.Status.LastRun; !last.IsZero() && !last.After(now) && last.Add(rest).After(now) { // one in the future is of a clock that was wrong
		return last.Add(rest)
	}
	if len(open) > 0 && (job.Spec.Overlap != pluginsdk.OverlapCancel || len(open) > 1) {
		return now.Add(eventsApart)
	}
	return time.Time{}
}

// taskWords name tasks that have ended.
func taskWords(tasks []pluginsdk.Task) string {
	var b strings.Builder
	for _, task := range tasks[:min(len(tasks), mostTasks)] {
		fmt.Fprintf(&b, "The task %s has ended: %s. It was: %s\n", task.ID, task.Status, inShort(task.OriginalMessage, task.Prompt))
		if said := cmp.Or(task.Error, task.Result); said != "" {
			fmt.Fprintf(&b, "What came of it: %s\n", clip(said))
		}
	}
	if more := len(tasks) - mostTasks; more > 0 {
		fmt.Fprintf(&b, "And %d more tasks have ended.\n", more)
	}
	return strings.TrimSpace(b.String())
}

// inShort is the first of some words that is not empty, on one line and at most about 300 bytes long.
func inShort(words ...string) string {
	line := strings.Join(strings.Fields(cmp.Or(words...)), " ")
	if len(line) > 300 {
		return strings.ToValidUTF8(line[:300], "") + " …"
	}
	return line
}
