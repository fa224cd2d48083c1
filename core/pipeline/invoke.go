package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// capTurn sets how much this attempt may cost. The run's cap is the lowest that a gate or
// the request has set; earlier attempts count against it. A run of a task may also cost
// no more than the task and the tasks above it have left, against which earlier attempts
// count already. When nothing is left, it returns a Failure and the agent is not asked.
func (p *Pipeline) capTurn(ctx context.Context, t *trip) error {
	if err := t.capRun(); err != nil || t.on.Behalf.TaskID == "" {
		return err
	}
	least, err := p.store.TaskCap(ctx, t.on.Behalf.TaskID)
	switch {
	case err != nil:
		return storeError("read what the task may cost", err)
	case least.TaskID != "" && least.Left() == 0:
		return &pluginsdk.Failure{Kind: pluginsdk.FailureBudget, Message: fmt.Sprintf(
			"task %s, which pays for it, has cost $%.2f and may cost $%.2f in all", least.TaskID, least.CostUSD, least.CapUSD)}
	}
	t.capLeft = lower(t.capLeft, least.Left())
	return nil
}

func (t *trip) capRun() error {
	limit := t.costCap
	if t.run.Turn != nil {
		limit = lower(limit, t.run.Turn.CostCapUSD)
	}
	if t.run.Options != nil {
		limit = lower(limit, t.run.Options.CostCapUSD)
	}
	if t.capLeft = 0; limit == 0 {
		return nil
	}
	if t.capLeft = limit - t.run.CostUSD; t.capLeft > 0 {
		return nil
	}
	return &pluginsdk.Failure{Kind: pluginsdk.FailureBudget, Message: fmt.Sprintf(
		"the attempts before have cost $%.2f, and the turn may cost $%.2f in all", t.run.CostUSD, limit)}
}

// lower returns the lower of two caps; 0 is no cap.
func lower(a, b float64) float64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// commitIntent is step 5a.
func (p *Pipeline) commitIntent(ctx context.Context, t *trip) error {
	if err := p.startAnswered(t); err != nil {
		return err
	}
	if err := p.setAside(ctx, t); err != nil {
		return err
	}
	p.config.Fault("commitIntent", t.run.ID)
	if !t.resume && t.sessionID == "" {
		t.sessionID = uuid.NewString()
	}
	hash := sha256.Sum256([]byte(t.prompt))
	effects := t.pending.waiting()
	intent := ledger.Intent{
		RunID: t.run.ID, SessionID: t.sessionID, Account: t.account, PromptHash: hex.EncodeToString(hash[:]), Steps: t.steps, Hooks: t.calls.all(), Effects: effects,
	}
	var over *ledger.OverLimit
	var err error
	for begun := false; !begun || errors.As(err, &over) && t.takeRest(over); begun = true {
		intent.Reservations = slices.Clone(t.reserved)
		err = p.store.SaveIntent(ctx, t.fence, intent)
	}
	if errors.As(err, &over) && over.Reservation.Plugin == ledger.CoreAccounts {
		return p.fallbackSpent(t, fallbackWords(t.account, over.Reservation.LimitUSD))
	}
	if errors.As(err, &over) && over.Reservation.Wait != nil {
		return t.waitsFor(over)
	}
	if errors.As(err, &over) {
		return &hooks.Denied{Plugin: over.Reservation.Plugin, Reason: over.Error()}
	}
	if err != nil {
		return storeError("commit the intent", err)
	}
	t.pending.stored(len(effects))
	t.setAside = true
	t.capAtRest()
	t.on.Keeps = true // the agent's turn needs the place, and so does what comes after it
	return nil
}

// invoke is step 5.
func (p *Pipeline) invoke(ctx context.Context, t *trip) {
	p.config.Fault("invoke", t.run.ID)
	request := p.agentRequest(t)
	if len(t.atRest) > 0 {
		request.CostMostUSD = t.capFixed
		request.TopUp = func(ctx context.Context) float64 {
			guard.Try(p.config.Log.With("run", t.run.ID), "more money for a turn", func() { p.topUp(ctx, t) })
			return t.capLeft
		}
	}
	request.Ask = func(ctx context.Context, ask ledger.ToolAsk) ledger.ToolAnswer { return p.ask(ctx, t, ask) }
	p.step(t, "invoking", request.Model)
	t.invokedAt = p.config.Now()
	defer t.turnOver()
	defer p.tools.Begin(t.on.Behalf)()
	progress := p.newProgress(t)
	defer progress.stop()
	shown := &stream{publish: func(event pluginsdk.StreamEvent) {
		p.events.Publish(pluginsdk.EventPipelineStream, t.thread.ID, pluginsdk.StreamPayload{
			ThreadID: t.thread.ID, RunID: t.run.ID, Event: event, Kind: t.run.Kind,
		})
	}}
	defer shown.end()
	result := p.agent.Invoke(ctx, request, func(event pluginsdk.StreamEvent) {
		p.config.Fault("invoking", t.run.ID)
		p.turnRuns(ctx, t)
		event = bounded(event)
		if t.keep(event) {
			progress.more(t.events)
		}
		shown.add(event)
	})
	t.result = &result
	if result.Failure == nil {
		p.plan.Answered(t.account, p.modelOf(t), t.invokedAt)
	}
}

