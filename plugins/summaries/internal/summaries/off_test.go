package summaries

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// Off means off: what people say while the plugin, or its setting, is off is never given to a model afterwards, also when they
// say more in the same thread; what they said before is.
func TestWhatIsSaidWhileItIsOff(t *testing.T) {
	for _, how := range []string{"the plugin", "the setting"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t, "")
			w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"})
			w.saysNow("t", "said before", "Yes.")
			if how == "the plugin" {
				w.pass(time.Second)
				w.served(time.Hour)
			} else {
				w.pass(gather)
				w.step()
				w.set(`{"summaries": false}`)
				w.step()
				w.pass(time.Hour)
			}
			w.said(pluginsdk.Message{ThreadID: "t", Author: "Ann", Source: "web", Content: "said while it was off", CreatedAt: w.now().Add(-time.Minute)}, "An answer while it was off.")
			if how == "the setting" {
				w.set(`{"summaries": true}`)
				w.step()
			}
			w.pass(time.Hour)
			w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"}) // active now
			w.saysNow("t", "said afterwards", "Yes.")
			w.pass(time.Hour)
			w.step()
			all := ""
			for _, turn := range w.turns() {
				all += turn.Prompt
			}
			if strings.Contains(all, "while it was off") || !strings.Contains(all, "said before") || !strings.Contains(all, "said afterwards") {
				t.Errorf("the model was given\n%s", all)
			}
		})
	}
}

// A turn that was under way when summaries were turned off, and whose process is gone, is cancelled; its cost counts.
func TestATurnThatIsDroppedCounts(t *testing.T) {
	w := newWorld(t, "")
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"})
	asked := make(chan struct{})
	agent := w.host.Agent
	w.host.Agent = func(ctx context.Context, request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		close(asked)
		<-ctx.Done()
		return pluginsdk.InvokeResult{CostUSD: 0.07}
	}
	w.says("t", "hello", "Yes.")
	w.pass(gather)
	ctx, kill := context.WithCancel(t.Context())
	over := make(chan error)
	go func() {
		_, err := w.inner.step(ctx)
		over <- err
	}()
	<-asked
	kill()
	if err := <-over; err == nil {
		t.Fatal("the step has ended well")
	}
	w.host.Agent = agent
	w.serve(plugintest.Death{})
	w.set(`{"summaries": false}`)
	w.step()
	if got := w.checks(); !strings.Contains(got[0].Detail, "$0.07 of") {
		t.Errorf("%+v", got)
	}
	if w.file(summariesFile) != "" || len(w.host.Turns()) != 1 || w.host.Turns()[0].State != pluginsdk.RunCancelled {
		t.Errorf("turns %+v, and the file is\n%s", w.host.Turns(), w.file(summariesFile))
	}
}

// Summaries that are turned off while the agent is at work write nothing; what the turn has cost counts.
func TestTurnedOffInMidTurn(t *testing.T) {
	w := newWorld(t, "")
	w.thread(pluginsdk.Thread{ID: "t"})
	sums := w.answer
	w.answer = func(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		if err := w.inner.configure([]byte(`{"summaries": false}`)); err != nil {
			t.Error(err)
		}
		return sums(request)
	}
	w.says("t", "hello", "Yes.")
	w.pass(gather)
	w.step()
	if len(w.turns()) != 1 || w.file(summariesFile) != "" {
		t.Errorf("%d turns, and the file is\n%s", len(w.turns()), w.file(summariesFile))
	}
	got, err := w.host.SDK().Threads.Get(t.Context(), &pluginsdk.GetThreadRequest{ID: "t"})
	if err != nil || got.Thread.Name != "" {
		t.Errorf("the thread is called %q, %v", got.Thread.Name, err)
	}
	if checks := w.checks(); !strings.Contains(checks[0].Detail, "$0.01 of") {
		t.Errorf("%+v", checks)
	}
}

// What a schedule has said in people's thread is not told by a summary row; the row says so, so that a new session is shown it.
func TestASummaryHidesNothing(t *testing.T) {
	w := newWorld(t, `{"longThread": 26}`)
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"})
	for range 10 {
		w.says("t", "talk", "Yes.")
	}
	w.said(pluginsdk.Message{ThreadID: "t", Source: "cron", Plugin: "cron", Content: "look at the pond"}, "The pond leaks.")
	for range 10 {
		w.says("t", "talk", "Yes.")
	}
	w.pass(gather)
	w.step()
	var hidden []int64
	var row pluginsdk.Message
	for _, message := range w.host.Messages("t") {
		switch {
		case message.Content == "look at the pond" || message.Content == "The pond leaks.":
			hidden = append(hidden, message.ID)
		case message.Kind == pluginsdk.MessageSummary:
			row = message
		}
	}
	want := `{"leavesOut":[` + numbersOf(hidden) + `]}`
	if string(row.Metadata) != want {
		t.Errorf("the row has %s, want %s: %+v", row.Metadata, want, row)
	}
}
