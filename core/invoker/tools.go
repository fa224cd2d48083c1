package invoker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	// toolServer is the name under which the CLI knows the plugins' tools.
	toolServer = "harness"
	// toolPrefix is what the CLI puts before the name of a plugins' tool.
	toolPrefix = "mcp__" + toolServer + "__"
	// toolRule allows all plugins' tools: an operator has enabled the plugins.
	toolRule = toolPrefix + "*"
)

// Tools gives the CLI's processes the plugins' tools.
type Tools interface {
	// Open makes an MCP server for a process that is about to be started.
	Open() ToolSession
	// Count returns how many tools a turn that begins now is offered.
	Count() int
}

// ToolSession is the MCP server of one process.
type ToolSession interface {
	// Config returns the server's entry for mcpServers. It contains a secret.
	Config() json.RawMessage
	// Begin is called before the turn of a run begins in the process. It returns the
	// sorted names of the tools that there are now. news says that the CLI knew other
	// tools before, and has been told to read the list again.
	Begin(runID string) (names []string, news bool)
	// Keeps reports whether all tools that the process was told of are there for a turn of the
	// run, and are as it was told.
	Keeps(runID string) bool
	// End is called when the turn is over.
	End()
	// Close ends the server, after its process has ended or was not started. When the
	// process died during a turn, Close may come before End.
	Close()
}

// noTools is the ToolSession of a process without plugins' tools.
type noTools struct{}

func (noTools) Config() json.RawMessage { return nil }

func (noTools) Begin(string) ([]string, bool) { return nil, false }

func (noTools) Keeps(string) bool { return true }

func (noTools) End() {}

func (noTools) Close() {}

// openTools returns the tools for a process that is about to be started, and the
// configuration of all its MCP servers; empty: there are none.
func (c *Claude) openTools() (ToolSession, json.RawMessage, error) {
	var session ToolSession = noTools{}
	if c.config.Tools != nil {
		session = c.config.Tools.Open()
	}
	config, err := withServer(c.config.MCPConfig, session.Config())
	if err != nil {
		session.Close()
		return nil, nil, fmt.Errorf("the MCP configuration: %w", err)
	}
	return session, config, nil
}

// withServer returns an MCP configuration with the plugins' tools' entry added.
func withServer(config, entry json.RawMessage) (json.RawMessage, error) {
	if len(entry) == 0 {
		return config, nil
	}
	whole := map[string]json.RawMessage{}
	servers := map[string]json.RawMessage{}
	if len(config) > 0 {
		if err := json.Unmarshal(config, &whole); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(whole["mcpServers"], &servers); err != nil {
			return nil, err
		}
	}
	servers[toolServer] = entry
	merged, err := json.Marshal(servers)
	if err != nil {
		return nil, err
	}
	whole["mcpServers"] = merged
	return json.Marshal(whole)
}

// ruleShape matches a permission rule: a tool's name, which may end in *, and perhaps a
// specifier in parentheses.
var ruleShape = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*\*?(\([^\n]*\))?$`)

// checkRules returns an error that names the first text that is no rule.
func checkRules(rules []string) error {
	for _, rule := range rules {
		if !ruleShape.MatchString(rule) {
			return fmt.Errorf("%q is not a permission rule; want Name, mcp__server__* or Name(specifier)", rule)
		}
	}
	return nil
}

// allowedBy reports whether a rule allows a use of a tool. The CLI gets the same rules
// and asks only when they do not decide. So allowedBy deliberately understands only
// names, prefixes of names, and prefixes of single Bash commands; it leaves other
// specifiers to the CLI.
func allowedBy(rules []string, tool string, input json.RawMessage) bool {
	for _, rule := range rules {
		if ruleAllows(rule, tool, input) {
			return true
		}
	}
	return false
}

func ruleAllows(rule, tool string, input json.RawMessage) bool {
	name, specifier, specific := strings.Cut(strings.TrimSuffix(rule, ")"), "(")
	if specific {
		return name == tool && tool == "Bash" && bashAllowed(specifier, input)
	}
	if prefix, ok := strings.CutSuffix(name, "*"); ok {
		return strings.HasPrefix(tool, prefix)
	}
	// A bare mcp__server allows all tools of that server, as in the CLI's own
	// settings.
	if strings.HasPrefix(name, "mcp__") && strings.HasPrefix(tool, name+"__") {
		return true
	}
	return name == tool
}

// shellOperators are characters by which a command line can do more than its first word
// says.
const shellOperators = ";&|<>`$\n\r(){}\\"

func bashAllowed(specifier string, input json.RawMessage) bool {
	var use map[string]json.RawMessage // a struct would take "Command" for it, too
	var command string
	if json.Unmarshal(input, &use) != nil || json.Unmarshal(use["command"], &command) != nil {
		return false
	}
	if command = strings.TrimSpace(command); command == "" {
		return false
	}
	if command == specifier {
		return true
	}
	prefix, ok := strings.CutSuffix(specifier, ":*")
	if !ok {
		prefix, ok = strings.CutSuffix(specifier, " *")
	}
	if !ok || strings.ContainsAny(command, shellOperators) {
		return false
	}
	return command == prefix || strings.HasPrefix(command, prefix+" ")
}

// denial returns the words that the agent gets when a tool is denied.
func denial(tool string) string {
	switch tool {
	case "AskUserQuestion":
		return "Nobody is at a terminal to answer. Ask the person in your reply and end your turn; the answer comes as the next message."
	case "ExitPlanMode", "EnterPlanMode":
		return "Plans are not approved through this tool here. Write the plan in your reply and end your turn; the person answers with the next message."
	}
	return fmt.Sprintf("%s is not permitted here. Go on without it if you can; otherwise say in your reply what you need it for and ask the person to allow it.", tool)
}

