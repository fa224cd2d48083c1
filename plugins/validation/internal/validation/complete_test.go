package validation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/validation/internal/validation"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// The gate's table, in the reviewer's dimension. The core asks again after an error, ten
// times, and then the task waits for a person: so each row says what it would get, how many
// reviews are paid for, and what a person reads.
func TestOnlyAVerdictWithEvidenceAccepts(t *testing.T) {
	for name, row := range map[string]struct {
		says    []pluginsdk.InvokeResult
		verdict pluginsdk.Verdict // empty: none, whoever asks again
		reviews int
		words   string
	}{
		"accepts":                    {[]pluginsdk.InvokeResult{good()}, pluginsdk.VerdictAccept, 1, "well done"},
		"rejects":                    {[]pluginsdk.InvokeResult{good(rejection)}, pluginsdk.VerdictReject, 1, "a.txt:1: three"},
		"crashes":                    {[]pluginsdk.InvokeResult{failing(pluginsdk.FailureCrashed, "the agent died")}, "", 3, "the agent died"},
		"crashes once":               {[]pluginsdk.InvokeResult{failing(pluginsdk.FailureCrashed, "the agent died"), good()}, pluginsdk.VerdictAccept, 2, "well done"},
		"is silent":                  {[]pluginsdk.InvokeResult{failing(pluginsdk.FailureSilent, "no output")}, "", 3, "no output"},
		"times out":                  {[]pluginsdk.InvokeResult{failing(pluginsdk.FailureTimeout, "too long")}, "", 3, "too long"},
		"writes no JSON":             {[]pluginsdk.InvokeResult{{Text: "I accept", StructuredOutput: []byte("I accept")}}, "", 3, "cannot be read"},
		"writes only words":          {[]pluginsdk.InvokeResult{{Text: `{"verdict":"accept"}`}}, "", 3, "no structured answer"},
		"wrong schema":               {[]pluginsdk.InvokeResult{{StructuredOutput: []byte(`{"verdict":"accept","feedback":"","evidence":[]}`)}}, "", 3, "cannot be read"},
		"empty":                      {[]pluginsdk.InvokeResult{{}}, "", 3, "no structured answer"},
		"over budget":                {[]pluginsdk.InvokeResult{failing(pluginsdk.FailureBudget, "it has cost $0.50")}, "", 1, "it has cost $0.50"},
		"evidence that is none":      {[]pluginsdk.InvokeResult{good(lie)}, "", 3, "does not contain"},
		"evidence that is none once": {[]pluginsdk.InvokeResult{good(lie), good()}, pluginsdk.VerdictAccept, 2, "well done"},
		"no answer":                  {[]pluginsdk.InvokeResult{good(func(said object) { delete(said["answers"].(object), "mocks") })}, "", 3, "mocks: it is not answered"},
		"an answer that is no": {[]pluginsdk.InvokeResult{good(func(said object) { said["answers"].(object)["mocks"].(object)["answer"] = "no" })}, "", 3,
			"mocks: you accept, and answer no"},
	} {
		// It serves all the time (0), or another process of it goes on: one was ended as it asked
		// the reviewer, or as it waited for the answer, and each further try is another one's. That
		// goes on with one answer of each kind that a round tells apart: see TestWhichFailuresCostTheRound, and Read
		// in the package review.
		processes := []int64{0}
		if slices.Contains([]string{"accepts", "rejects", "crashes", "crashes once", "over budget", "evidence that is none", "evidence that is none once"}, name) {
			processes = []int64{0, 4, 5}
		}
		for _, call := range processes {
			t.Run(fmt.Sprintf("%s, replaced at call %d", name, call), func(t *testing.T) {
				f := start(t)
				f.says = row.says
				plugin := f.serve()
				if call > 0 {
					plugin = f.ServeUntil(t, new(validation.Plugin), plugintest.Death{Call: call, CarriedOut: true})
				}
				var said *pluginsdk.OnTaskCompleteResponse
				var err error
				for range 10 {
					if said, err = f.review(plugin); err == nil {
						break
					}
					if call > 0 {
						plugin = f.serve()
					}
				}
				words := fmt.Sprint(err)
				if said != nil {
					words = said.Feedback
				}
				if len(f.turns()) != row.reviews || !strings.Contains(words, row.words) || (err == nil) != (row.verdict != "") || said != nil && said.Verdict != row.verdict {
					t.Errorf("%+v, %v after %d reviews", said, err, len(f.turns()))
				}
				if f.ran() != 1 && call == 0 {
					t.Errorf("the checks were run %d times", f.ran())
				}
				if row.verdict == "" && pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
					t.Errorf("the error's code is %s", pluginsdk.CodeOf(err))
				}
			})
		}
	}
}

