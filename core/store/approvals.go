package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/approval"
	"github.com/seed-706843ae/harness/ent/approvalrule"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Every write about an approval holds its thread first. So what asks, what answers and
// what parks a run come one after the other, on Postgres too: no answer finds a run that
// is about to wait for it.

// OpenApproval stores, on disk, what a run asks people, with the row of its thread that
// tells them, and that row's delivery: to where the thread's people are, else those of the
// nearest thread above it that somebody carries.
func (s *Store) OpenApproval(ctx context.Context, fence ledger.Fence, a ledger.Approval) (opened ledger.Approval, lanes []ledger.Lane, err error) {
	metadata, err := json.Marshal(map[string]string{"event": "approval", "approvalId": a.ID})
	if err != nil {
		return a, nil, wrap("store an approval", err)
	}
	told, err := s.newMessage(origin{threadID: a.ThreadID, runID: a.RunID}, pluginsdk.NewMessage{
		Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Source: "core", Content: question(a.Approval), Metadata: metadata,
	})
	if err != nil {
		return a, nil, wrap("store an approval", err)
	}
	told.Key = "approval:" + a.ID
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) (err error) {
		if _, err := tx.epoch(ctx, a.ThreadID); err != nil {
			return err
		}
		if err := tx.check(ctx, fence); err != nil {
			return err
		}
		if told, err = tx.insertMessage(ctx, told); err != nil {
			return err
		}
		a.MessageID = told.ID
		if err := insertApproval(tx.Approval, a).Exec(ctx); err != nil {
			return err
		}
		lanes, err = s.deliverUpwards(ctx, tx, a.ThreadID, a.CreatedAt, a.MessageID)
		return err
	})
	return a, lanes, wrap("store an approval", err)
}

// question is what people read of an approval where nothing shows its choices.
func question(a pluginsdk.Approval) string {
	text := a.Title
	if a.Text != "" && !strings.HasSuffix(a.Title, a.Text) {
		text += "\n\n" + a.Text
	}
	if a.Note != "" {
		text += "\n\n" + a.Note
	}
	return text
}

// deliverUpwards is deliver to the people of a thread, or of the nearest above it that
// has some.
func (s *Store) deliverUpwards(ctx context.Context, tx *tx, threadID string, now time.Time, messageID int64) ([]ledger.Lane, error) {
	for range 1 + targetHops {
		of, err := tx.targetThread(ctx, threadID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil // it was deleted by hand
		}
		if err != nil {
			return nil, err
		}
		lanes, err := s.deliver(ctx, tx, of, now, messageID)
		if err != nil || len(lanes) > 0 {
			return lanes, err
		}
		if err := tx.row(ctx, "SELECT parent_thread_id FROM threads WHERE id = $1", []any{threadID}, &threadID); err != nil {
			return nil, err
		}
		if threadID == "" {
			return nil, nil
		}
	}
	return nil, nil
}

// SpendApproval notes, on disk, that an answer is about to be given to the agent, for the
// one time that it may be. It reports whether it may: the approval is decided, and its
// answer was not given before.
func (s *Store) SpendApproval(ctx context.Context, fence ledger.Fence, id string) (spent bool, err error) {
	now := s.now()
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if err := tx.check(ctx, fence); err != nil {
			return err
		}
		n, err := tx.Approval.Update().Where(approval.ID(id), approval.SpentAtIsNil(),
			approval.StateIn(pluginsdk.ApprovalAllowed, pluginsdk.ApprovalDenied, pluginsdk.ApprovalExpired)).
			SetSpentAt(now).Save(ctx)
		spent = n > 0
		return err
	})
	return spent, wrap("spend an approval", err)
}

// DecideApproval stores, on disk, an answer to an approval, with the rule that it makes,
// the line in the thread, and the entry in the audit log. A run that waits for it is back
// in the queue, if it waits for nothing else. One that is not open is CodeStale, and
// returned as it is; so is one whose run is over, which can only be withdrawn.
func (s *Store) DecideApproval(ctx context.Context, d ledger.ApprovalDecision) (done ledger.ApprovalDecided, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) (err error) {
		done, err = s.decideApproval(ctx, tx, d)
		return err
	})
	return done, wrap("decide an approval", err)
}

