package pluginhost

import (
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// directed is a router whose plugin declares the hooks, of which OnBeforeRun must not be
// passed over, with a version that serves, or none.
func directed(serves bool, state standing, hooks ...pluginsdk.Hook) (*router, *version) {
	info := &pluginsdk.PluginInfo{Name: "p", Manifest: pluginsdk.Manifest{Name: "p", Hooks: hooks}, Granted: hooksNeed()}
	r := &router{
		name: "p", first: true, patience: time.Minute, info: func() *pluginsdk.PluginInfo { return info },
		held:  func(run string) bool { return run == "R" },
		words: func() string { return "the last words" },
		tried: make(chan struct{}), changed: make(chan struct{}), kept: make(map[string]*version),
	}
	v := newVersion(rowOf("p"))
	v.manifest, v.gone = info.Manifest, make(chan struct{})
	if serves {
		r.stand(v, state)
	} else {
		r.stand(nil, state)
	}
	return r, v
}

// Each call goes to the version that serves, or its caller is told why it does not: what
// a run can do without is not waited for, what it cannot is.
func TestWhichVersionAnswersOrWhyNoneDoes(t *testing.T) {
	const open, closed, undeclared = pluginsdk.HookMessage, pluginsdk.HookBeforeRun, pluginsdk.HookBeforeReply
	in := func(state pluginsdk.PluginState) standing { return standing{state: state} }
	revoked := func(r *router, _ *version) { r.info().Granted = nil }
	long := time.Now().Add(-time.Hour)
	for _, row := range []struct {
		name   string
		serves bool
		state  standing
		begins func(*router, *version)
		asked  question
		why    reason
	}{
		{"it serves", true, in(pluginsdk.PluginServing), nil, question{hook: open}, ""},
		{"a run asks", true, in(pluginsdk.PluginServing), nil, question{hook: open, listing: true}, ""},
		{"a run asks for what it does not have", true, in(pluginsdk.PluginServing), nil, question{hook: undeclared, listing: true}, whyUndeclared},
		{"a run asks for what it was not granted", true, in(pluginsdk.PluginServing), revoked, question{hook: open, listing: true}, whyNotGranted},
		{"a run asks for a gate that it was not granted", true, in(pluginsdk.PluginServing), revoked, question{hook: closed, listing: true}, whyNotGranted},
		{"it was not granted", true, in(pluginsdk.PluginServing), revoked, question{hook: closed}, whyNotGranted},
		{"it was not granted, and the run keeps to it", true, in(pluginsdk.PluginServing),
			func(r *router, v *version) {
				_ = r.asks("R", open)
				revoked(r, v)
			}, question{run: "R", hook: open}, whyNotGranted},
		{"its first start is under way", true, in(pluginsdk.PluginStarting),
			func(r *router, _ *version) {
				r.first = false
				r.info().OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{closed: pluginsdk.FailOpen}
			}, question{hook: open, listing: true}, whyTooNew},
		{"its first start is under way, and it is a gate", false, standing{state: pluginsdk.PluginStarting, try: long},
			func(r *router, _ *version) { r.first = false }, question{hook: closed, listing: true}, whySoon},
		{"in quarantine, a run asks", false, in(pluginsdk.PluginQuarantined), nil, question{hook: open, listing: true}, whyPassedOver},
		{"in quarantine, a run asks the gate", false, in(pluginsdk.PluginQuarantined), nil, question{hook: closed, listing: true}, whyDown},
		{"in quarantine", false, in(pluginsdk.PluginQuarantined), nil, question{hook: closed}, whyDown},
		{"it has just begun to start", false, standing{state: pluginsdk.PluginStarting, try: time.Now()}, nil, question{hook: open}, whySoon},
		{"it starts for long", false, standing{state: pluginsdk.PluginStarting, try: long}, nil, question{hook: open}, whyDown},
		{"it starts for long, and is a gate", false, standing{state: pluginsdk.PluginStarting, try: long}, nil, question{hook: closed}, whySoon},
		{"it failed again", false, standing{state: pluginsdk.PluginStarting, try: time.Now(), inARow: 2}, nil, question{hook: open}, whyDown},
		{"it waits", false, standing{state: pluginsdk.PluginBackoff, try: time.Now()}, nil, question{hook: open}, whyDown},
		{"the gate waits", false, standing{state: pluginsdk.PluginBackoff, try: time.Now()}, nil, question{hook: closed}, whySoon},
		{"the gate waits for long", false, standing{state: pluginsdk.PluginBackoff, try: time.Now().Add(time.Hour)}, nil, question{hook: closed}, whyDown},
		{"it is late", true, in(pluginsdk.PluginServing), func(r *router, v *version) { r.lateBegins(v) }, question{hook: open}, whyLate},
		{"the gate is late", true, in(pluginsdk.PluginServing), func(r *router, v *version) { r.lateBegins(v) }, question{hook: closed}, ""},
		{"it is on trial", true, in(pluginsdk.PluginServing), func(r *router, v *version) { r.try(v) }, question{hook: open}, ""},
		{"it is on trial and is asked", true, in(pluginsdk.PluginServing),
			func(r *router, v *version) { r.try(v); v.open = 1 }, question{hook: open}, whyOnTrial},
		{"the run keeps to what was replaced", true, in(pluginsdk.PluginServing),
			func(r *router, _ *version) {
				_ = r.asks("R", open)
				r.stand(nil, in(pluginsdk.PluginStarting))
			}, question{run: "R", hook: open}, ""},
		{"the run keeps to nothing", true, in(pluginsdk.PluginServing),
			func(r *router, v *version) {
				_ = r.asks("R", open)
				r.stand(nil, in(pluginsdk.PluginFailed))
				r.forget(v)
			}, question{run: "R", hook: open}, whyDown},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, v := directed(row.serves, row.state, open, closed)
			if row.begins != nil {
				row.begins(r, v)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			got := r.which(row.asked)
			if got.why != row.why || (got.version == nil) != (row.why != "") {
				t.Errorf("version %v, for it %q; want %q", got.version != nil, got.why, row.why)
			}
		})
	}
}
