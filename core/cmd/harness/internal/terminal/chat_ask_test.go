package terminal

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// asking is a daemon whose agent asks what it is told to, and says how that was answered,
// once told is closed, if any is given: a run's end may be known before what led to it.
func asking(t *testing.T, approval pluginsdk.Approval, told ...<-chan struct{}) *clienttest.Daemon {
	t.Helper()
	return clienttest.New(t, func(turn *clienttest.Turn) {
		if turn.Said != "go" {
			turn.Reply("Re: " + turn.Said)
			return
		}
		turn.Begin()
		asked := turn.Ask(approval)
		for _, told := range told {
			select {
			case <-told:
			case <-t.Context().Done():
			}
		}
		turn.Reply("It was " + string(asked.State) + ".")
	})
}

// answers checks what was handed in, of one approval.
func answers(t *testing.T, daemon *clienttest.Daemon, want ...string) {
	t.Helper()
	var got []string
	for _, answer := range daemon.Answered() {
		_, body, _ := strings.Cut(answer, " ")
		got = append(got, body)
	}
	if !slices.Equal(got, want) {
		t.Errorf("answered %q; want %q", got, want)
	}
}

func TestChatAsksInline(t *testing.T) {
	for line, want := range map[string]struct{ told, answer, reply string }{
		"1":           {"(allowed)", `{"choice":"allow"}`, "It was allowed."},
		"y":           {"(allowed)", `{"choice":"allow"}`, "It was allowed."},
		"2":           {"(allowed; from now on, unasked: commands that begin with `make test`, in this thread)", `{"choice":"rule:command"}`, "It was allowed."},
		"n":           {"(denied)", `{"choice":"deny"}`, "It was denied."},
		"no use make": {"(denied)", `{"choice":"deny","words":"use make"}`, "It was denied."},
		"use make\n":  {"(denied)", `{"choice":"deny","words":"use make"}`, "It was denied."}, // Enter confirms
	} {
		t.Run(line, func(t *testing.T) {
			daemon := asking(t, toolQuestion)
			w := talk(t, daemon)
			w.out.await(t, "you> ")
			w.enter(t, "go")
			w.out.await(t, "3. Deny\n1-3, y, n WORDS, /later> ")
			w.enter(t, line)
			w.out.await(t, want.told)
			w.out.await(t, want.reply+"\nyou> ")
			w.enter(t, "/quit")
			w.leaves(t)
			answers(t, daemon, want.answer)
			if said := daemon.Said(); len(said) != 1 || !daemon.Attended()[0] {
				t.Errorf("said %q, attended: %v", said, daemon.Attended())
			}
		})
	}
}

func TestChatAsksOneQuestionAfterTheOther(t *testing.T) {
	daemon := asking(t, whichQuestion)
	w := talk(t, daemon)
	w.out.await(t, "you> ")
	w.enter(t, "go")
	w.out.await(t, "1 of 2: Which database?")
	w.enter(t, "MySQL")
	w.out.await(t, "(Enter answers with these words; /later says them in the conversation instead)\n1-3, words, /later> ")
	w.enter(t, "")
	w.out.await(t, "2 of 2: What for?")
	daemon.LoseDecisions(1)
	w.enter(t, "1,3")
	w.out.await(t, "✗ the connection to the database was lost; answer again\n")
	w.enter(t, "2,3")
	w.out.await(t, "(answered)")
	w.out.await(t, "It was allowed.\nyou> ")
	w.enter(t, "/quit")
	w.leaves(t)
	answers(t, daemon, `{"answers":[{"text":"MySQL"},{"labels":["demos","all"]}]}`)
}

