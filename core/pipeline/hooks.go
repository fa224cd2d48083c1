package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The hook runners. All are sequential in the operator's order, never
// parallel, and hold no lock and no transaction across a call.

// invocation is one hook of one trip.
type invocation struct {
	hook     pluginsdk.Hook
	call     string // the call's name within the run; the same at every attempt
	deadline time.Duration
}

func (p *Pipeline) hook(hook pluginsdk.Hook, deadline time.Duration) invocation {
	if set, ok := p.config.Hook[hook]; ok {
		deadline = set
	}
	return invocation{hook: hook, call: string(hook), deadline: deadline}
}

// notify tells every plugin that answers the hook. A failure is counted
// against the plugin and the next is told; a closed hook fails the step.
func (p *Pipeline) notify(ctx context.Context, t *trip, h invocation,
	tell func(context.Context, Hooks, pluginsdk.Call) error,
) error {
	for _, plugin := range p.plugins.Answering(t.run.ID, h.hook) {
		if err := p.ask(ctx, t, plugin, h, tell); err != nil {
			if err := p.failure(ctx, plugin, h.hook, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// chain gives each plugin the previous one's value. A failure keeps the
// previous value; an empty result is a value.
func (p *Pipeline) chain(ctx context.Context, t *trip, h invocation, value string,
	next func(context.Context, Hooks, pluginsdk.Call, string) (string, error),
) (string, error) {
	for _, plugin := range p.plugins.Answering(t.run.ID, h.hook) {
		err := p.ask(ctx, t, plugin, h, func(ctx context.Context, hooks Hooks, call pluginsdk.Call) error {
			got, err := next(ctx, hooks, call, value)
			if err == nil {
				value = got
			}
			return err
		})
		if err != nil {
			if err := p.failure(ctx, plugin, h.hook, err); err != nil {
				return "", err
			}
		}
	}
	return value, nil
}

// gate asks every plugin; all must allow. An error denies, with the error as
// the reason, unless the hook is open for that plugin. A plugin that did not
// get to decide (down, dead, too late) has given no verdict: the run is tried
// again.
func (p *Pipeline) gate(ctx context.Context, t *trip, h invocation,
	judge func(context.Context, Hooks, pluginsdk.Call) (pluginsdk.Verdict, error),
) (pluginsdk.Verdict, error) {
	for _, plugin := range p.plugins.Answering(t.run.ID, h.hook) {
		var verdict pluginsdk.Verdict
		err := p.ask(ctx, t, plugin, h, func(ctx context.Context, hooks Hooks, call pluginsdk.Call) (err error) {
			verdict, err = judge(ctx, hooks, call)
			return err
		})
		switch {
		case err != nil && (ctx.Err() != nil || noVerdict(err) || plugin.Info().FailureMode(h.hook) == pluginsdk.FailOpen):
			if err := p.failure(ctx, plugin, h.hook, err); err != nil {
				return pluginsdk.Verdict{}, err
			}
		case err != nil:
			p.logFailure(plugin, h.hook, err)
			return pluginsdk.Verdict{Reason: fmt.Sprintf("the plugin %s could not decide: %s", plugin.Info().Name, err)}, nil
		case !verdict.Allow:
			if verdict.Reason == "" {
				verdict.Reason = "denied by " + plugin.Info().Name
			}
			return verdict, nil
		}
	}
	return pluginsdk.Verdict{Allow: true}, nil
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

// ask makes one call with its deadline and its token.
func (p *Pipeline) ask(ctx context.Context, t *trip, plugin Plugin, h invocation,
	do func(context.Context, Hooks, pluginsdk.Call) error,
) error {
	name := plugin.Info().Name
	call := t.call(h.call + ":" + name)
	return plugin.Do(ctx, h.hook, call.ID, func(hooks Hooks) error {
		call.Deadline = time.Now().Add(h.deadline)
		call.Token = p.tokens.Open(name, t.origin(), call.Deadline)
		defer p.tokens.Close(call.Token)
		ctx, cancel := context.WithDeadline(ctx, call.Deadline)
		defer cancel()
		return do(pluginsdk.WithCall(ctx, call), hooks, call)
	})
}

// failure applies the plugin's failure mode: nil goes on, an error fails the
// step in a way that is worth another attempt.
func (p *Pipeline) failure(ctx context.Context, plugin Plugin, hook pluginsdk.Hook, err error) error {
	if ctx.Err() != nil {
		return interruption(ctx)
	}
	p.logFailure(plugin, hook, err)
	if plugin.Info().FailureMode(hook) == pluginsdk.FailOpen {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s failed in %s, which must not be passed over: %w",
		plugin.Info().Name, hook, err)
}

func (p *Pipeline) logFailure(plugin Plugin, hook pluginsdk.Hook, err error) {
	info := plugin.Info()
	level := slog.LevelWarn
	if pluginsdk.CodeOf(err) == pluginsdk.CodeUnavailable && info.FailureMode(hook) == pluginsdk.FailOpen {
		level = slog.LevelDebug // it is down, which its host says once
	}
	p.config.Log.Log(context.Background(), level, "hook failed", "plugin", info.Name, "hook", hook, "mode", info.FailureMode(hook), "err", err)
}

// interruption is the error of a trip whose own context has ended.
func interruption(ctx context.Context) error {
	return pluginsdk.Errorf(pluginsdk.CodeCancelled, "%w", context.Cause(ctx))
}
