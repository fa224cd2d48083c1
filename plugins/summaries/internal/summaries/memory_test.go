package summaries

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/memory"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

const memoryStart = "# Memory\n\nWhat stays true.\n\n## People\n\n- Ann is the owner\n\n## Preferences\n\n## Projects\n"

// learns is a world with a memory and a thread of a person's.
func learns(t *testing.T, settings string) *world {
	t.Helper()
	w := newWorld(t, settings)
	w.host.SetContextFile(memoryFile, memoryStart)
	w.host.SetContextFile(inboxFile, "# Inbox\n\nNew facts.\n")
	w.thread(pluginsdk.Thread{ID: "talk", Name: "Talk"})
	return w
}

// learned has the agent add a line to the inbox in the run that answers a message, which says what the line says.
func (w *world) learned(message pluginsdk.Message, line string) string {
	w.Helper()
	message.Content += ": " + line
	run := w.said(message, "Noted.")
	w.host.ChangeContextFile(pluginsdk.WorkspaceChange{Path: inboxFile, Kind: pluginsdk.ChangeByAgent, RunID: run, ThreadID: message.ThreadID}, w.file(inboxFile)+"- "+line+"\n")
	return run
}

// ann is a message of a person's.
func ann(words string) pluginsdk.Message {
	return pluginsdk.Message{ThreadID: "talk", Author: "Ann", Source: "web", Content: words}
}

// given is what a prompt shows of memory and inbox.
func given(t testing.TB, request pluginsdk.StartTurnRequest) (in struct {
	Memory, Inbox []struct{ ID, Text string }
},
) {
	t.Helper()
	if err := json.Unmarshal([]byte(request.Prompt[strings.Index(request.Prompt, "\n{"):]), &in); err != nil {
		t.Error(err)
	}
	return in
}

// keeps is an agent that takes each line into the memory.
func (w *world) keeps(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
	entries := []map[string]any{}
	for _, line := range given(w.T, request).Inbox {
		entries = append(entries, map[string]any{"text": line.Text, "section": "Projects", "sources": []string{line.ID}})
	}
	return structured(w.T, map[string]any{"entries": entries, "delete": []any{}, "skip": []any{}}, 0.01)
}

// typed gives the command of a person.
func (w *world) typed(body string) string {
	w.Helper()
	answer, err := w.plugin.OnCommand(w.Context(), &pluginsdk.OnCommandRequest{Name: command, Body: body, Origin: pluginsdk.FromPerson, Thread: pluginsdk.Thread{Kind: pluginsdk.ThreadPrimary}, Message: pluginsdk.Message{Author: "Ann", Role: pluginsdk.RoleUser}})
	if err != nil {
		return "error: " + err.Error()
	}
	return answer.Reply
}

func (w *world) record(n int) *record {
	w.Helper()
	r, err := w.inner.record(w.Context(), recordKey(n))
	if err != nil || r == nil {
		w.Fatalf("record %d: %+v, %v", n, r, err)
	}
	return r
}

