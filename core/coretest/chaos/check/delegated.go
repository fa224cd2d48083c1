package check

import (
	"fmt"
	"strings"
)

// worksDone follows every piece of work that was handed on to its end: one task, completed.
func (j *judge) worksDone(report *Report) (violations []string) {
	for _, work := range j.Works {
		tasks := j.tasksOf(work)
		switch {
		case work.Refused != "":
			violations = append(violations, fmt.Sprintf("work %s was refused: %s", work.Marker, work.Refused))
		case len(tasks) != 1:
			violations = append(violations, fmt.Sprintf("work %s has %d tasks", work.Marker, len(tasks)))
		case tasks[0].Status != "completed" || !tasks[0].Ended:
			violations = append(violations, fmt.Sprintf("work %s (task %s) is %s in iteration %d: %s", work.Marker, tasks[0].ID, tasks[0].Status, tasks[0].Iterations, tasks[0].Error))
		default:
			report.Works++
		}
	}
	return violations
}

// tasksOf are the tasks that were made of a piece of work.
func (j *judge) tasksOf(work Work) (tasks []Task) {
	for _, task := range j.Tasks {
		if strings.Contains(task.Prompt, work.Marker) {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// mergedOnce wants one merge for each task that was handed on and is completed, and none of
// another.
func (j *judge) mergedOnce() (violations []string) {
	merges := map[string][]string{}
	for _, merge := range j.Merges {
		merges[merge.TaskID] = append(merges[merge.TaskID], merge.Commit)
	}
	for _, work := range j.Works {
		for _, task := range j.tasksOf(work) {
			if n := len(merges[task.ID]); n > 1 || n == 0 && task.Status == "completed" {
				violations = append(violations, fmt.Sprintf("work %s (task %s), which is %s, was merged in the commits %q", work.Marker, task.ID, task.Status, merges[task.ID]))
			}
		}
	}
	for id, commits := range ordered(merges) {
		if task, known := j.tasks[id]; !known || task.Status != "completed" {
			violations = append(violations, fmt.Sprintf("the commits %q merge task %s, which is %q", commits, id, task.Status))
		}
	}
	return violations
}

// mergedUnreviewed finds merges of tasks whose work no reviewer has accepted.
func (j *judge) mergedUnreviewed() (violations []string) {
	for _, merge := range j.Merges {
		if _, accepted := j.lastAccepted(merge.TaskID); !accepted {
			violations = append(violations, fmt.Sprintf("commit %s merges the tree %s of task %s, which nobody has accepted", merge.Commit, merge.Tree, merge.TaskID))
		}
	}
	return violations
}

// mergedAnother finds merges of another tree than the one that the work's maker has shown in
// the last round in which the reviewer said yes. What others have shown does not count.
func (j *judge) mergedAnother() (violations []string) {
	for _, merge := range j.Merges {
		round, accepted := j.lastAccepted(merge.TaskID)
		if !accepted {
			continue // see mergedUnreviewed
		}
		var shown []string
		for _, answer := range j.Answers {
			if answer.TaskID == merge.TaskID && answer.Round == round && answer.Hook == reviewing && answer.Plugin == maker {
				shown = append(shown, answer.Trees...)
			}
		}
		if len(shown) != 1 || shown[0] != merge.Tree {
			violations = append(violations, fmt.Sprintf("commit %s merges the tree %s of task %s, and %q was accepted in round %d", merge.Commit, merge.Tree, merge.TaskID, shown, round))
		}
	}
	return violations
}

// lastAccepted is the last round of a task in which its reviewer said yes.
func (j *judge) lastAccepted(task string) (round int, accepted bool) {
	for _, said := range j.Answers {
		if said.TaskID == task && said.Hook == reviewing && said.Plugin == reviewer && said.Verdict == "accept" {
			round, accepted = max(round, said.Round), true
		}
	}
	return round, accepted
}

const (
	// reviewing is the phase in which verdicts are given.
	reviewing = "reviewing"
	// reviewer is the plugin whose word is wanted before anything is merged.
	reviewer = "validation"
	// maker is the plugin that says what a task's work in a repository is.
	maker = "worktree"
)

// leftovers finds what tasks have left in the repository.
func (j *judge) leftovers() (violations []string) {
	for _, what := range j.Leftovers {
		violations = append(violations, "in the repository is left: "+what)
	}
	return violations
}