// saysSafetyCheck is the CLI's reason to ask although a rule allows the tool: the file to
// be written decides about later permissions (the CLI's settings, git's configuration, a
// shell's startup files). A person should look at each such use, and here none can.
const saysSafetyCheck = "safetyCheck"

// denialOfSafetyCheck returns the words that the agent gets then. reason is the CLI's.
func denialOfSafetyCheck(reason string) string {
	return strings.TrimSpace("Files that decide about permissions are not changed from here. "+reason) +
		" Go on without it if you can; otherwise say in your reply what should be changed, and a person does it."
}

// The tools that the CLI has of its own. Every release may bring new ones.

// replaced are the CLI's tools that do what Harness does itself. A session is not offered
// them: otherwise "remind me at five" would use them, out of sight, and be gone with the
// process. An operator's rule that allows one brings it back.
var replaced = []string{
	// Schedules. Whichever process is warm runs the CLI's, as turns that it begins by
	// itself and nobody reads; CLAUDE_CODE_DISABLE_CRON (see preset) stops those that are
	// in the working directory already.
	"CronCreate", "CronDelete", "CronList",
	"ScheduleWakeup", // the CLI's own pause between two rounds of a loop
	"RemoteTrigger",  // schedules in the account on claude.ai
	// Tasks. The CLI's are notes in its session that no person sees and no worker takes
	// up. A workflow's workers run in the background and are killed with the idle
	// process.
	"TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "Workflow",
	// Messages. The CLI's go to its own agents and sessions, or to the phone of whoever
	// is logged in; here the reply reaches people.
	"SendMessage", "ListAgents", "PushNotification", "SendUserMessage", "SendUserFile",
	// Work after the turn. Nobody reads what it says.
	"Monitor",
	// The working directory. The request decides it: a session that has moved elsewhere
	// cannot be resumed once that directory is gone.
	"EnterWorktree", "ExitWorktree",
	// Waiting for MCP servers that still connect: a process's first prompt waits for them, so
	// that what is offered does not depend on time.
	"WaitForMcpServers",
}

// familiar are the CLI's other known tools (those of 2.1.197, and those in its
// documentation). Permissions are all that they need.
var familiar = []string{
	"Agent", "Artifact", "AskUserQuestion", "Bash", "BashOutput", "Edit", "EnterPlanMode", "ExitPlanMode", "Glob", "Grep",
	"KillShell", "ListMcpResourcesTool", "LSP", "NotebookEdit", "PowerShell", "Read", "ReadMcpResourceDirTool",
	"ReadMcpResourceTool", "ReportFindings", "ShareOnboardingGuide", "Skill", "StructuredOutput", "Task", "TaskOutput",
	"TaskStop", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Write",
}

// replacedBut returns the replaced tools but for those that a rule allows.
func replacedBut(rules []string) []string {
	return slices.DeleteFunc(slices.Clone(replaced), func(tool string) bool { return allowedBy(rules, tool, nil) })
}

// news returns those of the tools that are unknown here: neither this package nor an
// operator's rule has them.
func (c Config) news(tools []string) []string {
	rules := slices.Concat(c.AllowedTools, c.DisallowedTools)
	return slices.DeleteFunc(slices.Clone(tools), func(tool string) bool {
		return strings.HasPrefix(tool, "mcp__") || slices.Contains(replaced, tool) || slices.Contains(familiar, tool) ||
			allowedBy(rules, tool, nil)
	})
}

// NewTools are tools of the CLI that are unknown to this package.
type NewTools struct {
	Version string   `json:"version"` // of the CLI that has them
	Tools   []string `json:"tools"`
}

// ReadNewTools returns the unknown tools that sessions were seen with, from the file
// config.NewTools, without those that are known now. Before the first session there are
// none.
func ReadNewTools(config Config) (NewTools, error) {
	var seen NewTools
	content, err := os.ReadFile(config.NewTools)
	if errors.Is(err, fs.ErrNotExist) {
		return seen, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &seen)
	}
	if err != nil {
		return NewTools{}, fmt.Errorf("read which tools of the CLI are new, in %s: %w", config.NewTools, err)
	}
	seen.Tools = config.news(seen.Tools)
	return seen, nil
}

// toolWatch keeps the unknown tools that sessions were seen with, in config.NewTools too,
// and logs each of them once.
type toolWatch struct {
	config Config

	mu   sync.Mutex
	seen NewTools
}

func newToolWatch(config Config) *toolWatch {
	seen, err := ReadNewTools(config)
	if err != nil {
		config.Log.Warn("what is remembered of the CLI's tools is begun anew", "err", err)
	}
	return &toolWatch{config: config, seen: seen}
}

// look takes the tools of a session that begins. A session need not have all of the CLI's
// tools: the names add up until the CLI's version changes.
func (w *toolWatch) look(version string, tools []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := NewTools{Version: version}
	if version == w.seen.Version {
		now.Tools = w.seen.Tools
	}
	for _, tool := range w.config.news(tools) {
		if !slices.Contains(now.Tools, tool) {
			now.Tools = append(now.Tools, tool)
		}
	}
	if version == w.seen.Version && len(now.Tools) == len(w.seen.Tools) {
		return
	}
	if len(now.Tools) > 0 {
		w.config.Log.Warn("the CLI has tools that this version of Harness does not know; see harness doctor", "version", version, "tools", now.Tools)
	}
	w.seen = now
	if w.config.NewTools == "" {
		return
	}
	content, err := json.Marshal(now)
	if err == nil {
		err = os.WriteFile(w.config.NewTools, content, 0o600)
	}
	if err != nil {
		w.config.Log.Warn("the CLI's new tools cannot be remembered for doctor", "err", err)
	}
}
