package outbox

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A reply reaches its person: once, with all that the plugin needs, counted
// before and acknowledged after.
func TestDeliveryReachesThePerson(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.start()
		f.send(1, "chat", "room")
		f.want("1", pluginsdk.DeliveryDelivered, 1)
		f.wantWrites("recover, begin 1, done 1")
		request := f.people.got[0]
		if request.Call.ID != "1" || request.Call.Attempt != 1 || request.Call.RunID != "" || request.Call.Deadline.IsZero() ||
			request.Message.Content != "content of 1" || request.Thread.ID != "thread room" || request.Delivery.State != pluginsdk.DeliverySending {
			t.Errorf("the plugin was given %+v", request)
		}
		if d := f.store.row("1"); d.ExternalID != "external 1" {
			t.Errorf("stored %+v", d)
		}
		if got := f.told.String(); got != "1 delivered 1" {
			t.Errorf("told %q", got)
		}
		if f.lanes.Len() != 0 {
			t.Error("a lane lives on with nothing to do")
		}
	})
}

// Work that was there before the start, and work that is announced before it,
// is not forgotten.
func TestWakeBeforeStart(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.store.add(1, "chat", "old")
		f.send(2, "chat", "new")
		f.wantCalls("")
		f.start()
		f.want("1", pluginsdk.DeliveryDelivered, 1)
		f.want("2", pluginsdk.DeliveryDelivered, 1)
	})
}

// late is a store in which something is committed just after it was read.
type late struct {
	*memory
	commit func()
}

func (l *late) committed() {
	if commit := l.commit; commit != nil {
		l.commit = nil
		commit()
	}
}

func (l *late) Lanes(ctx context.Context) ([]ledger.Lane, error) {
	defer l.committed()
	return l.memory.Lanes(ctx)
}

func (l *late) NextDelivery(ctx context.Context, plugin, target string) (ledger.Due, error) {
	defer l.committed()
	return l.memory.NextDelivery(ctx, plugin, target)
}

// What is committed in the moment in which the start, or a lane, has just
// looked is carried at once: it does not wait for the sweep.
func TestWakeWhileSomebodyLooks(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		commit := func(message int64) func() {
			return func() {
				f.store.add(message, "chat", "room")
				f.Wake("chat", "room")
			}
		}
		l := &late{f.store, commit(1)}
		f.Outbox.store = l
		f.start()
		f.want("1", pluginsdk.DeliveryDelivered, 1)
		l.commit = commit(2)
		f.Wake("chat", "room") // and finds nothing
		synctest.Wait()
		f.want("2", pluginsdk.DeliveryDelivered, 1)
	})
}

// A person reads the answers in the order in which they were given, however
// often the first of them fails on its way; and nobody else waits for that.
func TestOrderForATargetUnderFailures(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.people.deliver = failing("1", 3, errAway)
		f.start()
		f.send(1, "chat", "room")
		f.send(2, "chat", "room")
		f.send(3, "chat", "other")
		f.wantCalls("1/1 3/1")
		if d := f.store.row("1"); d.State != pluginsdk.DeliveryPending || d.LastError != errAway.Error() || d.NextAttemptAt.IsZero() {
			t.Errorf("after a failure %+v", d)
		}
		pass(time.Minute)
		f.wantCalls("1/1 3/1 1/2 1/3 1/4 2/1")
		f.want("1", pluginsdk.DeliveryDelivered, 4)
		f.want("2", pluginsdk.DeliveryDelivered, 1)
		if got := f.told.String(); got != "1 pending 1, 3 delivered 1, 1 pending 2, 1 pending 3, 1 delivered 4, 2 delivered 1" {
			t.Errorf("told %q", got)
		}
		if d := f.store.row("1"); d.LastError != "" {
			t.Errorf("a delivered message shows the error %q", d.LastError)
		}
	})
}

// The waits grow and have a limit: a service that is down is not hammered.
func TestBackoff(t *testing.T) {
	o := New(Config{}, Doors{Store: nil, Plugins: nil, Hooks: asked, Events: nil})
	for attempt, want := range map[int]time.Duration{
		1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 9: 256 * time.Second, 10: 5 * time.Minute, 1000: 5 * time.Minute,
	} {
		for range 100 {
			if got := o.backoff(attempt); got < want*3/4 || got > want*5/4 {
				t.Errorf("attempt %d: %s, want %s and a quarter either way", attempt, got, want)
			}
		}
	}
}

