package plugintest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

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

// must is the answer of a host call that has to work.
func must[V any](value V, err error) V {
	if err != nil {
		panic(err)
	}
	return value
}

func TestThreads(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	create := func(id, name string) *pluginsdk.CreateThreadResponse {
		return must(sdk.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{Source: "web", SourceID: id, Name: name}}))
	}
	made, again := create("1", "first"), create("1", "second")
	if made.Thread.Kind != pluginsdk.ThreadGeneral || made.Existed || !again.Existed || again.Thread.ID != made.Thread.ID || again.Thread.Name != "first" {
		t.Errorf("made %+v, again %+v", made, again)
	}
	id, name, read := made.Thread.ID, "", int64(7)
	report := pluginsdk.Target{ThreadID: "elsewhere"}
	patched := must(sdk.Threads.Update(ctx, &pluginsdk.UpdateThreadRequest{ID: id, Patch: pluginsdk.ThreadPatch{Name: &name, LastReadMessageID: &read, ReportTo: &report}})).Thread
	if patched.Name != "" || patched.LastReadMessageID != 7 || patched.Source != "web" || patched.ReportTo != report {
		t.Errorf("patched %+v: a patch to the empty string must arrive, and leave the rest", patched)
	}
	if got := must(sdk.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: id})).Thread; !reflect.DeepEqual(got, patched) {
		t.Errorf("got %+v", got)
	}
	list := func(query pluginsdk.ThreadQuery) (names []string) {
		for _, thread := range must(sdk.Threads.List(ctx, &pluginsdk.ListThreadsRequest{Query: query})).Threads {
			names = append(names, fmt.Sprintf("%s:%d", thread.SourceID, thread.Unread))
		}
		return names
	}
	create("2", "New name")
	for _, role := range []pluginsdk.Role{pluginsdk.RoleUser, pluginsdk.RoleAssistant} {
		host.AddMessage(pluginsdk.Message{ID: 8, ThreadID: id, Role: role, Kind: pluginsdk.MessageText})
	}
	for _, row := range []struct {
		query pluginsdk.ThreadQuery
		want  string
	}{
		{pluginsdk.ThreadQuery{Source: "discord"}, "[]"},
		{pluginsdk.ThreadQuery{Source: "web", Unread: true}, "[1:1 2:0]"},
		{pluginsdk.ThreadQuery{Order: pluginsdk.ActivityFirst}, "[2:0 1:0]"},
		{pluginsdk.ThreadQuery{Order: pluginsdk.NewestFirst, Limit: 1}, "[2:0]"},
		{pluginsdk.ThreadQuery{Text: "NEW  ame"}, "[2:0]"},
		{pluginsdk.ThreadQuery{Text: "new old"}, "[]"},
		{pluginsdk.ThreadQuery{Kinds: []pluginsdk.ThreadKind{pluginsdk.ThreadTask, pluginsdk.ThreadGeneral}}, "[1:0 2:0]"},
		{pluginsdk.ThreadQuery{Statuses: []pluginsdk.ThreadStatus{pluginsdk.ThreadIdle, pluginsdk.ThreadArchived}}, "[]"},
	} {
		if got := fmt.Sprint(list(row.query)); got != row.want {
			t.Errorf("%+v: listed %s, want %s", row.query, got, row.want)
		}
	}
	if _, err := sdk.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: "none"}); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("error is %v", err)
	}
}

// manifest is of a plugin that may do what the capabilities say.
func manifest(name string, capabilities ...pluginsdk.Capability) pluginsdk.Manifest {
	m := pluginsdk.Manifest{Name: name, Version: "1"}
	for _, capability := range capabilities {
		m.Capabilities = append(m.Capabilities, pluginsdk.CapabilityRequest{Capability: capability, Reason: "r"})
	}
	return m
}

