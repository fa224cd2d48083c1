package invoker

import (
	"encoding/json"
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

// inBothSessions runs a test of a turn in a fresh session, and of one in a
// conversation.
func inBothSessions(t *testing.T, test func(t *testing.T, request ledger.AgentRequest)) {
	t.Run("fresh", func(t *testing.T) { test(t, fresh("R", "thread", "go")) })
	t.Run("conversation", func(t *testing.T) { test(t, talk("thread", "", "go")) })
}

// usesBash is a reply that uses a tool, after which the turn goes on.
func usesBash(usage fakeapi.Usage) fakeapi.Reply {
	return fakeapi.Reply{
		Tools: []fakeapi.ToolUse{{Name: "Bash", Input: json.RawMessage(`{"command":"true"}`)}}, Usage: usage,
	}
}

// A call that goes beyond the cap with what goes into it is broken off: nobody
// waits for what it says. It has been paid for all the same.
func TestRealCapThatIsHitInMidStream(t *testing.T) {
	inBothSessions(t, func(t *testing.T, r ledger.AgentRequest) {
		a := startReal(t, func(c *Config) { c.AllowedTools = []string{"Bash"} })
		a.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
			if len(r.ToolResults()) == 0 {
				return usesBash(fakeapi.Usage{InputTokens: 10_000, OutputTokens: 1000}) // 0.045
			}
			return fakeapi.Reply{Text: "at length", Usage: dear(9000), Stall: "never"}
		})
		r.CostCapUSD = 0.2
		result := a.Invoke(t.Context(), r, nil)
		failure := wantFailure(t, result, pluginsdk.FailureBudget, false)
		if !strings.Contains(failure.Message, "$0.20") || !strings.Contains(failure.Message, "$0.35") {
			t.Errorf("the words do not name the cap and what it came to: %q", failure.Message)
		}
		if !near(result.CostUSD, 0.045+0.3+0.000015) || result.Usage.InputTokens != 110_000 {
			t.Errorf("what was spent is not what is recorded: %f, %+v", result.CostUSD, result.Usage)
		}
		if calls := len(a.api.Requests(fakeapi.Main)); calls != 2 {
			t.Errorf("%d calls were made, want 2", calls)
		}
		if r.Fresh {
			return
		}
		// The process goes on, and the next turn does not pay for this one.
		a.api.Handle(func(fakeapi.Request) fakeapi.Reply { return fakeapi.Reply{Text: "next", Usage: dear(0)} })
		r.SessionID, r.Resume, r.CostCapUSD = result.SessionID, true, 0.4
		next := a.Invoke(t.Context(), r, nil)
		wantText(t, next, "next")
		if !near(next.CostUSD, 0.3) {
			t.Errorf("the next turn cost %f", next.CostUSD)
		}
	})
}

// A call that reaches the cap with what comes out of it is followed by one more at
// the most, which is broken off.
func TestRealCapThatIsHitAtACallsEnd(t *testing.T) {
	inBothSessions(t, func(t *testing.T, r ledger.AgentRequest) {
		a := startReal(t, func(c *Config) { c.AllowedTools = []string{"Bash"} })
		a.api.Handle(func(fakeapi.Request) fakeapi.Reply { return usesBash(dear(10_000)) }) // 0.45, for ever
		r.CostCapUSD = 0.8
		result := a.Invoke(t.Context(), r, nil)
		_ = wantFailure(t, result, pluginsdk.FailureBudget, false)
		calls := len(a.api.Requests(fakeapi.Main))
		if calls < 2 || calls > 3 {
			t.Errorf("%d calls were made, want those that reach the cap, 2, and one more at most", calls)
		}
		if result.CostUSD < 0.9-1e-9 || result.CostUSD > 1.35+1e-9 {
			t.Errorf("cost %f after %d calls", result.CostUSD, calls)
		}
	})
}

// Nothing is saved by throwing an answer away that has come, although it has
// reached the cap: words, or what a schema asked for.
func TestRealCapThatIsHitByTheAnswerItself(t *testing.T) {
	inBothSessions(t, func(t *testing.T, r ledger.AgentRequest) {
		a := startReal(t, nil)
		a.api.Handle(func(fakeapi.Request) fakeapi.Reply {
			return fakeapi.Reply{Text: "the answer", Usage: dear(10_000)}
		})
		r.CostCapUSD = 0.4
		result := a.Invoke(t.Context(), r, nil)
		wantText(t, result, "the answer")
		if !near(result.CostUSD, 0.45) {
			t.Errorf("cost %f", result.CostUSD)
		}

		a.api.Handle(func(fakeapi.Request) fakeapi.Reply {
			return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: outputTool, Input: json.RawMessage(`{"verdict":"yes"}`)}}, Usage: dear(10_000)}
		})
		r.JSONSchema = verdictSchema
		structured := a.Invoke(t.Context(), r, nil)
		if structured.Failure != nil || string(structured.StructuredOutput) != `{"verdict":"yes"}` {
			t.Errorf("result %+v, failure %+v", structured, structured.Failure)
		}
	})
}

// What a sub-agent's calls cost is the turn's as well.
func TestRealCapThatASubAgentHits(t *testing.T) {
	a := startReal(t, func(c *Config) { c.AllowedTools = []string{"Bash", "Agent"} })
	a.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		if strings.Contains(r.Prompt(), "go") && len(r.ToolResults()) == 0 {
			return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "Agent", Input: json.RawMessage(
				`{"description":"d","prompt":"work","subagent_type":"general-purpose"}`)}}}
		}
		return usesBash(dear(100)) // the sub-agent, for ever
	})
	r := fresh("R", "thread", "go")
	r.CostCapUSD = 0.5
	result := a.Invoke(t.Context(), r, nil)
	_ = wantFailure(t, result, pluginsdk.FailureBudget, false)
	if calls := len(a.api.Requests(fakeapi.Main)); calls > 4 {
		t.Errorf("%d calls were made, want the main one, the two that reach the cap, and one more at most", calls)
	}
	if result.CostUSD < 0.6 {
		t.Errorf("cost %f", result.CostUSD)
	}
}

// Our prices are the CLI's, so that what a cap is held by is what is reported.
func TestRealPrices(t *testing.T) {
	a := startReal(t, func(c *Config) { c.MaxSessions = 2 })
	tokens := tokensOf(fakeapi.DefaultUsage)
	models := []string{"claude-haiku-4-5", "claude-sonnet-4-6", "claude-opus-4-8", "claude-fable-5", "us.anthropic.claude-opus-4-1-20250805-v1:0"}
	results := make(chan pluginsdk.InvokeResult, len(models))
	for _, model := range models {
		go func() {
			r := fresh(model, "thread", "say:x")
			r.Model = model
			results <- a.Invoke(t.Context(), r, nil)
		}()
	}
	for range models {
		result := <-results
		if want := priceOf(result.Model).usd(tokens); result.Failure != nil || !near(result.CostUSD, want) {
			t.Errorf("%s: the CLI counts %f, we %f (failure %+v)", result.Model, result.CostUSD, want, result.Failure)
		}
	}
}

func tokensOf(u fakeapi.Usage) usage {
	return usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadTokens, CacheWrite: u.CacheWriteTokens}
}
