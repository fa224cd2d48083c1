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

// Turned off, it reads and asks nothing, and what is said meanwhile is summarised never.
func TestOffMeansOff(t *testing.T) {
	w := newWorld(t, `{"summaries": false}`)
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"})
	calls := len(w.host.Calls())
	for range 3 {
		w.says("t", "while it is off", "Hello.")
		w.pass(time.Hour)
		if wait := w.step(); wait != 0 {
			t.Errorf("it waits %s", wait)
		}
	}
	for _, call := range w.host.Calls()[calls:] {
		if call.Method != "State.Get" {
			t.Errorf("it calls %s", call.Method)
		}
	}
	if rules, _ := w.host.Listening(); len(rules) != 1 {
		t.Errorf("turned off it is told %+v", rules)
	}
	if len(w.turns()) != 0 || w.file(summariesFile) != "" || !strings.HasPrefix(w.checks()[0].Detail, "off") {
		t.Errorf("%d turns; %+v", len(w.turns()), w.checks())
	}
}

// Turned off while a turn is at work, its answer is not written.
func TestTurnedOffMeanwhile(t *testing.T) {
	w := newWorld(t, "")
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"})
	w.says("t", "hello", "Hello.")
	w.pass(gather)
	w.host.Fail("Agent.Wait", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the daemon ends"))
	if _, err := w.inner.step(t.Context()); err == nil {
		t.Fatal("nothing has failed")
	}
	w.host.Fail("Agent.Wait", nil)
	w.host.SetSettings([]byte(`{"summaries": false}`))
	w.serve(plugintest.Death{})
	w.step()
	if w.file(summariesFile) != "" {
		t.Errorf("the file is\n%s", w.file(summariesFile))
	}
	if _, err := w.plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Hour)
	if w.step(); w.file(summariesFile) != "" {
		t.Errorf("turned on again, the file is\n%s", w.file(summariesFile))
	}
}

// An installation that had conversations before the plugin came goes without until somebody turns it on, and begins with
// what is said then.
func TestAnInstallationWithConversations(t *testing.T) {
	w := &world{T: t, host: plugintest.NewHost(), clock: noon}
	w.answer = w.sums
	w.host.Agent = func(_ context.Context, request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		w.asked = append(w.asked, request)
		return w.sums(request)
	}
	w.thread(pluginsdk.Thread{ID: "old", Name: "Old", LastActivity: noon.Add(-time.Hour)})
	w.said(pluginsdk.Message{ThreadID: "old", Author: "Ann", Content: "long ago", CreatedAt: noon.Add(-time.Hour)}, "Yes, long ago.")
	w.serve(plugintest.Death{})
	w.step()
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"})
	w.says("t", "hello", "Hello.")
	w.pass(time.Hour)
	if w.step(); len(w.turns()) != 0 || !strings.Contains(w.checks()[0].Detail, "summaries=true") {
		t.Fatalf("%d turns; %+v", len(w.turns()), w.checks())
	}
	if _, err := w.plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: []byte(`{"summaries": true}`)}); err != nil {
		t.Fatal(err)
	}
	w.step()
	w.pass(gather)
	w.step()
	w.thread(pluginsdk.Thread{ID: "new", Name: "New"})
	w.saysNow("new", "from now on", "Yes.")
	w.pass(gather)
	w.step()
	if turns := w.turns(); len(turns) != 1 || len(prompted(t, turns[0])) != 1 || !strings.Contains(turns[0].Prompt, "from now on") {
		t.Errorf("turns %+v", turns)
	}
	// Nor is an old conversation told that goes on.
	w.thread(pluginsdk.Thread{ID: "old", Name: "Old"})
	w.saysNow("old", "said today", "Yes.")
	w.pass(time.Hour)
	w.step()
	if turns := w.turns(); len(turns) != 2 || !strings.Contains(turns[1].Prompt, "said today") || strings.Contains(turns[1].Prompt, "long ago") {
		t.Errorf("turns %+v", turns[1:])
	}
}

// Of the demo agent nothing is asked.
func TestTheDemoAgentIsAskedForNothing(t *testing.T) {
	w := newWorld(t, "")
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"})
	w.host.AddRun(pluginsdk.Run{ID: "demo", ThreadID: "t", Kind: pluginsdk.RunMessage, State: pluginsdk.RunSucceeded, Result: &pluginsdk.InvokeResult{Demo: true}})
	w.host.AddMessage(pluginsdk.Message{ThreadID: "t", Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Author: "Ann", Content: "hello", RunID: "demo"})
	w.told("t")
	w.pass(gather)
	if wait := w.step(); wait != 0 || len(w.turns()) != 0 || !strings.Contains(w.checks()[0].Detail, "demo agent") {
		t.Errorf("it waits %s, after %d turns; %+v", wait, len(w.turns()), w.checks())
	}
}
