package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// busyFixture has a thread of a busy mode in which a turn runs that the test
// ends, or that ends when it is interrupted.
func busyFixture(t *testing.T, mode pluginsdk.BusyMode) (f *fixture, end chan struct{}, causes *[]error) {
	t.Helper()
	f = newFixture(t, Config{})
	f.store.threads["T"] = pluginsdk.Thread{ID: "T", BusyMode: mode}
	entered, end, causes := make(chan struct{}), make(chan struct{}), new([]error)
	f.line.handle = func(ctx context.Context, claim ledger.Claim) error {
		if claim.Message.Content != "first" {
			return nil
		}
		close(entered)
		select {
		case <-end:
		case <-ctx.Done():
			f.line.mu.Lock()
			*causes = append(*causes, context.Cause(ctx))
			f.line.mu.Unlock()
		}
		return nil
	}
	f.begin(t)
	f.submit(t, "T", "first", "first")
	<-entered
	return f, end, causes
}

func (f *fixture) states() string {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	var states []string
	for _, run := range f.store.runs {
		states = append(states, string(run.State))
	}
	return strings.Join(states, " ")
}

// The default: each message is answered by itself, in its turn.
func TestBusyModeQueue(t *testing.T) {
	f, end, _ := busyFixture(t, pluginsdk.BusyQueue)
	f.submit(t, "T", "2", "second")
	f.submit(t, "T", "3", "third")
	close(end)
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if got := strings.Join(f.line.order, " "); got != "first second third" {
		t.Error(got)
	}
}

// What waited becomes one message; a command in between is not swallowed.
func TestBusyModeCollect(t *testing.T) {
	f, end, _ := busyFixture(t, pluginsdk.BusyCollect)
	f.registry = commands{{Plugin: "shop", Spec: pluginsdk.CommandSpec{Name: "buy"}}}
	f.submit(t, "T", "2", "second")
	f.submit(t, "T", "3", "third")
	f.submit(t, "T", "4", "/buy milk")
	f.submit(t, "T", "5", "fifth")
	close(end)
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if got := strings.Join(f.line.order, " "); got != "first second /buy milk fifth" {
		t.Error(got)
	}
	if got := f.states(); got != "succeeded succeeded merged succeeded succeeded" {
		t.Error(got)
	}
	if run := f.store.runs[2]; run.MergedInto != f.store.runs[1].ID || !slices.Equal(f.store.runs[1].Absorbed, []int64{3}) {
		t.Errorf("%+v", run)
	}
}

// A message that comes during a turn is offered to that turn.
func TestBusyModeSteer(t *testing.T) {
	f, end, _ := busyFixture(t, pluginsdk.BusySteer)
	f.submit(t, "T", "2", "second")
	if got := <-f.line.steers; got != f.store.runs[0].ID {
		t.Errorf("steered into %q", got)
	}
	close(end)
	f.store.until(t, "the end of all runs", f.store.allFinal)
}

// A newer message ends the turn, which counts as cancelled, and is next.
func TestBusyModeInterrupt(t *testing.T) {
	f, _, causes := busyFixture(t, pluginsdk.BusyInterrupt)
	f.submit(t, "T", "2", "second")
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if got := f.states(); !strings.HasPrefix(got, "cancelled succeeded") {
		t.Error(got)
	}
	if len(*causes) != 1 || !errors.Is((*causes)[0], ErrSuperseded) {
		t.Errorf("causes %v", *causes)
	}
}

// A message must not interrupt the very run that has absorbed it.
func TestMessageDoesNotInterruptItself(t *testing.T) {
	f, _, causes := busyFixture(t, pluginsdk.BusyInterrupt)
	f.joinIn(t.Context(), ledger.Accepted{
		Accepted: pluginsdk.Accepted{ThreadID: "T", MessageID: 1, RunID: "another"}, BusyMode: pluginsdk.BusyInterrupt,
	}, true)
	f.mu.Lock()
	for _, r := range f.running {
		if r.newest != 1 {
			t.Errorf("newest message %d", r.newest)
		}
	}
	f.mu.Unlock()
	if _, err := f.StopThread(t.Context(), "T", pluginsdk.KeepQueue, ledger.By{Plugin: "discord", Author: "ann"}); err != nil {
		t.Fatal(err)
	}
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if len(*causes) != 1 || (*causes)[0].Error() != "stopped by ann, through discord" {
		t.Errorf("causes %v", *causes)
	}
}

