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
	// toolPrefix is what the CLI puts before the name of one of them.
	toolPrefix = "mcp__" + toolServer + "__"
	// toolRule allows all of them: an operator has enabled the plugins.
	toolRule = toolPrefix + "*"
)

// Tools gives the CLI's processes the plugins' tools.
type Tools interface {
	// Open makes an MCP server for a process that is about to be started.
	Open() ToolSession
}

// ToolSession is the MCP server of one process.
type ToolSession interface {
	// Config is its entry in mcpServers. It holds a secret.
	Config() json.RawMessage
	// Begin is called before the turn of a run begins in the process. It returns the
	// names of the tools that there are, sorted, and whether the CLI was told of
	// others before and is being told of these now.
	Begin(runID string) (names []string, news bool)
	// End is called when that turn is over.
	End()
	// Close ends the server. The process has ended, or was not started; one that
	// died in its turn may be closed before End.
	Close()
}

// noTools is for a CLI that has none.
type noTools struct{}

func (noTools) Config() json.RawMessage { return nil }

func (noTools) Begin(string) ([]string, bool) { return nil, false }

func (noTools) End() {}

func (noTools) Close() {}

// openTools returns the tools of a process that is about to be started, and the
// configuration of all its MCP servers; empty when there are none.
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

// withServer returns an MCP configuration with an entry more for the plugins'
// tools.
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

// ruleShape is what a permission rule may look like: a tool's name, possibly
// ending in *, and possibly a specifier in parentheses.
var ruleShape = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*\*?(\([^\n]*\))?$`)

// checkRules returns an error that names the first rule that is none.
func checkRules(rules []string) error {
	for _, rule := range rules {
		if !ruleShape.MatchString(rule) {
			return fmt.Errorf("%q is not a permission rule; want Name, mcp__server__* or Name(specifier)", rule)
		}
	}
	return nil
}

// allowedBy reports whether a rule allows a use of a tool. The CLI gets the
// same rules and asks only for what they do not settle, so this is deliberately
// the simple part: names, prefixes of names, and prefixes of single Bash
// commands. Specifiers of other tools are the CLI's to understand.
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

// shellOperators can make one command line do more than its first word says.
const shellOperators = ";&|<>`$\n\r(){}\\"

func bashAllowed(specifier string, input json.RawMessage) bool {
	var use struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal(input, &use); err != nil || use.Command == "" {
		return false
	}
	command := strings.TrimSpace(use.Command)
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

// denial is what the agent is told when a tool is not allowed.
func denial(tool string) string {
	switch tool {
	case "AskUserQuestion":
		return "Nobody is at a terminal to answer. Ask the person in your reply and end your turn; the answer comes as the next message."
	case "ExitPlanMode", "EnterPlanMode":
		return "Plans are not approved through this tool here. Write the plan in your reply and end your turn; the person answers with the next message."
	}
	return fmt.Sprintf("%s is not permitted here. Go on without it if you can; otherwise say in your reply what you need it for and ask the person to allow it.", tool)
}

// saysSafetyCheck is the CLI's reason to ask although a rule allows the tool: what
// would be written decides about what else may be done (settings of the CLI, git's
// configuration, a shell's startup files). A person is to look at each such use, and
// none is there.
const saysSafetyCheck = "safetyCheck"

// denialOfSafetyCheck is what the agent is told then. reason is the CLI's.
func denialOfSafetyCheck(reason string) string {
	return strings.TrimSpace("Files that decide about permissions are not changed from here. "+reason) +
		" Go on without it if you can; otherwise say in your reply what should be changed, and a person does it."
}

// The tools that the CLI has of its own. Every release may bring new ones.

// replaced are those that do what Harness does itself. A session is not offered
// them, or "remind me at five" would go there: out of sight, and gone with the
// process. An operator's rule that allows one gives it back.
var replaced = []string{
	// Schedules. The CLI's are run by whichever process is warm, as turns of its
	// own making, for which nobody waits; CLAUDE_CODE_DISABLE_CRON (see preset)
	// stops those that stand in the working directory already.
	"CronCreate", "CronDelete", "CronList",
	"ScheduleWakeup", // the CLI's own pause between two rounds of a loop
	"RemoteTrigger",  // schedules in the account on claude.ai
	// Tasks. The CLI's are notes on its session that no person sees and no worker
	// takes up; a workflow's workers run in the background, where they end with
	// the idle process.
	"TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "Workflow",
	// Messages. The CLI's go to its own agents and sessions, or to the phone of
	// whoever is logged in; people are reached by the reply.
	"SendMessage", "ListAgents", "PushNotification", "SendUserMessage", "SendUserFile",
	// What goes on after the turn. Nobody is there for what it says.
	"Monitor",
	// The place of work. It is the request's: a session that has moved elsewhere
	// cannot be resumed once that is gone.
	"EnterWorktree", "ExitWorktree",
}

// familiar are the other ones that were looked at (those of 2.1.197, and what
// its documentation names): permissions are all that they need.
var familiar = []string{
	"Agent", "Artifact", "AskUserQuestion", "Bash", "BashOutput", "Edit", "EnterPlanMode", "ExitPlanMode", "Glob", "Grep",
	"KillShell", "ListMcpResourcesTool", "LSP", "NotebookEdit", "PowerShell", "Read", "ReadMcpResourceDirTool",
	"ReadMcpResourceTool", "ReportFindings", "ShareOnboardingGuide", "Skill", "StructuredOutput", "Task", "TaskOutput",
	"TaskStop", "TodoWrite", "ToolSearch", "WaitForMcpServers", "WebFetch", "WebSearch", "Write",
}

// replacedBut returns the replaced tools but for those that a rule allows.
func replacedBut(rules []string) []string {
	return slices.DeleteFunc(slices.Clone(replaced), func(tool string) bool { return allowedBy(rules, tool, nil) })
}

// news returns those of the tools that are new to this package: neither it nor
// an operator's rule has said what becomes of them.
func (c Config) news(tools []string) []string {
	rules := slices.Concat(c.AllowedTools, c.DisallowedTools)
	return slices.DeleteFunc(slices.Clone(tools), func(tool string) bool {
		return strings.HasPrefix(tool, "mcp__") || slices.Contains(replaced, tool) || slices.Contains(familiar, tool) ||
			allowedBy(rules, tool, nil)
	})
}

// NewTools are tools of the CLI that are new to this package.
type NewTools struct {
	Version string   `json:"version"` // of the CLI that has them
	Tools   []string `json:"tools"`
}

// ReadNewTools returns what sessions were seen with, as config.NewTools has it,
// as far as it is still new under this configuration. Before the first session
// it is empty.
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

// toolWatch remembers the tools that are new, for ReadNewTools too, and says it
// once of each.
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

// look takes the tools of a session that begins. They need not be all that the
// CLI has: names add up until it is another version.
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
