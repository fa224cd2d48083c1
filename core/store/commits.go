package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"entgo.io/ent/dialect"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/agentrun"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// atWorkSQL selects the run of a fence while it is not over. The parameters from the nth on
// are its id and the thread's. That it has been claimed is what the fence says.
func atWorkSQL(n int) string {
	return fmt.Sprintf(" WHERE id = $%d AND thread_id = $%d AND finished_at IS NULL", n, n+1)
}

// working is the update of a run that has been claimed and is not over.
func (t *tx) working(fence ledger.Fence, runID string) *ent.RunUpdate {
	return t.Run.Update().Where(run.ID(runID), run.ThreadID(fence.ThreadID), run.FinishedAtIsNil())
}

// SaveIntent notes, on disk, that the agent is about to be called (step 5a), with
// the effects of the hooks before and what gates set aside for it. *ledger.OverLimit:
// there is not that much left, and nothing is noted.
func (s *Store) SaveIntent(ctx context.Context, fence ledger.Fence, in ledger.Intent) error {
	more, err := s.newAdditions(fence.ThreadID, in.RunID, in.Effects, nil)
	if err != nil {
		return err
	}
	steps, err := json.Marshal(in.Steps)
	if err != nil {
		return wrap("commit the intent to call the agent", err)
	}
	hooks, err := hooksOrNull(in.Hooks)
	if err != nil {
		return wrap("commit the intent to call the agent", err)
	}
	err = s.writeWith(ctx, durable, &more, func(ctx context.Context, tx *tx) error {
		if err := tx.setFenced(ctx, fence, "session_open = true"); err != nil {
			return err
		}
		n, err := tx.run(ctx, "UPDATE runs SET step = $1, session_id = $2, prompt_hash = $3, steps = $4, hooks = COALESCE($5, hooks), account = $6"+atWorkSQL(7),
			string(pluginsdk.StepInvoking), clean(in.SessionID), in.PromptHash, steps, hooks, clean(in.Account), in.RunID, fence.ThreadID)
		if err = atWork(in.RunID, int(n), err); err != nil {
			return err
		}
		if err := tx.reserve(ctx, in.RunID, in.Reservations); err != nil {
			return err
		}
		_, _, err = s.add(ctx, tx, more)
		return err
	})
	return wrap("commit the intent to call the agent", err)
}

// SaveResult stores how the agent's turn ended (step 5b): the run's result, events, steps,
// hook calls and commands, what the thread's session is from now on, the AgentRun, effects of hooks,
// and rows for the thread. It is on disk then, but on SQLite with c.MayWaitForDisk. Runs
// that were merged into it and whose messages c.Absorbed does not name go back to the
// queue. Tokens and cost add up over the attempts of a run; what the turn has cost is spent
// from c.Purse. Rows whose keys are known are
// not stored again; a commit whose key is known changes nothing. Of one that is refused as
// stale the AgentRun is stored alone: the turn has been paid for.
func (s *Store) SaveResult(ctx context.Context, fence ledger.Fence, c ledger.ResultCommit) error {
	more, err := s.newAdditions(fence.ThreadID, c.RunID, c.Effects, c.Rows)
	if err != nil {
		return err
	}
	record := c.AgentRun
	record.RunID, record.ThreadID = c.RunID, fence.ThreadID
	if record.StartedAt.IsZero() {
		record.StartedAt = s.now().Add(-c.Result.Duration)
	}
	how := durable
	if c.MayWaitForDisk && s.Dialect() == dialect.SQLite {
		how = relaxed // a server could lose it and be back while this daemon goes on to the end of the run
	}
	err = s.writeWith(ctx, how, &more, func(ctx context.Context, tx *tx) error {
		// First, because it is what tells a repetition.
		if err := tx.recordTurn(ctx, record, c.Key); err != nil {
			return err
		}
		if err := tx.saveSession(ctx, fence, c); err != nil {
			return err
		}
		absorbed, err := tx.saveResult(ctx, fence, c)
		if err != nil {
			return err
		}
		if err := tx.giveBack(ctx, fence.ThreadID, c.RunID, absorbed, c.Absorbed); err != nil {
			return err
		}
		if err := tx.closeReservations(ctx, c.RunID, c.Closes); err != nil {
			return err
		}
		if c.Purse != "" {
			if err := tx.spend(ctx, ledger.CoreAccounts, c.Purse, c.RunID, c.Result.CostUSD); err != nil {
				return err
			}
		}
		_, _, err = s.add(ctx, tx, more)
		return err
	})
	if duplicate(err) && c.Key != "" {
		// It was stored before, by a COMMIT that nobody answered?
		known, lookErr := s.read.AgentRun.Query().Where(agentrun.Key(c.Key)).Exist(ctx)
		if known || lookErr != nil {
			return wrap("commit the agent's result", lookErr)
		}
	}
	if pluginsdk.CodeOf(err) == pluginsdk.CodeStale {
		if err := s.recordRefused(ctx, record, c.Key); err != nil {
			return wrap("record a turn whose result is refused", err)
		}
	}
	return wrap("commit the agent's result", err)
}

