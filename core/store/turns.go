package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Turns of the agent that plugins ask for. A turn with a session of its own is in no
// thread's queue, takes no thread, and its fence is its run and attempt. One in the
// thread's session is a run of the thread's queue as any other.

// turnSource is what the keys of a plugin's turns are kept under, apart from those of
// its messages.
func turnSource(plugin string) string { return "turn/" + plugin }

// AcceptTurn stores what a plugin asks of the agent, with its run, in one durable
// transaction. A key that the plugin has used returns the first run, or CodeConflict
// when something else was asked. CodeNotFound: no such thread. CodeStale: its task is
// over, whose turns have ended with it. CodeExhausted: too many of the plugin's turns
// wait, or too many runs have caused one another.
func (s *Store) AcceptTurn(ctx context.Context, turn ledger.NewTurn) (ledger.AcceptedTurn, error) {
	hash, err := turnHash(turn.Request)
	if err != nil {
		return ledger.AcceptedTurn{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "ask for a turn: %w", err)
	}
	if turn.Request.Key != "" { // a repetition writes nothing, and is never refused for those that wait
		if first, err := s.repeatedTurn(ctx, turn, hash); err == nil || pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			return first, err
		}
	}
	now := s.now()
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		return tx.acceptTurn(ctx, turn, hash, now)
	})
	var uncertain *uncertainError
	switch {
	case duplicate(err):
		return s.repeatedTurn(ctx, turn, hash)
	case errors.As(err, &uncertain) && s.landed(ctx, turn.RunID):
	case err != nil:
		return ledger.AcceptedTurn{}, wrap("ask for a turn", err)
	}
	return ledger.AcceptedTurn{RunID: turn.RunID, ThreadID: turn.Request.ThreadID, Queue: queueOfTurn(turn)}, nil
}

// turnHash is of what makes a turn the same one again. What a later version adds to it
// must leave the hash of those that do not have it as it is: plugins ask again after an
// upgrade.
func turnHash(r pluginsdk.StartTurnRequest) (string, error) {
	encoded, err := json.Marshal([]any{
		r.Purpose, r.ThreadID, r.TaskID, r.Session, r.Prompt, r.SystemPrompt, r.Model, r.Effort, r.PermissionMode, r.Cwd,
		slices.Concat([]string{}, r.AllowedTools), slices.Concat([]string{}, r.DisallowedTools), string(r.JSONSchema), r.CostCapUSD, r.Timeout,
	})
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:]), err
}

func queueOfTurn(turn ledger.NewTurn) ledger.Queue {
	if turn.Beside() {
		return ledger.Queue{TurnID: turn.RunID}
	}
	return ledger.Queue{ThreadID: turn.Request.ThreadID}
}

func (t *tx) acceptTurn(ctx context.Context, turn ledger.NewTurn, hash string, now time.Time) error {
	asked := turn.Request
	if asked.ThreadID != "" {
		if _, err := t.epoch(ctx, asked.ThreadID); err != nil {
			return err
		}
	}
	if err := t.worksOn(ctx, asked.TaskID); err != nil {
		return err
	}
	depth, root, err := t.causedBy(ctx, turn.CauseRunID)
	if err != nil {
		return err
	}
	if turn.MaxDepth > 0 && depth > turn.MaxDepth {
		return pluginsdk.Errorf(pluginsdk.CodeExhausted,
			"run %s was caused by a run that was caused by a run, %d deep, and may cause no further one", turn.CauseRunID, turn.MaxDepth)
	}
	if turn.MaxWaiting > 0 {
		waiting, err := t.Run.Query().Where(run.StateEQ(pluginsdk.RunQueued), run.KindEQ(pluginsdk.RunTurn), run.Plugin(turn.Plugin)).Count(ctx)
		if err != nil {
			return err
		}
		if waiting >= turn.MaxWaiting {
			return pluginsdk.Errorf(pluginsdk.CodeExhausted, "%d turns of the plugin %s wait already; try again when some are over", waiting, turn.Plugin)
		}
	}
	r := ledger.Run{Run: pluginsdk.Run{
		ID: turn.RunID, ThreadID: asked.ThreadID, Kind: pluginsdk.RunTurn, State: pluginsdk.RunQueued,
		CauseRunID: turn.CauseRunID, Depth: depth, OnBehalfOf: root, TraceID: turn.TraceID, QueuedAt: now,
		Plugin: turn.Plugin, Purpose: asked.Purpose, TaskID: asked.TaskID,
		Beside: turn.Beside(),
	}, Turn: &asked}
	if asked.ThreadID != "" {
		err := t.row(ctx, "SELECT COALESCE(MAX(id), 0) FROM messages WHERE thread_id = $1", []any{asked.ThreadID}, &r.MessageID)
		if err != nil {
			return err
		}
	}
	insert, err := insertRun(t.Run, r)
	if err != nil {
		return err
	}
	return insert.SetSource(turnSource(turn.Plugin)).SetNillableKey(keyOrNil(clean(asked.Key))).SetContentHash(hash).Exec(ctx)
}

// worksOn refuses a turn for a task that is over. The task stays as it is until the end
// of the transaction: who ends it looks for its turns afterwards. That it is there is the
// caller's to see to.
func (t *tx) worksOn(ctx context.Context, taskID string) error {
	if taskID == "" {
		return nil
	}
	query := "SELECT status FROM tasks WHERE id = $1"
	if t.postgres {
		query += " FOR UPDATE"
	}
	var status pluginsdk.TaskStatus
	err := t.row(ctx, query, []any{taskID}, &status)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err == nil && status.Final():
		return pluginsdk.Errorf(pluginsdk.CodeStale, "taskId: task %s is %s: it gets no more turns", taskID, status)
	}
	return err
}

