package pluginhost

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// steady is how long a plugin must have served for its next restart to count
// as a first one.
const steady = time.Minute

// refusedRetry is how often a plugin that may not be started is looked at
// again without a change of its row: its file may have been put right.
const refusedRetry = time.Minute

// Instance owns one enabled plugin: launch, restart, replacement, graceful
// stop, kill.
type Instance struct {
	host     *Host
	name     string
	log      *slog.Logger
	figures  *figures
	row      atomic.Pointer[ledger.Plugin] // with the manifest of the version that serves
	wanted   atomic.Pointer[ledger.Plugin] // the row, as it last made sense
	settings atomic.Pointer[Settings]      // in force

	said *pluginsdk.Manifest // by the process that was started last; Host.speakers' lock guards it

	first  bool          // it was begun with the daemon, which waits for it
	tried  chan struct{} // closed once the first start has succeeded or failed
	once   sync.Once
	cancel context.CancelFunc
	done   chan struct{} // the supervisor's loop has ended
	gone   chan struct{} // and so has everything else of the instance
	wake   chan struct{} // what the loop follows may have changed

	recent  []time.Time // failures within the window; the loop's own
	setback setback     // of the last replacement; the loop's own

	rowMu     sync.Mutex // held while row is replaced
	mu        sync.Mutex
	changed   chan struct{} // closed and replaced whenever what follows changes
	ended     bool          // no goroutine is begun any more
	tasks     sync.WaitGroup
	serving   *version
	alive     map[*version]bool   // whose processes were begun and not ended
	pins      map[string]*version // by run: the version it began with
	state     pluginsdk.PluginState
	recorded  ledger.PluginSeen // what the row says, as far as is known
	reporting bool              // what is seen is being stored
	rejected  string            // pin of the version that could not be started last
	reached   int64             // the generation that was carried out, or failed, last
	lastErr   string
	conflict  string
	confined  confinement
	restarts  int
	inARow    int       // failures without a steady life between them
	nextTry   time.Time // of a start, or when the one under way began
	failures  int64     // not yet stored
	noted     time.Time // when a failure was last written into the plugin's log
	charged   time.Time // when rows were
	failure   string
	checks    []pluginsdk.Check // of the last answer; valid once checkedAt is set
	checkedAt time.Time
}

// refusal is a reason not to start a plugin until its row, or its file, is
// another.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func refused(format string, args ...any) error {
	return refusal{pluginsdk.Errorf(pluginsdk.CodeDenied, format, args...)}
}

// ownTrouble is a failure that is none of the plugin's: the database did not
// answer, or Harness itself is at fault.
type ownTrouble struct{ error }

func (o ownTrouble) Unwrap() error { return o.error }

// guarded calls do. A panic in it is Harness's own trouble.
func (i *Instance) guarded(what string, do func() error) (err error) {
	fault := guard.Call(i.log, what, func() error {
		err = do()
		return nil
	})
	if fault != nil {
		return ownTrouble{fault}
	}
	return err
}

// notStarted is how a start failed, of what the row was then.
type notStarted struct {
	error
	row *ledger.Plugin
}

func (n notStarted) Unwrap() error { return n.error }

func newInstance(h *Host, row ledger.Plugin) *Instance {
	i := &Instance{
		host: h, name: row.Name, figures: newFigures(),
		tried: make(chan struct{}), done: make(chan struct{}), gone: make(chan struct{}), wake: make(chan struct{}, 1),
		changed: make(chan struct{}), pins: make(map[string]*version), alive: make(map[*version]bool),
		state: pluginsdk.PluginStarting, restarts: row.Restarts, recorded: ledger.SeenOf(row),
	}
	i.log = i.processLog().With("plugin", row.Name)
	i.confined.follow(row.Quarantine, 0)
	i.row.Store(&row)
	i.wanted.Store(&row)
	return i
}

// Info returns what the registry says of the plugin. It must not be changed.
func (i *Instance) Info() *pluginsdk.PluginInfo { return &i.row.Load().PluginInfo }

