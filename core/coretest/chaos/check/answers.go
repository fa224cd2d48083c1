package check

import (
	"fmt"
	"slices"
	"strings"
)

// fates follows every message to its end and returns those that have none:
// answered, merged into one that was answered, or cancelled by a newer one.
func (j *judge) fates(report *Report) (violations []string) {
	for _, question := range j.questions {
		report.Accepted++
		last, merged, problem := j.follow(question.RunID)
		switch {
		case problem != "":
		case last.State == "succeeded":
			problem = j.answered(question, last)
			if merged {
				report.Merged++
			} else if problem == "" {
				report.Answered++
			}
		case last.State == "cancelled" && j.superseded(question):
			report.Cancelled++
		case last.State == "cancelled":
			problem = "it was cancelled, and nobody had asked for that"
		case last.State == "failed":
			problem = "its run failed: " + last.Error
		default:
			problem = fmt.Sprintf("its run is still %s after %d attempts", last.State, last.Attempt)
		}
		if problem != "" {
			violations = append(violations, j.about(question)+": "+problem)
		}
	}
	return violations
}

// follow goes from a run to the one that it was merged into in the end.
func (j *judge) follow(runID string) (last Run, merged bool, problem string) {
	for range len(j.runs) + 1 {
		run, ok := j.runs[runID]
		if !ok {
			return Run{}, merged, fmt.Sprintf("there is no run %q", runID)
		}
		if run.State != "merged" {
			return run, merged, ""
		}
		if run.MergedInto == "" {
			return run, true, "it was merged into nothing"
		}
		runID, merged = run.MergedInto, true
	}
	return Run{}, true, "it was merged in a circle"
}

// answered looks for the reply of the run, and in it for the echo.
func (j *judge) answered(question Message, run Run) (problem string) {
	marker := Marker.FindString(question.Content)
	problem = fmt.Sprintf("run %s succeeded without a reply", run.ID)
	for _, reply := range j.replies {
		if reply.RunID != run.ID {
			continue
		}
		if slices.Contains(Marker.FindAllString(reply.Content, -1), marker) {
			return ""
		}
		problem = fmt.Sprintf("the reply of run %s (message %d) does not answer it: %q", run.ID, reply.ID, shorten(reply.Content))
	}
	return problem
}

// superseded reports whether the thread is one where a newer message cancels
// an older one, and has a newer one.
func (j *judge) superseded(question Message) bool {
	return j.threads[question.ThreadID].Interrupts && slices.ContainsFunc(j.questions, func(other Message) bool {
		return other.ThreadID == question.ThreadID && other.ID > question.ID
	})
}

// answeredTwice finds runs with several replies, and messages that several
// replies answer.
func (j *judge) answeredTwice() (violations []string) {
	ofRun, ofMarker := map[string][]int64{}, map[string][]int64{}
	for _, reply := range j.replies {
		ofRun[reply.RunID] = append(ofRun[reply.RunID], reply.ID)
		for _, marker := range unique(Marker.FindAllString(reply.Content, -1)) {
			ofMarker[marker] = append(ofMarker[marker], reply.ID)
		}
	}
	for run, ids := range ordered(ofRun) {
		if run != "" && len(ids) > 1 {
			violations = append(violations, fmt.Sprintf("run %s (thread %s): %d replies, messages %v",
				run, j.thread(j.runs[run].ThreadID), len(ids), ids))
		}
	}
	for marker, ids := range ordered(ofMarker) {
		if len(ids) > 1 {
			violations = append(violations, fmt.Sprintf("%s: answered in messages %v", j.name(marker), ids))
		}
	}
	return violations
}

// outOfOrder wants the replies of a thread in the order in which their
// messages were accepted.
func (j *judge) outOfOrder() (violations []string) {
	newest := map[string]Run{}
	for _, reply := range j.replies {
		run, ok := j.runs[reply.RunID]
		if !ok {
			continue
		}
		if before, ok := newest[run.ThreadID]; ok && run.MessageID < before.MessageID {
			violations = append(violations, fmt.Sprintf("thread %s: message %d (run %s) was answered after message %d (run %s)",
				j.thread(run.ThreadID), run.MessageID, run.ID, before.MessageID, before.ID))
			continue
		}
		newest[run.ThreadID] = run
	}
	return violations
}

// unasked finds replies to nobody: without a run, of a run that was given up,
// or with an answer to what was never said in that thread.
func (j *judge) unasked() (violations []string) {
	for _, reply := range j.replies {
		run, ok := j.runs[reply.RunID]
		question, asked := j.messages[run.MessageID]
		problem := ""
		switch {
		case !ok:
			problem = fmt.Sprintf("there is no run %q", reply.RunID)
		case !asked || question.Role != "user" || question.ThreadID != reply.ThreadID:
			problem = fmt.Sprintf("run %s has no question in this thread", run.ID)
		case run.State != "succeeded":
			problem = fmt.Sprintf("run %s is %s", run.ID, run.State)
		}
		for _, marker := range unique(Marker.FindAllString(reply.Content, -1)) {
			if said, ok := j.marked[marker]; !ok || said.ThreadID != reply.ThreadID {
				problem = fmt.Sprintf("it answers %s, which was not said in this thread", marker)
			}
		}
		if problem != "" {
			violations = append(violations, fmt.Sprintf("message %d (thread %s): %s", reply.ID, j.thread(reply.ThreadID), problem))
		}
	}
	return violations
}

// name is a marker with where it was said.
func (j *judge) name(marker string) string {
	if question, ok := j.marked[marker]; ok {
		return j.about(question)
	}
	return marker
}

func shorten(text string) string {
	const limit = 160
	text = strings.TrimSpace(text)
	if len(text) > limit {
		return text[:limit] + "..."
	}
	return text
}
