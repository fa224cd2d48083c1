package pluginsdk

import "time"

// TaskStatus says where a task is in its life.
type TaskStatus string

// The statuses of a task. TaskWaiting waits for a person.
const (
	TaskPending    TaskStatus = "pending"
	TaskRunning    TaskStatus = "running"
	TaskEvaluating TaskStatus = "evaluating"
	TaskCompleted  TaskStatus = "completed"
	TaskFailed     TaskStatus = "failed"
	TaskCancelled  TaskStatus = "cancelled"
	TaskWaiting    TaskStatus = "waiting"
)

// Final reports whether a task in this status does not go on. Of one that has failed
// or was cancelled OnTaskFailed may yet have to be told, and its parent after that:
// it has a CompletedAt once that is done.
func (s TaskStatus) Final() bool {
	switch s {
	case TaskCompleted, TaskFailed, TaskCancelled:
		return true
	case TaskPending, TaskRunning, TaskEvaluating, TaskWaiting:
		return false
	}
	return false
}

// Task is work that one agent gave to another. The core makes its transitions,
// durably, and fires the task hooks; a plugin decides what comes next.
type Task struct {
	ID             string     `json:"id"`
	ThreadID       string     `json:"threadId"` // its own, after those that it goes on from
	ParentThreadID string     `json:"parentThreadId,omitempty"`
	ParentTaskID   string     `json:"parentTaskId,omitempty"`
	Depth          int        `json:"depth"`
	Plugin         string     `json:"plugin,omitempty"` // that made it
	Key            string     `json:"key,omitempty"`    // the plugin's
	Status         TaskStatus `json:"status"`

	OriginalMessage         string            `json:"originalMessage"`
	Prompt                  string            `json:"prompt"`
	Model                   string            `json:"model,omitempty"`
	PermissionMode          string            `json:"permissionMode,omitempty"`
	AllowedTools            []string          `json:"allowedTools,omitempty"`
	Cwd                     string            `json:"cwd,omitempty"`
	OwnDirectory            bool              `json:"ownDirectory,omitempty"` // Cwd is its own: nothing in it is merged anywhere
	CwdPlugin               string            `json:"cwdPlugin,omitempty"`    // that gave it Cwd in OnTaskCreate: its evidence says what the work is; empty: none did
	FromTaskID              string            `json:"fromTaskId,omitempty"`   // that it goes on from
	Account                 string            `json:"account,omitempty"`      // that its thread was given; empty: the default one
	Context                 string            `json:"context,omitempty"`
	Labels                  map[string]string `json:"labels,omitempty"`
	RequestedBy             string            `json:"requestedBy,omitempty"` // a person, as Plugin says
	Wake                    bool              `json:"wake,omitempty"`        // run the parent's agent when it ends
	CurrentIteration        int               `json:"currentIteration"`
	MaxIterations           int               `json:"maxIterations"`
	ValidationIterations    int               `json:"validationIterations"`
	MaxValidationIterations int               `json:"maxValidationIterations"`
	CostCapUSD              float64           `json:"costCapUsd"`            // held while its turns run, also those of the tasks below it
	CostUSD                 float64           `json:"costUsd"`               // so far, its children's included
	NotionalUSD             float64           `json:"notionalUsd,omitempty"` // what of CostUSD is of turns on a plan: nobody is billed that
	CostUnsure              bool              `json:"costUnsure,omitempty"`  // CostUSD may be wrong: that of at least one of its turns may

	RunID       string    `json:"runId,omitempty"` // of the current iteration; empty: it has none (IterateTaskRequest.Own), or nothing is iterated yet
	Marks       []string  `json:"marks,omitempty"` // unvalidated, conflict, ...
	Result      string    `json:"result,omitempty"`
	Feedback    string    `json:"feedback,omitempty"`
	Error       string    `json:"error,omitempty"`
	CreatedAt   time.Time `json:"createdAt"`
	CompletedAt time.Time `json:"completedAt,omitzero"`
	// Origin is where the task was asked for, as the core knows it: by which token the person
	// called, or whose agent has given it, and whether its thread is apart.
	Origin Origin `json:"origin,omitzero"`
}

// Label says who has asked for the task.
func (t Task) Label() Label {
	return Label{Author: t.RequestedBy, Plugin: t.Plugin, Origin: t.Origin}
}

