package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// submitted stores a message that a plugin has submitted.
func submitted(t *testing.T, s *store.Store, plugin, threadID, content string, edit func(*ledger.Acceptance)) string {
	t.Helper()
	a := acceptance(threadID, uuid.NewString(), content)
	a.Plugin = plugin
	if edit != nil {
		edit(&a)
	}
	return must[ledger.Accepted](t)(s.Accept(t.Context(), a)).RunID
}

// What a plugin that is turned off has put into a queue is not begun, whoever turned it off and
// whatever it says of the author, and stands in nobody's way. It is begun once the plugin is on.
// Before this each of its messages was a turn that is paid for.
func TestNothingIsBegunForAPluginThatIsOff(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		register(t, s, "flood", 1)
		check(t, s.SetPluginEnabled(ctx, "flood", true))
		thread := newThread(t, s, "general")
		byHand(t, s, "UPDATE threads SET busy_mode = 'collect'")
		const many = 20
		for n := range many {
			submitted(t, s, "flood", thread.ID, "buy", func(a *ledger.Acceptance) {
				if n%2 == 0 {
					a.Submission.Author, a.Submission.Scope = "", ""
				}
			})
		}
		alone := acceptTurn(t, s, pluginsdk.StartTurnRequest{Key: "k", Prompt: "p"})
		byHand(t, s, "UPDATE runs SET plugin = 'flood' WHERE kind = 'turn'")

		off := []string{"false", "'off'", "'FALSE'"}
		for _, value := range off {
			byHand(t, s, "UPDATE plugins SET enabled = "+value+" WHERE name = 'flood'")
			if c := must[ledger.Claim](t)(s.Claim(ctx, thread.ID, "boot")); c.Found || !c.NotBefore.IsZero() {
				t.Fatalf("enabled = %s: claimed %+v", value, c.Run)
			}
			if c := must[ledger.Claim](t)(s.ClaimBeside(ctx, ledger.Queue{TurnID: alone.RunID}, "boot")); c.Found {
				t.Fatalf("enabled = %s: its turn is begun", value)
			}
		}
		if open := must[[]ledger.Queue](t)(s.Recover(ctx, "boot")); len(open) != 0 {
			t.Errorf("there is work: %+v", open)
		}
		if first := must[pluginsdk.Run](t)(s.FirstQueued(ctx, thread.ID, pluginsdk.RunQueued)); first.ID != "" {
			t.Errorf("the head of the queue is %+v", first)
		}
		if waiting := must[map[string]int](t)(s.WaitingForPlugins(ctx)); fmt.Sprint(waiting) != fmt.Sprintf("map[flood:%d]", many+1) {
			t.Errorf("waiting: %v", waiting)
		}

		// A process that is being ended may still submit something.
		late := submitted(t, s, "flood", newThread(t, s, "late").ID, "buy", func(a *ledger.Acceptance) { a.Claimer = "boot" })
		if run := must[pluginsdk.Run](t)(s.Run(ctx, late)); run.State != pluginsdk.RunQueued {
			t.Errorf("what it submits at its end is %s", run.State)
		}

		// The owner's message behind it is taken, claimed at once, and takes none of it along.
		own := submitted(t, s, "web", thread.ID, "hello", func(a *ledger.Acceptance) { a.MaxWaiting, a.Claimer = many, "boot" })
		run := must[pluginsdk.Run](t)(s.Run(ctx, own))
		if run.State != pluginsdk.RunRunning {
			t.Fatalf("the owner's message is %s", run.State)
		}
		byHand(t, s, "UPDATE runs SET state = 'queued', owner = '' WHERE id = '"+own+"'")
		c := claim(t, s, thread.ID)
		if c.Run.ID != own || len(c.Absorbed) != 0 {
			t.Errorf("claimed %s with %d others", c.Run.ID, len(c.Absorbed))
		}
		if more := must[[]pluginsdk.Message](t)(s.Absorbable(ctx, c.Fence, own)); len(more) != 0 {
			t.Errorf("%d messages can be steered in", len(more))
		}
		finish(t, s, c, "ok")

		check(t, s.SetPluginEnabled(ctx, "flood", true))
		if open := must[[]ledger.Queue](t)(s.Recover(ctx, "boot")); len(open) != 3 {
			t.Errorf("on again: %+v", open)
		}
		if c := claim(t, s, thread.ID); len(c.Absorbed) != many-1 {
			t.Errorf("on again: %d absorbed", len(c.Absorbed))
		}
	})
}

// A person can drop what waits, in a thread, and with the plugin in all of them. Of what others
// have sent nothing goes, and what has its answer is shown.
func TestWhatAPluginThatIsOffHasAskedForIsDropped(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		register(t, s, "flood", 1)
		thread, other := newThread(t, s, "general"), newThread(t, s, "other")
		first := submitted(t, s, "flood", thread.ID, "one", nil)
		if dropped := must[[]string](t)(s.CancelAllQueued(ctx, thread.ID, "stopped by Ann")); len(dropped) != 1 || dropped[0] != first {
			t.Errorf("dropped %v", dropped)
		}
		gone, mine := submitted(t, s, "flood", other.ID, "two", nil), submitted(t, s, "web", other.ID, "three", nil)
		paid := submitted(t, s, "flood", thread.ID, "four", nil)
		byHand(t, s, "UPDATE runs SET step = 'invoked' WHERE id = '"+paid+"'")
		check(t, s.RemovePlugin(ctx, ledger.PluginRemoval{Name: "flood", Who: "Ann", Detail: func(ledger.Plugin) (string, error) { return "", nil }}))
		if run := must[pluginsdk.Run](t)(s.Run(ctx, gone)); run.State != pluginsdk.RunCancelled || !strings.Contains(run.Error, "the plugin flood was removed") {
			t.Errorf("it is %s: %s", run.State, run.Error)
		}
		for _, id := range []string{mine, paid} {
			if run := must[pluginsdk.Run](t)(s.Run(ctx, id)); run.State != pluginsdk.RunQueued {
				t.Errorf("%s is %s", id, run.State)
			}
		}
	})
}
