package pipeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func waiting(ids ...int64) (messages []pluginsdk.Message) {
	for _, id := range ids {
		messages = append(messages, pluginsdk.Message{
			ID: id, ThreadID: "T", RunID: "R" + string(rune('0'+id-10)), Content: "further " + string(rune('0'+id-10)),
		})
	}
	return messages
}

// answers makes the first plugin one that answers only these hooks.
func (b *bench) answers(hooks ...pluginsdk.Hook) { b.plugins[0].info.Manifest.Hooks = hooks }

// duringTurn runs do in the middle of the agent's turn.
func (b *bench) duringTurn(do func()) {
	b.agent.answer = func(_ context.Context, r ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		emit(pluginsdk.StreamEvent{Type: pluginsdk.StreamThinking, Text: "hm"})
		do()
		return pluginsdk.InvokeResult{Text: "x", SessionID: r.SessionID}
	}
}

// A message that comes during the turn is merged into the run before the agent
// hears of it, and the turn's result covers it.
func TestSteerPutsMessagesIntoTheRunningTurn(t *testing.T) {
	b := newBench("a")
	b.answers(pluginsdk.HookMessage)
	b.duringTurn(func() {
		b.store.waiting = waiting(11, 12)
		b.line.Steer(context.Background(), "R")
	})
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.agent.steered, ", "); got != "further 1, further 2" {
		t.Errorf("the agent was told %q", got)
	}
	lines := strings.Join(b.journal.lines, "\n")
	if !strings.Contains(lines, "absorb 2\nsteer\nsteer\nevent pipeline:merged\nevent pipeline:merged\nOnMessage a\nOnMessage a\nno tools\n5b") {
		t.Errorf("order was\n%s", lines)
	}
	if commit := b.store.results[0]; !slices.Equal(commit.Absorbed, []int64{11, 12}) {
		t.Errorf("covered: %v", commit.Absorbed)
	}
}

// What the agent takes no more goes back to the queue with the result, and what
// came behind it is not told before it.
func TestSteerGivesBackWhatTheAgentDidNotTake(t *testing.T) {
	b := newBench()
	b.duringTurn(func() {
		b.store.waiting = waiting(11)
		b.line.Steer(context.Background(), "R")
		b.agent.deaf = true
		b.store.waiting = waiting(12, 13)
		b.line.Steer(context.Background(), "R")
	})
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if got := b.store.results[0].Absorbed; !slices.Equal(got, []int64{11}) {
		t.Errorf("covered: %v, so that the rest is given back", got)
	}
}

// A merge whose COMMIT nobody answered may have been made: the messages that
// the agent never had go back to the queue all the same.
func TestSteerOfUnknownOutcomeLosesNothing(t *testing.T) {
	b := newBench()
	b.claim.Absorbed = waiting(11)
	b.duringTurn(func() {
		b.store.fail["Absorb"] = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "connection reset")
		b.line.Steer(context.Background(), "R")
	})
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if got := b.store.results[0].Absorbed; !slices.Equal(got, []int64{11}) {
		t.Errorf("covered: %v", got)
	}
}

// A plugin that has a say in what reaches the agent is not passed over: the
// message waits for a turn of its own.
func TestSteerDoesNotPassOverWhoMustBeAsked(t *testing.T) {
	for name, ask := range map[string]func(b *bench){
		"gate": func(b *bench) {
			b.answers(pluginsdk.HookBeforeRun)
			b.plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
				if len(b.agent.requests) == 0 { // the run itself may
					return nil, nil
				}
				return &pluginsdk.OnBeforeRunResponse{Deny: true}, nil
			}
		},
		"closed chain": func(b *bench) {
			b.answers(pluginsdk.HookBeforeInvoke)
			b.plugins[0].info.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookBeforeInvoke: pluginsdk.FailClosed}
		},
	} {
		b := newBench("a")
		ask(b)
		b.duringTurn(func() {
			b.store.waiting = waiting(11)
			b.line.Steer(context.Background(), "R")
		})
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		if len(b.agent.steered) != 0 || len(b.store.waiting) != 1 {
			t.Errorf("%s: the agent was told %q", name, b.agent.steered)
		}
	}
}

// Each message that was merged into a run passes the gate.
func TestGateIsAskedAboutEveryMergedMessage(t *testing.T) {
	b := newBench("a")
	b.claim.Absorbed = waiting(11, 12)
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, line := range b.journal.lines {
		if line == "OnBeforeRun a" {
			asked++
		}
	}
	if asked != 3 {
		t.Errorf("the gate was asked %d times, want once a message", asked)
	}
}

// An agent that failed after it had used a tool may have acted: the next
// attempt must say so, although an API error is otherwise begun anew.
func TestFailureAfterAToolSaysSoToTheNextAttempt(t *testing.T) {
	b := newBench()
	b.agent.answer = func(_ context.Context, r ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		emit(pluginsdk.StreamEvent{Type: pluginsdk.StreamToolCall, ToolName: "Bash", ToolUseID: "1"})
		return pluginsdk.InvokeResult{SessionID: r.SessionID, Failure: &pluginsdk.Failure{
			Kind: pluginsdk.FailureAPI, APIStatus: 529, Message: "overloaded", Retryable: true,
		}}
	}
	if err := b.handle(); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Fatal(err)
	}
	commit := b.store.results[0]
	if commit.Step != pluginsdk.StepInvoking || commit.RunSessionID == "" {
		t.Errorf("step %q, session %q", commit.Step, commit.RunSessionID)
	}
}