// What a person was typing when a question came up is neither its answer nor lost.
func TestChatKeepsWhatAPersonWasTyping(t *testing.T) {
	daemon := asking(t, toolQuestion)
	w := talk(t, daemon)
	w.out.await(t, "you> ")
	w.enter(t, "go")
	w.out.await(t, "/later> ")
	w.enter(t, "and then tell Bob")
	w.out.await(t, "(Enter denies it, with these words to the agent; /later says them in the conversation instead)\n1-3, y, n WORDS, /later> ")
	w.enter(t, "/later")
	w.out.await(t, "(put off: /now takes it up again")
	w.out.await(t, "Re: and then tell Bob")
	w.enter(t, "one more thing")
	w.out.await(t, "Re: one more thing")
	w.enter(t, "/now")
	w.enter(t, "use make") // a question that the person has called up
	w.out.await(t, "(Enter denies it")
	w.enter(t, "y")
	w.out.await(t, "(what you had entered was not sent: use make)")
	w.out.await(t, "It was allowed.\nyou> ")
	w.enter(t, "/later")
	w.out.await(t, "(the agent asks nothing)")
	w.enter(t, "/quit")
	w.leaves(t)
	answers(t, daemon, `{"choice":"allow"}`)
	if said := daemon.Said(); !slices.Equal(said, []string{"go", "and then tell Bob", "one more thing"}) {
		t.Errorf("said %q", said)
	}
}

// A y that was on its way to something else must not allow what nobody has read.
func TestChatTakesNoAnswerThatCameTooSoon(t *testing.T) {
	daemon := asking(t, toolQuestion)
	api, err := client.New(daemon.URL())
	if err != nil {
		t.Fatal(err)
	}
	in, keys := io.Pipe()
	w := &talking{out: newOutput(), keys: keys, interrupts: make(chan os.Signal), ended: make(chan error, 1)}
	chat := Chat{
		Client: api, Thread: pluginsdk.Thread{ID: clienttest.Primary}, Screen: NewScreen(w.out, Style{}, nil),
		In: in, Interactive: true, Interrupts: w.interrupts, Unread: time.Hour,
	}
	go func() { w.ended <- chat.Run(t.Context()) }()
	t.Cleanup(func() { _ = keys.Close() })
	w.out.await(t, "you> ")
	w.enter(t, "go")
	w.out.await(t, "/later> ")
	w.enter(t, "y")
	w.out.await(t, "(you can hardly have read that when you entered “y”: Enter answers with it, /later keeps it for the conversation)\n1-3, y,")
	answers(t, daemon)
	w.enter(t, "")
	w.out.await(t, "It was allowed.\nyou> ")
	w.enter(t, "/quit")
	w.leaves(t)
	answers(t, daemon, `{"choice":"allow"}`)
}

func TestChatSaysThatItWasAnsweredElsewhere(t *testing.T) {
	for state, words := range map[pluginsdk.ApprovalState]string{
		pluginsdk.ApprovalAllowed: "(allowed by Bob)", pluginsdk.ApprovalDenied: "(denied by Bob)",
		pluginsdk.ApprovalExpired: "(nobody answered in time, which denies it)", pluginsdk.ApprovalWithdrawn: "(withdrawn: its run is over)",
	} {
		t.Run(string(state), func(t *testing.T) {
			author := ""
			if state == pluginsdk.ApprovalAllowed || state == pluginsdk.ApprovalDenied {
				author = "Bob"
			}
			told := make(chan struct{})
			daemon := asking(t, toolQuestion, told)
			w := talk(t, daemon)
			w.out.await(t, "you> ")
			w.enter(t, "go")
			w.out.await(t, "/later> ")
			daemon.EndApproval("A", state, author)
			w.out.await(t, words+"\n")
			close(told)
			w.out.await(t, "It was "+string(state)+".\nyou> ")
			w.enter(t, "y")
			w.out.await(t, "(the question is gone, and “y” was not sent; enter it again to say it)\nyou> ")
			w.enter(t, "y")
			w.out.await(t, "Re: y")
			w.enter(t, "/quit")
			w.leaves(t)
			answers(t, daemon)
		})
	}
}

// An answer that comes second says who was first, and the conversation goes on.
func TestChatSaysWhoWasFirst(t *testing.T) {
	told := make(chan struct{})
	daemon := asking(t, toolQuestion, told)
	w := talk(t, daemon)
	w.out.await(t, "you> ")
	w.enter(t, "go")
	w.out.await(t, "/later> ")
	daemon.Deafen(true) // what is told elsewhere does not arrive
	w.out.await(t, "(the connection is lost")
	daemon.EndApproval("A", pluginsdk.ApprovalDenied, "Bob")
	w.enter(t, "y")
	w.out.await(t, "(approval A is denied, by Bob)")
	close(told)
	w.out.await(t, "It was denied.\nyou> ")
	w.enter(t, "/quit")
	w.leaves(t)
	answers(t, daemon)
}

