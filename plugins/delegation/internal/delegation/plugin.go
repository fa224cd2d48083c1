// Package delegation gives work to other agents, and takes it to its end.
package delegation

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const name = "delegation"

// Plugin makes tasks, and takes them from iteration to iteration. It keeps no truth: what
// is due follows from what the host has of a task, and each step is one that the host
// makes once, however often it is asked for. What it has in memory is when to look again.
type Plugin struct {
	host      pluginsdk.Host
	config    atomic.Pointer[config]
	workspace string
	now       func() time.Time

	// making is held while a task is made, or a group of tasks is told of: how many are
	// open, and who is in a group, does not change in between.
	making  sync.Mutex
	untold  untold
	hearing hearing
	running running
	alarm   alarm
	end     context.CancelFunc // of the goroutine that looks again; nil: it is not active
	ended   chan struct{}
}

var (
	openStatuses = []pluginsdk.TaskStatus{pluginsdk.TaskPending, pluginsdk.TaskRunning, pluginsdk.TaskEvaluating, pluginsdk.TaskWaiting}
	taskEvents   = "task:*"
	runEvents    = []pluginsdk.EventType{pluginsdk.EventPipelineComplete, pluginsdk.EventPipelineError}
)

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: name, Version: "0.1.0", Description: "Gives work to other agents, and takes it to its end",
		Commands: []pluginsdk.CommandSpec{
			{Name: verbDelegate, Scope: pluginsdk.ScopeWork, Description: "give a task to another agent", Usage: "[model=NAME dir=PATH account=NAME cost=USD wake=no|yes|all join=NAME] what is to be done", Options: []pluginsdk.CommandOption{
				{Name: "model", Type: pluginsdk.OptionModel, Named: true},
				{Name: "dir", Description: "where it is worked on", Type: pluginsdk.OptionText, Named: true},
				{Name: "account", Description: "the account of the agent's that it uses", Type: pluginsdk.OptionText, Named: true},
				{Name: "cost", Description: "what it may cost, in USD", Type: pluginsdk.OptionNumber, Named: true},
				{Name: "wake", Description: "whether the agent is told of its end at once", Type: pluginsdk.OptionChoice, Choices: []string{"no", "yes", "all"}, Named: true},
				{Name: "join", Description: "name of the tasks that belong together", Type: pluginsdk.OptionText, Named: true},
				{Name: "task", Description: "what is to be done", Type: pluginsdk.OptionText, Required: true},
			}},
			{Name: verbRedelegate, Scope: pluginsdk.ScopeWork, Description: "have the worker of a task that is over go on", Usage: "TASK [model=NAME cost=USD wake=no|yes] what is to be done now", Options: []pluginsdk.CommandOption{
				{Name: "id", Type: pluginsdk.OptionTask, Required: true},
				{Name: "task", Description: "what is to be done now, behind model=NAME, cost=USD and wake=no|yes if need be", Type: pluginsdk.OptionText, Required: true},
			}},
			{Name: verbCheckin, Beside: true, Description: "how tasks stand", Usage: "[TASK]", Options: []pluginsdk.CommandOption{{Name: "id", Type: pluginsdk.OptionTask}}},
			{Name: verbCancel, Scope: pluginsdk.ScopeApprove, Beside: true, Description: "end a task", Usage: "TASK [why]", Options: []pluginsdk.CommandOption{
				{Name: "id", Type: pluginsdk.OptionTask, Required: true}, {Name: "why", Type: pluginsdk.OptionText},
			}},
		},
		Tools: tools(),
		Events: []string{
			string(pluginsdk.EventPipelineComplete), string(pluginsdk.EventPipelineError), taskEvents, string(pluginsdk.EventResync),
		},
		EventRules: concerning(nil),
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapTasksRead, Reason: "find the tasks that it has made"},
			{Capability: pluginsdk.CapTasksWrite, Reason: "make tasks and take them on"},
			{Capability: pluginsdk.CapRunsRead, Reason: "read what a worker said"},
			{Capability: pluginsdk.CapThreadsRead, Reason: "know where the thread works that delegates"},
			{Capability: pluginsdk.CapMessagesSubmit, Reason: "remind a worker that did not say how it ended, and tell an agent that all tasks it waits for are in"},
			{Capability: pluginsdk.CapThreadsAdmin, Reason: "make tasks below threads of all sources, and in the directories that the setting roots allows"},
			{Capability: pluginsdk.CapEventsRead, Reason: "learn that a worker has answered, or a task is over"},
		},
		Environment:    []pluginsdk.EnvironmentRequest{{Name: "HARNESS_WORKSPACE", Reason: "where threads work that have no directory of their own"}},
		SettingsSchema: settingsSchema,
	}
}