// A target that hangs is waited for up to the deadline, tried again under the
// same id, and holds up neither other targets nor, whatever their number,
// other plugins.
func TestSlowTargetHoldsUpNoOther(t *testing.T) {
	bubble(t, Config{Slots: 2, MaxAttempts: 2}, func(t *testing.T, f *fixture) {
		f.people.deliver = func(ctx context.Context, request *pluginsdk.DeliverRequest) error {
			if strings.HasPrefix(request.Delivery.Place, "slow") {
				return hang(ctx, request)
			}
			return nil
		}
		f.start()
		f.send(1, "chat", "slow")
		f.send(2, "chat", "quick")
		f.want("2", pluginsdk.DeliveryDelivered, 1)
		f.send(3, "chat", "slow too")
		f.send(4, "chat", "quick")
		f.send(5, "mail", "quick")
		f.want("4", pluginsdk.DeliveryPending, 0) // the plugin has no call to spare
		f.want("5", pluginsdk.DeliveryDelivered, 1)
		pass(30 * time.Second)
		f.want("1", pluginsdk.DeliveryPending, 1)
		f.want("4", pluginsdk.DeliveryDelivered, 1)
		pass(time.Minute)
		f.want("1", pluginsdk.DeliveryDead, 2)
		f.want("3", pluginsdk.DeliveryDead, 2)
	})
}

// The worst moment: the plugin has carried the message and dies before it can
// say so. It is given the message again under the same id, so that it can tell.
func TestDeliveredButNotAcknowledged(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.people.deliver = failing("1", 1, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the process ended"))
		f.start()
		f.send(1, "chat", "room")
		pass(time.Minute)
		f.wantCalls("1/1 1/2")
		if a, b := f.people.got[0].Call.ID, f.people.got[1].Call.ID; a != b {
			t.Errorf("call %s, then %s", a, b)
		}
		f.want("1", pluginsdk.DeliveryDelivered, 2)
	})
}

// What can never arrive is shown to the operator with its reason, at once, and
// what comes after it goes on.
func TestPermanentErrorIsDead(t *testing.T) {
	for code, words := range map[pluginsdk.Code]string{
		pluginsdk.CodeInvalid: "too long", pluginsdk.CodeNotFound: "too long", pluginsdk.CodeDenied: "too long",
		pluginsdk.CodeUnimplemented: "does not carry messages",
	} {
		t.Run(string(code), func(t *testing.T) {
			bubble(t, Config{}, func(t *testing.T, f *fixture) {
				f.people.deliver = failing("1", 99, pluginsdk.Errorf(code, "too long"))
				f.start()
				f.store.add(1, "chat", "room")
				f.send(2, "chat", "room")
				f.wantCalls("1/1 2/1")
				f.want("1", pluginsdk.DeliveryDead, 1)
				if d := f.store.row("1"); !strings.Contains(d.LastError, words) {
					t.Errorf("dead because %q, which does not say %q", d.LastError, words)
				}
				if got := f.told.String(); got != "1 dead 1, 2 delivered 1" {
					t.Errorf("told %q", got)
				}
			})
		})
	}
}

// A plugin that fails for ever does not keep its other messages for ever.
func TestLimitOfAttempts(t *testing.T) {
	bubble(t, Config{MaxAttempts: 3}, func(t *testing.T, f *fixture) {
		f.people.deliver = failing("1", 99, errors.New("no reason"))
		f.start()
		f.store.add(1, "chat", "room")
		f.send(2, "chat", "room")
		pass(time.Minute)
		f.wantCalls("1/1 1/2 1/3 2/1")
		f.want("1", pluginsdk.DeliveryDead, 3)
	})
}

// Errors are kept for the operator, but not megabytes of them.
func TestReasonIsBounded(t *testing.T) {
	if got := reason(errors.New(strings.Repeat("ä", reasonMax))); len(got) > reasonMax || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%d bytes: ...%q", len(got), got[len(got)-5:])
	}
}

// A message that is not stored any more, and one that ends the daemon each
// time, stand in nobody's way.
func TestHopelessIsDead(t *testing.T) {
	bubble(t, Config{MaxAttempts: 3}, func(t *testing.T, f *fixture) {
		f.store.add(1, "chat", "room")
		f.store.add(2, "chat", "room")
		f.store.add(3, "chat", "room")
		f.store.gone = map[int64]bool{1: true}
		f.store.edit("2", func(d *pluginsdk.Delivery) { d.Attempt = 6 })
		f.start()
		f.wantCalls("3/1")
		f.want("1", pluginsdk.DeliveryDead, 1)
		f.want("2", pluginsdk.DeliveryDead, 7)
	})
}

