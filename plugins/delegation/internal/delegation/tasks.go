package delegation

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// made is what a program is told of a task that was made or cancelled.
type made struct {
	Task   string               `json:"task"`
	Thread string               `json:"thread"`
	Status pluginsdk.TaskStatus `json:"status"`
}

// delegate makes a task below the thread that it is asked in, once for each call.
func (p *Plugin) delegate(ctx context.Context, r request) (answer, error) {
	if r.text == "" {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "there is no task: say what is to be done, after the attributes")
	}
	if r.agent && r.fields["account"] != "" {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeDenied, "account: only a person says whose account a task uses; leave it out, and the task uses this thread's")
	}
	config := p.config.Load()
	cost, err := costOf(r, config)
	if err != nil {
		return answer{}, err
	}
	wake, groups, err := wakeOf(r)
	if err != nil {
		return answer{}, err
	}
	p.making.Lock()
	defer p.making.Unlock()
	given, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{
		Plugin: name, ParentThreadID: r.thread.ID, Newest: true, Limit: lookedThrough,
	}})
	if err != nil {
		return answer{}, err
	}
	for _, task := range given.Tasks { // the call is repeated: what was true then need not be so any more
		if task.Key == r.call.ID {
			return delegated(task, ""), nil
		}
	}
	if r.thread.Status == pluginsdk.ThreadArchived {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeStale, "the thread %s is archived and would not be told of the task; give it in another thread", r.thread.ID)
	}
	above, err := p.above(ctx, r.thread, config.Depth)
	if err != nil {
		return answer{}, err
	}
	if err := p.hasRoom(ctx, config.AtOnce); err != nil {
		return answer{}, err
	}
	place, err := placeOf(r.fields["dir"], cmp.Or(r.thread.Cwd, p.workspace), p.workspace, config.Roots)
	if err != nil {
		return answer{}, err
	}
	task := pluginsdk.NewTask{
		ParentThreadID: r.thread.ID, ParentTaskID: above, RequestedBy: r.author, OriginalMessage: r.text, Prompt: r.text,
		Model: r.fields["model"], Account: r.fields["account"], Cwd: place.cwd, OwnDirectory: place.own, Wake: wake,
		MaxIterations: config.MaxIterations, MaxValidationIterations: config.MaxValidationRounds, CostCapUSD: cost,
	}
	if above != "" {
		task.Wake, groups = false, false // a worker goes on by itself when the tasks that it gave are over
	}
	if groups {
		task.Labels = groupOf(r, r.fields["join"], given.Tasks)
	}
	created, err := p.host.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Key: r.call.ID, Task: task})
	if err != nil {
		return answer{}, err
	}
	p.untold.add(created.Task)
	p.listen(ctx) // before the run can be over that gives it
	p.begin(ctx, created.Task)
	return delegated(created.Task, ""), nil
}

// redelegate has the worker of a task that is over go on, as a new task, once for each
// call.
func (p *Plugin) redelegate(ctx context.Context, r request) (answer, error) {
	from, err := p.find(ctx, r)
	if err != nil {
		return answer{}, err
	}
	if r.text == "" {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "there is nothing to do: say after the task's id what the worker is to do now")
	}
	config := p.config.Load()
	cost, err := costOf(r, config)
	if err != nil {
		return answer{}, err
	}
	wake, _, err := wakeOf(r)
	if err != nil {
		return answer{}, err
	}
	p.making.Lock()
	defer p.making.Unlock()
	here, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{Plugin: name, ThreadID: from.ThreadID, Newest: true}})
	if err != nil {
		return answer{}, err
	}
	for _, task := range here.Tasks {
		if task.Key == r.call.ID { // the call is repeated
			return delegated(task, from.ID), nil
		}
		if !over(task) {
			return answer{}, pluginsdk.Errorf(pluginsdk.CodeStale, "task %s, in whose thread this would go on, is %s and not over yet: %s", task.ID, standing(task), waysOn(task))
		}
	}
	if err := p.hasRoom(ctx, config.AtOnce); err != nil {
		return answer{}, err
	}
	created, err := p.host.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Key: r.call.ID, Task: pluginsdk.NewTask{
		FromTaskID: from.ID, RequestedBy: r.author, OriginalMessage: r.text, Prompt: r.text, Model: r.fields["model"],
		Wake:          wake || r.fields["wake"] == "" && from.Wake,
		MaxIterations: config.MaxIterations, MaxValidationIterations: config.MaxValidationRounds, CostCapUSD: cost,
	}})
	if err != nil {
		return answer{}, err
	}
	p.begin(ctx, created.Task)
	return delegated(created.Task, from.ID), nil
}

