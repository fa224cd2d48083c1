package pluginsdk

import (
	"context"
	"encoding/json"
	"time"
)

// What a plugin has the core work on: tasks, turns of the agent, schedules.

// Tasks has the core make tasks, and their transitions. A transition that was
// made before is not made again, and answers with the task as it is now. One that
// the task's status does not allow is CodeStale. A plugin makes the transitions of the
// tasks that it has made, whoever asks it to; with tasks.decide it may cancel any.
type Tasks interface {
	// Create makes a task and its thread; repeated with the same key, it returns the
	// first one. OnTaskCreate is asked afterwards, and then the task is running.
	// Needs tasks.write.
	Create(ctx context.Context, request *CreateTaskRequest) (*CreateTaskResponse, error)
	// Get returns a task, or CodeNotFound. Needs tasks.read.
	Get(ctx context.Context, request *GetTaskRequest) (*GetTaskResponse, error)
	// List returns the selected tasks. Needs tasks.read.
	List(ctx context.Context, request *ListTasksRequest) (*ListTasksResponse, error)
	// History returns what has become of a task so far: its iterations, and what plugins
	// and people have said of it. Needs tasks.read.
	History(ctx context.Context, request *TaskHistoryRequest) (*TaskHistoryResponse, error)
	// Iterate submits a message to the thread of a task that is running: an
	// ordinary run, once for each iteration. The run may come to what the task's cost cap,
	// and those of the tasks above it, leave, and fails when it gets there. An iteration past
	// the task's maximum, or past one of those caps, is CodeExhausted, and will always be;
	// so is one for which there is no room now, in the thread's queue or in a quota of the
	// plugin's. Get tells them apart: CurrentIteration is MaxIterations, or CostUSD has come
	// to CostCapUSD, of this task or of one above it. With Own the plugin does the work of the
	// iteration itself, and there is no run. Needs tasks.write.
	Iterate(ctx context.Context, request *IterateTaskRequest) (*IterateTaskResponse, error)
	// Evaluate hands the result of an iteration in: OnTaskComplete is asked. Accepted,
	// the work is handed over (OnTaskValidated) and the task is completed; rejected,
	// it is running again, with the feedback, and the next iteration is due, or it has
	// failed when that was its last. Work that no gate had an opinion on is marked
	// unvalidated: it is handed over if the task has no directory, else the task waits
	// for a person. Needs tasks.write.
	Evaluate(ctx context.Context, request *EvaluateTaskRequest) (*EvaluateTaskResponse, error)
	// Suspend has a task that is running wait for a person, once for each iteration. The
	// request's Result becomes the task's, in place of an older iteration's. Needs
	// tasks.write.
	Suspend(ctx context.Context, request *SuspendTaskRequest) (*SuspendTaskResponse, error)
	// Decide is a person's word on a task that waits, whichever plugin has made it:
	// accepted work is handed over, else the task is running again, with the feedback,
	// which counts as no rejection of a plugin's. The task's marks are gone. A task that
	// does not wait is CodeStale, and so is one that is at another iteration than the
	// request names: nobody decides on work that they have not seen. Accepted is the task's
	// Result; without one there is nothing to accept, which is CodeStale too: say go on, or
	// have the task failed. Needs tasks.decide, which is not for who makes the tasks, and is
	// refused (CodeDenied) in hooks and tools. On a task that the plugin has made itself it also
	// works in OnCommand, with tasks.write, when a person with the scope approve has typed the
	// command through a plugin with tasks.decide, and the manifest gives the command that scope or
	// a higher one: the word is that person's, whoever Author names.
	Decide(ctx context.Context, request *DecideTaskRequest) (*DecideTaskResponse, error)
	// Fail gives a task up: its run and the tasks below it are ended, then OnTaskFailed
	// is told, and then its parent. Needs tasks.write.
	Fail(ctx context.Context, request *FailTaskRequest) (*FailTaskResponse, error)
	// Cancel ends a task from any state, as Fail does, with all that its thread still
	// works on. One that is over stays as it is. Needs tasks.write.
	Cancel(ctx context.Context, request *CancelTaskRequest) (*CancelTaskResponse, error)
}

