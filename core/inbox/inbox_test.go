package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// scripted is a Pipeline that does what the test says.
type scripted struct {
	store  *memory
	mu     sync.Mutex
	order  []string
	failed []error
	handle func(ctx context.Context, claim ledger.Claim) error
	left   ledger.Left // of attempts that fail
	frees  func(claim ledger.Claim) ledger.Freed
	steers chan string // runs that were to be steered
	atWork map[ledger.Queue]bool
	twice  bool // a queue was at work twice at a time
}

func (s *scripted) Steer(_ context.Context, runID string) {
	s.steers <- runID
	_ = s.store.ask("steer")
}

func (s *scripted) Handle(_, ctx context.Context, claim ledger.Claim) (ledger.Left, error) {
	s.mu.Lock()
	s.order = append(s.order, claim.Message.Content)
	queue := queueOf(&claim.Run)
	s.twice = s.twice || s.atWork[queue]
	if s.atWork == nil {
		s.atWork = map[ledger.Queue]bool{}
	}
	s.atWork[queue] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.atWork, queue)
	}()
	left := s.left
	if s.frees != nil {
		left.Freed = s.frees(claim)
	}
	if s.handle != nil {
		if err := s.handle(ctx, claim); err != nil {
			return left, err
		}
	}
	left = ledger.Left{Freed: left.Freed}
	if pluginsdk.CodeOf(context.Cause(ctx)) == pluginsdk.CodeCancelled {
		return left, s.store.set(claim.Run.ID, pluginsdk.RunCancelled, time.Time{}, 0)
	}
	return left, s.store.set(claim.Run.ID, pluginsdk.RunSucceeded, time.Time{}, 0)
}

func (s *scripted) Fail(_ context.Context, claim ledger.Claim, cause error, _ ledger.Left) error {
	if err := s.store.ask("fail"); err != nil {
		return err
	}
	s.mu.Lock()
	s.failed = append(s.failed, cause)
	s.mu.Unlock()
	if pluginsdk.CodeOf(cause) == pluginsdk.CodeCancelled {
		return s.store.set(claim.Run.ID, pluginsdk.RunCancelled, time.Time{}, 0)
	}
	return s.store.set(claim.Run.ID, pluginsdk.RunFailed, time.Time{}, 0)
}

// woken is an Outbox that remembers which lanes have something to carry.
type woken struct{ lanes []string }

func (w *woken) Wake(plugin, target string) { w.lanes = append(w.lanes, plugin+":"+target) }

type commands []Command

func (c commands) Commands() []Command { return c }

type published struct {
	store *memory
	mu    sync.Mutex
	kinds []pluginsdk.EventType
}

func (p *published) Publish(kind pluginsdk.EventType, _ string, _ any) {
	_ = p.store.ask(string(kind))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kinds = append(p.kinds, kind)
}

// desk is where /tasks is carried out: it tells what it was asked.
type desk struct {
	asked []string

	mu   sync.Mutex
	over []string // runs whose questions were taken back
}

func (d *desk) Command(_ context.Context, thread pluginsdk.Thread, by ledger.By, args string) (string, error) {
	d.asked = append(d.asked, fmt.Sprintf("%s: %s|%s says %s", thread.ID, by.Author, by.Plugin, args))
	return "Done.", nil
}

func (d *desk) Over(_ context.Context, runID string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = append(d.over, runID)
	return nil
}

// ParkOf parks a run until what it waits for, or for a minute.
func (*desk) ParkOf(parked pluginsdk.Parked, ask ledger.PlanAsk) pluginsdk.Parked {
	if parked.Until.IsZero() {
		parked.Until = time.Now().Add(time.Minute)
	}
	if parked.Since = time.Now(); ask.Last != nil {
		parked.Since = ask.Last.Since
	}
	return parked
}

func (*desk) Told(parked pluginsdk.Parked) string { return "Parked: " + parked.Reason }

func (*desk) Show() string { return "The plan." }

