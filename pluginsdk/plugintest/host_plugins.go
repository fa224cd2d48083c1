package plugintest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type tools struct{ view }

// AddTool puts a tool, named PLUGIN__TOOL, into the host's list; Host.Tool
// answers it.
func (h *Host) AddTool(tool pluginsdk.ToolSpec) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tools = append(h.tools, tool)
}

func (s tools) List(ctx context.Context, request *pluginsdk.ListToolsRequest) (*pluginsdk.ListToolsResponse, error) {
	leave, err := s.h.enter(ctx, "Tools.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	sorted := slices.SortedStableFunc(slices.Values(s.h.tools), func(a, b pluginsdk.ToolSpec) int { return strings.Compare(a.Name, b.Name) })
	tools, more := pageAfter(sorted, toolName, request.After, request.Limit)
	return &pluginsdk.ListToolsResponse{Tools: tools, More: more}, nil
}

func toolName(tool pluginsdk.ToolSpec) string { return tool.Name }

func (s tools) Call(ctx context.Context, request *pluginsdk.InvokeToolRequest) (*pluginsdk.InvokeToolResponse, error) {
	leave, err := s.h.enter(ctx, "Tools.Call")
	if err != nil {
		return nil, err
	}
	leave() // a tool may call the host
	if s.h.Tool == nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no tool %q", request.Name)
	}
	result, err := s.h.Tool(request.Name, request.Input)
	return &pluginsdk.InvokeToolResponse{Result: result}, err
}

type plugins struct{ view }

// AddPlugin puts a row into the registry.
func (h *Host) AddPlugin(info pluginsdk.PluginInfo) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plugins = append(h.plugins, info)
}

func pluginName(info pluginsdk.PluginInfo) string { return info.Name }

func (s plugins) List(ctx context.Context, request *pluginsdk.ListPluginsRequest) (*pluginsdk.ListPluginsResponse, error) {
	leave, err := s.h.enter(ctx, "Plugins.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	infos, more := pageAfter(s.h.plugins, pluginName, request.After, request.Limit)
	return &pluginsdk.ListPluginsResponse{Plugins: infos, More: more}, nil
}

func (s plugins) SetEnabled(ctx context.Context, request *pluginsdk.SetPluginEnabledRequest) (*pluginsdk.SetPluginEnabledResponse, error) {
	leave, err := s.h.enter(ctx, "Plugins.SetEnabled")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.plugins, "plugin", request.Name, pluginName)
	if err != nil {
		return nil, err
	}
	s.h.plugins[i].Enabled = request.Enabled
	return &pluginsdk.SetPluginEnabledResponse{}, nil
}

// SetPluginLog sets what Plugins.Logs returns.
func (h *Host) SetPluginLog(name string, lines []pluginsdk.LogLine) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pluginLogs[name] = lines
}

func (s plugins) Logs(ctx context.Context, request *pluginsdk.ReadPluginLogRequest) (*pluginsdk.ReadPluginLogResponse, error) {
	leave, err := s.h.enter(ctx, "Plugins.Logs")
	if err != nil {
		return nil, err
	}
	defer leave()
	limit := request.Limit
	if limit == 0 {
		limit = 200
	}
	lines := s.h.pluginLogs[request.Name]
	return &pluginsdk.ReadPluginLogResponse{Lines: slices.Clone(lines[max(0, len(lines)-limit):])}, nil
}

// SetPluginView sets what Plugins.Settings returns for another plugin.
func (h *Host) SetPluginView(name string, view pluginsdk.SettingsView) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pluginViews[name] = view
}

func (s plugins) Settings(ctx context.Context, request *pluginsdk.GetPluginSettingsRequest) (*pluginsdk.GetPluginSettingsResponse, error) {
	leave, err := s.h.enter(ctx, "Plugins.Settings")
	if err != nil {
		return nil, err
	}
	defer leave()
	view, ok := s.h.pluginViews[request.Name]
	if !ok {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no plugin %q", request.Name)
	}
	return &pluginsdk.GetPluginSettingsResponse{Settings: view}, nil
}

// ChangeSettings puts the properties of the patch into the view's values; it
// knows no secrets.
func (s plugins) ChangeSettings(ctx context.Context, request *pluginsdk.ChangePluginSettingsRequest) (*pluginsdk.ChangePluginSettingsResponse, error) {
	leave, err := s.h.enter(ctx, "Plugins.ChangeSettings")
	if err != nil {
		return nil, err
	}
	defer leave()
	view, ok := s.h.pluginViews[request.Name]
	if !ok {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no plugin %q", request.Name)
	}
	var values, changes map[string]json.RawMessage
	if err := json.Unmarshal(request.Patch, &changes); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "patch: want a JSON object: %w", err)
	}
	if len(view.Values) > 0 {
		if err := json.Unmarshal(view.Values, &values); err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "values: %w", err)
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
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "values: %w", err)
	}
	s.h.pluginViews[request.Name] = view
	return &pluginsdk.ChangePluginSettingsResponse{}, nil
}
