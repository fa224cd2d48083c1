// Package workflow takes a request through stages: an architect plans, builders build the plan in
// batches, reviewers that have not built look at each batch, and all of it is reviewed once more
// against the request before it is merged.
//
// A workflow is a task, its root; each stage that works is a task below it. What is true stands in
// the plugin's state (record) and in those tasks; where the two differ, the task decides. One
// goroutine drives a workflow (flow.drive). It keeps nothing that is not stored: whatever it is
// doing can be cut off, and is begun again from the record. A gate (OnTaskComplete) checks a
// stage's work, and has builders' work reviewed.
package workflow

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/scratch"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const name = "workflow"

// Plugin drives workflows.
type Plugin struct {
	// Fault, when set, is called between every two steps with the step's name and the workflow's
	// id. Tests end the plugin there.
	Fault func(step, id string)
	// Beat is how often a call that takes long says that it is alive; 0: each minute.
	Beat time.Duration
	// Rest is how long a stage rests after a turn of its that failed, doubled with each that
	// follows; 0: 10 s.
	Rest time.Duration
	// Again is how long a workflow rests that cannot go on, doubled each time in a row; 0: 1 s.
	Again time.Duration

	host      pluginsdk.Host
	log       *slog.Logger
	config    atomic.Pointer[config]
	workspace string
	works     scratch.Place
	moved     signal // a task has moved, or a record was changed

	starts sync.Mutex // one workflow is started at a time: each sees those before it

	mu     sync.Mutex
	flows  map[string]*flow // by the id of the root task
	places places
	work   context.Context // what drives workflows; nil: the plugin is not active
	stop   context.CancelFunc
	driven sync.WaitGroup
}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: name, Version: "0.1.0", Exclusive: true, Description: "Builds software from a request in stages: plan, batches that are built and reviewed, a last review, a merge",
		Sources:    []string{name},
		Commands:   commands(),
		Tools:      tools(),
		Events:     []string{taskEvents, string(pluginsdk.EventResync)},
		EventRules: []pluginsdk.EventRule{{Types: []string{taskEvents}}},
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapTasksRead, Reason: "know how its stages stand"},
			{Capability: pluginsdk.CapTasksWrite, Reason: "make a task of each workflow and of each of its stages"},
			{Capability: pluginsdk.CapRunsRead, Reason: "read what a stage's agent said, and what it has cost"},
			{Capability: pluginsdk.CapRunsControl, Reason: "interrupt a stage's agent when the workflow is stopped"},
			{Capability: pluginsdk.CapThreadsRead, Reason: "know where the thread works that starts a workflow"},
			{Capability: pluginsdk.CapThreadsWrite, Reason: "show the reviews of a batch in a thread of their own"},
			{Capability: pluginsdk.CapThreadsAdmin, Reason: "work in the directory that was asked for, and let reviewers run checks in a checkout of their own"},
			{Capability: pluginsdk.CapAgentInvoke, Reason: "choose the stages, draw up the acceptance checks, and ask reviewers"},
			{Capability: pluginsdk.CapMessagesWrite, Reason: "say in a workflow's thread how it goes on"},
			{Capability: pluginsdk.CapTurnsChange, Reason: "tell the agent how workflows are started"},
			{Capability: pluginsdk.CapEventsRead, Reason: "learn that a stage's task has moved"},
			{Capability: pluginsdk.CapState, Reason: "know how far each workflow is"},
		},
		Environment:    []pluginsdk.EnvironmentRequest{{Name: "HARNESS_WORKSPACE", Reason: "where threads work that have no directory of their own"}},
		SettingsSchema: settingsSchema,
	}
}

const taskEvents = "task:*"

// Start reads the settings. Wrong ones are an error that names the setting.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	p.host, p.log, p.workspace = host, host.Log, os.Getenv("HARNESS_WORKSPACE")
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.Fault == nil {
		p.Fault = func(string, string) {}
	}
	if p.Rest == 0 {
		p.Rest = 10 * time.Second
	}
	if p.Again == 0 {
		p.Again = time.Second
	}
	p.works = scratch.Place{Key: "works", Prefix: "harness-workflow-"}
	p.flows = make(map[string]*flow)
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	return p.configure(answer.Settings)
}

