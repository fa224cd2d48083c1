package invoker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// DemoMark begins every reply of the demo agent, so that nobody takes one for
// the words of a model.
const DemoMark = "[demo agent]"

// DemoModel is what the demo agent reports as its model.
const DemoModel = "demo"

// DemoConfig is what a Demo is made from. The zero value is usable.
type DemoConfig struct {
	// Script, when not nil, answers the prompts that its rules match.
	Script *Script
	// OnInvoke, when not nil, is called at the start of every turn, on the
	// goroutine of Invoke. It may block.
	OnInvoke func(ledger.AgentRequest)
	// Tools, when not nil, are called by rules that name a plugin's tool and no
	// result of it.
	Tools DemoTools
	// Workspace is where the agent works when the request names no directory: questions
	// that people are asked say it, and what they may allow lastingly is for it.
	Workspace string
	// OnPlan, when not nil, is called with what a rule says of the windows of a plan.
	OnPlan func(account string, windows []pluginsdk.PlanWindow)
	// Now is the clock by which windows open. Default: time.Now.
	Now func() time.Time
	// Log gets one line at Start. Default: discarded.
	Log *slog.Logger
}

// Demo is an agent for a machine with no CLI or no account, and for tests. It answers at
// once, from its script or by repeating the prompt. It does nothing else, except that it
// calls the plugins' tools that its script names.
type Demo struct {
	config DemoConfig

	mu       sync.Mutex
	sessions map[string]string    // thread -> the session it has now
	closed   []closedWindow       // windows of plans that were used up
	running  map[string]*demoTurn // run -> the turn that Steer reaches
}

// NewDemo returns a demo agent.
func NewDemo(config DemoConfig) *Demo {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.OnPlan == nil {
		config.OnPlan = func(string, []pluginsdk.PlanWindow) {}
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Demo{config: config, sessions: map[string]string{}, running: map[string]*demoTurn{}}
}

// Start says in the log that replies will not come from a model.
func (d *Demo) Start(context.Context) error {
	d.config.Log.Warn("the demo agent answers: replies do not come from a model",
		"remedy", "install and authenticate the Claude Code CLI, then restart")
	return nil
}

// Stop forgets the sessions, as if the CLI's processes had ended.
func (d *Demo) Stop(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.sessions)
	return nil
}

// Holds reports whether the thread has had a turn on that session since Start.
func (d *Demo) Holds(threadID, sessionID string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return sessionID != "" && d.sessions[threadID] == sessionID
}

// Invoke answers one turn. Any session can be resumed, also one that Demo never had,
// unless the script says otherwise. When ctx ends during a scripted delay, the turn fails
// as interrupted.
func (d *Demo) Invoke(ctx context.Context, request ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
	started := time.Now()
	turn := &demoTurn{request: request, cwd: cmp.Or(request.Cwd, d.config.Workspace), tools: d.config.Tools, limited: d.limited, emit: emit, offsets: map[pluginsdk.StreamEventType]int{}}
	d.enter(turn)
	defer d.leave(turn)
	if d.config.OnInvoke != nil {
		d.config.OnInvoke(request)
	}
	var result pluginsdk.InvokeResult
	if err := checkRequest(request); err != nil {
		result.Failure = otherFailure(err)
	} else {
		ctx, cancel := within(ctx, request.Timeout)
		defer cancel()
		result = d.converse(ctx, turn)
	}
	result.Model, result.Demo, result.Account = DemoModel, true, demoAccount(request)
	result.SessionID = request.SessionID
	if result.SessionID == "" {
		result.SessionID = uuid.NewString()
	}
	result.Duration = time.Since(started)
	if !request.Fresh && (result.Failure == nil || result.Failure.Kind == pluginsdk.FailureInterrupted || result.Failure.Kind == pluginsdk.FailureParked) {
		d.remember(request.ThreadID, result.SessionID)
	}
	return result
}

func (d *Demo) remember(threadID, sessionID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions[threadID] = sessionID
}

// demoTurn is one turn of the demo agent.
type demoTurn struct {
	request ledger.AgentRequest
	cwd     string
	tools   DemoTools
	rule    Rule
	limited func(*demoTurn) *pluginsdk.Failure // by the plan
	emit    func(pluginsdk.StreamEvent)
	offsets map[pluginsdk.StreamEventType]int // bytes of deltas so far
	steered []string                          // messages not answered yet; guarded by Demo's lock
	costUSD float64                           // of the prompts answered so far
}

