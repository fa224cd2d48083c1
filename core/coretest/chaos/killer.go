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
	// progressPatience is how long it waits for something to happen.
	progressPatience = 10 * time.Second
)

// killer carries out the schedule.
type killer struct {
	world *world

	mu      sync.Mutex
	strikes []check.Strike
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

// strike hits one victim. When there is none of the kind, a daemon is hit.
func (k *killer) strike(ctx context.Context, s strike) error {
	if s.kind == check.Agent && !k.world.agents {
		s.kind = check.Plugin
	}
	record := check.Strike{Kind: s.kind, From: time.Now()}
	var err error
	switch s.kind {
	case check.Plugin, check.Agent:
		record.What, err = k.killChild(ctx, s)
	case check.Database:
		record.What, err = k.strikeDatabase(ctx, s)
		if err == nil && k.world.database.name == sqliteName {
			return nil // recorded when it ends
		}
	case check.Daemon:
	}
	if err != nil {
		return err
	}
	if record.What == "" {
		record.Kind = check.Daemon
		if _, err := until(ctx, bootPatience, func() (done bool) {
			record.What, done = k.world.daemon.kill()
			return done
		}); err != nil {
			return err
		}
	}
	record.To = time.Now()
	k.record(record)
	return nil
}

func (k *killer) record(s check.Strike) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.strikes = append(k.strikes, s)
	k.world.note("struck %s", s.What)
}

// killChild kills a plugin or an agent of the living daemon. The agent's tools
// are left alone: who ends them is what is to be seen.
func (k *killer) killChild(ctx context.Context, s strike) (what string, err error) {
	_, err = until(ctx, victimPatience, func() bool {
		pid, _ := k.world.daemon.now()
		victims := slices.DeleteFunc(k.world.marked(), func(p process) bool {
			stat, ok := readStat(p.pid)
			return !ok || stat.parent != pid || (s.kind == check.Plugin) != slices.Contains(k.world.plugins, p.name)
		})
		if len(victims) == 0 {
			return false
		}
		victim := victims[s.pick%len(victims)]
		what = fmt.Sprintf("%s %s %d", s.kind, victim.name, victim.pid)
		return syscall.Kill(victim.pid, syscall.SIGKILL) == nil
	})
	return what, err
}

// strikeDatabase cuts connections, or keeps the daemon from writing.
func (k *killer) strikeDatabase(ctx context.Context, s strike) (what string, err error) {
	database := k.world.database
	if database.name == sqliteName {
		k.holds.Go(func() { k.hold(ctx, s) })
		return "", nil
	}
	which := cuts[s.pick%len(cuts)]
	total := 0
	for range 1 + s.pick/len(cuts)%3 {
		var n int
		_, err := until(ctx, cutPatience, func() bool {
			n, err = database.cut(ctx, which)
			return n > 0 || err != nil
		})
		if err != nil {
			return "", err
		}
		total += n
	}
	return fmt.Sprintf("database: cut %d of its connections (%s)", total, which.name), nil
}

func (k *killer) hold(ctx context.Context, s strike) {
	record := check.Strike{Kind: check.Database, From: time.Now(), What: fmt.Sprintf("database: held its write lock for %v", s.hold)}
	if err := k.world.database.hold(ctx, s.hold); err != nil {
		record.What += ": " + err.Error()
	}
	record.To = time.Now()
	k.record(record)
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
