package pipeline

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is what the pipeline needs of the database. Every write carries the
// fence of the claim it works for.
type Store interface {
	Messages(ctx context.Context, query pluginsdk.MessageQuery) ([]pluginsdk.Message, error)
	SaveIntent(ctx context.Context, fence ledger.Fence, intent ledger.Intent) error
	SaveResult(ctx context.Context, fence ledger.Fence, commit ledger.ResultCommit) error
	DropSession(ctx context.Context, fence ledger.Fence, runID string) error
	SaveOutcome(ctx context.Context, fence ledger.Fence, runID string, outcome pluginsdk.Outcome) error
	Absorb(ctx context.Context, fence ledger.Fence, runID string) ([]pluginsdk.Message, error)
	Finish(ctx context.Context, fence ledger.Fence, finish ledger.Finish) (messageIDs []int64, err error)
}

// Agent runs turns.
type Agent interface {
	// Invoke runs one turn and calls emit, in order, for what happens in it.
	// It fails only through InvokeResult.Failure.
	Invoke(ctx context.Context, request pluginsdk.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult
	// Steer puts a further message into the turn that runs for the thread. True
	// means that the turn's result covers it; false that nothing was sent.
	Steer(threadID, text string) bool
	// Holds reports whether a live process of the thread holds the session.
	Holds(threadID, sessionID string) bool
}

// Hooks are the hooks that the pipeline fires.
type Hooks interface {
	pluginsdk.BeforeRunHook
	pluginsdk.PipelineStartHook
	pluginsdk.MessageHook
	pluginsdk.BeforeInvokeHook
	pluginsdk.AfterInvokeHook
	pluginsdk.CommandHook
	pluginsdk.BeforeReplyHook
	pluginsdk.PipelineCompleteHook
}

// Plugin is one enabled plugin as the pipeline sees it.
type Plugin interface {
	Info() *pluginsdk.PluginInfo
	// Do calls fn with the plugin's hooks and records how it ended; all calls of
	// the run it was asked for go to the same version of the plugin, which is
	// the one that Info tells of. It returns fn's error, or CodeUnavailable when
	// the plugin does not serve: after waiting a little for one that is being
	// started and must not be passed over.
	Do(ctx context.Context, hook pluginsdk.Hook, callID string, fn func(Hooks) error) error
}

// Plugins are the enabled plugins.
type Plugins interface {
	// Answering returns those that declare the hook, in the operator's order, as
	// a run (empty: none) sees them.
	Answering(run string, hook pluginsdk.Hook) []Plugin
	// Hold says that a trip of the run begins: it keeps to the versions of the
	// plugins that answer its first calls.
	Hold(run string)
	// Release says that the trip is over.
	Release(run string)
}

// Tokens ties Host calls to the hook call they are made in.
type Tokens interface {
	// Open returns a token that is good until it is closed, or the deadline.
	Open(plugin string, origin ledger.Origin, deadline time.Time) string
	Close(token string)
}

// Tools are the plugins' tools, as the agent has them in a turn.
type Tools interface {
	// Begin opens them to the turn that is about to run in the origin's thread
	// for a purpose. Once end has returned, no call of the turn is under way,
	// and what a plugin still asks for on its behalf is refused.
	Begin(purpose string, origin ledger.Origin) (end func())
}

// Outbox carries what was stored for people.
type Outbox interface {
	// Wake says that a delivery of the thread may have been made.
	Wake(thread pluginsdk.Thread)
}

// Events is where the pipeline broadcasts.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
}