func (*desk) Word(args string) string {
	if word, _, _ := strings.Cut(args, " "); slices.Contains([]string{"approve", "reject", "cancel"}, word) {
		return word
	}
	return ""
}

// hall is where /thread is carried out: it tells what it was asked, and says that the thread
// is gone of which it is said "delete".
type hall struct {
	store *memory
	asked []string
}

func (h *hall) Command(_ context.Context, thread pluginsdk.Thread, by ledger.By, args string) (string, bool, error) {
	h.asked = append(h.asked, fmt.Sprintf("%s: %s|%s says %s", thread.ID, by.Author, by.Plugin, args))
	if args == "delete" {
		h.store.mu.Lock()
		defer h.store.mu.Unlock()
		h.store.gone = append(h.store.gone, thread.ID)
	}
	return "Done.", args == "delete", nil
}

func (*hall) Word(args string) string {
	word, _, _ := strings.Cut(args, " ")
	return word
}

func (*hall) Verbs() []string { return []string{"archive", "delete"} }

func (h *hall) Update(ctx context.Context, id string, patch pluginsdk.ThreadPatch) (pluginsdk.Thread, error) {
	return h.store.UpdateThread(ctx, id, patch)
}

type fixture struct {
	*Inbox
	hall   *hall
	desk   *desk
	store  *memory
	line   *scripted
	outbox *woken
	events *published
}

func newFixture(t *testing.T, config Config, known ...Command) *fixture {
	t.Helper()
	store := newMemory()
	f := &fixture{desk: &desk{}, hall: &hall{store: store}, store: store, line: &scripted{store: store, steers: make(chan string, 100)}, outbox: &woken{}, events: &published{store: store}}
	config.Owner = "this boot"
	if config.RetryBase == 0 {
		config.RetryBase, config.RetryMax = time.Millisecond, 2*time.Millisecond
	}
	f.Inbox = New(config, Doors{Store: store, Pipeline: f.line, Registry: commands(known), Outbox: f.outbox, Events: f.events, Tasks: f.desk, Approvals: f.desk, Threads: f.hall, Plan: f.desk})
	return f
}

func (f *fixture) submit(t *testing.T, thread, key, content string) pluginsdk.Accepted {
	t.Helper()
	accepted, err := f.Submit(t.Context(), ledger.By{Plugin: "web"}, pluginsdk.Submission{ThreadID: thread, Source: "web", Key: key, Content: content})
	if err != nil {
		t.Fatal(err)
	}
	return accepted
}

func (f *fixture) begin(t *testing.T) {
	t.Helper()
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if f.line.twice {
			t.Error("two runs of a queue at a time")
		}
	})
}

func TestRunsOfAThreadKeepTheirOrder(t *testing.T) {
	f := newFixture(t, Config{Slots: 4})
	f.begin(t)
	for n := range 20 {
		for _, thread := range []string{"T1", "T2", "T3"} {
			f.submit(t, thread, fmt.Sprint(thread, n), fmt.Sprintf("%s:%02d", thread, n))
		}
	}
	f.store.until(t, "the end of all runs", f.store.allFinal)
	last := map[string]string{}
	for _, content := range f.line.order {
		thread, _, _ := strings.Cut(content, ":")
		if content <= last[thread] {
			t.Fatalf("%s after %s", content, last[thread])
		}
		last[thread] = content
	}
	if len(f.line.order) != 60 {
		t.Fatalf("%d runs", len(f.line.order))
	}
}

func TestSlotsBoundWhatExecutes(t *testing.T) {
	f := newFixture(t, Config{Slots: 2})
	var mu sync.Mutex
	now, most := 0, 0
	both := make(chan struct{})
	f.line.handle = func(context.Context, ledger.Claim) error {
		mu.Lock()
		now++
		most = max(most, now)
		if now == 2 {
			select {
			case <-both:
			default:
				close(both)
			}
		}
		mu.Unlock()
		<-both
		mu.Lock()
		now--
		mu.Unlock()
		return nil
	}
	f.begin(t)
	for n := range 12 {
		f.submit(t, fmt.Sprint("T", n), fmt.Sprint(n), "x")
	}
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if most != 2 {
		t.Fatalf("%d at a time", most)
	}
}

