package invoker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A turn asks people about what no rule allows. Verified with 2.1.197: the CLI waits for an
// answer for as long as it takes, writes nothing meanwhile, and may ask several things at
// a time, whose answers may come in any order. A process that is killed while it waits
// leaves a session without the call: who resumes it has to say what was asked. One whose
// stdin is closed calls the API once more before it ends, so a turn that is parked is
// ended by a signal.

// errParked is the cause with which the questions of a turn end that is parked.
var errParked = errors.New("the turn is parked")

// asking is what a turn has asked people and has no answer to.
type asking struct {
	ask     ledger.Ask      // nil: nothing is asked
	turn    context.Context //nolint:containedctx // of the turn, while it runs
	open    map[string]asked
	answers chan answered
	group   sync.WaitGroup
	parked  bool
	park    chan struct{} // gets a value when the process's room is wanted
}

// asked is a question that is open, by its request.
type asked struct {
	request controlRequest
	cancel  context.CancelCauseFunc
}

// answered is the answer to a request.
type answered struct {
	requestID string
	ledger.ToolAnswer
}

func newAsking(ask ledger.Ask) *asking {
	return &asking{ask: ask, open: make(map[string]asked), answers: make(chan answered), park: make(chan struct{}, 1)}
}

// begin asks people about a request, in a goroutine. The answer comes to answers, unless
// the question ends first.
func (a *asking) begin(request controlRequest, ask ledger.ToolAsk) {
	ctx, cancel := context.WithCancelCause(a.turn)
	a.open[request.RequestID] = asked{request, cancel}
	a.group.Go(func() {
		defer cancel(nil)
		answer := answered{request.RequestID, a.ask(ctx, ask)}
		select {
		case a.answers <- answer:
		case <-ctx.Done():
		}
	})
}

// withdraw ends a question that the CLI has taken back.
func (a *asking) withdraw(requestID string) {
	if one, ok := a.open[requestID]; ok {
		one.cancel(ledger.ErrWithdrawn)
		delete(a.open, requestID)
	}
}

// end ends all questions for a cause, and waits until nobody is asked any more.
func (a *asking) end(cause error) {
	for _, one := range a.open {
		one.cancel(cause)
	}
	clear(a.open)
	a.group.Wait()
}

// clocks are the watches on a turn. They stand still while the turn waits for people, who
// think longer than an API.
type clocks struct {
	silence, total *time.Timer
	deadline       time.Time     // of total, while it runs
	left           time.Duration // of total, while it stands still
	still          bool
}

func newClocks(silence, total time.Duration) *clocks {
	return &clocks{silence: time.NewTimer(silence), total: time.NewTimer(total), deadline: time.Now().Add(total)}
}

func (c *clocks) stop() {
	c.silence.Stop()
	c.total.Stop()
}

// hold stops the clocks, or lets them go on, silence from the beginning.
func (c *clocks) hold(still bool, patience time.Duration) {
	switch {
	case still && !c.still:
		c.stop()
		c.left = max(time.Until(c.deadline), time.Second)
	case !still && c.still:
		c.total.Reset(c.left)
		c.deadline = time.Now().Add(c.left)
	}
	if c.still = still; !still {
		c.silence.Reset(patience)
	}
}

// control answers a request of the CLI, or has people asked about it.
func (t *turn) control(line []byte) {
	var request controlRequest
	if !t.decode(line, &request) {
		return
	}
	request = t.withPlan(request)
	words, decided := t.session.answer(request, t.asking == nil || t.asking.ask == nil || t.interrupt != "")
	if decided && words != "" {
		t.denied(request, words)
	}
	if decided {
		return
	}
	if request.Request.ToolName == planTool && !hasPlan(request.Request.Input) {
		t.session.process.send(denyLine(request.RequestID, noPlan))
		t.denied(request, noPlan)
		return
	}
	ask := request.Request
	reason := ask.DecisionReason
	switch {
	case startsSubAgent(ask.ToolName):
		t.agentsAsked++
		reason = reasonForAgent(t.session.agentsMost+t.agentsAsked, t.session.agentsMost)
	case request.foreign():
		reason = fmt.Sprintf("The tool is of the MCP server %q, which %s has configured, and not Harness. %s", ask.Server.Name, ask.Server.Source, reason)
	}
	t.asking.begin(request, ledger.ToolAsk{
		Tool: ask.ToolName, ToolUseID: ask.ToolUseID, Input: ask.Input, Cwd: t.session.cwd, About: ask.Description,
		Reason: reason, Guarded: request.guarded(),
	})
}

