package pluginhost

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A plugin that crashes for ever must not be started for ever, and the operator
// must be able to read why without having watched.
func TestFiveFailuresAreAQuarantine(t *testing.T) {
	h, r := startOn(t, Config{Failures: 5}, &bus{}, "first", "dies")
	good := serving(t, h, r, "first")
	_ = r.edit("dies", enable(true))
	r.until(t, "the quarantine", r.is("dies", pluginsdk.PluginQuarantined))
	row := r.row("dies")
	if row.Restarts != 5 || !strings.Contains(row.Quarantine, "5 times") || !strings.Contains(row.Quarantine, "no port to be had") {
		t.Errorf("after %d restarts: %s", row.Restarts, row.Quarantine)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if reply, err := say(t, good, ""); reply != "first" || err != nil {
		t.Errorf("the other plugin: %q %v", reply, err)
	}

	_ = r.edit("dies", func(p *ledger.Plugin) { p.Quarantine = "" })
	r.until(t, "another try", func() bool { return r.row("dies").Restarts > 5 })

	r.until(t, "the second quarantine", r.is("dies", pluginsdk.PluginQuarantined))
	_ = r.edit("dies", enable(false))
	r.until(t, "the end", r.is("dies", pluginsdk.PluginDisabled))
}

// What a run must not go on without stays a reason to fail; what may be passed
// over is, at once.
func TestQuarantineOfWhatMayBePassedOver(t *testing.T) {
	h, r := startOn(t, Config{Failures: 1}, &bus{}, "listens", "gate")
	for _, name := range []string{"listens", "gate"} {
		i := serving(t, h, r, name)
		if _, err := say(t, i, "die"); err == nil {
			t.Fatal("it survived")
		}
		r.until(t, "the quarantine", r.is(name, pluginsdk.PluginQuarantined))
	}
	if open := h.Answering("", pluginsdk.HookBroadcast); len(open) != 0 {
		t.Errorf("%d plugins in quarantine are asked what may be passed over", len(open))
	}
	closed := h.Answering("R", pluginsdk.HookBeforeRun)
	if len(closed) != 1 {
		t.Fatalf("%d gates are asked", len(closed))
	}
	err := closed[0].Do(t.Context(), pluginsdk.HookBeforeRun, "call", func(hooks.Process) error { return nil })
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || !strings.Contains(err.Error(), "quarantined") {
		t.Errorf("the gate says %v", err)
	}
}

// A port that another program has for a while must not cost the API for good: what waits
// for the world is tried again, and never put in quarantine. Who starts the daemon is
// told what does not serve.
func TestWhatWaitsForTheWorldIsTriedAgain(t *testing.T) {
	h, r := startOn(t, Config{Failures: 2}, &bus{}, "wants")
	port := taken(r.row("wants").Path)
	release(t, port)
	_ = r.edit("wants", enable(true))
	r.until(t, "more tries than make a quarantine", func() bool { return r.row("wants").Restarts > 4 })
	if row := r.row("wants"); row.Quarantine != "" || !strings.Contains(row.LastError, "the port is taken") {
		t.Errorf("in quarantine for %q; the last error is %q", row.Quarantine, row.LastError)
	}
	out := h.Outages()
	if len(out) != 1 || out[0].Plugin != "wants" || !strings.Contains(out[0].Why, "the port is taken") {
		t.Errorf("out of service: %+v", out)
	}
	if err := os.Remove(port); err != nil {
		t.Fatal(err)
	}
	r.until(t, "its start", r.is("wants", pluginsdk.PluginServing))
	if out := h.Outages(); len(out) != 0 {
		t.Errorf("out of service: %+v", out)
	}
}

// Who reads the log finds that a plugin is in quarantine since before, and that one was
// turned off by a row.
func TestWhatTheRegistrySaysIsInTheLog(t *testing.T) {
	quarantine, off := newLines("in quarantine"), newLines("turned off")
	h, r := startOn(t, Config{Log: slog.New(slog.NewTextHandler(io.MultiWriter(quarantine, off), nil))}, &bus{}, "first", "second")
	_ = r.edit("second", func(p *ledger.Plugin) { p.Enabled, p.Quarantine = true, "it failed" })
	<-quarantine.seen
	serving(t, h, r, "first")
	_ = r.edit("first", enable(false))
	<-off.seen
}
