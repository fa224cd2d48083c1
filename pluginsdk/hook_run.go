package pluginsdk

import (
	"context"
	"time"
)

// The hooks of a run, in the order in which it comes to them. A response that is
// nil changes nothing. What a hook does to its own run (rows for the run's
// thread, metrics) it returns as Effects.

// OnBeforeRunRequest asks whether a run may happen at all.
type OnBeforeRunRequest struct {
	Call    Call
	Thread  Thread
	Message Message
	Run     Run // without what it has come to so far: result, events, steps, hooks
	// Model is that which the turn is to have, by its name or an alias such as opus; empty: the agent's own choice.
	Model string
}

// OnBeforeRunResponse is a gate's verdict. The zero value allows the run. A run has
// several: one of each plugin, and one more of each for every message that it takes in.
// The smallest cap above 0 holds, and all reservations do: of those of one plugin for one
// account the latest. Amounts that are negative or no numbers, more than 16 reservations,
// and accounts without a name or with one above 200 bytes are errors of the plugin's.
type OnBeforeRunResponse struct {
	Deny   bool
	Reason string // shown to the person when denied
	// Reservations are money that is set aside before the agent is called, one of an
	// account; they deny the run when an account's limit would be passed. The run's cost
	// releases them.
	Reservations []Reservation
	// CostCapUSD ends the agent's turn when it has cost as much; 0: no cap.
	CostCapUSD float64
	Effects    *Effects
	// Wait, with Deny, has the run wait instead of being denied.
	Wait *Wait
}

// Wait has a run wait that a gate does not let through now. The run has no process and no place,
// and no attempt is counted; its thread is told once. It is put to the gates again at Until, when the
// plugin calls Budgets.Recheck, and every hour. A turn that a run at work has asked for never waits:
// it is denied, since that run would keep its place.
type Wait struct {
	For   string    // what the run waits for, such as the name of a budget, at most 100 bytes; people are shown it
	Until time.Time // when there is room again; zero: nobody knows
}

// Unit is what the amounts of an account are in.
type Unit string

// The units of accounts. An account keeps to one.
const (
	UnitUSD    Unit = ""       // what turns cost
	UnitTokens Unit = "tokens" // what goes in and out of the model, and what is read from and written to its cache, together
)

// Reservation is money, or tokens, set aside for a run.
type Reservation struct {
	Account   string  // such as day:2026-11-22; the plugin's own, and its key among those of an answer
	LimitUSD  float64 // of what is spent from the account and reserved in it; 0: none, it is only counted
	AmountUSD float64
	// Reason is what the person is told when there is not that much left: the run is denied with
	// it, or the turn ends with it. In it {limit}, {spent}, {set_aside} (for other runs) and
	// {amount} stand for the amounts, which the core knows. At most 1000 bytes; empty: the core's
	// own words.
	Reason string
	// CapAtRest has AmountUSD, which must be above 0, be the turn's cap as well. When the turn has
	// cost what is set aside, the core sets AmountUSD more aside, or what is left, in all accounts
	// of the run that are so; the turn is interrupted once one of them has nothing left. What an
	// earlier attempt of the run has cost is set aside beside AmountUSD, and of an attempt that was
	// killed all that was set aside is spent.
	CapAtRest bool
	// Wait has the run wait when there is not that much left, instead of being denied.
	Wait *Wait
	// Unit is what LimitUSD and AmountUSD are in. With UnitTokens there is no CapAtRest: a turn that has begun
	// may take more than was set aside for it. It begins with what is left of the limit when that is less than
	// AmountUSD, and 10,000 at least. What earlier attempts of the run have taken counts as with CapAtRest.
	Unit Unit
}

// BudgetAccount is how an account of a plugin's stands, in the unit of its reservations.
type BudgetAccount struct {
	SpentUSD    float64 // by runs that are over, and by those that are not
	SetAsideUSD float64 // what runs that are not over may still spend of what is set aside for them
	LimitUSD    float64 // that of the newest reservation; 0: it had none
}

