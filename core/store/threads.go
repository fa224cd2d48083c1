package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/thread"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// CreateThread makes a thread. When its source and source id are known, it returns
// that thread as it is and created is false; CodeConflict when n names a permission
// mode or a working directory and the thread has another.
func (s *Store) CreateThread(ctx context.Context, n pluginsdk.NewThread) (t pluginsdk.Thread, created bool, err error) {
	if t, err = s.newThread(n); err != nil {
		return pluginsdk.Thread{}, false, err
	}
	made, created, err := s.insertThreadOnce(ctx, t)
	if err == nil && !created {
		err = otherRights(made, n)
	}
	if err != nil {
		return pluginsdk.Thread{}, false, err
	}
	return made, created, nil
}

// otherRights refuses a thread that may do something else than it is asked for.
func otherRights(found pluginsdk.Thread, asked pluginsdk.NewThread) error {
	for _, of := range []struct{ field, is, want string }{
		{"permissionMode", found.PermissionMode, asked.PermissionMode}, {"cwd", found.Cwd, clean(asked.Cwd)},
		{"account", found.Account, clean(asked.Account)},
	} {
		if of.want != "" && of.is != of.want {
			return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s: the thread %s:%s exists and has %.100q, not %.100q; "+
				"leave it out to get the thread as it is", of.field, found.Source, found.SourceID, of.is, of.want)
		}
	}
	return nil
}

// insertThreadOnce stores t, or finds the thread that has its source already.
func (s *Store) insertThreadOnce(ctx context.Context, t pluginsdk.Thread) (pluginsdk.Thread, bool, error) {
	if found, err := s.threadBySource(ctx, t.Source, t.SourceID); err == nil || !ent.IsNotFound(err) {
		return found, false, wrap("find thread", err)
	}
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if t.ParentThreadID != "" {
			if _, err := tx.epoch(ctx, t.ParentThreadID); err != nil {
				return err
			}
		}
		if err := tx.apartBelow(ctx, &t); err != nil {
			return err
		}
		if err := tx.checkTarget(ctx, "", t.ReportTo); err != nil {
			return err
		}
		if err := tx.knownAccount(ctx, t.Account); err != nil {
			return err
		}
		return insertThread(tx.Thread, ledger.Thread{Thread: t}).Exec(ctx)
	})
	if duplicate(err) { // somebody was faster
		found, err := s.threadBySource(ctx, t.Source, t.SourceID)
		return found, false, wrap("find thread", err)
	}
	return t, err == nil, wrap("create thread", err)
}

