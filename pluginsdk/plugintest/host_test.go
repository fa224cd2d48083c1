package plugintest_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// overTheWire returns a host and the same host as a plugin sees it.
func overTheWire(t *testing.T) (*plugintest.Host, pluginsdk.Host) {
	t.Helper()
	host := plugintest.NewHost()
	author := newEverything()
	plugintest.Serve(t, author, host.SDK())
	return host, author.host
}

// must fails the test when a host call did.
func must[V any](t *testing.T) func(V, error) V {
	t.Helper()
	return func(value V, err error) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestThreads(t *testing.T) {
	_, sdk := overTheWire(t)
	ctx, one, many := t.Context(), must[pluginsdk.Thread](t), must[[]pluginsdk.Thread](t)
	made := one(sdk.Threads.Create(ctx, pluginsdk.NewThread{Source: "web", SourceID: "1", Name: "first"}))
	again := one(sdk.Threads.Create(ctx, pluginsdk.NewThread{Source: "web", SourceID: "1", Name: "second"}))
	if made.Kind != pluginsdk.ThreadGeneral || again.ID != made.ID || again.Name != "first" {
		t.Errorf("made %+v, again %+v", made, again)
	}
	name, read := "", int64(7)
	patched := one(sdk.Threads.Update(ctx, made.ID, pluginsdk.ThreadPatch{Name: &name, LastReadMessageID: &read}))
	if patched.Name != "" || patched.LastReadMessageID != 7 || patched.Source != "web" {
		t.Errorf("patched %+v: a patch to the empty string must arrive, and leave the rest", patched)
	}
	if got := one(sdk.Threads.Get(ctx, made.ID)); !reflect.DeepEqual(got, patched) {
		t.Errorf("got %+v", got)
	}
	if got := many(sdk.Threads.List(ctx, pluginsdk.ThreadQuery{Source: "discord"})); len(got) != 0 {
		t.Errorf("listed %+v", got)
	}
	if got := many(sdk.Threads.List(ctx, pluginsdk.ThreadQuery{Source: "web"})); len(got) != 1 {
		t.Errorf("listed %+v", got)
	}
	if _, err := sdk.Threads.Get(ctx, "none"); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("error is %v", err)
	}
}

func TestMessages(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx, many := t.Context(), must[[]pluginsdk.Message](t)
	rows := []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Content: "a"}, {Role: pluginsdk.RoleAssistant, Content: "b"}}
	first := many(sdk.Messages.Append(ctx, "thread-1", "RUN:start", rows))
	again := many(sdk.Messages.Append(ctx, "thread-1", "RUN:start", rows))
	if len(first) != 2 || !reflect.DeepEqual(first, again) || len(host.Messages("thread-1")) != 2 {
		t.Errorf("appended %+v, again %+v", first, again)
	}
	if _, err := sdk.Messages.Append(ctx, "thread-1", "RUN:start", rows[:1]); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict {
		t.Errorf("other content with the same key: %v", err)
	}
	last := many(sdk.Messages.List(ctx, pluginsdk.MessageQuery{ThreadID: "thread-1", Last: true, Limit: 1}))
	if len(last) != 1 || last[0].Content != "b" {
		t.Errorf("listed %+v", last)
	}
	submission := pluginsdk.Submission{ThreadID: "thread-1", Source: "web", Key: "k", Content: "hello"}
	accept := must[pluginsdk.Accepted](t)
	accepted, repeated := accept(sdk.Messages.Submit(ctx, submission)), accept(sdk.Messages.Submit(ctx, submission))
	if accepted.Repeated || !repeated.Repeated || accepted.RunID != repeated.RunID || len(host.Submissions()) != 1 {
		t.Errorf("accepted %+v, repeated %+v", accepted, repeated)
	}
}

func TestRuns(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx, one := t.Context(), must[pluginsdk.Run](t)
	host.AddRun(pluginsdk.Run{ID: "run-1", State: pluginsdk.RunRunning, Result: &pluginsdk.InvokeResult{Text: "hi"}})
	host.AddRun(pluginsdk.Run{ID: "run-2", State: pluginsdk.RunQueued})
	if got := one(sdk.Runs.Get(ctx, "run-1")); got.Result == nil || got.Result.Text != "hi" {
		t.Errorf("got %+v", got)
	}
	if got := one(sdk.Runs.Cancel(ctx, "run-1")); got.State != pluginsdk.RunCancelled {
		t.Errorf("cancelled %+v", got)
	}
	got := must[[]pluginsdk.Run](t)(sdk.Runs.List(ctx, pluginsdk.RunQuery{States: []pluginsdk.RunState{pluginsdk.RunQueued}}))
	if len(got) != 1 || got[0].ID != "run-2" || got[0].Result != nil {
		t.Errorf("listed %+v", got)
	}
}

