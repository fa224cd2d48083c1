package pluginsdk

import "context"

// TaskContext is where and with what a task will be worked on.
type TaskContext struct {
	Cwd     string
	Context string // put before the task's prompt
}

// TaskCreation is a task about to begin.
type TaskCreation struct {
	Call    Call
	Task    Task
	Context TaskContext // the previous plugin's
}

// TaskCreateHook is a chain before a task begins: each plugin gets the
// previous one's context and returns the next.
type TaskCreateHook interface {
	OnTaskCreate(ctx context.Context, creation TaskCreation) (TaskContext, error)
}

// TaskReview is a task's work, to be accepted or not.
type TaskReview struct {
	Call   Call
	Task   Task
	Cwd    string
	Result InvokeResult
}

// TaskCompleteHook is the gate that a task's work must pass: every plugin that
// answers it must accept. An error rejects, with the error as feedback.
type TaskCompleteHook interface {
	OnTaskComplete(ctx context.Context, review TaskReview) (Verdict, error)
}

// TaskEnd is a task that has ended.
type TaskEnd struct {
	Call   Call
	Task   Task
	Reason string // why it failed; empty for a validated task
}

// TaskValidatedHook is told that a task's work was accepted.
type TaskValidatedHook interface {
	OnTaskValidated(ctx context.Context, end TaskEnd) error
}

// TaskFailedHook is told that a task has failed.
type TaskFailedHook interface {
	OnTaskFailed(ctx context.Context, end TaskEnd) error
}
