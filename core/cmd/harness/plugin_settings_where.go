package main

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// settable is where plugins' settings are: core/settings on this machine, or settingsElsewhere.
type settable interface {
	View(ctx context.Context, plugin string) (pluginsdk.SettingsView, error)
	Rows(ctx context.Context, plugin string) (rows []settings.Row, problem string, err error)
	SchemaOf(ctx context.Context, plugin string) (*settings.Schema, error)
	// Change sets what a patch names, and Replace makes an object all that is set but secrets.
	Change(ctx context.Context, who, plugin string, patch json.RawMessage) error
	Replace(ctx context.Context, who, plugin string, whole json.RawMessage) error
	// Revert sets again what the plugin accepted last, instead of what it has refused.
	Revert(ctx context.Context, who, plugin string) error
}

// administering is what the commands for settings work with.
type administering struct {
	settings settable
	// keyFile is the file with the only key that opens secrets; empty: there is none, or it is
	// on another machine.
	keyFile  string
	operator *operate.Operator
}

// withSettings opens the settings of the daemon elsewhere that the command is for, else those
// of this machine.
func withSettings(cmd *cobra.Command, plugin string, do func(context.Context, administering) error) error {
	remote, err := elsewhere(cmd)
	if err != nil {
		return err
	}
	if remote != nil {
		return do(cmd.Context(), administering{settings: settingsElsewhere{remote}, operator: operatorOn(cmd, operate.NewElsewhere(remote))})
	}
	return withRegistry(cmd, func(ctx context.Context, with registryHere) error {
		key := ""
		if with.config.SecretsKey == "" {
			key = filepath.Join(with.config.Data, daemon.SecretsKeyFile)
		}
		err := do(ctx, administering{daemon.NewSettings(with.config, with.database), key, with.operator})
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			return registry.Unknown(ctx, with.database, plugin)
		}
		return err
	})
}

// settingsElsewhere are those of a daemon, through its API.
type settingsElsewhere struct{ api *client.Client }

// View returns what the API shows.
func (s settingsElsewhere) View(ctx context.Context, plugin string) (pluginsdk.SettingsView, error) {
	return s.api.PluginSettings(ctx, plugin)
}

// Rows are read from what the API shows: a value that is the default counts as not set.
func (s settingsElsewhere) Rows(ctx context.Context, plugin string) ([]settings.Row, string, error) {
	view, err := s.api.PluginSettings(ctx, plugin)
	if err != nil {
		return nil, "", err
	}
	rows, _, err := settings.RowsOf(view)
	if err != nil {
		return nil, "", err
	}
	shown, err := s.api.Plugin(ctx, plugin)
	return rows, shown.Problem, err
}

// SchemaOf returns what the plugin declares.
func (s settingsElsewhere) SchemaOf(ctx context.Context, plugin string) (*settings.Schema, error) {
	view, err := s.api.PluginSettings(ctx, plugin)
	if err != nil {
		return nil, err
	}
	return settings.Compile(view.Schema)
}

// Change sends the patch.
func (s settingsElsewhere) Change(ctx context.Context, _, plugin string, patch json.RawMessage) error {
	return s.api.ChangePluginSettings(ctx, plugin, patch)
}

// Replace sends what is to be set, and takes back what is set and is not named.
func (s settingsElsewhere) Replace(ctx context.Context, who, plugin string, whole json.RawMessage) error {
	var patch map[string]json.RawMessage
	if err := json.Unmarshal(whole, &patch); err != nil || patch == nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: this is not a JSON object")
	}
	rows, _, err := s.Rows(ctx, plugin)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if _, named := patch[row.Name]; !named && !row.Secret && row.From == settings.FromOperator {
			patch[row.Name] = json.RawMessage("null")
		}
	}
	if len(patch) == 0 {
		return nil // there is nothing to set, and nothing to take back
	}
	encoded, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return s.Change(ctx, who, plugin, encoded)
}

// Revert is not in the API.
func (s settingsElsewhere) Revert(_ context.Context, _, plugin string) error {
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "revert works on the daemon's own machine only; from here, set the settings: harness plugin settings set %s KEY=VALUE", plugin)
}
