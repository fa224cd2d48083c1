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

	"github.com/seed-706843ae/harness/core/invoker/cli"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// session is one CLI process with a conversation in it. It runs one turn at a time, which
// the pool ensures.
type session struct {
	options
	log     *slog.Logger
	process *process
	tools   ToolSession
	watch   *toolWatch

	// Only the goroutine that has taken the place uses these.
	threadID string // of the last turn
	key      string // of the last turn
	id       string // the session's id, as in the last result
	turns    int    // turns that ended with a result
	mode     string // the permission mode that the process is in; empty: that of the options
	account  Account
	plan     *plans // of all sessions
	onPlan   func(account string, windows []pluginsdk.PlanWindow)
	// subscribed says that the session authenticates with the login of a subscription.
	subscribed bool
	version    string // of the CLI
	// keepsTools: see cli.Features.
	keepsTools bool
	toolAsked  func(threadID string, apart bool, tool string, input json.RawMessage) bool // Config.ToolAsked
	meant      []pluginsdk.AgentRule                                                      // that the process was given
	servers    bool                                                                       // it has MCP servers beside that of the plugins' tools
	// agents is how many sub-agents the turn has started unasked, agentsMost how many it may.
	agents       atomic.Int32
	agentsMost   int
	guard        Guard // nil: nothing is looked at
	guarded      bool  // the process asks the guard's hook
	results      atomic.Value
	repositories *repositories // of all sessions
	resumed      bool          // the process continues a session
	totals       bill          // as in the last result line
	past         *past         // the totals of sessions in earlier processes
	unpriced     *unpriced     // of all sessions

	interjected interjections
	grown       atomic.Bool // a turn has ended in the session; see Claude.used

	mu    sync.Mutex
	lines *turnLines // of the running turn; nil between turns
	// unbilled is what turns have cost that the CLI began by itself, between ours; the next
	// turn pays for them. Only where the CLI tells what has come since its last result line.
	unbilled bill
	usageID  string // of the last request for the windows of the plan
	// quiet is closed at the end of a turn that the CLI began by itself, between ours,
	// because something that it ran in the background has ended. nil: there is no such
	// turn.
	quiet chan struct{}
}

// turnLines carries the process's lines to the running turn.
type turnLines struct {
	lines chan []byte
	done  chan struct{} // closed when the turn takes no more lines
}

// open sends the lines from now on to a turn.
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

// deliver passes on each line of the process, to the running turn or to between. The
// goroutine that reads the process's stdout calls it.
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

// between handles a line that comes while no turn runs. The CLI may begin a turn by
// itself: nobody reads its words, but its requests are answered.
func (s *session) between(line []byte) {
	var h head
	if json.Unmarshal(line, &h) != nil {
		return
	}
	switch h.Type {
	case "system":
		if h.Subtype == "init" { // every turn begins with it
			s.stir()
		}
	case "assistant", "stream_event":
		s.stir()
	case "result":
		var result resultLine
		if json.Unmarshal(line, &result) == nil {
			s.leaveUnbilled(result.SinceLast.bill())
		}
		s.settleDown()
	case "control_response":
		s.tookUsage(line)
	case "rate_limit_event":
		var told rateLimitLine
		if json.Unmarshal(line, &told) != nil {
			return
		}
		if windows, _ := told.windows(""); len(windows) > 0 {
			s.tellPlan(windows)
		}
	case "control_request":
		var request controlRequest
		if json.Unmarshal(line, &request) == nil {
			s.answer(request, true)
		}
	}
}

// leaveUnbilled leaves what a turn of the CLI's own has cost to the next turn.
func (s *session) leaveUnbilled(cost bill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unbilled.addAll(cost)
}

func (s *session) takeUnbilled() bill {
	s.mu.Lock()
	defer s.mu.Unlock()
	cost := s.unbilled
	s.unbilled = nil
	return cost
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

// busyWithItself returns a channel that is closed when the turn that the CLI began by
// itself is over; nil: there is none.
func (s *session) busyWithItself() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quiet
}

