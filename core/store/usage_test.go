package store_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// someUsage stores four turns: two of a thread, one of a plugin, one of a task that failed.
func someUsage(t *testing.T, s *store.Store) {
	t.Helper()
	at := time.Date(2026, 3, 1, 23, 59, 59, 0, time.UTC)
	for _, run := range []ledger.AgentRun{
		{ThreadID: "T1", Purpose: "pipeline", Model: "a", CostUSD: 1, Duration: time.Second, Success: true, StartedAt: at, Usage: pluginsdk.Usage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4}},
		{ThreadID: "T1", Purpose: "pipeline", Model: "b", CostUSD: 2, Duration: time.Second, Success: true, StartedAt: at.Add(time.Second), Usage: pluginsdk.Usage{InputTokens: 10, OutputTokens: 20, CacheReadTokens: 30, CacheWriteTokens: 40}},
		{ThreadID: "T2", Plugin: "validation", Purpose: "validation", Model: "a", CostUSD: 4, Success: true, StartedAt: at.Add(2 * time.Second)},
		{ThreadID: "T3", TaskID: "K", Purpose: "task", Model: "a", CostUSD: 8, StartedAt: at.Add(48 * time.Hour)},
	} {
		must[int64](t)(s.KeepAgentRun(t.Context(), run))
	}
}

// What people are shown of their money has to be what was recorded, however it is looked at.
func TestUsageIsSummedUp(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if empty := must[*pluginsdk.UsageResponse](t)(s.Usage(t.Context(), pluginsdk.UsageRequest{By: pluginsdk.UsageByModel})); empty.Total.Turns != 0 || len(empty.Sums) != 0 {
			t.Errorf("of nothing: %+v", empty)
		}
		someUsage(t, s)
		whole := must[*pluginsdk.UsageResponse](t)(s.Usage(t.Context(), pluginsdk.UsageRequest{}))
		want := pluginsdk.UsageSum{Turns: 4, Failed: 1, CostUSD: 15, Duration: 2 * time.Second, Usage: pluginsdk.Usage{InputTokens: 11, OutputTokens: 22, CacheReadTokens: 33, CacheWriteTokens: 44}}
		if whole.Total != want || whole.Sums != nil {
			t.Errorf("all together: %+v", whole)
		}
		for by, want := range map[pluginsdk.UsageBy]string{
			pluginsdk.UsageByThread:  "T3=8 T2=4 T1=3",
			pluginsdk.UsageByPurpose: "task=8 validation=4 pipeline=3",
			pluginsdk.UsageByModel:   "a=13 b=2",
			pluginsdk.UsageByTask:    "K=8 =7",
			pluginsdk.UsageByPlugin:  "=11 validation=4",
			pluginsdk.UsageByDay:     "2026-03-03=8 2026-03-02=6 2026-03-01=1",
		} {
			answer := must[*pluginsdk.UsageResponse](t)(s.Usage(t.Context(), pluginsdk.UsageRequest{By: by}))
			if got := shownSums(answer); got != want || answer.Total != whole.Total {
				t.Errorf("by %s: %s of %+v, want %s", by, got, answer.Total, want)
			}
		}
		day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
		for _, c := range []struct {
			request pluginsdk.UsageRequest
			want    string
			total   float64
		}{
			{pluginsdk.UsageRequest{Since: day}, "T3=8 T2=4 T1=2", 14},
			{pluginsdk.UsageRequest{Until: day}, "T1=1", 1},
			{pluginsdk.UsageRequest{Since: day, Until: day.Add(24 * time.Hour), ThreadID: "T1"}, "T1=2", 2},
			{pluginsdk.UsageRequest{Limit: 1}, "T3=8", 15},
		} {
			c.request.By = pluginsdk.UsageByThread
			if answer := must[*pluginsdk.UsageResponse](t)(s.Usage(t.Context(), c.request)); shownSums(answer) != c.want || answer.Total.CostUSD != c.total {
				t.Errorf("%+v: %s of %v", c.request, shownSums(answer), answer.Total.CostUSD)
			}
		}
		wantCode(t, second(s.Usage(t.Context(), pluginsdk.UsageRequest{By: "colour"})), pluginsdk.CodeInvalid)
	})
}

// A turn that two models have answered must not be counted twice, nor be the one's alone; and
// what nobody is billed must not look like money.
func TestUsageByModelAndAccount(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		for _, run := range []ledger.AgentRun{
			{ThreadID: "T", Purpose: "pipeline", Model: "opus", Account: "work", Notional: true, CostUSD: 3, Duration: time.Second, StartedAt: at, CostUnsure: true,
				Usage: pluginsdk.Usage{InputTokens: 30, OutputTokens: 3}, Models: []pluginsdk.ModelUsage{
					{Model: "haiku", CostUSD: 1, Usage: pluginsdk.Usage{InputTokens: 10, OutputTokens: 1}},
					{Model: "opus", CostUSD: 2, Usage: pluginsdk.Usage{InputTokens: 20, OutputTokens: 2}},
				}},
			{ThreadID: "T", Purpose: "pipeline", Model: "opus", Account: "spare", CostUSD: 4, Duration: time.Second, Success: true, StartedAt: at},
		} {
			must[int64](t)(s.KeepAgentRun(t.Context(), run))
		}
		whole := pluginsdk.UsageSum{
			Turns: 2, Failed: 1, CostUSD: 7, NotionalUSD: 3, Unsure: 1, Duration: 2 * time.Second, Usage: pluginsdk.Usage{InputTokens: 30, OutputTokens: 3},
		}
		for by, want := range map[pluginsdk.UsageBy]string{
			pluginsdk.UsageByModel: "opus=6 haiku=1", pluginsdk.UsageByAccount: "spare=4 work=3", pluginsdk.UsageByThread: "T=7",
		} {
			answer := must[*pluginsdk.UsageResponse](t)(s.Usage(t.Context(), pluginsdk.UsageRequest{By: by, ThreadID: "T"}))
			if got := shownSums(answer); got != want || answer.Total != whole {
				t.Errorf("by %s: %s of %+v, want %s", by, got, answer.Total, want)
			}
		}
		byModel := must[*pluginsdk.UsageResponse](t)(s.Usage(t.Context(), pluginsdk.UsageRequest{By: pluginsdk.UsageByModel}))
		if opus, haiku := byModel.Sums[0], byModel.Sums[1]; opus.Turns != 2 || opus.NotionalUSD != 2 || haiku.Turns != 1 || haiku.Unsure != 1 || haiku.Usage.InputTokens != 10 {
			t.Errorf("by model: %+v", byModel.Sums)
		}
	})
}

