package check

import "fmt"

// notStored finds promises whose ids the database does not have, and answers
// to a client that it should not have got.
func (j *judge) notStored() (violations []string) {
	for _, sent := range j.Sent {
		for _, refusal := range sent.Refused {
			violations = append(violations, fmt.Sprintf("%s was refused: %s", sent.Marker, refusal))
		}
		if len(sent.Accepted) == 0 {
			violations = append(violations, fmt.Sprintf("%s was never accepted, although the client went on trying", sent.Marker))
		}
		for _, promise := range sent.Accepted {
			if problem := j.broken(sent, promise); problem != "" {
				violations = append(violations, fmt.Sprintf("%s (thread %s): %s", sent.Marker, j.thread(sent.ThreadID), problem))
			}
		}
	}
	return violations
}

func (j *judge) broken(sent Sent, promise Acceptance) string {
	message, stored := j.messages[promise.MessageID]
	run, ran := j.runs[promise.RunID]
	switch {
	case promise.ThreadID != sent.ThreadID:
		return fmt.Sprintf("accepted in another thread, %q", promise.ThreadID)
	case !stored:
		return fmt.Sprintf("message %d was promised and is not there", promise.MessageID)
	case Marker.FindString(message.Content) != sent.Marker || message.ThreadID != sent.ThreadID:
		return fmt.Sprintf("message %d was promised and is another one", promise.MessageID)
	case !ran:
		return fmt.Sprintf("run %q was promised and is not there", promise.RunID)
	case run.MessageID != promise.MessageID || message.RunID != promise.RunID:
		return fmt.Sprintf("run %q was promised and is of message %d", promise.RunID, run.MessageID)
	}
	return ""
}

// doubledRuns finds messages that were stored twice although they were sent
// again with the same key.
func (j *judge) doubledRuns() (violations []string) {
	for _, sent := range j.Sent {
		for _, again := range sent.Accepted[min(1, len(sent.Accepted)):] {
			if first := sent.Accepted[0]; again != first {
				violations = append(violations, fmt.Sprintf("%s: promised as message %d, run %s, and again as message %d, run %s",
					sent.Marker, first.MessageID, first.RunID, again.MessageID, again.RunID))
			}
		}
	}
	rows := map[string][]int64{}
	for _, question := range j.questions {
		marker := Marker.FindString(question.Content)
		rows[marker] = append(rows[marker], question.ID)
	}
	for marker, ids := range ordered(rows) {
		if len(ids) > 1 {
			violations = append(violations, fmt.Sprintf("%s: stored as messages %v", marker, ids))
		}
	}
	keys := map[string][]string{}
	for _, run := range j.Runs {
		if run.Key != "" {
			keys[run.Source+" "+run.Key] = append(keys[run.Source+" "+run.Key], run.ID)
		}
	}
	for key, ids := range ordered(keys) {
		if len(ids) > 1 {
			violations = append(violations, fmt.Sprintf("source and key %q have runs %v", key, ids))
		}
	}
	return violations
}

// open finds what a system at rest must not have.
func (j *judge) open() (violations []string) {
	for _, run := range j.Runs {
		switch run.State {
		case "succeeded", "failed", "cancelled", "merged":
			if !run.Finished {
				violations = append(violations, fmt.Sprintf("run %s (thread %s) is %s and has no end", run.ID, j.thread(run.ThreadID), run.State))
			}
		default:
			violations = append(violations, fmt.Sprintf("run %s (thread %s) is %s", run.ID, j.thread(run.ThreadID), run.State))
		}
	}
	for _, delivery := range j.Deliveries {
		if delivery.State == "pending" || delivery.State == "sending" {
			violations = append(violations, fmt.Sprintf("delivery %s of message %d is %s: %s",
				delivery.ID, delivery.MessageID, delivery.State, delivery.Error))
		}
	}
	return violations
}

// doubledActivity finds runs that are said to have begun, or to have
// succeeded, more than once.
func (j *judge) doubledActivity() (violations []string) {
	begun, completed := map[string]int{}, map[string]int{}
	for _, message := range j.Messages {
		switch {
		case message.Kind != "status":
		case message.Event == "pipeline_start":
			begun[message.RunID]++
		case message.Event == "pipeline_complete" && message.Outcome == "succeeded":
			completed[message.RunID]++
		}
	}
	for _, run := range j.Runs {
		if n := begun[run.ID]; n > 1 {
			violations = append(violations, fmt.Sprintf("run %s (thread %s): %d rows say that it began", run.ID, j.thread(run.ThreadID), n))
		}
		if n := completed[run.ID]; n > 1 {
			violations = append(violations, fmt.Sprintf("run %s (thread %s): %d rows say that it succeeded", run.ID, j.thread(run.ThreadID), n))
		}
	}
	return violations
}

// The rows that a plugin of the campaign, which no run may end without, has stored
// with each: one with its start, and one with its end.
const (
	effectSeen = "courier_seen"
	effectDone = "courier_done"
)

// effects finds runs that a plugin did something to which is not stored once, or
// not with the attempt that ended the run.
func (j *judge) effects() (violations []string) {
	seen, done, attempt := map[string]int{}, map[string]int{}, map[string]int{}
	for _, message := range j.Messages {
		switch message.Event {
		case effectSeen:
			seen[message.RunID]++
		case effectDone:
			done[message.RunID]++
			attempt[message.RunID] = message.Attempt
		}
	}
	asked := map[string]bool{}
	for _, question := range j.questions {
		asked[question.RunID] = true
	}
	for _, run := range j.Runs {
		ended := asked[run.ID] && run.State == "succeeded"
		for what, n := range map[string]int{"start": seen[run.ID], "end": done[run.ID]} {
			if n > 1 || ended && n == 0 {
				violations = append(violations, fmt.Sprintf("run %s (thread %s): %d rows of its %s", run.ID, j.thread(run.ThreadID), n, what))
			}
		}
		if got := attempt[run.ID]; ended && done[run.ID] == 1 && got != run.Attempt {
			violations = append(violations, fmt.Sprintf("run %s (thread %s) ended in attempt %d, and its end is noted with attempt %d",
				run.ID, j.thread(run.ThreadID), run.Attempt, got))
		}
	}
	return violations
}