// Stop keeps what waits, or drops it, as asked.
func TestStopKeepsOrDropsTheQueue(t *testing.T) {
	for queue, want := range map[pluginsdk.Queue]string{
		pluginsdk.KeepQueue: "cancelled succeeded succeeded",
		pluginsdk.DropQueue: "cancelled cancelled cancelled",
	} {
		t.Run(string(queue), func(t *testing.T) {
			f, _, _ := busyFixture(t, pluginsdk.BusyQueue)
			f.submit(t, "T", "2", "second")
			f.submit(t, "T", "3", "third")
			stopped, err := f.StopThread(t.Context(), "T", queue, ledger.By{Plugin: "night-watch"})
			if err != nil || stopped.RunID != f.store.runs[0].ID {
				t.Errorf("%+v, %v", stopped, err)
			}
			f.store.until(t, "the end of all runs", f.store.allFinal)
			for _, run := range f.store.runs {
				if run.State == pluginsdk.RunCancelled && run.ID != stopped.RunID && run.Error != "stopped by the plugin night-watch" {
					t.Errorf("what was dropped says %q", run.Error)
				}
			}
			if got := f.states(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	f, end, _ := busyFixture(t, pluginsdk.BusyQueue)
	if _, err := f.StopThread(t.Context(), "T", "forget", ledger.By{}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Error(err)
	}
	close(end)
}

// What failed can be given again, once, and says what it is given again for.
func TestRetryGivesTheMessageAgain(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 1})
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		retry := claim.Message.Retry()
		if retry.Of == "" {
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "not now")
		}
		if retry.By != "ann, through discord" {
			t.Errorf("the message is given again by %q", retry.By)
		}
		return nil
	}
	f.begin(t)
	failed := f.submit(t, "T", "1", "hello")
	f.store.until(t, "the failure", f.store.allFinal)

	again, err := f.Retry(t.Context(), failed.RunID, ledger.By{Plugin: "discord", Author: "ann"})
	if err != nil || again.Existed || again.RunID == failed.RunID {
		t.Fatal(again, err)
	}
	f.store.until(t, "the answer", f.store.allFinal)
	if got := f.states(); got != "failed succeeded" || f.line.order[1] != "hello" {
		t.Error(got, f.line.order)
	}
	if twice, err := f.Retry(t.Context(), failed.RunID, ledger.By{}); err != nil || !twice.Existed || twice.RunID != again.RunID {
		t.Error(twice, err)
	}
	if _, err := f.Retry(t.Context(), again.RunID, ledger.By{}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Error(err)
	}
	f.submit(t, "T", "2", "/retry")
	if got := f.store.answers[0]; !strings.Contains(got, "Trying it again") {
		t.Error(got)
	}
}

// Who gives a message again waits for its answer, also one of a schedule that is quiet. Everything else that its run
// was asked for with stays.
func TestARetryIsNotQuiet(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 1})
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		if claim.Message.Retry().Of == "" {
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "not now")
		}
		return nil
	}
	f.begin(t)
	f.store.mu.Lock()
	f.store.options = &pluginsdk.RunOptions{QuietReply: true, QuietNotices: true, Model: "haiku"}
	f.store.mu.Unlock()
	failed := f.submit(t, "T", "1", "look")
	f.store.until(t, "the failure", f.store.allFinal)
	if _, err := f.Retry(t.Context(), failed.RunID, ledger.By{Author: "ann"}); err != nil {
		t.Fatal(err)
	}
	f.store.until(t, "the answer", f.store.allFinal)
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	if got := f.store.accepted[len(f.store.accepted)-1].Options; got == nil || got.QuietReply || got.QuietNotices || got.Model != "haiku" {
		t.Errorf("it is given again with %+v", got)
	}
}

