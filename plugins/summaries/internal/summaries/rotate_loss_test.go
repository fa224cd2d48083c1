package summaries

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A session goes on that has words of people which no summary row tells: of a time in which summaries were off, of more than a
// prompt has room for, of more messages than are read; and one with more words of schedules than the next session is shown.
func TestASessionWithWordsThatNoSummaryTells(t *testing.T) {
	talk := func(w *world, times int, words string) {
		for range times {
			w.saysNow("t", words, "Noted.")
		}
	}
	whileOff := func(w *world, times int) {
		w.set(`{"summaries": false, "rotateIdleHours": 1, "every": 5}`)
		w.step()
		w.pass(time.Minute)
		talk(w, times, "said while it was off")
		w.pass(time.Minute)
		w.set(`{"rotateIdleHours": 1, "every": 5}`)
		w.step()
	}
	row := func(w *world) {
		w.host.AddMessage(pluginsdk.Message{ThreadID: "t", Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageSummary, Content: "of long ago"})
	}
	schedules := func(w *world, times int) {
		for range times {
			w.said(pluginsdk.Message{ThreadID: "t", Source: "cron", Plugin: "cron", Content: "look at the pond", CreatedAt: w.now()}, "It leaks.")
		}
	}
	for name, one := range map[string]struct {
		said func(w *world)
		ends bool
	}{
		"all is told":                            {func(w *world) { talk(w, 20, "the pond") }, true},
		"one word while it was off":              {func(w *world) { whileOff(w, 1); talk(w, 1, "bye") }, false},
		"only words while it was off, and a row": {func(w *world) { row(w); whileOff(w, 1) }, false},
		"more than a prompt has room for": {func(w *world) {
			talk(w, 60, strings.Repeat("the pond ", 100))
			talk(w, 60, strings.Repeat("the pond ", 100))
		}, false},
		"more messages than are read":      {func(w *world) { talk(w, mostSince/2, "x") }, false},
		"schedules have said a little":     {func(w *world) { schedules(w, 10); talk(w, 10, "the pond") }, true},
		"schedules have said too much":     {func(w *world) { schedules(w, 30); talk(w, 1, "the pond") }, false},
		"schedules have said it long ago":  {func(w *world) { schedules(w, 1); talk(w, 26, "the pond") }, false},
		"schedules behind a row":           {func(w *world) { row(w); schedules(w, 12) }, true},
		"schedules behind a row, too much": {func(w *world) { row(w); schedules(w, 13) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, `{"rotateIdleHours": 1, "every": 5}`)
			w.thread(pluginsdk.Thread{ID: "t", Name: "Talk", SessionID: "s"})
			one.said(w)
			w.looks(12)
			if ended := w.session("t") == ""; ended != one.ends {
				t.Errorf("the session has ended: %t; rows %+v", ended, w.rowsOf("t", pluginsdk.MessageSummary))
			}
			if one.ends {
				return
			}
			// Neither does it end behind the summary row of a long thread that leaves those words out.
			if strings.HasPrefix(name, "schedules") {
				return
			}
			w.thread(pluginsdk.Thread{ID: "t", Name: "Talk", SessionID: "s"})
			talk(w, 40, "more")
			w.looks(3)
			w.thread(pluginsdk.Thread{ID: "t", Name: "Talk", SessionID: "s"})
			talk(w, 1, "bye")
			w.looks(12)
			if w.session("t") == "" || len(w.rowsOf("t", pluginsdk.MessageSummary)) == 0 {
				t.Errorf("the session is %q; rows %+v", w.session("t"), w.rowsOf("t", pluginsdk.MessageSummary))
			}
		})
	}
}

// A summary row names what a prompt had no room for, too: a new session is shown of it what is new enough.
func TestARowNamesWhatHadNoRoom(t *testing.T) {
	w := newWorld(t, `{"longThread": 26}`)
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk", SessionID: "s"})
	for range 60 {
		w.saysNow("t", strings.Repeat("the pond ", 100), strings.Repeat("noted ", 150))
	}
	w.pass(gather)
	w.step()
	rows := w.rowsOf("t", pluginsdk.MessageSummary)
	told := len(prompted(t, w.turns()[0])[0].Long)
	var ids []int64
	for _, m := range w.host.Messages("t")[:120-told] {
		ids = append(ids, m.ID)
	}
	if want := fmt.Sprintf(`{"leavesOut":[%s],"partial":"s"}`, numbersOf(ids[max(0, len(ids)-mostLeftOut):])); len(rows) != 1 || string(rows[0].Metadata) != want {
		t.Errorf("%d messages are told; the row says %s, want %s", told, rows[0].Metadata, want)
	}
}

// A thread that becomes apart while its session is to end is forgotten, and what waits for a later turn is not looked at without a
// pause: there is no busy loop.
func TestWhatWaitsIsLookedAtWithPauses(t *testing.T) {
	w := newWorld(t, `{"rotateIdleHours": 1, "every": 5}`)
	for n := range 5 {
		id := fmt.Sprint("t", n)
		w.thread(pluginsdk.Thread{ID: id, Name: id, SessionID: "s" + id})
		w.saysNow(id, "the pond", "Noted.")
	}
	w.looks(4)
	w.pass(lookEvery)
	if wait := w.step(); len(w.inner.known.Load().Rotate) == 0 || wait < lookEvery {
		t.Errorf("%d sessions wait, and the next step is after %s", len(w.inner.known.Load().Rotate), wait)
	}
	for n := range 5 {
		id := fmt.Sprint("t", n)
		w.thread(pluginsdk.Thread{ID: id, Name: id, SessionID: "s" + id, Apart: true, LastActivity: noon})
	}
	w.looks(1)
	if known := w.inner.known.Load(); len(known.Rotate) != 0 {
		t.Errorf("sessions of threads apart are to end: %+v", known.Rotate)
	}
}