// Each entry says when it was said and in which message; the inbox keeps what is not taken.
func TestConsolidation(t *testing.T) {
	w := learns(t, "")
	w.answer = w.keeps
	run := w.learned(ann("remember the pond"), "the garden gets a pond")
	if got := w.typed("log"); !strings.Contains(got, "Nothing was consolidated yet") {
		t.Errorf("log: %s", got)
	}
	if got := w.typed("consolidate"); !strings.Contains(got, "Consolidation 1") || !strings.Contains(w.typed("consolidate"), "at work already") {
		t.Errorf("consolidate: %s", got)
	}
	w.step()
	got, err := w.host.SDK().Runs.Get(t.Context(), &pluginsdk.GetRunRequest{ID: run})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("## Projects\n\n- the garden gets a pond (%s, message %d)\n", time.Now().UTC().Format(dayLayout), got.Run.MessageID)
	if text := w.file(memoryFile); !strings.HasSuffix(text, want) || w.file(inboxFile) != "# Inbox\n\nNew facts.\n" {
		t.Errorf("memory.md is\n%s\nwant at its end\n%s\ninbox.md is\n%s", text, want, w.file(inboxFile))
	}
	turn := w.turns()[0]
	if turn.Purpose != "memory" || turn.CostCapUSD != turnCapUSD || len(turn.DisallowedTools) == 0 || len(turn.JSONSchema) == 0 {
		t.Errorf("%+v", turn)
	}
	if got := w.typed("log"); !strings.Contains(got, "**1**") || !strings.Contains(got, "done; 1 added") {
		t.Errorf("log: %s", got)
	}
	if got := w.typed("diff"); !strings.Contains(got, "+memory - the garden gets a pond (") || !strings.Contains(got, "-inbox  - the garden gets a pond") {
		t.Errorf("diff: %s", got)
	}
	if got := w.checks(); !strings.Contains(got[0].Detail, "$0.01 of") {
		t.Errorf("the turn is not counted: %+v", got)
	}
	// Without lines there is no turn.
	w.typed("consolidate")
	if w.step(); len(w.turns()) != 1 || w.record(2).Phase != phaseNothing {
		t.Errorf("%d turns, %+v", len(w.turns()), w.record(2))
	}
}

