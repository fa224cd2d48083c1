package pluginhost

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// publish makes a process the one that answers, or none.
func (i *Instance) publish(process *launch.Plugin) {
	if process != nil {
		i.setProcess(process)
		i.setState(pluginsdk.PluginServing, i.lastError(), time.Time{})
		return
	}
	i.setProcess(nil)
}

func (i *Instance) setProcess(process *launch.Plugin) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.process = process
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

// update takes over what an operator changed in the row. Of a row that was
// broken by hand only the place in the order is; the rest stays as it was.
func (i *Instance) update(row pluginsdk.PluginInfo) {
	old := i.change(func(info *pluginsdk.PluginInfo) {
		if row.Problem != "" {
			info.Position, info.Problem = row.Position, row.Problem
			return
		}
		row.Manifest, row.Version = info.Manifest, info.Version // the process knows better
		*info = row
	})
	if row.Problem != "" {
		return
	}
	if old.Path != row.Path {
		i.askRestart(ending{why: "its binary is " + row.Path + " now"})
	}
	if !sameJSON(old.Settings, row.Settings) {
		i.tellSettings(row)
	}
}

// tellSettings applies new settings without a restart where the plugin can.
func (i *Instance) tellSettings(row pluginsdk.PluginInfo) {
	i.mu.Lock()
	process := i.process
	i.mu.Unlock()
	if process == nil {
		return // it reads them when it starts
	}
	if !row.Manifest.Answers(pluginsdk.HookSettingsChange) {
		i.askRestart(ending{why: "its settings changed"})
		return
	}
	i.watches.Go(func() {
		call := pluginsdk.Call{ID: "settings:" + i.name, Attempt: 1}
		err := i.tell(context.Background(), process, pluginsdk.HookSettingsChange, call, func(ctx context.Context) error {
			return process.OnSettingsChange(ctx, pluginsdk.SettingsChange{Call: call, Settings: row.Settings})
		})
		if err != nil {
			i.log.Warn("plugin refused its new settings", "err", err)
		}
	})
}

func (i *Instance) askRestart(end ending) {
	select {
	case i.restart <- end:
	default: // one is asked for already
	}
}