// configuredHere is the source of the MCP servers that Harness gives a session. Verified with
// 2.1.330; 2.1.197 does not say which server asks.
const configuredHere = "dynamic"

// foreign reports whether the call is of a tool of an MCP server that Harness did not give
// the session, or whose tool has the name of another server's.
func (r controlRequest) foreign() bool {
	server := r.Request.Server
	return server != nil && (server.Source != configuredHere || !strings.HasPrefix(r.Request.ToolName, toolsOf(server.Name)))
}

// guarded reports whether no rule decides about the call, but a person each time.
func (r controlRequest) guarded() bool {
	return r.Request.DecisionReasonType == saysSafetyCheck || r.foreign()
}

// speakOf returns those of the rules that speak of the call: a rule for tools of an MCP server
// (mcp__a__*) is none for those of another one (a__b), whose names begin so as well.
func (r controlRequest) speakOf(rules []string) []string {
	server := r.Request.Server
	if server == nil {
		return rules
	}
	tools := toolsOf(server.Name)
	return slices.DeleteFunc(slices.Clone(rules), func(rule string) bool {
		name, _ := strings.CutSuffix(rule, "*")
		names, whole := strings.CutPrefix(name, "mcp__")
		return whole && strings.Contains(names, "__") && !strings.HasPrefix(name, tools) && name+"__" != tools
	})
}

// cancelled handles a request that the CLI has taken back.
func (t *turn) cancelled(line []byte) {
	var taken controlRequest
	if t.decode(line, &taken) {
		t.asking.withdraw(taken.RequestID)
	}
}

// tell gives people's answer to the CLI, or notes that the turn is to be parked.
func (t *turn) tell(answer answered) {
	one, ok := t.asking.open[answer.requestID]
	if !ok {
		return // it was taken back
	}
	if answer.Park {
		t.asking.parked = true
		return
	}
	delete(t.asking.open, answer.requestID)
	request := one.request
	if t.interrupt != "" && answer.Allow { // whoever has stopped the turn has had the last word
		answer.Allow, answer.Words = false, "The turn was stopped."
	}
	if !answer.Allow {
		t.session.process.send(denyLine(request.RequestID, answer.Words))
		t.denied(request, answer.Words)
		return
	}
	input := answer.Input
	if len(input) == 0 {
		input = request.Request.Input
	}
	t.session.process.send(allowLine(request.RequestID, input))
}

func (t *turn) denied(request controlRequest, words string) {
	t.event(pluginsdk.StreamEvent{
		Type: pluginsdk.StreamDenied, Text: words,
		ToolName: request.Request.ToolName, ToolUseID: request.Request.ToolUseID, Input: request.Request.Input,
	})
}

// parkedFailure is the failure of a turn that is ended until people have answered.
func parkedFailure() *pluginsdk.Failure {
	return &pluginsdk.Failure{
		Kind: pluginsdk.FailureParked, Message: "it waits for an answer; its process was ended until there is one", Retryable: true,
	}
}

// modeLine sets the permission mode of a session.
func modeLine(requestID, mode string) []byte {
	return encode(outMode{Type: "control_request", RequestID: requestID, Request: outSetMode{Subtype: "set_permission_mode", Mode: mode}})
}

type outMode struct {
	Type      string     `json:"type"`
	RequestID string     `json:"request_id"`
	Request   outSetMode `json:"request"`
}

type outSetMode struct {
	Subtype string `json:"subtype"`
	Mode    string `json:"mode"`
}

// statusModeLine is the line in which the CLI says that its mode has changed.
type statusModeLine struct {
	PermissionMode string `json:"permissionMode"`
}

// noteMode notes the mode that a session's process is in.
func (s *session) noteMode(line []byte) {
	var status statusModeLine
	if json.Unmarshal(line, &status) == nil && status.PermissionMode != "" {
		s.mode = status.PermissionMode
	}
}
