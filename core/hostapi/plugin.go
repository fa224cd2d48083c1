package hostapi

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	maxStateKey   = 512
	maxStateValue = 1 << 20
	maxEventData  = 256 << 10
)

type busEvents struct{ *caller }

func (s busEvents) Publish(ctx context.Context, event pluginsdk.Event) error {
	if !strings.HasPrefix(string(event.Type), s.plugin+":") {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "event %q: a plugin publishes only under its own name, %s:...",
			event.Type, s.plugin)
	}
	if len(event.Data) > 0 && !json.Valid(event.Data) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "event %s: its data is not JSON", event.Type)
	}
	if len(event.Data) > maxEventData {
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "event %s: at most %d bytes, this has %d", event.Type, maxEventData, len(event.Data))
	}
	s.events.Relay(event)
	return nil
}

func (s busEvents) Since(ctx context.Context, after pluginsdk.Position, limit int) (pluginsdk.EventPage, error) {
	return s.events.Since(after, limit), nil
}

// Settings are what operators set for plugins.
type Settings interface {
	// Get returns the settings that hold for a plugin, its secrets included.
	Get(ctx context.Context, plugin string) (json.RawMessage, error)
	// View returns a plugin's settings without its secrets.
	View(ctx context.Context, plugin string) (pluginsdk.SettingsView, error)
	// Change changes what patch names, on behalf of who.
	Change(ctx context.Context, who, plugin string, patch json.RawMessage) error
	// Problem says what is wrong with a plugin's stored settings, or is empty.
	Problem(ctx context.Context, row pluginsdk.PluginInfo) string
}

type settings struct{ *caller }

// Get returns the settings of the plugin that asks, and of no other.
func (s settings) Get(ctx context.Context) (json.RawMessage, error) {
	if settings, ok := s.grants.SettingsOf(s.plugin); ok {
		return settings, nil
	}
	return s.set.Get(ctx, s.plugin)
}

type state struct{ *caller }

func (s state) Get(ctx context.Context, key string) ([]byte, error) {
	return s.store.GetState(ctx, s.plugin, key)
}

func (s state) Put(ctx context.Context, key string, value []byte) error {
	if key == "" || len(key) > maxStateKey {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "key: 1 to %d bytes, this has %d", maxStateKey, len(key))
	}
	if len(value) > maxStateValue {
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "value of %s: at most %d bytes, this has %d", key, maxStateValue, len(value))
	}
	return s.store.PutState(ctx, s.plugin, key, value)
}

func (s state) Delete(ctx context.Context, key string) error {
	return s.store.DeleteState(ctx, s.plugin, key)
}

func (s state) Keys(ctx context.Context, prefix string) ([]string, error) {
	return s.store.StateKeys(ctx, s.plugin, prefix)
}

type plugins struct{ *caller }

// List returns the registry without the plugins' settings, which are nobody
// else's.
func (s plugins) List(ctx context.Context) ([]pluginsdk.PluginInfo, error) {
	rows, err := s.store.Plugins(ctx)
	for n, row := range rows {
		live := s.grants.Live(row)
		live.Problem = problems(row.Problem, s.set.Problem(ctx, row))
		live.Settings = nil
		rows[n] = live
	}
	return rows, err
}

// problems joins what is wrong with a row with what is wrong with its settings,
// of which the row may speak already.
func problems(row, settings string) string {
	if row == "" || settings == "" || strings.Contains(row, "settings:") {
		return cmp.Or(row, settings)
	}
	return row + "; " + settings
}

func (s plugins) SetEnabled(ctx context.Context, name string, enabled bool) error {
	if enabled {
		if err := s.conflict(ctx, name); err != nil {
			return err
		}
	}
	if err := s.store.SetPluginEnabled(ctx, name, enabled); err != nil {
		return err
	}
	action := "plugin.disable"
	if enabled {
		action = "plugin.enable"
	}
	return s.store.Audit(ctx, "plugin:"+s.plugin, action, name, "")
}

// conflict refuses to turn on a plugin whose commands another has.
func (s plugins) conflict(ctx context.Context, name string) error {
	rows, err := s.store.Plugins(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Name == name {
			return s.grants.Conflict(row, rows)
		}
	}
	return nil // turning it on says that there is none
}

// Logs returns the newest lines of a plugin's log.
func (s plugins) Logs(ctx context.Context, name string, limit int) ([]pluginsdk.LogLine, error) {
	return s.grants.Logs(ctx, name, limit)
}

// Settings returns a plugin's settings, never a secret.
func (s plugins) Settings(ctx context.Context, name string) (pluginsdk.SettingsView, error) {
	return s.set.View(ctx, name)
}

func (s plugins) SetSettings(ctx context.Context, name string, patch json.RawMessage) error {
	return s.set.Change(ctx, "plugin:"+s.plugin, name, patch)
}

// agent is part of the contract and not served yet.
type agent struct{}

func (agent) Start(context.Context, string, pluginsdk.AgentRequest) (string, error) {
	return "", unimplemented("Agent.Start")
}

func (agent) Wait(context.Context, string) (pluginsdk.InvokeResult, error) {
	return pluginsdk.InvokeResult{}, unimplemented("Agent.Wait")
}

func (agent) Cancel(context.Context, string) error { return unimplemented("Agent.Cancel") }
