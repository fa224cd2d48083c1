package plugintest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type threads struct{ view }

// AddThread puts a thread into the host.
func (h *Host) AddThread(thread pluginsdk.Thread) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.IndexFunc(h.threads, func(t pluginsdk.Thread) bool { return t.ID == thread.ID }); i >= 0 {
		h.threads[i] = thread
		return
	}
	h.threads = append(h.threads, thread)
}

func threadID(t pluginsdk.Thread) string { return t.ID }

func (s threads) Get(ctx context.Context, request *pluginsdk.GetThreadRequest) (*pluginsdk.GetThreadResponse, error) {
	leave, err := s.h.enter(ctx, "Threads.Get")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.threads, "thread", request.ID, threadID)
	if err != nil {
		return nil, err
	}
	return &pluginsdk.GetThreadResponse{Thread: s.h.threads[i]}, nil
}

func (s threads) List(ctx context.Context, request *pluginsdk.ListThreadsRequest) (*pluginsdk.ListThreadsResponse, error) {
	leave, err := s.h.enter(ctx, "Threads.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	query := request.Query
	rest := ordered(s.h.threads, query.Order == pluginsdk.NewestFirst)
	if query.Order == pluginsdk.ActivityFirst {
		slices.SortStableFunc(rest, func(a, b pluginsdk.Thread) int { return b.LastActivity.Compare(a.LastActivity) })
	}
	rest = after(rest, func(t pluginsdk.Thread) bool { return t.ID == query.After })
	found := page(filter(rest, func(t pluginsdk.Thread) bool {
		return (query.Source == "" || t.Source == query.Source) &&
			(query.SourceID == "" || t.SourceID == query.SourceID) &&
			(query.Kind == "" || t.Kind == query.Kind) &&
			(len(query.Kinds) == 0 || slices.Contains(query.Kinds, t.Kind)) &&
			(query.Status == "" || t.Status == query.Status) &&
			(len(query.Statuses) == 0 || slices.Contains(query.Statuses, t.Status)) &&
			hasWords(t.Name, query.Text) &&
			(query.ParentThreadID == "" || t.ParentThreadID == query.ParentThreadID)
	}), query.Limit)
	for i := range found {
		if query.Unread {
			found[i].Unread = s.h.unread(found[i])
		}
	}
	return &pluginsdk.ListThreadsResponse{Threads: found}, nil
}

// hasWords selects as ThreadQuery.Text says.
func hasWords(name, text string) bool {
	name = strings.ToLower(name)
	missing := func(word string) bool { return !strings.Contains(name, word) }
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(text)), missing)
}

// unread counts as Thread.Unread says.
func (h *Host) unread(thread pluginsdk.Thread) int {
	return min(100, len(filter(h.messages, func(m pluginsdk.Message) bool {
		return m.ThreadID == thread.ID && m.ID > thread.LastReadMessageID && m.Role != pluginsdk.RoleUser &&
			(m.Kind == pluginsdk.MessageText || m.Kind == pluginsdk.MessageNotification)
	})))
}

// notAllowed says why a plugin may not make or change a thread of the source, or
// what such a thread may do.
func (s threads) notAllowed(ctx context.Context, source string, powers bool) error {
	call, _ := pluginsdk.CallFrom(ctx)
	switch {
	case s.has(pluginsdk.CapThreadsAdmin) && powers && call.RunID != "":
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "only a person says what a thread may do, and this comes from %s", call.RunID)
	case s.has(pluginsdk.CapThreadsAdmin):
		return nil
	case !s.speaksFor(source):
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "threads of the source %q are not the plugin %s's own: it needs threads.admin", source, s.manifest.Name)
	case powers:
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "cwd, permission mode and report to are what a thread may do: the plugin %s needs threads.admin", s.manifest.Name)
	}
	return nil
}

// ownDirectory names the directory of a thread's own, which is not made.
func ownDirectory(id string) string { return "/threads/" + id + "/own" }

