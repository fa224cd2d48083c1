package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// readBacks is how often, and readBackPause how far apart, a COMMIT of unknown
// outcome is looked for.
const (
	readBacks     = 5
	readBackPause = 200 * time.Millisecond
)

// errRepeated leaves a transaction whose (source, key) is known.
var errRepeated = errors.New("submission is known")

// Accept stores a message and its run in one durable transaction. A known
// (source, key) returns the first one's ids, or CodeConflict when thread, text
// or attachments differ from the first one's, and from what they have been amended to. CodeNotFound: no such thread. CodeInvalid: the thread
// takes no messages from this source. CodeExhausted: too many runs wait. When
// the COMMIT's outcome could not be found out (CodeUnavailable), the run may have
// been accepted, and claimed.
func (s *Store) Accept(ctx context.Context, a ledger.Acceptance) (ledger.Accepted, error) {
	user, hash, err := s.accepting(ctx, a)
	if err != nil {
		return ledger.Accepted{}, err
	}
	var accepted ledger.Accepted
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) (err error) {
		accepted, err = s.accept(ctx, tx, a, user, hash)
		return err
	})
	var uncertain *uncertainError
	switch {
	case errors.Is(err, errRepeated):
		first, err := s.repeated(ctx, a.Submission, hash)
		return ledger.Accepted{Accepted: first}, err
	case errors.As(err, &uncertain) && s.landed(ctx, a.RunID):
		return accepted, nil
	case err != nil:
		return ledger.Accepted{}, wrap("accept message", err)
	}
	return accepted, nil
}

// accepting returns the message that an acceptance stores, and what tells whether a
// repeated one is the same.
func (s *Store) accepting(ctx context.Context, a ledger.Acceptance) (user pluginsdk.Message, hash string, err error) {
	from := origin{threadID: a.Submission.ThreadID, runID: a.RunID, plugin: a.Plugin, source: a.Submission.Source, of: a.Origin}
	attachments, err := s.asKept(ctx, a.Submission.Attachments)
	if err != nil {
		return pluginsdk.Message{}, "", wrap("read the attachments", err)
	}
	user, err = s.newMessage(from, pluginsdk.NewMessage{
		Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Content: a.Submission.Content, Metadata: a.Submission.Metadata, Attachments: attachments,
	})
	if err != nil {
		return pluginsdk.Message{}, "", err
	}
	user.Author, user.Scope = clean(a.Submission.Author), a.Submission.Scope
	hash, err = contentHash(user)
	return user, hash, err
}

