package cron

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// A fire is made once, and its failure is told once, wherever the plugin is killed: at each of its calls of the host
// in turn, before the host does what was asked, and after. A digest that comes twice is an annoyance, and one that
// does not come is missed.
func TestAFireHappensOnceWhereverThePluginIsKilled(t *testing.T) {
	for outcome, result := range map[pluginsdk.CronFireState]pluginsdk.InvokeResult{
		pluginsdk.FireSucceeded: {Text: "done"},
		pluginsdk.FireFailed:    {Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: "no luck"}},
	} {
		for cause, happen := range causes {
			t.Run(string(outcome)+", "+cause, func(t *testing.T) {
				died := true
				deaths := 0
				for call := firstCall; died; call++ {
					for _, carriedOut := range []bool{false, true} {
						if died = liveUntil(t, plugintest.Death{Call: call, CarriedOut: carriedOut}, happen, outcome, result); died {
							deaths++
						}
					}
				}
				if deaths < 20 {
					t.Errorf("it was killed only %d times", deaths)
				}
			})
		}
	}
}

// causes make the job digest, which has begun, and have happen what it fires on.
var causes = map[string]func(w *world){
	"by the clock": func(w *world) {
		w.save(pluginsdk.CronSpec{Name: "digest", Schedule: "0 * * * *", Timezone: "UTC", Prompt: "x", Missed: pluginsdk.MissedRun})
		w.fresh("digest")
		w.now = w.now.Add(time.Hour + time.Second)
	},
	"on the end of a task": func(w *world) {
		w.save(pluginsdk.CronSpec{Name: "digest", Trigger: "task", Timezone: "UTC", Prompt: "x"})
		w.fresh("digest")
		w.now = w.now.Add(time.Minute)
		w.end("one", 2*eventSettles, nil)
	},
	"on a file": func(w *world) {
		path := filepath.Join(w.TempDir(), "notes")
		w.onFile("digest", path)
		w.look()
		w.now = w.now.Add(time.Minute)
		if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
			w.Fatal(err)
		}
	},
}

// firstCall is the first call of the host at which the plugin is killed: Start, which asks for the settings, is not tried.
const firstCall int64 = 2

// liveUntil has a job fire and its run end, with a plugin that is killed at a call, and another one after it.
func liveUntil(t *testing.T, at plugintest.Death, happen func(*world), outcome pluginsdk.CronFireState, result pluginsdk.InvokeResult) (died bool) {
	w := newWorld(t, hour(), nil)
	w.host.SetContextFile(systemPath, "# System\n")
	happen(w)
	live := func(at plugintest.Death) bool {
		plugin := &Plugin{Now: func() time.Time { return w.now }}
		served := w.host.ServeUntil(t, plugin, at)
		do := func(what func() error) {
			if err := what(); err != nil && !served.Died() {
				t.Fatalf("killed at %+v: %v", at, err)
			}
		}
		do(func() error { return plugin.seed(t.Context()) })
		do(func() error { return plugin.Step(t.Context()) })
		if !haveRead(plugin, 0) {
			do(func() error { return plugin.Step(t.Context()) })
		}
		for _, run := range w.running() {
			w.host.FinishRun(run.ID, result)
		}
		do(func() error { return plugin.Step(t.Context()) })
		return served.Died()
	}
	if died = live(at); died {
		live(plugintest.Death{Call: 1 << 40})
	}
	fires, told := w.fires("digest"), strings.Join(w.told(w.job("digest")), "\n")
	failures := strings.Count(told, "has failed")
	if len(w.host.Submissions()) != 1 || len(fires) != 1 || fires[0].State != outcome || (failures == 1) != (outcome == pluginsdk.FireFailed) || failures > 1 {
		t.Errorf("killed at %+v: %d submitted, fires %+v, told %q", at, len(w.host.Submissions()), fires, told)
	}
	if jobs, err := w.plugin.jobs(t.Context()); err != nil || len(jobs) != len(seeds)+1 {
		t.Errorf("killed at %+v: %d jobs, %v", at, len(jobs), err)
	}
	return died
}