// It is tried a few times to end a session, when the agent has given no summary or a run was at work in that moment, and no more.
func TestASessionThatDoesNotEndAtOnce(t *testing.T) {
	for times, ends := range map[int]bool{1: true, mostEnds - 1: true, mostEnds: false} {
		w := newWorld(t, `{"rotateIdleHours": 1, "every": 5}`)
		w.thread(pluginsdk.Thread{ID: "t", Name: "Talk", SessionID: "s"})
		w.saysNow("t", "the pond", "Noted.")
		w.looks(2)
		without := 0
		sums := w.answer
		w.answer = func(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
			if without++; without > times {
				return sums(request)
			}
			return structured(t, summaryAnswer{}, 0.01)
		}
		w.looks(20)
		if ended := w.session("t") == ""; ended != ends || without > mostEnds {
			t.Errorf("after %d answers without a summary the session has ended: %t; %d turns", times, ended, without)
		}
	}
	w := newWorld(t, `{"rotateIdleHours": 1, "every": 5}`)
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk", SessionID: "s"})
	w.saysNow("t", "the pond", "Noted.")
	refused := &refusingThreads{Threads: w.inner.host.Threads, times: 1}
	w.inner.host.Threads = refused
	w.looks(10)
	if w.session("t") != "" || refused.times != 0 || len(w.rowsOf("t", pluginsdk.MessageSummary)) != 1 {
		t.Errorf("refused once, the session is %q; %d more refusals", w.session("t"), refused.times)
	}
}

// A daemon that is older than the ending of sessions ignores it: the thread is told nothing then.
func TestAnOlderDaemonEndsNoSession(t *testing.T) {
	w := newWorld(t, `{"rotateIdleHours": 1, "every": 5}`)
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk", SessionID: "s"})
	w.saysNow("t", "the pond", "Noted.")
	w.inner.host.Threads = &refusingThreads{Threads: w.inner.host.Threads, old: true}
	w.looks(10)
	if told := w.rowsOf("t", pluginsdk.MessageStatus); len(told) != 0 || w.session("t") == "" {
		t.Errorf("the session is %q, and the thread is told %+v", w.session("t"), told)
	}
}

// refusingThreads refuses to end sessions a few times, or ignores it as an older daemon does.
type refusingThreads struct {
	pluginsdk.Threads

	times int
	old   bool
}

func (r *refusingThreads) Update(ctx context.Context, request *pluginsdk.UpdateThreadRequest) (*pluginsdk.UpdateThreadResponse, error) {
	if request.Patch.EndSession == nil {
		return r.Threads.Update(ctx, request)
	}
	if r.old {
		answer, err := r.Get(ctx, &pluginsdk.GetThreadRequest{ID: request.ID})
		if err != nil {
			return nil, err
		}
		return &pluginsdk.UpdateThreadResponse{Thread: answer.Thread}, nil
	}
	if r.times > 0 {
		r.times--
		return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "a run is not over")
	}
	return r.Threads.Update(ctx, request)
}

// Sessions that have no room among those that wait are found by a later look.
func TestMoreSessionsThanWait(t *testing.T) {
	w := newWorld(t, `{"rotateIdleHours": 1}`)
	c := *w.inner.config.Load()
	for n := range mostRotate + 3 {
		w.thread(pluginsdk.Thread{ID: fmt.Sprint("t", n), Name: "Talk", SessionID: "s", LastActivity: noon.Add(time.Duration(n+1) * time.Second)})
	}
	known, err := w.inner.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	for range 3 {
		w.pass(2 * time.Hour)
		if _, err := w.inner.look(t.Context(), known, c); err != nil {
			t.Fatal(err)
		}
		for id := range known.Rotate {
			if found[id] {
				t.Errorf("%s is found twice", id)
			}
			found[id] = true
		}
		known.Rotate = nil
	}
	if len(found) != mostRotate+3 {
		t.Errorf("%d sessions are found, of %d", len(found), mostRotate+3)
	}
}

// A clock that was wrong, and is set back, delays nothing: sessions end, and what is said is summarised.
func TestAClockThatIsSetBack(t *testing.T) {
	w := newWorld(t, `{"rotateIdleHours": 1, "every": 5}`)
	const wrong = 1000 * time.Hour
	w.served(wrong) // it was off, as it looks, for all this time
	w.step()
	w.looks(2)
	w.thread(pluginsdk.Thread{ID: "early", Name: "Early"})
	w.saysNow("early", "said under the wrong clock", "Yes.")
	w.looks(2)
	w.pass(-wrong)
	w.step()
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk", SessionID: "s"})
	w.pass(time.Minute)
	w.saysNow("t", "said under the right clock", "Yes.")
	w.looks(2)
	if !strings.Contains(w.file(summariesFile), "said under the right clock") {
		t.Errorf("the file is\n%s", w.file(summariesFile))
	}
	w.looks(6)
	if w.session("t") != "" {
		t.Error("the session goes on")
	}
}

// A gap is never forgotten: what was said in it would be summarised.
func TestGapsAreKept(t *testing.T) {
	w := new(work)
	for n := range mostGaps + 5 {
		w.skip(noon.Add(time.Duration(2*n)*time.Hour), noon.Add(time.Duration(2*n+1)*time.Hour))
	}
	if !w.skipped(noon) || !w.skipped(noon.Add(2*(mostGaps+4)*time.Hour)) || w.skipped(noon.Add((2*mostGaps+1)*time.Hour)) || len(w.Gaps) != mostGaps {
		t.Errorf("%d gaps from %s", len(w.Gaps), w.Gaps[0].From)
	}
}