// recordRefused stores, on disk and once, the AgentRun of the commit with this
// key. It has a key of its own: the commit's would say that all was stored.
func (s *Store) recordRefused(ctx context.Context, record ledger.AgentRun, key string) error {
	if key != "" {
		key += ":refused"
	}
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error { return tx.recordTurn(ctx, record, key) })
	if duplicate(err) && key != "" {
		return nil
	}
	return err
}

// recordTurn stores an AgentRun, under a key that nothing else is stored under.
func (t *tx) recordTurn(ctx context.Context, record ledger.AgentRun, key string) (err error) {
	if record.Plugin != "" && record.Cron == "" && record.RunID != "" {
		if record.Cron, err = t.jobOf(ctx, record.RunID); err != nil {
			return err
		}
	}
	insert := insertAgentRun(t.AgentRun, record).SetNillableKey(keyOrNil(key))
	if len(record.Models) == 0 {
		return insert.Exec(ctx)
	}
	row, err := insert.Save(ctx)
	if err != nil {
		return err
	}
	return insertAgentRunModels(t.AgentRunModel, row.ID, record.Models).Exec(ctx)
}

// jobOf returns the name of the scheduled job whose prompt a run answers, or nothing. Its message has
// the key JOB@TIME, and each fire has its row before that is submitted.
func (t *tx) jobOf(ctx context.Context, runID string) (name string, err error) {
	err = t.row(ctx, `SELECT f.job FROM runs r JOIN cron_fires f ON f.job_id = substr(r.key, 1, 36)
		WHERE r.id = $1 AND r.kind = 'message' AND substr(r.key, 37, 1) = '@' ORDER BY f.due DESC LIMIT 1`, []any{runID}, &name)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return name, err
}

func (t *tx) saveSession(ctx context.Context, fence ledger.Fence, c ledger.ResultCommit) error {
	return t.setFenced(ctx, fence, "session_id = $1, seen_message_id = $2, session_open = session_open AND $3, session_account = $4",
		clean(c.SessionID), c.SeenMessageID, c.SessionID != "", clean(c.SessionAccount))
}

// saveResult stores what the run has come to, and returns the messages that were merged
// into it.
func (t *tx) saveResult(ctx context.Context, fence ledger.Fence, c ledger.ResultCommit) (absorbed []int64, err error) {
	commands, err := commandsJSON(c.Commands)
	if err != nil {
		return nil, err
	}
	var known any // NULL
	if commands != nil {
		known = []byte(commands)
	}
	columns := [3][]byte{}
	for i, value := range []any{&c.Result, cleanEvents(c.Events), c.Steps} {
		if columns[i], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	hooks, err := hooksOrNull(c.Hooks)
	if err != nil {
		return nil, err
	}
	usage := c.Result.Usage
	notional := 0.0
	if c.Result.Notional {
		notional = c.Result.CostUSD
	}
	var merged sql.NullString
	err = t.row(ctx, `UPDATE runs SET step = $1, session_id = $2, result = $3, events = $4, steps = $5, commands = $6,
		input_tokens = input_tokens + $7, output_tokens = output_tokens + $8,
		cache_read_tokens = cache_read_tokens + $9, cache_write_tokens = cache_write_tokens + $10,
		cost_usd = cost_usd + $11, notional_usd = notional_usd + $12, cost_unsure = cost_unsure OR $13,
		hooks = COALESCE($14, hooks), account = CASE WHEN $15 = '' THEN account ELSE $15 END`+atWorkSQL(16)+" RETURNING absorbed", []any{
		string(c.Step), clean(c.RunSessionID), columns[0], columns[1], columns[2], known,
		usage.InputTokens, usage.OutputTokens, usage.CacheReadTokens, usage.CacheWriteTokens, c.Result.CostUSD, notional, c.Result.CostUnsure, hooks, clean(c.Result.Account),
		c.RunID, fence.ThreadID,
	}, &merged)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, atWork(c.RunID, 0, nil)
	}
	if err != nil || !merged.Valid {
		return nil, err
	}
	return absorbed, json.Unmarshal([]byte(merged.String), &absorbed)
}

