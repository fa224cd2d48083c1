package summaries

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/memory"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

const archived = archiveDir + "memory-2026-11.md"

// copies is what the threads of the archive say, which the search finds.
func (w *world) copies() (all string) {
	w.Helper()
	found, err := w.host.SDK().Threads.List(w.Context(), &pluginsdk.ListThreadsRequest{Query: pluginsdk.ThreadQuery{Source: name}})
	if err != nil {
		w.Fatal(err)
	}
	for _, thread := range found.Threads {
		for _, row := range w.host.Messages(thread.ID) {
			all += row.Content
		}
	}
	return all
}

// drops is an agent that removes the entry m2, keeps the first line of the inbox and skips the second.
func (*world) drops(pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
	return pluginsdk.InvokeResult{StructuredOutput: []byte(`{"entries": [], "delete": [{"id": "m2", "why": "it was torn down"}], "skip": [{"id": "i2", "why": "only today"}]}`)}
}

// What a consolidation that was reverted had put away is in the memory and the inbox again, and neither in the archive nor in what the
// search finds; what others have put away stays.
func TestRevertingTakesBackWhatWasPutAway(t *testing.T) {
	w := learns(t, "")
	w.host.SetContextFile(memoryFile, memoryStart+"- the shed is green\n- the barn is red\n")
	w.answer = w.drops
	w.learned(ann("x"), "the garden gets a pond")
	w.learned(ann("x"), "it rains")
	w.typed("consolidate")
	w.step()
	before, beforeCopies := w.file(archived)+"\nBy hand.\n", w.copies()
	w.host.SetContextFile(archived, before)
	w.learned(ann("x"), "it snows")
	w.pass(longestVain * 24 * 60 * 60 * 1e9)
	w.typed("consolidate")
	w.step()
	later := archiveDir + "memory-2026-12.md"
	if !strings.Contains(w.file(later), "- the barn is red") || !strings.Contains(w.copies(), "- the barn is red") || !strings.Contains(w.copies(), "- it snows") {
		t.Fatalf("the archive is\n%s\nfound is\n%s", w.file(later), w.copies())
	}
	if got := w.typed("revert 2"); !strings.Contains(got, "is reverted") {
		t.Fatal(got)
	}
	if text := w.file(later); strings.Contains(text, "barn") || strings.Contains(text, "snows") || w.file(archived) != before || w.copies() != beforeCopies {
		t.Errorf("the archives are\n%s\n%s\nfound is\n%s", w.file(archived), text, w.copies())
	}
	if got := w.typed("revert 2"); !strings.Contains(got, "it is reverted already, 2026-12-30 12:00 by Ann") {
		t.Errorf("once more: %s", got)
	}
	if got := w.typed("revert 1"); !strings.Contains(got, "is reverted") || w.copies() != "" || strings.Contains(w.file(archived), "shed") || !strings.HasSuffix(w.file(archived), "\nBy hand.\n") {
		t.Errorf("%s\nthe archive is\n%s\nfound is\n%s", got, w.file(archived), w.copies())
	}
}

// A line that a reverted consolidation gave in vain does not rest because of it; that others gave it in vain still counts.
func TestLinesDoNotRestBecauseOfWhatIsReverted(t *testing.T) {
	w := learns(t, "")
	w.answer = w.drops
	w.learned(ann("x"), "the garden gets a pond")
	w.learned(ann("x"), "it rains")
	w.typed("consolidate")
	w.step()
	was := len(w.turns())
	w.typed("consolidate")
	if w.step(); len(w.turns()) != was || w.record(2).Phase != phaseNothing {
		t.Fatalf("the line does not rest: %s", w.typed("log"))
	}
	if got := w.typed("revert 1"); !strings.Contains(got, "is reverted") {
		t.Fatal(got)
	}
	w.typed("consolidate")
	w.step()
	if all := w.turns(); len(all) != was+1 || len(given(t, all[was]).Inbox) != 2 {
		t.Fatalf("%d turns: %s", len(all), w.typed("log"))
	}
	known, err := w.inner.vainLines(t.Context())
	if err != nil || len(known) != 1 || known[versionOf("- the garden gets a pond")].Times != 1 {
		t.Errorf("%+v, %v", known, err)
	}
}