// A test must not pass what the daemon then refuses.
func TestAPluginIsHeldToItsSourcesAndToWhatItAsksFor(t *testing.T) {
	host, ctx := plugintest.NewHost(), t.Context()
	host.AddThread(pluginsdk.Thread{ID: "own", Source: "chat"})
	host.AddThread(pluginsdk.Thread{ID: "other", Source: "web"})
	plain, admin := host.As(manifest("chat")), host.As(manifest("chat", pluginsdk.CapThreadsAdmin))
	cwd, name := "/srv", "n"
	for what, call := range map[string]func(pluginsdk.Host) error{
		"a thread of another's": func(sdk pluginsdk.Host) error {
			_, err := sdk.Threads.Update(ctx, &pluginsdk.UpdateThreadRequest{ID: "other", Patch: pluginsdk.ThreadPatch{Name: &name}})
			return err
		},
		"what it may do": func(sdk pluginsdk.Host) error {
			_, err := sdk.Threads.Update(ctx, &pluginsdk.UpdateThreadRequest{ID: "own", Patch: pluginsdk.ThreadPatch{Cwd: &cwd}})
			return err
		},
		"a new one that reports elsewhere": func(sdk pluginsdk.Host) error {
			thread := pluginsdk.NewThread{Source: "chat", SourceID: "c", ReportTo: pluginsdk.Target{Plugin: "web"}}
			_, err := sdk.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: thread})
			return err
		},
	} {
		if err := call(plain); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || !strings.Contains(err.Error(), "threads.admin") {
			t.Errorf("%s: %v", what, err)
		}
		if err := call(admin); err != nil {
			t.Errorf("%s, with threads.admin: %v", what, err)
		}
	}
	must(plain.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{Key: "k"}}))
	if got := host.Submissions()[0].Source; got != "chat" {
		t.Errorf("submitted under %q", got)
	}
	_, err := plain.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{Source: "web", Key: "k"}})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
		t.Errorf("another's source: %v", err)
	}
	_, err = plain.Events.Publish(ctx, &pluginsdk.PublishEventRequest{Type: "web:x"})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("another's event: %v", err)
	}
	words := pluginsdk.NewMessage{Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Content: "yes"}
	_, err = plain.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{ThreadID: "own", Messages: []pluginsdk.NewMessage{words}})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || len(host.Messages("own")) != 0 {
		t.Errorf("a person's words: %v", err)
	}
}

// asks is a plugin that asks the host for what its manifest does not ask for.
type asks struct {
	nothing
	host pluginsdk.Host
}

func (a *asks) Start(_ context.Context, host pluginsdk.Host) error {
	a.host = host
	return nil
}

func TestServeGrantsWhatTheManifestAsksFor(t *testing.T) {
	a := new(asks)
	plugintest.NewHost().Serve(t, a)
	_, err := a.host.State.Put(t.Context(), &pluginsdk.PutStateRequest{Key: "k"})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || !strings.Contains(err.Error(), "state") {
		t.Errorf("error is %v", err)
	}
}

func TestMessages(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	request := &pluginsdk.AppendMessagesRequest{ThreadID: "thread-1", Key: "start", Messages: []pluginsdk.NewMessage{
		{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: "a"}, {Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageThinking, Content: "b"},
	}}
	first, again := must(sdk.Messages.Append(ctx, request)), must(sdk.Messages.Append(ctx, request))
	if len(first.Messages) != 2 || !reflect.DeepEqual(first, again) || len(host.Messages("thread-1")) != 2 {
		t.Errorf("appended %+v, again %+v", first, again)
	}
	other := *request
	other.Messages = request.Messages[:1]
	if _, err := sdk.Messages.Append(ctx, &other); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict {
		t.Errorf("other content with the same key: %v", err)
	}
	query := pluginsdk.MessageQuery{ThreadID: "thread-1", Last: true, Limit: 1}
	if last := must(sdk.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: query})).Messages; len(last) != 1 || last[0].Content != "b" {
		t.Errorf("listed %+v", last)
	}
	submit := &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{ThreadID: "thread-1", Source: "web", Key: "k", Content: "hello"}}
	accepted, repeated := must(sdk.Messages.Submit(ctx, submit)).Accepted, must(sdk.Messages.Submit(ctx, submit)).Accepted
	query = pluginsdk.MessageQuery{ThreadID: "thread-1", RunID: accepted.RunID}
	if of := must(sdk.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: query})).Messages; len(of) != 1 || of[0].Content != "hello" {
		t.Errorf("of the run %+v", of)
	}
	if accepted.Existed || !repeated.Existed || accepted.RunID != repeated.RunID || len(host.Submissions()) != 1 {
		t.Errorf("accepted %+v, repeated %+v", accepted, repeated)
	}
}