// Only lines with a person's word behind them become memory; the others stay in the inbox, and are shown.
func TestWhoseLinesBecomeMemory(t *testing.T) {
	w := learns(t, "")
	w.answer = w.keeps
	w.thread(pluginsdk.Thread{ID: "job", Kind: pluginsdk.ThreadCron, Source: "cron"})
	w.thread(pluginsdk.Thread{ID: "work", Kind: pluginsdk.ThreadTask})
	w.thread(pluginsdk.Thread{ID: "apart", Apart: true})
	add := func(change pluginsdk.WorkspaceChange, line string) {
		change.Path = inboxFile
		w.host.ChangeContextFile(change, w.file(inboxFile)+"- "+line+"\n")
	}
	w.learned(ann("yes"), "good: said in a talk")
	w.learned(pluginsdk.Message{ThreadID: "talk", Scope: pluginsdk.ScopeChat, Source: "web", Content: "x"}, "good: said by somebody without a name")
	add(pluginsdk.WorkspaceChange{Kind: pluginsdk.ChangeByPerson, Author: "Ann", Plugin: "web"}, "good: written on the page")
	add(pluginsdk.WorkspaceChange{Kind: pluginsdk.ChangeOutside}, "good: written with an editor")
	bad := map[string]string{}
	expect := func(line, why string) { bad[line] = why }
	w.learned(pluginsdk.Message{ThreadID: "job", Author: "Ann", Content: "x"}, "bad: of a schedule")
	expect("bad: of a schedule", "does not learn from")
	w.learned(pluginsdk.Message{ThreadID: "work", Author: "Ann", Content: "x"}, "bad: of a task")
	expect("bad: of a task", "does not learn from")
	w.learned(pluginsdk.Message{ThreadID: "apart", Author: "Eve", Content: "x"}, "bad: of a thread apart")
	expect("bad: of a thread apart", "does not learn from")
	w.learned(pluginsdk.Message{ThreadID: "talk", Source: "cron", Plugin: "cron", Content: "x"}, "bad: of a schedule in a talk")
	expect("bad: of a schedule in a talk", "no person's message")
	w.learned(pluginsdk.Message{ThreadID: "talk", Author: "Ann", Origin: pluginsdk.Origin{RunID: "r"}, Content: "x"}, "bad: caused by an agent")
	expect("bad: caused by an agent", "no person's message")
	first := w.host.Messages("talk")[0].ID // a person's
	w.host.AddRun(pluginsdk.Run{ID: "turn", ThreadID: "talk", Kind: pluginsdk.RunTurn, MessageID: first})
	w.host.AddRun(pluginsdk.Run{ID: "caused", ThreadID: "talk", Kind: pluginsdk.RunMessage, MessageID: first, CauseRunID: "other"})
	add(pluginsdk.WorkspaceChange{Kind: pluginsdk.ChangeByAgent, RunID: "caused"}, "bad: of a run that another has caused")
	expect("bad: of a run that another has caused", "no person's message")
	w.host.AddRun(pluginsdk.Run{ID: "optional", ThreadID: "talk", Kind: pluginsdk.RunMessage, MessageID: first, Purpose: "cron"})
	add(pluginsdk.WorkspaceChange{Kind: pluginsdk.ChangeByAgent, RunID: "optional"}, "bad: of a run with options")
	expect("bad: of a run with options", "no person's message")
	add(pluginsdk.WorkspaceChange{Kind: pluginsdk.ChangeByAgent, RunID: "turn"}, "bad: of a plugin's turn")
	expect("bad: of a plugin's turn", "no person's message")
	add(pluginsdk.WorkspaceChange{Kind: pluginsdk.ChangeByAgent}, "bad: of several turns")
	expect("bad: of several turns", "several turns")
	add(pluginsdk.WorkspaceChange{Kind: pluginsdk.ChangeByAgent, RunID: "gone"}, "bad: of a run that is gone")
	expect("bad: of a run that is gone", "not kept any more")
	add(pluginsdk.WorkspaceChange{Kind: pluginsdk.ChangeByPlugin, Plugin: "evil"}, "bad: of another plugin")
	expect("bad: of another plugin", "the plugin evil")
	add(pluginsdk.WorkspaceChange{Kind: pluginsdk.ChangeByPerson, Author: "Eve", Plugin: "web", Origin: pluginsdk.Origin{RunID: "r"}}, "bad: an agent in a person's name")
	expect("bad: an agent in a person's name", "the agent")
	add(pluginsdk.WorkspaceChange{Kind: pluginsdk.ChangeByPerson, Author: "Eve", Plugin: "web", Origin: pluginsdk.Origin{Apart: true}}, "bad: written apart")
	expect("bad: written apart", "thread apart")
	// A line that a person wrote, and that a schedule brings back, is the schedule's.
	again := w.file(inboxFile) + "- bad: brought back\n"
	w.host.ChangeContextFile(pluginsdk.WorkspaceChange{Path: inboxFile, Kind: pluginsdk.ChangeOutside}, again)
	w.host.ChangeContextFile(pluginsdk.WorkspaceChange{Path: inboxFile, Kind: pluginsdk.ChangeOutside}, strings.TrimSuffix(again, "- bad: brought back\n"))
	w.learned(pluginsdk.Message{ThreadID: "job", Content: "x"}, "bad: brought back")
	expect("bad: brought back", "does not learn from")

	// A text that was refused says nothing of who has written what is there.
	w.host.ChangeContextFile(pluginsdk.WorkspaceChange{Path: inboxFile, Kind: pluginsdk.ChangeRefused, Plugin: "evil"}, "something else\n")

	w.typed("consolidate")
	w.step()
	text, inbox, log := w.file(memoryFile), w.file(inboxFile), w.typed("log 1")
	if strings.Count(text, "good: ") != 4 || strings.Contains(text, "bad: ") || strings.Contains(w.turns()[0].Prompt, "bad: ") || strings.Contains(inbox, "good: ") {
		t.Errorf("memory.md is\n%s\ninbox.md is\n%s\n%s", text, inbox, log)
	}
	for line, why := range bad {
		at := strings.Index(log, line)
		if !strings.Contains(inbox, "- "+line+"\n") || at < 0 || !strings.Contains(strings.SplitN(log[at:], "\n", 2)[0], why) {
			t.Errorf("%q is not left in the inbox, or not shown with %q:\n%s", line, why, log)
		}
	}
}

