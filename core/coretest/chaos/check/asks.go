package check

import (
	"fmt"
	"slices"
	"time"
)

const clock = "15:04:05.000"

// askedAgain finds messages that the agent was given twice without a reason:
// without being told, while nothing had died and it had not been parked, or although it had answered. The second
// are the turns that plugins asked for; one that has a session of its own has nothing to
// be told.
func (j *judge) askedAgain() (messages, turns []string) {
	asks := map[string][]Ask{}
	for _, ask := range j.Asked {
		asks[ask.Marker] = append(asks[ask.Marker], ask)
	}
	ends, answers := j.ends()
	for marker, list := range ordered(asks) {
		runID, about, isTurn := j.asking(marker)
		violations := &messages
		if isTurn {
			violations = &turns
		}
		last, _, unknown := j.follow(runID)
		for i, ask := range list {
			if problem := j.unwarranted(list[:i], ask, last); problem != "" {
				*violations = append(*violations, fmt.Sprintf("%s: asked %d times, at %s %s", about, len(list), ask.At.Format(clock), problem))
			}
			if end, ended := ends[last.ID]; unknown == "" && ended && ask.At.After(end) {
				*violations = append(*violations, fmt.Sprintf("%s: asked at %s, after its answer was known at %s",
					about, ask.At.Format(clock), end.Format(clock)))
			}
		}
	}
	for run, n := range ordered(answers) {
		if n <= 1 {
			continue
		}
		violations := &messages
		if j.turnRuns[run] {
			violations = &turns
		}
		*violations = append(*violations, fmt.Sprintf("run %s (thread %s): the agent answered %d times", run, j.thread(j.runs[run].ThreadID), n))
	}
	return messages, turns
}

// asking is the run that asks the agent with a marker, and a name for it.
func (j *judge) asking(marker string) (runID, about string, isTurn bool) {
	if job, ok := j.turnJobs[marker]; ok {
		if len(job.Promised) > 0 {
			runID = job.Promised[0]
		}
		return runID, fmt.Sprintf("turn %s (run %s)", marker, runID), true
	}
	if message, ok := j.iterations[marker]; ok {
		return message.RunID, fmt.Sprintf("iteration %s (run %s)", marker, message.RunID), false
	}
	return j.marked[marker].RunID, j.name(marker), false
}

// ends is when the agent's answer to a run was first known, and how often it
// was.
func (j *judge) ends() (ends map[string]time.Time, answers map[string]int) {
	ends, answers = map[string]time.Time{}, map[string]int{}
	for _, turn := range j.Turns {
		if !turn.Success || j.parked(turn) {
			continue
		}
		answers[turn.RunID]++
		if end, ok := ends[turn.RunID]; !ok || turn.Ended.Before(end) {
			ends[turn.RunID] = turn.Ended
		}
	}
	return ends, answers
}

// unwarranted says what is wrong with an ask that has predecessors.
func (j *judge) unwarranted(before []Ask, ask Ask, run Run) string {
	if len(before) == 0 {
		return ""
	}
	previous := before[len(before)-1]
	switch {
	case !ask.Interrupted && !run.Beside:
		return "without being told that it was given before"
	case !j.struckBetween(previous.At, ask.At) && !j.closedBetween(previous.At, ask.At) && !j.parkedBetween(run.ID, previous.At, ask.At):
		return fmt.Sprintf("although nothing was killed since %s", previous.At.Format(clock))
	}
	return ""
}

// closedBetween reports whether a window of the plan was used up meanwhile: a turn that had
// begun is asked once more when it opens.
func (j *judge) closedBetween(from, to time.Time) bool {
	return slices.ContainsFunc(j.Closings, func(c Closing) bool { return c.Refused > 0 && !c.To.Before(from) && !c.From.After(to) })
}

// lastBreath is how long a process that has lost its parent may go on: an agent
// is told to end and finishes its line, and what it leaves running is ended by
// the next daemon.
const lastBreath = 2 * time.Second

// struckBetween reports whether something that a turn depends on was hit, or had
// been a moment before.
func (j *judge) struckBetween(from, to time.Time) bool {
	from = from.Add(-lastBreath)
	return slices.ContainsFunc(j.Strikes, func(s Strike) bool {
		return s.Kind != Plugin && !s.To.Before(from) && !s.From.After(to)
	}) || slices.ContainsFunc(j.Exits, func(e Exit) bool { return !e.At.Before(from) && !e.At.After(to) })
}
