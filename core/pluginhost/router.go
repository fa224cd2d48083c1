package pluginhost

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// router decides which version of a plugin answers a call, or why none does; only which
// decides that. Any goroutine may call it. The supervisor sets the version that serves,
// and how soon one will (stand).
type router struct {
	name     string
	first    bool // the plugin began with the daemon, which waits for its first start
	patience time.Duration
	info     func() *pluginsdk.PluginInfo // Instance.Info
	held     func(run string) bool        // whether the run is between Host.Hold and Host.Release
	words    func() string                // the plugin's last error

	once  sync.Once
	tried chan struct{} // closed once the first start has succeeded or failed

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when a waiter may go on
	serving  *version      // nil: none
	standing standing
	kept     map[string]*version // by run: the version that it keeps to
}

// standing is a plugin's state, and when it may change, as the supervisor sets them.
type standing struct {
	state  pluginsdk.PluginState
	try    time.Time // when the next start is due, or the one under way began
	inARow int       // failures without a steady life between them
}

// out reports whether the plugin will not serve before an operator acts.
func (s standing) out() bool {
	return s.state == pluginsdk.PluginFailed || s.state == pluginsdk.PluginQuarantined
}

// reason says why no version of a plugin answers, as the end of a sentence about the
// plugin; empty: one does.
type reason string

const (
	whyTooNew     reason = "takes part in runs once its first start is over"
	whyPassedOver reason = "is passed over until an operator has done something"
	whyUndeclared reason = "does not declare the hook"
	whyNotGranted reason = "has not been granted what the hook needs"
	whySoon       reason = "is about to be started"
	whyDown       reason = "does not serve"
	whyLate       reason = "has not answered a call whose deadline has passed; it is passed over for a while"
	whyOnTrial    reason = "is on trial after a failure; it is passed over until it has answered a call"
)

// question is a call, or asks whether a run has to make one.
type question struct {
	run  string // empty: none
	hook pluginsdk.Hook
	// listing asks whether the plugin is among those that the run has to ask. Without it
	// the caller has decided already that the plugin takes part and declares the hook.
	listing bool
}

// answer is the version that answers a question, or the reason why none does.
type answer struct {
	version *version
	why     reason
	open    bool // the call may be passed over
}

// leavesOut reports whether a run leaves the plugin out of those that it asks. For any
// other reason the run makes its call, which fails if the reason still holds then: so it is
// of a hook that must not be passed over and that the plugin has no grant for.
func (a answer) leavesOut() bool {
	switch a.why { //nolint:exhaustive // for the others the run makes its call
	case whyTooNew, whyPassedOver, whyUndeclared:
		return true
	case whyNotGranted:
		return a.open
	}
	return false
}

// which is THE decision which version of the plugin answers a call, or why none does. All
// calls of a run go to the version that which returned for it first, as long as that one
// lives. The lock is held.
func (r *router) which(q question) answer {
	kept := r.keptBy(q.run)
	v := cmp.Or(kept, r.serving)
	info := seenBy(r.info(), kept)
	open := mayBePassedOver(info, q.hook)
	if q.listing {
		switch {
		case !r.takesPart():
			return answer{why: whyTooNew}
		case r.standing.out() && open:
			return answer{why: whyPassedOver}
		case v == nil && !r.info().Manifest.Answers(q.hook), v != nil && !v.manifest.Answers(q.hook):
			return answer{why: whyUndeclared}
		}
	}
	if info.MayAnswer(q.hook) != nil {
		return answer{why: whyNotGranted, open: open}
	}
	open = open && !q.listing // whether the call waits, and is made, is for the call to find out
	switch {
	case v == nil && r.soon(open):
		return answer{why: whySoon, open: open}
	case v == nil:
		return answer{why: whyDown, open: open}
	}
	r.keep(q.run, v)
	switch {
	case open && v.late > 0:
		return answer{why: whyLate, open: open}
	case open && v.onTrial && v.open > 0:
		return answer{why: whyOnTrial, open: open}
	}
	return answer{version: v, open: open}
}

// asks reports whether a run has to ask the plugin for its answer to the hook.
func (r *router) asks(run string, hook pluginsdk.Hook) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.which(question{run: run, hook: hook, listing: true}).leavesOut()
}

// asking is a call that is under way.
type asking struct {
	version *version
	id      string
	open    bool // it may be passed over
}

// take notes a call on the version that answers it; give takes it off. When none answers,
// it returns the reason as CodeUnavailable; when waiting may help, with a channel that is
// closed when it is worth another try.
func (r *router) take(q question, id string) (c asking, changed <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.which(q)
	c = asking{version: a.version, id: id, open: a.open}
	switch a.why {
	case "":
	case whySoon:
		return c, r.changed, r.unavailable(a.why)
	case whyNotGranted:
		return c, nil, r.info().MayAnswer(q.hook)
	default:
		return c, nil, r.unavailable(a.why)
	}
	v := a.version
	v.calls++
	v.asked[id]++
	if a.open {
		v.open++
	}
	return c, nil, nil
}

// unavailable returns the reason as an error. The lock is held.
func (r *router) unavailable(why reason) error {
	if why == whySoon || why == whyDown {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s is %s: %s", r.name, r.standing.state, r.words())
	}
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s %s", r.name, why)
}

