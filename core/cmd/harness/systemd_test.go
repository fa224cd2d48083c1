package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A process that still ticks although its database hangs is one that systemd
// must restart: it may not be told that all is well.
func TestTheWatchdogHearsOnlyOfADaemonThatIsWell(t *testing.T) {
	isolate(t)
	told := notified(t)
	var log bytes.Buffer
	s := &supervisor{log: slog.New(slog.NewTextHandler(&log, nil))}
	for _, alive := range []func(context.Context) error{
		func(context.Context) error { return errors.New("the disk is gone") },
		func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		s.alive = alive
		s.reassure(t.Context(), time.Millisecond)
	}
	s.notify("END=1")
	if state := <-told; state != "END=1" {
		t.Errorf("systemd is told %q of a daemon that is not well", state)
	}
	if !strings.Contains(log.String(), "the disk is gone") || !strings.Contains(log.String(), "deadline") {
		t.Errorf("log = %s", log.String())
	}
	s.alive = func(context.Context) error { return nil }
	s.reassure(t.Context(), time.Minute)
	if state := <-told; state != "WATCHDOG=1" {
		t.Errorf("systemd is told %q; want WATCHDOG=1", state)
	}
}

func TestTheWatchdogIsServedUntilTheSupervisorStops(t *testing.T) {
	isolate(t)
	told := notified(t)
	t.Setenv("WATCHDOG_USEC", "20000")
	t.Setenv("WATCHDOG_PID", "")
	asked := make(chan struct{}, 1000)
	s := &supervisor{log: slog.New(slog.DiscardHandler), alive: func(context.Context) error {
		select {
		case asked <- struct{}{}:
		default:
		}
		return nil
	}}
	s.ready()
	for _, want := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1"} {
		if state := <-told; state != want {
			t.Errorf("systemd is told %q; want %s", state, want)
		}
	}
	s.stop()
	s.stop()
	if len(asked) == 0 {
		t.Error("the daemon was not asked")
	}
}
