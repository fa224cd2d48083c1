package pluginhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// Process is a plugin's process: its hooks, each of which ends with its
// context.
type Process = launch.Plugin

// Do calls fn with the plugin's process, keeps account of the call, and counts
// its failures against the plugin. All calls of a run (empty: none) go to the
// version that the run began with, as long as that one lives. It returns fn's
// error, or CodeUnavailable when the plugin does not serve: at once where the
// hook may be passed over, else after waiting for one that is being started.
func (i *Instance) Do(ctx context.Context, run string, hook pluginsdk.Hook, callID string, fn func(*Process) error) error {
	c, err := i.acquire(ctx, run, hook, callID)
	if err != nil {
		return err
	}
	defer func() { i.release(c, err) }()
	defer i.attend(c.version)()
	began := time.Now()
	err = i.redacted(fn(c.version.process))
	took := time.Since(began)
	if spec, _ := hook.Spec(); took > i.host.slow && run != "" && spec.Runner != pluginsdk.RunOne { // that one is waited for by who asked it
		i.figures.waited()
	}
	i.judge(ctx, c.version, hook, callID, took, err)
	return err
}

// Timed prepares the context of one call of a process so that it says how long the
// plugin had it.
func Timed(ctx context.Context) (timed context.Context, inside func() time.Duration) {
	return launch.Timed(ctx)
}

// Charge counts rows against the plugin that a hook of it wanted to have stored with
// its run, and that were not, and says why in its log.
func (h *Host) Charge(plugin string, rows int, why string) {
	if instance, ok := h.current.Load(plugin); ok {
		instance.(*Instance).charge(rows, why)
	}
}

func (i *Instance) charge(rows int, why string) {
	i.figures.charge(rows)
	i.mu.Lock()
	defer i.mu.Unlock()
	if now := time.Now(); !i.ended && now.Sub(i.charged) > noteEvery {
		i.charged = now
		i.host.logs.of(i.name).note(slog.LevelWarn, fmt.Sprintf("rows that were not stored: %d: %s", rows, i.redact(why)))
	}
}

// redacted takes the plugin's secrets out of an error: it ends in runs, in
// messages, in events.
func (i *Instance) redacted(err error) error {
	if err == nil {
		return nil
	}
	words := i.redact(err.Error())
	switch {
	case words == err.Error():
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &pluginsdk.Error{Code: pluginsdk.CodeDeadline, Message: words, Cause: context.DeadlineExceeded}
	case errors.Is(err, launch.ErrTooLarge):
		return &pluginsdk.Error{Code: pluginsdk.CodeOf(err), Message: words, Cause: launch.ErrTooLarge}
	}
	return pluginsdk.Errorf(pluginsdk.CodeOf(err), "%s", words)
}

// judge keeps account of a call, counts a failed one against the plugin and
// watches one that came too late. A caller that gave up by itself is nobody's
// failure, and what was too large to be sent is none of the plugin's.
func (i *Instance) judge(ctx context.Context, v *version, hook pluginsdk.Hook, callID string, took time.Duration, err error) {
	if errors.Is(err, launch.ErrTooLarge) {
		return
	}
	if ctx.Err() != nil {
		err = nil
	}
	i.figures.record(hook, took, err)
	if err == nil {
		return
	}
	i.count(v, hook, err)
	if errors.Is(err, context.DeadlineExceeded) { // ours; what a plugin says of a deadline of its own is its answer
		i.late(v, hook, callID)
	}
}

// openPatience is how long after the beginning of a start a hook that may be
// passed over waits for the plugin. One that has failed again is not waited for.
const openPatience = 250 * time.Millisecond

// mayBePassedOver reports whether a run goes on without the plugin's answer.
// What people or the agent asked of this very plugin is not passed over.
func mayBePassedOver(info *pluginsdk.PluginInfo, hook pluginsdk.Hook) bool {
	switch hook { //nolint:exhaustive // the others are of the pipeline
	case pluginsdk.HookCommand, pluginsdk.HookCallTool, pluginsdk.HookDeliver:
		return false
	}
	return info.FailureMode(hook) == pluginsdk.FailOpen
}

// out reports whether the plugin cannot be expected to serve before an operator
// has done something.
func (i *Instance) out() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.state == pluginsdk.PluginFailed || i.state == pluginsdk.PluginQuarantined
}

// asking is one call that is under way.
type asking struct {
	version *version
	id      string
	open    bool // it may be passed over
}

// acquire returns the version that is to answer, with the call noted on it.
func (i *Instance) acquire(ctx context.Context, run string, hook pluginsdk.Hook, callID string) (asking, error) {
	c := asking{id: callID, open: mayBePassedOver(i.InfoFor(run), hook)}
	wait := i.host.config.Patience
	if c.open {
		wait = min(wait, openPatience)
	}
	var patience *time.Timer // made when it is needed: most calls do not wait
	for {
		changed, why := i.take(&c, run, wait)
		if why == nil || changed == nil {
			return c, why
		}
		if patience == nil {
			patience = time.NewTimer(wait)
			defer patience.Stop()
		}
		select {
		case <-changed:
		case <-patience.C:
			return c, why
		case <-ctx.Done():
			return c, pluginsdk.Errorf(pluginsdk.CodeCancelled, "%w", context.Cause(ctx))
		case <-i.done:
			return c, why
		}
	}
}

