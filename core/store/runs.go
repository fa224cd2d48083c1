package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/predicate"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// runColumns are all but the commands and what a turn asks: those are read where they
// are needed, so that a value which somebody has written there by hand stands in the
// way of nothing else.
var runColumns = allBut(run.FieldRequest, allBut(run.FieldCommands, run.Columns))

// listedColumns are those of runColumns that are not too long for a list.
var listedColumns = allBut(run.FieldHooks, allBut(run.FieldEvents, runColumns))

func allBut(name string, columns []string) []string {
	return slices.DeleteFunc(slices.Clone(columns), func(one string) bool { return one == name })
}

// runIDsMax is how many runs can be named in a query.
const runIDsMax = 100

// Run returns a run, or CodeNotFound.
func (s *Store) Run(ctx context.Context, id string) (pluginsdk.Run, error) {
	row, err := s.read.Run.Query().Where(run.ID(id)).Select(runColumns...).Only(ctx)
	if ent.IsNotFound(err) {
		return pluginsdk.Run{}, notFound("run", id)
	}
	if err != nil {
		return pluginsdk.Run{}, wrap("read run", err)
	}
	return runOf(row), nil
}

// Runs returns the selected runs, oldest first unless q.Newest is set; those of threads that
// were deleted are not found. Their Events
// and Hooks are left out: those of a hundred runs are megabytes. Run has them.
func (s *Store) Runs(ctx context.Context, q pluginsdk.RunQuery) ([]pluginsdk.Run, error) {
	if len(q.IDs) > runIDsMax {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "ids: at most %d can be asked for at a time, these are %d", runIDsMax, len(q.IDs))
	}
	query := s.read.Run.Query().Where(notGoingIn(q.ThreadID)).Limit(page(q.Limit))
	var order []entsql.OrderTermOption
	if q.Newest {
		order = append(order, entsql.OrderDesc())
	}
	switch {
	case q.ThreadID != "":
		query.Where(ofThread(q), afterRun(q.After, q.Newest)).Order(byMessage(q, order...), run.ByID(order...))
	case q.Newest && q.After != "":
		query.Where(run.IDLT(q.After)).Order(run.ByID(order...))
	default:
		query.Where(run.IDGT(q.After)).Order(run.ByID(order...))
	}
	if len(q.IDs) > 0 {
		query.Where(run.IDIn(q.IDs...))
	}
	if q.CauseRunID != "" {
		query.Where(run.CauseRunID(q.CauseRunID), caused)
	}
	if len(q.States) > 0 {
		query.Where(run.StateIn(q.States...))
	}
	rows, err := query.Select(listedColumns...).All(ctx)
	if err != nil {
		return nil, wrap("list runs", err)
	}
	return all(rows, runOf), nil
}

// ofThread selects the runs of the query's thread. Where runs are named, it is no reason to
// read all that the thread has: a database that sees that an index has them in order does.
func ofThread(q pluginsdk.RunQuery) predicate.Run {
	if len(q.IDs) == 0 {
		return run.ThreadID(q.ThreadID)
	}
	return func(s *entsql.Selector) {
		s.Where(entsql.P(func(b *entsql.Builder) { b.WriteString("runs.thread_id || '' = ").Arg(q.ThreadID) }))
	}
}

// byMessage is the order of a thread's runs. Of those that are not over there are few, and an
// index has them: a database that sees that another has all runs of the thread in order reads
// them all.
func byMessage(q pluginsdk.RunQuery, order ...entsql.OrderTermOption) run.OrderOption {
	if len(q.States) == 0 || slices.ContainsFunc(q.States, pluginsdk.RunState.Final) {
		return run.ByMessageID(order...)
	}
	return func(s *entsql.Selector) {
		s.OrderExprFunc(func(b *entsql.Builder) {
			b.WriteString("runs.message_id + 0")
			if q.Newest {
				b.WriteString(" DESC")
			}
		})
	}
}

// caused selects the runs that one has caused, as their index says it: a database
// does not see by itself that it has those of a certain one.
func caused(s *entsql.Selector) {
	s.Where(entsql.P(func(b *entsql.Builder) { b.WriteString("cause_run_id <> ''") }))
}

// afterRun selects the runs of a thread that come after one of them, or before it when
// the newest come first. Their order is that of their messages, of which an index has
// it; turns stand behind the message that was the newest when they were asked for.
func afterRun(runID string, newest bool) predicate.Run {
	return func(s *entsql.Selector) {
		if runID == "" {
			return
		}
		message := func() *entsql.Selector {
			return entsql.Select(run.FieldMessageID).From(entsql.Table(run.Table)).Where(entsql.EQ(run.FieldID, runID))
		}
		same := entsql.EQ(s.C(run.FieldMessageID), message())
		if newest {
			s.Where(entsql.Or(entsql.LT(s.C(run.FieldMessageID), message()), entsql.And(same, entsql.LT(s.C(run.FieldID), runID))))
		} else {
			s.Where(entsql.Or(entsql.GT(s.C(run.FieldMessageID), message()), entsql.And(same, entsql.GT(s.C(run.FieldID), runID))))
		}
	}
}

// LastUnanswered returns the newest run of a thread that asked the agent and
// is over, when it failed or was cancelled; CodeNotFound otherwise.
func (s *Store) LastUnanswered(ctx context.Context, threadID string) (pluginsdk.Run, error) {
	row, err := s.read.Run.Query().
		Where(run.ThreadID(threadID), run.KindEQ(pluginsdk.RunMessage),
			run.StateIn(pluginsdk.RunFailed, pluginsdk.RunCancelled, pluginsdk.RunSucceeded)).
		Order(run.ByMessageID(entsql.OrderDesc())).Select(runColumns...).First(ctx)
	if ent.IsNotFound(err) || err == nil && row.State == pluginsdk.RunSucceeded {
		return pluginsdk.Run{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "thread %s has no message that was not answered", threadID)
	}
	if err != nil {
		return pluginsdk.Run{}, wrap("find the last run", err)
	}
	return runOf(row), nil
}

// Waiting counts the runs that are in a thread's queue.
func (s *Store) Waiting(ctx context.Context, threadID string) (int, error) {
	n, err := s.read.Run.Query().Where(run.StateEQ(pluginsdk.RunQueued), run.ThreadID(threadID), run.Beside(false)).Count(ctx)
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
