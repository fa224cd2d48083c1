package validation_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/examples/drafts/validation"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

func review(ctx context.Context, plugin *plugintest.Plugin) (*pluginsdk.OnTaskCompleteResponse, error) {
	return plugin.OnTaskComplete(ctx, &pluginsdk.OnTaskCompleteRequest{
		Call:   pluginsdk.Call{ID: "call-1"},
		Task:   pluginsdk.Task{ID: "task-1", ThreadID: "T", Prompt: "build it", Cwd: "/repo", CurrentIteration: 2},
		Result: pluginsdk.InvokeResult{Text: "DONE: built"},
	})
}

// reviewer answers its turns one after the other.
func reviewer(answers ...string) (ask func(context.Context, pluginsdk.StartTurnRequest) pluginsdk.InvokeResult, asked func() int) {
	var count atomic.Int64
	return func(context.Context, pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		return pluginsdk.InvokeResult{StructuredOutput: []byte(answers[count.Add(1)-1])}
	}, func() int { return int(count.Load()) }
}

// A reviewer takes longer than a call may be silent: the core must hear of it.
func TestItSaysThatItIsAliveWhileTheReviewerWorks(t *testing.T) {
	host, heard := plugintest.NewHost(), make(chan struct{})
	var request pluginsdk.StartTurnRequest
	host.Agent = func(ctx context.Context, r pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		request = r
		for range 3 {
			select {
			case <-heard:
			case <-ctx.Done():
			}
		}
		return pluginsdk.InvokeResult{StructuredOutput: []byte(
			`{"verdict":"reject","feedback":"no tests","evidence":[{"kind":"command","command":"make test","exitCode":2}]}`)}
	}
	plugin := host.Serve(t, &validation.Plugin{Beat: time.Millisecond})
	ctx := pluginsdk.WithProgress(t.Context(), func(pluginsdk.Progress) {
		select {
		case heard <- struct{}{}:
		default: // the reviewer has heard enough
		}
	})
	answer, err := review(ctx, plugin)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Verdict != pluginsdk.VerdictReject || answer.Feedback != "no tests" || len(answer.Evidence) != 1 || answer.Evidence[0].ExitCode != 2 {
		t.Errorf("answered %+v", answer)
	}
	if request.TaskID != "task-1" || request.Cwd != "/repo" || request.Session != "" || len(request.JSONSchema) == 0 || !strings.Contains(request.Prompt, "build it") {
		t.Errorf("asked %+v", request)
	}
}

// Work is accepted on evidence, and on nothing else.
func TestWhatIsNoVerdictNeverAccepts(t *testing.T) {
	for _, answer := range []string{
		``, `null`, `{}`, `{"verdict":"accept"}`, `{"verdict":"accept","feedback":"","evidence":[]}`, `{"verdict":"maybe","evidence":[{"kind":"file"}]}`,
		`{"verdict":"accept","evidence":[{"kind":"file"}],"by":"me"}`, `I accept`,
	} {
		host := plugintest.NewHost()
		host.Agent, _ = reviewer(answer)
		if got, err := review(t.Context(), host.Serve(t, new(validation.Plugin))); err == nil || got != nil {
			t.Errorf("%q: answered %+v", answer, got)
		}
	}
	host := plugintest.NewHost()
	host.Agent = func(context.Context, pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		return pluginsdk.InvokeResult{
			StructuredOutput: []byte(`{"verdict":"accept","evidence":[{"kind":"file"}]}`), Failure: &pluginsdk.Failure{Message: "too dear"},
		}
	}
	if _, err := review(t.Context(), host.Serve(t, new(validation.Plugin))); err == nil || !strings.Contains(err.Error(), "too dear") {
		t.Errorf("a turn that failed: %v", err)
	}
}

const good = `{"verdict":"accept","feedback":"","evidence":[{"kind":"command","command":"make test"}]}`

// The core asks again after an error: one more turn, and not the spoilt one again.
func TestAReviewThatCannotBeReadIsMadeOnceMore(t *testing.T) {
	host := plugintest.NewHost()
	var asked func() int
	host.Agent, asked = reviewer("rubbish", "rubbish", good)
	for attempt := 1; attempt <= 4; attempt++ {
		answer, err := review(t.Context(), host.Serve(t, new(validation.Plugin)))
		if wantTurns := min(attempt, 3); asked() != wantTurns || (err == nil) != (attempt >= 3) {
			t.Errorf("attempt %d: %+v, %v, after %d turns", attempt, answer, err, asked())
		}
	}
}

// A review costs money: one that has been made is not made again because the
// plugin was killed.
func TestAReviewIsMadeOnceWhereverThePluginIsKilled(t *testing.T) {
	died := true
	for call := int64(1); died; call++ {
		for _, carriedOut := range []bool{false, true} {
			host := plugintest.NewHost()
			var asked func() int
			host.Agent, asked = reviewer(good, good)
			first := host.ServeUntil(t, new(validation.Plugin), plugintest.Death{Call: call, CarriedOut: carriedOut})
			answer, err := review(t.Context(), first)
			if died = first.Died(); died {
				answer, err = review(t.Context(), host.Serve(t, new(validation.Plugin)))
			}
			if err != nil || answer.Verdict != pluginsdk.VerdictAccept || asked() != 1 {
				t.Errorf("killed at call %d (carried out: %v): %+v, %v, after %d turns", call, carriedOut, answer, err, asked())
			}
		}
	}
}
