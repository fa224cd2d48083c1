package invoker

import (
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// Steer adds a person's message to the turn of a run. True means that the turn has it:
// the result of its Invoke covers the message, or is a failure. False means that nothing
// was sent: no turn of that run is under way, it has not begun to answer yet, it is over,
// or it is being stopped. Text that begins with a slash reaches the model as words and is
// no command to the CLI.
//
// The CLI gives the message to the model together with the next result of a tool. When
// none follows, because the model writes its last words, the model answers the message
// after them: Invoke goes on, and joins the texts by a blank line.
func (c *Claude) Steer(runID, text string) bool {
	if runID == "" || strings.TrimSpace(text) == "" {
		return false
	}
	return slices.ContainsFunc(c.pool.sessions(), func(s *session) bool { return s.steer(runID, text) })
}

// interjections are the messages that Steer has added to the running turn of a session.
// The lock ensures that a message is accepted either before the turn closes to messages,
// or not at all.
type interjections struct {
	mu    sync.Mutex
	runID string   // of the turn that accepts messages; empty: none does
	sent  []string // ids of the messages that the CLI has not begun to work on
}

// steer sends a message if the session's turn is of that run and accepts one.
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

// pending reports whether there are messages that the CLI has not begun to work on.
func (s *interjections) pending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent) > 0
}

// accept opens the turn of the run to messages.
func (s *interjections) accept(runID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runID = runID
}

// tryClose closes the turn to messages, and reports true, if the CLI has begun to work on
// all that were sent.
func (s *interjections) tryClose() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sent) > 0 {
		return false
	}
	s.runID = ""
	return true
}

// shut closes the turn to messages and returns those that the CLI has not begun to work
// on.
func (s *interjections) shut() (untaken []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runID = ""
	return slices.Clone(s.sent)
}

// taken notes that the CLI has begun to work on a message, or has dropped it. It reports
// whether the message was one of these.
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

// ended takes a result line. It ends the turn, unless there are messages of Steer that
// the CLI has not begun to work on: with those it goes on by itself, and another result
// follows. After an error it goes on as well, but then the turn has failed, and the end
// of its process cuts off the rest.
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

// began notes that the CLI has begun to work on the prompt or a message, and opens the
// turn to messages.
func (t *turn) began() {
	t.idle = false
	if t.interrupt == "" && t.result == nil {
		t.session.interjected.accept(t.runID)
	}
}

// took takes the CLI's echo of a line, which it writes when it begins to work on the
// line.
func (t *turn) took(id string) {
	if t.session.interjected.taken(id) {
		t.idle = false
	}
}

// withdraw takes back the messages that the CLI has not begun to work on. Otherwise they
// would start a turn of their own after the interrupted one.
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

// answeredControl takes the CLI's answer to one of our requests.
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

// uncovered reports whether Steer returned true for a message that the result does not
// cover.
func (t *turn) uncovered() bool {
	return t.withdrawn || len(t.session.interjected.shut()) > 0
}

// joined returns the answer: the texts of all results.
func (t *turn) joined() string { return strings.Join(t.texts, "\n\n") }
