// Package hooks asks plugins. It holds the runners of pluginsdk's table: notify, chain,
// gate, and the question to a single plugin (One). Tool calls and deliveries are that; the
// runner "first" is made of it in pipeline/commands.go. Each asks one plugin after the
// other, in the operator's order (a chain those at once that do not see its value), and holds
// no lock and no transaction across a call. The
// rooms that fire hooks (pipeline, tasks, outbox, toolserver, pluginhost) say what is asked
// and what becomes of the answers.
package hooks

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Process is a plugin's process: it answers every hook, those that the plugin
// does not declare with CodeUnimplemented.
type Process interface {
	pluginsdk.BeforeRunHook
	pluginsdk.PipelineStartHook
	pluginsdk.MessageHook
	pluginsdk.BeforeInvokeHook
	pluginsdk.AfterInvokeHook
	pluginsdk.CommandHook
	pluginsdk.BeforeReplyHook
	pluginsdk.PipelineCompleteHook
	pluginsdk.TaskCreateHook
	pluginsdk.TaskCompleteHook
	pluginsdk.TaskValidatedHook
	pluginsdk.TaskFailedHook
	pluginsdk.SettingsChangeHook
	pluginsdk.BroadcastHook
	pluginsdk.CheckHook
	pluginsdk.CronHook
	pluginsdk.DeliverHook
	pluginsdk.ToolProvider
}

// Plugin is one enabled plugin, as what asks it sees it.
type Plugin interface {
	Info() *pluginsdk.PluginInfo
	// Do calls fn with the plugin's process and records how it ended; all calls of a
	// run go to the same version of the plugin, which is the one that Info tells
	// of. It returns fn's error, or CodeUnavailable when the plugin does not serve:
	// after waiting a little for one that is being started and must not be passed
	// over.
	Do(ctx context.Context, hook pluginsdk.Hook, callID string, fn func(Process) error) error
}

// Plugins are the enabled plugins.
type Plugins interface {
	// Answering returns those that declare the hook, in the operator's order, as
	// a run (empty: none) sees them.
	Answering(run string, hook pluginsdk.Hook) []Plugin
}

// Tokens ties Host calls to the hook call they are made in.
type Tokens interface {
	// Open returns a token that is good until it is closed, until call ends, or until the
	// deadline. The context of the hook call is derived from call.
	Open(call context.Context, plugin string, behalf ledger.Behalf, deadline time.Time) string
	Close(token string)
}

type noTokens struct{}

func (noTokens) Open(context.Context, string, ledger.Behalf, time.Time) string { return "" }

func (noTokens) Close(string) {}

// DefaultBudget is how much of a run may go into calls of open hooks where nobody has
// set anything.
const DefaultBudget = 20 * time.Second

// Config holds what an operator can set, and who is told. Zero fields get
// defaults.
type Config struct {
	// Deadlines of single hooks, instead of those of their classes.
	Deadlines map[pluginsdk.Hook]time.Duration
	// Budget is how much of a run may go into calls of open hooks before they have to be
	// quick. When it is used up, each plugin has Slow, for all its calls in the run,
	// those before included: a call ends when that does, and none is made after it.
	// Default 20 s.
	Budget time.Duration
	// Slow is how long a call in a run takes before it is warned of, and what a plugin
	// has when the budget is used up. Default 1 s.
	Slow time.Duration
	// Waiting, when set, is told of a call that is slow, while it goes on.
	Waiting func(occasion *Occasion, plugin string, hook pluginsdk.Hook, since time.Time)
	// Trace, when set, is told of every call. Timed then prepares the context of a call so
	// that it says how long the plugin had it.
	Trace func(ledger.Span)
	Timed func(context.Context) (timed context.Context, inside func() time.Duration)
	Log   *slog.Logger
}

// Runner asks plugins.
type Runner struct {
	config  Config
	plugins Plugins
	tokens  Tokens
}

// New returns a Runner. Without plugins it can ask the one that it is given (One);
// without tokens its calls carry none.
func New(config Config, plugins Plugins, tokens Tokens) *Runner {
	if tokens == nil {
		tokens = noTokens{}
	}
	if config.Budget == 0 {
		config.Budget = DefaultBudget
	}
	if config.Slow == 0 {
		config.Slow = time.Second
	}
	if config.Waiting == nil {
		config.Waiting = func(*Occasion, string, pluginsdk.Hook, time.Time) {}
	}
	if config.Timed == nil {
		config.Timed = func(ctx context.Context) (context.Context, func() time.Duration) {
			return ctx, func() time.Duration { return 0 }
		}
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Runner{config: config, plugins: plugins, tokens: tokens}
}
