package delegation

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// state is what a program is told of how a task stands.
type state struct {
	made
	Title         string   `json:"title"`
	Iteration     int      `json:"iteration"`
	MaxIterations int      `json:"maxIterations"`
	CostUSD       float64  `json:"costUsd"`
	CostCapUSD    float64  `json:"costCapUsd"`
	Marks         []string `json:"marks,omitempty"`
	Error         string   `json:"error,omitempty"`
	// LastWords are the worker's, and Said what plugins and people have said of its work,
	// the newest last: only of a task that is asked for by its id.
	LastWords string   `json:"lastWords,omitempty"`
	Said      []string `json:"said,omitempty"`
}

// states is what a program is told of several.
type states struct {
	Tasks []state `json:"tasks"`
}

func stateOf(task pluginsdk.Task) state {
	return state{
		made: made{task.ID, task.ThreadID, task.Status}, Title: title(task), Iteration: task.CurrentIteration, MaxIterations: task.MaxIterations,
		CostUSD: task.CostUSD, CostCapUSD: task.CostCapUSD, Marks: task.Marks, Error: task.Error,
	}
}

// words are the same for people, in one line.
func (s state) words(task pluginsdk.Task) string {
	return fmt.Sprintf("%s: %s, iteration %d of %d, %.2f of %.2f USD: %s",
		s.Task, standing(task), s.Iteration, s.MaxIterations, s.CostUSD, s.CostCapUSD, s.Title)
}

// checkin says how a task stands, or all open ones that the thread may know of.
func (p *Plugin) checkin(ctx context.Context, r request) (answer, error) {
	if r.fields["task"] != "" {
		return p.checkinOne(ctx, r)
	}
	lines, all := []string{}, states{Tasks: []state{}}
	for after := ""; ; {
		page, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{Plugin: name, Statuses: openStatuses, After: after}})
		if err != nil {
			return answer{}, err
		}
		for _, task := range page.Tasks {
			after = task.ID
			may, err := p.mayKnow(ctx, r.thread, task)
			if err != nil {
				return answer{}, err
			}
			if may {
				one := stateOf(task)
				all.Tasks, lines = append(all.Tasks, one), append(lines, strings.Repeat("  ", task.Depth)+"- "+one.words(task))
			}
		}
		if len(page.Tasks) == 0 {
			break
		}
	}
	if len(lines) == 0 {
		return answer{"No task is open here.", all}, nil
	}
	return answer{strings.Join(lines, "\n"), all}, nil
}

// How much of a worker's words, and of each verdict, is shown, in bytes.
const (
	lastWordsMost = 2 << 10
	verdictMost   = 1 << 10
)

func (p *Plugin) checkinOne(ctx context.Context, r request) (answer, error) {
	task, err := p.find(ctx, r)
	if err != nil {
		return answer{}, err
	}
	one := stateOf(task)
	if task.RunID != "" {
		run, err := p.run(ctx, task.RunID)
		if err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			return answer{}, err
		}
		if run.Result != nil {
			one.LastWords = cut(strings.TrimSpace(run.Result.Text), lastWordsMost)
		}
	}
	for after := int64(0); ; {
		history, err := p.host.Tasks.History(ctx, &pluginsdk.TaskHistoryRequest{ID: task.ID, After: after, Limit: lookedThrough})
		if err != nil {
			return answer{}, err
		}
		for _, said := range history.Answers {
			after = said.ID
			if said.Feedback != "" {
				who := said.Plugin
				if said.Author != "" {
					who = said.Author
				}
				one.Said = append(one.Said, fmt.Sprintf("iteration %d, %s (%s): %s", said.Iteration, who, said.Answer, cut(said.Feedback, verdictMost)))
			}
		}
		if !history.More || len(history.Answers) == 0 {
			break
		}
	}
	lines := []string{one.words(task)}
	if task.Error != "" {
		lines = append(lines, task.Error)
	}
	lines = append(lines, one.Said...)
	if one.LastWords != "" {
		lines = append(lines, "Its worker's last words:\n"+one.LastWords)
	}
	if !task.Status.Final() {
		lines = append(lines, waysOn(task))
	}
	return answer{strings.Join(lines, "\n\n"), one}, nil
}

// standing is a task's status, with its marks.
func standing(task pluginsdk.Task) string {
	if len(task.Marks) == 0 {
		return string(task.Status)
	}
	return fmt.Sprintf("%s (%s)", task.Status, strings.Join(task.Marks, ", "))
}

// waysOn says what a person can do about a task that is not over.
func waysOn(task pluginsdk.Task) string {
	if task.Status == pluginsdk.TaskWaiting {
		return fmt.Sprintf("It waits for a person: /tasks approve %s, /tasks reject %s WORDS, or /%s %s.", task.ID, task.ID, verbCancel, task.ID)
	}
	return fmt.Sprintf("/%s %s ends it.", verbCancel, task.ID)
}

// title is what a task is called in a line.
func title(task pluginsdk.Task) string {
	line, _, _ := strings.Cut(strings.TrimSpace(task.OriginalMessage), "\n")
	return cut(line, 100)
}
