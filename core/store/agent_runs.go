package store

import (
	"context"
	"slices"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent/agentrun"
)

// RecordAgentRun stores an invocation of the agent that no run made (those of
// runs come with SaveResult), and returns its id.
func (s *Store) RecordAgentRun(ctx context.Context, r ledger.AgentRun) (id int64, err error) {
	if err := checkTimes(moment{"startedAt", r.StartedAt}); err != nil {
		return 0, err
	}
	err = s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		row, err := insertAgentRun(tx.AgentRun, r).Save(ctx)
		if err == nil {
			id = row.ID
		}
		return err
	})
	return id, wrap("record agent run", err)
}

// AgentRuns returns the newest agent runs of a thread (empty: of all), oldest
// first.
func (s *Store) AgentRuns(ctx context.Context, threadID string, limit int) ([]ledger.AgentRun, error) {
	query := s.read.AgentRun.Query().Order(agentrun.ByID(entsql.OrderDesc())).Limit(page(limit))
	if threadID != "" {
		query.Where(agentrun.ThreadID(threadID))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, wrap("list agent runs", err)
	}
	slices.Reverse(rows)
	return all(rows, agentRunOf), nil
}