// What hooks did to an attempt that failed is stored with its end, and which were called.
func TestTheEndOfAnAttemptHasItsEffects(t *testing.T) {
	f := newFixture(t, Config{})
	f.line.left.Hooks = []pluginsdk.HookCall{{Plugin: "activity"}}
	f.line.left.Effects = []ledger.Effect{{Plugin: "activity", Key: "complete:1"}}
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		if claim.Run.Attempt == 1 {
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "529")
		}
		return nil
	}
	f.begin(t)
	f.submit(t, "T", "1", "x")
	f.store.until(t, "the end of the run", f.store.allFinal)
	if ends := f.store.ends; len(ends) != 1 || ends[0].Reason != "529" || len(ends[0].Effects) != 1 || ends[0].Effects[0].Plugin != "activity" || len(ends[0].Hooks) != 1 {
		t.Errorf("ends of attempts: %+v", ends)
	}
}

// A thread whose head waits for its next attempt must not be overtaken.
func TestRetryKeepsTheOrderAndEnds(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 3})
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		switch {
		case claim.Message.Content == "flaky" && claim.Run.Attempt < 3,
			claim.Message.Content == "never":
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "529")
		case claim.Message.Content == "hopeless":
			return errors.New("401")
		}
		return nil
	}
	f.begin(t)
	for _, content := range []string{"flaky", "never", "hopeless", "fine"} {
		f.submit(t, "T", content, content)
	}
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if got := strings.Join(f.line.order, " "); got != "flaky flaky flaky never never never hopeless fine" {
		t.Error(got)
	}
	if len(f.line.failed) != 2 || f.line.failed[0].Error() != "529" || f.line.failed[1].Error() != "401" {
		t.Error(f.line.failed)
	}
}

func TestDatabaseTroubleIsWaitedOut(t *testing.T) {
	f := newFixture(t, Config{})
	f.store.failing = errors.New("connection refused")
	f.begin(t)
	f.submit(t, "T", "1", "x")
	f.store.until(t, "the end of the run", f.store.allFinal)
}

func TestWhatWasAcceptedBeforeStartIsFound(t *testing.T) {
	f := newFixture(t, Config{})
	f.submit(t, "T1", "1", "early")
	f.store.runs[0].State = pluginsdk.RunRunning // a predecessor died on it
	f.begin(t)
	f.store.until(t, "the end of the run", f.store.allFinal)
}

func TestRepeatedSubmitRunsOnce(t *testing.T) {
	f := newFixture(t, Config{})
	first := f.submit(t, "", "same", "x")
	again := f.submit(t, "", "same", "x")
	if again.RunID != first.RunID || !again.Existed || first.ThreadID != "P" {
		t.Errorf("%+v %+v", first, again)
	}
	if len(f.events.kinds) != 1 {
		t.Errorf("announced %v", f.events.kinds)
	}
}

func TestStopInterruptsWhatOutlastsTheGraceAndReleasesIt(t *testing.T) {
	f := newFixture(t, Config{DrainGrace: time.Millisecond})
	entered := make(chan struct{})
	f.line.handle = func(ctx context.Context, _ ledger.Claim) error {
		close(entered)
		<-ctx.Done()
		return pluginsdk.Errorf(pluginsdk.CodeCancelled, "%w", context.Cause(ctx))
	}
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.submit(t, "T", "1", "long")
	f.submit(t, "T", "2", "next")
	<-entered
	if err := f.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i, run := range f.store.runs {
		if run.State != pluginsdk.RunQueued || run.Attempt != 0 {
			t.Errorf("run %d is %+v", i, run)
		}
	}
}

