package pluginsdk

import (
	"context"
	"encoding/json"
)

// SettingsChange carries the settings as they are from now on.
type SettingsChange struct {
	Call     Call
	Settings json.RawMessage // a JSON object
}

// SettingsChangeHook is told when an operator changed the plugin's settings.
type SettingsChangeHook interface {
	OnSettingsChange(ctx context.Context, change SettingsChange) error
}
