package cron

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func (w *world) system() string {
	w.Helper()
	answer, err := w.host.SDK().Workspace.Read(w.Context(), &pluginsdk.ReadWorkspaceRequest{Path: systemPath})
	if err != nil {
		w.Fatal(err)
	}
	return answer.Text
}

func (w *world) writes() (n int) {
	for _, call := range w.host.Calls() {
		if call.Method == "Workspace.Write" {
			n++
		}
	}
	return n
}

// The agent reads which schedules are on, what it wrote itself around that stays, and nothing is written while the
// schedules stay as they are.
func TestTheAgentIsToldOfSchedules(t *testing.T) {
	w := newWorld(t, hour(), nil)
	const own = "# System\n\nmine\n"
	w.host.SetContextFile(systemPath, own)
	w.look()
	if got := w.system(); got != own || w.writes() != 0 {
		t.Errorf("without a schedule it says %q, written %d times", got, w.writes())
	}
	w.save(pluginsdk.CronSpec{Name: "two\nlines", Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "x", Report: pluginsdk.ReportOnNotify})
	w.look()
	want := own + "\n" + blockHead + "\n## Schedules\n\n- two lines: 0 9 * * * (UTC), report on_notify\n" + blockEnd + "\n"
	if got := w.system(); got != want {
		t.Fatalf("it says %q, want %q", got, want)
	}
	w.host.SetContextFile(systemPath, "above\n\n"+strings.TrimPrefix(want, own+"\n")+"below\n")
	for range 3 {
		w.look()
	}
	if w.writes() != 1 {
		t.Errorf("written %d times for one change", w.writes())
	}
	w.restart()
	w.look() // another process finds the same
	if w.writes() != 1 {
		t.Errorf("a start writes what stands there")
	}
	w.host.Fail("Workspace.Write", pluginsdk.Errorf(pluginsdk.CodeConflict, "somebody was faster"))
	w.save(pluginsdk.CronSpec{Name: "tea", Schedule: "0 16 * * *", Timezone: "UTC", Prompt: "x"})
	if _, err := w.plugin.look(t.Context()); err == nil {
		t.Error("a refused write is not tried again")
	}
	w.host.Fail("Workspace.Write", nil)
	w.look()
	if got := w.system(); !strings.HasPrefix(got, "above\n\n"+blockHead) || !strings.HasSuffix(got, blockEnd+"\nbelow\n") || !strings.Contains(got, "- tea: 0 16 * * * (UTC)\n- two lines") {
		t.Errorf("it says %q", got)
	}
	w.command("off tea")
	w.command("off two")
	w.look()
	if got := w.system(); got != "above\n\nbelow\n" {
		t.Errorf("with all off it says %q", got)
	}
}

// What people do to the block costs them none of their words.
func TestABlockThatSomebodyHasBroken(t *testing.T) {
	ours := oursIn("- gone: 0 9 * * * (UTC)", []pluginsdk.CronJob{{Spec: pluginsdk.CronSpec{Name: "tea"}}, {Spec: pluginsdk.CronSpec{Name: "watch"}}})
	for text, want := range map[string]string{
		"":                                     "B\n",
		"UP\n":                                 "UP\n\nB\n",
		"UP\n\n" + blockHead + "\nold\nmine\n": "UP\n\n\nold\nmine\n\nB",
		"UP\n\n" + blockHead + "\n## Schedules\n\n- tea: 0 16 * * * (UTC)\n- watch: on task (UTC), report on_notify\nmine\n":                           "UP\n\n\nmine\n\nB",
		blockHead + "\n## Schedules\n\n- tea: 0 16 * * * (UTC)\n\n- mine\n":                                                                            "\n\n- mine\n\nB",
		blockHead + "\n## Schedules\n\n- tea: 0 16 * * * (UTC)\n- mine: call on Sunday (important)\n- gone: 0 9 * * * (UTC)\n- watch: on task (UTC)\n": "\n- mine: call on Sunday (important)\n\nB",
		blockHead + "\n- mine: call on Sunday (important)":                                                                                             "\n- mine: call on Sunday (important)\n\nB",
		blockHead + "old" + blockEnd + "\nmine":                                                                                                        "B\nmine",
	} {
		got := withBlock(text, "B", ours)
		for _, word := range []string{"UP", "mine"} {
			if strings.Contains(text, word) && !strings.Contains(got, word) {
				t.Errorf("%q becomes %q", text, got)
			}
		}
		if got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// Of a block whose end somebody has taken away, and put a line of their own into, the plugin takes back what it has written,
// also of a schedule that was removed since, and leaves theirs.
func TestALineOfSomebodyElseInABrokenBlock(t *testing.T) {
	w := newWorld(t, hour(), nil)
	for _, name := range []string{"tea", "walk"} {
		w.save(pluginsdk.CronSpec{Name: name, Schedule: "0 16 * * *", Timezone: "UTC", Prompt: "x"})
	}
	w.look()
	const mum = "- Mum: call on Sunday (important)\n"
	w.host.SetContextFile(systemPath, strings.Replace(w.system(), blockEnd, mum, 1))
	w.command("rm walk")
	w.look()
	if got := w.system(); !strings.Contains(got, mum) || strings.Contains(got, "walk") || strings.Count(got, "- tea: ") != 1 || strings.Count(got, blockEnd) != 1 {
		t.Errorf("it says %q", got)
	}
}
