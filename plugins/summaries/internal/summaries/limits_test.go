package summaries

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/memory"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// Two files of nearly 100 KiB each are consolidated and reverted to the byte; two that cannot be kept end the consolidation, with
// the reason and nothing lost, and the next one is not held up.
func TestLongFiles(t *testing.T) {
	for name, row := range map[string]struct {
		filler string
		phase  phase
	}{
		"of words": {strings.Repeat("many words ", 30), phaseDone}, "of what JSON makes longer": {strings.Repeat("\"\x01\\", 110), phaseFailed},
	} {
		t.Run(name, func(t *testing.T) {
			w := learns(t, "")
			w.answer = w.keeps
			line := "- " + row.filler + "\n"
			memoryWas := memoryStart + strings.Repeat(line, (mostText-2000)/len(line))
			w.host.SetContextFile(memoryFile, memoryWas)
			inbox := "# Inbox\n"
			for len(inbox) < mostText-2000 {
				inbox += "- " + string(rune('a'+len(inbox)%26)) + strings.Repeat("x", len(inbox)%50) + line
			}
			w.host.ChangeContextFile(pluginsdk.WorkspaceChange{Path: inboxFile, Kind: pluginsdk.ChangeOutside}, inbox)
			w.typed("consolidate")
			w.step()
			if r := w.record(1); r.Phase != row.phase {
				t.Fatalf("it is %s: %s", r.Phase, r.Why)
			}
			if row.phase == phaseDone {
				w.typed("revert 1")
			}
			if w.file(memoryFile) != memoryWas || w.file(inboxFile) != inbox {
				t.Error("a file is not what it was")
			}
			w.typed("consolidate")
			w.step()
			if r := w.record(2); r.Phase != row.phase && r.Phase != phaseNothing {
				t.Errorf("the next one is %s: %s", r.Phase, r.Why)
			}
		})
	}
}