// give takes a call off its version. An answer, even one with an error of the plugin's,
// ends the version's trial.
func (r *router) give(c asking, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := c.version
	switch code := pluginsdk.CodeOf(err); {
	case err == nil:
		v.onTrial, v.delays = false, 0
	case errors.Is(err, launch.ErrTooLarge): // the plugin never had the call
	case code != pluginsdk.CodeUnavailable && code != pluginsdk.CodeCancelled && !errors.Is(err, context.DeadlineExceeded):
		v.onTrial = false
	}
	if v.asked[c.id]--; v.asked[c.id] == 0 {
		delete(v.asked, c.id)
	}
	if c.open {
		v.open--
	}
	if v.calls--; v.calls == 0 && v != r.serving {
		r.signal()
	}
}

// openPatience is how long after a start has begun a call that may be passed over waits
// for the plugin. When the start before failed, it does not wait.
const openPatience = 250 * time.Millisecond

// wait returns how long a call waits for a plugin that is about to be started.
func (r *router) wait(open bool) time.Duration {
	if open {
		return min(r.patience, openPatience)
	}
	return r.patience
}

// soon reports whether the plugin may serve within wait. The lock is held.
func (r *router) soon(open bool) bool {
	switch s := r.standing; s.state { //nolint:exhaustive // in the other states no start is near
	case pluginsdk.PluginStarting, pluginsdk.PluginServing:
		return !open || s.inARow < 2 && time.Since(s.try) < openPatience
	case pluginsdk.PluginBackoff:
		return !open && time.Until(s.try) < r.wait(open)
	}
	return false
}

// mayBePassedOver reports whether a run goes on without the plugin's answer to the hook.
// It does not when people, the agent or another plugin asked this very plugin.
func mayBePassedOver(info *pluginsdk.PluginInfo, hook pluginsdk.Hook) bool {
	switch hook { //nolint:exhaustive // the others are of the pipeline
	case pluginsdk.HookCommand, pluginsdk.HookCron, pluginsdk.HookCallTool, pluginsdk.HookDeliver:
		return false
	}
	return info.FailureMode(hook) == pluginsdk.FailOpen
}

// takesPart reports whether runs ask the plugin. They do once its first start has
// succeeded or failed. They do before that when the plugin began with the daemon, since
// no run has begun yet, or when one of its hooks must not be passed over.
func (r *router) takesPart() bool {
	if r.first {
		return true
	}
	select {
	case <-r.tried:
		return true
	default:
	}
	info := r.info()
	return slices.ContainsFunc(info.Manifest.Hooks, func(hook pluginsdk.Hook) bool {
		return info.FailureMode(hook) == pluginsdk.FailClosed
	})
}

// triedOnce notes that the first start has succeeded or failed. It reports whether this
// is the first call.
func (r *router) triedOnce() (news bool) {
	r.once.Do(func() {
		close(r.tried)
		news = true
	})
	return news
}

// stand sets the version that serves (nil: none), and the plugin's standing. Only the
// supervisor calls it.
func (r *router) stand(serving *version, s standing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serving, r.standing = serving, s
	r.signal()
}

// try puts a version on trial: until it has answered a call, it gets calls that may be
// passed over one at a time.
func (r *router) try(v *version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v.onTrial = true
}

// signal wakes those who wait for a change. The lock is held.
func (r *router) signal() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// current returns the version that serves; nil: none.
func (r *router) current() *version {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.serving
}

// keptBy returns the version that the run keeps to; nil: none, or it has ended. The lock
// is held.
func (r *router) keptBy(run string) *version {
	kept := r.kept[run]
	if kept == nil || !kept.ended() {
		return kept
	}
	kept.runs--
	delete(r.kept, run)
	return nil
}

// keep makes a run that is under way keep to the version, unless it keeps to one. The
// lock is held.
func (r *router) keep(run string, v *version) {
	if r.kept[run] == nil && r.held(run) {
		r.kept[run] = v
		v.runs++
	}
}

// seen returns the plugin's row with the manifest of the version that the run keeps to.
func (r *router) seen(run string) *pluginsdk.PluginInfo {
	r.mu.Lock()
	kept := r.keptBy(run)
	r.mu.Unlock()
	return seenBy(r.info(), kept)
}

func seenBy(info *pluginsdk.PluginInfo, kept *version) *pluginsdk.PluginInfo {
	if kept == nil {
		return info
	}
	seen := *info
	seen.Manifest, seen.Version = kept.manifest, kept.manifest.Version
	return &seen
}

func (r *router) release(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.kept[run]
	if v == nil {
		return
	}
	delete(r.kept, run)
	if v.runs--; v.runs == 0 && v != r.serving {
		r.signal()
	}
}

// forget makes the runs that keep to the version go on with the one that serves.
func (r *router) forget(v *version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for run, kept := range r.kept {
		if kept == v {
			delete(r.kept, run)
			v.runs--
		}
	}
}

// busy reports whether the version has a call under way or, withRuns, a run keeps to it.
// changed is closed when that may have changed.
func (r *router) busy(v *version, withRuns bool) (busy bool, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return v.calls > 0 || withRuns && v.runs > 0, r.changed
}

// lateBegins notes a call that was given up at its deadline. The version is passed over
// until lateEnds.
func (r *router) lateBegins(v *version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v.late++
}

// lateEnds says that the plugin no longer works on a late call. After the last one the
// version is on trial.
func (r *router) lateEnds(v *version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.late--; v.late == 0 {
		v.delays, v.onTrial = v.delays+1, true
	}
}

// delays returns how often the version was late since it last answered a call without an
// error.
func (r *router) delays(v *version) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return v.delays
}

// underWay returns how many calls of that id are under way on the version.
func (r *router) underWay(v *version, id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return v.asked[id]
}
