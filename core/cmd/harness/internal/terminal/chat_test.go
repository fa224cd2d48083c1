package terminal

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// output collects what is written and lets a test wait for it.
type output struct {
	mu      sync.Mutex
	changed *sync.Cond
	buffer  bytes.Buffer
}

func newOutput() *output {
	o := &output{}
	o.changed = sync.NewCond(&o.mu)
	return o
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.changed.Broadcast()
	return o.buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

// await waits until text has been written.
func (o *output) await(t *testing.T, text string) {
	t.Helper()
	stop := context.AfterFunc(t.Context(), o.changed.Broadcast)
	defer stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for !strings.Contains(o.buffer.String(), text) {
		if t.Context().Err() != nil {
			t.Fatalf("%q was never shown, but:\n%s", text, o.buffer.String())
		}
		o.changed.Wait()
	}
}

// talking is a chat of a person under way.
type talking struct {
	out        *output
	keys       *io.PipeWriter
	interrupts chan os.Signal
	ended      chan error
}

func talk(t *testing.T, daemon *clienttest.Daemon) *talking {
	t.Helper()
	return talkTo(t, daemon, nil)
}

func talkTo(t *testing.T, daemon *clienttest.Daemon, ticks <-chan time.Time) *talking {
	t.Helper()
	api, err := client.New(daemon.URL())
	if err != nil {
		t.Fatal(err)
	}
	in, keys := io.Pipe()
	w := &talking{out: newOutput(), keys: keys, interrupts: make(chan os.Signal), ended: make(chan error, 1)}
	chat := Chat{
		Client: api, Thread: pluginsdk.Thread{ID: clienttest.Primary, Name: "Primary"},
		Screen: NewScreen(w.out, Style{}, nil), In: in, Interactive: true, Interrupts: w.interrupts, Ticks: ticks,
	}
	go func() { w.ended <- chat.Run(t.Context()) }()
	t.Cleanup(func() { _ = keys.Close() })
	return w
}

// pipe says lines that come from a pipe and returns when all are answered.
func pipe(t *testing.T, daemon *clienttest.Daemon, lines string, out *output) {
	t.Helper()
	api, err := client.New(daemon.URL())
	if err != nil {
		t.Fatal(err)
	}
	chat := Chat{
		Client: api, Thread: pluginsdk.Thread{ID: clienttest.Primary, Name: "Primary"},
		Screen: NewScreen(out, Style{}, nil), In: strings.NewReader(lines),
	}
	if err := chat.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (w *talking) enter(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(w.keys, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (w *talking) leaves(t *testing.T) {
	t.Helper()
	select {
	case err := <-w.ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-t.Context().Done():
		t.Fatalf("the chat went on:\n%s", w.out)
	}
}

func TestChatAnswersAndLeaves(t *testing.T) {
	for name, leave := range map[string]func(*testing.T, *talking){
		"quit":        func(t *testing.T, w *talking) { w.enter(t, "/quit") },
		"end of file": func(_ *testing.T, w *talking) { _ = w.keys.Close() },
		"interrupt":   func(_ *testing.T, w *talking) { w.interrupts <- os.Interrupt },
	} {
		t.Run(name, func(t *testing.T) {
			daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("Hello, too.") })
			daemon.AddMessage(pluginsdk.Message{
				ThreadID: clienttest.Primary, Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Content: "said before",
			})
			w := talk(t, daemon)
			w.out.await(t, "you> said before")
			w.enter(t, "hello")
			w.out.await(t, "Hello, too.\nyou> ")
			leave(t, w)
			w.leaves(t)
		})
	}
}

// What is shown twice looks as if it had been said twice, and a text that a
// plugin changed must not pass for the agent's own.
func TestChatShowsWhatAPluginChangedAndNothingTwice(t *testing.T) {
	out := newOutput()
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		written := "This is " + turn.Said + "."
		turn.Begin()
		turn.Deltas("This is ", turn.Said, ".")
		turn.Stream(pluginsdk.StreamEvent{Type: pluginsdk.StreamText, Text: written})
		out.await(t, written)
		switch turn.Said {
		case "signed":
			turn.Rewritten(written, written+"\n\n-- me")
		case "rewritten":
			turn.Rewritten(written, "This was it.")
		case "emptied":
			turn.Rewritten(written, "")
		default:
			turn.Reply(written)
		}
	})
	pipe(t, daemon, "unchanged\nsigned\nrewritten\nemptied\n", out)
	want := "you> unchanged\nThis is unchanged.\n" +
		"you> signed\nThis is signed.\n— added by a plugin at the end:\n-- me\n" +
		"you> rewritten\nThis is rewritten.\n— changed by a plugin before it was sent:\nThis was it.\n" +
		"you> emptied\nThis is emptied.\nThere is no reply.\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("shown:\n%s\nwant at its end:\n%s", out, want)
	}
}

