package hostapi

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// line is who waits in turns, by a name for each turn.
type line struct {
	t     *testing.T
	turns *places
	asked []string
	turn  map[string]chan struct{}
}

func newLine(t *testing.T, places int) *line {
	return &line{t: t, turns: newPlaces("writes", places), turn: map[string]chan struct{}{}}
}

// ask asks for the plugin's n-th turn.
func (l *line) ask(plugin string, n int) {
	l.t.Helper()
	turn, err := l.turns.ask(plugin)
	if err != nil {
		l.t.Fatal(err)
	}
	name := fmt.Sprint(plugin, n)
	l.asked, l.turn[name] = append(l.asked, name), turn
}

// next says whose turn it is now that was not before.
func (l *line) next() (names string) {
	for _, name := range l.asked {
		select {
		case <-l.turn[name]:
			if l.turn[name] != nil {
				names += " " + name
				l.turn[name] = nil
			}
		default:
		}
	}
	return strings.TrimSpace(names)
}

// A plugin with many writes must not keep one with few waiting, and of one plugin
// none may overtake another.
func TestPluginsTakeTurnsAtTheWriter(t *testing.T) {
	l := newLine(t, 2)
	for n := range 6 {
		l.ask("greedy", n)
	}
	l.ask("a", 0)
	l.ask("a", 1)
	l.ask("b", 0)
	got := []string{l.next()}
	for range 8 {
		l.turns.release()
		got = append(got, l.next())
	}
	if want := "greedy0 greedy1, greedy2, a0, b0, greedy3, a1, greedy4, greedy5, "; strings.Join(got, ", ") != want {
		t.Errorf("turns: %s\nwant: %s", strings.Join(got, ", "), want)
	}
	l.turns.release()
	if l.turns.free != 2 || len(l.turns.waiting)+len(l.turns.order) > 0 {
		t.Errorf("left over: %+v", l.turns)
	}
}

// What nobody can wait for in time is refused at once, not piled up.
func TestOnlySoManyWritesOfAPluginWait(t *testing.T) {
	l := newLine(t, 1)
	for n := range 1 + maxWaiting {
		l.ask("greedy", n)
	}
	_, err := l.turns.ask("greedy")
	refused(t, "one more", err, pluginsdk.CodeExhausted, "waiting writes", "16", "greedy")
	l.ask("a", 0)
	l.turns.release()
	l.ask("greedy", 17)
}

// Who gives up waiting neither takes a place nor keeps one.
func TestWhoGivesUpKeepsNoPlace(t *testing.T) {
	l := newLine(t, 1)
	l.ask("a", 0)
	l.ask("b", 0)
	l.ask("c", 0)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	refused(t, "in the queue", l.turns.await(gone, "b", l.turn["b0"]), pluginsdk.CodeCancelled)
	delete(l.turn, "b0")
	if l.next(); len(l.turns.order) != 1 {
		t.Errorf("in the queue: %v", l.turns.order)
	}
	l.turns.release()
	if got := l.next(); got != "c0" {
		t.Errorf("next was %q", got)
	}
	// It comes in the very instant in which it is given up: it goes to the next.
	l.ask("d", 0)
	l.turns.leave("d", nil)
	l.ask("e", 0)
	refused(t, "when it came", l.turns.await(gone, "d", l.turn["d0"]), pluginsdk.CodeCancelled)
	if got := l.next(); got != "e0" {
		t.Errorf("next was %q", got)
	}

	late, end := context.WithTimeout(t.Context(), 0)
	defer end()
	l.ask("f", 0)
	refused(t, "at its deadline", l.turns.await(late, "f", l.turn["f0"]), pluginsdk.CodeDeadline)
	l.turns.release()
	if l.turns.free != 1 {
		t.Errorf("%d places are free", l.turns.free)
	}
}

// While plugins write as much as they can, people's messages and their stops wait
// for none of it.
func TestSubmitAndStopWaitForNoTurn(t *testing.T) {
	f := newFixture(pluginsdk.CapMessagesSubmit, pluginsdk.CapRunsControl)
	entered, end := make(chan struct{}), make(chan struct{})
	f.store.appended = func() { entered <- struct{}{}; <-end }
	done := make(chan error)
	for _, plugin := range []string{"p", "q"} {
		go func() {
			done <- second(f.api.For(plugin).Messages.Append(t.Context(), &pluginsdk.AppendMessagesRequest{ThreadID: "T", Messages: text}))
		}()
		<-entered
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	refused(t, "a third write", f.append(gone, "T", text...), pluginsdk.CodeCancelled)
	if _, err := f.Messages.Submit(t.Context(), &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{Content: "hello"}}); err != nil {
		t.Error(err)
	}
	if _, err := f.Runs.Stop(t.Context(), &pluginsdk.StopThreadRequest{ThreadID: "T", Queue: pluginsdk.KeepQueue}); err != nil {
		t.Error(err)
	}
	close(end)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	f.store.appended = nil
	if err := f.append(t.Context(), "T", text...); err != nil {
		t.Errorf("once they are done: %v", err)
	}
	if n := len(f.store.rows); n != 3 {
		t.Errorf("%d writes", n)
	}
}
