package invoker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/invoker/cli"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// These tests run the real CLI against the fake Messages API.

// realCatalog has what the CLI can do: it is asked once for all tests.
var realCatalog cli.Catalog

// realAgent is a started Claude over the real CLI.
type realAgent struct {
	*testAgent
	api *fakeapi.Server
}

func startReal(t *testing.T, change func(*Config)) *realAgent {
	t.Helper()
	binary := os.Getenv("HARNESS_TEST_CLAUDE")
	if binary == "" {
		t.Skip("HARNESS_TEST_CLAUDE does not name the Claude Code CLI; `make test` installs it and runs this test")
	}
	api := fakeapi.Start(t)
	a := &testAgent{t: t, sessions: t.TempDir(), owner: uuid.NewString()}
	config := Config{
		Binary:    binary,
		Catalog:   &realCatalog,
		Workspace: realDir(t),
		Model:     "claude-sonnet-4-6",
		Env: append(fakeapi.Env(api.URL(), realDir(t)),
			"CLAUDE_CODE_MAX_RETRIES=1", ownerMark+"="+a.owner),
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
	t.Cleanup(a.noProcesses) // after the stop, which startClaude registers
	a.Claude = startClaude(t, config)
	return &realAgent{testAgent: a, api: api}
}

// realDir is a directory that is removed at the end of the test even when the
// CLI has left something in it that cannot be removed at once.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "harness-real-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// conversation is a conversation with a real agent, which the parts of a test go on with, one
// after the other. Each of them leaves a session in which the next turn can begin.
type conversation struct {
	*realAgent
	session string
}

// part runs a part of a test. One that fails and leaves no process ends the test: what comes
// after it would wait for turns that do not begin.
func (c *conversation) part(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	held := t.Run(name, func(t *testing.T) {
		c.api.Handle(nil)
		test(t)
	})
	if !held && len(c.pool.sessions()) == 0 {
		t.Fatal("the conversation cannot go on")
	}
}

// in runs a turn of the conversation.
func (c *conversation) in(ctx context.Context, prompt string, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
	result := c.Invoke(ctx, talk("thread", c.session, prompt), emit)
	c.session = result.SessionID
	return result
}

// says runs a turn that answers with a text.
func (c *conversation) says(t *testing.T, text string) pluginsdk.InvokeResult {
	t.Helper()
	result := c.in(t.Context(), "say:"+text, nil)
	wantText(t, result, text)
	return result
}

// begins runs a turn beside the test.
func (c *conversation) begins(ctx context.Context, prompt string, emit func(pluginsdk.StreamEvent)) <-chan pluginsdk.InvokeResult {
	results := make(chan pluginsdk.InvokeResult, 1)
	go func() { results <- c.Invoke(ctx, talk("thread", c.session, prompt), emit) }()
	return results
}

// only returns the process of the conversation, which has to be the only one.
func (c *conversation) only(t *testing.T) *process {
	t.Helper()
	own := c.pool.sessions()
	if len(own) != 1 || !c.Holds("thread", c.session) {
		t.Fatalf("%d processes; that of the conversation is held: %t", len(own), c.Holds("thread", c.session))
	}
	return own[0].process
}

// quiet fails the test when the CLI goes on by itself between turns.
func (c *conversation) quiet(t *testing.T) pluginsdk.InvokeResult {
	t.Helper()
	next := c.says(t, "on")
	for _, s := range c.pool.sessions() {
		if s.busyWithItself() != nil {
			t.Error("the CLI goes on by itself")
		}
	}
	return next
}

// What happens in the turns of one process that stays warm.
func TestRealConversation(t *testing.T) {
	c := &conversation{realAgent: startReal(t, func(c *Config) {
		c.AllowedTools = []string{"Bash", "Agent", "CronList"}
		c.NewTools = filepath.Join(t.TempDir(), "tools.json")
	})}
	c.part(t, "the first turn", c.firstTurns)
	c.part(t, "tools that Harness has itself", c.toolsThatHarnessHas)
	c.part(t, "nobody else speaks", func(t *testing.T) {
		if paths, _ := c.sockets(); len(paths) > 0 {
			t.Errorf("the session has sockets: %v", paths)
		}
	})
	c.part(t, "commands begin in the working directory", c.commandsBeginInTheWorkingDirectory)
	c.part(t, "no prompt is a command", c.noPromptIsACommand)
	c.part(t, "an interrupt keeps the process", c.interruptKeepsTheProcess)
	c.part(t, "an interrupt keeps what the turn cost", c.interruptKeepsWhatTheTurnCost)
	c.part(t, "an interrupt takes steered messages back", c.interruptTakesSteeredMessagesBack)
	c.part(t, "steered during a tool call", c.steeredDuringAToolCall)
	c.part(t, "steered during the last text", c.steeredDuringTheLastText)
	c.part(t, "a cap that is hit in mid-stream", c.capInMidStream)
	c.part(t, "a cap that is hit at a call's end", func(t *testing.T) { capAtACallsEnd(t, c.realAgent, talk("thread", c.session, "go")) })
	c.part(t, "a cap that is hit by the answer", func(t *testing.T) { capByTheAnswer(t, c.realAgent, talk("thread", c.session, "go")) })
	c.part(t, "a cap that a sub-agent hits", c.capOfASubAgent)
	c.part(t, "steered at any instant", c.steeredAtAnyInstant)
	// These end the process.
	c.part(t, "API errors", c.apiErrors)
	c.part(t, "steered into a turn that fails", c.steeredIntoATurnThatFails)
	if runtime.GOOS == "linux" { // it finds the tool through /proc
		c.part(t, "tools are ended with their CLI", c.toolsAreEndedWithTheirCLI)
	}
}

func (c *conversation) firstTurns(t *testing.T) {
	r := newRecorder()
	id := uuid.NewString()
	first := c.Invoke(t.Context(), ledger.AgentRequest{
		ThreadID: "thread", SessionID: id, Prompt: "thread: x\n\n---\n\nthink: say:Hello from far away.",
	}, r.emit)
	c.session = first.SessionID
	wantText(t, first, "Hello from far away.")
	if first.SessionID != id || first.Model != "claude-sonnet-4-6" || first.CostUSD == 0 {
		t.Errorf("result %+v", first)
	}
	var joined strings.Builder
	for _, delta := range r.of(pluginsdk.StreamTextDelta) {
		if delta.Offset != joined.Len() {
			t.Errorf("delta %q at %d, want %d", delta.Text, delta.Offset, joined.Len())
		}
		joined.WriteString(delta.Text)
	}
	if joined.String() != first.Text || len(r.of(pluginsdk.StreamText)) != 1 || len(r.of(pluginsdk.StreamThinking)) != 1 || len(r.of(pluginsdk.StreamThinkingDelta)) == 0 {
		t.Errorf("events %+v", r.events)
	}
	own := c.only(t)
	second := c.says(t, "warm")
	if second.CostUSD > 1.1*first.CostUSD {
		t.Errorf("the second turn cost %f, the first %f", second.CostUSD, first.CostUSD)
	}
	if c.only(t) != own {
		t.Error("the next turn did not take the warm process")
	}
}

func (c *conversation) interruptKeepsTheProcess(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	own := c.only(t)
	results := c.begins(ctx, "block:never hello", nil)
	c.api.WaitRequest(t, fakeapi.Saying("block:never hello"))
	cancel(errors.New("stopped by Ada"))
	if failure := wantFailure(t, <-results, pluginsdk.FailureInterrupted, false); failure.Message != "stopped by Ada" {
		t.Errorf("message %q", failure.Message)
	}
	if c.only(t) != own {
		t.Fatal("the process is gone after an interrupt")
	}
	c.says(t, "go on")
	if c.only(t) != own {
		t.Error("the next turn did not take the warm process")
	}
}

func (c *conversation) apiErrors(t *testing.T) {
	r := newRecorder()
	overloaded := c.in(t.Context(), "apierror:529", r.emit)
	if failure := wantFailure(t, overloaded, pluginsdk.FailureAPI, true); failure.APIStatus != 529 {
		t.Errorf("failure %+v", failure)
	}
	if len(r.of(pluginsdk.StreamRetry)) != 1 || len(r.of(pluginsdk.StreamText)) != 0 {
		t.Errorf("events %+v", r.events)
	}
	refused := c.in(t.Context(), "apierror:401", nil)
	if failure := wantFailure(t, refused, pluginsdk.FailureAPI, false); failure.APIStatus != 401 || !strings.Contains(failure.Message, "log in") {
		t.Errorf("failure %+v", failure)
	}
	if c.Holds("thread", refused.SessionID) {
		t.Error("the process with the refused credentials is kept")
	}
	c.says(t, "in again")
}

func (c *conversation) toolsAreEndedWithTheirCLI(t *testing.T) {
	results := c.begins(t.Context(), `usetool:Bash {"command":"sleep 3601"}`, nil)
	eventually(t, "the tool to run", func() bool {
		for _, id := range proc.Marked(ownerMark, c.owner) {
			if line, err := os.ReadFile("/proc/" + strconv.Itoa(id.PID) + "/cmdline"); err == nil && strings.HasPrefix(string(line), "sleep\x003601") {
				return true
			}
		}
		return false
	})
	c.only(t).kill()
	_ = wantFailure(t, <-results, pluginsdk.FailureCrashed, true)
	c.noProcesses()
}

func TestRealPermissions(t *testing.T) {
	c := &conversation{realAgent: startReal(t, func(c *Config) { c.AllowedTools = []string{"Write", "Edit", "Bash(mkdir:*)"} })}
	made := filepath.Join(c.config.Workspace, "made")
	touch, err := json.Marshal(map[string]string{"command": "touch " + made})
	if err != nil {
		t.Fatal(err)
	}
	prompt := "usetool:Bash " + string(touch) + "\nthen:I see."
	c.part(t, "what no rule allows", func(t *testing.T) {
		r := newRecorder()
		wantText(t, c.in(t.Context(), prompt, r.emit), "I see.")
		results := r.of(pluginsdk.StreamToolResult)
		if len(r.of(pluginsdk.StreamDenied)) != 1 || len(results) != 1 || !results[0].IsError || !strings.Contains(results[0].Text, "ask the person") {
			t.Errorf("events %+v", r.events)
		}
		if _, err := os.Stat(made); err == nil {
			t.Fatal("the tool ran without a permission")
		}
	})
	c.part(t, "a rule for files is none for rights", c.ruleForFilesIsNoneForRights)
	c.part(t, "plan mode allows nothing", c.planModeAllowsNothing)
	c.part(t, "what a rule of the turn allows", func(t *testing.T) {
		r := newRecorder()
		ask := talk("thread", c.session, prompt)
		ask.AllowedTools = []string{"Bash(touch:*)"}
		wantText(t, c.Invoke(t.Context(), ask, r.emit), "I see.")
		if len(r.of(pluginsdk.StreamDenied)) != 0 {
			t.Errorf("events %+v", r.events)
		}
		if _, err := os.Stat(made); err != nil {
			t.Fatal("the tool did not run although a rule allows it")
		}
	})
}

func TestRealAPIThatCannotBeReached(t *testing.T) {
	a := startReal(t, func(c *Config) { c.Env = append(c.Env, "ANTHROPIC_BASE_URL=http://127.0.0.1:1") })
	_ = wantFailure(t, a.ask("thread", "", "hello"), pluginsdk.FailureAPI, true)
}

// remembers returns the prompts that the last request to the model had.
func (a *realAgent) remembers() string {
	a.t.Helper()
	requests := a.api.Requests(fakeapi.Main)
	return strings.Join(requests[len(requests)-1].UserTexts(), "\n")
}

// What a session remembers when its process has ended, in whatever way.
func TestRealSessionsAreResumed(t *testing.T) {
	c := &conversation{realAgent: startReal(t, nil)}
	c.session = uuid.NewString()
	begin := talk("thread", c.session, "say:one")
	begin.Resume = false
	first := c.Invoke(t.Context(), begin, nil)
	wantText(t, first, "one")
	ended := 0 // cleanly
	end := func(t *testing.T) {
		t.Helper()
		c.reapOnce(farFuture())
		ended++
		if closed := c.closedSessions(); len(closed) != ended || closed[ended-1] != "thread/"+first.SessionID {
			t.Errorf("closed %v", closed)
		}
	}
	remembers := func(t *testing.T, words ...string) {
		t.Helper()
		said := c.remembers()
		for _, one := range append(words, "say:one") {
			if !strings.Contains(said, one) {
				t.Errorf("the session has forgotten %q", one)
			}
		}
		if closed := c.closedSessions(); len(closed) != ended {
			t.Errorf("OnClosed was called for a process that was killed: %v", closed)
		}
	}
	// Without CLAUDE_CODE_EAGER_FLUSH, which buildEnvironment presets, most such sessions
	// cannot even be resumed.
	c.part(t, "after a kill right after the first turn", func(t *testing.T) {
		own := c.only(t)
		own.kill()
		<-own.exited
		c.says(t, "two")
		remembers(t)
	})
	c.part(t, "after a clean end", func(t *testing.T) {
		end(t)
		if next := c.says(t, "three"); next.CostUSD > 1.1*first.CostUSD {
			t.Errorf("cost %f after %f", next.CostUSD, first.CostUSD)
		}
		remembers(t, "say:two")
	})
	// It is killed between the request and the first line of its answer, so it has told of
	// nothing, and the call may be paid for.
	c.part(t, "after a kill in mid-turn", func(t *testing.T) {
		results := c.begins(t.Context(), "block:never two", nil)
		c.api.WaitRequest(t, fakeapi.Saying("block:never two"))
		c.only(t).kill()
		killed := <-results
		_ = wantFailure(t, killed, pluginsdk.FailureCrashed, true)
		if !killed.CostUnsure {
			t.Errorf("it is sure that the turn cost %f", killed.CostUSD)
		}
		c.says(t, "four")
		remembers(t, "say:three")
	})
	c.part(t, "that was to be begun", func(t *testing.T) {
		end(t)
		begin.Prompt = "say:five"
		wantText(t, c.Invoke(t.Context(), begin, nil), "five")
		remembers(t, "say:four")
	})
	// The agent's memory is context/, which is backed up and has a history. What the CLI would
	// remember beside it nobody sees.
	c.part(t, "and by nothing beside Harness", func(t *testing.T) {
		if found := c.ownMemory(t); len(found) > 0 {
			t.Errorf("there is a memory: %v", found)
		}
	})
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.noProcesses()
	if closed := c.closedSessions(); len(closed) != ended+1 {
		t.Errorf("closed %v", closed)
	}
}

func TestRealResumeWhileTheProcessMakesRoom(t *testing.T) {
	a := startReal(t, func(c *Config) { c.MaxSessions = 1 })
	first := a.ask("one", "", "say:one")
	own := a.pool.sessions()[0]
	evicting := make(chan pluginsdk.InvokeResult, 1)
	go func() { evicting <- a.ask("two", "", "say:two") }()
	awaitEnding(t, own.process)
	next := a.ask("one", first.SessionID, "say:four")
	wantText(t, next, "four")
	wantText(t, <-evicting, "two")
	// Another turn, so that the last request is this thread's.
	wantText(t, a.ask("one", first.SessionID, "say:five"), "five")
	if said := a.remembers(); !strings.Contains(said, "say:one") || !strings.Contains(said, "say:four") {
		t.Error("the session has forgotten a turn")
	}
}

func TestRealResumeOfAnUnknownSession(t *testing.T) {
	a := startReal(t, nil)
	id := uuid.NewString()
	result := a.ask("thread", id, "say:one")
	_ = wantFailure(t, result, pluginsdk.FailureUnknownSession, false)
	if a.Holds("thread", id) {
		t.Error("a session that does not exist is held")
	}
}
