package rows

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// mostRows is how many rows wait at most to be written. What comes when so many wait is lost, and the log says so.
	mostRows = 10_000
	// atOnce is how many rows one call records at most.
	atOnce = 1000
	// mostRuns is how many runs are remembered at most, and mostAsked how many are asked for in one call.
	mostRuns, mostAsked = 1000, 100
	// lateEvery is how often it is looked at most whether a run has ended that takes long.
	lateEvery = time.Hour
	// overlap is how far back tasks are read again: one that ended earlier may have been stored later.
	overlap = time.Minute
)

// Rules select the events that Event makes rows of.
var Rules = []pluginsdk.EventRule{{Types: []string{
	string(pluginsdk.EventDelivery), string(pluginsdk.EventTaskValidated), string(pluginsdk.EventTaskFailed), string(pluginsdk.EventTaskCancelled),
}}}

// Silence selects no events: nobody publishes any of this type.
var Silence = []pluginsdk.EventRule{{Types: []string{"metrics:none"}}}

// Book collects rows, and writes them together. The zero Book is off: it collects nothing.
type Book struct {
	mu    sync.Mutex
	on    bool
	rows  []pluginsdk.NewMetric
	lost  int               // rows for which there was no room, since the last Write
	jobs  map[string]string // by run that is not over: the scheduled job whose prompt it answers
	late  []string          // runs that take long, the oldest first
	asked time.Time         // when these were asked for last
	tasks bool              // tasks may have ended that were not read
	until time.Time         // when the last task that was read had ended
}

// Turn turns the book on or off. What was collected and not written is forgotten when it goes off. A book that is turned
// on reads the newest tasks that have ended: nobody has told it of them.
func (b *Book) Turn(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.on == on {
		return
	}
	b.on, b.tasks = on, on
	b.rows, b.jobs, b.late, b.lost = nil, nil, nil, 0
}

// On reports whether the book collects rows.
func (b *Book) On() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.on
}

// Begun notes which scheduled job's prompt a run answers that is about to begin.
func (b *Book) Begun(runID, job string) {
	if job == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.on || len(b.jobs) >= mostRuns {
		return
	}
	if b.jobs == nil {
		b.jobs = make(map[string]string)
	}
	b.jobs[runID] = job
}

// Ended takes a run that is over. Commands have no rows.
func (b *Book) Ended(run pluginsdk.Run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.on || run.Kind == pluginsdk.RunCommand {
		return
	}
	b.add(ofRun(run, b.jobs[run.ID])...)
	if run.State != pluginsdk.RunMerged { // that may be queued again
		delete(b.jobs, run.ID)
	}
}

// Late notes a run that takes so long that nobody else asks any more whether it is over. Write does, once an hour.
func (b *Book) Late(runID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.on || slices.Contains(b.late, runID) {
		return
	}
	b.late = append(b.late, runID)
	if len(b.late) > mostAsked {
		b.late = b.late[1:]
	}
}

// Heard takes events, and reports whether there is something to write now.
func (b *Book) Heard(events []pluginsdk.Event) (some bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.on {
		return false
	}
	for _, event := range events {
		switch event.Type { //nolint:exhaustive // it is told of no others
		case pluginsdk.EventDelivery:
			if row, is := ofDelivery(event); is {
				b.add(row)
			}
		case pluginsdk.EventTaskValidated, pluginsdk.EventTaskFailed, pluginsdk.EventTaskCancelled, pluginsdk.EventResync:
			b.tasks = true
		}
	}
	return len(b.rows) > 0 || b.tasks
}

// add has mu held.
func (b *Book) add(rows ...pluginsdk.NewMetric) {
	room := max(0, min(len(rows), mostRows-len(b.rows)))
	b.rows, b.lost = append(b.rows, rows[:room]...), b.lost+len(rows)-room
}

// Write records what was collected, at most 1,000 rows a call. What could not be recorded is kept for the next time, and
// the error says why. With nothing to write it asks the host for nothing.
func (b *Book) Write(ctx context.Context, host pluginsdk.Host, now time.Time) error {
	if err := b.readTasks(ctx, host); err != nil {
		return err
	}
	if err := b.readLate(ctx, host, now); err != nil {
		return err
	}
	b.mu.Lock()
	rows, lost := b.rows, b.lost
	b.rows, b.lost = nil, 0
	b.mu.Unlock()
	if lost > 0 {
		host.Log.Warn("rows of metrics are lost: too many waited to be written", "rows", lost)
	}
	for len(rows) > 0 {
		part := rows[:min(atOnce, len(rows))]
		if _, err := host.Metrics.Record(ctx, &pluginsdk.RecordMetricsRequest{Metrics: part}); err != nil {
			switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others may pass
			case pluginsdk.CodeDenied:
				host.Log.Warn("no rows of metrics are kept: an operator has taken the right to", "err", err)
				b.Turn(false)
				return nil
			case pluginsdk.CodeInvalid: // it would be refused again
				host.Log.Error("rows of metrics are lost: the daemon refuses them", "rows", len(part), "err", err)
				rows = rows[len(part):]
				continue
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.on {
				newer := b.rows
				b.rows = nil
				b.add(append(rows, newer...)...)
			}
			return err
		}
		rows = rows[len(part):]
	}
	return nil
}

// readTasks makes rows of the newest tasks that have ended since it last read them.
func (b *Book) readTasks(ctx context.Context, host pluginsdk.Host) error {
	b.mu.Lock()
	due, since := b.tasks, b.until
	b.tasks = false
	b.mu.Unlock()
	if !due {
		return nil
	}
	if !since.IsZero() {
		since = since.Add(-overlap)
	}
	answer, err := host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{
		Statuses: []pluginsdk.TaskStatus{pluginsdk.TaskCompleted, pluginsdk.TaskFailed, pluginsdk.TaskCancelled}, Newest: true, EndedAfter: since, Limit: atOnce / 10,
	}})
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.tasks = b.on
		return err
	}
	if !b.on {
		return nil
	}
	for _, task := range answer.Tasks {
		b.add(ofTask(task)...)
		if task.CompletedAt.After(b.until) {
			b.until = task.CompletedAt
		}
	}
	return nil
}

// readLate asks for the runs that take long, and makes rows of those that are over.
func (b *Book) readLate(ctx context.Context, host pluginsdk.Host, now time.Time) error {
	b.mu.Lock()
	ids := slices.Clone(b.late)
	if now.Sub(b.asked) < lateEvery {
		ids = nil
	}
	b.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	answer, err := host.Runs.List(ctx, &pluginsdk.ListRunsRequest{Query: pluginsdk.RunQuery{IDs: ids, Limit: mostAsked}})
	if err != nil {
		return err
	}
	open := make(map[string]bool)
	for _, run := range answer.Runs {
		if run.State.Final() {
			b.Ended(run)
		} else {
			open[run.ID] = true
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = now
	b.late = slices.DeleteFunc(b.late, func(id string) bool { return slices.Contains(ids, id) && !open[id] })
	return nil
}