// apartBelow has the thread of a task be apart that is below a thread apart.
func (t *tx) apartBelow(ctx context.Context, thread *pluginsdk.Thread) error {
	if thread.Apart || thread.Kind != pluginsdk.ThreadTask || thread.ParentThreadID == "" {
		return nil
	}
	err := t.row(ctx, "SELECT apart FROM threads WHERE id = $1", []any{thread.ParentThreadID}, &thread.Apart)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// setApartBelow has the threads of the tasks below a thread that has become apart be apart.
func (t *tx) setApartBelow(ctx context.Context, id string) error {
	_, err := t.run(ctx, `WITH RECURSIVE below (id) AS (
			SELECT id FROM threads WHERE id = $1
			UNION SELECT threads.id FROM threads JOIN below ON threads.parent_thread_id = below.id WHERE threads.kind = 'task')
		UPDATE threads SET apart = true WHERE id IN (SELECT id FROM below)`, id)
	return err
}

func (s *Store) threadBySource(ctx context.Context, source, sourceID string) (pluginsdk.Thread, error) {
	row, err := s.read.Thread.Query().Where(thread.Source(source), thread.SourceID(sourceID)).Only(ctx)
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	return toldThreadOf(row), nil
}

// newThread fills in what a thread starts with.
func (s *Store) newThread(n pluginsdk.NewThread) (pluginsdk.Thread, error) {
	if n.Kind == "" {
		n.Kind = pluginsdk.ThreadGeneral
	}
	if n.BusyMode == "" {
		n.BusyMode = pluginsdk.BusyQueue
	}
	switch {
	case n.Source == "" || n.SourceID == "":
		return pluginsdk.Thread{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "source and sourceId: a thread needs both")
	case !slices.Contains([]pluginsdk.ThreadKind{pluginsdk.ThreadGeneral, pluginsdk.ThreadTask, pluginsdk.ThreadCron}, n.Kind):
		return pluginsdk.Thread{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "kind: %q is not one of general, task, cron", n.Kind)
	}
	if err := cmp.Or(
		checkBusyMode(n.BusyMode), checkCwd(n.Cwd), ledger.CheckPermissionMode(n.PermissionMode), ledger.CheckAskTools(n.AskTools), checkTarget(n.ReportTo),
		checkLengths(length{"source", n.Source, sourceMax}, length{"sourceId", n.SourceID, sourceIDMax}, length{"name", n.Name, nameMax},
			length{"model", n.Model, wordMax}, length{"effort", n.Effort, wordMax}, length{"cwd", n.Cwd, cwdMax},
			length{"instructions", n.Instructions, instructionsMax}),
	); err != nil {
		return pluginsdk.Thread{}, err
	}
	id, err := newID()
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	if n.OwnDirectory {
		if n.Cwd != "" {
			return pluginsdk.Thread{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "ownDirectory: the thread is to work in the cwd %.100q; leave one of them out", n.Cwd)
		}
		n.Cwd = s.ownDirectory(id)
	}
	now := s.now()
	return pluginsdk.Thread{
		ID: id, Source: clean(n.Source), SourceID: clean(n.SourceID), ReportTo: n.ReportTo, Name: clean(n.Name),
		Kind: n.Kind, ParentThreadID: n.ParentThreadID, Status: pluginsdk.ThreadActive,
		Model: clean(n.Model), Effort: clean(n.Effort), PermissionMode: n.PermissionMode, Cwd: clean(n.Cwd), Apart: ledger.Apart(n.Cwd),
		Instructions: clean(n.Instructions), BusyMode: n.BusyMode, AskTools: ledger.AskTools(n.AskTools), Account: clean(n.Account), LastActivity: now, CreatedAt: now,
	}, nil
}

// ownDirectory is the directory that a thread has for itself. Who works in it makes it.
func (s *Store) ownDirectory(id string) string {
	return ledger.ThreadDirectory(filepath.Join(s.config.Dir, "threads"), id)
}

// branched is what a branch is made from: what it may do, and how its agent works, is as in
// the old thread, but for a directory of the thread's own, in place of which it has another.
// Where replies go is not: two threads would speak in one place.
func branched(from pluginsdk.Thread, to pluginsdk.NewThread) pluginsdk.NewThread {
	if to.Name == "" {
		to.Name = from.Name
	}
	to.Kind, to.ReportTo, to.ParentThreadID = pluginsdk.ThreadGeneral, pluginsdk.Target{}, ""
	to.Model, to.Effort, to.PermissionMode, to.Cwd = from.Model, from.Effort, from.PermissionMode, from.Cwd
	to.Instructions, to.BusyMode, to.AskTools, to.Account = from.Instructions, from.BusyMode, from.AskTools, from.Account
	if ledger.OwnDirectory(from) {
		to.Cwd, to.OwnDirectory = "", true
	}
	return to
}

// UpdateThread changes the fields of a thread that are set, and returns it. A permission
// mode holds for the thread's task, too: whoever takes rights away means those in force.
func (s *Store) UpdateThread(ctx context.Context, id string, p pluginsdk.ThreadPatch) (pluginsdk.Thread, error) {
	return s.updateThread(ctx, id, p, func(context.Context, *tx) error { return nil })
}

// PermitThread is UpdateThread for a change of what a thread may do (detail says which; empty: none), and for one that ends
// its session: the audit log says who made it, and what it was, if it is made, and not if it is refused.
func (s *Store) PermitThread(ctx context.Context, id string, p pluginsdk.ThreadPatch, who, detail string) (pluginsdk.Thread, error) {
	return s.updateThread(ctx, id, p, func(ctx context.Context, tx *tx) error {
		if p.EndSession != nil {
			if err := s.note(ctx, tx, who, "thread.endsession", id, *p.EndSession); err != nil {
				return err
			}
		}
		if detail == "" {
			return nil
		}
		return s.note(ctx, tx, who, "thread.permit", id, detail)
	})
}

// updateThread calls also in the transaction of the change.
func (s *Store) updateThread(ctx context.Context, id string, p pluginsdk.ThreadPatch, also func(context.Context, *tx) error) (pluginsdk.Thread, error) {
	if err := checkPatch(p); err != nil {
		return pluginsdk.Thread{}, err
	}
	if p.AskTools != nil {
		p.AskTools = new(ledger.AskTools(*p.AskTools))
	}
	var out pluginsdk.Thread
	now := s.now()
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		update := tx.Thread.UpdateOneID(id)
		if p.ReportTo != nil {
			if err := tx.checkTarget(ctx, id, *p.ReportTo); err != nil {
				return err
			}
			update.SetReportTo(p.ReportTo.String())
		}
		if err := tx.knownAccount(ctx, orEmpty(p.Account)); err != nil {
			return err
		}
		if ledger.Apart(orEmpty(p.Cwd)) { // a thread that is apart stays so, wherever it works
			update.SetApart(true)
		}
		row, err := update.SetNillableName(cleaned(p.Name)).SetNillableStatus(p.Status).
			SetNillableModel(cleaned(p.Model)).SetNillableEffort(cleaned(p.Effort)).
			SetNillablePermissionMode(p.PermissionMode).SetNillableCwd(cleaned(p.Cwd)).
			SetNillableInstructions(cleaned(p.Instructions)).SetNillableBusyMode(p.BusyMode).
			SetNillableAskTools(p.AskTools).SetNillableAccount(cleaned(p.Account)).SetNillableLastReadMessageID(p.LastReadMessageID).Save(ctx)
		if ent.IsNotFound(err) {
			return notFound("thread", id)
		}
		if err != nil {
			return err
		}
		out = toldThreadOf(row)
		if p.EndSession != nil {
			if err := tx.endSession(ctx, id, *p.EndSession); err != nil {
				return err
			}
			out.SessionID = ""
		}
		if ledger.Apart(orEmpty(p.Cwd)) {
			if err := tx.setApartBelow(ctx, id); err != nil {
				return err
			}
		}
		if p.Model != nil || p.Account != nil { // what a run waits for may be of the old one
			if err := tx.hastenThread(ctx, id, now); err != nil {
				return err
			}
		}
		if p.PermissionMode != nil {
			_, err := tx.run(ctx, `UPDATE tasks SET permission_mode = $1, epoch = epoch + 1
				WHERE thread_id = $2 AND status NOT IN ('completed', 'failed', 'cancelled')`, row.PermissionMode, id)
			if err != nil {
				return err
			}
		}
		return also(ctx, tx)
	})
	return out, wrap("update thread", err)
}

