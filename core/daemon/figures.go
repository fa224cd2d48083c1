package daemon

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// figuresKept is how long the figures are told again before they are read anew: however
	// often they are asked for, the database is asked that seldom.
	figuresKept = 2 * time.Second
	// figuresPatience bounds how long the database may take for them.
	figuresPatience = 2 * time.Second
	// figuresGrace is how long a database that was told to stop may take for that.
	figuresGrace = 500 * time.Millisecond
)

// figures are what the daemon counts and measures of itself: each room's own, put
// together for who asks.
type figures struct {
	counted func() []pluginsdk.Figure                             // in memory
	stored  func(ctx context.Context) ([]pluginsdk.Figure, error) // of what lies in the database
	plugins func() map[string][]pluginsdk.Figure                  // that plugins tell of themselves
	log     *slog.Logger

	mu      sync.Mutex
	kept    []pluginsdk.Figure
	refused map[string]bool // names of figures of plugins that were left out, as the log has said
	at      time.Time       // when kept was made
	reading chan readback   // of what is being read from the database; nil: nothing is
}

// readback is what came of reading the database.
type readback struct {
	figures []pluginsdk.Figure
	err     error
}

// All returns them by name. What the database does not tell now is not among them. They
// are the caller's to read, and nobody's to change.
func (f *figures) All(context.Context) []pluginsdk.Figure {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.at) < figuresKept {
		return f.kept
	}
	stored := f.read()
	if stored.err != nil {
		f.log.Warn("the figures of what lies in the database cannot be read", "err", stored.err)
	}
	all := append(slices.Concat(f.counted(), stored.figures),
		tally.Flag("harness_database_up", "1 when the database answered the questions for these figures.", stored.err == nil))
	all = append(all, f.pluginsOwn(all)...)
	slices.SortFunc(all, func(a, b pluginsdk.Figure) int { return strings.Compare(a.Name, b.Name) })
	f.kept, f.at = all, time.Now()
	return f.kept
}

// read asks the database, and waits for figuresPatience. A server that is gone without a
// word answers later, or never: until then it is not asked again. The lock is held.
func (f *figures) read() readback {
	select {
	case <-f.reading: // came too late for who asked for it
		f.reading = nil
	default:
	}
	if f.reading == nil {
		reading := make(chan readback, 1)
		f.reading = reading
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), figuresPatience)
			defer cancel()
			var got readback
			got.err = guard.Call(f.log, "the reading of figures", func() (err error) {
				got.figures, err = f.stored(ctx)
				return err
			})
			reading <- got
		}()
	}
	patience := time.NewTimer(figuresPatience + figuresGrace)
	defer patience.Stop()
	select {
	case got := <-f.reading:
		f.reading = nil
		return got
	case <-patience.C:
		return readback{err: pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database does not answer")}
	}
}

// countedFigures asks the rooms what they have counted.
func (d *Daemon) countedFigures() []pluginsdk.Figure {
	return slices.Concat(
		d.inbox.Figures(), d.pipeline.Figures(), d.tasks.Figures(), d.outbox.Figures(), d.agent.Figures(), d.events.Figures(),
		d.approvals.Figures(), d.files.Figures(), d.tokens.Figures(), d.plan.Figures(), d.store.Counted(), d.ownFigures(),
	)
}

// storedFigures reads what lies in the database.
func (d *Daemon) storedFigures(ctx context.Context) ([]pluginsdk.Figure, error) {
	figures, err := d.store.Figures(ctx)
	backlog, unread := d.store.Backlog(ctx)
	if unread == nil {
		figures = append(figures, d.inbox.Queued(backlog, time.Now())...)
	}
	index, unsearched := d.search.Figures(ctx)
	return append(figures, index...), errors.Join(err, unread, unsearched)
}

// ownFigures are those of the process, and of what is no room's.
func (d *Daemon) ownFigures() []pluginsdk.Figure {
	held := true
	select {
	case <-d.lease.Lost():
		held = false
	default:
	}
	build := tally.Gauge("harness_build_info", "1, with the version of Harness, which agent answers, and the database.", 1)
	build.Samples[0].Labels = map[string]string{"version": d.config.Version, "agent": d.AgentName(), "database": d.store.Dialect()}
	memory := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(memory)
	var cpu tally.Set
	cpu.Counter("harness_cpu_seconds_total", "CPU time of the daemon, without plugins and agent.").Add(cpuTime().Seconds())
	return append(cpu.Figures(),
		build,
		tally.Gauge("harness_start_time_seconds", "When the daemon was started, in seconds since 1970.", float64(d.began.UnixMilli())/1000),
		tally.Flag("harness_database_lock_held", "1 while this daemon has the lock on its database; without it nothing is begun.", held),
		tally.Gauge("harness_memory_bytes", "Memory of the daemon, without plugins and agent.", float64(memory[0].Value.Uint64()-memory[1].Value.Uint64())),
		tally.Gauge("harness_goroutines", "Goroutines of the daemon.", float64(runtime.NumGoroutine())),
	)
}

// cpuTime is what this process has used; 0 when nobody says.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
