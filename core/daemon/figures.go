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

	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// figuresKept is how long the figures are told again before they are read anew: however
	// often they are asked for, the database is asked that seldom.
	figuresKept = 2 * time.Second
	// figuresPatience bounds how long the database may take for them.
	figuresPatience = 2 * time.Second
)

// figures are what the daemon counts and measures of itself: each room's own, put
// together for who asks.
type figures struct {
	read func(ctx context.Context, now time.Time) ([]pluginsdk.Figure, error)
	log  *slog.Logger

	mu   sync.Mutex
	kept []pluginsdk.Figure
	at   time.Time // when they were read
}

// All returns them by name. What the database does not tell now is not among them. They
// are the caller's to read, and nobody's to change.
func (f *figures) All(ctx context.Context) []pluginsdk.Figure {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if now.Sub(f.at) < figuresKept {
		return f.kept
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), figuresPatience)
	defer cancel()
	figures, err := f.read(ctx, now)
	if err != nil {
		f.log.Warn("some figures cannot be read", "err", err)
	}
	slices.SortFunc(figures, func(a, b pluginsdk.Figure) int { return strings.Compare(a.Name, b.Name) })
	f.kept, f.at = figures, time.Now()
	return f.kept
}

// readFigures asks the rooms.
func (d *Daemon) readFigures(ctx context.Context, now time.Time) ([]pluginsdk.Figure, error) {
	stored, err := d.store.Figures(ctx)
	backlog, unread := d.store.Backlog(ctx)
	if unread == nil {
		stored = append(stored, d.inbox.Queued(backlog, now)...)
	}
	err = errors.Join(err, unread)
	return slices.Concat(
		stored, d.inbox.Figures(), d.pipeline.Figures(), d.tasks.Figures(), d.outbox.Figures(), d.agent.Figures(),
		d.events.Figures(), d.ownFigures(err == nil),
	), err
}

// ownFigures are those of the process, and of what is no room's.
func (d *Daemon) ownFigures(databaseUp bool) []pluginsdk.Figure {
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
		tally.Flag("harness_database_up", "1 when the database answered the questions for these figures.", databaseUp),
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
