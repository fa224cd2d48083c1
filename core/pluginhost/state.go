package pluginhost

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func (i *Instance) setServing(v *version) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.serving = v
	i.signal()
}

// signal wakes who waits for a change. The lock is held.
func (i *Instance) signal() {
	close(i.changed)
	i.changed = make(chan struct{})
}

// setState records, stores and broadcasts a state. The last error stays until
// another one replaces it, so that an operator can read what happened.
func (i *Instance) setState(state pluginsdk.PluginState, lastError string, nextTry time.Time) {
	i.mu.Lock()
	if lastError == "" {
		lastError = i.lastErr
	}
	same := i.state == state && i.lastErr == lastError
	i.state, i.lastErr, i.nextTry = state, lastError, nextTry
	restarts := i.restarts
	i.signal()
	i.mu.Unlock()
	if same && state != pluginsdk.PluginStarting {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), i.host.config.StopTimeout)
	defer cancel()
	if err := i.host.store.SavePluginState(ctx, i.name, state, lastError, restarts); err != nil {
		i.log.Warn("state of a plugin cannot be stored", "state", state, "err", err)
	}
	i.host.events.Publish(pluginsdk.EventPluginState, "", pluginsdk.PluginStatePayload{
		Name: i.name, State: state, LastError: lastError,
	})
}

func (i *Instance) lastError() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.lastErr
}

func (i *Instance) setConflict(words string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if words != "" && words != i.conflict {
		i.log.Warn("plugin has commands that are another's, who is asked first", "conflicts", words)
	}
	i.conflict = words
}

// live puts what is known at this moment into a row of the registry.
func (i *Instance) live(row *pluginsdk.PluginInfo) {
	i.mu.Lock()
	row.State, row.LastError, row.Restarts = i.state, i.lastErr, i.restarts
	problems := []string{row.Problem}
	if i.conflict != "" {
		problems = append(problems, "commands: "+i.conflict)
	}
	i.mu.Unlock()
	if settings := i.settings.Load(); settings != nil && settings.Problem != "" {
		problems = append(problems, settings.Problem)
	}
	row.Problem = strings.Join(slices.DeleteFunc(problems, func(p string) bool { return p == "" }), "; ")
	row.Ledger = i.figures.ledger(row.Restarts)
}

// joined reports whether the plugin takes part in runs: since its first start
// has succeeded or failed; at once when no run was begun before, or when one must
// not go on without it.
func (i *Instance) joined() bool {
	if i.first {
		return true
	}
	select {
	case <-i.tried:
		return true
	default:
	}
	info := i.Info()
	return slices.ContainsFunc(info.Manifest.Hooks, func(hook pluginsdk.Hook) bool {
		return info.FailureMode(hook) == pluginsdk.FailClosed
	})
}

// update takes over what an operator changed in the row. Of a row that was
// broken by hand only the place in the order is; the rest stays as it was.
func (i *Instance) update(ctx context.Context, row pluginsdk.PluginInfo) {
	if row.Problem != "" {
		i.change(func(info *pluginsdk.PluginInfo) { info.Position, info.Problem = row.Position, row.Problem })
		return
	}
	old := i.wanted.Load()
	i.wanted.Store(&row)
	served, confined := i.served(), i.confined(row)
	if i.Info().Quarantine != "" && !confined {
		defer i.free()
	}
	i.change(func(info *pluginsdk.PluginInfo) {
		manifest, version, quarantine := info.Manifest, info.Version, info.Quarantine
		*info = row
		if confined {
			info.Quarantine = quarantine
		}
		if served { // the process knows better
			info.Manifest, info.Version = manifest, version
		}
	})
	if why := renewal(old, &row); why != "" {
		i.askRenewal("%s", why)
		return
	}
	if !bytes.Equal(old.Settings, row.Settings) || old.SettingsRevision != row.SettingsRevision {
		i.tellSettings(ctx, row)
	}
}

func (i *Instance) served() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.serving != nil
}

// renewal says which change of the row needs another process; empty: none.
func renewal(old, row *pluginsdk.PluginInfo) string {
	switch {
	case old.Path != row.Path:
		return "its binary is " + row.Path + " now"
	case old.SHA256 != row.SHA256:
		return "its binary was pinned anew"
	case old.Attach != row.Attach:
		return "it was attached to a debugger, or detached"
	case !slices.Equal(old.GrantedEnv, row.GrantedEnv):
		return "its environment changed"
	case !reflect.DeepEqual(old.Limits, row.Limits):
		return "its limits changed"
	}
	return ""
}

// configure reads the settings of a row. Those that are wrong have a problem,
// and the last good ones in their place; without any the plugin is refused.
func (i *Instance) configure(ctx context.Context, row pluginsdk.PluginInfo) error {
	settings, err := i.host.config.Settings(ctx, row)
	if last := i.settings.Load(); err != nil && last != nil {
		settings.Values = last.Values
	}
	i.settings.Store(&settings)
	if settings.Problem != "" {
		i.log.Warn("settings of a plugin are wrong", "problem", settings.Problem)
	}
	if pluginsdk.CodeOf(err) == pluginsdk.CodeInvalid {
		return refusal{err}
	}
	return err
}

// tellSettings applies new settings without a restart where the plugin can.
func (i *Instance) tellSettings(ctx context.Context, row pluginsdk.PluginInfo) {
	i.mu.Lock()
	v := i.serving
	i.mu.Unlock()
	if v == nil {
		i.askRenewal("its settings changed") // it may be waiting for just that
		return
	}
	row.Manifest = v.process.Manifest()
	if err := i.configure(ctx, row); err != nil {
		i.log.Warn("settings of a plugin cannot be used", "err", err)
		return
	}
	settings := i.settings.Load()
	if settings.Problem != "" {
		return // it has the last good ones
	}
	if !v.process.Manifest().Answers(pluginsdk.HookSettingsChange) {
		i.askRenewal("its settings changed")
		return
	}
	i.watch.Go(func() {
		call := pluginsdk.Call{ID: "settings:" + i.name, Attempt: 1}
		err := i.tell(context.Background(), v, pluginsdk.HookSettingsChange, call, func(ctx context.Context) error {
			return v.process.OnSettingsChange(ctx, pluginsdk.SettingsChange{Call: call, Settings: settings.Values})
		})
		if err != nil {
			i.log.Warn("plugin refused its new settings", "err", err)
		}
	})
}
