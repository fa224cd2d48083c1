package pluginhost

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// Process is a plugin's process: its hooks, each of which ends with its
// context.
type Process = launch.Plugin

// Do calls fn with the plugin's process, after waiting a little for one that
// is being started, and counts its failures against the plugin. It returns
// fn's error, or CodeUnavailable when the plugin does not serve.
func (i *Instance) Do(ctx context.Context, hook pluginsdk.Hook, callID string, fn func(*Process) error) error {
	process, err := i.acquire(ctx)
	if err != nil {
		return err
	}
	defer i.release()
	err = fn(process)
	i.judge(ctx, process, hook, callID, err)
	return err
}

// Do calls fn with the process of the plugin of that name, as Instance.Do.
// CodeUnavailable without a call of fn: there is none that serves.
func (h *Host) Do(ctx context.Context, plugin string, hook pluginsdk.Hook, callID string, fn func(*Process) error) error {
	instance, ok := h.current.Load(plugin)
	if !ok {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s is not enabled", plugin)
	}
	return instance.(*Instance).Do(ctx, hook, callID, fn)
}

// judge counts a failed call against the plugin and watches one that came too
// late. A caller that gave up by itself is nobody's failure.
func (i *Instance) judge(ctx context.Context, process *launch.Plugin, hook pluginsdk.Hook, callID string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	i.count(hook, err)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeDeadline {
		i.watches.Go(func() { i.watchLate(process, hook, callID) })
	}
}

// acquire returns the serving process. It waits for one whose start is due
// within Config.Patience.
func (i *Instance) acquire(ctx context.Context) (*launch.Plugin, error) {
	patience := time.NewTimer(i.host.config.Patience)
	defer patience.Stop()
	for {
		i.mu.Lock()
		if i.process != nil {
			i.calls++
			process := i.process
			i.mu.Unlock()
			return process, nil
		}
		changed, soon := i.changed, i.soon()
		why := pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s is %s: %s", i.name, i.state, i.lastErr)
		i.mu.Unlock()
		if !soon {
			return nil, why
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

// soon reports whether waiting may help. The lock is held.
func (i *Instance) soon() bool {
	switch i.state { //nolint:exhaustive // in the others nothing is about to start
	case pluginsdk.PluginStarting, pluginsdk.PluginServing:
		return true
	case pluginsdk.PluginBackoff:
		return time.Until(i.nextTry) < i.host.config.Patience
	}
	return false
}

func (i *Instance) release() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.calls--
	if i.calls == 0 {
		i.signal()
	}
}

// count remembers a failure until flush stores it.
func (i *Instance) count(hook pluginsdk.Hook, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failures++
	i.failure = fmt.Sprintf("%s: %s", hook, err)
	i.lastErr = i.failure
}

// flush stores the failures counted since the last time.
func (i *Instance) flush(ctx context.Context) {
	i.mu.Lock()
	failures, failure := i.failures, i.failure
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

// watchLate restarts a plugin whose call is still going a while past its
// deadline. A plugin that cannot even say so is restarted as well.
func (i *Instance) watchLate(process *launch.Plugin, hook pluginsdk.Hook, callID string) {
	timer := time.NewTimer(i.host.config.LateGrace)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-process.Done():
		return
	case <-i.done:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), i.host.config.LateGrace)
	defer cancel()
	calls, err := process.InFlight(ctx)
	if err == nil && !slices.Contains(calls, callID) {
		return
	}
	i.mu.Lock()
	current := i.process == process
	i.mu.Unlock()
	if current {
		i.askRestart(ending{
			why:   fmt.Sprintf("%s did not end within %s after its deadline", hook, i.host.config.LateGrace),
			fault: true,
		})
	}
}