// What was asked before anybody looked, or while the connection was lost, is asked all the
// same, and what has ended meanwhile is not.
func TestChatFindsWhatIsOpen(t *testing.T) {
	asked := make(chan struct{})
	var daemon *clienttest.Daemon
	daemon = clienttest.New(t, func(turn *clienttest.Turn) {
		turn.Begin()
		approval := toolQuestion
		approval.RunID = turn.Accepted.RunID
		approval, over := daemon.AskPeople(approval)
		close(asked)
		<-over
		turn.Reply("It was " + string(daemon.Approval(approval.ID).State) + ".")
	})
	api, err := client.New(daemon.URL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Chat(t.Context(), client.ChatRequest{Content: "said yesterday", Source: "web", IdempotencyKey: "k"}); err != nil {
		t.Fatal(err)
	}
	<-asked
	w := talk(t, daemon)
	w.out.await(t, "? The agent asks: Run a command")
	w.out.await(t, "/later> ")
	daemon.Stop()
	w.out.await(t, "(the connection is lost")
	other := toolQuestion
	other.ID, other.Title = "B", "Another command"
	daemon.AddApproval(other)
	daemon.EndApproval("A", pluginsdk.ApprovalDenied, "Bob")
	daemon.Start()
	w.out.await(t, "(connected again)")
	w.out.await(t, "(denied by Bob)")
	w.out.await(t, "? The agent asks: Another command")
	w.out.await(t, "It was denied.")
	w.enter(t, "y")
	w.out.await(t, "(allowed)")
	w.enter(t, "/quit")
	w.leaves(t)
	answers(t, daemon, `{"choice":"allow"}`)
}

// Commands work while a question is shown: /stop above all.
func TestChatTakesCommandsWhileItAsks(t *testing.T) {
	told := make(chan struct{})
	daemon := asking(t, toolQuestion, told)
	w := talk(t, daemon)
	w.out.await(t, "you> ")
	w.enter(t, "go")
	w.out.await(t, "/later> ")
	w.enter(t, "/status")
	w.out.await(t, "Re: /status")
	w.interrupts <- os.Interrupt
	w.out.await(t, "(withdrawn: its run is over)")
	close(told)
	w.out.await(t, "It was withdrawn.\nyou> ")
	daemon.AskPeople(pluginsdk.Approval{ID: "last", Title: "Is anybody there?"})
	w.out.await(t, "? The agent asks: Is anybody there?")
	w.enter(t, "/quit")
	w.leaves(t)
	if !strings.HasSuffix(w.out.String(), "(the agent waits for an answer: harness approvals show last)\n") {
		t.Errorf("shown:\n%s", w.out)
	}
}

// Lines from a pipe are no answers, and nobody is there to give one.
func TestPipedLinesAreNoAnswers(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("Re: " + turn.Said) })
	daemon.AddApproval(toolQuestion)
	out := newOutput()
	pipe(t, daemon, "y\n1\n", out)
	answers(t, daemon)
	if !slices.Equal(daemon.Attended(), []bool{false, false}) || !slices.Equal(daemon.Said(), []string{"y", "1"}) {
		t.Errorf("said %q, attended: %v", daemon.Said(), daemon.Attended())
	}
	if want := "? The agent asks: Run a command\n  (it waits for an answer: harness approvals show A)\n"; !strings.Contains(out.String(), want) {
		t.Errorf("shown:\n%s", out)
	}
}

// Who watches a task sees that it waits for an answer, which is theirs to give elsewhere.
func TestTheLogOfATaskTellsWhatIsAsked(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	daemon.AddTask(client.TaskHistory{Task: pluginsdk.Task{ID: "K", ThreadID: clienttest.Primary, Status: pluginsdk.TaskRunning}})
	daemon.AddApproval(toolQuestion)
	f := follow(t, daemon)
	f.out.await(t, "? The agent asks: Run a command\n  (it waits for an answer: harness approvals show A)\n")
	daemon.EndApproval("A", pluginsdk.ApprovalAllowed, "Bob")
	f.out.await(t, "(Run a command: allowed by Bob)\n")
	daemon.PublishTask(pluginsdk.EventTaskValidated, "K", pluginsdk.TaskCompleted, "")
	f.over(t)
}
