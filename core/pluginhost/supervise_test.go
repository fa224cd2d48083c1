package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// barrier holds up the verification of a version until it is opened.
type barrier struct {
	version string
	entered chan struct{}
	open    chan struct{}
	once    sync.Once
}

func newBarrier(version string) *barrier {
	return &barrier{version: version, entered: make(chan struct{}), open: make(chan struct{})}
}

func (b *barrier) verify(ctx context.Context, row ledger.Plugin) error {
	if !strings.Contains(row.Path, b.version) {
		return nil
	}
	b.once.Do(func() { close(b.entered) })
	select {
	case <-b.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// handedOver returns an instance whose run R keeps to a version that was
// replaced, and that version.
func handedOver(t *testing.T, config Config) (*Host, *Instance, *version) {
	t.Helper()
	h, r := startOn(t, config, &bus{}, "first")
	i := serving(t, h, r, "first")
	h.Hold("R")
	if !is(t, i, "R", "1.0.0")() {
		t.Fatal("the first version does not answer")
	}
	upgraded(t, r, "first", "2.0.0")
	waitFor(t, is(t, i, "", "2.0.0"))
	i.router.mu.Lock()
	defer i.router.mu.Unlock()
	return h, i, i.router.kept["R"]
}

// What was replaced may still serve for minutes: it must not eat the machine
// meanwhile, nor hold its runs for ever.
func TestAReplacedVersionAtFaultIsEnded(t *testing.T) {
	for _, how := range []string{"eat", "stop"} {
		t.Run(how, func(t *testing.T) {
			_, i, old := handedOver(t, Config{Limits: pluginsdk.PluginLimits{MemoryBytes: 120 << 20}})
			_ = i.Do(t.Context(), "R", pluginsdk.HookCommand, "c", func(p *Process) error {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				_, err := p.OnCommand(ctx, &pluginsdk.OnCommandRequest{Name: "say-first", Body: how})
				return err
			})
			<-old.process.Done()
			waitFor(t, is(t, i, "R", "2.0.0"))
		})
	}
}

// A plugin that dies while its successor is being brought up is started again
// like any other: a gate is waited for.
func TestADeathDuringAReplacementIsNoticed(t *testing.T) {
	hold := newBarrier("2.0.0")
	h, r := startOn(t, Config{Verify: hold.verify}, &bus{}, "gate")
	i := serving(t, h, r, "gate")
	upgraded(t, r, "gate", "2.0.0")
	<-hold.entered
	if _, err := say(t, i, "die"); err == nil {
		t.Fatal("it survived")
	}
	close(hold.open)
	err := i.Do(t.Context(), "R", pluginsdk.HookBeforeRun, "c", func(*Process) error { return nil })
	if err != nil {
		t.Errorf("the gate was not waited for: %s", err)
	}
	waitFor(t, is(t, i, "", "2.0.0"))
}

// A token that is changed in mid-upgrade must not stay the old one.
func TestSettingsThatChangeDuringAReplacementHold(t *testing.T) {
	hold := newBarrier("2.0.0")
	h, r := startOn(t, Config{Verify: hold.verify}, &bus{}, "listens")
	_ = r.edit("listens", func(p *ledger.Plugin) { p.Settings = []byte(`{"a":1}`) })
	i := serving(t, h, r, "listens")
	upgraded(t, r, "listens", "2.0.0")
	<-hold.entered
	_ = r.edit("listens", func(p *ledger.Plugin) { p.Settings = []byte(`{"a":2}`) })
	inForce := func() bool { s, _ := h.SettingsOf("listens"); return string(s) == `{"a":2}` }
	waitFor(t, inForce)
	close(hold.open)
	waitFor(t, is(t, i, "", "2.0.0"))
	waitFor(t, func() bool { return !i.router.current().notOffered(i.row.Load()) && inForce() })
}

// A variable that was revoked is taken away, although the first try to do so
// failed for a reason that has passed.
func TestAReplacementIsTriedAgain(t *testing.T) {
	t.Setenv("PLUGINHOST_TEST_ASKED", "sesame")
	var away atomic.Bool
	h, r := startOn(t, Config{Settings: func(_ context.Context, row ledger.Plugin) (Settings, error) {
		if away.Swap(false) {
			return Settings{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away for a moment")
		}
		return Settings{Values: row.Settings}, nil
	}}, &bus{}, "first")
	_ = r.edit("first", func(p *ledger.Plugin) { p.GrantedEnv = []string{"PLUGINHOST_TEST_ASKED"} })
	i := serving(t, h, r, "first")
	has := func() bool { env, _ := say(t, i, "environment"); return strings.Contains(env, "sesame") }
	waitFor(t, has)
	away.Store(true)
	_ = r.edit("first", func(p *ledger.Plugin) { p.GrantedEnv = []string{} })
	waitFor(t, func() bool { return !away.Load() && !has() })
	if row := r.row("first"); row.Restarts != 0 {
		t.Errorf("the database's absence counts against the plugin: %+v", row)
	}
}

// A plugin that is turned off while calls time out must not take the daemon with
// it.
func TestCallsThatAreLateAtTheEndAreHarmless(t *testing.T) {
	for range 5 {
		h, r := startOn(t, Config{StopTimeout: 30 * time.Millisecond}, &bus{}, "first")
		i := serving(t, h, r, "first")
		var callers sync.WaitGroup
		for n := range 32 {
			callers.Go(func() {
				_ = i.Do(context.Background(), "", pluginsdk.HookCommand, fmt.Sprint(n), func(*Process) error {
					<-i.supervisor.done
					return pluginsdk.Errorf(pluginsdk.CodeDeadline, "late: %w", context.DeadlineExceeded)
				})
			})
		}
		waitFor(t, func() bool {
			i.router.mu.Lock()
			defer i.router.mu.Unlock()
			return i.router.serving != nil && i.router.serving.calls == 32
		})
		_ = r.edit("first", enable(false))
		callers.Wait()
		<-i.gone
	}
}

// A plugin that says promptly that something took too long has answered: nobody
// else may be made to do without it.
func TestAPluginsOwnTimeoutIsAnAnswer(t *testing.T) {
	h, r := start(t, "first")
	i := serving(t, h, r, "first")
	for _, code := range []pluginsdk.Code{pluginsdk.CodeDeadline, pluginsdk.CodeCancelled} {
		err := i.Do(t.Context(), "", pluginsdk.HookMessage, "c", func(*Process) error {
			return pluginsdk.Errorf(code, "my database did not answer")
		})
		if err == nil || !strings.Contains(err.Error(), "my database") {
			t.Errorf("its words become %v", err)
		}
		if err := i.Do(t.Context(), "", pluginsdk.HookBeforeInvoke, "d", func(*Process) error { return nil }); err != nil {
			t.Errorf("after %s it is passed over: %s", code, err)
		}
	}
}

// After a restart the first call may be a tool's, which can take ten minutes.
func TestALongCallKeepsNobodyFromAPluginOnTrial(t *testing.T) {
	h, r := start(t, "first")
	i := serving(t, h, r, "first")
	_, _ = say(t, i, "die")
	r.until(t, "the return", func() bool {
		row := r.row("first")
		return row.Restarts == 1 && row.State == pluginsdk.PluginServing
	})
	err := i.Do(t.Context(), "", pluginsdk.HookCallTool, "tool", func(*Process) error {
		return i.Do(t.Context(), "", pluginsdk.HookBeforeInvoke, "c", func(*Process) error { return nil })
	})
	if err != nil {
		t.Errorf("passed over: %s", err)
	}
}

// A call that comes after the end of its run must not hold up every upgrade.
func TestARunThatIsOverKeepsToNothing(t *testing.T) {
	h, r := start(t, "first")
	i := serving(t, h, r, "first")
	h.Hold("R")
	h.Release("R")
	if _, err := sayIn(t, i, "R", ""); err != nil {
		t.Fatal(err)
	}
	i.router.mu.Lock()
	defer i.router.mu.Unlock()
	if len(i.router.kept) != 0 || i.router.serving.runs != 0 {
		t.Errorf("%d pins, %d runs", len(i.router.kept), i.router.serving.runs)
	}
}

// unwilling is a registry that takes no quarantine for a while.
type unwilling struct {
	*registry
	refuse atomic.Bool
}

func (u *unwilling) SetPluginQuarantine(ctx context.Context, name, reason string) error {
	if u.refuse.Load() {
		return errors.New("the database is away")
	}
	return u.registry.SetPluginQuarantine(ctx, name, reason)
}

func TestAQuarantineThatCannotBeStoredHolds(t *testing.T) {
	r := &unwilling{registry: newRegistry()}
	r.refuse.Store(true)
	dir := t.TempDir() + "/version-1.0.0"
	binary(t, dir, "dies")
	h := New(Config{
		Dir: dir, Owner: "test", Poll: 5 * time.Millisecond, BackoffBase: time.Millisecond, BackoffMax: 5 * time.Millisecond, Failures: 2,
	}, r, &bus{}, nobody{})
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Stop(context.Background()) })
	_ = r.edit("dies", enable(true))
	r.until(t, "the quarantine", r.is("dies", pluginsdk.PluginQuarantined))
	readings := h.readings.Load()
	waitFor(t, func() bool { return h.readings.Load() > readings+20 })
	if row := r.row("dies"); row.Restarts != 2 || row.Quarantine != "" {
		t.Errorf("%d restarts, quarantine %q", row.Restarts, row.Quarantine)
	}
	r.refuse.Store(false)
	r.until(t, "the word in the row", func() bool { return r.row("dies").Quarantine != "" })
}