func (s *Store) decideApproval(ctx context.Context, tx *tx, d ledger.ApprovalDecision) (done ledger.ApprovalDecided, err error) {
	row, err := tx.heldApproval(ctx, d.ID)
	if err != nil {
		return done, err
	}
	done.Approval = approvalOf(row).Approval
	if row.State != pluginsdk.ApprovalOpen {
		return done, pluginsdk.Errorf(pluginsdk.CodeStale, "it is %s already", row.State)
	}
	if d.State != pluginsdk.ApprovalWithdrawn {
		waits, err := tx.Run.Query().Where(run.ID(row.RunID), run.FinishedAtIsNil()).Exist(ctx)
		if err != nil {
			return done, err
		}
		if !waits {
			return done, pluginsdk.Errorf(pluginsdk.CodeStale, "its run is over")
		}
	}
	ruleID := ""
	if d.Rule != nil {
		if err := insertApprovalRule(tx.ApprovalRule, *d.Rule).Exec(ctx); err != nil {
			return done, err
		}
		ruleID = d.Rule.ID
	}
	update := tx.Approval.UpdateOneID(d.ID).SetState(d.State).SetChoice(d.Choice).SetWords(clean(d.Words)).
		SetAuthor(clean(d.By.Author)).SetPlugin(clean(d.By.Plugin)).SetRuleID(ruleID).SetDecidedAt(instant(d.At))
	if from := cleanOrigin(d.By.Origin); from != nil {
		update.SetOrigin(from)
	}
	if len(d.Answers) > 0 {
		update.SetAnswers(d.Answers)
	}
	if row, err = update.Save(ctx); err != nil {
		return done, err
	}
	done.Approval = approvalOf(row).Approval
	if err := tx.sayOfApproval(ctx, row, d.Said, d.At); err != nil {
		return done, err
	}
	if d.Who != "" {
		if err := s.note(ctx, tx, d.Who, "approval."+string(d.State), d.ID, d.Said); err != nil {
			return done, err
		}
	}
	done.Requeued, err = tx.unpark(ctx, row.RunID)
	return done, err
}

// heldApproval reads an approval once it holds its thread, so that it stays as it is.
func (t *tx) heldApproval(ctx context.Context, id string) (*ent.Approval, error) {
	row, err := t.Approval.Get(ctx, id)
	if ent.IsNotFound(err) {
		return nil, notFound("approval", id)
	}
	if err != nil {
		return nil, err
	}
	if _, err := t.epoch(ctx, row.ThreadID); err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		return nil, err
	}
	return t.Approval.Get(ctx, id)
}

// sayOfApproval stores the line in the thread about how an approval ended.
func (t *tx) sayOfApproval(ctx context.Context, row *ent.Approval, said string, at time.Time) error {
	if said == "" {
		return nil
	}
	metadata, err := json.Marshal(map[string]string{"event": "approval_" + string(row.State), "approvalId": row.ID})
	if err != nil {
		return err
	}
	_, err = t.insertMessage(ctx, pluginsdk.Message{
		ThreadID: row.ThreadID, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Source: "core", Content: clean(said),
		Metadata: metadata, RunID: row.RunID, Key: "approval:" + row.ID + ":" + string(row.State), CreatedAt: at,
	})
	return err
}

// unpark puts a run that waits for people back into the queue, unless it waits for
// another answer still.
func (t *tx) unpark(ctx context.Context, runID string) (requeued bool, err error) {
	n, err := t.run(ctx, `UPDATE runs SET state = 'queued', next_attempt_at = NULL WHERE id = $1 AND state = 'waiting'
		AND NOT EXISTS (SELECT 1 FROM approvals WHERE run_id = $1 AND state = 'open')`, runID)
	return n > 0, err
}

