package workflow

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// report is how a workflow stands, for people and for programs.
type report struct {
	ID             string           `json:"id"`
	Title          string           `json:"title"`
	Request        string           `json:"request,omitempty"`
	Dir            string           `json:"dir"`
	ParentThreadID string           `json:"parentThreadId,omitempty"`
	ThreadID       string           `json:"threadId"`
	State          string           `json:"state"` // queued, running, waiting, stopped, completed, failed or cancelled
	Waits          string           `json:"waits,omitempty"`
	Git            bool             `json:"git"`
	Branch         string           `json:"branch,omitempty"`
	Why            string           `json:"why,omitempty"`
	Unreviewed     string           `json:"unreviewed,omitempty"` // a stage whose work nobody reviews
	Acceptance     []string         `json:"acceptance,omitempty"`
	Stages         []reportedStage  `json:"stages"`
	Final          []stages.Verdict `json:"final,omitempty"`
	Limits         stages.Limits    `json:"limits"`
	Redesigns      int              `json:"redesigns"`
	BatchSize      int              `json:"batchSize"`
	ChecksOnly     bool             `json:"checksOnly,omitempty"`
	Cost           reportedCost     `json:"cost"`
	Time           reportedTime     `json:"time"`
	Estimate       *estimate        `json:"estimate,omitempty"`
	StartedAt      time.Time        `json:"startedAt"`
	EndedAt        time.Time        `json:"endedAt,omitzero"`
}

type reportedStage struct {
	Agent       string             `json:"agent"`
	Role        stages.Role        `json:"role"`
	Batch       string             `json:"batch,omitempty"`
	Status      stages.Status      `json:"status"`
	Attempt     int                `json:"attempt,omitempty"`
	Round       int                `json:"round,omitempty"` // of the review that is next, or was the last
	StartedAt   time.Time          `json:"startedAt,omitzero"`
	CompletedAt time.Time          `json:"completedAt,omitzero"`
	TaskID      string             `json:"taskId,omitempty"`
	ThreadID    string             `json:"threadId,omitempty"`
	RunID       string             `json:"runId,omitempty"`
	SessionID   string             `json:"sessionId,omitempty"`
	Teams       bool               `json:"teams,omitempty"`
	Validation  *stages.Validation `json:"validation,omitempty"`
	Verdicts    []stages.Verdict   `json:"verdicts,omitempty"`
	Hold        string             `json:"hold,omitempty"` // why it waits for a person
	CostUSD     float64            `json:"costUsd"`
	Seconds     float64            `json:"seconds"`
}

type reportedCost struct {
	USD          float64 `json:"usd"`
	BuildingUSD  float64 `json:"buildingUsd"`
	VerifyingUSD float64 `json:"verifyingUsd"`
	NotionalUSD  float64 `json:"notionalUsd,omitempty"`
	Unsure       bool    `json:"unsure,omitempty"`
	CapUSD       float64 `json:"capUsd"`
}

type reportedTime struct {
	BuildingSeconds  float64 `json:"buildingSeconds"`
	VerifyingSeconds float64 `json:"verifyingSeconds"`
}

type estimate struct {
	Seconds float64 `json:"seconds"`
	USD     float64 `json:"usd"`
	Text    string  `json:"text"`
}

