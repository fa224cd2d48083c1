package invoker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// toolPatience is how many times longer the CLI may be silent while a tool runs: it
// writes nothing until the tool is done, and a build may take long.
const toolPatience = 3

// turn is one turn in a session, while it runs.
type turn struct {
	session *session
	config  *Config
	emit    func(pluginsdk.StreamEvent)
	prompt  string
	files   []ledger.AgentFile // that came with the prompt
	runID   string
	schema  json.RawMessage                            // of the structured output; empty: none is wanted
	capUSD  float64                                    // 0: none
	topUp   func(ctx context.Context) (capUSD float64) // nil: the cap stays, or there is no more
	topping chan float64                               // gets the cap from then on; nil: nobody is asked for it
	limit   time.Duration                              // the longest that it may take
	offered []string                                   // the plugins' tools, sorted
	waiting func(bool)                                 // told whether the turn waits for people
	news    bool                                       // the CLI may not know the offered tools yet

	model         string
	textBytes     int
	thinkingBytes int
	tools         map[string]string          // id -> name of the tools that have no result yet
	agentsAsked   int                        // for how many sub-agents people were asked
	plans         map[string]json.RawMessage // tool use id -> input of the calls of planTool
	apiError      string                     // the CLI's name for an API error
	retryDelay    time.Duration              // until the CLI repeats a failed API call
	result        *resultLine                // the line that ended the turn; nil: none yet

	// Of the result lines so far. There is one, and one more each time the CLI goes on
	// with messages of Steer.
	texts  []string
	output json.RawMessage // structured
	cost   paid
	idle   bool // the CLI has begun nothing since the last result

	calls    calls
	unpriced []string // the models without a price that no turn before has used
	asking   *asking

	begun       bool                  // the CLI has begun the turn, and may have called the API
	interrupt   string                // request id of our interrupt; empty: none was sent
	capped      bool                  // the turn is being interrupted at its cap
	usedUp      *pluginsdk.PlanWindow // does not let the turn through; nil: none was told
	unpaid      bool                  // the turn is being interrupted: nobody has allowed what it costs beyond the plan
	notional    bool                  // the account has a plan
	billed      bool                  // what the turn costs beyond the plan is paid for
	leftOut     bool                  // the CLI left the schema out, so the turn is of no use
	broken      *pluginsdk.Failure    // the turn is being interrupted: its session is not safe
	outdated    bool                  // the process was started as one of another version of the CLI
	refused     *refusal              // by the model's safeguards
	answered    bool                  // the CLI has answered the interrupt
	withdrawing map[string]string     // request id -> message that is being taken back
	withdrawn   bool                  // a message was taken back
}

// verdict says what happens to the process after a turn.
type verdict int

const (
	keep    verdict = iota // the process takes the next turn
	retire                 // the process is ended as if it were idle
	discard                // the process is ended: its state is unknown, or it is gone
	cut                    // the process is ended in the middle of a question
)

// run runs the turn and returns its result, and what happens to the process. in must have
// been opened before the process's first line.
func (t *turn) run(ctx context.Context, in *turnLines) (pluginsdk.InvokeResult, verdict) {
	if ctx.Err() != nil {
		return t.failed(stopped(ctx)), keep
	}
	if failure := t.awaitQuiet(ctx, in); failure != nil {
		return t.failed(failure), discard
	}
	if failure := t.beginGuard(ctx, in); failure != nil {
		return t.failed(failure), discard
	}
	t.awaitTools(ctx, in)
	if failure := t.examine(ctx, in); failure != nil {
		return t.failed(failure), discard
	}
	if failure := t.beginIn(ctx); failure != nil {
		return t.failed(failure), cut
	}
	if mode := t.session.permissionMode; t.session.mode != "" && t.session.mode != mode {
		// The turn before has left it, as an approved plan does.
		t.session.process.send(modeLine(uuid.NewString(), mode))
	}
	if !t.session.process.send(promptLine(t.prompt, t.blocks())) {
		return t.deaf(ctx, in), discard
	}
	return t.loop(ctx, in)
}

