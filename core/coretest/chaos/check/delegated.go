package check

import (
	"fmt"
	"slices"
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

// mergedUnreviewed finds merges of what no reviewer has accepted: the very tree has to have
// been shown in a round in which the reviewer said yes.
func (j *judge) mergedUnreviewed() (violations []string) {
	for _, merge := range j.Merges {
		reviewed := slices.ContainsFunc(j.Answers, func(shown Answer) bool {
			return shown.TaskID == merge.TaskID && slices.Contains(shown.Trees, merge.Tree) && slices.ContainsFunc(j.Answers, func(said Answer) bool {
				return said.TaskID == merge.TaskID && said.Round == shown.Round && said.Hook == "reviewing" && said.Plugin == reviewer && said.Verdict == "accept"
			})
		})
		if !reviewed {
			violations = append(violations, fmt.Sprintf("commit %s merges the tree %s of task %s, which nobody has accepted", merge.Commit, merge.Tree, merge.TaskID))
		}
	}
	return violations
}

// reviewer is the plugin whose word is wanted before anything is merged.
const reviewer = "validation"

// leftovers finds what tasks have left in the repository.
func (j *judge) leftovers() (violations []string) {
	for _, what := range j.Leftovers {
		violations = append(violations, "in the repository is left: "+what)
	}
	return violations
}
