package hostapi

import (
	"context"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestRunsAreRetriedAndThreadsStopped(t *testing.T) {
	f, ctx := newFixture(), t.Context()
	retried, err := f.Runs.Retry(ctx, &pluginsdk.RetryRunRequest{ID: "R", Author: "bob"})
	if err != nil || retried.Accepted.RunID != "again R" {
		t.Errorf("%+v, %v", retried, err)
	}
	stopped, err := f.Runs.Stop(ctx, &pluginsdk.StopThreadRequest{ThreadID: "T", Queue: pluginsdk.DropQueue, Author: "ann"})
	if err != nil || stopped.Stopped.RunID != "T drop" {
		t.Errorf("%+v, %v", stopped, err)
	}
	if _, err := f.Runs.Cancel(ctx, &pluginsdk.CancelRunRequest{ID: "R"}); err != nil {
		t.Error(err)
	}
	// Who had a run repeated or stopped is stored, and is not for the plugin to leave out.
	if want := []ledger.By{{Plugin: "p", Author: "bob"}, {Plugin: "p", Author: "ann"}, {Plugin: "p"}}; !slices.Equal(f.inbox.by, want) {
		t.Errorf("asked by %+v, want %+v", f.inbox.by, want)
	}
	// A plugin with a typing error must not have its queue kept or dropped by chance.
	refused(t, "queue dorp", second(f.Runs.Stop(ctx, &pluginsdk.StopThreadRequest{ThreadID: "T", Queue: "dorp"})), pluginsdk.CodeInvalid)
}

func TestDeliveriesAreReadAndRetried(t *testing.T) {
	f, ctx := newFixture(), t.Context()
	listed, err := f.Deliveries.List(ctx, &pluginsdk.ListDeliveriesRequest{Query: pluginsdk.DeliveryQuery{State: pluginsdk.DeliveryDead}})
	if err != nil || len(listed.Deliveries) != 1 || listed.Deliveries[0].State != pluginsdk.DeliveryDead {
		t.Errorf("%+v, %v", listed, err)
	}
	made, err := f.Deliveries.Retry(ctx, &pluginsdk.RetryDeliveryRequest{ID: "D"})
	if err != nil || made.Delivery.ID != "D" || made.Delivery.State != pluginsdk.DeliveryPending {
		t.Errorf("%+v, %v", made, err)
	}
}

// To have a parked run go on is a person's word, and with a fallback it spends their money: a
// plugin that has nobody behind it, or an agent by the hooks and tools of its run, must not.
func TestOnlyAPersonHasAParkedRunGoOn(t *testing.T) {
	f := newFixture()
	said := &pluginsdk.ResumeRunRequest{RunID: "R", Fallback: true, Author: "Ann"}
	for what, origin := range map[string]ledger.Behalf{
		"a run's hook or tool":  {RunID: "R", Fence: ledger.Fence{ThreadID: "mine"}},
		"what a run has caused": {CauseRunID: "R"},
		"a task's hook":         {TaskID: "K"},
	} {
		ctx, _ := f.within(t, origin)
		refused(t, what, second(f.Runs.Resume(ctx, said)), pluginsdk.CodeDenied, "only a person", "outside of its hooks and tools")
		refused(t, what+", in a person's name", second(f.Runs.Resume(pluginsdk.WithPerson(ctx, "Bob"), said)), pluginsdk.CodeDenied)
	}
	for _, nobodys := range []pluginsdk.ResumeRunRequest{{RunID: "R", Fallback: true}, {RunID: "R", Model: "haiku"}, {RunID: "R"}} {
		refused(t, "nobody's word", second(f.Runs.Resume(t.Context(), &nobodys)), pluginsdk.CodeInvalid, "author:", "name the person")
	}
	if len(f.inbox.by) > 0 {
		t.Fatalf("it goes on, by %+v", f.inbox.by)
	}
	for _, ctx := range []context.Context{t.Context(), pluginsdk.WithPerson(t.Context(), "Bob")} {
		if _, err := f.Runs.Resume(ctx, said); err != nil {
			t.Error(err)
		}
	}
	if want := []ledger.By{{Plugin: "p", Author: "Ann"}, {Plugin: "p", Author: "Bob"}}; !slices.Equal(f.inbox.by, want) { // who was checked, not who is claimed
		t.Errorf("by %+v, want %+v", f.inbox.by, want)
	}
}