// report puts together how a workflow stands now.
func (f *flow) report(ctx context.Context, root pluginsdk.Task) (report, error) {
	r := report{
		ID: root.ID, Title: cut(firstLine(root.OriginalMessage), 120), Request: root.Prompt, Dir: cmp.Or(root.Labels[labelDir], root.Cwd), ParentThreadID: root.ParentThreadID, ThreadID: root.ThreadID,
		State: string(root.Status), Branch: root.Labels["worktree.branch"], StartedAt: root.CreatedAt, EndedAt: root.CompletedAt, Stages: []reportedStage{},
		Cost: reportedCost{USD: root.CostUSD, NotionalUSD: root.NotionalUSD, Unsure: root.CostUnsure, CapUSD: root.CostCapUSD},
	}
	rec, err := f.read(ctx)
	if err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		return r, err
	}
	r.Git, r.Why, r.Acceptance, r.Final, r.Limits, r.Redesigns, r.BatchSize, r.ChecksOnly = rec.Git, rec.Why, rec.Acceptance, rec.Final, rec.Limits, rec.Redesigns, rec.BatchSize, rec.ChecksOnly
	for _, s := range rec.Stages {
		r.Stages = append(r.Stages, reported(s))
	}
	r.end(root)
	r.Unreviewed = unreviewed(r.agents(root))
	r.Cost.VerifyingUSD = rec.verifying()
	r.Cost.BuildingUSD = max(root.CostUSD-r.Cost.VerifyingUSD, 0)
	for _, s := range r.Stages {
		if s.Role != stages.Reviewer {
			r.Time.BuildingSeconds += s.Seconds
		}
		for _, v := range s.Verdicts {
			r.Time.VerifyingSeconds += v.Seconds
		}
	}
	r.Time.BuildingSeconds = max(r.Time.BuildingSeconds-r.Time.VerifyingSeconds, 0) // a builder's stage lasts until its review has approved
	for _, v := range rec.Final {
		r.Time.VerifyingSeconds += v.Seconds
	}
	switch root.Status {
	case pluginsdk.TaskWaiting:
		r.Waits = cmp.Or(root.Error, rec.Waits)
		if rec.StoppedBy != "" {
			r.State = "stopped"
		}
	case pluginsdk.TaskRunning, pluginsdk.TaskPending, pluginsdk.TaskEvaluating:
		r.State = "running"
		if f.places.queued(f.id) {
			r.State, r.Waits = "queued", "other workflows are at work; the oldest goes first"
		}
		r.Estimate = estimateOf(r.Stages)
	case pluginsdk.TaskCompleted, pluginsdk.TaskFailed, pluginsdk.TaskCancelled:
		r.Waits = root.Error
	}
	return r, nil
}

// end says of the stages of a workflow that is over that they are: what was under way has ended with it.
func (r *report) end(root pluginsdk.Task) {
	if !root.Status.Final() {
		return
	}
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.Status == stages.Completed || s.Status == stages.Failed || s.Status == stages.Pending {
			continue
		}
		s.Status = stages.Failed
		if root.Status == pluginsdk.TaskCompleted {
			s.Status = stages.Completed
		}
		if s.CompletedAt.IsZero() && !s.StartedAt.IsZero() {
			s.CompletedAt = root.CompletedAt
			if s.Role != stages.Reviewer {
				s.Seconds = max(root.CompletedAt.Sub(s.StartedAt).Seconds(), 0)
			}
		}
	}
}

// agents are those of the stages, or, before there are any, those that a person has named.
func (r *report) agents(root pluginsdk.Task) (names []string) {
	for _, s := range r.Stages {
		names = append(names, s.Agent)
	}
	if len(names) == 0 && root.Labels[labelAsked] != "" {
		names = strings.Split(root.Labels[labelAsked], ",")
	}
	return names
}

func reported(s stages.Stage) reportedStage {
	r := reportedStage{
		Agent: s.Agent, Role: s.Role(), Batch: s.BatchScope.String(), Status: s.Status, Attempt: s.Attempt, StartedAt: s.StartedAt, CompletedAt: s.CompletedAt,
		TaskID: s.TaskID, ThreadID: s.ThreadID, RunID: s.RunID, SessionID: s.SessionID, Teams: s.Teams, Validation: s.Validation, Verdicts: s.Verdicts, CostUSD: s.CostUSD,
	}
	if s.Hold != nil {
		r.Hold = s.Hold.Reason
	}
	if s.Role() == stages.Reviewer {
		if r.Round = len(s.Verdicts); s.Status != stages.Completed {
			r.Round++
		}
		r.CostUSD = 0
		for _, v := range s.Verdicts {
			r.CostUSD += v.CostUSD
			r.Seconds += v.Seconds
		}
		return r
	}
	if !s.StartedAt.IsZero() {
		end := s.CompletedAt
		if end.IsZero() {
			end = now()
		}
		r.Seconds = end.Sub(s.StartedAt).Seconds()
	}
	return r
}

