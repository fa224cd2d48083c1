package pipeline

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The agent is told that it was given a message before as long as an attempt may have acted,
// also when a later attempt comes to nothing.
func TestTheStepAfterATurn(t *testing.T) {
	for _, c := range []struct {
		kind        pluginsdk.FailureKind // empty: it has succeeded
		interrupted bool
		want        pluginsdk.RunStep
	}{
		{"", true, pluginsdk.StepInvoked},
		{pluginsdk.FailurePlan, false, pluginsdk.StepAccepted},
		{pluginsdk.FailurePlan, true, pluginsdk.StepInvoking},
		{pluginsdk.FailureAPI, false, pluginsdk.StepAccepted},
		{pluginsdk.FailureAPI, true, pluginsdk.StepInvoking},
		{pluginsdk.FailureCrashed, false, pluginsdk.StepInvoking},
		{pluginsdk.FailureUnknownSession, true, pluginsdk.StepAccepted},
	} {
		var failure *pluginsdk.Failure
		if c.kind != "" {
			failure = &pluginsdk.Failure{Kind: c.kind}
		}
		if got := (&trip{interrupted: c.interrupted}).nextStep(failure); got != c.want {
			t.Errorf("%q after an attempt that may have acted (%t): %s, want %s", c.kind, c.interrupted, got, c.want)
		}
	}
}
