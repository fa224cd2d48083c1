package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// trip is the state of one attempt of a run on its way through the steps.
type trip struct {
	thread         ledger.Thread
	tools          []string // those that the thread's task allows the agent
	permissionMode string   // that of the thread's task; empty: the thread's holds
	message        pluginsdk.Message
	run            ledger.Run
	fence          ledger.Fence
	work           context.Context // ends when the daemon stops

	absorbed  []pluginsdk.Message // messages of the runs merged into this one
	noNews    bool                // see ledger.Claim
	steering  steering
	questions questions

	on hooks.Occasion
	// beside is on for steered messages. The time that plugins take for them does not
	// count against the run's own hooks, which come later. It is bounded all the same:
	// step 6 waits until every OnMessage is answered.
	beside  hooks.Occasion
	pending pending
	calls   calls

	began       time.Time
	start       *start // nil: no OnPipelineStart is under way
	started     bool   // OnPipelineStart was fired, so OnPipelineComplete must be
	heard       bool   // the agent has said or done something in this attempt, if only in part
	interrupted bool   // an earlier attempt may have reached the agent

	sessionID      string // the session of this turn
	resume         bool   // it exists already
	sessionDropped bool   // the agent did not know it; also in an earlier attempt
	seen           int64  // id of the newest message in the prompt

	prompt     string
	written    map[string]int // by plugin: how many bytes of the prompt are from it
	cwd        string         // where the agent works, unless the turn says otherwise; empty: in the workspace
	apart      bool           // for people who are not to know what the workspace holds
	desk       ledger.Desk    // what lies ready for the turn; without directories where it has none
	steps      []pluginsdk.PipelineStep
	events     []pluginsdk.StreamEvent
	eventBytes int
	result     *pluginsdk.InvokeResult
	answered   bool // 5b has stored an answer
	costTold   bool // an earlier attempt has given OnPipelineComplete the result's cost
	invokedAt  time.Time
	costCap    float64 // in USD, the lowest that the gate has set; 0: none
	reserved   []ledger.Reservation
	setAside   bool   // what is in reserved is stored
	account    string // that the turn is of
	fallback   bool   // the account is paid for in the place of another one
	// fallbackCap is what the turn may cost as one of a fallback, in USD; 0: it is none, or not
	// known yet.
	fallbackCap float64
	capLeft     float64 // cap of this attempt, in USD; 0: none
	capFixed    float64 // what capLeft may grow to; 0: any amount
	// atRest are the reservations that are the turn's cap until more is set aside, and over is
	// the one that has nothing left.
	atRest []ledger.Reservation
	opened []ledger.Reservation // those that the attempt's result closes
	over   *ledger.OverLimit

	typed    ledger.By // who has typed the command that the run is; zero: it is none, or no person has
	commands []ledger.Command
	outcomes []pluginsdk.Outcome
	reply    string
	outbox   ledger.Outbox // what goes with the reply
	// emptied is the plugin that made the reply empty.
	emptied string
}

func newTrip(work context.Context, now time.Time, claim ledger.Claim) *trip {
	t := &trip{
		thread: claim.Thread, tools: claim.AllowedTools, permissionMode: claim.PermissionMode, message: claim.Message, run: claim.Run, fence: claim.Fence, work: work,
		absorbed:    claim.Absorbed,
		noNews:      claim.NoNews,
		began:       now,
		interrupted: claim.Run.Step == pluginsdk.StepInvoking || claim.Message.Retry().Begun,
		outcomes:    claim.Run.Outcomes,
		sessionID:   claim.Thread.SessionID,
		resume:      claim.Thread.SessionID != "",
	}
	// 5a stores the run's session; only dropping the session removes it.
	t.sessionDropped = claim.Run.Step == pluginsdk.StepInvoking && claim.Run.SessionID == "" && t.sessionID == ""
	t.steering.turn, t.steering.endTurn = context.WithCancel(work)
	if t.fence.Beside() { // a session of its own, begun anew after a crash
		t.sessionID, t.resume, t.interrupted, t.sessionDropped = "", false, false, false
	}
	t.on.Behalf = ledger.Behalf{RunID: t.run.ID, RunKind: t.run.Kind, Attempt: t.run.Attempt, Fence: t.fence, TaskID: cmp.Or(claim.Run.TaskID, claim.TaskID), Apart: claim.Thread.Apart}
	// A retry repeats the person's words, and may be asked for by a plugin: it is not their word.
	if claim.Run.Kind == pluginsdk.RunCommand && claim.Run.CauseRunID == "" && claim.Message.Retry().Of == "" {
		t.typed = claim.Message.Label()
	}
	t.on.Call = pluginsdk.Call{ID: t.run.ID, RunID: t.run.ID, Attempt: t.run.Attempt, TraceID: t.run.TraceID}
	t.beside.Behalf, t.beside.Call, t.beside.Beside = t.on.Behalf, t.on.Call, true
	t.calls.takeUp(t.run.Hooks)
	record := t.calls.add
	t.on.Record, t.beside.Record = record, record
	if t.run.Fresh() {
		t.begin()
	}
	if t.interrupted && t.sessionID == "" && !t.fence.Beside() && claim.Run.SessionID != "" {
		// The attempt that died had begun the session.
		t.sessionID, t.resume = claim.Run.SessionID, true
		t.thread.SessionID, t.thread.SessionOpen, t.thread.SessionAccount = claim.Run.SessionID, true, claim.Run.Account
	}
	return t
}

