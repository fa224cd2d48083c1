package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// memory is a Store that keeps runs in the order of acceptance.
type memory struct {
	answered atomic.Bool        // what a run asks is answered before it is parked
	onPark   func(runID string) // called when a run waits for people, and is still at work in memory; may be nil

	mu       sync.Mutex
	threads  map[string]pluginsdk.Thread
	gone     []string // threads that were deleted
	runs     []*ledger.Run
	contents map[string]string
	metadata map[string]json.RawMessage
	files    map[string][]pluginsdk.Attachment
	keys     map[string]pluginsdk.Accepted
	answers  []string
	ends     []ledger.AttemptEnd
	parks    []ledger.ParkedRun
	hastened []string // what has had runs of gates go on
	accounts []ledger.Account
	plugins  map[string]string // that submitted the runs
	authors  map[string]string
	scopes   map[string]pluginsdk.TokenScope
	options  *pluginsdk.RunOptions  // of all runs
	accepted []pluginsdk.Submission // what was stored
	changed  chan struct{}
	failing  error
	lever    ledger.Lever
	lost     bool   // the next claim is made, and its answer is lost
	claimed  func() // called when the answer of a claim was lost
	found    func() // called when Recover has looked
	// fault is asked before and after what the name says, by the pipeline and
	// the events as well: it returns an error or panics. Nil: nothing is wrong.
	fault func(name string) error
}

func (m *memory) ask(name string) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	fault := m.fault
	m.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(name)
}

func newMemory() *memory {
	return &memory{
		threads:  map[string]pluginsdk.Thread{"P": {ID: "P", Kind: pluginsdk.ThreadPrimary}},
		contents: map[string]string{}, plugins: map[string]string{}, authors: map[string]string{}, scopes: map[string]pluginsdk.TokenScope{}, metadata: map[string]json.RawMessage{}, files: map[string][]pluginsdk.Attachment{}, keys: map[string]pluginsdk.Accepted{}, changed: make(chan struct{}),
	}
}

func threadOf(id string) ledger.Thread { return ledger.Thread{Thread: pluginsdk.Thread{ID: id}} }

func (m *memory) signal() { close(m.changed); m.changed = make(chan struct{}) }

func (m *memory) Primary(ctx context.Context) (pluginsdk.Thread, error) { return m.Thread(ctx, "P") }

