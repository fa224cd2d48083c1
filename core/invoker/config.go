package invoker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/invoker/cli"
	"github.com/seed-706843ae/harness/core/invoker/prices"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Config is what a Claude is made from. Zero fields take the defaults named
// beside them.
type Config struct {
	// Binary is the path or the name of the CLI. Default "claude". It is looked up each
	// time a process is started, so it may be installed later.
	Binary string
	// Workspace is the working directory of sessions whose request names none. Required:
	// a session never runs in the daemon's own directory.
	Workspace string
	// Environ is the environment that the CLI's is built from. Default: the daemon's own.
	Environ []string
	// Env is added to the environment built for the CLI, as KEY=VALUE. It
	// overrides what the daemon's own environment contributes. HARNESS_OWNER
	// belongs here.
	Env []string

	// Model, Effort and PermissionMode are used when a request names none.
	Model          string
	Effort         string
	PermissionMode string
	// AllowedTools are the permission rules of every session: a tool's name, a prefix
	// ending in * (mcp__harness__*), or Bash(prefix:*).
	AllowedTools []string
	// DisallowedTools are rules of the same form. The CLI does not offer the tools that
	// they name, or denies their calls. Beside them no session is offered the CLI's own
	// tools that do what Harness does, unless AllowedTools names those.
	DisallowedTools []string
	// NewTools is the path of the file that ReadNewTools reads. Default: none is written.
	NewTools string
	// Account returns the account of a name; of the empty name, the default. Default: all
	// turns use what the environment authenticates with. The error is shown to people.
	Account func(name string) (Account, error)
	// OnPlan is called with what a session was told of the windows of an account's plan. It
	// must not block. Default: nothing is told.
	OnPlan func(account string, windows []pluginsdk.PlanWindow)
	// Prices are what API calls cost while the CLI has not reported it. Default: those of the program.
	Prices *prices.Book
	// OnUnpriced is called once with each model whose price is not known, after the first turn
	// that used it. Default: only the log is told.
	OnUnpriced func(model string)
	// MCPConfig is a JSON object with mcpServers, to which every session connects.
	// Default: no servers. With Tools, no server may have the name harness.
	MCPConfig json.RawMessage
	// Tools are the plugins' tools, which every session gets and may use.
	// Default: none.
	Tools Tools
	// ToolAsked reports whether people are asked about a call of a plugin's tool (PLUGIN__TOOL)
	// by the agent of a thread, which may be apart, unless a rule of an operator's allows it. It
	// is asked about the calls of the core's notify, and about all calls in a session apart.
	// Default: they are not.
	ToolAsked func(threadID string, apart bool, tool string, input json.RawMessage) bool
	// ToolsAtOnce is up to how many tools of plugins are offered with every request to the
	// model; with more, sessions find them by a search. Default 40; below 0: always by a search.
	ToolsAtOnce int
	// SubAgents is how many sub-agents a turn starts without a question, those of sub-agents
	// included; about more people are asked, unless a rule allows Agent. Default 10; below 0:
	// none.
	SubAgents int
	// Guard says which calls need a person although the CLI or a rule would let them run.
	// Default: none does.
	Guard Guard
	// Catalog is what is known of binaries of the CLI, which several Claudes may share.
	// Default: its own.
	Catalog *cli.Catalog
	// Unsafe begins sessions also with a CLI that breaks a promise of trust: see standing.go.
	Unsafe bool
	// Private is a directory, made at Start, for files with secrets; each process has its
	// own files. No other Claude may use it. Default: the system's directory for
	// temporary files.
	Private string

	MaxSessions int // processes at once, default 5
	// MemoryBudget bounds the resident memory, in bytes, of all processes with their
	// descendants; 0: no bound. To keep it, idle sessions are ended, the least recently
	// used first; their next turn starts a new process. A turn that needs a new process
	// waits until it is likely to fit. A busy process is never ended for it, and one
	// process is always allowed. Without /proc the budget is ignored.
	MemoryBudget   int64
	IdleTimeout    time.Duration // an idle process is ended after this, default 8m
	SilenceTimeout time.Duration // longest time without a line in a turn, default 5m
	TurnTimeout    time.Duration // longest turn, default 60m
	InterruptGrace time.Duration // from an interrupt to the end of the process, default 2s
	CloseGrace     time.Duration // from stdin closed to SIGTERM, and on to SIGKILL, default 3s

	Log *slog.Logger // default: discarded
	// OnClosed is called after a clean end of a session's process: its stdin was closed
	// or it was sent SIGTERM with no turn in flight, and its exit was observed, so that
	// the transcript on disk is complete. It is not called after any other end, for a
	// fresh session, which leaves no transcript, nor when the session continues in
	// another process, or a turn for it waits already. No process opens the session
	// before OnClosed has returned. It must not call back. A turn for the thread may
	// begin to wait while it runs; the thread then is not closed.
	OnClosed func(threadID, sessionID string)

	// Only tests set these.
	maxLine       int // the longest line, in bytes
	measure       func(pids []int) map[int]footprint
	toolsPatience time.Duration
}