// DropSession forgets the thread's session, which does not exist any more. That
// the run may have been at work in it is not forgotten.
func (s *Store) DropSession(ctx context.Context, fence ledger.Fence, runID string) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if err := tx.setFenced(ctx, fence, "session_id = '', session_account = '', session_open = false, seen_message_id = 0"); err != nil {
			return err
		}
		n, err := tx.working(fence, runID).SetSessionID("").Save(ctx)
		return atWork(runID, n, err)
	})
	return wrap("drop the session", err)
}

// SaveOutcome stores, on disk, what became of one command of a run, with the effects
// of the hook that answered it, and in the audit log what the command has decided. A
// second outcome with the same index replaces the first, and adds nothing to the audit log.
func (s *Store) SaveOutcome(ctx context.Context, fence ledger.Fence, c ledger.OutcomeCommit) error {
	more, err := s.newAdditions(fence.ThreadID, c.RunID, c.Effects, nil)
	if err != nil {
		return err
	}
	err = s.writeWith(ctx, durable, &more, func(ctx context.Context, tx *tx) error {
		if err := tx.check(ctx, fence); err != nil {
			return err
		}
		row, err := tx.Run.Query().Where(run.ID(c.RunID)).Select(run.FieldOutcomes).Only(ctx)
		if err != nil {
			return err
		}
		outcomes := slices.DeleteFunc(row.Outcomes, func(old pluginsdk.Outcome) bool { return old.Index == c.Outcome.Index })
		first := len(outcomes) == len(row.Outcomes)
		outcomes = append(outcomes, c.Outcome)
		slices.SortFunc(outcomes, func(a, b pluginsdk.Outcome) int { return a.Index - b.Index })
		update := tx.working(fence, c.RunID).SetOutcomes(outcomes)
		if c.Hooks != nil {
			update.SetHooks(c.Hooks)
		}
		n, err := update.Save(ctx)
		if err = atWork(c.RunID, n, err); err != nil {
			return err
		}
		if first {
			for _, decision := range c.Decided {
				if err := s.note(ctx, tx, c.Who, "command."+c.Outcome.Name, c.Outcome.Plugin, decision); err != nil {
					return err
				}
			}
		}
		_, _, err = s.add(ctx, tx, more)
		return err
	})
	return wrap("commit a command's outcome", err)
}

// hooksOrNull are a run's hook calls as their column has them, or NULL: those that are
// stored stay.
func hooksOrNull(calls []pluginsdk.HookCall) (any, error) {
	if calls == nil {
		return nil, nil //nolint:nilnil // it is NULL
	}
	return json.Marshal(calls)
}

// cleanEvents leaves the deltas out, and makes sure that what an agent gave a
// tool can be stored: an input that is no JSON becomes a JSON string.
func cleanEvents(events []pluginsdk.StreamEvent) []pluginsdk.StreamEvent {
	out := make([]pluginsdk.StreamEvent, 0, len(events))
	for _, e := range events {
		if e.Delta() {
			continue
		}
		if len(e.Input) > 0 && (!json.Valid(e.Input) || !utf8.Valid(e.Input)) {
			text := strings.ToValidUTF8(string(e.Input), "\uFFFD")
			if e.Input = json.RawMessage(text); !json.Valid(e.Input) {
				e.Input, _ = json.Marshal(text) // a string can always be
			}
		}
		out = append(out, e)
	}
	return out
}

