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

// report is what is seen of a plugin. It goes into the row, the event plugin:state, the
// logs and the figures. Any goroutine may add to it. None waits for the database: a
// goroutine of the crew writes, and only what has changed.
type report struct {
	host    *Host
	name    string
	log     *slog.Logger
	crew    *crew
	redact  func(string) string
	figures *figures

	mu         sync.Mutex
	seen       ledger.PluginSeen // what the row should say
	stored     ledger.PluginSeen // what the row says, as far as is known
	generation int64             // of the last row that made sense
	storing    bool
	quarantine string // empty: the plugin is in none
	conflict   string
	failures   int64             // that are not stored yet
	unsaved    bool              // the last write has failed
	failure    string            // of a version that had ended; the last error if nothing else is said
	erred      time.Time         // when the last error occurred, or the plugin began to serve after it
	hurried    time.Time         // when an error was last stored at once
	noted      time.Time         // when a failure was last written into the plugin's log
	charged    time.Time         // when rows that were not stored were last written into it
	checks     []pluginsdk.Check // of the last OnCheck; valid once checkedAt is set
	checkedAt  time.Time
	own        []pluginsdk.Figure // the plugin's own, of the last OnCheck that was answered
	ownAt      time.Time
	ownRefused string // which of them were left out, as the plugin's log says
}

// tell sets the plugin's state and its last error (empty: the error stays, so that an
// operator can read what happened), and calls also to change the rest. It publishes
// plugin:state when the state or the error has changed, and at each start.
func (r *report) tell(state pluginsdk.PluginState, words string, also func(*ledger.PluginSeen)) {
	r.mu.Lock()
	before := r.seen
	r.seen.State = state
	if words != "" {
		blame(&r.seen, words)
	}
	also(&r.seen)
	if words != "" || state == pluginsdk.PluginServing && before.State != state {
		r.erred = time.Now() // forgive counts from here
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

// blame notes the last error, with its time.
func blame(seen *ledger.PluginSeen, words string) {
	seen.LastError, seen.LastErrorAt = words, time.Now().UTC().Truncate(time.Microsecond)
}

// absolve forgets the last error.
func absolve(seen *ledger.PluginSeen) { seen.LastError, seen.LastErrorAt = "", time.Time{} }

// note changes what is seen of the plugin; its state stays.
func (r *report) note(change func(*ledger.PluginSeen)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.seen)
	r.store()
}

// store has a goroutine write into the row what has changed, unless one is at it. The
// lock is held.
func (r *report) store() {
	if r.seen == r.stored && !r.unsaved || r.storing {
		return
	}
	r.storing = r.crew.spawn("the state of a plugin", func() {
		if guard.Try(r.log, "the state of a plugin", r.write) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.storing = false // follow finds at the next reading that it is not stored
		}
	})
}

// write writes what is seen until the newest is written. Changes that come while it
// writes go into one further write.
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

// writeOnce writes what is seen, and returns it. When that fails, the report stays right
// in memory, and follow has it written again.
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

// follow compares a row that was read with what it should say, and has it written again
// where it differs. A last error that an operator has emptied is forgotten.
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
	// An error that differs is written with the next change: the row's may be cut, or
	// emptied by an operator.
	seen.LastError, seen.LastErrorAt = r.stored.LastError, r.stored.LastErrorAt
	if seen.Refused.Mark == r.stored.Refused.Mark {
		seen.Refused = r.stored.Refused // nor are words that the row has otherwise
	}
	if seen != r.stored || r.unsaved {
		r.store()
	}
}

// lastWords stores what remains of a plugin that has ended: failures, figures, its final
// state.
func (r *report) lastWords(ctx context.Context, final pluginsdk.PluginState) {
	r.flush(ctx)
	r.tell(final, "", func(seen *ledger.PluginSeen) { seen.Serving = "" })
	r.writeOnce(ctx)
}

// rests reports whether the plugin serves as the row of that generation wants it, and its row says so.
func (r *report) rests(generation int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen.State == pluginsdk.PluginServing && r.seen.Rejected == "" && r.seen.Settled == generation &&
		r.seen == r.stored && !r.unsaved
}

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

// setQuarantine sets why the plugin is in quarantine; empty: it is in none.
func (r *report) setQuarantine(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quarantine = reason
}

