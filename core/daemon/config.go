package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/joho/godotenv"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/core/toolserver"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// ConfigFile is the optional file in the data directory that holds settings as
// NAME=VALUE lines, under the names of the environment variables.
const ConfigFile = "harness.env"

// Config is everything an operator can set. Flags beat the environment, which
// beats the file, which beats the defaults.
type Config struct {
	Data        string // directory of everything Harness keeps
	Port        int    // HTTP port on loopback
	Agent       string // auto, claude or demo
	Plugins     string // directory of the plugin binaries
	DatabaseURL string // postgres://...; empty means SQLite in Data
	SecretsKey  string // opens the plugins' secrets; empty means the key in Data

	Model          string
	ClaudeBinary   string
	AllowedTools   []string
	PermissionMode string
	MCPConfig      json.RawMessage // a JSON object with mcpServers, for every session
	Agents         int             // runs, and warm agent processes, at a time
	SilenceTimeout time.Duration
	TurnTimeout    time.Duration
	IdleTimeout    time.Duration
	MaxAttempts    int
	RetryBase      time.Duration
	RetryMax       time.Duration
	RetryJitter    float64
	MaxWaiting     int
	ToolBounds     toolserver.Bounds // of what plugins offer the agent; zero fields: the default
	AgentMemory    int64             // bytes that all agent processes together may hold; 0: no limit
	Deliveries     int               // attempts of a delivery before it is dead
	DeliveryMax    time.Duration     // longest wait between two of them
	RetentionDays  int               // activity and metrics older than this are deleted; 0: kept for ever
	DrainGrace     time.Duration
	HookDeadlines  map[pluginsdk.Hook]time.Duration
	// HookBudget is how much of a run may go into calls of open hooks, in all; 0: the
	// default, 20 s.
	HookBudget    time.Duration
	HookGrace     time.Duration // a plugin is restarted when a call goes on this long past its deadline
	PluginBackoff time.Duration // wait before a plugin's first restart; doubles
	// DisallowedTools are tool rules for what sessions are not offered, besides
	// the tools of the CLI that do what Harness does itself.
	DisallowedTools []string
	// PluginPublishers are minisign public keys whose signatures are trusted,
	// besides those of the files in DATA/publishers.
	PluginPublishers []string
	PluginSignatures string // optional or required, of plugins that are installed
	Dev              bool   // plugins may run under a debugger
	DemoScript       string // JSON file of rules for the demo agent
	LogLevel         slog.Level

	// Fault is called before every step of the pipeline with its name and the
	// run's id. Tests end the process there.
	Fault func(step, runID string)
	// Trace is told of what runs wait for: calls of plugins, transactions, batches of
	// events. What measures it is there.
	Trace func(ledger.Span)
	// Supervise changes how plugins are looked after. Tests shorten times there
	// that no operator has to set.
	Supervise func(*pluginhost.Config)
	// Version is what the binary calls itself.
	Version string
	// Log is where the daemon logs; nil discards.
	Log *slog.Logger
}

// Defaults returns the configuration of an installation that sets nothing.
func Defaults() Config {
	return Config{
		Data: "data", Port: 3001, Agent: "auto", Plugins: defaultPluginDir(),
		Model: "claude-sonnet-4-6", ClaudeBinary: "claude", Agents: 5,
		SilenceTimeout: 5 * time.Minute, TurnTimeout: time.Hour, IdleTimeout: 8 * time.Minute,
		MaxAttempts: 5, RetryBase: time.Second, RetryMax: time.Minute, RetryJitter: 0.25, Deliveries: 20, DeliveryMax: 5 * time.Minute, MaxWaiting: 1000, DrainGrace: 10 * time.Second,
		HookGrace: 5 * time.Second, PluginBackoff: time.Second, PluginSignatures: "optional",
		LogLevel: slog.LevelInfo,
	}
}

// defaultPluginDir is the directory plugins beside the binary.
func defaultPluginDir() string {
	executable, err := os.Executable()
	if err != nil {
		return "plugins"
	}
	return filepath.Join(filepath.Dir(executable), "plugins")
}

