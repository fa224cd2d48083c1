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

	noted []string
}

func (r *registry) Plugins(context.Context) ([]ledger.Plugin, error) { return r.rows, nil }

func (r *registry) InstallPlugin(_ context.Context, row ledger.Plugin) error {
	r.done = append(r.done, "install")
	if len(r.rows) > 0 {
		row.Enabled, row.Granted = r.rows[0].Enabled, r.rows[0].Granted
	}
	r.rows = []ledger.Plugin{row}
	return nil
}

func (r *registry) Audit(_ context.Context, who, action, target, _ string) error {
	r.noted = append(r.noted, who+" "+action+" "+target)
	return nil
}

func (r *registry) SavePluginState(_ context.Context, _ string, seen ledger.PluginSeen) error {
	r.done = append(r.done, "forget error")
	r.rows[0].LastError = seen.LastError
	return nil
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
		Store: r, Grant: r.note("grant"), Enable: r.note("enable"), Out: out,
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
	r.requireDone(t, "install", "enable greeter", "began greeter")
	if !slices.Equal(r.noted, []string{"operator plugin.dev greeter"}) {
		t.Errorf("audit: %v", r.noted)
	}
	if row := r.rows[0]; row.Origin != pluginsdk.OriginDev || row.Path != "/home/a" || row.SHA256 != "a" || row.Version != "1" {
		t.Errorf("the row is %+v", row)
	}
	r.rows[0].Enabled = false
	if err := registrar.Use(t.Context(), build("b")); err != nil {
		t.Fatal(err)
	}
	r.requireDone(t, "install")
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
		"yes":         {ask: func(string) (bool, error) { return true, nil }, want: []string{"install", "grant greeter", "enable greeter", "began greeter"}},
		"no":          {ask: func(string) (bool, error) { return false, nil }, want: []string{"install", "enable greeter", "began greeter"}},
		"no terminal": {ask: func(string) (bool, error) { return true, errors.New("no terminal") }, want: []string{"install", "enable greeter", "began greeter"}},
		"nobody":      {want: []string{"install", "enable greeter", "began greeter"}},
		"--grant-all": {all: true, want: []string{"install", "grant greeter", "enable greeter", "began greeter"}},
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

// Work on a plugin that is also installed must not lose the installed version.
func TestAnInstalledVersionCanBeRolledBackTo(t *testing.T) {
	r := &registry{rows: []ledger.Plugin{{PluginInfo: pluginsdk.PluginInfo{Name: "greeter", Origin: pluginsdk.OriginStore, Version: "0.9", SHA256: "x", Enabled: true}, Path: "/depot/x"}}}
	registrar := r.registrar(quiet())
	for _, sum := range []string{"a", "b"} {
		if err := registrar.Use(t.Context(), build(sum)); err != nil {
			t.Fatal(err)
		}
	}
	if previous := r.rows[0].Previous; len(previous) != 1 || previous[0].Version != "0.9" || previous[0].Path != "/depot/x" {
		t.Errorf("previous versions are %+v", previous)
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
	if err := r.registrar(out).Use(t.Context(), build("b")); err != nil || r.done[0] != "forget error" || r.rows[0].LastError != "" {
		t.Errorf("the error of the build before stays: %v, %v", r.done, err)
	}
}
