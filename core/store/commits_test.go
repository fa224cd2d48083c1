package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A worker that comes back late must not write into the run after its own.
func TestFenceRefusesLateWrites(t *testing.T) {
	writes := map[string]func(*store.Store, ledger.Claim) error{
		"append": func(s *store.Store, c ledger.Claim) error {
			return second(s.Append(context.Background(), ledger.Append{
				Fence: &c.Fence, ThreadID: c.Thread.ID, Rows: []pluginsdk.NewMessage{text(pluginsdk.RoleSystem, "late")},
			}))
		},
		"intent": func(s *store.Store, c ledger.Claim) error {
			return s.SaveIntent(context.Background(), c.Fence, ledger.Intent{RunID: c.Run.ID})
		},
		"result": func(s *store.Store, c ledger.Claim) error {
			return s.SaveResult(context.Background(), c.Fence, result(c))
		},
		"drop": func(s *store.Store, c ledger.Claim) error {
			return s.DropSession(context.Background(), c.Fence, c.Run.ID)
		},
		"outcome": func(s *store.Store, c ledger.Claim) error {
			return s.SaveOutcome(context.Background(), c.Fence, ledger.OutcomeCommit{RunID: c.Run.ID, Outcome: pluginsdk.Outcome{Name: "late"}})
		},
		"finish": func(s *store.Store, c ledger.Claim) error {
			return second(s.Finish(context.Background(), c.Fence, ledger.Finish{RunID: c.Run.ID, State: pluginsdk.RunFailed}))
		},
		"retry": func(s *store.Store, c ledger.Claim) error {
			return s.EndAttempt(context.Background(), c.Fence, ledger.AttemptEnd{RunID: c.Run.ID, At: time.Now(), Reason: "late"})
		},
		"release": func(s *store.Store, c ledger.Claim) error { return s.Release(context.Background(), c.Fence, c.Run.ID) },
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		accept(t, s, thread.ID, "hello")
		old := claim(t, s, thread.ID)
		check(t, second(s.Recover(ctx, "boot 2")))
		current := claim(t, s, thread.ID)
		for name, write := range writes {
			if err := write(s, old); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
				t.Errorf("%s: got %v, want it refused as stale", name, err)
			}
		}
		same(t, current.Run, must[ledger.Run](t)(s.KeptRun(ctx, current.Run.ID)))
		same(t, current.Thread, must[ledger.Thread](t)(s.KeptThread(ctx, thread.ID)))

		finish(t, s, current, "done")
		for name, write := range writes {
			if name == "append" {
				continue // a hook may still be telling what happened
			}
			if err := write(s, current); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
				t.Errorf("%s after the end: got %v, want it refused as stale", name, err)
			}
		}
	})
}

// A run that begins on a plan and goes on with a key is billed in part. Its list says so too,
// and a database from before that was told does.
func TestWhatIsBilledOfARun(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		thread := newThread(t, s, "general")
		accept(t, s, thread.ID, "hello")
		c := claim(t, s, thread.ID)
		saveIntent(t, s, c)
		saveResult(t, s, c)
		onPlan := result(c)
		onPlan.Result.Notional, onPlan.Result.CostUnsure, onPlan.Result.CostUSD = true, true, 0.25
		check(t, s.SaveResult(t.Context(), c.Fence, onPlan))
		saveResult(t, s, c) // neither stays as the last turn had it
		one := must[pluginsdk.Run](t)(s.Run(t.Context(), c.Run.ID))
		listed := must[[]pluginsdk.Run](t)(s.Runs(t.Context(), pluginsdk.RunQuery{IDs: []string{c.Run.ID}}))
		for _, run := range append(listed, one) {
			if run.CostUSD != 1.25 || run.NotionalUSD != 0.25 || !run.CostUnsure {
				t.Errorf("cost %v, of it notional %v, unsure: %t", run.CostUSD, run.NotionalUSD, run.CostUnsure)
			}
		}
	})
}

