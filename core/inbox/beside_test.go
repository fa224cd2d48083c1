package inbox

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// besideCommands are commands of which budget and cron concern no conversation.
var besideCommands = []Command{
	{Plugin: "metrics", Spec: pluginsdk.CommandSpec{Name: "budget", Beside: true}},
	{Plugin: "cron", Spec: pluginsdk.CommandSpec{Name: "cron", Beside: true}},
	{Plugin: "delegation", Spec: pluginsdk.CommandSpec{Name: "delegate"}},
	{Plugin: "one", Spec: pluginsdk.CommandSpec{Name: "shared", Beside: true}},
	{Plugin: "two", Spec: pluginsdk.CommandSpec{Name: "shared"}},
}

// types submits what a person writes.
func (f *fixture) types(t *testing.T, thread, key, content string) pluginsdk.Accepted {
	t.Helper()
	return f.give(t, pluginsdk.Submission{ThreadID: thread, Source: "web", Key: key, Content: content, Author: "ann"})
}

func (f *fixture) give(t *testing.T, s pluginsdk.Submission) pluginsdk.Accepted {
	t.Helper()
	accepted, err := f.Submit(t.Context(), ledger.By{Plugin: "web"}, s)
	if err != nil {
		t.Fatal(err)
	}
	return accepted
}

func (f *fixture) over(runIDs ...string) func() bool {
	return func() bool {
		for _, run := range f.store.runs {
			for _, id := range runIDs {
				if run.ID == id && !run.State.Final() {
					return false
				}
			}
		}
		return true
	}
}

// Who asks for the budgets while the agent works has the answer at once, in every busy mode, and
// what the agent does goes on undisturbed. What waits in the thread keeps its order.
func TestACommandBesideItsThreadWaitsForNoTurn(t *testing.T) {
	for _, mode := range []pluginsdk.BusyMode{pluginsdk.BusyQueue, pluginsdk.BusySteer, pluginsdk.BusyCollect, pluginsdk.BusyInterrupt} {
		t.Run(string(mode), func(t *testing.T) {
			f := newFixture(t, Config{Slots: 1}, besideCommands...)
			f.store.threads["P"] = pluginsdk.Thread{ID: "P", Kind: pluginsdk.ThreadPrimary, BusyMode: mode}
			begun, release := make(chan struct{}), make(chan struct{})
			f.line.handle = func(ctx context.Context, claim ledger.Claim) error {
				if claim.Message.Content != "hello" {
					return nil
				}
				close(begun)
				select {
				case <-release:
				case <-ctx.Done():
					t.Errorf("the turn was ended: %v", context.Cause(ctx))
				}
				return nil
			}
			f.begin(t)
			turn := f.types(t, "P", "1", "hello")
			<-begun
			queued := f.types(t, "P", "2", "/delegate x")
			budget, cron := f.types(t, "P", "3", "/budget"), f.types(t, "P", "4", "/cron list")
			f.store.until(t, "the answers", f.over(budget.RunID, cron.RunID))
			if state := f.state(turn.RunID); state != pluginsdk.RunRunning {
				t.Errorf("the turn is %s", state)
			}
			if state := f.state(queued.RunID); state != pluginsdk.RunQueued {
				t.Errorf("the command of the conversation is %s", state)
			}
			if len(f.line.steers) > 0 {
				t.Error("a command was to be put into the turn")
			}
			close(release)
			f.store.until(t, "the end of all runs", f.store.allFinal)
			if first, last := f.line.order[0], f.line.order[len(f.line.order)-1]; first != "hello" || last != "/delegate x" {
				t.Errorf("the order was %q", f.line.order)
			}
		})
	}
}

