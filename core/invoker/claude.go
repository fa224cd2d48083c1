package invoker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// Claude is the Claude Code CLI as an agent: one warm process for each conversation, and
// one for each turn in a fresh session, at most Config.MaxSessions at once. It is safe
// for concurrent use.
type Claude struct {
	config       Config
	pool         *pool
	watch        *toolWatch
	past         past
	unpriced     unpriced
	plans        plans
	repositories repositories

	mu       sync.Mutex
	running  bool
	stopping context.Context         // ends when Stop begins
	stop     context.CancelCauseFunc // ends stopping
	turns    sync.WaitGroup          // the calls of Invoke under way
	reaper   sync.WaitGroup          // the goroutines reap and keepMemory
	endings  sync.WaitGroup          // the goroutines that clear up after a process
	forker   *proc.Forker
	memory   *memory // nil without a budget, or without /proc

	startedOnce atomic.Bool // a process of the CLI was started
}

// New returns a Claude. The error names the field of config that is wrong. The CLI need
// not be installed yet: until it is, turns fail with FailureMissing.
func New(config Config) (*Claude, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Claude{config: config, pool: &pool{max: config.MaxSessions}, watch: newToolWatch(config)}, nil
}

// Start makes Invoke possible. It starts no process of the CLI.
func (c *Claude) Start(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running || c.stopping != nil {
		return errors.New("start the agent: it was started before")
	}
	if err := clearPrivate(c.config.Private); err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	c.forker = proc.NewForker()
	c.stopping, c.stop = context.WithCancelCause(context.Background())
	c.running = true
	c.memory = newMemory(c.config)
	if c.memory != nil {
		c.reaper.Go(c.keepMemory)
	}
	c.reaper.Go(c.reap)
	return nil
}

// Holds reports whether a living process of this thread has the session open, so that the
// next turn continues in it. It is false from the moment in which the process is chosen
// to be ended. A turn that begins after that waits until the process has ended, even if
// Holds was true before.
func (c *Claude) Holds(threadID, sessionID string) bool {
	return c.pool.holds(threadID, sessionID)
}

// Invoke runs one turn. It waits while all processes are busy. It calls emit, which may
// be nil, on this goroutine with what the agent does, in order. When ctx ends, it
// interrupts the turn and keeps the process; the cause of ctx is the failure's message. A
// turn that still ended with an answer returns the answer.
func (c *Claude) Invoke(ctx context.Context, request ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
	started := time.Now()
	result := c.invoke(ctx, request, emit)
	if result.SessionID == "" {
		result.SessionID = request.SessionID
	}
	result.Duration = time.Since(started)
	return result
}

func (c *Claude) invoke(ctx context.Context, request ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
	if !c.enter() {
		return pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{
			Kind: pluginsdk.FailureOther, Message: "the agent is not running", Retryable: true,
		}}
	}
	defer c.turns.Done()
	w, failure := c.config.settle(request)
	if failure == nil {
		failure = c.prepare(&w)
	}
	if failure != nil {
		return pluginsdk.InvokeResult{Failure: failure}
	}
	if emit == nil {
		emit = func(pluginsdk.StreamEvent) {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.stopping, func() { cancel(errStopping) })()

	at, err := c.pool.acquire(ctx, w)
	if err != nil {
		cancel(err)
		return pluginsdk.InvokeResult{Failure: stopped(ctx)}
	}
	defer c.memory.look() // runs after the release below
	defer c.pool.release(at)
	return c.turnAt(ctx, at, w, turn{prompt: request.Prompt, files: request.Files, schema: request.JSONSchema, emit: emit, asking: newAsking(request.Ask)})
}

func (c *Claude) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		c.turns.Add(1)
	}
	return c.running
}

