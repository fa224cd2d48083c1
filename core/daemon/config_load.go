package daemon

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/joho/godotenv"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// variable is one setting that can come from the environment or the file.
type variable struct {
	name    string
	accepts string
	set     func(c *Config, value string) error
	value   func(c Config) any // what is in force
}

var variables = []variable{
	{"DATABASE_URL", "a postgres:// URL", func(c *Config, v string) error {
		if v != "" && !strings.HasPrefix(v, "postgres://") && !strings.HasPrefix(v, "postgresql://") {
			return errors.New("not a Postgres URL")
		}
		c.DatabaseURL = v
		return nil
	}, func(c Config) any { return c.DatabaseURL }},
	{"PORT", "a number from 1 to 65535", func(c *Config, v string) error { return intInto(&c.Port, v, 1, 65535) }, func(c Config) any { return c.Port }},
	{addressVariable, "a host or an address, with or without :PORT, such as 0.0.0.0", setHTTPAddress, func(c Config) any { return c.address() }},
	{certVariable, "a file with a certificate in PEM", func(c *Config, v string) error { return fileInto(&c.TLSCert, v) }, func(c Config) any { return c.TLSCert }},
	{keyVariable, "a file with the certificate's key in PEM", func(c *Config, v string) error { return fileInto(&c.TLSKey, v) }, func(c Config) any { return c.TLSKey }},
	{secretsKeyVariable, "a key that begins with AGE-SECRET-KEY-1", func(c *Config, v string) error {
		c.SecretsKey = v
		return settings.CheckKey(v)
	}, func(c Config) any { return c.SecretsKey }},
	{"CLAUDE_MODEL_DEFAULT", "a model's name", func(c *Config, v string) error { c.Model = v; return nil }, func(c Config) any { return c.Model }},
	{"HARNESS_DATA", "a directory", func(c *Config, v string) error { c.Data = v; return nil }, func(c Config) any { return c.Data }},
	{"HARNESS_PLUGINS", "a directory", func(c *Config, v string) error { c.Plugins = v; return nil }, func(c Config) any { return c.Plugins }},
	{"HARNESS_AGENT", "auto, claude or demo", oneOf(func(c *Config) *string { return &c.Agent }, "auto", "claude", "demo"), func(c Config) any { return c.Agent }},
	{"HARNESS_AGENTS", "a number from 1 to 256", func(c *Config, v string) error { return intInto(&c.Agents, v, 1, 256) }, func(c Config) any { return c.Agents }},
	{"HARNESS_CLAUDE", "the path of the Claude CLI", func(c *Config, v string) error { c.ClaudeBinary = v; return nil }, func(c Config) any { return c.ClaudeBinary }},
	{"HARNESS_ALLOWED_TOOLS", "tool rules separated by commas", func(c *Config, v string) error {
		c.AllowedTools = splitList(v)
		return nil
	}, func(c Config) any { return c.AllowedTools }},
	{"HARNESS_DISALLOWED_TOOLS", "tool rules separated by commas", func(c *Config, v string) error {
		c.DisallowedTools = splitList(v)
		return nil
	}, func(c Config) any { return c.DisallowedTools }},
	{"HARNESS_ASK_TOOLS", "all, none, or names of tools with spaces or commas between them", setAskTools, func(c Config) any { return c.AskTools }},
	{"HARNESS_ASK_UNATTENDED", "deny or ask", setAskUnattended, func(c Config) any { return askUnattended(c.AskUnattended) }},
	{"HARNESS_APPROVAL_PARK", "a duration such as 10m", func(c *Config, v string) error { return durationInto(&c.ApprovalPark, v) }, func(c Config) any { return c.ApprovalPark }},
	{"HARNESS_APPROVAL_EXPIRY", "a duration such as 72h", func(c *Config, v string) error { return durationInto(&c.ApprovalExpiry, v) }, func(c Config) any { return c.ApprovalExpiry }},
	{"HARNESS_PERMISSION_MODE", "default, acceptEdits or plan", oneOf(func(c *Config) *string { return &c.PermissionMode }, "default", "acceptEdits", "plan"), func(c Config) any { return c.PermissionMode }},
	{"HARNESS_MCP_CONFIG", "a JSON file with mcpServers", setMCPConfig, func(c Config) any { return c.MCPConfig }},
	{"HARNESS_SILENCE_TIMEOUT", "a duration such as 5m", func(c *Config, v string) error { return durationInto(&c.SilenceTimeout, v) }, func(c Config) any { return c.SilenceTimeout }},
	{"HARNESS_TURN_TIMEOUT", "a duration such as 1h", func(c *Config, v string) error { return durationInto(&c.TurnTimeout, v) }, func(c Config) any { return c.TurnTimeout }},
	{"HARNESS_IDLE_TIMEOUT", "a duration such as 8m", func(c *Config, v string) error { return durationInto(&c.IdleTimeout, v) }, func(c Config) any { return c.IdleTimeout }},
	{"HARNESS_MAX_ATTEMPTS", "a number from 1 to 100", func(c *Config, v string) error { return intInto(&c.MaxAttempts, v, 1, 100) }, func(c Config) any { return c.MaxAttempts }},
	{"HARNESS_RETRY_BASE", "a duration such as 1s", func(c *Config, v string) error { return durationInto(&c.RetryBase, v) }, func(c Config) any { return c.RetryBase }},
	{"HARNESS_RETRY_MAX", "a duration such as 1m", func(c *Config, v string) error { return durationInto(&c.RetryMax, v) }, func(c Config) any { return c.RetryMax }},
	{"HARNESS_RETRY_JITTER", "a number from 0.01 to 1", setJitter, func(c Config) any { return c.RetryJitter }},
	{"HARNESS_AGENT_MEMORY", "a size such as 2GiB, or 0 for no limit", setAgentMemory, func(c Config) any { return size(c.AgentMemory) }},
	{"HARNESS_TOOLS_MAX", "a number from 1 to 1000", func(c *Config, v string) error { return intInto(&c.ToolBounds.Tools, v, 1, 1000) }, func(c Config) any { return c.ToolBounds.Tools }},
	{"HARNESS_TOOLS_BYTES", "a size from 1KiB to 16MiB, such as 128KiB", setToolBytes, func(c Config) any { return size(int64(c.ToolBounds.Bytes)) }},
	{"HARNESS_TOOLS_AT_ONCE", "a number from 0 to 1000", func(c *Config, v string) error { return intInto(&c.ToolsAtOnce, v, 0, 1000) }, func(c Config) any { return c.ToolsAtOnce }},
	{"HARNESS_SUBAGENTS", "a number from 0 to 1000", func(c *Config, v string) error { return intInto(&c.SubAgents, v, 0, 1000) }, func(c Config) any { return c.SubAgents }},
	{"HARNESS_AGENT_UNSAFE", "true or false", func(c *Config, v string) error { return boolInto(&c.AgentUnsafe, v) }, func(c Config) any { return c.AgentUnsafe }},
	{"HARNESS_DELIVERY_ATTEMPTS", "a number from 1 to 1000", func(c *Config, v string) error { return intInto(&c.Deliveries, v, 1, 1000) }, func(c Config) any { return c.Deliveries }},
	{"HARNESS_DELIVERY_RETRY_MAX", "a duration such as 5m", func(c *Config, v string) error { return durationInto(&c.DeliveryMax, v) }, func(c Config) any { return c.DeliveryMax }},
	{"HARNESS_PLAN_SHARE", "a number from 1 to 100", func(c *Config, v string) error { return intInto(&c.PlanShare, v, 1, 100) }, func(c Config) any { return c.PlanShare }},
	{"HARNESS_PLAN_SPREAD", "a duration such as 20s", func(c *Config, v string) error { return durationInto(&c.PlanSpread, v) }, func(c Config) any { return c.PlanSpread }},
	{"HARNESS_RETENTION_DAYS", "a number from 0 (keep for ever) to 36500", func(c *Config, v string) error { return intInto(&c.RetentionDays, v, 0, 36500) }, func(c Config) any { return c.RetentionDays }},
	{"HARNESS_MAX_FILE", "a size such as 32MiB, or 0 for no limit", func(c *Config, v string) error { return sizeInto(&c.MaxFile, v) }, func(c Config) any { return size(c.MaxFile) }},
	{"HARNESS_FILES_QUOTA", "a size such as 10GiB, or 0 for no limit", func(c *Config, v string) error { return sizeInto(&c.FilesQuota, v) }, func(c Config) any { return size(c.FilesQuota) }},
	{"HARNESS_MAX_WAITING", "a number from 1 to 1000000", func(c *Config, v string) error { return intInto(&c.MaxWaiting, v, 1, 1000000) }, func(c Config) any { return c.MaxWaiting }},
	{"HARNESS_DRAIN_GRACE", "a duration such as 10s", func(c *Config, v string) error { return durationInto(&c.DrainGrace, v) }, func(c Config) any { return c.DrainGrace }},
	{"HARNESS_HOOK_DEADLINES", "HOOK=DURATION separated by commas, such as OnBeforeInvoke=20s", setHookDeadlines, func(c Config) any { return c.HookDeadlines }},
	{"HARNESS_HOOK_BUDGET", "a duration such as 20s", func(c *Config, v string) error { return durationInto(&c.HookBudget, v) }, func(c Config) any { return c.HookBudget }},
	{"HARNESS_HOOK_GRACE", "a duration such as 5s", func(c *Config, v string) error { return durationInto(&c.HookGrace, v) }, func(c Config) any { return c.HookGrace }},
	{"HARNESS_PLUGIN_BACKOFF", "a duration such as 1s", func(c *Config, v string) error { return durationInto(&c.PluginBackoff, v) }, func(c Config) any { return c.PluginBackoff }},
	{"HARNESS_PLUGIN_PUBLISHERS", "minisign public keys separated by commas", setPublishers, func(c Config) any { return c.PluginPublishers }},
	{"HARNESS_PLUGIN_SIGNATURES", "optional or required", oneOf(func(c *Config) *string { return &c.PluginSignatures }, "optional", "required"), func(c Config) any { return c.PluginSignatures }},
	{"HARNESS_DEV", "true or false", func(c *Config, v string) error { return boolInto(&c.Dev, v) }, func(c Config) any { return c.Dev }},
	{"HARNESS_DEMO_SCRIPT", "a JSON file", func(c *Config, v string) error { c.DemoScript = v; return nil }, func(c Config) any { return c.DemoScript }},
	{"HARNESS_LOG_LEVEL", "debug, info, warn or error, or a level beside one, such as info+2", setLogLevel, func(c Config) any { return c.LogLevel }},
	{"HARNESS_LOG_FORMAT", "text or json", oneOf(func(c *Config) *string { return &c.LogFormat }, "text", "json"), func(c Config) any { return c.LogFormat }},
}

