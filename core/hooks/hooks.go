// Package hooks asks plugins. It holds the runners of pluginsdk's table: notify,
// chain, gate, and the question to a single plugin (One), which first is made of where
// it is needed: pipeline/commands.go, tool calls, deliveries. Each asks one plugin after the other, in the operator's order, and holds no
// lock and no transaction across a call. The rooms that fire hooks (pipeline,
// outbox, toolserver, pluginhost) say what is asked and what becomes of the answers.
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
	// Open returns a token that is good until it is closed, or the deadline.
	Open(plugin string, behalf ledger.Behalf, deadline time.Time) string
	Close(token string)
}

type noTokens struct{}

func (noTokens) Open(string, ledger.Behalf, time.Time) string { return "" }
func (noTokens) Close(string)                                 {}

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

// Occasion is what hooks are fired for: an attempt of a run, a delivery, a task.
type Occasion struct {
	// Behalf is on whose behalf the plugins are called. Its run says to which
	// versions of the plugins the calls go.
	Behalf ledger.Behalf
	// Call is the part of a call's identity that all calls of the occasion share:
	// ID, to which each call adds its own name, attempt and trace.
	Call pluginsdk.Call
	// Beside says that the run goes on beside the calls: nobody is told that it waits
	// for them. As any occasion it has a budget of its own.
	Beside bool

	spent budget
}

// Question is one hook, asked on an occasion.
type Question[Req, Res any] struct {
	Hook pluginsdk.Hook
	// Name is added to the occasion's id, and the plugin's name to that; the hook's
	// name when it is empty. It tells the calls of one occasion apart, and is the
	// same when the occasion is repeated.
	Name string
	// CallID, when it is set, is the whole of the call's id.
	CallID string
	// Request makes the request for a plugin; nil does not ask it.
	Request func(call pluginsdk.Call, plugin *pluginsdk.PluginInfo) *Req
	// Ask makes the call: the method of Process.
	Ask func(Process, context.Context, *Req) (*Res, error)
}

// Notify tells every plugin that answers the hook; take, unless it is nil, gets
// each answer. A failure is counted against the plugin and the next is told; a
// closed hook ends it with an error that is worth another attempt.
func Notify[Req, Res any](ctx context.Context, r *Runner, on *Occasion, q Question[Req, Res], take func(plugin string, answer *Res)) error {
	for _, plugin := range r.plugins.Answering(on.Behalf.RunID, q.Hook) {
		answer, err := One(ctx, r, on, plugin, q)
		if err != nil {
			if err := r.Failed(ctx, plugin, q.Hook, err); err != nil {
				return err
			}
			continue
		}
		if answer != nil && take != nil {
			take(plugin.Info().Name, answer)
		}
	}
	return nil
}

// Chain gives each plugin that answers the hook the value that the one before it
// came to, and returns the last. Question gets the value into the request, next
// gets the following one out of the answer. A failure keeps the value.
func Chain[V, Req, Res any](ctx context.Context, r *Runner, on *Occasion, value V,
	question func(V) Question[Req, Res], next func(plugin string, answer *Res, value V) V,
) (V, error) {
	for _, plugin := range r.plugins.Answering(on.Behalf.RunID, question(value).Hook) {
		q := question(value)
		answer, err := One(ctx, r, on, plugin, q)
		if err != nil {
			if err := r.Failed(ctx, plugin, q.Hook, err); err != nil {
				return value, err
			}
			continue
		}
		if answer != nil {
			value = next(plugin.Info().Name, answer, value)
		}
	}
	return value, nil
}

// Denied is a gate's word that something may not happen. It is an error.
type Denied struct {
	Plugin string
	Reason string
}

// Error returns the reason.
func (d *Denied) Error() string { return d.Reason }

// Gate asks every plugin that answers the hook; judge says whether its answer
// denies, and why. It ends with *Denied at the first that does. An error of the
// plugin's own denies too, with the error as the reason, unless the hook is open
// for that plugin. A plugin that did not get to decide (down, dead, too late) has
// given no verdict: then Gate fails in a way that is worth another attempt.
func Gate[Req, Res any](ctx context.Context, r *Runner, on *Occasion, q Question[Req, Res],
	judge func(plugin string, answer *Res) (denied bool, reason string),
) error {
	for _, plugin := range r.plugins.Answering(on.Behalf.RunID, q.Hook) {
		name := plugin.Info().Name
		answer, err := One(ctx, r, on, plugin, q)
		switch {
		case err != nil && (ctx.Err() != nil || noVerdict(err) || plugin.Info().FailureMode(q.Hook) == pluginsdk.FailOpen):
			if err := r.Failed(ctx, plugin, q.Hook, err); err != nil {
				return err
			}
		case err != nil:
			r.logFailure(plugin, q.Hook, err)
			return &Denied{Plugin: name, Reason: "the plugin " + name + " could not decide: " + err.Error()}
		case answer != nil:
			if denied, reason := judge(name, answer); denied {
				if reason == "" {
					reason = "denied by " + name
				}
				return &Denied{Plugin: name, Reason: shorten(reason)}
			}
		}
	}
	return nil
}

// noVerdict reports an error that is a fault on the way and not the plugin's
// own word: it does not serve, it died, it took too long.
func noVerdict(err error) bool {
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others are the plugin's word
	case pluginsdk.CodeUnavailable, pluginsdk.CodeDeadline:
		return true
	}
	return false
}

// Failed applies the plugin's failure mode to an error of a call: nil goes on, an
// error fails what the hook was fired for, in a way that is worth another attempt.
func (r *Runner) Failed(ctx context.Context, plugin Plugin, hook pluginsdk.Hook, err error) error {
	if ctx.Err() != nil {
		return pluginsdk.Errorf(pluginsdk.CodeCancelled, "%w", context.Cause(ctx))
	}
	r.logFailure(plugin, hook, err)
	if plugin.Info().FailureMode(hook) == pluginsdk.FailOpen {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s failed in %s, which must not be passed over: %w",
		plugin.Info().Name, hook, err)
}

func (r *Runner) logFailure(plugin Plugin, hook pluginsdk.Hook, err error) {
	info := plugin.Info()
	mode := info.FailureMode(hook)
	level := slog.LevelWarn
	if pluginsdk.CodeOf(err) == pluginsdk.CodeUnavailable && mode == pluginsdk.FailOpen {
		level = slog.LevelDebug // it is down, which its host says once
	}
	r.config.Log.Log(context.Background(), level, "hook failed", "plugin", info.Name, "hook", hook, "mode", mode, "err", err)
}
