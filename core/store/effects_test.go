package store_test

import (
	"context"
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

// effectful are the commits of a run that hooks' effects go with.
var effectful = map[string]func(*store.Store, ledger.Claim, []ledger.Effect) error{
	"intent": func(s *store.Store, c ledger.Claim, effects []ledger.Effect) error {
		return s.SaveIntent(context.Background(), c.Fence, ledger.Intent{RunID: c.Run.ID, Effects: effects})
	},
	"result": func(s *store.Store, c ledger.Claim, effects []ledger.Effect) error {
		commit := result(c)
		commit.Rows, commit.Effects = nil, effects
		return s.SaveResult(context.Background(), c.Fence, commit)
	},
	"outcome": func(s *store.Store, c ledger.Claim, effects []ledger.Effect) error {
		return s.SaveOutcome(context.Background(), c.Fence, ledger.OutcomeCommit{RunID: c.Run.ID, Effects: effects})
	},
	"end of an attempt": func(s *store.Store, c ledger.Claim, effects []ledger.Effect) error {
		return s.EndAttempt(context.Background(), c.Fence, ledger.AttemptEnd{RunID: c.Run.ID, At: time.Now(), Effects: effects})
	},
	"finish": func(s *store.Store, c ledger.Claim, effects []ledger.Effect) error {
		return second(s.Finish(context.Background(), c.Fence, ledger.Finish{RunID: c.Run.ID, State: pluginsdk.RunSucceeded, Effects: effects}))
	},
}

func someEffects() []ledger.Effect {
	return []ledger.Effect{
		{Plugin: "activity", Key: "start", Rows: []pluginsdk.NewMessage{statusRow("one"), statusRow("two")}},
		{Plugin: "meter", Key: "start", Metrics: []pluginsdk.NewMetric{{Name: "a", Value: 1}, {Name: "b", Value: 2}, {Key: "own", Name: "c", Value: 3}}},
	}
}

// storedOf says what there is of effects: the rows of a thread but for people's, and
// all metrics.
func storedOf(t *testing.T, s *store.Store, threadID string) (all []string) {
	t.Helper()
	for _, m := range must[[]pluginsdk.Message](t)(s.Messages(t.Context(), pluginsdk.MessageQuery{ThreadID: threadID})) {
		if m.Role != pluginsdk.RoleUser {
			all = append(all, fmt.Sprintf("%s %s %s %s", m.Plugin, m.Source, m.Key, m.Content))
		}
	}
	for _, m := range must[[]pluginsdk.Metric](t)(s.QueryMetrics(t.Context(), pluginsdk.MetricQuery{})) {
		all = append(all, fmt.Sprintf("%s %s %s=%v", m.Plugin, m.Key, m.Name, m.Value))
	}
	return all
}

// What a hook did to its run is there when the commit is, whole and once, however
// often the hook is asked and the commit is made.
func TestEffectsAreStoredOnceWithTheirCommit(t *testing.T) {
	for name, commit := range effectful {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				ctx := context.Background()
				thread := newThread(t, s, "general").ID
				accept(t, s, thread, "hello")
				c := claim(t, s, thread)
				check(t, commit(s, c, someEffects()))
				run := c.Run.ID
				want := []string{
					"activity activity " + run + "/activity/start one", "activity activity " + run + "/activity#1/start two",
					"meter " + run + "/start a=1", "meter " + run + "#1/start b=2", "meter own c=3",
				}
				if got := storedOf(t, s, thread); !slices.Equal(got, want) {
					t.Fatalf("stored  %q\n   want %q", got, want)
				}
				for _, m := range must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread})) {
					if m.RunID != run {
						t.Errorf("the row %q is of run %q", m.Content, m.RunID)
					}
				}
				// Again: the commit itself, where it may be made twice, and a further attempt's.
				again := someEffects()
				again[0].Rows = append(again[0].Rows, statusRow("three"))
				again[1].Metrics[0].Value = 5
				if err := commit(s, c, again); err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
					t.Errorf("repeated: %s", err)
				}
				if name != "finish" {
					check(t, second(s.Recover(ctx, "boot 2")))
					c = claim(t, s, thread)
					check(t, commit(s, c, again))
				}
				if got := storedOf(t, s, thread); !slices.Equal(got, want) {
					t.Errorf("repeated, stored  %q\n             want %q", got, want)
				}
			})
		})
	}
}

