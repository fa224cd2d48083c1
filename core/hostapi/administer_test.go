package hostapi

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// bureau is a Registry that plans what it is asked for, and remembers what was done.
type bureau struct {
	Registry
	digest    string        // of every plan
	entered   chan struct{} // told when something is planned or followed; nil: nobody is
	leave     chan struct{} // waited for then
	done      []string
	discarded int
}

func (b *bureau) wait() {
	if b.entered != nil {
		b.entered <- struct{}{}
		<-b.leave
	}
}

func (b *bureau) plan(by, what string) (Planned, error) {
	b.wait()
	return Planned{
		Plan: pluginsdk.PluginPlan{Digest: b.digest, Name: what},
		Do: func(context.Context) (Decided, error) {
			b.done = append(b.done, by+" "+what)
			return Decided{Plugin: ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: what}}}, nil
		},
		Discard: func() error { b.discarded++; return nil },
	}, nil
}

func (b *bureau) Install(_ context.Context, by string, _ pluginsdk.InstallPluginRequest) (Planned, error) {
	return b.plan(by, "install")
}

func (b *bureau) Upgrade(_ context.Context, by string, request pluginsdk.UpgradePluginRequest) (Planned, error) {
	return b.plan(by, "upgrade "+request.Name)
}

func (b *bureau) Rollback(_ context.Context, by string, request pluginsdk.RollbackPluginRequest) (Planned, error) {
	return b.plan(by, "rollback "+request.Name)
}

func (b *bureau) Remove(_ context.Context, by string, request pluginsdk.RemovePluginRequest) (Planned, error) {
	return b.plan(by, "remove "+request.Name)
}

func (b *bureau) Order(_ context.Context, by string, request pluginsdk.OrderPluginsRequest) ([]string, error) {
	b.done = append(b.done, fmt.Sprintf("%s order %+v", by, request))
	return []string{"a", "b"}, nil
}

func (b *bureau) Follow(context.Context, string) (ledger.Plugin, pluginsdk.PluginStanding, error) {
	b.wait()
	return ledger.Plugin{}, pluginsdk.StandingServes, nil
}

func newBureau() (*fixture, *bureau) {
	f, b := newFixture(), &bureau{digest: "shown"}
	f.api.Registry = b
	return f, b
}

// A person has said yes to what they were shown. Without their word nothing is done, nor
// when it would be something else by now.
func TestNothingIsDoneButWhatWasShown(t *testing.T) {
	f, b := newBureau()
	ctx := t.Context()
	asks := map[string]func(digest string) (pluginsdk.PluginPlan, *pluginsdk.PluginOutcome, error){
		"install": func(digest string) (pluginsdk.PluginPlan, *pluginsdk.PluginOutcome, error) {
			r, err := f.Plugins.Install(ctx, &pluginsdk.InstallPluginRequest{Digest: digest})
			if err != nil {
				return pluginsdk.PluginPlan{}, nil, err
			}
			return r.Plan, r.Outcome, nil
		},
		"upgrade clock": func(digest string) (pluginsdk.PluginPlan, *pluginsdk.PluginOutcome, error) {
			r, err := f.Plugins.Upgrade(ctx, &pluginsdk.UpgradePluginRequest{Name: "clock", Digest: digest})
			if err != nil {
				return pluginsdk.PluginPlan{}, nil, err
			}
			return r.Plan, r.Outcome, nil
		},
		"rollback clock": func(digest string) (pluginsdk.PluginPlan, *pluginsdk.PluginOutcome, error) {
			r, err := f.Plugins.Rollback(ctx, &pluginsdk.RollbackPluginRequest{Name: "clock", Digest: digest})
			if err != nil {
				return pluginsdk.PluginPlan{}, nil, err
			}
			return r.Plan, r.Outcome, nil
		},
		"remove clock": func(digest string) (pluginsdk.PluginPlan, *pluginsdk.PluginOutcome, error) {
			r, err := f.Plugins.Remove(ctx, &pluginsdk.RemovePluginRequest{Name: "clock", Digest: digest})
			if err != nil {
				return pluginsdk.PluginPlan{}, nil, err
			}
			return r.Plan, r.Outcome, nil
		},
	}
	for what, ask := range asks {
		b.done, b.discarded = nil, 0
		plan, outcome, err := ask("")
		if err != nil || plan.Name != what || outcome != nil || len(b.done) > 0 {
			t.Errorf("%s, planned: %+v %+v %v; done %v", what, plan, outcome, err, b.done)
		}
		_, _, err = ask("another")
		refused(t, what+" with another digest", err, pluginsdk.CodeStale, "plan it again")
		if len(b.done) > 0 {
			t.Errorf("%s: %v was done, to which nobody has agreed", what, b.done)
		}
		plan, outcome, err = ask(plan.Digest)
		if err != nil || plan.Name != what || outcome == nil || outcome.Plugin.Name != what || !slices.Equal(b.done, []string{"p " + what}) {
			t.Errorf("%s: %+v %+v %v; done %v", what, plan, outcome, err, b.done)
		}
		if b.discarded != 3 {
			t.Errorf("%s: what was read was discarded %d times of 3", what, b.discarded)
		}
	}
}