// Park has a claimed run wait until people have answered what it asks, as if this attempt
// had not been made. Parked is false when they have answered meanwhile: then the run is
// back in the queue.
func (s *Store) Park(ctx context.Context, fence ledger.Fence, runID string) (parked bool, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if err := tx.check(ctx, fence); err != nil {
			return err
		}
		n, err := tx.Run.Update().Where(run.ID(runID), run.StateEQ(pluginsdk.RunRunning)).
			SetState(pluginsdk.RunWaiting).SetOwner("").ClearLeaseUntil().ClearNextAttemptAt().AddAttempt(-1).Save(ctx)
		if err = atWork(runID, n, err); err != nil {
			return err
		}
		requeued, err := tx.unpark(ctx, runID)
		parked = !requeued
		return err
	})
	return parked, wrap("park run", err)
}

// CloseApprovals ends what is open of a run: its turn has taken the question back, or it
// is over. Except names those that stay. It returns those that it has ended.
func (s *Store) CloseApprovals(ctx context.Context, runID string, only ...string) (closed []pluginsdk.Approval, err error) {
	which := s.read.Approval.Query().Where(approval.RunID(runID), approval.StateEQ(pluginsdk.ApprovalOpen))
	if len(only) > 0 {
		which.Where(approval.IDIn(only...))
	}
	rows, err := which.All(ctx)
	if err != nil {
		return nil, wrap("close approvals", err)
	}
	for _, row := range rows {
		done, err := s.DecideApproval(ctx, ledger.ApprovalDecision{ID: row.ID, State: pluginsdk.ApprovalWithdrawn, At: s.now()})
		switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others are errors
		case "":
			closed = append(closed, done.Approval)
		case pluginsdk.CodeStale, pluginsdk.CodeNotFound:
		default:
			return closed, err
		}
	}
	return closed, nil
}

// Approval returns an approval, or CodeNotFound.
func (s *Store) Approval(ctx context.Context, id string) (ledger.Approval, error) {
	row, err := s.read.Approval.Get(ctx, id)
	if ent.IsNotFound(err) {
		return ledger.Approval{}, notFound("approval", id)
	}
	if err != nil {
		return ledger.Approval{}, wrap("read an approval", err)
	}
	return approvalOf(row), nil
}

// Approvals returns the selected approvals, oldest first unless q.Newest is set.
func (s *Store) Approvals(ctx context.Context, q pluginsdk.ApprovalQuery) ([]ledger.Approval, error) {
	query := s.read.Approval.Query().Limit(page(q.Limit))
	if q.Newest {
		query.Order(approval.ByID(entsql.OrderDesc()))
	} else {
		query.Order(approval.ByID())
	}
	switch {
	case q.ThreadID != "" && q.Below:
		query.Where(inOrBelow(q.ThreadID), notGoing)
	case q.ThreadID != "":
		query.Where(approval.ThreadID(q.ThreadID), notGoingIn(q.ThreadID))
	default:
		query.Where(notGoing)
	}
	if q.RunID != "" {
		query.Where(approval.RunID(q.RunID))
	}
	if len(q.States) > 0 {
		query.Where(approval.StateIn(q.States...))
	}
	if len(q.States) == 1 && q.States[0] == pluginsdk.ApprovalOpen {
		query.Where(func(s *entsql.Selector) { // as their index says it
			s.Where(entsql.P(func(b *entsql.Builder) { b.WriteString("state = 'open'") }))
		})
	}
	switch {
	case q.After != "" && q.Newest:
		query.Where(approval.IDLT(q.After))
	case q.After != "":
		query.Where(approval.IDGT(q.After))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, wrap("list approvals", err)
	}
	return all(rows, approvalOf), nil
}

// maxAbove is how many threads one can be below, as far as anybody is told.
const maxAbove = 100

// inOrBelow selects the approvals of a thread and of those below it. It goes up from each
// approval: of those that are open, which are asked for most, there are few, and of threads
// many.
func inOrBelow(threadID string) func(*entsql.Selector) {
	return func(s *entsql.Selector) {
		s.Where(entsql.P(func(b *entsql.Builder) {
			b.WriteString(`EXISTS (WITH RECURSIVE up(id, parent, n) AS (
				SELECT t.id, t.parent_thread_id, 0 FROM threads t WHERE t.id = `).WriteString(s.C(approval.FieldThreadID)).WriteString(`
				UNION ALL SELECT t.id, t.parent_thread_id, up.n + 1 FROM up JOIN threads t ON t.id = up.parent WHERE up.n < `).Arg(maxAbove).WriteString(`)
				SELECT 1 FROM up WHERE up.id = `).Arg(threadID).WriteString(`)`)
		}))
	}
}