// change replaces the row by a changed copy.
func (i *Instance) change(edit func(*ledger.Plugin)) {
	i.rowMu.Lock()
	defer i.rowMu.Unlock()
	changed := *i.row.Load()
	edit(&changed)
	i.row.Store(&changed)
}

// redact takes the plugin's secrets out of a text.
func (i *Instance) redact(text string) string {
	if settings := i.settings.Load(); settings != nil && settings.Redact != nil {
		return settings.Redact(text)
	}
	return text
}

// spawn runs fn as a goroutine that end waits for, guarded as what. An instance
// that has ended begins none.
func (i *Instance) spawn(what string, fn func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.ended {
		i.tasks.Go(func() { guard.Try(i.log, what, fn) })
	}
}

// nudge makes the loop look at what may have changed.
func (i *Instance) nudge() {
	select {
	case i.wake <- struct{}{}:
	default: // it is about to look
	}
}

// start begins to supervise, once the predecessor of the same name is gone:
// two processes must not hold one port.
func (i *Instance) start(run context.Context, predecessor *Instance) {
	ctx, cancel := context.WithCancel(run)
	i.cancel = cancel
	go func() {
		if predecessor != nil {
			<-predecessor.gone
		}
		i.run(ctx)
	}()
}

// end stops the process within the configured time and waits for it. Whatever
// happens, it comes to its end: the next instance of that name waits for this.
func (i *Instance) end(final pluginsdk.PluginState) {
	i.cancel()
	<-i.done
	i.mu.Lock()
	i.ended = true
	i.mu.Unlock()
	i.tasks.Wait()
	guard.Try(i.log, "the last words of a plugin", func() {
		ctx, cancel := context.WithTimeout(context.Background(), lastWrite)
		defer cancel()
		i.flush(ctx)
		i.setState(final, "", time.Time{})
		i.saveState(ctx)
	})
	i.host.logs.of(i.name).close()
	close(i.gone)
}

// hasGone reports whether nothing of the instance is left.
func (i *Instance) hasGone() bool {
	select {
	case <-i.gone:
		return true
	default:
		return false
	}
}

// lastWrite is how long the last words of an instance may take to be stored.
const lastWrite = 2 * time.Second

// run is the supervisor's loop; serve one life of the plugin. After a panic
// nothing of the plugin is left running, and it is started again as after a
// failure that is none of its own.
func (i *Instance) run(ctx context.Context) {
	defer close(i.done)
	defer i.once.Do(func() { close(i.tried) })
	for ctx.Err() == nil {
		began, row := time.Now(), i.wanted.Load()
		fault := i.guarded("the supervisor of a plugin", func() error {
			if i.quarantined(ctx) {
				return nil
			}
			began = time.Now()
			if err := i.serve(ctx); ctx.Err() == nil {
				i.afterFailure(ctx, err, i.failedInARow(began))
			}
			return nil
		})
		if fault == nil {
			continue
		}
		i.endAll()
		if guard.Try(i.log, "the supervisor of a plugin", func() {
			i.afterFailure(ctx, notStarted{fault, row}, i.failedInARow(began))
		}) {
			rest(ctx, i.host.config.BackoffMax)
		}
	}
}

// failedInARow counts the failure of a life that began then, and returns which
// one in a row it is.
func (i *Instance) failedInARow(began time.Time) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	if time.Since(began) > steady {
		i.inARow = 0
	}
	i.inARow++
	return i.inARow
}

