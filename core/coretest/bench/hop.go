package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/bench/bare"
	"github.com/seed-706843ae/harness/core/coretest/bench/subject"
	"github.com/seed-706843ae/harness/core/events"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/hostapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// hopAim is how many times as long as a bare call a hook may take, at p50.
const hopAim = 1.25

// hop compares a hook, as the pipeline calls it (run kept to its version, token,
// deadline, figures, grants), with a bare call of go-plugin over the same kind of
// connection. The calls take turns.
func (b *bench) hop() (err error) {
	dir, err := os.MkdirTemp("", "harness-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plugins := filepath.Join(dir, "plugins")
	path, err := buildSubject(plugins, subjectName, "1.0.0")
	if err != nil {
		return err
	}
	link := filepath.Join(dir, bare.Name)
	if err := os.Symlink(path, link); err != nil {
		return err
	}
	without, err := bare.Start(link)
	if err != nil {
		return err
	}
	defer without.Stop()
	with, err := startRig(dir, plugins)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, with.stop()) }()
	ctx, plain := context.Background(), strings.Repeat("x", 1<<10)
	asking := subject.AskHost + plain[len(subject.AskHost):]
	return b.takeTurns([]hopKind{
		{"bare call", func() error { return without.Echo(ctx, plain) }},
		{"hook", func() error { return with.hook(ctx, plain) }},
		{"bare call that calls back", func() error { return without.Ask(ctx, plain) }},
		{"hook with a Host call", func() error { return with.hook(ctx, asking) }},
	})
}

type hopKind struct {
	name string
	call func() error
}

// takeTurns makes each call as often as the others, and prints pairs of a bare
// one and the hook to compare it with.
func (b *bench) takeTurns(kinds []hopKind) error {
	times := make([][]time.Duration, len(kinds))
	for n := range b.calls + b.calls/10 {
		for i, kind := range kinds {
			began := time.Now()
			if err := kind.call(); err != nil {
				return fmt.Errorf("%s: %w", kind.name, err)
			}
			if n >= b.calls/10 { // the first ones warm up
				times[i] = append(times[i], time.Since(began))
			}
		}
	}
	for i := 0; i < len(kinds); i += 2 {
		bare, hook := quantile(times[i], 0.5), quantile(times[i+1], 0.5)
		if i == 0 {
			b.note(figureHop, ms(hook), "ms")
		}
		for k := range 2 {
			b.row(kinds[i+k].name+", 1 KB", "p50 %v, p90 %v, p99 %v (n=%d)", fine(quantile(times[i+k], 0.5)),
				fine(quantile(times[i+k], 0.9)), fine(quantile(times[i+k], 0.99)), len(times[i+k]))
		}
		b.row(kinds[i+1].name+" beside the "+kinds[i].name, "p50 x%.2f (aim x%.2f)", float64(hook)/float64(bare), hopAim)
	}
	return nil
}

func fine(d time.Duration) time.Duration { return d.Round(100 * time.Nanosecond) }

// rig is a plugin host with one plugin, with the API that plugins are given and
// the tokens of their calls: what the daemon has between a run and a plugin.
type rig struct {
	store  *store.Store
	host   *pluginhost.Host
	hooks  *hooks.Runner
	tokens *hostapi.Tokens
	call   int
}