// A test of what a plugin does with people's corrections must meet what the daemon says to them.
func TestAMessageIsAmendedUntilItsRunBegins(t *testing.T) {
	host, ctx := plugintest.NewHost(), t.Context()
	sdk := host.As(manifest("chat"))
	submission := pluginsdk.Submission{ThreadID: "T", Key: "k", Content: "helo", Metadata: json.RawMessage(`{"of":"chat"}`)}
	submit := func(content string) (*pluginsdk.SubmitMessageResponse, error) {
		submission.Content = content
		return sdk.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: submission})
	}
	amend := func(content string) (*pluginsdk.AmendMessageResponse, error) {
		return sdk.Messages.Amend(ctx, &pluginsdk.AmendMessageRequest{ThreadID: "T", Key: "k", Content: content})
	}
	refuses := func(what string, want pluginsdk.Code, err error) {
		t.Helper()
		if pluginsdk.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	_, err := amend("hello")
	refuses("a key that is not known", pluginsdk.CodeNotFound, err)
	accepted := must(submit("helo")).Accepted
	message := must(amend("hello")).Message
	if stored := host.Messages("T"); len(stored) != 1 || !reflect.DeepEqual(stored[0], message) || message.ID != accepted.MessageID ||
		message.Content != "hello" || message.EditedAt().IsZero() || !strings.Contains(string(message.Metadata), `"of":"chat"`) {
		t.Errorf("amended to %+v, stored is %+v", message, stored)
	}
	if again := must(amend("hello")).Message; !reflect.DeepEqual(again, message) {
		t.Errorf("amended to the same again: %+v", again)
	}
	for _, content := range []string{"helo", "hello"} {
		if got := must(submit(content)).Accepted; !got.Existed || got.RunID != accepted.RunID {
			t.Errorf("submitted again with %q: %+v", content, got)
		}
	}
	_, err = submit("another")
	refuses("another one under the key", pluginsdk.CodeConflict, err)
	_, err = amend("/new")
	refuses("a command", pluginsdk.CodeInvalid, err)
	_, err = amend(" ")
	refuses("nothing", pluginsdk.CodeInvalid, err)
	host.BeginRun(accepted.RunID)
	_, err = amend("too late")
	refuses("once the run has begun", pluginsdk.CodeStale, err)
	must(amend("hello")) // says what it says already
	if got := host.Messages("T")[0].Content; got != "hello" {
		t.Errorf("the message says %q", got)
	}
}

// What is delivered goes to where the thread's people are.
func TestAppendedRowsAreDelivered(t *testing.T) {
	host := plugintest.NewHost()
	host.AddThread(pluginsdk.Thread{ID: "people", Source: "chat", SourceID: "c1"})
	host.AddThread(pluginsdk.Thread{ID: "task", Source: "task", ReportTo: pluginsdk.Target{ThreadID: "people"}})
	host.AddThread(pluginsdk.Thread{ID: "job", Source: "cron", ReportTo: pluginsdk.Target{Plugin: "mail", Place: "ann"}})
	sdk := host.As(manifest("news"))
	for _, thread := range []string{"people", "task", "job"} {
		for range 2 {
			must(sdk.Messages.Append(t.Context(), &pluginsdk.AppendMessagesRequest{ThreadID: thread, Key: "k", Deliver: true, Messages: []pluginsdk.NewMessage{
				{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Content: "look"},
				{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: "not for people"},
			}}))
		}
	}
	var got []string
	for _, delivery := range host.Deliveries() {
		got = append(got, delivery.Plugin+":"+delivery.Place)
	}
	if want := []string{"chat:c1", "chat:c1", "mail:ann"}; !slices.Equal(got, want) {
		t.Errorf("delivered to %q, want %q", got, want)
	}
	if row := host.Messages("task")[0]; row.Source != "news" || row.Plugin != "news" {
		t.Errorf("the row is %+v", row)
	}
}