// deaf returns the result of a turn whose process takes no input: it has ended, or is
// about to, or has not read earlier lines. Meanwhile deaf takes the process's lines: the
// end of a process with an untaken line would not be seen.
func (t *turn) deaf(ctx context.Context, in *turnLines) pluginsdk.InvokeResult {
	process := t.session.process
	limit := time.NewTimer(t.config.CloseGrace)
	defer limit.Stop()
	ended, patience := process.ended, limit.C
	for {
		select {
		case line := <-in.lines:
			t.session.between(line)
		case <-ended:
			ended, patience = nil, nil // what watch still has to do has limits of its own
		case <-process.exited:
			return t.crashed()
		case <-ctx.Done():
			return t.failed(stopped(ctx))
		case <-patience:
			return t.failed(&pluginsdk.Failure{
				Kind: pluginsdk.FailureSilent, Retryable: true,
				Message: "the agent's process reads nothing any more; it was ended",
			})
		}
	}
}

func (t *turn) loop(ctx context.Context, in *turnLines) (pluginsdk.InvokeResult, verdict) {
	process := t.session.process
	watch := newClocks(t.config.SilenceTimeout, t.limit)
	defer watch.stop()
	t.asking.turn = ctx
	defer func() { t.asking.end(context.Canceled) }()
	topping, topped := context.WithCancel(ctx)
	defer func() { topped(); t.awaitTopUp() }()
	var grace <-chan time.Time
	cancelled := ctx.Done()
	for {
		select {
		case line := <-in.lines:
			t.line(line)
			if t.over() {
				return t.finish(ctx)
			}
			if t.capped = t.capped || t.reachesCap(topping); grace == nil && (t.capped || t.leftOut || t.unpaid || t.broken != nil) {
				grace = t.stop()
			}
		case capUSD := <-t.topping:
			t.toppedUp(capUSD)
			if t.capped = t.capped || t.reachesCap(topping); grace == nil && t.capped {
				grace = t.stop()
			}
		case answer := <-t.asking.answers:
			t.tell(answer)
			if t.asking.parked && grace == nil {
				t.asking.end(errParked)
				return t.failed(parkedFailure()), cut
			}
		case <-t.asking.park:
			if grace == nil && len(t.asking.open) > 0 {
				t.asking.end(errParked)
				return t.failed(parkedFailure()), cut
			}
		case <-process.exited:
			if t.result != nil || t.interrupt != "" {
				result, _ := t.finish(ctx)
				return result, discard
			}
			return t.crashed(), discard
		case <-cancelled:
			cancelled = nil
			if grace == nil {
				grace = t.stop()
			}
		case <-grace:
			result, _ := t.finish(ctx)
			return result, discard
		case <-watch.silence.C:
			return t.failed(&pluginsdk.Failure{
				Kind: pluginsdk.FailureSilent, Retryable: true,
				Message: fmt.Sprintf("the agent gave no sign of life for %s; its process was ended", t.patience()),
			}), discard
		case <-watch.total.C:
			return t.failed(timedOut(t.limit)), discard
		}
		asks := len(t.asking.open) > 0
		watch.hold(asks, t.patience())
		t.waiting(asks)
	}
}

// awaitQuiet waits for the end of a turn that the CLI began by itself, so that its result
// is not taken for ours.
func (t *turn) awaitQuiet(ctx context.Context, in *turnLines) *pluginsdk.Failure {
	quiet := t.session.busyWithItself()
	if quiet == nil {
		return nil
	}
	limit := time.NewTimer(t.config.SilenceTimeout)
	defer limit.Stop()
	for {
		select {
		case line := <-in.lines:
			t.session.between(line)
		case <-quiet:
			return nil
		case <-t.session.process.exited:
			return nil // then sending the prompt fails
		case <-ctx.Done():
			return stopped(ctx)
		case <-limit.C:
			return &pluginsdk.Failure{
				Kind: pluginsdk.FailureSilent, Retryable: true,
				Message: "the agent was busy with something of its own and did not come to an end; its process was ended",
			}
		}
	}
}

