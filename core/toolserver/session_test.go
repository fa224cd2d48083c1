package toolserver

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Nobody gets in without the token of a session that is open, and no web page
// gets in at all.
func TestWhoIsLetIn(t *testing.T) {
	f := start(t, nil)
	f.plugins.has("p", "work", anyObject, echo)
	client := f.open()
	defer f.begin(behalf)()
	good := f.entry()
	other := f.server.Open()
	ask := func(change func(*http.Request)) int {
		t.Helper()
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"p__work","arguments":{}}}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, good.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range good.Headers {
			r.Header.Set(name, value)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Session-Id", client.ID())
		change(r)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		content, _ := io.ReadAll(response.Body)
		if strings.Contains(string(content), f.session.token) {
			t.Errorf("the token is in the answer %s", content)
		}
		return response.StatusCode
	}
	for name, row := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"the session itself": {func(*http.Request) {}, http.StatusOK},
		"no token":           {func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized},
		"not a bearer's":     {func(r *http.Request) { r.Header.Set("Authorization", f.session.token) }, http.StatusUnauthorized},
		"a wrong token":      {func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, http.StatusUnauthorized},
		"an empty token":     {func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, http.StatusUnauthorized},
		"another session's token": {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+other.token) },
			http.StatusNotFound},
		"a web page":             {func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:3001") }, http.StatusForbidden},
		"a name that leads here": {func(r *http.Request) { r.Host = "evil.example" }, http.StatusForbidden},
	} {
		if got := ask(row.change); got != row.want {
			t.Errorf("%s: %d, want %d", name, got, row.want)
		}
	}
	f.session.Close()
	if got := ask(func(*http.Request) {}); got != http.StatusUnauthorized {
		t.Errorf("after the end of the session: %d", got)
	}
	if asked := len(f.plugins.calls()); asked != 1 {
		t.Errorf("the plugin was asked %d times", asked)
	}
	if strings.Contains(f.log.String(), f.session.token) {
		t.Error("the token is in the log")
	}
}

// A plugin that is turned on or off changes what the agent has from the next
// turn on, in the same session; until then a call is answered with the reason.
func TestToolsComeAndGoBetweenTurns(t *testing.T) {
	f := start(t, nil)
	f.plugins.has("a", "work", anyObject, echo)
	f.plugins.has("b", "work", anyObject, echo)
	client := f.open()
	end := f.begin(behalf)
	if got := f.names(client); got != "a__work b__work" {
		t.Fatalf("tools %s", got)
	}
	f.plugins.enable("b", false)
	if result := f.call(client, "b__work", `{}`); !result.IsError || !strings.Contains(text(result), "the plugin b, whose tool b__work is, is disabled") {
		t.Errorf("in the turn: %q", text(result))
	}
	if got := f.names(client); got != "a__work b__work" {
		t.Errorf("in the turn the list became %s", got)
	}
	end()

	wantNews := func(want string, enabled, wanted bool) {
		t.Helper()
		f.plugins.enable("b", enabled)
		end := f.server.Begin(behalf)
		defer end()
		names, news := f.session.Begin("R")
		defer f.session.End()
		if got := strings.Join(names, " "); got != want || news != wanted {
			t.Errorf("the turn has %q, news %v; want %q, %v", got, news, want, wanted)
		}
		if news {
			<-f.changed // the CLI reads the list again, and then says so
		}
		if got := f.names(client); got != want {
			t.Errorf("the agent has %q, want %q", got, want)
		}
		result := f.call(client, "b__work", `{}`)
		if result.IsError == enabled {
			t.Errorf("the call of a tool that is enabled (%v): %q", enabled, text(result))
		}
	}
	wantNews("a__work", false, true)
	wantNews("a__work", false, false)
	wantNews("a__work b__work", true, true)
	wantNews("a__work b__work", true, false)
}

