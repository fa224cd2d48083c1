package agentcheck

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What people say while a turn runs: more words, and answers to what it asks.

func steerReachesTheTurn(w *world) string {
	w.began()
	const words, command = "rather say STEERED-WORDS", "/clear and say SLASHED-WORDS"
	gate, taken := filepath.Join(w.work, "gate"), false
	request := w.request(prompt("Bash", map[string]any{"command": "until [ -e " + gate + " ]; do sleep 0.02; done"}, "done"))
	request.Ask = func(context.Context, ledger.ToolAsk) ledger.ToolAnswer { return ledger.ToolAnswer{Allow: true} }
	var steering sync.WaitGroup
	t := w.invokeIn(w.ctx, request, func(event pluginsdk.StreamEvent) {
		if event.Type == pluginsdk.StreamToolCall {
			steering.Go(func() {
				taken = w.agent.Steer(request.RunID, words) && w.agent.Steer(request.RunID, command)
				_ = os.WriteFile(gate, nil, 0o600) // the tool ends
			})
		}
	})
	steering.Wait()
	w.expect(t.Failure == nil, "a turn that is steered failed: %s", wordsOf(t.Failure))
	w.expect(taken, "a turn does not take a message while a tool runs")
	calls := t.main()
	w.expect(len(calls) > 1 && fakeapi.Seeing("STEERED-WORDS")(calls[1]), "a message that was sent while a tool ran is not in the next call of the API")
	w.expect(t.saw("SLASHED-WORDS"), "a message that begins with a slash is taken for a command of the CLI's")
	w.expect(len(calls) <= 3, "a turn with two messages more took %d calls of the API", len(calls))
	return ""
}

func steeredLineCanBeTakenBack(w *world) string {
	w.began()
	gate, taken := uuid.NewString(), false
	request := w.request("block:" + gate + " say:never")
	t := w.stopWhen(request, fakeapi.Saying(gate), func() { taken = w.agent.Steer(request.RunID, "say:TAKEN-BACK") })
	w.expect(taken, "a turn does not take a message while the model answers")
	w.expect(t.Failure != nil && w.agent.Holds(thread, w.session), "a queued message cannot be withdrawn: the stopped turn goes on, or its process had to be ended")
	next := w.say("say:after it", "after it")
	w.expect(!next.saw("TAKEN-BACK") && len(next.main()) == 1, "a withdrawn message reaches the model")
	return ""
}

// asks runs a turn in which the model calls Bash, which no rule allows, and answers the
// question. It expects that one is asked.
func (w *world) asks(command string, answer func(ledger.ToolAsk) ledger.ToolAnswer) (t turn, asked ledger.ToolAsk) {
	w.began()
	n := 0
	request := w.request(prompt("Bash", map[string]any{"command": command, "description": "Look whether it asks"}, "I see."))
	request.Ask = func(_ context.Context, ask ledger.ToolAsk) ledger.ToolAnswer {
		asked = ask
		n++
		return answer(ask)
	}
	t = w.invoke(request)
	w.answered(t, "I see.")
	w.expect(n == 1, "a call that no rule allows was asked about %d times", n)
	return t, asked
}

func questionWaits(w *world) string {
	made := filepath.Join(w.work, "asked")
	goesOn := false
	_, asked := w.asks("touch "+made, func(ledger.ToolAsk) ledger.ToolAnswer {
		// A person thinks for as long as another process takes to start and to answer. That
		// is long for the CLI, however busy the machine is.
		calls := len(w.api.Requests(w.ofTheConversation))
		w.meanwhile = nil
		_ = w.freshly()
		goesOn = len(w.api.Requests(w.ofTheConversation)) > calls
		return ledger.ToolAnswer{Words: "no"}
	})
	w.expect(asked.Tool == "Bash" && strings.Contains(string(asked.Input), made), "the CLI asks about %s %s instead of the call", asked.Tool, cut(string(asked.Input)))
	w.expect(!goesOn, "the turn goes on while it waits for an answer")
	w.expect(!exists(made), "the tool runs although the answer was no")
	return ""
}

// ofTheConversation tells the calls of the API that have the beginning of the world's
// conversation in them.
func (w *world) ofTheConversation(r fakeapi.Request) bool {
	return fakeapi.Main(r) && fakeapi.Seeing("agent check")(r)
}

