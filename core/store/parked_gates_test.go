package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// forBudget is how a run is parked for a budget.
func forBudget(c ledger.Claim, plugin, budget string, until, due time.Time) ledger.ParkedRun {
	return ledger.ParkedRun{RunID: c.Run.ID, Due: due, Parked: pluginsdk.Parked{Reason: "used up", Plugin: plugin, Budget: budget, Until: until}}
}

// Who looks how many wait reads a right number: also of the messages behind, and of runs beside their thread, and not
// of a run that goes on.
func TestWhatIsParkedIsCounted(t *testing.T) {
	clocked(t, func(t *testing.T, s *store.Store, clock *time.Time) {
		ctx := t.Context()
		midnight, hour := clock.Add(14*time.Hour), clock.Add(time.Hour)
		if counts := must[[]ledger.ParkedCount](t)(s.ParkedCounts(ctx)); len(counts) != 0 {
			t.Errorf("counted without runs: %+v", counts)
		}
		for n := range 3 {
			c := claimed(t, s, fmt.Sprintf("daily %d", n))
			for k := range n {
				must[ledger.Accepted](t)(s.Accept(ctx, acceptance(c.Thread.ID, fmt.Sprint("behind", n, k), "behind")))
			}
			command := acceptance(c.Thread.ID, fmt.Sprint("command", n), "/budget")
			command.Kind = pluginsdk.RunCommand
			must[ledger.Accepted](t)(s.Accept(ctx, command))
			must[[]ledger.Lane](t)(s.ParkRun(ctx, c.Fence, forBudget(c, "metrics", "daily", midnight.Add(time.Duration(n)*time.Second), hour)))
		}
		ever := claimed(t, s, "ever")
		must[[]ledger.Lane](t)(s.ParkRun(ctx, ever.Fence, forBudget(ever, "metrics", "ever", time.Time{}, hour)))
		planned := claimed(t, s, "planned")
		must[[]ledger.Lane](t)(s.ParkRun(ctx, planned.Fence, parkedFor(planned, hour)))
		turn := claimTurn(t, s, acceptTurn(t, s, pluginsdk.StartTurnRequest{Prompt: "review"}).RunID, "test")
		must[[]ledger.Lane](t)(s.ParkRun(ctx, turn.Fence, forBudget(turn, "metrics", "daily", midnight, hour)))
		want := []ledger.ParkedCount{
			{Runs: 1, Until: hour},
			{Plugin: "metrics", Budget: "daily", Runs: 4, Behind: 3, Until: midnight.Add(2 * time.Second)},
			{Plugin: "metrics", Budget: "ever", Runs: 1},
		}
		counts := must[[]ledger.ParkedCount](t)(s.ParkedCounts(ctx))
		if len(counts) != len(want) {
			t.Fatalf("counted %+v, want %+v", counts, want)
		}
		for i, one := range counts {
			if !one.Until.Equal(want[i].Until) {
				t.Errorf("%s until %v, want %v", one.Budget, one.Until, want[i].Until)
			}
			if one.Until = want[i].Until; one != want[i] {
				t.Errorf("counted %+v, want %+v", one, want[i])
			}
		}
		if waits := must[[]ledger.AtGate](t)(s.WaitingAtGates(ctx)); len(waits) != 5 || waits[0].Plugin != "metrics" || !waits[0].Due.Equal(hour) {
			t.Errorf("waiting at gates are %+v", waits)
		}
		*clock = hour
		claim(t, s, ever.Thread.ID)
		if n := len(must[[]ledger.ParkedCount](t)(s.ParkedCounts(ctx))); n != 2 {
			t.Errorf("%d are waited for once one goes on", n)
		}
	})
}

