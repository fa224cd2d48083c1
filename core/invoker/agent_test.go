package invoker

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// testLimit is how long a test waits for what must happen.
const testLimit = 30 * time.Second

// testAgent is a started Claude over the fake CLI, with what it left behind
// checked at the end of the test.
type testAgent struct {
	*Claude
	t        testing.TB
	sessions string // directory of the fake CLI's sessions
	owner    string

	mu     sync.Mutex
	closed []string // THREAD/SESSION of OnClosed
}

// startAgent starts an agent over the fake CLI in a mode ("plain", "deaf").
func startAgent(t testing.TB, mode string, change func(*Config)) *testAgent {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	a := &testAgent{t: t, sessions: t.TempDir(), owner: uuid.NewString()}
	config := Config{
		Binary:    binary,
		Workspace: t.TempDir(),
		Env: []string{
			fakeEnv + "=" + mode, "INVOKER_TEST_SESSIONS=" + a.sessions, "INVOKER_TEST_DATA=" + data,
			ownerMark + "=" + a.owner,
			"HOME=" + t.TempDir(),      // without anybody's settings
			"GORACE=atexit_sleep_ms=0", // the fake's end under -race would take a second
		},
		InterruptGrace: testLimit,
		CloseGrace:     testLimit,
		OnClosed: func(threadID, sessionID string) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.closed = append(a.closed, threadID+"/"+sessionID)
		},
	}
	if change != nil {
		change(&config)
	}
	t.Cleanup(func() { // after the stop, which startClaude registers
		a.noProcesses()
		a.noOverlap()
	})
	a.Claude = startClaude(t, config)
	return a
}

// startClaude starts a Claude and stops it when the test ends.
func startClaude(t testing.TB, config Config) *Claude {
	t.Helper()
	claude, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := claude.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testLimit)
		defer cancel()
		if err := claude.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		noGoroutines(t)
	})
	return claude
}

// noGoroutines fails the test when goroutines of a stopped agent do not end.
func noGoroutines(t testing.TB) {
	t.Helper()
	buffer := make([]byte, 1<<20)
	eventually(t, "goroutines of the agent to end", func() bool {
		stacks := string(buffer[:runtime.Stack(buffer, true)])
		for _, owner := range []string{"(*process)", "(*forker)", "(*Claude)", "startSession"} {
			if strings.Contains(stacks, "invoker."+owner) {
				return false
			}
		}
		return true
	})
}

// eventually polls for what nothing tells of (a process's end seen from
// outside, a goroutine's last step).
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(testLimit)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-time.After(time.Millisecond) // what it looks at are other processes, too: they need the machine
	}
}

func (a *testAgent) noProcesses() {
	a.t.Helper()
	if left := proc.Marked(ownerMark, a.owner); len(left) > 0 {
		a.t.Errorf("processes are left after the stop: %v", left)
	}
}

func (a *testAgent) noOverlap() {
	a.t.Helper()
	if found, _ := filepath.Glob(filepath.Join(a.sessions, "overlap-*")); len(found) > 0 {
		a.t.Errorf("two processes had one session open: %v", found)
	}
}

// starts returns the command lines of the processes started so far.
func (a *testAgent) starts() [][]string {
	a.t.Helper()
	found, _ := filepath.Glob(filepath.Join(a.sessions, "start-*"))
	var all [][]string
	for _, path := range found {
		data, err := os.ReadFile(path)
		if err != nil {
			a.t.Fatal(err)
		}
		var args []string
		if err := json.Unmarshal(data, &args); err != nil {
			a.t.Fatal(err)
		}
		all = append(all, args)
	}
	return all
}

func (a *testAgent) closedSessions() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.closed...)
}

// recorder collects stream events.
type recorder struct {
	mu     sync.Mutex
	events []pluginsdk.StreamEvent
	came   chan struct{} // gets a value with each event, as far as it has room
}

func newRecorder() *recorder { return &recorder{came: make(chan struct{}, 1)} }

func (r *recorder) emit(event pluginsdk.StreamEvent) {
	r.mu.Lock()
	r.events = append(r.events, event)
	r.mu.Unlock()
	select {
	case r.came <- struct{}{}:
	default:
	}
}

// of returns the events of one type.
func (r *recorder) of(kind pluginsdk.StreamEventType) []pluginsdk.StreamEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []pluginsdk.StreamEvent
	for _, event := range r.events {
		if event.Type == kind {
			found = append(found, event)
		}
	}
	return found
}

// ask runs a turn and returns its result.
func (a *testAgent) ask(thread, session, prompt string) pluginsdk.InvokeResult {
	return a.Invoke(context.Background(), request(thread, session, prompt), nil)
}

func request(thread, session, prompt string) ledger.AgentRequest {
	return ledger.AgentRequest{ThreadID: thread, SessionID: session, Resume: session != "", Prompt: prompt}
}

func wantText(t testing.TB, result pluginsdk.InvokeResult, text string) {
	t.Helper()
	if result.Failure != nil {
		t.Fatalf("the turn failed (%s): %s", result.Failure.Kind, result.Failure.Message)
	}
	if result.Text != text {
		t.Fatalf("text %q, want %q", result.Text, text)
	}
}

func wantFailure(t testing.TB, result pluginsdk.InvokeResult, kind pluginsdk.FailureKind, retryable bool) *pluginsdk.Failure {
	t.Helper()
	if result.Failure == nil {
		t.Fatalf("the turn succeeded with %q, want a failure of kind %s", result.Text, kind)
	}
	if result.Failure.Kind != kind || result.Failure.Retryable != retryable {
		t.Fatalf("failure %+v, want kind %s, retryable %t", *result.Failure, kind, retryable)
	}
	if result.Text != "" {
		t.Fatalf("a failed turn has the text %q", result.Text)
	}
	return result.Failure
}

// farFuture is when everything has been idle for too long.
func farFuture() time.Time { return time.Now().Add(time.Hour) }
