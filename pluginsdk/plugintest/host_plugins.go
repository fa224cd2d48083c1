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
