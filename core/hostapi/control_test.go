package hostapi

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestRunsAreRetriedAndThreadsStopped(t *testing.T) {
	f := newFixture(pluginsdk.CapRunsControl)
	accepted, err := f.Runs.Retry(t.Context(), "R")
	if err != nil || accepted.RunID != "again R" {
		t.Errorf("%+v, %v", accepted, err)
	}
	stopped, err := f.Runs.Stop(t.Context(), "T", pluginsdk.DropQueue)
	if err != nil || stopped.RunID != "T drop" {
		t.Errorf("%+v, %v", stopped, err)
	}
	// A plugin with a typing error must not have its queue kept or dropped by chance.
	if _, err := f.Runs.Stop(t.Context(), "T", "dorp"); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("queue dorp: %v", err)
	}
}

func TestDeliveriesAreReadAndRetried(t *testing.T) {
	reader := newFixture(pluginsdk.CapDeliveriesRead)
	listed, err := reader.Deliveries.List(t.Context(), pluginsdk.DeliveryQuery{State: pluginsdk.DeliveryDead})
	if err != nil || len(listed) != 1 || listed[0].State != pluginsdk.DeliveryDead {
		t.Errorf("%+v, %v", listed, err)
	}
	made, err := newFixture(pluginsdk.CapDeliveriesControl).Deliveries.Retry(t.Context(), "D")
	if err != nil || made.ID != "D" || made.State != pluginsdk.DeliveryPending {
		t.Errorf("%+v, %v", made, err)
	}
}