// A commit that is refused must not leave the effects of its hooks behind: they
// would be of a run that another worker has.
func TestEffectsOfARefusedCommitAreNotStored(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		accept(t, s, thread, "hello")
		old := claim(t, s, thread)
		check(t, second(s.Recover(ctx, "boot 2")))
		claim(t, s, thread)
		for name, commit := range effectful {
			if err := commit(s, old, someEffects()); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if got := storedOf(t, s, thread); len(got) != 0 {
			t.Errorf("stored %q", got)
		}
	})
}

// What happened before the reply stands before it, and one bad row or a key that is
// used twice in a commit does not cost a person their answer.
func TestEffectsNeverStandInTheWayOfAReply(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		thread := newThread(t, s, "general").ID
		accept(t, s, thread, "hello")
		c := claim(t, s, thread)
		end := ledger.Finish{
			RunID: c.Run.ID, State: pluginsdk.RunSucceeded, Deliver: true,
			Effects: []ledger.Effect{
				{Plugin: "a", Key: "k", Rows: []pluginsdk.NewMessage{{Role: "nobody", Kind: pluginsdk.MessageStatus}, statusRow("good"), {Role: pluginsdk.RoleSystem}}},
				{Plugin: "a", Key: "k", Rows: []pluginsdk.NewMessage{statusRow("again")}},
				{Plugin: "a", Key: "m", Metrics: []pluginsdk.NewMetric{{}, {Name: "n", Value: 1}}},
				{Plugin: "a", Key: "nothing"},
				{Plugin: "b", Key: "k", Rows: []pluginsdk.NewMessage{{Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageToolResult, Source: "tool", Content: "other's"}}},
			},
			Rows: []ledger.Row{{Key: c.Run.ID + ":reply", Message: text(pluginsdk.RoleAssistant, "hi")}},
		}
		done := must[ledger.Finished](t)(s.Finish(t.Context(), c.Fence, end))
		all := must[[]pluginsdk.Message](t)(s.Messages(t.Context(), pluginsdk.MessageQuery{ThreadID: thread, After: c.Message.ID}))
		if got := contents(all); !slices.Equal(got, []string{"good", "other's", "hi"}) {
			t.Fatalf("rows %q", got)
		}
		if all[0].Key != c.Run.ID+"/a/k" || all[1].Source != "tool" || all[1].Plugin != "b" || all[2].Plugin != "" || all[2].Source != "core" {
			t.Errorf("rows %+v", all)
		}
		if len(done.MessageIDs) != 1 || done.MessageIDs[0] != all[2].ID {
			t.Errorf("done %+v, the reply is %d", done, all[2].ID)
		}
		if d := only[pluginsdk.Delivery](t)(s.Deliveries(t.Context(), pluginsdk.DeliveryQuery{})); d.MessageID != all[2].ID {
			t.Errorf("delivered: %+v", d)
		}
		if m := only[pluginsdk.Metric](t)(s.QueryMetrics(t.Context(), pluginsdk.MetricQuery{})); m.Key != c.Run.ID+"/m" {
			t.Errorf("metric %+v", m)
		}
	})
}