// hostile is an agent that hallucinates, repeats, and deletes all that it can.
func hostile(t testing.TB, random *rand.Rand, request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
	in := given(t, request)
	var answer memory.Answer
	entry := func(text string, replaces []string, sources ...string) {
		answer.Entries = append(answer.Entries, struct {
			Text     string   `json:"text"`
			Section  string   `json:"section"`
			Sources  []string `json:"sources"`
			Replaces []string `json:"replaces"`
		}{text, []string{"People", "Projects", "Nowhere", "## #"}[random.IntN(4)], sources, replaces})
	}
	for _, row := range in.Memory {
		if random.IntN(2) == 0 {
			answer.Delete = append(answer.Delete, memory.Named{ID: row.ID, Why: "because"})
		}
		entry(row.Text, nil, in.Inbox[0].ID) // a repeat
	}
	answer.Delete = append(answer.Delete, memory.Named{ID: "m999"}, memory.Named{ID: "memory.md"})
	for _, row := range in.Inbox {
		switch random.IntN(4) {
		case 0:
			entry("They own 17 castles and a horse called Thunder", nil, row.ID)
		case 1:
			entry(row.Text, nil, "i4711")
		case 2:
			answer.Skip = append(answer.Skip, memory.Named{ID: row.ID, Why: "boring"})
		}
		var replaces []string
		if len(in.Memory) > 0 && random.IntN(3) == 0 {
			replaces = append(replaces, in.Memory[random.IntN(len(in.Memory))].ID)
		}
		entry(row.Text, replaces, row.ID)
		entry(row.Text, nil, row.ID) // once more
	}
	return structured(t, answer, 0.001)
}