func TestCancel(t *testing.T) {
	f := newFixture(t, Config{})
	entered := make(chan struct{})
	f.line.handle = func(ctx context.Context, claim ledger.Claim) error {
		if claim.Message.Content == "long" {
			close(entered)
			<-ctx.Done()
			if got := context.Cause(ctx).Error(); got != "stopped by ann, through discord" {
				t.Errorf("the turn was %s", got)
			}
		}
		return nil
	}
	f.begin(t)
	running := f.submit(t, "T", "1", "long")
	queued := f.submit(t, "T", "2", "never runs")
	f.submit(t, "T", "3", "last")
	<-entered
	if run, err := f.Cancel(t.Context(), queued.RunID, ledger.By{Plugin: "night-watch"}); err != nil || run.State != pluginsdk.RunCancelled ||
		run.Error != "stopped by the plugin night-watch" {
		t.Fatal(run, err)
	}
	if _, err := f.Cancel(t.Context(), running.RunID, ledger.By{Plugin: "discord", Author: "ann"}); err != nil {
		t.Fatal(err)
	}
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if got := strings.Join(f.line.order, " "); got != "long last" {
		t.Error(got)
	}
	if run, err := f.Cancel(t.Context(), running.RunID, ledger.By{Plugin: "discord", Author: "ann"}); err != nil || run.State != pluginsdk.RunCancelled {
		t.Errorf("cancel of a run that is over: %+v %v", run, err)
	}
}

func TestCommandsOfTheCoreActAtOnce(t *testing.T) {
	f := newFixture(t, Config{}, Command{Plugin: "shop", Spec: pluginsdk.CommandSpec{Name: "buy", Description: "buy it"}},
		Command{Plugin: "shop", Spec: pluginsdk.CommandSpec{Name: "sell", Usage: "/sell WHAT", Description: "sell it"}},
		Command{Plugin: "evil", Spec: pluginsdk.CommandSpec{Name: "trap", Usage: "/help", Description: "look like the core's"}})
	for n, row := range []struct{ content, want string }{
		{"/help", "/buy — buy it (shop)"},
		{"/help", "/sell WHAT — sell it (shop)"},
		{"/help", "/trap /help — look like the core's (evil)"},
		{"/status", "Thread P (primary): idle"},
		{"/model opus", "This thread uses opus"},
		{"/model", "This thread uses opus."},
		{"/model default", "default model"},
		{"/stop", "Nothing is running"},
		{"/new", "fresh session"},
		{"/nonsense", "There is no command /nonsense"},
	} {
		f.submit(t, "", fmt.Sprint(n), row.content)
		if got := f.store.answers[n]; !strings.Contains(got, row.want) {
			t.Errorf("%s: %s", row.content, got)
		}
	}
	f.submit(t, "", "buy", "/buy milk")
	f.submit(t, "", "path", "/etc/hosts is a file")
	kinds := []pluginsdk.RunKind{f.store.runs[10].Kind, f.store.runs[11].Kind}
	if kinds[0] != pluginsdk.RunCommand || kinds[1] != pluginsdk.RunMessage || f.store.runs[10].State != pluginsdk.RunQueued {
		t.Errorf("%v", kinds)
	}
}

func TestStopCommandStopsTheTurn(t *testing.T) {
	f := newFixture(t, Config{})
	entered := make(chan struct{})
	f.line.handle = func(ctx context.Context, _ ledger.Claim) error {
		close(entered)
		<-ctx.Done()
		return nil
	}
	f.begin(t)
	f.submit(t, "", "1", "long")
	<-entered
	f.submit(t, "", "2", "/new")
	f.submit(t, "", "3", "/stop")
	f.submit(t, "", "3", "/stop") // told again, it is not carried out again
	if !strings.Contains(f.store.answers[0], "/stop it first") || !strings.Contains(f.store.answers[1], "Stopping") {
		t.Error(f.store.answers)
	}
	f.store.until(t, "the end of the run", f.store.allFinal)
}

