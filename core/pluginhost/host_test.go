package pluginhost

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Somebody else's binary is found, and does nothing until it is enabled.
func TestUnknownPluginsStartDisabled(t *testing.T) {
	h, r := start(t, "first", "second")
	rows, _ := r.Plugins(t.Context())
	if rows[0].State != pluginsdk.PluginDisabled {
		t.Errorf("a plugin that is off is %s", rows[0].State)
	}
	if len(rows) != 2 || rows[0].Enabled || len(rows[0].Granted) != 0 || len(rows[0].SHA256) != 64 {
		t.Errorf("%+v", rows)
	}
	if got := h.Answering("", pluginsdk.HookCommand); len(got) != 0 {
		t.Errorf("%d answer", len(got))
	}
}

func TestRegistryIsFollowed(t *testing.T) {
	h, r := start(t, "first", "second")
	for _, name := range []string{"first", "second"} {
		_ = r.edit(name, enable(true))
		r.until(t, name, r.is(name, pluginsdk.PluginServing))
	}
	order := func() []string { return answering(h) }
	waitFor(t, func() bool { return slices.Equal(order(), []string{"first", "second"}) })
	if reply, err := say(t, h.Answering("", pluginsdk.HookCommand)[1].(inRun).Instance, ""); reply != "second" || err != nil {
		t.Errorf("%q %v", reply, err)
	}
	_ = r.edit("first", func(p *ledger.Plugin) { p.Position = 1000 })
	waitFor(t, func() bool { return slices.Equal(order(), []string{"second", "first"}) })
	_ = r.edit("second", enable(false))
	r.until(t, "the end of second", r.is("second", pluginsdk.PluginDisabled))
	if got := order(); !slices.Equal(got, []string{"first"}) {
		t.Errorf("order %v", got)
	}
	_ = r.edit("second", enable(true))
	r.until(t, "the return of second", r.is("second", pluginsdk.PluginServing))
}

// Who is told that a plugin serves finds it in the next run.
func TestAPluginThatServesTakesPart(t *testing.T) {
	var host atomic.Pointer[Host]
	missing := make(chan string, 10)
	events := &bus{changed: func(change pluginsdk.PluginStatePayload) {
		if change.State == pluginsdk.PluginServing && !slices.Contains(answering(host.Load()), change.Name) {
			missing <- change.Name
		}
	}}
	h, r := startOn(t, Config{}, events, "first", "second")
	host.Store(h)
	for _, name := range []string{"first", "second"} {
		_ = r.edit(name, enable(true))
		r.until(t, name, r.is(name, pluginsdk.PluginServing))
	}
	select {
	case name := <-missing:
		t.Errorf("when %s was said to serve, it took no part", name)
	default:
	}
}

// A plugin that was killed is back by itself, and a call that comes meanwhile
// waits for it.
func TestDeadPluginComesBack(t *testing.T) {
	h, r := start(t, "first")
	instance := serving(t, h, r, "first")
	for range 3 {
		if _, err := say(t, instance, "die"); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
			t.Fatalf("the death of a plugin in its call: %v", err)
		}
		waitFor(t, func() bool {
			reply, err := say(t, instance, "")
			return reply == "first" && err == nil
		})
	}
	r.until(t, "the record", func() bool {
		row := r.row("first")
		return row.Restarts == 3 && row.Failures >= 3 && row.LastError != ""
	})
}

// A plugin that cannot start holds up neither the others nor the daemon.
func TestPluginThatCannotStart(t *testing.T) {
	h, r := start(t, "first", "dies")
	_ = r.edit("first", enable(true))
	_ = r.edit("dies", enable(true))
	r.until(t, "the start", r.is("first", pluginsdk.PluginServing))
	r.until(t, "the failure", func() bool { return r.row("dies").Restarts > 2 })
	if err := h.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if got := r.row("dies").LastError; got != "activate: no port to be had" {
		t.Errorf("last error %q", got)
	}
}

