package outbox

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A disabled plugin loses nothing: what is meant for it is kept, in its order
// and with no attempt counted, and is carried when it is back.
func TestKeptWhileThePluginIsAway(t *testing.T) {
	bubble(t, Config{MaxAttempts: 2}, func(t *testing.T, f *fixture) {
		f.people.set("chat", true)
		f.start()
		f.send(1, "chat", "room")
		f.send(2, "chat", "room")
		f.send(3, "chat", "other")
		f.send(4, "mail", "room")
		f.want("4", pluginsdk.DeliveryDelivered, 1)
		pass(24 * time.Hour)
		f.want("1", pluginsdk.DeliveryPending, 0)
		f.wantWrites("recover, begin 4, done 4") // a plugin that is off costs the disk nothing
		if f.lanes.Len() != 0 {
			t.Errorf("%d lanes wait in memory", f.lanes.Len())
		}
		f.people.set("chat", false)
		f.PluginChanged("chat")
		synctest.Wait()
		for _, id := range []string{"1", "2", "3"} {
			f.want(id, pluginsdk.DeliveryDelivered, 1)
		}
		if first, second := f.people.got[1].Delivery, f.people.got[2].Delivery; first.Place == second.Place && first.MessageID > second.MessageID {
			t.Errorf("out of order: %s", f.people.calls())
		}
	})
}

// One of another name is not the one that is waited for, and one that nobody
// waits for is nothing special.
func TestPluginChangedOfOthers(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.PluginChanged("chat") // before the start
		f.people.set("chat", true)
		f.start()
		f.send(1, "chat", "room")
		asked := f.people.asked
		f.PluginChanged("mail")
		synctest.Wait()
		if f.people.asked != asked {
			t.Error("the plugin was asked again although nothing of it changed")
		}
		f.PluginChanged("chat") // changed, and still away
		synctest.Wait()
		if f.people.asked != asked+1 {
			t.Errorf("the plugin was asked %d times after it changed, want once", f.people.asked-asked)
		}
	})
}

// A plugin that comes back in the very moment in which it was found away is
// not waited for.
func TestPluginChangesWhileItIsAsked(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.plugins = changing{f}
		f.start()
		f.people.set("chat", true)
		f.send(1, "chat", "room")
		f.want("1", pluginsdk.DeliveryDelivered, 1)
	})
}

// changing brings the plugin back between the refusal and its answer.
type changing struct{ f *fixture }

func (c changing) Plugin(name string) hooks.Plugin {
	return changingPlugin{c.f.people.Plugin(name), c.f}
}

type changingPlugin struct {
	hooks.Plugin
	f *fixture
}

func (c changingPlugin) Do(ctx context.Context, hook pluginsdk.Hook, callID string, fn func(hooks.Process) error) error {
	err := c.Plugin.Do(ctx, hook, callID, fn)
	if err != nil {
		c.f.people.set(c.Info().Name, false)
		c.f.PluginChanged(c.Info().Name)
	}
	return err
}

// When nobody says that the plugin is back, the sweep finds out.
func TestSweepFindsAPluginThatIsBack(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.people.set("chat", true)
		f.start()
		f.send(1, "chat", "room")
		f.people.set("chat", false)
		synctest.Wait()
		f.want("1", pluginsdk.DeliveryPending, 0)
		pass(15 * time.Second)
		f.want("1", pluginsdk.DeliveryDelivered, 1)
	})
}

// The database goes away between the plugin's receipt and its storing: the
// person is not told twice, and what comes next waits until it is known.
func TestDatabaseAwayAtTheAcknowledgement(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		away := true
		f.store.fail = func(operation, _ string) (bool, error) {
			if operation == "done" && away {
				return false, errAway
			}
			return false, nil
		}
		f.start()
		f.store.add(1, "chat", "room")
		f.send(2, "chat", "room")
		pass(time.Minute)
		f.wantCalls("1/1")
		f.want("1", pluginsdk.DeliverySending, 1)
		f.store.mu.Lock()
		away = false
		f.store.mu.Unlock()
		pass(time.Second)
		f.wantCalls("1/1 2/1")
		f.want("1", pluginsdk.DeliveryDelivered, 1)
		f.want("2", pluginsdk.DeliveryDelivered, 1)
	})
}

