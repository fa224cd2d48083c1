package invoker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
)

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