// Start reads the settings. Wrong ones are an error that names the setting.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	p.untold.groups = make(map[group]bool)
	p.host, p.workspace = host, os.Getenv("HARNESS_WORKSPACE")
	if p.now == nil {
		p.now = time.Now
	}
	return p.configure(answer.Settings)
}

// OnSettingsChange takes new settings, for what is done from now on. Wrong ones are an
// error, and the last good ones stay in force.
func (p *Plugin) OnSettingsChange(_ context.Context, change *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	return &pluginsdk.OnSettingsChangeResponse{}, p.configure(change.Settings)
}

func (p *Plugin) configure(raw json.RawMessage) error {
	parsed, err := parseConfig(raw)
	if err == nil {
		p.config.Store(&parsed)
	}
	return err
}

// lookAgain is how often all tasks are looked at, whatever was told: an event may be lost.
// After something went wrong it is sooner.
const (
	lookAgain = 30 * time.Second
	lookSoon  = 5 * time.Second
)

// Activate goes on with what is open, and looks again from time to time.
func (p *Plugin) Activate(ctx context.Context) error {
	p.look(ctx, true)
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	p.end, p.ended = end, make(chan struct{})
	go func(ended chan<- struct{}) {
		defer close(ended)
		for p.alarm.wait(work, p.now) {
			p.look(work, false)
		}
	}(p.ended)
	return nil
}

// Deactivate ends the looking. What is under way is left as it is.
func (p *Plugin) Deactivate(context.Context) error {
	if p.end != nil {
		p.end()
		<-p.ended
		p.end = nil
	}
	return nil
}

// look takes on what runs and tells of what is over; anew: it also finds what it has not
// heard of.
func (p *Plugin) look(ctx context.Context, anew bool) {
	err := p.resume(ctx)
	if anew {
		err = errors.Join(err, p.findGroups(ctx))
	}
	p.listen(ctx)
	p.looked(errors.Join(err, p.tellGroups(ctx, "")))
}

// looked says when to look again after a look that came to err.
func (p *Plugin) looked(err error) {
	wait := lookAgain
	if err != nil {
		wait = lookSoon
		p.host.Log.Warn("tasks could not be taken on; trying again", "err", err, "in", wait)
	}
	p.alarm.at(p.now().Add(wait))
}

// OnBroadcast takes on the tasks that the events are about. What could not be done is done
// with the next look.
func (p *Plugin) OnBroadcast(ctx context.Context, broadcast *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	threads, tasks := make(map[string]bool), make(map[string]move)
	for _, event := range broadcast.Events {
		if event.Type == pluginsdk.EventResync {
			p.look(ctx, true)
			return nil, nil
		}
		if slices.Contains(runEvents, event.Type) {
			threads[event.ThreadID] = true
			continue
		}
		var payload pluginsdk.TaskPayload
		if json.Unmarshal(event.Data, &payload) == nil && payload.TaskID != "" && (payload.Plugin == "" || payload.Plugin == name) {
			tasks[payload.TaskID] = move{payload, event.Type}
			p.running.moved()
		}
	}
	var err error
	for _, id := range slices.Sorted(maps.Keys(threads)) {
		err = errors.Join(err, p.afterRun(ctx, id))
	}
	for _, id := range slices.Sorted(maps.Keys(tasks)) {
		err = errors.Join(err, p.heardOf(ctx, tasks[id]))
	}
	if err != nil {
		p.looked(err)
	}
	return nil, nil
}