// variable is one setting that can come from the environment or the file.
type variable struct {
	name    string
	accepts string
	set     func(c *Config, value string) error
}

var variables = []variable{
	{"DATABASE_URL", "a postgres:// URL", func(c *Config, v string) error {
		if v != "" && !strings.HasPrefix(v, "postgres://") && !strings.HasPrefix(v, "postgresql://") {
			return errors.New("not a Postgres URL")
		}
		c.DatabaseURL = v
		return nil
	}},
	{"PORT", "a number from 1 to 65535", func(c *Config, v string) error { return intInto(&c.Port, v, 1, 65535) }},
	{secretsKeyVariable, "a key that begins with AGE-SECRET-KEY-1", func(c *Config, v string) error {
		c.SecretsKey = v
		return settings.CheckKey(v)
	}},
	{"CLAUDE_MODEL_DEFAULT", "a model's name", func(c *Config, v string) error { c.Model = v; return nil }},
	{"HARNESS_DATA", "a directory", func(c *Config, v string) error { c.Data = v; return nil }},
	{"HARNESS_PLUGINS", "a directory", func(c *Config, v string) error { c.Plugins = v; return nil }},
	{"HARNESS_AGENT", "auto, claude or demo", func(c *Config, v string) error { c.Agent = v; return nil }},
	{"HARNESS_AGENTS", "a number from 1 to 256", func(c *Config, v string) error { return intInto(&c.Agents, v, 1, 256) }},
	{"HARNESS_CLAUDE", "the path of the Claude CLI", func(c *Config, v string) error { c.ClaudeBinary = v; return nil }},
	{"HARNESS_ALLOWED_TOOLS", "tool rules separated by commas", func(c *Config, v string) error {
		c.AllowedTools = splitList(v)
		return nil
	}},
	{"HARNESS_DISALLOWED_TOOLS", "tool rules separated by commas", func(c *Config, v string) error {
		c.DisallowedTools = splitList(v)
		return nil
	}},
	{"HARNESS_PERMISSION_MODE", "default, acceptEdits or plan", func(c *Config, v string) error { c.PermissionMode = v; return nil }},
	{"HARNESS_MCP_CONFIG", "a JSON file with mcpServers", setMCPConfig},
	{"HARNESS_SILENCE_TIMEOUT", "a duration such as 5m", func(c *Config, v string) error { return durationInto(&c.SilenceTimeout, v) }},
	{"HARNESS_TURN_TIMEOUT", "a duration such as 1h", func(c *Config, v string) error { return durationInto(&c.TurnTimeout, v) }},
	{"HARNESS_IDLE_TIMEOUT", "a duration such as 8m", func(c *Config, v string) error { return durationInto(&c.IdleTimeout, v) }},
	{"HARNESS_MAX_ATTEMPTS", "a number from 1 to 100", func(c *Config, v string) error { return intInto(&c.MaxAttempts, v, 1, 100) }},
	{"HARNESS_RETRY_BASE", "a duration such as 1s", func(c *Config, v string) error { return durationInto(&c.RetryBase, v) }},
	{"HARNESS_RETRY_MAX", "a duration such as 1m", func(c *Config, v string) error { return durationInto(&c.RetryMax, v) }},
	{"HARNESS_RETRY_JITTER", "a number from 0.01 to 1", setJitter},
	{"HARNESS_AGENT_MEMORY", "a size such as 2GiB, or 0 for no limit", setAgentMemory},
	{"HARNESS_TOOLS_MAX", "a number from 1 to 1000", func(c *Config, v string) error { return intInto(&c.ToolBounds.Tools, v, 1, 1000) }},
	{"HARNESS_TOOLS_BYTES", "a size from 1KiB to 16MiB, such as 128KiB", setToolBytes},
	{"HARNESS_DELIVERY_ATTEMPTS", "a number from 1 to 1000", func(c *Config, v string) error { return intInto(&c.Deliveries, v, 1, 1000) }},
	{"HARNESS_DELIVERY_RETRY_MAX", "a duration such as 5m", func(c *Config, v string) error { return durationInto(&c.DeliveryMax, v) }},
	{"HARNESS_RETENTION_DAYS", "a number from 0 (keep for ever) to 36500", func(c *Config, v string) error { return intInto(&c.RetentionDays, v, 0, 36500) }},
	{"HARNESS_MAX_WAITING", "a number from 1 to 1000000", func(c *Config, v string) error { return intInto(&c.MaxWaiting, v, 1, 1000000) }},
	{"HARNESS_DRAIN_GRACE", "a duration such as 10s", func(c *Config, v string) error { return durationInto(&c.DrainGrace, v) }},
	{"HARNESS_HOOK_DEADLINES", "HOOK=DURATION separated by commas, such as OnBeforeInvoke=20s", setHookDeadlines},
	{"HARNESS_HOOK_BUDGET", "a duration such as 20s", func(c *Config, v string) error { return durationInto(&c.HookBudget, v) }},
	{"HARNESS_HOOK_GRACE", "a duration such as 5s", func(c *Config, v string) error { return durationInto(&c.HookGrace, v) }},
	{"HARNESS_PLUGIN_BACKOFF", "a duration such as 1s", func(c *Config, v string) error { return durationInto(&c.PluginBackoff, v) }},
	{"HARNESS_PLUGIN_PUBLISHERS", "minisign public keys separated by commas", setPublishers},
	{"HARNESS_PLUGIN_SIGNATURES", "optional or required", func(c *Config, v string) error { c.PluginSignatures = v; return nil }},
	{"HARNESS_DEV", "true or false", func(c *Config, v string) (err error) { c.Dev, err = strconv.ParseBool(v); return err }},
	{"HARNESS_DEMO_SCRIPT", "a JSON file", func(c *Config, v string) error { c.DemoScript = v; return nil }},
	{"HARNESS_LOG_LEVEL", "debug, info, warn or error", func(c *Config, v string) error { return c.LogLevel.UnmarshalText([]byte(v)) }},
}