func TestRuns(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	host.AddRun(pluginsdk.Run{
		ID: "run-1", State: pluginsdk.RunRunning, Result: &pluginsdk.InvokeResult{Text: "hi"}, Hooks: []pluginsdk.HookCall{{Plugin: "time"}},
	})
	host.AddRun(pluginsdk.Run{ID: "run-2", State: pluginsdk.RunQueued, CauseRunID: "run-1"})
	host.AddRun(pluginsdk.Run{ID: "run-3", State: pluginsdk.RunQueued})
	if got := must(sdk.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: "run-1"})).Run; got.Result == nil || got.Result.Text != "hi" || len(got.Hooks) != 1 {
		t.Errorf("got %+v", got)
	}
	if got := must(sdk.Runs.Cancel(ctx, &pluginsdk.CancelRunRequest{ID: "run-1", Author: "Ann"})).Run; got.State != pluginsdk.RunCancelled || got.Error != "cancelled by Ann" {
		t.Errorf("cancelled %+v", got)
	}
	for _, row := range []struct {
		query pluginsdk.RunQuery
		want  string
	}{
		{pluginsdk.RunQuery{States: []pluginsdk.RunState{pluginsdk.RunQueued}}, "run-2 run-3"},
		{pluginsdk.RunQuery{Newest: true, Limit: 2}, "run-3 run-2"},
		{pluginsdk.RunQuery{Newest: true, After: "run-2"}, "run-1"},
		{pluginsdk.RunQuery{CauseRunID: "run-1"}, "run-2"},
		{pluginsdk.RunQuery{IDs: []string{"run-3", "run-9", "run-1"}}, "run-1 run-3"},
	} {
		var ids []string
		for _, run := range must(sdk.Runs.List(ctx, &pluginsdk.ListRunsRequest{Query: row.query})).Runs {
			ids = append(ids, run.ID)
			if run.Hooks != nil {
				t.Errorf("a list has the calls of %s", run.ID)
			}
		}
		if got := strings.Join(ids, " "); got != row.want {
			t.Errorf("%+v: listed %s, want %s", row.query, got, row.want)
		}
	}
}

func TestRunsThatFailedAreRetriedOnce(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	message := host.AddMessage(pluginsdk.Message{ThreadID: "thread-1", RunID: "run-0", Content: "do it"})
	host.AddRun(pluginsdk.Run{ID: "run-0", ThreadID: "thread-1", MessageID: message, State: pluginsdk.RunFailed})
	host.AddRun(pluginsdk.Run{ID: "busy", State: pluginsdk.RunRunning})
	retry := func() pluginsdk.Accepted {
		return must(sdk.Runs.Retry(ctx, &pluginsdk.RetryRunRequest{ID: "run-0"})).Accepted
	}
	first, again := retry(), retry()
	if first.RunID == "run-0" || first.Existed || !again.Existed || again.RunID != first.RunID {
		t.Errorf("retried as %+v, then %+v", first, again)
	}
	if rows := host.Messages("thread-1"); len(rows) != 2 || rows[1].Content != "do it" || rows[1].ID != first.MessageID || rows[1].Retry().Of != "run-0" {
		t.Errorf("rows %+v", rows)
	}
	for id, code := range map[string]pluginsdk.Code{"busy": pluginsdk.CodeInvalid, "none": pluginsdk.CodeNotFound} {
		if _, err := sdk.Runs.Retry(ctx, &pluginsdk.RetryRunRequest{ID: id}); pluginsdk.CodeOf(err) != code {
			t.Errorf("retry of %s: %v", id, err)
		}
	}
}

func TestThreadsAreStopped(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	host.AddRun(pluginsdk.Run{ID: "run-1", ThreadID: "T", State: pluginsdk.RunRunning})
	host.AddRun(pluginsdk.Run{ID: "run-2", ThreadID: "T", State: pluginsdk.RunQueued})
	host.AddRun(pluginsdk.Run{ID: "run-3", ThreadID: "other", State: pluginsdk.RunRunning})
	stop := func(queue pluginsdk.Queue) (*pluginsdk.StopThreadResponse, error) {
		return sdk.Runs.Stop(ctx, &pluginsdk.StopThreadRequest{ThreadID: "T", Queue: queue, Author: "Ann"})
	}
	if got := must(stop(pluginsdk.KeepQueue)).Stopped; got.RunID != "run-1" || got.Dropped != nil {
		t.Errorf("stopped %+v", got)
	}
	if got := must(stop(pluginsdk.DropQueue)).Stopped; got.RunID != "" || !reflect.DeepEqual(got.Dropped, []string{"run-2"}) {
		t.Errorf("stopped %+v", got)
	}
	if _, err := stop("maybe"); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("error is %v", err)
	}
}