// A row broken by hand keeps its last good values in force.
func TestBrokenRowChangesNothing(t *testing.T) {
	h, r := start(t, "first")
	_ = r.edit("first", func(p *ledger.Plugin) {
		p.Enabled, p.Granted = true, []pluginsdk.Capability{pluginsdk.CapState}
	})
	r.until(t, "the start", r.is("first", pluginsdk.PluginServing))
	waitFor(t, func() bool { return h.Granted("first", pluginsdk.CapState) })
	_ = r.edit("first", func(p *ledger.Plugin) { p.Granted, p.Problem = nil, "granted: not JSON" })
	h.Refresh()
	if unreadable(r.row("first"), "enabled") || !unreadable(ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Problem: "a: b; enabled: \"x\""}}, "enabled") {
		t.Error("the broken column is not told from the others")
	}
	if !h.Granted("first", pluginsdk.CapState) || h.Granted("first", pluginsdk.CapMetricsRead) || h.Granted("none", pluginsdk.CapState) {
		t.Error("grants do not follow the last good row")
	}
}

// New settings of a plugin that cannot take them while it runs are no fault of
// its: it is started anew at once, and nothing is counted.
func TestNewSettingsRestartWithoutAFault(t *testing.T) {
	h, r := start(t, "first")
	instance := serving(t, h, r, "first")
	pid := func() (pid int) {
		_ = instance.Do(t.Context(), "", pluginsdk.HookCommand, "call", func(p *Process) error { pid = p.PID(); return nil })
		return pid
	}
	before := pid()
	_ = r.edit("first", func(p *ledger.Plugin) { p.Settings = []byte(`{"a":1}`) })
	waitFor(t, func() bool { now := pid(); return now != 0 && now != before })
	if row := r.row("first"); row.Restarts != 0 || row.LastError != "" {
		t.Errorf("%+v", row)
	}
	_ = r.edit("first", func(p *ledger.Plugin) { p.Settings, p.Problem, p.Enabled = nil, "settings: broken", false })
	r.until(t, "the end although the row is broken", r.is("first", pluginsdk.PluginDisabled))
}

// What the host asks by itself is supervised as the hooks of a run are.
func TestHostsOwnCallsAreSupervised(t *testing.T) {
	events := &bus{}
	h, r := startOn(t, Config{}, events, "listens")
	_ = r.edit("listens", func(p *ledger.Plugin) {
		p.Enabled, p.Granted = true, []pluginsdk.Capability{pluginsdk.CapEventsRead}
	})
	r.until(t, "the start", r.is("listens", pluginsdk.PluginServing))
	for _, how := range []string{"error", "panic", "exit", "kill", "hang"} {
		before := r.row("listens")
		if err := events.send(t, "x:"+how); err == nil {
			t.Errorf("%s in OnBroadcast is not told", how)
		}
		died := how == "exit" || how == "kill" || how == "hang"
		r.until(t, how+" in OnBroadcast: record and return", func() bool {
			row := r.row("listens")
			return row.State == pluginsdk.PluginServing && row.Failures > before.Failures && (!died || row.Restarts > before.Restarts)
		})
		before = r.row("listens")
		_ = r.edit("listens", func(p *ledger.Plugin) { p.Settings = []byte(`{"how":"` + how + `"}`) })
		r.until(t, how+" in OnSettingsChange: record and return", func() bool {
			row := r.row("listens")
			return row.State == pluginsdk.PluginServing && row.Failures > before.Failures && (!died || row.Restarts > before.Restarts)
		})
	}
	if err := events.send(t, "x:fine"); err != nil {
		t.Error(err)
	}

	calls := func() int64 { return h.Live(r.row("listens")).Figures.Hooks[pluginsdk.HookBroadcast].Calls }
	before := calls()
	_ = r.edit("listens", func(p *ledger.Plugin) { p.Granted = nil })
	waitFor(t, func() bool { return !h.Granted("listens", pluginsdk.CapEventsRead) })
	if err := events.send(t, "x:fine"); err != nil || calls() != before {
		t.Errorf("without events.read it is told of others' events: %v", err)
	}
	if err := events.send(t, "listens:fine"); err != nil || calls() != before+1 {
		t.Errorf("it is not told of its own: %v", err)
	}
}