// A row that somebody has damaged by SQL, which SQLite stores, keeps no other from being found and from going on.
func TestADamagedParkedRunHoldsUpNoOther(t *testing.T) {
	s := storetest.OpenConfig(t, storetest.SQLite(t))
	hour := time.Now().Add(time.Hour)
	for _, name := range []string{"damaged", "whole"} {
		c := claimed(t, s, name)
		must[[]ledger.Lane](t)(s.ParkRun(t.Context(), c.Fence, forBudget(c, "metrics", name, hour, hour)))
	}
	byHand(t, s, "UPDATE runs SET parked = '{' WHERE CAST(parked AS TEXT) LIKE '%damaged%'")
	if waits := must[[]ledger.AtGate](t)(s.WaitingAtGates(t.Context())); len(waits) != 1 {
		t.Errorf("waiting at gates are %+v", waits)
	}
	if went := must[[]ledger.Queue](t)(s.HastenGate(t.Context(), "metrics", time.Now(), time.Now())); len(went) != 1 {
		t.Errorf("%d go on", len(went))
	}
	must[[]ledger.ParkedCount](t)(s.ParkedCounts(t.Context()))
}

// One that is known by its id goes on, if it waits for a gate still.
func TestSomeRunsOfAGateGoOn(t *testing.T) {
	clocked(t, func(t *testing.T, s *store.Store, clock *time.Time) {
		ctx := t.Context()
		hour := clock.Add(time.Hour)
		first, second, planned := claimed(t, s, "first"), claimed(t, s, "second"), claimed(t, s, "planned")
		must[[]ledger.Lane](t)(s.ParkRun(ctx, first.Fence, forBudget(first, "metrics", "daily", hour, hour)))
		must[[]ledger.Lane](t)(s.ParkRun(ctx, second.Fence, forBudget(second, "metrics", "daily", hour, hour)))
		must[[]ledger.Lane](t)(s.ParkRun(ctx, planned.Fence, parkedFor(planned, hour)))
		ids := []string{first.Run.ID, planned.Run.ID, "nobody"}
		if queues := only[ledger.Queue](t)(s.HastenRuns(ctx, ids, *clock)); queues.ThreadID != first.Thread.ID {
			t.Errorf("woken is %+v", queues)
		}
		if again := must[[]ledger.Queue](t)(s.HastenRuns(ctx, ids, *clock)); len(again) != 0 {
			t.Errorf("woken again are %+v", again)
		}
		if c := claim(t, s, first.Thread.ID); c.Run.ID != first.Run.ID {
			t.Errorf("claimed %+v", c.Run)
		}
	})
}

// Ten thousand runs wait: all are counted, a list has an end, and having them go on is one statement.
func TestTenThousandRunsWait(t *testing.T) {
	const many = 10_000
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		c := claimed(t, s, "general")
		must[[]ledger.Lane](t)(s.ParkRun(ctx, c.Fence, forBudget(c, "metrics", "daily", time.Now().Add(8*time.Hour), time.Now().Add(time.Hour))))
		check(t, s.CopyRun(ctx, c.Run.ID, many-1))
		if n := must[int](t)(s.CountParked(ctx)); n != many {
			t.Errorf("counted %d", n)
		}
		if counts := only[ledger.ParkedCount](t)(s.ParkedCounts(ctx)); counts.Runs != many {
			t.Errorf("counted %+v", counts)
		}
		figures := must[[]pluginsdk.Figure](t)(s.Figures(ctx))
		for _, figure := range figures {
			if figure.Name != "harness_runs_parked" {
				continue
			}
			for _, sample := range figure.Samples {
				if want := map[string]float64{"budget": many, "plan": 0}[sample.Labels["for"]]; sample.Value != want {
					t.Errorf("the figure for %s is %v", sample.Labels["for"], sample.Value)
				}
			}
		}
		if listed := must[[]pluginsdk.Run](t)(s.ParkedRuns(ctx, "", 0)); len(listed) != 100 {
			t.Errorf("listed are %d", len(listed))
		}
		if queues := must[[]ledger.Queue](t)(s.HastenGate(ctx, "", time.Now(), time.Now())); len(queues) != many {
			t.Errorf("woken are %d", len(queues))
		}
	})
}