// OnSettingsChange takes new settings, for what is done from now on. Wrong ones are an error, and
// the last good ones stay in force.
func (p *Plugin) OnSettingsChange(_ context.Context, change *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	return &pluginsdk.OnSettingsChangeResponse{}, p.configure(change.Settings)
}

func (p *Plugin) configure(raw json.RawMessage) error {
	parsed, err := parseConfig(raw)
	if err == nil {
		p.config.Store(&parsed)
		p.places.resize(parsed.AtOnce)
	}
	return err
}

// lookAgain is how often tasks are read without an event: an event may be lost.
const lookAgain = 30 * time.Second

// Activate goes on with the workflows that are open.
func (p *Plugin) Activate(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.mu.Lock()
	p.work, p.stop = work, stop
	p.mu.Unlock()
	p.driven.Go(func() {
		for wait := p.Again; work.Err() == nil; wait = min(2*wait, lookAgain) {
			err := p.resume(work)
			if err == nil || !rest(work, wait) {
				return
			}
			p.log.Warn("open workflows could not be listed; trying again", "err", err, "in", wait.String())
		}
	})
	return nil
}

// resume drives all workflows that are open, and those of which it was not noted yet that they are over.
func (p *Plugin) resume(ctx context.Context) error {
	for after := ""; ; {
		page, err := p.host.State.List(ctx, &pluginsdk.ListStateRequest{Prefix: openPrefix, After: after, KeysOnly: true})
		if err != nil {
			return err
		}
		for _, entry := range page.Entries {
			after = entry.Key
			p.begin(strings.TrimPrefix(entry.Key, openPrefix))
		}
		if !page.More {
			break
		}
	}
	for after := ""; ; {
		page, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{Plugin: name, Statuses: openStatuses, After: after}})
		if err != nil || len(page.Tasks) == 0 {
			return err
		}
		for _, task := range page.Tasks {
			after = task.ID
			if task.Labels[labelRoot] != "" {
				p.begin(task.ID)
			}
		}
	}
}

var openStatuses = []pluginsdk.TaskStatus{pluginsdk.TaskPending, pluginsdk.TaskRunning, pluginsdk.TaskEvaluating, pluginsdk.TaskWaiting}

// Deactivate stops driving. What is under way is left as it is, and nothing that was read is kept:
// another process may change it from now on.
func (p *Plugin) Deactivate(context.Context) error {
	p.mu.Lock()
	stop := p.stop
	p.work, p.stop = nil, nil
	p.mu.Unlock()
	if stop != nil {
		stop()
		p.driven.Wait()
		p.mu.Lock()
		p.flows = make(map[string]*flow)
		p.mu.Unlock()
	}
	return nil
}

// begin drives a workflow, unless that is done already.
func (p *Plugin) begin(id string) {
	f := p.flow(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.driven || p.work == nil {
		return
	}
	f.driven = true
	work := p.work
	p.driven.Go(func() {
		ended := f.drive(work)
		p.mu.Lock()
		defer p.mu.Unlock()
		f.driven = false
		if ended && p.flows[id] == f {
			delete(p.flows, id)
		}
	})
}

// flow is the workflow of a root task.
func (p *Plugin) flow(id string) *flow {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.flows[id]
	if f == nil {
		f = &flow{Plugin: p, id: id}
		p.flows[id] = f
	}
	return f
}

// look is the workflow of a root task for somebody who only reads: it is not kept for that.
func (p *Plugin) look(id string) *flow {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.flows[id]; f != nil {
		return f
	}
	return &flow{Plugin: p, id: id}
}

// OnBroadcast wakes what waits for a task to move.
func (p *Plugin) OnBroadcast(context.Context, *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	p.moved.raise()
	return nil, nil
}

// signal wakes all who wait for it.
type signal struct {
	mu   sync.Mutex
	next chan struct{}
}

// wait returns a channel that is closed when the signal is raised next.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}

func (s *signal) raise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}

// rest waits; false: the context has ended.
func rest(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