func setAskTools(c *Config, value string) error {
	names := strings.Fields(strings.ReplaceAll(value, ",", " "))
	c.AskTools = strings.Join(names, " ")
	return ledger.CheckAskTools(c.AskTools)
}

func setAskUnattended(c *Config, value string) error {
	c.AskUnattended = value == "ask"
	if !c.AskUnattended && value != "deny" {
		return errors.New("neither of them")
	}
	return nil
}

func askUnattended(ask bool) string {
	if ask {
		return "ask"
	}
	return "deny"
}

// Load reads the environment and the file of the data directory over the
// defaults. data, when not empty, is the directory that a flag names. What lookup has
// as empty is not taken from the file either.
func Load(data string, lookup func(string) (string, bool)) (Config, error) {
	config := Defaults()
	if value, ok := lookup("HARNESS_DATA"); ok && value != "" {
		config.Data = value
	}
	if data != "" {
		config.Data = data
	}
	path := filepath.Join(config.Data, ConfigFile)
	file, err := godotenv.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Config{}, fmt.Errorf("read %s: %w; it takes lines NAME=VALUE", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(file)) {
		if name == "HARNESS_DATA" {
			return Config{}, fmt.Errorf("%s: HARNESS_DATA says where this file is; set it in the environment", path)
		}
		if name == secretsKeyVariable {
			return Config{}, fmt.Errorf("%s: %s may not be here, because the file can be in a backup; set it in the environment", path, name)
		}
		switch {
		case slices.ContainsFunc(variables, func(v variable) bool { return v.name == name }):
		case slices.Contains(pluginVariables(), name):
			if value := file[name]; value != "" {
				config.givePlugins(name, value, path)
			}
		default:
			return Config{}, fmt.Errorf("%s: there is no setting %s%s; docs/operating.md lists them, and `harness config` shows what holds", path, name, didYouMean(name))
		}
	}
	for _, v := range variables {
		value, ok := lookup(v.name)
		source := fromEnvironment
		if !ok {
			value, ok = file[v.name]
			source = path
		}
		if !ok || (value == "" && v.name != "DATABASE_URL") {
			continue
		}
		if err := v.set(&config, value); err != nil {
			return Config{}, fmt.Errorf("%s, from %s: %q is not accepted (%w); it takes %s", v.name, source, v.shown(value), err, v.accepts)
		}
		config.note(v.name, source)
	}
	if data != "" {
		config.Data = data
		config.note("HARNESS_DATA", "--data")
	}
	return config, nil
}