func (m *memory) Thread(_ context.Context, id string) (pluginsdk.Thread, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Contains(m.gone, id) {
		return pluginsdk.Thread{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no thread %s", id)
	}
	if thread, ok := m.threads[id]; ok {
		return thread, nil
	}
	if strings.HasPrefix(id, "T") {
		return pluginsdk.Thread{ID: id}, nil
	}
	return pluginsdk.Thread{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no thread %s", id)
}

func (m *memory) UpdateThread(_ context.Context, id string, patch pluginsdk.ThreadPatch) (pluginsdk.Thread, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	thread := m.threads[id]
	if patch.Model != nil {
		thread.Model = *patch.Model
	}
	if patch.BusyMode != nil {
		thread.BusyMode = *patch.BusyMode
	}
	m.threads[id] = thread
	return thread, nil
}

func (m *memory) RunOptions(context.Context, pluginsdk.Run) (*pluginsdk.RunOptions, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.options, nil
}

func (m *memory) ResetSession(context.Context, string) error { return nil }

func (m *memory) Accept(_ context.Context, a ledger.Acceptance) (ledger.Accepted, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if to := a.Submission.ThreadID; to != "P" && !strings.HasPrefix(to, "T") {
		return ledger.Accepted{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no thread %s", to)
	}
	key := a.Submission.Source + "/" + a.Submission.Key
	if known, ok := m.keys[key]; ok {
		known.Existed = true
		return ledger.Accepted{Accepted: known}, nil
	}
	m.accepted = append(m.accepted, a.Submission)
	var lanes []ledger.Lane
	run := &ledger.Run{Run: pluginsdk.Run{
		ID: a.RunID, ThreadID: a.Submission.ThreadID, MessageID: int64(len(m.runs) + 1), Kind: a.Kind, State: pluginsdk.RunQueued,
		CauseRunID: a.Submission.CauseRunID, Beside: a.BesideAs != "",
	}, BesideAs: a.BesideAs}
	if a.Answer != nil {
		run.State = a.Answer.State
		m.answers = append(m.answers, a.Answer.Text)
		lanes = []ledger.Lane{{Plugin: "discord", Target: "general"}}
	}
	m.plugins[a.RunID], m.authors[a.RunID], m.scopes[a.RunID] = a.Plugin, a.Submission.Author, a.Submission.Scope
	idle := a.Claimer != "" && m.failing == nil && !m.lost
	for _, other := range m.runs {
		idle = idle && (queueOf(other) != queueOf(run) || other.State.Final())
	}
	m.runs = append(m.runs, run)
	m.contents[run.ID], m.metadata[run.ID], m.files[run.ID] = a.Submission.Content, a.Submission.Metadata, a.Submission.Attachments
	m.keys[key] = pluginsdk.Accepted{ThreadID: run.ThreadID, MessageID: run.MessageID, RunID: run.ID}
	accepted := ledger.Accepted{Accepted: m.keys[key], BusyMode: m.threads[run.ThreadID].BusyMode, Lanes: lanes}
	if idle {
		run.State, run.Attempt, run.Owner = pluginsdk.RunRunning, 1, a.Claimer
		accepted.Claim = ledger.Claim{
			Found: true, Run: *run, Thread: threadOf(run.ThreadID), Message: m.message(run.MessageID),
		}
	}
	return accepted, nil
}

func (m *memory) Amend(_ context.Context, a ledger.Amendment) (message pluginsdk.Message, changed bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.keys[a.Source+"/"+a.Key]
	if !ok {
		return message, false, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no message %s", a.Key)
	}
	changed = m.contents[known.RunID] != a.Content
	m.contents[known.RunID] = a.Content
	return m.message(known.MessageID), changed, nil
}

func (m *memory) Claim(_ context.Context, threadID, owner string) (claim ledger.Claim, err error) {
	return m.take(ledger.Queue{ThreadID: threadID}, owner, func(*ledger.Run) bool { return true })
}

func (m *memory) take(queue ledger.Queue, owner string, may func(*ledger.Run) bool) (claim ledger.Claim, err error) {
	if err := m.ask("claim"); err != nil {
		return ledger.Claim{}, err
	}
	defer func() {
		if claim.Found {
			err = m.ask("claimed")
		}
	}()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing; err != nil {
		m.failing = nil
		return ledger.Claim{}, err
	}
	for _, run := range m.runs {
		if queueOf(run) != queue || run.State.Final() {
			continue
		}
		if run.State == pluginsdk.RunRunning || run.State == pluginsdk.RunWaiting {
			return ledger.Claim{}, nil
		}
		if !may(run) {
			continue
		}
		if run.NextAttemptAt.After(time.Now()) {
			return ledger.Claim{NotBefore: run.NextAttemptAt}, nil
		}
		run.State, run.Owner, run.Parked = pluginsdk.RunRunning, owner, nil
		run.Attempt++
		if m.lost {
			m.lost = false
			m.signal()
			if m.claimed != nil {
				m.claimed()
			}
			return ledger.Claim{}, errors.New("connection reset")
		}
		if mode := m.threads[queue.ThreadID].BusyMode; mode != "" && mode != pluginsdk.BusyQueue && run.Kind == pluginsdk.RunMessage {
			m.absorb(run)
		}
		return ledger.Claim{
			Found: true, Run: *run, Thread: threadOf(run.ThreadID),
			Message: m.message(run.MessageID), Absorbed: m.absorbed(run),
		}, nil
	}
	return ledger.Claim{}, nil
}

// absorb merges what waits behind a run into it.
func (m *memory) absorb(into *ledger.Run) {
	for _, run := range m.runs {
		if queueOf(run) != queueOf(into) || run.State != pluginsdk.RunQueued {
			continue
		}
		if run.Kind != pluginsdk.RunMessage || run.Attempt > 0 {
			return
		}
		run.State, run.MergedInto = pluginsdk.RunMerged, into.ID
		into.Absorbed = append(into.Absorbed, run.MessageID)
	}
}

func (m *memory) absorbed(run *ledger.Run) (messages []pluginsdk.Message) {
	for _, id := range run.Absorbed {
		messages = append(messages, m.message(id))
	}
	return messages
}

func (m *memory) message(id int64) pluginsdk.Message {
	run := m.runs[id-1]
	return pluginsdk.Message{ID: id, RunID: run.ID, Source: "web", Plugin: m.plugins[run.ID], Author: m.authors[run.ID], Scope: m.scopes[run.ID], Content: m.contents[run.ID], Metadata: m.metadata[run.ID], Attachments: m.files[run.ID]}
}

func (m *memory) Message(_ context.Context, id int64) (pluginsdk.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.message(id), nil
}

func (m *memory) LastUnanswered(_ context.Context, threadID string) (pluginsdk.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range slices.Backward(m.runs) {
		if run.ThreadID == threadID && run.Kind == pluginsdk.RunMessage && run.State == pluginsdk.RunFailed {
			return run.Run, nil
		}
	}
	return pluginsdk.Run{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "none")
}

func (m *memory) CancelAllQueued(_ context.Context, threadID, reason string) (ids []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range m.runs {
		if queueOf(run) == (ledger.Queue{ThreadID: threadID}) && run.State == pluginsdk.RunQueued && run.Step != pluginsdk.StepInvoked {
			run.State, run.Error = pluginsdk.RunCancelled, reason
			ids = append(ids, run.ID)
		}
	}
	return ids, nil
}

func (m *memory) Known(_ context.Context, source, key string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.keys[source+"/"+key]
	return ok, nil
}

func (m *memory) Unclaim(_ context.Context, threadID, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range m.runs {
		if queueOf(run) == (ledger.Queue{ThreadID: threadID}) && run.State == pluginsdk.RunRunning {
			run.State = pluginsdk.RunQueued
		}
	}
	return nil
}

func (m *memory) Runs(_ context.Context, query pluginsdk.RunQuery) (found []pluginsdk.Run, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := query.After == ""
	for _, run := range m.runs {
		if after && (query.ThreadID == "" || run.ThreadID == query.ThreadID) && run.CauseRunID == query.CauseRunID && slices.Contains(query.States, run.State) {
			found = append(found, run.Run)
		}
		after = after || run.ID == query.After
	}
	return found, nil
}

func (m *memory) Recover(_ context.Context, owner string) ([]ledger.Queue, error) {
	if err := m.ask("recover"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var open []ledger.Queue
	for _, run := range m.runs {
		if run.State == pluginsdk.RunRunning && run.Owner != owner {
			run.State = pluginsdk.RunQueued
		}
		if run.State == pluginsdk.RunQueued {
			open = append(open, queueOf(run))
		}
	}
	if m.found != nil {
		m.mu.Unlock()
		m.found()
		m.mu.Lock()
	}
	return open, nil
}

func (m *memory) set(id string, state pluginsdk.RunState, at time.Time, attempts int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range m.runs {
		if run.ID == id {
			run.State, run.NextAttemptAt = state, at
			run.Attempt += attempts
		}
	}
	m.signal()
	return nil
}

func (m *memory) EndAttempt(_ context.Context, _ ledger.Fence, end ledger.AttemptEnd) error {
	if err := m.ask("retry"); err != nil {
		return err
	}
	if len(end.Effects) > 0 {
		if err := m.ask("retry with effects"); err != nil {
			return err
		}
	}
	m.mu.Lock()
	m.ends = append(m.ends, end)
	m.mu.Unlock()
	return m.set(end.RunID, pluginsdk.RunQueued, end.At, 0)
}

func (m *memory) Release(_ context.Context, _ ledger.Fence, id string) error {
	return m.set(id, pluginsdk.RunQueued, time.Time{}, -1)
}

func (m *memory) Park(_ context.Context, _ ledger.Fence, id string) (parked bool, err error) {
	if m.answered.Load() {
		return false, m.set(id, pluginsdk.RunQueued, time.Time{}, -1)
	}
	err = m.set(id, pluginsdk.RunWaiting, time.Time{}, -1)
	if m.onPark != nil {
		m.onPark(id)
	}
	return true, err
}

// ParkRun has a run wait as the store does.
func (m *memory) ParkRun(_ context.Context, _ ledger.Fence, parked ledger.ParkedRun) ([]ledger.Lane, error) {
	if err := m.ask("park"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	for _, run := range m.runs {
		if run.ID == parked.RunID {
			run.Parked, run.LastParked, run.Override = &parked.Parked, &parked.Parked, parked.Override
		}
	}
	m.parks = append(m.parks, parked)
	m.mu.Unlock()
	due := parked.Due
	if due.IsZero() {
		due = parked.Parked.Until
	}
	return nil, m.set(parked.RunID, pluginsdk.RunQueued, due, -1)
}

func (m *memory) ResumeRun(_ context.Context, resumed ledger.ResumedRun) (r pluginsdk.Run, queue ledger.Queue, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id, override := resumed.RunID, resumed.Override
	for _, run := range m.runs {
		if run.ID != id {
			continue
		}
		if run.State != pluginsdk.RunQueued || run.Parked == nil {
			return r, queue, pluginsdk.Errorf(pluginsdk.CodeStale, "run %s is not parked", id)
		}
		run.Parked, run.LastParked, run.NextAttemptAt = nil, nil, time.Time{}
		run.Override = &override
		m.signal()
		return run.Run, queueOf(run), nil
	}
	return r, queue, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no run %s", id)
}

func (m *memory) HastenParked(_ context.Context, later time.Time, due func(parked pluginsdk.Parked, people bool) time.Time) (queues []ledger.Queue, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range m.runs {
		if run.State != pluginsdk.RunQueued || run.Parked == nil || !run.NextAttemptAt.After(later) {
			continue
		}
		if at := due(*run.Parked, run.Kind != pluginsdk.RunTurn); !at.IsZero() {
			run.NextAttemptAt = at
			queues = append(queues, queueOf(run))
		}
	}
	return queues, nil
}

func (m *memory) HastenGate(_ context.Context, plugin string, later, at time.Time) ([]ledger.Queue, error) {
	return m.hasten("hasten a gate", at, func(run *ledger.Run) bool {
		return run.Parked.Plugin != "" && (plugin == "" || run.Parked.Plugin == plugin) && run.NextAttemptAt.After(later)
	})
}

func (m *memory) HastenRuns(_ context.Context, ids []string, at time.Time) ([]ledger.Queue, error) {
	return m.hasten("hasten runs", at, func(run *ledger.Run) bool {
		return run.Parked.Plugin != "" && slices.Contains(ids, run.ID) && run.NextAttemptAt.After(at)
	})
}

func (m *memory) hasten(what string, at time.Time, which func(*ledger.Run) bool) (queues []ledger.Queue, err error) {
	if err := m.ask(what); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hastened = append(m.hastened, what)
	for _, run := range m.runs {
		if run.State == pluginsdk.RunQueued && run.Parked != nil && which(run) {
			run.NextAttemptAt = at
			queues = append(queues, queueOf(run))
		}
	}
	m.signal()
	return queues, nil
}

func (m *memory) WaitingAtGates(context.Context) (all []ledger.AtGate, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range m.runs {
		if run.State == pluginsdk.RunQueued && run.Parked != nil && run.Parked.Plugin != "" {
			all = append(all, ledger.AtGate{RunID: run.ID, Plugin: run.Parked.Plugin, Due: run.NextAttemptAt})
		}
	}
	return all, nil
}

func (m *memory) CountParked(context.Context) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range m.runs {
		if run.State == pluginsdk.RunQueued && run.Parked != nil {
			n++
		}
	}
	return n, nil
}

func (m *memory) Accounts(context.Context) ([]ledger.Account, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.accounts, nil
}

func (m *memory) Run(_ context.Context, id string) (pluginsdk.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range m.runs {
		if run.ID == id {
			return run.Run, nil
		}
	}
	return pluginsdk.Run{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no run %s", id)
}

func (m *memory) CancelQueued(ctx context.Context, id, reason string) (pluginsdk.Run, bool, error) {
	run, err := m.Run(ctx, id)
	if err != nil || run.State != pluginsdk.RunQueued && run.State != pluginsdk.RunWaiting || run.Step == pluginsdk.StepInvoked {
		return run, false, err
	}
	_ = m.set(id, pluginsdk.RunCancelled, time.Time{}, 0)
	m.mu.Lock()
	for _, queued := range m.runs {
		if queued.ID == id {
			queued.Error = reason
		}
	}
	m.mu.Unlock()
	run, err = m.Run(ctx, id)
	return run, true, err
}

func (m *memory) Waiting(_ context.Context, threadID string) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, run := range m.runs {
		if queueOf(run) == (ledger.Queue{ThreadID: threadID}) && run.State == pluginsdk.RunQueued {
			n++
		}
	}
	return n, nil
}

// until waits for a condition on the store.
func (m *memory) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		m.mu.Lock()
		ok, changed := holds(), m.changed
		m.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%s did not come about", what)
		}
	}
}

func (m *memory) allFinal() bool {
	for _, run := range m.runs {
		if !run.State.Final() {
			return false
		}
	}
	return true
}