// BeforeRunHook is a gate at step 1: every plugin that answers it must allow
// the run. It is also asked about a message that is about to be put into a
// running turn; one that is denied there waits for a run of its own. An error
// denies, with the error as the reason (unless the operator set the hook to open).
type BeforeRunHook interface {
	OnBeforeRun(ctx context.Context, request *OnBeforeRunRequest) (*OnBeforeRunResponse, error)
}

// OnPipelineStartRequest tells that an attempt of a run has begun.
type OnPipelineStartRequest struct {
	Call    Call
	Thread  Thread
	Message Message // its content only with PartMessage
}

// OnPipelineStartResponse may have effects.
type OnPipelineStartResponse struct {
	Effects *Effects
}

// PipelineStartHook is told at step 1 that an attempt of a run has begun.
type PipelineStartHook interface {
	OnPipelineStart(ctx context.Context, request *OnPipelineStartRequest) (*OnPipelineStartResponse, error)
}

// OnMessageRequest tells of a message about to be answered.
type OnMessageRequest struct {
	Call    Call
	Thread  Thread
	Message Message
	Steered bool // it goes into a turn that is running
}

// OnMessageResponse may have effects.
type OnMessageResponse struct {
	Effects *Effects
}

// MessageHook is told at step 2 of each message that the run answers, and of
// each that is put into its turn.
type MessageHook interface {
	OnMessage(ctx context.Context, request *OnMessageRequest) (*OnMessageResponse, error)
}

// OnBeforeInvokeRequest is what the agent is about to be given.
type OnBeforeInvokeRequest struct {
	Call    Call
	Thread  Thread  // SessionID is empty when the agent will start a new session
	Message Message // its content only with PartMessage; the prompt has it anyway
	Prompt  string  // the previous plugin's prompt; empty for a plugin with Manifest.PromptPrefix
}

// PromptSeparator stands between a prefix and the prompt.
const PromptSeparator = "\n\n---\n\n"

// OnBeforeInvokeResponse is the next prompt.
type OnBeforeInvokeResponse struct {
	// Prompt replaces the prompt; nil keeps it, and an empty one is a value. It may
	// have 2 MiB: what is longer is cut, with a mark.
	Prompt *string
	// Prefix goes in front of the prompt, with PromptSeparator between the two. A plugin with
	// Manifest.PromptPrefix returns it instead of Prompt.
	Prefix  string
	Effects *Effects
}

// BeforeInvokeHook is a chain at step 4: each plugin gets the previous one's
// prompt and returns the next. An error keeps the previous prompt. Plugins with
// Manifest.PromptPrefix get no prompt, and return what goes in front of it.
type BeforeInvokeHook interface {
	OnBeforeInvoke(ctx context.Context, request *OnBeforeInvokeRequest) (*OnBeforeInvokeResponse, error)
}

// OnAfterInvokeRequest is a turn of the agent that has ended.
type OnAfterInvokeRequest struct {
	Call    Call
	Thread  Thread
	Message Message      // its content only with PartMessage
	Result  InvokeResult // its text and structured output only with PartResult
}

// OnAfterInvokeResponse may have effects.
type OnAfterInvokeResponse struct {
	Effects *Effects
}

// AfterInvokeHook is told at step 6 how the agent's turn ended.
type AfterInvokeHook interface {
	OnAfterInvoke(ctx context.Context, request *OnAfterInvokeRequest) (*OnAfterInvokeResponse, error)
}

// CommandOrigin says who gave a command.
type CommandOrigin string

// The origins of a command.
const (
	FromPerson CommandOrigin = "person"
	FromAgent  CommandOrigin = "agent"
)

