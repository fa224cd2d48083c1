package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func eachBench(b *testing.B, bench func(b *testing.B, config store.Config)) {
	b.Helper()
	b.Run("sqlite", func(b *testing.B) { bench(b, storetest.SQLite(b)) })
	b.Run("postgres", func(b *testing.B) { bench(b, storetest.Postgres(b)) })
}

// BenchmarkAccept is what a person waits for before a message is promised.
func BenchmarkAccept(b *testing.B) {
	for _, goroutines := range []int{1, 8} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			eachBench(b, func(b *testing.B, config store.Config) {
				s := storetest.OpenConfig(b, config)
				threads := benchThreads(b, s, goroutines)
				inParallel(b, goroutines, func(worker int) {
					accept(b, s, threads[worker], "hello")
				})
			})
		})
	}
}

// BenchmarkTurn is all that one turn writes, on eight threads at once.
func BenchmarkTurn(b *testing.B) {
	for _, goroutines := range []int{1, 8} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			eachBench(b, func(b *testing.B, config store.Config) {
				s := storetest.OpenConfig(b, config)
				threads := benchThreads(b, s, goroutines)
				inParallel(b, goroutines, func(worker int) { wholeTurn(b, s, threads[worker]) })
			})
		})
	}
}

// BenchmarkThreadsByName is what a person waits for who looks for one of 10,000 threads.
func BenchmarkThreadsByName(b *testing.B) {
	eachBench(b, func(b *testing.B, config store.Config) {
		s := storetest.OpenConfig(b, config)
		manyThreads(b, s)
		for _, text := range []string{"", "absent", "number"} {
			b.Run(fmt.Sprintf("text=%s", text), func(b *testing.B) {
				for b.Loop() {
					_, err := s.Threads(context.Background(), pluginsdk.ThreadQuery{Text: text, Order: pluginsdk.ActivityFirst, Limit: 40})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}

func benchThreads(b *testing.B, s *store.Store, n int) []string {
	b.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = newThread(b, s, fmt.Sprintf("bench-%d", i)).ID
	}
	return ids
}

func inParallel(b *testing.B, goroutines int, f func(worker int)) {
	b.Helper()
	b.ReportAllocs()
	var next atomic.Int64
	done := make(chan struct{})
	b.ResetTimer()
	for worker := range goroutines {
		go func() {
			for next.Add(1) <= int64(b.N) {
				f(worker)
			}
			done <- struct{}{}
		}()
	}
	for range goroutines {
		<-done
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// wholeTurn makes the writes of a turn: accept, claim, intent, result, finish, with
// the start and the record of the activity plugin as their effects.
func wholeTurn(t testing.TB, s *store.Store, threadID string) {
	ctx := context.Background()
	accept(t, s, threadID, "what is the weather in Phoenix?")
	claim, err := s.Claim(ctx, threadID, "bench")
	if err != nil || !claim.Found {
		t.Errorf("claim: %v %v", claim.Found, err)
		return
	}
	runID, fence := claim.Run.ID, claim.Fence
	steps := []pluginsdk.PipelineStep{{Step: "onMessage", Timestamp: time.Now()}, {Step: "onBeforeInvoke", Timestamp: time.Now()}}
	check(t, s.SaveIntent(ctx, fence, ledger.Intent{
		RunID: runID, SessionID: "session", PromptHash: "hash", Steps: steps,
		Effects: []ledger.Effect{{Plugin: "activity", Key: "start", Rows: []pluginsdk.NewMessage{statusRow("Pipeline started")}}},
	}))
	check(t, s.SaveResult(ctx, fence, ledger.ResultCommit{
		RunID: runID, Step: pluginsdk.StepInvoked, SessionID: "session", SeenMessageID: claim.Message.ID, Steps: steps,
		Result: pluginsdk.InvokeResult{Text: "It is sunny.", SessionID: "session", CostUSD: 0.01},
		Events: []pluginsdk.StreamEvent{
			{Type: pluginsdk.StreamThinking, Text: "let me look", Timestamp: time.Now()},
			{Type: pluginsdk.StreamToolCall, ToolName: "weather", ToolUseID: "1", Input: json.RawMessage(`{"city":"Phoenix"}`), Timestamp: time.Now()},
			{Type: pluginsdk.StreamToolResult, ToolUseID: "1", Text: "sunny", Timestamp: time.Now()},
			{Type: pluginsdk.StreamText, Text: "It is sunny.", Timestamp: time.Now()},
		},
		AgentRun: ledger.AgentRun{Purpose: "pipeline", Model: "sonnet", Success: true},
	}))
	rows := []pluginsdk.NewMessage{
		statusRow("onMessage"), statusRow("onBeforeInvoke"), statusRow("invoking"), statusRow("onAfterInvoke"),
		statusRow("thinking"), statusRow("tool call"), statusRow("Pipeline completed"),
	}
	check(t, second(s.Finish(ctx, fence, ledger.Finish{
		RunID: runID, State: pluginsdk.RunSucceeded, Deliver: true,
		Effects: []ledger.Effect{{Plugin: "activity", Key: "complete", Rows: rows}},
		Rows: []ledger.Row{{Key: runID + ":reply", Message: pluginsdk.NewMessage{
			Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Content: "It is sunny.",
		}}},
	})))
}

func statusRow(content string) pluginsdk.NewMessage {
	return pluginsdk.NewMessage{
		Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: content,
		Metadata: json.RawMessage(`{"event":"pipeline_start"}`),
	}
}