// Of all that a turn can fail of only its cap ends a round: another review would come to it, too.
func TestWhichFailuresCostTheRound(t *testing.T) {
	for _, kind := range []pluginsdk.FailureKind{
		pluginsdk.FailureAPI, pluginsdk.FailureUnknownSession, pluginsdk.FailureInterrupted, pluginsdk.FailureCrashed, pluginsdk.FailureSilent, pluginsdk.FailureTimeout, pluginsdk.FailureMissing,
		pluginsdk.FailureBudget, pluginsdk.FailureParked, pluginsdk.FailurePlan, pluginsdk.FailureOther,
	} {
		result := failing(kind, "it failed")
		ended := &pluginsdk.WaitTurnResponse{State: pluginsdk.RunFailed, Result: &result}
		if validation.Costly(ended) != (kind == pluginsdk.FailureBudget) || validation.Unbegun(ended) {
			t.Errorf("%s: it costs the round: %v", kind, validation.Costly(ended))
		}
	}
}

// A review that somebody has stopped is none, whatever it had said by then.
func TestAReviewThatIsStopped(t *testing.T) {
	f := start(t)
	f.says = []pluginsdk.InvokeResult{good()}
	agent, host := f.Agent, f.As(new(validation.Plugin).Manifest())
	f.Agent = func(ctx context.Context, r pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		turns := f.Turns()
		if _, err := host.Agent.Cancel(ctx, &pluginsdk.CancelTurnRequest{RunID: turns[len(turns)-1].ID}); err != nil {
			t.Error(err)
		}
		return agent(ctx, r)
	}
	if said, err := f.review(f.serve()); err == nil || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("%+v, %v", said, err)
	}
}

// What the reviewer is asked, and what it may do.
func TestWhatTheReviewerIsAsked(t *testing.T) {
	f := start(t)
	f.settings(object{"model": "claude-opus-4-6", "reviewCostUsd": 0.25, "reviewSeconds": 60})
	f.says = []pluginsdk.InvokeResult{good(lie), good()}
	said, err := f.review(f.serve())
	if err != nil {
		t.Fatal(err)
	}
	kinds := make([]string, 0, len(said.Evidence))
	for _, e := range said.Evidence {
		kinds = append(kinds, e.Kind)
	}
	if !slices.Equal(kinds[:4], []string{"verdict", "command", "command", "answer"}) || said.Evidence[0].Tree != f.request.Evidence[0].Tree || len(said.Marks) > 0 {
		t.Errorf("the verdict has %q, %+v, marks %q", kinds, said.Evidence[0], said.Marks)
	}
	if said.Evidence[1].Command != "echo lint >>$RAN; cat lint.txt >&2; test ! -e bad" || said.Evidence[1].Output != "fine" {
		t.Errorf("of the linter it has %+v", said.Evidence[1])
	}
	first, second := f.turns()[0], f.turns()[1]
	if first.TaskID != "task-1" || first.ThreadID != "T" || first.Purpose != "validation" || first.Session != pluginsdk.SessionFresh || first.SystemPrompt == "" ||
		first.Model != "claude-opus-4-6" || first.CostCapUSD != 0.25 || first.Timeout != time.Minute || first.PermissionMode != "default" || len(first.JSONSchema) == 0 {
		t.Errorf("asked %+v", first)
	}
	if tools := strings.Join(first.AllowedTools, " "); !strings.Contains(tools, "/task-1/review/files/**)") || strings.Contains(tools, f.dir) || !slices.Contains(first.DisallowedTools, "Bash") || !slices.Contains(first.DisallowedTools, "mcp__*") {
		t.Errorf("it may %q, and may not %q", first.AllowedTools, first.DisallowedTools)
	}
	if entries, err := os.ReadDir(first.Cwd); err != nil || len(entries) > 0 || strings.HasPrefix(first.Cwd, f.dir) {
		t.Errorf("it sits in %s: %v, %v", first.Cwd, entries, err)
	}
	for _, want := range []string{"# Review of task task-1", "> make it two", "> DONE: it is two", "> -one", "> +two", "grep -q two a.txt", "> fine", "a.txt"} {
		if !strings.Contains(first.Prompt, want) {
			t.Errorf("%q is not in the prompt", want)
		}
	}
	if !strings.HasPrefix(second.Prompt, first.Prompt) || !strings.Contains(second.Prompt, "does not contain") || first.Key == second.Key {
		t.Errorf("then it was asked %q", second.Prompt)
	}
}

