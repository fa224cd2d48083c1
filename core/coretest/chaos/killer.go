package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
)

const (
	// victimPatience is how long a strike waits for somebody of its kind.
	victimPatience = 3 * time.Second
	// cutPatience is how long a cut waits for a connection that it is about.
	cutPatience = 500 * time.Millisecond
	// commitPatience is how long an aimed strike waits for a commit.
	commitPatience = 500 * time.Millisecond
	// progressPatience is how long it waits for something to happen.
	progressPatience = 10 * time.Second
)

// killer carries out the schedule.
type killer struct {
	world *world

	mu      sync.Mutex
	strikes []check.Strike
	struck  map[string]int // how often a plugin was, by NAME DAEMON
	holds   sync.WaitGroup
	done    atomic.Int64
}

// run returns when the schedule is over.
func (k *killer) run(ctx context.Context, strikes []strike) error {
	defer k.holds.Wait()
	for _, s := range strikes {
		if err := k.wait(ctx, s); err != nil {
			return err
		}
		if err := k.strike(ctx, s); err != nil {
			return fmt.Errorf("strike at the %s: %w", s.kind, err)
		}
		k.done.Add(1)
	}
	return nil
}

// wait is what comes before a strike.
func (k *killer) wait(ctx context.Context, s strike) error {
	if !s.rash {
		if err := k.world.daemon.awaitHealthy(ctx); err != nil {
			return err
		}
	}
	if s.calm {
		if err := k.world.daemon.awaitHealthy(ctx); err != nil {
			return err
		}
		if err := pause(ctx, calmPause); err != nil {
			return err
		}
	}
	goal := k.world.progress.Load() + int64(s.progress)
	if _, err := until(ctx, progressPatience, func() bool { return k.world.progress.Load() >= goal }); err != nil {
		return err
	}
	return pause(ctx, s.pause)
}

// strike hits one victim. When none of the kind can be hit, a daemon is.
func (k *killer) strike(ctx context.Context, s strike) error {
	if s.kind == check.Agent && !k.world.agents {
		s.kind = check.Plugin
	}
	if s.kind == check.Database && k.world.database.name == sqliteName {
		k.holds.Go(func() { k.hold(ctx, s) })
		return nil
	}
	record := check.Strike{Kind: s.kind, From: time.Now()}
	var err error
	switch s.kind {
	case check.Plugin, check.Agent:
		record.What, err = k.killChild(ctx, s)
	case check.Database:
		record.What, err = k.cut(ctx, s)
	case check.Daemon:
		if s.aimed {
			if err := k.world.database.committed(ctx, commitPatience); err != nil {
				k.world.note("cannot see commits: %v", err)
			}
		}
		return k.killDaemon(ctx, "")
	}
	if err != nil {
		return err
	}
	if record.What == "" {
		return k.killDaemon(ctx, s.kind)
	}
	record.To = time.Now()
	k.record(record)
	return nil
}

// record keeps what was hit.
func (k *killer) record(s check.Strike) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.strikes = append(k.strikes, s)
	if s.Meant != "" {
		s.What += fmt.Sprintf(" (meant for: %s, and there was none)", s.Meant)
	}
	k.world.note("struck %s", s.What)
}

// killDaemon kills the daemon as soon as there is one; meant is what could not
// be hit, if anything.
func (k *killer) killDaemon(ctx context.Context, meant check.Kind) error {
	record := check.Strike{Kind: check.Daemon, Meant: meant, From: time.Now()}
	hit, err := until(ctx, bootPatience, func() (hit bool) {
		record.What, hit = k.world.daemon.kill()
		return hit
	})
	if err != nil {
		return err
	}
	if !hit {
		return fmt.Errorf("there was no daemon for %v", bootPatience)
	}
	record.To = time.Now()
	k.record(record)
	return nil
}

// mostStrikes is how often a plugin is struck under one daemon: one that fails five times
// is put into quarantine, and the courier dies by its own doing as well.
const mostStrikes = 2

// killChild kills a plugin or an agent of the living daemon; what is empty when
// there is none. The agent's tools are left alone: who ends them is what is to
// be seen.
func (k *killer) killChild(ctx context.Context, s strike) (what string, err error) {
	_, err = until(ctx, victimPatience, func() bool {
		pid, _ := k.world.daemon.now()
		victims := slices.DeleteFunc(k.world.processes(), func(p process) bool {
			stat, ok := readStat(p.pid)
			return !p.marked || !ok || stat.parent != pid || (s.kind == check.Plugin) != slices.Contains(k.world.plugins, p.name)
		})
		if s.kind == check.Plugin {
			victims = slices.DeleteFunc(victims, func(p process) bool { return !k.mayBeStruck(p.name, pid) })
		}
		if len(victims) == 0 {
			return false
		}
		victim := victims[s.pick%len(victims)]
		if syscall.Kill(victim.pid, syscall.SIGKILL) != nil {
			return false
		}
		what = fmt.Sprintf("%s %s %d", s.kind, victim.name, victim.pid)
		if s.kind == check.Plugin {
			k.countStrike(victim.name, pid)
		}
		return true
	})
	return what, err
}

// mayBeStruck reports whether a plugin was not struck too often under a daemon, and
// countStrike counts that it was.
func (k *killer) mayBeStruck(plugin string, daemon int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.struck[under(plugin, daemon)] < mostStrikes
}

func (k *killer) countStrike(plugin string, daemon int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.struck[under(plugin, daemon)]++
}

// under is the key of killer.struck.
func under(plugin string, daemon int) string { return fmt.Sprint(plugin, " ", daemon) }

// cut ends connections of the daemon (Postgres); what is empty when none was
// ended.
func (k *killer) cut(ctx context.Context, s strike) (what string, err error) {
	which, total := cuts[s.pick%len(cuts)], 0
	for range 1 + s.pick/len(cuts)%3 {
		var n int
		var failed error
		if _, err := until(ctx, cutPatience, func() bool {
			n, failed = k.world.database.cut(ctx, which)
			return failed == nil && n > 0
		}); err != nil {
			return "", err
		}
		if failed != nil {
			k.world.note("cannot cut connections (%s): %v", which.name, failed)
			continue
		}
		total += n
	}
	if total == 0 {
		return "", nil
	}
	return fmt.Sprintf("database: cut %d of its connections (%s)", total, which.name), nil
}

// hold keeps the daemon from writing (SQLite). It is recorded when it ends.
func (k *killer) hold(ctx context.Context, s strike) {
	record := check.Strike{Kind: check.Database, From: time.Now(), What: fmt.Sprintf("database: held its write lock for %v", s.hold)}
	err := k.world.database.hold(ctx, s.hold)
	if err == nil {
		record.To = time.Now()
		k.record(record)
		return
	}
	k.world.note("cannot hold the write lock: %v", err)
	if err := k.killDaemon(ctx, check.Database); err != nil {
		k.world.note("nor strike the daemon instead: %v", err)
	}
}

func pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// until asks again and again whether something holds, at most for limit.
func until(ctx context.Context, limit time.Duration, holds func() bool) (bool, error) {
	deadline := time.Now().Add(limit)
	for !holds() {
		if time.Now().After(deadline) {
			return false, nil
		}
		if err := pause(ctx, poll); err != nil {
			return false, err
		}
	}
	return true, nil
}
