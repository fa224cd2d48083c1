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

// router knows which version of a plugin answers a call, and why none does: which
// answers that, and nothing else in this room. Any goroutine may ask it. The
// supervisor tells it what serves (stand), and how soon something will.
type router struct {
	name     string
	first    bool // the plugin was begun with the daemon, which waits for it
	patience time.Duration
	info     func() *pluginsdk.PluginInfo // the row, with the manifest that was said last
	held     func(run string) bool        // whether the run is under way
	words    func() string                // the plugin's last error

	once  sync.Once
	tried chan struct{} // closed once the first start has succeeded or failed

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced whenever what follows changes
	serving  *version      // nil: none
	standing standing
	kept     map[string]*version // by run: the version it keeps to
}

// standing is what the supervisor says of a plugin beside what serves of it.
type standing struct {
	state  pluginsdk.PluginState
	try    time.Time // of the next start, or when the one under way began
	inARow int       // failures without a steady life between them
}

// out reports whether the plugin cannot be expected to serve before an operator has
// done something.
func (s standing) out() bool {
	return s.state == pluginsdk.PluginFailed || s.state == pluginsdk.PluginQuarantined
}

// reason is why no version of a plugin answers, as what is said of the plugin; empty:
// one does.
type reason string

const (
	whyTooNew     reason = "takes part in runs once its first start is over"
	whyPassedOver reason = "is passed over until an operator has done something"
	whyUndeclared reason = "does not declare the hook"
	whySoon       reason = "is about to be started"
	whyDown       reason = "does not serve"
	whyLate       reason = "has not answered a call whose deadline has passed; it is passed over for a while"
	whyOnTrial    reason = "is on trial after a failure; it is passed over until it has answered a call"
)

// leavesOut reports whether a run does without the plugin from the beginning. For any
// other reason its call is made, and fails when the reason still holds.
func (r reason) leavesOut() bool { return r == whyTooNew || r == whyPassedOver || r == whyUndeclared }

// question is a call, or whether a run is to make one.
type question struct {
	run  string // empty: none
	hook pluginsdk.Hook
	// listing asks whether the plugin is one of those that the run asks. Without it
	// the plugin is called by its name: that it takes part and declares the hook has
	// been decided.
	listing bool
}

// answer is the version that answers a question, or why none does.
type answer struct {
	version *version
	why     reason
	open    bool // a run goes on without the plugin's answer; not said of a listing
}

// which is THE answer to which version of the plugin answers a call, or why none does.
// All calls of a run go to the version that it was told of first, as long as that one
// lives. The lock is held.
func (r *router) which(q question) answer {
	kept := r.keptBy(q.run)
	v := cmp.Or(kept, r.serving)
	if q.listing {
		switch {
		case !r.takesPart():
			return answer{why: whyTooNew}
		case r.standing.out() && mayBePassedOver(seenBy(r.info(), kept), q.hook):
			return answer{why: whyPassedOver}
		case v == nil && !r.info().Manifest.Answers(q.hook), v != nil && !v.manifest.Answers(q.hook):
			return answer{why: whyUndeclared}
		}
	}
	open := !q.listing && mayBePassedOver(seenBy(r.info(), kept), q.hook)
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

// asks reports whether a run is to ask the plugin for its answer to the hook.
func (r *router) asks(run string, hook pluginsdk.Hook) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.which(question{run: run, hook: hook, listing: true}).why.leavesOut()
}

// asking is one call that is under way.
type asking struct {
	version *version
	id      string
	open    bool // it may be passed over
}

