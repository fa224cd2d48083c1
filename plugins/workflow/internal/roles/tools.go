package roles

import (
	"slices"
	"strings"
)

// known are the tools of the Claude CLI, and all of MCP servers, those of plugins among them. A rule that
// denies wins over one by which an operator allows something.
var known = []string{
	"Agent", "Artifact", "AskUserQuestion", "Bash", "BashOutput", "Edit", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree",
	"Glob", "Grep", "KillShell", "ListMcpResourcesTool", "LSP", "MultiEdit", "Monitor", "NotebookEdit", "PowerShell", "Read", "ReadMcpResourceDirTool", "ReadMcpResourceTool",
	"ReportFindings", "SendMessage", "ShareOnboardingGuide", "Skill", "Task", "TaskOutput", "TaskStop", "TodoWrite", "ToolSearch", "WaitForMcpServers",
	"WebFetch", "WebSearch", "Workflow", "Write", "mcp__*",
}

// fanOut are the tools with which a turn uses sub-agents of the CLI's own.
var fanOut = []string{"Agent", "Task", "TaskOutput", "TaskStop"}

// Denies are the rules that deny the role what it is not to use. With teams a role that is offered some
// tools alone may use sub-agents of the CLI's besides; what DisallowedTools names stays denied.
func (r Role) Denies(teams bool) []string {
	denied := slices.Clone(r.DisallowedTools)
	if len(r.Tools) == 0 {
		if !teams {
			denied = append(denied, fanOut...)
		}
		return unique(denied)
	}
	for _, tool := range known {
		offered := slices.ContainsFunc(r.Tools, func(rule string) bool {
			return toolOf(rule) == tool || tool == "mcp__*" && strings.HasPrefix(rule, "mcp__")
		})
		if !offered && (!teams || !slices.Contains(fanOut, tool)) {
			denied = append(denied, tool)
		}
	}
	return unique(denied)
}

// toolOf is the tool that a rule such as Bash(go test:*) is about.
func toolOf(rule string) string {
	tool, _, _ := strings.Cut(rule, "(")
	return tool
}

func unique(rules []string) []string {
	slices.Sort(rules)
	return slices.Compact(rules)
}