// pluginVariables are those that the file may have beside the settings: what is granted to
// plugins that come with Harness, and is not the daemon's own.
func pluginVariables() []string {
	return slices.DeleteFunc(shipped.Plugins.Variables(), func(name string) bool { return strings.HasPrefix(name, "HARNESS_") })
}

// givePlugins notes a variable of the file that is for plugins.
func (c *Config) givePlugins(name, value, path string) {
	if c.PluginVariables == nil {
		c.PluginVariables = make(map[string]string)
	}
	c.PluginVariables[name] = value
	c.note(name, path)
}

// fromEnvironment is the source of what the environment sets.
const fromEnvironment = "the environment"

// Setting is one setting, as it holds.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`  // a secret is masked
	Source string `json:"source"` // a flag, "the environment", a file, or "default"
}

// Settings lists all settings as they hold, and where each comes from, and behind them what
// the file has for plugins.
func (c Config) Settings() []Setting {
	list := make([]Setting, 0, len(variables))
	for _, v := range variables {
		list = append(list, Setting{Name: v.name, Value: v.masked(text(v.value(c))), Source: cmp.Or(c.sources[v.name], "default")})
	}
	for _, name := range slices.Sorted(maps.Keys(c.PluginVariables)) {
		list = append(list, Setting{Name: name, Value: "(set)", Source: c.sources[name]})
	}
	return list
}