// What the agent did and cost must be known after a crash, and the session it
// did it in found again.
func TestResultIsOneCommit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		accept(t, s, thread.ID, "hello")
		c := claim(t, s, thread.ID)
		saveIntent(t, s, c)
		saveResult(t, s, c)
		saveResult(t, s, c) // as another attempt would

		run := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID))
		if run.CostUSD != 1 || run.Usage != (pluginsdk.Usage{InputTokens: 2, OutputTokens: 4, CacheReadTokens: 6, CacheWriteTokens: 8}) {
			t.Errorf("cost %v, usage %+v do not add up", run.CostUSD, run.Usage)
		}
		if run.NotionalUSD != 0 || run.CostUnsure {
			t.Errorf("%v of it are notional, unsure: %t", run.NotionalUSD, run.CostUnsure)
		}
		if len(run.Events) != 1 || run.Events[0].Delta() {
			t.Errorf("events %+v", run.Events)
		}
		after := must[ledger.Thread](t)(s.KeptThread(ctx, thread.ID))
		if after.SessionID != "session" || !after.SessionOpen || after.SeenMessageID != c.Message.ID {
			t.Errorf("thread %+v", after)
		}
		agentRuns := must[[]ledger.AgentRun](t)(s.AgentRuns(ctx, thread.ID))
		if len(agentRuns) != 2 || agentRuns[0].RunID != run.ID || agentRuns[0].StartedAt.IsZero() {
			t.Errorf("agent runs %+v", agentRuns)
		}
		messages := must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread.ID}))
		if len(messages) != 2 || messages[1].Source != "core" {
			t.Errorf("the rows of the result: %+v", messages)
		}

		check(t, s.SessionClosed(ctx, thread.ID, "another"))
		if !must[ledger.Thread](t)(s.KeptThread(ctx, thread.ID)).SessionOpen {
			t.Error("the end of another session closed this one")
		}
		check(t, s.SaveIntent(ctx, c.Fence, ledger.Intent{RunID: run.ID, SessionID: "session"}))
		check(t, s.SessionClosed(ctx, thread.ID, "session"))
		if !must[ledger.Thread](t)(s.KeptThread(ctx, thread.ID)).SessionOpen {
			t.Error("a session that is about to be used again was closed")
		}
		session, other := "session", "another"
		end := func(id *string) error {
			return second(s.PermitThread(ctx, thread.ID, pluginsdk.ThreadPatch{EndSession: id}, "plugin:p", ""))
		}
		wantCode(t, end(&session), pluginsdk.CodeStale) // a run is at work in it
		check(t, s.Release(ctx, c.Fence, run.ID))
		wantCode(t, end(&session), pluginsdk.CodeStale) // it is to go on
		check(t, s.SessionClosed(ctx, thread.ID, "session"))
		if must[ledger.Thread](t)(s.KeptThread(ctx, thread.ID)).SessionOpen {
			t.Error("the session is still open")
		}
		check(t, s.ResetSession(ctx, thread.ID))
		if after := must[ledger.Thread](t)(s.KeptThread(ctx, thread.ID)); after.SessionID != "" || after.SeenMessageID != 0 {
			t.Errorf("thread %+v", after)
		}

		// Once no run is left, the session that is named ends, and no other.
		byHand(t, s, fmt.Sprintf("UPDATE runs SET state = 'succeeded' WHERE thread_id = '%s'", thread.ID))
		byHand(t, s, fmt.Sprintf("UPDATE threads SET session_id = 'session', session_open = true, seen_message_id = 7 WHERE id = '%s'", thread.ID))
		wantCode(t, end(&other), pluginsdk.CodeStale)
		none := ""
		wantCode(t, end(&none), pluginsdk.CodeStale)
		if noted := must[[]pluginsdk.AuditEntry](t)(s.AuditPage(ctx, pluginsdk.AuditQuery{})); len(noted) != 0 {
			t.Errorf("refused it is noted as %+v", noted)
		}
		check(t, end(&session))
		if noted := must[[]pluginsdk.AuditEntry](t)(s.AuditPage(ctx, pluginsdk.AuditQuery{})); len(noted) != 1 || noted[0].Who != "plugin:p" ||
			noted[0].Action != "thread.endsession" || noted[0].Target != thread.ID || noted[0].Detail != session {
			t.Errorf("the end of the session is noted as %+v", noted)
		}
		if after := must[ledger.Thread](t)(s.KeptThread(ctx, thread.ID)); after.SessionID != "" || after.SeenMessageID != 0 || after.SessionOpen {
			t.Errorf("thread %+v", after)
		}
		wantCode(t, end(&session), pluginsdk.CodeStale)
	})
}

