package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The inbox's state machine against a model of it: whatever the order in which
// messages come, runs are claimed, end, fail, are put back, merged, cancelled
// and left behind by daemons that die, the database holds exactly what the
// model does. (The model is a list of runs for each thread, in the order of
// acceptance.)
func TestRunsFollowTheModel(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		rapid.Check(t, func(r *rapid.T) {
			m := newMachine(t, s)
			r.Repeat(map[string]func(*rapid.T){
				"accept":       m.accept,
				"acceptTwice":  m.acceptTwice,
				"busyMode":     m.busyMode,
				"claim":        m.claim,
				"intent":       m.intent,
				"result":       m.result,
				"absorb":       m.absorb,
				"finish":       m.finish,
				"retry":        m.retry,
				"release":      m.release,
				"cancelQueued": m.cancelQueued,
				"cancelAll":    m.cancelAll,
				"daemonDies":   m.daemonDies,
				"staleWrite":   m.staleWrite,
				"":             m.compare,
			})
		})
	})
}

// modelRun is what the model knows of a run.
type modelRun struct {
	id, content, key string
	messageID        int64
	kind             pluginsdk.RunKind
	state            pluginsdk.RunState
	step             pluginsdk.RunStep
	attempt          int
	mergedInto       string
	absorbed         []int64
}

type modelThread struct {
	id     string
	mode   pluginsdk.BusyMode
	runs   []*modelRun
	claim  *ledger.Claim // of the run that is at work
	stored bool          // its result is
	stale  []ledger.Fence
}

type machine struct {
	ctx     context.Context
	t       *testing.T
	s       *store.Store
	threads []*modelThread
	boot    int
	serial  int
}

func newMachine(t *testing.T, s *store.Store) *machine {
	m := &machine{ctx: context.Background(), t: t, s: s}
	for range 3 {
		thread := newThread(t, s, fmt.Sprintf("model %d", time.Now().UnixNano()))
		m.threads = append(m.threads, &modelThread{id: thread.ID, mode: pluginsdk.BusyQueue})
	}
	return m
}

func (m *machine) owner() string { return fmt.Sprintf("boot %d", m.boot) }

func (m *machine) thread(r *rapid.T) *modelThread {
	return rapid.SampledFrom(m.threads).Draw(r, "thread")
}

// working returns a thread with a run at work.
func (m *machine) working(r *rapid.T) (*modelThread, *modelRun) {
	thread := m.thread(r)
	if thread.claim == nil {
		r.Skip("nothing is at work")
	}
	return thread, thread.run(thread.claim.Run.ID)
}

func (t *modelThread) run(id string) *modelRun {
	return t.runs[slices.IndexFunc(t.runs, func(one *modelRun) bool { return one.id == id })]
}

func (t *modelThread) queued() (queued []*modelRun) {
	for _, one := range t.runs {
		if one.state == pluginsdk.RunQueued {
			queued = append(queued, one)
		}
	}
	return queued
}

// absorb merges what may be of the queue into a run.
func (t *modelThread) absorb(into *modelRun) {
	for _, one := range t.queued() {
		if one.kind != pluginsdk.RunMessage || one.attempt > 0 {
			return
		}
		one.state, one.mergedInto = pluginsdk.RunMerged, into.id
		into.absorbed = append(into.absorbed, one.messageID)
	}
}

func (t *modelThread) end(one *modelRun, state pluginsdk.RunState) {
	one.state = state
	t.stale = append(t.stale, t.claim.Fence)
	t.claim = nil
}

func (m *machine) accept(r *rapid.T) {
	thread := m.thread(r)
	m.serial++
	one := &modelRun{
		content: fmt.Sprintf("message %d", m.serial), key: fmt.Sprintf("%s %d", m.threads[0].id, m.serial),
		kind:  rapid.SampledFrom([]pluginsdk.RunKind{pluginsdk.RunMessage, pluginsdk.RunMessage, pluginsdk.RunCommand}).Draw(r, "kind"),
		state: pluginsdk.RunQueued,
	}
	a := acceptance(thread.id, one.key, one.content)
	a.Kind = one.kind
	if rapid.Bool().Draw(r, "claim at once") {
		a.Claimer = m.owner()
	}
	idle := a.Claimer != "" && thread.claim == nil && len(thread.queued()) == 0
	accepted, err := m.s.Accept(m.ctx, a)
	m.must(r, err)
	one.id, one.messageID = accepted.RunID, accepted.MessageID
	thread.runs = append(thread.runs, one)
	if accepted.Claim.Found != idle {
		r.Fatalf("claimed at once: %v, want %v", accepted.Claim.Found, idle)
	}
	if idle {
		one.state, one.attempt = pluginsdk.RunRunning, 1
		thread.claim, thread.stored = &accepted.Claim, false
	}
}

