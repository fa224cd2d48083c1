package invoker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// toolPatience is by how much longer silence is borne while a tool runs: the
// CLI says nothing until it is done, and a build may take its time.
const toolPatience = 3

// turn is one turn on its way through a session.
type turn struct {
	session *session
	config  *Config
	emit    func(pluginsdk.StreamEvent)
	prompt  string
	runID   string
	schema  json.RawMessage // of the structured output; empty: none is wanted
	capUSD  float64         // 0: none
	limit   time.Duration   // of the turn
	offered []string        // the plugins' tools, sorted
	news    bool            // the CLI may not know them yet

	model         string
	textBytes     int
	thinkingBytes int
	tools         map[string]string // id -> name of the tools that have no result yet
	apiError      string            // the CLI's name for an API error
	retryDelay    time.Duration     // of the API call that is being repeated
	result        *resultLine       // the one that ended the turn

	// Of the results so far: one, and one more each time the CLI goes on with
	// messages of Steer.
	texts  []string
	output json.RawMessage // structured
	spent  pluginsdk.InvokeResult
	idle   bool // the CLI has begun nothing since the last result

	calls calls

	interrupt   string            // request id of our interrupt; empty: none was sent
	capped      bool              // it was sent because of the cap
	leftOut     bool              // the CLI leaves the schema out: the turn is of no use
	answered    bool              // the interrupt has its response
	withdrawing map[string]string // request id -> message that is being taken back
	withdrawn   bool              // a message was taken back
}

// verdict says what becomes of the process after a turn.
type verdict int

const (
	keep    verdict = iota // it takes the next turn
	retire                 // it is ended as if it were idle
	discard                // it is in an unknown state, or gone
)

// run runs the turn and returns how it ended and what becomes of the process.
// in must have been opened before the process's first line.
func (t *turn) run(ctx context.Context, in *turnLines) (pluginsdk.InvokeResult, verdict) {
	if ctx.Err() != nil {
		return t.failed(stopped(ctx)), keep
	}
	if failure := t.awaitQuiet(ctx, in); failure != nil {
		return t.failed(failure), discard
	}
	t.awaitTools(ctx, in)
	if !t.session.process.send(promptLine(t.prompt)) {
		return t.deaf(ctx, in), discard
	}
	return t.loop(ctx, in)
}

// deaf is the result of a turn whose process takes no input: it has ended or is
// about to, or has not read what it was sent before. Its lines are taken all the
// while: with one that nobody takes, its end would not be seen.
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
			ended, patience = nil, nil // what is left to do has limits of its own
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
	silence := time.NewTimer(t.config.SilenceTimeout)
	defer silence.Stop()
	total := time.NewTimer(t.limit)
	defer total.Stop()
	var grace <-chan time.Time
	cancelled := ctx.Done()
	for {
		select {
		case line := <-in.lines:
			t.line(line)
			if t.over() {
				return t.finish(ctx)
			}
			if t.capped = t.capped || t.overspent(); grace == nil && (t.capped || t.leftOut) {
				grace = t.stop()
			}
			silence.Reset(t.patience())
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
		case <-silence.C:
			return t.failed(&pluginsdk.Failure{
				Kind: pluginsdk.FailureSilent, Retryable: true,
				Message: fmt.Sprintf("the agent gave no sign of life for %s; its process was ended", t.patience()),
			}), discard
		case <-total.C:
			return t.failed(timedOut(t.limit)), discard
		}
	}
}

// awaitQuiet waits for the end of a turn that the CLI started by itself, so
// that its result is not taken for ours.
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
			return nil // the prompt cannot be sent, which says so
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

// patience is how long the silence from now on may last.
func (t *turn) patience() time.Duration {
	patience := t.config.SilenceTimeout
	if len(t.tools) > 0 {
		patience *= toolPatience
	}
	return patience + t.retryDelay
}

// stop asks the CLI to end the turn and returns when to give up on it.
func (t *turn) stop() <-chan time.Time {
	t.withdraw()
	t.interrupt = uuid.NewString()
	t.session.process.send(interruptLine(t.interrupt))
	return time.After(t.config.InterruptGrace)
}

// over reports whether the turn has its result and, when it was interrupted,
// the answers to what the CLI was asked: one still on its way would hit the next
// turn.
func (t *turn) over() bool {
	if t.interrupt == "" {
		return t.result != nil
	}
	return (t.result != nil || t.idle) && t.answered && len(t.withdrawing) == 0
}

// finish turns the result line into the result. There is none when the turn was
// stopped in the moment between the CLI's answer and what it would have gone on
// with.
func (t *turn) finish(ctx context.Context) (pluginsdk.InvokeResult, verdict) {
	if t.result == nil || t.leftOut {
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

// afterFailure says what becomes of the process after a result that is an error.
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

// afterStop says what becomes of the process after a turn without an answer. One
// that may be about to go on with a message of Steer has to be ended.
func (t *turn) afterStop() verdict {
	if len(t.session.interjected.shut()) > 0 {
		return discard
	}
	return keep
}

// failed is the result of a turn that failed, with what it has cost as far as
// that is known.
func (t *turn) failed(failure *pluginsdk.Failure) pluginsdk.InvokeResult {
	result := t.spent
	more := t.calls.total()
	addUsage(&result.Usage, more.tokens)
	result.CostUSD += more.usd
	result.SessionID, result.Model, result.Failure = t.session.id, t.model, failure
	return result
}

// stopped is the failure of a turn that was interrupted.
func (t *turn) stopped(ctx context.Context) *pluginsdk.Failure {
	switch {
	case t.leftOut:
		return otherFailure(errSchemaLeftOut)
	case t.capped:
		return t.budgetFailure()
	}
	return stopped(ctx)
}

// crashed is the result of a turn whose process has ended without one.
func (t *turn) crashed() pluginsdk.InvokeResult {
	return t.failed(failureOfExit(t.session.process))
}

// decode reads a line of a known type. What does not fit the type is left out
// and the rest is used: the shape of a line is the CLI's to change.
func (t *turn) decode(line []byte, into any) bool {
	err := json.Unmarshal(line, into)
	if err == nil {
		return true
	}
	t.session.log.Warn("a line of the agent is not as expected", "error", err, "bytes", len(line))
	var mismatch *json.UnmarshalTypeError
	return errors.As(err, &mismatch)
}