// CreateTaskRequest describes the task.
type CreateTaskRequest struct {
	Key  string // the plugin's; empty: a repetition makes another
	Task NewTask
}

// CreateTaskResponse has the task; Existed says that it was there before.
type CreateTaskResponse struct {
	Task    Task
	Existed bool
}

// GetTaskRequest names a task.
type GetTaskRequest struct{ ID string }

// GetTaskResponse has the task.
type GetTaskResponse struct{ Task Task }

// ListTasksRequest selects tasks.
type ListTasksRequest struct{ Query TaskQuery }

// ListTasksResponse has a page of tasks.
type ListTasksResponse struct{ Tasks []Task }

// TaskHistoryRequest names a task, and asks for a page of its answers.
type TaskHistoryRequest struct {
	ID    string
	After int64 // id of the last answer of the page before
	Limit int   // default and at most 1000
}

// TaskHistoryResponse has the task's iterations, the latest 1000 in each page, of an error
// its first KiB, and a page of its answers, oldest first: at most 8 MiB of them.
type TaskHistoryResponse struct {
	Iterations []TaskIteration
	Answers    []TaskAnswer
	More       bool // there are answers after the last one
}

// IterateTaskRequest has what the worker is told.
type IterateTaskRequest struct {
	ID        string
	Iteration int    // from 1; the key of the message
	Content   string // empty with Own
	// Own says that the plugin does the work of the iteration itself, by tasks below this one
	// and by turns: nothing is submitted, the iteration has no run, and the Task's RunID and
	// the response's Accepted are empty. Everything else is as of an iteration with a run: each
	// number once, the maximum, Evaluate, Suspend. It costs nothing itself, so that it can be
	// begun when the task has cost what it may, and be suspended; what is done in it is held by
	// the cost caps. OnTaskComplete's Result.Text is EvaluateTaskRequest.Result. A daemon that does not know Own refuses the empty Content
	// (CodeInvalid), or, when OnTaskCreate has given the task a Context, submits that one
	// alone, which an Accepted.RunID that is not empty tells.
	Own bool
	// DisallowedTools are rules of tools that the run of the iteration may not use, whatever
	// its task and its thread allow; none with Own. Such a run has options (see RunOptions): it
	// answers this message alone, and its usage counts under the plugin's name. A daemon that
	// does not know Own does not know DisallowedTools either, and leaves them out.
	DisallowedTools []string
}

// IterateTaskResponse has the task, and the run of the iteration; Accepted is empty when it has none.
type IterateTaskResponse struct {
	Task     Task
	Accepted Accepted
}

// EvaluateTaskRequest hands in what an iteration came to.
type EvaluateTaskRequest struct {
	ID        string
	Iteration int
	Result    string // in words; without it no person can accept it either: see Decide
}

// EvaluateTaskResponse has the task as it is now: the hooks are asked afterwards.
type EvaluateTaskResponse struct{ Task Task }

// SuspendTaskRequest says what a person has to do.
type SuspendTaskRequest struct {
	ID        string
	Iteration int // that has got stuck
	Reason    string
	Mark      string
	// Result is what the iteration came to, which a person may accept as it is; empty:
	// there is nothing to accept.
	Result string
}

// SuspendTaskResponse has the task as it is now.
type SuspendTaskResponse struct{ Task Task }

// DecideTaskRequest is a person's verdict.
type DecideTaskRequest struct {
	ID        string
	Iteration int     // that the person has seen; 0: whichever the task is at
	Verdict   Verdict // empty: go on, with the next iteration
	Feedback  string  // to the worker
	Author    string  // the person
	// CostCapUSD is the task's cost cap from now on, in place of the one that it was made with: more
	// than what the task has cost so far, and only when it goes on or is rejected, else
	// CodeInvalid. The change is audited. The caps of the tasks above it stay. 0: the cap stays.
	CostCapUSD float64
}

