package pluginsdk

import (
	"context"
	"slices"
	"time"
)

// Hook names one bend of the pipeline (or of the life of tasks, settings,
// events and deliveries) that a plugin can answer.
type Hook string

// The hooks. The interface of the same name says what each is asked.
const (
	HookBeforeRun        Hook = "OnBeforeRun"
	HookPipelineStart    Hook = "OnPipelineStart"
	HookMessage          Hook = "OnMessage"
	HookBeforeInvoke     Hook = "OnBeforeInvoke"
	HookAfterInvoke      Hook = "OnAfterInvoke"
	HookCommand          Hook = "OnCommand"
	HookBeforeReply      Hook = "OnBeforeReply"
	HookPipelineComplete Hook = "OnPipelineComplete"
	HookTaskCreate       Hook = "OnTaskCreate"
	HookTaskComplete     Hook = "OnTaskComplete"
	HookTaskValidated    Hook = "OnTaskValidated"
	HookTaskFailed       Hook = "OnTaskFailed"
	HookSettingsChange   Hook = "OnSettingsChange"
	HookBroadcast        Hook = "OnBroadcast"
	HookCheck            Hook = "OnCheck"
	HookCron             Hook = "OnCron"
	HookDeliver          Hook = "Deliver"
	HookCallTool         Hook = "CallTool"
)

// Runner says in which way the plugins that answer a hook are asked: one after
// the other, in the operator's order.
type Runner string

// The runners.
const (
	// RunNotify tells every plugin; nobody's failure keeps the next from it.
	RunNotify Runner = "notify"
	// RunChain gives each plugin the previous one's value; a failure keeps it.
	RunChain Runner = "chain"
	// RunFirst asks until one plugin has handled it; an error is the outcome.
	RunFirst Runner = "first"
	// RunGate asks every plugin; the first that says no decides.
	RunGate Runner = "gate"
	// RunOne asks the one plugin that it is for.
	RunOne Runner = "one"
)

// OnFailure says what a failing hook does to the step that called it.
type OnFailure string

// FailOpen goes on without the plugin; FailClosed fails the step.
const (
	FailOpen   OnFailure = "open"
	FailClosed OnFailure = "closed"
)

// known reports whether this version of the contract has the mode.
func (o OnFailure) known() bool { return o == FailOpen || o == FailClosed }

// DeadlineClass says how long a call of a hook may take.
type DeadlineClass string

// The deadline classes. The operator may set other times for single hooks.
const (
	ClassNotify   DeadlineClass = "notify"   // 5 s
	ClassChain    DeadlineClass = "chain"    // 15 s
	ClassCommand  DeadlineClass = "command"  // 30 s
	ClassGate     DeadlineClass = "gate"     // 10 min
	ClassDelivery DeadlineClass = "delivery" // 30 s
	ClassTool     DeadlineClass = "tool"     // 10 min
	// ClassWork has no end of its own: a call is ended when it has reported no
	// progress (ReportProgress) for 5 minutes, or when the work is cancelled.
	ClassWork DeadlineClass = "work"
)

// Limit returns how long a call of the class may take; for ClassWork how long it
// may be silent.
func (c DeadlineClass) Limit() time.Duration {
	switch c {
	case ClassNotify:
		return 5 * time.Second
	case ClassChain:
		return 15 * time.Second
	case ClassCommand, ClassDelivery:
		return 30 * time.Second
	case ClassWork:
		return 5 * time.Minute
	case ClassGate, ClassTool:
		return 10 * time.Minute
	}
	return 0
}

// Part names what a hook's request has only for those who ask for it in
// Manifest.Needs, because it can be large.
type Part string

// The parts.
const (
	// PartMessage is the content, metadata and attachments of the request's
	// Message. Without it they are empty.
	PartMessage Part = "message"
	// PartResult is the text and the structured output of the request's Result.
	PartResult Part = "result"
	// PartEvents is what the agent did in its turn, block by block.
	PartEvents Part = "events"
	// PartSteps is the steps that the run came past.
	PartSteps Part = "steps"
)