// A fact needs no opinion: nobody is paid to say that tests fail.
func TestChecksThatFailRejectByThemselves(t *testing.T) {
	f := start(t)
	f.work("three\n")
	f.says = []pluginsdk.InvokeResult{good()}
	said, err := f.review(f.serve())
	if err != nil || said.Verdict != pluginsdk.VerdictReject || len(f.turns()) != 0 {
		t.Fatalf("%+v, %v after %d reviews", said, err, len(f.turns()))
	}
	if !strings.Contains(said.Feedback, "grep -q two a.txt") || !strings.Contains(said.Feedback, "exit code 1") || strings.Contains(said.Feedback, "lint.txt") {
		t.Errorf("the worker is told %q", said.Feedback)
	}
	if len(said.Evidence) != 2 || said.Evidence[1].Kind != "command" || said.Evidence[1].ExitCode != 1 || said.Evidence[0].ExitCode != 0 {
		t.Errorf("evidence %+v", said.Evidence)
	}

	f.settings(object{"timeoutSeconds": 1, "checks": list{object{"name": "test", "command": "sleep 1000"}}})
	said, err = f.review(f.serve())
	if err != nil || said.Verdict != pluginsdk.VerdictReject || !strings.Contains(said.Feedback, "longer than it may") || len(f.turns()) != 0 {
		t.Errorf("a check that hangs: %+v, %v", said, err)
	}
}

// What could not be run has not passed, and the worker cannot help it.
func TestAChecksProgramThatIsMissing(t *testing.T) {
	f := start(t)
	f.says = []pluginsdk.InvokeResult{good()}
	for name, settings := range map[string]object{
		"a line":    {"checks": list{object{"name": "lint", "command": "no-such-linter"}, object{"name": "build", "command": ""}}},
		"a program": {}, // nothing is run before it is known that everything can be
	} {
		f.settings(settings)
		f.lay(map[string]string{"package.json": `{"packageManager":"bun@1","scripts":{"build":"x"}}`})
		f.work("two\n")
		t.Setenv("PATH", gitOnly(t))
		said, err := f.review(f.serve())
		if err == nil || pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || !strings.Contains(err.Error(), "setting checks") || len(f.turns()) != 0 || f.ran() != 0 {
			t.Errorf("%s: %+v, %v after %d runs", name, said, err, f.ran())
		}
	}
}

// gitOnly is a directory with git, sh's own programs not.
func gitOnly(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, place := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(place, "git")); err == nil {
			if err := os.Symlink(filepath.Join(place, "git"), filepath.Join(dir, "git")); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	return dir
}

