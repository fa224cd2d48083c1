package pipeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func usedUp(account string) *pluginsdk.Parked {
	return &pluginsdk.Parked{Reason: "The window is used up.", Account: account, Window: "five_hour", Until: time.Now().Add(time.Hour)}
}

// wantPlan wants the run to be parked for the reason.
func wantPlan(t *testing.T, err error, reason string) *pluginsdk.Parked {
	t.Helper()
	var failure *pluginsdk.Failure
	if !errors.As(err, &failure) || failure.Kind != pluginsdk.FailurePlan || failure.Parked == nil || failure.Message != reason || failure.Parked.Reason != reason {
		t.Fatalf("got %v (%+v), want it parked: %s", err, failure, reason)
	}
	return failure.Parked
}

// attempt takes the bench's run through the pipeline.
func (b *bench) attempt(t *testing.T) (ledger.Left, error) {
	t.Helper()
	return b.line.Handle(t.Context(), t.Context(), b.claim)
}

// The plan is told of each turn that was answered, by its account and model, and of no other: a
// refused turn would open the window that has refused it.
func TestThePlanIsToldOfAnswers(t *testing.T) {
	b := newBench("p")
	answers := b.agent.answer
	b.agent.answer = func(context.Context, ledger.AgentRequest, func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		return pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Kind: pluginsdk.FailurePlan, Message: "used up", Retryable: true, Parked: usedUp("environment")}}
	}
	if _, err := b.attempt(t); err == nil || len(b.plan.answered) != 0 {
		t.Errorf("of a turn that was refused: %q, %v", b.plan.answered, err)
	}
	b.agent.answer = answers
	if _, err := b.attempt(t); err != nil || !slices.Equal(b.plan.answered, []string{"environment m"}) {
		t.Errorf("told %q, %v", b.plan.answered, err)
	}
}

// A run that the plan does not let through must not begin: no plugin is asked, no money is set
// aside, and the agent gets no byte.
func TestAUsedUpPlanLetsNothingBegin(t *testing.T) {
	b := newBench("p")
	b.plan.shut = map[string]*pluginsdk.Parked{"environment": usedUp("environment")}
	left, err := b.attempt(t)
	wantPlan(t, err, "The window is used up.")
	if len(b.journal.lines) != 0 || len(left.Effects) != 0 {
		t.Errorf("done all the same: %q, %+v", b.journal.lines, left)
	}
	if ask := b.plan.asked[0]; ask.Account != "environment" || ask.Model != "m" || !ask.People {
		t.Errorf("asked %+v", ask)
	}

	// An answer that is there, and a command that needs no agent, wait for no plan.
	b.claim.Run.Step, b.claim.Run.Result = pluginsdk.StepInvoked, &pluginsdk.InvokeResult{Text: "the answer"}
	if _, err := b.attempt(t); err != nil {
		t.Error(err)
	}
	b.claim.Run.Step, b.claim.Run.Result, b.claim.Run.Kind, b.claim.Message.Content = "", nil, pluginsdk.RunCommand, "/buy milk"
	if _, err := b.attempt(t); err != nil {
		t.Error(err)
	}
	if len(b.plan.asked) != 1 {
		t.Errorf("asked %+v", b.plan.asked)
	}
}

// A window that is used up in mid-turn costs what the turn has cost so far, and no work: what
// was done is kept, plugins are told of the cost, and the session goes on later.
func TestAPlanIsUsedUpInMidTurn(t *testing.T) {
	b := newBench("p")
	b.agent.answer = func(_ context.Context, request ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		emit(pluginsdk.StreamEvent{Type: pluginsdk.StreamToolCall, ToolName: "Bash"})
		return pluginsdk.InvokeResult{
			SessionID: request.SessionID, CostUSD: 0.25, Notional: true, CostUnsure: true, Account: "home",
			Models:  []pluginsdk.ModelUsage{{Model: "a"}, {Model: "b"}},
			Failure: &pluginsdk.Failure{Kind: pluginsdk.FailurePlan, Message: "The window is used up.", Retryable: true, Parked: usedUp("home")},
		}
	}
	_, err := b.attempt(t)
	wantPlan(t, err, "The window is used up.")
	commit := b.store.results[0]
	if commit.Step != pluginsdk.StepInvoking || commit.RunSessionID == "" || len(commit.Events) != 1 {
		t.Errorf("stored %+v", commit)
	}
	if r := commit.AgentRun; r.Account != "home" || !r.Notional || !r.CostUnsure || len(r.Models) != 2 || r.CostUSD != 0.25 || r.Success {
		t.Errorf("recorded %+v", r)
	}
	if done := b.plugins[0].done; len(done) != 1 || done[0].Outcome != pluginsdk.OutcomeParked || done[0].CostUSD != 0.25 {
		t.Errorf("plugins were told %+v", done)
	}
	if len(b.store.finishes) != 0 {
		t.Errorf("the run is over: %+v", b.store.finishes)
	}
}

