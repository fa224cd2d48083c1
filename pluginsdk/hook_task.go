package pluginsdk

import (
	"context"
	"maps"
	"slices"
)

// The hooks of a task. Their calls are of the deadline class work: they may take
// as long as they report progress (ReportProgress), and end with their context
// when the task is cancelled. What a plugin answers is stored before the next is asked,
// and in its round it is not asked again. A call that fails is repeated under the same
// id, 10 times in a row, and then the hook's failure mode says what becomes of the task:
// closed, it waits for a person (before it has begun it has failed); open, the plugin is
// passed over. A plugin that does not serve is waited for; one that is disabled is not.
// CodeExhausted says that the plugin was refused what it needs, such as a turn: it is asked
// until it gets that, and the task's parent is told after 10 times.

// TaskContext is where and with what a task will be worked on.
type TaskContext struct {
	Cwd            string
	Context        string // put before the task's prompt
	Labels         map[string]string
	PermissionMode string
	AllowedTools   []string
}

// OnTaskCreateRequest is a task about to begin.
type OnTaskCreateRequest struct {
	Call    Call
	Task    Task
	Context TaskContext // as the plugins before have left it
}

// OnTaskCreateResponse is what changes in the task's context. What is nil stays as
// it is: so does what a plugin does not know.
type OnTaskCreateResponse struct {
	Cwd          *string           // an empty one is a value, as in Context
	Context      *string           // put before the task's prompt
	SetLabels    map[string]string // are given these values; other labels stay
	RemoveLabels []string          // are taken away before SetLabels is put in

	// PermissionMode is that of the task's runs until it is over, and AllowTools are rules
	// that are added to those of what they may do unasked. Both need threads.admin, and are
	// audited.
	PermissionMode *string
	AllowTools     []string
}

// Changed returns the context with what a plugin's answer changes in it; nil changes
// nothing.
func (c TaskContext) Changed(by *OnTaskCreateResponse) TaskContext {
	if by == nil {
		return c
	}
	if by.Cwd != nil {
		c.Cwd = *by.Cwd
	}
	if by.Context != nil {
		c.Context = *by.Context
	}
	labels := make(map[string]string, len(c.Labels)+len(by.SetLabels))
	maps.Copy(labels, c.Labels)
	for _, name := range by.RemoveLabels {
		delete(labels, name)
	}
	maps.Copy(labels, by.SetLabels)
	c.Labels = labels
	if by.PermissionMode != nil {
		c.PermissionMode = *by.PermissionMode
	}
	for _, rule := range by.AllowTools {
		if !slices.Contains(c.AllowedTools, rule) {
			c.AllowedTools = append(slices.Clip(c.AllowedTools), rule)
		}
	}
	return c
}

// TaskCreateHook is a chain before a task begins: each plugin gets the context
// as the plugins before have left it, and returns what changes in it. An error other
// than CodeUnavailable, CodeDeadline and CodeExhausted says that the task cannot begin,
// and is not repeated.
type TaskCreateHook interface {
	OnTaskCreate(ctx context.Context, request *OnTaskCreateRequest) (*OnTaskCreateResponse, error)
}

// Verdict says what a reviewer thinks of a task's work.
type Verdict string

// The verdicts. The empty one is no opinion: who has none decides nothing.
const (
	VerdictAccept Verdict = "accept"
	VerdictReject Verdict = "reject"
	VerdictWait   Verdict = "wait" // a person has to decide; Feedback tells that person why
)

// Evidence is what a verdict rests on.
type Evidence struct {
	Kind     string `json:"kind"` // command, file, diff, ...
	Command  string `json:"command,omitempty"`
	ExitCode int    `json:"exitCode,omitempty"`
	Output   string `json:"output,omitempty"` // its end
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Diff     string `json:"diff,omitempty"`
	Tree     string `json:"tree,omitempty"` // the git tree that was looked at
	// Plugin gave the evidence. The core sets it, whatever the plugin says.
	Plugin string `json:"plugin,omitempty"`
}

// OnTaskCompleteRequest is a task's work, to be accepted or not.
type OnTaskCompleteRequest struct {
	Call   Call
	Task   Task
	Result InvokeResult // of its latest iteration
	// Evidence is that of the plugins before, in this round: of those that accepted, and of
	// those that had no opinion.
	Evidence []Evidence
}

// OnTaskCompleteResponse is a reviewer's verdict.
type OnTaskCompleteResponse struct {
	Verdict  Verdict
	Feedback string // to the worker when rejected; to a person when the task has to wait for one
	Evidence []Evidence
	// Marks are put on the task, but for one that is rejected. A person's word on the task
	// takes them away.
	Marks []string
}

// TaskCompleteHook is the gate that a task's work must pass. Only VerdictReject
// rejects; with VerdictWait the task waits for a person. An error is no verdict: the plugin is asked again, with backoff, and
// then the task waits for a person.
type TaskCompleteHook interface {
	OnTaskComplete(ctx context.Context, request *OnTaskCompleteRequest) (*OnTaskCompleteResponse, error)
}

// OnTaskValidatedRequest is a task whose work was accepted.
type OnTaskValidatedRequest struct {
	Call Call
	Task Task
	// Evidence is that of the plugins that accepted it, and of those that had no opinion.
	Evidence []Evidence
}

// Handover says what became of a task's accepted work.
type Handover string

// The outcomes of OnTaskValidated; the empty one is HandoverDone.
const (
	HandoverDone  Handover = "done"
	HandoverAgain Handover = "again" // the work has to be evaluated again: what it was made for has moved
	HandoverWait  Handover = "wait"  // a person has to do something first
)

// OnTaskValidatedResponse says what became of the work; nil: done.
type OnTaskValidatedResponse struct {
	Handover Handover
	Reason   string
	Mark     string // put on a task that waits, such as conflict
	// CwdGone says that the task's directory is no more. Its thread goes back to the one
	// that was asked for when the task was made, and begins a new session there.
	CwdGone bool
}

// TaskValidatedHook hands accepted work over. Only an error is repeated: with
// backoff, 10 times, and then the task waits for a person.
type TaskValidatedHook interface {
	OnTaskValidated(ctx context.Context, request *OnTaskValidatedRequest) (*OnTaskValidatedResponse, error)
}

// OnTaskFailedRequest is a task that has failed or was cancelled.
type OnTaskFailedRequest struct {
	Call   Call
	Task   Task
	Reason string
}

// OnTaskFailedResponse says what the end has done.
type OnTaskFailedResponse struct {
	CwdGone bool // as in OnTaskValidatedResponse
	// Note is what people are told beside the reason, such as that the work was merged
	// before the end came.
	Note string
}

// TaskFailedHook is told that a task has failed or was cancelled, when its agent works no
// more and before its parent is told.
type TaskFailedHook interface {
	OnTaskFailed(ctx context.Context, request *OnTaskFailedRequest) (*OnTaskFailedResponse, error)
}
