package activity

import (
	"errors"
	"reflect"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// What the daemon sees, over the wire: the hooks are declared, the rows arrive
// whole, and a failure to store them does not come back.
func TestOverTheWire(t *testing.T) {
	messages := new(ledger)
	plugin := plugintest.Serve(t, new(Plugin), pluginsdk.Host{Messages: messages})
	want := []pluginsdk.Hook{pluginsdk.HookPipelineStart, pluginsdk.HookPipelineComplete}
	if got := plugin.Manifest().Hooks; !reflect.DeepEqual(got, want) {
		t.Errorf("hooks = %v; want %v", got, want)
	}
	complete := pluginsdk.PipelineComplete{
		Call: call(2), Thread: thread, Outcome: pluginsdk.OutcomeFailed,
		Steps:  []pluginsdk.PipelineStep{{Step: "onMessage"}},
		Events: []pluginsdk.StreamEvent{{Type: pluginsdk.StreamToolCall, ToolName: "a__b", Input: meta(`{"x":"<é>"}`)}},
	}
	for _, err := range []error{nil, errors.New("disk full")} {
		messages.err = err
		if err := plugin.OnPipelineStart(t.Context(), pluginsdk.PipelineStart{Call: call(2), Thread: thread}); err != nil {
			t.Error(err)
		}
		if err := plugin.OnPipelineComplete(t.Context(), complete); err != nil {
			t.Error(err)
		}
	}
	if len(messages.calls) != 4 {
		t.Fatalf("%d appends", len(messages.calls))
	}
	if first := messages.calls[0]; first.key != "R:start" || !reflect.DeepEqual(first.rows, []pluginsdk.NewMessage{startRow("R")}) {
		t.Errorf("at the start: %+v", first)
	}
	if second := messages.calls[1]; second.key != "R:complete:2" || !reflect.DeepEqual(second.rows, completeRows(complete)) {
		t.Errorf("at the end: %+v", second)
	}
}