// Who sets what a plugin refuses must be told at once, and not at the plugin's next
// start, when it is down for it.
func TestSettingsThatAreRefusedAreSaidBeforeTheyAreCarriedOut(t *testing.T) {
	h, r := startOn(t, Config{Settings: func(_ context.Context, row ledger.Plugin) (Settings, error) {
		secret := string(row.Settings)
		stored := &ledger.AcceptedSettings{Mark: row.SettingsMark(), Plain: row.Settings}
		return Settings{Values: row.Settings, Stored: stored, Redact: func(text string) string { return strings.ReplaceAll(text, secret, "***") }}, nil
	}}, &bus{}, "listens")
	_ = r.edit("listens", func(p *ledger.Plugin) { p.Enabled, p.Settings = true, []byte(`{"how":"first"}`) })
	i := serving(t, h, r, "listens")
	for _, step := range []struct{ settings, want, holds string }{
		{`{"how":"error"}`, ledger.SettingsRefused + ", and goes on with those that it has: ", `{"how":"first"}`},
		{`{"how":"fine"}`, "", `{"how":"fine"}`},
	} {
		_ = r.edit("listens", func(p *ledger.Plugin) {
			p.Settings, p.SettingsRevision, p.Generation, p.LastError = []byte(step.settings), p.SettingsRevision+1, p.Generation+1, ""
		})
		r.until(t, "the word that "+step.settings+" is carried out", func() bool { return r.row("listens").Settled == r.row("listens").Generation })
		if row := r.row("listens"); row.State != pluginsdk.PluginServing || !strings.HasPrefix(row.LastError, step.want) || step.want == "" && row.LastError != "" {
			t.Errorf("%s: %s, last error %q", step.settings, row.State, row.LastError)
		}
		if got, ok := h.SettingsOf("listens"); !ok || string(got) != step.holds {
			t.Errorf("after %s the settings in force are said to be %s", step.settings, got)
		}
		if said := i.redact(step.settings + step.holds); strings.Contains(said, "how") {
			t.Errorf("after %s a secret can be read: %s", step.settings, said)
		}
	}
}

// Who is told that the new order is carried out has the next message pass through it.
func TestAnOrderThatIsCarriedOutHolds(t *testing.T) {
	h, r := start(t, "first", "second")
	serving(t, h, r, "first")
	serving(t, h, r, "second")
	for at := range 20 {
		_ = r.edit("first", func(p *ledger.Plugin) { p.Position, p.Generation = at%2*2, p.Generation+1 })
		_ = r.edit("second", func(p *ledger.Plugin) { p.Position = 1 })
		r.until(t, "the word that it is carried out", func() bool { return r.row("first").Settled == r.row("first").Generation })
		if asked := answering(h); asked[at%2] != "first" {
			t.Fatalf("round %d: %s is asked first", at, asked[0])
		}
	}
}

// A registry that nobody has changed is read seldom, and one that somebody has changed at once.
func TestARegistryThatRestsIsReadSeldom(t *testing.T) {
	h, r := startOn(t, Config{}, &bus{}, "first")
	serving(t, h, r, "first")
	r.until(t, "the row that says so", r.is("first", pluginsdk.PluginServing))
	looks := func(n int64) (reads int64) {
		asked, read := r.asked.Load(), r.reads.Load()
		waitFor(t, func() bool { return r.asked.Load() >= asked+n })
		return r.reads.Load() - read
	}
	if reads := looks(20); reads < 19 {
		t.Errorf("where no version is known, the registry is read %d times in 20 looks", reads)
	}
	r.version.Store(1)
	looks(2)
	if reads := looks(10 * restPolls); reads < 8 || reads > 15 {
		t.Errorf("in %d looks at a database that rests, the registry is read %d times", 10*restPolls, reads)
	}
	for range 5 {
		r.version.Add(1)
		if reads := looks(2); reads == 0 {
			t.Error("the registry is not read although somebody has committed something")
		}
	}
	r.bugs.add("read", 3)
	r.version.Add(1)
	if reads := looks(5); reads < 4 {
		t.Errorf("a reading that fails is followed by %d others in 5 looks", reads-1)
	}
	_ = r.edit("first", func(p *ledger.Plugin) { p.Generation++ }) // and the version that is told stays
	looks(restPolls)
	if reads := looks(restPolls); reads > 2 {
		t.Errorf("in %d looks after a change that was followed, the registry is read %d times", restPolls, reads)
	}
}
