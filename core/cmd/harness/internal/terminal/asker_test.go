package terminal

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// sent is a message whose answer somebody waits for, with an Asker beside it.
func sent(t *testing.T, daemon *clienttest.Daemon, asker *Asker, out *output) <-chan string {
	t.Helper()
	api, err := client.New(daemon.URL())
	if err != nil {
		t.Fatal(err)
	}
	asker.Client, asker.Screen = api, NewScreen(out, Style{}, nil)
	asker.Start(t.Context())
	reply := make(chan string, 1)
	go func() {
		defer close(reply)
		ending, err := api.Ask(t.Context(), clienttest.Primary, "go", client.Waiting{Look: asker.Look, Event: asker.Heed})
		asker.Stop()
		if err == nil && len(ending.Texts()) > 0 {
			reply <- ending.Texts()[0].Content
		}
	}()
	return reply
}

// Who waits for an answer is asked in between, and what they type before or afterwards is
// for what comes next in their terminal.
func TestWhoWaitsForAnAnswerIsAsked(t *testing.T) {
	daemon, out := asking(t, toolQuestion), newOutput()
	in, keys := io.Pipe()
	enter := func(line string) {
		if _, err := io.WriteString(keys, line+"\n"); err != nil {
			t.Error(err)
		}
	}
	holds := make(chan bool, 16)
	reply := sent(t, daemon, &Asker{In: in, Hold: func(shown bool) { holds <- shown }}, out)
	out.await(t, "3. Deny\n1-3, y, n WORDS, /later> ")
	enter("/status")
	out.await(t, "(only answers are taken here, and “/status” was not sent; harness chat is for talking)\n1-3, y,")
	daemon.LoseDecisions(1)
	enter("y")
	out.await(t, "✗ the connection to the database was lost; answer again\n1-3, y,")
	enter("y")
	out.await(t, "(allowed)\n")
	if got := <-reply; got != "It was allowed." {
		t.Errorf("got %q", got)
	}
	answers(t, daemon, `{"choice":"allow"}`)
	close(holds)
	var held []bool
	for shown := range holds {
		held = append(held, shown)
	}
	if held = slices.Compact(held); !slices.Equal(held[max(0, len(held)-2):], []bool{true, false}) {
		t.Errorf("held: %v", held)
	}
}

func TestNothingIsReadWhileNothingIsAsked(t *testing.T) {
	daemon, out := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("done") }), newOutput()
	in, keys := io.Pipe()
	go func() { _, _ = io.WriteString(keys, "ls\n") }()
	if got := <-sent(t, daemon, &Asker{In: in}, out); got != "done" {
		t.Errorf("got %q", got)
	}
	rest := make([]byte, 3)
	if _, err := io.ReadFull(in, rest); err != nil || string(rest) != "ls\n" {
		t.Errorf("left is %q, %v", rest, err)
	}
}

// Where nobody can answer it is said who can, and the run goes on when they have.
func TestWhatIsAskedElsewhereIsTold(t *testing.T) {
	for name, asker := range map[string]*Asker{"no terminal": {}, "its end": {In: strings.NewReader("")}} {
		t.Run(name, func(t *testing.T) {
			out := newOutput()
			daemon := clienttest.New(t, func(turn *clienttest.Turn) {
				asked := turn.Ask(toolQuestion)
				out.await(t, "allowed by Bob")
				turn.Reply("It was " + string(asked.State) + ".")
			})
			reply := sent(t, daemon, asker, out)
			out.await(t, "harness approvals show A")
			daemon.EndApproval("A", pluginsdk.ApprovalAllowed, "Bob")
			if got := <-reply; got != "It was allowed." {
				t.Errorf("got %q", got)
			}
			answers(t, daemon)
		})
	}
}

func TestAnAskerEnds(t *testing.T) {
	daemon, out := asking(t, toolQuestion), newOutput()
	ctx, cancel := context.WithCancel(t.Context())
	api, err := client.New(daemon.URL())
	if err != nil {
		t.Fatal(err)
	}
	in, _ := io.Pipe()
	asker := &Asker{Client: api, Screen: NewScreen(out, Style{}, nil), In: in}
	asker.Start(ctx)
	daemon.AddApproval(pluginsdk.Approval{ID: "X", RunID: "R", Title: "x"})
	asker.Look("R")
	out.await(t, "/later> ")
	cancel()
	asker.Look("R") // nobody is there to look
	asker.Stop()
	if !slices.Equal(daemon.Answered(), nil) {
		t.Errorf("answered %q", daemon.Answered())
	}
}
