package summaries

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A thread without a name gets one, and keeps that which somebody gives it meanwhile.
func TestNames(t *testing.T) {
	w := newWorld(t, "")
	w.thread(pluginsdk.Thread{ID: "t1"})
	w.thread(pluginsdk.Thread{ID: "t2"})
	w.says("t1", "the garden", "Yes.")
	w.says("t2", "the roof", "Yes.")
	name := func(id string) string {
		t.Helper()
		answer, err := w.host.SDK().Threads.Get(t.Context(), &pluginsdk.GetThreadRequest{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Thread.Name
	}
	w.answer = func(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		mine := "Mine"
		if _, err := w.host.SDK().Threads.Update(context.Background(), &pluginsdk.UpdateThreadRequest{ID: "t2", Patch: pluginsdk.ThreadPatch{Name: &mine}}); err != nil {
			t.Error(err)
		}
		return w.sums(request)
	}
	w.pass(gather)
	w.step()
	if name("t1") != "About the garden" || name("t2") != "Mine" || !strings.Contains(w.file(summariesFile), "## Mine (thread t2,") {
		t.Errorf("%q, %q", name("t1"), name("t2"))
	}

	w = newWorld(t, `{"names": false}`)
	w.thread(pluginsdk.Thread{ID: "t1"})
	w.says("t1", "the garden", "Yes.")
	w.pass(gather)
	w.step()
	if name("t1") != "" || len(w.turns()) != 1 {
		t.Errorf("with names off it is called %q", name("t1"))
	}
}

// A long thread gets a summary row that covers all that stands before it, or none.
func TestLongThreads(t *testing.T) {
	w := newWorld(t, `{"longThread": 30}`)
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"})
	summaries := func() (all []string) {
		for _, row := range w.host.Messages("t") {
			if row.Kind == pluginsdk.MessageSummary {
				all = append(all, row.Content)
			}
		}
		return all
	}
	talk := func(n int) {
		for range n / 2 {
			w.says("t", "question", "answer")
		}
		w.pass(10 * time.Minute)
		w.step()
	}
	talk(30)
	if len(summaries()) != 0 {
		t.Fatalf("of 30 messages: %q", summaries())
	}
	talk(2)
	if got := summaries(); len(got) != 1 || got[0] != `all of 32 messages, after ""` {
		t.Fatalf("%q", got)
	}
	talk(30)
	w.answer = func(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		w.said(pluginsdk.Message{ThreadID: "t", Author: "Ann", Content: "meanwhile"}, "")
		return w.sums(request)
	}
	talk(2)
	if got := summaries(); len(got) != 1 {
		t.Fatalf("a row hides what was said meanwhile: %q", got)
	}
	w.answer = w.sums
	talk(2)
	if got := summaries(); len(got) != 2 || got[1] != `all of 35 messages, after "all of 32 messages, after \"\""` {
		t.Errorf("%q", got)
	}
}

// Of many long threads a turn summarises two; the others' turn comes when they are active again.
func TestManyLongThreads(t *testing.T) {
	w := newWorld(t, `{"longThread": 26}`)
	for n := range 5 {
		id := fmt.Sprintf("t%d", n)
		w.thread(pluginsdk.Thread{ID: id, Name: id})
		for range 14 {
			w.says(id, "question", "answer")
		}
	}
	w.pass(gather)
	w.step()
	long := 0
	for _, one := range prompted(t, w.turns()[0]) {
		if len(one.Long) > 0 {
			long++
		}
	}
	if long != mostLong {
		t.Errorf("%d long threads are in the prompt", long)
	}
}
