package devloop_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/devloop"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// registry is a database of one plugin, and what was done to it.
type registry struct {
	rows []ledger.Plugin
	done []string
}

func (r *registry) Plugin(context.Context, string) (ledger.Plugin, error) { return r.rows[0], nil }

func (r *registry) register(_ context.Context, build devloop.Build) (before ledger.Plugin, err error) {
	r.done = append(r.done, "register "+build.SHA256)
	if len(r.rows) > 0 {
		before = r.rows[0]
	}
	row := before
	row.Name = build.Manifest.Name
	r.rows = []ledger.Plugin{row}
	return before, nil
}

func (r *registry) note(what string) func(context.Context, string) error {
	return func(_ context.Context, name string) error {
		r.done = append(r.done, what+" "+name)
		r.rows[0].Enabled = r.rows[0].Enabled || what == "enable"
		return nil
	}
}

func (r *registry) registrar(out *transcript) *devloop.Registrar {
	return &devloop.Registrar{
		Register: r.register, Grant: r.note("grant"), Enable: r.note("enable"), Out: out,
		Began: func(name string) { r.done = append(r.done, "began "+name) },
	}
}

func (r *registry) requireDone(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(r.done, want) {
		t.Errorf("done: %v, want %v", r.done, want)
	}
	r.done = nil
}

func build(sum string, wanted ...pluginsdk.Capability) devloop.Build {
	manifest := pluginsdk.Manifest{Name: "greeter", Version: "1"}
	for _, capability := range wanted {
		manifest.Capabilities = append(manifest.Capabilities, pluginsdk.CapabilityRequest{Capability: capability, Reason: "because of " + string(capability)})
	}
	return devloop.Build{Path: "/home/" + sum, SHA256: sum, Manifest: manifest}
}

func quiet() *transcript { return &transcript{more: make(chan struct{})} }

// What the author is working on is what runs, and an author who turned it off
// meanwhile is not overruled.
func TestABuildIsRegisteredTurnedOnAndLaterOnlyReplaced(t *testing.T) {
	r := &registry{}
	registrar := r.registrar(quiet())
	if err := registrar.Use(t.Context(), build("a")); err != nil {
		t.Fatal(err)
	}
	r.requireDone(t, "register a", "enable greeter", "began greeter")
	r.rows[0].Enabled = false
	if err := registrar.Use(t.Context(), build("b")); err != nil {
		t.Fatal(err)
	}
	r.requireDone(t, "register b")
	renamed := build("c")
	renamed.Manifest.Name = "greeter2"
	if err := registrar.Use(t.Context(), renamed); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), "to rename it") {
		t.Errorf("renamed: %v", err)
	}
	r.requireDone(t)
}

// A capability that nobody agreed to is never given.
func TestWhatThePluginAsksForIsGrantedOnlyIfTheAuthorSaysSo(t *testing.T) {
	for name, row := range map[string]struct {
		all  bool
		ask  func(string) (bool, error)
		want []string
	}{
		"yes":         {ask: func(string) (bool, error) { return true, nil }, want: []string{"register a", "grant greeter", "enable greeter", "began greeter"}},
		"no":          {ask: func(string) (bool, error) { return false, nil }, want: []string{"register a", "enable greeter", "began greeter"}},
		"no terminal": {ask: func(string) (bool, error) { return true, errors.New("no terminal") }, want: []string{"register a", "enable greeter", "began greeter"}},
		"nobody":      {want: []string{"register a", "enable greeter", "began greeter"}},
		"--grant-all": {all: true, want: []string{"register a", "grant greeter", "enable greeter", "began greeter"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, out := &registry{}, quiet()
			registrar := r.registrar(out)
			registrar.GrantAll, registrar.Ask = row.all, row.ask
			if err := registrar.Use(t.Context(), build("a", pluginsdk.CapState)); err != nil {
				t.Fatal(err)
			}
			r.requireDone(t, row.want...)
			out.await(t, "state: because of state")
			if !slices.Contains(row.want, "grant greeter") {
				out.await(t, "harness plugin grant greeter --all")
			}
		})
	}
}

func TestTheAuthorIsAskedAgainOnlyForSomethingElse(t *testing.T) {
	r := &registry{}
	registrar := r.registrar(quiet())
	questions := 0
	registrar.Ask = func(string) (bool, error) {
		questions++
		return false, nil
	}
	for i, step := range []struct {
		build devloop.Build
		asked int
	}{
		{build("a", pluginsdk.CapState), 1},
		{build("b", pluginsdk.CapState), 1},
		{build("c", pluginsdk.CapState, pluginsdk.CapAgentInvoke), 2},
	} {
		if err := registrar.Use(t.Context(), step.build); err != nil || questions != step.asked {
			t.Errorf("step %d: asked %d times, want %d (%v)", i, questions, step.asked, err)
		}
	}
}

// A build that compiles and does not start looks like one that works, unless
// the author is told.
func TestTheAuthorIsToldHowTheDaemonFares(t *testing.T) {
	r := &registry{rows: []ledger.Plugin{{PluginInfo: pluginsdk.PluginInfo{Name: "greeter", Enabled: true, State: pluginsdk.PluginServing}}}}
	ctx, cancel := context.WithCancel(t.Context())
	out, ticks, ended := quiet(), make(chan time.Time), make(chan struct{})
	go func() {
		defer close(ended)
		devloop.WatchState(ctx, r, "greeter", out, ticks)
	}()
	ticks <- time.Time{}
	ticks <- time.Time{}
	out.await(t, "greeter is serving\n")
	cancel()
	<-ended
	if got := out.text.String(); got != "greeter is serving\n" {
		t.Errorf("the same state was told twice: %q", got)
	}

	r.rows[0].LastError = "start: no token"
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	devloop.WatchState(ctx, r, "greeter", out, ticks)
	out.await(t, "greeter is serving; start: no token\n")
}
