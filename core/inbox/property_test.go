package inbox

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Whatever people and daemons do, in whatever order: every message that was
// accepted ends answered, merged into one that was, or cancelled by somebody;
// those that are answered are begun in the order of their acceptance; and no
// thread is ever at work twice at a time.
func TestEveryMessageIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		store := newMemory()
		modes := []pluginsdk.BusyMode{pluginsdk.BusyQueue, pluginsdk.BusySteer, pluginsdk.BusyCollect, pluginsdk.BusyInterrupt}
		threads := []string{"T1", "T2"}
		for _, thread := range threads {
			store.threads[thread] = pluginsdk.Thread{ID: thread, BusyMode: rapid.SampledFrom(modes).Draw(r, "mode")}
		}
		day := &day{t: t, r: r, store: store}
		day.begin()
		day.r.Repeat(map[string]func(*rapid.T){
			"submit": func(r *rapid.T) {
				day.submit(rapid.SampledFrom(threads).Draw(r, "thread"), rapid.SampledFrom([]string{"m", "m", "m", "/buy"}).Draw(r, "what"))
			},
			"repeat": func(*rapid.T) { day.repeat() },
			"cancel": func(r *rapid.T) { day.cancel(rapid.IntRange(0, 20).Draw(r, "which")) },
			"stop": func(r *rapid.T) {
				queue := rapid.SampledFrom([]pluginsdk.Queue{pluginsdk.KeepQueue, pluginsdk.DropQueue}).Draw(r, "queue")
				day.must(second(day.inbox.StopThread(context.Background(), rapid.SampledFrom(threads).Draw(r, "thread"), queue, ledger.By{})))
			},
			"pause":  func(*rapid.T) { day.inbox.Pause(); day.must(day.inbox.Resume(context.Background())) },
			"daemon": func(*rapid.T) { day.end(); day.begin() },
		})
		store.until(t, "the end of all runs", store.allFinal)
		day.end()
		day.audit()
	})
}

// day is what the property test does to one installation.
type day struct {
	t        *testing.T
	r        *rapid.T
	store    *memory
	inbox    *Inbox
	line     *scripted
	boots    int
	accepted []pluginsdk.Accepted
	repeats  []pluginsdk.Submission
}

// begin starts a daemon on what its predecessor left.
func (d *day) begin() {
	d.line = &scripted{store: d.store, steers: make(chan string, 10000)}
	d.line.handle = func(_ context.Context, claim ledger.Claim) error {
		if claim.Run.Attempt == 1 && claim.Run.MessageID%3 == 0 {
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "try again")
		}
		return nil
	}
	d.boots++
	d.inbox = New(Config{Owner: fmt.Sprint("boot ", d.boots), Slots: 2, RetryBase: time.Microsecond, RetryMax: time.Microsecond, DrainGrace: time.Millisecond},
		Doors{
			Store: d.store, Pipeline: d.line, Outbox: &woken{}, Events: &published{}, Approvals: &desk{},
			Registry: commands{{Plugin: "shop", Spec: pluginsdk.CommandSpec{Name: "buy"}}},
		})
	d.must(d.inbox.Start(context.Background()))
}

func (d *day) end() {
	d.must(d.inbox.Stop(context.Background()))
	if d.line.twice {
		d.r.Fatal("two runs of a thread at a time")
	}
}

func (d *day) submit(thread, content string) {
	submission := pluginsdk.Submission{ThreadID: thread, Source: "web", Key: fmt.Sprint(len(d.accepted)), Content: content}
	accepted, err := d.inbox.Submit(context.Background(), ledger.By{Plugin: "web"}, submission)
	d.must(err)
	d.accepted, d.repeats = append(d.accepted, accepted), append(d.repeats, submission)
}

// repeat submits the last message again, as a client does that got no answer.
func (d *day) repeat() {
	if len(d.repeats) == 0 {
		d.r.Skip("nothing was submitted")
	}
	last := len(d.repeats) - 1
	again, err := d.inbox.Submit(context.Background(), ledger.By{Plugin: "web"}, d.repeats[last])
	d.must(err)
	if !again.Existed || again.RunID != d.accepted[last].RunID {
		d.r.Fatalf("repeated: %+v, first was %+v", again, d.accepted[last])
	}
}

func (d *day) cancel(which int) {
	if which >= len(d.accepted) {
		d.r.Skip("there is no such run")
	}
	d.must(second(d.inbox.Cancel(context.Background(), d.accepted[which].RunID, ledger.By{})))
}

// audit looks at what became of everything.
func (d *day) audit() {
	runs := map[string]*ledger.Run{}
	for _, run := range d.store.runs {
		runs[run.ID] = run
	}
	for _, accepted := range d.accepted {
		run := runs[accepted.RunID]
		switch {
		case run == nil:
			d.r.Fatalf("run %s was accepted and is not there", accepted.RunID)
		case run.State == pluginsdk.RunMerged:
			if into := runs[run.MergedInto]; into == nil || into.State == pluginsdk.RunMerged || !into.State.Final() {
				d.r.Fatalf("run %s was merged into %+v", run.ID, into)
			}
		case run.State != pluginsdk.RunSucceeded && run.State != pluginsdk.RunCancelled:
			d.r.Fatalf("run %s is %s", run.ID, run.State)
		}
	}
}

func (d *day) must(err error) {
	if err != nil {
		d.r.Helper()
		d.r.Fatal(err)
	}
}

func second[T any](_ T, err error) error { return err }
