// Package turns is what shipped plugins share that ask turns of the agent.
package turns

// NoTools returns the tools of the Claude CLI that act or read, and those of all MCP servers: a turn that may not use
// them (StartTurnRequest.DisallowedTools) answers from its prompt alone.
func NoTools() []string {
	return []string{
		"Agent", "Artifact", "AskUserQuestion", "Bash", "BashOutput", "Edit", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "Glob", "Grep",
		"KillShell", "ListMcpResourcesTool", "LSP", "MultiEdit", "Monitor", "NotebookEdit", "PowerShell", "Read", "ReadMcpResourceDirTool", "ReadMcpResourceTool",
		"ReportFindings", "SendMessage", "ShareOnboardingGuide", "Skill", "Task", "TaskOutput", "TaskStop", "TodoWrite", "ToolSearch", "WaitForMcpServers",
		"WebFetch", "WebSearch", "Workflow", "Write", "mcp__*",
	}
}