// What plugins start stops at the share, and must hold nobody up who writes: what stands in the
// queue of people's threads counts as theirs.
func TestWhoseTurnItIs(t *testing.T) {
	for name, c := range map[string]struct {
		change func(c *ledger.Claim)
		people bool
	}{
		"a person's message":        {func(*ledger.Claim) {}, true},
		"one that a run has caused": {func(c *ledger.Claim) { c.Run.CauseRunID = "R0" }, true},
		"a task's":                  {func(c *ledger.Claim) { c.Thread.Kind = pluginsdk.ThreadTask }, false},
		"a scheduled job's":         {func(c *ledger.Claim) { c.Thread.Kind = pluginsdk.ThreadCron }, false},
		"a turn beside":             {func(c *ledger.Claim) { beside(c) }, false},
		"a turn of people's own thread": {func(c *ledger.Claim) {
			c.Run.Kind, c.Run.Turn = pluginsdk.RunTurn, &pluginsdk.StartTurnRequest{Prompt: "x"}
		}, true},
	} {
		b := newBench()
		c.change(&b.claim)
		if _, err := b.attempt(t); err != nil || len(b.plan.asked) != 1 || b.plan.asked[0].People != c.people {
			t.Errorf("%s: asked %+v, %v", name, b.plan.asked, err)
		}
	}
}

// beside makes the claim that of a turn which is in no thread's queue.
func beside(c *ledger.Claim) {
	c.Run.Kind, c.Run.Turn, c.Run.Beside = pluginsdk.RunTurn, &pluginsdk.StartTurnRequest{Prompt: "review"}, true
	c.Fence = ledger.Fence{ThreadID: c.Thread.ID, RunID: c.Run.ID, Attempt: 1}
}

// Two accounts are two people to the agent: what one has been told must not be told the other,
// nor be lost to the conversation. And nobody's session is thrown away for nothing.
func TestAThreadThatChangesItsAccount(t *testing.T) {
	for name, c := range map[string]struct {
		thread, session, byDefault string
		resumed                    bool
	}{
		"the same":          {thread: "work", session: "work", resumed: true},
		"another":           {thread: "work", session: "home"},
		"another default":   {session: "environment", byDefault: "work"},
		"that nobody wrote": {byDefault: "work", resumed: true},
		"as it always was":  {session: "environment", resumed: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			b.plan.byDefault = c.byDefault
			b.claim.Thread.Account, b.claim.Thread.SessionID, b.claim.Thread.SessionAccount, b.claim.Thread.SeenMessageID = c.thread, "S", c.session, 3
			if _, err := b.attempt(t); err != nil {
				t.Fatal(err)
			}
			request, intent, commit := b.agent.requests[0], b.store.intents[0], b.store.results[0]
			want := b.plan.Account(c.thread)
			if request.Account != want || intent.Account != want || commit.SessionAccount != want || commit.AgentRun.Account != want {
				t.Errorf("accounts %q, %q, %q, %q; want %q", request.Account, intent.Account, commit.SessionAccount, commit.AgentRun.Account, want)
			}
			if request.Resume != c.resumed || (request.SessionID == "S") != c.resumed || (b.store.dropped == 0) != c.resumed {
				t.Errorf("session %s, resumed %v, dropped %d", request.SessionID, request.Resume, b.store.dropped)
			}
			said := slices.ContainsFunc(intent.Effects, func(e ledger.Effect) bool {
				return len(e.Rows) == 1 && e.Plugin == "" && e.Rows[0].Content == "This thread now uses the account "+want+": a new session with its history."
			})
			if said == c.resumed {
				t.Errorf("said %+v", intent.Effects)
			}
		})
	}
}