// answer answers a control request by the rules of operators: it allows the call of a
// tool, or denies it with words, which it returns. Where no rule decides, alone says that
// nobody can be asked, and the call is denied; else it is not decided.
func (s *session) answer(request controlRequest, alone bool) (denied string, decided bool) {
	ask := request.Request
	if ask.Subtype == "hook_callback" && s.guard != nil {
		s.look(request)
		return "", true
	}
	if ask.Subtype != "can_use_tool" {
		s.process.send(refuseLine(request.RequestID, ask.Subtype))
		return "", true
	}
	words := denial(ask.ToolName)
	rules := s.rules()
	if s.asksAbout(request) {
		rules = operators(rules)
	}
	switch guarded := request.guarded(); {
	case allowedBy(lines(s.disallowed), ask.ToolName, ask.Input): // a rule that denies wins
	case !guarded && allowedBy(request.speakOf(rules), ask.ToolName, ask.Input) && s.objection(ask.ToolName, ask.Input) == "", startsSubAgent(ask.ToolName) && (s.agentsAllowed() || s.mayStartAgent()):
		s.process.send(allowLine(request.RequestID, ask.Input))
		return "", true
	case !alone:
		return "", false
	case startsSubAgent(ask.ToolName):
		words = denialOfAgent(s.agentsMost)
	case ask.DecisionReasonType == saysSafetyCheck:
		words = denialOfSafetyCheck(ask.DecisionReason)
	}
	s.process.send(denyLine(request.RequestID, words))
	return words, true
}

// alive reports whether there is a process that has not exited.
func (s *session) alive() bool { return s != nil && !s.process.gone() }

// fits reports whether the process can run a turn with these options in its session.
func (s *session) fits(w want) bool {
	if !s.alive() {
		return false
	}
	has := s.options
	if w.binary == (cli.Binary{}) {
		has.binary = w.binary
	}
	return !w.fresh && w.session != "" && s.id == w.session && has == w.options
}

// How sessions begin and end.

// startSession starts a process for a turn. It looks the binary up each time: after an
// upgrade of the CLI the next process runs the new one. The turnLines get every line from
// the first one on.
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
	if failure := c.prepare(&w); failure != nil {
		return nil, nil, failure
	}
	if w.brief.cut != nil {
		c.config.Log.Warn("the agent does not get all that the working directory has to tell it", "err", w.brief.cut)
	}
	features, failure := c.features(w.binary, path, w.brief.environ)
	if failure != nil {
		return nil, nil, failure
	}
	tools, servers, err := c.openTools()
	if err != nil {
		return nil, nil, otherFailure(err)
	}
	files, err := c.writePrivate(map[privateFile][]byte{
		privateMCP: servers, privateSettings: w.brief.settings, privatePrompt: w.brief.prompt,
	})
	if err != nil {
		tools.Close()
		return nil, nil, otherFailure(err)
	}
	s := &session{
		options:      w.options,
		id:           id,
		version:      features.Version,
		keepsTools:   features.KeepsTools,
		meant:        c.config.meant(w.options, w.brief.settings),
		servers:      len(c.config.MCPConfig) > 0,
		agentsMost:   max(0, c.config.SubAgents),
		resumed:      resume,
		account:      w.account,
		plan:         &c.plans,
		subscribed:   subscribed(w.brief.environ),
		onPlan:       c.config.OnPlan,
		past:         &c.past,
		unpriced:     &c.unpriced,
		threadID:     w.threadID,
		toolAsked:    c.config.ToolAsked,
		guard:        c.config.Guard,
		repositories: &c.repositories,
		tools:        tools,
		watch:        c.watch,
		log:          c.config.Log.With("thread", w.threadID, "session", id),
	}
	in := s.open()
	s.process, err = startProcess(command{
		path: path,
		args: w.arguments(id, resume, files, features),
		env:  w.brief.environ,
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

// cannotStart is the failure of a turn whose process could not be started. It is
// retryable when the CLI could be started before: it is probably being upgraded.
func (c *Claude) cannotStart(err error) *pluginsdk.Failure {
	failure := failureOfStart(c.config.Binary, err)
	failure.Retryable = c.startedOnce.Load()
	return failure
}

// endSession ends the session in a place that the caller has taken. next is the session
// that the place will have; empty: none.
func (c *Claude) endSession(at *place, next string) {
	s := at.session
	c.pool.dismiss(at)
	how := s.process.end(c.config.CloseGrace)
	s.log.Debug("agent process ended", "clean", how == endedClean)
	if how == endedClean && s.turns > 0 && !s.fresh && s.id != next && !c.pool.wanted(s.id) {
		c.config.OnClosed(s.threadID, s.id)
	}
	c.pool.clear(at) // after OnClosed: before, a waiter could open the session again
}

// endPlaces ends the sessions in places that the caller has taken, in parallel, and gives
// the places back.
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

// saysInUse reports whether a process ended because the session that it was to begin
// exists.
func saysInUse(p *process) bool {
	said := p.stderr.String()
	return strings.Contains(said, "Session ID") && strings.Contains(said, saysSessionInUse)
}
