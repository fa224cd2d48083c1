package invoker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// errStopping is the cause with which Stop cancels the turns under way.
var errStopping = errors.New("the agent is being stopped with the daemon; the turn can be repeated")

// What the CLI writes about sessions that it cannot open.
const (
	saysUnknownSession = "No conversation found with session ID"
	saysSessionInUse   = "is already in use"
)

// saysSchemaRefused is what 2.1.330 writes before it ends because it does not take the JSON
// schema that it was given. (2.1.197 leaves such a schema out: see errSchemaLeftOut.)
const saysSchemaRefused = "Error: --json-schema"

// stopped is the failure of a turn whose context has ended. The context's cause is the
// message.
func stopped(ctx context.Context) *pluginsdk.Failure {
	cause := context.Cause(ctx)
	var limit turnTime
	switch {
	case errors.As(cause, &limit):
		return timedOut(time.Duration(limit))
	case errors.Is(cause, errStopping):
		return &pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: errStopping.Error(), Retryable: true}
	case errors.Is(cause, context.DeadlineExceeded):
		return &pluginsdk.Failure{Kind: pluginsdk.FailureTimeout, Message: "the turn did not end within its caller's deadline"}
	case cause == nil || errors.Is(cause, context.Canceled):
		return &pluginsdk.Failure{Kind: pluginsdk.FailureInterrupted, Message: "the turn was stopped"}
	}
	return &pluginsdk.Failure{Kind: pluginsdk.FailureInterrupted, Message: cause.Error()}
}

// turnTime is the cause with which a turn is cancelled at its time limit.
type turnTime time.Duration

func (t turnTime) Error() string { return timedOut(time.Duration(t)).Message }

// timedOut is the failure of a turn that was ended at its limit.
func timedOut(limit time.Duration) *pluginsdk.Failure {
	return &pluginsdk.Failure{
		Kind:    pluginsdk.FailureTimeout,
		Message: fmt.Sprintf("the turn took longer than %s and was ended", limit),
	}
}

// failureOf returns why a turn with this result failed; nil: it did not.
func (t *turn) failureOf(ctx context.Context, line resultLine) *pluginsdk.Failure {
	words := line.words()
	switch {
	case !line.IsError:
		return nil
	case line.unknownSession():
		return &pluginsdk.Failure{Kind: pluginsdk.FailureUnknownSession, Message: words}
	case t.interrupt != "":
		return t.stopped(ctx)
	case line.Subtype == "error_max_budget_usd" && t.capUSD > 0:
		return t.budgetFailure()
	case line.Subtype == "error_max_budget_usd", line.Subtype == "error_max_turns":
		return &pluginsdk.Failure{Kind: pluginsdk.FailureBudget, Message: cmp.Or(words, "the turn's limit was reached")}
	case line.APIStatus == 429 && t.usedUp != nil:
		return t.planFailure(words)
	case t.refused != nil:
		return t.refusalFailure(words)
	case line.APIStatus != 0 || t.apiError != "":
		return apiFailure(line.APIStatus, t.apiError, words)
	}
	return &pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: cmp.Or(words, "the agent reported an error without saying which")}
}

// apiFailure returns the failure for an error of the Messages API. name is the CLI's name
// for the error; status is 0 when no answer came.
func apiFailure(status int, name, words string) *pluginsdk.Failure {
	failure := &pluginsdk.Failure{
		Kind: pluginsdk.FailureAPI, APIStatus: status,
		Message: cmp.Or(words, fmt.Sprintf("the Messages API answered with status %d", status)),
	}
	switch {
	case authStatus(status), status == 0 && (name == "authentication_failed" || name == "oauth_org_not_allowed"):
		failure.APIStatus = cmp.Or(status, 401)
		failure.Message = "The Messages API did not accept the agent's credentials. Set a valid ANTHROPIC_API_KEY " +
			"for the daemon, or run `claude` as the daemon's user and log in, then send the message again. It said: " + failure.Message
	case status == 429, status >= 500:
		failure.Retryable = true
	case status == 0:
		failure.Retryable = !slices.Contains(lasting, name)
	}
	return failure
}

// lasting are the CLI's names for errors that a repeated call would meet again. The
// others (rate_limit, server_error, overloaded, unknown: no connection) may pass.
var lasting = []string{"billing_error", "invalid_request", "model_not_found", "max_output_tokens", "refusal"}

func authStatus(status int) bool { return status == 401 || status == 403 }

// failureOfExit returns why a process ended without a result.
func failureOfExit(p *process) *pluginsdk.Failure {
	said := p.stderr.String()
	switch {
	case p.readErr != nil:
		return &pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: p.readErr.Error()}
	case strings.Contains(said, saysUnknownSession):
		return &pluginsdk.Failure{Kind: pluginsdk.FailureUnknownSession, Message: said}
	case strings.Contains(said, saysSchemaRefused):
		return otherFailure(fmt.Errorf("%w. It said: %s", errSchemaLeftOut, said))
	}
	message := "the agent's process ended in the middle of the turn (" + exitOf(p) + ")"
	if said != "" {
		message += ": " + said
	}
	return &pluginsdk.Failure{Kind: pluginsdk.FailureCrashed, Message: message, Retryable: true}
}

// addLastWords adds what a process last wrote to stderr to the failure for which it was
// ended. (A process that cannot be killed may still write.)
func addLastWords(failure *pluginsdk.Failure, p *process) {
	if failure == nil || (failure.Kind != pluginsdk.FailureSilent && failure.Kind != pluginsdk.FailureTimeout) {
		return
	}
	if said := p.stderr.String(); said != "" {
		failure.Message += "; its last words: " + said
	}
}

func exitOf(p *process) string {
	if p.state == nil {
		return "its exit was not observed"
	}
	return p.state.String()
}

// failureOfStart returns why a process could not be started.
func failureOfStart(binary string, err error) *pluginsdk.Failure {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return &pluginsdk.Failure{
			Kind: pluginsdk.FailureMissing,
			Message: fmt.Sprintf("The Claude Code CLI (%q) was not found. Install it with "+
				"`npm install -g @anthropic-ai/claude-code`, or name the path of its binary in the configuration.", binary),
		}
	}
	return &pluginsdk.Failure{
		Kind:    pluginsdk.FailureMissing,
		Message: fmt.Sprintf("The Claude Code CLI (%q) cannot be started: %s", binary, err),
	}
}

func otherFailure(err error) *pluginsdk.Failure {
	return &pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: err.Error()}
}
