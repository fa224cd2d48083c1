package delegation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Tasks of a thread whose agent is to be run again when all of them are over are a group.
// Who is in it stands in the tasks' labels, and whether it is over follows from the tasks:
// nothing else is kept of it. It is told of once, under its name as the key.

// The labels of a task of a group.
const (
	labelGroup = "delegation.group" // its group, unique in the thread
	labelJoin  = "delegation.join"  // the name that was asked for
	labelRun   = "delegation.run"   // the run that has made it; empty: none has
)

// How many tasks are looked through at a time, and at a start; and how much is told of a
// group, in bytes.
const (
	lookedThrough = 50
	atStart       = 500
	resultMost    = 4 << 10
	resultsMost   = 64 << 10
)

// group is one of a thread's; id is the key of the task that was its first.
type group struct{ threadID, id string }

// groupOf returns the labels of a new task in a group, among the tasks that its thread has
// given last: the group of that name, or without a name that of the run. A group that is
// over, whose making run is too, gets no more members: another one of its name begins.
func groupOf(request request, join string, given []pluginsdk.Task) map[string]string {
	labels := map[string]string{labelJoin: join, labelRun: request.call.RunID, labelGroup: request.call.ID}
	for _, task := range given {
		sameRun := request.call.RunID != "" && task.Labels[labelRun] == request.call.RunID
		if task.Labels[labelGroup] != "" && task.Labels[labelJoin] == join && (sameRun || join != "" && !over(task)) {
			labels[labelGroup] = task.Labels[labelGroup]
			break
		}
	}
	return labels
}

// untold are the groups that may have to be told of: all that were made since the start,
// and those among the newest tasks at the start. It says where to look, and nothing more.
type untold struct {
	mu     sync.Mutex
	groups map[group]bool
}

func (u *untold) add(task pluginsdk.Task) {
	if id := task.Labels[labelGroup]; id != "" {
		u.note(group{task.ParentThreadID, id})
	}
}

// note adds a group, and reports whether it is new.
func (u *untold) note(g group) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	known := u.groups[g]
	u.groups[g] = true
	return !known
}

// threads returns the threads that have such groups, by id.
func (u *untold) threads() (ids []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for g := range u.groups {
		ids = append(ids, g.threadID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (u *untold) remove(g group) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.groups, g)
}

// of returns the groups of a thread, or of all for the empty id.
func (u *untold) of(threadID string) (groups []group) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for g := range u.groups {
		if threadID == "" || g.threadID == threadID {
			groups = append(groups, g)
		}
	}
	return groups
}

// findGroups finds those among the newest tasks.
func (p *Plugin) findGroups(ctx context.Context) error {
	query := pluginsdk.TaskQuery{Plugin: name, Newest: true, Limit: lookedThrough}
	for range atStart / lookedThrough {
		page, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: query})
		if err != nil || len(page.Tasks) == 0 {
			return err
		}
		for _, task := range page.Tasks {
			p.untold.add(task)
			query.After = task.ID
		}
	}
	return nil
}

// tellGroups tells of the groups of a thread that are over; of all threads' for the empty
// id.
func (p *Plugin) tellGroups(ctx context.Context, threadID string) (err error) {
	for _, g := range p.untold.of(threadID) {
		err = errors.Join(err, p.tellGroup(ctx, g))
	}
	return err
}

// members returns a group's tasks, the oldest first.
func (p *Plugin) members(ctx context.Context, g group) (members []pluginsdk.Task, err error) {
	query := pluginsdk.TaskQuery{Plugin: name, ParentThreadID: g.threadID, Newest: true, Limit: lookedThrough}
	for {
		page, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: query})
		if err != nil || len(page.Tasks) == 0 {
			slices.Reverse(members)
			return members, err
		}
		for _, task := range page.Tasks {
			query.After = task.ID
			if task.Labels[labelGroup] == g.id {
				members = append(members, task)
			}
			if task.Key == g.id {
				slices.Reverse(members)
				return members, nil
			}
		}
	}
}

// tellGroup runs a thread's agent with the results of a group, once, when all its tasks
// are over, and so are the runs that could make more of them.
func (p *Plugin) tellGroup(ctx context.Context, g group) error {
	p.making.Lock()
	defer p.making.Unlock()
	defer p.listen(ctx) // there may be one less to hear of
	tasks, err := p.members(ctx, g)
	if err != nil {
		return err
	}
	cause, asked := "", ""
	for _, task := range tasks {
		if !over(task) {
			return nil // its end will be told
		}
		if maker := task.Labels[labelRun]; maker != "" && maker != asked {
			asked = maker
			answer, err := p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: maker})
			if err == nil && !answer.Run.State.Final() && p.watch(ctx, g) {
				answer, err = p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: maker})
			}
			if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
				continue
			}
			if err != nil || !answer.Run.State.Final() {
				return err // its end will be told
			}
		}
		// One that never began was caused by the run that has made it. With no cause, an agent
		// that goes on giving what cannot begin would be run again without end.
		cause = cmp.Or(task.RunID, task.Labels[labelRun], cause)
	}
	if len(tasks) == 0 {
		p.untold.remove(g)
		return nil
	}
	_, err = p.host.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{
		ThreadID: g.threadID, Key: "group/" + g.id, Content: resultsOf(tasks), CauseRunID: cause,
	}})
	switch code := pluginsdk.CodeOf(err); {
	case err == nil, code == pluginsdk.CodeConflict: // it was told of before
	case code == pluginsdk.CodeInvalid, code == pluginsdk.CodeNotFound, code == pluginsdk.CodeExhausted && p.tooDeep(ctx, cause):
		// It would be refused whenever it is asked for. The thread was told of each task's end.
		p.host.Log.Warn("an agent is not run again when its tasks are over; write in its thread", "thread", g.threadID, "err", err)
	default:
		return fmt.Errorf("the thread %s is not told that its tasks are over: %w", g.threadID, err)
	}
	p.untold.remove(g)
	return nil
}

// deepest is the depth of a run that may cause no further one.
const deepest = 8

func (p *Plugin) tooDeep(ctx context.Context, runID string) bool {
	answer, err := p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: runID})
	return err == nil && answer.Run.Depth >= deepest
}

// resultsOf is what an agent is told of a group that is over.
func resultsOf(tasks []pluginsdk.Task) string {
	of := ""
	if join := tasks[0].Labels[labelJoin]; join != "" {
		of = fmt.Sprintf(" of %q", join)
	}
	var words strings.Builder
	fmt.Fprintf(&words, "What you wait for%s is over (tasks: %d). Look at the results, and go on.\n", of, len(tasks))
	most := min(resultMost, resultsMost/len(tasks))
	for _, task := range tasks {
		fmt.Fprintf(&words, "\n## %s (task %s): %s\n\n", title(task), task.ID, standing(task))
		words.WriteString(cut(strings.TrimSpace(resultOrError(task)), most) + "\n")
	}
	return words.String()
}

// resultOrError is what a task that is over has come to.
func resultOrError(task pluginsdk.Task) string {
	if task.Status == pluginsdk.TaskCompleted {
		return task.Result
	}
	return task.Error
}
