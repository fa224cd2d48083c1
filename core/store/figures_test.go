package store_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// An operator sees a queue that grows before people complain: each run that waits is
// counted once, where it waits, and since when.
func TestBacklogIsWhatWaits(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		ctx, clock := context.Background(), time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		config.Now = func() time.Time { return clock }
		s := storetest.OpenConfig(t, config)
		if backlog := must[[]ledger.Backlog](t)(s.Backlog(ctx)); len(backlog) != 0 {
			t.Errorf("nothing waits: %+v", backlog)
		}
		one, other := newThread(t, s, "one"), newThread(t, s, "other")
		accept(t, s, one.ID, "is at work")
		claim(t, s, one.ID)
		reply(t, s, other.ID, "is over")
		for range 3 {
			clock = clock.Add(time.Minute)
			accept(t, s, one.ID, "waits")
		}
		clock = clock.Add(time.Minute)
		accept(t, s, other.ID, "waits")
		acceptTurn(t, s, pluginsdk.StartTurnRequest{Prompt: "waits, in no thread"})
		acceptTurn(t, s, pluginsdk.StartTurnRequest{ThreadID: one.ID, Prompt: "waits beside its thread"})
		backlog := must[[]ledger.Backlog](t)(s.Backlog(ctx))
		slices.SortFunc(backlog, func(a, b ledger.Backlog) int { return strings.Compare(string(a.Thread), string(b.Thread)) })
		runs := 0
		for _, sort := range backlog {
			runs += sort.Runs
			want := clock
			if !sort.Beside {
				want = clock.Add(-3 * time.Minute)
			}
			if !sort.Oldest.Equal(want) {
				t.Errorf("%+v: want it to be since %s", sort, want)
			}
		}
		if len(backlog) != 3 || runs != 6 {
			t.Errorf("%d runs wait: %+v", runs, backlog)
		}
	})
}

// A database that fills up, that is slow or away, and what it holds for people who have
// not got it: an operator is told before the disk is full.
func TestFiguresOfTheDatabase(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		ctx, clock := context.Background(), time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		config.Now = func() time.Time { return clock }
		s := storetest.OpenConfig(t, config)
		thread := newThread(t, s, "general")
		for _, answer := range []string{"refused", "waits", "waits"} {
			reply(t, s, thread.ID, answer)
			clock = clock.Add(time.Minute)
		}
		check(t, s.DeliveryDead(ctx, begin(t, s, next(t, s, "discord", "general").ID).Delivery.ID, "nobody lives there"))
		if _, _, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", NewTask: pluginsdk.NewTask{Prompt: "do it"}}); err != nil {
			t.Fatal(err)
		}
		told := make(map[string]pluginsdk.FigureSample)
		for _, figure := range append(must[[]pluginsdk.Figure](t)(s.Figures(ctx)), s.Counted()...) {
			for _, sample := range figure.Samples {
				told[figure.Name+" "+sample.Labels["state"]+sample.Labels["status"]+sample.Labels["durable"]] = sample
			}
		}
		for name, want := range map[string]float64{
			"harness_deliveries pending": 2, "harness_deliveries dead": 1, "harness_deliveries_oldest_seconds ": 120,
			"harness_tasks pending": 1, "harness_tasks waiting": 0, "harness_database_write_failures_total ": 0,
		} {
			if sample, there := told[name]; !there || sample.Value != want {
				t.Errorf("%s: %+v, told %v; want %v", name, sample, there, want)
			}
		}
		if size := told["harness_database_size_bytes "].Value; size < 4096 {
			t.Errorf("it has %v bytes", size)
		}
		writes := told["harness_database_write_duration_seconds true"].Count + told["harness_database_write_duration_seconds false"].Count
		if waits := told["harness_database_write_wait_seconds "].Count; writes < 10 || waits != writes {
			t.Errorf("%d writes took their time, and %d waited for their turn", writes, waits)
		}
	})
}

