package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// statusAfter is how long nobody needs to be told that something is under way.
	statusAfter = 2 * time.Second
	statusEvery = time.Second
)

// Status is a line on a terminal that says what is under way and for how long, and is gone
// when that is over. What else goes to the terminal meanwhile is written through it. Where
// there is no terminal nothing is shown.
type Status struct {
	out     io.Writer
	style   Style
	columns func() int // nil: there is no terminal
	stop    func()

	mu    sync.Mutex
	what  string
	far   string
	since time.Time // that it is so
	began time.Time
	shown bool
	held  bool
}

// NewStatus returns a Status on out, usually stderr, that begins with what, until Stop.
func NewStatus(out io.Writer, what string) *Status {
	s := &Status{out: out, style: StyleFor(out, os.LookupEnv), stop: func() {}}
	if os.Getenv("TERM") != "dumb" {
		s.columns = Columns(out)
	}
	s.Say(what, "")
	if s.columns == nil {
		return s
	}
	ticker, over, done := time.NewTicker(statusEvery), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case now := <-ticker.C:
				s.show(now)
			case <-over:
				return
			}
		}
	}()
	s.stop = sync.OnceFunc(func() {
		ticker.Stop()
		close(over)
		<-done
	})
	return s
}

// Say notes what is under way from now on (empty: what was), and how far it has come, if
// that can be said.
func (s *Status) Say(what, far string) { s.say(what, far, time.Now()) }

func (s *Status) say(what, far string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.what == "" {
		s.began = now
	}
	if what != "" && s.what != what {
		s.what, s.since = what, now
	}
	s.far = far
}

// Write writes to the terminal in the place of the line, which comes again after it.
func (s *Status) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return s.out.Write(text)
}

// Stop takes the line away for good. It may be called more than once.
func (s *Status) Stop() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

// Hold keeps the line away while something else has the terminal, such as a person who
// types.
func (s *Status) Hold(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.held = held
}

// clear takes the line away. The lock is held.
func (s *Status) clear() {
	if s.shown {
		_, _ = io.WriteString(s.out, "\r\x1b[2K") // a terminal that is gone has nobody to tell
	}
	s.shown = false
}

func (s *Status) show(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held || now.Sub(s.began) < statusAfter {
		return
	}
	took := " (" + Took(now.Sub(s.began)) + ")"
	if all := now.Sub(s.began); all-now.Sub(s.since) > statusEvery {
		took = fmt.Sprintf(" (%s, in all %s)", Took(now.Sub(s.since)), Took(all))
	}
	if s.far != "" {
		took = ", " + s.far + took
	}
	s.clear()
	line := Short(s.what, min(max(s.columns(), 40), detailLimit)-len(took)-1) + took
	_, _ = io.WriteString(s.out, s.style.Dim(line))
	s.shown = true
}

// Took says how long something took, in seconds, or in minutes and seconds.
func Took(span time.Duration) string {
	span = span.Round(time.Second)
	if span < time.Minute {
		return fmt.Sprintf("%d s", span/time.Second)
	}
	return fmt.Sprintf("%d min %d s", span/time.Minute, span%time.Minute/time.Second)
}

// Doing says what the agent is at by an event of its stream; empty: the event does not
// say.
func Doing(event pluginsdk.Event) string {
	stream := payload[pluginsdk.StreamPayload](event).Event
	switch stream.Type {
	case pluginsdk.StreamToolCall:
		return Short(stream.ToolName, detailLimit) + " is at work"
	case pluginsdk.StreamToolResult, pluginsdk.StreamThinking, pluginsdk.StreamThinkingDelta:
		return "the agent thinks"
	case pluginsdk.StreamTextDelta, pluginsdk.StreamText:
		return "the agent writes"
	case pluginsdk.StreamRetry, pluginsdk.StreamDenied:
	}
	return ""
}
