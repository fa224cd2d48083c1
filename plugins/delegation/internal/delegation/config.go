package delegation

import (
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var settingsSchema = json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "maxIterations": {"type": "integer", "minimum": 1, "maximum": 100, "default": 5, "description": "How many messages a worker gets until its task has failed"},
    "maxValidationRounds": {"type": "integer", "minimum": 1, "maximum": 100, "default": 3, "description": "With how many rejections a task has failed"},
    "costCap": {"type": "number", "exclusiveMinimum": 0, "default": 5, "description": "US dollars that a task may cost, with all tasks below it"},
    "maxCost": {"type": "number", "exclusiveMinimum": 0, "default": 10, "description": "US dollars that whoever delegates may ask for"},
    "depth": {"type": "integer", "minimum": 1, "maximum": 8, "default": 3, "description": "How deep tasks go: with 1, no task has tasks below it"},
    "atOnce": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20, "description": "How many tasks may be open at once"},
    "retrySeconds": {"type": "integer", "minimum": 0, "maximum": 3600, "default": 10, "description": "After how long a worker whose turn failed is sent on; doubled with each failure that follows, up to 5 minutes"},
    "roots": {
      "operator": true, "type": "array", "items": {"type": "string", "pattern": "^/"}, "default": [],
      "description": "Absolute directories in which tasks may work, with all that is below them, beside the directory of the thread that delegates"
    }
  }
}`)

// config is the plugin's settings with their defaults.
type config struct {
	MaxIterations       int     `json:"maxIterations"`
	MaxValidationRounds int     `json:"maxValidationRounds"`
	CostCap             float64 `json:"costCap"` // US dollars, as MaxCost
	MaxCost             float64 `json:"maxCost"`
	// Depth is how deep tasks go: 1 is a task that no task has made.
	Depth        int      `json:"depth"`
	AtOnce       int      `json:"atOnce"`
	RetrySeconds int      `json:"retrySeconds"`
	Roots        []string `json:"roots"`
}

// parseConfig reads the settings. Wrong ones are CodeInvalid, with the name of the setting.
func parseConfig(raw json.RawMessage) (config, error) {
	parsed := config{MaxIterations: 5, MaxValidationRounds: 3, CostCap: 5, MaxCost: 10, Depth: 3, AtOnce: 20, RetrySeconds: 10}
	if err := settings.Decode(raw, &parsed); err != nil {
		return config{}, err
	}
	for _, number := range []struct {
		name        string
		value, most int
	}{
		{"maxIterations", parsed.MaxIterations, 100},
		{"maxValidationRounds", parsed.MaxValidationRounds, 100},
		{"depth", parsed.Depth, 8},
		{"atOnce", parsed.AtOnce, 1000},
	} {
		if number.value < 1 || number.value > number.most {
			return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: %s is %d; it must be from 1 to %d", number.name, number.value, number.most)
		}
	}
	switch {
	case parsed.RetrySeconds < 0 || parsed.RetrySeconds > 3600:
		return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: retrySeconds is %d; it must be from 0 to 3600", parsed.RetrySeconds)
	case !(parsed.CostCap > 0):
		return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: costCap is %g; it must be more than 0", parsed.CostCap)
	case !(parsed.MaxCost > 0):
		return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: maxCost is %g; it must be more than 0", parsed.MaxCost)
	}
	for _, root := range parsed.Roots {
		if !filepath.IsAbs(root) {
			return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: roots: %q is not an absolute path", root)
		}
	}
	parsed.MaxCost = max(parsed.MaxCost, parsed.CostCap)
	return parsed, nil
}

// longestWait is how long a worker whose turns fail is let rest at most.
const longestWait = 5 * time.Minute

// rest is how long a worker is let rest after so many turns in a row that failed.
func (c config) rest(failures int) time.Duration {
	wait := time.Duration(c.RetrySeconds) * time.Second
	for range failures - 1 {
		if wait *= 2; wait > longestWait {
			break
		}
	}
	return min(wait, max(longestWait, time.Duration(c.RetrySeconds)*time.Second))
}
