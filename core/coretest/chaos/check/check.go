package check

import (
	"fmt"
	"slices"
)

// Column is one promise and everything that breaks it.
type Column struct {
	Name       string
	Violations []string // each names what it is about
	LeftOut    string   // why it could not be judged, when it could not
}

// Report is the verdict on one campaign.
type Report struct {
	Strikes   map[Kind]int // by what was hit
	Missed    map[Kind]int // those that hit something else, by what they were meant for
	Accepted  int
	Answered  int
	Merged    int
	Cancelled int
	Carried   int
	Turns     int // that plugins asked for, and that were answered
	Tasks     int // that are over
	Works     int // that are done
	Decided   int // questions of the agent that people have answered
	Deeds     int // that were done after they were asked for
	Ruled     int // of those, by a rule
	Said      int // by people on Discord
	Read      int // deliveries that stand there
	Long      int // of those, of several messages
	Live      int // messages that were shown before they were whole, or were changed otherwise
	Troubles  map[Kind]int
	Fires     int     // of scheduled jobs that were made
	NotMade   int     // times at which one was due that were missed or skipped
	CostUSD   float64 // of all turns
	Columns   []Column
}

// Clean reports whether no promise was broken, and whether they were tried.
func (r Report) Clean() bool {
	return !slices.ContainsFunc(r.Columns, func(c Column) bool { return len(c.Violations) > 0 })
}

// Judge counts.
func Judge(records Records) Report {
	j := newJudge(records)
	report := Report{Strikes: map[Kind]int{}, Missed: map[Kind]int{}, Carried: len(records.Carried)}
	for _, strike := range records.Strikes {
		report.Strikes[strike.Kind]++
		if strike.Meant != "" {
			report.Missed[strike.Meant]++
		}
	}
	unanswered := j.fates(&report)
	messagesAgain, turnsAgain := j.askedAgain()
	unasked := ""
	if records.AskedUnknown {
		unasked, messagesAgain, turnsAgain = "the demo agent keeps no log of what it was asked", nil, nil
	}
	stuck, unedited := j.worksDone(&report), ""
	if records.AskedUnknown {
		unedited = "the demo agent edits nothing"
	}
	unaskable := ""
	if records.AskedUnknown {
		unaskable = "the demo agent asks nobody"
	}
	undone, missing := j.doneUnasked(&report), j.approvalsLost(&report)
	lost, doubled, disordered := j.deliveries()
	uncarried := ""
	if !j.delivers() {
		uncarried = "no thread of this load is delivered"
	}
	fires := j.fires(&report)
	for _, cost := range records.Costs {
		report.CostUSD += cost.USD
	}
	discord := j.onDiscord(&report)
	report.Columns = slices.Concat([]Column{
		{Name: "never answered", Violations: unanswered},
		{Name: "answered twice", Violations: j.answeredTwice()},
		{Name: "out of order", Violations: j.outOfOrder()},
		{Name: "reply without question", Violations: j.unasked()},
		{Name: "promised, not stored", Violations: j.notStored()},
		{Name: "run doubled", Violations: j.doubledRuns()},
		{Name: "asked again", Violations: messagesAgain, LeftOut: unasked},
		{Name: "delivery lost", Violations: lost, LeftOut: uncarried},
		{Name: "delivery doubled", Violations: doubled, LeftOut: uncarried},
		{Name: "delivery out of order", Violations: disordered, LeftOut: uncarried},
		{Name: "turn promised, not stored", Violations: j.turnsNotStored()},
		{Name: "turn never ended", Violations: j.turnFates(&report)},
		{Name: "turn asked again", Violations: turnsAgain, LeftOut: unasked},
		{Name: "turn doubled", Violations: j.doubledTurns()},
		{Name: "place leaked", Violations: j.places()},
		{Name: "task never ended", Violations: j.taskFates(&report)},
		{Name: "task doubled", Violations: j.doubledTasks()},
		{Name: "task stuck", Violations: stuck, LeftOut: unedited},
		{Name: "merged twice or never", Violations: j.mergedOnce(), LeftOut: unedited},
		{Name: "merged unreviewed", Violations: j.mergedUnreviewed(), LeftOut: unedited},
		{Name: "merged another tree", Violations: j.mergedAnother(), LeftOut: unedited},
		{Name: "left in the repository", Violations: j.leftovers(), LeftOut: unedited},
		{Name: "done unasked", Violations: undone, LeftOut: unaskable},
		{Name: "approval lost", Violations: missing, LeftOut: unaskable},
		{Name: "approval hanging", Violations: j.approvalsHanging(), LeftOut: unaskable},
		{Name: "notification lost or doubled", Violations: j.told()},
		{Name: "verdict asked again", Violations: j.verdictsAgain()},
		{Name: "orphaned process", Violations: j.strays()},
		{Name: "row left open", Violations: j.open()},
		{Name: "activity doubled", Violations: j.doubledActivity()},
		{Name: "effect lost or doubled", Violations: j.effects()},
		{Name: "money miscounted", Violations: j.money()},
		{Name: "fire lost or doubled", Violations: fires},
		{Name: "daemon gave up", Violations: j.exits()},
	}, discord, []Column{{Name: "nothing proved", Violations: j.untried(report)}})
	return report
}