// What a schedule has cost is known by its name, also when nobody has written yet which run its fire
// became, and when the schedule is gone.
func TestATurnKnowsTheScheduledJob(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		thread := newThread(t, s, "general")
		job, _, err := s.SaveCron(ctx, pluginsdk.CronSpec{Name: "digest", Schedule: "0 7 * * *", Timezone: "UTC"}, true)
		check(t, err)
		due := time.Date(2026, 3, 1, 7, 0, 0, 0, time.UTC)
		check(t, second(s.ReportCron(ctx, "digest", pluginsdk.CronStatus{}, pluginsdk.CronFire{Due: due, Cause: pluginsdk.FireScheduled, State: pluginsdk.FirePending})))
		check(t, s.DeleteCron(ctx, "digest"))
		for _, c := range []struct{ key, plugin, want string }{
			{job.ID + "@" + due.Format(time.RFC3339Nano), "cron", "digest"},
			{job.ID + "@people's", "", ""}, // no plugin caused it
			{job.ID, "cron", ""},
			{strings.Repeat("x", 36) + "@1", "cron", ""},
		} {
			check(t, second(s.Accept(ctx, acceptance(thread.ID, c.key, "hello"))))
			claimed := claim(t, s, thread.ID)
			commit := result(claimed)
			commit.Key, commit.AgentRun.Plugin = c.key, c.plugin
			check(t, s.SaveResult(ctx, claimed.Fence, commit))
			finish(t, s, claimed, "done")
			turns := must[[]ledger.AgentRun](t)(s.AgentRuns(ctx, thread.ID))
			if last := turns[len(turns)-1]; last.Cron != c.want || last.Plugin != c.plugin {
				t.Errorf("%s of %q: a turn of the job %q", c.key, c.plugin, last.Cron)
			}
		}
	})
}

// A turn whose run was taken over meanwhile has been paid for all the same: its
// result is refused, what it cost is not forgotten, and is counted once, however
// often the commit is repeated.
func TestStaleResultKeepsItsCost(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		s := storetest.OpenConfig(t, config)
		ctx := context.Background()
		thread := newThread(t, s, "general")
		accept(t, s, thread.ID, "hello")
		old := claim(t, s, thread.ID)
		check(t, second(s.Recover(ctx, "boot 2")))
		current := claim(t, s, thread.ID)
		late := result(old)
		late.Key, late.AgentRun.CostUSD, late.Effects = "late", 0.75, someEffects()
		last := result(current)
		last.Key, last.AgentRun.CostUSD = "last", 0.25

		for range 2 {
			wantCode(t, s.SaveResult(ctx, old.Fence, late), pluginsdk.CodeStale)
		}
		finish(t, s, current, "done")
		lost := storetest.OpenConfig(t, store.Config{URL: config.URL, Dir: config.Dir})
		lost.LoseCommits(true)
		wantCode(t, lost.SaveResult(ctx, current.Fence, last), pluginsdk.CodeUnavailable)
		wantCode(t, s.SaveResult(ctx, current.Fence, last), pluginsdk.CodeStale)

		var cost float64
		paid := must[[]ledger.AgentRun](t)(s.AgentRuns(ctx, thread.ID))
		for _, one := range paid {
			cost += one.CostUSD
		}
		if len(paid) != 2 || cost != 1 || paid[0].RunID != old.Run.ID || paid[0].StartedAt.IsZero() {
			t.Errorf("agent runs %+v", paid)
		}
		if run := must[pluginsdk.Run](t)(s.Run(ctx, current.Run.ID)); run.CostUSD != 0 || run.Result != nil {
			t.Errorf("a refused result is in the run: %+v", run)
		}
		if n := len(must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread.ID}))); n != 2 {
			t.Errorf("%d messages, want the question and its answer", n)
		}
		if counted, is := storedRows(t, s, "activity"); counted != is || is != 0 {
			t.Errorf("effects of a refused result: %d bytes, counted %d", is, counted)
		}
	})
}

