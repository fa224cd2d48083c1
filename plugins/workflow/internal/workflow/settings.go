package workflow

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/seed-706843ae/harness/plugins/internal/settings"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/roles"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var settingsSchema = json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "batchSize": {"type": "integer", "minimum": 1, "maximum": 50, "default": 3, "title": "Tasks in a batch", "description": "How many tasks of a plan are built and reviewed together"},
    "rounds": {"type": "integer", "minimum": 1, "maximum": 20, "default": 3, "title": "Reviews of a batch", "description": "How often a reviewer may ask for changes of a batch before a person is asked"},
    "redesigns": {"type": "integer", "minimum": 0, "maximum": 5, "default": 1, "title": "Returns to the architect", "description": "How often reviewers may ask for another plan before a person is asked"},
    "tries": {"type": "integer", "minimum": 1, "maximum": 20, "default": 3, "title": "Tries of a stage", "description": "How often the checks of a stage may fail before a person is asked"},
    "atOnce": {"type": "integer", "minimum": 1, "maximum": 20, "default": 2, "title": "Workflows at once", "description": "How many workflows work at the same time; the oldest goes first"},
    "sideBySide": {"type": "integer", "minimum": 1, "maximum": 5, "default": 1, "title": "Batches side by side", "description": "How many batches that the plan marks as independent may be built at the same time; 1: one after the other"},
    "costCap": {"type": "number", "exclusiveMinimum": 0, "default": 20, "title": "Cost limit (USD)", "description": "US dollars that a workflow may cost unless it was started with another limit"},
    "maxCost": {"type": "number", "exclusiveMinimum": 0, "default": 50, "title": "Highest cost limit (USD)", "description": "The highest limit that an agent, or a person without the scope admin, may give a workflow"},
    "agentsOpen": {"type": "integer", "minimum": 1, "maximum": 100, "default": 3, "title": "Workflows of agents", "description": "How many workflows that agents have started may be open at the same time"},
    "verifyShare": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100, "title": "Share of reviewing (%)", "description": "When reviewing has cost more than this share of what building has cost, the batches that follow are checked by the project's own checks only; the last review is always made"},
    "reviewCost": {"type": "number", "exclusiveMinimum": 0, "default": 3, "title": "Cost limit of a review (USD)", "description": "US dollars that one review may cost"},
    "reviewSeconds": {"type": "integer", "minimum": 30, "maximum": 7200, "default": 1800, "title": "Time limit of a review (s)", "description": "How long one review may take"},
    "teams": {"type": "array", "items": {"type": "string"}, "default": [], "title": "Teams", "description": "Agents that may use sub-agents of the CLI's own, such as scout"},
    "roles": {
      "operator": true, "type": "object", "default": {}, "title": "Roles",
      "additionalProperties": {"type": "object", "additionalProperties": false, "properties": {
        "model": {"type": "string"}, "prompt": {"type": "string"}, "permissionMode": {"type": "string"},
        "tools": {"type": "array", "items": {"type": "string"}}, "disallowedTools": {"type": "array", "items": {"type": "string"}}}},
      "description": "What roles are changed to, by their names: {\"builder\": {\"model\": \"opus\"}}. It goes before the files of a project"
    },
    "roots": {
      "operator": true, "type": "array", "items": {"type": "string", "pattern": "^/"}, "default": [], "title": "Directories",
      "description": "Absolute directories in which agents may start workflows, with all that is below them, beside the directory of their thread"
    }
  }
}`)

// config is the plugin's settings with their defaults.
type config struct {
	BatchSize     int                       `json:"batchSize"`
	Rounds        int                       `json:"rounds"`
	Redesigns     int                       `json:"redesigns"`
	Tries         int                       `json:"tries"`
	AtOnce        int                       `json:"atOnce"`
	SideBySide    int                       `json:"sideBySide"`
	CostCap       float64                   `json:"costCap"` // US dollars, as MaxCost and ReviewCost
	MaxCost       float64                   `json:"maxCost"`
	AgentsOpen    int                       `json:"agentsOpen"`
	VerifyShare   int                       `json:"verifyShare"` // percent
	ReviewCost    float64                   `json:"reviewCost"`
	ReviewSeconds int                       `json:"reviewSeconds"`
	Teams         []string                  `json:"teams"`
	Roles         map[string]roles.Override `json:"roles"`
	Roots         []string                  `json:"roots"`
}

// parseConfig reads the settings. Wrong ones are CodeInvalid, with the name of the setting.
func parseConfig(raw json.RawMessage) (config, error) {
	c := config{
		BatchSize: 3, Rounds: 3, Redesigns: 1, Tries: 3, AtOnce: 2, SideBySide: 1, CostCap: 20, MaxCost: 50, AgentsOpen: 3, VerifyShare: 100, ReviewCost: 3, ReviewSeconds: 1800,
	}
	if err := settings.Decode(raw, &c); err != nil {
		return config{}, err
	}
	for _, number := range []struct {
		name        string
		value       int
		least, most int
	}{
		{"batchSize", c.BatchSize, 1, 50}, {"rounds", c.Rounds, 1, 20}, {"redesigns", c.Redesigns, 0, 5}, {"tries", c.Tries, 1, 20},
		{"atOnce", c.AtOnce, 1, 20}, {"agentsOpen", c.AgentsOpen, 1, 100}, {"sideBySide", c.SideBySide, 1, 5}, {"verifyShare", c.VerifyShare, 1, 1000}, {"reviewSeconds", c.ReviewSeconds, 30, 7200},
	} {
		if number.value < number.least || number.value > number.most {
			return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: %s is %d; it must be from %d to %d", number.name, number.value, number.least, number.most)
		}
	}
	for _, amount := range []struct {
		name  string
		value float64
	}{{"costCap", c.CostCap}, {"maxCost", c.MaxCost}, {"reviewCost", c.ReviewCost}} {
		if !(amount.value > 0) {
			return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: %s is %g; it must be more than 0", amount.name, amount.value)
		}
	}
	if i := slices.IndexFunc(c.Roots, func(root string) bool { return !filepath.IsAbs(root) }); i >= 0 {
		return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: roots: %q is not an absolute path", c.Roots[i])
	}
	c.MaxCost = max(c.MaxCost, c.CostCap)
	return c, nil
}