// accept writes what one acceptance consists of.
func (s *Store) accept(ctx context.Context, t *tx, a ledger.Acceptance, user pluginsdk.Message, hash string) (ledger.Accepted, error) {
	// The thread is locked first: of messages that come at the same time one is claimed, and their ids are
	// in the order of acceptance. SQLite has one writer at a time, and needs no lock.
	if t.postgres {
		if _, err := t.epoch(ctx, user.ThreadID); err != nil {
			return ledger.Accepted{}, err
		}
	}
	if a.Task != nil {
		if err := t.moveTask(ctx, *a.Task); err != nil {
			return ledger.Accepted{}, err
		}
	}
	depth, root, err := t.causedBy(ctx, a.Submission.CauseRunID)
	if err != nil {
		return ledger.Accepted{}, err
	}
	if a.MaxDepth > 0 && depth > a.MaxDepth {
		return ledger.Accepted{}, pluginsdk.Errorf(pluginsdk.CodeExhausted,
			"run %s was caused by a run that was caused by a run, %d deep, and may cause no further one", a.Submission.CauseRunID, a.MaxDepth)
	}
	idle, news, err := s.room(ctx, t, a)
	if err != nil {
		return ledger.Accepted{}, err
	}
	th, err := t.wakeThread(ctx, user, a.Answer == nil && a.BesideAs == "", idle)
	if err != nil {
		return ledger.Accepted{}, err
	}
	to := threadOf(th)
	if user, err = t.insertMessage(ctx, user); err != nil {
		return ledger.Accepted{}, err
	}
	r := ledger.Run{Run: pluginsdk.Run{
		ID: a.RunID, ThreadID: user.ThreadID, MessageID: user.ID, Kind: a.Kind, State: pluginsdk.RunQueued,
		CauseRunID: a.Submission.CauseRunID, Depth: depth, OnBehalfOf: root, TraceID: a.TraceID, QueuedAt: user.CreatedAt, Beside: a.BesideAs != "",
	}, BesideAs: a.BesideAs, Unattended: a.Submission.Unattended, Options: a.Submission.Options}
	if r.Options != nil { // which tells also who reads the run without them that there are some
		r.Purpose = cmp.Or(r.Options.Purpose, a.Plugin, a.Submission.Source)
	}
	switch {
	case a.Answer != nil:
		r.State, r.Attempt, r.StartedAt, r.FinishedAt = a.Answer.State, 1, r.QueuedAt, r.QueuedAt
	case idle:
		r.State, r.Attempt, r.StartedAt = pluginsdk.RunRunning, 1, r.QueuedAt
		r.Owner, r.LeaseUntil = clean(a.Claimer), r.QueuedAt.Add(claimTerm)
	}
	insert, err := insertRun(t.Run, r)
	if err != nil {
		return ledger.Accepted{}, err
	}
	err = insert.SetSource(user.Source).
		SetNillableKey(keyOrNil(clean(a.Submission.Key))).SetContentHash(hash).Exec(ctx)
	if duplicate(err) {
		return ledger.Accepted{}, errRepeated
	}
	if err != nil {
		return ledger.Accepted{}, err
	}
	accepted := ledger.Accepted{
		Accepted: pluginsdk.Accepted{ThreadID: user.ThreadID, MessageID: user.ID, RunID: a.RunID}, BusyMode: to.BusyMode,
	}
	switch {
	case a.Answer != nil:
		if a.Answer.Gone != nil {
			to.Thread = *a.Answer.Gone
		}
		accepted.Lanes, err = s.answer(ctx, t, to.Thread, r, *a.Answer)
	case idle:
		accepted.Claim = ledger.Claim{
			Found: true, Thread: to, Message: user, Run: r, Fence: ledger.Fence{ThreadID: r.ThreadID, Epoch: to.Epoch}, NoNews: !news,
		}
		if err = t.ofTask(ctx, &accepted.Claim); err == nil {
			err = s.holds(ctx, t) // as in Claim
		}
	}
	return accepted, err
}

// wakeThread notes that a message has come into its thread, moves the thread on to its next epoch
// when the message's run is claimed at once, and returns the thread. A message that asks the agent
// brings a thread back that is archived.
func (t *tx) wakeThread(ctx context.Context, message pluginsdk.Message, asksAgent, claims bool) (*ent.Thread, error) {
	th, err := t.changeThread(ctx, message.ThreadID,
		"last_activity = $2, status = CASE WHEN $3 THEN 'active' ELSE status END, epoch = CASE WHEN $4 THEN epoch + 1 ELSE epoch END",
		message.CreatedAt, asksAgent, claims)
	if err == nil && th.Kind == pluginsdk.ThreadCron && message.Source != th.Source {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"thread %s belongs to a scheduled job and takes no messages from %s; write in another thread", th.ID, message.Source)
	}
	return th, err
}

// causedBy returns how deep a run is that another has caused, and who stands at the root of the
// causes.
func (t *tx) causedBy(ctx context.Context, cause string) (depth int, root pluginsdk.OnBehalf, err error) {
	if cause == "" {
		return 0, root, nil
	}
	var own pluginsdk.OnBehalf
	var plugin string
	err = t.row(ctx, `SELECT r.depth, r.root_source, r.root_author, r.source, r.plugin, COALESCE(m.author, '')
		FROM runs r LEFT JOIN messages m ON m.id = r.message_id AND r.kind <> 'turn' WHERE r.id = $1`,
		[]any{cause}, &depth, &root.Source, &root.Author, &own.Source, &plugin, &own.Author)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, root, pluginsdk.Errorf(pluginsdk.CodeInvalid, "causeRunId: no run with the id %q", cause)
	}
	if root == (pluginsdk.OnBehalf{}) {
		root = pluginsdk.OnBehalf{Source: cmp.Or(plugin, own.Source), Author: own.Author}
	}
	return depth + 1, root, err
}