// OnCommandRequest is a command that a person typed or the agent wrote.
type OnCommandRequest struct {
	Call   Call
	Thread Thread
	// Message is that of the run that the command came up in. Of a command that the agent has given
	// a plugin without CapTurnsRead is not shown its content, metadata and attachments.
	Message    Message
	Origin     CommandOrigin
	Index      int    // which command of the run, from 0
	Name       string // without the slash
	Body       string // what stands in the block, or after the name
	Attributes map[string]string
}

// OnCommandResponse is a plugin's answer to a command; nil: not handled.
type OnCommandResponse struct {
	Handled bool
	Reply   string // posted in the thread when not empty; cut at 256 KiB, with a mark
	Effects *Effects
	// Audit is what the command has decided, for the audit log: a sentence for each decision, with
	// the old value and the new one, and without secrets. The entries are stored in the
	// transaction that stores the command's outcome, once: under the name of the person who typed
	// the command, with the action command.NAME and the plugin as the target. A sentence is one
	// line of at most 1,000 bytes, and at most 8 are stored: what is longer is cut, and what is
	// more is left out. Nothing is stored of a command that is not handled, or that no person typed.
	Audit []string
}

// CommandHook answers commands. Plugins that declare the name (or *) are asked
// in the operator's order until one handles it. An error is shown to the
// person and the command is not handed to another plugin. An error whose code
// refuses (Code.Refuses) is no failure of the plugin.
type CommandHook interface {
	OnCommand(ctx context.Context, request *OnCommandRequest) (*OnCommandResponse, error)
}

// OnBeforeReplyRequest is what a person is about to see.
type OnBeforeReplyRequest struct {
	Call    Call
	Thread  Thread
	Message Message // the message that is answered; its content only with PartMessage
	Text    string  // the previous plugin's text
}

// OnBeforeReplyResponse is the next text.
type OnBeforeReplyResponse struct {
	// Text replaces the text; nil keeps it, and an empty one is a value: nothing is
	// shown then, and the person is told which plugin took the reply out. It may
	// have 1 MiB: what is longer is cut, with a mark.
	Text    *string
	Effects *Effects
}

// BeforeReplyHook is a chain at step 9: it rewrites the text a person will
// see. An error keeps the previous text.
type BeforeReplyHook interface {
	OnBeforeReply(ctx context.Context, request *OnBeforeReplyRequest) (*OnBeforeReplyResponse, error)
}

// PipelineOutcome says how an attempt of a run ended.
type PipelineOutcome string

// The outcomes of an attempt.
const (
	OutcomeSucceeded PipelineOutcome = "succeeded"
	OutcomeFailed    PipelineOutcome = "failed"
	OutcomeDenied    PipelineOutcome = "denied"
	OutcomeCancelled PipelineOutcome = "cancelled"
	OutcomeParked    PipelineOutcome = "parked" // a window of the account's plan is used up: the run goes on when it opens
)

// OnPipelineCompleteRequest is the record of an attempt, before its reply is
// stored.
type OnPipelineCompleteRequest struct {
	Call    Call
	Thread  Thread
	Message Message // its content only with PartMessage
	Outcome PipelineOutcome
	Error   string
	Steps   []PipelineStep // only with PartSteps
	Events  []StreamEvent  // whole blocks only, no deltas; only with PartEvents
	Usage   *Usage         // nil when the agent was not reached
	// CostUSD is what the agent's turn has cost, in US dollars, as far as no earlier
	// attempt of the run has told it: the sum over the attempts is the run's cost.
	CostUSD  float64
	Duration time.Duration
}

// OnPipelineCompleteResponse may have effects. They are stored with the end of
// the attempt, those of a failed one too: a key for each attempt tells them apart.
type OnPipelineCompleteResponse struct {
	Effects *Effects
}

// PipelineCompleteHook is told at step 10 how an attempt ended. It is called for
// every attempt for which OnPipelineStart was, unless the daemon ends before.
type PipelineCompleteHook interface {
	OnPipelineComplete(ctx context.Context, request *OnPipelineCompleteRequest) (*OnPipelineCompleteResponse, error)
}
