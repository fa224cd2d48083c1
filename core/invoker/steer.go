package invoker

import (
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// Steer puts a further message of a person into the turn of a run. True means
// that the Invoke of that turn has it: its result covers the message, or is a
// failure. False means that nothing was sent: no such turn runs, it has not begun
// to answer yet, it is over, or it is being stopped. Text that begins with a slash
// reaches the model as words and is no command to the CLI.
//
// Before a tool call's result is handed to the model, the message is taken into
// what the turn is doing. One that comes later, while the model writes its last
// words, is answered after them: Invoke goes on, and the texts are joined by a
// blank line.
func (c *Claude) Steer(runID, text string) bool {
	if runID == "" || strings.TrimSpace(text) == "" {
		return false
	}
	return slices.ContainsFunc(c.pool.sessions(), func(s *session) bool { return s.steer(runID, text) })
}

// interjections is what people put into the running turn of a session. Its lock
// makes the end of the turn and the acceptance of a message exclude each other.
type interjections struct {
	mu    sync.Mutex
	runID string   // of the turn that accepts messages; empty: none does
	sent  []string // ids of the messages that the CLI has not taken up yet
}

// steer sends a message if the turn of that run accepts one.
func (s *session) steer(runID, text string) bool {
	s.interjected.mu.Lock()
	defer s.interjected.mu.Unlock()
	if s.interjected.runID != runID {
		return false
	}
	id := uuid.NewString()
	if !s.process.send(steerLine(id, text)) {
		return false
	}
	s.interjected.sent = append(s.interjected.sent, id)
	return true
}

// pending reports whether there are messages that the CLI has not taken up.
func (s *interjections) pending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent) > 0
}

// accept lets messages in for the turn of that run.
func (s *interjections) accept(runID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runID = runID
}

// tryClose closes the turn to messages if the CLI has taken up all there were,
// and reports whether it has.
func (s *interjections) tryClose() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sent) > 0 {
		return false
	}
	s.runID = ""
	return true
}

// shut closes the turn to messages and returns those that the CLI has not
// taken up.
func (s *interjections) shut() (untaken []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runID = ""
	return slices.Clone(s.sent)
}

// taken says that the CLI has taken up a message, and reports whether it was
// one of these.
func (s *interjections) taken(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.sent)
	s.sent = slices.DeleteFunc(s.sent, func(one string) bool { return one == id })
	return len(s.sent) < before
}

// reset forgets the messages of a turn that is over.
func (s *interjections) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runID, s.sent = "", nil
}

// ended takes a result line. The turn is over with it unless people have put in
// messages that the CLI has not taken up: with those it goes on by itself, and
// another result follows. It does so after an error as well, but then the turn
// has failed, and what the CLI goes on with is cut off by the end of its process.
func (t *turn) ended(line resultLine) {
	t.count(line)
	t.idle = true
	switch {
	case line.IsError, t.interrupt != "":
		t.session.interjected.shut()
	case !t.session.interjected.tryClose():
		t.calls.last = false
		return
	}
	t.result = &line
}

// began takes the CLI's word that it has begun to work on something.
func (t *turn) began() {
	t.idle = false
	if t.interrupt == "" && t.result == nil {
		t.session.interjected.accept(t.runID)
	}
}

// took takes the CLI's echo of a line it was sent, which it writes when it takes
// the line up.
func (t *turn) took(id string) {
	if t.session.interjected.taken(id) {
		t.idle = false
	}
}

// withdraw takes back the messages that the CLI has not taken up. Left with it,
// they would start a turn by themselves after the interrupted one.
func (t *turn) withdraw() {
	for _, id := range t.session.interjected.shut() {
		request := uuid.NewString()
		if t.withdrawing == nil {
			t.withdrawing = map[string]string{}
		}
		t.withdrawing[request] = id
		t.session.process.send(withdrawLine(request, id))
	}
}

// answeredControl takes the CLI's answer to one of our own requests.
func (t *turn) answeredControl(response controlResponse) {
	request := response.Response.RequestID
	if request == t.interrupt {
		t.answered = true
	}
	if message, ok := t.withdrawing[request]; ok {
		delete(t.withdrawing, request)
		if response.Response.Response.Cancelled {
			t.session.interjected.taken(message)
			t.withdrawn = true
		}
	}
}

// uncovered reports whether people were told that the turn has a message that
// its result does not cover.
func (t *turn) uncovered() bool {
	return t.withdrawn || len(t.session.interjected.shut()) > 0
}

// joined is the answer: the texts of all results.
func (t *turn) joined() string { return strings.Join(t.texts, "\n\n") }