// HookSpec is what the contract says of a hook.
type HookSpec struct {
	Hook   Hook
	Runner Runner
	// OnFailure holds when neither the manifest nor the operator says otherwise.
	OnFailure OnFailure
	Class     DeadlineClass
	// Parts of its request are empty unless the manifest asks for them.
	Parts []Part
	// AnsweredBy reports whether a plugin implements the hook's interface.
	AnsweredBy func(Plugin) bool
	// Capability is what a plugin has to be granted before the hook is asked of it; empty:
	// nothing.
	Capability Capability
}

// table is THE table of the hooks, in the order in which a run comes to them.
// Every other list of hooks is made from it.
var table = []HookSpec{
	{HookBeforeRun, RunGate, FailClosed, ClassGate, nil, implements[BeforeRunHook], CapTurnsDecide},
	{HookPipelineStart, RunNotify, FailOpen, ClassNotify, []Part{PartMessage}, implements[PipelineStartHook], CapTurnsRead},
	{HookMessage, RunNotify, FailOpen, ClassNotify, nil, implements[MessageHook], CapTurnsRead},
	{HookBeforeInvoke, RunChain, FailOpen, ClassChain, []Part{PartMessage}, implements[BeforeInvokeHook], CapTurnsChange},
	{HookAfterInvoke, RunNotify, FailOpen, ClassNotify, []Part{PartMessage, PartResult}, implements[AfterInvokeHook], CapTurnsRead},
	{HookCommand, RunFirst, FailOpen, ClassCommand, nil, implements[CommandHook], ""},
	{HookBeforeReply, RunChain, FailOpen, ClassChain, []Part{PartMessage}, implements[BeforeReplyHook], CapTurnsChange},
	{HookPipelineComplete, RunNotify, FailOpen, ClassNotify, []Part{PartMessage, PartEvents, PartSteps}, implements[PipelineCompleteHook], CapTurnsRead},
	{HookTaskCreate, RunChain, FailClosed, ClassWork, nil, implements[TaskCreateHook], CapTasksPrepare},
	{HookTaskComplete, RunGate, FailClosed, ClassWork, nil, implements[TaskCompleteHook], CapTasksJudge},
	{HookTaskValidated, RunNotify, FailClosed, ClassWork, nil, implements[TaskValidatedHook], CapTasksJudge},
	{HookTaskFailed, RunNotify, FailOpen, ClassWork, nil, implements[TaskFailedHook], CapTasksRead},
	{HookSettingsChange, RunOne, FailOpen, ClassNotify, nil, implements[SettingsChangeHook], ""},
	{HookBroadcast, RunOne, FailOpen, ClassNotify, nil, implements[BroadcastHook], ""},
	{HookCheck, RunOne, FailOpen, ClassNotify, nil, implements[CheckHook], ""},
	{HookCron, RunOne, FailOpen, ClassCommand, nil, implements[CronHook], ""},
	{HookDeliver, RunOne, FailOpen, ClassDelivery, nil, implements[DeliverHook], ""},
	{HookCallTool, RunOne, FailOpen, ClassTool, nil, implements[ToolProvider], ""},
}

// Hooks returns the table of the hooks, in the order in which a run comes to them.
func Hooks() []HookSpec { return slices.Clone(table) }

// implements reports whether a plugin implements the interface H.
func implements[H any](plugin Plugin) bool {
	_, ok := plugin.(H)
	return ok
}

// Spec returns the hook's row of the table; false: the contract has no such hook.
func (h Hook) Spec() (HookSpec, bool) {
	for _, spec := range table {
		if spec.Hook == h {
			return spec, true
		}
	}
	return HookSpec{}, false
}

// AllHooks returns every hook of the contract.
func AllHooks() []Hook {
	hooks := make([]Hook, 0, len(table))
	for _, spec := range table {
		hooks = append(hooks, spec.Hook)
	}
	return hooks
}

