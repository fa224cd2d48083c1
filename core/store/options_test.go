package store_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A message that has options is answered alone: what it may cost, and who is shown it, must not become
// what holds for another's, nor be lost with its own. It has the same options whether its run is
// claimed at once, later, or by a retry.
func TestAMessageWithOptionsIsAnsweredAlone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		thread := newThread(t, s, "options")
		options := &pluginsdk.RunOptions{QuietReply: true, Session: pluginsdk.SessionFresh, Model: "haiku", CostCapUSD: 0.5, Timeout: time.Minute, AllowedTools: []string{"WebFetch"}}
		accept := func(run, key string, options *pluginsdk.RunOptions, claimer string) ledger.Accepted {
			t.Helper()
			return must[ledger.Accepted](t)(s.Accept(ctx, ledger.Acceptance{
				RunID: run, Plugin: "cron", Kind: pluginsdk.RunMessage, Claimer: claimer,
				Submission: pluginsdk.Submission{ThreadID: thread.ID, Source: "cron", Key: key, Content: key, Options: options},
			}))
		}
		first := accept("run-1", "first", options, "me").Claim
		if !first.Found || !reflect.DeepEqual(first.Run.Options, options) || first.Run.Purpose != "cron" {
			t.Fatalf("claimed at once: %+v", first.Run)
		}
		accept("run-2", "plain", nil, "")
		if waiting := must[[]pluginsdk.Message](t)(s.Absorbable(ctx, first.Fence, "run-1")); len(waiting) != 0 {
			t.Errorf("a run with options would answer %d messages more", len(waiting))
		}
		check(t, second(s.Finish(ctx, first.Fence, ledger.Finish{RunID: "run-1", State: pluginsdk.RunFailed})))
		plain := must[ledger.Claim](t)(s.Claim(ctx, thread.ID, "me"))
		accept("run-3", "third", options, "")
		accept("run-4", "plain too", nil, "")
		waiting := must[[]pluginsdk.Message](t)(s.Absorbable(ctx, plain.Fence, "run-2"))
		if len(waiting) != 0 {
			t.Errorf("a message with options, or one behind it, would be merged: %+v", waiting)
		}
		third := must[pluginsdk.Message](t)(s.Message(ctx, must[pluginsdk.Run](t)(s.Run(ctx, "run-3")).MessageID))
		if merged := must[[]pluginsdk.Message](t)(s.Absorb(ctx, plain.Fence, "run-2", []pluginsdk.Message{third})); len(merged) != 0 {
			t.Errorf("it was merged all the same: %+v", merged)
		}
		check(t, second(s.Finish(ctx, plain.Fence, ledger.Finish{RunID: "run-2", State: pluginsdk.RunSucceeded})))
		if claim := must[ledger.Claim](t)(s.Claim(ctx, thread.ID, "me")); claim.Run.ID != "run-3" || !reflect.DeepEqual(claim.Run.Options, options) {
			t.Errorf("claimed later: %s with %+v", claim.Run.ID, claim.Run.Options)
		}
		for run, want := range map[string]*pluginsdk.RunOptions{"run-1": options, "run-2": nil} {
			if got := must[*pluginsdk.RunOptions](t)(s.RunOptions(ctx, must[pluginsdk.Run](t)(s.Run(ctx, run)))); !reflect.DeepEqual(got, want) {
				t.Errorf("a retry of %s has the options %+v, want %+v", run, got, want)
			}
		}
	})
}
