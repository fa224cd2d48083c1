package invoker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// talk runs a turn that people can steer.
func (a *realAgent) talk(ctx context.Context, session, prompt string, emit func(pluginsdk.StreamEvent)) <-chan pluginsdk.InvokeResult {
	results := make(chan pluginsdk.InvokeResult, 1)
	go func() { results <- a.Invoke(ctx, talk("thread", session, prompt), emit) }()
	return results
}

// quiet fails the test when the CLI goes on by itself between turns.
func (a *realAgent) quiet(session string) pluginsdk.InvokeResult {
	a.t.Helper()
	next := <-a.talk(context.Background(), session, "say:on", nil)
	wantText(a.t, next, "on")
	for _, s := range a.pool.sessions() {
		if s.busyWithItself() != nil {
			a.t.Error("the CLI goes on by itself")
		}
	}
	return next
}

func TestRealSteerDuringAToolCallIsTakenUpAfterIt(t *testing.T) {
	a := startReal(t, func(c *Config) { c.AllowedTools = []string{"Bash"} })
	gate := filepath.Join(a.config.Workspace, "gate")
	input, err := json.Marshal(map[string]string{"command": "until [ -e " + gate + " ]; do sleep 0.02; done"})
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder()
	results := a.talk(t.Context(), "", "usetool:Bash "+string(input), r.emit)
	eventually(t, "the tool call", func() bool { return len(r.of(pluginsdk.StreamToolCall)) == 1 })
	mustSteer(t, a, "use the blue one")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	result := <-results
	if result.Failure != nil || !strings.HasPrefix(result.Text, fakeapi.DefaultText) {
		t.Fatalf("result %+v", result)
	}
	if n := len(a.api.Requests(fakeapi.Main, fakeapi.Seeing("use the blue one"))); n == 0 {
		t.Error("the model never saw the message")
	}
	a.quiet(result.SessionID)
}

func TestRealSteerDuringTheLastTextIsAnsweredByTheSameInvoke(t *testing.T) {
	a := startReal(t, nil)
	results := a.talk(t.Context(), "", "block:gate say:first", nil)
	a.api.WaitRequest(t, fakeapi.Saying("block:gate"))
	mustSteer(t, a, "say:second")
	a.api.Release("gate")
	result := <-results
	wantText(t, result, "first\n\nsecond")
	usage := fakeapi.DefaultUsage
	if result.Turns != 2 || result.Usage.InputTokens != 2*usage.InputTokens || result.Usage.OutputTokens != 2*usage.OutputTokens {
		t.Errorf("what both answers cost is not added up: %+v", result)
	}
	if next := a.quiet(result.SessionID); next.CostUSD == 0 || !near(2*next.CostUSD, result.CostUSD) {
		t.Errorf("the turn cost %f, the next, of half its size, %f", result.CostUSD, next.CostUSD)
	}
}

// TestRealSteerAtAnyInstant steers until the turn is over, over and over: the
// model has seen every message that was taken when Invoke returns.
func TestRealSteerAtAnyInstant(t *testing.T) {
	a := startReal(t, nil)
	session, accepted := "", 0
	for round := range 10 {
		results := a.talk(t.Context(), session, "say:x", nil)
		var taken []string
		var result pluginsdk.InvokeResult
		for over, spins := false, 0; !over; spins++ {
			text := fmt.Sprintf("say:message %d of round %d.", len(taken), round)
			if len(taken) < 3 && spins%(200*(round+1)) == 0 && a.Steer("run-thread", text) {
				taken = append(taken, text)
			}
			select {
			case result = <-results:
				over = true
			default:
				runtime.Gosched()
			}
		}
		if result.Failure != nil || !strings.HasPrefix(result.Text, "x") {
			t.Fatalf("result %+v", result)
		}
		for _, text := range taken {
			if len(a.api.Requests(fakeapi.Main, fakeapi.Seeing(text))) == 0 {
				t.Errorf("round %d ended with %q although the model had not seen %q", round, result.Text, text)
			}
		}
		session = result.SessionID
		accepted += len(taken)
	}
	a.quiet(session)
	if n := len(a.pool.sessions()); n != 1 || accepted == 0 {
		t.Errorf("%d processes, %d messages taken", n, accepted)
	}
	t.Logf("%d messages taken", accepted)
}

func TestRealInterruptTakesSteeredMessagesBack(t *testing.T) {
	a := startReal(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	results := a.talk(ctx, "", "block:never hello", nil)
	a.api.WaitRequest(t, fakeapi.Saying("block:never"))
	own := a.pool.sessions()[0].process
	mustSteer(t, a, "say:steered one")
	mustSteer(t, a, "say:steered two")
	cancel()
	result := <-results
	_ = wantFailure(t, result, pluginsdk.FailureInterrupted, false)
	a.quiet(result.SessionID)
	if now := a.pool.sessions(); len(now) != 1 || now[0].process != own {
		t.Error("the process is gone after the interrupt")
	}
	if n := len(a.api.Requests(fakeapi.Seeing("steered"))); n != 0 {
		t.Errorf("the model saw messages that were taken back in %d requests", n)
	}
}

func TestRealSteerIntoATurnThatFails(t *testing.T) {
	a := startReal(t, nil)
	results := a.talk(t.Context(), "", "block:gate apierror:400", nil)
	a.api.WaitRequest(t, fakeapi.Saying("block:gate"))
	mustSteer(t, a, "block:never say:second")
	a.api.Release("gate")
	result := <-results
	_ = wantFailure(t, result, pluginsdk.FailureAPI, false)
	a.noProcesses()
	a.quiet(result.SessionID)
}

func TestRealInterruptKeepsWhatTheTurnCost(t *testing.T) {
	a := startReal(t, func(c *Config) { c.AllowedTools = []string{"Bash"} })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := newRecorder()
	results := a.talk(ctx, "", `usetool:Bash {"command":"sleep 3600"}`, r.emit)
	eventually(t, "the tool call", func() bool { return len(r.of(pluginsdk.StreamToolCall)) == 1 })
	cancel()
	result := <-results
	_ = wantFailure(t, result, pluginsdk.FailureInterrupted, false)
	if result.Usage.InputTokens != fakeapi.DefaultUsage.InputTokens || result.CostUSD == 0 {
		t.Errorf("usage %+v, cost %f: what was spent is lost", result.Usage, result.CostUSD)
	}
}
