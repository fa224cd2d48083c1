package pluginhost

import (
	"context"
	"errors"
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
	defer func() { i.router.give(c, err) }()
	defer i.attend(c.version)()
	began := time.Now()
	err = i.redacted(fn(c.version.process))
	took := time.Since(began)
	if spec, _ := hook.Spec(); took > i.host.slow && run != "" && spec.Runner != pluginsdk.RunOne { // that one is waited for by who asked it
		i.report.figures.waited()
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
		instance.(*Instance).report.charge(rows, why)
	}
}

// maxErrorWords bounds, in bytes, what is passed on of a plugin's error.
const maxErrorWords = 4 << 10

// redacted takes the plugin's secrets out of an error, and most of one that is very
// long: it ends in runs, in messages, in events, in several lines of the log.
func (i *Instance) redacted(err error) error {
	if err == nil {
		return nil
	}
	words := cut(i.redact(err.Error()), maxErrorWords)
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
	i.report.figures.record(hook, took, err)
	if err == nil {
		return
	}
	i.report.count(v, hook, err)
	if errors.Is(err, context.DeadlineExceeded) { // ours; what a plugin says of a deadline of its own is its answer
		i.watchFor(v, hook, callID)
	}
}

// acquire returns the version that is to answer, with the call noted on it. It waits, for
// as long as the call may, for a plugin that is about to be started.
func (i *Instance) acquire(ctx context.Context, run string, hook pluginsdk.Hook, callID string) (asking, error) {
	var patience *time.Timer // made when it is needed: most calls do not wait
	for {
		c, changed, why := i.router.take(question{run: run, hook: hook}, callID)
		if why == nil || changed == nil {
			return c, why
		}
		if patience == nil {
			patience = time.NewTimer(i.router.wait(c.open))
			defer patience.Stop()
		}
		select {
		case <-changed:
		case <-patience.C:
			return c, why
		case <-ctx.Done():
			return c, pluginsdk.Errorf(pluginsdk.CodeCancelled, "%w", context.Cause(ctx))
		case <-i.supervisor.done:
			return c, why
		}
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