// DecideTaskResponse has the task as it is now.
type DecideTaskResponse struct{ Task Task }

// FailTaskRequest says why.
type FailTaskRequest struct {
	ID     string
	Reason string
}

// FailTaskResponse has the task as it is now.
type FailTaskResponse struct{ Task Task }

// CancelTaskRequest says why, and who wants it.
type CancelTaskRequest struct {
	ID     string
	Reason string
	Author string // as in CancelRunRequest
}

// CancelTaskResponse has the task as it is now.
type CancelTaskResponse struct{ Task Task }

// Agent runs turns of the agent on behalf of a plugin, outside a conversation. A
// turn is a run: its result is stored, and outlives the plugin that asked.
type Agent interface {
	// Start begins a turn and returns its run; repeated with the same key, it
	// returns the first one's. Needs agent.invoke; for what goes beyond the thread's own
	// (Cwd, PermissionMode, AllowedTools), without a thread beyond the daemon's, and for a
	// thread or a task that is neither the plugin's nor what the call is made in, also
	// threads.admin.
	Start(ctx context.Context, request *StartTurnRequest) (*StartTurnResponse, error)
	// Wait returns the result of one of the plugin's turns once it has one. Needs
	// agent.invoke.
	Wait(ctx context.Context, request *WaitTurnRequest) (*WaitTurnResponse, error)
	// Cancel interrupts one of the plugin's turns. Needs agent.invoke.
	Cancel(ctx context.Context, request *CancelTurnRequest) (*CancelTurnResponse, error)
}

// TurnSession says which session a turn of the agent is in.
type TurnSession string

// The sessions of a turn; the empty one is SessionFresh.
const (
	SessionFresh  TurnSession = "fresh"  // one of its own, forgotten afterwards
	SessionThread TurnSession = "thread" // the thread's: the turn is part of the conversation
)

// StartTurnRequest asks a turn of the agent.
type StartTurnRequest struct {
	Key     string // the plugin's; a repetition returns the first one's run; empty: it begins another
	Purpose string // validation, summary, ...: usage is counted under it
	// ThreadID is where the turn is shown and charged; TaskID the task it is for.
	ThreadID string
	TaskID   string
	Session  TurnSession

	Prompt          string
	SystemPrompt    string // appended to the agent's own
	Model           string
	Effort          string
	PermissionMode  string
	Cwd             string
	AllowedTools    []string
	DisallowedTools []string
	JSONSchema      json.RawMessage // of InvokeResult.StructuredOutput
	CostCapUSD      float64         // the turn is interrupted there; 0: the daemon's
	Timeout         time.Duration   // 0: the daemon's
}

// StartTurnResponse names the turn's run.
type StartTurnResponse struct {
	RunID   string
	Existed bool // the key was known
}

// WaitTurnRequest names a turn by its run.
type WaitTurnRequest struct{ RunID string }

// WaitTurnResponse says how the turn ended. Result is nil when it was cancelled
// before the agent was asked.
type WaitTurnResponse struct {
	State  RunState
	Error  string
	Result *InvokeResult
}

// CancelTurnRequest names a turn by its run.
type CancelTurnRequest struct{ RunID string }

// CancelTurnResponse has nothing to say yet.
type CancelTurnResponse struct{}

