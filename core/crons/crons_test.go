package crons_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/crons"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// world is a database and the events that are published.
type world struct {
	mu      sync.Mutex
	version int64
	known   bool
	mark    string
	failed  error
	reads   int
	looks   chan struct{}
	told    chan pluginsdk.EventType
}

func (w *world) Version(context.Context) (int64, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.looks <- struct{}{}:
	default:
	}
	return w.version, w.known
}

func (w *world) CronsMark(context.Context) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	return w.mark, w.failed
}

func (w *world) Publish(kind pluginsdk.EventType, _ string, _ any) { w.told <- kind }

func (w *world) set(version int64, mark string, failed error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version, w.mark, w.failed = version, mark, failed
}

// looked waits until the watch has looked twice more: the first of the two may have begun before.
func (w *world) looked() {
	for len(w.looks) > 0 {
		<-w.looks
	}
	<-w.looks
	<-w.looks
	<-w.looks
}

func watched(t *testing.T, known bool) *world {
	t.Helper()
	w := &world{version: 1, known: known, mark: "a", looks: make(chan struct{}, 1), told: make(chan pluginsdk.EventType, 10)}
	watch := crons.New(crons.Config{Every: time.Millisecond, Log: slog.New(slog.DiscardHandler)}, w, w)
	if err := watch.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = watch.Stop(context.Background()) })
	return w
}

// What somebody writes into the rows must be told, also after a look that failed, and what was
// written before the daemon began to look, or into other rows, must not.
func TestAChangeOfAJobIsTold(t *testing.T) {
	for _, known := range []bool{true, false} {
		w := watched(t, known)
		w.looked()
		w.set(2, "a", nil) // something else was committed
		w.looked()
		if len(w.told) > 0 {
			t.Errorf("known %v: told without a change", known)
		}
		w.set(3, "b", errors.New("the database is away"))
		w.looked()
		w.set(3, "b", nil)
		if kind := <-w.told; kind != pluginsdk.EventCronChanged {
			t.Errorf("told %q", kind)
		}
		w.looked()
		if len(w.told) > 0 {
			t.Errorf("known %v: one change was told twice", known)
		}
	}
}

// While nobody commits anything, the rows are not read.
func TestARestingDatabaseIsNotRead(t *testing.T) {
	w := watched(t, true)
	w.looked()
	w.looked()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reads != 1 {
		t.Errorf("the rows were read %d times", w.reads)
	}
}

// A daemon that cannot read them at its start says so: it would not know what changes.
func TestAStartWithoutTheRowsFails(t *testing.T) {
	w := &world{failed: errors.New("the database is away")}
	if err := crons.New(crons.Config{Log: slog.New(slog.DiscardHandler)}, w, w).Start(t.Context()); err == nil {
		t.Error("it has started")
	}
}