// endSession has the next turn of a thread begin a new session, if the thread has this one and no run in it is not over: who is
// at work, or about to be, goes on in the session.
func (t *tx) endSession(ctx context.Context, threadID, session string) error {
	if _, err := t.epoch(ctx, threadID); err != nil { // a run takes the thread before this, or after it
		return err
	}
	n, err := t.run(ctx, `UPDATE threads SET session_id = '', session_account = '', session_open = false, seen_message_id = 0
		WHERE id = $1 AND session_id = $2 AND session_id <> ''
		AND NOT EXISTS (SELECT 1 FROM runs WHERE thread_id = $1 AND state IN ('queued', 'running', 'waiting') AND NOT beside)`, threadID, session)
	if err == nil && n == 0 {
		err = pluginsdk.Errorf(pluginsdk.CodeStale, "endSession: the thread %s has another session, none, or a run that is not over", threadID)
	}
	return err
}

// checkPatch checks the fields that are set.
func checkPatch(p pluginsdk.ThreadPatch) error {
	checks := []error{
		checkLengths(length{"name", orEmpty(p.Name), nameMax}, length{"model", orEmpty(p.Model), wordMax}, length{"effort", orEmpty(p.Effort), wordMax},
			length{"cwd", orEmpty(p.Cwd), cwdMax}, length{"instructions", orEmpty(p.Instructions), instructionsMax}),
		checkCwd(orEmpty(p.Cwd)), ledger.CheckPermissionMode(orEmpty(p.PermissionMode)), ledger.CheckAskTools(orEmpty(p.AskTools)),
	}
	if p.Status != nil {
		checks = append(checks, checkThreadStatus(*p.Status))
	}
	if p.BusyMode != nil {
		checks = append(checks, checkBusyMode(*p.BusyMode))
	}
	if p.ReportTo != nil {
		checks = append(checks, checkTarget(*p.ReportTo))
	}
	return cmp.Or(checks...)
}

func cleaned(text *string) *string {
	if text == nil {
		return nil
	}
	out := clean(*text)
	return &out
}

// How many bytes of each word a thread has at most: what is in it goes into every
// call of a hook and into every list.
const (
	sourceMax       = 64
	sourceIDMax     = 512
	nameMax         = 1 << 10
	wordMax         = 256 // of a model, of an effort
	cwdMax          = 4 << 10
	instructionsMax = 64 << 10
)