// begin takes on a task that was made just now, where nobody has anything to do before it
// begins. It is made in any case: what fails here is done with the next look.
func (p *Plugin) begin(ctx context.Context, task pluginsdk.Task) {
	if err := p.advance(ctx, task); err != nil {
		p.looked(err)
	}
}

// cancel ends a task, and says who wanted that.
func (p *Plugin) cancel(ctx context.Context, r request) (answer, error) {
	task, err := p.find(ctx, r)
	if err != nil {
		return answer{}, err
	}
	if task.Status.Final() {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeStale, "task %s is %s already", task.ID, task.Status)
	}
	who := cmp.Or(r.author, "a person")
	if r.agent {
		who = fmt.Sprintf("the agent of the thread %q", cmp.Or(r.thread.Name, r.thread.ID))
	}
	reason := "cancelled by " + who
	if r.text != "" {
		reason += ": " + r.text
	}
	ended, err := p.host.Tasks.Cancel(ctx, &pluginsdk.CancelTaskRequest{ID: task.ID, Reason: reason, Author: who})
	if err != nil {
		return answer{}, err
	}
	return answer{fmt.Sprintf("Task %s is %s.", task.ID, ended.Task.Status), made{task.ID, task.ThreadID, ended.Task.Status}}, nil
}

func delegated(task pluginsdk.Task, from string) answer {
	words := "Delegated as " + task.ID
	if from != "" {
		words += ", which goes on from " + from
	}
	return answer{fmt.Sprintf("%s. /%s %s says how it stands, `harness task show %s` all of it.", words, verbCheckin, task.ID, task.ID),
		made{task.ID, task.ThreadID, task.Status}}
}

// costOf is what a task may cost: what was asked for, up to what whoever delegates may
// ask for.
func costOf(r request, config *config) (float64, error) {
	asked, is := r.fields["cost"]
	if !is {
		return config.CostCap, nil
	}
	cost, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(asked), "$"), 64)
	switch {
	case err != nil || math.IsNaN(cost) || cost <= 0:
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "cost: %q is no amount of US dollars, such as 2.50", asked)
	case cost > config.MaxCost:
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "cost: %.2f USD is more than the %.2f that may be asked for; ask for less, or raise the setting maxCost", cost, config.MaxCost)
	}
	return cost, nil
}

// wakeOf says whether the thread's agent is to be run again when the task is over, and
// whether it is one of a group that is told of together. Outside of a run there is nobody
// who could make more tasks of a group without a name.
func wakeOf(r request) (wake, groups bool, err error) {
	asked, join := r.fields["wake"], r.fields["join"]
	switch {
	case !slices.Contains([]string{"", "no", "yes", "all"}, asked):
		return false, false, pluginsdk.Errorf(pluginsdk.CodeInvalid, "wake: %q is none of no, yes and all", asked)
	case join != "" && asked != "" && asked != "all":
		return false, false, pluginsdk.Errorf(pluginsdk.CodeInvalid, "wake: with join, the agent is run again when all tasks of %q are over; leave wake out", join)
	case join != "":
		return false, true, nil
	case asked == "all":
		return r.call.RunID == "", r.call.RunID != "", nil
	}
	return asked == "yes", false, nil
}

