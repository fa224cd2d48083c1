package pluginhost

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// The test binary is a plugin when it is started under a name of this list.
var parts = []string{"first", "second", "dies", "listens"}

func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); slices.Contains(parts, name) {
		if name == "listens" {
			serve.Main(&listener{part{name: name}})
		}
		serve.Main(&part{name: name})
		return
	}
	os.Exit(m.Run())
}

type part struct{ name string }

func (p *part) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: p.name, Version: "1.0.0", Commands: []pluginsdk.CommandSpec{{Name: "say-" + p.name}}}
}

func (p *part) Activate(context.Context) error {
	if p.name == "dies" {
		return errors.New("no port to be had")
	}
	return nil
}

func (p *part) Deactivate(context.Context) error { return nil }

func (p *part) OnCommand(_ context.Context, c pluginsdk.Command) (pluginsdk.CommandResult, error) {
	if c.Body == "die" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return pluginsdk.CommandResult{Handled: true, Reply: p.name}, nil
}

// listener answers what the host itself asks, as the event or the setting says.
type listener struct{ part }

func (*listener) OnBroadcast(_ context.Context, events []pluginsdk.Event) error {
	return misbehave(string(events[0].Type))
}

func (*listener) OnSettingsChange(_ context.Context, change pluginsdk.SettingsChange) error {
	return misbehave(string(change.Settings))
}

func misbehave(how string) error {
	switch {
	case strings.Contains(how, "error"):
		return errors.New("hostile on purpose")
	case strings.Contains(how, "panic"):
		panic("hostile on purpose")
	case strings.Contains(how, "exit"):
		os.Exit(3)
	case strings.Contains(how, "kill"):
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case strings.Contains(how, "hang"):
		select {}
	}
	return nil
}

// registry is a Store in memory that wakes who waits for a change.
type registry struct {
	mu      sync.Mutex
	rows    []pluginsdk.PluginInfo
	changed chan struct{}
}

func newRegistry() *registry { return &registry{changed: make(chan struct{})} }

func (r *registry) Plugins(context.Context) ([]pluginsdk.PluginInfo, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := slices.Clone(r.rows)
	slices.SortFunc(rows, func(a, b pluginsdk.PluginInfo) int { return a.Position - b.Position })
	return rows, nil
}

func (r *registry) RegisterPlugin(_ context.Context, info pluginsdk.PluginInfo) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, info)
	return nil
}

// edit changes a row as an operator, or the host, does.
func (r *registry) edit(name string, change func(*pluginsdk.PluginInfo)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.rows {
		if r.rows[i].Name == name {
			change(&r.rows[i])
		}
	}
	close(r.changed)
	r.changed = make(chan struct{})
	return nil
}

func (r *registry) SavePluginManifest(_ context.Context, name string, m pluginsdk.Manifest) error {
	return r.edit(name, func(p *pluginsdk.PluginInfo) { p.Manifest = m })
}

func (r *registry) SavePluginState(_ context.Context, name string, s pluginsdk.PluginState, lastError string, restarts int) error {
	return r.edit(name, func(p *pluginsdk.PluginInfo) { p.State, p.LastError, p.Restarts = s, lastError, restarts })
}

func (r *registry) AddPluginFailures(_ context.Context, name string, n int64, lastError string) error {
	return r.edit(name, func(p *pluginsdk.PluginInfo) { p.Failures += n; p.LastError = lastError })
}

func (r *registry) row(name string) pluginsdk.PluginInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range r.rows {
		if row.Name == name {
			return row
		}
	}
	return pluginsdk.PluginInfo{}
}

func (r *registry) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%s did not come about: %+v", what, r.rows)
		}
	}
}

func (r *registry) is(name string, state pluginsdk.PluginState) func() bool {
	return func() bool { return r.row(name).State == state }
}

// bus is an event bus whose events the test delivers itself.
type bus struct {
	mu      sync.Mutex
	deliver func(context.Context, []pluginsdk.Event) error
}

func (*bus) Publish(pluginsdk.EventType, string, any) {}

func (b *bus) Subscribe(_ string, _ []string, deliver func(context.Context, []pluginsdk.Event) error) func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deliver = deliver
	return func() {}
}

func (b *bus) send(t *testing.T, kind string) error {
	b.mu.Lock()
	deliver := b.deliver
	b.mu.Unlock()
	return deliver(t.Context(), []pluginsdk.Event{{Type: pluginsdk.EventType(kind), Boot: "b", Seq: 1}})
}

func start(t *testing.T, names ...string) (*Host, *registry) {
	t.Helper()
	return startOn(t, &bus{}, names...)
}