// length is a word with how long it may be.
type length struct {
	field, text string
	max         int
}

func checkLengths(words ...length) error {
	for _, one := range words {
		if len(one.text) > one.max {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: it has %d bytes; at most %d are allowed", one.field, len(one.text), one.max)
		}
	}
	return nil
}

// checkTarget refuses a target that would not be read as it is written.
func checkTarget(to pluginsdk.Target) error {
	read, err := pluginsdk.ParseTarget(to.String())
	if err != nil || read != to || clean(to.String()) != to.String() {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "reportTo: %.100q is no target; write PLUGIN:PLACE or thread:ID", to.String())
	}
	return checkLengths(length{"reportTo", to.String(), sourceIDMax})
}

// checkTarget refuses a target of a thread (empty: of one that is being made) that is
// a thread which does not exist, or from which no reply arrives anywhere, because
// the threads on the way report to each other, or are too many. Of two that are set
// at the same moment each may pass; Integrity finds that.
func (t *tx) checkTarget(ctx context.Context, of string, to pluginsdk.Target) error {
	for hops := 0; to.ThreadID != ""; hops++ {
		if to.ThreadID == of || hops == targetHops {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "reportTo: the replies would never arrive: "+
				"the threads report to each other, or are more than %d", targetHops)
		}
		next, err := t.targetThread(ctx, to.ThreadID)
		if errors.Is(err, sql.ErrNoRows) && hops == 0 {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "reportTo: no thread with the id %q", to.ThreadID)
		}
		if errors.Is(err, sql.ErrNoRows) || err == nil && next.ReportTo.ThreadID == to.ThreadID {
			return nil // theirs goes nowhere, and so does this one's
		}
		if err != nil {
			return err
		}
		to = next.ReportTo
	}
	return nil
}

func checkBusyMode(mode pluginsdk.BusyMode) error {
	switch mode {
	case pluginsdk.BusyQueue, pluginsdk.BusySteer, pluginsdk.BusyCollect, pluginsdk.BusyInterrupt:
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "busyMode: %q is not one of queue, steer, collect, interrupt", mode)
}

// checkCwd refuses a working directory that would depend on where the daemon was
// started. Whether it exists is found out when a session begins in it.
func checkCwd(dir string) error {
	if dir != "" && !filepath.IsAbs(dir) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "cwd: %q is not an absolute path", dir)
	}
	return nil
}

func checkThreadStatus(status pluginsdk.ThreadStatus) error {
	switch status {
	case pluginsdk.ThreadActive, pluginsdk.ThreadIdle, pluginsdk.ThreadArchived:
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "status: %q is not one of active, idle, archived", status)
}

// defaultPlace is the source id of a thread for what goes to a plugin's own default
// place, which has no name.
const defaultPlace = "default"

// FindTarget returns the thread that ThreadOfTarget returns, if there is one.
func (s *Store) FindTarget(ctx context.Context, plugin, place string) (t pluginsdk.Thread, known bool, err error) {
	rows, err := s.read.Thread.Query().Where(thread.SourceID(clean(cmp.Or(place, defaultPlace)))).Order(thread.ByID()).All(ctx)
	if err != nil {
		return pluginsdk.Thread{}, false, wrap("find thread", err)
	}
	var found *ent.Thread
	for _, row := range rows {
		carrier, carried := s.carries(row.Source)
		if row.Source == plugin || carried && carrier == plugin && found == nil {
			found = row
		}
	}
	if found == nil {
		return pluginsdk.Thread{}, false, nil
	}
	return toldThreadOf(found), true, nil
}

// ThreadOfTarget returns the thread of a plugin's place, and makes it when there is
// none: the one with that source id of a source that is the plugin's name, or that
// the plugin carries. What is delivered in a thread that is made goes to that place.
func (s *Store) ThreadOfTarget(ctx context.Context, plugin, place string) (pluginsdk.Thread, error) {
	known, found, err := s.FindTarget(ctx, plugin, place)
	if err != nil || found {
		return known, err
	}
	n := pluginsdk.NewThread{Source: plugin, SourceID: cmp.Or(place, defaultPlace)}
	if carrier, _ := s.carries(plugin); carrier != plugin || place == "" {
		n.ReportTo = pluginsdk.Target{Plugin: plugin, Place: place}
	}
	made, _, err := s.CreateThread(ctx, n)
	return made, err
}