// Packages are large. A plugin that sends many at once, or lets many calls wait, must not
// fill the disk or the memory.
func TestPackagesAndFollowersAreBounded(t *testing.T) {
	f, b := newBureau()
	ctx := t.Context()
	b.entered, b.leave = make(chan struct{}), make(chan struct{})
	first := make(chan error)
	go func() { first <- second(f.Plugins.Install(ctx, &pluginsdk.InstallPluginRequest{})) }()
	<-b.entered
	refused(t, "a second package", second(f.Plugins.Upgrade(ctx, &pluginsdk.UpgradePluginRequest{Name: "x"})), pluginsdk.CodeUnavailable, "try again")
	back := make(chan error)
	rollback := func(ctx context.Context) error {
		return second(f.Plugins.Rollback(ctx, &pluginsdk.RollbackPluginRequest{Name: "x"}))
	}
	go func() { back <- rollback(ctx) }()
	gone, leave := context.WithCancel(ctx)
	leave()
	refused(t, "a rollback whose caller has left", rollback(gone), pluginsdk.CodeUnavailable, "try again")
	b.leave <- struct{}{}
	if err := <-first; err != nil {
		t.Error(err)
	}
	<-b.entered
	b.leave <- struct{}{}
	if err := <-back; err != nil {
		t.Errorf("a rollback beside another package: %v", err)
	}
	follow := func() error { return second(f.Plugins.Follow(ctx, &pluginsdk.FollowPluginRequest{Name: "x"})) }
	ended := make(chan error, maxFollowers)
	for range maxFollowers {
		go func() { ended <- follow() }()
		<-b.entered
	}
	refused(t, "one more who follows", follow(), pluginsdk.CodeExhausted, "try again")
	close(b.leave)
	for range maxFollowers {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// What is said by halves would put a plugin in a place that nobody meant.
func TestAnOrderSaysWhatIsMeant(t *testing.T) {
	f, b := newBureau()
	for _, request := range []pluginsdk.OrderPluginsRequest{
		{}, {Name: "a"}, {Name: "a", Before: "b", After: "c"}, {Name: "a", Before: "b", Names: []string{"c"}}, {Before: "b"}, {Names: []string{"a"}, After: "b"},
	} {
		refused(t, fmt.Sprintf("%+v", request), second(f.Plugins.Order(t.Context(), &request)), pluginsdk.CodeInvalid, "either name")
	}
	for _, request := range []pluginsdk.OrderPluginsRequest{{Name: "a", Before: "b"}, {Name: "a", After: "b"}, {Names: []string{"a", "b"}}} {
		if order, err := f.Plugins.Order(t.Context(), &request); err != nil || len(order.Order) != 2 {
			t.Errorf("%+v: %+v %v", request, order, err)
		}
	}
	if len(b.done) != 3 {
		t.Errorf("done: %v", b.done)
	}
}