// isBelow reports whether a thread is below another.
func (h *Host) isBelow(id, above string) bool {
	for range h.threads {
		n := slices.IndexFunc(h.threads, func(t pluginsdk.Thread) bool { return t.ID == id })
		if n < 0 {
			return false
		}
		if id = h.threads[n].ParentThreadID; id == above {
			return true
		}
	}
	return false
}

func (s threads) Create(ctx context.Context, request *pluginsdk.CreateThreadRequest) (*pluginsdk.CreateThreadResponse, error) {
	leave, err := s.h.enter(ctx, "Threads.Create")
	if err != nil {
		return nil, err
	}
	defer leave()
	thread := request.Thread
	if thread.OwnDirectory && thread.Cwd != "" {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "ownDirectory: the thread is to work in the cwd %q; leave one of them out", thread.Cwd)
	}
	powers := thread.Cwd != "" || thread.PermissionMode != "" || thread.Account != "" || thread.ReportTo != (pluginsdk.Target{})
	if err := s.notAllowed(ctx, thread.Source, powers); err != nil {
		return nil, err
	}
	for _, t := range s.h.threads {
		if t.Source == thread.Source && t.SourceID == thread.SourceID {
			return &pluginsdk.CreateThreadResponse{Thread: t, Existed: true}, nil
		}
	}
	if thread.Kind == "" {
		thread.Kind = pluginsdk.ThreadGeneral
	}
	if thread.BusyMode == "" {
		thread.BusyMode = pluginsdk.BusyQueue
	}
	t := pluginsdk.Thread{
		ID: s.h.nextID("thread"), Source: thread.Source, SourceID: thread.SourceID, ReportTo: thread.ReportTo,
		Name: thread.Name, Kind: thread.Kind, ParentThreadID: thread.ParentThreadID, Status: pluginsdk.ThreadActive,
		Model: thread.Model, Effort: thread.Effort, PermissionMode: thread.PermissionMode, Cwd: thread.Cwd,
		Instructions: thread.Instructions, BusyMode: thread.BusyMode, AskTools: thread.AskTools, Account: thread.Account, CreatedAt: now(), LastActivity: now(),
	}
	if thread.OwnDirectory {
		t.Cwd = ownDirectory(t.ID)
	}
	s.h.threads = append(s.h.threads, t)
	return &pluginsdk.CreateThreadResponse{Thread: t}, nil
}

func (s threads) Update(ctx context.Context, request *pluginsdk.UpdateThreadRequest) (*pluginsdk.UpdateThreadResponse, error) {
	leave, err := s.h.enter(ctx, "Threads.Update")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.threads, "thread", request.ID, threadID)
	if err != nil {
		return nil, err
	}
	t, patch := &s.h.threads[i], request.Patch
	powers := patch.Cwd != nil || patch.PermissionMode != nil || patch.ReportTo != nil || patch.Account != nil
	if err := s.notAllowed(ctx, t.Source, powers); err != nil {
		return nil, err
	}
	if patch.EndSession != nil {
		if *patch.EndSession == "" || *patch.EndSession != t.SessionID || slices.ContainsFunc(s.h.runs, func(r pluginsdk.Run) bool {
			return r.ThreadID == t.ID && r.Kind == pluginsdk.RunMessage && !r.State.Final()
		}) {
			return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "endSession: the thread %s has another session, none, or a run that is not over", t.ID)
		}
		t.SessionID = ""
	}
	set(&t.Name, patch.Name)
	set(&t.ReportTo, patch.ReportTo)
	set(&t.Status, patch.Status)
	set(&t.Model, patch.Model)
	set(&t.Effort, patch.Effort)
	set(&t.PermissionMode, patch.PermissionMode)
	set(&t.Cwd, patch.Cwd)
	set(&t.Instructions, patch.Instructions)
	set(&t.BusyMode, patch.BusyMode)
	set(&t.AskTools, patch.AskTools)
	set(&t.Account, patch.Account)
	set(&t.LastReadMessageID, patch.LastReadMessageID)
	return &pluginsdk.UpdateThreadResponse{Thread: *t}, nil
}

