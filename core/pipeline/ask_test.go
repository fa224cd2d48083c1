package pipeline

import (
	"context"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Nobody is to answer what a run has asked that is over, however it ended; and what a run
// has asked that is not over stays.
func TestQuestionsEndWithTheirRun(t *testing.T) {
	failing := func(kind pluginsdk.FailureKind, retryable bool) *pluginsdk.Failure {
		return &pluginsdk.Failure{Kind: kind, Message: string(kind), Retryable: retryable}
	}
	for name, row := range map[string]struct {
		silent  bool // the agent asks nothing
		earlier bool // an attempt before has reached the agent
		stopped error
		failure *pluginsdk.Failure
		over    bool
	}{
		"answered":                       {over: true},
		"nothing was asked":              {silent: true},
		"perhaps by an attempt before":   {silent: true, earlier: true, over: true},
		"a person stops it":              {stopped: errPerson, failure: failing(pluginsdk.FailureInterrupted, false), over: true},
		"the daemon stops":               {stopped: pluginsdk.Errorf(pluginsdk.CodeUnavailable, "harness is stopping"), failure: failing(pluginsdk.FailureInterrupted, false)},
		"it waits for people":            {failure: failing(pluginsdk.FailureParked, true)},
		"another attempt follows":        {failure: failing(pluginsdk.FailureCrashed, true)},
		"it fails, which the inbox ends": {failure: failing(pluginsdk.FailureOther, false)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			if row.earlier {
				b.claim.Run.Step, b.claim.Run.Attempt = pluginsdk.StepInvoking, 2
			}
			ctx, cancel := context.WithCancelCause(context.Background())
			b.ask = func(context.Context, ledger.Asking, ledger.ToolAsk) ledger.ToolAnswer {
				cancel(row.stopped)
				return ledger.ToolAnswer{Words: "cut off"} // as a question that a stop ends
			}
			b.agent.answer = func(ctx context.Context, r ledger.AgentRequest, _ func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
				if !row.silent {
					r.Ask(ctx, ledger.ToolAsk{Tool: "Bash", ToolUseID: "t1"})
				}
				return pluginsdk.InvokeResult{Text: "done", SessionID: r.SessionID, Failure: row.failure}
			}
			if row.stopped == nil {
				ctx = context.Background()
			}
			_, _ = b.line.Handle(context.Background(), ctx, b.claim)
			if slices.Contains(b.over, "R") != row.over {
				t.Errorf("taken back of %q", b.over)
			}
		})
	}
	b := newBench()
	b.store.fail["Finish"] = pluginsdk.Errorf(pluginsdk.CodeInternal, "it cannot be stored")
	if err := b.line.Fail(t.Context(), b.claim, errPerson, ledger.Left{}); err == nil || len(b.over) > 0 {
		t.Errorf("an end that is not stored: %v, taken back of %q", err, b.over)
	}
	delete(b.store.fail, "Finish")
	if err := b.line.Fail(t.Context(), b.claim, errPerson, ledger.Left{}); err != nil || !slices.Equal(b.over, []string{"R"}) {
		t.Errorf("an end that the inbox stores: %v, taken back of %q", err, b.over)
	}
}
