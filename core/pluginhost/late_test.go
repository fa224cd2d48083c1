package pluginhost

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// holding asks the plugin for something that goes on until the file is there,
// whether the caller waits for it or not.
func holding(ctx context.Context, p *launch.Plugin, i *Instance, callID, file string) error {
	request := &pluginsdk.OnCommandRequest{Name: "say-" + i.name, Body: "hold " + file}
	request.Call.ID = callID
	_, err := p.OnCommand(ctx, request)
	return err
}

func hold(i *Instance, callID, file string) error {
	return i.Do(context.Background(), "", pluginsdk.HookCommand, callID, func(p *launch.Plugin) error {
		return holding(context.Background(), p, i, callID, file)
	})
}

// giveUp holds a call, and gives it up as if its deadline had come.
func giveUp(t *testing.T, i *Instance, callID, file string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := i.Do(t.Context(), "", pluginsdk.HookCommand, callID, func(p *launch.Plugin) error {
		go func() { _ = holding(ctx, p, i, callID, file) }()
		waitFor(t, func() bool { _, err := os.Stat(file + ".held"); return err == nil })
		return pluginsdk.Errorf(pluginsdk.CodeDeadline, "late: %w", context.DeadlineExceeded)
	})
	if err == nil {
		t.Fatal("the call was not given up")
	}
}

// A call that was given up and has ended is not taken to go on because it is asked
// again: its repetition, under the same id, may take as long as it likes.
func TestARepetitionIsNotTakenForTheCallThatWasGivenUp(t *testing.T) {
	h, r := startOn(t, Config{LateGrace: 5 * time.Second}, &bus{}, "first")
	i := serving(t, h, r, "first")
	first, second := t.TempDir()+"/first", t.TempDir()+"/second"
	giveUp(t, i, "C", first)
	repetition := make(chan error)
	go func() { repetition <- hold(i, "C", second) }()
	i.router.mu.Lock()
	v := i.router.serving
	i.router.mu.Unlock()
	waitFor(t, func() bool { i.router.mu.Lock(); defer i.router.mu.Unlock(); return v.asked["C"] == 1 })
	release(t, first)
	waitFor(t, func() bool { i.router.mu.Lock(); defer i.router.mu.Unlock(); return v.late == 0 })
	release(t, second)
	if err := <-repetition; err != nil {
		t.Errorf("the repetition: %s", err)
	}
	if row := r.row("first"); row.Restarts != 0 {
		t.Errorf("the plugin was ended: %s", row.LastError)
	}
}

// A call that hangs is seen to hang although its repetition is under way as well.
func TestACallThatHangsIsNotTakenForItsRepetition(t *testing.T) {
	h, r := start(t, "first")
	i := serving(t, h, r, "first")
	never := t.TempDir() + "/never"
	giveUp(t, i, "C", never)
	if err := hold(i, "C", never); err == nil {
		t.Error("the repetition outlived the plugin")
	}
	var row ledger.Plugin
	r.until(t, "the end of the plugin", func() bool { row = r.row("first"); return row.Restarts == 1 })
	if !strings.Contains(row.LastError, "did not end within") {
		t.Errorf("it was ended for %q", row.LastError)
	}
}

// Nor is it when the repetition is counted here for long, and does not reach the plugin.
func TestACallThatHangsIsNotTakenForARepetitionThatIsOnItsWay(t *testing.T) {
	h, r := start(t, "first")
	i := serving(t, h, r, "first")
	i.router.mu.Lock()
	v := i.router.serving
	i.router.mu.Unlock()
	giveUp(t, i, "C", t.TempDir()+"/never")
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = i.Do(t.Context(), "", pluginsdk.HookCommand, "C", func(*launch.Plugin) error {
			select {
			case <-v.gone:
			case <-t.Context().Done():
			}
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "it has not reached the plugin")
		})
	}()
	r.until(t, "the end of the plugin", func() bool { return r.row("first").Restarts == 1 })
	<-over
}

func release(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Error(err)
	}
}
