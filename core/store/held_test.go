package store_test

import (
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Whom a run waits for stands in the thread, once, and in the database for who asks, as long as
// the run waits: not once the agent was asked, nor when another attempt has the run.
func TestARunThatWaitsForAPluginSaysSo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		c := claimed(t, s, "general")
		call := pluginsdk.HookCall{Hook: pluginsdk.HookBeforeRun, Plugin: "budget", Attempt: 1, StartedAt: time.Now().UTC().Truncate(time.Microsecond), State: pluginsdk.CallWaiting}
		held := ledger.HeldRun{RunID: c.Run.ID, Hooks: []pluginsdk.HookCall{call}, Row: &ledger.Row{
			Key: "held:" + c.Run.ID + ":budget", Message: pluginsdk.NewMessage{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "core", Content: "waits"},
		}}
		if lanes := must[[]ledger.Lane](t)(s.HoldRun(ctx, c.Fence, held)); len(lanes) != 1 {
			t.Errorf("carried to %+v", lanes)
		}
		if lanes := must[[]ledger.Lane](t)(s.HoldRun(ctx, c.Fence, held)); len(lanes) != 0 {
			t.Errorf("carried again to %+v", lanes)
		}
		if waits := only[ledger.Waits](t)(s.Waits(ctx)); waits.RunID != c.Run.ID || waits.ThreadID != c.Thread.ID || waits.Call != call {
			t.Errorf("waits: %+v", waits)
		}
		if err := s.SaveIntent(ctx, c.Fence, ledger.Intent{RunID: c.Run.ID, SessionID: "s"}); err != nil {
			t.Fatal(err)
		}
		if waits := must[[]ledger.Waits](t)(s.Waits(ctx)); len(waits) != 0 {
			t.Errorf("the agent was asked, and it waits for %+v", waits)
		}
		held.Hooks[0].Error = "the plugin budget lacks the capability turns.decide"
		must[[]ledger.Lane](t)(s.HoldRun(ctx, c.Fence, held))
		if waits := only[ledger.Waits](t)(s.Waits(ctx)); waits.Call != held.Hooks[0] {
			t.Errorf("with its answer, for a grant: %+v", waits)
		}
		must[[]ledger.Queue](t)(s.Recover(ctx, "another boot"))
		claim(t, s, c.Thread.ID)
		wantCode(t, second(s.HoldRun(ctx, c.Fence, held)), pluginsdk.CodeStale)
	})
}
