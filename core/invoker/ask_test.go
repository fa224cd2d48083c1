package invoker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// people answer what the agent asks: each question is put, with where its answer goes.
type people struct {
	asked chan question
}

type question struct {
	ledger.ToolAsk
	answer chan ledger.ToolAnswer
	over   context.Context
}

func newPeople() *people { return &people{asked: make(chan question, 10)} }

func (p *people) ask(ctx context.Context, ask ledger.ToolAsk) ledger.ToolAnswer {
	q := question{ask, make(chan ledger.ToolAnswer, 1), ctx}
	p.asked <- q
	select {
	case answer := <-q.answer:
		return answer
	case <-ctx.Done():
		return ledger.ToolAnswer{Words: "nobody hears this"}
	}
}

func (p *people) next(t *testing.T) question {
	t.Helper()
	select {
	case q := <-p.asked:
		return q
	case <-time.After(testLimit):
		t.Fatal("nobody was asked")
		return question{}
	}
}

// asking is a request whose questions people answer.
func (p *people) request(thread, session, prompt string) ledger.AgentRequest {
	r := request(thread, session, prompt)
	r.Ask = p.ask
	return r
}

// begin runs a turn in the background.
func begin(t *testing.T, a *testAgent, r ledger.AgentRequest) (recorded *recorder, result <-chan pluginsdk.InvokeResult) {
	t.Helper()
	recorded = newRecorder()
	done := make(chan pluginsdk.InvokeResult, 1)
	go func() { done <- a.Invoke(context.WithoutCancel(t.Context()), r, recorded.emit) }()
	return recorded, done
}

func (p *people) answers(t *testing.T, a *testAgent, prompt string, answer ledger.ToolAnswer) string {
	t.Helper()
	_, done := begin(t, a, p.request("thread", "", prompt))
	q := p.next(t)
	if q.Cwd != a.config.Workspace {
		t.Errorf("it works in %s", q.Cwd)
	}
	q.answer <- answer
	return (<-done).Text
}

// What no rule of operators decides is asked, and nothing else; and a rule that forbids
// is stronger than people.
func TestPeopleAreAskedWhatNoRuleDecides(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) {
		c.AllowedTools, c.DisallowedTools = []string{"Read"}, []string{"WebFetch"}
	})
	p := newPeople()
	for prompt, want := range map[string]string{
		"ask Read {}":     `"behavior":"allow"`,
		"ask WebFetch {}": `"behavior":"deny"`,
		"ask odd {}":      `not supported`,
	} {
		r := p.request("thread", "", prompt)
		if text := a.Invoke(t.Context(), r, nil).Text; !strings.Contains(text, want) {
			t.Errorf("%s: %s", prompt, text)
		}
	}
	if len(p.asked) > 0 {
		t.Errorf("people were asked: %+v", <-p.asked)
	}
	if text := p.answers(t, a, `ask Bash {"command":"x"}`, ledger.ToolAnswer{Allow: true}); !strings.Contains(text, `"updatedInput":{"command":"x"}`) {
		t.Errorf("allowed: %s", text)
	}
	if text := p.answers(t, a, `ask Bash {"command":"x"}`, ledger.ToolAnswer{Allow: true, Input: json.RawMessage(`{"command":"y"}`)}); !strings.Contains(text, `"updatedInput":{"command":"y"}`) {
		t.Errorf("allowed otherwise: %s", text)
	}
	if text := p.answers(t, a, `ask Bash {"command":"x"}`, ledger.ToolAnswer{Words: "better not"}); !strings.Contains(text, `"message":"better not"`) {
		t.Errorf("denied: %s", text)
	}
}

// People think longer than an API: neither watch ends a turn that waits for them.
func TestAQuestionIsNeitherSilenceNorTooLong(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) {
		c.SilenceTimeout, c.TurnTimeout = 300*time.Millisecond, 700*time.Millisecond
	})
	p := newPeople()
	_, done := begin(t, a, p.request("thread", "", `ask Bash {"command":"x"}`))
	q := p.next(t)
	select {
	case result := <-done:
		t.Fatalf("it was ended: %+v", result.Failure)
	case <-time.After(1200 * time.Millisecond): // longer than both
	}
	q.answer <- ledger.ToolAnswer{Allow: true}
	if result := <-done; result.Failure != nil {
		t.Errorf("it failed: %+v", result.Failure)
	}
	// What comes after the answer is watched again.
	_, done = begin(t, a, p.request("other", "", "hang"))
	if result := <-done; result.Failure == nil || result.Failure.Kind != pluginsdk.FailureSilent {
		t.Errorf("after it: %+v", result.Failure)
	}
}

// A turn that is parked ends at once, without an answer, and says so.
func TestATurnIsParked(t *testing.T) {
	a := startAgent(t, "plain", nil)
	p := newPeople()
	_, done := begin(t, a, p.request("thread", "", `ask Bash {"command":"x"}`))
	q := p.next(t)
	q.answer <- ledger.ToolAnswer{Park: true}
	result := <-done
	if result.Failure == nil || result.Failure.Kind != pluginsdk.FailureParked || result.SessionID == "" {
		t.Fatalf("it is %+v", result)
	}
	if a.Holds("thread", result.SessionID) {
		t.Error("its process is kept")
	}
	eventually(t, "the end of its process", func() bool { return len(a.pool.sessions()) == 0 })
}

