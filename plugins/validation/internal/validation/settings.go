package validation

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/settings"
	"github.com/seed-706843ae/harness/plugins/validation/internal/checks"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var settingsSchema = json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "checks": {
      "operator": true,
      "type": "array", "default": [],
      "description": "How projects are checked, in place of what is found out about them",
      "items": {
        "type": "object", "additionalProperties": false, "required": ["name", "command"],
        "properties": {
          "name": {"enum": ["build", "types", "format", "lint", "test", "all"], "description": "What the command checks; all: several of the others"},
          "command": {"type": "string", "description": "A line for sh, run at the top of the repository; empty: this is not checked"},
          "repository": {"type": "string", "description": "Absolute path of the repository that it is for; absent: all that have none of that name of their own"}
        }
      }
    },
    "timeoutSeconds": {"type": "integer", "minimum": 1, "maximum": 86400, "default": 600, "description": "How long one check may take; then it has failed"},
    "outputBytes": {"type": "integer", "minimum": 256, "maximum": 65536, "default": 16384, "description": "How much of the end of a check's output is kept"},
    "atOnce": {"type": "integer", "minimum": 1, "maximum": 64, "default": 1, "description": "How many checks run at the same time, of all tasks"},
    "makers": {"operator": true, "type": "array", "items": {"type": "string", "minLength": 1}, "default": ["workflow"], "description": "Plugins whose tasks may say with the label validation.scope that they are only checked (checks), or not judged here at all (none), because these plugins judge them"},
    "environment": {"operator": true, "type": "object", "additionalProperties": {"type": "string"}, "default": {}, "description": "Variables that checks get beside the few that they all have"},
    "model": {"type": "string", "default": "", "description": "The reviewer's model, best another one than the workers'; empty: the daemon's default"},
    "reviewCostUsd": {"type": "number", "exclusiveMinimum": 0, "maximum": 1000, "default": 0.5, "description": "What one review may cost"},
    "reviewSeconds": {"type": "integer", "minimum": 1, "maximum": 86400, "default": 1200, "description": "How long one review may take"},
    "reviewParts": {"type": "integer", "minimum": 1, "maximum": 32, "default": 8, "description": "In how many parts a large change is reviewed at most, one review each; one that needs more waits for a person"}
  }
}`)

// config is the plugin's settings with their defaults.
type config struct {
	Checks         []setCheck        `json:"checks"`
	TimeoutSeconds int               `json:"timeoutSeconds"`
	OutputBytes    int               `json:"outputBytes"`
	AtOnce         int               `json:"atOnce"`
	Makers         []string          `json:"makers"`
	Environment    map[string]string `json:"environment"`
	Model          string            `json:"model"`
	ReviewCostUSD  float64           `json:"reviewCostUsd"`
	ReviewSeconds  int               `json:"reviewSeconds"`
	ReviewParts    int               `json:"reviewParts"`

	runner *checks.Runner
}

type setCheck struct {
	Name       checks.Kind `json:"name"`
	Command    string      `json:"command"`
	Repository string      `json:"repository"`
}

// parseConfig reads the settings. The schema has been held against them when they were
// stored; what it cannot say is checked here.
func parseConfig(raw json.RawMessage) (*config, error) {
	parsed := &config{Makers: []string{"workflow"}, TimeoutSeconds: 600, OutputBytes: 16 << 10, AtOnce: 1, ReviewCostUSD: 0.5, ReviewSeconds: 1200, ReviewParts: 8}
	if err := settings.Decode(raw, parsed); err != nil {
		return nil, err
	}
	invalid := func(format string, args ...any) error {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: "+format, args...)
	}
	if min(parsed.TimeoutSeconds, parsed.OutputBytes, parsed.AtOnce, parsed.ReviewSeconds, parsed.ReviewParts) < 1 || !(parsed.ReviewCostUSD > 0) {
		return nil, invalid("timeoutSeconds, outputBytes, atOnce, reviewSeconds, reviewParts and reviewCostUsd must be more than 0")
	}
	for _, check := range parsed.Checks {
		if !slices.Contains([]checks.Kind{checks.Build, checks.Types, checks.Format, checks.Lint, checks.Test, checks.All}, check.Name) {
			return nil, invalid("checks: name is %q; it must be build, types, format, lint, test or all", check.Name)
		}
		if check.Repository != "" && !filepath.IsAbs(check.Repository) {
			return nil, invalid("checks: repository is %q; it must be an absolute path", check.Repository)
		}
	}
	if slices.Contains(parsed.Makers, "") {
		return nil, invalid("makers: a name is empty; want names of plugins, such as workflow")
	}
	var environ []string
	for name, value := range parsed.Environment {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return nil, invalid("environment: %q is no name of a variable, or its value has a NUL", name)
		}
		environ = append(environ, name+"="+value)
	}
	slices.Sort(environ)
	parsed.runner = &checks.Runner{
		Timeout: time.Duration(parsed.TimeoutSeconds) * time.Second, Output: parsed.OutputBytes,
		Environ: environ, Places: make(chan struct{}, parsed.AtOnce),
	}
	return parsed, nil
}

// wanted are the checks that are set for a repository: its own, and of the names that it
// has none of, those for all.
func (c *config) wanted(repository string) (wanted []checks.Wanted) {
	own := make(map[checks.Kind]bool)
	for _, check := range c.Checks {
		if check.Repository != "" && filepath.Clean(check.Repository) == repository {
			own[check.Name] = true
			wanted = append(wanted, checks.Wanted{Kind: check.Name, Command: check.Command})
		}
	}
	for _, check := range c.Checks {
		if check.Repository == "" && !own[check.Name] {
			wanted = append(wanted, checks.Wanted{Kind: check.Name, Command: check.Command})
		}
	}
	return wanted
}
