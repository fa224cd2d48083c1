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

// Instance is one enabled plugin: the supervisor keeps it running, the router knows
// which version of it answers, the report says what is seen of it.
type Instance struct {
	host       *Host
	name       string
	log        *slog.Logger
	supervisor *supervisor
	router     *router
	report     *report
	crew       *crew
	gone       chan struct{} // closed when nothing of the instance is left

	row      atomic.Pointer[ledger.Plugin] // with the manifest of the version that serves
	rowMu    sync.Mutex                    // held while row is replaced
	settings atomic.Pointer[Settings]      // in force
	alive    sync.Map                      // the versions whose processes were begun and not ended

	said *pluginsdk.Manifest // by the process that was started last; Host.speakers' lock guards it
}

// crew is the goroutines of an instance, which waits for them at its end.
type crew struct {
	log   *slog.Logger
	mu    sync.Mutex
	ended bool
	tasks sync.WaitGroup
}

// spawn runs fn as a goroutine that end waits for, guarded as what. A crew that has
// ended begins none, and says so.
func (c *crew) spawn(what string, fn func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.tasks.Go(func() { guard.Try(c.log, what, fn) })
	return true
}

// end waits for the goroutines; no other is begun.
func (c *crew) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.tasks.Wait()
}

// over reports whether the crew has ended, or is about to.
func (c *crew) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// newInstance returns the instance of a row. Of one that is begun with the daemon
// (first) the runs wait for the start.
func newInstance(h *Host, row ledger.Plugin, first bool) *Instance {
	i := &Instance{host: h, name: row.Name, gone: make(chan struct{})}
	i.log = i.processLog().With("plugin", row.Name)
	i.row.Store(&row)
	i.crew = &crew{log: i.log}
	i.report = &report{
		host: h, name: row.Name, log: i.log, crew: i.crew, redact: i.redact, figures: newFigures(),
		seen:   ledger.PluginSeen{State: pluginsdk.PluginStarting, Restarts: row.Restarts},
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
		redact: i.redact, news: h.Refresh, tail: i.tail, // its commands and sources are compared with the others' then
		wake: make(chan struct{}, 1), done: make(chan struct{}), phase: atWaiting, wanted: &row,
	}
	i.supervisor.confined.follow(row.Quarantine, 0)
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

// processLog is where a plugin's own lines go: the daemon's log, and the
// plugin's file.
func (i *Instance) processLog() *slog.Logger {
	both := slog.NewMultiHandler(i.host.config.Log.Handler(), fileHandler{file: i.host.logs.of(i.name)})
	return slog.New(redactHandler{both, i.redact})
}

// update takes over what an operator changed in the row, which was read at a reading of
// the registry. Of a row that was broken by hand only the place in the order is, and
// whether it is in quarantine; the rest stays as it was. What is returned has the
// supervisor do the rest.
func (i *Instance) update(row ledger.Plugin, reading int64) (supervise func()) {
	i.report.follow(row)
	i.change(func(info *ledger.Plugin) {
		if row.Problem != "" {
			info.Position, info.Problem, info.Quarantine = row.Position, row.Problem, row.Quarantine
			return
		}
		*info = row
		if v := i.router.current(); v != nil { // the process knows better
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

// lastWrite is how long the last words of an instance may take to be stored.
const lastWrite = 2 * time.Second

// end stops the process within the configured time and waits for it. Whatever
// happens, it comes to its end: the next instance of that name waits for this.
func (i *Instance) end(final pluginsdk.PluginState) {
	i.supervisor.cancel()
	<-i.supervisor.done
	i.crew.end()
	guard.Try(i.log, "the last words of a plugin", func() {
		ctx, cancel := context.WithTimeout(context.Background(), lastWrite)
		defer cancel()
		i.supervisor.storeQuarantine(ctx) // its goroutine has ended
		i.report.lastWords(ctx, final)
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

// live puts what is known at this moment into a row of the registry.
func (i *Instance) live(row *ledger.Plugin) {
	problem := ""
	if settings := i.settings.Load(); settings != nil {
		problem = settings.Problem
	}
	i.report.live(row, problem)
}
