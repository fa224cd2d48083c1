package invoker

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Turns that are no messages, against the real CLI.

var verdictSchema = json.RawMessage(`{"type":"object","properties":{"verdict":{"type":"string"}},"required":["verdict"]}`)

func TestRealStructuredOutput(t *testing.T) {
	a := startReal(t, nil)
	r := fresh("R", "thread", `usetool:StructuredOutput {"verdict":"yes"}`)
	r.JSONSchema = verdictSchema
	result := a.Invoke(t.Context(), r, nil)
	if result.Failure != nil || string(result.StructuredOutput) != `{"verdict":"yes"}` {
		t.Fatalf("result %+v", result)
	}
	if calls := len(a.api.Requests(fakeapi.Main)); calls != 1 {
		t.Errorf("%d calls, want the one that gives it", calls)
	}
}

// A value that does not fit the schema is the model's to correct.
func TestRealStructuredOutputThatDoesNotFit(t *testing.T) {
	a := startReal(t, nil)
	a.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		input := `{"verdict":3}`
		if len(r.ToolResults()) > 0 {
			input = `{"verdict":"no"}`
		}
		return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: outputTool, Input: json.RawMessage(input)}}}
	})
	r := fresh("R", "thread", "go")
	r.JSONSchema = verdictSchema
	if result := a.Invoke(t.Context(), r, nil); result.Failure != nil || string(result.StructuredOutput) != `{"verdict":"no"}` {
		t.Errorf("result %+v, failure %+v", result, result.Failure)
	}

	// One that never gets it right fails, and is not tried again.
	a.api.Handle(func(fakeapi.Request) fakeapi.Reply {
		return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: outputTool, Input: json.RawMessage(`{"verdict":3}`)}}}
	})
	failure := wantFailure(t, a.Invoke(t.Context(), r, nil), pluginsdk.FailureOther, false)
	if !strings.Contains(failure.Message, "structured output") {
		t.Errorf("message %q", failure.Message)
	}
}

// A model refuses in one of two ways: with words in the output's place, which are
// the answer; or as the API's own refusal, which is a failure that no repetition
// mends.
func TestRealRefusal(t *testing.T) {
	a := startReal(t, nil)
	r := fresh("R", "thread", "go")
	r.JSONSchema = verdictSchema
	a.api.Handle(func(fakeapi.Request) fakeapi.Reply { return fakeapi.Reply{Text: "I would rather not."} })
	words := a.Invoke(t.Context(), r, nil)
	wantText(t, words, "I would rather not.")
	if words.StructuredOutput != nil {
		t.Errorf("structured output %s", words.StructuredOutput)
	}
	if calls := len(a.api.Requests(fakeapi.Main)); calls != 2 {
		t.Errorf("%d calls, want that of the refusal and the one in which the CLI insists", calls)
	}

	a.api.Handle(func(fakeapi.Request) fakeapi.Reply {
		return fakeapi.Reply{StopReason: "refusal", Usage: dear(1)}
	})
	refused := a.Invoke(t.Context(), r, nil)
	failure := wantFailure(t, refused, pluginsdk.FailureAPI, false)
	if !strings.Contains(failure.Message, "safeguards of the model stopped its answer") || !strings.Contains(failure.Message, "/new") || failure.APIStatus != 0 {
		t.Errorf("failure %+v", failure)
	}
	if refused.CostUSD < 0.3 {
		t.Errorf("what the refusal cost is lost: %f", refused.CostUSD)
	}
}

func TestRealAPIErrorsOfAFreshTurn(t *testing.T) {
	a := startReal(t, nil)
	for status, retryable := range map[int]bool{400: false, 529: true} {
		a.api.Handle(func(fakeapi.Request) fakeapi.Reply { return fakeapi.Reply{Status: status} })
		failure := wantFailure(t, a.Invoke(t.Context(), fresh("R", "thread", "go"), nil), pluginsdk.FailureAPI, retryable)
		if failure.APIStatus != status {
			t.Errorf("failure %+v", failure)
		}
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
	a := startReal(t, func(c *Config) { c.AllowedTools = []string{"Bash"} })
	for name, row := range map[string]struct {
		allowed, disallowed []string
		denied              int
		says                string
	}{
		"not allowed":           {nil, nil, 1, "not permitted"},
		"allowed":               {[]string{"Write"}, nil, 0, "created"},
		"allowed and forbidden": {[]string{"Write"}, []string{"Write"}, 0, "No such tool available"},
	} {
		r := newRecorder()
		ask := fresh("R", "thread", `usetool:Write {"file_path":"`+a.config.Workspace+"/"+strings.ReplaceAll(name, " ", "-")+`","content":"x"}`)
		ask.AllowedTools, ask.DisallowedTools = row.allowed, row.disallowed
		if result := a.Invoke(t.Context(), ask, r.emit); result.Failure != nil {
			t.Errorf("%s: %+v", name, result.Failure)
		}
		results := r.of(pluginsdk.StreamToolResult)
		if len(r.of(pluginsdk.StreamDenied)) != row.denied || len(results) != 1 || !strings.Contains(results[0].Text, row.says) {
			t.Errorf("%s: events %+v", name, r.events)
		}
	}
}
