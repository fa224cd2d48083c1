package calendar

import (
	"fmt"
	"strings"
	"time"
)

// Times is when a job is due: a schedule, less what is excepted.
type Times struct {
	schedule *Schedule
	except   []exception
	hours    *hours // nil: at any
	until    time.Time
}

// Limits leave out some of the times of a schedule. All of them are by the wall clock of its zone.
type Limits struct {
	// Except has days on which the job is not due, with commas between them: weekdays (sat), dates
	// (2026-12-24), dates of every year (12-24), spans of dates with both ends
	// (2026-12-24..2027-01-02).
	Except string
	// Hours is the part of the day in which it may be due, with its begin and without its end, such
	// as 08:00-18:00; 22:00-06:00 is past midnight. Empty: the whole day.
	Hours string
	// Until is the end: the job is due up to it, and at it. Zero: there is none.
	Until time.Time
}

// New puts limits to a schedule.
func New(expression, zone string, limits Limits) (*Times, error) {
	schedule, err := Parse(expression, zone)
	if err != nil {
		return nil, err
	}
	t := &Times{schedule: schedule, until: limits.Until}
	for word := range strings.SplitSeq(limits.Except, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		one, err := parseException(word)
		if err != nil {
			return nil, err
		}
		t.except = append(t.except, one)
	}
	if limits.Hours != "" {
		if t.hours, err = parseHours(limits.Hours); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Next returns the first time after another at which the job is due; zero when it never is again.
func (t *Times) Next(after time.Time) time.Time {
	for last := after.AddDate(years, 0, 0); ; {
		due := t.schedule.Next(after)
		if due.IsZero() || due.After(last) || !t.until.IsZero() && due.After(t.until) {
			return time.Time{}
		}
		begins := t.leftOut(due)
		if begins.IsZero() {
			return due
		}
		after = due
		if begins.Add(-1).After(due) {
			after = begins.Add(-1)
		}
	}
}

// leftOut returns when, at the latest, times begin again that may not be left out, if a time is;
// zero if it is not.
func (t *Times) leftOut(due time.Time) time.Time {
	local := due.In(t.schedule.zone)
	year, month, day := local.Date()
	for _, one := range t.except {
		if one.has(local) {
			return time.Date(year, month, day+1, 0, 0, 0, 0, t.schedule.zone)
		}
	}
	if minute := 60*local.Hour() + local.Minute(); t.hours != nil && !t.hours.have(minute) {
		if minute > t.hours.from {
			day++
		}
		return time.Date(year, month, day, 0, t.hours.from, 0, 0, t.schedule.zone)
	}
	return time.Time{}
}

// exception is days: weekdays, or all from one to another.
type exception struct {
	weekday  time.Weekday
	from, to string // in its layout; empty: weekday counts
	layout   string
}

var weekdays = map[string]time.Weekday{
	"sun": time.Sunday, "mon": time.Monday, "tue": time.Tuesday, "wed": time.Wednesday, "thu": time.Thursday, "fri": time.Friday, "sat": time.Saturday,
}

const yearly = "01-02"

func parseException(word string) (exception, error) {
	if weekday, ok := weekdays[strings.ToLower(word)]; ok {
		return exception{weekday: weekday}, nil
	}
	from, to, span := strings.Cut(word, "..")
	if !span {
		to = from
	}
	for _, layout := range []string{time.DateOnly, yearly} {
		if layout == yearly && span {
			break
		}
		if date(layout, from) && date(layout, to) && from <= to {
			return exception{from: from, to: to, layout: layout}, nil
		}
	}
	return exception{}, fmt.Errorf("exception %q is none of a weekday (sat), a date (2026-12-24), a date of every year (12-24), dates from one to a later one (2026-12-24..2027-01-02)", word)
}

// date reports whether a text is a date. One of every year may be the 29th of February.
func date(layout, text string) bool {
	if layout == yearly {
		layout, text = time.DateOnly, "2000-"+text
	}
	_, err := time.Parse(layout, text)
	return err == nil
}

func (e exception) has(local time.Time) bool {
	if e.layout == "" {
		return local.Weekday() == e.weekday
	}
	day := local.Format(e.layout)
	return e.from <= day && day <= e.to
}

// hours is a part of the day, in minutes since midnight.
type hours struct{ from, to int }

func parseHours(text string) (*hours, error) {
	from, to, ok := strings.Cut(text, "-")
	begin, err := time.Parse("15:04", from)
	end, wrong := time.Parse("15:04", to)
	if to == "24:00" {
		end, wrong = time.Time{}, nil
	}
	found := hours{60*begin.Hour() + begin.Minute(), 60*end.Hour() + end.Minute()}
	if !ok || err != nil || wrong != nil || found.from == found.to {
		return nil, fmt.Errorf("hours %q are no part of the day, such as 08:00-18:00", text)
	}
	return &found, nil
}

func (h *hours) have(minute int) bool {
	if h.from < h.to {
		return h.from <= minute && minute < h.to
	}
	return minute >= h.from || minute < h.to
}