func rest(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// afterFailure waits until the plugin is to be started again. When an operator has
// decided something else meanwhile, that is now: what failed is not what is
// wanted.
func (i *Instance) afterFailure(ctx context.Context, err error, inARow int) {
	words := i.redact(err.Error())
	start, overtaken := i.failedFor(err)
	var no refusal
	var ours ownTrouble
	switch {
	case errors.As(err, &no):
		i.setOutcome(start, pluginsdk.PluginFailed, words, time.Time{})
		i.log.Error("plugin may not be started; it waits for an operator", "err", words)
		i.settled()
		i.pause(ctx, refusedRetry, start)
		return
	case errors.As(err, &ours): // nothing that would count against it
	default:
		i.mu.Lock()
		i.restarts++
		i.mu.Unlock()
		if !overtaken && i.quarantine(ctx, words) {
			i.settled()
			return
		}
	}
	wait := i.backoff(inARow)
	if overtaken {
		wait = 0
	}
	i.setOutcome(start, pluginsdk.PluginBackoff, words, time.Now().Add(wait))
	i.log.Warn("plugin ended; it will be started again", "err", words, "in", wait.Round(time.Millisecond))
	i.settled()
	i.pause(ctx, wait, start)
}

// failedFor returns the row that a start failed for (nil: it was no start), and
// whether an operator has decided something since what failed.
func (i *Instance) failedFor(err error) (row *ledger.Plugin, overtaken bool) {
	i.mu.Lock()
	of := i.reached
	i.mu.Unlock()
	var start notStarted
	if errors.As(err, &start) {
		row, of = start.row, start.row.Generation
	}
	return row, i.wanted.Load().Generation > of
}

// settled says that the first start has succeeded or failed.
func (i *Instance) settled() {
	i.once.Do(func() {
		close(i.tried)
		i.host.Refresh() // its commands and sources are compared with the others' now
	})
}

// pause waits, at most until something else would be started than what was tried
// (nil: than now).
func (i *Instance) pause(ctx context.Context, wait time.Duration, tried *ledger.Plugin) {
	before := essence(cmp.Or(tried, i.wanted.Load()))
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for essence(i.wanted.Load()) == before {
		select {
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-i.wake:
		}
	}
}

// serve starts the plugin, keeps a version of it serving, and returns when one
// has ended with the fault that ended it, or when ctx ends.
func (i *Instance) serve(ctx context.Context) error {
	i.setState(pluginsdk.PluginStarting, i.lastError(), time.Now())
	row := i.wanted.Load()
	current, err := i.bring(ctx, row, nil)
	if err != nil {
		return notStarted{err, row}
	}
	i.mu.Lock()
	current.onTrial = i.inARow > 0
	i.mu.Unlock()
	i.publish(current)
	var next *replacement // under way
	defer func() { i.abandon(next) }()
	i.nudge() // the row may have changed meanwhile
	for {
		select {
		case <-ctx.Done():
			i.withdraw(current, pluginsdk.PluginStopping)
			i.close(current)
			return nil
		case <-current.process.Done():
			i.withdraw(current, pluginsdk.PluginStarting)
			err := deathOf(current)
			i.kill(current)
			return err
		case why := <-current.fault:
			i.log.Warn("plugin is at fault and is ended", "why", why)
			i.withdraw(current, pluginsdk.PluginStarting)
			i.killNow(current)
			return withLastWords(why, current)
		case made := <-next.result():
			settled := next
			next = nil // its result is taken
			current = i.settle(ctx, current, settled, made)
		case <-i.wake:
			i.keepTold(current)
			if next == nil {
				next = i.follow(ctx, current)
			}
		}
	}
}

func deathOf(v *version) error {
	reason := "the process ended"
	if err := v.process.ExitError(); err != nil {
		reason += ": " + err.Error()
	}
	return withLastWords(reason, v)
}

// lastWords is how many lines of stderr an operator is shown.
const lastWords = 3

func withLastWords(reason string, v *version) error {
	if lines := v.process.LastStderr(); len(lines) > 0 {
		reason += "; last words: " + strings.Join(lines[max(0, len(lines)-lastWords):], " | ")
	}
	return errors.New(reason)
}

// backoff is the wait after so many failures in a row, spread by a quarter.
func (i *Instance) backoff(failures int) time.Duration {
	return guard.Backoff{Base: i.host.config.BackoffBase, Max: i.host.config.BackoffMax, Jitter: 0.25}.After(failures)
}
