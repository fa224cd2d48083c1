package plugintest

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type tools struct{ h *Host }

// AddTool puts a tool, named PLUGIN__TOOL, into the host's list; Host.Tool
// answers it.
func (h *Host) AddTool(tool pluginsdk.ToolSpec) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tools = append(h.tools, tool)
}

func (s tools) List(ctx context.Context) ([]pluginsdk.ToolSpec, error) {
	leave, err := s.h.enter(ctx, "Tools.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	return slices.Clone(s.h.tools), nil
}

func (s tools) Call(ctx context.Context, name string, input json.RawMessage) (pluginsdk.ToolResult, error) {
	leave, err := s.h.enter(ctx, "Tools.Call")
	if err != nil {
		return pluginsdk.ToolResult{}, err
	}
	leave() // a tool may call the host
	if s.h.Tool == nil {
		return pluginsdk.ToolResult{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no tool %q", name)
	}
	return s.h.Tool(name, input)
}

type plugins struct{ h *Host }

// AddPlugin puts a row into the registry.
func (h *Host) AddPlugin(info pluginsdk.PluginInfo) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plugins = append(h.plugins, info)
}

func (s plugins) List(ctx context.Context) ([]pluginsdk.PluginInfo, error) {
	leave, err := s.h.enter(ctx, "Plugins.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	return slices.Clone(s.h.plugins), nil
}

func (s plugins) SetEnabled(ctx context.Context, name string, enabled bool) error {
	leave, err := s.h.enter(ctx, "Plugins.SetEnabled")
	if err != nil {
		return err
	}
	defer leave()
	i := slices.IndexFunc(s.h.plugins, func(info pluginsdk.PluginInfo) bool { return info.Name == name })
	if i < 0 {
		return pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no plugin %q", name)
	}
	s.h.plugins[i].Enabled = enabled
	return nil
}

// SetPluginLog sets what Plugins.Logs returns.
func (h *Host) SetPluginLog(name string, lines []pluginsdk.LogLine) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pluginLogs[name] = lines
}

func (s plugins) Logs(ctx context.Context, name string, limit int) ([]pluginsdk.LogLine, error) {
	leave, err := s.h.enter(ctx, "Plugins.Logs")
	if err != nil {
		return nil, err
	}
	defer leave()
	if limit == 0 {
		limit = 200
	}
	lines := s.h.pluginLogs[name]
	return slices.Clone(lines[max(0, len(lines)-limit):]), nil
}

// SetPluginView sets what Plugins.Settings returns for another plugin.
func (h *Host) SetPluginView(name string, view pluginsdk.SettingsView) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pluginViews[name] = view
}

func (s plugins) Settings(ctx context.Context, name string) (pluginsdk.SettingsView, error) {
	leave, err := s.h.enter(ctx, "Plugins.Settings")
	if err != nil {
		return pluginsdk.SettingsView{}, err
	}
	defer leave()
	view, ok := s.h.pluginViews[name]
	if !ok {
		return pluginsdk.SettingsView{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no plugin %q", name)
	}
	return view, nil
}

// SetSettings puts the properties of the patch into the view's values; it knows
// no secrets.
func (s plugins) SetSettings(ctx context.Context, name string, patch json.RawMessage) error {
	leave, err := s.h.enter(ctx, "Plugins.SetSettings")
	if err != nil {
		return err
	}
	defer leave()
	view, ok := s.h.pluginViews[name]
	if !ok {
		return pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no plugin %q", name)
	}
	var values, changes map[string]json.RawMessage
	if err := json.Unmarshal(patch, &changes); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "patch: want a JSON object: %w", err)
	}
	if len(view.Values) > 0 {
		if err := json.Unmarshal(view.Values, &values); err != nil {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "values: %w", err)
		}
	}
	if values == nil {
		values = make(map[string]json.RawMessage)
	}
	for key, value := range changes {
		if string(value) == "null" {
			delete(values, key)
		} else {
			values[key] = value
		}
	}
	if view.Values, err = json.Marshal(values); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "values: %w", err)
	}
	s.h.pluginViews[name] = view
	return nil
}