// 60 consolidations by a hostile agent leave a memory whose every entry is somebody's words, are each reverted byte for
// byte, and then one after the other back to the beginning.
func TestSixtyHostileConsolidationsAreRevertedExactly(t *testing.T) {
	w := learns(t, "")
	random := rand.New(rand.NewPCG(3, 4))
	w.answer = func(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult { return hostile(t, random, request) }
	said := "Ann is the owner"
	type files struct{ memory, inbox string }
	now := func() files { return files{w.file(memoryFile), w.file(inboxFile)} }
	var before []files
	var added []string // to the inbox before each
	var numbers []int
	n := 0
	const rounds = 60
	for round := range rounds {
		since := ""
		for k := range 1 + random.IntN(4) {
			line := fmt.Sprintf("fact number %d of round %d is about %s", k, round, []string{"boats", "gardens", "painting", "music"}[random.IntN(4)])
			said += "\n" + line
			since += "- " + line + "\n"
			w.learned(ann("remember"), line)
		}
		added = append(added, since)
		was := now()
		before = append(before, was)
		for again := round % 2; again < 2; again++ { // every other one is reverted at once, and done again
			w.typed("consolidate")
			w.step()
			n++
			r := w.record(n)
			if r.Phase != phaseDone || len(r.Plan.Refused) < 3 || now() == was && len(r.Plan.Added) > 0 {
				t.Fatalf("round %d: %s %s, refused %d", round, r.Phase, r.Why, len(r.Plan.Refused))
			}
			items, had := memory.Parse(now().memory).Items(), memory.Parse(was.memory).Items()
			if len(items) < len(had)-max(1, len(had)/4) || len(items) == 0 || memory.Parse(now().memory).Lines() > memory.MaxLines {
				t.Fatalf("round %d: of %d entries %d are left, on %d lines", round, len(had), len(items), memory.Parse(now().memory).Lines())
			}
			for _, item := range items {
				if text, _, _ := strings.Cut(item.Text, " (20"); !strings.Contains(said, text) {
					t.Fatalf("round %d: nobody has said %q", round, item.Text)
				}
			}
			if again == 0 {
				if got := w.typed(fmt.Sprintf("revert %d", n)); !strings.Contains(got, "is reverted") || now() != was {
					t.Fatalf("round %d: %s\n%+v\nwant\n%+v", round, got, now(), was)
				}
			}
		}
		numbers = append(numbers, n)
	}
	// From the last to the first, with the lines that have come since behind what the inbox was.
	since := ""
	for round := rounds - 1; round >= 0; round-- {
		if got := w.typed(fmt.Sprintf("revert %d", numbers[round])); !strings.Contains(got, "is reverted") {
			t.Fatalf("round %d: %s", round, got)
		}
		if want := (files{before[round].memory, before[round].inbox + since}); now() != want {
			t.Fatalf("round %d:\n%+v\nwant\n%+v", round, now(), want)
		}
		since = added[round] + since
	}
	if got := now().memory; got != memoryStart {
		t.Errorf("in the end memory.md is\n%s", got)
	}
	for range 15 { // of those that are over a bounded number is kept
		w.typed("consolidate")
		w.step()
	}
	if keys, err := w.inner.numbers(t.Context()); err != nil || len(keys) != mostRecords || keys[0] != 6 {
		t.Errorf("%d records are kept, from %d on, %v", len(keys), keys[0], err)
	}
}

// What was changed since is not reverted, and it is said what to do.
func TestWhatCannotBeReverted(t *testing.T) {
	w := learns(t, "")
	w.answer = w.keeps
	for n := range 2 {
		w.learned(ann("x"), fmt.Sprintf("fact %d", n))
		w.typed("consolidate")
		w.step()
	}
	text := w.file(memoryFile)
	for body, want := range map[string]string{
		"revert 1": "memory.md has changed since consolidation 1: revert the ones after it first", "revert 9": "no consolidation 9", "revert": "say which", "revert x": "is no number", "burn": `no "burn"`, "diff 9": "no consolidation 9", "log 9": "no consolidation 9",
	} {
		if got := w.typed(body); !strings.Contains(got, want) {
			t.Errorf("/memory %s: %q, want %q", body, got, want)
		}
	}
	inbox := w.file(inboxFile)
	w.host.SetContextFile(inboxFile, "rewritten\n")
	if got := w.typed("revert 2"); !strings.Contains(got, "inbox.md was changed since") || w.file(memoryFile) != text {
		t.Errorf("%s", got)
	}
	w.host.SetContextFile(inboxFile, inbox)
	if got := w.typed("revert 2"); !strings.Contains(got, "is reverted") || !strings.Contains(w.typed("revert 2"), "it is reverted") {
		t.Errorf("%s", got)
	}
}

// Killed at any call, a consolidation is asked for once, loses no line, and is there once; so is its reverting.
func TestKilledAtEveryCallOfAConsolidation(t *testing.T) {
	for _, what := range []string{"", "reverts", "edited"} {
		reverts, edited := what == "reverts", what == "edited"
		for _, carriedOut := range []bool{false, true} {
			for call := int64(2); ; call++ { // the first reads the settings
				w := learns(t, "")
				w.answer = func(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
					result := w.keeps(request)
					result.StructuredOutput = []byte(strings.Replace(string(result.StructuredOutput), `"delete":[]`, `"delete":[{"id":"m2","why":"old"}]`, 1))
					return result
				}
				w.host.SetContextFile(memoryFile, memoryStart+"- the shed\n")
				w.learned(ann("x"), "the garden gets a pond")
				memoryWas, inboxWas := w.file(memoryFile), w.file(inboxFile)
				if reverts {
					w.typed("consolidate")
					w.step()
				}
				w.serve(plugintest.Death{Call: call, CarriedOut: carriedOut})
				if reverts {
					w.typed("revert 1")
				} else {
					w.typed("consolidate")
					_, _ = w.inner.step(t.Context()) // it dies, or does not
				}
				died := w.died()
				if both := w.file(memoryFile) + w.file(inboxFile); !reverts && !strings.Contains(both, "the garden gets a pond") {
					t.Errorf("killed at call %d, the line is in none of the files", call)
				}
				if edited {
					w.host.SetContextFile(memoryFile, w.file(memoryFile)+"\nBy hand.\n")
				}
				w.serve(plugintest.Death{})
				w.step()
				// Asked again by the person, who has had no answer; what was done is not done twice.
				if reverts {
					w.typed("revert 1")
				} else {
					w.typed("consolidate")
				}
				w.step()
				text, inbox := w.file(memoryFile), w.file(inboxFile)
				switch {
				case reverts && (text != memoryWas || inbox != inboxWas):
					t.Errorf("killed at call %d of reverting (carried out: %t): memory.md is\n%s\ninbox.md is\n%s", call, carriedOut, text, inbox)
				case edited && strings.Count(text, "By hand.") != 1:
					t.Errorf("killed at call %d, what somebody has written since is lost: memory.md is\n%s", call, text)
				case !reverts && (len(w.turns()) != 1 || strings.Count(text, "the garden gets a pond") != 1 || strings.Contains(text, "the shed") || strings.Contains(inbox, "pond") ||
					strings.Count(w.file(archiveDir+"memory-2026-11.md"), "- the shed") != 1 || !strings.Contains(w.checks()[0].Detail, "$0.01 of")):
					t.Errorf("killed at call %d (carried out: %t): %d turns, %+v, memory.md is\n%s\ninbox.md is\n%s\nthe archive is\n%s",
						call, carriedOut, len(w.turns()), w.checks(), text, inbox, w.file(archiveDir+"memory-2026-11.md"))
				}
				if !died {
					if call < 10 {
						t.Errorf("it makes only %d calls", call)
					}
					break
				}
			}
		}
	}
}

// What people write into the two files while they are consolidated stays.
func TestEditsDuringAConsolidation(t *testing.T) {
	w := learns(t, "")
	w.answer = func(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		w.host.SetContextFile(memoryFile, w.file(memoryFile)+"\nBy hand.\n")
		return w.keeps(request)
	}
	w.learned(ann("x"), "the garden gets a pond")
	host := w.host.As(w.inner.Manifest())
	busy := &busyWorkspace{Workspace: host.Workspace, w: w, path: inboxFile, times: 3}
	also := &busyWorkspace{Workspace: busy, w: w, path: memoryFile, times: 5}
	host.Workspace = also
	w.inner = &Plugin{Now: w.now}
	w.inner.memory.Store(true)
	w.plugin = plugintest.Serve(t, w.inner, host)
	w.typed("consolidate")
	w.step()
	text, inbox := w.file(memoryFile), w.file(inboxFile)
	if busy.times != 0 || strings.Count(text, "the garden gets a pond") != 1 || !strings.Contains(text, "By hand.") || strings.Contains(inbox, "pond") || strings.Count(inbox, "words in between") != 3 ||
		also.times != 0 || strings.Count(text, "words in between") != 5 {
		t.Errorf("memory.md is\n%s\ninbox.md is\n%s", text, inbox)
	}
}

// What has fallen out of the memory is in the archive, and in a thread in which the search finds it.
func TestWhatFallsOutIsFound(t *testing.T) {
	w := learns(t, "")
	w.host.SetContextFile(memoryFile, memoryStart+"- the shed is green\n")
	w.answer = func(pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		return pluginsdk.InvokeResult{StructuredOutput: []byte(`{"entries": [], "delete": [{"id": "m2", "why": "it was torn down"}], "skip": [{"id": "i1", "why": "known"}]}`)}
	}
	w.learned(ann("x"), "no more shed")
	w.typed("consolidate")
	w.step()
	archive := w.file(archiveDir + "memory-2026-11.md")
	found, err := w.host.SDK().Threads.List(t.Context(), &pluginsdk.ListThreadsRequest{Query: pluginsdk.ThreadQuery{Source: name}})
	if err != nil || len(found.Threads) != 1 || found.Threads[0].Status != pluginsdk.ThreadArchived {
		t.Fatalf("%+v, %v", found, err)
	}
	rows := w.host.Messages(found.Threads[0].ID)
	if len(rows) != 1 || rows[0].Kind != pluginsdk.MessageSummary || !strings.HasSuffix(archive, rows[0].Content) {
		t.Fatalf("%+v", rows)
	}
	for _, want := range []string{"## 2026-11-28, consolidation 1", "- the shed is green\n  - it was torn down", "- no more shed\n  - known"} {
		if !strings.Contains(archive, want) {
			t.Errorf("the archive is\n%s\nwithout %q", archive, want)
		}
	}
	w.host.SetContextFile(memoryFile, memoryStart+strings.Repeat("- x\n", memory.MaxLines))
	w.learned(ann("x"), "another fact")
	w.typed("consolidate")
	w.step()
	if checks := w.checks(); len(checks) != 2 || checks[1].Name != memoryFile || checks[1].State != pluginsdk.CheckWarning {
		t.Errorf("doctor shows %+v", checks)
	}
}

// busy serves the plugin anew, with somebody who writes a file so many times between its being read and written.
func (w *world) busy(path string, times int) *busyWorkspace {
	w.Helper()
	host := w.host.As(w.inner.Manifest())
	busy := &busyWorkspace{Workspace: host.Workspace, w: w, path: path, times: times}
	host.Workspace = busy
	w.inner = &Plugin{Now: w.now}
	w.inner.memory.Store(true)
	w.plugin = plugintest.Serve(w.T, w.inner, host)
	return busy
}

// What people write while a consolidation is reverted stays: in the inbox behind what it was; a memory that they have
// changed is left as it is.
func TestEditsWhileItIsReverted(t *testing.T) {
	for _, path := range []string{inboxFile, memoryFile} {
		w := learns(t, "")
		w.answer = w.keeps
		w.learned(ann("x"), "the garden gets a pond")
		memoryWas, inboxWas := w.file(memoryFile), w.file(inboxFile)
		w.typed("consolidate")
		w.step()
		memoryIs, inboxIs := w.file(memoryFile), w.file(inboxFile)
		w.busy(path, 2)
		got, text, inbox := w.typed("revert 1"), w.file(memoryFile), w.file(inboxFile)
		const words = "\nwords in between 1\n\nwords in between 0\n"
		if path == inboxFile && (!strings.Contains(got, "is reverted") || text != memoryWas || inbox != inboxWas+words) {
			t.Errorf("%s\nmemory.md is\n%s\ninbox.md is\n%s", got, text, inbox)
		}
		if path == memoryFile && (!strings.Contains(got, "is not reverted: memory.md was changed while") || text != memoryIs+words || inbox != inboxIs || w.record(1).Phase != phaseDone) {
			t.Errorf("%s\nmemory.md is\n%s\ninbox.md is\n%s", got, text, inbox)
		}
	}
}

// A line that reverting has put back is still from who wrote it first, and a text that was the memory's once before is not
// taken for what was written now.
func TestTheSameConsolidationAgain(t *testing.T) {
	w := learns(t, "")
	w.answer = w.keeps
	w.thread(pluginsdk.Thread{ID: "job", Kind: pluginsdk.ThreadCron, Source: "cron"})
	w.learned(ann("x"), "the garden gets a pond")
	w.typed("consolidate")
	w.step()
	w.learned(pluginsdk.Message{ThreadID: "job", Content: "x"}, "of a schedule")
	w.typed("revert 1")
	busy := w.busy(memoryFile, 0)
	w.answer = func(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		busy.times = 1 // between what is decided and what is written
		return w.keeps(request)
	}
	w.typed("consolidate")
	w.step()
	text, inbox := w.file(memoryFile), w.file(inboxFile)
	if busy.times != 0 || strings.Count(text, "the garden gets a pond") != 1 || strings.Count(text, "words in between") != 1 || strings.Contains(inbox, "pond") || !strings.Contains(inbox, "of a schedule") {
		t.Errorf("memory.md is\n%s\ninbox.md is\n%s", text, inbox)
	}
}

func TestTheAgentsTool(t *testing.T) {
	w := learns(t, "")
	w.answer = w.keeps
	w.thread(pluginsdk.Thread{ID: "job", Kind: pluginsdk.ThreadCron, Source: "cron"})
	w.thread(pluginsdk.Thread{ID: "apart", Apart: true})
	call := func(thread, task string) pluginsdk.ToolResult {
		t.Helper()
		answer, err := w.plugin.CallTool(t.Context(), &pluginsdk.CallToolRequest{Name: toolConsolidate, ThreadID: thread, TaskID: task})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Result
	}
	w.thread(pluginsdk.Thread{ID: "strangers", Source: "discord"})
	w.thread(pluginsdk.Thread{ID: "apart job", Kind: pluginsdk.ThreadCron, Apart: true})
	for _, where := range [][2]string{{"apart", ""}, {"talk", "task"}, {"strangers", ""}, {"apart job", ""}} {
		if got := call(where[0], where[1]); !got.IsError {
			t.Errorf("in %v: %+v", where, got)
		}
	}
	if _, err := w.plugin.OnCommand(t.Context(), &pluginsdk.OnCommandRequest{Name: command, Origin: pluginsdk.FromAgent}); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
		t.Errorf("an agent types the command: %v", err)
	}
	for _, thread := range []pluginsdk.Thread{{Kind: pluginsdk.ThreadGeneral, Source: "discord"}, {Kind: pluginsdk.ThreadGeneral, Source: "web", Apart: true}, {Kind: pluginsdk.ThreadPrimary, Apart: true}, {Kind: pluginsdk.ThreadTask}} {
		if _, err := w.plugin.OnCommand(t.Context(), &pluginsdk.OnCommandRequest{Name: command, Origin: pluginsdk.FromPerson, Thread: thread}); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
			t.Errorf("somebody types the command in %+v: %v", thread, err)
		}
	}
	w.learned(ann("x"), "the garden gets a pond")
	if got := call("job", ""); got.IsError || !strings.Contains(got.Text, "nothing else to do") {
		t.Errorf("by a schedule: %+v", got)
	}
	w.step()
	if r := w.record(1); r.Phase != phaseDone || r.By != "the agent of the thread job" {
		t.Errorf("%+v", r)
	}
	if _, err := w.plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: []byte(`{"memory": false}`)}); err != nil {
		t.Fatal(err)
	}
	if got := call("job", ""); !got.IsError || !strings.Contains(got.Text, "is off") || !strings.Contains(w.typed("consolidate"), "is off") {
		t.Errorf("turned off: %+v", got)
	}
}