// A turn that waits for people makes room for one that does not.
func TestATurnThatWaitsForPeopleMakesRoom(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.MaxSessions = 2 })
	p := newPeople()
	_, first := begin(t, a, p.request("first", "", `ask Bash {"command":"1"}`))
	one := p.next(t)
	_, second := begin(t, a, p.request("second", "", `ask Bash {"command":"2"}`))
	two := p.next(t)
	wantText(t, a.ask("third", "", "say x"), "x")
	if result := <-first; result.Failure == nil || result.Failure.Kind != pluginsdk.FailureParked {
		t.Errorf("the one that has waited longest is %+v", result.Failure)
	}
	if !errors.Is(context.Cause(one.over), errParked) {
		t.Errorf("its question ends with %v", context.Cause(one.over))
	}
	two.answer <- ledger.ToolAnswer{Allow: true}
	if result := <-second; result.Failure != nil {
		t.Errorf("the other one is %+v", result.Failure)
	}
}

// It does too where there are places, but no memory for another process.
func TestATurnThatWaitsForPeopleMakesRoomInMemory(t *testing.T) {
	a, _ := startBudget(t, 150)    // for one process
	a.ask("before", "", "say how") // much a process takes is known from now on
	p := newPeople()
	_, first := begin(t, a, p.request("first", "", `ask Bash {"command":"1"}`))
	p.next(t)
	wantText(t, a.ask("second", "", "say x"), "x")
	if result := <-first; result.Failure == nil || result.Failure.Kind != pluginsdk.FailureParked {
		t.Errorf("the one that waits is %+v", result.Failure)
	}
}

// A stop ends the question with the turn.
func TestAStopEndsTheQuestion(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.InterruptGrace = 50 * time.Millisecond })
	p := newPeople()
	ctx, stop := context.WithCancelCause(t.Context())
	done := make(chan pluginsdk.InvokeResult, 1)
	go func() { done <- a.Invoke(ctx, p.request("thread", "", `ask Bash {"command":"x"}`), nil) }()
	q := p.next(t)
	stop(errors.New("stopped by Ann"))
	<-q.over.Done()
	<-done
}

// What the CLI guards is asked as such, so that no rule of people's allows it; and why it
// asks is passed on.
func TestWhatTheCLIGuardsIsAskedAsSuch(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.AllowedTools = []string{"Write"} })
	p := newPeople()
	for prompt, guarded := range map[string]bool{"askagain Write {}": true, "ask Edit {}": false} {
		_, done := begin(t, a, p.request(prompt, "", prompt))
		q := p.next(t)
		if q.Guarded != guarded || (q.Reason == "It is a sensitive file.") != guarded || q.ToolUseID != "t1" {
			t.Errorf("%s: asked %+v", prompt, q.ToolAsk)
		}
		q.answer <- ledger.ToolAnswer{}
		<-done
	}
}

// A question that the CLI takes back ends as such, and the turn goes on without its answer.
func TestTheCLITakesAQuestionBack(t *testing.T) {
	a := startAgent(t, "plain", nil)
	p := newPeople()
	_, done := begin(t, a, p.request("thread", "", "askback never mind"))
	q := p.next(t)
	<-q.over.Done()
	if cause := context.Cause(q.over); !errors.Is(cause, ledger.ErrWithdrawn) {
		t.Errorf("it ends with %v", cause)
	}
	wantText(t, <-done, "never mind")
}

// The yes that comes as the turn is being stopped is not given: whoever has stopped it has
// had the last word.
func TestAStopIsStrongerThanAYes(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.InterruptGrace, c.MaxSessions = 200*time.Millisecond, 8 })
	var turns sync.WaitGroup
	for n := range 8 { // whether the answer or the end of the question is taken is up to chance
		turns.Go(func() {
			ctx, stop := context.WithCancelCause(t.Context())
			r := request(fmt.Sprint(n), "", fmt.Sprint("askon ", n))
			r.Ask = func(ctx context.Context, _ ledger.ToolAsk) ledger.ToolAnswer {
				stop(errors.New("stopped by Ann"))
				<-ctx.Done()
				eventually(t, "the interrupt", func() bool {
					_, err := os.Stat(filepath.Join(a.sessions, "interrupted-"+fmt.Sprint(n)))
					return err == nil
				})
				return ledger.ToolAnswer{Allow: true}
			}
			a.Invoke(ctx, r, nil)
		})
	}
	turns.Wait()
	answers, err := filepath.Glob(filepath.Join(a.sessions, "answer-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range answers {
		if answer, err := os.ReadFile(file); err != nil || strings.Contains(string(answer), `"allow"`) {
			t.Errorf("after the interrupt came %s, %v", answer, err)
		}
	}
}
