package api

import (
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Workflow is a request that is built in stages, as the plugin that drives it reports it.
type Workflow struct {
	ID             string            `json:"id" doc:"Of its task"`
	Title          string            `json:"title"`
	Request        string            `json:"request" doc:"What is to be built, as it was asked for"`
	Dir            string            `json:"dir" doc:"Where it is built"`
	ParentThreadID string            `json:"parentThreadId,omitempty" doc:"The thread in which it was asked for"`
	ThreadID       string            `json:"threadId,omitempty" doc:"The thread of its task"`
	State          string            `json:"state" doc:"queued, running, waiting (for a person), stopped, completed, failed, cancelled"`
	Waits          string            `json:"waits,omitempty" doc:"Why it waits or has stopped, in words"`
	Git            bool              `json:"git" doc:"It is built in git worktrees, and merged after the last review"`
	Branch         string            `json:"branch,omitempty" doc:"The branch on which the accepted batches are"`
	Why            string            `json:"why,omitempty" doc:"Why it has these stages"`
	Unreviewed     string            `json:"unreviewed,omitempty" doc:"A stage whose work nobody reviews: no reviewer comes after it"`
	Acceptance     []string          `json:"acceptance" nullable:"false" doc:"Checks that were drawn up from the request, before the plan"`
	Stages         []WorkflowStage   `json:"stages" nullable:"false"`
	Final          []WorkflowVerdict `json:"final" nullable:"false" doc:"Reviews of the whole change, oldest first"`
	Limits         WorkflowLimits    `json:"limits"`
	Redesigns      int               `json:"redesigns" doc:"How often it went back to the architect"`
	BatchSize      int               `json:"batchSize" doc:"Tasks of a batch"`
	Cost           WorkflowCost      `json:"cost"`
	Time           WorkflowTime      `json:"time"`
	Estimate       *WorkflowEstimate `json:"estimate,omitempty" doc:"Of what is left, from the batches that are done"`
	StartedAt      time.Time         `json:"startedAt,omitzero"`
	EndedAt        time.Time         `json:"endedAt,omitzero"`
}

// WorkflowStage is one step of a workflow: an agent, perhaps with the batch that it works on.
type WorkflowStage struct {
	Agent       string              `json:"agent"`
	Role        string              `json:"role,omitempty" doc:"scout, architect, builder, reviewer, other"`
	Batch       string              `json:"batch,omitempty" doc:"As in Tasks 1-3; absent: it works on all"`
	Status      string              `json:"status" doc:"pending, running, reviewing (a builder whose work is being reviewed), completed, failed"`
	Attempt     int                 `json:"attempt,omitempty" doc:"How often it has begun"`
	Round       int                 `json:"round,omitempty" doc:"Which review of the batch it is at"`
	StartedAt   time.Time           `json:"startedAt,omitzero"`
	CompletedAt time.Time           `json:"completedAt,omitzero"`
	TaskID      string              `json:"taskId,omitempty" doc:"Of its last attempt; a reviewer has none"`
	ThreadID    string              `json:"threadId,omitempty"`
	RunID       string              `json:"runId,omitempty" doc:"The last"`
	SessionID   string              `json:"sessionId,omitempty"`
	Teams       bool                `json:"teams,omitempty" doc:"Its agent may use agents of its own"`
	Validation  *WorkflowValidation `json:"validation,omitempty" doc:"What the checks of the stage came to"`
	Verdicts    []WorkflowVerdict   `json:"verdicts" nullable:"false" doc:"Of a reviewer, oldest first"`
	CostUSD     float64             `json:"costUsd,omitempty"`
	Seconds     float64             `json:"seconds,omitempty" doc:"How long it has worked"`
}

// WorkflowValidation is what the checks of a stage came to: that it left what it has to leave.
type WorkflowValidation struct {
	Passed bool      `json:"passed"`
	Reason string    `json:"reason,omitempty" doc:"Why not, or what was not checked"`
	Tries  int       `json:"tries"`
	At     time.Time `json:"at,omitzero"`
}

// WorkflowVerdict is what a reviewer has said of a tree, or the person who accepted it as it is.
type WorkflowVerdict struct {
	Verdict            string    `json:"verdict" doc:"APPROVE, REVISE or REDESIGN"`
	Score              int       `json:"score,omitempty" doc:"1 to 10; absent: none was given"`
	Summary            string    `json:"summary,omitempty"`
	Issues             []string  `json:"issues" nullable:"false"`
	PatternsCompliance string    `json:"patternsCompliance,omitempty"`
	Batch              string    `json:"batch,omitempty" doc:"Of a review of the whole change: the batch that its findings are about"`
	Source             string    `json:"source,omitempty" doc:"Where the verdict was read: output, file, both; or why it could not be read"`
	Tree               string    `json:"tree,omitempty" doc:"What was reviewed, as a git tree"`
	RunID              string    `json:"runId,omitempty"`
	Checks             []string  `json:"checks" nullable:"false" doc:"Commands that were run on the tree, with their exit codes"`
	By                 string    `json:"by,omitempty" doc:"The person who accepted it as it is; absent: a reviewer said it"`
	At                 time.Time `json:"at,omitzero"`
	CostUSD            float64   `json:"costUsd,omitempty"`
	Seconds            float64   `json:"seconds,omitempty"`
}

// WorkflowLimits are how often what goes wrong is tried again before the workflow waits for a person.
type WorkflowLimits struct {
	Rounds    int `json:"rounds" doc:"Reviews of a batch that ask for changes"`
	Redesigns int `json:"redesigns" doc:"Returns to the architect, in the whole workflow"`
	Tries     int `json:"tries" doc:"Of a stage whose checks fail"`
}

// WorkflowCost is what a workflow has cost, and what of it went into which work.
type WorkflowCost struct {
	USD          float64 `json:"usd"`
	BuildingUSD  float64 `json:"buildingUsd"`
	VerifyingUSD float64 `json:"verifyingUsd" doc:"Of reviews and of drawing up the acceptance checks"`
	NotionalUSD  float64 `json:"notionalUsd" doc:"What of usd is of turns on a plan, which nobody is billed"`
	Unsure       bool    `json:"unsure" doc:"The sums may be wrong: of some turns the price is not known"`
	CapUSD       float64 `json:"capUsd" doc:"What it may cost; 0: there is no cap"`
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
	Text    string  `json:"text" doc:"In words"`
}

// Workflows are all of them, newest first.
type Workflows struct {
	Served    bool       `json:"served" doc:"The plugin workflow serves; else there are none"`
	Workflows []Workflow `json:"workflows" nullable:"false" doc:"The newest 50; of stages without the words of their verdicts"`
}

// tidy makes absent lists empty ones.
func (w *Workflow) tidy() {
	w.Acceptance, w.Stages, w.Final = list(w.Acceptance), list(w.Stages), list(w.Final)
	for n := range w.Stages {
		w.Stages[n].Verdicts = list(w.Stages[n].Verdicts)
		tidyVerdicts(w.Stages[n].Verdicts)
	}
	tidyVerdicts(w.Final)
}

func tidyVerdicts(verdicts []WorkflowVerdict) {
	for n := range verdicts {
		verdicts[n].Issues, verdicts[n].Checks = list(verdicts[n].Issues), list(verdicts[n].Checks)
	}
}

// WorkflowOf returns the id of the workflow that a task is of: its own, where it is the root of one, or
// that of the workflow whose stage it is. Empty: it is of none.
func WorkflowOf(task pluginsdk.Task) string {
	switch {
	case task.Plugin != WorkflowPlugin:
		return ""
	case task.Labels[WorkflowPlugin+".root"] != "":
		return task.ID
	}
	return task.Labels[WorkflowPlugin+".id"]
}
