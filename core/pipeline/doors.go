package pipeline

import (
	"context"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Doors are the rooms that the pipeline works with.
type Doors struct {
	Store    Store
	Agent    Agent
	Plugins  Plugins
	Hooks    *hooks.Runner
	Effects  Effects
	Tools    Tools
	Outbox   Outbox
	Events   Events
	Notifier Notifier
}

// Store is what the pipeline needs of the database. Every write carries the
// fence of the claim it works for.
type Store interface {
	Messages(ctx context.Context, query pluginsdk.MessageQuery) ([]pluginsdk.Message, error)
	SaveIntent(ctx context.Context, fence ledger.Fence, intent ledger.Intent) error
	SaveResult(ctx context.Context, fence ledger.Fence, commit ledger.ResultCommit) error
	// SaveProgress stores what the agent has done so far in a turn that runs.
	SaveProgress(ctx context.Context, fence ledger.Fence, runID string, events []pluginsdk.StreamEvent) error
	DropSession(ctx context.Context, fence ledger.Fence, runID string) error
	SaveOutcome(ctx context.Context, fence ledger.Fence, commit ledger.OutcomeCommit) error
	// Absorbable returns the messages that wait in the run's thread and can be merged
	// into the run, in their order.
	Absorbable(ctx context.Context, fence ledger.Fence, runID string) ([]pluginsdk.Message, error)
	// Absorb merges the runs of these messages into the run, and returns those that
	// still waited.
	Absorb(ctx context.Context, fence ledger.Fence, runID string, messageIDs []int64) ([]pluginsdk.Message, error)
	// TaskCap returns what a task may still come to; the zero TaskCap is none.
	TaskCap(ctx context.Context, taskID string) (ledger.TaskCap, error)
	Finish(ctx context.Context, fence ledger.Fence, finish ledger.Finish) (ledger.Finished, error)
}

// Agent runs turns.
type Agent interface {
	// Invoke runs one turn and calls emit, in order, for what happens in it.
	// It fails only through InvokeResult.Failure.
	Invoke(ctx context.Context, request ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult
	// Steer puts a further message into the turn of the run. True means that the
	// turn's result covers it; false that nothing was sent.
	Steer(runID, text string) bool
	// Holds reports whether a live process of the thread holds the session.
	Holds(threadID, sessionID string) bool
}

// Plugins are the enabled plugins.
type Plugins interface {
	hooks.Plugins
	// Hold says that a trip of the run begins: it keeps to the versions of the
	// plugins that answer its first calls.
	Hold(run string)
	// Release says that the trip is over.
	Release(run string)
}

// Effects decides what of a hook's effects may be stored.
type Effects interface {
	// AdmitEffects returns what the plugin may store of its effects, and how many bytes they
	// are: it has the capability, the rows are allowed, and they fit into its quotas
	// and into room, in bytes. What is left out is counted against the plugin.
	AdmitEffects(ctx context.Context, plugin string, effects *pluginsdk.Effects, room int) (admitted ledger.Effect, size int)
}

// Tools are the plugins' tools, as the agent has them in a turn.
type Tools interface {
	// Begin opens them to the turn that is about to begin in the run. Once
	// end has returned, no call of the turn is under way, and what a plugin still
	// asks for on its behalf is refused.
	Begin(behalf ledger.Behalf) (end func())
}

// Outbox carries what was stored for people.
type Outbox interface {
	// Wake says that a target of a plugin may have something new.
	Wake(plugin, target string)
}

// Events is where the pipeline broadcasts.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
}

// Notifier reaches people in other threads and places for the agent.
type Notifier interface {
	// Notify posts text where the attributes say (thread or target), once for a key,
	// and returns what to tell who asked.
	Notify(ctx context.Context, from ledger.Behalf, key, text string, attributes map[string]string) (said string, err error)
}