func shownSums(answer *pluginsdk.UsageResponse) (shown string) {
	for n, sum := range answer.Sums {
		if n > 0 {
			shown += " "
		}
		shown += fmt.Sprintf("%s=%v", sum.Of, sum.CostUSD)
	}
	return shown
}

// BenchmarkUsage is what somebody waits for who asks what a million turns have cost: from the turns,
// as right after an upgrade, and when they are rolled up.
func BenchmarkUsage(b *testing.B) {
	eachBench(b, func(b *testing.B, config store.Config) {
		s := storetest.OpenConfig(b, config)
		if err := s.FillAgentRuns(b.Context(), 1_000_000); err != nil {
			b.Fatal(err)
		}
		b.Run("turns", func(b *testing.B) { benchUsage(b, s) })
		b.Run("roll up", func(b *testing.B) {
			for b.Loop() {
				if err := s.ResetUsage(b.Context()); err != nil {
					b.Fatal(err)
				}
				for more := true; more; {
					var err error
					if more, err = s.RollUpUsage(b.Context(), 5000); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run("rolled up", func(b *testing.B) { benchUsage(b, s) })
	})
}

func benchUsage(b *testing.B, s *store.Store) {
	month := store.FilledUntil.AddDate(0, 0, -30)
	for _, c := range []struct {
		name    string
		request pluginsdk.UsageRequest
	}{
		{"all", pluginsdk.UsageRequest{}},
		{"by=thread", pluginsdk.UsageRequest{By: pluginsdk.UsageByThread}},
		{"by=model", pluginsdk.UsageRequest{By: pluginsdk.UsageByModel}},
		{"by=task", pluginsdk.UsageRequest{By: pluginsdk.UsageByTask}},
		{"by=plugin", pluginsdk.UsageRequest{By: pluginsdk.UsageByPlugin}},
		{"by=day", pluginsdk.UsageRequest{By: pluginsdk.UsageByDay}},
		{"by=day,30d", pluginsdk.UsageRequest{By: pluginsdk.UsageByDay, Since: month}},
		{"by=thread,30d", pluginsdk.UsageRequest{By: pluginsdk.UsageByThread, Since: month}},
		{"by=model,30d", pluginsdk.UsageRequest{By: pluginsdk.UsageByModel, Since: month}},
		{"by=model,1d", pluginsdk.UsageRequest{By: pluginsdk.UsageByModel, Since: store.FilledUntil.Add(-24*time.Hour - time.Minute)}},
		{"by=hour,2d", pluginsdk.UsageRequest{By: pluginsdk.UsageByHour, Since: store.FilledUntil.Add(-47*time.Hour - time.Minute)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				answer, err := s.Usage(b.Context(), c.request)
				if err != nil || answer.Total.Turns == 0 || c.request.Since.IsZero() && answer.Total.Turns != 1_000_000 {
					b.Fatal(answer, err)
				}
			}
		})
	}
}

func TestTheAuditLogIsReadInPages(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for n := range 5 {
			check(t, s.Audit(t.Context(), []string{"ann", "plugin:web"}[n%2], []string{"plugin.enable", "plugin", "plugins.order"}[n%3], fmt.Sprint("P", n), "d"))
		}
		pages := func(q pluginsdk.AuditQuery) (targets []string) {
			for q.Limit = 2; ; {
				entries := must[[]pluginsdk.AuditEntry](t)(s.AuditPage(context.Background(), q))
				if len(entries) == 0 {
					return targets
				}
				for _, entry := range entries {
					targets, q.Before = append(targets, entry.Target), entry.ID
					if entry.Who == "" || entry.Action == "" || entry.Detail != "d" || time.Since(entry.At) > time.Minute {
						t.Errorf("%+v", entry)
					}
				}
			}
		}
		for _, c := range []struct {
			query pluginsdk.AuditQuery
			want  []string
		}{
			{pluginsdk.AuditQuery{}, []string{"P4", "P3", "P2", "P1", "P0"}},
			{pluginsdk.AuditQuery{Who: "ann"}, []string{"P4", "P2", "P0"}},
			{pluginsdk.AuditQuery{Action: "plugin"}, []string{"P4", "P3", "P1", "P0"}},
			{pluginsdk.AuditQuery{Action: "plugin.enable"}, []string{"P3", "P0"}},
			{pluginsdk.AuditQuery{Target: "P1"}, []string{"P1"}},
			{pluginsdk.AuditQuery{Action: "%"}, nil},
			{pluginsdk.AuditQuery{Since: time.Now().Add(time.Hour)}, nil},
		} {
			if got := pages(c.query); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v: %v, want %v", c.query, got, c.want)
			}
		}
	})
}