func (m *machine) acceptTwice(r *rapid.T) {
	thread := m.thread(r)
	if len(thread.runs) == 0 {
		r.Skip("nothing was accepted")
	}
	one := rapid.SampledFrom(thread.runs).Draw(r, "run")
	again, err := m.s.Accept(m.ctx, acceptance(thread.id, one.key, one.content))
	m.must(r, err)
	if !again.Existed || again.RunID != one.id || again.MessageID != one.messageID {
		r.Fatalf("repeated: %+v, first was %+v", again, one)
	}
}

func (m *machine) busyMode(r *rapid.T) {
	thread := m.thread(r)
	thread.mode = rapid.SampledFrom([]pluginsdk.BusyMode{pluginsdk.BusyQueue, pluginsdk.BusyCollect}).Draw(r, "mode")
	setBusyMode(m.t, m.s, thread.id, thread.mode)
}

func (m *machine) claim(r *rapid.T) {
	thread := m.thread(r)
	c, err := m.s.Claim(m.ctx, thread.id, m.owner())
	m.must(r, err)
	queued := thread.queued()
	if thread.claim != nil || len(queued) == 0 {
		if c.Found {
			r.Fatalf("claimed %s although %v is at work and %d wait", c.Run.ID, thread.claim != nil, len(queued))
		}
		return
	}
	head := queued[0]
	if !c.Found || c.Run.ID != head.id {
		r.Fatalf("claimed %q (found %v), the head is %q", c.Run.ID, c.Found, head.id)
	}
	head.state = pluginsdk.RunRunning
	head.attempt++
	if thread.mode != pluginsdk.BusyQueue && head.kind == pluginsdk.RunMessage && head.step == pluginsdk.StepAccepted {
		thread.absorb(head)
	}
	if len(c.Absorbed) != len(head.absorbed) {
		r.Fatalf("claimed with %d merged messages, want %d", len(c.Absorbed), len(head.absorbed))
	}
	thread.claim, thread.stored = &c, false
}

func (m *machine) intent(r *rapid.T) {
	thread, one := m.working(r)
	m.must(r, m.s.SaveIntent(m.ctx, thread.claim.Fence, ledger.Intent{RunID: one.id, SessionID: "s", PromptHash: "h"}))
	one.step = pluginsdk.StepInvoking
}

func (m *machine) result(r *rapid.T) {
	thread, one := m.working(r)
	commit := result(*thread.claim)
	commit.Key = fmt.Sprintf("%s:%d", one.id, thread.claim.Fence.Epoch)
	commit.Step = rapid.SampledFrom([]pluginsdk.RunStep{pluginsdk.StepInvoked, pluginsdk.StepInvoking, pluginsdk.StepAccepted}).Draw(r, "step")
	giveBack := 0
	if !thread.stored && len(one.absorbed) > 0 {
		giveBack = rapid.IntRange(0, len(one.absorbed)).Draw(r, "give back")
	}
	given := slices.Clone(one.absorbed[len(one.absorbed)-giveBack:])
	commit.Absorbed = slices.Clone(one.absorbed[:len(one.absorbed)-giveBack])
	m.must(r, m.s.SaveResult(m.ctx, thread.claim.Fence, commit))
	if thread.stored {
		return // a repetition changes nothing
	}
	thread.stored = true
	one.step = commit.Step
	one.absorbed = one.absorbed[:len(one.absorbed)-giveBack]
	for _, other := range thread.runs {
		if slices.Contains(given, other.messageID) {
			other.state, other.mergedInto = pluginsdk.RunQueued, ""
		}
	}
}

func (m *machine) absorb(r *rapid.T) {
	thread, one := m.working(r)
	before := len(one.absorbed)
	waiting, err := m.s.Absorbable(m.ctx, thread.claim.Fence, one.id)
	m.must(r, err)
	absorbed, err := m.s.Absorb(m.ctx, thread.claim.Fence, one.id, waiting)
	m.must(r, err)
	thread.absorb(one)
	if len(absorbed) != len(one.absorbed)-before {
		r.Fatalf("absorbed %d messages, want %d", len(absorbed), len(one.absorbed)-before)
	}
}