// Killed at any call of reverting, what was put away is taken back, and no line rests for it, nor is anything done that was not to be.
func TestKilledWhileItIsTakenBack(t *testing.T) {
	for _, carriedOut := range []bool{false, true} {
		for call := int64(2); ; call++ { // the first reads the settings
			w := learns(t, "")
			w.host.SetContextFile(memoryFile, memoryStart+"- the shed is green\n- the barn is red\n")
			w.answer = w.drops
			w.learned(ann("x"), "the garden gets a pond")
			w.learned(ann("x"), "it rains")
			memoryWas, inboxWas := w.file(memoryFile), w.file(inboxFile)
			w.typed("consolidate")
			w.step()
			w.serve(plugintest.Death{Call: call, CarriedOut: carriedOut})
			w.typed("revert 1")
			died := w.died()
			w.serve(plugintest.Death{})
			w.step()
			w.typed("revert 1")
			w.step()
			known, err := w.inner.vainLines(t.Context())
			if w.file(memoryFile) != memoryWas || w.file(inboxFile) != inboxWas || strings.Contains(w.file(archived), "- ") || w.copies() != "" || err != nil || len(known) != 0 || w.record(1).Phase != phaseReverted {
				t.Errorf("killed at call %d (carried out: %t): %s\nmemory.md is\n%s\ninbox.md is\n%s\nthe archive is\n%s\nfound is\n%s\n%+v, %v",
					call, carriedOut, w.record(1).Phase, w.file(memoryFile), w.file(inboxFile), w.file(archived), w.copies(), known, err)
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

// Killed at any call of a consolidation, a line is counted once as given in vain.
func TestAKilledConsolidationCountsAVainLineOnce(t *testing.T) {
	for call := int64(2); ; call++ {
		w := learns(t, "")
		w.answer = w.drops
		w.learned(ann("x"), "the garden gets a pond")
		w.learned(ann("x"), "it rains")
		w.serve(plugintest.Death{Call: call, CarriedOut: true})
		w.typed("consolidate")
		_, _ = w.inner.step(t.Context()) // it dies, or does not
		died := w.died()
		w.serve(plugintest.Death{})
		w.step()
		w.typed("consolidate")
		w.step()
		if known, err := w.inner.vainLines(t.Context()); err != nil || known[versionOf("- the garden gets a pond")].Times != 1 {
			t.Errorf("killed at call %d: %+v, %v", call, known, err)
		}
		if !died {
			break
		}
	}
}

// Where somebody changes memory.md in between, the archive has what was done in the end, and nothing when nothing was.
func TestTheArchiveHasWhatWasDone(t *testing.T) {
	for _, times := range []int{0, 1, 10 * mostRounds} {
		w := learns(t, "")
		w.host.SetContextFile(memoryFile, memoryStart+"- the shed is green\n")
		w.answer = w.drops
		w.learned(ann("x"), "the garden gets a pond")
		w.learned(ann("x"), "it rains")
		busy := w.busy(memoryFile, 0)
		w.answer = func(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
			busy.times = times
			return w.drops(request)
		}
		w.typed("consolidate")
		w.step()
		kept := strings.Contains(w.file(memoryFile), "the shed is green")
		if want := times > mostRounds; kept != want {
			t.Fatalf("changed %d times: %s", times, w.typed("log"))
		}
		n := strings.Count(w.file(archived), "- the shed is green")
		if found := strings.Count(w.copies(), "- the shed is green"); kept && n+found != 0 || !kept && (n != 1 || found != 1) {
			t.Errorf("changed %d times, the archive is\n%s\nfound is\n%s", times, w.file(archived), w.copies())
		}
	}
}

func TestSectionsAreTakenOutWhole(t *testing.T) {
	r, other := &record{N: 1, At: noon}, &record{N: 11, At: noon}
	text := fmt.Sprintf("# What has left\n\n%s\n- a\n  # b\n  - why\n\n%s\n- c\n\n%s\n- d\n", r.sectionOf(), other.sectionOf(), r.sectionOf())
	if got, want := withoutSection(text, r.sectionOf()), fmt.Sprintf("# What has left\n\n%s\n- c\n\n", other.sectionOf()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := withoutSection("By hand.\n", r.sectionOf()); got != "By hand.\n" || memory.Parse(got).String() != got {
		t.Errorf("%q", got)
	}
}