// OpenTurnsOf returns the ids of the turns that work for a task, or wait to, the oldest
// first, wherever they are.
func (s *Store) OpenTurnsOf(ctx context.Context, taskID string) ([]string, error) {
	rows, err := s.query.QueryContext(ctx, "SELECT id FROM runs WHERE task_id = $1 AND task_id <> '' AND finished_at IS NULL ORDER BY id", taskID)
	if err != nil {
		return nil, wrap("list a task's turns", err)
	}
	ids, err := column(rows)
	return ids, wrap("list a task's turns", err)
}

// repeatedTurn returns the first turn of the plugin's with this key, or CodeNotFound.
func (s *Store) repeatedTurn(ctx context.Context, turn ledger.NewTurn, hash string) (ledger.AcceptedTurn, error) {
	first, err := s.read.Run.Query().
		Where(run.Source(turnSource(turn.Plugin)), run.Key(clean(turn.Request.Key))).
		Select(run.FieldID, run.FieldContentHash).Only(ctx)
	if err != nil {
		return ledger.AcceptedTurn{}, wrap("find the first turn", err)
	}
	if first.ContentHash != hash {
		return ledger.AcceptedTurn{}, pluginsdk.Errorf(pluginsdk.CodeConflict, "key %q was used before to ask for another turn", turn.Request.Key)
	}
	turn.RunID = first.ID
	return ledger.AcceptedTurn{RunID: first.ID, ThreadID: turn.Request.ThreadID, Existed: true, Queue: queueOfTurn(turn)}, nil
}

// FirstQueued returns the first run of a thread's queue that is in a state, or the zero
// Run. Runs of plugins that are turned off are none.
func (s *Store) FirstQueued(ctx context.Context, threadID string, state pluginsdk.RunState) (pluginsdk.Run, error) {
	row, err := s.read.Run.Query().Where(run.StateEQ(state), run.ThreadID(threadID), run.Beside(false), s.whichAreOn()).
		Order(run.ByMessageID(), run.ByID()).Select(listedColumns...).First(ctx)
	if ent.IsNotFound(err) {
		return pluginsdk.Run{}, nil
	}
	if err != nil {
		return pluginsdk.Run{}, wrap("look at a thread's queue", err)
	}
	return runOf(row), nil
}

// ExpireQueued ends, as failed and for a reason in words, a turn that nobody has begun.
// It reports whether it has.
func (s *Store) ExpireQueued(ctx context.Context, runID, reason string) (expired bool, err error) {
	now := s.now()
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		n, err := tx.Run.Update().
			Where(run.ID(runID), run.KindEQ(pluginsdk.RunTurn), run.StateEQ(pluginsdk.RunQueued), run.Attempt(0), run.StartedAtIsNil()).
			SetState(pluginsdk.RunFailed).SetError(clean(reason)).SetFinishedAt(now).ClearNextAttemptAt().Save(ctx)
		expired = n > 0
		return err
	})
	return expired, wrap("end a turn that waits", err)
}

// SaveProgress stores what the agent has done in a turn that runs, up to now, for those
// who look at the run. Nothing waits for it: a power failure may take it, and what is
// refused is left.
func (s *Store) SaveProgress(ctx context.Context, fence ledger.Fence, runID string, events []pluginsdk.StreamEvent) error {
	encoded, err := json.Marshal(cleanEvents(events))
	if err != nil {
		return wrap("store what a turn has come to", err)
	}
	err = s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		if err := tx.check(ctx, fence); err != nil {
			return err
		}
		_, err := tx.run(ctx, "UPDATE runs SET events = $1"+atWorkSQL(2)+" AND step = 'invoking'", encoded, runID, fence.ThreadID)
		return err
	})
	return wrap("store what a turn has come to", err)
}

// messageOfRun is the message that a run answers, or what a turn has in place of one.
func (t *tx) messageOfRun(ctx context.Context, r ledger.Run) (pluginsdk.Message, error) {
	if r.Kind == pluginsdk.RunTurn {
		return ledger.MessageOfTurn(r), nil
	}
	m, err := t.Message.Get(ctx, r.MessageID)
	if err != nil {
		return pluginsdk.Message{}, err
	}
	return messageOf(m), nil
}

// RunOptions returns the options of a message's run; nil: it has none.
func (s *Store) RunOptions(ctx context.Context, r pluginsdk.Run) (*pluginsdk.RunOptions, error) {
	if r.Kind == pluginsdk.RunTurn || r.Purpose == "" {
		return nil, nil
	}
	read := ledger.Run{Run: r}
	err := readRequest(ctx, s.query, &read)
	return read.Options, wrap("read how a message is run", err)
}

// readRequest reads what a turn asks, or the options of a message's run. A turn that cannot be read
// asks nothing, and fails for that; options that cannot be read are none, and the run is quiet.
func readRequest(ctx context.Context, query entsql.ExecQuerier, r *ledger.Run) error {
	var stored sql.NullString
	if err := row(ctx, query, "SELECT request FROM runs WHERE id = $1", []any{r.ID}, &stored); err != nil {
		return err
	}
	if r.Kind != pluginsdk.RunTurn {
		r.Options = &pluginsdk.RunOptions{}
		if json.Unmarshal([]byte(stored.String), r.Options) != nil {
			r.Options = &pluginsdk.RunOptions{QuietReply: true, QuietNotices: true}
		}
		return nil
	}
	r.Turn = &pluginsdk.StartTurnRequest{}
	if json.Unmarshal([]byte(stored.String), r.Turn) != nil {
		r.Turn = &pluginsdk.StartTurnRequest{}
	}
	if string(r.Turn.JSONSchema) == "null" {
		r.Turn.JSONSchema = nil
	}
	return nil
}