// agentRequest returns the request for the agent. What a requested turn, or the options of a
// message, set wins over the thread's settings.
func (p *Pipeline) agentRequest(t *trip) ledger.AgentRequest {
	request := ledger.AgentRequest{
		RunID: t.run.ID, ThreadID: t.thread.ID, SessionID: t.sessionID, Resume: t.resume, Prompt: t.prompt,
		Purpose: t.purpose(), Account: t.account, Model: p.modelOf(t), Effort: t.thread.Effort,
		PermissionMode: cmp.Or(t.permissionMode, t.thread.PermissionMode), Cwd: t.cwd, Apart: t.apart, AllowedTools: t.tools, CostCapUSD: t.capLeft,
		Files: t.filesOf(), In: t.desk.In, Out: t.desk.Out,
	}
	if o := t.run.Options; o != nil {
		request.Effort = cmp.Or(o.Effort, request.Effort)
		request.PermissionMode = cmp.Or(o.PermissionMode, request.PermissionMode)
		request.AllowedTools, request.DisallowedTools = slices.Concat(t.tools, o.AllowedTools), o.DisallowedTools
		request.Timeout = o.Timeout
	}
	asked := t.run.Turn
	if asked == nil {
		return request
	}
	request.Fresh = t.fence.Beside()
	request.Effort = cmp.Or(asked.Effort, request.Effort)
	request.PermissionMode = cmp.Or(asked.PermissionMode, request.PermissionMode)
	request.Cwd = cmp.Or(asked.Cwd, request.Cwd)
	request.AppendSystemPrompt, request.JSONSchema = asked.SystemPrompt, asked.JSONSchema
	request.AllowedTools, request.DisallowedTools = slices.Concat(t.tools, asked.AllowedTools), asked.DisallowedTools
	request.Timeout = asked.Timeout
	return request
}

// modelOf returns the model that the turn asks for: what a person has said of the parked run
// goes first, then what was asked for, then the thread's.
func (p *Pipeline) modelOf(t *trip) string {
	var said, asked string
	if t.run.Override != nil {
		said = t.run.Override.Model
	}
	if t.run.Turn != nil {
		asked = t.run.Turn.Model
	}
	if t.run.Options != nil {
		asked = t.run.Options.Model
	}
	return cmp.Or(said, asked, t.thread.Model, p.config.Model)
}

// purposeOfMessages is the purpose of turns that answer messages without options.
const purposeOfMessages = "pipeline"

// purpose returns the name under which the run's usage is counted.
func (t *trip) purpose() string {
	if t.run.Kind == pluginsdk.RunTurn {
		return cmp.Or(t.run.Purpose, "turn")
	}
	return cmp.Or(t.run.Purpose, purposeOfMessages)
}

// causer returns the plugin that a turn counts to: the one that asked for it, or that submitted its
// message of its own accord. Whatever a person has said counts to nobody, and a task's turns count to
// the task.
func (t *trip) causer() string {
	said := t.message
	if t.run.Kind == pluginsdk.RunTurn || said.Author == "" && said.Scope == "" && said.Origin.Token == "" && t.on.Behalf.TaskID == "" {
		return cmp.Or(t.run.Plugin, said.Plugin)
	}
	return t.run.Plugin
}