// With the day's budget used up, a failed turn, or the demo agent, nothing is changed, and the log says why.
func TestConsolidationsThatFail(t *testing.T) {
	for name, row := range map[string]struct {
		settings string
		result   pluginsdk.InvokeResult
		why      string
	}{
		"no budget":       {`{"dailyUsd": 0}`, pluginsdk.InvokeResult{}, "budget of $0.00 is used up"},
		"a failed turn":   {``, pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Message: "no luck"}}, "no luck"},
		"the demo agent":  {``, pluginsdk.InvokeResult{Demo: true, StructuredOutput: []byte(`{}`)}, "demo agent"},
		"no object":       {``, pluginsdk.InvokeResult{Text: "I would rather not"}, "I would rather not"},
		"another object":  {``, pluginsdk.InvokeResult{StructuredOutput: []byte(`{"entries": "all"}`)}, "cannot be read"},
		"an empty object": {``, pluginsdk.InvokeResult{StructuredOutput: []byte(`{}`)}, "0 added"},
	} {
		t.Run(name, func(t *testing.T) {
			w := learns(t, row.settings)
			w.answer = func(pluginsdk.StartTurnRequest) pluginsdk.InvokeResult { return row.result }
			w.learned(ann("x"), "the garden gets a pond")
			was := w.file(inboxFile)
			w.typed("consolidate")
			w.step()
			if got := w.typed("log"); !strings.Contains(got, row.why) || w.file(memoryFile) != memoryStart || w.file(inboxFile) != was {
				t.Errorf("%s", got)
			}
		})
	}
}