// The defaults of Config.ToolsAtOnce and Config.SubAgents.
const (
	DefaultToolsAtOnce = 40
	DefaultSubAgents   = 10
)

// withDefaults returns the configuration with its defaults filled in, or an
// error that names the field that is wrong.
func (c Config) withDefaults() (Config, error) {
	if c.Binary == "" {
		c.Binary = "claude"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Catalog == nil {
		c.Catalog = &cli.Catalog{}
	}
	if c.OnClosed == nil {
		c.OnClosed = func(string, string) {}
	}
	if c.MaxSessions == 0 {
		c.MaxSessions = 5
	}
	if c.maxLine == 0 {
		c.maxLine = maxLine
	}
	c.ToolsAtOnce = cmp.Or(c.ToolsAtOnce, DefaultToolsAtOnce)
	c.SubAgents = cmp.Or(c.SubAgents, DefaultSubAgents)
	if c.measure == nil {
		c.measure = footprints
	}
	setDefault(&c.IdleTimeout, 8*time.Minute)
	setDefault(&c.SilenceTimeout, 5*time.Minute)
	setDefault(&c.TurnTimeout, time.Hour)
	setDefault(&c.InterruptGrace, 2*time.Second)
	setDefault(&c.CloseGrace, 3*time.Second)
	setDefault(&c.toolsPatience, toolsPatience)
	if err := c.validate(); err != nil {
		return Config{}, err
	}
	workspace, err := filepath.Abs(c.Workspace)
	if err != nil {
		return Config{}, fmt.Errorf("agent configuration: Workspace %q: %w", c.Workspace, err)
	}
	c.Workspace = workspace
	return c, nil
}

func setDefault(field *time.Duration, value time.Duration) {
	if *field == 0 {
		*field = value
	}
}

func (c Config) validate() error {
	if c.Workspace == "" {
		return fmt.Errorf("agent configuration: Workspace is empty; want the directory that sessions work in")
	}
	if c.MaxSessions < 1 {
		return fmt.Errorf("agent configuration: MaxSessions is %d; want 1 or more", c.MaxSessions)
	}
	if c.MemoryBudget < 0 {
		return fmt.Errorf("agent configuration: MemoryBudget is %d; want bytes, 0 (no budget) or more", c.MemoryBudget)
	}
	for name, value := range map[string]time.Duration{
		"IdleTimeout": c.IdleTimeout, "SilenceTimeout": c.SilenceTimeout, "TurnTimeout": c.TurnTimeout,
		"InterruptGrace": c.InterruptGrace, "CloseGrace": c.CloseGrace,
	} {
		if value < 0 {
			return fmt.Errorf("agent configuration: %s is %s; want a positive duration", name, value)
		}
	}
	for _, entry := range c.Env {
		if key, _, ok := strings.Cut(entry, "="); !ok || key == "" {
			return fmt.Errorf("agent configuration: Env has an entry that is not KEY=VALUE")
		}
	}
	if err := checkPermissionMode(c.PermissionMode); err != nil {
		return fmt.Errorf("agent configuration: %w", err)
	}
	if err := checkRules(c.AllowedTools); err != nil {
		return fmt.Errorf("agent configuration: AllowedTools: %w", err)
	}
	if err := checkRules(c.DisallowedTools); err != nil {
		return fmt.Errorf("agent configuration: DisallowedTools: %w", err)
	}
	return c.checkMCPConfig()
}

// checkPermissionMode refuses the mode that skips every permission. Other names it leaves
// to the CLI to check, which has new modes with every release.
func checkPermissionMode(mode string) error {
	if strings.EqualFold(mode, "bypassPermissions") {
		return fmt.Errorf("permission mode %q is not accepted: permissions are never skipped; allow tools by rule instead", mode)
	}
	return nil
}

func (c Config) checkMCPConfig() error {
	if len(c.MCPConfig) == 0 {
		return nil
	}
	var shape struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(c.MCPConfig, &shape); err != nil {
		return fmt.Errorf("agent configuration: MCPConfig is not a JSON object with mcpServers: %w", err)
	}
	if shape.Servers == nil {
		return fmt.Errorf(`agent configuration: MCPConfig has no mcpServers; want {"mcpServers":{"NAME":{...}}}`)
	}
	for name := range shape.Servers {
		if c.Tools != nil && strings.HasPrefix(toolsOf(name), toolPrefix) {
			return fmt.Errorf("agent configuration: MCPConfig has a server %q, whose tools would have the names of the plugins' tools (%s...); give it another name", name, toolPrefix)
		}
	}
	return nil
}

// toolsOf returns what the CLI puts before the names of the tools of an MCP server.
func toolsOf(server string) string {
	return "mcp__" + strings.Map(func(char rune) rune {
		if char == '-' || char == '_' || '0' <= char && char <= '9' || 'a' <= char && char <= 'z' || 'A' <= char && char <= 'Z' {
			return char
		}
		return '_'
	}, server) + "__"
}

// lookPath returns the absolute path of the CLI, or the error of exec.LookPath.
func (c Config) lookPath() (string, error) {
	path, err := exec.LookPath(c.Binary)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}