func TestRunsThatFailedAreRetriedOnce(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx, one := t.Context(), must[pluginsdk.Accepted](t)
	message := host.AddMessage(pluginsdk.Message{ThreadID: "thread-1", RunID: "run-0", Content: "do it"})
	host.AddRun(pluginsdk.Run{ID: "run-0", ThreadID: "thread-1", MessageID: message, State: pluginsdk.RunFailed})
	host.AddRun(pluginsdk.Run{ID: "busy", State: pluginsdk.RunRunning})
	first, again := one(sdk.Runs.Retry(ctx, "run-0")), one(sdk.Runs.Retry(ctx, "run-0"))
	if first.RunID == "run-0" || first.Repeated || !again.Repeated || again.RunID != first.RunID {
		t.Errorf("retried as %+v, then %+v", first, again)
	}
	if rows := host.Messages("thread-1"); len(rows) != 2 || rows[1].Content != "do it" || rows[1].ID != first.MessageID || rows[1].Retry().Of != "run-0" {
		t.Errorf("rows %+v", rows)
	}
	for id, code := range map[string]pluginsdk.Code{"busy": pluginsdk.CodeInvalid, "none": pluginsdk.CodeNotFound} {
		if _, err := sdk.Runs.Retry(ctx, id); pluginsdk.CodeOf(err) != code {
			t.Errorf("retry of %s: %v", id, err)
		}
	}
}

func TestThreadsAreStopped(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx, one := t.Context(), must[pluginsdk.Stopped](t)
	host.AddRun(pluginsdk.Run{ID: "run-1", ThreadID: "T", State: pluginsdk.RunRunning})
	host.AddRun(pluginsdk.Run{ID: "run-2", ThreadID: "T", State: pluginsdk.RunQueued})
	host.AddRun(pluginsdk.Run{ID: "run-3", ThreadID: "other", State: pluginsdk.RunRunning})
	if got := one(sdk.Runs.Stop(ctx, "T", pluginsdk.KeepQueue)); got.RunID != "run-1" || got.Dropped != nil {
		t.Errorf("stopped %+v", got)
	}
	if got := one(sdk.Runs.Stop(ctx, "T", pluginsdk.DropQueue)); got.RunID != "" || !reflect.DeepEqual(got.Dropped, []string{"run-2"}) {
		t.Errorf("stopped %+v", got)
	}
	if _, err := sdk.Runs.Stop(ctx, "T", "maybe"); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("error is %v", err)
	}
}

func TestDeliveries(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx, one := t.Context(), must[pluginsdk.Delivery](t)
	host.AddDelivery(pluginsdk.Delivery{ID: "D1", Plugin: "discord", Target: "c1", State: pluginsdk.DeliveryDead, LastError: "gone"})
	host.AddDelivery(pluginsdk.Delivery{ID: "D2", Plugin: "discord", Target: "c2", State: pluginsdk.DeliveryDelivered})
	query := pluginsdk.DeliveryQuery{State: pluginsdk.DeliveryDead, Plugin: "discord", Target: "c1", Limit: 5}
	got := must[[]pluginsdk.Delivery](t)(sdk.Deliveries.List(ctx, query))
	if len(got) != 1 || got[0].LastError != "gone" {
		t.Errorf("listed %+v", got)
	}
	if got := one(sdk.Deliveries.Retry(ctx, "D1")); got.State != pluginsdk.DeliveryPending {
		t.Errorf("retried %+v", got)
	}
	for id, code := range map[string]pluginsdk.Code{"D2": pluginsdk.CodeInvalid, "none": pluginsdk.CodeNotFound} {
		if _, err := sdk.Deliveries.Retry(ctx, id); pluginsdk.CodeOf(err) != code {
			t.Errorf("retry of %s: %v", id, err)
		}
	}
}

func TestTasks(t *testing.T) {
	_, sdk := overTheWire(t)
	ctx, one := t.Context(), must[pluginsdk.Task](t)
	made := one(sdk.Tasks.Create(ctx, "key", pluginsdk.NewTask{Prompt: "work"}))
	again := one(sdk.Tasks.Create(ctx, "key", pluginsdk.NewTask{Prompt: "work"}))
	if made.MaxIterations != 5 || again.ID != made.ID {
		t.Errorf("made %+v, again %+v", made, again)
	}
	status, iteration := pluginsdk.TaskRunning, 0
	if got := one(sdk.Tasks.Update(ctx, made.ID, pluginsdk.TaskPatch{Status: &status, CurrentIteration: &iteration})); got.Status != status {
		t.Errorf("updated %+v", got)
	}
	if got := one(sdk.Tasks.Get(ctx, made.ID)); got.Status != status || got.Prompt != "work" {
		t.Errorf("got %+v", got)
	}
	got := must[[]pluginsdk.Task](t)(sdk.Tasks.List(ctx, pluginsdk.TaskQuery{Statuses: []pluginsdk.TaskStatus{status}}))
	if len(got) != 1 {
		t.Errorf("listed %+v", got)
	}
}