func allowedCallRuns(w *world) string {
	made, instead := filepath.Join(w.work, "asked-for"), filepath.Join(w.work, "allowed")
	t, _ := w.asks("touch "+made, func(ledger.ToolAsk) ledger.ToolAnswer {
		return ledger.ToolAnswer{Allow: true, Input: encode(map[string]string{"command": "touch " + instead})}
	})
	results := t.results()
	w.expect(len(results) == 1 && !results[0].IsError, "a call that a person allowed does not run")
	w.expect(exists(instead) && !exists(made), "the call runs as the model wrote it, not as the person changed it")
	return ""
}

func denialReachesTheAgent(w *world) string {
	made := filepath.Join(w.work, "denied")
	t, _ := w.asks("touch "+made, func(ledger.ToolAsk) ledger.ToolAnswer {
		return ledger.ToolAnswer{Words: "not today, says Ada"}
	})
	results := t.results()
	w.expect(!exists(made) && len(results) == 1 && results[0].IsError, "a call that a person denied runs")
	w.expect(t.saw("not today, says Ada"), "the model does not see the words with which a call was denied")
	return ""
}

// never is an answer to what must not be asked.
func (w *world) never(asked *[]string) ledger.Ask {
	return func(_ context.Context, ask ledger.ToolAsk) ledger.ToolAnswer {
		*asked = append(*asked, ask.Tool+" "+cut(string(ask.Input)))
		return ledger.ToolAnswer{Words: "no"}
	}
}

func allowedRuleIsNotAsked(w *world) string {
	w.began()
	made := filepath.Join(w.work, "by-rule")
	var asked []string
	request := w.request(prompt("Bash", map[string]any{"command": "mkdir " + made}, "I see."))
	request.Ask = w.never(&asked)
	w.answered(w.invoke(request), "I see.")
	w.expect(len(asked) == 0, "an allowed tool is asked about: %s", strings.Join(asked, "; "))
	w.expect(exists(made), "an allowed tool does not run")
	return ""
}

func deniedToolIsDenied(w *world) string {
	w.began()
	secret := w.lay(w.work, "denied/secret", "THE-SECRET")
	var asked []string
	w.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		if !fakeapi.Main(r) || len(r.ToolResults()) > 0 {
			return fakeapi.Reply{Text: "I see."}
		}
		reply := uses("Read", map[string]any{"file_path": secret})
		reply.Tools = append(reply.Tools, uses("WebSearch", map[string]any{"query": "harness"}).Tools...)
		return reply
	})
	request := w.request("look")
	request.Ask = w.never(&asked)
	t := w.invoke(request)
	w.answered(t, "I see.")
	w.expect(!t.saw("THE-SECRET"), "a denied file is read")
	results := t.results()
	w.expect(len(results) == 2 && results[0].IsError && results[1].IsError, "denied calls do not end with an error")
	w.expect(len(asked) == 0, "a denied tool is asked about: %s", strings.Join(asked, "; "))
	w.expect(!offers(t.main()[0], "WebSearch"), "a denied tool is offered to the model")
	return ""
}

func guardedFilesAreAskedAbout(w *world) string {
	w.began()
	var asked []ledger.ToolAsk
	path := filepath.Join(w.work, ".git", "config")
	request := w.request(prompt("Write", map[string]any{"file_path": path, "content": "mine"}, "I see."))
	request.Ask = func(_ context.Context, ask ledger.ToolAsk) ledger.ToolAnswer {
		asked = append(asked, ask)
		return ledger.ToolAnswer{Words: "no"}
	}
	w.answered(w.invoke(request), "I see.")
	w.expect(!exists(path), "a rule that allows Write is enough to write a file that grants permissions")
	w.expect(len(asked) == 1 && asked[0].Guarded, "the CLI does not say that a file that is to be written grants permissions")
	return ""
}

// planFile finds where the CLI tells the model to write its plan.
var planFile = regexp.MustCompile(`/[^\s"\\]+/plans/[^\s"\\]+\.md`)

const planText = "# The plan\n\n1. Measure.\n2. Cut.\n"