// afterRun is due when a run of a thread is over: the thread may be a worker's, and the
// run may have been the last that makes tasks for a group.
func (p *Plugin) afterRun(ctx context.Context, threadID string) error {
	if !p.running.maybe() {
		return p.tellGroups(ctx, threadID)
	}
	page, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{Plugin: name, ThreadID: threadID, Newest: true, Limit: 1}})
	if err != nil {
		return err
	}
	for _, task := range page.Tasks {
		err = errors.Join(err, p.advance(ctx, task))
	}
	return errors.Join(err, p.tellGroups(ctx, threadID))
}

// move is what an event says of a task that has moved.
type move struct {
	pluginsdk.TaskPayload

	event pluginsdk.EventType
}

// heardOf does what a move makes due. What the event says itself is not asked of the host:
// most moves make nothing due.
func (p *Plugin) heardOf(ctx context.Context, m move) error {
	if m.Plugin == "" { // an older daemon says no more than the id
		return p.afterMove(ctx, m.TaskID)
	}
	switch {
	case m.Status == pluginsdk.TaskPending, m.Status == pluginsdk.TaskEvaluating:
		return nil // its next move will be told
	case m.Status == pluginsdk.TaskWaiting && m.ParentTaskID == "":
		return nil
	case m.Status == pluginsdk.TaskWaiting:
		return p.afterMove(ctx, m.ParentTaskID)
	case m.Status.Final() && m.event == pluginsdk.EventTaskProgress:
		return nil // what belongs to its end is being done
	}
	return p.afterMove(ctx, m.TaskID)
}

// afterMove is due when a task has moved. One that is over, or waits for a person, may be
// what the task above it has waited for; one that is over, what a group has.
func (p *Plugin) afterMove(ctx context.Context, id string) error {
	answer, err := p.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: id})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return nil
	}
	if err != nil || answer.Task.Plugin != name {
		return err
	}
	task := answer.Task
	if !over(task) && task.Status != pluginsdk.TaskWaiting {
		return p.advance(ctx, task)
	}
	if task.ParentTaskID != "" {
		err = p.afterMove(ctx, task.ParentTaskID)
	}
	if id := task.Labels[labelGroup]; id != "" && over(task) {
		err = errors.Join(err, p.tellGroup(ctx, group{task.ParentThreadID, id}))
	}
	return err
}

// over reports whether a task has ended, and all that belongs to its end is done.
func over(task pluginsdk.Task) bool { return task.Status.Final() && !task.CompletedAt.IsZero() }

// alarm is when to look again: the earliest of the times that were set since it last rang.
type alarm struct {
	mu   sync.Mutex
	next time.Time
	set  chan struct{} // closed when an earlier time is set; nil: nobody waits
}

// at sets the alarm, unless it rings earlier.
func (a *alarm) at(t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.next.IsZero() && !t.Before(a.next) {
		return
	}
	a.next = t
	if a.set != nil {
		close(a.set)
		a.set = nil
	}
}

// wait waits until the alarm rings; false: the context has ended.
func (a *alarm) wait(ctx context.Context, now func() time.Time) bool {
	for {
		a.mu.Lock()
		next := a.next
		if a.set == nil {
			a.set = make(chan struct{})
		}
		set := a.set
		a.mu.Unlock()
		timer := time.NewTimer(next.Sub(now()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-set:
			timer.Stop()
		case <-timer.C:
			a.mu.Lock()
			a.next = time.Time{}
			a.mu.Unlock()
			return true
		}
	}
}