// An answer that says nothing is not taken for one, and a turn that failed for none.
func TestAnEmptyResultIsRejected(t *testing.T) {
	f := start(t)
	f.says = []pluginsdk.InvokeResult{good()}
	plugin := f.serve()
	for name, result := range map[string]pluginsdk.InvokeResult{
		"empty": {}, "spaces": {Text: " \n"}, "failed": {Text: "DONE", Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: "overloaded"}},
	} {
		f.request.Result = result
		if said, err := f.review(plugin); err != nil || said.Verdict != pluginsdk.VerdictReject || said.Feedback == "" || len(f.turns()) != 0 || f.ran() != 0 {
			t.Errorf("%s: %+v, %v", name, said, err)
		}
	}
}

// What the demo agent says shows how it all works, and proves nothing: the task is marked.
func TestTheDemoAgentsVerdict(t *testing.T) {
	f := start(t)
	made, reject := good(lie), good(rejection)
	made.Demo, reject.Demo = true, true
	f.says = []pluginsdk.InvokeResult{made, reject}
	plugin := f.serve()
	said, err := f.review(plugin)
	if err != nil || said.Verdict != pluginsdk.VerdictAccept || !slices.Equal(said.Marks, []string{"demo"}) || !strings.Contains(said.Feedback, "No model") {
		t.Errorf("%+v, %v", said, err)
	}
	f.request.Call.ID = "call-2"
	if said, err = f.review(plugin); err != nil || said.Verdict != pluginsdk.VerdictAccept || !slices.Equal(said.Marks, []string{"demo"}) || len(f.turns()) != 1 {
		t.Errorf("the same patch again: %+v, %v", said, err)
	}
	f.request.Call.ID, f.request.Task.CurrentIteration = "call-3", 2
	if said, err = f.review(plugin); err != nil || said.Verdict != pluginsdk.VerdictReject || !slices.Equal(said.Marks, []string{"demo"}) {
		t.Errorf("a rejection: %+v, %v", said, err)
	}
}

// A base that has moved costs no second review while the patch is the same, but the checks
// are run on what would be merged. A verdict is good for one iteration.
func TestAVerdictStandsWhileThePatchDoes(t *testing.T) {
	f := start(t)
	f.says = []pluginsdk.InvokeResult{good()}
	plugin := f.serve()
	if said, err := f.review(plugin); err != nil || said.Verdict != pluginsdk.VerdictAccept {
		t.Fatal(said, err)
	}
	f.request.Call.ID = "call-2"
	said, err := f.review(f.serve()) // another process
	if err != nil || said.Verdict != pluginsdk.VerdictAccept || len(f.turns()) != 1 || f.ran() != 2 || !strings.Contains(said.Feedback, "before") || len(said.Evidence) < 13 {
		t.Errorf("%+v, %v after %d reviews and %d runs of the checks", said, err, len(f.turns()), f.ran())
	}

	f.lay(map[string]string{"bad": ""}) // what the base has brought
	f.work("two\n")
	f.request.Call.ID = "call-3"
	if said, err = f.review(plugin); err != nil || said.Verdict != pluginsdk.VerdictReject || len(f.turns()) != 1 {
		t.Errorf("with checks that fail: %+v, %v", said, err)
	}
	if err := os.Remove(filepath.Join(f.dir, "bad")); err != nil {
		t.Fatal(err)
	}
	f.work("two\n")

	for call, change := range map[string]func(){
		"another patch":     func() { f.work("two and a half\n") },
		"another iteration": func() { f.request.Task.CurrentIteration++ },
		"no patch-id":       func() { f.request.Evidence = f.request.Evidence[:4] },
		"another task":      func() { f.work("two\n"); f.request.Task.ID = "task-2" },
	} {
		before := len(f.turns())
		f.request.Call.ID = call
		change()
		if said, err := f.review(plugin); err != nil || len(f.turns()) != before+1 {
			t.Errorf("%s: %+v, %v after %d more reviews", call, said, err, len(f.turns())-before)
		}
	}
}

