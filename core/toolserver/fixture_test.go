package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// fakePlugins are plugins in memory. A call of one that has no answer fails as
// that of one that does not serve.
type fakePlugins struct {
	mu     sync.Mutex
	rows   []pluginsdk.PluginInfo
	kept   map[string]pluginsdk.PluginInfo // by run: what it sees of a plugin that was upgraded
	answer map[string]func(context.Context, *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error)
	asked  []*pluginsdk.CallToolRequest
	runs   []string
}

func (f *fakePlugins) Offering(run string) []*pluginsdk.PluginInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	var offering []*pluginsdk.PluginInfo
	for _, row := range f.rows {
		if kept, ok := f.kept[run]; ok && kept.Name == row.Name {
			row = kept
		}
		if row.Enabled {
			offering = append(offering, &row)
		}
	}
	return offering
}

func (f *fakePlugins) Registered(context.Context) ([]pluginsdk.PluginInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]pluginsdk.PluginInfo(nil), f.rows...), nil
}

type provider func(context.Context, *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error)

func (f *fakePlugins) Plugin(run, name string) hooks.Plugin {
	return &fakePlugin{plugins: f, run: run, info: pluginsdk.PluginInfo{Name: name}}
}

// fakePlugin is one of them, as a run sees it.
type fakePlugin struct {
	hooks.Process // what it does not answer
	plugins       *fakePlugins
	run           string
	info          pluginsdk.PluginInfo
	answer        func(context.Context, *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error)
}

func (f *fakePlugin) Info() *pluginsdk.PluginInfo { return &f.info }

func (f *fakePlugin) Do(_ context.Context, _ pluginsdk.Hook, _ string, fn func(hooks.Process) error) error {
	f.plugins.mu.Lock()
	f.answer = f.plugins.answer[f.info.Name]
	f.plugins.runs = append(f.plugins.runs, f.run)
	f.plugins.mu.Unlock()
	if f.answer == nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s is backoff: it fell over", f.info.Name)
	}
	return fn(f)
}

func (f *fakePlugin) CallTool(ctx context.Context, request *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	f.plugins.mu.Lock()
	f.plugins.asked = append(f.plugins.asked, request)
	f.plugins.mu.Unlock()
	result, err := f.answer(ctx, request)
	return &pluginsdk.CallToolResponse{Result: result}, err
}

// has adds an enabled plugin with one tool.
func (f *fakePlugins) has(plugin, tool, schema string, answer provider) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows = append(f.rows, pluginsdk.PluginInfo{Name: plugin, Enabled: true, Manifest: pluginsdk.Manifest{
		Name: plugin, Tools: []pluginsdk.ToolSpec{{Name: tool, Description: tool + " of " + plugin, InputSchema: json.RawMessage(schema)}},
	}})
	f.answer[plugin] = answer
}

func (f *fakePlugins) enable(plugin string, enabled bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.rows {
		if f.rows[i].Name == plugin {
			f.rows[i].Enabled = enabled
		}
	}
}

func (f *fakePlugins) calls() []*pluginsdk.CallToolRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*pluginsdk.CallToolRequest(nil), f.asked...)
}

// fakeTokens are good from Open to Close.
type fakeTokens struct {
	mu       sync.Mutex
	open     map[string]bool
	behalves []ledger.Behalf
}

func (f *fakeTokens) Open(_ context.Context, plugin string, behalf ledger.Behalf, _ time.Time) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behalves = append(f.behalves, behalf)
	token := plugin + "-" + string(rune('a'+len(f.behalves)))
	f.open[token] = true
	return token
}

func (f *fakeTokens) Close(token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, token)
}

func (f *fakeTokens) good(token string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[token]
}

// fixture is a started server with one session, and a client as the CLI is one.
type fixture struct {
	*testing.T
	server   *Server
	plugins  *fakePlugins
	tokens   *fakeTokens
	session  *Session
	log      *lockedBuffer
	progress chan mcp.ProgressNotificationParams
	changed  chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const anyObject = `{"type":"object"}`

var behalf = ledger.Behalf{RunID: "R", Attempt: 2, Fence: ledger.Fence{ThreadID: "T", Epoch: 7}}

func start(t *testing.T, change func(*Config)) *fixture {
	t.Helper()
	f := &fixture{
		T: t, log: &lockedBuffer{},
		plugins:  &fakePlugins{answer: map[string]func(context.Context, *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error){}},
		tokens:   &fakeTokens{open: map[string]bool{}},
		progress: make(chan mcp.ProgressNotificationParams, 100), changed: make(chan struct{}, 100),
	}
	config := Config{
		Log: slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&config)
	}
	f.server = New(config, f.plugins, hooks.New(hooks.Config{}, nil, f.tokens))
	if err := f.server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f
}

// open makes the session and connects to it. The tools must be there already.
func (f *fixture) open() *mcp.ClientSession {
	f.Helper()
	f.session = f.server.Open()
	f.Cleanup(f.session.Close)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { f.progress <- *r.Params },
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { f.changed <- struct{}{} },
	})
	entry := f.entry()
	connected, err := client.Connect(f.Context(), &mcp.StreamableClientTransport{
		Endpoint: entry.URL, HTTPClient: &http.Client{Transport: withHeaders(entry.Headers)}, MaxRetries: -1,
	}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = connected.Close() })
	return connected
}

type entry struct {
	Type, URL string
	Headers   map[string]string
}

func (f *fixture) entry() entry {
	f.Helper()
	var made entry
	if err := json.Unmarshal(f.session.Config(), &made); err != nil || made.Type != "http" {
		f.Fatalf("entry %s: %v", f.session.Config(), err)
	}
	return made
}

type withHeaders map[string]string

func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// begin begins a turn in the session.
func (f *fixture) begin(in ledger.Behalf) func() {
	end := f.server.Begin(in)
	f.session.Begin(in.RunID)
	return func() {
		f.session.End()
		end()
	}
}

// call calls a tool as the agent does.
func (f *fixture) call(client *mcp.ClientSession, name, input string) *mcp.CallToolResult {
	f.Helper()
	params := &mcp.CallToolParams{Name: name}
	if input != "" {
		params.Arguments = json.RawMessage(input)
	}
	result, err := client.CallTool(f.Context(), params)
	if err != nil {
		f.Fatalf("the call of %s is a protocol error: %v", name, err)
	}
	return result
}

func text(result *mcp.CallToolResult) string {
	var parts []string
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			parts = append(parts, text.Text)
		}
	}
	return strings.Join(parts, "|")
}

// names are the tools that the agent sees.
func (f *fixture) names(client *mcp.ClientSession) string {
	f.Helper()
	list, err := client.ListTools(f.Context(), nil)
	if err != nil {
		f.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

func echo(_ context.Context, call *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
	return pluginsdk.ToolResult{Text: "echo " + string(call.Input)}, nil
}

// registry is the plugins as the database has them.
func (f *fakePlugins) registry() (rows []ledger.Plugin) {
	for _, row := range f.rows {
		rows = append(rows, ledger.Plugin{PluginInfo: row})
	}
	return rows
}
