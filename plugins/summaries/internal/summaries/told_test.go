package summaries

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/memory"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// Whether the demo agent answers is what the newest run says that an agent has answered, whatever was typed since, and in whichever
// thread that is.
func TestACommandIsNoAnswerOfAnAgent(t *testing.T) {
	const demo, agent = "demo", "agent"
	for name, row := range map[string]struct {
		answered []string // by whom, oldest first
		asked    bool
	}{
		"the demo agent":                {[]string{demo}, false},
		"an agent":                      {[]string{agent}, true},
		"an agent after the demo agent": {[]string{demo, agent}, true},
		"the demo agent after an agent": {[]string{agent, demo}, false},
		"nobody":                        {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			w.thread(pluginsdk.Thread{ID: "typed in", Name: "Typed in"})
			for n, who := range row.answered {
				w.thread(pluginsdk.Thread{ID: who, Name: who, LastActivity: w.now().Add(-time.Hour)})
				w.host.AddRun(pluginsdk.Run{ID: fmt.Sprintf("run-%d", n), ThreadID: who, Kind: pluginsdk.RunMessage, State: pluginsdk.RunSucceeded, Result: &pluginsdk.InvokeResult{Demo: who == demo}})
			}
			for n := range 150 {
				w.host.AddRun(pluginsdk.Run{ID: fmt.Sprintf("command-%d", n), ThreadID: "typed in", Kind: pluginsdk.RunCommand, State: pluginsdk.RunSucceeded, Result: &pluginsdk.InvokeResult{Text: "done"}})
			}
			w.host.AddMessage(pluginsdk.Message{ThreadID: "typed in", Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Author: "Ann", Content: "/budget"})
			w.told("typed in")
			w.pass(gather)
			if w.step(); (len(w.turns()) > 0) != row.asked {
				t.Errorf("%d turns; %+v", len(w.turns()), w.checks())
			}
		})
	}
}

// The log counts all lines that are left in the inbox, and says of each why: also of those that were refused, and those that the
// agent has said nothing of.
func TestTheLogCountsWhatIsLeft(t *testing.T) {
	w := learns(t, "")
	w.answer = func(pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		return pluginsdk.InvokeResult{StructuredOutput: []byte(`{"entries": [{"text": "the garden gets a pond", "section": "Projects", "sources": ["i1"]}, {"text": "they own 17 castles", "section": "Projects", "sources": ["i2"]}], "delete": [], "skip": []}`)}
	}
	w.learned(ann("x"), "the garden gets a pond")
	w.learned(ann("x"), "they own castles")
	w.learned(ann("x"), "Carl paints walls")
	w.noted(w.said(w.by("Ann", "read it"), "Read."), "an evil page")
	w.typed("consolidate")
	w.step()
	log := w.typed("log")
	for _, want := range []string{"1 added, 0 removed, 0 lines left aside, 1 refused, 3 left in the inbox", "left in the inbox: - they own castles (nothing was made of it)", "left in the inbox: - Carl paints walls (nothing was made of it)", "left in the inbox: - an evil page (nothing that"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	w.typed("revert 1")
	if log = w.typed("log"); !strings.Contains(log, "4 left in the inbox") {
		t.Errorf("reverted:\n%s", log)
	}
}

// While a consolidation is at work, it is not said that it does not exist.
func TestTheDiffOfWhatIsAtWork(t *testing.T) {
	w := learns(t, "")
	w.learned(ann("x"), "the garden gets a pond")
	w.typed("consolidate")
	if got := w.typed("diff 1"); !strings.Contains(got, "Consolidation 1 is at work (asked): it has changed nothing yet") {
		t.Errorf("asked: %s", got)
	}
	during := ""
	w.answer = func(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		during = w.typed("diff 1")
		return w.keeps(request)
	}
	w.step()
	if !strings.Contains(during, "is at work (turning): it has changed nothing yet") {
		t.Errorf("at work: %s", during)
	}
	if got := w.typed("diff 1"); !strings.Contains(got, "+memory - the garden gets a pond") || !strings.Contains(w.typed("diff 2"), "there is no consolidation 2") {
		t.Errorf("done: %s", got)
	}
}

// A memory that people have made too long is told in doctor, also before the first consolidation, until it is shorter.
func TestDoctorNamesALongMemory(t *testing.T) {
	w := learns(t, "")
	long := func() (detail string) {
		for _, check := range w.checks() {
			if check.Name == memoryFile && check.State == pluginsdk.CheckWarning {
				detail += check.Detail
			}
		}
		return detail
	}
	if got := long(); got != "" {
		t.Errorf("a short one: %s", got)
	}
	w.host.SetContextFile(memoryFile, memoryStart+strings.Repeat("- x\n", memory.MaxLines))
	if got := long(); !strings.Contains(got, "it has 111 lines") {
		t.Errorf("written by hand: %q", got)
	}
	w.serve(plugintest.Death{})
	w.step()
	if got := long(); got == "" {
		t.Error("forgotten by the next process")
	}
	w.host.SetContextFile(memoryFile, memoryStart+strings.Repeat("x", memory.MaxBytes))
	if got := long(); got == "" {
		t.Error("of few lines, and too many bytes, it is not named")
	}
	w.host.SetContextFile(memoryFile, memoryStart)
	if got := long(); got != "" {
		t.Errorf("shortened: %s", got)
	}
	w.host.Fail("Workspace.Read", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the disk is away"))
	if got := long(); !strings.Contains(got, "the disk is away") || len(w.checks()) != 2 {
		t.Errorf("unreadable: %+v", w.checks())
	}
	w.host.Fail("Workspace.Read", nil)
	w.host.SetContextFile(memoryFile, memoryStart+strings.Repeat("- x\n", memory.MaxLines))
	w.set(`{"memory": false}`)
	calls := len(w.host.Calls())
	if got := long(); got != "" || len(w.host.Calls()) != calls {
		t.Errorf("turned off it looks: %s", got)
	}
}