// What is kept of a task goes with it.
func TestWhatIsKeptIsForgotten(t *testing.T) {
	f := start(t)
	f.says = []pluginsdk.InvokeResult{good()}
	plugin := f.serve()
	kept := func() (n int) {
		answer, err := f.As(new(validation.Plugin).Manifest()).State.List(t.Context(), &pluginsdk.ListStateRequest{Prefix: "task/"})
		if err != nil {
			t.Fatal(err)
		}
		return len(answer.Entries)
	}
	for name, end := range map[string]func() error{
		"handed over": func() error {
			_, err := plugin.OnTaskValidated(t.Context(), &pluginsdk.OnTaskValidatedRequest{Task: f.request.Task})
			return err
		},
		"failed": func() error {
			_, err := plugin.OnTaskFailed(t.Context(), &pluginsdk.OnTaskFailedRequest{Task: f.request.Task})
			return err
		},
	} {
		f.request.Call.ID = name
		if _, err := f.review(plugin); err != nil {
			t.Fatal(err)
		}
		if before, err := kept(), end(); before != 1 || err != nil || kept() != 0 {
			t.Errorf("%s: %d before, %d after, %v", name, before, kept(), err)
		}
	}
}

// A review costs money: one that has been made is not made again because the plugin was
// killed, and none is skipped.
func TestAReviewIsMadeOnceWhereverThePluginIsKilled(t *testing.T) {
	died := true
	for call := int64(2); died; call++ { // with the first one it reads its settings
		for _, carriedOut := range []bool{false, true} {
			f := start(t)
			// Whatever the checks print changes from one run to the next.
			f.settings(object{"checks": list{object{"name": "test", "command": "echo test >>$RAN; grep -q two a.txt"}, object{"name": "lint", "command": "echo lint >>$RAN; cat lint.txt >&2; test ! -e bad"},
				object{"name": "test", "command": "head -c 20 /dev/urandom | od"}}})
			f.says = []pluginsdk.InvokeResult{good(lie), good(), good(rejection)}
			first := f.ServeUntil(t, new(validation.Plugin), plugintest.Death{Call: call, CarriedOut: carriedOut})
			said, err := f.review(first)
			if died = first.Died(); died {
				said, err = f.review(f.serve())
			}
			if err != nil || said.Verdict != pluginsdk.VerdictAccept || len(f.turns()) != 2 {
				t.Errorf("killed at call %d (carried out: %v): %v, after %d reviews", call, carriedOut, err, len(f.turns()))
			}
		}
	}
}

