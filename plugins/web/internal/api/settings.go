package api

import (
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Settings are a plugin's settings as clients see them: never a secret.
type Settings struct {
	Schema     json.RawMessage            `json:"schema,omitempty" doc:"JSON Schema of the settings, as the plugin declares it; a property with secret: true is written and never read"`
	Values     map[string]json.RawMessage `json:"values" nullable:"false" doc:"What is set, with the defaults filled in, without secrets and without what the schema does not declare"`
	SecretsSet []string                   `json:"secretsSet" nullable:"false" doc:"The secrets that have a value"`
}

// SettingsChange says which settings of a plugin change, and to what.
type SettingsChange struct {
	Values map[string]json.RawMessage `json:"values" minProperties:"1" doc:"What changes; null takes a setting back, so that its default holds. Secrets are set in the same way"`
}

type settingsInput struct {
	Name string `path:"name" maxLength:"100"`
}

type settingsChangeInput struct {
	Name string `path:"name" maxLength:"100"`
	Body SettingsChange
}

type settingsOutput struct {
	Body Settings
}

func (h *handlers) registerSettings(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("get-plugin-settings", "/api/plugins/{name}/settings", "A plugin's settings, without its secrets")), h.getSettings)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, patch("update-plugin-settings", "/api/plugins/{name}/settings", "Change a plugin's settings")), h.updateSettings)
}

func (h *handlers) getSettings(ctx context.Context, input *settingsInput) (*settingsOutput, error) {
	return h.settings(ctx, "get-plugin-settings", input.Name)
}

func (h *handlers) settings(ctx context.Context, operation, plugin string) (*settingsOutput, error) {
	answer, err := h.host.Plugins.Settings(ctx, &pluginsdk.GetPluginSettingsRequest{Name: plugin})
	if err != nil {
		return nil, h.fail(operation, err)
	}
	view := answer.Settings
	output := &settingsOutput{Body: Settings{
		Schema: view.Schema, Values: map[string]json.RawMessage{}, SecretsSet: list(view.SecretsSet),
	}}
	if len(view.Values) > 0 {
		if err := json.Unmarshal(view.Values, &output.Body.Values); err != nil {
			return nil, h.fail(operation, err)
		}
	}
	return output, nil
}

func (h *handlers) updateSettings(ctx context.Context, input *settingsChangeInput) (*settingsOutput, error) {
	patch, err := json.Marshal(input.Body.Values)
	if err != nil {
		return nil, h.fail("update-plugin-settings", err)
	}
	if _, err := h.host.Plugins.ChangeSettings(ctx, &pluginsdk.ChangePluginSettingsRequest{Name: input.Name, Patch: patch}); err != nil {
		return nil, h.fail("update-plugin-settings", err)
	}
	return h.settings(ctx, "update-plugin-settings", input.Name)
}
