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

// Task is work that one agent gave to another.
type Task struct {
	ID                      string     `json:"id"`
	ThreadID                string     `json:"threadId"`
	ParentThreadID          string     `json:"parentThreadId,omitempty"`
	ParentTaskID            string     `json:"parentTaskId,omitempty"`
	Depth                   int        `json:"depth"`
	Key                     string     `json:"key,omitempty"`
	Status                  TaskStatus `json:"status"`
	OriginalMessage         string     `json:"originalMessage"`
	Prompt                  string     `json:"prompt"`
	Model                   string     `json:"model,omitempty"`
	CurrentIteration        int        `json:"currentIteration"`
	MaxIterations           int        `json:"maxIterations"`
	ValidationIterations    int        `json:"validationIterations"`
	MaxValidationIterations int        `json:"maxValidationIterations"`
	CostCapUSD              float64    `json:"costCapUsd"`
	Result                  string     `json:"result,omitempty"`
	Feedback                string     `json:"feedback,omitempty"`
	CreatedAt               time.Time  `json:"createdAt"`
	CompletedAt             time.Time  `json:"completedAt,omitzero"`
}

// NewTask is what Tasks.Create makes a task from.
type NewTask struct {
	ParentThreadID          string  `json:"parentThreadId,omitempty"`
	ParentTaskID            string  `json:"parentTaskId,omitempty"`
	OriginalMessage         string  `json:"originalMessage"`
	Prompt                  string  `json:"prompt"`
	Model                   string  `json:"model,omitempty"`
	MaxIterations           int     `json:"maxIterations,omitempty"`           // default 5
	MaxValidationIterations int     `json:"maxValidationIterations,omitempty"` // default 3
	CostCapUSD              float64 `json:"costCapUsd,omitempty"`              // default 5
}

// TaskPatch changes the fields of a task that are not nil.
type TaskPatch struct {
	Status               *TaskStatus `json:"status,omitempty"`
	CurrentIteration     *int        `json:"currentIteration,omitempty"`
	ValidationIterations *int        `json:"validationIterations,omitempty"`
	Result               *string     `json:"result,omitempty"`
	Feedback             *string     `json:"feedback,omitempty"`
}

// TaskQuery selects tasks, oldest first. Zero fields do not restrict.
type TaskQuery struct {
	ParentThreadID string       `json:"parentThreadId,omitempty"`
	Statuses       []TaskStatus `json:"statuses,omitempty"`
	After          string       `json:"after,omitempty"`
	Limit          int          `json:"limit,omitempty"` // default 100, at most 1000
}
