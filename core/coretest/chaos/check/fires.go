package check

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// fires follows each time at which a scheduled job was due, and each fire that somebody asked for, to its one row, and
// each that was made to its one run and message.
func (j *judge) fires(report *Report) (violations []string) {
	keys, said := map[string][]Run{}, map[string]int{}
	for _, run := range j.Runs {
		keys[run.Key] = append(keys[run.Key], run)
	}
	for _, message := range j.Messages {
		if marker := CronMarker.FindString(message.Content); message.Role == "user" && marker != "" {
			said[marker]++
		}
	}
	for _, schedule := range j.Schedules {
		rows := slices.DeleteFunc(slices.Clone(j.Fires), func(f Fire) bool { return f.JobID != schedule.ID })
		violations = append(violations, schedule.due(rows)...)
		violations = append(violations, schedule.asked(rows)...)
		made := 0
		for _, row := range rows {
			problem := row.problem(keys[row.Key])
			if row.made() {
				made++
			}
			if problem != "" {
				violations = append(violations, fmt.Sprintf("%s, due at %s (%s): %s", schedule, row.Due.Format(clock), row.Cause, problem))
			} else if row.made() {
				report.Fires++
			} else {
				report.NotMade++
			}
		}
		if n := said[schedule.Marker]; n != made {
			violations = append(violations, fmt.Sprintf("%s: %d fires were made, and %d messages are there", schedule, made, n))
		}
	}
	return violations
}

func (s Schedule) String() string { return fmt.Sprintf("the job %s (%s)", s.Name, s.ID) }

// due wants one row for each time at which the job was due, and none for another.
func (s Schedule) due(rows []Fire) (violations []string) {
	for _, at := range s.Due {
		n := 0
		for _, row := range rows {
			if row.Cause == "schedule" && row.covers(at) {
				n++
			}
		}
		if n != 1 {
			violations = append(violations, fmt.Sprintf("%s was due at %s, for which there are %d rows", s, at.Format(clock), n))
		}
	}
	for _, row := range rows {
		sure := slices.ContainsFunc(s.Due, row.covers)
		if row.Cause == "schedule" && !sure && (row.Due.Before(s.MayFrom) || row.Due.After(s.MayTo)) {
			violations = append(violations, fmt.Sprintf("%s has a row for %s, when it was not due", s, row.Due.Format(clock)))
		}
	}
	return violations
}

// asked wants one row for each fire that was promised, and no more than were asked for.
func (s Schedule) asked(rows []Fire) (violations []string) {
	n := 0
	for _, row := range rows {
		if row.Cause != "schedule" {
			n++
		}
	}
	for _, at := range s.Promised {
		if !slices.ContainsFunc(rows, func(f Fire) bool { return f.Cause != "schedule" && f.Due.Equal(at) }) {
			violations = append(violations, fmt.Sprintf("%s: the fire of %s was promised, and has no row", s, at.Format(clock)))
		}
	}
	if most := len(s.Promised) + s.Unsure; n > most {
		violations = append(violations, fmt.Sprintf("%s was asked to fire %d times, and has %d rows of that", s, most, n))
	}
	return violations
}

func (f Fire) covers(at time.Time) bool {
	return f.Due.Equal(at) || f.Count > 1 && !at.Before(f.Due) && !at.After(f.Until)
}

// made reports whether the fire's message was submitted.
func (f Fire) made() bool {
	return f.State == "succeeded" || f.State == "failed" || f.State == "cancelled"
}

// problem says what is wrong with a fire, of which these runs are under its key.
func (f Fire) problem(runs []Run) string {
	switch {
	case f.State == "pending" || f.State == "running":
		return "it is " + f.State + ", although all is at rest"
	case f.State == "missed" || f.State == "skipped":
		if f.Reason == "" {
			return "it was " + f.State + " for no reason"
		}
		if len(runs) > 0 {
			return fmt.Sprintf("it was %s (%s), and has the run %s", f.State, f.Reason, runs[0].ID)
		}
		return ""
	case len(runs) != 1:
		ids := make([]string, len(runs))
		for n, run := range runs {
			ids[n] = run.ID
		}
		return fmt.Sprintf("it was made, and has %d runs: %s", len(runs), strings.Join(ids, ", "))
	case f.State != "succeeded":
		return fmt.Sprintf("it has %s: %s", f.State, f.Reason)
	case runs[0].ID != f.RunID || runs[0].State != "succeeded":
		return fmt.Sprintf("it has succeeded by the run %s, and its run %s is %s", f.RunID, runs[0].ID, runs[0].State)
	}
	return ""
}
