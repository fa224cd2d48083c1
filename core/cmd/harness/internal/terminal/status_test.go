package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who waits for long sees that there is something to wait for, and later that nothing is
// left of it between the lines.
func TestAStatusIsShownOnATerminalAndGoneAfterwards(t *testing.T) {
	var out bytes.Buffer
	began := time.Now()
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	s := &Status{out: &out, columns: func() int { return 60 }, stop: func() {}}
	s.say("waiting for the agent", "", began)
	s.show(at(1))
	if out.Len() != 0 {
		t.Errorf("after a second: %q", &out)
	}
	s.show(at(2))
	s.say("Bash is at work", "", at(3))
	s.say("", "", at(4))
	s.show(at(75))
	fmt.Fprintln(s, "attempt 1 failed")
	s.say(strings.Repeat("long ", 40), "12 MiB", at(75))
	s.show(at(76))
	s.Stop()
	const clear = "\r\x1b[2K"
	want := "waiting for the agent (2 s)" + clear + "Bash is at work (1 min 12 s, in all 1 min 15 s)" + clear + "attempt 1 failed\n" +
		"long long long long long…, 12 MiB (1 s, in all 1 min 16 s)" + clear
	if out.String() != want {
		t.Errorf("\n%q, want\n%q", &out, want)
	}
}

// What goes into a pipe or a file is for programs.
func TestAStatusIsNotShownElsewhere(t *testing.T) {
	var out bytes.Buffer
	s := NewStatus(&out, "waiting for the agent")
	fmt.Fprintln(s, "attempt 1 failed")
	s.Stop()
	s.Stop()
	if out.String() != "attempt 1 failed\n" {
		t.Errorf("%q", &out)
	}
}

// A tool that is at work for minutes looks like a chat that hangs.
func TestChatSaysWhatATurnIsAtThatIsSilent(t *testing.T) {
	goOn := make(chan struct{})
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		turn.Begin()
		turn.Stream(pluginsdk.StreamEvent{Type: pluginsdk.StreamToolCall, ToolName: "Bash", ToolUseID: "1"})
		<-goOn
		turn.Answer(pluginsdk.RunSucceeded, "Done.")
	})
	ticks := make(chan time.Time)
	w := talkTo(t, daemon, ticks)
	w.out.await(t, "you> ")
	w.enter(t, "build it")
	w.out.await(t, "· Bash")
	for _, after := range []time.Duration{5, 11, 15, 25, 70} {
		ticks <- time.Now().Add(after * time.Second)
	}
	w.out.await(t, "· Bash is at work (1 min 10 s)\n")
	close(goOn)
	w.out.await(t, "Done.\nyou> ")
	if got := strings.Count(w.out.String(), "is at work"); got != 3 {
		t.Errorf("it was said %d times:\n%s", got, w.out)
	}
	w.enter(t, "/quit")
	w.leaves(t)
}
