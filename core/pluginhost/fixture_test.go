package pluginhost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// registry is a Store in memory that wakes who waits for a change.
type registry struct {
	mu          sync.Mutex
	rows        []ledger.Plugin
	audit       []string
	changed     chan struct{}
	slow        atomic.Bool // what plugins say of themselves is not in the rows yet
	bugs        bugs
	accepts     atomic.Int64 // writes of accepted settings
	noAccepting atomic.Int64 // so many of these fail
	refuses     atomic.Int64 // so many writes of what is seen fail
	version     atomic.Int64 // that is told; 0: none is known
	reads       atomic.Int64
	asked       atomic.Int64 // for the version
}

// bugs are what panics, by name, the next n times that it is done.
type bugs struct{ left sync.Map }

func (b *bugs) add(name string, n int64) *atomic.Int64 {
	left := new(atomic.Int64)
	left.Store(n)
	b.left.Store(name, left)
	return left
}

func (b *bugs) step(name string) {
	if left, ok := b.left.Load(name); ok && left.(*atomic.Int64).Add(-1) >= 0 {
		panic("a bug")
	}
}

func newRegistry() *registry { return &registry{changed: make(chan struct{})} }

func (r *registry) Version(context.Context) (int64, bool) {
	version := r.version.Load()
	r.asked.Add(1)
	return version, version > 0
}

func (r *registry) Plugins(context.Context) ([]ledger.Plugin, error) {
	r.reads.Add(1)
	r.bugs.step("read")
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := slices.Clone(r.rows)
	slices.SortFunc(rows, func(a, b ledger.Plugin) int { return a.Position - b.Position })
	return rows, nil
}

func (r *registry) RegisterPlugin(_ context.Context, info ledger.Plugin) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range r.rows {
		if r.rows[n].Name == info.Name {
			r.rows[n].Origin, r.rows[n].Path, r.rows[n].SHA256 = info.Origin, info.Path, info.SHA256
			return nil
		}
	}
	r.rows = append(r.rows, info)
	return nil
}

// edit changes a row as an operator, or the host, does.
func (r *registry) edit(name string, change func(*ledger.Plugin)) error {
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
	if r.slow.Load() {
		return nil
	}
	return r.edit(name, func(p *ledger.Plugin) { p.Manifest = m })
}

func (r *registry) SavePluginSeen(_ context.Context, name string, seen ledger.PluginSeen) error {
	r.bugs.step("state " + string(seen.State))
	if r.refuses.Add(-1) >= 0 {
		return errors.New("the disk is full")
	}
	return r.edit(name, func(p *ledger.Plugin) {
		p.State, p.LastError, p.LastErrorAt, p.Restarts = seen.State, seen.LastError, seen.LastErrorAt, seen.Restarts
		p.Settled, p.Serving, p.Rejected, p.Refused = seen.Settled, seen.Serving, seen.Rejected, seen.Refused
	})
}

func (r *registry) SavePluginAccepted(_ context.Context, name string, accepted ledger.AcceptedSettings) error {
	if r.noAccepting.Add(-1) >= 0 {
		return errors.New("the disk is full")
	}
	r.accepts.Add(1)
	raw, err := json.Marshal(accepted)
	if err != nil {
		return err
	}
	return r.edit(name, func(p *ledger.Plugin) { p.Accepted = raw })
}

func (r *registry) SetPluginQuarantine(_ context.Context, name, reason string) error {
	return r.edit(name, func(p *ledger.Plugin) { p.Quarantine = reason })
}

func (r *registry) EditPlugin(ctx context.Context, name, who, action string, edit func(*ledger.Plugin) (string, error)) error {
	var detail string
	var failed error
	_ = r.edit(name, func(p *ledger.Plugin) {
		changed := *p
		if detail, failed = edit(&changed); failed == nil {
			*p = changed
		}
	})
	if failed != nil {
		return failed
	}
	return r.Audit(ctx, who, action, name, detail)
}

func (r *registry) SavePluginFigures(_ context.Context, name string, figures pluginsdk.PluginFigures) error {
	return r.edit(name, func(p *ledger.Plugin) { p.Figures = figures })
}

func (r *registry) SavePluginChecks(_ context.Context, name string, checks []pluginsdk.Check) error {
	return r.edit(name, func(p *ledger.Plugin) { p.Checks, p.CheckedAt = checks, time.Now() })
}

func (r *registry) Audit(_ context.Context, who, action, target, detail string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.audit = append(r.audit, strings.Join([]string{who, action, target, detail}, " "))
	return nil
}

func (r *registry) AddPluginFailures(_ context.Context, name string, n int64) error {
	return r.edit(name, func(p *ledger.Plugin) { p.Failures += n })
}

func (r *registry) row(name string) ledger.Plugin {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range r.rows {
		if row.Name == name {
			return row
		}
	}
	return ledger.Plugin{}
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
	changed func(pluginsdk.PluginStatePayload) // told of each state of a plugin, when set
	mu      sync.Mutex
	deliver func(context.Context, []pluginsdk.Event) error
	at      pluginsdk.Position   // of the newest event
	ended   pluginsdk.Position   // where a subscriber ends
	began   []pluginsdk.Position // where they began
	tells   []Telling            // what they are told
	bugs    bugs
}

func (b *bus) Publish(_ pluginsdk.EventType, _ string, payload any) {
	if change, ok := payload.(pluginsdk.PluginStatePayload); ok && b.changed != nil {
		b.changed(change)
	}
}

func (b *bus) Position() pluginsdk.Position {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at
}

