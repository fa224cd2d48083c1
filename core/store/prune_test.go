package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var (
	pruneBefore = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	longAgo     = pruneBefore.Add(-time.Hour)
	lately      = pruneBefore.Add(time.Hour)
)

// attic is a store with old and new things of every kind.
func attic(t *testing.T, s *store.Store) (threadID string) {
	t.Helper()
	ctx := context.Background()
	th := newThread(t, s, "a")
	run := func(id string, state pluginsdk.RunState, finished time.Time) {
		check(t, s.KeepRun(ctx, ledger.Run{Run: pluginsdk.Run{
			ID: id, ThreadID: th.ID, State: state, QueuedAt: longAgo, FinishedAt: finished,
			Events: []pluginsdk.StreamEvent{{}}, Steps: []pluginsdk.PipelineStep{{Step: "x"}}, Hooks: []pluginsdk.HookCall{{Plugin: "x"}}, SessionID: "kept",
		}}))
	}
	run("over", pluginsdk.RunSucceeded, longAgo)
	run("over lately", pluginsdk.RunSucceeded, lately)
	run("open", pluginsdk.RunRunning, time.Time{})
	row := func(content string, kind pluginsdk.MessageKind, runID string, at time.Time, more ...string) int64 {
		m := pluginsdk.Message{ThreadID: th.ID, Role: "system", Kind: kind, Source: "x", Content: content, RunID: runID, CreatedAt: at}
		if len(more) > 0 {
			m.Metadata = json.RawMessage(fmt.Sprintf(`{"event":%q}`, more[0]))
		}
		if len(more) > 1 {
			m.Key = more[1]
		}
		return must[int64](t)(s.KeepMessage(ctx, m))
	}
	for _, kind := range []pluginsdk.MessageKind{
		pluginsdk.MessageStatus, pluginsdk.MessageStep, pluginsdk.MessageThinking,
		pluginsdk.MessageToolCall, pluginsdk.MessageToolResult,
	} {
		row("old", kind, "over", longAgo)
		row("old, of no run", kind, "", longAgo, "x")
		row("kept: new", kind, "over", lately)
		row("kept: its run is open", kind, "open", longAgo)
	}
	for _, kind := range []pluginsdk.MessageKind{pluginsdk.MessageText, pluginsdk.MessageNotification, pluginsdk.MessageSummary} {
		row("kept: conversation", kind, "over", longAgo)
	}
	row("kept: a failure", pluginsdk.MessageStatus, "over", longAgo, "pipeline_error")
	row("kept: in the place of a reply", pluginsdk.MessageStatus, "over", longAgo, "pipeline_empty", "over:reply")
	deliver := func(id string, state pluginsdk.DeliveryState, message int64, at time.Time) {
		check(t, s.KeepDelivery(ctx, pluginsdk.Delivery{ID: id, MessageID: message, Plugin: "discord", State: state, CreatedAt: at}))
	}
	deliver("old", pluginsdk.DeliveryDelivered, row("old, delivered", pluginsdk.MessageStatus, "over", longAgo), longAgo)
	deliver("kept: dead", pluginsdk.DeliveryDead, row("kept: not delivered", pluginsdk.MessageStatus, "over", longAgo), longAgo)
	deliver("kept: new", pluginsdk.DeliveryDelivered, row("kept: delivered lately", pluginsdk.MessageStatus, "over", longAgo), lately)
	check(t, s.RecordMetrics(ctx, "x", []pluginsdk.NewMetric{{Name: "old", At: longAgo}, {Name: "kept", At: lately}}))
	check(t, s.Audit(ctx, "operator", "x", "", ""))
	return th.ID
}

// Retention must take what nobody reads, and nothing that anybody said.
func TestPruneKeepsConversations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		threadID := attic(t, s)
		before := len(must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: threadID, Limit: 1000})))
		want := store.Pruned{Activity: 11, Metrics: 1, Deliveries: 1, Runs: 1}
		if got := must[store.Pruned](t)(s.Prune(ctx, pruneBefore, true)); got != want {
			t.Errorf("would prune %+v, want %+v", got, want)
		}
		if got := must[store.Pruned](t)(s.Prune(ctx, pruneBefore, false)); got != want {
			t.Errorf("pruned %+v, want %+v", got, want)
		}
		left := must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: threadID, Limit: 1000}))
		if len(left) != before-11 {
			t.Errorf("%d messages are left of %d", len(left), before)
		}
		for _, m := range left {
			if m.Content[:4] != "kept" {
				t.Errorf("left: %s %s", m.Kind, m.Content)
			}
		}
		if metrics := only[pluginsdk.Metric](t)(s.QueryMetrics(ctx, pluginsdk.MetricQuery{})); metrics.Name != "kept" {
			t.Errorf("metric %s is left", metrics.Name)
		}
		var deliveries []string
		for _, d := range must[[]pluginsdk.Delivery](t)(s.Deliveries(ctx, pluginsdk.DeliveryQuery{})) {
			deliveries = append(deliveries, d.ID)
		}
		if !slices.Equal(deliveries, []string{"kept: dead", "kept: new"}) {
			t.Errorf("deliveries %q are left", deliveries)
		}
		for id, kept := range map[string]int{"over": 0, "over lately": 1, "open": 1} {
			r := must[pluginsdk.Run](t)(s.Run(ctx, id))
			if len(r.Events) != kept || len(r.Steps) != kept || len(r.Hooks) != kept || r.SessionID != "kept" {
				t.Errorf("run %s: %+v", id, r)
			}
		}
		if len(must[[]store.AuditEntry](t)(s.AuditEntries(ctx, "", 10))) != 1 {
			t.Error("the audit log was pruned")
		}
		if got := must[store.Pruned](t)(s.Prune(ctx, pruneBefore, false)); got != (store.Pruned{}) {
			t.Errorf("pruned again: %+v", got)
		}
		check(t, s.Vacuum(ctx, "test"))
		accept(t, s, threadID, "it works on")
	})
}

// More than one transaction's worth.
func TestPruneInBatches(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		metrics := make([]pluginsdk.NewMetric, 2500)
		for i := range metrics {
			metrics[i] = pluginsdk.NewMetric{Name: "m", At: longAgo}
			if i%2 == 0 {
				metrics[i].At = lately
			}
		}
		for call := range slices.Chunk(metrics, 1000) {
			check(t, s.RecordMetrics(ctx, "x", call))
		}
		if got := must[store.Pruned](t)(s.Prune(ctx, pruneBefore, false)); got.Metrics != 1250 {
			t.Errorf("pruned %+v", got)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err := s.Prune(ended, lately.Add(time.Hour), false)
		wantCode(t, err, pluginsdk.CodeCancelled)
	})
}

// Vacuum holds up every writer: not while a daemon works.
func TestVacuumIsRefusedUnderADaemon(t *testing.T) {
	s := storetest.Open(t)
	lease := must[*store.Lease](t)(s.Lock(context.Background(), "a daemon"))
	defer lease.Release()
	wantCode(t, s.Vacuum(context.Background(), "test"), pluginsdk.CodeConflict)
	wantCode(t, s.MayVacuum(context.Background(), "test"), pluginsdk.CodeConflict)
	lease.Release()
	check(t, s.MayVacuum(context.Background(), "test"))
	check(t, s.Vacuum(context.Background(), "test")) // to ask does not keep the lock
}
