package delegation

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// Most runs are people's: while no task runs, their ends ask the host nothing. From the first
// move of a task on they do, also when it moves while the plugin looks.
func TestTheEndOfARunAsksNothingWhileNoTaskRuns(t *testing.T) {
	host := plugintest.NewHost()
	host.AddThread(pluginsdk.Thread{ID: "parent", Kind: pluginsdk.ThreadGeneral, Source: "web"})
	looks, plugin, sdk := make(chan pluginsdk.TaskQuery, 1), new(Plugin), host.SDK()
	sdk.Log, sdk.Tasks = discard, looking{sdk.Tasks, looks}
	if err := plugin.Start(t.Context(), sdk); err != nil {
		t.Fatal(err)
	}
	told := func(event pluginsdk.Event) {
		if _, err := plugin.OnBroadcast(t.Context(), &pluginsdk.OnBroadcastRequest{Events: []pluginsdk.Event{event}}); err != nil {
			t.Error(err)
		}
	}
	asked := func() bool {
		told(pluginsdk.Event{Type: pluginsdk.EventPipelineComplete, ThreadID: "a person's"})
		select {
		case <-looks:
			return true
		default:
			return false
		}
	}
	look := func() {
		told(pluginsdk.Event{Type: pluginsdk.EventResync})
		<-looks
	}
	look()
	if asked() {
		t.Error("no task runs, and the host is asked")
	}
	host.AddTask(pluginsdk.Task{ID: "task", ThreadID: "worker", MaxIterations: 5, CostCapUSD: 1, Plugin: name, Status: pluginsdk.TaskRunning})
	told(pluginsdk.Event{Type: pluginsdk.EventTaskCreated, Data: []byte(`{"taskId":"task"}`)})
	if !asked() {
		t.Error("a task has moved, and the host is not asked")
	}
	if look(); !asked() {
		t.Error("a task runs, and the host is not asked")
	}

	found := plugin.running.look()
	plugin.running.moved()
	if found(); !asked() {
		t.Error("a task has moved during the look, and the host is not asked")
	}
}