// estimateOf is what the batches that are not done may take and cost, as those did that are done; nil:
// none is done yet, or all are.
func estimateOf(list []reportedStage) *estimate {
	var done, left int
	var e estimate
	for _, s := range list {
		if s.Role != stages.Builder || s.Batch == "" {
			continue
		}
		if s.Status != stages.Completed {
			left++
			continue
		}
		done++
		e.Seconds += s.Seconds
		e.USD += s.CostUSD
	}
	if done == 0 || left == 0 {
		return nil
	}
	e.Seconds, e.USD = e.Seconds/float64(done)*float64(left), e.USD/float64(done)*float64(left)
	batches := "batches"
	if left == 1 {
		batches = "batch"
	}
	e.Text = fmt.Sprintf("about %s and $%.2f for %d more %s", time.Duration(e.Seconds*float64(time.Second)).Round(time.Second), e.USD, left, batches)
	return &e
}

// mostListed is how many workflows a list has.
const mostListed = 50

// status says how one workflow stands, or the newest ones.
func (p *Plugin) status(ctx context.Context, r request) (answer, error) {
	if r.fields["workflow"] != "" {
		root, err := p.find(ctx, r)
		if err != nil {
			return answer{}, err
		}
		report, err := p.look(root.ID).report(ctx, root)
		return answer{words: report.words(), data: report}, err
	}
	list, words := []report{}, []string{}
	after := ""
	for len(list) < mostListed {
		page, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{Plugin: name, Newest: true, After: after, Limit: 500}})
		if err != nil {
			return answer{}, err
		}
		if len(page.Tasks) == 0 {
			break
		}
		for _, task := range page.Tasks {
			after = task.ID
			if task.Labels[labelRoot] == "" || len(list) == mostListed || !p.mayKnow(r, task) {
				continue
			}
			one, err := p.look(task.ID).report(ctx, task)
			if err != nil {
				return answer{}, err
			}
			one.Final, one.Acceptance, one.Request = nil, nil, ""
			for i := range one.Stages {
				one.Stages[i].Verdicts, one.Stages[i].Validation = nil, nil
			}
			list = append(list, one)
			words = append(words, one.line())
		}
	}
	said := "There is no workflow yet. /workflow start dir=DIR WHAT TO BUILD begins one."
	if len(words) > 0 {
		said = strings.Join(words, "\n")
	}
	return answer{words: said, data: map[string]any{"workflows": list}}, nil
}

// line is a workflow in one line.
func (r report) line() string {
	done, total := r.count()
	return fmt.Sprintf("%s  %s  %d/%d stages  $%.2f  %s", short(r.ID), r.State, done, total, r.Cost.USD, r.Title)
}

func (r report) count() (done, total int) {
	for _, s := range r.Stages {
		if total++; s.Status == stages.Completed {
			done++
		}
	}
	return done, total
}

// words are a workflow for people, a stage a line.
func (r report) words() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Workflow %s: %s\n%s in %s", short(r.ID), r.Title, r.State, r.Dir)
	if r.Waits != "" {
		fmt.Fprintf(&b, ": %s", r.Waits)
	}
	b.WriteString("\n")
	if r.Unreviewed != "" {
		fmt.Fprintf(&b, "Nobody reviews the work of the stage %s: no reviewer comes after it.\n", r.Unreviewed)
	}
	for _, s := range r.Stages {
		fmt.Fprintf(&b, "- %s", s.Agent)
		if s.Batch != "" {
			fmt.Fprintf(&b, ", %s", s.Batch)
		}
		fmt.Fprintf(&b, ": %s", s.Status)
		if n := len(s.Verdicts); n > 0 {
			v := s.Verdicts[n-1]
			fmt.Fprintf(&b, ", %s", v.Decision)
			if v.Score > 0 {
				fmt.Fprintf(&b, " (%d of 10)", v.Score)
			}
			fmt.Fprintf(&b, ", round %d", n)
		}
		if s.CostUSD > 0 {
			fmt.Fprintf(&b, ", $%.2f", s.CostUSD)
		}
		if s.Seconds > 0 {
			fmt.Fprintf(&b, ", %s", time.Duration(s.Seconds*float64(time.Second)).Round(time.Second))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "Cost: $%.2f of $%.2f, building $%.2f and verifying $%.2f.", r.Cost.USD, r.Cost.CapUSD, r.Cost.BuildingUSD, r.Cost.VerifyingUSD)
	if r.Estimate != nil {
		fmt.Fprintf(&b, " %s.", r.Estimate.Text)
	}
	return b.String()
}