// Finish ends a run, on disk (step 11): the effects of its last hooks, its rows,
// their deliveries, the thread's last activity and the run's final state are one
// transaction. Repeated, it returns the same ids and changes nothing.
func (s *Store) Finish(ctx context.Context, fence ledger.Fence, f ledger.Finish) (done ledger.Finished, err error) {
	if !f.State.Final() {
		return ledger.Finished{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "finish run: %q is not a final state", f.State)
	}
	more, err := s.newAdditions(fence.ThreadID, f.RunID, f.Effects, f.Rows)
	if err != nil {
		return ledger.Finished{}, err
	}
	now := s.now()
	err = s.writeWith(ctx, durable, &more, func(ctx context.Context, tx *tx) (err error) {
		done, err = s.finish(ctx, tx, fence, f, more, now)
		return err
	})
	return done, wrap("finish run", err)
}

func (s *Store) finish(ctx context.Context, tx *tx, fence ledger.Fence, f ledger.Finish, more additions, now time.Time) (ledger.Finished, error) {
	of, err := tx.endsIn(ctx, fence, len(f.Rows) > 0, now)
	if err != nil {
		return ledger.Finished{}, err
	}
	var steps any // NULL: they stay as they are
	if f.Steps != nil {
		encoded, err := json.Marshal(f.Steps)
		if err != nil {
			return ledger.Finished{}, err
		}
		steps = encoded
	}
	hooks, err := hooksOrNull(f.Hooks)
	if err != nil {
		return ledger.Finished{}, err
	}
	n, err := tx.run(ctx, `UPDATE runs SET state = $1, error = $2, finished_at = $3, steps = COALESCE($4, steps),
		hooks = COALESCE($5, hooks), next_attempt_at = NULL, lease_until = NULL`+atWorkSQL(6),
		string(f.State), clean(f.Error), now, steps, hooks, f.RunID, fence.ThreadID)
	if err != nil {
		return ledger.Finished{}, err
	}
	if n == 0 {
		return tx.finished(ctx, f, more)
	}
	ids, fresh, err := s.add(ctx, tx, more)
	if err != nil || !f.Deliver {
		return ledger.Finished{MessageIDs: ids}, err
	}
	lanes, err := s.deliver(ctx, tx, of, now, fresh...)
	return ledger.Finished{MessageIDs: ids, Lanes: lanes}, err
}

// endsIn marks the thread in which a run ends as active, and returns where its replies
// go. A run beside its thread that tells nothing leaves the thread as it is.
func (t *tx) endsIn(ctx context.Context, fence ledger.Fence, tells bool, now time.Time) (of pluginsdk.Thread, err error) {
	of.ID = fence.ThreadID
	holds, args := " AND epoch = $3", []any{now, fence.ThreadID, fence.Epoch}
	if fence.Beside() {
		if err := t.checkBeside(ctx, fence); err != nil || !tells {
			return of, err
		}
		holds, args = "", args[:2]
	}
	var reportTo string
	err = t.row(ctx, "UPDATE threads SET last_activity = $1 WHERE id = $2"+holds+" RETURNING kind, source, source_id, report_to",
		args, &of.Kind, &of.Source, &of.SourceID, &reportTo)
	if errors.Is(err, sql.ErrNoRows) {
		return of, stale(fence)
	}
	of.ReportTo = targetOf(reportTo)
	return of, err
}

// finished returns what a Finish did that has been made before.
func (t *tx) finished(ctx context.Context, f ledger.Finish, more additions) (ledger.Finished, error) {
	r, err := t.Run.Query().Where(run.ID(f.RunID)).Select(run.FieldState).Only(ctx)
	if err != nil {
		return ledger.Finished{}, err
	}
	if r.State != f.State {
		return ledger.Finished{}, pluginsdk.Errorf(pluginsdk.CodeStale, "run %s is over already: %s", f.RunID, r.State)
	}
	known, err := t.known(ctx, additions{threadID: more.threadID, rows: more.rows})
	if err != nil {
		return ledger.Finished{}, err
	}
	var done ledger.Finished
	for _, row := range more.rows {
		id := known.messages[row.Key]
		if id == 0 {
			return ledger.Finished{}, pluginsdk.Errorf(pluginsdk.CodeStale, "run %s is over already, with other rows", f.RunID)
		}
		done.MessageIDs = append(done.MessageIDs, id)
	}
	done.Lanes, err = t.lanesOf(ctx, done.MessageIDs)
	return done, err
}