func TestDeliveries(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	host.AddDelivery(pluginsdk.Delivery{ID: "D1", Plugin: "discord", Place: "c1", State: pluginsdk.DeliveryDead, LastError: "gone"})
	host.AddDelivery(pluginsdk.Delivery{ID: "D2", Plugin: "discord", Place: "c2", State: pluginsdk.DeliveryDelivered})
	query := pluginsdk.DeliveryQuery{State: pluginsdk.DeliveryDead, Plugin: "discord", Place: "c1", Limit: 5}
	if got := must(sdk.Deliveries.List(ctx, &pluginsdk.ListDeliveriesRequest{Query: query})).Deliveries; len(got) != 1 || got[0].LastError != "gone" {
		t.Errorf("listed %+v", got)
	}
	query = pluginsdk.DeliveryQuery{Newest: true, Limit: 1}
	if got := must(sdk.Deliveries.List(ctx, &pluginsdk.ListDeliveriesRequest{Query: query})).Deliveries; len(got) != 1 || got[0].ID != "D2" {
		t.Errorf("the newest is %+v", got)
	}
	if got := must(sdk.Deliveries.Retry(ctx, &pluginsdk.RetryDeliveryRequest{ID: "D1"})).Delivery; got.State != pluginsdk.DeliveryPending {
		t.Errorf("retried %+v", got)
	}
	for id, code := range map[string]pluginsdk.Code{"D2": pluginsdk.CodeInvalid, "none": pluginsdk.CodeNotFound} {
		if _, err := sdk.Deliveries.Retry(ctx, &pluginsdk.RetryDeliveryRequest{ID: id}); pluginsdk.CodeOf(err) != code {
			t.Errorf("retry of %s: %v", id, err)
		}
	}
}

func TestAgent(t *testing.T) {
	host, sdk := overTheWire(t)
	begun := make(chan struct{})
	host.Agent = func(ctx context.Context, r pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		if r.Prompt == "for ever" {
			close(begun)
			<-ctx.Done()
		}
		return pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: r.Prompt, APIStatus: 529}}
	}
	ctx, request := t.Context(), &pluginsdk.StartTurnRequest{Key: "key", Prompt: "think"}
	first, again := must(sdk.Agent.Start(ctx, request)), must(sdk.Agent.Start(ctx, request))
	if first.Existed || !again.Existed || again.RunID != first.RunID || len(host.Turns()) != 1 {
		t.Errorf("started %+v, then %+v for one key", first, again)
	}
	got := must(sdk.Agent.Wait(ctx, &pluginsdk.WaitTurnRequest{RunID: first.RunID}))
	if got.State != pluginsdk.RunFailed || got.Error != "think" || got.Result == nil || got.Result.Failure.APIStatus != 529 {
		t.Errorf("result %+v", got)
	}
	endless := must(sdk.Agent.Start(ctx, &pluginsdk.StartTurnRequest{Prompt: "for ever"})).RunID
	<-begun
	soon, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := sdk.Agent.Wait(soon, &pluginsdk.WaitTurnRequest{RunID: endless}); pluginsdk.CodeOf(err) != pluginsdk.CodeCancelled {
		t.Errorf("a wait that was given up: %v", err)
	}
	must(sdk.Agent.Cancel(ctx, &pluginsdk.CancelTurnRequest{RunID: endless}))
	if got := must(sdk.Agent.Wait(ctx, &pluginsdk.WaitTurnRequest{RunID: endless})); got.State != pluginsdk.RunCancelled {
		t.Errorf("cancelled %+v", got)
	}
	if _, err := sdk.Agent.Wait(ctx, &pluginsdk.WaitTurnRequest{RunID: "none"}); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("error is %v", err)
	}
}

func TestEvents(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	for _, kind := range []pluginsdk.EventType{"x:a", "x:b", "x:c"} {
		must(sdk.Events.Publish(ctx, &pluginsdk.PublishEventRequest{Type: kind, Data: json.RawMessage(`{}`)}))
	}
	list := func(after pluginsdk.Position, limit int) *pluginsdk.ListEventsResponse {
		return must(sdk.Events.List(ctx, &pluginsdk.ListEventsRequest{After: after, Limit: limit}))
	}
	first := list(pluginsdk.Position{}, 2)
	rest := list(first.Next, 0)
	if len(first.Events) != 2 || len(rest.Events) != 1 || rest.Events[0].Type != "x:c" || first.Resync {
		t.Errorf("first %+v, rest %+v", first, rest)
	}
	if got := list(pluginsdk.Position{Boot: "another", Seq: 99}, 0); !got.Resync || len(got.Events) != 3 {
		t.Errorf("of another boot: %+v", got)
	}
	if len(host.Events()) != 3 {
		t.Errorf("published %+v", host.Events())
	}
}

