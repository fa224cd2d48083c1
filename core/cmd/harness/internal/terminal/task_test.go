package terminal

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// followed is a log that goes on.
type followed struct {
	out   *output
	leave context.CancelFunc
	ticks chan time.Time
	ended chan pluginsdk.Task
}

func follow(t *testing.T, daemon *clienttest.Daemon) *followed {
	t.Helper()
	api, err := client.New(daemon.URL())
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	t.Cleanup(leave)
	f := &followed{out: newOutput(), leave: leave, ticks: make(chan time.Time), ended: make(chan pluginsdk.Task, 1)}
	log := TaskLog{
		Client: api, Task: pluginsdk.Task{ID: "K", ThreadID: clienttest.Primary, Status: pluginsdk.TaskRunning},
		Screen: NewScreen(f.out, Style{}, nil), Follow: true, Ticks: f.ticks,
	}
	go func() {
		task, err := log.Run(ctx)
		if err != nil {
			t.Errorf("the log ended: %v", err)
		}
		f.ended <- task
	}()
	return f
}

func (f *followed) over(t *testing.T) pluginsdk.Task {
	t.Helper()
	select {
	case task := <-f.ended:
		return task
	case <-t.Context().Done():
		t.Fatalf("it went on:\n%s", f.out)
	}
	return pluginsdk.Task{}
}

// tick has it look whether the task is over, unless it has seen that.
func (f *followed) tick() {
	select {
	case f.ticks <- time.Now():
	case task := <-f.ended:
		f.ended <- task
	}
}

func withTask(t *testing.T, answer func(*clienttest.Turn)) (*clienttest.Daemon, *client.Client) {
	t.Helper()
	daemon := clienttest.New(t, answer)
	daemon.AddTask(client.TaskHistory{Task: pluginsdk.Task{ID: "K", ThreadID: clienttest.Primary, Status: pluginsdk.TaskRunning}})
	api, err := client.New(daemon.URL())
	if err != nil {
		t.Fatal(err)
	}
	return daemon, api
}

func chat(t *testing.T, api *client.Client, text string) {
	t.Helper()
	if _, err := api.Chat(t.Context(), client.ChatRequest{Content: text, IdempotencyKey: text, Source: "cli"}); err != nil {
		t.Fatal(err)
	}
}

// A task is followed from what was said, through what its agent does, to its end, and
// nothing is shown twice.
func TestATaskIsFollowedToItsEnd(t *testing.T) {
	begun, watched, seen := make(chan struct{}, 2), make(chan struct{}), make(chan struct{})
	daemon, api := withTask(t, func(turn *clienttest.Turn) {
		if turn.Said == "old" {
			turn.Reply("It was so.")
			return
		}
		turn.Begin()
		begun <- struct{}{}
		<-watched
		turn.Stream(pluginsdk.StreamEvent{Type: pluginsdk.StreamToolCall, ToolName: "tool-of-" + turn.Said, ToolUseID: "u", Input: []byte(`{}`)})
		<-seen
		turn.Deltas("Done ", turn.Said)
		turn.Stream(pluginsdk.StreamEvent{Type: pluginsdk.StreamText, Text: "Done " + turn.Said})
		turn.Reply("Done " + turn.Said)
	})
	pipe(t, daemon, "old\n", newOutput())
	chat(t, api, "1")
	<-begun // it is at work when the person comes
	f := follow(t, daemon)
	works := func(said string) {
		f.out.await(t, "cli> "+said)
		watched <- struct{}{}
		f.out.await(t, "· tool-of-"+said)
		seen <- struct{}{}
		f.out.await(t, "Done "+said)
	}
	works("1")
	daemon.PublishTask(pluginsdk.EventTaskEvaluated, "K", pluginsdk.TaskRunning, "a test fails")
	f.out.await(t, "task K is running: a test fails")
	chat(t, api, "2")
	works("2")
	daemon.PublishTask(pluginsdk.EventTaskEvaluated, "K", pluginsdk.TaskWaiting, "a conflict")
	f.out.await(t, "task K is waiting: a conflict; harness task show K")
	daemon.PublishTask(pluginsdk.EventTaskProgress, "another", pluginsdk.TaskFailed, "not ours")
	daemon.PublishTask(pluginsdk.EventTaskValidated, "K", pluginsdk.TaskCompleted, "")
	if task := f.over(t); task.Status != pluginsdk.TaskCompleted {
		t.Errorf("it ended as %s", task.Status)
	}
	shown := f.out.String()
	for _, once := range []string{"It was so.", "cli> old", "cli> 1", "tool-of-1", "Done 1", "cli> 2", "tool-of-2", "Done 2", "is completed"} {
		if got := strings.Count(shown, once); got != 1 {
			t.Errorf("%q is shown %d times:\n%s", once, got, shown)
		}
	}
	if strings.Contains(shown, "not ours") || !strings.HasSuffix(shown, "task K is completed\n") {
		t.Errorf("shown:\n%s", shown)
	}
}

// What tells of a task's end may be lost: the task is read all the same.
func TestTheEndOfATaskIsFoundWithoutEvents(t *testing.T) {
	daemon, _ := withTask(t, func(*clienttest.Turn) {})
	daemon.Deafen(true)
	f := follow(t, daemon)
	f.tick() // it is not over
	daemon.LoseDatabase(1)
	f.tick()
	f.tick() // when this one is taken, it was looked
	daemon.PublishTask(pluginsdk.EventTaskCancelled, "K", pluginsdk.TaskCancelled, "enough")
	f.tick()
	if task := f.over(t); task.Status != pluginsdk.TaskCancelled || !strings.Contains(f.out.String(), "task K is cancelled: enough") {
		t.Errorf("it ended as %s:\n%s", task.Status, f.out)
	}
}

func TestWhoLeavesATaskLeavesItAlone(t *testing.T) {
	daemon, _ := withTask(t, func(*clienttest.Turn) {})
	f := follow(t, daemon)
	f.tick()
	f.leave()
	if task := f.over(t); task.Status != pluginsdk.TaskRunning || !strings.Contains(f.out.String(), "(the task goes on)") {
		t.Errorf("it ended as %s:\n%s", task.Status, f.out)
	}
	if worded := daemon.Worded(); len(worded) > 0 {
		t.Errorf("said: %q", worded)
	}
}
