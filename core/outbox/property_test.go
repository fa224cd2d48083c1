package outbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// fate is what becomes of one call of a plugin.
type fate string

const (
	arrives fate = "arrives"
	fails   fate = "fails"
	hangs   fate = "hangs"
	dies    fate = "dies" // after the message has arrived
	refuses fate = "refuses"
	panics  fate = "panics"
)

// step is one thing that happens to an installation.
type step string

const (
	sends    step = "a message is sent"
	waits    step = "time goes by"
	goesAway step = "a plugin goes away"
	isBack   step = "a plugin is back, and says so"
	stops    step = "the daemon is restarted"
	hurries  step = "the daemon is restarted in a hurry"
	isKilled step = "the daemon is killed"
	losesDB  step = "the database goes away"
	confuses step = "the database loses its answers"
	hasDB    step = "the database is back"
)

// story is what happens, and how the calls of each message end; after those,
// they arrive.
type story struct {
	steps []step
	fates map[string][]fate
}

const storyAttempts = 5 // Config.MaxAttempts

// Whatever happens, in whatever order: every message ends with its person, or
// dead for a reason; nobody gets them out of order; a message that is given
// twice has the same id.
func TestDeliveriesSurviveAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.SampledFrom([]step{
			sends, sends, sends, waits, waits, goesAway, isBack, stops, hurries, isKilled, losesDB, confuses, hasDB,
		}), 1, 40).Draw(rt, "steps")
		fates := rapid.SliceOfN(rapid.SampledFrom([]fate{arrives, fails, hangs, dies, refuses, panics}), 0, 6)
		s := story{steps: steps, fates: make(map[string][]fate)}
		for n, step := range steps {
			if step == sends {
				id := strconv.Itoa(n + 1)
				s.fates[id] = fates.Draw(rt, "fates of "+id)
			}
		}
		var err error
		synctest.Test(t, func(t *testing.T) { err = s.tell(t.Context()) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// tell makes the story happen and says what is wrong with its end.
func (s story) tell(ctx context.Context) error {
	store, people, events := &memory{}, &people{}, &told{}
	people.deliver = s.deliver
	targets := []address{{"chat", "x"}, {"chat", "y"}, {"mail", "x"}}
	life := begin(ctx, store, people, events)
	for n, step := range s.steps {
		switch step {
		case sends:
			to := targets[n%len(targets)]
			store.add(int64(n+1), to.plugin, to.target)
			life.outbox.Wake(to.plugin, to.target)
		case waits:
			pass(time.Duration(n) * time.Second)
		case goesAway:
			people.set("chat", true)
		case isBack:
			people.set("chat", false)
			life.outbox.PluginChanged("chat")
		case stops, hurries, isKilled:
			store.trouble(nil)
			life.end(ctx, step)
			life = begin(ctx, store, people, events)
		case losesDB:
			store.trouble(func(string, string) (bool, error) { return false, errAway })
		case confuses:
			store.trouble(func(string, string) (bool, error) { return true, errAway })
		case hasDB:
			store.trouble(nil)
		}
		if n%2 == 0 {
			synctest.Wait()
		}
	}
	store.trouble(nil)
	people.set("chat", false)
	pass(24 * time.Hour)
	life.end(ctx, stops)
	return errors.Join(s.ended(store), s.inOrder(people))
}

// deliver ends a call as its fate says.
func (s story) deliver(ctx context.Context, request *pluginsdk.DeliverRequest) error {
	fates := s.fates[request.Delivery.ID]
	if request.Delivery.Attempt > len(fates) {
		return nil
	}
	switch fates[request.Delivery.Attempt-1] {
	case fails, dies:
		return errAway
	case hangs:
		return hang(ctx, request)
	case refuses:
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "no")
	case panics:
		panic("a bug")
	case arrives:
	}
	return nil
}

// ended checks that nothing is open, and nothing was given up lightly.
func (s story) ended(store *memory) error {
	for _, d := range store.rows {
		refused := false
		for _, fate := range s.fates[d.ID] {
			refused = refused || fate == refuses
		}
		switch {
		case d.State == pluginsdk.DeliveryDelivered && d.ExternalID != "":
		case d.State == pluginsdk.DeliveryDead && d.LastError != "" && (refused || d.Attempt >= storyAttempts):
		default:
			return fmt.Errorf("in the end: %+v", *d)
		}
	}
	return nil
}

// inOrder checks what the plugins were given.
func (s story) inOrder(people *people) error {
	newest := make(map[address]int64)
	attempts := make(map[string]int)
	for _, request := range people.got {
		d := request.Delivery
		to := address{d.Plugin, d.Place}
		if d.MessageID < newest[to] || d.MessageID != request.Message.ID {
			return fmt.Errorf("message %d after %d: %s", d.MessageID, newest[to], people.calls())
		}
		if request.Call.ID != d.ID || d.ID != strconv.FormatInt(d.MessageID, 10) {
			return fmt.Errorf("message %d under the ids %s and %s", d.MessageID, request.Call.ID, d.ID)
		}
		if d.Attempt <= attempts[d.ID] {
			return fmt.Errorf("attempt %d of %s twice: %s", d.Attempt, d.ID, people.calls())
		}
		newest[to], attempts[d.ID] = d.MessageID, d.Attempt
	}
	return nil
}

// life is one daemon's.
type life struct {
	outbox *Outbox
	dead   *atomic.Bool
}

func begin(ctx context.Context, store *memory, people *people, events *told) life {
	l := life{dead: new(atomic.Bool)}
	l.outbox = New(Config{MaxAttempts: storyAttempts, Slots: 2}, Doors{Store: mortal{store, l.dead}, Plugins: people, Hooks: asked, Events: events})
	if err := l.outbox.Start(ctx); err != nil {
		panic(err)
	}
	return l
}

// end ends a daemon. One that is killed writes nothing more.
func (l life) end(ctx context.Context, how step) {
	if how != stops {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		ctx = ended
	}
	l.dead.Store(how == isKilled)
	if err := l.outbox.Stop(ctx); err != nil {
		panic(err)
	}
}

// mortal is a store as a daemon sees it that may be killed.
type mortal struct {
	*memory
	dead *atomic.Bool
}

func (m mortal) check() error {
	if m.dead.Load() {
		return errAway
	}
	return nil
}

func (m mortal) BeginDelivery(ctx context.Context, id string) (ledger.Outgoing, error) {
	if err := m.check(); err != nil {
		return ledger.Outgoing{}, err
	}
	return m.memory.BeginDelivery(ctx, id)
}

func (m mortal) DeliveryDone(ctx context.Context, id, externalID string) error {
	if err := m.check(); err != nil {
		return err
	}
	return m.memory.DeliveryDone(ctx, id, externalID)
}

func (m mortal) DeliveryRetry(ctx context.Context, id string, at time.Time, reason string) error {
	if err := m.check(); err != nil {
		return err
	}
	return m.memory.DeliveryRetry(ctx, id, at, reason)
}

func (m mortal) DeliveryDead(ctx context.Context, id, reason string) error {
	if err := m.check(); err != nil {
		return err
	}
	return m.memory.DeliveryDead(ctx, id, reason)
}
