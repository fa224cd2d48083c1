package inbox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// planIsUsedUp is how the pipeline returns a run that the plan does not let through.
func planIsUsedUp(until time.Time) error {
	return &pluginsdk.Failure{
		Kind: pluginsdk.FailurePlan, Message: "It is used up.", Retryable: true,
		Parked: &pluginsdk.Parked{Reason: "It is used up.", Account: "home", Window: "five_hour", Until: until},
	}
}

// Somebody whose plan is used up is answered when it opens, however often it is found to be
// used up: no attempt is counted, and nothing is said of a failure.
func TestAParkedRunNeverRunsOutOfAttempts(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 1})
	tries := 0
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		if claim.Run.Attempt != 1 {
			t.Errorf("attempt %d", claim.Run.Attempt)
		}
		if tries++; tries > 10 {
			return nil
		}
		return planIsUsedUp(time.Now().Add(time.Millisecond))
	}
	f.begin(t)
	accepted := f.submit(t, "T", "1", "hello")
	f.store.until(t, "the end of the run", f.store.allFinal)
	if state := f.state(accepted.RunID); state != pluginsdk.RunSucceeded || len(f.line.failed) != 0 || len(f.store.ends) != 0 {
		t.Errorf("%s, failed %v, tried again %+v", state, f.line.failed, f.store.ends)
	}
	told := make(map[string]bool)
	for _, parked := range f.store.parks {
		told[parked.Row.Key] = true
		if !strings.HasPrefix(parked.Row.Key, "parked:"+accepted.RunID+":five_hour:") || parked.Row.Message.Kind != pluginsdk.MessageNotification ||
			string(parked.Row.Message.Metadata) != `{"event":"pipeline_parked"}` {
			t.Errorf("told by %+v", parked.Row)
		}
	}
	if len(f.store.parks) != 10 || len(told) > 3 { // a reset is told to the second
		t.Errorf("parked %d times, told by %d rows", len(f.store.parks), len(told))
	}
	f.events.mu.Lock()
	defer f.events.mu.Unlock()
	if n := len(slices.DeleteFunc(slices.Clone(f.events.kinds), func(k pluginsdk.EventType) bool { return k != pluginsdk.EventPipelineParked })); n != 10 {
		t.Errorf("published %d times", n)
	}
}

// plannedFixture has a run of the thread T that is parked for an hour.
func plannedFixture(t *testing.T) (f *fixture, runID string) {
	t.Helper()
	f = newFixture(t, Config{Slots: 5})
	parked := false
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		if claim.Message.Content == "wait" && !parked {
			parked = true
			return planIsUsedUp(time.Now().Add(time.Hour))
		}
		return nil
	}
	f.begin(t)
	runID = f.submit(t, "T", "1", "wait").RunID
	f.store.until(t, "the run to be parked", func() bool { return f.store.runs[0].Parked != nil })
	return f, runID
}

// typed types a command in the thread T, and returns the answer.
func (f *fixture) typed(t *testing.T, s pluginsdk.Submission) string {
	t.Helper()
	s.ThreadID, s.Source, s.Key = "T", "web", uuid.NewString()
	if _, err := f.Submit(t.Context(), ledger.By{Plugin: "web"}, s); err != nil {
		t.Fatal(err)
	}
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	return f.store.answers[len(f.store.answers)-1]
}

