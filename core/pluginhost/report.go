package pluginhost

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// report is what is seen of a plugin, and where it goes: into the row, the event
// plugin:state, the logs and the figures. Any goroutine may add to it; none waits for
// the database, which is written to beside, and at rest only what has changed.
type report struct {
	host    *Host
	name    string
	log     *slog.Logger
	crew    *crew
	redact  func(string) string
	figures *figures

	mu         sync.Mutex
	seen       ledger.PluginSeen // what the row should say
	stored     ledger.PluginSeen // what it says, as far as is known
	generation int64             // of the row that was read last
	storing    bool
	quarantine string // empty: the plugin is in none
	conflict   string
	failures   int64             // not yet stored
	unsaved    bool              // the last write has failed
	failure    string            // of a version that had ended; the last error if nothing else is said
	erred      time.Time         // when the last error came about, or the plugin began to serve after it
	hurried    time.Time         // when one was last stored at once
	noted      time.Time         // when a failure was last written into the plugin's log
	charged    time.Time         // when rows were
	checks     []pluginsdk.Check // of the last answer; valid once checkedAt is set
	checkedAt  time.Time
}

// tell says what state the plugin is in, with what has gone wrong (empty: nothing new,
// the last error stays until another one replaces it, so that an operator can read what
// happened), and what else has changed. Who subscribes to plugin:state is told of each
// new state and of each start.
func (r *report) tell(state pluginsdk.PluginState, words string, also func(*ledger.PluginSeen)) {
	r.mu.Lock()
	before := r.seen
	r.seen.State = state
	if words != "" {
		blame(&r.seen, words)
	}
	also(&r.seen)
	if words != "" || state == pluginsdk.PluginServing && before.State != state {
		r.erred = time.Now() // what is steady from now on has got over it
	}
	now := r.seen
	r.store()
	r.mu.Unlock()
	if now.State == before.State && now.LastError == before.LastError && state != pluginsdk.PluginStarting {
		return
	}
	r.host.events.Publish(pluginsdk.EventPluginState, "", pluginsdk.PluginStatePayload{
		Name: r.name, State: state, LastError: now.LastError,
	})
}

// blame notes what has gone wrong, now.
func blame(seen *ledger.PluginSeen, words string) {
	seen.LastError, seen.LastErrorAt = words, time.Now().UTC().Truncate(time.Microsecond)
}

// absolve forgets what has gone wrong.
func absolve(seen *ledger.PluginSeen) { seen.LastError, seen.LastErrorAt = "", time.Time{} }

// note changes what is seen of the plugin while its state stays.
func (r *report) note(change func(*ledger.PluginSeen)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.seen)
	r.store()
}

// store has what has changed written into the row. The lock is held.
func (r *report) store() {
	if r.seen == r.stored && !r.unsaved || r.storing {
		return
	}
	r.storing = r.crew.spawn("the state of a plugin", func() {
		if guard.Try(r.log, "the state of a plugin", r.write) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.storing = false // the next reading of the registry finds that it is not stored
		}
	})
}

// write writes what is seen until the newest is written: of several changes that came
// meanwhile only the last matters.
func (r *report) write() {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), r.host.config.StopTimeout)
		written := r.writeOnce(ctx)
		cancel()
		r.mu.Lock()
		if written == r.seen {
			r.storing = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
	}
}

// writeOnce writes what is seen, and returns it. What cannot be written is right in
// memory, and written again after the next reading of the registry.
func (r *report) writeOnce(ctx context.Context) ledger.PluginSeen {
	r.mu.Lock()
	seen := r.seen
	r.stored = seen
	r.mu.Unlock()
	err := r.host.store.SavePluginSeen(ctx, r.name, seen)
	if err != nil {
		r.log.Warn("state of a plugin cannot be stored", "state", seen.State, "err", err)
	}
	r.mu.Lock()
	r.unsaved = err != nil
	r.mu.Unlock()
	return seen
}

// follow compares a row that was read with what it should say, which is written again
// where it differs. An operator who has emptied the last error has done with it.
func (r *report) follow(row ledger.Plugin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored = ledger.SeenOf(row)
	if row.LastError == "" && row.Generation > r.generation {
		absolve(&r.seen)
	}
	if row.Problem == "" {
		r.generation = row.Generation
	}
	seen := r.seen
	seen.LastError, seen.LastErrorAt = r.stored.LastError, r.stored.LastErrorAt // the row's may be shorter, or emptied
	if seen != r.stored || r.unsaved {
		r.store()
	}
}

// lastWords writes what is left to be said of a plugin that has ended.
func (r *report) lastWords(ctx context.Context, final pluginsdk.PluginState) {
	r.flush(ctx)
	r.tell(final, "", func(seen *ledger.PluginSeen) { seen.Serving = "" })
	r.writeOnce(ctx)
}

// now is what is seen at this moment.
func (r *report) now() ledger.PluginSeen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

func (r *report) setConflict(words string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if words != "" && words != r.conflict {
		r.log.Warn("plugin wants what is another's, who comes first", "conflicts", words)
	}
	r.conflict = words
}

// setQuarantine says why the plugin is in quarantine; empty: it is in none.
func (r *report) setQuarantine(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quarantine = reason
}

