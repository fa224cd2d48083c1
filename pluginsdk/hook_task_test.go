package pluginsdk_test

import (
	"maps"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A plugin that says where a task is worked on must not take back what another said of
// it, by not having heard of it.
func TestATasksContextKeepsWhatAnAnswerDoesNotName(t *testing.T) {
	cwd, none := "/tree", ""
	before := pluginsdk.TaskContext{Cwd: "/repo", Context: "read this", Labels: map[string]string{"team": "a", "stage": "draft", "gone": "x"}}
	for _, c := range []struct {
		answer *pluginsdk.OnTaskCreateResponse
		want   pluginsdk.TaskContext
	}{
		{nil, before},
		{&pluginsdk.OnTaskCreateResponse{}, before},
		{&pluginsdk.OnTaskCreateResponse{Cwd: &cwd}, pluginsdk.TaskContext{Cwd: cwd, Context: before.Context, Labels: before.Labels}},
		{&pluginsdk.OnTaskCreateResponse{Context: &none}, pluginsdk.TaskContext{Cwd: before.Cwd, Labels: before.Labels}},
		{
			&pluginsdk.OnTaskCreateResponse{SetLabels: map[string]string{"stage": "final", "new": "y"}, RemoveLabels: []string{"gone", "new"}},
			pluginsdk.TaskContext{Cwd: before.Cwd, Context: before.Context, Labels: map[string]string{"team": "a", "stage": "final", "new": "y"}},
		},
	} {
		got := before.Changed(c.answer)
		if got.Cwd != c.want.Cwd || got.Context != c.want.Context || !maps.Equal(got.Labels, c.want.Labels) {
			t.Errorf("%+v makes %+v, want %+v", c.answer, got, c.want)
		}
	}
	if before.Labels["stage"] != "draft" || before.Labels["gone"] != "x" {
		t.Errorf("the context of before has changed: %+v", before)
	}
}