// Who does not want to wait, does not: by a word in the thread. What costs money, only a person
// says.
func TestAParkedRunIsToldToGoOn(t *testing.T) {
	key := ledger.Account{Name: "spare", Kind: pluginsdk.AccountKey, DailyLimitUSD: 5}
	for words, want := range map[string]struct {
		accounts []ledger.Account
		override *pluginsdk.RunOverride
		caused   bool
		answer   string
	}{
		"/plan go":       {answer: "The message is being answered now.", override: &pluginsdk.RunOverride{}},
		"/plan go haiku": {answer: "The message is being answered now, with the model haiku.", override: &pluginsdk.RunOverride{Model: "haiku"}},
		"/plan go fallback": {
			accounts: []ledger.Account{{Name: "home", Fallback: "spare"}, key},
			answer:   "The message is being answered now, with the fallback of its account.", override: &pluginsdk.RunOverride{Account: "spare"},
		},
		"/plan go fallback ":  {answer: "/plan failed: fallback: the account home has none"},
		"/plan go fallback  ": {accounts: []ledger.Account{{Name: "home", Fallback: "spare"}, {Name: "spare", Kind: pluginsdk.AccountKey}}, answer: "/plan failed: fallback: the key spare has no daily limit"},
		"/plan go a b":        {answer: `/plan failed: "go a b" is not understood; say /plan, or /plan go with nothing, a model's name or fallback behind it`},
		"/plan go falback":    {answer: `/plan failed: "falback" is no model; say /plan go with nothing, a model's name or the word fallback behind it`},
		"/plan go Fallback":   {answer: `/plan failed: "Fallback" is no model;`},
		"/plan stop":          {answer: `/plan failed: "stop" is not understood; say /plan, or /plan go with nothing, a model's name or fallback behind it`},
		"/plan go  ":          {caused: true, answer: "/plan failed: only a person can have a parked message continue, and this command comes from a run; somebody has to type /plan go"},
		"/plan":               {answer: "The plan.\n\nThis thread: Parked: It is used up.\n\nParked in all threads: 1."},
	} {
		t.Run(words, func(t *testing.T) {
			f, runID := plannedFixture(t)
			f.store.accounts = want.accounts
			typed := pluginsdk.Submission{Content: words, Author: "ann"}
			if want.caused {
				typed.CauseRunID = runID
			}
			if answer := strings.TrimSpace(f.typed(t, typed)); !strings.HasPrefix(answer, want.answer) {
				t.Errorf("answered %q, want %q", answer, want.answer)
			}
			if !strings.HasPrefix(want.answer, "The message is being answered now") {
				if state := f.state(runID); state != pluginsdk.RunQueued {
					t.Errorf("the run is %s", state)
				}
				return
			}
			f.store.until(t, "the end of the run", f.store.allFinal)
			run, err := f.store.Run(t.Context(), runID)
			if err != nil || (run.Override == nil) != (want.override == nil) || run.Override != nil && *run.Override != *want.override {
				t.Errorf("went on with %+v, %v", run.Override, err)
			}
			if answer := f.typed(t, pluginsdk.Submission{Content: "/plan go"}); answer != "/plan failed: nothing is parked in this thread" {
				t.Errorf("answered %q", answer)
			}
		})
	}
}

// Who asks what waits is told of their own thread, and of no turn beside it, however much waits
// in all.
func TestThePlanOfAThread(t *testing.T) {
	f := newFixture(t, Config{Slots: 5})
	f.line.handle = func(context.Context, ledger.Claim) error { return planIsUsedUp(time.Now().Add(time.Hour)) }
	f.begin(t)
	f.ask(t, pluginsdk.StartTurnRequest{ThreadID: "T", Prompt: "review", Key: "beside"}, "")
	parked := func(n int) func() bool {
		return func() bool {
			all := 0
			for _, run := range f.store.runs {
				if run.Parked != nil && run.State == pluginsdk.RunQueued {
					all++
				}
			}
			return all == n
		}
	}
	f.store.until(t, "the turn to be parked", parked(1))
	if text := f.typed(t, pluginsdk.Submission{Content: "/plan"}); text != "The plan.\n\nParked in all threads: 1." {
		t.Errorf("answered %q", text)
	}
	f.submit(t, "T", "1", "hello")
	f.store.until(t, "the message to be parked", parked(2))
	if text := f.typed(t, pluginsdk.Submission{Content: "/plan"}); text != "The plan.\n\nThis thread: Parked: It is used up.\n\nParked in all threads: 2." {
		t.Errorf("answered %q", text)
	}
}

