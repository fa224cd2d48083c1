package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Plugin is a row of the registry as clients see it: never its settings, which
// can hold secrets.
type Plugin struct {
	Name        string                  `json:"name"`
	Version     string                  `json:"version,omitempty"`
	Description string                  `json:"description,omitempty"`
	Enabled     bool                    `json:"enabled"`
	Position    int                     `json:"position" doc:"Its place in the order of hooks"`
	State       pluginsdk.PluginState   `json:"state" enum:"disabled,starting,serving,backoff,failed,stopping,stopped"`
	LastError   string                  `json:"lastError,omitempty"`
	Restarts    int                     `json:"restarts"`
	Failures    int64                   `json:"failures" doc:"Hooks that failed"`
	Hooks       []pluginsdk.Hook        `json:"hooks" nullable:"false"`
	Commands    []pluginsdk.CommandSpec `json:"commands" nullable:"false"`
	Granted     []pluginsdk.Capability  `json:"granted" nullable:"false" doc:"Capabilities that an operator granted"`
	UpdatedAt   time.Time               `json:"updatedAt"`
}

type pluginsOutput struct {
	Body struct {
		Plugins []Plugin `json:"plugins" nullable:"false"`
	}
}

func (h *handlers) registerPlugins(api huma.API) {
	huma.Register(api, get("list-plugins", "/api/plugins", "Plugins, in the order of hooks"), h.listPlugins)
}

func (h *handlers) listPlugins(ctx context.Context, _ *struct{}) (*pluginsOutput, error) {
	infos, err := h.host.Plugins.List(ctx)
	if err != nil {
		return nil, h.fail("list-plugins", err)
	}
	output := &pluginsOutput{}
	output.Body.Plugins = make([]Plugin, 0, len(infos))
	for _, info := range infos {
		output.Body.Plugins = append(output.Body.Plugins, Plugin{
			Name: info.Name, Version: info.Version, Description: info.Manifest.Description,
			Enabled: info.Enabled, Position: info.Position, State: info.State, LastError: info.LastError,
			Restarts: info.Restarts, Failures: info.Failures, Hooks: list(info.Manifest.Hooks),
			Commands: list(info.Manifest.Commands), Granted: list(info.Granted), UpdatedAt: info.UpdatedAt,
		})
	}
	return output, nil
}