// NewTask is what Tasks.Create makes a task from. Permission mode and tools are
// never more than the parent's.
type NewTask struct {
	ParentThreadID          string            `json:"parentThreadId,omitempty"`
	ParentTaskID            string            `json:"parentTaskId,omitempty"`
	OriginalMessage         string            `json:"originalMessage"`
	Prompt                  string            `json:"prompt"`
	Model                   string            `json:"model,omitempty"`
	PermissionMode          string            `json:"permissionMode,omitempty"`
	AllowedTools            []string          `json:"allowedTools,omitempty"`
	Cwd                     string            `json:"cwd,omitempty"`
	Labels                  map[string]string `json:"labels,omitempty"`
	RequestedBy             string            `json:"requestedBy,omitempty"`
	Wake                    bool              `json:"wake,omitempty"`
	MaxIterations           int               `json:"maxIterations,omitempty"`           // default 5
	MaxValidationIterations int               `json:"maxValidationIterations,omitempty"` // default 3
	CostCapUSD              float64           `json:"costCapUsd,omitempty"`              // default 5

	// OwnDirectory gives a task without Cwd, even where its parent has one, a directory that
	// nobody else has, in the daemon's data directory. It stays when the task is over.
	OwnDirectory bool `json:"ownDirectory,omitempty"`
	// FromTaskID is a task of the plugin's that is over, CompletedAt set: this one goes on
	// in its thread, where the agent knows what was done, below the same parents, and, unless
	// Model and Cwd say otherwise, with the same model in the same directory. Iterations,
	// caps and verdicts begin anew. CodeStale: a task of that thread is not over yet.
	FromTaskID string `json:"fromTaskId,omitempty"`
	// Account is the account of the agent's that the task's thread uses; empty: the parent's,
	// or of a task that goes on in a thread that one's. Another than the parent's needs
	// threads.admin.
	Account string `json:"account,omitempty"`
}

// TaskQuery selects tasks, oldest first unless Newest is set. Zero fields do not
// restrict.
type TaskQuery struct {
	Plugin         string       `json:"plugin,omitempty"`
	ParentThreadID string       `json:"parentThreadId,omitempty"`
	ParentTaskID   string       `json:"parentTaskId,omitempty"`
	ThreadID       string       `json:"threadId,omitempty"`
	Statuses       []TaskStatus `json:"statuses,omitempty"`
	Newest         bool         `json:"newest,omitempty"`
	EndedAfter     time.Time    `json:"endedAfter,omitzero"` // only tasks whose CompletedAt is later
	After          string       `json:"after,omitempty"`     // id of the last task of the page before
	Limit          int          `json:"limit,omitempty"`     // default 100, at most 1000
}

// TaskIteration is one message to a task's thread and the run that answered it, or work that
// the task's plugin did itself.
type TaskIteration struct {
	Iteration   int       `json:"iteration"` // from 1
	RunID       string    `json:"runId"`     // empty with Own; of a run that was merged into another, that one
	State       RunState  `json:"state"`
	Error       string    `json:"error,omitempty"`
	CostUSD     float64   `json:"costUsd"`
	NotionalUSD float64   `json:"notionalUsd,omitempty"` // as in Run, like CostUnsure
	CostUnsure  bool      `json:"costUnsure,omitempty"`
	QueuedAt    time.Time `json:"queuedAt"`
	FinishedAt  time.Time `json:"finishedAt,omitzero"`
	// Own says that the plugin did the work itself (IterateTaskRequest.Own): RunID is empty and
	// CostUSD 0. State is running until the iteration is handed in or suspended (succeeded), or
	// the task fails or is cancelled before that.
	Own bool `json:"own,omitempty"`
}

// TaskAnswer is what a plugin, or a person through one, has said of a task.
type TaskAnswer struct {
	ID        int64  `json:"id"`        // grows with each answer
	Iteration int    `json:"iteration"` // that was at hand; 0: it had not begun
	Round     int    `json:"round"`     // of evaluation
	Hook      Hook   `json:"hook"`
	Plugin    string `json:"plugin"`
	Author    string `json:"author,omitempty"` // the person; empty: the plugin itself
	// Answer is a Verdict or a Handover; told: it has answered without one; passed: it has
	// failed as often as it may, and was passed over.
	Answer   string     `json:"answer,omitempty"`
	Feedback string     `json:"feedback,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
	At       time.Time  `json:"at"`
	Origin   Origin     `json:"origin,omitzero"` // of a person's; the core fills it in
}

// Label says who has answered.
func (a TaskAnswer) Label() Label { return Label{Author: a.Author, Plugin: a.Plugin, Origin: a.Origin} }