// People see in the thread why nothing happens, and end it as they end anything.
func TestAParkedRunIsShownAndEnded(t *testing.T) {
	for how, end := range map[string]func(t *testing.T, f *fixture, runID string){
		"stopped": func(t *testing.T, f *fixture, _ string) { f.typed(t, pluginsdk.Submission{Content: "/stop"}) },
		"cancelled": func(t *testing.T, f *fixture, runID string) {
			if _, err := f.Cancel(t.Context(), runID, ledger.By{}); err != nil {
				t.Error(err)
			}
		},
		"interrupted": func(t *testing.T, f *fixture, _ string) {
			f.store.mu.Lock()
			f.store.threads["T"] = pluginsdk.Thread{ID: "T", BusyMode: pluginsdk.BusyInterrupt}
			f.store.mu.Unlock()
			f.submit(t, "T", "2", "something else")
		},
	} {
		t.Run(how, func(t *testing.T) {
			f, runID := plannedFixture(t)
			if text := f.typed(t, pluginsdk.Submission{Content: "/status"}); !strings.HasSuffix(text, "Parked: It is used up.") {
				t.Errorf("status: %s", text)
			}
			end(t, f, runID)
			f.store.until(t, "the end of all runs", f.store.allFinal)
			if state := f.state(runID); state != pluginsdk.RunCancelled {
				t.Errorf("the run is %s", state)
			}
		})
	}
}

// A person who writes takes back their own message, and not what a plugin has asked for: that is
// spared when it waits, as it is at work.
func TestAMessageSparesAParkedTurn(t *testing.T) {
	for what, waits := range map[string]func() error{
		"for the plan": func() error { return planIsUsedUp(time.Now().Add(time.Hour)) },
		"for people":   parked,
	} {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t, Config{Slots: 5})
			f.store.threads["T"] = pluginsdk.Thread{ID: "T", BusyMode: pluginsdk.BusyInterrupt}
			f.line.handle = func(context.Context, ledger.Claim) error { return waits() }
			f.begin(t)
			turn := f.ask(t, pluginsdk.StartTurnRequest{ThreadID: "T", Prompt: "sum up", Session: pluginsdk.SessionThread}, "")
			f.store.until(t, "the turn to be parked", func() bool {
				return f.store.runs[0].Parked != nil || f.store.runs[0].State == pluginsdk.RunWaiting
			})
			f.submit(t, "T", "2", "something else")
			if state := f.state(turn); state.Final() {
				t.Errorf("the turn is %s", state)
			}
		})
	}
}

// What a run at work has asked for cannot be waited for: the run would sit on its place for
// hours. What nobody at work waits for is parked like anything else.
func TestATurnOfARunAtWorkIsNotParked(t *testing.T) {
	f := newFixture(t, Config{Slots: 5})
	inner, over := make(chan string, 1), make(chan struct{})
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		if claim.Run.Kind == pluginsdk.RunTurn {
			return planIsUsedUp(time.Now().Add(time.Hour))
		}
		inner <- f.ask(t, pluginsdk.StartTurnRequest{Prompt: "sum up"}, claim.Run.ID)
		<-over
		return nil
	}
	f.begin(t)
	f.submit(t, "T", "1", "work")
	turn := <-inner
	f.store.until(t, "the end of the turn", func() bool {
		return slices.ContainsFunc(f.store.runs, func(r *ledger.Run) bool { return r.ID == turn && r.State == pluginsdk.RunFailed })
	})
	close(over)
	if len(f.line.failed) != 1 || pluginsdk.CodeOf(f.line.failed[0]) != pluginsdk.CodeExhausted || !strings.HasPrefix(f.line.failed[0].Error(), "exhausted: It is used up.") {
		t.Errorf("failed for %v", f.line.failed)
	}
	f.store.until(t, "the end of all runs", f.store.allFinal)
	alone := f.ask(t, pluginsdk.StartTurnRequest{Prompt: "review", Key: "alone"}, "")
	f.store.until(t, "the turn to be parked", func() bool {
		return slices.ContainsFunc(f.store.runs, func(r *ledger.Run) bool { return r.ID == alone && r.Parked != nil })
	})
}

