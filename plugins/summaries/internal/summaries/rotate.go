package summaries

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// lookEvery is how often it is looked for threads whose session is to end.
	lookEvery = 15 * time.Minute
	// quiet is for how long nothing has been said in a thread whose session ends.
	quiet = time.Hour
	// mostRotate is how many threads wait at most for the end of their session.
	mostRotate = 200
)

// rotated is what a thread is told.
const rotated = "The agent's session has ended, because nothing was said here for a time, or because it was old. The next message begins a new one, with a summary of the conversation."

// rotates reports whether sessions end by themselves.
func (c config) rotates() bool { return c.RotateIdleHours > 0 || c.RotateDays > 0 }

// look finds threads whose session is to end, once it is time for that, and returns how long to wait for the next look; 0: none
// is needed. Turned on, it begins with threads in which something is said from then on.
func (p *Plugin) look(ctx context.Context, w *work, c config) (time.Duration, error) {
	now := p.now()
	switch {
	case !c.rotates() && w.Looked.IsZero():
		return 0, nil
	case !c.rotates():
		w.Looked, w.Rotate = time.Time{}, nil
		return 0, p.save(ctx, w)
	case w.Looked.IsZero():
		w.Looked = now
		return lookEvery, p.save(ctx, w)
	case now.Sub(w.Looked) < lookEvery:
		return w.Looked.Add(lookEvery).Sub(now), nil
	}
	since := w.Looked.Add(-max(quiet, time.Duration(c.RotateIdleHours)*time.Hour))
	query := pluginsdk.ThreadQuery{Kinds: []pluginsdk.ThreadKind{pluginsdk.ThreadPrimary, pluginsdk.ThreadGeneral}, Order: pluginsdk.ActivityFirst, Limit: 100}
	for more := true; more; {
		page, err := p.host.Threads.List(ctx, &pluginsdk.ListThreadsRequest{Query: query})
		if err != nil {
			return 0, err
		}
		more = len(page.Threads) == query.Limit
		for _, thread := range page.Threads {
			query.After = thread.ID
			if thread.LastActivity.Before(since) { // and so are all behind it
				more = false
				break
			}
			due, err := p.mayRotate(ctx, w, c, thread, now)
			if err != nil {
				return 0, err
			}
			if due && len(w.Rotate) < mostRotate {
				w.rotateLater(thread)
			}
		}
	}
	w.Looked = now
	return lookEvery, p.save(ctx, w)
}

func (w *work) rotateLater(thread pluginsdk.Thread) {
	if w.Rotate == nil {
		w.Rotate = make(map[string]string)
	}
	w.Rotate[thread.ID] = thread.SessionID
}

// mayRotate reports whether a thread has become idle for long enough since the last look. Tasks' threads, those apart and all
// others that summaries do not learn from keep their sessions.
func (p *Plugin) mayRotate(ctx context.Context, w *work, c config, thread pluginsdk.Thread, now time.Time) (bool, error) {
	became := func(idle time.Duration) bool {
		at := thread.LastActivity.Add(idle)
		return at.After(w.Looked) && !at.After(now)
	}
	switch {
	case thread.SessionID == "" || !c.learnsFrom(thread):
		return false, nil
	case c.RotateIdleHours > 0 && became(time.Duration(c.RotateIdleHours)*time.Hour):
		return true, nil
	case c.RotateDays > 0 && became(quiet):
		return p.olderThan(ctx, thread, now.AddDate(0, 0, -c.RotateDays))
	}
	return false, nil
}

// olderThan reports whether a thread's session had a turn before a time.
func (p *Plugin) olderThan(ctx context.Context, thread pluginsdk.Thread, at time.Time) (bool, error) {
	query := pluginsdk.RunQuery{ThreadID: thread.ID, Newest: true, Limit: 100}
	for range mostPages {
		page, err := p.host.Runs.List(ctx, &pluginsdk.ListRunsRequest{Query: query})
		if err != nil {
			return false, err
		}
		for _, run := range page.Runs {
			query.After = run.ID
			switch {
			case run.Kind != pluginsdk.RunMessage || run.SessionID == "":
			case run.SessionID != thread.SessionID:
				return false, nil
			case run.QueuedAt.Before(at):
				return true, nil
			}
		}
		if len(page.Runs) < query.Limit {
			return false, nil
		}
	}
	return false, nil
}

// toRotate returns the session of a thread that is to end; empty: it goes on, since somebody has said something meanwhile, or
// it has ended.
func (p *Plugin) toRotate(w *work, thread pluginsdk.Thread) string {
	session := w.Rotate[thread.ID]
	if session == "" {
		return ""
	}
	if session != thread.SessionID || p.now().Sub(thread.LastActivity) < quiet {
		delete(w.Rotate, thread.ID)
		return ""
	}
	return session
}

// rotate ends a thread's session, whose conversation a summary row tells, and tells the thread. A thread in which something is
// at work keeps it.
func (p *Plugin) rotate(ctx context.Context, thread pluginsdk.Thread, session string) error {
	if thread.SessionID == session {
		_, err := p.host.Threads.Update(ctx, &pluginsdk.UpdateThreadRequest{ID: thread.ID, Patch: pluginsdk.ThreadPatch{EndSession: &session}})
		if code := pluginsdk.CodeOf(err); code == pluginsdk.CodeStale || code == pluginsdk.CodeNotFound {
			return nil
		}
		if err != nil {
			return err
		}
	} else if thread.SessionID != "" {
		return nil // it has another one already; none: it ended before a crash
	}
	_, err := p.host.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{
		ThreadID: thread.ID, Key: "rotate/" + session,
		Messages: []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: rotated}},
	})
	return err
}

// sooner is the shorter of two times to wait; 0 is without end.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
