// Package stages is the state of a workflow: its stages, and what became of them. It knows no
// files and no host.
package stages

import (
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
)

// Version is that of State as JSON.
const Version = 1

// Status says where a stage is.
type Status string

// The statuses of a stage. A builder's stage is reviewing while the reviewer's stage that belongs to
// it is running.
const (
	Pending   Status = "pending"
	Running   Status = "running"
	Reviewing Status = "reviewing"
	Completed Status = "completed"
	Failed    Status = "failed"
)

// Role says what a stage's checks are, by its agent's name.
type Role string

// The roles. Other is any agent whose name contains none of the others' names.
const (
	Scout     Role = "scout"
	Architect Role = "architect"
	Builder   Role = "builder"
	Reviewer  Role = "reviewer"
	Other     Role = "other"
)

// RoleOf is the role of an agent. Its name equals or contains that of the role; a reviewer's
// contains "review".
func RoleOf(agent string) Role {
	name := strings.ToLower(agent)
	switch {
	case strings.Contains(name, "review"):
		return Reviewer
	case strings.Contains(name, string(Architect)):
		return Architect
	case strings.Contains(name, string(Builder)):
		return Builder
	case strings.Contains(name, string(Scout)):
		return Scout
	}
	return Other
}

// Stage is one step of a workflow.
type Stage struct {
	Agent      string     `json:"agent"` // the name of a role's file
	Teams      bool       `json:"teams,omitempty"`
	BatchScope plan.Scope `json:"batchScope,omitzero"`

	Status      Status      `json:"status"`
	StartedAt   time.Time   `json:"startedAt,omitzero"`
	CompletedAt time.Time   `json:"completedAt,omitzero"`
	SessionID   string      `json:"sessionId,omitempty"` // of its last turn
	Validation  *Validation `json:"validation,omitempty"`

	TaskID   string    `json:"taskId,omitempty"` // of its last attempt; a reviewer's stage has none
	ThreadID string    `json:"threadId,omitempty"`
	RunID    string    `json:"runId,omitempty"` // the last
	Attempt  int       `json:"attempt,omitempty"`
	Verdicts []Verdict `json:"verdicts,omitempty"` // of a reviewer's stage, the oldest first
	CostUSD  float64   `json:"costUsd,omitempty"`  // of all attempts; that of a builder's stage has its reviews
	// CostBefore is what the attempts before this one have cost.
	CostBefore float64 `json:"costBefore,omitempty"`

	Hold     *Hold `json:"hold,omitempty"`     // nil: it waits for no person
	Due      *Due  `json:"due,omitempty"`      // nil: its worker is told nothing but what its task says
	Failures int   `json:"failures,omitempty"` // turns of its worker that have failed in a row
}

// Hold is why a stage waits for a person.
type Hold struct {
	Reason string `json:"reason"`
	Mark   string `json:"mark,omitempty"` // that the workflow's task is given
	Then   string `json:"then,omitempty"` // what its worker is told when the stage goes on
	// Tree and Patch name the work that waits, where it is known: a person who takes it as it is takes no other.
	Tree  string `json:"tree,omitempty"`
	Patch string `json:"patch,omitempty"`
	// Plugin is the one that did not accept the work, if it was not this one.
	Plugin string `json:"plugin,omitempty"`
	Again  bool   `json:"again,omitempty"` // the work is handed in again as it is when the stage goes on without words
	Whole  bool   `json:"whole,omitempty"` // it is about the whole work, which a person can take as it is
}

// Due is what a stage's worker is told next.
type Due struct {
	Iteration int    `json:"iteration"` // of its task, at which it is told so
	Words     string `json:"words"`
	// Waived is the person who accepts the stage's work as it is; then its worker is told nothing.
	Waived string `json:"waived,omitempty"`
	// Again has the work handed in again as it is: its worker is told nothing.
	Again bool `json:"again,omitempty"`
	// Tree and Patch name the work that was accepted so; empty: they are not known.
	Tree  string `json:"tree,omitempty"`
	Patch string `json:"patch,omitempty"`
}

// Role is that of the stage's agent.
func (s Stage) Role() Role { return RoleOf(s.Agent) }

// Validation is what the checks of a stage came to.
type Validation struct {
	Passed bool      `json:"passed"`
	Reason string    `json:"reason,omitempty"` // why not, or what was not checked
	Tries  int       `json:"tries"`            // how often they were made
	At     time.Time `json:"at"`
	Call   string    `json:"call,omitempty"` // that made them last: a repeated one is no other try
	// Iteration is that of the stage's task which they were made of.
	Iteration int `json:"iteration,omitempty"`
}

// Decision is what a reviewer decides.
type Decision string

// The decisions of a reviewer.
const (
	Approve  Decision = "APPROVE"
	Revise   Decision = "REVISE"
	Redesign Decision = "REDESIGN"
)

// Verdict is what a reviewer has said of a tree.
type Verdict struct {
	Decision           Decision  `json:"verdict"`
	Score              int       `json:"score,omitempty"` // 1 to 10; 0: none was given
	Summary            string    `json:"summary,omitempty"`
	Issues             []string  `json:"issues,omitempty"`
	PatternsCompliance string    `json:"patternsCompliance,omitempty"`
	Batch              string    `json:"batch,omitempty"`  // of the last review: that its findings are about
	Source             string    `json:"source,omitempty"` // output, file, both, or why it could not be read
	Tree               string    `json:"tree,omitempty"`
	Base               string    `json:"base,omitempty"`  // the tree that the change was seen on top of, without .brain
	Patch              string    `json:"patch,omitempty"` // names the change, whatever it is on top of
	RunID              string    `json:"runId,omitempty"`
	SessionID          string    `json:"sessionId,omitempty"` // in which it was said
	Call               string    `json:"call,omitempty"`      // of the gate, that it answers: a repeated one has the same answer
	Checks             []string  `json:"checks,omitempty"`    // commands that were run on the tree, with their exit codes
	By                 string    `json:"by,omitempty"`        // the person who accepted it as it is; empty: the reviewer
	At                 time.Time `json:"at,omitzero"`
	CostUSD            float64   `json:"costUsd,omitempty"`
	Seconds            float64   `json:"seconds,omitempty"`
}

// Hear adds a verdict that is not a reviewer's, unless the last one is the same: a call of the gate may be
// repeated.
func (s *Stage) Hear(v Verdict) {
	if last := len(s.Verdicts) - 1; last >= 0 {
		if was := s.Verdicts[last]; was.By == v.By && was.Tree == v.Tree && was.Decision == v.Decision {
			return
		}
	}
	s.Verdicts = append(s.Verdicts, v)
}

// Limits are how often what goes wrong is tried again. Each can be raised while the workflow waits.
type Limits struct {
	Rounds    int `json:"rounds"`    // reviews of a batch that ask for changes
	Redesigns int `json:"redesigns"` // returns to the architect
	Tries     int `json:"tries"`     // of a stage whose checks have failed
}

// State is a workflow as it stands in .brain/pipeline-state.json.
type State struct {
	Version   int       `json:"version"`
	ID        string    `json:"id"` // its task's
	Request   string    `json:"request"`
	Dir       string    `json:"dir"`           // where it was asked for
	Git       bool      `json:"git"`           // it is built in worktrees, and merged
	Why       string    `json:"why,omitempty"` // why these stages
	BatchSize int       `json:"batchSize"`
	Limits    Limits    `json:"limits"`
	Redesigns int       `json:"redesigns"` // so far
	Waits     string    `json:"waits,omitempty"`
	Stages    []Stage   `json:"stages"`
	Final     []Verdict `json:"final,omitempty"` // of the last review of all
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
}
