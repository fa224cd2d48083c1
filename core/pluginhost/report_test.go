package pluginhost

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// An operator reads what went wrong as soon as it has, and not for ever: what is wrong is
// told from what was.
func TestTheLastErrorIsThereAtOnceAndForgottenAfterASteadyLife(t *testing.T) {
	events := &bus{}
	h, r := startOn(t, Config{Window: 300 * time.Millisecond}, events, "listens")
	i := serving(t, h, r, "listens")
	before := time.Now().Add(-time.Second)
	if err := events.send(t, "listens:error"); err == nil {
		t.Fatal("no error")
	}
	if seen := i.report.now(); !strings.Contains(seen.LastError, "hostile on purpose") {
		t.Errorf("the last error is %q", seen.LastError)
	}
	r.until(t, "the error in the row", func() bool { return strings.Contains(r.row("listens").LastError, "hostile on purpose") })
	if at := r.row("listens").LastErrorAt; at.Before(before) || at.After(time.Now()) {
		t.Errorf("it came about at %s, says the row", at)
	}
	r.until(t, "that it is forgotten", func() bool { return r.row("listens").LastError == "" })
	if row := r.row("listens"); !row.LastErrorAt.IsZero() || row.Failures != 1 || row.State != pluginsdk.PluginServing {
		t.Errorf("%+v", row)
	}
}

// Whoever reads of an error that is over looks for what is not there: that it is forgotten
// is written until it is stored.
func TestAForgottenErrorThatCannotBeStoredIsWrittenAgain(t *testing.T) {
	r := newRegistry()
	_ = r.RegisterPlugin(t.Context(), rowOf("first"))
	i := newInstance(New(Config{Window: time.Nanosecond}, r, &bus{}, nobody{}), rowOf("first"), true)
	defer i.crew.end()
	i.report.note(func(seen *ledger.PluginSeen) { seen.State, seen.LastError = pluginsdk.PluginServing, "it broke" })
	r.until(t, "the error in the row", func() bool { return r.row("first").LastError == "it broke" })
	r.refuses.Store(1)
	i.report.mu.Lock()
	i.report.forgive()
	i.report.mu.Unlock()
	waitFor(t, func() bool { return r.refuses.Load() <= 0 })
	waitFor(t, func() bool {
		i.report.follow(r.row("first"))
		return r.row("first").LastError == ""
	})
}

// Settings that a plugin has refused are still what it is started with next.
func TestRefusedSettingsAreNotForgotten(t *testing.T) {
	r := newRegistry()
	_ = r.RegisterPlugin(t.Context(), rowOf("first"))
	i := newInstance(New(Config{Window: time.Nanosecond}, r, &bus{}, nobody{}), rowOf("first"), true)
	defer i.crew.end()
	for words, want := range map[string]string{"it broke": "", ledger.SettingsRefused + ": no such zone": ledger.SettingsRefused + ": no such zone"} {
		i.report.note(func(seen *ledger.PluginSeen) { seen.State, seen.LastError = pluginsdk.PluginServing, words })
		i.report.mu.Lock()
		i.report.forgive()
		i.report.mu.Unlock()
		if got := i.report.now().LastError; got != want {
			t.Errorf("of %q is left %q", words, got)
		}
	}
	i.report.note(func(seen *ledger.PluginSeen) { seen.LastError = ledger.SettingsRefused + ": no such zone" })
	i.report.count(newVersion(rowOf("first")), pluginsdk.HookCommand, errors.New("no such token"))
	if got := i.report.now().LastError; got != ledger.SettingsRefused+": no such zone" {
		t.Errorf("a hook that fails later takes its place: %q", got)
	}
	if i.report.settingsTaken(); i.report.now().LastError != "" {
		t.Errorf("taken, and still %q", i.report.now().LastError)
	}
}