// HooksOf returns the hooks that a plugin answers: those whose interfaces it
// implements.
func HooksOf(plugin Plugin) (hooks []Hook) {
	for _, spec := range table {
		if spec.AnsweredBy(plugin) {
			hooks = append(hooks, spec.Hook)
		}
	}
	return hooks
}

// Call identifies one hook call. Hooks are at least once after a crash: ID is
// the same when a retry repeats the call, so that a plugin can tell.
type Call struct {
	ID       string // the same at every attempt
	RunID    string // empty for hooks outside a run
	Attempt  int    // 1 for the first
	Token    string // goes back with every Host call made inside the hook
	Deadline time.Time
	// TraceID is the run's, 32 hex digits as in W3C Trace Context; empty outside
	// a run. It is for the plugin's own logs and traces.
	TraceID string
}

type callKey struct{}

// WithCall returns a context that carries call. The SDK gives every hook such
// a context and sends the token of it with each Host call.
func WithCall(ctx context.Context, call Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// CallFrom returns the call that ctx carries, and whether it carries one.
func CallFrom(ctx context.Context) (Call, bool) {
	call, ok := ctx.Value(callKey{}).(Call)
	return call, ok
}

// Progress reports how far a call has come.
type Progress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"` // 0: unknown
	Message string  `json:"message,omitempty"`
}

type progressKey struct{}

// WithProgress returns a context whose ReportProgress calls report. The SDK
// gives one to the hooks whose calls can report: CallTool and the task hooks.
func WithProgress(ctx context.Context, report func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// ReportProgress tells the caller of a hook that the call is alive, and how far
// it has come. It may be called with the hook's context any number of times, from
// any goroutine, until the hook returns. Who waits for a tool sees it; a call of
// the deadline class work is ended when it has reported nothing for 5 minutes.
// Where nobody listens it does nothing.
func ReportProgress(ctx context.Context, progress Progress) {
	if report, ok := ctx.Value(progressKey{}).(func(Progress)); ok {
		report(progress)
	}
}

// Effects is what a hook does to its own run. It travels with the hook's answer
// and is stored in the run's next commit, with all that else is in it: it needs
// no call of the host, and is neither lost nor doubled by a crash.
//
// Rows need the capability messages.write, metrics need metrics.write, and both
// count in the plugin's quotas. A run stores at most 8 MiB of them. A row that is
// not allowed, or too much, is left out and counted against the plugin; it never
// fails the run.
type Effects struct {
	// Key names these effects among the plugin's of the run, such as start. What
	// is stored under a key is not stored again when the call is repeated.
	Key string
	// Rows are for the run's thread, of the kinds status, pipeline_step, thinking,
	// tool_call, tool_result and notification.
	Rows    []NewMessage
	Metrics []NewMetric
}

// NewMetric is one measured value to be recorded.
type NewMetric struct {
	// Key makes the record idempotent: a value whose key the plugin has used before
	// is not recorded again. Empty: it always is.
	Key      string            `json:"key,omitempty"`
	Name     string            `json:"name"`
	Value    float64           `json:"value"`
	Tags     map[string]string `json:"tags,omitempty"`
	ThreadID string            `json:"threadId,omitempty"`
	At       time.Time         `json:"at,omitzero"` // zero: now
}

// Metric is one measured value.
type Metric struct {
	ID        int64             `json:"id"`
	Plugin    string            `json:"plugin,omitempty"` // who recorded it
	Key       string            `json:"key,omitempty"`    // the plugin's
	Name      string            `json:"name"`
	Value     float64           `json:"value"`
	Tags      map[string]string `json:"tags,omitempty"`
	ThreadID  string            `json:"threadId,omitempty"`
	CreatedAt time.Time         `json:"createdAt"`
}

// MetricQuery selects metrics, oldest first. Zero fields do not restrict.
type MetricQuery struct {
	Plugin   string    `json:"plugin,omitempty"`
	Name     string    `json:"name,omitempty"`
	ThreadID string    `json:"threadId,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Until    time.Time `json:"until,omitzero"`
	After    int64     `json:"after,omitempty"`
	Limit    int       `json:"limit,omitempty"` // default 100, at most 1000
}