// size is a number of bytes.
type size int64

// text is a setting's value as it would be written in the file.
func text(value any) string {
	switch value := value.(type) {
	case size:
		return strings.ReplaceAll(humanize.IBytes(uint64(max(value, 0))), " ", "") //nolint:gosec // not negative
	case time.Duration:
		return shortDuration(value)
	case []string:
		return strings.Join(value, ",")
	case json.RawMessage:
		return string(value)
	case slog.Level:
		return strings.ToLower(value.String())
	case map[pluginsdk.Hook]time.Duration:
		var parts []string
		for _, hook := range slices.Sorted(maps.Keys(value)) {
			parts = append(parts, string(hook)+"="+shortDuration(value[hook]))
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(value)
}

// shortDuration writes 5m0s as 5m.
func shortDuration(d time.Duration) string {
	short := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(short, zero) {
			short = strings.TrimSuffix(short, zero) + zero[:1]
		}
	}
	return short
}

// masked is a value without what may not be shown: the key of the secrets, a password,
// and what the servers of an MCP configuration are given.
func (v variable) masked(value string) string {
	switch {
	case value == "":
	case v.name == "DATABASE_URL":
		address, err := url.Parse(value)
		if err != nil {
			return "..."
		}
		address.RawQuery = "" // a password can be there too
		return address.Redacted()
	case v.name == secretsKeyVariable, v.name == "HARNESS_MCP_CONFIG":
		return "(set)"
	}
	return value
}

// others are the variables of this prefix that are no settings of the daemon: the
// terminal's, and what Harness gives the processes that it starts, from which somebody
// may well start it.
var others = []string{
	"HARNESS_URL", "HARNESS_SERVER", "HARNESS_PROFILE", "HARNESS_TOKEN", "HARNESS_CA", "HARNESS_ALLOW_HTTP", "HARNESS_OWNER", "HARNESS_WORKSPACE", "HARNESS_VERSION", "HARNESS_HOST_PID", "HARNESS_PLUGIN",
	"HARNESS_PLUGIN_START", "HARNESS_AGENT_PROCESS",
}

// Misspelt says for each variable of the environment that looks like a setting and is
// none what may be meant. environ is as of os.Environ.
func Misspelt(environ []string) (wrong []string) {
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "HARNESS_") || strings.HasPrefix(name, "HARNESS_TEST_") || slices.Contains(others, name) ||
			slices.ContainsFunc(variables, func(v variable) bool { return v.name == name }) {
			continue
		}
		wrong = append(wrong, name+" in the environment is no setting"+didYouMean(name))
	}
	slices.Sort(wrong)
	return wrong
}