// What a plugin broke down of is read by who looks in the morning: it serves for a while
// before that is forgotten.
func TestTheLastErrorOutlivesAStart(t *testing.T) {
	r := newRegistry()
	_ = r.RegisterPlugin(t.Context(), rowOf("first"))
	i := newInstance(New(Config{Window: time.Hour}, r, &bus{}, nobody{}), rowOf("first"), true)
	defer i.crew.end()
	nothing := func(*ledger.PluginSeen) {}
	i.report.tell(pluginsdk.PluginQuarantined, "it broke", nothing)
	i.report.erred = time.Now().Add(-2 * time.Hour)
	i.report.tell(pluginsdk.PluginServing, "", nothing)
	i.report.mu.Lock()
	i.report.forgive()
	i.report.mu.Unlock()
	if got := i.report.now().LastError; got != "it broke" {
		t.Errorf("forgotten at once: %q", got)
	}
}

// The registry need not be read for an error to be in it.
func TestAFailureIsStoredAtOnce(t *testing.T) {
	r := newRegistry()
	_ = r.RegisterPlugin(t.Context(), rowOf("first"))
	i := newInstance(New(Config{}, r, &bus{}, nobody{}), rowOf("first"), true)
	i.report.count(newVersion(rowOf("first")), pluginsdk.HookCommand, errors.New("no such token"))
	r.until(t, "the error in the row", func() bool { return strings.Contains(r.row("first").LastError, "no such token") })
	i.crew.end()
}

func rowOf(name string) (row ledger.Plugin) {
	row.Name = name
	return row
}

// A plugin that throws its whole memory into an error must not fill the log, the events
// and the row with it.
func TestAnErrorIsPassedOnCut(t *testing.T) {
	log := &text{}
	h, r := startOn(t, Config{Log: slog.New(slog.NewTextHandler(log, nil))}, &bus{}, "first")
	i := serving(t, h, r, "first")
	err := i.Do(t.Context(), "", pluginsdk.HookCommand, "c", func(*Process) error {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "beginning %s", strings.Repeat("x", 200<<10))
	})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || len(err.Error()) > maxErrorWords || !strings.Contains(err.Error(), "beginning") {
		t.Errorf("%s, %d bytes", pluginsdk.CodeOf(err), len(err.Error()))
	}
	r.until(t, "the error in the row", func() bool { return strings.Contains(r.row("first").LastError, "beginning") })
	if n := len(r.row("first").LastError); n > maxFailureWords {
		t.Errorf("%d bytes are in the row", n)
	}
	upgraded(t, r, "first", "wordy")
	r.until(t, "why it was not replaced", func() bool { return strings.Contains(r.row("first").LastError, "a long story") })
	if n := len(r.row("first").LastError); n > maxErrorWords {
		t.Errorf("%d bytes of the replacement are in the row", n)
	}
	if n := log.len(); n > 100<<10 {
		t.Errorf("%d bytes are in the log", n)
	}
}

// text is a log that can be asked how long it is.
type text struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *text) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

func (l *text) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Len()
}

// Only a plugin that serves as its row wants it, and whose row says so, lets the registry rest.
func TestAPluginRestsOnlyWhenNothingIsLeftToDo(t *testing.T) {
	is := ledger.PluginSeen{State: pluginsdk.PluginServing, Settled: 7, Serving: "ab"}
	for what, change := range map[string]func(*report){
		"it is starting":                   func(r *report) { r.seen.State = pluginsdk.PluginStarting; r.stored = r.seen },
		"the row was not carried out":      func(r *report) { r.seen.Settled = 6; r.stored = r.seen },
		"what is wanted was rejected":      func(r *report) { r.seen.Rejected = "cd"; r.stored = r.seen },
		"the row says something else":      func(r *report) { r.stored.Serving = "cd" },
		"the last write of it has failed":  func(r *report) { r.unsaved = true },
		"nothing":                          func(*report) {},
		"its last error is older and said": func(r *report) { r.seen.LastError = "long ago"; r.stored = r.seen },
	} {
		r := &report{seen: is, stored: is}
		change(r)
		if want := what == "nothing" || r.seen.LastError != ""; r.rests(7) != want {
			t.Errorf("%s: it rests: %v", what, !want)
		}
	}
}