// run answers one prompt of the turn: the request's, or a steered message.
func (t *demoTurn) run(ctx context.Context, prompt string) pluginsdk.InvokeResult {
	if failure := pause(ctx, t.rule.Delay); failure != nil {
		return pluginsdk.InvokeResult{Failure: failure}
	}
	t.think(ctx)
	if failure := t.callTool(ctx); failure != nil {
		return pluginsdk.InvokeResult{Failure: failure}
	}
	if ctx.Err() != nil {
		return pluginsdk.InvokeResult{Failure: stopped(ctx)}
	}
	if failure := t.limited(t); failure != nil {
		return pluginsdk.InvokeResult{Failure: failure, CostUSD: t.rule.CostUSD, Notional: true}
	}
	if t.rule.Failure != nil {
		failure := *t.rule.Failure
		return pluginsdk.InvokeResult{Failure: &failure, CostUSD: t.rule.CostUSD}
	}
	if failure := t.overspent(ctx); failure != nil {
		return pluginsdk.InvokeResult{Failure: failure, CostUSD: t.rule.CostUSD}
	}
	output, failure := t.output()
	if failure != nil {
		return pluginsdk.InvokeResult{Failure: failure, CostUSD: t.rule.CostUSD}
	}
	var text string
	if !t.rule.Empty {
		text = markDemo(t.rule.Text)
		if failure := t.say(ctx, text); failure != nil {
			return pluginsdk.InvokeResult{Failure: failure, CostUSD: t.rule.CostUSD}
		}
	}
	return pluginsdk.InvokeResult{
		Text:             text,
		Turns:            1,
		CostUSD:          t.rule.CostUSD,
		Notional:         t.rule.Plan != nil,
		StructuredOutput: output,
		Usage: pluginsdk.Usage{
			InputTokens:  countTokens(prompt),
			OutputTokens: countTokens(text),
		},
	}
}

// overspent is the failure of a turn whose cost has come to its cap, and which can have no more.
func (t *demoTurn) overspent(ctx context.Context) *pluginsdk.Failure {
	cost := t.costUSD + t.rule.CostUSD
	for t.request.CostCapUSD > 0 && cost >= t.request.CostCapUSD {
		had := t.request.CostCapUSD
		if t.request.TopUp != nil {
			t.request.CostCapUSD = t.request.TopUp(ctx)
		}
		if t.request.CostCapUSD <= had {
			return overBudget(t.request.CostCapUSD, cost)
		}
	}
	return nil
}

// output returns the rule's structured output. When the rule has none and the request
// asks for one, it makes up a value that fits the schema.
func (t *demoTurn) output() (json.RawMessage, *pluginsdk.Failure) {
	if t.rule.StructuredOutput != nil || len(t.request.JSONSchema) == 0 {
		return t.rule.StructuredOutput, nil
	}
	made, err := outputSchema(t.request.JSONSchema)
	if err != nil {
		return nil, otherFailure(err)
	}
	value, err := fill(made)
	if err != nil {
		return nil, otherFailure(fmt.Errorf("the demo agent cannot make up what the JSON schema asks for: %w; "+
			"a rule of its script can say it (structuredOutput)", err))
	}
	t.rule.Text = strings.TrimSpace(t.rule.Text + "\n\n" + demoOutput)
	return value, nil
}

// within returns a context that ends after the limit; 0: none.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, limit, turnTime(limit))
}

// pause waits for so many milliseconds; the failure is that ctx has ended.
func pause(ctx context.Context, milliseconds int) *pluginsdk.Failure {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	if milliseconds <= 0 {
		return nil
	}
	timer := time.NewTimer(time.Duration(milliseconds) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return stopped(ctx)
	case <-timer.C:
		return nil
	}
}

func (t *demoTurn) think(ctx context.Context) {
	if t.rule.Think == "" || t.stream(ctx, pluginsdk.StreamThinkingDelta, t.rule.Think) != nil {
		return
	}
	t.event(pluginsdk.StreamEvent{Type: pluginsdk.StreamThinking, Text: t.rule.Think})
}

func (t *demoTurn) say(ctx context.Context, text string) *pluginsdk.Failure {
	if failure := t.stream(ctx, pluginsdk.StreamTextDelta, text); failure != nil {
		return failure
	}
	t.event(pluginsdk.StreamEvent{Type: pluginsdk.StreamText, Text: text})
	return nil
}

// stream emits text in fragments of one word each, as from a model, at the rule's pace. The
// failure is that ctx has ended before all is said.
func (t *demoTurn) stream(ctx context.Context, kind pluginsdk.StreamEventType, text string) *pluginsdk.Failure {
	for _, word := range strings.SplitAfter(text, " ") {
		if word == "" {
			continue
		}
		t.event(pluginsdk.StreamEvent{Type: kind, Text: word, Offset: t.offsets[kind]})
		t.offsets[kind] += len(word)
		if failure := pause(ctx, t.rule.Pace); t.rule.Pace > 0 && failure != nil {
			return failure
		}
	}
	return nil
}