// What cannot be written because the database does not take it is an alarm; what the
// store itself refuses is none.
func TestWritesThatTheDatabaseDoesNotTakeAreCounted(t *testing.T) {
	s := storetest.Open(t)
	failures := func() float64 {
		for _, figure := range s.Counted() {
			if figure.Name == "harness_database_write_failures_total" {
				return figure.Samples[0].Value
			}
		}
		return -1
	}
	wantCode(t, second(s.Accept(context.Background(), acceptance("no such thread", "1", "x"))), pluginsdk.CodeNotFound)
	if n := failures(); n != 0 {
		t.Errorf("a refusal counts as a failure of the database: %v", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, second(s.Accept(context.Background(), acceptance("T", "2", "x"))), pluginsdk.CodeUnavailable)
	if n := failures(); n != 1 {
		t.Errorf("%v writes failed, want 1", n)
	}
}

// A backlog of millions must not be what keeps the database busy: it is counted as far as
// matters to who is woken by it.
func TestFiguresAreOfSoManyRowsAtMost(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		reply(t, s, newThread(t, s, "general").ID, "waits")
		check(t, s.Write(ctx, false, func(ctx context.Context, tx *store.Tx) error {
			return tx.Run1(ctx, `INSERT INTO deliveries (id, message_id, plugin, target, state, attempt, last_error, external_id, created_at)
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10500)
				SELECT d.id || n.i, d.message_id, d.plugin, d.target, d.state, d.attempt, d.last_error, d.external_id, d.created_at FROM deliveries d, n`)
		}))
		for _, figure := range must[[]pluginsdk.Figure](t)(s.Figures(ctx)) {
			if figure.Name == "harness_deliveries" && (len(figure.Samples) != 1 || figure.Samples[0].Value != 10000) {
				t.Errorf("counted %+v", figure.Samples)
			}
		}
	})
}

// A schedule that fails, or that has not succeeded for long, and messages that wait for a plan or a budget are
// worth an alarm.
func TestFiguresOfWhatWaitsAndOfSchedules(t *testing.T) {
	clocked(t, func(t *testing.T, s *store.Store, clock *time.Time) {
		ctx := t.Context()
		figures := func() map[string]float64 {
			told := make(map[string]float64)
			for _, figure := range must[[]pluginsdk.Figure](t)(s.Figures(ctx)) {
				for _, sample := range figure.Samples {
					told[figure.Name+" "+sample.Labels["for"]+sample.Labels["job"]] = sample.Value
				}
			}
			return told
		}
		c, other := claimed(t, s, "general"), claimed(t, s, "other")
		parked := parkedFor(c, clock.Add(time.Hour))
		parked.Parked.Plugin, parked.Parked.Budget = "metrics", "daily"
		must[[]ledger.Lane](t)(s.ParkRun(ctx, c.Fence, parked))
		for name, on := range map[string]bool{"digest": true, "off": false, "never": true} {
			if _, _, err := s.SaveCron(ctx, pluginsdk.CronSpec{Name: name, Schedule: "0 7 * * *", Prompt: "x"}, on); err != nil {
				t.Fatal(err)
			}
		}
		told := figures()
		for name, want := range map[string]float64{"harness_runs_parked budget": 1, "harness_runs_parked plan": 0, "harness_cron_failures digest": 0, "harness_cron_failures never": 0} {
			if got, there := told[name]; !there || got != want {
				t.Errorf("%s is %v (told: %t), want %v", name, got, there, want)
			}
		}
		if _, there := told["harness_cron_failures off"]; there {
			t.Error("a schedule that is off is told of")
		}
		if _, there := told["harness_cron_last_success_timestamp_seconds digest"]; there {
			t.Error("a schedule that has not fired has succeeded")
		}
		if _, err := s.ReportCron(ctx, "off", pluginsdk.CronStatus{Failures: 3}); err != nil {
			t.Fatal(err)
		}
		if told := figures(); told["harness_cron_failures off"] != 3 {
			t.Errorf("of a schedule that was turned off after failures: %v", told)
		}
		must[[]ledger.Lane](t)(s.ParkRun(ctx, other.Fence, parkedFor(other, clock.Add(time.Hour))))
		at := *clock
		if _, err := s.ReportCron(ctx, "digest", pluginsdk.CronStatus{}, pluginsdk.CronFire{Due: at, State: pluginsdk.FireSucceeded, Cause: pluginsdk.FireScheduled, DecidedAt: at, EndedAt: at}); err != nil {
			t.Fatal(err)
		}
		if told := figures(); told["harness_runs_parked plan"] != 1 || told["harness_cron_last_success_timestamp_seconds digest"] != float64(at.Unix()) {
			t.Errorf("told %v", told)
		}
	})
}