// A turn that was interrupted goes on in its session only with the account that has begun it.
func TestAnInterruptedTurnIsOfAnAccountToo(t *testing.T) {
	b := newBench()
	b.claim.Run.Step, b.claim.Run.SessionID, b.claim.Run.Account = pluginsdk.StepInvoking, "S", "home"
	if _, err := b.attempt(t); err != nil || b.agent.requests[0].Resume || b.store.dropped != 1 {
		t.Errorf("asked %+v, %v", b.agent.requests, err)
	}
	b = newBench()
	b.claim.Run.Step, b.claim.Run.SessionID, b.claim.Run.Account = pluginsdk.StepInvoking, "S", "environment"
	if _, err := b.attempt(t); err != nil || !b.agent.requests[0].Resume || b.store.dropped != 0 {
		t.Errorf("asked %+v, %v", b.agent.requests, err)
	}
}

// What a person says of a parked run is done: with the model that they name, and with paid use
// no further than the day's limit.
func TestAPersonsWordOnAParkedRun(t *testing.T) {
	day := time.Now().UTC().Format(time.DateOnly)
	paid := func(used float64) *bench {
		b := newBench()
		b.plan.shut = map[string]*pluginsdk.Parked{"environment": usedUp("environment")}
		b.plan.limits = map[string]float64{"spare": 8}
		b.store.reserved = map[string]float64{"core/key:spare:" + day: used}
		b.claim.Run.Override = &pluginsdk.RunOverride{Account: "spare"}
		return b
	}
	t.Run("another model", func(t *testing.T) {
		for said, want := range map[pluginsdk.RunOverride]string{{Model: "haiku"}: "haiku", {}: "opus"} {
			b := paid(0) // what is known of the plan does not count: it may be a better one by now
			b.claim.Thread.Model, b.claim.Run.Override = "opus", &said
			if _, err := b.attempt(t); err != nil || b.agent.requests[0].Model != want || b.agent.requests[0].Account != "environment" {
				t.Errorf("%+v: %+v, %v", said, b.agent.requests, err)
			}
		}
	})
	t.Run("a fallback", func(t *testing.T) {
		for used, want := range map[float64]float64{0: 2, 7: 1, 6.5: 1.5} { // a quarter of the limit, or what is left
			b := paid(used)
			if _, err := b.attempt(t); err != nil {
				t.Fatal(err)
			}
			reserved := b.store.intents[0].Reservations
			if len(reserved) != 1 || reserved[0].Plugin != "core" || reserved[0].Again || reserved[0].LimitUSD != 8 || reserved[0].AmountUSD != want {
				t.Errorf("of which $%v are used: set aside %+v", used, reserved)
			}
			if r := b.agent.requests[0]; r.Account != "spare" || r.CostCapUSD != want {
				t.Errorf("of which $%v are used: asked %+v", used, r)
			}
		}
	})
	t.Run("a fallback with nothing left", func(t *testing.T) {
		b := paid(8)
		_, err := b.attempt(t)
		parked := wantPlan(t, err, "The API key \"spare\" has reached its daily limit as a fallback: all of the $8.00 is spent, or reserved for turns that are still running. The window is used up.")
		if parked.Account != "environment" || len(b.agent.requests) != 0 {
			t.Errorf("parked %+v, asked %+v", parked, b.agent.requests)
		}
		b.plan.shut = nil // it has opened meanwhile
		if _, err := b.attempt(t); err != nil || b.agent.requests[0].Account != "environment" || len(b.store.intents[0].Reservations) != 0 {
			t.Errorf("asked %+v, %v", b.agent.requests, err)
		}
	})
	t.Run("a fallback that others have used up at this moment", func(t *testing.T) {
		b := paid(0)
		b.store.fail = map[string]error{"SaveIntent": &ledger.OverLimit{Reservation: ledger.Reservation{Plugin: "core"}}}
		_, err := b.attempt(t)
		var failure *pluginsdk.Failure
		if !errors.As(err, &failure) || failure.Kind != pluginsdk.FailurePlan || !strings.HasPrefix(failure.Message, "The API key \"spare\"") || len(b.agent.requests) != 0 {
			t.Errorf("%v, asked %+v", err, b.agent.requests)
		}
	})
	t.Run("a fallback while the hooks take until after midnight", func(t *testing.T) {
		b := paid(8) // of the day before nothing is left, but that comes later
		before, after := time.Date(2026, 11, 23, 23, 59, 0, 0, time.UTC), time.Date(2026, 11, 24, 0, 1, 0, 0, time.UTC)
		now := before
		b.plugins = newBench("p").plugins
		b.plugins[0].before = func(r *pluginsdk.OnBeforeInvokeRequest) (string, error) {
			now = after
			b.store.reserved["core/key:spare:2026-11-24"] = 7.5 // spent by others meanwhile
			return r.Prompt, nil
		}
		b.line = New(Config{Model: "m", Now: func() time.Time { return now }}, b.doors())
		if _, err := b.attempt(t); err != nil {
			t.Fatal(err)
		}
		one := b.store.intents[0].Reservations[0]
		if one.Account != "key:spare:2026-11-24" || one.AmountUSD != 0.5 || b.agent.requests[0].CostCapUSD != 0.5 || b.store.results[0].Purse != one.Account {
			t.Errorf("set aside %+v, asked %+v, spent from %q", one, b.agent.requests[0], b.store.results[0].Purse)
		}
	})
	t.Run("a fallback for a session that the agent does not know", func(t *testing.T) {
		b := paid(0)
		b.claim.Thread.SessionID, b.claim.Thread.SessionAccount = "gone", "spare"
		b.agent.answer = failsWith(&pluginsdk.Failure{Kind: pluginsdk.FailureUnknownSession, Message: "no such session"}, nil)
		if _, err := b.attempt(t); err != nil {
			t.Fatal(err)
		}
		first, again := b.store.intents[0].Reservations, b.store.intents[1].Reservations
		if len(first) != 1 || first[0].Again || len(again) != 1 || !again[0].Again || again[0].AmountUSD != first[0].AmountUSD || b.agent.requests[1].CostCapUSD != 2 {
			t.Errorf("set aside %+v, then %+v, asked %+v", first, again, b.agent.requests[1])
		}
	})
	t.Run("a fallback whose limit was taken away", func(t *testing.T) {
		b := paid(0)
		b.plan.limits = nil
		_, err := b.attempt(t)
		wantPlan(t, err, "The API key \"spare\" has no daily limit, so it cannot be used as a fallback. The window is used up.")
	})
}

