package hostapi

import (
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
	if _, err := s.admit(ctx, pluginsdk.CapEventsPublish); err != nil {
		return err
	}
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
	if _, err := s.admit(ctx, pluginsdk.CapEventsRead); err != nil {
		return pluginsdk.EventPage{}, err
	}
	return s.events.Since(after, limit), nil
}

type settings struct{ *caller }

func (s settings) Get(ctx context.Context) (json.RawMessage, error) {
	if _, err := s.admit(ctx, ""); err != nil {
		return nil, err
	}
	return s.store.PluginSettings(ctx, s.plugin)
}

type state struct{ *caller }

func (s state) Get(ctx context.Context, key string) ([]byte, error) {
	if _, err := s.admit(ctx, pluginsdk.CapState); err != nil {
		return nil, err
	}
	return s.store.GetState(ctx, s.plugin, key)
}

func (s state) Put(ctx context.Context, key string, value []byte) error {
	if _, err := s.admit(ctx, pluginsdk.CapState); err != nil {
		return err
	}
	if key == "" || len(key) > maxStateKey {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "key: 1 to %d bytes, this has %d", maxStateKey, len(key))
	}
	if len(value) > maxStateValue {
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "value of %s: at most %d bytes, this has %d", key, maxStateValue, len(value))
	}
	return s.store.PutState(ctx, s.plugin, key, value)
}

func (s state) Delete(ctx context.Context, key string) error {
	if _, err := s.admit(ctx, pluginsdk.CapState); err != nil {
		return err
	}
	return s.store.DeleteState(ctx, s.plugin, key)
}

func (s state) Keys(ctx context.Context, prefix string) ([]string, error) {
	if _, err := s.admit(ctx, pluginsdk.CapState); err != nil {
		return nil, err
	}
	return s.store.StateKeys(ctx, s.plugin, prefix)
}

type plugins struct{ *caller }

// List returns the registry without the plugins' settings, which are nobody
// else's.
func (s plugins) List(ctx context.Context) ([]pluginsdk.PluginInfo, error) {
	if _, err := s.admit(ctx, pluginsdk.CapPluginsRead); err != nil {
		return nil, err
	}
	infos, err := s.store.Plugins(ctx)
	for i := range infos {
		infos[i].Settings = nil
	}
	return infos, err
}

func (s plugins) SetEnabled(ctx context.Context, name string, enabled bool) error {
	if _, err := s.admit(ctx, pluginsdk.CapPluginsAdmin); err != nil {
		return err
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

// agent and tools are part of the contract and not served yet.
type agent struct{}

func (agent) Start(context.Context, string, pluginsdk.AgentRequest) (string, error) {
	return "", unimplemented("Agent.Start")
}

func (agent) Wait(context.Context, string) (pluginsdk.InvokeResult, error) {
	return pluginsdk.InvokeResult{}, unimplemented("Agent.Wait")
}

func (agent) Cancel(context.Context, string) error { return unimplemented("Agent.Cancel") }

type tools struct{}

func (tools) List(context.Context) ([]pluginsdk.ToolSpec, error) {
	return nil, unimplemented("Tools.List")
}

func (tools) Call(context.Context, string, json.RawMessage) (pluginsdk.ToolResult, error) {
	return pluginsdk.ToolResult{}, unimplemented("Tools.Call")
}