// What a run had collected can be given again however much it is: as a message of the
// size that any has, so that the plugins and the API can carry it, with a word of what
// is left out.
func TestARetryIsNoLongerThanAnyMessage(t *testing.T) {
	f := newFixture(t, Config{})
	f.store.threads["T"] = pluginsdk.Thread{ID: "T", BusyMode: pluginsdk.BusyCollect}
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		if claim.Message.Retry().Of == "" {
			return errors.New("401")
		}
		return nil
	}
	for n := range 5 {
		_, err := f.Submit(t.Context(), ledger.By{Plugin: "web"}, pluginsdk.Submission{
			ThreadID: "T", Source: "web", Key: fmt.Sprint(n), Content: fmt.Sprintf("begin %d %s end %d", n, strings.Repeat("ü", 256<<10), n),
			Attachments: []pluginsdk.Attachment{{Name: fmt.Sprint("file ", n), Where: strings.Repeat("w", 300<<10)}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	f.begin(t)
	f.store.until(t, "the failure", f.store.allFinal)
	again, err := f.Retry(t.Context(), f.store.runs[0].ID, ledger.By{})
	if err != nil {
		t.Fatal(err)
	}
	f.store.until(t, "the answer", f.store.allFinal)
	message := f.store.message(again.MessageID)
	err = validate(pluginsdk.Submission{
		Source: "web", Key: "k", Author: message.Author, Content: message.Content, Metadata: message.Metadata, Attachments: message.Attachments,
	})
	text := message.Content
	if err != nil || len(text) < MaxContent-1000 || !utf8.ValidString(text) || len(message.Attachments) != 3 ||
		!strings.HasPrefix(text, "begin 0 ") || !strings.HasSuffix(text, " end 4") || !strings.Contains(text, "bytes and 2 files are left out here") {
		t.Errorf("%v: %d files; %d bytes: %.20s ... %s", err, len(message.Attachments), len(text), text, text[max(0, len(text)-20):])
	}
}

// A daemon that stops, or has lost its database, accepts nothing that it might
// keep for nobody knows how long, and says so.
func TestSubmitIsRefusedWhileNothingIsDispatched(t *testing.T) {
	f := newFixture(t, Config{})
	f.begin(t)
	submission := pluginsdk.Submission{ThreadID: "T", Source: "web", Key: "1", Content: "x"}
	f.Pause()
	if _, err := f.Submit(t.Context(), ledger.By{Plugin: "web"}, submission); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Error(err)
	}
	if err := f.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.submit(t, "T", "1", "x")
	f.store.until(t, "the answer", f.store.allFinal)
	if err := f.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	submission.Key = "2"
	if _, err := f.Submit(t.Context(), ledger.By{Plugin: "web"}, submission); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable ||
		!strings.Contains(err.Error(), "stopping") {
		t.Error(err)
	}
}

// While the right to the database is lost, nothing is claimed; what waits is
// found when it is back.
func TestPauseHoldsTheQueue(t *testing.T) {
	f, end, _ := busyFixture(t, pluginsdk.BusyQueue)
	f.submit(t, "T", "2", "second")
	f.Pause()
	close(end)
	f.store.until(t, "the end of the first run", func() bool { return f.store.runs[0].State.Final() })
	f.mu.Lock()
	claimed := len(f.line.order)
	f.mu.Unlock()
	if claimed != 1 {
		t.Errorf("%d runs were claimed", claimed)
	}
	if err := f.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.store.until(t, "the end of all runs", f.store.allFinal)
}

// A stop that comes between a claim and the run's first instant counts.
func TestStopBetweenClaimAndRunCounts(t *testing.T) {
	f := newFixture(t, Config{})
	f.begin(t)
	f.store.threads["T"] = pluginsdk.Thread{ID: "T"}
	f.store.mu.Lock()
	f.store.runs = append(f.store.runs, &ledger.Run{Run: pluginsdk.Run{
		ID: "R", ThreadID: "T", MessageID: 1, Kind: pluginsdk.RunMessage, State: pluginsdk.RunRunning, Attempt: 1,
	}})
	f.store.mu.Unlock()
	stopped, err := f.StopThread(t.Context(), "T", pluginsdk.KeepQueue, ledger.By{})
	if err != nil || stopped.RunID != "R" {
		t.Fatal(stopped, err)
	}
	f.execute(&worker{}, ledger.Claim{Found: true, Run: *f.store.runs[0], Thread: threadOf("T"), Message: f.store.message(1)})
	if got := f.states(); got != "cancelled" {
		t.Errorf("the run is %s", got)
	}
}

// leftByAnother has a thread in which a predecessor of the inbox, which is not
// started, has left a turn at work.
func leftByAnother(t *testing.T, mode pluginsdk.BusyMode) *fixture {
	t.Helper()
	f := newFixture(t, Config{})
	f.store.threads["T"] = pluginsdk.Thread{ID: "T", BusyMode: mode}
	f.submit(t, "T", "1", "first")
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.runs[0].State, f.store.runs[0].Attempt, f.store.runs[0].Owner = pluginsdk.RunRunning, 1, "another daemon"
	return f
}

// A message that comes while the daemon starts interrupts the turn that its
// predecessor left, and is answered: it does not become part of that turn, and end
// with it.
func TestMessageBeforeTheStartIsNotCancelledWithWhatItInterrupts(t *testing.T) {
	f := leftByAnother(t, pluginsdk.BusyInterrupt)
	f.submit(t, "T", "2", "second")
	f.begin(t)
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if got := f.ends(); got != "first cancelled, second succeeded" {
		t.Error(got)
	}
}

// What a person says after a stop is not stopped by it, when the turn was left by a
// predecessor of the daemon.
func TestStopBeforeTheStartEndsWhatWasThere(t *testing.T) {
	f := leftByAnother(t, pluginsdk.BusyCollect)
	stopped, err := f.StopThread(t.Context(), "T", pluginsdk.KeepQueue, ledger.By{Author: "ann"})
	if err != nil || stopped.RunID != f.store.runs[0].ID {
		t.Fatal(stopped, err)
	}
	f.submit(t, "T", "2", "second")
	f.begin(t)
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if got := f.ends(); got != "first cancelled, second succeeded" {
		t.Error(got)
	}
}

// An order to end a run does not end what the run has taken in since, whether the
// run is at work when the order comes or not.
func TestOrderDoesNotHoldForWhatCameLater(t *testing.T) {
	for covered, want := range map[int64]string{1: "first succeeded, second succeeded", 2: "first cancelled, second succeeded"} {
		for _, executes := range []bool{false, true} {
			f := newFixture(t, Config{})
			f.submit(t, "T", "1", "first")
			f.submit(t, "T", "2", "second")
			f.store.runs[0].State, f.store.runs[1].State = pluginsdk.RunRunning, pluginsdk.RunSucceeded
			interrupt := func() { f.interrupt(f.store.runs[0].ID, order{ErrSuperseded, covered}) }
			f.line.handle = func(ctx context.Context, _ ledger.Claim) error {
				if executes {
					interrupt()
				}
				return context.Cause(ctx)
			}
			if !executes {
				interrupt()
			}
			f.execute(&worker{}, ledger.Claim{
				Found: true, Run: *f.store.runs[0], Thread: threadOf("T"), Message: f.store.message(1), Absorbed: []pluginsdk.Message{f.store.message(2)},
			})
			if got := f.ends(); got != want {
				t.Errorf("covering %d, executing %v: %s, want %s", covered, executes, got, want)
			}
		}
	}
}

// A message that is refused leaves nothing behind that looks for it for ever.
func TestRefusedSubmitLeavesNoWorker(t *testing.T) {
	f := newFixture(t, Config{})
	f.begin(t)
	_, err := f.Submit(t.Context(), ledger.By{Plugin: "web"}, pluginsdk.Submission{ThreadID: "nowhere", Source: "web", Key: "1", Content: "x"})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Fatal(err)
	}
	f.submit(t, "T", "2", "x") // the place is free
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if f.inDoubt(ledger.Queue{ThreadID: "nowhere"}) {
		t.Error("the refused message counts as one that may have been accepted")
	}
}

// A claim whose answer was lost together with the lock on the database is found
// when the lock is back.
func TestClaimOfUnknownOutcomeBeforeAPause(t *testing.T) {
	f := newFixture(t, Config{})
	f.store.lost = true
	f.store.claimed = f.Pause
	f.begin(t)
	f.submit(t, "T", "1", "x")
	f.store.until(t, "the lost claim", func() bool { return f.store.runs[0].State == pluginsdk.RunRunning })
	if err := f.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.store.until(t, "the end of the run", f.store.allFinal)
}

// What another daemon has left open that had the database for a moment is found
// without a restart.
func TestSweepFindsWhatNobodyAnnounced(t *testing.T) {
	f := newFixture(t, Config{Sweep: time.Millisecond})
	f.begin(t)
	f.store.mu.Lock()
	f.store.runs = append(f.store.runs, &ledger.Run{Owner: "another daemon", Run: pluginsdk.Run{
		ID: "R", ThreadID: "T", MessageID: 1, Kind: pluginsdk.RunMessage, State: pluginsdk.RunRunning,
	}})
	f.store.mu.Unlock()
	f.store.until(t, "the end of the run", f.store.allFinal)
}

// Once the agent has answered, a stop ends nothing: what failed after the answer is
// tried again, and the person gets what was there before the stop.
func TestStopAfterTheAnswerDoesNotCancelTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, Config{RetryBase: 10 * time.Second, RetryMax: 10 * time.Second})
		entered := make(chan struct{})
		f.line.left.Answered = true
		f.line.handle = func(ctx context.Context, claim ledger.Claim) error {
			if claim.Run.Attempt == 1 {
				close(entered)
				<-ctx.Done()
				f.store.mu.Lock()
				f.store.runs[0].Step = pluginsdk.StepInvoked
				f.store.mu.Unlock()
				return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin redact is restarting")
			}
			return nil
		}
		f.begin(t)
		f.submit(t, "T", "1", "hello")
		<-entered
		stop := func() (pluginsdk.Stopped, error) {
			return f.StopThread(t.Context(), "T", pluginsdk.DropQueue, ledger.By{})
		}
		if stopped, err := stop(); err != nil || stopped.RunID == "" {
			t.Errorf("%+v, %v", stopped, err)
		}
		synctest.Wait()
		if got := f.ends(); got != "hello queued" {
			t.Fatalf("after the stop: %s", got)
		}
		// Nor does one that comes while it waits.
		if stopped, err := stop(); err != nil || stopped.RunID != "" || len(stopped.Dropped) != 0 {
			t.Errorf("%+v, %v", stopped, err)
		}
		f.submit(t, "T", "2", "/stop")
		if got := f.store.answers[0]; !strings.Contains(got, "its answer is there") {
			t.Error(got)
		}
		if run, err := f.Cancel(t.Context(), f.store.runs[0].ID, ledger.By{}); err != nil || run.State != pluginsdk.RunQueued {
			t.Errorf("%+v, %v", run, err)
		}
		f.wait(t)
		if got := f.ends(); got != "hello succeeded, /stop succeeded" {
			t.Error(got)
		}
	})
}

