package cron

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Jitter is less than the time from one fire to the next, and every list of times has it.
func TestJitterIsInEachListOfTimes(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.command("add tea | 0 15 * * * | UTC | Tea.")
	for _, wrong := range []string{"30h", "24h", "1d"} {
		if got := w.command("edit tea | jitter = " + wrong); !strings.Contains(got, "is not less than the 24h0m from one of its times to the next") {
			t.Errorf("%s: %s", wrong, got)
		}
	}
	edited := w.command("edit tea | jitter = 23h")
	w.look()
	want := moment(w.job("tea").Status.NextRun, w.job("tea").Spec)
	if offset := shift(w.job("tea")); offset < time.Minute {
		t.Fatalf("the jitter of this job is %s", offset)
	}
	for _, got := range []string{edited, w.command("next tea 1"), w.command("list")} {
		if !strings.Contains(got, want) {
			t.Errorf("it is due at %s, and is said to be: %s", want, got)
		}
	}
}

// All times of a line are by the clock of the schedule, and one that waits for its turn is not said to be at work.
func TestTheTimesOfAHistory(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.save(pluginsdk.CronSpec{Name: "often", Schedule: "* * * * *", Timezone: "Asia/Kathmandu", Prompt: "x"})
	w.fresh("often")
	w.now = w.now.Add(time.Minute)
	w.look()
	w.fails()
	w.now = w.now.Add(time.Minute)
	w.look()
	if got := w.command("history often"); !strings.Contains(got, "skipped (it has failed once: it is tried again from ") || strings.Count(got, "+0545") != 3 || strings.Contains(got, "Z") {
		t.Error(got)
	}
	w.now = w.now.Add(time.Minute)
	w.look()
	if got := w.command("history often"); !strings.Contains(got, ": waits for its turn, run ") || strings.Contains(got, "running") {
		t.Error(got)
	}
	w.host.BeginRun(w.running()[0].ID)
	for range 3 {
		w.now = w.now.Add(time.Minute)
		w.look()
	}
	if got := w.command("history often"); !strings.Contains(got, ": running, run ") || !strings.Contains(got, "+0545 is not over yet)") {
		t.Error(got)
	}
}

// What came due while the plugin was away is late, however little, and several are made apart from each other.
func TestWhatCameDueWhileItWasAwayIsLate(t *testing.T) {
	w := newWorld(t, hour(), nil)
	for _, name := range []string{"a", "b", "c"} {
		w.save(pluginsdk.CronSpec{Name: name, Schedule: "* * * * *", Timezone: "UTC", Prompt: "x"})
		w.fresh(name)
	}
	w.now = w.now.Add(time.Minute + 3*time.Second)
	w.restart()
	w.look()
	if n := len(w.running()); n != 1 {
		t.Errorf("%d are made at once", n)
	}
	for _, name := range []string{"a", "b", "c"} {
		if fires := w.fires(name); len(fires) != 1 || fires[0].Reason != "nobody was there at its time: it is made 3s late" {
			t.Errorf("%s: %+v", name, fires)
		}
	}
	w.now = w.now.Add(spreadEach)
	w.look()
	w.now = w.now.Add(spreadEach)
	w.look()
	if n := len(w.running()); n != 3 {
		t.Errorf("%d are made", n)
	}
	w.finish()
	w.look()
	w.now = w.now.Add(time.Minute)
	w.look()
	if fires := w.fires("a"); fires[len(fires)-1].Reason != "" {
		t.Errorf("while it was there: %+v", fires)
	}
}

// The thread in which a schedule fires is a field, and a number of times that is none is said to be none.
func TestThreadIDAndNumbersThatAreNone(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web"})
	w.command("add tea | 0 15 * * * | UTC | Tea.")
	for typed, want := range map[string]string{
		"next tea 0":                  `"0" is not how many to show`,
		"history tea abc":             `"abc" is not how many to show`,
		"next coffee 3":               "no schedule has the name",
		"edit tea | thread_id = nope": "thread_id: ",
	} {
		if got := w.command(typed); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, want) {
			t.Errorf("%s: %s", typed, got)
		}
	}
	if got := w.command("edit tea | thread_id = talk"); !strings.Contains(got, "is changed") || w.job("tea").Spec.ThreadID != "talk" || !strings.Contains(w.command("show tea"), "- thread_id: talk") {
		t.Error(got)
	}
}