// above returns the task whose thread this is, which the new one is below. Tasks go so
// deep, and one that is over gets no more.
func (p *Plugin) above(ctx context.Context, thread pluginsdk.Thread, depth int) (id string, err error) {
	if thread.Kind != pluginsdk.ThreadTask {
		return "", nil
	}
	page, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{ThreadID: thread.ID, Newest: true, Limit: 1}})
	if err != nil || len(page.Tasks) == 0 {
		return "", err
	}
	switch above := page.Tasks[0]; {
	case above.Status.Final():
		return "", pluginsdk.Errorf(pluginsdk.CodeStale, "task %s, whose thread this is, is %s and gets no more tasks; re-delegate it, or delegate in the thread that gave it", above.ID, above.Status)
	case above.Depth+2 > depth: // the first task has the depth 0
		return "", pluginsdk.Errorf(pluginsdk.CodeExhausted, "tasks go %d deep, and task %s is there already: do this yourself, or say BLOCKED: and why", depth, above.ID)
	case above.Plugin != name:
		return "", nil
	default:
		return above.ID, nil
	}
}

// hasRoom refuses a task when as many are open as may be.
func (p *Plugin) hasRoom(ctx context.Context, atOnce int) error {
	open := 0
	for after := ""; open < atOnce; {
		page, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{Plugin: name, Statuses: openStatuses, After: after, Limit: atOnce - open}})
		if err != nil {
			return err
		}
		if len(page.Tasks) == 0 {
			return nil
		}
		open += len(page.Tasks)
		after = page.Tasks[len(page.Tasks)-1].ID
	}
	return pluginsdk.Errorf(pluginsdk.CodeExhausted, "%d tasks are open, which is as many as may be: wait for one, cancel one (/%s lists them), or raise the setting atOnce", open, verbCheckin)
}

// leastOfID is how many characters of an id are enough.
const leastOfID = 6

// find returns the task that a request is about, among those that its thread may know of.
// The first or the last characters of an id are enough where they are of one task only.
func (p *Plugin) find(ctx context.Context, r request) (pluginsdk.Task, error) {
	id := strings.Trim(r.fields["task"], " .,`")
	if len(id) < leastOfID {
		return pluginsdk.Task{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "task: %q is no task's id, nor %d characters of one; /%s lists them", id, leastOfID, verbCheckin)
	}
	var found []pluginsdk.Task
	whole, err := p.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: id})
	switch {
	case err == nil:
		found = []pluginsdk.Task{whole.Task}
	case pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound:
		return pluginsdk.Task{}, err
	default:
		if found, err = p.matching(ctx, id); err != nil {
			return pluginsdk.Task{}, err
		}
	}
	var known []pluginsdk.Task
	var ids []string
	for _, task := range found {
		may, err := p.mayKnow(ctx, r.thread, task)
		if err != nil {
			return pluginsdk.Task{}, err
		}
		if may && task.Plugin == name {
			known, ids = append(known, task), append(ids, task.ID)
		}
	}
	switch len(known) {
	case 0:
		return pluginsdk.Task{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "task: there is no task %q of this thread, or below one; /%s lists those that are open", id, verbCheckin)
	case 1:
		return known[0], nil
	}
	return pluginsdk.Task{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "task: %q is part of several tasks' ids: %s; say more of it", id, strings.Join(ids, ", "))
}

// matching returns the newest tasks whose ids begin or end so.
func (p *Plugin) matching(ctx context.Context, part string) (found []pluginsdk.Task, err error) {
	query := pluginsdk.TaskQuery{Plugin: name, Newest: true, Limit: lookedThrough}
	for range 2 * atStart / lookedThrough {
		page, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: query})
		if err != nil || len(page.Tasks) == 0 {
			return found, err
		}
		for _, task := range page.Tasks {
			query.After = task.ID
			if strings.HasPrefix(task.ID, part) || strings.HasSuffix(task.ID, part) {
				found = append(found, task)
			}
		}
	}
	return found, nil
}

// mayKnow reports whether a thread may know of a task: an operator and the primary thread
// know of all, others of those that they have given, of their own, and of those below.
func (p *Plugin) mayKnow(ctx context.Context, thread pluginsdk.Thread, task pluginsdk.Task) (bool, error) {
	for {
		if thread.ID == "" || thread.Kind == pluginsdk.ThreadPrimary || task.ParentThreadID == thread.ID || task.ThreadID == thread.ID {
			return true, nil
		}
		if task.ParentTaskID == "" {
			return false, nil
		}
		above, err := p.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: task.ParentTaskID})
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		task = above.Task
	}
}