// Who cannot stop a turn pays for all of it.
func TestChatInterruptsTheTurnAndStays(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		turn.Begin()
		turn.Deltas("I begin")
		<-turn.Cancelled
		turn.Fail(pluginsdk.RunCancelled, "Stopped.")
	})
	w := talk(t, daemon)
	w.out.await(t, "you> ")
	w.enter(t, "a long task")
	w.out.await(t, "I begin")
	w.interrupts <- os.Interrupt
	w.out.await(t, "Stopped.\nyou> ")
	w.enter(t, "/quit")
	w.leaves(t)
}

// Commands such as /stop are of use only while a turn runs.
func TestChatTakesLinesWhileATurnRuns(t *testing.T) {
	stop := make(chan struct{})
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		switch turn.Said {
		case "/stop":
			turn.Answer(pluginsdk.RunSucceeded, "Stopping.")
			close(stop)
		default:
			turn.Begin()
			turn.Deltas("Working")
			<-stop
			turn.Fail(pluginsdk.RunCancelled, "Stopped.")
		}
	})
	w := talk(t, daemon)
	w.out.await(t, "you> ")
	w.enter(t, "work")
	w.out.await(t, "Working")
	w.enter(t, "/stop")
	w.out.await(t, "Stopping.")
	w.out.await(t, "Stopped.")
	w.enter(t, "/quit")
	w.leaves(t)
}

func TestChatSaysWhatAMessageWaitsFor(t *testing.T) {
	first := make(chan struct{})
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		if turn.Said == "one" {
			<-first
			turn.Reply("First.")
			return
		}
		<-first
		turn.Begin()
		turn.Reply("Second.")
	})
	w := talk(t, daemon)
	w.out.await(t, "you> ")
	w.enter(t, "one")
	<-daemon.Watched()
	w.enter(t, "two")
	w.out.await(t, "(waiting: 1 before this one)")
	close(first)
	w.out.await(t, "First.")
	w.out.await(t, "Second.")
	w.enter(t, "/quit")
	w.leaves(t)
}

func TestChatGoesOnWhenTheDaemonRestarts(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("Here: " + turn.Said) })
	w := talk(t, daemon)
	w.enter(t, "before")
	w.out.await(t, "Here: before")
	daemon.Stop()
	w.out.await(t, "(the connection is lost")
	w.enter(t, "meanwhile")
	daemon.Start()
	w.out.await(t, "(connected again)")
	w.out.await(t, "Here: meanwhile")
	w.enter(t, "/quit")
	w.leaves(t)
}

// A thread has several doors: what comes in by another is part of it.
func TestChatShowsWhatIsSaidElsewhereInTheThread(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("Answer to " + turn.Said) })
	w := talk(t, daemon)
	w.enter(t, "mine")
	w.out.await(t, "Answer to mine")
	api, err := client.New(daemon.URL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Chat(t.Context(), client.ChatRequest{Content: "theirs", Source: "web", IdempotencyKey: "k"}); err != nil {
		t.Fatal(err)
	}
	w.out.await(t, "web> theirs")
	w.out.await(t, "Answer to theirs")
	if strings.Contains(w.out.String(), "cli> mine") {
		t.Errorf("its own message was shown as somebody else's:\n%s", w.out)
	}
	w.enter(t, "/quit")
	w.leaves(t)
}

func TestChatShowsWhyAMessageWasRefused(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	daemon.Refuse("the thread has 1000 messages waiting")
	w := talk(t, daemon)
	w.out.await(t, "you> ")
	w.enter(t, "one more")
	w.out.await(t, "✗ the thread has 1000 messages waiting\nyou> ")
	w.enter(t, "/quit")
	w.leaves(t)
}

// A script that pipes questions in expects them asked one after the other.
func TestChatSaysPipedLinesInTurn(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("Re: " + turn.Said) })
	out := newOutput()
	pipe(t, daemon, "one\n\ntwo", out)
	if want := "you> one\nRe: one\nyou> two\nRe: two\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("shown:\n%s\nwant at its end:\n%s", out, want)
	}
}

func TestChatNeedsADaemonToBegin(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	daemon.Stop()
	if err := <-talk(t, daemon).ended; err == nil || !strings.Contains(err.Error(), daemon.URL()) {
		t.Errorf("err = %v; want one that names the address", err)
	}
}
