package invoker

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// talk is a request of a run, which people can steer.
func talk(thread, session, prompt string) ledger.AgentRequest {
	r := request(thread, session, prompt)
	r.RunID = "run-" + thread
	return r
}

// startTalk runs a turn, and returns once it says something.
func startTalk(ctx context.Context, t *testing.T, a *testAgent, prompt string) <-chan pluginsdk.InvokeResult {
	t.Helper()
	said := make(chan struct{}, 1000)
	results := make(chan pluginsdk.InvokeResult, 1)
	go func() {
		results <- a.Invoke(ctx, talk("thread", "", prompt), func(pluginsdk.StreamEvent) { said <- struct{}{} })
	}()
	select {
	case <-said:
	case result := <-results:
		t.Fatalf("the turn is over: %+v", result)
	}
	return results
}

// steerer is an agent that can be steered.
type steerer interface {
	Steer(runID, text string) bool
}

func mustSteer(t *testing.T, a steerer, text string) {
	t.Helper()
	if !a.Steer("run-thread", text) {
		t.Fatalf("%q was not taken although a turn is running", text)
	}
}

func TestASteeredMessageIsTakenIntoTheRunningTurn(t *testing.T) {
	a := startAgent(t, "plain", nil)
	results := startTalk(t.Context(), t, a, "taken you said:")
	mustSteer(t, a, "stop at ten")
	result := <-results
	wantText(t, result, "you said: stop at ten")
	if result.Turns != 1 || result.Usage.InputTokens != 10 {
		t.Errorf("result %+v", result)
	}
	next := a.Invoke(t.Context(), talk("thread", result.SessionID, "say on"), nil)
	wantText(t, next, "on")
	if n := len(a.starts()); n != 1 {
		t.Errorf("%d processes", n)
	}
}

func TestASteeredMessageThatIsLateForTheAnswerIsAnsweredAfterIt(t *testing.T) {
	a := startAgent(t, "plain", nil)
	results := startTalk(t.Context(), t, a, "late first")
	mustSteer(t, a, "say second")
	result := <-results
	wantText(t, result, "first\n\nsecond")
	want := pluginsdk.Usage{InputTokens: 20, OutputTokens: 4}
	if result.Turns != 2 || result.Usage != want || !near(result.CostUSD, 0.02) {
		t.Errorf("what both answers cost is not added up: %+v", result)
	}
	next := a.Invoke(t.Context(), talk("thread", result.SessionID, "say on"), nil)
	wantText(t, next, "on")
	if !near(next.CostUSD, 0.01) {
		t.Errorf("the next turn cost %f", next.CostUSD)
	}
}

func near(a, b float64) bool { return a > b-1e-9 && a < b+1e-9 }

func TestASteeredMessageCanBeSteeredItself(t *testing.T) {
	a := startAgent(t, "plain", nil)
	results := startTalk(t.Context(), t, a, "late first")
	mustSteer(t, a, "late second")
	mustSteer(t, a, "say third")
	wantText(t, <-results, "first\n\nsecond\n\nthird")
}

func TestSteerSaysNoWhenNoTurnTakesTheMessage(t *testing.T) {
	a := startAgent(t, "plain", nil)
	if a.Steer("run-thread", "say x") {
		t.Error("taken before there was a turn")
	}
	results := startTalk(t.Context(), t, a, "taken yes:")
	for run, text := range map[string]string{"run-other": "say x", "thread": "say x", "": "say x", "run-thread": " \n"} {
		if a.Steer(run, text) {
			t.Errorf("run %q took %q", run, text)
		}
	}
	mustSteer(t, a, "go")
	result := <-results
	wantText(t, result, "yes: go")
	if a.Steer("run-thread", "say x") {
		t.Error("taken after the turn was over")
	}
	end := blockedTurn(t, a, "summary", "") // its run is none
	if a.Steer("summary", "say x") || a.Steer("", "say x") {
		t.Error("taken by a turn of no run")
	}
	end()
	a.reapOnce(farFuture())
	if a.Steer("run-thread", "say x") {
		t.Error("taken although the process is gone")
	}
}