// Who has seen the answer may begin anew at once, whatever the run still does.
func TestANewSessionAsSoonAsTheTurnIsOver(t *testing.T) {
	f := newFixture(t, Config{})
	over, leave := make(chan struct{}), make(chan struct{})
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		err := f.store.set(claim.Run.ID, pluginsdk.RunSucceeded, time.Time{}, 0)
		close(over)
		<-leave
		return err
	}
	f.begin(t)
	f.submit(t, "", "1", "hello")
	<-over
	f.submit(t, "", "2", "/new")
	close(leave)
	if !strings.Contains(f.store.answers[0], "fresh session") {
		t.Error(f.store.answers)
	}
	f.store.until(t, "the end of the run", f.store.allFinal)
}

// A message that comes while Start looks must not be left lying.
func TestMessageDuringStartIsRun(t *testing.T) {
	f := newFixture(t, Config{})
	f.store.found = func() { f.submit(t, "T", "1", "x") }
	f.begin(t)
	f.store.until(t, "the end of the run", f.store.allFinal)
}

// A claim that was made although its answer was lost must not block its thread.
func TestClaimOfUnknownOutcome(t *testing.T) {
	f := newFixture(t, Config{})
	f.store.lost = true
	f.begin(t)
	f.submit(t, "T", "1", "x")
	f.store.until(t, "the end of the run", f.store.allFinal)
}

func TestPanicEndsItsRunOnly(t *testing.T) {
	f := newFixture(t, Config{})
	f.line.handle = func(_ context.Context, claim ledger.Claim) error {
		if claim.Message.Content == "poison" {
			panic("on purpose")
		}
		return nil
	}
	f.begin(t)
	f.submit(t, "T", "1", "poison")
	f.submit(t, "T", "2", "fine")
	f.store.until(t, "the end of all runs", f.store.allFinal)
	if len(f.line.failed) != 1 || f.store.runs[1].State != pluginsdk.RunSucceeded {
		t.Errorf("%v %+v", f.line.failed, f.store.runs[1])
	}
}

func TestRunThatTheDaemonDiesOnIsGivenUp(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 2})
	f.submit(t, "T", "1", "poison")
	f.store.runs[0].Attempt = 4
	f.begin(t)
	f.store.until(t, "the end of the run", f.store.allFinal)
	if len(f.line.order) != 0 || len(f.line.failed) != 1 {
		t.Errorf("handled %v, failed %v", f.line.order, f.line.failed)
	}
}

func TestStopGivesUpWhatWaitsForItsRetry(t *testing.T) {
	f := newFixture(t, Config{RetryBase: time.Hour, RetryMax: time.Hour})
	f.line.handle = func(context.Context, ledger.Claim) error {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "529")
	}
	f.begin(t)
	f.submit(t, "", "1", "x")
	f.store.until(t, "the wait", func() bool { return !f.store.runs[0].NextAttemptAt.IsZero() })
	f.submit(t, "", "2", "/new")
	f.submit(t, "", "3", "/stop")
	if !strings.Contains(f.store.answers[0], "/stop it first") || f.store.runs[0].State != pluginsdk.RunCancelled {
		t.Errorf("%v %+v", f.store.answers, f.store.runs[0])
	}
}

func TestSubmitNamesWhatIsWrong(t *testing.T) {
	f := newFixture(t, Config{})
	for want, s := range map[string]pluginsdk.Submission{
		"content:":  {Source: "web", Key: "1", Content: " \n"},
		"more than": {Source: "web", Key: "1", Content: strings.Repeat("x", MaxContent+1)},
		"author,":   {Source: "web", Key: "1", Content: "x", Metadata: []byte(`"` + strings.Repeat("x", MaxContent) + `"`)},
		"key: 513":  {Source: "web", Key: strings.Repeat("k", maxKey+1), Content: "x"},
		"source:":   {Key: "1", Content: "x"},
		"key:":      {Source: "web", Content: "x"},
		"no thread": {Source: "web", Key: "1", Content: "x", ThreadID: "unknown"},
	} {
		if _, err := f.Submit(t.Context(), ledger.By{Plugin: "web"}, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