func TestSettings(t *testing.T) {
	host, sdk := overTheWire(t)
	host.SetSettings(json.RawMessage(`{"budget":5}`))
	if got := must(sdk.Settings.Get(t.Context(), &pluginsdk.GetSettingsRequest{})).Settings; string(got) != `{"budget":5}` {
		t.Errorf("settings %s", got)
	}
}

func TestState(t *testing.T) {
	_, sdk := overTheWire(t)
	ctx := t.Context()
	put := func(key, value string, condition *pluginsdk.StateCondition) (*pluginsdk.PutStateResponse, error) {
		return sdk.State.Put(ctx, &pluginsdk.PutStateRequest{Key: key, Value: []byte(value), If: condition})
	}
	for _, key := range []string{"b/2", "b/1", "b/3", "a"} {
		if got := must(put(key, "\x00\xff", &pluginsdk.StateCondition{})); got.Revision != 1 {
			t.Errorf("%s is of revision %d", key, got.Revision)
		}
	}
	if got := must(sdk.State.Get(ctx, &pluginsdk.GetStateRequest{Key: "a"})).Entry; string(got.Value) != "\x00\xff" || got.Revision != 1 {
		t.Errorf("state %+v", got)
	}
	if _, err := put("a", "x", &pluginsdk.StateCondition{}); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict {
		t.Errorf("a key that is there was made: %v", err)
	}
	if got := must(put("a", "x", &pluginsdk.StateCondition{Revision: 1})); got.Revision != 2 {
		t.Errorf("put %+v", got)
	}
	remove := func(condition *pluginsdk.StateCondition) error {
		_, err := sdk.State.Delete(ctx, &pluginsdk.DeleteStateRequest{Key: "a", If: condition})
		return err
	}
	if err := remove(&pluginsdk.StateCondition{Revision: 1}); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict {
		t.Errorf("deleted what had changed: %v", err)
	}
	if err := errors.Join(remove(&pluginsdk.StateCondition{Revision: 2}), remove(nil)); err != nil {
		t.Error(err)
	}
	if _, err := sdk.State.Get(ctx, &pluginsdk.GetStateRequest{Key: "a"}); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("error is %v", err)
	}
	if got := must(put("a", "again", &pluginsdk.StateCondition{})); got.Revision != 3 {
		t.Errorf("revision %d of a key that was deleted: who read it before would not see the change", got.Revision)
	}
	page := must(sdk.State.List(ctx, &pluginsdk.ListStateRequest{Prefix: "b/", Limit: 2, KeysOnly: true}))
	if len(page.Entries) != 2 || page.Entries[0].Key != "b/1" || page.Entries[0].Value != nil || !page.More {
		t.Errorf("listed %+v", page)
	}
	page = must(sdk.State.List(ctx, &pluginsdk.ListStateRequest{Prefix: "b/", After: "b/2"}))
	if len(page.Entries) != 1 || page.Entries[0].Key != "b/3" || len(page.Entries[0].Value) != 2 || page.More {
		t.Errorf("then %+v", page)
	}
}

// Two plugins that choose the same key must not meet.
func TestKeysAreThePluginsOwn(t *testing.T) {
	host, ctx := plugintest.NewHost(), t.Context()
	for _, name := range []string{"one", "two"} {
		sdk := host.As(manifest(name))
		must(sdk.State.Put(ctx, &pluginsdk.PutStateRequest{Key: "k", Value: []byte(name), If: &pluginsdk.StateCondition{}}))
		must(sdk.Metrics.Record(ctx, &pluginsdk.RecordMetricsRequest{Metrics: []pluginsdk.NewMetric{{Key: "k", Name: "n"}}}))
		must(sdk.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{ThreadID: "T", Key: "k", Messages: []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: name}}}))
		task := must(sdk.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Key: "k", Task: pluginsdk.NewTask{Prompt: name}}))
		turn := must(sdk.Agent.Start(ctx, &pluginsdk.StartTurnRequest{Key: "k", Prompt: name}))
		if task.Existed || turn.Existed || task.Task.Plugin != name {
			t.Errorf("%s: %+v, %+v", name, task, turn)
		}
		if entries := host.State(name); len(entries) != 1 || string(entries[0].Value) != name {
			t.Errorf("%s keeps %+v", name, entries)
		}
	}
	if len(host.Metrics()) != 2 || len(host.Messages("T")) != 2 {
		t.Errorf("%+v, %+v", host.Metrics(), host.Messages("T"))
	}
}

