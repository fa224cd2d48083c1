package pluginhost

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A plugin that was granted nothing reads no message; a gate holds work back in that time as
// one that is down does, and from the grant on it decides.
func TestAHookIsAskedOfWhoWasGrantedIt(t *testing.T) {
	h, r := start(t, "gate", "listens")
	gate := serving(t, h, r, "gate")
	serving(t, h, r, "listens")
	asked := 0
	ask := func(run string) error {
		return gate.Do(t.Context(), run, pluginsdk.HookBeforeRun, "c", func(*Process) error { asked++; return nil })
	}
	names := func(hook pluginsdk.Hook) (names []string) {
		for _, plugin := range h.Answering("", hook) {
			names = append(names, plugin.Info().Name)
		}
		return names
	}
	h.Hold("R")
	defer h.Release("R")
	if err := ask("R"); err != nil || asked != 1 {
		t.Fatalf("with its grant: asked %d times, %v", asked, err)
	}

	_ = r.edit("gate", func(p *ledger.Plugin) { p.Granted = nil })
	waitFor(t, func() bool { return !h.Granted("gate", pluginsdk.CapTurnsDecide) })
	for _, run := range []string{"R", "S", ""} { // R keeps to the version that it asked
		err := ask(run)
		if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || asked != 1 || !strings.Contains(err.Error(), "harness plugin grant gate turns.decide") {
			t.Errorf("without it, in the run %q: asked %d times, %v", run, asked, err)
		}
	}
	if got := names(pluginsdk.HookBeforeRun); len(got) != 1 || got[0] != "gate" {
		t.Errorf("a run would ask %q: it would not wait for the gate", got)
	}
	_ = r.edit("gate", func(p *ledger.Plugin) {
		p.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookBeforeRun: pluginsdk.FailOpen}
	})
	waitFor(t, func() bool { return len(names(pluginsdk.HookBeforeRun)) == 0 })
	if got := names(pluginsdk.HookCommand); len(got) != 2 {
		t.Errorf("commands are answered by %q: those need no grant", got)
	}

	_ = r.edit("gate", func(p *ledger.Plugin) { p.Granted = []pluginsdk.Capability{pluginsdk.CapTurnsDecide} })
	waitFor(t, func() bool { return len(names(pluginsdk.HookBeforeRun)) == 1 })
	if err := ask("S"); err != nil || asked != 2 {
		t.Errorf("once it is granted again: asked %d times, %v", asked, err)
	}
}