func startRig(dir, plugins string) (r *rig, err error) {
	ctx := context.Background()
	r = &rig{tokens: hostapi.NewTokens()}
	if r.store, err = store.Open(ctx, store.Config{Dir: dir}); err != nil {
		return nil, err
	}
	bus := events.New(events.Config{})
	door := &rigDoor{}
	r.host = pluginhost.New(pluginhost.Config{Dir: plugins, Owner: "bench", Logs: filepath.Join(dir, "logs")}, r.store, rigBus{bus}, door)
	log := slog.New(slog.DiscardHandler)
	door.api = hostapi.New(hostapi.Config{
		Store: rigStore{r.store}, Events: rigEvents{bus}, Grants: r.host, Tokens: r.tokens, Log: log,
		Quotas: hostapi.NewQuotas(hostapi.QuotaConfig{Limits: r.limits, StoredBytes: r.store.StoredBytes, Log: log}),
	})
	r.hooks = hooks.New(hooks.Config{}, r.host, r.tokens)
	if err := r.host.Start(ctx); err != nil {
		return nil, errors.Join(err, r.store.Close())
	}
	err = errors.Join(
		r.store.SetPluginGrants(ctx, subjectName, []pluginsdk.Capability{pluginsdk.CapThreadsRead, pluginsdk.CapTurnsChange}, nil),
		r.store.SetPluginEnabled(ctx, subjectName, true))
	r.host.Refresh()
	for deadline := time.Now().Add(30 * time.Second); err == nil && len(r.host.Answering("", pluginsdk.HookBeforeInvoke)) == 0; {
		if time.Now().After(deadline) {
			err = errors.New("the subject does not serve")
		}
		<-time.After(time.Millisecond)
	}
	if err != nil {
		return nil, errors.Join(err, r.stop())
	}
	return r, nil
}

func (r *rig) stop() error { return errors.Join(r.host.Stop(context.Background()), r.store.Close()) }

// limits let the subject call as often as it is measured.
func (*rig) limits(string) pluginsdk.PluginLimits { return pluginsdk.PluginLimits{CallsPerMinute: -1} }

// hook is one hook of one run, as the pipeline fires it.
func (r *rig) hook(ctx context.Context, text string) error {
	r.call++
	run := fmt.Sprintf("0199a1b2-run-%d", r.call)
	defer r.host.Release(run)
	thread := pluginsdk.Thread{ID: "0199a1b2-thread", Source: "web"}
	on := &hooks.Occasion{Behalf: ledger.Behalf{RunID: run, Attempt: 1}, Call: pluginsdk.Call{ID: run, RunID: run, Attempt: 1}}
	return hooks.Notify(ctx, r.hooks, on, hooks.Question[pluginsdk.OnBeforeInvokeRequest, pluginsdk.OnBeforeInvokeResponse]{
		Hook: pluginsdk.HookBeforeInvoke, Ask: hooks.Process.OnBeforeInvoke,
		Request: func(call pluginsdk.Call, _ *pluginsdk.PluginInfo) *pluginsdk.OnBeforeInvokeRequest {
			return &pluginsdk.OnBeforeInvokeRequest{
				Call: call, Thread: thread, Message: pluginsdk.Message{ID: 1, ThreadID: thread.ID, RunID: run}, Prompt: text,
			}
		},
	}, nil)
}

// rigStore answers from memory what the subject asks, so that no database is
// measured.
type rigStore struct{ *store.Store }

func (rigStore) Thread(_ context.Context, id string) (pluginsdk.Thread, error) {
	return pluginsdk.Thread{ID: id, Source: "web", Name: "bench"}, nil
}

type rigBus struct{ *events.Bus }

func (b rigBus) Subscribe(name string, tells pluginhost.Telling, after pluginsdk.Position,
	deliver func(context.Context, []pluginsdk.Event) error,
) pluginhost.Subscription {
	return b.Bus.Subscribe(name, events.Selection(tells), after, deliver)
}

// rigEvents is the bus as the API sees it.
type rigEvents struct{ *events.Bus }

func (b rigEvents) Subscribe(name string, types []string, after pluginsdk.Position,
	deliver func(context.Context, []pluginsdk.Event) error,
) (stop func() pluginsdk.Position) {
	return b.Bus.Subscribe(name, events.Selection{Types: types}, after, deliver).Stop
}

// rigDoor is the API as the plugin host sees it.
type rigDoor struct{ api *hostapi.API }

func (d *rigDoor) For(plugin string, listen func(rules []pluginsdk.EventRule) (pluginsdk.Position, error)) pluginsdk.Host {
	return d.api.ForProcess(plugin, listen)
}

func (d *rigDoor) Admit(ctx context.Context, plugin string, capability pluginsdk.Capability) error {
	return d.api.Admit(ctx, plugin, capability)
}
