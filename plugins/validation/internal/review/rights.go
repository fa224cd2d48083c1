package review

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// MayRead are the rules with which a reviewer reads what is in a directory, unasked, and
// nothing else; none for no directory. A name with a character that means something in a
// rule has ? there, which stands for any one character.
func MayRead(dir string) (rules []string) {
	if dir == "" {
		return nil
	}
	dirs := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		dirs = append(dirs, real)
	}
	for _, dir := range dirs {
		path := strings.Map(func(char rune) rune {
			if strings.ContainsRune(`()[]{}*?\`, char) || unicode.IsControl(char) {
				return '?'
			}
			return char
		}, dir)
		// The first slash of two says that the path is absolute.
		for _, tool := range []string{"Read", "Grep", "Glob"} {
			rules = append(rules, tool+"(/"+path+"/**)")
		}
	}
	return rules
}

// others are the tools of the Claude CLI but those that a reviewer needs (Read, Grep,
// Glob, StructuredOutput), and those of all MCP servers, the plugins' among them. Rules
// that deny win over those by which an operator allows something.
var others = []string{
	"Agent", "Artifact", "AskUserQuestion", "Bash", "BashOutput", "Edit", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree",
	"KillShell", "ListMcpResourcesTool", "LSP", "MultiEdit", "Monitor", "NotebookEdit", "PowerShell", "ReadMcpResourceDirTool", "ReadMcpResourceTool",
	"ReportFindings", "SendMessage", "ShareOnboardingGuide", "Skill", "Task", "TaskOutput", "TaskStop", "TodoWrite", "ToolSearch", "WaitForMcpServers",
	"WebFetch", "WebSearch", "Workflow", "Write", "mcp__*",
}

// MayNot are the rules for what a reviewer is not offered.
func MayNot() []string { return slices.Clone(others) }
