package tasks

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// types types a command in a thread, and returns the answer, or the error's words.
func (w *world) types(threadID, args string) string {
	w.t.Helper()
	text, err := w.boot.room.Command(context.Background(), w.thread(threadID), ledger.By{Plugin: "discord", Author: "ann"}, args)
	if err != nil {
		return "✗ " + err.Error()
	}
	return text
}

func (w *world) thread(id string) pluginsdk.Thread {
	w.t.Helper()
	thread, err := w.store.Thread(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return thread
}

// holds checks that a text has all the words.
func (w *world) holds(text string, words ...string) {
	w.t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			w.t.Errorf("%q is missing in:\n%s", word, text)
		}
	}
}

func TestTasksAreLookedAtAndDecidedOnInAChat(t *testing.T) {
	p := &reviewer{complete: says("")}
	w := newWorld(t, storetest.Open(t), p)
	w.holds(w.types(w.parent.ID, ""), "no open tasks below this thread")
	task := w.worked(pluginsdk.NewTask{Cwd: "/repo", OriginalMessage: "Fix the parser\nand more"})
	short := task.ID[len(task.ID)-8:]
	list := w.types(w.parent.ID, "")
	w.holds(list, "1 of them waiting for a person", short+" “Fix the parser”: waiting (unvalidated), iteration 1 of 5, 0.25 of 5.00 USD: nobody has validated the work", "/tasks ID")
	for _, id := range []string{task.ID, short, task.ID[:8], task.ID[len(task.ID)-6:]} {
		w.holds(w.types(w.parent.ID, id), "Task "+task.ID, "iteration 1 of 5", "Its result of iteration 1:\nbuilt",
			"/tasks approve "+short+" #1", "/tasks reject "+short+" #1 WORDS", "/tasks cancel "+short)
	}
	w.holds(w.types(task.ThreadID, ""), short) // its own thread's people see it too

	w.holds(w.types(w.parent.ID, "reject "+short), "✗ what is wrong with it?")
	w.holds(w.types(w.parent.ID, "approve "+short+" #2"), "✗ ", "at its iteration 1, not at 2")
	w.holds(w.types(w.parent.ID, "reject "+short+" #1 it is\nnot enough"), "goes on with these words")
	if now := w.state(task.ID); now.Status != pluginsdk.TaskRunning || now.Feedback != "it is\nnot enough" {
		t.Errorf("it is %s with %q", now.Status, now.Feedback)
	}
	w.holds(w.types(w.parent.ID, "approve "+short), "✗ ", "is running and cannot be approved")
	w.iterate(task.ID)
	w.evaluate(task.ID)
	w.settled(task.ID)
	w.holds(w.types(w.parent.ID, "approve "+short+" #2 well done"), "Iteration 2 of task “Fix the parser” is approved")
	if now := w.settled(task.ID); now.Status != pluginsdk.TaskCompleted {
		t.Errorf("it is %s", now.Status)
	}
	answers, err := w.store.TaskAnswers(t.Context(), task.ID, 2)
	if err != nil || !slices.ContainsFunc(answers, func(a ledger.TaskAnswer) bool {
		return a.Author == "ann" && a.Plugin == "discord" && a.Answer == "accept" && a.Feedback == "well done"
	}) {
		t.Errorf("stored: %+v, %v", answers, err)
	}
	w.holds(w.types(w.parent.ID, short), "completed") // also when it is over
	w.holds(w.types(w.parent.ID, "cancel "+short), "is over: it is completed")
}

func TestATaskIsCancelledInAChat(t *testing.T) {
	w := newWorld(t, storetest.Open(t))
	id := w.create(pluginsdk.NewTask{OriginalMessage: "count to ten"})
	w.settled(id)
	w.holds(w.types(w.parent.ID, "cancel "+id+" that is enough"), "Task “count to ten” is cancelled")
	if now := w.settled(id); now.Status != pluginsdk.TaskCancelled || now.Error != "cancelled by ann: that is enough" {
		t.Errorf("it is %s: %s", now.Status, now.Error)
	}
}

// Who may write in one channel must neither see nor decide on another's tasks.
func TestTasksOfOtherThreadsAreNotFound(t *testing.T) {
	w := newWorld(t, storetest.Open(t), &reviewer{complete: says("")})
	task := w.worked(pluginsdk.NewTask{Cwd: "/repo"})
	elsewhere, _, err := w.store.CreateThread(t.Context(), pluginsdk.NewThread{Source: "chat", SourceID: uuid.NewString()})
	if err != nil {
		t.Fatal(err)
	}
	w.holds(w.types(elsewhere.ID, ""), "no open tasks")
	for _, args := range []string{task.ID, task.ID[30:], "approve " + task.ID, "reject " + task.ID[30:] + " no", "cancel " + task.ID} {
		w.holds(w.types(elsewhere.ID, args), "✗ there is no task ")
	}
	if now := w.state(task.ID); now.Status != pluginsdk.TaskWaiting {
		t.Errorf("it is %s", now.Status)
	}
	below, _, err := w.boot.room.Create(t.Context(), ledger.NewTask{Plugin: "maker", Key: "below", NewTask: pluginsdk.NewTask{
		ParentThreadID: task.ThreadID, ParentTaskID: task.ID, Prompt: "help",
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.holds(w.types(w.parent.ID, ""), below.ID[28:], task.ID[28:])
	w.holds(w.types(task.ThreadID, below.ID[28:]), "Task "+below.ID)
	w.holds(w.types(below.ThreadID, task.ID), "✗ there is no task ") // it is above
	primary, err := w.store.EnsurePrimary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.holds(w.types(primary.ID, ""), below.ID[28:], task.ID[28:])
}

func TestWhatATaskIsCalled(t *testing.T) {
	w := newWorld(t, storetest.Open(t))
	one, other := w.create(pluginsdk.NewTask{}), w.create(pluginsdk.NewTask{})
	w.holds(w.types(w.parent.ID, one[:6]), "✗ ", "part of more than one id", one, other) // the same time
	for _, args := range []string{one[31:], "", "nonsense", one[:5]} {
		if args != "" {
			w.holds(w.types(w.parent.ID, args), "✗ there is no task ", "/tasks lists")
		}
	}
	w.holds(w.types(w.parent.ID, "approve"), "✗ which task? /tasks lists")
	w.holds(w.types(w.parent.ID, "aprove "+one), "✗ \"aprove\" is not understood")
}

func TestWhatStandsBehindTasks(t *testing.T) {
	for args, want := range map[string]typed{
		"":                         {},
		" 1a2b3c ":                 {id: "1a2b3c"},
		"approve":                  {verb: "approve"},
		"approve  1a2b3c":          {verb: "approve", id: "1a2b3c"},
		"reject 1a2b3c\nno,\nnot":  {verb: "reject", id: "1a2b3c", words: "no,\nnot"},
		"reject 1a2b3c #2 see #1":  {verb: "reject", id: "1a2b3c", iteration: 2, words: "see #1"},
		"reject 1a2b3c #two is no": {verb: "reject", id: "1a2b3c", words: "#two is no"},
		"approved 1a2b3c":          {id: "approved", words: "1a2b3c"},
	} {
		if got := parseTyped(args); got != want {
			t.Errorf("%q is %+v, want %+v", args, got, want)
		}
	}
	room := &Room{}
	if room.Word("1a2b3c approve") != "" || room.Word("\tcancel x") != "cancel" {
		t.Error("it is not the first word that decides")
	}
}