// Whatever an agent hands to a tool can be stored.
func TestResultWithWildInput(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		thread := newThread(t, s, "general")
		accept(t, s, thread.ID, "hello")
		c := claim(t, s, thread.ID)
		commit := result(c)
		commit.Result.Text = "nul \x00 and \xff"
		commit.Events = []pluginsdk.StreamEvent{
			{Type: pluginsdk.StreamToolCall, Input: json.RawMessage(`{"cut of`)},
			{Type: pluginsdk.StreamToolCall, Input: json.RawMessage("{\"a\":\"\xff\"}")},
			{Type: pluginsdk.StreamToolResult, Text: "nul \x00"},
		}
		check(t, s.SaveResult(context.Background(), c.Fence, commit))
		run := must[pluginsdk.Run](t)(s.Run(context.Background(), c.Run.ID))
		if len(run.Events) != 3 || string(run.Events[0].Input) != `"{\"cut of"` {
			t.Errorf("events %+v", run.Events)
		}
	})
}

// A session that does not exist any more is forgotten by thread and run.
func TestDropSession(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		accept(t, s, thread.ID, "hello")
		c := claim(t, s, thread.ID)
		saveIntent(t, s, c)
		check(t, s.DropSession(ctx, c.Fence, c.Run.ID))
		run, after := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID)), must[ledger.Thread](t)(s.KeptThread(ctx, thread.ID))
		if run.SessionID != "" || run.Step != pluginsdk.StepInvoking || after.SessionID != "" || after.SessionOpen {
			t.Errorf("run %+v, thread %+v", run, after)
		}
	})
}

// A command that was carried out is not carried out again after a crash.
func TestOutcomesAreKeptByIndex(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		accept(t, s, thread.ID, "hello")
		c := claim(t, s, thread.ID)
		for _, o := range []pluginsdk.Outcome{{Index: 1, Name: "b"}, {Index: 0, Name: "a"}, {Index: 1, Name: "b", Handled: true, Reply: "done"}} {
			check(t, s.SaveOutcome(ctx, c.Fence, ledger.OutcomeCommit{RunID: c.Run.ID, Outcome: o}))
		}
		got := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID)).Outcomes
		if len(got) != 2 || got[0] != (pluginsdk.Outcome{Name: "a"}) || got[1].Reply != "done" {
			t.Errorf("outcomes %+v", got)
		}
	})
}

// What a person has decided by a command is in the audit log once, also when its outcome is stored again: the answer of the
// first commit may have been lost.
func TestWhatACommandHasDecidedIsAuditedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		thread := newThread(t, s, "general")
		accept(t, s, thread.ID, "/budget set daily 40")
		c := claim(t, s, thread.ID)
		commit := ledger.OutcomeCommit{
			RunID: c.Run.ID, Outcome: pluginsdk.Outcome{Name: "budget", Plugin: "metrics", Handled: true},
			Decided: []string{"set daily", "removed weekly"}, Who: "plugin:web (Ann)",
		}
		late := c.Fence
		late.Epoch--
		if err := s.SaveOutcome(ctx, late, commit); err == nil {
			t.Error("an attempt that is over has stored an outcome")
		}
		for range 2 {
			check(t, s.SaveOutcome(ctx, c.Fence, commit))
		}
		noted := must[[]pluginsdk.AuditEntry](t)(s.AuditPage(ctx, pluginsdk.AuditQuery{Action: "command"}))
		if len(noted) != 2 || noted[1].Who != "plugin:web (Ann)" || noted[1].Action != "command.budget" || noted[1].Target != "metrics" || noted[1].Detail != "set daily" || noted[0].Detail != "removed weekly" {
			t.Errorf("noted %+v", noted)
		}
	})
}