// tells reports whether people read in the thread what becomes of the run. Of a turn beside its
// thread they do not.
func (t *trip) tells() bool { return !t.fence.Beside() || t.run.Kind == pluginsdk.RunCommand }

// begin gives the run a session of its own. The thread is shown with it, so that nobody repeats what
// was said before. An attempt that was interrupted has begun it already.
func (t *trip) begin() {
	t.sessionID, t.resume, t.noNews = "", false, true
	t.thread.SessionID, t.thread.SessionAccount, t.thread.SessionOpen = "", "", false
	if !t.interrupted {
		t.sessionID = uuid.NewString()
		t.thread.SessionID = t.sessionID
	}
}

// labelled is the thread with the label that it is apart, once the directory is known. The
// thread itself stays as it is: OnPipelineStart may be asked with it at the same time.
func (t *trip) labelled() pluginsdk.Thread {
	thread := t.thread.Thread
	thread.Apart = t.apart
	return thread
}

// takeUpResult continues from a result that an earlier attempt stored.
func (t *trip) takeUpResult() {
	t.started, t.answered = true, true
	t.result, t.events, t.steps = t.run.Result, t.run.Events, t.run.Steps
	if t.result == nil {
		t.result = &pluginsdk.InvokeResult{}
	}
	t.reply = t.result.Text
	// An attempt that failed has asked OnPipelineComplete; one that was killed has not.
	// The result was stored by the attempt before this one, or earlier.
	t.costTold = slices.ContainsFunc(t.run.Failures, func(f pluginsdk.Failed) bool { return f.Attempt == t.run.Attempt-1 })
}

// dropSession makes the next exchange begin a new session.
func (t *trip) dropSession() {
	t.sessionDropped, t.resume, t.sessionID, t.noNews = true, false, "", false
	t.thread.SessionID, t.thread.SessionAccount, t.thread.SessionOpen, t.thread.SeenMessageID = "", "", false, 0
	t.events, t.eventBytes, t.heard = nil, 0, false
	t.beginAnother()
}

// step records that the run has reached a step, and publishes it.
func (p *Pipeline) step(t *trip, name, detail string) {
	step := pluginsdk.PipelineStep{Step: name, Detail: detail, Timestamp: p.config.Now()}
	t.steps = append(t.steps, step)
	p.events.Publish(pluginsdk.EventPipelineStep, t.thread.ID, pluginsdk.StepEvent{
		ThreadID: t.thread.ID, RunID: t.run.ID, Step: name, Detail: detail, Timestamp: step.Timestamp, Kind: t.run.Kind,
	})
}

// stepOnce is step, unless an earlier attempt has recorded the step.
func (p *Pipeline) stepOnce(t *trip, name, detail string) {
	for _, step := range t.steps {
		if step.Step == name {
			return
		}
	}
	p.step(t, name, detail)
}

// maxRunEffects bounds the effects that an attempt of a run stores, in bytes.
const maxRunEffects = 8 << 20

// pending are the effects that wait for the run's next commit. Several goroutines may
// add: plugins are asked about steered messages while the turn runs.
type pending struct {
	mu      sync.Mutex
	effects []ledger.Effect
	bytes   int // of all admitted effects, also of those that are stored
}

// collect adds a hook's effects, as far as they are admitted.
func (p *Pipeline) collect(t *trip, plugin string, effects *pluginsdk.Effects) {
	if effects == nil || len(effects.Rows)+len(effects.Metrics) == 0 {
		return
	}
	t.pending.mu.Lock()
	defer t.pending.mu.Unlock()
	if t.thread.ID == "" { // a turn without a thread has no place for rows
		effects = &pluginsdk.Effects{Key: effects.Key, Metrics: effects.Metrics}
	}
	admitted, size := p.effects.AdmitEffects(t.work, plugin, effects, maxRunEffects-t.pending.bytes)
	if len(admitted.Rows)+len(admitted.Metrics) == 0 {
		return
	}
	t.pending.bytes += size
	t.pending.effects = append(t.pending.effects, admitted)
}

