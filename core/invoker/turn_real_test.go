package invoker

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Turns that are no messages, against the real CLI.

var verdictSchema = json.RawMessage(`{"type":"object","properties":{"verdict":{"type":"string"}},"required":["verdict"]}`)

// What the model may do instead of filling in a schema, in one conversation.
func TestRealTurnsWithASchema(t *testing.T) {
	c := &conversation{realAgent: startReal(t, nil)}
	ask := func(t *testing.T) pluginsdk.InvokeResult {
		t.Helper()
		r := talk("thread", c.session, "go")
		r.JSONSchema = verdictSchema
		result := c.Invoke(t.Context(), r, nil)
		c.session = result.SessionID
		return result
	}
	gives := func(input string) fakeapi.Reply {
		return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: outputTool, Input: json.RawMessage(input)}}}
	}
	// A value that does not fit the schema is the model's to correct.
	c.part(t, "a value that does not fit at first", func(t *testing.T) {
		c.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
			if len(r.ToolResults()) > 0 {
				return gives(`{"verdict":"no"}`)
			}
			return gives(`{"verdict":3}`)
		})
		if result := ask(t); result.Failure != nil || string(result.StructuredOutput) != `{"verdict":"no"}` {
			t.Errorf("result %+v, failure %+v", result, result.Failure)
		}
	})
	// One that never gets it right fails, and is not tried again.
	c.part(t, "a value that never fits", func(t *testing.T) {
		c.api.Handle(func(fakeapi.Request) fakeapi.Reply { return gives(`{"verdict":3}`) })
		failure := wantFailure(t, ask(t), pluginsdk.FailureOther, false)
		if !strings.Contains(failure.Message, "structured output") {
			t.Errorf("message %q", failure.Message)
		}
	})
	c.part(t, "a cap that is hit by the output", func(t *testing.T) { capByTheOutput(t, c.realAgent, talk("thread", c.session, "go")) })
	// A model refuses in one of two ways: with words in the output's place, which are
	// the answer; or as the API's own refusal, which is a failure that no repetition
	// mends.
	c.part(t, "words instead", func(t *testing.T) {
		before := len(c.api.Requests(fakeapi.Main))
		c.api.Handle(func(fakeapi.Request) fakeapi.Reply { return fakeapi.Reply{Text: "I would rather not."} })
		words := ask(t)
		wantText(t, words, "I would rather not.")
		if words.StructuredOutput != nil {
			t.Errorf("structured output %s", words.StructuredOutput)
		}
		if calls := len(c.api.Requests(fakeapi.Main)) - before; calls != 2 {
			t.Errorf("%d calls, want that of the refusal and the one in which the CLI insists", calls)
		}
	})
	c.part(t, "a refusal of the API's", func(t *testing.T) {
		c.api.Handle(func(fakeapi.Request) fakeapi.Reply { return fakeapi.Reply{StopReason: "refusal", Usage: dear(1)} })
		refused := ask(t)
		failure := wantFailure(t, refused, pluginsdk.FailureAPI, false)
		if !strings.Contains(failure.Message, "safeguards of the model stopped its answer") || !strings.Contains(failure.Message, "/new") || failure.APIStatus != 0 {
			t.Errorf("failure %+v", failure)
		}
		if refused.CostUSD < 0.3 {
			t.Errorf("what the refusal cost is lost: %f", refused.CostUSD)
		}
	})
	if n := len(c.pool.sessions()); n != 1 {
		t.Errorf("%d processes", n)
	}
}

func TestRealAPIErrorOfAFreshTurn(t *testing.T) {
	a := startReal(t, nil)
	a.api.Handle(func(fakeapi.Request) fakeapi.Reply { return fakeapi.Reply{Status: 529} })
	failure := wantFailure(t, a.Invoke(t.Context(), fresh("R", "thread", "go"), nil), pluginsdk.FailureAPI, true)
	if failure.APIStatus != 529 {
		t.Errorf("failure %+v", failure)
	}
	a.noProcesses()
}

// A fresh turn whose CLI is killed can be asked anew: nothing of it is there that a
// second one could meet. What it had spent is recorded.
func TestRealKillInAFreshTurn(t *testing.T) {
	a := startReal(t, nil)
	a.api.Handle(func(fakeapi.Request) fakeapi.Reply {
		return fakeapi.Reply{Text: "some words and more", Usage: dear(100), Stall: "never"}
	})
	r := newRecorder()
	ask := fresh("R", "thread", "go")
	results := make(chan pluginsdk.InvokeResult, 1)
	go func() { results <- a.Invoke(t.Context(), ask, r.emit) }()
	eventually(t, "the model to say something", func() bool { return len(r.of(pluginsdk.StreamTextDelta)) > 0 })
	a.pool.sessions()[0].process.kill()
	killed := <-results
	_ = wantFailure(t, killed, pluginsdk.FailureCrashed, true)
	if killed.Usage.InputTokens != 100_000 || killed.CostUSD < 0.3 {
		t.Errorf("what was spent is lost: %+v", killed)
	}
	if closed := a.closedSessions(); len(closed) > 0 {
		t.Errorf("closed %v", closed)
	}
	a.noProcesses()
	a.api.Handle(nil)
	ask.Prompt = "say:anew"
	wantText(t, a.Invoke(t.Context(), ask, nil), "anew")
	if requests := a.api.Requests(fakeapi.Main); len(requests[len(requests)-1].Messages) > 2 {
		t.Error("the turn that was asked anew knows of the one that was killed")
	}
}

// Nobody is there to be asked: what no rule allows is denied at once, with words.
// What a rule forbids is not there at all, whoever else allows it.
func TestRealPermissionsOfAFreshTurn(t *testing.T) {
	a := startReal(t, func(c *Config) { c.AllowedTools = []string{"Edit"} })
	ask := ledger.AgentRequest{Fresh: true, AllowedTools: []string{"Write", "Edit"}, DisallowedTools: []string{"Edit"}}
	in := func(name string) string { return filepath.Join(a.config.Workspace, name) }
	lay(t, a.config.Workspace, map[string]string{"there": "x"})
	attempts := []attempt{
		{"Write", fmt.Sprintf(`{"file_path":%q,"content":"x"}`, in("made"))},
		{"Edit", fmt.Sprintf(`{"file_path":%q,"old_string":"x","new_string":"y"}`, in("there"))},
		{"Bash", fmt.Sprintf(`{"command":"touch %s"}`, in("touched"))},
	}
	r := newRecorder()
	results := a.triesTo(t, ask, attempts, r.emit)
	for i, says := range []string{"created", "No such tool available", "not permitted"} {
		if !strings.Contains(string(results[i].Content), says) || results[i].IsError != (i > 0) {
			t.Errorf("%s: %s", attempts[i].tool, results[i].Content)
		}
	}
	if denied := r.of(pluginsdk.StreamDenied); len(denied) != 1 {
		t.Errorf("denied %+v", denied)
	}
	if _, err := os.Stat(in("touched")); err == nil {
		t.Error("a command ran that nobody allowed")
	}
}
