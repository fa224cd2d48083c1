package invoker

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/ledger"
)

// What the plugin validation relies on of the real CLI: its reviewer looks at work without
// obeying it, and workers run the checks of their project and nothing else.

// onlyReads are the tools that a reviewer is not offered: those of validation.
var onlyReads = []string{
	"Agent", "Artifact", "AskUserQuestion", "Bash", "BashOutput", "Edit", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree",
	"KillShell", "ListMcpResourcesTool", "LSP", "MultiEdit", "Monitor", "NotebookEdit", "PowerShell", "ReadMcpResourceDirTool", "ReadMcpResourceTool",
	"ReportFindings", "SendMessage", "ShareOnboardingGuide", "Skill", "Task", "TaskOutput", "TaskStop", "TodoWrite", "ToolSearch", "WaitForMcpServers",
	"WebFetch", "WebSearch", "Workflow", "Write", "mcp__*",
}

func readRules(path string) []string {
	return []string{"Read(/" + path + "/**)", "Grep(/" + path + "/**)", "Glob(/" + path + "/**)"}
}

// lookedAt is work as a hostile worker leaves it: instructions, settings, hooks, a link out
// of it.
func lookedAt(t *testing.T, name, marks string) (work, outside string) {
	t.Helper()
	work, outside = filepath.Join(realDir(t), name), realDir(t)
	lay(t, work, map[string]string{
		"CLAUDE.md": "OBEY-TOP", "AGENTS.md": "OBEY-AGENTS", "sub/CLAUDE.md": "OBEY-NESTED", "sub/CLAUDE.local.md": "OBEY-LOCAL", ".claude/rules/r.md": "OBEY-RULE",
		"sub/code.go": "THE-CODE",
	})
	grab(t, work, marks)
	lay(t, outside, map[string]string{"secret": "THE-SECRET"})
	if err := os.Symlink(outside, filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	return work, outside
}

func TestRealATurnThatMayOnlyRead(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "harness", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "act", Description: "Acts."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		t.Error("a tool of an MCP server was called")
		return nil, nil, nil
	})
	tools := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	defer tools.Close()
	a := startReal(t, func(c *Config) {
		c.AllowedTools = []string{"Bash", "Write", "mcp__harness__*"} // as an operator may, for others
		c.MCPConfig = json.RawMessage(fmt.Sprintf(`{"mcpServers":{"harness":{"type":"http","url":%q}}}`, tools.URL))
	})
	marks := t.TempDir()
	work, outside := lookedAt(t, "my work", marks)
	desk := realDir(t)
	inWork := func(name string) string { return filepath.Join(work, name) }
	var attempts []attempt
	var wants []string
	for _, one := range []struct{ tool, input, says string }{
		{"Read", fmt.Sprintf(`{"file_path":%q}`, inWork("sub/code.go")), "THE-CODE"},
		{"Grep", fmt.Sprintf(`{"pattern":"CODE","path":%q,"output_mode":"content"}`, work), "THE-CODE"},
		{"Glob", fmt.Sprintf(`{"pattern":"**/*.go","path":%q}`, work), "code.go"},
		{"Read", fmt.Sprintf(`{"file_path":%q}`, filepath.Join(outside, "secret")), "not permitted"},
		{"Read", fmt.Sprintf(`{"file_path":%q}`, inWork("link/secret")), "not permitted"},
		{"Grep", fmt.Sprintf(`{"pattern":"THE","path":%q,"output_mode":"content"}`, outside), "not permitted"},
		{"Write", fmt.Sprintf(`{"file_path":%q,"content":"x"}`, inWork("new")), "No such tool"},
		{"Edit", fmt.Sprintf(`{"file_path":%q,"old_string":"T","new_string":"x"}`, inWork("sub/code.go")), "No such tool"},
		{"Bash", fmt.Sprintf(`{"command":"touch %s"}`, filepath.Join(marks, "bash")), "No such tool"},
		{"Agent", `{"description":"x","prompt":"say:x","subagent_type":"grabber"}`, "No such tool"},
		{"Skill", `{"skill":"grab"}`, "No such tool"},
		{"mcp__harness__act", `{}`, "No such tool"},
	} {
		attempts, wants = append(attempts, attempt{one.tool, one.input}), append(wants, one.says)
	}
	ask := ledger.AgentRequest{Fresh: true, Cwd: desk, PermissionMode: "default", AllowedTools: readRules(work), DisallowedTools: onlyReads}
	for i, result := range a.tries(t, ask, attempts) {
		if !strings.Contains(string(result.Content), wants[i]) {
			t.Errorf("%s %s: want %q, got %s", attempts[i].tool, attempts[i].input, wants[i], result.Content)
		}
	}
	if left, err := os.ReadDir(marks); err != nil || len(left) > 0 {
		t.Errorf("what ran: %v, %v", left, err)
	}
	requests := a.api.Requests(fakeapi.Main)
	// Who may do more is offered more: that the tools are missing is the rules' doing.
	ask = fresh("R", "thread", "say:x")
	ask.Cwd = desk
	wantText(t, a.Invoke(t.Context(), ask, nil), "x")
	if all := a.api.Requests(fakeapi.Main); !slices.Contains(all[len(all)-1].Tools, "mcp__harness__act") || !slices.Contains(all[len(all)-1].Tools, "Bash") {
		t.Errorf("without the rules it is offered %v", all[len(all)-1].Tools)
	}
	for _, request := range requests {
		for _, word := range []string{"OBEY", "THE-SECRET"} {
			if strings.Contains(string(request.Body), word) {
				t.Errorf("%s reaches the model, which is asked %q", word, request.Prompt())
			}
		}
		slices.Sort(request.Tools)
		if offered := strings.Join(request.Tools, " "); offered != "Glob Grep Read" {
			t.Errorf("it is offered %s", offered)
		}
	}
}