// live fills in a row of the registry what is known at this moment. problem is what is
// wrong with the settings.
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

// figuresNow returns the plugin's figures, with its calls to the host.
func (r *report) figuresNow(restarts int) pluginsdk.PluginFigures {
	now := r.figures.snapshot(restarts)
	now.Host, now.HeldBack = r.host.config.HostFigures(r.name)
	return now
}

// noteEvery is the least time between two failures that are written into the plugin's own
// log.
const noteEvery = 100 * time.Millisecond

// hurry is the least time between two failures that are stored at once; the others wait
// for flush.
const hurry = time.Second

// maxFailureWords bounds, in bytes, the text of a hook's failure.
const maxFailureWords = 1 << 10

// count counts a failure of a hook of the version; flush stores it. The failures of a
// version that has ended are not its last error: the supervisor knows better why it
// ended.
func (r *report) count(v *version, hook pluginsdk.Hook, err error) {
	words := cut(fmt.Sprintf("%s: %s", hook, err), maxFailureWords)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures++
	if now := time.Now(); now.Sub(r.noted) > noteEvery {
		r.noted = now
		r.writeDown("hook failed: " + words) // the caller writes it into the daemon's log
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
	if time.Since(r.hurried) > hurry { // flush stores the others
		r.hurried = r.erred
		r.store()
	}
}

// countDropped counts rows of effects that were not stored, and writes why into the plugin's
// log.
func (r *report) countDropped(rows int, why string) {
	r.figures.countDropped(rows)
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.charged) > noteEvery {
		r.charged = now
		r.writeDown(fmt.Sprintf("rows that were not stored: %d: %s", rows, r.redact(why)))
	}
}

// writeDown writes a warning into the plugin's own log, unless the instance has ended and
// closed it.
func (r *report) writeDown(text string) {
	if !r.crew.over() {
		r.host.logs.of(r.name).note(slog.LevelWarn, text)
	}
}

// flush stores the failures counted since the last time, and the figures when they are
// due.
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

// forgive forgets the last error of a plugin that has served without another one for
// Config.Window: operators must be able to tell present errors from past ones. The error
// stays while a rejected version or refused settings are its reason. The lock is held.
func (r *report) forgive() {
	steady := r.seen.State == pluginsdk.PluginServing && r.seen.Rejected == "" && !refusedSettings(r.seen)
	if steady && r.seen.LastError != "" && time.Since(r.erred) > r.host.config.Window {
		absolve(&r.seen)
		r.store()
	}
}

// refusedSettings reports whether the plugin goes on with older settings because it
// refused the new ones. Its last error says so until it has taken the settings of its
// row.
func refusedSettings(seen ledger.PluginSeen) bool {
	return strings.HasPrefix(seen.LastError, ledger.SettingsRefused)
}

// settingsTaken forgets that settings were refused: the version that serves has those of
// the row.
func (r *report) settingsTaken() {
	r.note(func(seen *ledger.PluginSeen) {
		if refusedSettings(*seen) {
			absolve(seen)
		}
		seen.Refused = ledger.RefusedSettings{}
	})
}

// keepChecks stores the plugin's checks of its surroundings, and has live show them.
func (r *report) keepChecks(ctx context.Context, checks []pluginsdk.Check) {
	r.mu.Lock()
	r.checks, r.checkedAt = checks, time.Now().UTC()
	r.mu.Unlock()
	if err := r.host.store.SavePluginChecks(ctx, r.name, checks); err != nil && ctx.Err() == nil {
		r.log.Warn("checks of a plugin cannot be stored", "err", err)
	}
}

// keepFigures keeps the plugin's own figures. refused says in words which others are left out: the plugin's log says so
// when that changes.
func (r *report) keepFigures(own []pluginsdk.Figure, refused string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if refused != "" && refused != r.ownRefused {
		r.log.Warn("figures of a plugin are left out", "why", refused)
	}
	r.own, r.ownAt, r.ownRefused = own, time.Now(), refused
}

// ownFigures returns the plugin's own figures while it serves, if they are not older than that.
func (r *report) ownFigures(oldest time.Duration) []pluginsdk.Figure {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen.State != pluginsdk.PluginServing || time.Since(r.ownAt) > oldest {
		return nil
	}
	return r.own
}

// forgetChecks removes the stored checks of the plugin. inRow is how many the row has.
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
