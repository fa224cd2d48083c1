package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/invoker"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/toolserver"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// meeting is a plugin whose tool answers, with the run of the call, once a number of
// calls is under way, or somebody has left without one.
type meeting struct {
	hooks.Process // what it does not answer
	here          atomic.Int32
	expected      int32
	begin         chan struct{}
	once          sync.Once
}

func (m *meeting) open() { m.once.Do(func() { close(m.begin) }) }

var meetingInfo = &pluginsdk.PluginInfo{Name: "meeting", Enabled: true, Manifest: pluginsdk.Manifest{
	Name: "meeting", Tools: []pluginsdk.ToolSpec{{Name: "join", Description: "join", InputSchema: json.RawMessage(`{"type":"object"}`)}},
}}

func (m *meeting) Offering(string) []*pluginsdk.PluginInfo {
	return []*pluginsdk.PluginInfo{meetingInfo}
}

func (m *meeting) Registered(context.Context) ([]pluginsdk.PluginInfo, error) {
	return []pluginsdk.PluginInfo{*meetingInfo}, nil
}

func (m *meeting) Plugin(string, string) hooks.Plugin { return m }

func (m *meeting) Info() *pluginsdk.PluginInfo { return meetingInfo }

func (m *meeting) Do(_ context.Context, _ pluginsdk.Hook, _ string, fn func(hooks.Process) error) error {
	return fn(m)
}

func (m *meeting) CallTool(_ context.Context, request *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	if m.here.Add(1) == m.expected {
		m.open()
	}
	<-m.begin
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{
		Text: fmt.Sprintf("%s of %s in %s", request.Input, request.Call.RunID, request.ThreadID),
	}}, nil
}

// opener is a tool server as the agent's processes see it.
type opener struct{ *toolserver.Server }

func (o opener) Open() invoker.ToolSession { return o.Server.Open() }

// Three reviews of one thread are at work at once, each in a CLI of its own, and each
// calls a tool: what the tool does is done for the run that called it. Were two taken
// for one, the work of one would be charged to, and fenced by, the other.
func TestToolsOfTurnsThatRunAtOnceKnowTheirRuns(t *testing.T) {
	binary := os.Getenv("HARNESS_TEST_CLAUDE")
	if binary == "" {
		t.Skip("left out: needs the real Claude CLI; `make test` installs it, or set HARNESS_TEST_CLAUDE")
	}
	const turns = 3 // each is a process of the agent's
	plugin := &meeting{expected: turns, begin: make(chan struct{})}
	tools := toolserver.New(toolserver.Config{}, plugin, hooks.New(hooks.Config{}, nil, nil))
	if err := tools.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	api := fakeapi.Start(t)
	claude, err := invoker.New(invoker.Config{
		Binary: binary, Workspace: t.TempDir(), Env: fakeapi.Env(api.URL(), t.TempDir()), MaxSessions: turns,
		Tools: opener{tools}, Private: t.TempDir(), CloseGrace: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := claude.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var working sync.WaitGroup
	for n := range turns {
		working.Go(func() {
			behalf := ledger.Behalf{RunID: fmt.Sprintf("R%d", n), Attempt: 1, Fence: ledger.Fence{ThreadID: "T"}}
			defer tools.Begin(behalf)()
			defer plugin.open()
			var said []string
			result := claude.Invoke(t.Context(), ledger.AgentRequest{
				RunID: behalf.RunID, ThreadID: "T", Fresh: true, Purpose: "review",
				Prompt: fmt.Sprintf("usetool:mcp__harness__meeting__join {\"n\":%d}\nthen:done", n),
			}, func(event pluginsdk.StreamEvent) {
				if event.Type == pluginsdk.StreamToolResult {
					said = append(said, event.Text)
				}
			})
			if want := fmt.Sprintf(`{"n":%d} of R%d in T`, n, n); result.Failure != nil || len(said) != 1 || said[0] != want {
				t.Errorf("turn %d was told %q, want %q; failure %+v", n, said, want, result.Failure)
			}
		})
	}
	working.Wait()
	if here := plugin.here.Load(); here != turns {
		t.Errorf("%d turns have called the tool, want %d", here, turns)
	}
	if err := claude.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if err := tools.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}
