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
	"github.com/seed-706843ae/harness/pluginsdk"
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
	for use, says := range map[string]string{
		fmt.Sprintf(`Read {"file_path":%q}`, inWork("sub/code.go")):                                   "THE-CODE",
		fmt.Sprintf(`Grep {"pattern":"CODE","path":%q,"output_mode":"content"}`, work):                "THE-CODE",
		fmt.Sprintf(`Glob {"pattern":"**/*.go","path":%q}`, work):                                     "code.go",
		fmt.Sprintf(`Read {"file_path":%q}`, filepath.Join(outside, "secret")):                        "not permitted",
		fmt.Sprintf(`Read {"file_path":%q}`, inWork("link/secret")):                                   "not permitted",
		fmt.Sprintf(`Grep {"pattern":"THE","path":%q,"output_mode":"content"}`, outside):              "not permitted",
		fmt.Sprintf(`Write {"file_path":%q,"content":"x"}`, inWork("new")):                            "No such tool",
		fmt.Sprintf(`Edit {"file_path":%q,"old_string":"T","new_string":"x"}`, inWork("sub/code.go")): "No such tool",
		fmt.Sprintf(`Bash {"command":"touch %s"}`, filepath.Join(marks, "bash")):                      "No such tool",
		`Agent {"description":"x","prompt":"say:x","subagent_type":"grabber"}`:                        "No such tool",
		`Skill {"skill":"grab"}`: "No such tool",
		`mcp__harness__act {}`:   "No such tool",
	} {
		r := newRecorder()
		ask := fresh("R", "thread", "usetool:"+use+"\nthen:I see.")
		ask.Cwd, ask.PermissionMode, ask.AllowedTools, ask.DisallowedTools = desk, "default", readRules(work), onlyReads
		if result := a.Invoke(t.Context(), ask, r.emit); result.Failure != nil {
			t.Errorf("%s: %+v", use, result.Failure)
		}
		results := r.of(pluginsdk.StreamToolResult)
		if len(results) != 1 || !strings.Contains(results[0].Text, says) {
			t.Errorf("%s: want %q, got %+v", use, says, results)
		}
	}
	if left, err := os.ReadDir(marks); err != nil || len(left) > 0 {
		t.Errorf("what ran: %v, %v", left, err)
	}
	requests := a.api.Requests(fakeapi.Main)
	// Who may do more is offered more: that the tools are missing is the rules' doing.
	ask := fresh("R", "thread", "say:x")
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
	for _, name := range []string{"a (2)", "a[x]{b,c}", `a*?\b`, "a\nb", "!#$ä"} {
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
		r := newRecorder()
		ask := fresh("R", "thread", "usetool:Read "+string(file)+"\nthen:I see.")
		ask.Cwd, ask.AllowedTools = realDir(t), readRules(path)
		wantText(t, a.Invoke(t.Context(), ask, r.emit), "I see.")
		if results := r.of(pluginsdk.StreamToolResult); len(results) != 1 || !strings.Contains(results[0].Text, "THE-CODE") {
			t.Errorf("%q: %+v", name, results)
		}
	}
}

// A worker runs the command by which its project is checked, and nothing with it.
func TestRealARuleForOneCommand(t *testing.T) {
	a := startReal(t, nil)
	work := realDir(t)
	lay(t, work, map[string]string{"Makefile": "test:\n\t@echo ALL-FINE\nclean:\n\t@touch cleaned\n"})
	for command, says := range map[string]string{
		"make test": "ALL-FINE", "make test clean": "not permitted", "make clean": "not permitted", "make test && make clean": "not permitted",
		"make test; make clean": "not permitted", "make test $(make clean)": "not permitted",
	} {
		r := newRecorder()
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		ask := fresh("R", "thread", "usetool:Bash "+string(input)+"\nthen:I see.")
		ask.Cwd, ask.PermissionMode, ask.AllowedTools = work, "acceptEdits", []string{"Bash(make test)"}
		wantText(t, a.Invoke(t.Context(), ask, r.emit), "I see.")
		if results := r.of(pluginsdk.StreamToolResult); len(results) != 1 || !strings.Contains(results[0].Text, says) {
			t.Errorf("%s: want %q, got %+v", command, says, results)
		}
	}
	if _, err := os.Stat(filepath.Join(work, "cleaned")); err == nil {
		t.Error("what was not allowed ran")
	}
}
