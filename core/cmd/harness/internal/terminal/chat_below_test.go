package terminal

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// withThreadsBelow adds a task's thread below the primary one, and one of a task of its own below
// that.
func withThreadsBelow(daemon *clienttest.Daemon) {
	daemon.AddThread(pluginsdk.Thread{ID: "task-thread", Name: "write a haiku", Kind: pluginsdk.ThreadTask, ParentThreadID: clienttest.Primary})
	daemon.AddThread(pluginsdk.Thread{ID: "deeper", Name: "count \x1bsyllables", Kind: pluginsdk.ThreadTask, ParentThreadID: "task-thread"})
	daemon.AddThread(pluginsdk.Thread{ID: "elsewhere", Name: "other", Kind: pluginsdk.ThreadGeneral})
}

// Where nobody carries messages, a task that asks would wait for days without a word to who
// gave it.
func TestChatAsksWhatItsTasksAsk(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("Re: " + turn.Said) })
	withThreadsBelow(daemon)
	before := toolQuestion
	before.ID, before.ThreadID, before.RunID = "before", "task-thread", "run-of-task"
	daemon.AddApproval(before)
	daemon.AddApproval(pluginsdk.Approval{ID: "not-ours", ThreadID: "elsewhere", Title: "not ours"})
	w := talk(t, daemon)
	w.out.await(t, "? The task “write a haiku” asks: "+toolQuestion.Title+"\n")
	w.out.await(t, "/later> ")
	w.enter(t, "")
	w.enter(t, "1")
	w.out.await(t, "(allowed)\n")
	w.enter(t, "meanwhile")
	w.out.await(t, "Re: meanwhile\nyou> ")
	deeper := pluginsdk.Approval{ID: "deeper-asks", ThreadID: "deeper", RunID: "another", Kind: pluginsdk.ApprovalPlan, Title: "count", Choices: toolQuestion.Choices}
	daemon.AskPeople(deeper)
	w.out.await(t, "? The task “count syllables” has a plan: count\n")
	daemon.EndApproval("deeper-asks", pluginsdk.ApprovalAllowed, "Bob")
	w.out.await(t, "(allowed by Bob)")
	w.enter(t, "/quit")
	w.leaves(t)
	answers(t, daemon, `{"choice":"allow"}`)
	if state := daemon.Approval("not-ours").State; state != pluginsdk.ApprovalOpen {
		t.Errorf("what another thread asks is %s", state)
	}
}

// A pipe answers nothing, and says who waits for an answer.
func TestAPipeTellsWhatItsTasksAsk(t *testing.T) {
	daemon, out := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("Re: " + turn.Said) }), newOutput()
	withThreadsBelow(daemon)
	daemon.AddApproval(pluginsdk.Approval{ID: "A", ThreadID: "task-thread", Title: "make"})
	daemon.AddApproval(pluginsdk.Approval{ID: "B", ThreadID: "gone-thread", Title: "make"})
	pipe(t, daemon, "hello\n", out)
	out.await(t, "? The task “write a haiku” asks: make\n  (it waits for an answer: harness approvals show A)\n")
}

// What a task comes to is told in its own thread; who answered it is told of its end.
func TestChatDoesNotFollowTheTasksThatAsk(t *testing.T) {
	ended := make(chan struct{})
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		if turn.Said != "work" {
			turn.Reply("Re: " + turn.Said)
			return
		}
		defer close(ended)
		turn.Begin()
		asked := turn.Ask(toolQuestion)
		turn.Reply("It was " + string(asked.State) + ".")
	})
	withThreadsBelow(daemon)
	api, err := client.New(daemon.URL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Chat(t.Context(), client.ChatRequest{ThreadID: "task-thread", Content: "work"}); err != nil {
		t.Fatal(err)
	}
	w := talk(t, daemon)
	w.out.await(t, "/later> ")
	w.enter(t, "y")
	w.out.await(t, "(allowed)\n")
	<-ended
	w.enter(t, "meanwhile")
	w.out.await(t, "Re: meanwhile\nyou> ")
	w.enter(t, "/quit")
	w.leaves(t)
	if strings.Contains(w.out.String(), "It was") {
		t.Errorf("shown:\n%s", w.out)
	}
}

// A prompt that stands is written again only after something else was.
func TestAPromptIsNotRepeatedForNothing(t *testing.T) {
	const prompt = "\n1-3, y, n WORDS, /later> "
	said, seen := make(chan struct{}), make(chan struct{})
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		<-said
		turn.Begin()
		for range 5 {
			turn.Step("invoking")
		}
		turn.Stream(pluginsdk.StreamEvent{Type: pluginsdk.StreamToolCall, ToolName: "Bash"})
		<-seen
		turn.Reply("Re: " + turn.Said)
	})
	daemon.AddApproval(toolQuestion)
	api, err := client.New(daemon.URL())
	if err != nil {
		t.Fatal(err)
	}
	w := talk(t, daemon)
	w.out.await(t, "/later> ")
	if _, err := api.Chat(t.Context(), client.ChatRequest{ThreadID: clienttest.Primary, Content: "from elsewhere", Source: "web"}); err != nil {
		t.Fatal(err)
	}
	w.out.await(t, "from elsewhere"+prompt)
	close(said)
	w.out.await(t, "· Bash "+prompt)
	close(seen)
	w.out.await(t, "Re: from elsewhere"+prompt)
	w.enter(t, "/quit")
	w.leaves(t)
	if got := strings.Count(w.out.String(), prompt); got != 4 { // at first, after what was said, after the tool, and after the reply
		t.Errorf("%d prompts:\n%s", got, w.out)
	}
}
