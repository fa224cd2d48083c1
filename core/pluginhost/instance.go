package pluginhost

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Instance is one enabled plugin. Its supervisor keeps it running, its router knows which
// version answers, its report stores and publishes its state.
type Instance struct {
	host       *Host
	name       string
	log        *slog.Logger
	supervisor *supervisor
	router     *router
	report     *report
	crew       *crew
	gone       chan struct{} // closed when nothing of the instance is left

	row      atomic.Pointer[ledger.Plugin] // with the manifest of the version that serves, if one does
	rowMu    sync.Mutex                    // held to replace row
	settings atomic.Pointer[Settings]      // in force; nil before the first configure
	alive    sync.Map                      // *version: true for each whose process has begun and not ended

	askChecks chan chan<- struct{} // asks for checks before their time; what is received is closed once they are done
	anew      sync.Mutex           // held by who asks for them

	cronQuestions  atomic.Int64 // OnCron calls under way
	acceptance     *acceptance
	savingAccepted atomic.Bool

	said *pluginsdk.Manifest // manifest of the process that was started last; guarded by the lock of Host.speakers
}

// crew is the goroutines of an instance, for which the instance waits at its end.
type crew struct {
	log   *slog.Logger
	mu    sync.Mutex
	ended bool
	tasks sync.WaitGroup
}

// spawn runs fn in a goroutine that end waits for. A panic in fn is logged with the name
// what. It reports false, and runs nothing, when the crew has ended.
func (c *crew) spawn(what string, fn func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.tasks.Go(func() { guard.Try(c.log, what, fn) })
	return true
}

// end waits for the goroutines. From its call on spawn begins none.
func (c *crew) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.tasks.Wait()
}

// over reports whether end was called.
func (c *crew) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// newInstance returns the instance of a row. first says that it begins with the daemon:
// then runs wait for its first start.
func newInstance(h *Host, row ledger.Plugin, first bool) *Instance {
	i := &Instance{host: h, name: row.Name, gone: make(chan struct{}), askChecks: make(chan chan<- struct{})}
	i.log = i.processLog().With("plugin", row.Name)
	i.row.Store(&row)
	i.acceptance = newAcceptance(row)
	i.crew = &crew{log: i.log}
	i.report = &report{
		host: h, name: row.Name, log: i.log, crew: i.crew, redact: i.redact, figures: newFigures(),
		seen:   ledger.PluginSeen{State: pluginsdk.PluginStarting, Restarts: row.Restarts, Refused: row.Refused},
		stored: ledger.SeenOf(row), generation: row.Generation, quarantine: row.Quarantine,
	}
	i.router = &router{
		name: row.Name, first: first, patience: h.config.Patience, info: i.Info, words: func() string { return i.report.now().LastError },
		held:  func(run string) bool { _, held := h.held.Load(run); return held },
		tried: make(chan struct{}), changed: make(chan struct{}), kept: make(map[string]*version),
		standing: standing{state: pluginsdk.PluginStarting},
	}
	i.supervisor = &supervisor{
		log: i.log, config: h.config, hands: i, router: i.router, report: i.report, crew: i.crew,
		redact: i.redact, news: h.Refresh, tail: i.tail, // Refresh compares its commands and sources with the others'
		wake: make(chan struct{}, 1), done: make(chan struct{}), phase: atWaiting, wanted: &row,
	}
	i.supervisor.confined.follow(row.Quarantine, 0)
	return i
}

// Info returns the plugin's row. The caller must not change it.
func (i *Instance) Info() *pluginsdk.PluginInfo { return &i.row.Load().PluginInfo }

// change replaces the row by a copy that edit has changed.
func (i *Instance) change(edit func(*ledger.Plugin)) {
	i.rowMu.Lock()
	defer i.rowMu.Unlock()
	changed := *i.row.Load()
	edit(&changed)
	i.row.Store(&changed)
}

func (i *Instance) redact(text string) string {
	if settings := i.settings.Load(); settings != nil && settings.Redact != nil {
		return settings.Redact(text)
	}
	return text
}

// processLog returns the logger for the plugin's own lines: they go to the daemon's log
// and to the plugin's file.
func (i *Instance) processLog() *slog.Logger {
	both := slog.NewMultiHandler(i.host.config.Log.Handler(), fileHandler{file: i.host.logs.of(i.name)})
	return slog.New(redactHandler{both, i.redact})
}

// update takes over a row, of that reading of the registry. From a row that was broken by
// hand it takes only the position, the problem and the quarantine. supervise orders the
// supervisor to follow the row.
func (i *Instance) update(row ledger.Plugin, reading int64) (supervise func()) {
	i.report.follow(row)
	i.saveAccepted()
	i.change(func(info *ledger.Plugin) {
		if row.Problem != "" {
			info.Position, info.Problem, info.Quarantine = row.Position, row.Problem, row.Quarantine
			return
		}
		*info = row
		if v := i.router.current(); v != nil { // the process's manifest is newer than the row's
			info.Manifest, info.Version = v.manifest, v.manifest.Version
		}
	})
	return func() { i.supervisor.order(order{row, reading}) }
}

// start begins to supervise, once the predecessor of the same name (nil: none) is gone:
// two processes must not hold one port.
func (i *Instance) start(run context.Context, predecessor *Instance) {
	ctx, cancel := context.WithCancel(run)
	i.supervisor.cancel = cancel
	go func() {
		if predecessor != nil {
			<-predecessor.gone
		}
		i.supervisor.run(ctx)
	}()
}

// lastWrite bounds how long an instance that ends may take to store its last state.
const lastWrite = 2 * time.Second

// end stops the process within Config.StopTimeout and waits for it. It always closes
// gone, even after a panic: the next instance of that name waits for that.
func (i *Instance) end(final pluginsdk.PluginState) {
	i.supervisor.cancel()
	<-i.supervisor.done
	i.crew.end()
	guard.Try(i.log, "the last words of a plugin", func() {
		ctx, cancel := context.WithTimeout(context.Background(), lastWrite)
		defer cancel()
		i.supervisor.storeQuarantine(ctx) // safe: the supervisor's goroutine has ended
		i.report.lastWords(ctx, final)
	})
	i.host.logs.of(i.name).close()
	close(i.gone)
}

// hasGone reports whether nothing of the instance is left running.
func (i *Instance) hasGone() bool {
	select {
	case <-i.gone:
		return true
	default:
		return false
	}
}

// live fills in the row what is known of the plugin at this moment.
func (i *Instance) live(row *ledger.Plugin) {
	problem := ""
	if settings := i.settings.Load(); settings != nil {
		problem = settings.Problem
	}
	i.report.live(row, problem)
}
