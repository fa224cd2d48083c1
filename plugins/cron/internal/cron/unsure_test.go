package cron

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// deafCrons has reports carried out, and their answers lost once armed.
type deafCrons struct {
	pluginsdk.Crons

	armed bool
}

func (d *deafCrons) Report(ctx context.Context, request *pluginsdk.ReportCronRequest) (*pluginsdk.ReportCronResponse, error) {
	answer, err := d.Crons.Report(ctx, request)
	if d.armed && err == nil {
		d.armed = false
		return nil, errors.New("the answer is lost")
	}
	return answer, err
}

// A decision whose answer is lost is stored: an older fire of the job that is made right after must not take it back. Else the
// time is decided about once more, as one that is skipped, and its message goes out all the same.
func TestADecisionWhoseAnswerIsLostStands(t *testing.T) {
	w := newWorld(t, hour(), nil)
	job := w.save(pluginsdk.CronSpec{Name: "often", Schedule: "* * * * *", Timezone: "UTC", Prompt: "x", Overlap: pluginsdk.OverlapQueue})
	w.step(0)
	for _, run := range w.running() {
		w.host.FinishRun(run.ID, pluginsdk.InvokeResult{Text: "done"})
	}
	w.step(0)
	before := len(w.host.Submissions())
	deaf := &deafCrons{Crons: w.plugin.host.Crons}
	w.plugin.host.Crons = deaf
	first := w.now.Truncate(time.Minute).Add(time.Minute)
	w.plugin.spread[fireKey{job.ID, first.UnixMicro()}] = first.Add(time.Minute + time.Second) // it waits its turn
	w.step(first.Sub(w.now))
	deaf.armed, w.now = true, first.Add(time.Minute+time.Second)
	if err := w.plugin.Step(w.Context()); err == nil {
		t.Fatal("the answer was not lost")
	}
	if decided := noteOf(w.job("often")).Decided; !decided.Equal(first.Add(time.Minute)) {
		t.Errorf("it is decided up to %s, want %s", decided, first.Add(time.Minute))
	}
	for range 3 {
		w.step(time.Second)
	}
	var fires []pluginsdk.CronFire
	for _, fire := range w.fires("often") {
		if !fire.Due.Before(first) {
			fires = append(fires, fire)
		}
	}
	if n := len(w.host.Submissions()) - before; n != 2 || len(fires) != 2 {
		t.Fatalf("%d messages of %+v", n, fires)
	}
	for _, fire := range fires {
		if fire.State != pluginsdk.FireRunning || fire.RunID == "" {
			t.Errorf("the fire of %s is %s: %s", fire.Due, fire.State, fire.Reason)
		}
	}
}