// take notes a call on the version that is to answer. Without one it says why,
// and, when waiting may help, what to wait for.
func (i *Instance) take(c *asking, run string, wait time.Duration) (changed chan struct{}, why error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	v := i.versionFor(run)
	if v == nil {
		if i.soon(c.open, wait) {
			changed = i.changed
		}
		return changed, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s is %s: %s", i.name, i.state, i.lastErr)
	}
	if why := v.shuns(i.name); c.open && why != nil {
		return nil, why
	}
	c.version = v
	v.calls++
	v.asked[c.id]++
	if c.open {
		v.open++
	}
	return nil, nil
}

// shuns says why what may be passed over does not ask the version now. The lock
// is held.
func (v *version) shuns(name string) error {
	switch {
	case v.late > 0:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable,
			"the plugin %s has not answered a call whose deadline has passed; it is passed over for a while", name)
	case v.onTrial && v.open > 0:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable,
			"the plugin %s is on trial after a failure; it is passed over until it has answered a call", name)
	}
	return nil
}

// release takes the call off the version. One that was answered, with an error
// or without, ends its trial.
func (i *Instance) release(c asking, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	v := c.version
	switch code := pluginsdk.CodeOf(err); {
	case err == nil:
		v.onTrial, v.delays = false, 0
	case errors.Is(err, launch.ErrTooLarge): // it was not asked
	case code != pluginsdk.CodeUnavailable && code != pluginsdk.CodeCancelled && !errors.Is(err, context.DeadlineExceeded):
		v.onTrial = false
	}
	if v.asked[c.id]--; v.asked[c.id] == 0 {
		delete(v.asked, c.id)
	}
	if c.open {
		v.open--
	}
	if v.calls--; v.calls == 0 && v != i.serving {
		i.signal()
	}
}

// soon reports whether waiting that long may help. The lock is held.
func (i *Instance) soon(open bool, wait time.Duration) bool {
	switch i.state { //nolint:exhaustive // in the others nothing is about to start
	case pluginsdk.PluginStarting, pluginsdk.PluginServing:
		return !open || i.inARow < 2 && time.Since(i.nextTry) < openPatience
	case pluginsdk.PluginBackoff:
		return !open && time.Until(i.nextTry) < wait
	}
	return false
}

// noteEvery bounds what failures write into the plugin's own log.
const noteEvery = 100 * time.Millisecond

// count remembers a failure until flush stores it. Why a process ended is the
// supervisor's to say: it knows more than the calls that ended with it.
func (i *Instance) count(v *version, hook pluginsdk.Hook, err error) {
	words := fmt.Sprintf("%s: %s", hook, err)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failures++
	if now := time.Now(); !i.ended && now.Sub(i.noted) > noteEvery {
		i.noted = now
		i.host.logs.of(i.name).note(slog.LevelWarn, "hook failed: "+words) // the daemon's log has it from who called
	}
	i.failure = words
	select {
	case <-v.process.Done():
	default:
		i.lastErr = words
	}
}

// flush stores the failures counted since the last time, and now and then the
// figures.
func (i *Instance) flush(ctx context.Context) {
	i.mu.Lock()
	restarts := i.restarts
	i.mu.Unlock()
	if i.figures.due(time.Now()) {
		if err := i.host.store.SavePluginFigures(ctx, i.name, i.figuresNow(restarts)); err != nil {
			i.log.Warn("figures of a plugin cannot be stored", "err", err)
		}
	}
	i.storeQuarantine(ctx)
	i.mu.Lock()
	failures, failure := i.failures, cmp.Or(i.lastErr, i.failure)
	i.failures = 0
	i.mu.Unlock()
	if failures == 0 {
		return
	}
	if err := i.host.store.AddPluginFailures(ctx, i.name, failures, failure); err != nil {
		i.log.Warn("failures of a plugin cannot be stored", "failures", failures, "err", err)
		i.mu.Lock()
		i.failures += failures
		i.mu.Unlock()
	}
}

// ask asks a version what the host itself has to ask it, outside of any run; it is
// judged as a call in a run is.
func ask[Req, Res any](ctx context.Context, i *Instance, v *version, q hooks.Question[Req, Res]) (*Res, error) {
	on := &hooks.Occasion{Call: pluginsdk.Call{Attempt: 1}}
	return hooks.One(ctx, i.host.config.Hooks, on, asked{i, v}, q)
}

// asked is a version of a plugin as core/hooks knows plugins.
type asked struct {
	instance *Instance
	version  *version
}

func (a asked) Info() *pluginsdk.PluginInfo { return a.instance.Info() }

func (a asked) Do(ctx context.Context, hook pluginsdk.Hook, callID string, fn func(hooks.Process) error) error {
	began := time.Now()
	err := a.instance.redacted(fn(a.version.process))
	a.instance.judge(ctx, a.version, hook, callID, time.Since(began), err)
	return err
}