func (m *machine) finish(r *rapid.T) {
	thread, one := m.working(r)
	end := ledger.Finish{
		RunID: one.id,
		State: rapid.SampledFrom([]pluginsdk.RunState{pluginsdk.RunSucceeded, pluginsdk.RunFailed, pluginsdk.RunCancelled}).Draw(r, "state"),
		Rows:  []ledger.Row{{Key: one.id + ":reply", Message: text(pluginsdk.RoleAssistant, "reply to "+one.content)}},
	}
	for range rapid.IntRange(1, 2).Draw(r, "times") { // a COMMIT that nobody answered is sent again
		_, err := m.s.Finish(m.ctx, thread.claim.Fence, end)
		m.must(r, err)
	}
	thread.end(one, end.State)
}

func (m *machine) retry(r *rapid.T) {
	thread, one := m.working(r)
	m.must(r, m.s.EndAttempt(m.ctx, thread.claim.Fence, ledger.AttemptEnd{RunID: one.id, At: time.Now().Add(-time.Second), Reason: "again"}))
	thread.end(one, pluginsdk.RunQueued)
}

func (m *machine) release(r *rapid.T) {
	thread, one := m.working(r)
	m.must(r, m.s.Release(m.ctx, thread.claim.Fence, one.id))
	one.attempt--
	thread.end(one, pluginsdk.RunQueued)
}

func (m *machine) cancelQueued(r *rapid.T) {
	thread := m.thread(r)
	if len(thread.runs) == 0 {
		r.Skip("nothing was accepted")
	}
	one := rapid.SampledFrom(thread.runs).Draw(r, "run")
	_, cancelled, err := m.s.CancelQueued(m.ctx, one.id, "stopped")
	m.must(r, err)
	if cancelled != (one.state == pluginsdk.RunQueued && one.step != pluginsdk.StepInvoked) {
		r.Fatalf("cancelled: %v, the run was %s %s", cancelled, one.state, one.step)
	}
	if cancelled {
		one.state = pluginsdk.RunCancelled
	}
}

func (m *machine) cancelAll(r *rapid.T) {
	thread := m.thread(r)
	ids, err := m.s.CancelAllQueued(m.ctx, thread.id, "stopped")
	m.must(r, err)
	queued := slices.DeleteFunc(thread.queued(), func(one *modelRun) bool { return one.step == pluginsdk.StepInvoked })
	if len(ids) != len(queued) {
		r.Fatalf("cancelled %d runs, want %d", len(ids), len(queued))
	}
	for _, one := range queued {
		one.state = pluginsdk.RunCancelled
	}
}

func (m *machine) daemonDies(r *rapid.T) {
	m.boot++
	_, err := m.s.Recover(m.ctx, m.owner())
	m.must(r, err)
	for _, thread := range m.threads {
		if thread.claim != nil {
			// The dead daemon's fence holds until the next claim; nobody writes with it.
			one := thread.run(thread.claim.Run.ID)
			one.state, thread.claim = pluginsdk.RunQueued, nil
		}
	}
}

// staleWrite is a late worker that writes with the fence of a claim that has
// ended, after the thread was taken again.
func (m *machine) staleWrite(r *rapid.T) {
	thread, one := m.working(r)
	if len(thread.stale) == 0 {
		r.Skip("no earlier claim")
	}
	fence := rapid.SampledFrom(thread.stale).Draw(r, "fence")
	_, err := m.s.Finish(m.ctx, fence, ledger.Finish{RunID: one.id, State: pluginsdk.RunFailed})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		r.Fatalf("a stale write was answered with %v", err)
	}
}

// compare is asked after every action.
func (m *machine) compare(r *rapid.T) {
	for _, thread := range m.threads {
		stored, err := m.s.Runs(m.ctx, pluginsdk.RunQuery{ThreadID: thread.id, Limit: 1000})
		m.must(r, err)
		slices.SortFunc(stored, func(a, b pluginsdk.Run) int { return int(a.MessageID - b.MessageID) })
		if len(stored) != len(thread.runs) {
			r.Fatalf("%d runs are stored, want %d", len(stored), len(thread.runs))
		}
		for i, want := range thread.runs {
			got := stored[i]
			if got.ID != want.id || got.State != want.state || got.Attempt != want.attempt || got.Step != want.step ||
				got.MergedInto != want.mergedInto || !slices.Equal(got.Absorbed, want.absorbed) ||
				got.FinishedAt.IsZero() == want.state.Final() {
				r.Fatalf("stored run %+v\nwant %+v", got, want)
			}
		}
	}
}

func (m *machine) must(r *rapid.T, err error) {
	if err != nil {
		r.Helper()
		r.Fatal(err)
	}
}