// waiting returns the effects for the next commit.
func (p *pending) waiting() []ledger.Effect {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.effects)
}

// stored removes the first n effects, which a commit has stored.
func (p *pending) stored(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.effects = slices.Delete(p.effects, 0, n)
}

// takeFrom removes the effects from the nth on, and returns them.
func (p *pending) takeFrom(n int) []ledger.Effect {
	p.mu.Lock()
	defer p.mu.Unlock()
	later := slices.Clone(p.effects[n:])
	p.effects = p.effects[:n]
	return later
}

// add appends effects that were admitted.
func (p *pending) add(effects []ledger.Effect) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.effects = append(p.effects, effects...)
}

// The bounds of a prompt, a reply and a command's reply, in bytes. A longer text is cut,
// with a mark: whatever gets it next must be able to take it.
const (
	maxPrompt       = 2 << 20
	maxReply        = 1 << 20
	maxCommandReply = 256 << 10
)

// boundWords cuts the end of a plugin's text for people that is too long.
func (p *Pipeline) boundWords(text string, most int, plugin string, hook pluginsdk.Hook) string {
	if len(text) > most {
		p.config.Log.Warn("what a hook returned is too long and is cut", "plugin", plugin, "hook", hook, "bytes", len(text), "most", most)
	}
	return cutAt(text, most)
}

// boundPrompt cuts the middle of a prompt that is too long. It leaves room below the
// bound: the next plugin may add to the prompt, and is not to blame for its length. by
// says who made the prompt.
func (p *Pipeline) boundPrompt(t *trip, prompt, by string) string {
	if len(prompt) <= maxPrompt {
		return prompt
	}
	p.config.Log.Warn("a prompt is too long and is cut", "run", t.run.ID, "plugin", by, "bytes", len(prompt), "most", maxPrompt)
	return cutOut(prompt, maxPrompt/4*3)
}

// cutOut returns both ends of a prompt, with a mark that says what is missing: the
// person's message is at the end.
func cutOut(text string, most int) string {
	tail := strings.ToValidUTF8(text[len(text)-most/2:], "")
	return cutAt(text[:len(text)-most/2], most/2) + "\n\n" + tail
}

// cutAt returns the beginning of text, with a mark that says what is missing.
func cutAt(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("\n[cut here: %d of %d bytes are left out]", len(text)-most, len(text))
}

// wanted returns the message as the plugin's manifest asks for it in the hook.
func wanted(plugin *pluginsdk.PluginInfo, hook pluginsdk.Hook, message pluginsdk.Message) pluginsdk.Message {
	if !plugin.Manifest.Wants(hook, pluginsdk.PartMessage) {
		message.Content, message.Metadata, message.Attachments = "", nil, nil
	}
	return message
}

// bare returns the run without its results.
func bare(run pluginsdk.Run) pluginsdk.Run {
	run.Result, run.Events, run.Steps, run.Hooks, run.Outcomes, run.Failures = nil, nil, nil, nil, nil, nil
	return run
}

// maxEventText bounds the text of one stream event that is kept and published, in bytes.
// The agent has seen all of it.
const maxEventText = 128 << 10

// maxRunEvents bounds a run's events in all, in bytes: they are one column, and one
// message to the plugins. Of later events the texts are left out.
const maxRunEvents = 4 << 20

// keep adds an event to those of the run, within its bounds, and reports whether it did.
func (t *trip) keep(event pluginsdk.StreamEvent) bool {
	t.heard = t.heard || event.Type != pluginsdk.StreamRetry
	if event.Delta() {
		return false
	}
	size := len(event.Text) + len(event.Input)
	if t.eventBytes+size > maxRunEvents {
		event.Text, event.Input = "[not kept: this run has more to tell than is stored]", nil
	} else {
		t.eventBytes += size
	}
	if len(t.events) < maxRunEventCount {
		t.events = append(t.events, event)
		return true
	}
	return false
}

// maxRunEventCount bounds how many events of a run are kept.
const maxRunEventCount = 20000

// bounded cuts the input and output of tools, so that neither a run's row nor the event
// bus grows with them.
func bounded(event pluginsdk.StreamEvent) pluginsdk.StreamEvent {
	if event.Type == pluginsdk.StreamToolResult && len(event.Text) > maxEventText {
		event.Text = strings.ToValidUTF8(event.Text[:maxEventText], "") + "\n[cut: the rest is not kept]"
	}
	if len(event.Input) > maxEventText {
		event.Input = []byte(`{"cut":"the input is too large to keep"}`)
	}
	return event
}
