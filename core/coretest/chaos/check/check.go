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
	asked := Column{Name: "asked again", Violations: j.askedAgain()}
	if records.AskedUnknown {
		asked = Column{Name: asked.Name, LeftOut: "the demo agent keeps no log of what it was asked"}
	}
	lost, doubled, disordered := j.deliveries()
	uncarried := ""
	if !j.delivers() {
		uncarried = "no thread of this load is delivered"
	}
	report.Columns = []Column{
		{Name: "never answered", Violations: unanswered},
		{Name: "answered twice", Violations: j.answeredTwice()},
		{Name: "out of order", Violations: j.outOfOrder()},
		{Name: "reply without question", Violations: j.unasked()},
		{Name: "promised, not stored", Violations: j.notStored()},
		{Name: "run doubled", Violations: j.doubledRuns()},
		asked,
		{Name: "delivery lost", Violations: lost, LeftOut: uncarried},
		{Name: "delivery doubled", Violations: doubled, LeftOut: uncarried},
		{Name: "delivery out of order", Violations: disordered, LeftOut: uncarried},
		{Name: "orphaned process", Violations: j.strays()},
		{Name: "row left open", Violations: j.open()},
		{Name: "activity doubled", Violations: j.doubledActivity()},
		{Name: "effect lost or doubled", Violations: j.effects()},
		{Name: "daemon gave up", Violations: j.exits()},
		{Name: "nothing proved", Violations: j.untried(report)},
	}
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
}

func newJudge(records Records) *judge {
	j := &judge{
		Records: records, threads: map[string]Thread{}, runs: map[string]Run{},
		messages: map[int64]Message{}, marked: map[string]Message{},
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