func startOn(t *testing.T, events *bus, names ...string) (*Host, *registry) {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("not a plugin"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRegistry()
	h := New(Config{
		Dir: dir, Owner: "test", Poll: 5 * time.Millisecond, BackoffBase: 5 * time.Millisecond, BackoffMax: 20 * time.Millisecond,
		LateGrace: 20 * time.Millisecond,
	}, r, events, func(string) pluginsdk.Host { return pluginsdk.Host{} })
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h, r
}

func enable(on bool) func(*pluginsdk.PluginInfo) {
	return func(p *pluginsdk.PluginInfo) { p.Enabled = on }
}

func say(t *testing.T, i *Instance, body string) (reply string, err error) {
	t.Helper()
	err = i.Do(t.Context(), pluginsdk.HookCommand, "call", func(p *launch.Plugin) error {
		result, err := p.OnCommand(t.Context(), pluginsdk.Command{Name: "say-" + i.name, Body: body})
		reply = result.Reply
		return err
	})
	return reply, err
}

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
	if got := h.Answering(pluginsdk.HookCommand); len(got) != 0 {
		t.Errorf("%d answer", len(got))
	}
}

func TestRegistryIsFollowed(t *testing.T) {
	h, r := start(t, "first", "second")
	for _, name := range []string{"first", "second"} {
		_ = r.edit(name, enable(true))
		r.until(t, name, r.is(name, pluginsdk.PluginServing))
	}
	order := func() (names []string) {
		for _, i := range h.Answering(pluginsdk.HookCommand) {
			names = append(names, i.name)
		}
		return names
	}
	if got := order(); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("order %v", got)
	}
	if reply, err := say(t, h.Answering(pluginsdk.HookCommand)[1], ""); reply != "second" || err != nil {
		t.Errorf("%q %v", reply, err)
	}
	_ = r.edit("first", func(p *pluginsdk.PluginInfo) { p.Position = 1000 })
	waitFor(t, func() bool { return slices.Equal(order(), []string{"second", "first"}) })
	_ = r.edit("second", enable(false))
	r.until(t, "the end of second", r.is("second", pluginsdk.PluginDisabled))
	if got := order(); !slices.Equal(got, []string{"first"}) {
		t.Errorf("order %v", got)
	}
	_ = r.edit("second", enable(true))
	r.until(t, "the return of second", r.is("second", pluginsdk.PluginServing))
}

// A plugin that was killed is back by itself, and a call that comes meanwhile
// waits for it.
func TestDeadPluginComesBack(t *testing.T) {
	h, r := start(t, "first")
	_ = r.edit("first", enable(true))
	r.until(t, "the start", r.is("first", pluginsdk.PluginServing))
	instance := h.Answering(pluginsdk.HookCommand)[0]
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
	_ = r.edit("first", func(p *pluginsdk.PluginInfo) {
		p.Enabled, p.Granted = true, []pluginsdk.Capability{pluginsdk.CapState}
	})
	r.until(t, "the start", r.is("first", pluginsdk.PluginServing))
	waitFor(t, func() bool { return h.Granted("first", pluginsdk.CapState) })
	_ = r.edit("first", func(p *pluginsdk.PluginInfo) { p.Granted, p.Problem = nil, "granted: not JSON" })
	h.Refresh()
	if unreadable(r.row("first"), "enabled") || !unreadable(pluginsdk.PluginInfo{Problem: "a: b; enabled: \"x\""}, "enabled") {
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
	_ = r.edit("first", enable(true))
	r.until(t, "the start", r.is("first", pluginsdk.PluginServing))
	instance := h.Answering(pluginsdk.HookCommand)[0]
	pid := func() (pid int) {
		_ = instance.Do(t.Context(), pluginsdk.HookCommand, "call", func(p *Process) error { pid = p.PID(); return nil })
		return pid
	}
	before := pid()
	_ = r.edit("first", func(p *pluginsdk.PluginInfo) { p.Settings = []byte(`{"a":1}`) })
	waitFor(t, func() bool { now := pid(); return now != 0 && now != before })
	if row := r.row("first"); row.Restarts != 0 || row.LastError != "" {
		t.Errorf("%+v", row)
	}
	_ = r.edit("first", func(p *pluginsdk.PluginInfo) { p.Settings, p.Problem, p.Enabled = nil, "settings: broken", false })
	r.until(t, "the end although the row is broken", r.is("first", pluginsdk.PluginDisabled))
}

// What the host asks by itself is supervised as the hooks of a run are.
func TestHostsOwnCallsAreSupervised(t *testing.T) {
	events := &bus{}
	_, r := startOn(t, events, "listens")
	_ = r.edit("listens", enable(true))
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
		_ = r.edit("listens", func(p *pluginsdk.PluginInfo) { p.Settings = []byte(`{"how":"` + how + `"}`) })
		r.until(t, how+" in OnSettingsChange: record and return", func() bool {
			row := r.row("listens")
			return row.State == pluginsdk.PluginServing && row.Failures > before.Failures && (!died || row.Restarts > before.Restarts)
		})
	}
	if err := events.send(t, "x:fine"); err != nil {
		t.Error(err)
	}
}

// waitFor polls for what only the host's own turn brings about.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatal("it did not come about")
		}
		<-time.After(time.Millisecond)
	}
}
