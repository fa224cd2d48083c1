package pluginhost

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

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
	v, err := i.acquire(ctx, run, hook)
	if err != nil {
		return err
	}
	defer func() { i.release(v, err) }()
	began := time.Now()
	err = i.redacted(fn(v.process))
	i.judge(ctx, v, hook, callID, time.Since(began), err)
	return err
}

// Do calls fn with the process of the plugin of that name, as Instance.Do.
// CodeUnavailable without a call of fn: there is none that serves.
func (h *Host) Do(ctx context.Context, plugin string, hook pluginsdk.Hook, callID string, fn func(*Process) error) error {
	instance, ok := h.current.Load(plugin)
	if !ok {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s is not enabled", plugin)
	}
	return instance.(*Instance).Do(ctx, "", hook, callID, fn)
}

// redacted takes the plugin's secrets out of an error: it ends in runs, in
// messages, in events.
func (i *Instance) redacted(err error) error {
	if err == nil {
		return nil
	}
	if words := i.redact(err.Error()); words != err.Error() {
		return pluginsdk.Errorf(pluginsdk.CodeOf(err), "%s", words)
	}
	return err
}

// judge keeps account of a call, counts a failed one against the plugin and
// watches one that came too late. A caller that gave up by itself is nobody's
// failure.
func (i *Instance) judge(ctx context.Context, v *version, hook pluginsdk.Hook, callID string, took time.Duration, err error) {
	if ctx.Err() != nil {
		err = nil
	}
	i.figures.record(hook, took, err)
	if err == nil {
		return
	}
	i.count(hook, err)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeDeadline {
		i.mu.Lock()
		v.late++
		i.mu.Unlock()
		i.watch.Go(func() { i.watchLate(v, hook, callID) })
	}
}

// openPatience is how long a hook that may be passed over waits for a plugin
// that is being started, at its first start or after its first failure. One that
// has failed again is not waited for.
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

// acquire returns the version that is to answer, with the call noted on it.
func (i *Instance) acquire(ctx context.Context, run string, hook pluginsdk.Hook) (*version, error) {
	open := mayBePassedOver(i.Info(), hook)
	wait := i.host.config.Patience
	if open {
		wait = min(wait, openPatience)
	}
	var patience *time.Timer // made when it is needed: most calls do not wait
	for {
		v, changed, why := i.take(run, open, wait)
		if v != nil {
			return v, nil
		}
		if changed == nil {
			return nil, why
		}
		if patience == nil {
			patience = time.NewTimer(wait)
			defer patience.Stop()
		}
		select {
		case <-changed:
		case <-patience.C:
			return nil, why
		case <-ctx.Done():
			return nil, pluginsdk.Errorf(pluginsdk.CodeCancelled, "%w", context.Cause(ctx))
		case <-i.done:
			return nil, why
		}
	}
}

// take notes a call on the version that is to answer. Without one it says why,
// and, when waiting may help, what to wait for.
func (i *Instance) take(run string, open bool, wait time.Duration) (v *version, changed chan struct{}, why error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	v = i.versionFor(run)
	switch {
	case v == nil:
		why = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s is %s: %s", i.name, i.state, i.lastErr)
		if i.soon(wait) && (!open || i.inARow < 2 && time.Now().Before(i.nextTry.Add(openPatience))) {
			changed = i.changed
		}
		return nil, changed, why
	case open && v.late > 0:
		return nil, nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable,
			"the plugin %s has not answered a call whose deadline has passed; it is passed over until it has", i.name)
	case open && v.onTrial && v.calls > 0:
		return nil, nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable,
			"the plugin %s was started again after a failure; it is passed over until it has answered a first call", i.name)
	}
	v.calls++
	return v, nil, nil
}

// versionFor returns the version that a run keeps to, from now on the one that
// serves. The lock is held.
func (i *Instance) versionFor(run string) *version {
	if run == "" {
		return i.serving
	}
	if pinned := i.pins[run]; pinned != nil {
		select {
		case <-pinned.process.Done():
			pinned.runs--
			delete(i.pins, run)
		default:
			return pinned
		}
	}
	if i.serving != nil {
		i.pins[run] = i.serving
		i.serving.runs++
	}
	return i.serving
}

// unpin says that a run is over.
func (i *Instance) unpin(run string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	v := i.pins[run]
	if v == nil {
		return
	}
	delete(i.pins, run)
	if v.runs--; v.runs == 0 && v != i.serving {
		i.signal()
	}
}

// soon reports whether waiting that long may help. The lock is held.
func (i *Instance) soon(wait time.Duration) bool {
	switch i.state { //nolint:exhaustive // in the others nothing is about to start
	case pluginsdk.PluginStarting, pluginsdk.PluginServing:
		return true
	case pluginsdk.PluginBackoff:
		return time.Until(i.nextTry) < wait
	}
	return false
}

// release takes the call off the version. One that went well ends its trial.
func (i *Instance) release(v *version, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	v.onTrial = v.onTrial && err != nil
	if v.calls--; v.calls == 0 && v != i.serving {
		i.signal()
	}
}

// count remembers a failure until flush stores it.
func (i *Instance) count(hook pluginsdk.Hook, err error) {
	words := fmt.Sprintf("%s: %s", hook, err)
	i.host.logs.of(i.name).note(slog.LevelWarn, "hook failed: "+words) // the daemon's log has it from who called
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failures++
	i.failure, i.lastErr = words, words
}

// flush stores the failures counted since the last time, and now and then the
// ledger.
func (i *Instance) flush(ctx context.Context) {
	i.mu.Lock()
	failures, failure, restarts := i.failures, i.failure, i.restarts
	i.failures = 0
	i.mu.Unlock()
	if i.figures.due(time.Now()) {
		if err := i.host.store.SavePluginLedger(ctx, i.name, i.figures.ledger(restarts)); err != nil {
			i.log.Warn("ledger of a plugin cannot be stored", "err", err)
		}
	}
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

// tellTimeout bounds the calls that the host itself makes.
const tellTimeout = 5 * time.Second

// tell makes a call outside of any run, with its deadline; it is judged as one
// in a run is.
func (i *Instance) tell(ctx context.Context, v *version, hook pluginsdk.Hook, call pluginsdk.Call,
	fn func(context.Context) error,
) error {
	call.Deadline = time.Now().Add(tellTimeout)
	callCtx, cancel := context.WithDeadline(pluginsdk.WithCall(ctx, call), call.Deadline)
	defer cancel()
	began := time.Now()
	err := i.redacted(fn(callCtx))
	i.judge(ctx, v, hook, call.ID, time.Since(began), err)
	return err
}

// watchLate waits for a call that is past its deadline, and ends a plugin whose
// call is still going a while later. A plugin that cannot even say so is ended
// as well.
func (i *Instance) watchLate(v *version, hook pluginsdk.Hook, callID string) {
	defer func() {
		i.mu.Lock()
		v.late--
		i.mu.Unlock()
	}()
	timer := time.NewTimer(i.host.config.LateGrace)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-v.process.Done():
		return
	case <-i.done:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), i.host.config.LateGrace)
	defer cancel()
	calls, err := v.process.InFlight(ctx)
	if err == nil && !slices.Contains(calls, callID) {
		return
	}
	i.blame(v, fmt.Sprintf("%s did not end within %s after its deadline", hook, i.host.config.LateGrace))
}
