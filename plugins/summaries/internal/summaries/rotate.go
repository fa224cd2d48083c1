package summaries

import (
	"context"
	"fmt"
	"slices"
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
	// mostEnds is how often it is tried to end a session.
	mostEnds = 3
)

// rotation is a session that is to end.
type rotation struct {
	Session string
	Tries   int // how often that was tried
}

// rotates reports whether sessions end by themselves.
func (c config) rotates() bool { return c.RotateIdleHours > 0 || c.RotateDays > 0 }

// look finds threads whose session is to end, once it is time for that, and returns how long to wait for the next look; 0: none
// is needed. Turned on, it begins with threads in which something is said from then on. What has no room among those that wait
// is found again by the next look.
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
	type found struct {
		thread pluginsdk.Thread
		due    time.Time
	}
	var all []found
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
			due, err := p.dueToRotate(ctx, w, c, thread, now)
			if err != nil {
				return 0, err
			}
			if !due.IsZero() {
				all = append(all, found{thread, due})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return a.due.Compare(b.due) })
	w.Looked = now
	for _, one := range all {
		if len(w.Rotate) >= mostRotate {
			w.Looked = one.due.Add(-time.Nanosecond)
			break
		}
		if w.Rotate == nil {
			w.Rotate = make(map[string]rotation)
		}
		w.Rotate[one.thread.ID] = rotation{Session: one.thread.SessionID}
	}
	return lookEvery, p.save(ctx, w)
}

// dueToRotate returns when a thread has become idle for long enough, since the last look; zero: it has not. Tasks' threads, those
// apart and all others that summaries do not learn from keep their sessions.
func (p *Plugin) dueToRotate(ctx context.Context, w *work, c config, thread pluginsdk.Thread, now time.Time) (time.Time, error) {
	if thread.SessionID == "" || !c.learnsFrom(thread) {
		return time.Time{}, nil
	}
	became := func(idle time.Duration) (time.Time, bool) {
		at := thread.LastActivity.Add(idle)
		return at, at.After(w.Looked) && !at.After(now)
	}
	if c.RotateIdleHours > 0 {
		if at, due := became(time.Duration(c.RotateIdleHours) * time.Hour); due {
			return at, nil
		}
	}
	if c.RotateDays > 0 {
		if at, due := became(quiet); due {
			if old, err := p.olderThan(ctx, thread, now.AddDate(0, 0, -c.RotateDays)); err != nil || !old {
				return time.Time{}, err
			}
			return at, nil
		}
	}
	return time.Time{}, nil
}

// olderThan reports whether a thread's session had a turn before a time, among the last 1000 runs of the thread.
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
			case run.Kind != pluginsdk.RunMessage || run.SessionID != thread.SessionID:
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
	session := w.Rotate[thread.ID].Session
	if session == "" {
		return ""
	}
	if session != thread.SessionID || p.now().Sub(thread.LastActivity) < quiet {
		delete(w.Rotate, thread.ID)
		return ""
	}
	return session
}

// tried notes that it was tried to end a thread's session. One that goes on is tried again a few times: the agent may have given
// no summary, or a run may have been at work.
func (w *work) tried(threadID string, ended bool) {
	one, waits := w.Rotate[threadID]
	if one.Tries++; ended || one.Tries >= mostEnds {
		delete(w.Rotate, threadID)
	} else if waits {
		w.Rotate[threadID] = one
	}
}

// rotate ends a thread's session, whose conversation a summary row tells, and tells the thread. It reports whether the session has
// ended: a thread in which something is at work keeps it.
func (p *Plugin) rotate(ctx context.Context, thread pluginsdk.Thread, session string) (bool, error) {
	if thread.SessionID == session {
		answer, err := p.host.Threads.Update(ctx, &pluginsdk.UpdateThreadRequest{ID: thread.ID, Patch: pluginsdk.ThreadPatch{EndSession: &session}})
		if code := pluginsdk.CodeOf(err); code == pluginsdk.CodeStale || code == pluginsdk.CodeNotFound {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if answer.Thread.SessionID == session { // a daemon that is older than EndSession
			return false, nil
		}
	} else if thread.SessionID != "" {
		return true, nil // it has another one already; none: it ended before a crash
	}
	_, err := p.host.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{
		ThreadID: thread.ID, Key: "rotate/" + session,
		Messages: []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: p.rotated(thread)}},
	})
	return err == nil, err
}

// rotated is what a thread is told whose session has ended.
func (p *Plugin) rotated(thread pluginsdk.Thread) string {
	c := p.config.Load()
	why := "because it was older than " + count(c.RotateDays, "day")
	if c.RotateIdleHours > 0 && p.now().Sub(thread.LastActivity) >= time.Duration(c.RotateIdleHours)*time.Hour {
		why = "because there was no message here for " + count(c.RotateIdleHours, "hour")
	}
	return "The agent's session has ended, " + why + ". The next message begins a new session with a summary of the conversation. All that was said stays here, and search still finds it."
}

func count(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// sooner is the shorter of two times to wait; 0 is without end.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
