package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/pluginsdk"
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
	s.ready(func() string { return "" })
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

// A daemon without its API is up, and who asks systemd reads what is missing, until it
// is there.
func TestTheUnitsStatusSaysWhatDoesNotServe(t *testing.T) {
	isolate(t)
	told := notified(t)
	down := make(chan string, 2)
	outages := []pluginhost.Outage{{Plugin: "web", State: pluginsdk.PluginBackoff, Why: "port 8787 is in use"}}
	down <- inAWord(outages)
	down <- inAWord(nil)
	s := &supervisor{log: slog.New(slog.DiscardHandler), every: time.Millisecond}
	s.ready(func() string { return <-down })
	for _, want := range []string{"READY=1\nSTATUS=plugins that do not serve: web (backoff)", "STATUS="} {
		if state := <-told; state != want {
			t.Errorf("systemd is told %q; want %q", state, want)
		}
	}
	close(down)
	s.stop()
	for _, want := range []string{"web: port 8787 is in use", "tried again by itself", "harness plugin info web"} {
		if said := outagesSaid(outages); !strings.Contains(said, want) {
			t.Errorf("the welcome lacks %q:\n%s", want, said)
		}
	}
}
