package pipeline

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Doors are the rooms that the pipeline calls. All of them are needed.
type Doors struct {
	Store     Store
	Agent     Agent
	Plugins   Plugins
	Hooks     *hooks.Runner
	Effects   Effects
	Tools     Tools
	Files     Files
	Outbox    Outbox
	Events    Events
	Notifier  Notifier
	Approvals Approvals
	Plan      Plan
	Places    Places
}

// Places are what runs have while they are at work.
type Places interface {
	// Rest gives the place of a run back while it waits. back waits for a place again, until
	// ctx ends.
	Rest(runID string) (back func(ctx context.Context) error)
}

// Approvals asks people what the agent may not do by itself.
type Approvals interface {
	// Ask returns when there is an answer, or ctx ends.
	Ask(ctx context.Context, of ledger.Asking, ask ledger.ToolAsk) ledger.ToolAnswer
	// Answered says what the run has asked, and was not given the answer of, in words to
	// the agent; empty: nothing.
	Answered(ctx context.Context, runID string) (string, error)
	// Over takes back what a run that is over has asked.
	Over(ctx context.Context, runID string) error
}

// Plan knows the accounts of the agent's, and what is left of their plans. None of it waits
// for anything.
type Plan interface {
	// Account returns the name of the account that a turn is of which is to use the named one;
	// of the empty name, the default.
	Account(named string) string
	// DailyLimit returns what the account may cost in a day, in USD, in the place of another;
	// 0: it is nobody's fallback.
	DailyLimit(account string) float64
	// Admit returns nil when the plan of the account lets the turn through, else what the run
	// waits for.
	Admit(ask ledger.PlanAsk) *pluginsdk.Parked
	// Answered tells that a turn of the account and the model, which began then, was answered.
	Answered(account, model string, began time.Time)
}

// Store is what the pipeline needs of the database. Every write carries the fence of its
// claim.
type Store interface {
	Messages(ctx context.Context, query pluginsdk.MessageQuery) ([]pluginsdk.Message, error)
	SaveIntent(ctx context.Context, fence ledger.Fence, intent ledger.Intent) error
	SaveResult(ctx context.Context, fence ledger.Fence, commit ledger.ResultCommit) error
	// TopUp sets more aside for a running turn, in all of the accounts, and returns how much.
	// *ledger.OverLimit: one of them has nothing left.
	TopUp(ctx context.Context, fence ledger.Fence, runID string, all []ledger.Reservation) (moreUSD float64, err error)
	// SaveProgress stores what the agent has done so far in a running turn.
	SaveProgress(ctx context.Context, fence ledger.Fence, runID string, events []pluginsdk.StreamEvent) error
	// HoldRun notes that a run at work waits for a plugin, and tells its thread.
	HoldRun(ctx context.Context, fence ledger.Fence, held ledger.HeldRun) ([]ledger.Lane, error)
	DropSession(ctx context.Context, fence ledger.Fence, runID string) error
	SaveOutcome(ctx context.Context, fence ledger.Fence, commit ledger.OutcomeCommit) error
	// Absorbable returns the messages that wait in the run's thread and can be merged
	// into the run, in their order.
	Absorbable(ctx context.Context, fence ledger.Fence, runID string) ([]pluginsdk.Message, error)
	// Absorb merges the runs of these messages into the run, and returns the messages of
	// those that still waited, as they were.
	Absorb(ctx context.Context, fence ledger.Fence, runID string, messages []pluginsdk.Message) ([]pluginsdk.Message, error)
	// TaskCap returns how much a task may still cost, and which cap says so; the zero
	// TaskCap: any amount.
	TaskCap(ctx context.Context, taskID string) (ledger.TaskCap, error)
	// Reserved returns what was spent from an account of a plugin's, or the core's, and is set
	// aside in it.
	Reserved(ctx context.Context, plugin, account string) (usd float64, err error)
	// Room returns how an account stands for a run that is about to reserve in it: what is spent, and what
	// is set aside for others.
	Room(ctx context.Context, runID string, one ledger.Reservation) (spent, reserved float64, err error)
	Finish(ctx context.Context, fence ledger.Fence, finish ledger.Finish) (ledger.Finished, error)
}

// Agent runs turns.
type Agent interface {
	// Invoke runs one turn and calls emit, in order, with what happens in it. An error is
	// only in InvokeResult.Failure.
	Invoke(ctx context.Context, request ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult
	// Steer adds a message to the turn of the run. True means that the turn's result
	// covers the message; false that nothing was sent.
	Steer(runID, text string) bool
	// Holds reports whether a living process of the thread has the session open.
	Holds(threadID, sessionID string) bool
}

// Plugins are the enabled plugins.
type Plugins interface {
	hooks.Plugins
	// Hold says that a trip of the run begins: from its first call of a plugin on, the
	// run keeps to that version of the plugin.
	Hold(run string)
	// Release says that the trip is over.
	Release(run string)
}

// Effects decides which of a hook's effects may be stored.
type Effects interface {
	// AdmitEffects returns the part of the effects that the plugin may store, and its
	// size in bytes: the plugin has the capability, the rows are allowed, and they fit
	// into its quotas and into room (bytes). It counts what is left out against the
	// plugin.
	AdmitEffects(ctx context.Context, plugin string, effects *pluginsdk.Effects, room int) (admitted ledger.Effect, size int)
}

// Tools are the plugins' tools, as the agent has them during a turn.
type Tools interface {
	// Begin opens the tools to the turn that is about to begin in the run. Once end has
	// returned, no call of the turn is under way, and plugins are refused what they still
	// ask for on its behalf.
	Begin(behalf ledger.Behalf) (end func())
}

// Files are the attachments of messages, as the agent gets and leaves them.
type Files interface {
	// Directory returns where the agent of a thread works (empty: in the workspace), and
	// whether that is apart. It makes a directory of the thread's own. An error is for
	// another attempt.
	Directory(ctx context.Context, thread pluginsdk.Thread) (dir string, apart bool, err error)
	// Lay makes the directories of a thread, and lays the files that attachments refer to
	// ready in them. What cannot be is said in Desk.Missing; an error is for another
	// attempt.
	Lay(ctx context.Context, threadID string, attachments []pluginsdk.Attachment) (ledger.Desk, error)
	// Collect takes in what the agent has left in the thread's outbox. Repeated before a
	// stored message refers to them, it returns the same files; after that, none of them.
	Collect(ctx context.Context, threadID string) (ledger.Outbox, error)
	// Clear removes from the outbox what a stored message refers to.
	Clear(threadID string, taken []ledger.OutboxEntry)
}

// Outbox carries the stored deliveries.
type Outbox interface {
	// Wake says that the plugin may have something new to carry to the target.
	Wake(plugin, target string)
}

// Events publishes the pipeline's events.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
}

// Notifier posts the agent's texts in other threads and places.
type Notifier interface {
	// Notify posts text where the attributes (thread or target) say, once for each key,
	// and returns what to answer the agent.
	Notify(ctx context.Context, from ledger.Behalf, key, text string, attributes map[string]string) (said string, err error)
}
