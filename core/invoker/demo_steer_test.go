package invoker

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// heldDemo is a demo agent whose turn has begun and waits for release.
func heldDemo(t *testing.T, script *Script) (demo *Demo, release func() pluginsdk.InvokeResult) {
	t.Helper()
	begun, gate := make(chan struct{}), make(chan struct{})
	demo = NewDemo(DemoConfig{Script: script, OnInvoke: func(ledger.AgentRequest) {
		close(begun)
		<-gate
	}})
	results := make(chan pluginsdk.InvokeResult, 1)
	go func() { results <- demo.Invoke(context.Background(), talk("thread", "", "first"), nil) }()
	<-begun
	return demo, func() pluginsdk.InvokeResult {
		close(gate)
		return <-results
	}
}

func TestTheDemoAgentAnswersASteeredMessageInTheSameTurn(t *testing.T) {
	demo, release := heldDemo(t, NewScript(
		Rule{Match: "first", Text: "one", CostUSD: 1}, Rule{Match: "second", Text: "two", CostUSD: 2, Delay: 1}))
	mustSteer(t, demo, "second")
	mustSteer(t, demo, "and a third")
	result := release()
	if result.Failure != nil || result.Turns != 3 || result.CostUSD != 3 {
		t.Fatalf("result %+v", result)
	}
	if !strings.HasPrefix(result.Text, DemoMark+" one\n\n"+DemoMark+" two\n\n") || !strings.Contains(result.Text, "and a third") {
		t.Errorf("text %q", result.Text)
	}
	if demo.Steer("run-thread", "late") {
		t.Error("taken after the turn was over")
	}
}

func TestTheDemoAgentFailsASteeredTurnAsAWhole(t *testing.T) {
	demo, release := heldDemo(t, NewScript(Rule{Match: "second", CostUSD: 2, Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: "busy"}}))
	mustSteer(t, demo, "second")
	result := release()
	_ = wantFailure(t, result, pluginsdk.FailureAPI, false)
	if result.CostUSD != 2 {
		t.Errorf("cost %f", result.CostUSD)
	}
	if demo.Steer("run-thread", "late") {
		t.Error("taken after the turn was over")
	}
}

func TestTheDemoAgentIsNotSteeredWithoutATurn(t *testing.T) {
	demo, release := heldDemo(t, nil)
	for run, text := range map[string]string{"run-other": "x", "thread": "x", "": "x", "run-thread": " "} {
		if demo.Steer(run, text) {
			t.Errorf("run %q took %q", run, text)
		}
	}
	if result := release(); strings.Contains(result.Text, "\n\n"+DemoMark) {
		t.Errorf("text %q", result.Text)
	}
}