func (t *demoTurn) event(event pluginsdk.StreamEvent) {
	if t.emit == nil {
		return
	}
	event.Timestamp = time.Now()
	t.emit(event)
}

// countTokens estimates the tokens of a text at four bytes each, so that a demo's metrics
// have a plausible size.
func countTokens(text string) int64 { return int64(len(text)+3) / 4 }

// demoEcho is how many characters of the message the demo agent repeats.
const demoEcho = 200

// demoOutput is what the demo agent says beside a structured output that it made up.
const demoOutput = "The structured output is a demo too: a value that fits the JSON schema, and means nothing."

// demoAnswer is what the demo agent says when no rule matches.
func demoAnswer(prompt string) string {
	said := shorten(lastPart(prompt), demoEcho)
	if said == "" {
		said = "nothing"
	}
	return fmt.Sprintf("This is a demo: no model has read your message. You said: %s\n\n"+
		"Everything around the agent (threads, plugins, commands, storage) works as it will with the real one. "+
		"To get real answers, install the Claude Code CLI (npm install -g @anthropic-ai/claude-code), "+
		"set ANTHROPIC_API_KEY or log in with `claude`, and restart.%s", said, demoDone(prompt))
}

// demoDone is the last line that a task's worker is asked for, so that tasks come to an end
// with the demo agent too.
func demoDone(prompt string) string {
	if !strings.Contains(prompt, "DONE:") || !strings.Contains(prompt, "BLOCKED:") {
		return ""
	}
	return "\n\nDONE: nothing; this is the demo agent"
}

// markDemo puts the demo agent's mark in front of text. A command or a fence stays at the
// start of its line.
func markDemo(text string) string {
	switch {
	case strings.HasPrefix(text, DemoMark):
		return text
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "["), strings.HasPrefix(text, "`"):
		return DemoMark + "\n" + text
	}
	return strings.TrimRight(DemoMark+" "+text, " ")
}

// lastPart returns what follows the last separator of a prompt, a line --- between blank
// lines: the person's message.
func lastPart(prompt string) string {
	prompt = strings.TrimSpace(prompt)
	if i := strings.LastIndex(prompt, "\n\n---\n\n"); i >= 0 {
		return strings.TrimSpace(prompt[i+len("\n\n---\n\n"):])
	}
	return prompt
}

// shorten cuts text to at most limit characters, on one line, and marks a cut.
func shorten(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit]) + "…"
}

// Steer adds a message to the turn of a run, with the promise of Claude.Steer: true means
// that the turn answers it, as it would a prompt, before it ends. False means that no
// turn of that run is under way.
func (d *Demo) Steer(runID, text string) bool {
	if strings.TrimSpace(text) == "" {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	turn, ok := d.running[runID]
	if ok {
		turn.steered = append(turn.steered, text)
	}
	return ok
}

// enter makes Steer find the turn.
func (d *Demo) enter(turn *demoTurn) {
	if turn.request.RunID == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running[turn.request.RunID] = turn
}

// leave makes Steer no longer find the turn, unless next did so already.
func (d *Demo) leave(turn *demoTurn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(turn)
}

// forget is leave. The lock is held.
func (d *Demo) forget(turn *demoTurn) {
	if d.running[turn.request.RunID] == turn {
		delete(d.running, turn.request.RunID)
	}
}

// next returns the oldest message that the turn has not answered. When there is none, the
// turn accepts no more messages.
func (d *Demo) next(turn *demoTurn) (text string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(turn.steered) == 0 {
		d.forget(turn)
		return "", false
	}
	text, turn.steered = turn.steered[0], turn.steered[1:]
	return text, true
}

// converse answers the prompt, and then each message that Steer adds meanwhile. When one
// fails, the turn fails.
func (d *Demo) converse(ctx context.Context, turn *demoTurn) pluginsdk.InvokeResult {
	var whole pluginsdk.InvokeResult
	var texts []string
	for prompt, ok := turn.request.Prompt, true; ok; prompt, ok = d.next(turn) {
		turn.rule = Rule{Text: demoAnswer(prompt)}
		if rule, scripted := d.config.Script.next(prompt); scripted {
			turn.rule = rule
		}
		part := turn.run(ctx, prompt)
		addUsage(&whole.Usage, part.Usage)
		whole.CostUSD += part.CostUSD
		whole.Notional = whole.Notional || part.Notional
		turn.costUSD = whole.CostUSD
		whole.Turns += part.Turns
		if part.Failure != nil {
			whole.Failure, whole.StructuredOutput = part.Failure, nil
			return whole
		}
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
		if part.StructuredOutput != nil {
			whole.StructuredOutput = part.StructuredOutput
		}
	}
	whole.Text = strings.Join(texts, "\n\n")
	return whole
}