// patience returns how long the CLI may be silent from now on.
func (t *turn) patience() time.Duration {
	patience := t.config.SilenceTimeout
	if len(t.tools) > 0 {
		patience *= toolPatience
	}
	return patience + t.retryDelay
}

// stop asks the CLI to end the turn. The channel says when to stop waiting for that.
func (t *turn) stop() <-chan time.Time {
	t.withdraw()
	t.cost.unsure = t.cost.unsure || t.mayCall()
	t.interrupt = uuid.NewString()
	t.session.process.send(interruptLine(t.interrupt))
	return time.After(t.config.InterruptGrace)
}

// over reports whether the turn has its result and, when it was interrupted, the answers
// to our requests. A request that the CLI has not answered yet could hit the next turn.
func (t *turn) over() bool {
	if t.interrupt == "" {
		return t.result != nil
	}
	return (t.result != nil || t.idle) && t.answered && len(t.withdrawing) == 0
}

// finish makes the result from the result line. There is none when the turn was stopped
// between two results, before the CLI went on with a message.
func (t *turn) finish(ctx context.Context) (pluginsdk.InvokeResult, verdict) {
	if t.result == nil || t.leftOut || t.broken != nil {
		return t.failed(t.stopped(ctx)), t.afterStop()
	}
	if failure := t.failureOf(ctx, *t.result); failure != nil {
		return t.failed(failure), t.afterFailure(failure)
	}
	if t.uncovered() {
		return t.failed(t.stopped(ctx)), t.afterStop()
	}
	if failure := checkOutput(t.schema, t.output); failure != nil {
		return t.failed(failure), keep
	}
	result := t.failed(nil)
	result.Text, result.StructuredOutput = t.joined(), t.output
	return result, keep
}

// afterFailure returns what happens to the process after a result that is an error.
func (t *turn) afterFailure(failure *pluginsdk.Failure) verdict {
	switch {
	case failure.Kind == pluginsdk.FailureUnknownSession:
		return discard
	case failure.Kind == pluginsdk.FailureAPI && authStatus(failure.APIStatus) && t.afterStop() == keep:
		// The next process reads the credentials anew.
		return retire
	}
	return t.afterStop()
}

// afterStop returns what happens to the process after a turn without an answer. A process
// that may be about to go on with a message of Steer has to be ended.
func (t *turn) afterStop() verdict {
	if t.broken != nil || len(t.session.interjected.shut()) > 0 {
		return discard
	}
	return keep
}

// failed returns the result of a failed turn, with its cost as far as it is known.
func (t *turn) failed(failure *pluginsdk.Failure) pluginsdk.InvokeResult {
	result := t.cost.result(t.calls.total())
	result.Account = t.session.account.Name
	result.Notional = !t.billed && (t.notional || t.session.subscribed || t.session.plan.has(result.Account))
	// A call that no result line reports, and of which the stream has told nothing, may be paid for.
	result.CostUnsure = result.CostUnsure || t.begun && t.result == nil
	result.SessionID, result.Model, result.Failure = t.session.id, t.model, failure
	return result
}

// stopped returns the failure of a turn that was interrupted.
func (t *turn) stopped(ctx context.Context) *pluginsdk.Failure {
	switch {
	case t.broken != nil:
		return t.broken
	case t.leftOut:
		return otherFailure(errSchemaLeftOut)
	case t.capped:
		return t.budgetFailure()
	case t.unpaid:
		return t.planFailure("")
	}
	return stopped(ctx)
}

// crashed returns the result of a turn whose process ended without a result line.
func (t *turn) crashed() pluginsdk.InvokeResult {
	return t.failed(failureOfExit(t.session.process))
}

// decode parses a line of a known type. Fields that do not fit the type are left out and
// the others used: the CLI may change the shape of its lines. It returns false for a line
// that is not JSON.
func (t *turn) decode(line []byte, into any) bool {
	err := json.Unmarshal(line, into)
	if err == nil {
		return true
	}
	t.session.log.Warn("a line of the agent is not as expected", "error", err, "bytes", len(line))
	var mismatch *json.UnmarshalTypeError
	return errors.As(err, &mismatch)
}
