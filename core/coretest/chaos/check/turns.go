package check

import (
	"fmt"
	"slices"
	"strings"
)

// turnsNotStored finds turns that a plugin was promised and that are not there, and
// answers that it should not have got.
func (j *judge) turnsNotStored() (violations []string) {
	for _, job := range j.Jobs {
		if job.Task {
			continue
		}
		for _, refusal := range job.Refused {
			violations = append(violations, fmt.Sprintf("turn %s was refused: %s", job.Key, refusal))
		}
		if len(job.Promised) == 0 {
			violations = append(violations, fmt.Sprintf("turn %s was never promised, although the plugin went on asking", job.Key))
		}
		for _, id := range slices.Compact(slices.Clone(job.Promised)) {
			if run, ok := j.runs[id]; !ok || run.Key != job.Key {
				violations = append(violations, fmt.Sprintf("turn %s: run %q was promised and is not there, or is of the key %q", job.Key, id, run.Key))
			}
		}
	}
	return violations
}

// turnFates follows every turn to its end: it was answered, and the plugin knows that.
func (j *judge) turnFates(report *Report) (violations []string) {
	for _, job := range j.Jobs {
		if job.Task || len(job.Promised) == 0 {
			continue
		}
		run, problem := j.runs[job.Promised[0]], ""
		switch {
		case run.ID == "": // another column's
			continue
		case run.State != "succeeded":
			problem = fmt.Sprintf("its run is %s after %d attempts: %s", run.State, run.Attempt, run.Error)
		case len(job.Ended) == 0:
			problem = "the plugin was never told that it is over"
		case job.Ended[0].State != run.State:
			problem = fmt.Sprintf("the plugin was told that it is %s, and it is %s", job.Ended[0].State, run.State)
		case !slices.Contains(WorkMarker.FindAllString(job.Ended[0].Text, -1), job.Key):
			problem = fmt.Sprintf("what the plugin was told is no answer to it: %q", shorten(job.Ended[0].Text))
		default:
			report.Turns++
			continue
		}
		violations = append(violations, fmt.Sprintf("turn %s (run %s): %s", job.Key, run.ID, problem))
	}
	return violations
}

// doubledTurns finds keys of turns that have more than one run.
func (j *judge) doubledTurns() (violations []string) {
	runs := map[string][]string{}
	for _, run := range j.Runs {
		if _, ok := j.turnJobs[run.Key]; ok {
			runs[run.Key] = append(runs[run.Key], run.ID)
		}
	}
	for key, job := range ordered(j.turnJobs) {
		if ids := unique(slices.Concat(job.Promised, runs[key])); len(ids) > 1 {
			violations = append(violations, fmt.Sprintf("turn %s has the runs %s", key, strings.Join(ids, ", ")))
		}
	}
	return violations
}

// places compares how many runs were at work at once, when there was enough to do for
// all places, with how many may be.
func (j *judge) places() []string {
	if j.AtOnce == j.Places {
		return nil
	}
	return []string{fmt.Sprintf("there are %d places, and at the end, with more to do than that, %d runs were at work at once", j.Places, j.AtOnce)}
}
