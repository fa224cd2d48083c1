package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Run returns a run, or CodeNotFound.
func (s *Store) Run(ctx context.Context, id string) (pluginsdk.Run, error) {
	row, err := s.read.Run.Get(ctx, id)
	if ent.IsNotFound(err) {
		return pluginsdk.Run{}, notFound("run", id)
	}
	if err != nil {
		return pluginsdk.Run{}, wrap("read run", err)
	}
	return runOf(row), nil
}

// Runs returns the selected runs, oldest first. Their Events are left out:
// those of a hundred runs are megabytes. Run has them.
func (s *Store) Runs(ctx context.Context, q pluginsdk.RunQuery) ([]pluginsdk.Run, error) {
	query := s.read.Run.Query().Order(run.ByID()).Limit(page(q.Limit))
	if q.ThreadID != "" {
		query.Where(run.ThreadID(q.ThreadID))
	}
	if len(q.States) > 0 {
		query.Where(run.StateIn(q.States...))
	}
	if q.After != "" {
		query.Where(run.IDGT(q.After))
	}
	columns := slices.DeleteFunc(slices.Clone(run.Columns), func(name string) bool { return name == run.FieldEvents })
	rows, err := query.Select(columns...).All(ctx)
	if err != nil {
		return nil, wrap("list runs", err)
	}
	return all(rows, runOf), nil
}

// Waiting counts the runs of a thread that are in the queue.
func (s *Store) Waiting(ctx context.Context, threadID string) (int, error) {
	n, err := s.read.Run.Query().Where(run.StateEQ(pluginsdk.RunQueued), run.ThreadID(threadID)).Count(ctx)
	return n, wrap("count waiting runs", err)
}

// column reads the one text column of rows, and closes them.
func column(rows *sql.Rows) (out []string, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, rows.Err()
}