// A CLI that would go on offering a tool that is gone or has changed is started anew for it,
// and not for one that is new.
func TestWhetherToolsAreKept(t *testing.T) {
	f := start(t, nil)
	f.plugins.has("a", "work", anyObject, echo)
	f.plugins.has("b", "work", anyObject, echo)
	f.open()
	f.begin(behalf)()
	keeps := func(want bool, when string) {
		t.Helper()
		if got := f.session.Keeps("R"); got != want {
			t.Errorf("%s: %t", when, got)
		}
	}
	keeps(true, "nothing has changed")
	f.plugins.has("c", "work", anyObject, echo)
	keeps(true, "with one more")
	f.plugins.enable("b", false)
	keeps(false, "without one")
	f.plugins.enable("b", true)
	keeps(true, "and back")
	f.plugins.has("a", "work", `{"type":"object","required":["more"]}`, echo)
	keeps(false, "with another schema")
}

// A list that nobody has read yet is no news.
func TestANewProcessIsToldNothingTwice(t *testing.T) {
	f := start(t, nil)
	f.plugins.has("a", "work", anyObject, echo)
	client := f.open()
	f.plugins.enable("a", false)
	if names, news := f.session.Begin("R"); len(names) != 0 || news {
		t.Errorf("%v %v", names, news)
	}
	if got := f.names(client); got != "" {
		t.Errorf("tools %s", got)
	}
}

// The end of the process ends what it had called.
func TestTheEndOfASessionCancelsItsCalls(t *testing.T) {
	f := start(t, nil)
	working, stopped := make(chan struct{}), make(chan error, 1)
	f.plugins.has("p", "work", anyObject, func(ctx context.Context, _ *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
		close(working)
		<-ctx.Done()
		stopped <- context.Cause(ctx)
		return pluginsdk.ToolResult{}, ctx.Err()
	})
	client := f.open()
	end := f.begin(behalf)
	var calling sync.WaitGroup
	calling.Go(func() {
		_, _ = client.CallTool(t.Context(), &mcp.CallToolParams{Name: "p__work", Arguments: map[string]any{}})
	})
	<-working
	f.session.Close()
	if err := <-stopped; pluginsdk.CodeOf(err) != pluginsdk.CodeCancelled {
		t.Errorf("stopped with %v", err)
	}
	end()
	_ = client.Close()
	calling.Wait()
	f.session.Close()
	if len(f.server.sessions) != 0 {
		t.Errorf("sessions %v", f.server.sessions)
	}
}

// A plugin is upgraded while a turn goes on: the turn goes on with the tools of
// the old version, which answers it; the next one has the new ones.
func TestATurnHasTheToolsOfTheVersionThatItsRunKeepsTo(t *testing.T) {
	f := start(t, nil)
	f.plugins.has("files", "read", `{"properties":{"path":{"type":"string"}}}`, echo)
	client := f.open()
	end := f.begin(behalf)
	f.plugins.kept = map[string]pluginsdk.PluginInfo{"R": f.plugins.rows[0]}
	f.plugins.rows = nil
	f.plugins.has("files", "open", `{"required":["path"]}`, echo)
	if names, news := f.session.Begin(behalf.RunID); news || !slices.Equal(names, []string{"files__read"}) {
		t.Errorf("the run is offered %v; told of others: %v", names, news)
	}
	for range 2 {
		if result := f.call(client, "files__read", `{"path":"/x"}`); result.IsError {
			t.Errorf("the run's own tool: %q", text(result))
		}
		if result := f.call(client, "files__open", `{"path":"/x"}`); !strings.Contains(text(result), `not_found: the plugin files has no tool "open"`) {
			t.Errorf("a tool of the next version: %q", text(result))
		}
		if tools := f.server.List(); len(tools) != 1 || tools[0].Name != "files__open" {
			t.Errorf("offered to others: %v", tools)
		}
	}
	if made := len(f.server.catalog.plugins["files"]); made != 2 {
		t.Errorf("the schemas of %d versions are kept", made)
	}
	end()
	next := behalf
	next.RunID = "S"
	defer f.begin(next)()
	if result := f.call(client, "files__open", `{"path":"/x"}`); result.IsError {
		t.Errorf("the next run: %q", text(result))
	}
	if result := f.call(client, "files__read", `{"path":"/x"}`); !result.IsError {
		t.Error("the next run has a tool that is gone")
	}
}
