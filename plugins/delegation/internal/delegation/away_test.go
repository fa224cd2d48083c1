package delegation

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// away is a host whose database does not answer for a while, and whose first answer after
// that is lost: the task is made, and its maker is told that it may not be.
type away struct {
	pluginsdk.Tasks
	until time.Time
	lost  *bool
}

var errAway = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the connection to the database was lost; try again in a moment")

func (a away) Create(ctx context.Context, request *pluginsdk.CreateTaskRequest) (*pluginsdk.CreateTaskResponse, error) {
	if time.Now().Before(a.until) {
		return nil, errAway
	}
	answer, err := a.Tasks.Create(ctx, request)
	if err == nil && !*a.lost {
		*a.lost = true
		return nil, errAway
	}
	return answer, err
}

// atHost serves a plugin whose host is away for so long.
func atHost(t *testing.T, gone time.Duration) (*Plugin, *plugintest.Host) {
	host := plugintest.NewHost()
	host.AddThread(pluginsdk.Thread{ID: "chat", Kind: pluginsdk.ThreadGeneral})
	sdk := host.SDK()
	sdk.Log = discard
	sdk.Tasks = away{sdk.Tasks, time.Now().Add(gone), new(bool)}
	plugin := new(Plugin)
	if err := plugin.Start(t.Context(), sdk); err != nil {
		t.Fatal(err)
	}
	return plugin, host
}

func typedAt(ctx context.Context, plugin *Plugin) (*pluginsdk.OnCommandResponse, error) {
	return plugin.OnCommand(ctx, &pluginsdk.OnCommandRequest{
		Call: pluginsdk.Call{ID: "call"}, Thread: pluginsdk.Thread{ID: "chat"}, Name: verbDelegate, Body: "build it",
	})
}

// Nobody must type a task again since the database was away for a moment, or have it twice
// since an answer was lost.
func TestARequestOutlastsAHostThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plugin, host := atHost(t, 10*time.Second)
		if answer, err := typedAt(t.Context(), plugin); err != nil || !answer.Handled {
			t.Fatalf("%+v, %v", answer, err)
		}
		if page, err := host.SDK().Tasks.List(t.Context(), &pluginsdk.ListTasksRequest{}); err != nil || len(page.Tasks) != 1 {
			t.Errorf("%+v, %v", page, err)
		}
	})
}

// Who asks must hear of it before the call is ended, that it may be asked again and was not
// refused, and at once when nobody waits any more.
func TestARequestOfAHostThatStaysAwayIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plugin, _ := atHost(t, time.Hour)
		began := time.Now()
		_, err := typedAt(t.Context(), plugin)
		if took := time.Since(began); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || took < hostPatience/4 || took > pluginsdk.ClassCommand.Limit()-5*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		call := &pluginsdk.CallToolRequest{Name: verbDelegate, Input: json.RawMessage(`{"task": "build it", "thread": "chat"}`)}
		if answer, err := plugin.CallTool(t.Context(), call); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
			t.Errorf("a program is told %+v, %v", answer, err)
		}
		call.Input, call.ThreadID = json.RawMessage(`{"task": "build it"}`), "chat"
		if answer, err := plugin.CallTool(t.Context(), call); err != nil || !answer.Result.IsError {
			t.Errorf("an agent is told %+v, %v", answer, err)
		}
		ended, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		began = time.Now()
		if _, err := typedAt(ended, plugin); err == nil || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
