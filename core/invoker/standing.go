package invoker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/invoker/cli"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Whether a session keeps what Harness promises. Before its first prompt a session is asked which
// settings, rules and hooks it has; if they break a promise of trust, it gets no prompt. What the
// CLI tells only when its first turn begins (memory, plugins, permission mode) interrupts that
// turn. The operator can allow both (Config.Unsafe). What a CLI cannot tell counts as kept.

// inquire sends control requests to a session between turns, and returns the answers by
// subtype. ok is false without all answers before enough, the end of the process or that of
// ctx.
func (s *session) inquire(ctx context.Context, in *turnLines, enough <-chan time.Time, subtypes ...string) (answers map[string]cli.Answer, ok bool) {
	open := make(map[string]string, len(subtypes)) // subtype by request id
	for _, subtype := range subtypes {
		id := uuid.NewString()
		if !s.process.send(encode(outQuestion{Type: "control_request", RequestID: id, Request: s.question(subtype)})) {
			return nil, false
		}
		open[id] = subtype
	}
	answers = make(map[string]cli.Answer, len(subtypes))
	for len(open) > 0 {
		select {
		case line := <-in.lines:
			var answer inquired
			if json.Unmarshal(line, &answer) != nil || open[answer.Response.RequestID] == "" {
				s.between(line)
				continue
			}
			subtype := open[answer.Response.RequestID]
			delete(open, answer.Response.RequestID)
			if answer.Response.Subtype != "success" {
				answer.Response.Response = nil
			}
			answers[subtype] = cli.Answer{Response: answer.Response.Response}
		case <-s.process.exited:
			return answers, false
		case <-ctx.Done():
			return answers, false
		case <-enough:
			return answers, false
		}
	}
	return answers, true
}

type outQuestion struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id"`
	Request   any    `json:"request"`
}

// inquired is the answer to a control request.
type inquired struct {
	Response struct {
		Subtype   string          `json:"subtype"`
		RequestID string          `json:"request_id"`
		Response  json.RawMessage `json:"response"`
	} `json:"response"`
}

// examine asks a session that begins what it holds to, and returns why it gets no prompt;
// nil: it gets one.
func (t *turn) examine(ctx context.Context, in *turnLines) *pluginsdk.Failure {
	s := t.session
	if s.turns > 0 {
		return nil
	}
	limit := time.NewTimer(t.config.toolsPatience * startPatience)
	defer limit.Stop()
	answers, ok := s.inquire(ctx, in, limit.C, cli.Questions...)
	if !ok && ctx.Err() == nil && s.alive() {
		s.log.Warn("the agent does not say what it may do", "answered", len(answers))
	}
	return t.distrust(cli.Read(answers).Broken(s.meant))
}

// distrust returns the failure of a turn whose session breaks promises; nil: it breaks none,
// or the operator wants it all the same.
func (t *turn) distrust(broken []string) *pluginsdk.Failure {
	if len(broken) == 0 {
		return nil
	}
	s := t.session
	if t.config.Unsafe {
		s.log.Error("the session is not safe, and is used because HARNESS_AGENT_UNSAFE says so", "why", strings.Join(broken, "; "), "version", s.version)
		return nil
	}
	s.log.Error("the session is not safe; it is not used", "why", strings.Join(broken, "; "), "version", s.version)
	_, newest := Verified()
	return &pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: fmt.Sprintf("No session was started: the Claude CLI %s failed a safety check: %s. "+
		"Install a version that passed: npm install -g @anthropic-ai/claude-code@%s. To repeat the check: harness agent check. "+
		"To start sessions all the same, set HARNESS_AGENT_UNSAFE=true and restart the daemon.", s.version, strings.Join(broken, "; "), newest)}
}

// begunWith takes what the CLI says at the beginning of a turn. A turn that breaks a promise
// is stopped.
func (t *turn) begunWith(line []byte) {
	var begun cli.Begun
	if t.session.turns == 0 && t.decode(line, &begun) {
		t.broken = t.distrust(begun.Broken())
	}
}

// Rights returns what a session for the request may do: what the CLI itself says of it beside
// what Harness gives it. It asks the warm process of the thread between two turns, else
// a process of its own, which it ends; neither calls the API.
func (c *Claude) Rights(ctx context.Context, request ledger.AgentRequest) (pluginsdk.AgentRights, error) {
	if !c.enter() {
		return pluginsdk.AgentRights{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the agent is not running")
	}
	defer c.turns.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.stopping, func() { cancel(errStopping) })()
	w, failure := c.config.settle(request)
	if failure == nil {
		failure = c.prepare(&w)
	}
	if failure != nil {
		return pluginsdk.AgentRights{}, errorOf(failure)
	}
	if at := c.pool.takeWarm(w); at != nil {
		defer c.pool.release(at)
		in := at.session.open()
		defer at.session.close(in)
		return c.rightsIn(ctx, at.session, in)
	}
	// A session of its own: the thread's may be in the middle of a turn.
	w.fresh, w.session, w.resume, w.key, w.boundUSD = true, "", false, "", 0
	at, err := c.pool.acquire(ctx, w)
	if err != nil {
		return pluginsdk.AgentRights{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "no process of the agent is free: %s", err)
	}
	defer c.pool.release(at)
	if at.session != nil {
		c.endSession(at, "")
	}
	started, err := c.admit(ctx)
	if err != nil {
		return pluginsdk.AgentRights{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "no process of the agent is free: %s", err)
	}
	s, in, failure := c.startSession(w, false)
	if failure != nil {
		started()
		return pluginsdk.AgentRights{}, errorOf(failure)
	}
	c.pool.seat(at, s)
	started()
	defer func() {
		s.close(in)
		c.endSession(at, "")
	}()
	return c.rightsIn(ctx, s, in)
}

// rightsIn asks a session that runs no turn.
func (c *Claude) rightsIn(ctx context.Context, s *session, in *turnLines) (pluginsdk.AgentRights, error) {
	limit := time.NewTimer(c.config.toolsPatience * startPatience)
	defer limit.Stop()
	answers, ok := s.inquire(ctx, in, limit.C, cli.Questions...)
	if !ok {
		return pluginsdk.AgentRights{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the Claude CLI does not say what a session may do: %s", strings.TrimSpace("it does not answer "+s.process.stderr.String()))
	}
	said := cli.Read(answers)
	return pluginsdk.AgentRights{
		Version: s.version, Meant: slices.Clone(s.meant), Said: said.Rules(), Hooks: said.Hooks(),
		Differences: said.Differences(s.meant), Known: said.Known(),
	}, nil
}

// errorOf returns a failure as the error of a call that is no turn.
func errorOf(failure *pluginsdk.Failure) error {
	code := pluginsdk.CodeInternal
	if failure.Retryable || failure.Kind == pluginsdk.FailureMissing {
		code = pluginsdk.CodeUnavailable
	}
	return pluginsdk.Errorf(code, "%s", failure.Message)
}