// room refuses a run when too many wait, and otherwise reports whether it may be
// claimed as it is stored: somebody wants it, and nothing is in front of it. news says whether
// there are rows that the thread's session has to be told of.
func (s *Store) room(ctx context.Context, t *tx, a ledger.Acceptance) (idle, news bool, err error) {
	if a.Answer != nil || a.MaxWaiting <= 0 && a.Claimer == "" {
		return false, false, nil
	}
	var waiting int
	var working bool
	// The limit is part of the text: as a parameter, SQLite prepares anew each time.
	query := fmt.Sprintf(`SELECT
		(SELECT COUNT(*) FROM (SELECT 1 FROM runs WHERE state = 'queued' AND thread_id = $1%s LIMIT %d) AS head),
		EXISTS (SELECT 1 FROM runs WHERE state IN ('running', 'waiting') AND thread_id = $1 AND NOT beside)
			OR EXISTS (%s AND p.name = $2),
		EXISTS (SELECT 1 FROM messages WHERE thread_id = $1 AND id > (SELECT seen_message_id FROM threads WHERE id = $1)
			AND role <> 'user' AND kind IN ('text', 'notification') AND (role = 'system' OR run_id = ''))`,
		waitsWith(a)+s.on, max(a.MaxWaiting, 1), offPlugins(s.config.Carriers))
	if err := t.row(ctx, query, []any{a.Submission.ThreadID, clean(a.Plugin)}, &waiting, &working, &news); err != nil {
		return false, false, err
	}
	if a.MaxWaiting > 0 {
		if err := s.full(ctx, t, a, waiting); err != nil {
			return false, false, err
		}
	}
	return a.Claimer != "" && waiting == 0 && !working, news, nil
}

// waitsWith is the condition for the runs of its thread that an accepted run waits with: those of
// the queue, or all commands beside the thread.
func waitsWith(a ledger.Acceptance) string {
	if a.BesideAs != "" {
		return " AND beside AND beside_as <> ''"
	}
	return threadsQueue
}

// full refuses a message of which too many wait already: all of them, or those of its plugin. A
// plugin that does not come with Harness has at most half of the places that others leave, since
// whose its messages are only it knows; a person whose token it has shown has any place. Who
// asks for what was accepted is never refused.
func (s *Store) full(ctx context.Context, t *tx, a ledger.Acceptance, waiting int) error {
	free := a.MaxWaiting - waiting
	foreign := a.Plugin != "" && a.Origin.Token == "" && !slices.Contains(s.config.Carriers, a.Plugin)
	if free > 0 && (!foreign || waiting < free) {
		return nil
	}
	most, own, err := s.foreignWaiting(ctx, t, a)
	if err != nil || free > 0 && own < free {
		return err
	}
	known, err := t.Run.Query().
		Where(run.Source(clean(a.Submission.Source)), run.Key(clean(a.Submission.Key))).Exist(ctx)
	switch {
	case err != nil:
		return err
	case known:
		return errRepeated
	case free > 0:
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "%d messages of the plugin %s already wait in this thread, which has %d places, %d of them free: "+
			"a plugin has at most half of what others leave; try again when some are answered", own, a.Plugin, a.MaxWaiting, free)
	case most.waiting > 0:
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "%d messages already wait in this thread, %d of them from the plugin %s; try again when some are answered",
			waiting, most.waiting, most.plugin)
	}
	return pluginsdk.Errorf(pluginsdk.CodeExhausted, "%d messages already wait in this thread; try again when some are answered", waiting)
}

// share is how many runs of a plugin wait in a thread.
type share struct {
	plugin  string
	waiting int
}