// didYouMean names the setting that a name is most like, after a comma, if one is like it.
func didYouMean(name string) string {
	const prefix = "HARNESS_"
	names := make(map[string]string, len(variables))
	for _, v := range variables {
		names[strings.TrimPrefix(v.name, prefix)] = v.name
	}
	for _, name := range pluginVariables() {
		names[name] = name
	}
	nearest := Nearest(strings.TrimPrefix(strings.ToUpper(name), prefix), slices.Sorted(maps.Keys(names)))
	if nearest == "" {
		return ""
	}
	return ", did you mean " + names[nearest] + "?"
}

// Nearest returns the one of these words that a misspelt word is most like; "" when it is
// like none.
func Nearest(word string, among []string) (nearest string) {
	least := 2 + len(word)/4
	for _, candidate := range among {
		if d := distance(word, candidate); d < least {
			nearest, least = candidate, d
		}
	}
	return nearest
}

// distance is how many letters have to be added, taken out or changed to make one word
// of the other (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
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

// leastAgentMemory is less than any CLI process takes: who sets so little has left the
// unit out.
const leastAgentMemory = 64 << 20

func setAgentMemory(c *Config, value string) error {
	size, err := humanize.ParseBytes(value)
	if err != nil || size > math.MaxInt64 {
		return errors.New("not a size")
	}
	if size > 0 && size < leastAgentMemory {
		return fmt.Errorf("that is %s, and a process of the CLI alone takes about 200 MB; a number needs its unit", humanize.IBytes(size))
	}
	c.AgentMemory = int64(size)
	return nil
}

func boolInto(field *bool, value string) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return errors.New("neither of the two")
	}
	*field = on
	return nil
}

func setLogLevel(c *Config, value string) error {
	if err := c.LogLevel.UnmarshalText([]byte(value)); err != nil {
		return errors.New("none of them")
	}
	return nil
}

// oneOf sets a field to one of these values.
func oneOf(field func(*Config) *string, values ...string) func(*Config, string) error {
	return func(c *Config, value string) error {
		if !slices.Contains(values, value) {
			return errors.New("none of them")
		}
		*field(c) = value
		return nil
	}
}

func setToolBytes(c *Config, value string) error {
	size, err := humanize.ParseBytes(value)
	if err != nil || size < 1<<10 || size > 16<<20 {
		return errors.New("not a size in that range")
	}
	c.ToolBounds.Bytes = int(size)
	return nil
}

// leastFiles is less than anybody allows for files: who sets so little has left the unit
// out.
const leastFiles = 64 << 10

func sizeInto(field *int64, value string) error {
	size, err := humanize.ParseBytes(value)
	if err != nil || size > math.MaxInt64 {
		return errors.New("not a size")
	}
	if size > 0 && size < leastFiles {
		return fmt.Errorf("that is %s; a number needs its unit", humanize.IBytes(size))
	}
	*field = int64(size)
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

// fileInto makes a file's path absolute: plugins have another working directory.
func fileInto(field *string, value string) (err error) {
	*field, err = filepath.Abs(value)
	return err
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