// judge is the records with their indexes.
type judge struct {
	Records
	threads   map[string]Thread
	runs      map[string]Run
	messages  map[int64]Message
	questions []Message          // the campaign's own messages of people
	marked    map[string]Message // questions by marker, the first of each
	replies   []Message          // in the order of their ids

	iterations map[string]Message // of tasks, by marker
	turnJobs   map[string]Job     // by marker
	turnRuns   map[string]bool    // runs that were promised as turns
	tasks      map[string]Task
	ofTask     map[string]bool // threads of tasks
}

func newJudge(records Records) *judge {
	j := &judge{
		Records: records, threads: map[string]Thread{}, runs: map[string]Run{},
		messages: map[int64]Message{}, marked: map[string]Message{},
		iterations: map[string]Message{}, turnJobs: map[string]Job{}, turnRuns: map[string]bool{}, tasks: map[string]Task{}, ofTask: map[string]bool{},
	}
	for _, job := range records.Jobs {
		if job.Task {
			continue
		}
		j.turnJobs[job.Key] = job
		for _, id := range job.Promised {
			j.turnRuns[id] = true
		}
	}
	for _, task := range records.Tasks {
		j.tasks[task.ID], j.ofTask[task.ThreadID] = task, true
	}
	for _, thread := range records.Threads {
		j.threads[thread.ID] = thread
	}
	for _, run := range records.Runs {
		j.runs[run.ID] = run
	}
	for _, message := range records.Messages {
		j.messages[message.ID] = message
		marker := Marker.FindString(message.Content)
		switch {
		case message.Role == "user" && marker != "":
			j.questions = append(j.questions, message)
			if _, known := j.marked[marker]; !known {
				j.marked[marker] = message
			}
		case message.Role == "user" && j.ofTask[message.ThreadID]:
			j.iterations[WorkMarker.FindString(message.Content)] = message
		case message.Role == "assistant" && message.Kind == "text":
			j.replies = append(j.replies, message)
		}
	}
	return j
}

// thread names a thread for people.
func (j *judge) thread(id string) string {
	if thread, ok := j.threads[id]; ok {
		return thread.Name
	}
	return id
}

// about names a message of a person.
func (j *judge) about(question Message) string {
	return fmt.Sprintf("%s (message %d, run %s, thread %s)",
		Marker.FindString(question.Content), question.ID, question.RunID, j.thread(question.ThreadID))
}

func (j *judge) strays() (violations []string) {
	if j.Sightings == 0 {
		violations = append(violations, "no process was ever seen with the mark")
	}
	for _, stray := range j.Strays {
		violations = append(violations, fmt.Sprintf("process %d belongs to no living daemon: %s", stray.PID, stray.What))
	}
	return violations
}

func (j *judge) exits() (violations []string) {
	for _, exit := range j.Exits {
		violations = append(violations, fmt.Sprintf("the daemon ended by itself at %s: %s", exit.At.Format("15:04:05.000"), exit.Why))
	}
	return violations
}