// foreignWaiting returns which of the plugins that do not come with Harness has most runs that
// wait with an accepted run, and how many of them are of its own plugin.
func (s *Store) foreignWaiting(ctx context.Context, t *tx, a ledger.Acceptance) (most share, own int, err error) {
	rows, err := t.exec.QueryContext(ctx, "SELECT COALESCE("+pluginOfRun+`, '') AS of, COUNT(*) FROM runs
		WHERE state = 'queued' AND thread_id = $1`+waitsWith(a)+s.on+" GROUP BY 1 ORDER BY 2 DESC, 1", a.Submission.ThreadID)
	if err != nil {
		return share{}, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var of share
		if err := rows.Scan(&of.plugin, &of.waiting); err != nil {
			return share{}, 0, err
		}
		if of.plugin == clean(a.Plugin) {
			own = of.waiting
		}
		if most.waiting == 0 && of.plugin != "" && !slices.Contains(s.config.Carriers, of.plugin) {
			most = of
		}
	}
	return most, own, rows.Err()
}

// answer stores the core's own reply to a command, and its delivery.
func (s *Store) answer(ctx context.Context, t *tx, to pluginsdk.Thread, r ledger.Run, a ledger.Answer) ([]ledger.Lane, error) {
	stored, err := t.insertMessage(ctx, pluginsdk.Message{
		ThreadID: r.ThreadID, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Source: "core",
		Content: a.Text, RunID: r.ID, Key: r.ID + ":reply", CreatedAt: r.QueuedAt,
	})
	if err != nil {
		return nil, err
	}
	return s.deliver(ctx, t, to, r.QueuedAt, stored.ID)
}

// Known reports whether a submission with this source and key was accepted.
func (s *Store) Known(ctx context.Context, source, key string) (bool, error) {
	known, err := s.read.Run.Query().Where(run.Source(clean(source)), run.Key(clean(key))).Exist(ctx)
	return known, wrap("look for a message", err)
}

// repeated returns the ids of the first submission with this source and key.
func (s *Store) repeated(ctx context.Context, submission pluginsdk.Submission, hash string) (pluginsdk.Accepted, error) {
	first, err := s.read.Run.Query().
		Where(run.Source(clean(submission.Source)), run.Key(clean(submission.Key))).
		Select(run.FieldThreadID, run.FieldMessageID, run.FieldContentHash).Only(ctx)
	if ent.IsNotFound(err) { // the first one was rolled back after this one met it
		return pluginsdk.Accepted{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "accept message: another one with the same key failed; try again")
	}
	if err != nil {
		return pluginsdk.Accepted{}, wrap("find the first message", err)
	}
	same := first.ContentHash == hash
	if !same {
		if same, err = s.amendedTo(ctx, first.MessageID, hash); err != nil {
			return pluginsdk.Accepted{}, err
		}
	}
	if !same {
		return pluginsdk.Accepted{}, pluginsdk.Errorf(pluginsdk.CodeConflict,
			"key %q of %s was used before for another message", submission.Key, submission.Source)
	}
	return pluginsdk.Accepted{ThreadID: first.ThreadID, MessageID: first.MessageID, RunID: first.ID, Existed: true}, nil
}

// amendedTo reports whether a hash is of what a message says now.
func (s *Store) amendedTo(ctx context.Context, messageID int64, hash string) (bool, error) {
	row, err := s.read.Message.Get(ctx, messageID)
	if ent.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, wrap("read the first message", err)
	}
	now, err := contentHash(messageOf(row))
	return now == hash, err
}

// landed finds out what became of a COMMIT that nobody answered.
func (s *Store) landed(ctx context.Context, runID string) bool {
	for range readBacks {
		found, err := s.read.Run.Query().Where(run.ID(runID)).Exist(ctx)
		if err == nil {
			return found
		}
		select {
		case <-time.After(readBackPause):
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// contentHash is of what makes a submission the same one again. Where an
// attachment lies is left out: such addresses are often signed anew.
func contentHash(m pluginsdk.Message) (string, error) {
	m.Attachments = slices.Clone(m.Attachments)
	for i := range m.Attachments {
		m.Attachments[i].Where = ""
	}
	encoded, err := json.Marshal([]any{m.ThreadID, m.Content, m.Attachments})
	if err != nil {
		return "", pluginsdk.Errorf(pluginsdk.CodeInternal, "hash message: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:]), nil
}