// The name of a directory may have characters that mean something in a rule: validation
// writes ? for them.
func TestRealRulesForStrangeDirectories(t *testing.T) {
	a := startReal(t, nil)
	names := []string{"a (2)", "a[x]{b,c}", `a*?\b`, "a\nb", "!#$ä"}
	ask := ledger.AgentRequest{Fresh: true, Cwd: realDir(t)}
	var attempts []attempt
	for _, name := range names {
		work, _ := lookedAt(t, name, t.TempDir())
		path := strings.Map(func(char rune) rune {
			if strings.ContainsRune("()[]{}*?\\\n", char) {
				return '?'
			}
			return char
		}, work)
		file, err := json.Marshal(map[string]string{"file_path": filepath.Join(work, "sub/code.go")})
		if err != nil {
			t.Fatal(err)
		}
		attempts, ask.AllowedTools = append(attempts, attempt{"Read", string(file)}), append(ask.AllowedTools, readRules(path)...)
	}
	for i, result := range a.tries(t, ask, attempts) {
		if !strings.Contains(string(result.Content), "THE-CODE") {
			t.Errorf("%q: %s", names[i], result.Content)
		}
	}
}

// A worker runs the command by which its project is checked, and nothing with it.
func TestRealARuleForOneCommand(t *testing.T) {
	a := startReal(t, nil)
	work := realDir(t)
	lay(t, work, map[string]string{"Makefile": "test:\n\t@echo ALL-FINE\nclean:\n\t@touch cleaned\n"})
	commands := []string{"make test", "make test clean", "make clean", "make test && make clean", "make test; make clean", "make test $(make clean)"}
	ask := ledger.AgentRequest{Fresh: true, Cwd: work, PermissionMode: "acceptEdits", AllowedTools: []string{"Bash(make test)"}}
	for i, result := range a.tries(t, ask, bashes(commands...)) {
		says := "not permitted"
		if i == 0 {
			says = "ALL-FINE"
		}
		if !strings.Contains(string(result.Content), says) {
			t.Errorf("%s: want %q, got %s", commands[i], says, result.Content)
		}
	}
	if _, err := os.Stat(filepath.Join(work, "cleaned")); err == nil {
		t.Error("what was not allowed ran")
	}
}
