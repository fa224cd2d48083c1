package daemon

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/joho/godotenv"

	"github.com/seed-706843ae/harness/core/invoker"
)

// from loads the configuration of a directory with this harness.env and environment.
func from(t *testing.T, file string, environment map[string]string) (Config, string, error) {
	t.Helper()
	data := t.TempDir()
	path := filepath.Join(data, ConfigFile)
	if file != "" {
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config, err := Load(data, func(name string) (string, bool) { value, ok := environment[name]; return value, ok })
	return config, path, err
}

// Who looks for a wrong value in the shell when it is in a file, or the other way round,
// does not find it.
func TestAWrongSettingSaysWhereItIs(t *testing.T) {
	_, path, err := from(t, "HARNESS_AGENTS=many\n", nil)
	if err == nil || !strings.Contains(err.Error(), "HARNESS_AGENTS, from "+path+`: "many" is not accepted`) {
		t.Errorf("in the file: %v", err)
	}
	_, _, err = from(t, "HARNESS_AGENTS=3\n", map[string]string{"HARNESS_AGENTS": "many"})
	if err == nil || !strings.Contains(err.Error(), "HARNESS_AGENTS, from the environment") {
		t.Errorf("in the environment: %v", err)
	}
	_, path, err = from(t, "HARNESS_AGENT_MEMRY=2GiB\n", nil)
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "did you mean HARNESS_AGENT_MEMORY?") {
		t.Errorf("a name that is none: %v", err)
	}
}