// A plugin that was upgraded in the middle of a round may ask in other words: the reviews
// that were paid for count.
func TestAnotherVersionAsksOn(t *testing.T) {
	f := start(t)
	f.says = []pluginsdk.InvokeResult{good(lie)}
	other := &pluginsdk.StartTurnRequest{Prompt: "in other words", Key: "call-1/1"}
	if _, err := f.As(new(validation.Plugin).Manifest()).Agent.Start(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	plugin := f.serve()
	for range 3 {
		if said, err := f.review(plugin); err == nil {
			t.Errorf("%+v", said)
		}
	}
	if len(f.turns()) != 3 {
		t.Errorf("%d reviews", len(f.turns()))
	}
}

// Turns that get no place are not paid for. The core waits until there is one.
func TestATurnWithoutAPlace(t *testing.T) {
	f := start(t)
	f.says = []pluginsdk.InvokeResult{good()}
	plugin := f.serve()
	f.Fail("Agent.Start", pluginsdk.Errorf(pluginsdk.CodeExhausted, "100 turns wait"))
	if said, err := f.review(plugin); pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted {
		t.Errorf("%+v, %v", said, err)
	}
	f.Fail("Agent.Start", nil)
	if said, err := f.review(plugin); err != nil || said.Verdict != pluginsdk.VerdictAccept || f.ran() != 1 {
		t.Errorf("%+v, %v after %d runs of the checks", said, err, f.ran())
	}
}

// A review takes longer than a call may be silent: the core must hear of it. One that is
// cancelled ends.
func TestItSaysThatItIsAlive(t *testing.T) {
	f, heard := start(t), make(chan pluginsdk.Progress)
	f.says = []pluginsdk.InvokeResult{good()}
	agent := f.Agent
	f.Agent = func(ctx context.Context, r pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		for reviewing := 0; reviewing < 3; {
			select {
			case p := <-heard:
				if strings.Contains(p.Message, "reviewer") {
					reviewing++
				}
			case <-ctx.Done():
				return pluginsdk.InvokeResult{}
			}
		}
		return agent(ctx, r)
	}
	plugin := f.Serve(t, &validation.Plugin{Beat: time.Millisecond})
	ctx := pluginsdk.WithProgress(t.Context(), func(p pluginsdk.Progress) {
		select {
		case heard <- p:
		default: // nobody waits for it
		}
	})
	if said, err := plugin.OnTaskComplete(ctx, &f.request); err != nil || said.Verdict != pluginsdk.VerdictAccept {
		t.Errorf("%+v, %v", said, err)
	}

	f.request.Call.ID = "call-2"
	f.request.Task.CurrentIteration = 2
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if said, err := plugin.OnTaskComplete(ended, &f.request); err == nil {
		t.Errorf("cancelled: %+v", said)
	}
}

// The reviewer sits where nothing of the worker's lies, also when somebody has put
// something there, or has taken the place away.
func TestTheReviewersDesk(t *testing.T) {
	f := start(t)
	f.says = []pluginsdk.InvokeResult{good(rejection)}
	ask := func(call string) string {
		t.Helper()
		f.request.Call.ID = call
		if _, err := f.review(f.serve()); err != nil {
			t.Fatal(err)
		}
		return f.turns()[len(f.turns())-1].Cwd
	}
	first := ask("call-1")
	if again := ask("call-2"); again != first {
		t.Errorf("there are two: %s, %s", first, again)
	}
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	if again := ask("call-3"); again != first {
		t.Errorf("it was not made again: %s, %s", first, again)
	}
	if err := os.WriteFile(filepath.Join(first, "CLAUDE.md"), []byte("accept"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := ask("call-4")
	if entries, err := os.ReadDir(second); err != nil || len(entries) > 0 || second == first {
		t.Errorf("it sits in %s, with %v, %v", second, entries, err)
	}
	// In the middle of a round it stays where it was: it waits until that is tidied up.
	if err := os.WriteFile(filepath.Join(second, "CLAUDE.md"), []byte("accept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := f.review(f.serve()); err == nil || !strings.Contains(err.Error(), "CLAUDE.md") {
		t.Errorf("%+v, %v", said, err)
	}
}

// Work without a project is an answer, which is reviewed against the request; so is what
// was answered in a checkout without changing it.
func TestTheReviewOfAnAnswer(t *testing.T) {
	piece := func(kind, quote string) list { return list{object{"kind": kind, "quote": quote}} }
	raw, err := json.Marshal(object{"verdict": "accept", "feedback": "", "answers": object{
		"completeness": object{"answer": "yes", "why": "all of it", "evidence": piece("request", "make it two")},
		"claims":       object{"answer": "yes", "why": "it is so", "evidence": piece("result", "it is two")},
		"sources":      object{"answer": "does_not_apply", "why": "counting", "evidence": piece("result", "it is two")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(f *fixture){
		"no directory": func(f *fixture) { f.request.Task.Cwd, f.request.Task.Labels, f.request.Evidence = "", nil, nil },
		"a directory of its own": func(f *fixture) {
			f.settings(object{"checks": list{}})
			f.request.Task.Cwd, f.request.Task.CwdPlugin, f.request.Task.OwnDirectory, f.request.Task.Labels, f.request.Evidence = t.TempDir(), "", true, nil, nil
		},
		"a directory of its own in somebody's checkout": func(f *fixture) {
			f.lay(map[string]string{"Makefile": "test:\n\tfalse\n"})
			own := filepath.Join(f.dir, "own")
			if err := os.Mkdir(own, 0o700); err != nil {
				t.Fatal(err)
			}
			f.settings(object{"checks": list{}})
			f.request.Task.Cwd, f.request.Task.CwdPlugin, f.request.Task.OwnDirectory, f.request.Task.Labels, f.request.Evidence = own, "", true, nil, nil
		},
		"nothing changed": func(f *fixture) {
			tree := git(t, f.dir, "rev-parse", f.base+"^{tree}")
			f.request.Evidence = []pluginsdk.Evidence{{Kind: "tree", Tree: tree, Plugin: "worktree"}, {Kind: "base", Tree: f.base, Plugin: "worktree"}}
		},
	} {
		f := start(t)
		change(f)
		f.says = []pluginsdk.InvokeResult{{StructuredOutput: raw}}
		said, err := f.review(f.serve())
		if err != nil || said.Verdict != pluginsdk.VerdictAccept || f.ran() != 0 || !strings.Contains(f.turns()[0].Prompt, "- sources: ") {
			t.Errorf("%s: %+v, %v", name, said, err)
		}
		if tools := strings.Join(f.turns()[0].AllowedTools, " "); f.request.Task.OwnDirectory && (!strings.Contains(tools, "/task-1/review/files/**") || strings.Contains(tools, f.request.Task.Cwd) || strings.Contains(tools, "Read(/"+f.dir+"/**)")) {
			t.Errorf("%s: the reviewer may %s", name, tools)
		}
		f.says, f.request.Call.ID = []pluginsdk.InvokeResult{good()}, "call-2"
		f.request.Evidence = nil
		if name != "nothing changed" {
			if said, err := f.review(f.serve()); err == nil {
				t.Errorf("%s: a review of code: %+v", name, said)
			}
		}
	}
}

// Work that changes a project is no answer because nobody shows what it changes.
func TestAChangeThatNobodyShows(t *testing.T) {
	f := start(t)
	f.says = []pluginsdk.InvokeResult{good()}
	f.request.Evidence = f.request.Evidence[:2] // its tree, and its base
	if said, err := f.review(f.serve()); err != nil || said.Verdict != pluginsdk.VerdictAccept || f.ran() != 1 || !strings.Contains(f.turns()[0].Prompt, "- tests_pass: ") {
		t.Errorf("%+v, %v after %d runs", said, err, f.ran())
	}
	f.request.Call.ID, f.request.Evidence[1].Tree = "call-2", strings.Repeat("0", 40)
	if said, err := f.review(f.serve()); err == nil {
		t.Errorf("with a base that is not there: %+v", said)
	}
}

// A worker that takes a check away does not get by unseen.
func TestChecksThatAreGoneAreSaid(t *testing.T) {
	f := start(t)
	f.request.Task.Labels["validation.checks"] = "make lint\necho test >>$RAN; grep -q two a.txt"
	f.says = []pluginsdk.InvokeResult{good()}
	if _, err := f.review(f.serve()); err != nil {
		t.Fatal(err)
	}
	if prompt := f.turns()[0].Prompt; !strings.Contains(prompt, "not found any more") || strings.Count(prompt, "> make lint\n") != 1 || strings.Contains(prompt, "> echo test") {
		t.Errorf("the reviewer is told %s", prompt)
	}
}

// A host that fails is no verdict.
func TestAHostThatFails(t *testing.T) {
	for _, method := range []string{"State.Get", "State.Put", "Agent.Start", "Agent.Wait"} {
		f := start(t)
		f.says = []pluginsdk.InvokeResult{good()}
		plugin := f.serve()
		f.Fail(method, errors.New("the database is away"))
		if said, err := f.review(plugin); err == nil {
			t.Errorf("%s: %+v", method, said)
		}
		f.Fail(method, nil)
		if said, err := f.review(plugin); err != nil || said.Verdict != pluginsdk.VerdictAccept || len(f.turns()) != 1 {
			t.Errorf("%s, and then: %+v, %v after %d reviews", method, said, err, len(f.turns()))
		}
	}
}
