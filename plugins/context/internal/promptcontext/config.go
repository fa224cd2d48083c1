package promptcontext

import (
	"encoding/json"
	"path/filepath"

	"github.com/seed-706843ae/harness/plugins/internal/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	defaultFileBytes = 64 << 10
	largestFileBytes = 1 << 20
)

var settingsSchema = json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "dir": {"type": "string", "description": "Absolute path of the context directory; the workspace's context directory when not set"},
    "maxFileBytes": {"type": "integer", "minimum": 1, "maximum": 1048576, "default": 65536, "description": "How much of each file is shown"}
  }
}`)

// config is the plugin's settings with their defaults.
type config struct {
	// Dir is the context directory; empty when there is none.
	Dir string `json:"dir"`
	// MaxFileBytes is how much of each file is shown.
	MaxFileBytes int64 `json:"maxFileBytes"`
}

// parseConfig reads the settings. workspace is where Dir is by default.
func parseConfig(raw json.RawMessage, workspace string) (config, error) {
	parsed := config{MaxFileBytes: defaultFileBytes}
	if err := settings.Decode(raw, &parsed); err != nil {
		return config{}, err
	}
	if parsed.MaxFileBytes < 1 || parsed.MaxFileBytes > largestFileBytes {
		return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"settings: maxFileBytes is %d; it must be from 1 to %d", parsed.MaxFileBytes, largestFileBytes)
	}
	if parsed.Dir == "" && workspace != "" {
		parsed.Dir = filepath.Join(workspace, "context")
	}
	if parsed.Dir != "" && !filepath.IsAbs(parsed.Dir) {
		return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"settings: dir is %q; it must be an absolute path", parsed.Dir)
	}
	return parsed, nil
}