func TestAgent(t *testing.T) {
	host, sdk := overTheWire(t)
	host.Agent = func(r pluginsdk.AgentRequest) pluginsdk.InvokeResult {
		return pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: r.Prompt, APIStatus: 529}}
	}
	ctx, id := t.Context(), must[string](t)
	first := id(sdk.Agent.Start(ctx, "key", pluginsdk.AgentRequest{Prompt: "think"}))
	if again := id(sdk.Agent.Start(ctx, "key", pluginsdk.AgentRequest{Prompt: "think"})); again != first {
		t.Errorf("started %s and %s for one key", first, again)
	}
	got := must[pluginsdk.InvokeResult](t)(sdk.Agent.Wait(ctx, first))
	if got.Failure == nil || got.Failure.Message != "think" || got.Failure.APIStatus != 529 {
		t.Errorf("result %+v", got)
	}
	if err := sdk.Agent.Cancel(ctx, first); err != nil {
		t.Error(err)
	}
}

func TestEvents(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx, page := t.Context(), must[pluginsdk.EventPage](t)
	for _, kind := range []pluginsdk.EventType{"x:a", "x:b", "x:c"} {
		if err := sdk.Events.Publish(ctx, pluginsdk.Event{Type: kind, Data: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	first := page(sdk.Events.Since(ctx, pluginsdk.Position{}, 2))
	rest := page(sdk.Events.Since(ctx, first.Next, 0))
	if len(first.Events) != 2 || len(rest.Events) != 1 || rest.Events[0].Type != "x:c" || first.Resync {
		t.Errorf("first %+v, rest %+v", first, rest)
	}
	if got := page(sdk.Events.Since(ctx, pluginsdk.Position{Boot: "another", Seq: 99}, 0)); !got.Resync || len(got.Events) != 3 {
		t.Errorf("of another boot: %+v", got)
	}
	if len(host.Events()) != 3 {
		t.Errorf("published %+v", host.Events())
	}
}

func TestSettingsAndState(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	host.SetSettings(json.RawMessage(`{"budget":5}`))
	if got := must[json.RawMessage](t)(sdk.Settings.Get(ctx)); string(got) != `{"budget":5}` {
		t.Errorf("settings %s", got)
	}
	for _, key := range []string{"b/2", "b/1", "a"} {
		if err := sdk.State.Put(ctx, key, []byte{0, 0xff}); err != nil {
			t.Fatal(err)
		}
	}
	if got := must[[]byte](t)(sdk.State.Get(ctx, "a")); string(got) != "\x00\xff" {
		t.Errorf("state %q", got)
	}
	if err := errors.Join(sdk.State.Delete(ctx, "a"), sdk.State.Delete(ctx, "a")); err != nil {
		t.Error(err)
	}
	if _, err := sdk.State.Get(ctx, "a"); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("error is %v", err)
	}
	if got := must[[]string](t)(sdk.State.Keys(ctx, "b/")); !reflect.DeepEqual(got, []string{"b/1", "b/2"}) {
		t.Errorf("keys %v", got)
	}
}

func TestCronsAndMetrics(t *testing.T) {
	_, sdk := overTheWire(t)
	ctx, save := t.Context(), must[pluginsdk.CronJob](t)
	first := save(sdk.Crons.Save(ctx, pluginsdk.CronJob{Name: "digest", Schedule: "0 7 * * *"}))
	if again := save(sdk.Crons.Save(ctx, pluginsdk.CronJob{Name: "digest", Enabled: true})); again.ID != first.ID || !again.Enabled {
		t.Errorf("saved again %+v", again)
	}
	if got := must[[]pluginsdk.CronJob](t)(sdk.Crons.List(ctx)); len(got) != 1 {
		t.Errorf("listed %+v", got)
	}
	if err := sdk.Crons.Delete(ctx, "digest"); err != nil {
		t.Error(err)
	}
	if err := sdk.Crons.Delete(ctx, "digest"); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("error is %v", err)
	}
	if err := sdk.Metrics.Record(ctx, []pluginsdk.Metric{{Name: "cost", Value: 0.5, Tags: map[string]string{"m": "s"}}, {Name: "turns"}}); err != nil {
		t.Fatal(err)
	}
	got := must[[]pluginsdk.Metric](t)(sdk.Metrics.Query(ctx, pluginsdk.MetricQuery{Name: "cost"}))
	if len(got) != 1 || got[0].Value != 0.5 || got[0].Tags["m"] != "s" {
		t.Errorf("queried %+v", got)
	}
}

func TestToolsAndPlugins(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	host.AddTool(pluginsdk.ToolSpec{Name: "time__now", InputSchema: json.RawMessage(`{}`)})
	host.Tool = func(name string, input json.RawMessage) (pluginsdk.ToolResult, error) {
		return pluginsdk.ToolResult{Text: name, Structured: input, IsError: true}, nil
	}
	if got := must[[]pluginsdk.ToolSpec](t)(sdk.Tools.List(ctx)); len(got) != 1 || got[0].Name != "time__now" {
		t.Errorf("listed %+v", got)
	}
	got := must[pluginsdk.ToolResult](t)(sdk.Tools.Call(ctx, "time__now", json.RawMessage(`{"a":1}`)))
	if got.Text != "time__now" || string(got.Structured) != `{"a":1}` || !got.IsError {
		t.Errorf("called %+v", got)
	}
	host.AddPlugin(pluginsdk.PluginInfo{Name: "time", OnFailure: map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookMessage: pluginsdk.FailClosed}})
	if err := sdk.Plugins.SetEnabled(ctx, "time", true); err != nil {
		t.Error(err)
	}
	listed := must[[]pluginsdk.PluginInfo](t)(sdk.Plugins.List(ctx))
	if len(listed) != 1 || !listed[0].Enabled || listed[0].OnFailure[pluginsdk.HookMessage] != pluginsdk.FailClosed {
		t.Errorf("listed %+v", listed)
	}
	if err := sdk.Plugins.SetEnabled(ctx, "none", true); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("error is %v", err)
	}
}

