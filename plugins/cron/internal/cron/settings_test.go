package cron

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// set gives the plugin settings, as an operator does while it runs.
func (w *world) set(settings string) {
	w.Helper()
	if _, err := w.plugin.OnSettingsChange(w.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(settings)}); err != nil {
		w.Fatal(err)
	}
}

// An operator says after how many failures a job is turned off, and people are told that number.
func TestAJobIsTurnedOffAfterAsManyFailuresAsSet(t *testing.T) {
	for n, words := range map[int]struct{ told, doctor string }{
		1: {"has failed once. The last", "it was turned off after 1 failure; last"},
		3: {"has failed 3 times in a row. The last", "it was turned off after 3 failures in a row; last"},
		7: {"has failed 7 times in a row. The last", "it was turned off after 7 failures in a row; last"},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t, hour(), nil)
			w.host.SetSettings(json.RawMessage(fmt.Sprintf(`{"pauseAfter": %d}`, n)))
			w.restart()
			job := w.hourly(pluginsdk.CronSpec{})
			for range 10 {
				w.ends(failure)
			}
			w.look()
			if job = w.job("watch"); job.Enabled || job.Status.Failures != n {
				t.Errorf("after %d fires: %+v", len(w.host.Submissions()), job)
			}
			told := w.told(job)
			if len(told) != min(n, 2) || !strings.Contains(told[len(told)-1], words.told) {
				t.Errorf("told %q", told)
			}
			if n > 1 && !strings.Contains(told[0], fmt.Sprintf("is turned off after %d failures in a row", n)) {
				t.Errorf("at the first failure %q", told[0])
			}
			if said := w.doctor(); !strings.Contains(said, words.doctor) {
				t.Errorf("doctor says %q", said)
			}
		})
	}
}

// What was turned off stays so, whatever the setting becomes. A job that has failed as often as a lower setting says is turned
// off at once.
func TestTheNumberOfFailuresIsChanged(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.hourly(pluginsdk.CronSpec{})
	for range 3 {
		w.ends(failure)
	}
	w.set(`{"pauseAfter": 4}`)
	if w.look(); !w.job("watch").Enabled {
		t.Fatal("it is off after 3 of 4 failures")
	}
	w.set(`{"pauseAfter": 2}`)
	w.look()
	if w.look(); w.job("watch").Enabled || !strings.Contains(w.doctor(), "after 3 failures in a row") {
		t.Errorf("lowered: %+v, doctor says %q", w.job("watch"), w.doctor())
	}
	w.set(`{"pauseAfter": 50}`)
	if w.look(); w.job("watch").Enabled || !strings.Contains(w.doctor(), "after 3 failures in a row") {
		t.Errorf("raised: %+v, doctor says %q", w.job("watch"), w.doctor())
	}
	for _, wrong := range []string{`{"pauseAfter": 0}`, `{"pauseAfter": 101}`, `{"pauseAfter": "often"}`, `{"pause": 5}`} {
		if _, err := w.plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(wrong)}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// Who turns a job off that fails was told of it: its failures count no more, whatever the setting becomes. One that is at work then
// may fail yet.
func TestAJobThatAPersonTurnsOffIsNotTurnedOffAfterFailures(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.hourly(pluginsdk.CronSpec{})
	w.ends(failure)
	w.ends(failure)
	w.now = w.now.Add(time.Hour)
	w.look()
	w.command("off watch")
	w.look()
	if n := w.job("watch").Status.Failures; n != 2 {
		t.Errorf("%d failures while a run is at work", n)
	}
	for _, run := range w.running() {
		w.host.FinishRun(run.ID, failure)
	}
	w.look()
	w.set(`{"pauseAfter": 1}`)
	w.look()
	if job := w.job("watch"); job.Enabled || job.Status.Failures != 0 || w.doctor() != "" || len(w.told(job)) != 1 {
		t.Errorf("%+v, doctor says %q, told %q", job, w.doctor(), w.told(job))
	}
}

// A job that was due once has nothing to be turned off.
func TestAJobThatWasDueOnceIsNotTurnedOff(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.set(`{"pauseAfter": 1}`)
	w.save(pluginsdk.CronSpec{Name: "once", FireAt: hour().Add(time.Hour), Timezone: "UTC", Prompt: "x"})
	w.fresh("once")
	w.now = hour().Add(time.Hour + time.Second)
	w.look()
	for _, run := range w.running() {
		w.host.FinishRun(run.ID, failure)
	}
	w.look()
	w.look()
	job := w.job("once")
	if told := w.told(job); !job.Enabled || len(told) != 1 || !strings.Contains(told[0], "To try it again") {
		t.Errorf("%+v, told %q", job, told)
	}
}