// The agent is told what happened in its thread, and not that it was kept waiting.
func TestTheAgentIsNotToldOfPlans(t *testing.T) {
	b := newBench()
	for id, key := range []string{"parked:R:five_hour:1", "plan:home:five_hour:1:75", "note"} {
		b.store.rows = append(b.store.rows, pluginsdk.Message{
			ID: int64(id + 100), Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "core", Key: key, Content: "row " + key,
		})
	}
	if _, err := b.attempt(t); err != nil {
		t.Fatal(err)
	}
	if prompt := b.agent.requests[0].Prompt; strings.Contains(prompt, "row parked") || strings.Contains(prompt, "row plan") || !strings.Contains(prompt, "row note") {
		t.Errorf("prompt %q", prompt)
	}
}

// A turn that has come to what its fallback pays for has lost nothing: it goes on when the plan
// lets it.
func TestATurnThatItsFallbackPaysNoFurther(t *testing.T) {
	b := newBench()
	b.plan.shut = map[string]*pluginsdk.Parked{"environment": usedUp("environment")}
	b.plan.limits = map[string]float64{"spare": 1}
	b.claim.Run.Override = &pluginsdk.RunOverride{Account: "spare"}
	b.agent.answer = failsWith(&pluginsdk.Failure{Kind: pluginsdk.FailureBudget, Message: "it has come to its cap"}, &pluginsdk.Failure{Kind: pluginsdk.FailureBudget, Message: "it has come to its cap"})
	_, err := b.attempt(t)
	wantPlan(t, err, "The key spare pays at most $1.00 for one attempt as a fallback, and this one has cost that. The window is used up.")
	b.claim.Run.Turn = &pluginsdk.StartTurnRequest{Prompt: "x", CostCapUSD: 0.5} // a cap of its own is what it was
	if _, err := b.attempt(t); pluginsdk.CodeOf(err) != pluginsdk.CodeInternal {
		t.Errorf("its own cap: %v", err)
	}
}
