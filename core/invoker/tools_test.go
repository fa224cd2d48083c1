package invoker

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// fakeTools records what becomes of the sessions that it opens.
type fakeTools struct {
	mu    sync.Mutex
	lines []string
	names []string
	news  bool
}

func (f *fakeTools) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, fmt.Sprintf(format, args...))
}

func (f *fakeTools) Open() ToolSession {
	f.add("open")
	return f
}

func (f *fakeTools) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.names)
}

func (f *fakeTools) Config() json.RawMessage {
	return json.RawMessage(`{"type":"http","headers":{"Authorization":"Bearer s3cret"}}`)
}

func (f *fakeTools) Begin(runID string) ([]string, bool) {
	f.add("begin %s", runID)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.names, f.news
}

func (f *fakeTools) Keeps(string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.news
}

func (f *fakeTools) End()   { f.add("end") }
func (f *fakeTools) Close() { f.add("close") }

// Every process gets a server of its own for the plugins' tools, beside what the
// operator configured, and may use them; what it was given goes with it.
func TestEveryProcessGetsTheTools(t *testing.T) {
	tools, private := &fakeTools{}, t.TempDir()
	a := startAgent(t, "plain", func(c *Config) {
		c.Tools, c.Private = tools, private
		c.MCPConfig = []byte(`{"mcpServers":{"mine":{"type":"http"}},"more":1}`)
		c.AllowedTools = []string{"Read"}
	})
	first := a.Invoke(t.Context(), talk("thread", "", "say one"), nil)
	wantText(t, first, "one")
	files, err := filepath.Glob(filepath.Join(private, "harness-mcp-*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	content, err := os.ReadFile(files[0])
	want := `{"mcpServers":{"harness":{"type":"http","headers":{"Authorization":"Bearer s3cret"}},"mine":{"type":"http"}},"more":1}`
	if err != nil || string(content) != want {
		t.Errorf("configuration %s, %v", content, err)
	}
	wantText(t, a.Invoke(t.Context(), talk("thread", first.SessionID, "say two"), nil), "two")
	crashed := a.Invoke(t.Context(), talk("other", "", "crash now"), nil)
	_ = wantFailure(t, crashed, pluginsdk.FailureCrashed, true)
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	args := a.starts()[0]
	if !slices.Contains(args, "--allowedTools=Read") || !slices.Contains(args, "--allowedTools=mcp__harness__*") || strings.Contains(strings.Join(args, " "), "s3cret") {
		t.Errorf("command line %q", args)
	}
	lines := strings.Join(tools.lines, ", ")
	slices.Sort(tools.lines[7:]) // the end of a process that dies in its turn comes at any time
	if got := strings.Join(tools.lines, ", "); got != "open, begin run-thread, end, begin run-thread, end, open, begin run-other, close, close, end" {
		t.Errorf("sessions: %s", lines)
	}
	if left, _ := filepath.Glob(filepath.Join(private, "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// With other tools than in the turn before, the prompt is sent once the CLI
// knows them; not before, and not never.
func TestAPromptWaitsForItsTools(t *testing.T) {
	status := func(subtype string, names ...string) string {
		var tools []map[string]string
		for _, name := range names {
			tools = append(tools, map[string]string{"name": name})
		}
		line, err := json.Marshal(map[string]any{"type": "control_response", "response": map[string]any{
			"subtype": subtype, "request_id": "ID", "response": map[string]any{"mcpServers": []any{
				map[string]any{"name": "mine", "tools": []any{map[string]string{"name": "x"}}},
				map[string]any{"name": "harness", "tools": tools},
			}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	for name, row := range map[string]struct {
		answers []string // nil: the CLI does not answer
		left    int      // of them, when the prompt is sent
		warns   bool
	}{
		"at last":            {[]string{status("success", "a__old"), status("success"), status("success", "b__new", "a__new"), "never asked for"}, 1, false},
		"it cannot say":      {[]string{status("error"), "never asked for"}, 1, false},
		"it never has":       {[]string{status("success", "a__old")}, 1, true},
		"it does not answer": {nil, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			tools, log := &fakeTools{}, &lockedLog{}
			a := startAgent(t, "plain", func(c *Config) {
				c.Tools, c.Private, c.Log = tools, t.TempDir(), slog.New(slog.NewTextHandler(log, nil))
				c.toolsPatience = testLimit
				if row.warns {
					c.toolsPatience = 50 * time.Millisecond
				}
			})
			path := filepath.Join(a.sessions, "tools")
			if row.answers != nil {
				writeWhole(path, []byte(strings.Join(row.answers, "\n")))
			}
			first := a.ask("thread", "", "say one") // no news: it is not asked
			wantText(t, first, "one")
			tools.names, tools.news = []string{"a__new", "b__new"}, true
			wantText(t, a.ask("thread", first.SessionID, "say two"), "two")
			left, _ := os.ReadFile(path)
			if got := len(strings.Fields(strings.ReplaceAll(string(left), "never asked for", "never"))); got != row.left {
				t.Errorf("%d answers left: %s", got, left)
			}
			if warned := strings.Contains(log.String(), "may not know yet"); warned != row.warns {
				t.Errorf("warned: %v", warned)
			}
		})
	}
}

// A process's first prompt waits until the CLI is connected to the tools: it has
// begun by then, on a busy machine, and would answer without any.
func TestTheFirstPromptWaitsForTheTools(t *testing.T) {
	tools := &fakeTools{names: []string{"a__one", "b__two"}}
	a := startAgent(t, "plain", func(c *Config) { c.Tools, c.Private, c.toolsPatience = tools, t.TempDir(), testLimit })
	answer := func(tools string) string {
		return `{"type":"control_response","response":{"subtype":"success","request_id":"ID","response":{"mcpServers":[{"name":"harness","tools":[` + tools + `]}]}}}`
	}
	path := filepath.Join(a.sessions, "tools")
	writeWhole(path, []byte(strings.Join([]string{answer(""), answer(""), answer(`{"name":"a__one"}`), "never asked for"}, "\n")))
	wantText(t, a.ask("thread", "", "say one"), "one")
	if left, _ := os.ReadFile(path); string(left) != "never asked for" {
		t.Errorf("the prompt was not sent when the tools were there: left are %s", left)
	}
}

type lockedLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// The name under which the CLI knows the plugins' tools is not an operator's.
func TestTheNameOfTheToolsIsTaken(t *testing.T) {
	config := Config{Workspace: "/w", MCPConfig: []byte(`{"mcpServers":{"harness":{}}}`)}
	if _, err := New(config); err != nil {
		t.Errorf("without the plugins' tools: %v", err)
	}
	config.Tools = &fakeTools{}
	if _, err := New(config); err == nil || !strings.Contains(err.Error(), "give it another") {
		t.Errorf("with them: %v", err)
	}
}

// Where the network has a proxy, the tools are reached past it.
func TestTheToolsAreReachedPastAProxy(t *testing.T) {
	for before, want := range map[string]string{
		"": "127.0.0.1", "intern.example": "intern.example,127.0.0.1", "a,127.0.0.1": "a,127.0.0.1", "*": "*",
	} {
		for _, name := range []string{"NO_PROXY", "no_proxy"} {
			if got := lookup(pastProxy([]string{name + "=" + before}), name); got != want {
				t.Errorf("%s %q became %q", name, before, got)
			}
		}
	}
}