// COMMITs whose outcome nobody knows neither repeat a call nor count it twice.
func TestUnknownCommits(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		lost := make(map[string]bool)
		f.store.fail = func(operation, id string) (bool, error) {
			if id == "" || lost[operation+id] {
				return false, nil
			}
			lost[operation+id] = true
			return true, errors.New("connection lost")
		}
		f.people.deliver = failing("1", 1, errAway)
		f.start()
		f.store.add(1, "chat", "room")
		f.send(2, "chat", "room")
		pass(time.Minute)
		f.wantCalls("1/1 1/2 2/1")
		f.want("1", pluginsdk.DeliveryDelivered, 2)
		f.want("2", pluginsdk.DeliveryDelivered, 1)
	})
}

// While the right to the database is lost, another daemon may carry what waits:
// a person would read it twice. Nothing is begun then, by whatever means, and
// everything is carried once the right is back.
func TestNothingIsBegunWhileTheLockIsLost(t *testing.T) {
	bubble(t, Config{RetryBase: time.Second, Jitter: 0.001}, func(t *testing.T, f *fixture) {
		ended := make(chan error)
		f.people.deliver = func(_ context.Context, request *pluginsdk.DeliverRequest) error {
			switch {
			case request.Delivery.ID == "1":
				return <-ended
			case request.Delivery.ID == "2" && request.Delivery.Attempt == 1:
				return errAway
			}
			return nil
		}
		f.people.set("mail", true)
		f.start()
		f.send(1, "chat", "room")  // is under way
		f.send(2, "chat", "other") // waits for its next attempt
		f.send(3, "mail", "room")  // waits for its plugin
		f.Pause()
		f.send(4, "chat", "room")       // waits behind the first
		f.send(5, "chat", "third")      // is announced now
		f.store.add(6, "chat", "sixth") // is for the sweep to find
		f.people.set("mail", false)
		f.PluginChanged("mail")
		pass(time.Minute)
		ended <- nil
		pass(time.Minute)
		f.wantCalls("1/1 2/1")
		f.want("1", pluginsdk.DeliveryDelivered, 1) // what was under way is stored

		if err := f.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for id, attempts := range map[string]int{"1": 1, "2": 2, "3": 1, "4": 1, "5": 1, "6": 1} {
			f.want(id, pluginsdk.DeliveryDelivered, attempts)
		}
	})
}

// What another daemon, which had the database meanwhile, left in mid-air is
// carried again; what this one still carries is not.
func TestResumeCarriesWhatAnotherLeft(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		ended := make(chan error)
		f.people.deliver = func(_ context.Context, request *pluginsdk.DeliverRequest) error {
			if request.Delivery.ID == "1" && request.Delivery.Attempt == 1 {
				return <-ended
			}
			return nil
		}
		f.start()
		f.send(1, "chat", "room")
		f.Pause()
		f.store.add(2, "chat", "other")
		f.store.edit("2", func(d *pluginsdk.Delivery) { d.State, d.Attempt = pluginsdk.DeliverySending, 1 })
		f.store.trouble(func(string, string) (bool, error) { return false, errAway })
		if err := f.Resume(t.Context()); !errors.Is(err, errAway) {
			t.Errorf("resumed with %v", err)
		}
		f.Wake("chat", "other")
		synctest.Wait()
		f.wantCalls("1/1") // it is not back yet
		f.store.trouble(nil)
		if err := f.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		f.wantCalls("1/1 2/2")
		f.want("1", pluginsdk.DeliverySending, 1)
		ended <- errAway
		pass(time.Minute)
		f.wantCalls("1/1 2/2 1/2")
	})
}