// However many ask at the same moment, and whatever ends in between, no consolidation takes another one's number.
func TestNumbersAreTakenOnce(t *testing.T) {
	w := learns(t, "")
	var mu sync.Mutex
	taken := make(map[int]bool)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 3 {
				n, err := w.inner.next(t.Context())
				if pluginsdk.CodeOf(err) == pluginsdk.CodeUnavailable {
					continue // they were told to ask again
				}
				mu.Lock()
				if err != nil || taken[n] {
					t.Errorf("number %d is taken twice, or %v", n, err)
				}
				taken[n] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

// A line that the agent makes nothing of is not paid for each night: it rests longer each time. One that somebody edits is given
// at once.
func TestALineGivenInVainRests(t *testing.T) {
	w := learns(t, `{"summaries": false}`)
	w.answer = func(pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		return structured(t, map[string]any{"entries": []any{}, "delete": []any{}, "skip": []any{}}, 0.01)
	}
	w.learned(ann("x"), "the garden gets a pond")
	for range 32 {
		w.typed("consolidate")
		w.step()
		w.pass(24 * time.Hour)
	}
	if turns := len(w.turns()); turns != 6 { // after 0, 1, 3, 7, 15 and 31 days
		t.Errorf("%d turns in 32 nights", turns)
	}
	w.typed("consolidate")
	w.step()
	if got := w.typed("log"); !strings.Contains(got, "nothing was made of it") {
		t.Errorf("log: %s", got)
	}
	turns := len(w.turns())
	w.host.ChangeContextFile(pluginsdk.WorkspaceChange{Path: inboxFile, Kind: pluginsdk.ChangeOutside}, "# Inbox\n\n- the garden gets a pond in April\n")
	w.typed("consolidate")
	if w.step(); len(w.turns()) != turns+1 {
		t.Error("a line that was edited is not given")
	}
}

// stuckWorkspace lets one file be written by nobody.
type stuckWorkspace struct {
	pluginsdk.Workspace

	path string
}

func (s *stuckWorkspace) Write(ctx context.Context, request *pluginsdk.WriteWorkspaceRequest) (*pluginsdk.WriteWorkspaceResponse, error) {
	if request.Path == s.path {
		return nil, pluginsdk.Errorf(pluginsdk.CodeConflict, "version: it is of another one")
	}
	return s.Workspace.Write(ctx, request)
}

// A file that cannot be written ends the consolidation with the reason; nothing is lost, and the next one is not held up.
func TestAFileThatCannotBeWritten(t *testing.T) {
	for _, path := range []string{memoryFile, inboxFile} {
		w := learns(t, "")
		w.answer = w.keeps
		w.learned(ann("x"), "the garden gets a pond")
		memoryWas, inboxWas := w.file(memoryFile), w.file(inboxFile)
		host := w.host.As(w.inner.Manifest())
		host.Workspace = &stuckWorkspace{Workspace: host.Workspace, path: path}
		w.inner = &Plugin{Now: w.now}
		w.inner.memory.Store(true)
		w.plugin = plugintest.Serve(w.T, w.inner, host)
		w.typed("consolidate")
		w.step()
		r := w.record(1)
		if !strings.Contains(r.Why, strings.TrimPrefix(path, "context/")+" could not be written") || w.file(inboxFile) != inboxWas || path == memoryFile && (r.Phase != phaseFailed || w.file(memoryFile) != memoryWas) {
			t.Errorf("%s: %s, %s", path, r.Phase, r.Why)
		}
		if got := w.typed("consolidate"); !strings.Contains(got, "Consolidation 2") {
			t.Errorf("the next: %s", got)
		}
	}
}

// Programs are told of consolidations as an object, with each entry's message; agents in words, and only those who may know.
func TestTheLogAsATool(t *testing.T) {
	w := learns(t, "")
	w.answer = w.keeps
	w.thread(pluginsdk.Thread{ID: "strangers", Source: "discord"})
	run := w.learned(ann("remember the pond"), "the garden gets a pond")
	w.typed("consolidate")
	w.step()
	call := func(thread, task, input string) pluginsdk.ToolResult {
		t.Helper()
		answer, err := w.plugin.CallTool(t.Context(), &pluginsdk.CallToolRequest{Name: toolLog, ThreadID: thread, TaskID: task, Input: json.RawMessage(input)})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Result
	}
	var got struct {
		On             bool
		Consolidations []told
	}
	if err := json.Unmarshal(call("", "", `{"number": 1, "texts": true}`).Structured, &got); err != nil {
		t.Fatal(err)
	}
	answered, err := w.host.SDK().Runs.Get(t.Context(), &pluginsdk.GetRunRequest{ID: run})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Consolidations) != 1 || !got.On {
		t.Fatalf("%+v", got)
	}
	one := got.Consolidations[0]
	if one.State != phaseDone || one.Kept != 1 || one.Added != 1 || one.CostUSD != 0.01 || len(one.Entries) != 1 || one.Entries[0].Message != answered.Run.MessageID || one.Entries[0].Thread != "talk" ||
		len(one.Files) != 2 || one.Files[0].Before != memoryStart || one.Files[0].After != w.file(memoryFile) || one.Files[1].After != w.file(inboxFile) {
		t.Errorf("%+v", one)
	}
	if got := call("", "", `{"number": 9}`); !got.IsError || !strings.Contains(got.Text, "no consolidation 9") {
		t.Errorf("%+v", got)
	}
	if got := call("talk", "", `{"texts": true}`); got.IsError || len(got.Structured) > 0 || !strings.Contains(got.Text, "**1**") {
		t.Errorf("an agent: %+v", got)
	}
	for _, where := range [][2]string{{"strangers", ""}, {"talk", "task"}} {
		if got := call(where[0], where[1], `{}`); !got.IsError {
			t.Errorf("in %v: %+v", where, got)
		}
	}
}

// Lines that one consolidation has no room for are counted and shown, and the next one takes them.
func TestMoreLinesThanOneConsolidationTakes(t *testing.T) {
	w := newWorld(t, "")
	text := ""
	for n := range mostLines + 2 {
		text += fmt.Sprintf("- line %d\n", n)
	}
	w.host.SetContextFile(inboxFile, text)
	inbox, err := w.inner.read(t.Context(), inboxFile)
	if err != nil {
		t.Fatal(err)
	}
	kept, leftOut, err := w.inner.lines(t.Context(), *w.inner.config.Load(), inbox)
	if err != nil || len(kept) != mostLines || len(leftOut) != 2 || leftOut[1].What != fmt.Sprintf("- line %d", mostLines+1) || !strings.Contains(leftOut[1].Why, "the next one") {
		t.Errorf("%d lines are given, left out %+v, %v", len(kept), leftOut, err)
	}
}

// A record that is older than the noting of origins tells them from its entries.
func TestAnOldRecordTellsItsOrigins(t *testing.T) {
	r, one := new(record), told{}
	r.Plan.Added = []memory.Note{{What: "- a pond (2026-10-28, message 9)"}, {What: "- a heron (2026-10-29, edit 4)"}, {What: "- fish (many)"}}
	r.tellAll(&one, false)
	if e := one.Entries; len(e) != 3 || e[0].Message != 9 || e[0].Day != "2026-10-28" || e[1].Edit != 4 || e[2].Message != 0 || e[2].Day != "" {
		t.Errorf("%+v", one.Entries)
	}
}

// A command to this plugin, which a button of the dashboard gives too, is no word of the conversation.
func TestItsOwnCommandIsNotSummarised(t *testing.T) {
	w := newWorld(t, "")
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"})
	w.saysNow("t", "/memory consolidate", "Consolidation 1 has begun.")
	w.saysNow("t", "about the pond", "Yes.")
	w.pass(gather)
	w.step()
	if turns := w.turns(); len(turns) != 1 || strings.Contains(turns[0].Prompt, "onsolidat") || !strings.Contains(turns[0].Prompt, "about the pond") {
		t.Errorf("turns %+v", turns)
	}
}
