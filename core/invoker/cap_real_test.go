package invoker

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// dear is a call for whose input the real CLI counts 0.30 US dollars, and for
// whose output 0.015 for each thousand tokens.
func dear(output int64) fakeapi.Usage {
	return fakeapi.Usage{InputTokens: 100_000, OutputTokens: output}
}

// usesBash is a reply that uses a tool, after which the turn goes on.
func usesBash(usage fakeapi.Usage) fakeapi.Reply {
	return fakeapi.Reply{
		Tools: []fakeapi.ToolUse{{Name: "Bash", Input: json.RawMessage(`{"command":"true"}`)}}, Usage: usage,
	}
}

// Turns that hit their cap in a fresh session. The cases in a conversation are parts of
// TestRealConversation.
func TestRealCapsOfFreshTurns(t *testing.T) {
	a := startReal(t, func(c *Config) { c.AllowedTools = []string{"Bash"} })
	for name, test := range map[string]func(*testing.T, *realAgent, ledger.AgentRequest) pluginsdk.InvokeResult{
		"in mid-stream": capInMidStream, "at a call's end": capAtACallsEnd, "by the answer": capByTheAnswer, "by the output": capByTheOutput, "topped up": capToppedUp,
	} {
		t.Run(name, func(t *testing.T) { test(t, a, fresh("R", "thread", "go")) })
	}
}

// A call that goes beyond the cap with what goes into it is broken off: nobody
// waits for what it says. It has been paid for all the same.
func capInMidStream(t *testing.T, a *realAgent, r ledger.AgentRequest) pluginsdk.InvokeResult {
	a.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		if len(r.ToolResults()) == 0 {
			return usesBash(fakeapi.Usage{InputTokens: 10_000, OutputTokens: 1000}) // 0.045
		}
		return fakeapi.Reply{Text: "at length", Usage: dear(9000), Stall: "never"}
	})
	r.CostCapUSD = 0.2
	before := len(a.api.Requests(fakeapi.Main))
	result := a.Invoke(t.Context(), r, nil)
	failure := wantFailure(t, result, pluginsdk.FailureBudget, false)
	if !strings.Contains(failure.Message, "$0.20") || !strings.Contains(failure.Message, "$0.35") {
		t.Errorf("the words do not name the cap and what it came to: %q", failure.Message)
	}
	if !near(result.CostUSD, 0.045+0.3+0.000015) || result.Usage.InputTokens != 110_000 {
		t.Errorf("what was spent is not what is recorded: %f, %+v", result.CostUSD, result.Usage)
	}
	if calls := len(a.api.Requests(fakeapi.Main)) - before; calls != 2 {
		t.Errorf("%d calls were made, want 2", calls)
	}
	return result
}

// The process goes on, and the next turn does not pay for this one.
func (c *conversation) capInMidStream(t *testing.T) {
	own := c.only(t)
	_ = capInMidStream(t, c.realAgent, talk("thread", c.session, "go"))
	c.api.Handle(func(fakeapi.Request) fakeapi.Reply { return fakeapi.Reply{Text: "next", Usage: dear(0)} })
	r := talk("thread", c.session, "go")
	r.CostCapUSD = 0.4
	next := c.Invoke(t.Context(), r, nil)
	wantText(t, next, "next")
	if !near(next.CostUSD, 0.3) {
		t.Errorf("the next turn cost %f", next.CostUSD)
	}
	if c.only(t) != own {
		t.Error("the process is gone")
	}
}

// A call that reaches the cap with what comes out of it is followed by one more at
// the most, which is broken off.
func capAtACallsEnd(t *testing.T, a *realAgent, r ledger.AgentRequest) pluginsdk.InvokeResult {
	a.api.Handle(func(fakeapi.Request) fakeapi.Reply { return usesBash(dear(10_000)) }) // 0.45, for ever
	r.CostCapUSD = 0.8
	before := len(a.api.Requests(fakeapi.Main))
	result := a.Invoke(t.Context(), r, nil)
	_ = wantFailure(t, result, pluginsdk.FailureBudget, false)
	calls := len(a.api.Requests(fakeapi.Main)) - before
	if calls < 2 || calls > 3 {
		t.Errorf("%d calls were made, want those that reach the cap, 2, and one more at most", calls)
	}
	if result.CostUSD < 0.9-1e-9 || result.CostUSD > 1.35+1e-9 {
		t.Errorf("cost %f after %d calls", result.CostUSD, calls)
	}
	return result
}

// A turn that can have more goes on beyond its first cap, also beyond what the CLI would be told of
// that one, and ends when there is no more: with one call more at the most.
func capToppedUp(t *testing.T, a *realAgent, r ledger.AgentRequest) pluginsdk.InvokeResult {
	a.api.Handle(func(fakeapi.Request) fakeapi.Reply { return usesBash(dear(10_000)) }) // 0.45, for ever
	capUSD := 0.2
	r.CostCapUSD = capUSD
	r.TopUp = func(context.Context) float64 { capUSD = min(capUSD+0.5, 1.6); return capUSD }
	before := len(a.api.Requests(fakeapi.Main))
	result := a.Invoke(t.Context(), r, nil)
	failure := wantFailure(t, result, pluginsdk.FailureBudget, false)
	if !strings.Contains(failure.Message, "its cap of $1.60") {
		t.Errorf("the words do not name the last cap: %q", failure.Message)
	}
	if calls := len(a.api.Requests(fakeapi.Main)) - before; calls < 4 || calls > 5 {
		t.Errorf("%d calls were made, want those that reach the last cap, 4, and one more at most", calls)
	}
	if result.CostUSD < 1.6 || result.CostUSD > 2.25+1e-9 {
		t.Errorf("cost %f", result.CostUSD)
	}
	return result
}

