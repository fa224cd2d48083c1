package agentcheck

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/invoker"
)

// prefix is what the CLI puts before the name of a plugin's tool.
const prefix = "mcp__harness__"

// tools are plugins' tools, as core/toolserver gives them to the agent: one MCP server on
// loopback, whose list may change between turns. Every tool answers with its name.
type tools struct {
	http   http.Server
	url    string
	server *mcp.Server

	mu     sync.Mutex
	names  []string // sorted
	known  []string // at the last Begin
	called []string
}

func serveTools(names ...string) (*tools, error) {
	t := &tools{server: mcp.NewServer(&mcp.Implementation{Name: "harness", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t.url = "http://" + listener.Addr().String()
	t.http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return t.server }, nil)
	go func() { _ = t.http.Serve(listener) }()
	t.add(names...)
	return t, nil
}

func (t *tools) close() { _ = t.http.Close() }

// add offers more tools; the server announces them.
func (t *tools) add(names ...string) {
	for _, name := range names {
		t.mu.Lock()
		t.names = append(t.names, name)
		slices.Sort(t.names)
		t.mu.Unlock()
		t.server.AddTool(&mcp.Tool{
			Name: name, Description: "Answers with its name, which is " + name + ". " + strings.Repeat("It does so whenever it is called. ", 6),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"about":{"type":"string","description":"what it is called for"}}}`),
		}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.called = append(t.called, name)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "answer of " + name}}}, nil
		})
	}
}

// remove takes a tool away.
func (t *tools) remove(name string) {
	t.mu.Lock()
	t.names = slices.DeleteFunc(t.names, func(one string) bool { return one == name })
	t.mu.Unlock()
	t.server.RemoveTools(name)
}

func (t *tools) calls() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.called)
}

// Open gives all processes the one server: the worlds have one process at a time.
func (t *tools) Open() invoker.ToolSession { return t }

// Count returns how many tools there are.
func (t *tools) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.names)
}

// Config is the server's entry in the CLI's configuration.
func (t *tools) Config() json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type":"http","url":%q}`, t.url))
}

// Begin tells which tools there are in a turn.
func (t *tools) Begin(string) (names []string, news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	news = !slices.Equal(t.known, t.names)
	t.known = slices.Clone(t.names)
	return t.known, news
}

// Keeps reports whether all tools that the agent was told of are there.
func (t *tools) Keeps(string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !slices.ContainsFunc(t.known, func(one string) bool { return !slices.Contains(t.names, one) })
}

// End does nothing.
func (t *tools) End() {}

// Close does nothing: the world closes the server.
func (t *tools) Close() {}

// offers reports whether a call of the API offers a tool at once: with its schema, and not
// behind a search.
func offers(r fakeapi.Request, name string) bool {
	var body struct {
		Tools []struct {
			Name     string `json:"name"`
			Deferred bool   `json:"defer_loading"`
		} `json:"tools"`
	}
	_ = json.Unmarshal(r.Body, &body)
	for _, tool := range body.Tools {
		if tool.Name == name {
			return !tool.Deferred
		}
	}
	return false
}

func withTools(names ...string) func(w *world) {
	return func(w *world) {
		served, err := serveTools(names...)
		w.must(err)
		w.tools = served
		w.config.Tools = served
	}
}

// calls a tool of a plugin in a turn of its own, and expects its answer to reach the model.
func (w *world) callsTool(name string) turn {
	before := len(w.tools.calls())
	var asked []string
	request := w.request(prompt(prefix+name, map[string]any{"about": "a check"}, "I see."))
	request.Ask = w.never(&asked)
	t := w.invoke(request)
	w.answered(t, "I see.")
	w.expect(len(asked) == 0, "a plugin's tool is asked about: %s", strings.Join(asked, "; "))
	w.expect(len(w.tools.calls()) == before+1 && t.saw("answer of "+name), "a plugin's tool is not called")
	return t
}

func pluginToolsAtOnce(w *world) string {
	t := w.callsTool("time__now")
	w.expect(offers(t.main()[0], prefix+"time__now"), "a plugin tool is not offered at once, only by search")
	return ""
}

func pluginToolsAddedLater(w *world) string {
	w.say("say:warm", "warm")
	w.tools.add("time__later")
	t := w.callsTool("time__later")
	w.expect(offers(t.main()[0], prefix+"time__later"), "a tool that was added to a warm session is not offered in the next turn")
	w.tools.remove("time__later")
	called := len(w.tools.calls())
	t = w.say(prompt(prefix+"time__later", map[string]any{}, "I see."), "I see.")
	results := t.results()
	w.expect(len(w.tools.calls()) == called && len(results) == 1 && results[0].IsError, "a tool that was taken away from a warm session can be called in the next turn")
	if offers(t.main()[0], prefix+"time__later") {
		return "the CLI goes on offering a tool that was taken away from a warm session; a call of it is refused, with the reason"
	}
	return ""
}

// many are so many tools that they are not offered at once.
const many = 120

func manyTools() []string {
	names := make([]string, many)
	for n := range names {
		names[n] = fmt.Sprintf("many__tool_%03d", n)
	}
	return names
}

func manyToolsAreFound(w *world) string {
	const name = prefix + "many__tool_077"
	searched := false
	w.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		switch {
		case !fakeapi.Main(r) || len(w.tools.calls()) > 0 || len(r.Messages) > 6:
			return fakeapi.Reply{Text: "I see."}
		case !offers(r, name) && offers(r, "ToolSearch") && !searched:
			searched = true
			return uses("ToolSearch", map[string]any{"query": "select:" + name, "max_results": 5})
		default:
			return uses(name, map[string]any{"about": "a check"})
		}
	})
	t := w.invoke(w.request("find it"))
	w.answered(t, "I see.")
	w.expect(len(w.tools.calls()) == 1 && t.saw("answer of many__tool_077"), "one of many plugin tools cannot be found and called")
	if !searched {
		return "the CLI does not use a search; all tools are offered at once"
	}
	return ""
}

// ownTools are tools of the CLI that do what Harness does.
var ownTools = []string{"CronCreate", "ScheduleWakeup", "TaskCreate", "Workflow", "SendMessage", "EnterWorktree"}

func ownToolsAreNotOffered(w *world) string {
	w.began()
	t := w.say(prompt("CronCreate", map[string]any{"cron": "* * * * *", "prompt": "x"}, "I see."), "I see.")
	results := t.results()
	w.expect(len(results) == 1 && results[0].IsError, "the CLI takes a schedule of its own")
	for _, name := range ownTools {
		quoted := fakeapi.Seeing(`\n` + name + `\n`)(t.main()[0]) // in a list of what a search finds
		w.expect(!offers(t.main()[0], name) && !quoted, "%s is offered to the model", name)
	}
	return ""
}