// A stop is a stop, also of an outbox that waits for its right.
func TestStopWhilePaused(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.Pause() // before the start: nothing is begun anyway
		f.start()
		f.send(1, "chat", "room")
		f.want("1", pluginsdk.DeliveryDelivered, 1)
		f.Pause()
		f.send(2, "chat", "room")
		f.stop()
		if err := f.Resume(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		f.want("2", pluginsdk.DeliveryPending, 0)
	})
}

// A database that cannot be read is asked again until it answers.
func TestDatabaseAwayAtTheLook(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.start()
		var away error = errAway
		f.store.find = func() error { return away }
		f.send(1, "chat", "room")
		pass(time.Minute)
		f.wantCalls("")
		f.store.mu.Lock()
		away = nil
		f.store.mu.Unlock()
		pass(time.Second)
		f.want("1", pluginsdk.DeliveryDelivered, 1)
	})
}

// A start that cannot read the database says so instead of carrying nothing.
func TestStartWithoutADatabase(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.store.find = func() error { return errAway }
		if err := f.Start(t.Context()); !errors.Is(err, errAway) {
			t.Errorf("started with %v", err)
		}
		f.store.fail = func(string, string) (bool, error) { return false, errAway }
		if err := f.Start(t.Context()); !errors.Is(err, errAway) {
			t.Errorf("started with %v", err)
		}
	})
}

// A stop waits for the call that is under way, and begins no other.
func TestStopWaitsForTheCallUnderWay(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.people.deliver = func(context.Context, *pluginsdk.DeliverRequest) error {
			<-time.After(3 * time.Second)
			return nil
		}
		f.start()
		f.store.add(1, "chat", "room")
		f.send(2, "chat", "room")
		f.stop()
		f.want("1", pluginsdk.DeliveryDelivered, 1)
		f.want("2", pluginsdk.DeliveryPending, 0)
		f.send(3, "chat", "other") // the next start finds it
		f.PluginChanged("chat")
		f.wantCalls("1/1")
		f.restart()
		pass(time.Minute)
		for _, id := range []string{"1", "2", "3"} {
			f.want(id, pluginsdk.DeliveryDelivered, 1)
		}
	})
}

// A call that does not end within the grace is ended, and carried again by the
// next daemon under the same id, its attempts counted on.
func TestStopInterruptsWhatDoesNotEnd(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.people.deliver = hang
		f.start()
		f.send(1, "chat", "room")
		began := time.Now()
		f.stop()
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("stopped after %s, want the grace", took)
		}
		f.want("1", pluginsdk.DeliverySending, 1)
		f.people.deliver = nil
		f.restart()
		f.wantCalls("1/1 1/2")
		f.want("1", pluginsdk.DeliveryDelivered, 2)
		if got := f.told.String(); got != "1 delivered 2" {
			t.Errorf("told %q", got)
		}
	})
}

// A stop in a hurry has no grace.
func TestStopInAHurry(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.people.deliver = hang
		f.start()
		f.send(1, "chat", "room")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if err := f.Stop(ctx); err != nil || time.Since(began) != 0 {
			t.Errorf("stopped after %s: %v", time.Since(began), err)
		}
		f.want("1", pluginsdk.DeliverySending, 1)
	})
}

// A receipt that cannot be stored does not keep the daemon from stopping; the
// message is carried again, under its id.
func TestStopWithoutADatabase(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.store.fail = func(operation, _ string) (bool, error) {
			if operation == "done" {
				return false, errAway
			}
			return false, nil
		}
		f.start()
		f.send(1, "chat", "room")
		f.stop()
		f.want("1", pluginsdk.DeliverySending, 1)
		f.store.fail = nil
		f.restart()
		f.wantCalls("1/1 1/2")
		f.want("1", pluginsdk.DeliveryDelivered, 2)
	})
}

// A daemon that was killed while it carried a message carries it again.
func TestStartCarriesWhatWasInterrupted(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, f *fixture) {
		f.store.add(1, "chat", "room")
		f.store.add(2, "chat", "room")
		f.store.edit("1", func(d *pluginsdk.Delivery) { d.State, d.Attempt = pluginsdk.DeliverySending, 1 })
		f.start()
		f.wantCalls("1/2 2/1")
	})
}