// live puts what is known at this moment into a row of the registry.
func (r *report) live(row *ledger.Plugin, problem string) {
	r.mu.Lock()
	seen := r.seen
	row.State, row.Restarts, row.Quarantine = seen.State, seen.Restarts, r.quarantine
	row.LastError, row.LastErrorAt = seen.LastError, seen.LastErrorAt
	row.Settled, row.Serving, row.Rejected = seen.Settled, seen.Serving, seen.Rejected
	if !r.checkedAt.IsZero() {
		row.Checks, row.CheckedAt = r.checks, r.checkedAt
	}
	problems := []string{row.Problem, r.conflict, problem}
	r.mu.Unlock()
	row.Problem = strings.Join(slices.DeleteFunc(problems, func(p string) bool { return p == "" }), "; ")
	row.Figures = r.figuresNow(row.Restarts)
}

// figuresNow are the plugin's figures, with what it has asked of the host.
func (r *report) figuresNow(restarts int) pluginsdk.PluginFigures {
	now := r.figures.snapshot(restarts)
	now.Host, now.HeldBack = r.host.config.HostFigures(r.name)
	return now
}

// noteEvery bounds what failures write into the plugin's own log.
const noteEvery = 100 * time.Millisecond

// hurry is how often a failure is stored at once.
const hurry = time.Second

// maxFailureWords bounds, in bytes, what is kept of a failure of a hook.
const maxFailureWords = 1 << 10

// count remembers that a hook of a version has failed, until flush stores it. Why a
// process ended is the supervisor's to say: it knows more than the calls that ended
// with it.
func (r *report) count(v *version, hook pluginsdk.Hook, err error) {
	words := cut(fmt.Sprintf("%s: %s", hook, err), maxFailureWords)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures++
	if now := time.Now(); now.Sub(r.noted) > noteEvery {
		r.noted = now
		r.writeDown("hook failed: " + words) // the daemon's log has it from who called
	}
	if refusedSettings(r.seen) {
		return
	}
	if v.ended() {
		r.failure = words
		return
	}
	blame(&r.seen, words)
	r.erred = time.Now()
	if time.Since(r.hurried) > hurry { // the next ones come with flush
		r.hurried = r.erred
		r.store()
	}
}

// charge counts rows that a hook wanted to have stored and that were not.
func (r *report) charge(rows int, why string) {
	r.figures.charge(rows)
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.charged) > noteEvery {
		r.charged = now
		r.writeDown(fmt.Sprintf("rows that were not stored: %d: %s", rows, r.redact(why)))
	}
}

// writeDown writes a warning into the plugin's own log, until the plugin has ended.
func (r *report) writeDown(text string) {
	if !r.crew.over() {
		r.host.logs.of(r.name).note(slog.LevelWarn, text)
	}
}

// flush stores the failures counted since the last time, and now and then the
// figures.
func (r *report) flush(ctx context.Context) {
	r.mu.Lock()
	r.forgive()
	restarts := r.seen.Restarts
	failures := r.failures
	r.failures = 0
	if r.failure != "" && r.seen.LastError == "" {
		blame(&r.seen, r.failure)
	}
	r.failure = ""
	if failures > 0 {
		r.store()
	}
	r.mu.Unlock()
	if r.figures.due(time.Now()) {
		if err := r.host.store.SavePluginFigures(ctx, r.name, r.figuresNow(restarts)); err != nil {
			r.log.Warn("figures of a plugin cannot be stored", "err", err)
		}
	}
	if failures == 0 {
		return
	}
	if err := r.host.store.AddPluginFailures(ctx, r.name, failures); err != nil {
		r.log.Warn("failures of a plugin cannot be stored", "failures", failures, "err", err)
		r.mu.Lock()
		r.failures += failures
		r.mu.Unlock()
	}
}

// forgive forgets the last error of a plugin that has served without another one for as
// long as failures count (Config.Window): what is wrong is told from what was. One that
// goes on because its next version failed, or with other settings than it should have,
// has not got over that. The lock is held.
func (r *report) forgive() {
	steady := r.seen.State == pluginsdk.PluginServing && r.seen.Rejected == "" && !refusedSettings(r.seen)
	if steady && r.seen.LastError != "" && time.Since(r.erred) > r.host.config.Window {
		absolve(&r.seen)
		r.store()
	}
}

// refusedSettings reports whether a plugin goes on with other settings than it should
// have: that is said until it has them.
func refusedSettings(seen ledger.PluginSeen) bool {
	return strings.HasPrefix(seen.LastError, ledger.SettingsRefused)
}

// settingsTaken forgets that settings were refused: what serves has those of the row.
func (r *report) settingsTaken() {
	r.note(func(seen *ledger.PluginSeen) {
		if refusedSettings(*seen) {
			absolve(seen)
		}
	})
}

// keepChecks has what the plugin said of its surroundings stored, and shown by live.
func (r *report) keepChecks(ctx context.Context, checks []pluginsdk.Check) {
	r.mu.Lock()
	r.checks, r.checkedAt = checks, time.Now().UTC()
	r.mu.Unlock()
	if err := r.host.store.SavePluginChecks(ctx, r.name, checks); err != nil && ctx.Err() == nil {
		r.log.Warn("checks of a plugin cannot be stored", "err", err)
	}
}

// forgetChecks has nothing stored any more of what the plugin said in the row, or since.
func (r *report) forgetChecks(inRow int) {
	r.mu.Lock()
	said := len(r.checks) + inRow
	r.mu.Unlock()
	if said == 0 {
		return
	}
	r.crew.spawn("the checks of a plugin", func() {
		ctx, cancel := context.WithTimeout(context.Background(), lastWrite)
		defer cancel()
		r.keepChecks(ctx, nil)
	})
}
