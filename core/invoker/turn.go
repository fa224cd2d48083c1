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

	model         string
	textBytes     int
	thinkingBytes int
	tools         map[string]string // id -> name of the tools that have no result yet
	apiError      string            // the CLI's name for an API error
	retryDelay    time.Duration     // of the API call that is being repeated
	result        *resultLine

	interrupt string // request id of our interrupt; empty: none was sent
	answered  bool   // the interrupt has its response
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
func (t *turn) run(ctx context.Context, in *inbox) (pluginsdk.InvokeResult, verdict) {
	if ctx.Err() != nil {
		return t.failed(stopped(ctx)), keep
	}
	if failure := t.awaitQuiet(ctx, in); failure != nil {
		return t.failed(failure), discard
	}
	if !t.session.process.send(promptLine(t.prompt)) {
		return t.deaf(), discard
	}
	return t.loop(ctx, in)
}

// deaf is the result of a turn whose process takes no input: it is ending, or
// has not read what it was sent before.
func (t *turn) deaf() pluginsdk.InvokeResult {
	if t.session.process.waitExit(t.config.CloseGrace) {
		return t.crashed()
	}
	return t.failed(&pluginsdk.Failure{
		Kind: pluginsdk.FailureSilent, Retryable: true,
		Message: "the agent's process reads nothing any more; it was ended",
	})
}

func (t *turn) loop(ctx context.Context, in *inbox) (pluginsdk.InvokeResult, verdict) {
	process := t.session.process
	silence := time.NewTimer(t.config.SilenceTimeout)
	defer silence.Stop()
	total := time.NewTimer(t.config.TurnTimeout)
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
			silence.Reset(t.patience())
		case <-process.exited:
			if t.result != nil {
				result, _ := t.finish(ctx)
				return result, discard
			}
			if t.interrupt != "" {
				return t.failed(stopped(ctx)), discard
			}
			return t.crashed(), discard
		case <-cancelled:
			cancelled = nil
			grace = t.stop()
		case <-grace:
			if t.result != nil {
				result, _ := t.finish(ctx)
				return result, discard
			}
			return t.failed(stopped(ctx)), discard
		case <-silence.C:
			return t.failed(&pluginsdk.Failure{
				Kind: pluginsdk.FailureSilent, Retryable: true,
				Message: fmt.Sprintf("the agent gave no sign of life for %s; its process was ended", t.patience()),
			}), discard
		case <-total.C:
			return t.failed(&pluginsdk.Failure{
				Kind:    pluginsdk.FailureTimeout,
				Message: fmt.Sprintf("the turn took longer than %s and was ended", t.config.TurnTimeout),
			}), discard
		}
	}
}

// awaitQuiet waits for the end of a turn that the CLI started by itself, so
// that its result is not taken for ours.
func (t *turn) awaitQuiet(ctx context.Context, in *inbox) *pluginsdk.Failure {
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
	t.interrupt = uuid.NewString()
	t.session.process.send(interruptLine(t.interrupt))
	return time.After(t.config.InterruptGrace)
}

// over reports whether the turn has its result and, when it was interrupted,
// the interrupt its response: one still on its way would hit the next turn.
func (t *turn) over() bool {
	return t.result != nil && (t.interrupt == "" || t.answered)
}

// finish turns the result line into the result.
func (t *turn) finish(ctx context.Context) (pluginsdk.InvokeResult, verdict) {
	line, s := *t.result, t.session
	result := pluginsdk.InvokeResult{
		Model:   t.model,
		Turns:   line.Turns,
		CostUSD: max(0, line.TotalCostUSD-s.spentUSD),
		Usage:   t.usage(line),
	}
	s.spentUSD = line.TotalCostUSD
	s.turns++
	result.Failure = t.failureOf(ctx, line)
	if result.Failure == nil {
		result.Text = line.Result
		if output := line.StructuredOutput; len(output) > 0 && string(output) != "null" {
			result.StructuredOutput = output
		}
	}
	unknown := result.Failure != nil && result.Failure.Kind == pluginsdk.FailureUnknownSession
	if line.SessionID != "" && !unknown {
		s.id = line.SessionID
	}
	result.SessionID = s.id
	switch {
	case unknown:
		return result, discard
	case result.Failure != nil && result.Failure.Kind == pluginsdk.FailureAPI && authStatus(result.Failure.APIStatus):
		// The next process reads the credentials anew.
		return result, retire
	}
	return result, keep
}

// usage is the turn's. On some errors the CLI leaves it at zero although
// tokens were spent; the totals by model, which grow over the process's life,
// have them.
func (t *turn) usage(line resultLine) pluginsdk.Usage {
	var total pluginsdk.Usage
	for _, m := range line.ModelUsage {
		total.InputTokens += m.Input
		total.OutputTokens += m.Output
		total.CacheReadTokens += m.CacheRead
		total.CacheWriteTokens += m.CacheWrite
	}
	before := t.session.tokens
	t.session.tokens = total
	if line.Usage != (usage{}) {
		return pluginsdk.Usage{
			InputTokens: line.Usage.Input, OutputTokens: line.Usage.Output,
			CacheReadTokens: line.Usage.CacheRead, CacheWriteTokens: line.Usage.CacheWrite,
		}
	}
	return pluginsdk.Usage{
		InputTokens:      max(0, total.InputTokens-before.InputTokens),
		OutputTokens:     max(0, total.OutputTokens-before.OutputTokens),
		CacheReadTokens:  max(0, total.CacheReadTokens-before.CacheReadTokens),
		CacheWriteTokens: max(0, total.CacheWriteTokens-before.CacheWriteTokens),
	}
}

func (t *turn) failed(failure *pluginsdk.Failure) pluginsdk.InvokeResult {
	return pluginsdk.InvokeResult{SessionID: t.session.id, Model: t.model, Failure: failure}
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