// commitResult is step 5b. It also records a turn without an answer, and then returns the
// turn's failure.
func (p *Pipeline) commitResult(t *trip) error {
	p.config.Fault("commitResult", t.run.ID)
	failure := t.result.Failure
	if failure != nil && failure.Kind == pluginsdk.FailureUnknownSession {
		return failure
	}
	if tooLong(failure) {
		failure.Message = strings.TrimRight(failure.Message, ". ") + "." + t.whoWrote()
	}
	claim := fmt.Sprintf("%s:%d", t.run.ID, t.fence.Epoch)
	if t.fence.Beside() { // a released attempt and the next one have the same number
		claim = t.run.ID + ":" + t.sessionID
	}
	if t.result.Account == "" {
		t.result.Account = t.account
	}
	effects := t.pending.waiting()
	commit := ledger.ResultCommit{
		RunID: t.run.ID, Key: claim, Step: t.nextStep(failure), Result: *t.result, Purse: t.purse(), Events: t.events, Steps: t.steps, Hooks: t.calls.all(),
		AgentRun: ledger.AgentRun{
			RunID: t.run.ID, TaskID: t.on.Behalf.TaskID, ThreadID: t.thread.ID, Plugin: t.causer(),
			Purpose: t.purpose(), Model: t.result.Model,
			Usage: t.result.Usage, CostUSD: t.result.CostUSD, Duration: t.result.Duration,
			Account: t.result.Account, Notional: t.result.Notional, CostUnsure: t.result.CostUnsure, Models: t.result.Models,
			Success: failure == nil || failure.Kind == pluginsdk.FailureParked, StartedAt: t.invokedAt,
		},
		SessionID: t.keptSession(), SessionAccount: t.keptAccount(), RunSessionID: t.sessionID, SeenMessageID: t.thread.SeenMessageID,
		Closes:   t.opened,
		Absorbed: t.covered(),
		Rows:     deniedRows(t), Effects: effects,
	}
	if failure != nil {
		if !commit.AgentRun.Success {
			commit.AgentRun.Error = failure.Message
		}
	} else {
		commit.SeenMessageID = t.seen
		if t.run.Kind != pluginsdk.RunTurn {
			commit.Commands = p.parseCommands(t, t.result.Text)
			t.run.Commands = commit.Commands
		}
		// The commands must be on disk before the first one is given: after a power cut
		// the run must still know what was given.
		commit.MayWaitForDisk = len(commit.Commands) == 0
	}
	// The turn has been paid for: its record is written even when the daemon
	// is stopping or a person has stopped the run.
	err := p.insist(t, "commit the result", func(ctx context.Context) error {
		return p.store.SaveResult(ctx, t.fence, commit)
	})
	if err != nil {
		return err
	}
	t.pending.stored(len(effects))
	p.figures.turned(t)
	if failure != nil && failure.Kind == pluginsdk.FailureBudget && t.fallbackCap > 0 && t.capLeft == t.fallbackCap {
		return p.fallbackSpent(t, fmt.Sprintf(
			"The key %s pays at most $%.2f for one attempt as a fallback, and this one has cost that.", t.account, t.fallbackCap))
	}
	if failure != nil && failure.Kind == pluginsdk.FailureBudget && t.over != nil {
		failure.Message += "; " + t.over.Error()
	}
	if failure != nil {
		return failure
	}
	t.reply, t.answered = t.result.Text, true
	return nil
}

// nextStep returns the run's step after a turn. When the agent has said something or used a
// tool, or its process ended during the turn, its session has the messages, and it may have
// acted: the run stays at StepInvoking, and the next attempt resumes the session and says so
// in the prompt.
func (t *trip) nextStep(failure *pluginsdk.Failure) pluginsdk.RunStep {
	if failure == nil {
		return pluginsdk.StepInvoked
	}
	if t.heard {
		return pluginsdk.StepInvoking
	}
	if t.interrupted && failure.Kind != pluginsdk.FailureUnknownSession {
		return pluginsdk.StepInvoking // an earlier attempt may have acted
	}
	switch failure.Kind {
	case pluginsdk.FailureCrashed, pluginsdk.FailureSilent, pluginsdk.FailureTimeout, pluginsdk.FailureInterrupted, pluginsdk.FailureParked:
		return pluginsdk.StepInvoking
	case pluginsdk.FailureAPI, pluginsdk.FailureMissing, pluginsdk.FailureBudget,
		pluginsdk.FailureUnknownSession, pluginsdk.FailurePlan, pluginsdk.FailureOther:
	}
	return pluginsdk.StepAccepted
}

// keptSession returns the session that the thread has after the turn. When a fresh one has come to
// nothing, the thread has none. A turn that was interrupted at its cost cap has come to something once the
// agent has said something or used a tool.
func (t *trip) keptSession() string {
	f := t.result.Failure
	if f == nil || f.Kind == pluginsdk.FailureInterrupted || f.Kind == pluginsdk.FailureParked || f.Kind == pluginsdk.FailureBudget && t.heard {
		if t.result.SessionID != "" {
			return t.result.SessionID
		}
	}
	if t.result.Failure == nil {
		return t.sessionID
	}
	if t.run.Fresh() {
		return ""
	}
	return t.thread.SessionID
}

// keptAccount returns the account that the session is of which the thread has after the turn.
func (t *trip) keptAccount() string {
	switch kept := t.keptSession(); {
	case kept == "":
		return ""
	case t.result.Failure != nil && kept == t.thread.SessionID && t.thread.SessionAccount != "":
		return t.thread.SessionAccount
	}
	return t.account
}