// A token belongs into the file that has the rest, and is not shown; what no plugin is given
// is still no setting.
func TestTheFileHasWhatShippedPluginsAreGiven(t *testing.T) {
	config, path, err := from(t, "DISCORD_TOKEN=hunter2\nDISCORD_CHANNEL_ID=\n", nil)
	if err != nil || !maps.Equal(config.PluginVariables, map[string]string{"DISCORD_TOKEN": "hunter2"}) {
		t.Fatalf("plugins are given %v, %v", config.PluginVariables, err)
	}
	settings := config.Settings()
	if last := settings[len(settings)-1]; last != (Setting{Name: "DISCORD_TOKEN", Value: "(set)", Source: path}) {
		t.Errorf("shown is %+v", last)
	}
	for line, want := range map[string]string{
		"DISCORD_TOKN=x": "did you mean DISCORD_TOKEN?", "OTHER_TOKEN=x": "there is no setting OTHER_TOKEN", "HARNESS_WORKSPACE=x": "there is no setting HARNESS_WORKSPACE",
	} {
		if _, _, err := from(t, line, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// Words of the language that this is written in help nobody.
func TestWrongValuesAreExplained(t *testing.T) {
	for line, want := range map[string]string{
		"HARNESS_AGENT_MEMORY=2":        "2 B, and a process of the CLI alone takes about 200 MB; a number needs its unit",
		"HARNESS_AGENT_MEMORY=much":     "a size such as 2GiB",
		"HARNESS_DEV=maybe":             "true or false",
		"HARNESS_LOG_LEVEL=loud":        "debug, info, warn or error",
		"HARNESS_LOG_FORMAT=xml":        "text or json",
		"HARNESS_AGENT=gpt":             "auto, claude or demo",
		"HARNESS_PERMISSION_MODE=never": "default, acceptEdits or plan",
		"HARNESS_PLUGIN_SIGNATURES=no":  "optional or required",
	} {
		_, _, err := from(t, line, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", line, err, want)
		} else if strings.Contains(err.Error(), "strconv") || strings.Contains(err.Error(), "slog") {
			t.Errorf("%s: %v", line, err)
		}
	}
	for level, want := range map[string]slog.Level{"WARN": slog.LevelWarn, "INFO+2": slog.LevelInfo + 2, "debug-1": slog.LevelDebug - 1} {
		if config, _, err := from(t, "HARNESS_AGENT_MEMORY=0\nHARNESS_LOG_LEVEL="+level, nil); err != nil || config.LogLevel != want {
			t.Errorf("%s: %v %v", level, config.LogLevel, err)
		}
	}
}

// A setting that is misspelt in the environment does nothing, in silence.
func TestMisspeltVariablesAreNamed(t *testing.T) {
	got := Misspelt([]string{
		"HARNESS_AGNET=demo", "HARNESS_QUUX=1", "HARNESS_AGENT=demo", "HARNESS_URL=http://x", "HARNESS_OWNER=o", "HARNESS_VERSION=v1.2.3", "HARNESS_TEST_CLAUDE=c", "HOME=/",
	})
	want := []string{
		"HARNESS_AGNET in the environment is no setting, did you mean HARNESS_AGENT?", "HARNESS_QUUX in the environment is no setting",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Whoever asks what holds must not be shown what opens the database.
func TestSettingsSayWhereTheyComeFromAndHideSecrets(t *testing.T) {
	const key = "AGE-SECRET-KEY-1QQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQ"
	config, path, err := from(t, "HARNESS_AGENTS=3\nHARNESS_TURN_TIMEOUT=90m\n", map[string]string{
		"DATABASE_URL": "postgres://ann:hunter2@db/harness?password=hunter2", "HARNESS_AGENTS": "4",
	})
	if err != nil {
		t.Fatal(err)
	}
	config.Port, config.SecretsKey = 3100, key
	config.FromFlag("PORT", "--port")
	got := map[string]Setting{}
	for _, setting := range config.Settings() {
		got[setting.Name] = setting
		if strings.Contains(setting.Value, "hunter2") || strings.Contains(setting.Value, key) {
			t.Errorf("%s is shown: %s", setting.Name, setting.Value)
		}
	}
	for name, want := range map[string]Setting{
		"DATABASE_URL":               {Value: "postgres://ann:xxxxx@db/harness", Source: fromEnvironment},
		"PORT":                       {Value: "3100", Source: "--port"},
		"HARNESS_AGENTS":             {Value: "4", Source: fromEnvironment},
		"HARNESS_TURN_TIMEOUT":       {Value: "1h30m", Source: path},
		"HARNESS_SILENCE_TIMEOUT":    {Value: "5m", Source: "default"},
		"HARNESS_TOOLS_BYTES":        {Value: "128KiB", Source: "default"},
		"HARNESS_HOOK_BUDGET":        {Value: "20s", Source: "default"},
		"HARNESS_LOG_LEVEL":          {Value: "info", Source: "default"},
		"HARNESS_PERMISSION_MODE":    {Value: "", Source: "default"},
		"HARNESS_PLUGIN_BACKOFF":     {Value: "1s", Source: "default"},
		"HARNESS_DELIVERY_RETRY_MAX": {Value: "5m", Source: "default"},
	} {
		want.Name = name
		if got[name] != want {
			t.Errorf("%+v; want %+v", got[name], want)
		}
	}
}

// The example is what somebody begins with: each line of it must do what it says.
func TestTheExampleOfTheFileHolds(t *testing.T) {
	example, err := os.ReadFile("../../docs/harness.env.example")
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for line := range strings.Lines(string(example)) {
		if rest, ok := strings.CutPrefix(line, "#"); ok && strings.Contains(rest, "=") && !strings.HasPrefix(rest, " ") {
			line = rest
		}
		all.WriteString(line)
	}
	named, err := godotenv.UnmarshalBytes(all.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variables {
		if _, ok := named[v.name]; !ok && v.name != "HARNESS_DATA" && v.name != secretsKeyVariable {
			t.Errorf("%s is not in the example", v.name)
		}
	}
	if unset, err := godotenv.UnmarshalBytes(example); err != nil || len(unset) != 0 {
		t.Errorf("as it is, the example sets %v (%v)", unset, err)
	}
	for _, setting := range Defaults().Settings() {
		if value, ok := named[setting.Name]; ok && setting.Value != "" && value != setting.Value && setting.Name != "HARNESS_PLUGINS" && setting.Name != "HARNESS_AGENT_MEMORY" {
			t.Errorf("%s: the example has %q, the default is %q", setting.Name, value, setting.Value)
		}
	}
	for name, value := range named {
		if name == "HARNESS_MCP_CONFIG" || name == "HARNESS_DEMO_SCRIPT" || name == "HARNESS_PLUGIN_PUBLISHERS" {
			continue // names of files, and a key, that are not there
		}
		if _, _, err := from(t, name+"="+value, nil); err != nil {
			t.Error(err)
		}
	}
}

// What collects logs wants them as JSON, each line by itself.
func TestTheLogCanBeJSON(t *testing.T) {
	config, _, err := from(t, "HARNESS_LOG_FORMAT=json\nHARNESS_LOG_LEVEL=warn", nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log := config.NewLog(&out)
	log.Info("not this")
	log.Warn("this", "room", "test")
	var line struct{ Level, Msg, Room string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Msg != "this" || line.Level != "WARN" || line.Room != "test" {
		t.Errorf("%s: %v", out.String(), err)
	}
}

// Who copies the script of the docs must have one that works.
func TestTheDocumentedDemoScriptLoads(t *testing.T) {
	page, err := os.ReadFile("../../docs/writing-a-plugin.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "## Scripting the demo agent")
	begin, end := strings.Index(rest, "    [\n"), strings.Index(rest, "\n    ]\n")
	if begin < 0 || end < begin {
		t.Fatal("there is no script in the docs")
	}
	path := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(path, []byte(rest[begin:end]+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := invoker.LoadScript(path); err != nil {
		t.Error(err)
	}
}