// More than one statement stores.
func TestManyEffects(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		thread := newThread(t, s, "general").ID
		accept(t, s, thread, "hello")
		c := claim(t, s, thread)
		var effects []ledger.Effect
		for n := range 12 {
			e := ledger.Effect{Plugin: fmt.Sprint("p", n), Key: "k"}
			for m := range 12 {
				e.Rows = append(e.Rows, statusRow(fmt.Sprintf("%02d %02d", n, m)))
				e.Metrics = append(e.Metrics, pluginsdk.NewMetric{Name: "n"})
			}
			effects = append(effects, e)
		}
		for range 2 {
			check(t, s.SaveIntent(t.Context(), c.Fence, ledger.Intent{RunID: c.Run.ID, Effects: effects}))
		}
		got := contents(must[[]pluginsdk.Message](t)(s.Messages(t.Context(), pluginsdk.MessageQuery{ThreadID: thread, After: c.Message.ID, Limit: 1000})))
		if len(got) != 144 || !slices.IsSorted(got) {
			t.Errorf("%d rows, %q", len(got), strings.Join(got, ", "))
		}
		if n := len(must[[]pluginsdk.Metric](t)(s.QueryMetrics(t.Context(), pluginsdk.MetricQuery{Limit: 1000}))); n != 144 {
			t.Errorf("%d metrics", n)
		}
	})
}

// Whatever keys a plugin gives its effects, none is taken for a further row of
// another, and none costs a person their answer.
func TestKeysOfEffectsThatLookAlike(t *testing.T) {
	rows := func(contents ...string) (rows []pluginsdk.NewMessage) {
		for _, content := range contents {
			rows = append(rows, statusRow(content))
		}
		return rows
	}
	metrics := func(names ...string) (metrics []pluginsdk.NewMetric) {
		for _, name := range names {
			metrics = append(metrics, pluginsdk.NewMetric{Name: name})
		}
		return metrics
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		thread := newThread(t, s, "general").ID
		accept(t, s, thread, "hello")
		c := claim(t, s, thread)
		check(t, s.SaveIntent(t.Context(), c.Fence, ledger.Intent{RunID: c.Run.ID, Effects: []ledger.Effect{
			{Plugin: "p", Key: "a#1", Rows: rows("1"), Metrics: metrics("1")},
			{Plugin: "p", Key: "seen", Rows: rows("2", "3"), Metrics: metrics("2", "3")},
		}}))
		check(t, second(s.Finish(t.Context(), c.Fence, ledger.Finish{RunID: c.Run.ID, State: pluginsdk.RunSucceeded, Effects: []ledger.Effect{
			{Plugin: "p", Key: "a", Rows: rows("4", "5"), Metrics: metrics("4", "5")},
			{Plugin: "p", Key: "seen#1", Rows: rows("6"), Metrics: metrics("6")},
		}})))
		got := contents(must[[]pluginsdk.Message](t)(s.Messages(t.Context(), pluginsdk.MessageQuery{ThreadID: thread, After: c.Message.ID})))
		for _, m := range must[[]pluginsdk.Metric](t)(s.QueryMetrics(t.Context(), pluginsdk.MetricQuery{})) {
			got = append(got, m.Name)
		}
		if want := []string{"1", "2", "3", "4", "5", "6", "1", "2", "3", "4", "5", "6"}; !slices.Equal(got, want) {
			t.Errorf("stored %q, want %q", got, want)
		}
	})
}

// A row that stands in the way of an effect's costs that one row and nothing else:
// an operator has deleted the first of an effect's rows, and left the second.
func TestAnEffectWhoseKeyIsHalfKnown(t *testing.T) {
	for name, commit := range effectful {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				thread := newThread(t, s, "general").ID
				accept(t, s, thread, "hello")
				c := claim(t, s, thread)
				effects := someEffects()
				check(t, s.SaveIntent(t.Context(), c.Fence, ledger.Intent{RunID: c.Run.ID, Effects: effects}))
				byHand(t, s, "DELETE FROM messages WHERE content = 'one'")
				counted, is := storedRows(t, s, "activity")
				effects[0].Rows = append(effects[0].Rows, statusRow("three"))
				check(t, commit(s, c, effects))
				got := contents(must[[]pluginsdk.Message](t)(s.Messages(t.Context(), pluginsdk.MessageQuery{ThreadID: thread, After: c.Message.ID})))
				if !slices.Equal(got, []string{"two", "one", "three"}) {
					t.Errorf("rows %q", got)
				}
				if now, are := storedRows(t, s, "activity"); now-counted != are-is {
					t.Errorf("%d bytes more are counted, %d more are there", now-counted, are-is)
				}
			})
		})
	}
}