// The daemon's own stop ends the wait for a database that is away, also for a
// run that a person has stopped before.
func TestStopOfTheDaemonEndsTheWaitForTheDatabase(t *testing.T) {
	b := newBench()
	for _, commit := range []string{"SaveResult", "Finish"} {
		b.store.fail[commit] = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "away")
	}
	work, stop := context.WithCancel(context.Background())
	ctx, cancel := context.WithCancelCause(work)
	b.duringTurn(func() {
		cancel(pluginsdk.Errorf(pluginsdk.CodeCancelled, "stopped by a person"))
		stop()
	})
	if _, err := b.line.Handle(work, ctx, b.claim); err == nil {
		t.Error("the run counts as over")
	}
}

// A message that came before the turn ran is put into it once it does.
func TestSteerBeforeTheTurnIsDoneWhenItRuns(t *testing.T) {
	b := newBench()
	b.line.config.Fault = func(step, _ string) {
		if step == "beforeInvoke" {
			b.store.waiting = waiting(11)
			b.line.Steer(context.Background(), "R")
		}
	}
	b.duringTurn(func() {})
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if len(b.agent.steered) != 1 {
		t.Errorf("the agent was told %q", b.agent.steered)
	}
}

// After the turn, and for a run that is not there, nothing is taken from the
// queue.
func TestSteerAfterTheTurnLeavesTheQueue(t *testing.T) {
	b := newBench()
	b.line.config.Fault = func(step, _ string) {
		if step == "afterInvoke" {
			b.store.waiting = waiting(11)
			b.line.Steer(context.Background(), "R")
		}
	}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	b.line.Steer(context.Background(), "R")
	if slices.Contains(b.journal.lines, "absorb 1") {
		t.Errorf("order was\n%s", strings.Join(b.journal.lines, "\n"))
	}
}

// A run answers all the messages that were merged into it, in any attempt.
func TestMergedMessagesArePartOfThePrompt(t *testing.T) {
	b := newBench("a")
	b.claim.Absorbed = waiting(11, 12)
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if got := b.agent.requests[0].Prompt; !strings.HasSuffix(got, "hello\n\nfurther 1\n\nfurther 2)") {
		t.Errorf("prompt %q", got)
	}
	calls := 0
	for _, line := range b.journal.lines {
		if line == "OnMessage a" {
			calls++
		}
	}
	if calls != 3 {
		t.Errorf("OnMessage was fired %d times, want once a message", calls)
	}
}

// A retried message that the agent may have acted on says so.
func TestRetriedMessageSaysThatItMayHaveBeenActedOn(t *testing.T) {
	b := newBench()
	b.claim.Message.Metadata = []byte(`{"retryOf":"R0","retryBegun":true}`)
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if got := b.agent.requests[0].Prompt; !strings.Contains(got, interruptedNote) {
		t.Errorf("prompt %q", got)
	}
}

// An answer that was paid for is not thrown away because the database is away
// for a moment: each commit after it is made again until it holds.
func TestAnswerWaitsForTheDatabase(t *testing.T) {
	b := newBench()
	away := &flaky{fakeStore: b.store, left: 2}
	doors := b.doors()
	doors.Store = away
	b.line = New(Config{}, doors)
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if len(b.agent.requests) != 1 || len(b.store.results) != 1 || len(b.store.finishes) != 1 {
		t.Errorf("%d invocations, %d results, %d ends", len(b.agent.requests), len(b.store.results), len(b.store.finishes))
	}
}

// flaky fails each kind of commit a few times before it holds.
type flaky struct {
	*fakeStore
	left   int
	failed map[string]int
}

func (f *flaky) fails(kind string) error {
	if f.failed == nil {
		f.failed = map[string]int{}
	}
	if f.failed[kind]++; f.failed[kind] <= f.left {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away: %w", errors.ErrUnsupported)
	}
	return nil
}

func (f *flaky) SaveResult(ctx context.Context, fence ledger.Fence, c ledger.ResultCommit) error {
	if err := f.fails("result"); err != nil {
		return err
	}
	return f.fakeStore.SaveResult(ctx, fence, c)
}

func (f *flaky) Finish(ctx context.Context, fence ledger.Fence, end ledger.Finish) (ledger.Finished, error) {
	if err := f.fails("finish"); err != nil {
		return ledger.Finished{}, err
	}
	return f.fakeStore.Finish(ctx, fence, end)
}