func (b *bus) Subscribe(_ string, tells Telling, after pluginsdk.Position,
	deliver func(context.Context, []pluginsdk.Event) error,
) Subscription {
	b.bugs.step("subscribe")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deliver = deliver
	b.began = append(b.began, after)
	b.tells = append(b.tells, tells)
	return &subscription{b, len(b.tells) - 1}
}

// subscription is one of a bus's, by its number.
type subscription struct {
	bus *bus
	n   int
}

func (s *subscription) Listen(rules []pluginsdk.EventRule) pluginsdk.Position {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.bus.tells[s.n].Rules = rules
	return s.bus.at
}

func (s *subscription) Stop() pluginsdk.Position {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	return s.bus.ended
}

// told returns what the subscribers are told, in the order in which they began.
func (b *bus) told() []Telling {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.tells)
}

// stands sets where the stream stands, and where a subscriber ends.
func (b *bus) stands(at, ended uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at, b.ended = pluginsdk.Position{Boot: "b", Seq: at}, pluginsdk.Position{Boot: "b", Seq: ended}
}

func (b *bus) send(t *testing.T, kind string) error {
	b.mu.Lock()
	deliver := b.deliver
	b.mu.Unlock()
	return deliver(t.Context(), []pluginsdk.Event{{Type: pluginsdk.EventType(kind), Boot: "b", Seq: 1}})
}

// nobody is an API that admits everything, and serves nothing but a plugin's own settings.
type nobody struct{ host *Host }

func (n nobody) For(plugin string, listen func([]pluginsdk.EventRule) (pluginsdk.Position, error)) pluginsdk.Host {
	return pluginsdk.Host{Settings: ownSettings{n.host, plugin}, Events: listens{listen: listen}}
}

// listens lets a process say by which rules it is told events.
type listens struct {
	pluginsdk.Events

	listen func([]pluginsdk.EventRule) (pluginsdk.Position, error)
}

func (l listens) Listen(_ context.Context, request *pluginsdk.ListenEventsRequest) (*pluginsdk.ListenEventsResponse, error) {
	position, err := l.listen(request.Rules)
	return &pluginsdk.ListenEventsResponse{Position: position}, err
}

type ownSettings struct {
	host   *Host
	plugin string
}

func (o ownSettings) Get(context.Context, *pluginsdk.GetSettingsRequest) (*pluginsdk.GetSettingsResponse, error) {
	settings, _ := o.host.SettingsOf(o.plugin)
	return &pluginsdk.GetSettingsResponse{Settings: settings}, nil
}

func (nobody) Admit(context.Context, string, pluginsdk.Capability) error { return nil }

func start(t *testing.T, names ...string) (*Host, *registry) {
	t.Helper()
	return startOn(t, Config{}, &bus{}, names...)
}

// startOn starts a host whose directory has the named plugins, in the version
// 1.0.0.
func startOn(t *testing.T, config Config, events *bus, names ...string) (*Host, *registry) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "version-1.0.0")
	for _, name := range names {
		binary(t, dir, name)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("not a plugin"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRegistry()
	config.Dir, config.Owner, config.Logs = dir, "test", filepath.Join(filepath.Dir(dir), "logs")
	config.Poll, config.BackoffBase, config.BackoffMax = 5*time.Millisecond, 5*time.Millisecond, 20*time.Millisecond
	config.LateGrace, config.Watch = cmp.Or(config.LateGrace, 20*time.Millisecond), cmp.Or(config.Watch, 20*time.Millisecond)
	if config.Failures == 0 {
		config.Failures = 1000
	}
	h := New(config, r, events, nobody{})
	h.api = nobody{h}
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

// binary makes a plugin's executable in a directory.
func binary(t *testing.T, dir, name string) (path string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, name)
	if err := os.Symlink(partsFile, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// serving enables a plugin and returns its instance once it serves.
func serving(t *testing.T, h *Host, r *registry, name string) *Instance {
	t.Helper()
	_ = r.edit(name, enable(true))
	r.until(t, "the start of "+name, r.is(name, pluginsdk.PluginServing))
	waitFor(t, func() bool {
		return slices.Contains(answering(h), name)
	})
	instance, _ := h.current.Load(name)
	return instance.(*Instance)
}

// enable turns a plugin on or off. One that has no grants is given those that hooks need.
func enable(on bool) func(*ledger.Plugin) {
	return func(p *ledger.Plugin) {
		if p.Enabled = on; on && p.Granted == nil {
			p.Granted = hooksNeed()
		}
	}
}

// hooksNeed returns the capabilities that hooks need.
func hooksNeed() (all []pluginsdk.Capability) {
	for _, spec := range pluginsdk.Hooks() {
		if spec.Capability != "" && !slices.Contains(all, spec.Capability) {
			all = append(all, spec.Capability)
		}
	}
	return all
}

// answering names the plugins that are asked about commands, in order.
func answering(h *Host) (names []string) {
	for _, plugin := range h.Answering("", pluginsdk.HookCommand) {
		names = append(names, plugin.Info().Name)
	}
	return names
}

func say(t *testing.T, i *Instance, body string) (reply string, err error) {
	t.Helper()
	return sayIn(t, i, "", body)
}

func sayIn(t *testing.T, i *Instance, run, body string) (reply string, err error) {
	t.Helper()
	err = i.Do(t.Context(), run, pluginsdk.HookCommand, "call", func(p *launch.Plugin) error {
		result, err := p.OnCommand(t.Context(), &pluginsdk.OnCommandRequest{Name: "say-" + i.name, Body: body})
		if err == nil {
			reply = result.Reply
		}
		return err
	})
	return reply, err
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