// Which plugins a run has asked is stored with whatever it stores next, is there for its
// next attempt, and is no load for a list.
func TestHookCallsGoWithEachCommit(t *testing.T) {
	calls := filled[[]pluginsdk.HookCall](t)
	for name, write := range map[string]func(*store.Store, ledger.Claim, []pluginsdk.HookCall) error{
		"intent": func(s *store.Store, c ledger.Claim, calls []pluginsdk.HookCall) error {
			return s.SaveIntent(context.Background(), c.Fence, ledger.Intent{RunID: c.Run.ID, Hooks: calls})
		},
		"result": func(s *store.Store, c ledger.Claim, calls []pluginsdk.HookCall) error {
			commit := result(c)
			commit.Hooks = calls
			return s.SaveResult(context.Background(), c.Fence, commit)
		},
		"outcome": func(s *store.Store, c ledger.Claim, calls []pluginsdk.HookCall) error {
			return s.SaveOutcome(context.Background(), c.Fence, ledger.OutcomeCommit{RunID: c.Run.ID, Hooks: calls})
		},
		"end of an attempt": func(s *store.Store, c ledger.Claim, calls []pluginsdk.HookCall) error {
			return s.EndAttempt(context.Background(), c.Fence, ledger.AttemptEnd{RunID: c.Run.ID, At: c.Run.QueuedAt, Hooks: calls})
		},
		"finish": func(s *store.Store, c ledger.Claim, calls []pluginsdk.HookCall) error {
			return second(s.Finish(context.Background(), c.Fence, ledger.Finish{RunID: c.Run.ID, State: pluginsdk.RunFailed, Hooks: calls}))
		},
	} {
		storetest.Each(t, func(t *testing.T, s *store.Store) {
			ctx := context.Background()
			thread := newThread(t, s, "general")
			accept(t, s, thread.ID, "hello")
			c := claim(t, s, thread.ID)
			stored := func() []pluginsdk.HookCall { return must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID)).Hooks }
			check(t, write(s, c, calls))
			if got := stored(); !slices.Equal(got, calls) {
				t.Errorf("%s stores %+v, want %+v", name, got, calls)
			}
			if listed := only[pluginsdk.Run](t)(s.Runs(ctx, pluginsdk.RunQuery{})); listed.Hooks != nil {
				t.Errorf("%s: a list has %+v", name, listed.Hooks)
			}
			if name == "finish" {
				return
			}
			if name != "end of an attempt" {
				check(t, second(s.Recover(ctx, "the next daemon")))
			}
			c = claim(t, s, thread.ID)
			if !slices.Equal(c.Run.Hooks, calls) {
				t.Errorf("%s: the next attempt gets %+v", name, c.Run.Hooks)
			}
			check(t, write(s, c, nil))
			if got := stored(); !slices.Equal(got, calls) {
				t.Errorf("%s without calls leaves %+v", name, got)
			}
			finish(t, s, c, "done")
			if got := stored(); !slices.Equal(got, calls) {
				t.Errorf("%s, and the end without calls, leave %+v", name, got)
			}
		})
	}
}

// The reply, its delivery and the run's end are all there, once, however often
// the end is written.
func TestFinish(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		accept(t, s, thread.ID, "hello")
		c := claim(t, s, thread.ID)
		end := ledger.Finish{
			RunID: c.Run.ID, State: pluginsdk.RunSucceeded, Deliver: true,
			Steps: []pluginsdk.PipelineStep{{Step: "onAfterInvoke", Timestamp: time.Now()}},
			Rows: []ledger.Row{
				{Key: c.Run.ID + ":note", Message: pluginsdk.NewMessage{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: "note"}},
				{Key: c.Run.ID + ":reply", Message: text(pluginsdk.RoleAssistant, "hi")},
			},
		}
		first := must[ledger.Finished](t)(s.Finish(ctx, c.Fence, end))
		second := must[ledger.Finished](t)(s.Finish(ctx, c.Fence, end))
		if want := []ledger.Lane{{Plugin: "discord", Target: "general"}}; !slices.Equal(first.Lanes, want) || !slices.Equal(second.Lanes, want) {
			t.Errorf("lanes %+v, then %+v: nobody is told to carry the reply", first.Lanes, second.Lanes)
		}
		ids, again := first.MessageIDs, second.MessageIDs
		if len(ids) != 2 || len(again) != 2 || ids[0] != again[0] || ids[1] != again[1] || ids[0] >= ids[1] {
			t.Errorf("ids %v, then %v", ids, again)
		}
		run := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID))
		if run.State != pluginsdk.RunSucceeded || run.FinishedAt.IsZero() || len(run.Steps) != 1 {
			t.Errorf("run %+v", run)
		}
		deliveries := must[[]pluginsdk.Delivery](t)(s.Deliveries(ctx, pluginsdk.DeliveryQuery{State: pluginsdk.DeliveryPending}))
		if len(deliveries) != 2 || deliveries[0].MessageID != ids[0] || deliveries[1].MessageID != ids[1] {
			t.Errorf("deliveries %+v", deliveries)
		}
		if n := len(must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread.ID}))); n != 3 {
			t.Errorf("%d messages, want 3", n)
		}
		_, err := s.Finish(ctx, c.Fence, ledger.Finish{RunID: c.Run.ID, State: pluginsdk.RunRunning})
		wantCode(t, err, pluginsdk.CodeInvalid)
	})
}