// A late hook could write into another run if its token did not come along.
func TestAHostCallInsideAHookCarriesItsCall(t *testing.T) {
	host, author := plugintest.NewHost(), newEverything()
	author.on(pluginsdk.HookMessage, func(ctx context.Context) error {
		return author.host.State.Put(ctx, "k", nil)
	})
	plugin := plugintest.Serve(t, author, host.SDK())
	call := theCall()
	if err := plugin.OnMessage(t.Context(), pluginsdk.IncomingMessage{Call: call}); err != nil {
		t.Fatal(err)
	}
	if _, err := author.host.State.Keys(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	want := []plugintest.HostCall{{Method: "State.Put", Call: call}, {Method: "State.Keys"}}
	if got := host.Calls(); !reflect.DeepEqual(got, want) {
		t.Errorf("the host saw\n%+v, want\n%+v", got, want)
	}
}

func TestAHostsErrorKeepsItsCode(t *testing.T) {
	host, sdk := overTheWire(t)
	host.Fail("Threads.Get", pluginsdk.Errorf(pluginsdk.CodeDenied, "needs threads.read"))
	_, err := sdk.Threads.Get(t.Context(), "x")
	if pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || err.Error() != "needs threads.read" {
		t.Errorf("error is %v", err)
	}
}

// A fault of the daemon must not take it down, nor hang the plugin.
func TestAPanicInTheHostIsAnError(t *testing.T) {
	host, sdk := overTheWire(t)
	host.Tool = func(string, json.RawMessage) (pluginsdk.ToolResult, error) { panic("a bug of the host") }
	_, err := sdk.Tools.Call(t.Context(), "x", nil)
	if pluginsdk.CodeOf(err) != pluginsdk.CodeInternal || !strings.Contains(err.Error(), "a bug of the host") {
		t.Errorf("error is %v", err)
	}
}

func TestAServiceThatIsNotOfferedSaysSo(t *testing.T) {
	author := newEverything()
	plugintest.Serve(t, author, pluginsdk.Host{})
	if _, err := author.host.Crons.List(t.Context()); pluginsdk.CodeOf(err) != pluginsdk.CodeUnimplemented {
		t.Errorf("error is %v", err)
	}
}

func TestTheHostsLogIsThePlugins(t *testing.T) {
	var text strings.Builder
	author := newEverything()
	plugintest.Serve(t, author, pluginsdk.Host{Log: slog.New(slog.NewTextHandler(&text, nil))})
	author.host.Log.Warn("look here")
	if !strings.Contains(text.String(), "look here") {
		t.Errorf("logged %q", text.String())
	}
}