// ThreadsAbove returns the threads that one is below, the nearest first, at most maxAbove of
// them.
func (s *Store) ThreadsAbove(ctx context.Context, threadID string) ([]string, error) {
	rows, err := s.query.QueryContext(ctx, `WITH RECURSIVE up(id, parent, n) AS (
			SELECT id, parent_thread_id, 0 FROM threads WHERE id = $1
			UNION ALL SELECT t.id, t.parent_thread_id, up.n + 1 FROM up JOIN threads t ON t.id = up.parent WHERE up.n < $2)
		SELECT id FROM up WHERE n > 0 ORDER BY n`, threadID, maxAbove)
	if err != nil {
		return nil, wrap("list the threads above one", err)
	}
	ids, err := column(rows)
	return ids, wrap("list the threads above one", err)
}

// StrayApprovals returns what is open although its run is over, and the runs that wait
// although nothing of theirs is open: what nobody will answer, and what nobody will wake.
func (s *Store) StrayApprovals(ctx context.Context) (approvals, runs []string, err error) {
	for _, look := range []struct {
		query string
		into  *[]string
	}{
		{`SELECT a.id FROM approvals a WHERE a.state = 'open'
			AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = a.run_id AND r.finished_at IS NULL)`, &approvals},
		{`SELECT r.id FROM runs r WHERE r.state = 'waiting'
			AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.run_id = r.id AND a.state = 'open')`, &runs},
	} {
		rows, err := s.query.QueryContext(ctx, look.query)
		if err == nil {
			*look.into, err = column(rows)
		}
		if err != nil {
			return nil, nil, wrap("look for stray approvals", err)
		}
	}
	return approvals, runs, nil
}

// Unpark puts a run that waits for nothing back into its queue, and returns its thread;
// empty: it waits for something, or is not there.
func (s *Store) Unpark(ctx context.Context, runID string) (threadID string, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		r, err := tx.Run.Query().Where(run.ID(runID)).Select(run.FieldThreadID).Only(ctx)
		if ent.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := tx.epoch(ctx, r.ThreadID); err != nil {
			return err
		}
		requeued, err := tx.unpark(ctx, runID)
		if requeued {
			threadID = r.ThreadID
		}
		return err
	})
	return threadID, wrap("wake a run", err)
}

// ApprovalRules returns the rules of a thread, or of all (empty), oldest first.
func (s *Store) ApprovalRules(ctx context.Context, request pluginsdk.ListApprovalRulesRequest) ([]pluginsdk.ApprovalRule, error) {
	query := s.read.ApprovalRule.Query().Where(notGoingIn(request.ThreadID)).Order(approvalrule.ByID()).Limit(page(request.Limit))
	if request.ThreadID != "" {
		query.Where(approvalrule.ThreadID(request.ThreadID))
	}
	if request.After != "" {
		query.Where(approvalrule.IDGT(request.After))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, wrap("list rules", err)
	}
	return all(rows, approvalRuleOf), nil
}

// RevokeApprovalRule deletes a rule, on disk, with the entry in the audit log. It reports
// whether it was there.
func (s *Store) RevokeApprovalRule(ctx context.Context, id, who string) (revoked bool, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		row, err := tx.ApprovalRule.Get(ctx, id)
		if ent.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		n, err := tx.ApprovalRule.Delete().Where(approvalrule.ID(id)).Exec(ctx)
		if err != nil || n == 0 {
			return err
		}
		revoked = true
		return s.note(ctx, tx, who, "approval.revoke", id, fmt.Sprintf("%s: %s (thread %s)", row.Tool, row.Text, row.ThreadID))
	})
	return revoked, wrap("revoke a rule", err)
}