// TestNoSteeredMessageIsLostAtTheEndOfATurn steers without pause while turns
// end: what was taken is answered by the turn that took it, once.
func TestNoSteeredMessageIsLostAtTheEndOfATurn(t *testing.T) {
	a := startAgent(t, "plain", nil)
	session, accepted := "", 0
	for turn := 0; turn < 60 || accepted == 0 && turn < 10_000; turn++ { // on a busy machine many end before they can be steered
		results := make(chan pluginsdk.InvokeResult, 1)
		go func() { results <- a.Invoke(context.Background(), talk("thread", session, "say x"), nil) }()
		taken := 0
		var result pluginsdk.InvokeResult
		for over := false; !over; {
			if taken < 3 && a.Steer("run-thread", "say y") {
				taken++
			}
			select {
			case result = <-results:
				over = true
			default:
			}
		}
		wantText(t, result, "x"+strings.Repeat("\n\ny", taken))
		session = result.SessionID
		accepted += taken
	}
	if n := len(a.starts()); n != 1 {
		t.Errorf("%d processes", n)
	}
	if accepted == 0 {
		t.Error("no message was taken: nothing was tested")
	}
}

func TestAnInterruptTakesSteeredMessagesBack(t *testing.T) {
	a := startAgent(t, "plain", nil)
	ctx, cancel := context.WithCancel(t.Context())
	results := startTalk(ctx, t, a, "wait")
	mustSteer(t, a, "say one")
	mustSteer(t, a, "say two")
	cancel()
	result := <-results
	_ = wantFailure(t, result, pluginsdk.FailureInterrupted, false)
	if a.Steer("run-thread", "say three") {
		t.Error("taken after the interrupt")
	}
	wantText(t, a.Invoke(t.Context(), talk("thread", result.SessionID, "say on"), nil), "on")
	if n := len(a.starts()); n != 1 {
		t.Errorf("%d processes, want the one kept", n)
	}
}

func TestAnInterruptWhileASteeredMessageIsAnsweredKeepsTheProcess(t *testing.T) {
	a := startAgent(t, "plain", nil)
	ctx, cancel := context.WithCancel(t.Context())
	r := newRecorder()
	results := make(chan pluginsdk.InvokeResult, 1)
	go func() { results <- a.Invoke(ctx, talk("thread", "", "late first"), r.emit) }()
	said := func(n int) func() bool {
		return func() bool { return len(r.of(pluginsdk.StreamText)) == n }
	}
	eventually(t, "the turn to run", said(1))
	mustSteer(t, a, "wait")
	eventually(t, "the message to be answered", said(3)) // working, first, working
	cancel()
	result := <-results
	_ = wantFailure(t, result, pluginsdk.FailureInterrupted, false)
	if !near(result.CostUSD, 0.02) || result.Usage.InputTokens != 20 {
		t.Errorf("what the answer before it cost is lost: %+v", result)
	}
	wantText(t, a.Invoke(t.Context(), talk("thread", result.SessionID, "say on"), nil), "on")
	if n := len(a.starts()); n != 1 {
		t.Errorf("%d processes, want the one kept", n)
	}
}

func TestAProcessThatWouldGoOnWithASteeredMessageIsEndedWithItsTurn(t *testing.T) {
	t.Run("after an interrupt", func(t *testing.T) {
		a := startAgent(t, "hasty", nil)
		ctx, cancel := context.WithCancel(t.Context())
		results := startTalk(ctx, t, a, "wait")
		mustSteer(t, a, "wait")
		cancel()
		_ = wantFailure(t, <-results, pluginsdk.FailureInterrupted, false)
		a.noProcesses()
	})
	t.Run("after an error", func(t *testing.T) {
		a := startAgent(t, "plain", nil)
		results := startTalk(t.Context(), t, a, "latefail 529")
		mustSteer(t, a, "wait")
		result := <-results
		_ = wantFailure(t, result, pluginsdk.FailureAPI, true)
		a.noProcesses()
		if !near(result.CostUSD, 0.01) {
			t.Errorf("cost %f is lost", result.CostUSD)
		}
	})
}

func TestATurnThatCrashesWithASteeredMessageFailsAsAWhole(t *testing.T) {
	a := startAgent(t, "plain", nil)
	results := startTalk(t.Context(), t, a, "late first")
	mustSteer(t, a, "crash now")
	result := <-results
	_ = wantFailure(t, result, pluginsdk.FailureCrashed, true)
	if !near(result.CostUSD, 0.01) || result.Usage.InputTokens != 10 {
		t.Errorf("what the first answer cost is lost: %+v", result)
	}
	a.noProcesses()
}

func TestSteeredTextIsNoCommandToTheCLI(t *testing.T) {
	for text, want := range map[string]string{
		"/clear": `"content":"\n/clear"`, " /clear": `"content":"\n /clear"`, "a/b": `"content":"a/b"`,
	} {
		if line := string(steerLine("id", text)); !strings.Contains(line, want) || !strings.Contains(line, `"uuid":"id"`) {
			t.Errorf("line %s", line)
		}
	}
}
