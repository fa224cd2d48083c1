package runs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var began = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }

func asked(attempt int, hook, plugin string, from, took int) api.HookCall {
	return api.HookCall{Hook: hook, Plugin: plugin, Attempt: attempt, StartedAt: at(from), DurationMicros: int64(took) * 1000, State: pluginsdk.CallAnswered}
}

// told writes a timeline down: an attempt a line, what happened with when and how long.
func told(run api.Run) (lines []string) {
	for _, one := range timeline(run) {
		line := fmt.Sprint(one.number, ":")
		for _, e := range one.entries {
			line += fmt.Sprintf(" %s@%s", strings.ReplaceAll(e.name, " ", "-"), since(one, e))
			for n, call := range e.calls {
				line += fmt.Sprintf("%c%s", "(,"[min(n, 1)], call.plugin)
				if call.wrong != "" {
					line += "!" + call.wrong
				}
			}
			if len(e.calls) > 0 {
				line += ")"
			}
			if e.took > 0 {
				line += fmt.Sprintf("=%s", e.took)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// Who looks for what made a run slow, or fail, finds which plugin was asked what, in which
// attempt, and for how long.
func TestTimeline(t *testing.T) {
	once := api.Run{Attempt: 1, QueuedAt: at(0), StartedAt: at(0)}
	for name, test := range map[string]struct {
		change func(*api.Run)
		want   []string
	}{
		"nothing yet": {func(r *api.Run) { r.StartedAt = time.Time{} }, []string{"1: Accepted@0"}},
		"hooks, all of one beside each other, in place of their steps": {func(r *api.Run) {
			r.Hooks = []api.HookCall{asked(1, "OnBeforeInvoke", "context", 2, 3), asked(1, "OnPipelineStart", "activity", 3, 1), asked(1, "OnBeforeInvoke", "time", 5, 4)}
			r.Steps = []pluginsdk.PipelineStep{{Step: "onMessage", Timestamp: at(1)}, {Step: "onBeforeInvoke", Timestamp: at(2)}, {Step: "invoking", Timestamp: at(10)}, {Step: "onAfterInvoke", Timestamp: at(30)}}
		}, []string{"1: Accepted@0 Started@0 onMessage@+1 ms OnBeforeInvoke@+2 ms(context,time)=7ms OnPipelineStart@+3 ms(activity)=1ms The-agent-is-asked@+10 ms=20ms The-agent-has-answered@+30 ms"}},
		"a hook that is come to twice": {func(r *api.Run) {
			r.Hooks = []api.HookCall{asked(1, "OnCommand", "tasks", 2, 3), asked(1, "OnCommand", "tasks", 8, 1)}
		}, []string{"1: Accepted@0 Started@0 OnCommand@+2 ms(tasks)=3ms OnCommand@+8 ms(tasks)=1ms"}},
		"what a plugin did not answer, and what is not kept": {func(r *api.Run) {
			denied, failed, passed := asked(1, "OnBeforeRun", "gate", 1, 1), asked(1, "OnMessage", "late", 2, 5), asked(1, "OnMessage", "gone", 7, 0)
			denied.State, denied.Error, failed.State, failed.Error, passed.State = pluginsdk.CallDenied, "too dear", pluginsdk.CallFailed, "deadline", pluginsdk.CallPassedOver
			r.Hooks = []api.HookCall{denied, failed, passed, {Omitted: 7}}
		}, []string{"1: Accepted@0 Started@0 OnBeforeRun@+1 ms(gate!said no: too dear)=1ms OnMessage@+2 ms(late!failed: deadline,gone!was not asked)=5ms And-7-more-calls-of-plugins@+7 ms"}},
		"each attempt by itself, from its own beginning": {func(r *api.Run) {
			r.Attempt, r.FinishedAt = 3, at(5030)
			r.Failures = []pluginsdk.Failed{{Attempt: 1, Error: "overloaded", At: at(9)}, {Attempt: 2, Error: "overloaded", At: at(1009)}}
			r.Hooks = []api.HookCall{asked(1, "OnMessage", "time", 2, 1), asked(2, "OnMessage", "time", 1002, 1), asked(3, "OnMessage", "time", 5002, 1)}
			r.Steps = []pluginsdk.PipelineStep{{Step: "invoking", Timestamp: at(5010)}}
		}, []string{
			"1: Accepted@0 Started@0 OnMessage@+2 ms(time)=1ms The-attempt-failed@+9 ms",
			"2: OnMessage@0(time)=1ms The-attempt-failed@+7 ms",
			"3: OnMessage@0(time)=1ms The-agent-is-asked@+8 ms Over@+28 ms",
		}},
		"attempts in which no plugin was asked": {func(r *api.Run) {
			r.Attempt, r.Failures = 2, []pluginsdk.Failed{{Attempt: 1, Error: "overloaded", At: at(9)}}
			r.Steps = []pluginsdk.PipelineStep{{Step: "invoking", Timestamp: at(1010)}}
		}, []string{"1: Accepted@0 Started@0 The-attempt-failed@+9 ms", "2: The-agent-is-asked@0"}},
		"an attempt that ended with the daemon": {func(r *api.Run) {
			r.Attempt = 2
			r.Hooks = []api.HookCall{asked(1, "OnMessage", "time", 2, 1), asked(2, "OnMessage", "time", 1002, 1)}
			r.Steps = []pluginsdk.PipelineStep{{Step: "invoking", Timestamp: at(1010)}}
		}, []string{"1: Accepted@0 Started@0 OnMessage@+2 ms(time)=1ms", "2: OnMessage@0(time)=1ms The-agent-is-asked@+8 ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			run := once
			test.change(&run)
			if got := told(run); strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("the timeline is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// A bar lies inside of its attempt, and what took no time has none.
func TestBarsLieInTheirAttempt(t *testing.T) {
	run := api.Run{Attempt: 1, QueuedAt: at(-60_000), StartedAt: at(0), FinishedAt: at(100), State: pluginsdk.RunSucceeded,
		Hooks: []api.HookCall{asked(1, "OnMessage", "time", 0, 0), asked(1, "OnBeforeInvoke", "time", 50, 25), asked(1, "OnPipelineComplete", "time", 100, 0)}}
	run.Hooks[2].DurationMicros = 1
	for _, e := range timeline(run)[0].entries {
		if e.took == 0 && e.width != 0 || e.from < 0 || e.from+e.width > 100 {
			t.Errorf("%s, which took %s, has a bar from %v of %v", e.name, e.took, e.from, e.width)
		}
		if e.name == "OnBeforeInvoke" && (e.from < 49.9 || e.from > 50.1 || e.width < 24.9 || e.width > 25.1) {
			t.Errorf("a call from the middle of the run, for a quarter of it, has a bar from %v of %v", e.from, e.width)
		}
	}
}

// What a plugin says is words, whatever it looks like.
func TestTheTimelineEscapes(t *testing.T) {
	call := asked(1, "OnBeforeRun", "gate", 1, 1)
	call.State, call.Error = pluginsdk.CallDenied, "<script>alert(1)</script>"
	run := api.Run{ID: "R", Attempt: 1, QueuedAt: at(0), StartedAt: at(0), Hooks: []api.HookCall{call}}
	var text strings.Builder
	if err := runPage(one{Run: run, thread: "<b>T</b>", attempts: timeline(run)}).Render(t.Context(), &text); err != nil {
		t.Fatal(err)
	}
	if page := text.String(); !strings.Contains(page, "said no: &lt;script&gt;") || strings.Contains(page, "<script>alert") || strings.Contains(page, "<b>T</b>") {
		t.Errorf("the page is %s", page)
	}
}
