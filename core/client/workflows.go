package client

import (
	"context"
	"net/url"
	"time"
)

// Workflow is a request that is built in stages.
type Workflow struct {
	ID             string            `json:"id"` // of its task
	Title          string            `json:"title"`
	Request        string            `json:"request"`
	Dir            string            `json:"dir"`
	ParentThreadID string            `json:"parentThreadId,omitempty"`
	ThreadID       string            `json:"threadId,omitempty"`
	State          WorkflowState     `json:"state"`
	Waits          string            `json:"waits,omitempty"` // why it does not go on
	Git            bool              `json:"git"`
	Branch         string            `json:"branch,omitempty"`
	Why            string            `json:"why,omitempty"` // why it has these stages
	Acceptance     []string          `json:"acceptance"`
	Stages         []WorkflowStage   `json:"stages"`
	Final          []WorkflowVerdict `json:"final"` // of the whole change, oldest first
	Limits         WorkflowLimits    `json:"limits"`
	Redesigns      int               `json:"redesigns"`
	BatchSize      int               `json:"batchSize"`
	Cost           WorkflowCost      `json:"cost"`
	Time           WorkflowTime      `json:"time"`
	Estimate       *WorkflowEstimate `json:"estimate,omitempty"`
	StartedAt      time.Time         `json:"startedAt,omitzero"`
	EndedAt        time.Time         `json:"endedAt,omitzero"`
}

// WorkflowState says where a workflow is.
type WorkflowState string

// The states of a workflow. One that waits needs a person; one that has stopped can be continued.
const (
	WorkflowQueued    WorkflowState = "queued"
	WorkflowRunning   WorkflowState = "running"
	WorkflowWaiting   WorkflowState = "waiting"
	WorkflowStopped   WorkflowState = "stopped"
	WorkflowCompleted WorkflowState = "completed"
	WorkflowFailed    WorkflowState = "failed"
	WorkflowCancelled WorkflowState = "cancelled"
)

// Moves reports whether a workflow in this state goes on by itself.
func (s WorkflowState) Moves() bool { return s == WorkflowQueued || s == WorkflowRunning }

// WorkflowStage is one step of a workflow: an agent, perhaps with the batch that it works on.
type WorkflowStage struct {
	Agent       string              `json:"agent"`
	Role        string              `json:"role,omitempty"`
	Batch       string              `json:"batch,omitempty"`
	Status      string              `json:"status"` // pending, running, reviewing, completed, failed
	Attempt     int                 `json:"attempt,omitempty"`
	Round       int                 `json:"round,omitempty"`
	StartedAt   time.Time           `json:"startedAt,omitzero"`
	CompletedAt time.Time           `json:"completedAt,omitzero"`
	TaskID      string              `json:"taskId,omitempty"`
	ThreadID    string              `json:"threadId,omitempty"`
	RunID       string              `json:"runId,omitempty"`
	SessionID   string              `json:"sessionId,omitempty"`
	Teams       bool                `json:"teams,omitempty"`
	Validation  *WorkflowValidation `json:"validation,omitempty"`
	Verdicts    []WorkflowVerdict   `json:"verdicts"` // oldest first
	CostUSD     float64             `json:"costUsd,omitempty"`
	Seconds     float64             `json:"seconds,omitempty"`
}

// WorkflowValidation is what the checks of a stage came to.
type WorkflowValidation struct {
	Passed bool      `json:"passed"`
	Reason string    `json:"reason,omitempty"`
	Tries  int       `json:"tries"`
	At     time.Time `json:"at,omitzero"`
}

// WorkflowVerdict is what a reviewer has said, or the person who accepted the work as it is.
type WorkflowVerdict struct {
	Verdict            string    `json:"verdict"` // APPROVE, REVISE, REDESIGN
	Score              int       `json:"score,omitempty"`
	Summary            string    `json:"summary,omitempty"`
	Issues             []string  `json:"issues"`
	PatternsCompliance string    `json:"patternsCompliance,omitempty"`
	Batch              string    `json:"batch,omitempty"`
	Source             string    `json:"source,omitempty"`
	Tree               string    `json:"tree,omitempty"`
	RunID              string    `json:"runId,omitempty"`
	Checks             []string  `json:"checks"`
	By                 string    `json:"by,omitempty"`
	At                 time.Time `json:"at,omitzero"`
	CostUSD            float64   `json:"costUsd,omitempty"`
	Seconds            float64   `json:"seconds,omitempty"`
}

// WorkflowLimits are how often what goes wrong is tried again.
type WorkflowLimits struct {
	Rounds    int `json:"rounds"`
	Redesigns int `json:"redesigns"`
	Tries     int `json:"tries"`
}

// WorkflowCost is what a workflow has cost.
type WorkflowCost struct {
	USD          float64 `json:"usd"`
	BuildingUSD  float64 `json:"buildingUsd"`
	VerifyingUSD float64 `json:"verifyingUsd"`
	NotionalUSD  float64 `json:"notionalUsd"`
	Unsure       bool    `json:"unsure"`
	CapUSD       float64 `json:"capUsd"`
}

// WorkflowTime is how long the stages have worked, in seconds.
type WorkflowTime struct {
	BuildingSeconds  float64 `json:"buildingSeconds"`
	VerifyingSeconds float64 `json:"verifyingSeconds"`
}

// WorkflowEstimate is what is still to come.
type WorkflowEstimate struct {
	Seconds float64 `json:"seconds"`
	USD     float64 `json:"usd"`
	Text    string  `json:"text"`
}

// Workflows returns the newest workflows, newest first, without the words of their verdicts. Not served: nobody drives
// workflows there.
func (c *Client) Workflows(ctx context.Context) (all []Workflow, served bool, err error) {
	var answer struct {
		Served    bool       `json:"served"`
		Workflows []Workflow `json:"workflows"`
	}
	err = c.get(ctx, "/api/workflows", nil, &answer)
	return answer.Workflows, answer.Served, err
}

// WorkflowID returns the id of the workflow that an id or a part of one names: its first or last characters.
func (c *Client) WorkflowID(ctx context.Context, part string) (string, error) {
	if whole, err := wholeOr(part, "workflow"); whole || err != nil {
		return part, err
	}
	all, _, err := c.Workflows(ctx)
	if err != nil {
		return "", err
	}
	ids := make([]string, len(all))
	for n, one := range all {
		ids[n] = one.ID
	}
	return OneOf(part, "workflow", ids)
}

// Workflow returns a workflow with all that was said of its stages.
func (c *Client) Workflow(ctx context.Context, id string) (workflow Workflow, err error) {
	err = c.get(ctx, "/api/workflows/"+url.PathEscape(id), nil, &workflow)
	return workflow, err
}
