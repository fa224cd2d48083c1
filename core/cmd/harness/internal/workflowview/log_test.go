package workflowview

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// lines takes what is written, and hands it on.
type lines chan string

func (l lines) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

// await waits for a line that has some words, and returns all that came before it, and it.
func (l lines) await(t *testing.T, words string) (all string) {
	t.Helper()
	for {
		select {
		case line := <-l:
			if all += line; strings.Contains(line, words) {
				return all
			}
		case <-t.Context().Done():
			t.Fatalf("%q was never shown, but:\n%s", words, all)
		}
	}
}

func following(t *testing.T, ctx context.Context, daemon *clienttest.Daemon, ticks <-chan time.Time) (lines, <-chan client.Workflow) { //nolint:revive // the test comes first
	t.Helper()
	api, err := client.New(daemon.URL())
	if err != nil {
		t.Fatal(err)
	}
	out, ended := make(lines, 100), make(chan client.Workflow, 1)
	log := Log{Client: api, ID: "W", Out: out, Style: terminal.Style{}, Ticks: ticks}
	go func() {
		last, err := log.Follow(ctx)
		if err != nil {
			t.Errorf("the log ended: %v", err)
		}
		ended <- last
	}()
	return out, ended
}

func over(t *testing.T, ended <-chan client.Workflow) client.Workflow {
	t.Helper()
	select {
	case w := <-ended:
		return w
	case <-t.Context().Done():
		t.Fatal("it goes on")
	}
	return client.Workflow{}
}

// Who follows a workflow sees each stage begin and end, what was said of it, what it has cost and what the rest will take, each
// once; it ends when the workflow goes on by itself no more.
func TestALogFollowsAWorkflow(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	daemon.AddTask(client.TaskHistory{Task: pluginsdk.Task{ID: "W", ThreadID: clienttest.Primary}})
	begun := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	w := client.Workflow{ID: "W", State: client.WorkflowRunning, Cost: client.WorkflowCost{USD: 0.25, CapUSD: 20}, Stages: []client.WorkflowStage{
		{Agent: "builder", Batch: "Tasks 1-3", Status: "running", Attempt: 1, StartedAt: begun}, {Agent: "reviewer", Batch: "Tasks 1-3", Status: "pending"},
	}}
	daemon.AddWorkflow(w)
	out, ended := following(t, t.Context(), daemon, nil)
	out.await(t, "builder of Tasks 1-3 has begun")
	out.await(t, "running: 0/2 stages, 0.25 of 20.00 USD")

	tell := func(change func(*client.Workflow)) {
		w.Stages = append([]client.WorkflowStage(nil), w.Stages...)
		change(&w)
		daemon.AddWorkflow(w)
		daemon.PublishTask(pluginsdk.EventTaskProgress, "W", pluginsdk.TaskRunning, "")
	}
	tell(func(w *client.Workflow) {
		w.Stages[0].Status, w.Stages[0].Attempt, w.Stages[0].Round, w.Stages[0].StartedAt = "running", 2, 2, begun.Add(time.Minute)
		w.Stages[1].Verdicts = []client.WorkflowVerdict{{Verdict: "REVISE", Score: 4, Summary: "no test", At: begun.Add(30 * time.Second)}}
		w.Estimate = &client.WorkflowEstimate{Text: "about 5 min"}
	})
	shown := out.await(t, "left: about 5 min")
	if said, anew := strings.Index(shown, "reviewer of Tasks 1-3: changes requested, 4/10: no test"), strings.Index(shown, "builder of Tasks 1-3, attempt 2, round 2 has begun"); said < 0 || anew < said || strings.Contains(shown, "Tasks 1-3 has begun") {
		t.Errorf("shown:\n%s", shown)
	}
	tell(func(w *client.Workflow) {
		w.State, w.Waits = client.WorkflowWaiting, "the limit is reached"
		w.Stages[0].Status, w.Stages[0].Seconds, w.Stages[0].CostUSD, w.Stages[0].CompletedAt = "completed", 90, 0.5, begun.Add(2*time.Minute)
	})
	shown = out.await(t, "needs you: 1/2 stages")
	if !strings.Contains(shown, "builder of Tasks 1-3, attempt 2, round 2 is done") || !strings.Contains(shown, "0.50 USD") || !strings.Contains(shown, "the limit is reached") || !strings.Contains(shown, "harness workflow continue W --more-rounds 1") || strings.Contains(shown, "no test") || strings.Contains(shown, "has begun") {
		t.Errorf("shown:\n%s", shown)
	}
	if last := over(t, ended); last.State != client.WorkflowWaiting {
		t.Errorf("it ended with %s", last.State)
	}
}

// What was told of a workflow may be lost: it is looked at all the same. Who leaves is told that it goes on.
func TestALogLooksByItself(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	w := client.Workflow{ID: "W", State: client.WorkflowRunning}
	daemon.AddWorkflow(w)
	daemon.Deafen(true) // nothing is told
	ticks := make(chan time.Time, 1)
	out, ended := following(t, t.Context(), daemon, ticks)
	out.await(t, "running: 0/0 stages")
	w.State = client.WorkflowCompleted
	daemon.AddWorkflow(w)
	ticks <- time.Now()
	out.await(t, "completed: 0/0 stages")
	over(t, ended)

	w.State = client.WorkflowRunning
	daemon.AddWorkflow(w)
	ctx, leave := context.WithCancel(t.Context())
	out, ended = following(t, ctx, daemon, nil)
	out.await(t, "running: 0/0 stages")
	leave()
	out.await(t, "(the workflow goes on)")
	over(t, ended)
}

// Lines stand in the order in which things happened; of what nobody knows when, it is the end.
func TestALogIsInOrder(t *testing.T) {
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	var out strings.Builder
	log := Log{Out: &out}
	log.print(client.Workflow{State: client.WorkflowCompleted, Stages: []client.WorkflowStage{
		{Agent: "second", Status: "completed", StartedAt: at.Add(time.Minute)}, {Agent: "first", Status: "running", StartedAt: at},
	}})
	first, second, done := strings.Index(out.String(), "first has begun"), strings.Index(out.String(), "second has begun"), strings.Index(out.String(), "second is done")
	if first < 0 || second < first || done < second {
		t.Errorf("shown:\n%s", out.String())
	}
}