// Delete refuses what the core would refuse that is known here: the primary thread, one with
// a run or a task that is not over.
func (s threads) Delete(ctx context.Context, request *pluginsdk.DeleteThreadRequest) (*pluginsdk.DeleteThreadResponse, error) {
	leave, err := s.h.enter(ctx, "Threads.Delete")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.threads, "thread", request.ID, threadID)
	if err != nil {
		return &pluginsdk.DeleteThreadResponse{}, nil //nolint:nilerr // one that is absent is no error
	}
	t := s.h.threads[i]
	if err := s.notAllowed(ctx, t.Source, false); err != nil {
		return nil, err
	}
	open := slices.ContainsFunc(s.h.runs, func(r pluginsdk.Run) bool { return r.ThreadID == t.ID && !r.State.Final() }) ||
		slices.ContainsFunc(s.h.tasks, func(k pluginsdk.Task) bool {
			return (k.ThreadID == t.ID || k.ParentThreadID == t.ID) && !k.Status.Final()
		})
	if open || t.Kind == pluginsdk.ThreadPrimary {
		return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "the thread %s is the primary one, or has a run or a task that is not over", t.ID)
	}
	s.h.threads = slices.Delete(s.h.threads, i, i+1)
	s.h.messages = filter(s.h.messages, func(m pluginsdk.Message) bool { return m.ThreadID != t.ID })
	s.h.runs = filter(s.h.runs, func(r pluginsdk.Run) bool { return r.ThreadID != t.ID })
	s.h.tasks = filter(s.h.tasks, func(k pluginsdk.Task) bool { return k.ThreadID != t.ID })
	return &pluginsdk.DeleteThreadResponse{}, nil
}

// Branch copies the messages up to the one that is named, in the order of their ids.
func (s threads) Branch(ctx context.Context, request *pluginsdk.BranchThreadRequest) (*pluginsdk.BranchThreadResponse, error) {
	leave, err := s.h.enter(ctx, "Threads.Branch")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.threads, "thread", request.ThreadID, threadID)
	if err != nil {
		return nil, err
	}
	from := s.h.threads[i]
	if err := s.notAllowed(ctx, request.Source, s.notAllowed(ctx, from.Source, false) != nil && from.Cwd+from.PermissionMode+from.Account != ""); err != nil {
		return nil, err
	}
	for _, t := range s.h.threads {
		if t.Source == request.Source && t.SourceID == request.SourceID {
			return &pluginsdk.BranchThreadResponse{Thread: t, Existed: true}, nil
		}
	}
	rows := filter(s.h.messages, func(m pluginsdk.Message) bool {
		return m.ThreadID == from.ID && (request.MessageID == 0 || m.ID <= request.MessageID)
	})
	if request.MessageID != 0 && (len(rows) == 0 || rows[len(rows)-1].ID != request.MessageID) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "the thread %s has no message %d", from.ID, request.MessageID)
	}
	t := from
	t.ID, t.Source, t.SourceID, t.Name = s.h.nextID("thread"), request.Source, request.SourceID, cmp.Or(request.Name, from.Name)
	t.Kind, t.Status, t.SessionID, t.ParentThreadID, t.ReportTo = pluginsdk.ThreadGeneral, pluginsdk.ThreadActive, "", "", pluginsdk.Target{}
	t.CreatedAt, t.LastActivity = now(), now()
	if from.Cwd == ownDirectory(from.ID) {
		t.Cwd = ownDirectory(t.ID)
	}
	for _, m := range rows {
		m.ID, m.ThreadID, m.RunID, m.Key = s.h.next(), t.ID, "", ""
		s.h.messages = append(s.h.messages, m)
		t.LastReadMessageID = m.ID
	}
	s.h.threads = append(s.h.threads, t)
	return &pluginsdk.BranchThreadResponse{Thread: t}, nil
}