// take notes a call on the version that is to answer it. Without one it says why as an
// error (CodeUnavailable), and, when waiting may help, what to wait for.
func (r *router) take(q question, id string) (c asking, changed <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.which(q)
	c = asking{version: a.version, id: id, open: a.open}
	switch a.why {
	case "":
	case whySoon:
		return c, r.changed, r.unavailable(a.why)
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

// unavailable is a reason as an error. The lock is held.
func (r *router) unavailable(why reason) error {
	if why == whySoon || why == whyDown {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s is %s: %s", r.name, r.standing.state, r.words())
	}
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s %s", r.name, why)
}

// give takes a call off its version. One that was answered, with an error or without,
// ends the version's trial.
func (r *router) give(c asking, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := c.version
	switch code := pluginsdk.CodeOf(err); {
	case err == nil:
		v.onTrial, v.delays = false, 0
	case errors.Is(err, launch.ErrTooLarge): // it was not asked
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

// openPatience is how long after the beginning of a start a hook that may be
// passed over waits for the plugin. One that has failed again is not waited for.
const openPatience = 250 * time.Millisecond

// wait is how long a call waits for a plugin that is about to be started.
func (r *router) wait(open bool) time.Duration {
	if open {
		return min(r.patience, openPatience)
	}
	return r.patience
}

// soon reports whether waiting that long may help. The lock is held.
func (r *router) soon(open bool) bool {
	switch s := r.standing; s.state { //nolint:exhaustive // in the others nothing is about to start
	case pluginsdk.PluginStarting, pluginsdk.PluginServing:
		return !open || s.inARow < 2 && time.Since(s.try) < openPatience
	case pluginsdk.PluginBackoff:
		return !open && time.Until(s.try) < r.wait(open)
	}
	return false
}

// mayBePassedOver reports whether a run goes on without the plugin's answer.
// What people or the agent asked of this very plugin is not passed over.
func mayBePassedOver(info *pluginsdk.PluginInfo, hook pluginsdk.Hook) bool {
	switch hook { //nolint:exhaustive // the others are of the pipeline
	case pluginsdk.HookCommand, pluginsdk.HookCallTool, pluginsdk.HookDeliver:
		return false
	}
	return info.FailureMode(hook) == pluginsdk.FailOpen
}

// takesPart reports whether the plugin takes part in runs: since its first start has
// succeeded or failed; at once when no run was begun before, or when one must not go
// on without it.
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

// triedOnce says that the first start has succeeded or failed. It reports whether that
// is news.
func (r *router) triedOnce() (news bool) {
	r.once.Do(func() {
		close(r.tried)
		news = true
	})
	return news
}

// stand says what serves from now on (nil: nothing), and what is to be said of the
// plugin. The supervisor alone calls it.
func (r *router) stand(serving *version, s standing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serving, r.standing = serving, s
	r.signal()
}

// try puts a version on trial: it is asked for one answer at a time that a run could do
// without, until it has given one.
func (r *router) try(v *version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v.onTrial = true
}

// signal wakes who waits for a change. The lock is held.
func (r *router) signal() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// current returns the version that serves, if one does.
func (r *router) current() *version {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.serving
}

// keptBy returns the version that a run keeps to; nil: none, or it has ended. The
// lock is held.
func (r *router) keptBy(run string) *version {
	kept := r.kept[run]
	if kept == nil || !kept.ended() {
		return kept
	}
	kept.runs--
	delete(r.kept, run)
	return nil
}

// keep has a run that is under way keep to a version. The lock is held.
func (r *router) keep(run string, v *version) {
	if r.kept[run] == nil && r.held(run) {
		r.kept[run] = v
		v.runs++
	}
}

// seen returns the plugin's row as a run sees it: with the manifest of the version that
// the run keeps to.
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

// release says that a run is over: it keeps to nothing any more.
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

// forget lets the runs that still keep to the version go on with the one that serves.
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

// busy reports whether the version answers a call or, with its runs, whether a run
// keeps to it, and what to wait for until it may be another way.
func (r *router) busy(v *version, withRuns bool) (busy bool, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return v.calls > 0 || withRuns && v.runs > 0, r.changed
}

// lateBegins notes a call that was given up at its deadline. Until lateEnds the version
// is passed over.
func (r *router) lateBegins(v *version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v.late++
}

// lateEnds says that a call which was late goes on no longer. Which one is the last of
// them leaves the version on trial.
func (r *router) lateEnds(v *version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.late--; v.late == 0 {
		v.delays, v.onTrial = v.delays+1, true
	}
}

// delays is how often the version was late since it last answered in time.
func (r *router) delays(v *version) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return v.delays
}

// underWay is how many calls of that id the version has been given and not answered.
func (r *router) underWay(v *version, id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return v.asked[id]
}