// planned runs a turn in plan mode, and returns the plan that a person is asked to accept.
func (w *world) planned(model func(fakeapi.Request) fakeapi.Reply) string {
	w.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		if !fakeapi.Main(r) || len(r.Messages) > 12 || slices.ContainsFunc(r.ToolResults(), func(b fakeapi.Block) bool { return strings.Contains(string(b.Content), "approved") }) {
			return fakeapi.Reply{Text: "I plan."}
		}
		return model(r)
	})
	var asked []ledger.ToolAsk
	request := w.request("make a plan")
	request.PermissionMode = "plan"
	request.Ask = func(_ context.Context, ask ledger.ToolAsk) ledger.ToolAnswer {
		asked = append(asked, ask)
		return ledger.ToolAnswer{Allow: true}
	}
	w.answered(w.invoke(request), "I plan.")
	w.expect(len(asked) == 1 && asked[0].Tool == "ExitPlanMode", "a person is asked about a plan %d times", len(asked))
	var input struct {
		Plan string `json:"plan"`
	}
	_ = json.Unmarshal(asked[0].Input, &input)
	return strings.TrimSpace(input.Plan)
}

func planArrivesWhole(w *world) string {
	// As the model does it that gives its plan, and as it does it that is told of a file, in which
	// the first plan is by now.
	given := w.planned(func(fakeapi.Request) fakeapi.Reply { return uses("ExitPlanMode", map[string]any{"plan": planText}) })
	w.expect(given == strings.TrimSpace(planText), "of the plan that the model gives the person is shown %q", cut(given))
	const other = "# Another plan\n\n1. Cut.\n2. Measure.\n"
	steps := 0
	filed := w.planned(func(r fakeapi.Request) fakeapi.Reply {
		path := planFile.FindString(string(r.Body))
		steps++
		switch {
		case path == "" || steps > 2:
			return uses("ExitPlanMode", map[string]any{})
		case steps == 1:
			return uses("Read", map[string]any{"file_path": path})
		}
		return uses("Write", map[string]any{"file_path": path, "content": other})
	})
	w.expect(filed == strings.TrimSpace(other), "of the plan in the CLI's file the person is shown %q", cut(filed))
	return ""
}

func planModeHoldsAgain(w *world) string {
	request := w.request(prompt("ExitPlanMode", map[string]any{"plan": planText}, "On it."))
	request.PermissionMode = "plan"
	request.Ask = func(context.Context, ledger.ToolAsk) ledger.ToolAnswer { return ledger.ToolAnswer{Allow: true} }
	w.answered(w.invoke(request), "On it.")
	request = w.request("say:go on")
	request.PermissionMode = "plan"
	t := w.invoke(request)
	w.answered(t, "go on")
	newest := t.main()[0].Messages[len(t.main()[0].Messages)-1]
	w.expect(slices.ContainsFunc(newest.Content, func(b fakeapi.Block) bool { return strings.Contains(strings.ToLower(b.Text), "plan mode is active") }),
		"after an accepted plan, later turns are not in plan mode")
	return ""
}

func apartCannotReadTheWorkspace(w *world) string {
	w.lay(w.work, "context/memory.md", "THE-SECRET")
	own := filepath.Join(w.dir, "threads", "x", "own")
	w.lay(own, "own.md", "ours")
	memory := filepath.Join(w.work, "context", "memory.md")
	relative, err := filepath.Rel(own, memory)
	w.must(err)
	w.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		if !fakeapi.Main(r) || len(r.ToolResults()) > 0 {
			return fakeapi.Reply{Text: "I see."}
		}
		reply := uses("Read", map[string]any{"file_path": memory})
		for _, command := range []string{"cat < " + relative, "tac " + relative, "cd .. && cat ../../w/context/memory.md"} {
			reply.Tools = append(reply.Tools, uses("Bash", map[string]any{"command": command}).Tools...)
		}
		return reply
	})
	request := w.request("look at @" + relative)
	request.Cwd, request.Apart = own, true
	// Whoever would allow it: strangers may not.
	request.Ask = func(_ context.Context, ask ledger.ToolAsk) ledger.ToolAnswer {
		return ledger.ToolAnswer{Allow: ask.Tool != "Bash", Words: "no"}
	}
	t := w.invoke(request)
	w.answered(t, "I see.")
	w.expect(len(t.results()) == 4, "%d of 4 calls have results", len(t.results()))
	w.expect(!t.saw("THE-SECRET"), "a thread apart reads the workspace")
	return ""
}
