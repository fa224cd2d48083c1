package invoker

import (
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// session is one CLI process with a conversation in it. Turns are run in it
// one at a time; the pool sees to that.
type session struct {
	options
	log     *slog.Logger
	process *process
	tools   ToolSession
	watch   *toolWatch

	// Of the turns, and so touched by one goroutine at a time.
	threadID string // of the last turn
	key      string // of the last turn
	id       string // the session's id, as the last result had it
	turns    int    // turns that ended with a result
	spentUSD float64
	tokens   pluginsdk.Usage // of all models, over the process's life

	steering steering
	grown    atomic.Bool // a turn has ended in it

	mu    sync.Mutex
	inbox *inbox // of the running turn; nil between turns
	// quiet is closed when the CLI is not in a turn of its own making: one
	// that it starts between ours, when something it ran in the background
	// ends. nil while there is none.
	quiet chan struct{}
}

// inbox is where a turn gets its lines.
type inbox struct {
	lines chan []byte
	done  chan struct{} // closed when the turn takes no more
}

// open gives the lines that come from now on to a turn.
func (s *session) open() *inbox {
	in := &inbox{lines: make(chan []byte), done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inbox = in
	return in
}

// close ends what open began.
func (s *session) close(in *inbox) {
	s.steering.reset()
	s.mu.Lock()
	s.inbox = nil
	s.mu.Unlock()
	close(in.done)
}

// deliver is called with every line of the process, on its reader's goroutine.
func (s *session) deliver(line []byte) {
	s.mu.Lock()
	in := s.inbox
	s.mu.Unlock()
	if in != nil {
		select {
		case in.lines <- line:
			return
		case <-in.done:
		}
	}
	s.between(line)
}

// between takes a line that comes while no turn runs. The CLI may start a turn
// by itself; nobody is there for what it says, but what it asks is answered.
func (s *session) between(line []byte) {
	var h head
	if json.Unmarshal(line, &h) != nil {
		return
	}
	switch h.Type {
	case "system":
		if h.Subtype == "init" { // begins every turn
			s.stir()
		}
	case "assistant", "stream_event":
		s.stir()
	case "result":
		s.settleDown()
	case "control_request":
		var request controlRequest
		if json.Unmarshal(line, &request) == nil {
			s.answer(request)
		}
	}
}

func (s *session) stir() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet == nil {
		s.quiet = make(chan struct{})
		s.log.Info("the agent goes on by itself between turns")
	}
}

func (s *session) settleDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet != nil {
		close(s.quiet)
		s.quiet = nil
	}
}

// busyWithItself returns a channel that is closed when the turn that the CLI
// started by itself is over; nil when there is none.
func (s *session) busyWithItself() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quiet
}

// answer answers a control request and reports whether a tool was denied, with
// the words for it.
func (s *session) answer(request controlRequest) (denied string, isDenied bool) {
	ask := request.Request
	if ask.Subtype != "can_use_tool" {
		s.process.send(refuseLine(request.RequestID, ask.Subtype))
		return "", false
	}
	words := denial(ask.ToolName)
	switch {
	case ask.DecisionReasonType == saysSafetyCheck:
		words = denialOfSafetyCheck(ask.DecisionReason)
	case allowedBy(lines(s.disallowed), ask.ToolName, ask.Input): // a rule that forbids wins
	case allowedBy(s.rules(), ask.ToolName, ask.Input):
		s.process.send(allowLine(request.RequestID, ask.Input))
		return "", false
	}
	s.process.send(denyLine(request.RequestID, words))
	return words, true
}

// alive reports whether the process has not ended.
func (s *session) alive() bool { return s != nil && !s.process.gone() }

// fits reports whether the process can take a turn of these options.
func (s *session) fits(w want) bool {
	return s.alive() && !w.fresh && w.session != "" && s.id == w.session && s.options == w.options
}