// A gate has its say about a message that goes into a running turn: what it lets
// through is steered, and what comes behind the first that it denies waits too.
func TestSteeredMessagesPassTheGate(t *testing.T) {
	b := newBench("a")
	b.answers(pluginsdk.HookBeforeRun)
	asked := 0
	b.plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
		asked++
		return &pluginsdk.OnBeforeRunResponse{Deny: asked == 3}, nil // the run, 11, 12
	}
	b.duringTurn(func() {
		b.store.waiting = waiting(11, 12, 13)
		b.line.Steer(context.Background(), "R")
	})
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.agent.steered, ", "); got != "further 1" || len(b.store.waiting) != 2 || asked != 3 {
		t.Errorf("steered %q, %d wait, the gate was asked %d times", got, len(b.store.waiting), asked)
	}
}

// Hooks that are slow with messages that were put into the turn do not cost the run
// the hooks that come after it.
func TestSteeredMessagesDoNotUseUpTheTimeOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench("a")
		doors := b.doors()
		doors.Hooks = hooks.New(hooks.Config{Budget: time.Second}, b.plugins, b.tokens)
		b.line = New(Config{}, doors)
		b.plugins[0].info.Manifest.Hooks = []pluginsdk.Hook{pluginsdk.HookMessage, pluginsdk.HookPipelineComplete}
		b.plugins[0].notify = func(hook pluginsdk.Hook) error {
			if hook == pluginsdk.HookMessage && len(b.agent.steered) > 0 {
				<-time.After(2 * time.Second)
			}
			return nil
		}
		b.duringTurn(func() {
			b.store.waiting = waiting(11)
			b.line.Steer(context.Background(), "R")
		})
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		if len(b.agent.steered) != 1 || len(b.plugins[0].done) != 1 {
			t.Errorf("%d messages were steered; the plugin was told of %d ends", len(b.agent.steered), len(b.plugins[0].done))
		}
	})
}

// A gate that takes its time does not hold up the end of the turn: the message
// waits for a run of its own.
func TestTurnDoesNotWaitForTheGateOfASteeredMessage(t *testing.T) {
	b := newBench("a")
	b.answers(pluginsdk.HookBeforeRun)
	asked := make(chan struct{})
	slow := &slowGate{fakePlugin: b.plugins[0], asked: asked}
	doors := b.doors()
	plugins := onePlugin{slow}
	doors.Plugins, doors.Hooks = plugins, hooks.New(hooks.Config{}, plugins, b.tokens)
	b.line = New(Config{}, doors)
	b.duringTurn(func() {
		b.store.waiting = waiting(11)
		go b.line.Steer(context.Background(), "R")
		<-asked
	})
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if len(b.agent.steered) != 0 || len(b.store.waiting) != 1 {
		t.Errorf("steered %q, %d wait", b.agent.steered, len(b.store.waiting))
	}
}

// slowGate answers for the run, and for a further message when nobody waits any
// more.
type slowGate struct {
	*fakePlugin
	asked chan struct{}
}

func (s *slowGate) Do(ctx context.Context, hook pluginsdk.Hook, id string, fn func(hooks.Process) error) error {
	return fn(s)
}

func (s *slowGate) OnBeforeRun(ctx context.Context, r *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	if r.Message.ID == 10 {
		return nil, nil //nolint:nilnil // it allows the run
	}
	close(s.asked)
	<-ctx.Done()
	return nil, ctx.Err()
}

type onePlugin struct{ *slowGate }

func (onePlugin) Hold(string) {}

func (onePlugin) Release(string) {}

func (o onePlugin) Answering(_ string, hook pluginsdk.Hook) []hooks.Plugin {
	if o.info.Manifest.Answers(hook) {
		return []hooks.Plugin{o.slowGate}
	}
	return nil
}

// A bug in steering costs the message its place in the turn, and neither the turn nor
// its end.
func TestAPanicOfSteering(t *testing.T) {
	b := newBench()
	b.agent.steering = func() { panic("a bug") }
	b.duringTurn(func() {
		b.store.waiting = waiting(11)
		b.line.Steer(context.Background(), "R")
	})
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if len(b.store.finishes) != 1 || len(b.store.results[0].Absorbed) != 0 {
		t.Errorf("covered %v, ended with %+v", b.store.results[0].Absorbed, b.store.finishes)
	}
}

// Who tells plugins of a steered message reads the thread; a session that turns out
// to be unknown changes it. (What is tested is that -race has nothing to say.)
func TestTellingOfASteeredMessageAndANewSession(t *testing.T) {
	b := newBench("a")
	b.answers(pluginsdk.HookMessage)
	b.claim.Thread.SessionID = "gone"
	steered := make(chan struct{})
	b.agent.steering = func() { close(steered) }
	turns := 0
	b.agent.answer = func(_ context.Context, r ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		if turns++; turns > 1 {
			return pluginsdk.InvokeResult{Text: "x", SessionID: r.SessionID}
		}
		emit(pluginsdk.StreamEvent{Type: pluginsdk.StreamThinking, Text: "hm"})
		b.store.waiting = waiting(11)
		go b.line.Steer(context.Background(), "R")
		<-steered
		return pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureUnknownSession, Message: "no such session"}}
	}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if turns != 2 {
		t.Errorf("%d turns", turns)
	}
}
