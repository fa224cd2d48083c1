package inbox

import (
	"context"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What the store in memory does of turns, and of what is paused.

func queueOf(run *ledger.Run) ledger.Queue { return run.Queue() }

func (m *memory) AcceptTurn(_ context.Context, turn ledger.NewTurn) (ledger.AcceptedTurn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := "turn/" + turn.Plugin + "/" + turn.Request.Key
	if known, ok := m.keys[key]; ok && turn.Request.Key != "" {
		return ledger.AcceptedTurn{RunID: known.RunID, Existed: true, Queue: ledger.Queue{TurnID: known.RunID}}, nil
	}
	run := &ledger.Run{Run: pluginsdk.Run{
		ID: turn.RunID, ThreadID: turn.Request.ThreadID, MessageID: int64(len(m.runs) + 1), Kind: pluginsdk.RunTurn, State: pluginsdk.RunQueued, Plugin: turn.Plugin,
		CauseRunID: turn.CauseRunID, Beside: turn.Beside(),
	}, Turn: &turn.Request}
	m.runs = append(m.runs, run)
	m.keys[key] = pluginsdk.Accepted{RunID: run.ID}
	return ledger.AcceptedTurn{RunID: run.ID, ThreadID: run.ThreadID, Queue: queueOf(run)}, nil
}

func (m *memory) ClaimBeside(_ context.Context, queue ledger.Queue, owner string) (ledger.Claim, error) {
	return m.take(queue, owner, func(*ledger.Run) bool { return true })
}

func (m *memory) ClaimUncaused(_ context.Context, threadID, owner string) (ledger.Claim, error) {
	return m.take(ledger.Queue{ThreadID: threadID}, owner, func(run *ledger.Run) bool {
		return run.CauseRunID == "" && run.Kind != pluginsdk.RunTurn
	})
}

func (m *memory) FirstQueued(_ context.Context, threadID string, state pluginsdk.RunState) (pluginsdk.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range m.runs {
		if queueOf(run) == (ledger.Queue{ThreadID: threadID}) && run.State == state {
			return run.Run, nil
		}
	}
	return pluginsdk.Run{}, nil
}

func (m *memory) UnclaimBeside(_ context.Context, queue ledger.Queue, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range m.runs {
		if queueOf(run) == queue && run.State == pluginsdk.RunRunning {
			run.State = pluginsdk.RunQueued
		}
	}
	m.signal()
	return nil
}

func (m *memory) ExpireQueued(_ context.Context, runID, reason string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range m.runs {
		if run.ID == runID && run.State == pluginsdk.RunQueued && run.Attempt == 0 {
			run.State, run.Error = pluginsdk.RunFailed, reason
			m.signal()
			return true, nil
		}
	}
	return false, nil
}

func (m *memory) Lever(context.Context, string) (ledger.Lever, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lever, nil
}