// A slip of the pen must not cost a message: with a model that nobody knows it is not answered,
// and waits for the plan as before.
func TestAModelThatNobodyKnows(t *testing.T) {
	for what, failure := range map[string]*pluginsdk.Failure{
		"the API says it": {Kind: pluginsdk.FailureAPI, APIStatus: 404, Message: "model: claude-hiaku"},
		"the CLI says it": {Kind: pluginsdk.FailureAPI, Message: "There's an issue with the selected model (claude-hiaku)."},
	} {
		t.Run(what, func(t *testing.T) {
			f, runID := plannedFixture(t)
			tries := 0
			f.line.handle = func(_ context.Context, claim ledger.Claim) error {
				if tries++; claim.Run.Override != nil && claim.Run.Override.Model != "" {
					return pluginsdk.Errorf(pluginsdk.CodeInternal, "%w", failure)
				}
				return planIsUsedUp(time.Now().Add(time.Hour))
			}
			f.typed(t, pluginsdk.Submission{Content: "/plan go claude-hiaku"})
			f.store.until(t, "the run to wait again", func() bool {
				run := f.store.runs[0]
				return run.State.Final() || run.Parked != nil && run.Parked.Window == "five_hour" && run.NextAttemptAt.After(time.Now())
			})
			run, err := f.store.Run(t.Context(), runID)
			if err != nil || run.State != pluginsdk.RunQueued || run.Override != nil || run.Attempt != 0 || tries != 2 || len(f.line.failed) != 0 {
				t.Errorf("the run is %+v after %d tries, failed for %v: %v", run, tries, f.line.failed, err)
			}
			said := f.store.parks[1].Row
			if said.Key != "parked:"+runID+":model:claude-hiaku" || !strings.HasPrefix(said.Message.Content, `There is no model "claude-hiaku". The message waits for the plan again. To continue now: /plan go`) {
				t.Errorf("told by %+v", said)
			}
		})
	}
}

// A person's word on a model holds until the run is over; that on money holds for the attempt
// that it was said of.
func TestWhatStillHoldsOfAPersonsWord(t *testing.T) {
	for _, c := range []struct{ said, holds *pluginsdk.RunOverride }{
		{nil, nil},
		{&pluginsdk.RunOverride{}, nil},
		{&pluginsdk.RunOverride{Account: "spare"}, nil},
		{&pluginsdk.RunOverride{Model: "haiku", Account: "spare"}, &pluginsdk.RunOverride{Model: "haiku"}},
	} {
		if got := stillSaid(c.said); (got == nil) != (c.holds == nil) || got != nil && *got != *c.holds {
			t.Errorf("of %+v there holds %+v", c.said, got)
		}
	}
}

// The database may be away when a run is to be parked: it is parked once it is back, and not
// answered "failed".
func TestParkingIsRepeated(t *testing.T) {
	f := newFixture(t, Config{})
	away := 1
	f.store.fault = func(name string) error {
		if name == "park" && away > 0 {
			away--
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away")
		}
		return nil
	}
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		if claim.Run.LastParked == nil {
			return planIsUsedUp(time.Now().Add(time.Millisecond))
		}
		return nil
	}
	f.begin(t)
	accepted := f.submit(t, "T", "1", "hello")
	f.store.until(t, "the end of the run", f.store.allFinal)
	if state := f.state(accepted.RunID); state != pluginsdk.RunSucceeded || len(f.store.parks) != 1 {
		t.Errorf("%s, parked %+v", state, f.store.parks)
	}
	if err := errors.Join(f.line.failed...); err != nil {
		t.Error(err)
	}
}
