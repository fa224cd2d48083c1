package pluginhost

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// begun are the processes of an instance that were begun and not ended.
func begun(i *Instance) int {
	n := 0
	i.alive.Range(func(_, _ any) bool { n++; return true })
	return n
}

// Plugins are turned on and off as before once the registry's loop has panicked.
func TestTheRegistryIsFollowedAfterAPanic(t *testing.T) {
	h, r := start(t, "first")
	bug := r.bugs.add("read", 3)
	serving(t, h, r, "first")
	if bug.Load() >= 0 {
		t.Error("the registry was not read meanwhile")
	}
}

// A bug in the supervisor leaves no process behind that nobody looks after, and
// is none of the plugin's failures: it serves again after a wait.
func TestASupervisorThatPanicsStartsAnew(t *testing.T) {
	events := new(bus)
	events.bugs.add("subscribe", 2)
	h, r := startOn(t, Config{}, events, "listens")
	_ = r.edit("listens", enable(true))
	r.until(t, "the word of the fault", func() bool {
		return strings.Contains(r.row("listens").LastError, "a fault of Harness itself: a bug")
	})
	i := serving(t, h, r, "listens")
	if n := begun(i); n != 1 {
		t.Errorf("%d processes run", n)
	}
	if reply, err := say(t, i, ""); reply != "listens" || err != nil {
		t.Errorf("%q %v", reply, err)
	}
	if row := r.row("listens"); row.Restarts != 0 || row.Failures != 0 {
		t.Errorf("%d restarts and %d failures are counted against it", row.Restarts, row.Failures)
	}
}

// A bug while a version is brought up costs nobody the one that serves, and is
// tried again.
func TestAReplacementThatPanicsIsTriedAgain(t *testing.T) {
	var bugs bugs
	config := Config{Settings: func(_ context.Context, row ledger.Plugin) (Settings, error) {
		bugs.step(row.Manifest.Version)
		return Settings{}, nil
	}}
	h, r := startOn(t, config, &bus{}, "first")
	i := serving(t, h, r, "first")
	bugs.add("2.0.0", 5)
	upgraded(t, r, "first", "2.0.0")
	r.until(t, "the word of the fault", func() bool {
		row := r.row("first")
		return row.State == pluginsdk.PluginServing && strings.Contains(row.LastError, "a fault of Harness itself: a bug")
	})
	waitFor(t, is(t, i, "", "2.0.0"))
	waitFor(t, func() bool { return begun(i) == 1 })
}

// Settings that a bug kept from a plugin reach it after the next reading.
func TestSettingsReachAPluginAfterAPanic(t *testing.T) {
	var bugs bugs
	config := Config{Settings: func(_ context.Context, row ledger.Plugin) (Settings, error) {
		bugs.step(string(row.Settings))
		return Settings{Values: row.Settings}, nil
	}}
	h, r := startOn(t, config, &bus{}, "listens")
	i := serving(t, h, r, "listens")
	bugs.add(`{"a":1}`, 2)
	_ = r.edit("listens", func(p *ledger.Plugin) { p.Settings = []byte(`{"a":1}`) })
	waitFor(t, func() bool {
		return !i.router.current().notOffered(i.row.Load()) && string(i.row.Load().Settings) == `{"a":1}`
	})
	if got, _ := h.SettingsOf("listens"); string(got) != `{"a":1}` {
		t.Errorf("in force: %s", got)
	}
}

// The row says what is the case also after a bug in the storing of it, and a
// plugin whose end met one can be turned on again.
func TestStateIsStoredAfterAPanic(t *testing.T) {
	h, r := start(t, "first")
	r.bugs.add("state serving", 2)
	serving(t, h, r, "first")
	r.bugs.add("state disabled", 1)
	_ = r.edit("first", enable(false))
	r.until(t, "the end of first", r.is("first", pluginsdk.PluginDisabled))
	serving(t, h, r, "first")
}

// A version is looked after also when one look at it has panicked.
func TestAWatchThatPanicsGoesOn(t *testing.T) {
	h, r := start(t, "first")
	v := serving(t, h, r, "first").router.current()
	log := newLines("panic")
	watched := &Instance{host: h, name: "first", log: slog.New(slog.NewTextHandler(log, nil))} // without a report to add to
	stop := watched.watchOver(v)
	for range 3 {
		select {
		case <-log.seen:
		case <-time.After(30 * time.Second):
			t.Fatal("it was not looked at")
		}
	}
	stop()
}

// lines is a log that tells of each record with a word in it.
type lines struct {
	mu   sync.Mutex
	word []byte
	seen chan struct{}
}

func newLines(word string) *lines { return &lines{word: []byte(word), seen: make(chan struct{}, 1000)} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.Contains(p, l.word) {
		l.seen <- struct{}{}
	}
	return len(p), nil
}
