// Package summaries keeps thread-summaries.md current, and consolidates inbox.md into memory.md.
package summaries

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const name = "summaries"

// Plugin asks a small model, in turns of its own, what threads are about, and what of the inbox is to stay in memory.
// What it has begun is in its state before it is done: a process that is killed is followed by one that finishes it.
type Plugin struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time

	host   pluginsdk.Host
	config atomic.Pointer[config]

	mu    sync.Mutex           // held by a step, which no hook waits for
	known atomic.Pointer[work] // as it was last read or stored, for who asks how it does; nil: it was not
	since atomic.Int64         // when there was news that no window has looked at, in Unix nanoseconds; 0: there is none

	deletedMu sync.Mutex
	deleted   map[string]bool // threads that were deleted, and are in the archives perhaps

	activated time.Time // when this process was

	tools map[string]bool // by run: the agent used tools in it; guarded by mu

	deaf bool // it is told no answers, since the next window looks at all threads anyway; guarded by mu

	stuck atomic.Pointer[string] // why the last step came to nothing, for doctor; nil: it did not

	memory atomic.Bool // something may be at work on the memory

	wake  chan struct{}      // has an element when there is something to do
	end   context.CancelFunc // of the goroutine that works; nil: it is not active
	ended chan struct{}      // closed when it works no more
}

// The rules of what it is told: deletions always, and answers while it waits for the first of a window.
var (
	deletions = pluginsdk.EventRule{Types: []string{string(pluginsdk.EventThreadDeleted)}}
	answers   = pluginsdk.EventRule{
		Types:       []string{string(pluginsdk.EventPipelineComplete)},
		RunKinds:    []pluginsdk.RunKind{pluginsdk.RunMessage},
		ThreadKinds: []pluginsdk.ThreadKind{pluginsdk.ThreadPrimary, pluginsdk.ThreadGeneral},
	}
)

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: name, Version: "0.1.0", Description: "Keeps thread-summaries.md current, and consolidates the inbox into memory, with provenance and undo", Exclusive: true,
		Commands: commands(), Tools: tools(),
		Events:     []string{string(pluginsdk.EventPipelineComplete), string(pluginsdk.EventThreadDeleted)},
		EventRules: []pluginsdk.EventRule{deletions, answers},
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapThreadsRead, Reason: "know which threads were active, and which are apart"},
			{Capability: pluginsdk.CapThreadsWrite, Reason: "give a name to threads without one"},
			{Capability: pluginsdk.CapThreadsAdmin, Reason: "give it to threads of all sources"},
			{Capability: pluginsdk.CapMessagesRead, Reason: "read what is to be summarised"},
			{Capability: pluginsdk.CapMessagesWrite, Reason: "add a summary to long threads"},
			{Capability: pluginsdk.CapRunsRead, Reason: "know whose message a run answers, and what a turn has cost"},
			{Capability: pluginsdk.CapApprovalsRead, Reason: "know what people have answered to the agent's questions: that is their word, too"},
			{Capability: pluginsdk.CapAgentInvoke, Reason: "have a small model write summaries, and propose what is to stay in memory"},
			{Capability: pluginsdk.CapWorkspaceRead, Reason: "read thread-summaries.md, memory.md and inbox.md, and who has written which line"},
			{Capability: pluginsdk.CapWorkspaceWrite, Reason: "write thread-summaries.md, memory.md, inbox.md and the archive"},
			{Capability: pluginsdk.CapState, Reason: "know what it has begun, and what the day has cost"},
			{Capability: pluginsdk.CapEventsRead, Reason: "learn that somebody was answered"},
		},
		SettingsSchema: settingsSchema,
	}
}

// Start reads the settings.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	p.host, p.wake, p.deleted = host, make(chan struct{}, 1), make(map[string]bool)
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	return p.configure(answer.Settings)
}

func (p *Plugin) configure(raw []byte) error {
	parsed, err := parseConfig(raw)
	if err != nil {
		return err
	}
	p.config.Store(&parsed)
	return nil
}

// OnSettingsChange takes new settings.
func (p *Plugin) OnSettingsChange(_ context.Context, change *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	if err := p.configure(change.Settings); err != nil {
		return nil, err
	}
	p.note()
	return &pluginsdk.OnSettingsChangeResponse{}, nil
}

// Activate begins to work. What there was to do while it was not active it finds out once.
func (p *Plugin) Activate(ctx context.Context) error {
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	p.end, p.ended, p.activated = end, make(chan struct{}), p.now()
	p.memory.Store(true)
	p.note()
	go p.follow(work, p.ended)
	return nil
}

// Deactivate ends the work, and notes when. A turn that is under way goes on: the process that comes next takes its answer.
func (p *Plugin) Deactivate(ctx context.Context) error {
	if p.end == nil {
		return nil
	}
	p.end()
	<-p.ended
	p.end = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	w, err := p.load(ctx)
	if err != nil {
		return err
	}
	w.Stopped = p.now()
	return p.save(ctx, w)
}

// OnBroadcast takes in that somebody was answered, or that a thread is gone.
func (p *Plugin) OnBroadcast(_ context.Context, request *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	p.deletedMu.Lock()
	for _, event := range request.Events {
		if event.Type == pluginsdk.EventThreadDeleted {
			p.deleted[event.ThreadID] = true
		}
	}
	p.deletedMu.Unlock()
	p.note()
	return nil, nil
}

// listen has the plugin told of answers, or not, from now on. The caller holds mu.
func (p *Plugin) listen(ctx context.Context, toAnswers bool) error {
	if p.deaf == !toAnswers {
		return nil
	}
	rules := []pluginsdk.EventRule{deletions}
	if toAnswers {
		rules = append(rules, answers)
	}
	if _, err := p.host.Events.Listen(ctx, &pluginsdk.ListenEventsRequest{Rules: rules}); err != nil {
		return err
	}
	p.deaf = !toAnswers
	return nil
}

// note has the threads looked at when the next window begins.
func (p *Plugin) note() {
	p.since.CompareAndSwap(0, p.now().UnixNano())
	p.soon()
}

// soon has a step made at once.
func (p *Plugin) soon() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// retryAfter is how long after a step that failed there is another.
const retryAfter = time.Minute

// follow makes steps until ctx ends. While there is nothing to do, it waits for news alone.
func (p *Plugin) follow(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	for {
		wait, err := p.step(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			wait = retryAfter
			p.host.Log.Warn("summaries and memory could not be brought up to date; trying again", "err", err, "in", wait)
		}
		if !p.rests(ctx, wait) {
			return
		}
	}
}

// rests waits for a time (0: without end), news, or the end of ctx, and reports whether there is more to do.
func (p *Plugin) rests(ctx context.Context, wait time.Duration) bool {
	var due <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-p.wake:
	case <-ctx.Done():
		return false
	}
	return true
}

// step does what is due, and returns how long to wait for the next; 0: until there is news.
func (p *Plugin) step(ctx context.Context) (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	failed := p.settle(ctx) // which keeps no summaries from being written
	wait, err := p.window(ctx)
	if failed = errors.Join(failed, err); failed != nil {
		words := failed.Error()
		p.stuck.Store(&words)
		return 0, failed
	}
	p.stuck.Store(nil)
	return wait, nil
}

func (p *Plugin) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now().UTC()
}