// deniedRows returns one status row with the tools that the agent was denied.
func deniedRows(t *trip) []ledger.Row {
	if t.run.Kind == pluginsdk.RunTurn {
		return nil // the plugin that asked for the turn reads it in the result
	}
	var tools []string
	for _, event := range t.events {
		if event.Type == pluginsdk.StreamDenied && !t.questions.people(event.ToolUseID) {
			tools = append(tools, event.ToolName)
		}
	}
	if len(tools) == 0 {
		return nil
	}
	metadata, _ := json.Marshal(map[string]any{"event": "permission_denied", "tools": tools}) //nolint:errchkjson // strings
	return []ledger.Row{t.row(fmt.Sprintf("denied:%d", t.fence.Epoch), pluginsdk.NewMessage{
		Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Source: "core", Metadata: metadata,
		Content: "The agent was not allowed to use: " + strings.Join(tools, ", ") + "; people were not asked. " +
			"For that somebody has to be there to answer (on a terminal, or with harness send --ask), and the tool to be one that people are asked about (HARNESS_ASK_TOOLS). " +
			"What is to be allowed always is for HARNESS_ALLOWED_TOOLS.",
	})}
}

const (
	// gather is how long a fragment of the agent's output is held for the next ones.
	// People see no difference, and each event costs the daemon, every subscribed plugin
	// and every client.
	gather = 20 * time.Millisecond
	// maxGathered bounds the fragments that are held, in bytes.
	maxGathered = 4 << 10
)

// stream publishes what the agent does in a turn, in order. It joins consecutive
// fragments into one event.
type stream struct {
	publish func(pluginsdk.StreamEvent)

	mu    sync.Mutex
	held  pluginsdk.StreamEvent // the joined fragments; without text: none
	timer *time.Timer
}

// add publishes an event; a fragment at most gather later.
func (s *stream) add(event pluginsdk.StreamEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !event.Delta() || event.Text == "" {
		s.flush()
		s.publish(event)
		return
	}
	if s.held.Text != "" && s.held.Type == event.Type && s.held.Offset+len(s.held.Text) == event.Offset {
		s.held.Text += event.Text
	} else {
		s.flush()
		s.held = event
		s.wait()
	}
	if len(s.held.Text) >= maxGathered {
		s.flush()
	}
}

// end publishes the fragment that is held.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
}

// flush publishes the fragment that is held. The lock is held.
func (s *stream) flush() {
	if s.held.Text == "" {
		return
	}
	s.timer.Stop()
	s.publish(s.held)
	s.held = pluginsdk.StreamEvent{}
}

// wait has the held fragment published after gather, unless it was before. The lock is
// held.
func (s *stream) wait() {
	if s.timer == nil {
		s.timer = time.AfterFunc(gather, s.end)
		return
	}
	s.timer.Reset(gather)
}

// progressEvery is how often a running turn's blocks are stored. Most turns are shorter.
const progressEvery = 2 * time.Second

// progress stores the blocks of a running turn, in a goroutine of its own, so that
// whoever opens the run sees them, and a killed attempt leaves a record. Errors are only
// logged: the result has all blocks.
type progress struct {
	blocks chan []pluginsdk.StreamEvent // the newest blocks, unless they are stored
	done   chan struct{}
	over   chan struct{} // closed when nothing more will be stored
}

func (p *Pipeline) newProgress(t *trip) *progress {
	running := &progress{blocks: make(chan []pluginsdk.StreamEvent, 1), done: make(chan struct{}), over: make(chan struct{})}
	go func() {
		defer close(running.over)
		guard.Try(p.config.Log.With("run", t.run.ID), "the record of a running turn", func() { running.keep(p, t) })
	}()
	return running
}

// more hands over the turn's blocks so far.
func (r *progress) more(events []pluginsdk.StreamEvent) {
	events = slices.Clip(events) // appending to the caller's slice does not change it
	select {
	case <-r.blocks:
	default:
	}
	r.blocks <- events
}

// stop ends the storing and waits for a write under way: the result is stored after it.
func (r *progress) stop() {
	close(r.done)
	<-r.over
}

// keep stores the newest blocks every ProgressEvery, less often when a write takes long.
func (r *progress) keep(p *Pipeline, t *trip) {
	timer := time.NewTimer(p.config.ProgressEvery)
	defer timer.Stop()
	for {
		select {
		case <-r.done:
			return
		case <-timer.C:
		}
		began := time.Now()
		select {
		case events := <-r.blocks:
			if err := p.store.SaveProgress(t.work, t.fence, t.run.ID, events); err != nil {
				p.config.Log.Debug("what a turn has come to cannot be stored yet", "run", t.run.ID, "err", err)
			}
		default:
		}
		timer.Reset(max(p.config.ProgressEvery, 50*time.Since(began)))
	}
}
