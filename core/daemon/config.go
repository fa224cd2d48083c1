package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/events"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/inbox"
	"github.com/seed-706843ae/harness/core/invoker"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/tasks"
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
	Host        string // name or address that the API listens on; on another than loopback's a token is demanded
	Port        int    // of the API
	TLSCert     string // file of the certificate that the API has, with the chain to it; empty: no TLS
	TLSKey      string // file of its key
	Agent       string // auto, claude or demo
	Plugins     string // directory of the plugin binaries
	DatabaseURL string // postgres://...; empty means SQLite in Data
	SecretsKey  string // opens the plugins' secrets; empty means the key in Data

	Model          string
	ClaudeBinary   string
	AllowedTools   []string
	PermissionMode string
	AskTools       string          // the tools whose calls people are asked about: all, none, or names
	AskUnattended  bool            // also where nobody waits for the answer
	ApprovalPark   time.Duration   // how long a turn waits for an answer before its process is ended
	ApprovalExpiry time.Duration   // how long people have for an answer
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
	ToolsAtOnce    int               // up to so many of them are in every request to the model; with more they are found by a search
	SubAgents      int               // that a turn starts without a question
	AgentUnsafe    bool              // sessions begin also with a CLI that breaks a promise of trust
	AgentMemory    int64             // bytes that all agent processes together may hold; 0: no limit
	Deliveries     int               // attempts of a delivery before it is dead
	DeliveryMax    time.Duration     // longest wait between two of them
	PlanShare      int               // per cent of a plan's window that what plugins start may use
	PlanSpread     time.Duration     // within what time of a window's reset people's runs go on
	RetentionDays  int               // activity and metrics older than this are deleted; 0: kept for ever
	DrainGrace     time.Duration
	MaxFile        int64 // bytes of one file that is taken in; 0: any
	FilesQuota     int64 // bytes of all files together; 0: any
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
	// PluginVariables are those of the file that are no settings of the daemon's: plugins that
	// come with Harness are given them. The environment beats them.
	PluginVariables map[string]string
	DemoScript      string // JSON file of rules for the demo agent
	LogLevel        slog.Level
	LogFormat       string // text or json

	// Fault is called before every step of the pipeline with its name and the
	// run's id. Tests end the process there.
	Fault func(step, runID string)
	// Trace is told of what runs wait for: calls of plugins, transactions, batches of
	// events. What measures it is there.
	Trace func(ledger.Span)
	// FileFault is called before each step that changes the kept files, with its name; its
	// error is the step's. Tests fill the disk and end the process there.
	FileFault func(step string) error
	// Supervise changes how plugins are looked after. Tests shorten times there
	// that no operator has to set.
	Supervise func(*pluginhost.Config)
	// Dispatch changes how runs are looked for. Tests shorten times there that no operator has
	// to set.
	Dispatch func(*inbox.Config)
	// Tell changes how events are told. Tests have them wait for each other.
	Tell func(*events.Config)
	// Judge changes how tasks are taken through their states. Tests have what fails be repeated
	// less often.
	Judge func(*tasks.Config)
	// Now is the clock of runs, plans and the database; nil: time.Now. Tests move it.
	Now func() time.Time
	// Version is what the binary calls itself.
	Version string
	// Log is where the daemon logs; nil discards.
	Log *slog.Logger

	sources map[string]string // where settings come from, by name; of the others the default holds
}

// Defaults returns the configuration of an installation that sets nothing.
func Defaults() Config {
	return Config{
		Data: "data", Host: "127.0.0.1", Port: 3001, Agent: "auto", Plugins: defaultPluginDir(),
		Model: "claude-sonnet-4-6", ClaudeBinary: "claude", Agents: 5,
		SilenceTimeout: 5 * time.Minute, TurnTimeout: time.Hour, IdleTimeout: 8 * time.Minute,
		AskTools: "all", ApprovalPark: 10 * time.Minute, ApprovalExpiry: 72 * time.Hour,
		ToolBounds: toolserver.DefaultBounds(), ToolsAtOnce: invoker.DefaultToolsAtOnce, SubAgents: invoker.DefaultSubAgents, HookBudget: hooks.DefaultBudget,
		PlanShare: 80, PlanSpread: 20 * time.Second, MaxAttempts: 5, RetryBase: time.Second, RetryMax: time.Minute, RetryJitter: 0.25, Deliveries: 20, DeliveryMax: 5 * time.Minute, MaxWaiting: 1000, DrainGrace: 10 * time.Second,
		HookGrace: 5 * time.Second, PluginBackoff: time.Second, PluginSignatures: "optional",
		MaxFile: 32 << 20, FilesQuota: 10 << 30,
		LogLevel: slog.LevelInfo, LogFormat: "text",
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

// FromFlag notes that a flag has given the setting of this name.
func (c *Config) FromFlag(name, flag string) { c.note(name, flag) }

func (c *Config) note(name, source string) {
	c.sources = maps.Clone(c.sources)
	if c.sources == nil {
		c.sources = make(map[string]string)
	}
	c.sources[name] = source
}

// Validate returns what is wrong with the configuration, naming the setting.
func (c Config) Validate() error {
	switch {
	case c.Data == "":
		return errors.New("--data: a directory is needed")
	case !slices.Contains([]string{"auto", "claude", "demo"}, c.Agent):
		return fmt.Errorf("--agent (HARNESS_AGENT): %q is not accepted; it takes auto, claude or demo", c.Agent)
	case !slices.Contains([]string{"text", "json"}, c.LogFormat):
		return fmt.Errorf("--log-format (HARNESS_LOG_FORMAT): %q is not accepted; it takes text or json", c.LogFormat)
	case c.Port < 1 || c.Port > 65535:
		return fmt.Errorf("--port (PORT): %d is not accepted; it takes a number from 1 to 65535", c.Port)
	}
	return c.checkTLS()
}

// NewLog returns the log of the configured level and format, which goes to out.
func (c Config) NewLog(out io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}
