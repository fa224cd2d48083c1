package invoker

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

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

	interjected interjections
	grown       atomic.Bool // a turn has ended in it

	mu    sync.Mutex
	lines *turnLines // of the running turn; nil between turns
	// quiet is closed when the CLI is not in a turn of its own making: one
	// that it starts between ours, when something it ran in the background
	// ends. nil while there is none.
	quiet chan struct{}
}

// turnLines is where a turn gets its lines.
type turnLines struct {
	lines chan []byte
	done  chan struct{} // closed when the turn takes no more
}

// open gives the lines that come from now on to a turn.
func (s *session) open() *turnLines {
	in := &turnLines{lines: make(chan []byte), done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = in
	return in
}

// close ends what open began.
func (s *session) close(in *turnLines) {
	s.interjected.reset()
	s.mu.Lock()
	s.lines = nil
	s.mu.Unlock()
	close(in.done)
}

// deliver is called with every line of the process, on its reader's goroutine.
func (s *session) deliver(line []byte) {
	s.mu.Lock()
	in := s.lines
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

// How sessions begin and end.

// startSession starts a process for what is wanted. The binary is looked up each
// time: after an upgrade of the CLI the next process is of the new one, while
// those that run go on as they are. The inbox has its lines
// from the first one on.
func (c *Claude) startSession(w want, resume bool) (*session, *turnLines, *pluginsdk.Failure) {
	path, err := c.config.lookPath()
	if err != nil {
		return nil, nil, c.cannotStart(err)
	}
	if info, err := os.Stat(w.cwd); err != nil || !info.IsDir() {
		return nil, nil, otherFailure(fmt.Errorf("the working directory %s is not there", w.cwd))
	}
	id := w.session
	if id == "" {
		id = uuid.NewString()
	}
	environment, settings, err := c.config.environment()
	if err != nil {
		failure := otherFailure(err)
		failure.Retryable = true // perhaps somebody is just writing them
		return nil, nil, failure
	}
	tools, servers, err := c.openTools()
	if err != nil {
		return nil, nil, otherFailure(err)
	}
	files, err := c.writePrivate(map[privateFile][]byte{
		privateMCP: servers, privateSettings: settings, privatePrompt: c.prompt(w),
	})
	if err != nil {
		tools.Close()
		return nil, nil, otherFailure(err)
	}
	s := &session{
		options: w.options,
		id:      id,
		tools:   tools,
		watch:   c.watch,
		log:     c.config.Log.With("thread", w.threadID, "session", id),
	}
	in := s.open()
	s.process, err = startProcess(command{
		path: path,
		args: w.arguments(id, resume, files),
		env:  environment,
		dir:  w.cwd,
		line: s.deliver,
		max:  c.config.maxLine,
		log:  s.log,
	}, c.forker)
	if err != nil {
		tools.Close()
		c.removePrivate(files)
		return nil, nil, c.cannotStart(err)
	}
	c.startedOnce.Store(true)
	s.log.Debug("agent process started", "pid", s.process.cmd.Process.Pid, "resume", resume)
	c.endings.Go(func() {
		<-s.process.exited
		tools.Close()
		c.removePrivate(files)
		c.pool.drop(s)
	})
	return s, in, nil
}

// prompt is what a process's system prompt has after the CLI's own: the manual of
// the working directory, and then, as it is nearer, what the request adds.
func (c *Claude) prompt(w want) []byte {
	manual, err := readManual(w.cwd)
	if err != nil {
		c.config.Log.Warn("the agent does not get all that the working directory has to tell it", "err", err)
	}
	return []byte(manual + w.appendPrompt)
}

// cannotStart is the failure of a turn whose process could not be started. A CLI
// that could be before is probably being upgraded.
func (c *Claude) cannotStart(err error) *pluginsdk.Failure {
	failure := failureOfStart(c.config.Binary, err)
	failure.Retryable = c.startedOnce.Load()
	return failure
}

// endSession ends the session in a place that the caller has taken. next is the
// session that goes on in the place.
func (c *Claude) endSession(at *place, next string) {
	s := at.session
	c.pool.dismiss(at)
	how := s.process.end(c.config.CloseGrace)
	s.log.Debug("agent process ended", "clean", how == endedClean)
	if how == endedClean && s.turns > 0 && !s.fresh && s.id != next && !c.pool.wanted(s.id) {
		c.config.OnClosed(s.threadID, s.id)
	}
	c.pool.clear(at) // not before OnClosed: the session would be open again
}

// endPlaces ends the sessions in places that the caller has taken, in parallel,
// and gives the places back.
func (c *Claude) endPlaces(places []*place) {
	var ending sync.WaitGroup
	for _, at := range places {
		ending.Go(func() {
			defer c.pool.release(at)
			c.endSession(at, "")
		})
	}
	ending.Wait()
}

// reap ends idle sessions until Stop.
func (c *Claude) reap() {
	ticker := time.NewTicker(max(c.config.IdleTimeout/8, time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-c.stopping.Done():
			return
		case now := <-ticker.C:
			c.reapOnce(now)
			c.memory.look()
		}
	}
}

// reapOnce ends the sessions that have been idle for IdleTimeout at now.
func (c *Claude) reapOnce(now time.Time) {
	c.endPlaces(c.pool.takeIdle(now.Add(-c.config.IdleTimeout)))
}

// saysInUse reports whether a process that has ended refused to begin a session
// because it exists.
func saysInUse(p *process) bool {
	said := p.stderr.String()
	return strings.Contains(said, "Session ID") && strings.Contains(said, saysSessionInUse)
}