// A stop that comes while the end of a failed attempt is stored, or just after, has
// found the run at work and is not lost with the attempt.
func TestStopOfARunThatGoesBackToTheQueue(t *testing.T) {
	for _, row := range []struct {
		name string
		when string // what is being done when the stop comes
		lost bool   // the answer of the commit is lost, so that its repetition is refused
	}{
		{"before the commit", "retry", false},
		{"the commit's answer is lost", "retry", true},
		{"after the commit", string(pluginsdk.EventPipelineRetry), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, Config{RetryBase: time.Hour, RetryMax: time.Hour})
				f.line.handle = func(_ context.Context, claim ledger.Claim) error {
					if claim.Run.Attempt > 1 {
						t.Error("the run was tried again")
						return nil
					}
					return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "529")
				}
				times := 0
				f.store.fault = func(name string) error {
					if name != row.when {
						return nil
					}
					if times++; times > 1 {
						return pluginsdk.Errorf(pluginsdk.CodeStale, "not at work any more")
					}
					if _, err := f.StopThread(t.Context(), "T", pluginsdk.KeepQueue, ledger.By{}); err != nil {
						t.Error(err)
					}
					if !row.lost {
						return nil
					}
					_ = f.store.set(f.store.runs[0].ID, pluginsdk.RunQueued, time.Now().Add(time.Hour), 0)
					return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "connection reset")
				}
				f.begin(t)
				f.submit(t, "T", "1", "hello")
				f.wait(t)
				if got := f.ends(); got != "hello cancelled" {
					t.Error(got)
				}
			})
		})
	}
}