// Nothing is saved by throwing an answer away that has come, although it has
// reached the cap: words, or what a schema asked for.
func capByTheAnswer(t *testing.T, a *realAgent, r ledger.AgentRequest) pluginsdk.InvokeResult {
	a.api.Handle(func(fakeapi.Request) fakeapi.Reply {
		return fakeapi.Reply{Text: "the answer", Usage: dear(10_000)}
	})
	r.CostCapUSD = 0.4
	result := a.Invoke(t.Context(), r, nil)
	wantText(t, result, "the answer")
	if !near(result.CostUSD, 0.45) {
		t.Errorf("cost %f", result.CostUSD)
	}
	return result
}

func capByTheOutput(t *testing.T, a *realAgent, r ledger.AgentRequest) pluginsdk.InvokeResult {
	a.api.Handle(func(fakeapi.Request) fakeapi.Reply {
		return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: outputTool, Input: json.RawMessage(`{"verdict":"yes"}`)}}, Usage: dear(10_000)}
	})
	r.CostCapUSD, r.JSONSchema = 0.4, verdictSchema
	result := a.Invoke(t.Context(), r, nil)
	if result.Failure != nil || string(result.StructuredOutput) != `{"verdict":"yes"}` {
		t.Errorf("result %+v, failure %+v", result, result.Failure)
	}
	return result
}

// What a sub-agent's calls cost is the turn's as well.
func (c *conversation) capOfASubAgent(t *testing.T) {
	c.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		if strings.Contains(r.Prompt(), "go") && len(r.ToolResults()) == 0 {
			return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "Agent", Input: json.RawMessage(
				`{"description":"d","prompt":"work","subagent_type":"general-purpose"}`)}}}
		}
		return usesBash(dear(100)) // the sub-agent, for ever
	})
	r := talk("thread", c.session, "go")
	r.CostCapUSD = 0.5
	before := len(c.api.Requests(fakeapi.Main))
	result := c.Invoke(t.Context(), r, nil)
	_ = wantFailure(t, result, pluginsdk.FailureBudget, false)
	if calls := len(c.api.Requests(fakeapi.Main)) - before; calls > 4 {
		t.Errorf("%d calls were made, want the main one, the two that reach the cap, and one more at most", calls)
	}
	if result.CostUSD < 0.6 {
		t.Errorf("cost %f", result.CostUSD)
	}
}

// Our prices are the CLI's, so that what a cap is held by is what is reported.
func TestRealPrices(t *testing.T) {
	// By the name with which the model asks for them: sub-agents of one turn.
	models := map[string]string{"haiku": "claude-haiku-4-5", "opus": "claude-opus-4-8", "fable": "claude-fable-5"}
	a := startReal(t, func(c *Config) {
		c.AllowedTools = []string{"Agent"}
		for name, model := range models {
			c.Env = append(c.Env, "ANTHROPIC_DEFAULT_"+strings.ToUpper(name)+"_MODEL="+model)
		}
	})
	a.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		if r.Prompt() != "go" || len(r.ToolResults()) > 0 {
			return fakeapi.Reply{Text: "x"}
		}
		var reply fakeapi.Reply
		for name := range models {
			reply.Tools = append(reply.Tools, fakeapi.ToolUse{Name: "Agent", Input: json.RawMessage(
				`{"description":"d","prompt":"work","subagent_type":"general-purpose","model":"` + name + `"}`)})
		}
		return reply
	})
	tokens := tokensOf(fakeapi.DefaultUsage)
	r := fresh("R", "thread", "by itself")
	r.Model = "us.anthropic.claude-opus-4-1-20250805-v1:0"
	result := a.Invoke(t.Context(), r, nil)
	if want := listed(r.Model, tokens); result.Failure != nil || !near(result.CostUSD, want) {
		t.Errorf("%s: the CLI counts %f, we %f (failure %+v)", r.Model, result.CostUSD, want, result.Failure)
	}
	result = a.ask("thread", "", "go")
	wantText(t, result, "x")
	told := map[string]bool{}
	for _, part := range result.Models {
		told[part.Model] = true
		calls := int64(len(a.api.Requests(func(r fakeapi.Request) bool { return r.Model == part.Model })))
		if want := float64(calls) * listed(part.Model, tokens); calls == 0 || part.Usage.InputTokens != calls*tokens.Input || !near(part.CostUSD, want) {
			t.Errorf("%s: of %d calls the CLI counts %f, we %f (%+v)", part.Model, calls, part.CostUSD, want, part.Usage)
		}
	}
	for _, model := range append(slices.Collect(maps.Values(models)), "claude-sonnet-4-6") {
		if !told[model] {
			t.Errorf("the CLI counts nothing of %s: %+v", model, result.Models)
		}
	}
}

func tokensOf(u fakeapi.Usage) usage {
	return usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadTokens, CacheWrite: u.CacheWriteTokens}
}