// An operator who turned a job off must not find it on again because its plugin
// was started.
func TestASavedCronStaysAsTheOperatorHasIt(t *testing.T) {
	_, sdk := overTheWire(t)
	ctx := t.Context()
	save := func(schedule string) *pluginsdk.SaveCronResponse {
		return must(sdk.Crons.Save(ctx, &pluginsdk.SaveCronRequest{Spec: pluginsdk.CronSpec{Name: "digest", Schedule: schedule}, Enabled: true}))
	}
	first := save("0 7 * * *")
	if first.Existed || !first.Job.Enabled {
		t.Errorf("made %+v", first)
	}
	must(sdk.Crons.SetEnabled(ctx, &pluginsdk.SetCronEnabledRequest{Name: "digest"}))
	at := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
	must(sdk.Crons.Report(ctx, &pluginsdk.ReportCronRequest{Name: "digest", Status: pluginsdk.CronStatus{LastRun: at, LastResult: "ok"}}))
	must(sdk.Crons.Report(ctx, &pluginsdk.ReportCronRequest{Name: "digest", Status: pluginsdk.CronStatus{LastRun: at, NextRun: at.Add(time.Hour)}}))
	again := save("0 8 * * *")
	want := pluginsdk.CronStatus{LastRun: at, NextRun: at.Add(time.Hour)}
	if !again.Existed || again.Job.ID != first.Job.ID || again.Job.Enabled || again.Job.Spec.Schedule != "0 8 * * *" || again.Job.Status != want {
		t.Errorf("saved again %+v", again)
	}
	if got := must(sdk.Crons.List(ctx, &pluginsdk.ListCronsRequest{})).Jobs; len(got) != 1 {
		t.Errorf("listed %+v", got)
	}
	must(sdk.Crons.Delete(ctx, &pluginsdk.DeleteCronRequest{Name: "digest"}))
	_, err := sdk.Crons.Delete(ctx, &pluginsdk.DeleteCronRequest{Name: "digest"})
	_, report := sdk.Crons.Report(ctx, &pluginsdk.ReportCronRequest{Name: "digest"})
	_, enable := sdk.Crons.SetEnabled(ctx, &pluginsdk.SetCronEnabledRequest{Name: "digest"})
	for _, err := range []error{err, report, enable} {
		if pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			t.Errorf("of a job that is not there: %v", err)
		}
	}
}

func TestMetrics(t *testing.T) {
	_, sdk := overTheWire(t)
	ctx, at := t.Context(), time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	values := []pluginsdk.NewMetric{{Key: "k", Name: "cost", Value: 0.5, Tags: map[string]string{"m": "s"}, At: at}, {Name: "turns"}}
	for range 2 {
		must(sdk.Metrics.Record(ctx, &pluginsdk.RecordMetricsRequest{Metrics: values}))
	}
	got := must(sdk.Metrics.Query(ctx, &pluginsdk.QueryMetricsRequest{Query: pluginsdk.MetricQuery{Name: "cost"}})).Metrics
	if len(got) != 1 || got[0].Value != 0.5 || got[0].Tags["m"] != "s" || !got[0].CreatedAt.Equal(at) {
		t.Errorf("queried %+v: a key that is known records nothing", got)
	}
	if got := must(sdk.Metrics.Query(ctx, &pluginsdk.QueryMetricsRequest{Query: pluginsdk.MetricQuery{Name: "turns"}})).Metrics; len(got) != 2 {
		t.Errorf("queried %+v: without a key each call records", got)
	}
	if _, err := sdk.Metrics.Record(ctx, &pluginsdk.RecordMetricsRequest{Metrics: make([]pluginsdk.NewMetric, 1001)}); pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted {
		t.Errorf("1001 values: %v", err)
	}
}