// A bug on the way is a failed attempt, not the end of the daemon, nor of the
// other messages.
func TestPanicIsAFailedAttempt(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.people.deliver = func(_ context.Context, request *pluginsdk.DeliverRequest) error {
			if request.Delivery.Attempt == 1 {
				panic("a bug")
			}
			return nil
		}
		f.start()
		f.send(1, "chat", "room")
		f.want("1", pluginsdk.DeliveryPending, 1)
		pass(time.Minute)
		f.want("1", pluginsdk.DeliveryDelivered, 2)
		f.people.panics = 1
		f.send(2, "chat", "elsewhere")
		f.want("2", pluginsdk.DeliveryPending, 0)
		pass(time.Minute)
		f.want("2", pluginsdk.DeliveryDelivered, 2)
	})
}

// A lane that panics outside of an attempt goes on a moment later.
func TestPanicOfALane(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		var panicked bool
		f.store.find = func() error {
			if !panicked && len(f.store.rows) > 0 {
				panicked = true
				panic("a bug")
			}
			return nil
		}
		f.start()
		f.send(1, "chat", "room")
		f.want("1", pluginsdk.DeliveryPending, 0)
		pass(time.Minute)
		f.want("1", pluginsdk.DeliveryDelivered, 1)
	})
}

// What reached its person is not carried once more because the note of it failed
// in whatever way.
func TestPanicWhileAnOutcomeIsStored(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		panics := 3
		f.store.trouble(func(operation, _ string) (bool, error) {
			if operation == "done" && panics > 0 {
				panics--
				panic("a bug")
			}
			return false, nil
		})
		f.start()
		f.send(1, "chat", "room")
		pass(time.Minute)
		f.want("1", pluginsdk.DeliveryDelivered, 1)
		f.wantCalls("1/1")
	})
}

// What nobody announces is found also after the search for it has panicked.
func TestPanicOfTheSweep(t *testing.T) {
	bubble(t, Config{Sweep: time.Minute}, func(t *testing.T, f *fixture) {
		looks := 0
		f.store.find = func() error {
			if looks++; looks == 2 { // the first is of the start
				panic("a bug")
			}
			return nil
		}
		f.start()
		f.store.add(1, "chat", "room")
		pass(time.Minute)
		f.want("1", pluginsdk.DeliveryPending, 0)
		pass(time.Minute)
		f.want("1", pluginsdk.DeliveryDelivered, 1)
	})
}

// An operator's second thoughts: a dead delivery is tried again with all its
// attempts, one that waits is tried at once, one that arrived is left alone.
func TestRetry(t *testing.T) {
	bubble(t, Config{MaxAttempts: 2}, func(t *testing.T, f *fixture) {
		f.people.deliver = failing("1", 2, errAway)
		f.start()
		f.send(1, "chat", "room")
		pass(time.Minute)
		f.want("1", pluginsdk.DeliveryDead, 2)
		d, err := f.Retry(t.Context(), "1")
		if err != nil || d.State != pluginsdk.DeliveryPending || d.Attempt != 0 {
			t.Errorf("retried: %+v, %v", d, err)
		}
		synctest.Wait()
		f.want("1", pluginsdk.DeliveryPending, 1) // and waits for its next attempt
		f.people.deliver = nil
		if _, err := f.Retry(t.Context(), "1"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		f.want("1", pluginsdk.DeliveryDelivered, 2)
		if _, err := f.Retry(t.Context(), "1"); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
			t.Errorf("a delivered one was retried: %v", err)
		}
	})
}

// What an operator changes by SQL is found although nobody announces it.
func TestSweepFindsSQLEdits(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.people.deliver = failing("1", 1, pluginsdk.Errorf(pluginsdk.CodeInvalid, "no such room"))
		f.start()
		f.send(1, "chat", "room")
		f.want("1", pluginsdk.DeliveryDead, 1)
		f.store.edit("1", func(d *pluginsdk.Delivery) { d.State = pluginsdk.DeliveryPending })
		f.store.add(2, "chat", "later")
		f.store.edit("2", func(d *pluginsdk.Delivery) { d.NextAttemptAt = time.Now().Add(time.Hour) })
		synctest.Wait()
		f.want("1", pluginsdk.DeliveryPending, 1)
		pass(16 * time.Second)
		f.want("1", pluginsdk.DeliveryDelivered, 2)
		f.want("2", pluginsdk.DeliveryPending, 0)
		pass(time.Hour)
		f.want("2", pluginsdk.DeliveryDelivered, 1)
	})
}
