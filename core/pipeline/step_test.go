package pipeline

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The agent is told that it was given a message before as long as an attempt may have acted,
// also when a later attempt comes to nothing. It may have when it has said something: a turn
// that answers a steered message after its first words can fail then.
func TestTheStepAfterATurn(t *testing.T) {
	for _, c := range []struct {
		kind        pluginsdk.FailureKind // empty: it has succeeded
		interrupted bool
		event       pluginsdk.StreamEventType // empty: the agent has done nothing
		want        pluginsdk.RunStep
	}{
		{"", true, "", pluginsdk.StepInvoked},
		{pluginsdk.FailurePlan, false, "", pluginsdk.StepAccepted},
		{pluginsdk.FailurePlan, false, pluginsdk.StreamRetry, pluginsdk.StepAccepted},
		{pluginsdk.FailurePlan, false, pluginsdk.StreamText, pluginsdk.StepInvoking},
		{pluginsdk.FailurePlan, true, "", pluginsdk.StepInvoking},
		{pluginsdk.FailureAPI, false, "", pluginsdk.StepAccepted},
		{pluginsdk.FailureAPI, false, pluginsdk.StreamThinking, pluginsdk.StepInvoking},
		{pluginsdk.FailureAPI, false, pluginsdk.StreamTextDelta, pluginsdk.StepInvoking},
		{pluginsdk.FailureAPI, false, pluginsdk.StreamToolCall, pluginsdk.StepInvoking},
		{pluginsdk.FailureAPI, true, "", pluginsdk.StepInvoking},
		{pluginsdk.FailureCrashed, false, "", pluginsdk.StepInvoking},
		{pluginsdk.FailureUnknownSession, true, "", pluginsdk.StepAccepted},
	} {
		var failure *pluginsdk.Failure
		turn := &trip{interrupted: c.interrupted}
		if c.event != "" {
			turn.keep(pluginsdk.StreamEvent{Type: c.event})
		}
		if c.kind != "" {
			failure = &pluginsdk.Failure{Kind: c.kind}
		}
		if got := turn.nextStep(failure); got != c.want {
			t.Errorf("%q, event %q, after an attempt that may have acted (%t): %q, want %q", c.kind, c.event, c.interrupted, got, c.want)
		}
	}
}