// Only what a person types goes past the queue, and only if all plugins agree that answer it.
func TestWhatIsBesideItsThread(t *testing.T) {
	f := newFixture(t, Config{}, besideCommands...)
	f.submit(t, "T", "cause", "hello")
	cause := f.store.runs[0].ID
	for n, c := range []struct {
		submission pluginsdk.Submission
		beside     string
	}{
		{pluginsdk.Submission{Content: "/budget list", Author: "ann"}, "budget"},
		{pluginsdk.Submission{Content: "/budget list", Scope: pluginsdk.ScopeAdmin}, "budget"},
		{pluginsdk.Submission{Content: "/budget list"}, ""},
		{pluginsdk.Submission{Content: "/budget list", Author: "ann", CauseRunID: cause}, ""},
		{pluginsdk.Submission{Content: "/delegate x", Author: "ann"}, ""},
		{pluginsdk.Submission{Content: "/shared", Author: "ann"}, ""},
		{pluginsdk.Submission{Content: "/status", Author: "ann"}, ""},
		{pluginsdk.Submission{Content: "the /budget", Author: "ann"}, ""},
	} {
		c.submission.ThreadID, c.submission.Source, c.submission.Key = "T", "web", fmt.Sprint(n)
		f.give(t, c.submission)
		if run := f.store.runs[n+1]; run.BesideAs != c.beside || run.Beside != (c.beside != "") {
			t.Errorf("%+v is beside its thread as %q, want %q", c.submission, run.BesideAs, c.beside)
		}
	}
}

// A flood of commands takes no place of a conversation, is carried out in order, at most so many
// at a time, and has no goroutine for each that waits.
func TestAFloodOfCommandsBesideTheirThreads(t *testing.T) {
	f := newFixture(t, Config{Slots: 2}, besideCommands...)
	var now, most atomic.Int32
	release := make(chan struct{})
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		if claim.Run.Beside {
			n := now.Add(1)
			defer now.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			<-release
		}
		return nil
	}
	f.begin(t)
	before := runtime.NumGoroutine()
	for n := range 200 {
		f.types(t, fmt.Sprint("T", n%10), fmt.Sprint(n), fmt.Sprintf("/budget %03d", n))
	}
	if more := runtime.NumGoroutine() - before; more > 20 {
		t.Errorf("%d goroutines more for commands of 10 threads", more)
	}
	for n := range 10 {
		said := f.types(t, fmt.Sprint("T", n%10), fmt.Sprint("said", n), "hello")
		f.store.until(t, "an answer to a message", f.over(said.RunID))
	}
	close(release)
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if most.Load() > commandPlaces {
		t.Errorf("%d commands were at work at a time", most.Load())
	}
	last := map[string]string{}
	for _, content := range f.line.order {
		if number, ok := strings.CutPrefix(content, "/budget "); ok {
			thread := number[2:]
			if number <= last[thread] {
				t.Errorf("%s after %s", number, last[thread])
			}
			last[thread] = number
		}
	}
}

// One that has to wait for its next attempt holds up only those of its name, and those no longer
// than until somebody ends it. While what plugins start is paused, people's commands go on.
func TestACommandBesideItsThreadIsTriedAgainAndCancelled(t *testing.T) {
	f := newFixture(t, Config{RetryBase: 1e12, RetryMax: 1e12, Sweep: time.Hour}, besideCommands...)
	f.store.lever = ledger.Lever{On: true}
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		if claim.Message.Content == "/budget bad" {
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin does not serve")
		}
		return nil
	}
	waits, once := make(chan struct{}), sync.Once{}
	f.store.fault = func(name string) error { // called by the lane, once the attempt is behind it
		f.store.mu.Lock()
		defer f.store.mu.Unlock()
		if name == "claim" && len(f.store.ends) > 0 {
			once.Do(func() { close(waits) })
		}
		return nil
	}
	bad, behind := f.types(t, "T", "1", "/budget bad"), f.types(t, "T", "2", "/budget list")
	f.begin(t)
	<-waits
	other := f.types(t, "T", "3", "/cron list")
	f.store.until(t, "the answer of another command", f.over(other.RunID))
	if state := f.state(behind.RunID); state != pluginsdk.RunQueued {
		t.Errorf("the command behind it is %s", state)
	}
	if run, err := f.Cancel(t.Context(), bad.RunID, ledger.By{Author: "ann"}); err != nil || run.State != pluginsdk.RunCancelled {
		t.Fatalf("%+v, %v", run, err)
	}
	f.store.until(t, "the end of all runs", f.store.allFinal)
}

// A command whose claim was lost on its way, or over which a daemon died, is claimed again.
func TestACommandBesideItsThreadIsClaimedAgain(t *testing.T) {
	f := newFixture(t, Config{}, besideCommands...)
	f.types(t, "T", "1", "/budget list")
	f.store.runs[0].State, f.store.runs[0].Owner = pluginsdk.RunRunning, "a boot that is over"
	f.store.lost = true
	f.begin(t)
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if len(f.line.order) != 1 {
		t.Errorf("it was carried out %d times", len(f.line.order))
	}
}