// turnAt runs a turn in a place: in the session that is there if it fits, else in a new
// process, after the old one has ended.
func (c *Claude) turnAt(ctx context.Context, at *place, w want, t turn) pluginsdk.InvokeResult {
	if failure := c.prepare(&w); failure != nil { // it may have waited for the place
		return pluginsdk.InvokeResult{Failure: failure}
	}
	if s := at.session; s.fits(w) && (!s.keepsTools || s.tools.Keeps(w.runID)) {
		return c.turn(ctx, at, s, s.open(), w, t)
	}
	resume := w.resume
	if old := at.session; old != nil {
		// The CLI refuses to begin a session that exists; this one can only be resumed.
		resume = resume || (old.id == w.session && old.turns > 0)
		c.endSession(at, w.session)
	}
	if ctx.Err() != nil {
		return pluginsdk.InvokeResult{Failure: stopped(ctx)}
	}
	result, again := c.firstTurn(ctx, at, w, resume, t)
	if again {
		c.config.Log.Info("the session exists already; resuming it", "session", w.session)
		result, _ = c.firstTurn(ctx, at, w, true, t)
	}
	return result
}

// firstTurn starts a process and runs a turn in it. again says that the turn did not
// begin because the session, which was to be new, exists.
func (c *Claude) firstTurn(ctx context.Context, at *place, w want, resume bool, t turn) (result pluginsdk.InvokeResult, again bool) {
	started, err := c.admit(ctx)
	if err != nil {
		return pluginsdk.InvokeResult{Failure: stopped(ctx)}, false
	}
	s, in, failure := c.startSession(w, resume)
	if failure != nil {
		started()
		return pluginsdk.InvokeResult{Failure: failure}, false
	}
	c.pool.seat(at, s)
	started()
	result = c.turn(ctx, at, s, in, w, t)
	return result, !resume && !w.fresh && result.Failure != nil && s.process.gone() && saysInUse(s.process)
}

// turn runs a turn in a session, and keeps or ends the process as the end of the turn
// requires.
func (c *Claude) turn(ctx context.Context, at *place, s *session, in *turnLines, w want, t turn) (result pluginsdk.InvokeResult) {
	s.threadID, s.key = w.threadID, w.key
	s.agents.Store(0)
	t.session, t.config, t.tools = s, &c.config, map[string]string{}
	t.runID, t.capUSD, t.topUp, t.limit = w.runID, w.capUSD, w.topUp, w.limit
	t.calls.pricing = pricing{c.config.Prices.Table(), time.Now()}
	waited := false
	t.waiting = func(waits bool) {
		switch {
		case waits == waited || w.fresh: // a fresh session cannot go on elsewhere
		case waits:
			c.pool.asks(at, t.asking.park)
		default:
			c.pool.asksNothing(at)
		}
		waited = waits
	}
	t.offered, t.news = s.tools.Begin(w.runID)
	t.news = t.news || s.turns == 0 && len(t.offered) > 0
	after := discard // stays so if emit panics
	defer func() {
		c.pool.asksNothing(at)
		s.tools.End()
		s.close(in)
		s.grown.Store(true)
		if after == keep && (w.key == "" || t.outdated) {
			after = retire // without a key no later turn finds the process
		}
		switch after {
		case retire:
			c.endSession(at, "")
		case discard:
			c.pool.dismiss(at)
			s.process.terminate(c.config.CloseGrace)
			c.pool.clear(at)
			addLastWords(result.Failure, s.process)
		case cut:
			c.pool.dismiss(at)
			s.process.cut(c.config.CloseGrace)
			c.pool.clear(at)
		case keep:
			s.askUsage(time.Now())
		}
	}()
	result, after = t.run(ctx, in)
	t.tellUnpriced()
	return result
}

// Stop ends everything: it interrupts the turns under way, which fail as retryable, fails
// those that wait, and ends the processes cleanly, in parallel. When ctx ends first, it
// kills the rest and returns an error.
func (c *Claude) Stop(ctx context.Context) error {
	c.mu.Lock()
	wasRunning := c.running
	c.running = false
	c.mu.Unlock()
	if !wasRunning {
		return nil
	}
	c.pool.close()
	c.stop(errStopping)

	done := make(chan struct{})
	go func() {
		defer close(done)
		c.reaper.Wait()
		c.turns.Wait()
		c.endPlaces(c.pool.takeIdle(time.Now()))
		c.endings.Wait()
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("stop the agent: %w; its processes were killed", context.Cause(ctx))
		c.killAll()
	}
	c.forker.Close()
	return err
}

func (c *Claude) killAll() {
	var killed sync.WaitGroup
	for _, s := range c.pool.sessions() {
		killed.Go(func() {
			s.process.kill()
			s.process.waitExit(killTime)
		})
	}
	killed.Wait()
}