// Load reads the environment and the file of the data directory over the
// defaults. data, when not empty, is the directory that a flag names.
func Load(data string, lookup func(string) (string, bool)) (Config, error) {
	config := Defaults()
	if value, ok := lookup("HARNESS_DATA"); ok && value != "" {
		config.Data = value
	}
	if data != "" {
		config.Data = data
	}
	file, err := godotenv.Read(filepath.Join(config.Data, ConfigFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Config{}, fmt.Errorf("read %s: %w", filepath.Join(config.Data, ConfigFile), err)
	}
	for _, name := range slices.Sorted(maps.Keys(file)) {
		if name == "HARNESS_DATA" {
			return Config{}, fmt.Errorf("%s: HARNESS_DATA says where this file is; set it in the environment", ConfigFile)
		}
		if name == secretsKeyVariable {
			return Config{}, fmt.Errorf("%s: %s may not be here, because the file can be in a backup; set it in the environment", ConfigFile, name)
		}
		if !slices.ContainsFunc(variables, func(v variable) bool { return v.name == name }) {
			return Config{}, fmt.Errorf("%s: there is no setting %s", ConfigFile, name)
		}
	}
	for _, v := range variables {
		value, ok := lookup(v.name)
		if !ok {
			value, ok = file[v.name]
		}
		if !ok || (value == "" && v.name != "DATABASE_URL") {
			continue
		}
		if err := v.set(&config, value); err != nil {
			return Config{}, fmt.Errorf("%s: %q is not accepted (%w); it takes %s", v.name, v.shown(value), err, v.accepts)
		}
	}
	if data != "" {
		config.Data = data
	}
	return config, nil
}

// secretsKeyVariable comes from the environment only.
const secretsKeyVariable = "HARNESS_SECRETS_KEY"

// shown is the value as it may be printed: a database URL holds a password.
func (v variable) shown(value string) string {
	if v.name == "DATABASE_URL" || v.name == secretsKeyVariable {
		return "..."
	}
	return value
}

// Validate returns what is wrong with the configuration, naming the setting.
func (c Config) Validate() error {
	switch {
	case c.Data == "":
		return errors.New("--data: a directory is needed")
	case !slices.Contains([]string{"auto", "claude", "demo"}, c.Agent):
		return fmt.Errorf("--agent (HARNESS_AGENT): %q is not accepted; it takes auto, claude or demo", c.Agent)
	case !slices.Contains([]string{"", "default", "acceptEdits", "plan"}, c.PermissionMode):
		return fmt.Errorf("HARNESS_PERMISSION_MODE: %q is not accepted; it takes default, acceptEdits or plan", c.PermissionMode)
	case !slices.Contains([]string{"", "optional", "required"}, c.PluginSignatures):
		return fmt.Errorf("HARNESS_PLUGIN_SIGNATURES: %q is not accepted; it takes optional or required", c.PluginSignatures)
	case c.Port < 1 || c.Port > 65535:
		return fmt.Errorf("--port (PORT): %d is not accepted; it takes a number from 1 to 65535", c.Port)
	}
	return nil
}

func setMCPConfig(c *Config, path string) error {
	content, err := os.ReadFile(path) //nolint:gosec // the operator's own file
	if err != nil {
		return err
	}
	var servers struct {
		MCPServers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(content, &servers); err != nil || servers.MCPServers == nil {
		return errors.New("not a JSON object with mcpServers")
	}
	c.MCPConfig = content
	return nil
}

func setJitter(c *Config, value string) error {
	part, err := strconv.ParseFloat(value, 64)
	if err != nil || part < 0.01 || part > 1 {
		return errors.New("not a number in that range")
	}
	c.RetryJitter = part
	return nil
}

func setAgentMemory(c *Config, value string) error {
	size, err := humanize.ParseBytes(value)
	if err != nil || size > math.MaxInt64 {
		return errors.New("not a size")
	}
	c.AgentMemory = int64(size)
	return nil
}

func setToolBytes(c *Config, value string) error {
	size, err := humanize.ParseBytes(value)
	if err != nil || size < 1<<10 || size > 16<<20 {
		return errors.New("not a size in that range")
	}
	c.ToolBounds.Bytes = int(size)
	return nil
}

func intInto(field *int, value string, low, high int) error {
	number, err := strconv.Atoi(value)
	if err != nil {
		return errors.New("not a number")
	}
	if number < low || number > high {
		return errors.New("out of range")
	}
	*field = number
	return nil
}

func durationInto(field *time.Duration, value string) error {
	duration, err := time.ParseDuration(value)
	if err != nil || duration <= 0 {
		return errors.New("not a duration above 0")
	}
	*field = duration
	return nil
}

func splitList(value string) []string {
	var list []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// boundedHooks are the hooks whose deadlines can be set: all but those whose work
// may take as long as it goes on.
func boundedHooks() (hooks []pluginsdk.Hook) {
	for _, spec := range pluginsdk.Hooks() {
		if spec.Class != pluginsdk.ClassWork {
			hooks = append(hooks, spec.Hook)
		}
	}
	return hooks
}

func setHookDeadlines(c *Config, value string) error {
	c.HookDeadlines = make(map[pluginsdk.Hook]time.Duration)
	for _, item := range splitList(value) {
		name, text, ok := strings.Cut(item, "=")
		if !ok {
			return fmt.Errorf("%q is not HOOK=DURATION", item)
		}
		hook := pluginsdk.Hook(strings.TrimSpace(name))
		if !slices.Contains(boundedHooks(), hook) {
			return fmt.Errorf("%q is not one of the hooks %s", hook, listed(boundedHooks()))
		}
		var deadline time.Duration
		if err := durationInto(&deadline, strings.TrimSpace(text)); err != nil {
			return fmt.Errorf("%q: %w", item, err)
		}
		c.HookDeadlines[hook] = deadline
	}
	return nil
}

func listed(hooks []pluginsdk.Hook) string {
	names := make([]string, len(hooks))
	for n, hook := range hooks {
		names[n] = string(hook)
	}
	return strings.Join(names, ", ")
}
