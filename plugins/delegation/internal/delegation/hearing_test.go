package delegation

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// heard returns the threads of which the ends of runs are heard besides those of tasks.
func (w *world) heard() []string {
	rules, _ := w.host.Listening()
	if len(rules) < 3 {
		return nil
	}
	return rules[2].Threads
}

// A run of people's concerns nobody here while no group is open in its thread: the plugin
// neither hears of it nor asks of it.
func TestRunsOfPeopleAreHeardOfWhileAGroupIsUntold(t *testing.T) {
	w := newWorld(t, immortal)
	rules := new(Plugin).Manifest().EventRules
	if len(rules) != 2 || rules[0].Types[0] != "task:*" || !slices.Equal(rules[1].ThreadKinds, []pluginsdk.ThreadKind{pluginsdk.ThreadTask}) {
		t.Errorf("the manifest has %+v", rules)
	}
	w.activate()
	if _, listened := w.host.Listening(); listened {
		t.Error("it has nothing to hear besides what its manifest says, and says so")
	}
	w.host.AddRun(pluginsdk.Run{ID: "run", ThreadID: "parent", State: pluginsdk.RunRunning})
	id := w.gives("run", 1, "wake=all one")
	if heard := w.heard(); !slices.Equal(heard, []string{"parent"}) {
		t.Errorf("with a group it hears of %v", heard)
	}
	w.completes(id, "result")
	w.told(w.host.FinishRun("run", pluginsdk.InvokeResult{Text: "ok"}))
	if sent, heard := w.sent("parent"), w.heard(); len(sent) != 1 || heard != nil {
		t.Errorf("sent %q; the group is told of, and it hears of %v", sent, heard)
	}
}

// A host that does not take what is to be heard loses nothing: what was not heard is found by
// the next look, and it is said again.
func TestAGroupIsToldOfWhenListeningIsRefused(t *testing.T) {
	for _, code := range []pluginsdk.Code{pluginsdk.CodeUnimplemented, pluginsdk.CodeUnavailable} {
		w := newWorld(t, immortal)
		w.host.Fail("Events.Listen", pluginsdk.Errorf(code, "no"))
		w.host.AddRun(pluginsdk.Run{ID: "run", ThreadID: "parent", State: pluginsdk.RunRunning})
		w.completes(w.gives("run", 1, "wake=all one"), "result")
		over := w.host.FinishRun("run", pluginsdk.InvokeResult{Text: "ok"})
		if code == pluginsdk.CodeUnimplemented { // an older daemon tells all
			w.told(over)
		} else {
			w.host.Fail("Events.Listen", nil)
			w.told(pluginsdk.Event{Type: pluginsdk.EventResync}) // a look
		}
		if sent := w.sent("parent"); len(sent) != 1 {
			t.Errorf("%s: sent %q", code, sent)
		}
	}
}

// The run that gives a task of a group may end between two calls of the plugin: who listens
// first and looks then does not miss that.
func TestARunThatEndsBeforeItIsHeardOfIsSeen(t *testing.T) {
	w := newWorld(t, immortal)
	w.host.AddRun(pluginsdk.Run{ID: "run", ThreadID: "parent", State: pluginsdk.RunRunning})
	id := w.gives("run", 1, "wake=all one")
	w.completes(id, "result")
	sdk := w.host.SDK()
	sdk.Log = discard
	sdk.Events = endsMeanwhile{Events: sdk.Events, end: sync.OnceFunc(func() { w.host.FinishRun("run", pluginsdk.InvokeResult{Text: "ok"}) })}
	plugin := new(Plugin)
	if err := plugin.Start(t.Context(), sdk); err != nil {
		t.Fatal(err)
	}
	task := w.task(id) // a group that this process has not heard of
	if err := plugin.tellGroup(t.Context(), group{task.ParentThreadID, task.Labels[labelGroup]}); err != nil {
		t.Fatal(err)
	}
	if sent := w.sent("parent"); len(sent) != 1 {
		t.Errorf("sent %q", sent)
	}
}

// What an event says of a task is not asked of the host, and what is another plugin's is
// none of this one's.
func TestMovesThatMakeNothingDueAskNothing(t *testing.T) {
	w := newWorld(t, immortal)
	sdk := w.host.SDK()
	sdk.Log = discard
	plugin := new(Plugin)
	if err := plugin.Start(t.Context(), sdk); err != nil {
		t.Fatal(err)
	}
	plugin.host = pluginsdk.Host{Log: discard} // whoever asks it dies
	for _, of := range []pluginsdk.TaskPayload{
		{Plugin: "another", Status: pluginsdk.TaskRunning},
		{Plugin: name, Status: pluginsdk.TaskPending},
		{Plugin: name, Status: pluginsdk.TaskEvaluating},
		{Plugin: name, Status: pluginsdk.TaskWaiting},
		{Plugin: name, Status: pluginsdk.TaskFailed}, // its end is not done
	} {
		of.TaskID = "task"
		data, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		event := pluginsdk.Event{Type: pluginsdk.EventTaskProgress, Data: data}
		if _, err := plugin.OnBroadcast(t.Context(), &pluginsdk.OnBroadcastRequest{Events: []pluginsdk.Event{event}}); err != nil {
			t.Error(err)
		}
	}
}

// endsMeanwhile has something end while the plugin says what is to be heard.
type endsMeanwhile struct {
	pluginsdk.Events

	end func()
}

func (e endsMeanwhile) Listen(ctx context.Context, request *pluginsdk.ListenEventsRequest) (*pluginsdk.ListenEventsResponse, error) {
	e.end()
	return e.Events.Listen(ctx, request)
}