// Crons reads and writes scheduled jobs. What a job is, whether it is on, and
// what became of it are written apart. Jobs belong to no plugin: who has the capability
// may read or change them all.
type Crons interface {
	// Save creates the job of that name, on or off as the request says, or replaces its
	// specification. Needs crons.write.
	Save(ctx context.Context, request *SaveCronRequest) (*SaveCronResponse, error)
	// SetEnabled turns a job on or off; an absent one is CodeNotFound. Needs
	// crons.write.
	SetEnabled(ctx context.Context, request *SetCronEnabledRequest) (*SetCronEnabledResponse, error)
	// Report stores what became of a job, in place of what was said of it before, and with it
	// rows of its fires, each in place of the one of that time unless that is over; an absent job
	// is CodeNotFound.
	// Needs crons.write.
	Report(ctx context.Context, request *ReportCronRequest) (*ReportCronResponse, error)
	// List returns jobs by name. Needs crons.read.
	List(ctx context.Context, request *ListCronsRequest) (*ListCronsResponse, error)
	// Fires returns what became of the times at which jobs were due, newest first. Needs
	// crons.read.
	Fires(ctx context.Context, request *CronFiresRequest) (*CronFiresResponse, error)
	// Fire asks for a fire of a job now, also of one that is off, and returns the row of it, which is
	// pending: who fires jobs finds it there. With Data it is CodeExhausted within a minute of
	// the last one with Data. Needs crons.write.
	Fire(ctx context.Context, request *FireCronRequest) (*FireCronResponse, error)
	// Ask asks a plugin whether there is news for a job, by its hook OnCron, and waits for the answer. A
	// plugin that is not installed is CodeNotFound; one that is disabled or does not serve
	// CodeUnavailable; one that does not answer OnCron CodeStale; one that does not answer within
	// the hook's deadline CodeDeadline. At most 16 such questions to one plugin are under way;
	// more are CodeExhausted. Any other error is the plugin's own, or says what was wrong with its
	// answer (CodeInternal). Needs crons.write.
	Ask(ctx context.Context, request *AskCronRequest) (*AskCronResponse, error)
	// Delete removes the job of that name; an absent one is CodeNotFound. The rows of its
	// fires stay for as long as those of other jobs. Needs crons.write.
	Delete(ctx context.Context, request *DeleteCronRequest) (*DeleteCronResponse, error)
}

// SaveCronRequest has the specification.
type SaveCronRequest struct {
	Spec CronSpec
	// Enabled is whether a job that is made is on at once. One that exists stays as
	// it is.
	Enabled bool
}

// SaveCronResponse has the job; Existed says that it was there before.
type SaveCronResponse struct {
	Job     CronJob
	Existed bool
}

// SetCronEnabledRequest names a job.
type SetCronEnabledRequest struct {
	Name    string
	Enabled bool
}

// SetCronEnabledResponse has the job as it is now.
type SetCronEnabledResponse struct{ Job CronJob }

// ReportCronRequest names a job and says what became of it. Without a name its Fires are of jobs that were removed, by
// their JobID: only rows that are open are changed, and Status is ignored.
type ReportCronRequest struct {
	Name   string
	Status CronStatus // the whole of it: what is zero here is zero in the job
	Fires  []CronFire // of this job, whatever JobID and Job say; at most 100
}

// ReportCronResponse has the job as it is now.
type ReportCronResponse struct{ Job CronJob }

// ListCronsRequest asks for a page of jobs.
type ListCronsRequest struct {
	After string // name of the last job of the page before
	Limit int    // default and at most 1000
}

// ListCronsResponse has a page of jobs: at most 8 MiB of them.
type ListCronsResponse struct {
	Jobs []CronJob
	More bool // there are jobs after the last one
}

// CronFiresRequest selects fires.
type CronFiresRequest struct {
	Name   string    // of the job; empty: of all jobs
	Open   bool      // only those of which something is yet to become
	Before time.Time // only those that were due before; zero: also the newest
	Limit  int       // default 100, at most 1000
}

// CronFiresResponse has a page of fires.
type CronFiresResponse struct {
	Fires []CronFire
	More  bool // there are older ones
}

// FireCronRequest names a job.
type FireCronRequest struct {
	Name string
	Data string // as in CronFire, at most 64 KiB; empty: none
}

// FireCronResponse has the fire.
type FireCronResponse struct{ Fire CronFire }

// AskCronRequest names the plugin that is asked. That the job exists is not checked.
type AskCronRequest struct {
	Plugin   string
	Question CronQuestion
}

// AskCronResponse is the plugin's answer.
type AskCronResponse struct {
	News bool
	Text string // empty without news
}

// DeleteCronRequest names a job.
type DeleteCronRequest struct{ Name string }

// DeleteCronResponse has nothing to say yet.
type DeleteCronResponse struct{}
