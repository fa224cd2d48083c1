package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// regainPause is how long to wait between the tries to take a lost lock again.
const regainPause = 500 * time.Millisecond

// hold keeps the lock on the database until ctx ends, and returns nil then. While the lock is
// lost (the server was restarted, the connection cut), nothing new is accepted, begun or
// carried to people, and no task moves; when it is ours again, everything goes on. When
// another daemon has it, that is the error.
func (d *Daemon) hold(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.lease.Lost():
		}
		d.log.Error("the connection that holds the lock on the database was lost; nothing is begun until it is back")
		if err := d.regain(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		d.log.Info("the database is back; going on")
	}
}

// regain pauses what needs the lock, and tries to take that again and to resume
// until it succeeds, until another daemon turns out to have it, or until ctx
// ends.
func (d *Daemon) regain(ctx context.Context) error {
	pause := time.NewTicker(regainPause)
	defer pause.Stop()
	for {
		d.tasks.Pause()
		d.inbox.Pause()
		d.outbox.Pause()
		err := d.lease.Regain(ctx)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeConflict {
			return fmt.Errorf("another daemon has taken over: %w", err)
		}
		if err == nil {
			err = d.outbox.Resume(ctx)
		}
		if err == nil {
			err = d.inbox.Resume(ctx)
		}
		if err == nil {
			err = d.tasks.Resume(ctx)
		}
		if err == nil {
			return nil
		}
		d.log.Warn("the database is still away", "err", err)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// keepLock takes the lock on the database again if it was lost since it was taken: a
// start cannot wait for hold, which comes after it.
func (d *Daemon) keepLock(ctx context.Context) error {
	select {
	case <-d.lease.Lost():
		return d.lease.Regain(ctx)
	default:
		return nil
	}
}

// openPatience is how long a start waits for a database that does not answer:
// after a boot the server may be the later one.
const openPatience = 20 * time.Second

// patiently does something of the start again while the database does not
// answer, within openPatience.
func (d *Daemon) patiently(ctx context.Context, do func() error) error {
	patience, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	pause := time.NewTicker(regainPause)
	defer pause.Stop()
	for {
		err := do()
		if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
			return err
		}
		d.log.Warn("the database does not answer; trying again", "err", err)
		select {
		case <-pause.C:
		case <-patience.Done():
			return err
		}
	}
}