// Which commands the agent wrote is decided when the result is stored: a plugin
// that goes away in between must not change what the rest of them are.
func TestCommandsAreKeptWithTheResult(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		accept(t, s, thread, "hello")
		c := claim(t, s, thread)
		commit := result(c)
		commit.Commands = []ledger.Command{
			{Index: 0, Name: "delegate", Body: "do \x00 it", Attributes: map[string]string{"to": "x"}, Start: 3, End: 9, Plugins: []string{"a", "b"}},
			{Index: 1, Name: "note", End: 12, Plugins: []string{}},
		}
		check(t, s.SaveResult(ctx, c.Fence, commit))
		check(t, second(s.Recover(ctx, "boot 2")))
		again := claim(t, s, thread)
		if got := again.Run.Commands; len(got) != 2 || got[0].Body != commit.Commands[0].Body || got[0].Attributes["to"] != "x" || got[1].End != 12 ||
			!slices.Equal(got[0].Plugins, commit.Commands[0].Plugins) || got[1].Plugins == nil {
			t.Errorf("commands %+v", got)
		}
		none := result(again)
		none.Commands = []ledger.Command{}
		check(t, s.SaveResult(ctx, again.Fence, none))
		check(t, second(s.Recover(ctx, "boot 3")))
		third := claim(t, s, thread)
		if got := third.Run.Commands; got == nil || len(got) != 0 {
			t.Errorf("commands of an attempt that wrote none: %+v", got)
		}
		check(t, s.SaveResult(ctx, third.Fence, result(third))) // which says nothing of commands
		check(t, second(s.Recover(ctx, "boot 4")))
		if got := claim(t, s, thread).Run.Commands; got != nil {
			t.Errorf("commands of an attempt that had no answer: %+v", got)
		}
	})
}

// "It wrote none" is kept as well: a command that is declared only after a crash
// must not be found in an answer that is there already.
func TestThatThereWereNoCommandsIsKept(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		thread := newThread(t, s, "general").ID
		accept(t, s, thread, "hello")
		for n, commands := range [][]ledger.Command{{}, nil, {{Name: "note"}}, {}} {
			c := claim(t, s, thread)
			commit := result(c)
			commit.Commands = commands
			check(t, s.SaveResult(t.Context(), c.Fence, commit))
			check(t, second(s.Recover(t.Context(), fmt.Sprint("boot ", n))))
			again := claim(t, s, thread)
			if got := again.Run.Commands; (got == nil) != (commands == nil) || len(got) != len(commands) {
				t.Errorf("%#v became %#v", commands, got)
			}
			check(t, second(s.Recover(t.Context(), fmt.Sprint("boot again ", n))))
		}
	})
}

// A value that somebody has written into a run by hand is as none. It must not keep
// all that waits behind the run from being answered, for ever.
func TestStrayCommandsHoldNothingUp(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		stray := []string{`{"a": 1}`, `"x"`, `[{"index": "one"}]`}
		if s.Dialect() == "sqlite3" { // Postgres refuses it
			stray = append(stray, `[{`, ``)
		}
		for n, value := range stray {
			thread := newThread(t, s, fmt.Sprint("thread ", n)).ID
			run := accept(t, s, thread, "hello").RunID
			check(t, s.SaveResult(t.Context(), claim(t, s, thread).Fence, ledger.ResultCommit{RunID: run, Step: pluginsdk.StepInvoked}))
			byHand(t, s, "UPDATE runs SET commands = '"+value+"' WHERE id = '"+run+"'")
			check(t, second(s.Recover(t.Context(), "boot 2")))
			c := claim(t, s, thread)
			if c.Run.Commands != nil {
				t.Errorf("%s: commands %#v", value, c.Run.Commands)
			}
			check(t, second(s.Run(t.Context(), run)))
			check(t, second(s.Runs(t.Context(), pluginsdk.RunQuery{ThreadID: thread})))
			check(t, second(s.Finish(t.Context(), c.Fence, ledger.Finish{RunID: run, State: pluginsdk.RunFailed})))
			check(t, second(s.LastUnanswered(t.Context(), thread)))
		}
	})
}