// What a plugin shows of the daemon's figures is tried without a daemon.
func TestFigures(t *testing.T) {
	host, sdk := overTheWire(t)
	want := pluginsdk.Figure{
		Name: "harness_turn_seconds", Help: "How long turns took.", Kind: pluginsdk.FigureHistogram, Samples: []pluginsdk.FigureSample{{
			Labels: map[string]string{"outcome": "answered"}, Value: 1.5, Count: 2, Buckets: []pluginsdk.FigureBucket{{Bound: 1, Count: 1}},
		}},
	}
	host.AddFigure(want)
	if got := must(sdk.Metrics.Figures(t.Context(), &pluginsdk.ListFiguresRequest{})).Figures; len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("got %+v", got)
	}
}

// A late hook could write into another run if its token did not come along.
func TestAHostCallInsideAHookCarriesItsCall(t *testing.T) {
	host, author := plugintest.NewHost(), newEverything()
	author.on(pluginsdk.HookMessage, func(ctx context.Context) error {
		_, err := author.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: "k"})
		return err
	})
	plugin := plugintest.Serve(t, author, host.SDK())
	call := theCall()
	must(plugin.OnMessage(t.Context(), &pluginsdk.OnMessageRequest{Call: call}))
	must(author.host.State.List(t.Context(), &pluginsdk.ListStateRequest{}))
	want := []plugintest.HostCall{{Method: "State.Put", Call: call}, {Method: "State.List"}}
	if got := host.Calls(); !reflect.DeepEqual(got, want) {
		t.Errorf("the host saw\n%+v, want\n%+v", got, want)
	}
}

func TestAHostsErrorKeepsItsCode(t *testing.T) {
	host, sdk := overTheWire(t)
	host.Fail("Threads.Get", pluginsdk.Errorf(pluginsdk.CodeDenied, "needs threads.read"))
	_, err := sdk.Threads.Get(t.Context(), &pluginsdk.GetThreadRequest{ID: "x"})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || err.Error() != "needs threads.read" {
		t.Errorf("error is %v", err)
	}
}

// A fault of the daemon must not take it down, nor hang the plugin.
func TestAPanicInTheHostIsAnError(t *testing.T) {
	host, sdk := overTheWire(t)
	host.Tool = func(string, json.RawMessage) (pluginsdk.ToolResult, error) { panic("a bug of the host") }
	_, err := sdk.Tools.Call(t.Context(), &pluginsdk.InvokeToolRequest{Name: "x"})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeInternal || !strings.Contains(err.Error(), "a bug of the host") {
		t.Errorf("error is %v", err)
	}
}

func TestAServiceThatIsNotOfferedSaysSo(t *testing.T) {
	author := newEverything()
	plugintest.Serve(t, author, pluginsdk.Host{})
	if _, err := author.host.Crons.List(t.Context(), &pluginsdk.ListCronsRequest{}); pluginsdk.CodeOf(err) != pluginsdk.CodeUnimplemented {
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

// A plugin that gives strangers a thread is to see in its tests what the core makes of it.
func TestHostGivesThreadsTheirOwnDirectories(t *testing.T) {
	host := plugintest.NewHost()
	sdk, ctx := host.As(manifest("chat")), t.Context()
	create := func(id, cwd string) (*pluginsdk.CreateThreadResponse, error) {
		return sdk.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{Source: "chat", SourceID: id, Cwd: cwd, OwnDirectory: true}})
	}
	one, two := must(create("1", "")).Thread, must(create("2", "")).Thread
	if one.Cwd == "" || one.Cwd == two.Cwd {
		t.Errorf("they work in %q and %q", one.Cwd, two.Cwd)
	}
	if again := must(create("1", "")); !again.Existed || again.Thread.Cwd != one.Cwd {
		t.Errorf("asked again: %+v", again)
	}
	branch := must(sdk.Threads.Branch(ctx, &pluginsdk.BranchThreadRequest{ThreadID: one.ID, Source: "chat", SourceID: "3"})).Thread
	if branch.Cwd == "" || branch.Cwd == one.Cwd {
		t.Errorf("a branch works in %q", branch.Cwd)
	}
	if _, err := create("4", "/srv"); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("beside a cwd: %v", err)
	}
}
