package check

import (
	"fmt"
	"slices"
	"strings"
)

// over reports whether a task in this status does not go on.
func over(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// taskFates follows every task to its end, which has to be the one that its plugin
// worked for, and known to it.
func (j *judge) taskFates(report *Report) (violations []string) {
	for _, job := range j.Jobs {
		if !job.Task {
			continue
		}
		for _, refusal := range job.Refused {
			violations = append(violations, fmt.Sprintf("task %s was refused: %s", job.Key, refusal))
		}
		if len(job.Promised) == 0 {
			violations = append(violations, fmt.Sprintf("task %s was never promised, although the plugin went on asking", job.Key))
			continue
		}
		task, stored := j.tasks[job.Promised[0]]
		problem := "it was promised and is not there"
		if stored {
			problem = unfinished(job, task)
		}
		if problem != "" {
			violations = append(violations, fmt.Sprintf("task %s (%s): %s", job.Key, job.Promised[0], problem))
			continue
		}
		report.Tasks++
	}
	return violations
}

// unfinished says what is wrong with the end of a task.
func unfinished(job Job, task Task) string {
	wanted := []string{"completed"}
	switch job.Cancel {
	case Kept:
	case MayBe:
		wanted = append(wanted, "cancelled")
	case Cancelled:
		wanted = []string{"cancelled"}
	}
	switch {
	case !over(task.Status):
		return fmt.Sprintf("it is still %s in iteration %d: %s", task.Status, task.Iterations, task.Error)
	case !task.Ended:
		return fmt.Sprintf("it is %s, and its end is not done", task.Status)
	case !slices.Contains(wanted, task.Status):
		return fmt.Sprintf("it is %s, and should be %s: %s", task.Status, strings.Join(wanted, " or "), task.Error)
	case task.Status == "completed" && task.Rejections != job.Rejections:
		return fmt.Sprintf("its work was rejected %d times, and should have been %d times", task.Rejections, job.Rejections)
	case len(job.Ended) == 0:
		return "the plugin was never told that it is over"
	}
	return ""
}

// doubledTasks finds keys with two tasks, iterations that have two runs or none, and
// tasks that ended once more after the plugin was told of an end.
func (j *judge) doubledTasks() (violations []string) {
	ofKey, runs := map[string][]string{}, map[string]int{}
	for _, task := range j.Tasks {
		ofKey[task.Key] = append(ofKey[task.Key], task.ID)
	}
	for _, run := range j.Runs {
		if !run.Beside { // those are reviews
			runs[run.ThreadID]++
		}
	}
	for _, task := range j.Tasks {
		if n := runs[task.ThreadID]; n != task.Iterations {
			violations = append(violations, fmt.Sprintf("task %s (%s) is at its iteration %d, and its thread has %d runs", task.Key, task.ID, task.Iterations, n))
		}
	}
	for _, job := range j.Jobs {
		if !job.Task || len(job.Promised) == 0 {
			continue
		}
		if ids := unique(slices.Concat(job.Promised, ofKey[job.Key])); len(ids) > 1 {
			violations = append(violations, fmt.Sprintf("task %s is %s", job.Key, strings.Join(ids, " and ")))
		}
		for n, run := range ordered(job.Iterations) {
			if message := j.iterations[fmt.Sprintf("%s-%d", job.Key, n)]; message.RunID != run {
				violations = append(violations, fmt.Sprintf("task %s: iteration %d was promised as run %s, and is run %q", job.Key, n, run, message.RunID))
			}
		}
		for _, end := range job.Ended {
			if task, ok := j.tasks[job.Promised[0]]; ok && over(task.Status) && task.Status != end.State {
				violations = append(violations, fmt.Sprintf("task %s (%s) is %s, and its plugin was told before that it was %s", job.Key, task.ID, task.Status, end.State))
			}
		}
	}
	return violations
}

// told wants one notification in the parent's thread for each task that is over, with one
// delivery where replies have one, and, if it was asked for, one message to the
// parent's agent whose run succeeded.
func (j *judge) told() (violations []string) {
	notices, wakes, deliveries := map[string][]Message{}, map[string][]Message{}, map[int64]int{}
	for _, message := range j.Messages {
		switch {
		case message.Kind == "notification" && over(message.Status):
			notices[message.Task] = append(notices[message.Task], message)
		case message.Role == "user" && !j.ofTask[message.ThreadID]:
			for _, task := range j.Tasks {
				if strings.Contains(message.Content, task.ID) {
					wakes[task.ID] = append(wakes[task.ID], message)
				}
			}
		}
	}
	for _, delivery := range j.Deliveries {
		deliveries[delivery.MessageID]++
	}
	wanted := map[string]bool{}
	for _, job := range j.Jobs {
		for _, id := range job.Promised {
			wanted[id] = job.Wake
		}
	}
	for _, task := range j.Tasks {
		say := func(format string, args ...any) {
			violations = append(violations, fmt.Sprintf("task %s (%s, %s): ", task.Key, task.ID, task.Status)+fmt.Sprintf(format, args...))
		}
		due, wake := 0, 0
		if task.Ended {
			due = 1
			if wanted[task.ID] {
				wake = 1
			}
		}
		if n := len(notices[task.ID]); n != due {
			say("its parent has %d notifications of its end, and should have %d", n, due)
		}
		if n := len(wakes[task.ID]); n != wake {
			say("the agent of its parent was told %d times, and should have been %d times", n, wake)
		}
		for _, notice := range notices[task.ID] {
			switch {
			case notice.ThreadID != task.ParentID:
				say("thread %s was told, which is not its parent", j.thread(notice.ThreadID))
			case notice.Status != task.Status:
				say("its parent was told that it is %s", notice.Status)
			case j.threads[notice.ThreadID].Delivered && deliveries[notice.ID] == 0:
				say("message %d, by which its parent was told, has no delivery", notice.ID)
			}
		}
		for _, message := range wakes[task.ID] {
			if run, _, problem := j.follow(message.RunID); problem != "" || run.State != "succeeded" {
				say("run %s, in which the agent of its parent was told, is %s: %s%s", message.RunID, run.State, run.Error, problem)
			}
		}
	}
	return violations
}

// verdictsAgain finds calls of a task's hook in a round in which the answer was stored.
// The rounds of a task are told apart by the ids of their calls: before the n-th of
// them there are the answers of n-1 rounds.
func (j *judge) verdictsAgain() (violations []string) {
	type place struct{ task, hook string }
	rounds, answers := map[place][]string{}, map[place][]Answer{}
	for _, answer := range j.Answers {
		if answer.Plugin != j.Witness {
			continue
		}
		at := place{answer.TaskID, answer.Hook}
		answers[at] = append(answers[at], answer)
	}
	for _, call := range j.Calls {
		at := place{call.TaskID, call.Hook}
		round := slices.Index(rounds[at], call.ID)
		if round < 0 {
			round = len(rounds[at])
			rounds[at] = append(rounds[at], call.ID)
		}
		if before := answers[at]; round < len(before) && call.At.After(before[round].At) {
			violations = append(violations, fmt.Sprintf("task %s (%s): asked at %s in a round (%s of %s) that it had answered at %s",
				j.tasks[call.TaskID].Key, call.TaskID, call.At.Format(clock), call.Hook, call.ID, before[round].At.Format(clock)))
		}
	}
	return violations
}
