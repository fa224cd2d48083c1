// Package calendar says when a scheduled job is due. It knows no clock and keeps nothing.
package calendar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netresearch/go-cron"
)

// Schedule is when a job is due, by the wall clock of a zone.
//
// An expression whose hour is * or */n ("every hour", "every 30 minutes") follows the time that
// passes: it is due in each minute that the wall clock shows and that it matches, so in both of two
// hours that the clock shows twice, and not at all in one that the clock leaves out. Any other
// expression names times of day, and is due once for each: when the clock leaves the time out, at
// the moment at which it does, and when the clock shows it twice, at the first.
type Schedule struct {
	spec    *cron.SpecSchedule // in UTC: its hours are those of the wall clock
	zone    *time.Location
	passing bool // it follows the time that passes
}

var (
	parser = cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)
	// macros are the descriptors that stand for five fields.
	macros = []string{"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}
)

// years is how far ahead a time is looked for. No two 29ths of February are further apart.
const years = 9

// Parse reads an expression of five fields (minute, hour, day of month, month, day of week, as
// crontab(5) has them: names, ranges, steps, lists; 0 and 7 are Sunday), or one of @hourly, @daily,
// @midnight, @weekly, @monthly, @yearly, @annually. The zone is a name of the IANA database. When both
// the day of month and the day of week are restricted, which is when neither has a *, either is
// enough.
func Parse(expression, zone string) (*Schedule, error) {
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "" || zone == "Local" {
		return nil, fmt.Errorf("timezone %q is not a name of the IANA database, such as America/Phoenix", zone)
	}
	fields := strings.Fields(expression)
	expression = strings.Join(fields, " ")
	if err := plain(expression, fields); err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(expression)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w", expression, err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("schedule %q: it has no times of day", expression)
	}
	spec.Location, spec.MaxSearchYears = time.UTC, years
	s := &Schedule{spec: spec, zone: location, passing: fields[0] == "@hourly"}
	if len(fields) == 5 {
		s.passing = strings.HasPrefix(fields[1], "*")
		spec.DowOrDom = !strings.Contains(fields[2], "*") && !strings.Contains(fields[4], "*")
	}
	if s.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, fmt.Errorf("schedule %q: no year has such a day", expression)
	}
	return s, nil
}

// plain refuses what the library reads beyond five fields.
func plain(expression string, fields []string) error {
	if strings.HasPrefix(expression, "@") {
		if slices.Contains(macros, expression) {
			return nil
		}
		return fmt.Errorf("schedule %q is not one of %s; every 30 minutes is */30 * * * *", expression, strings.Join(macros, ", "))
	}
	if len(fields) != 5 {
		return fmt.Errorf("schedule %q has %d fields; it needs five: minute, hour, day of month, month, day of week, such as 0 9 * * mon-fri", expression, len(fields))
	}
	for i, field := range fields {
		for part := range strings.SplitSeq(field, ",") {
			if err := kinds[i].check(part); err != nil {
				return fmt.Errorf("schedule %q: %w", expression, err)
			}
			if backwards(part) {
				return fmt.Errorf("schedule %q: the %s %q goes backwards", expression, kinds[i].name, part)
			}
		}
	}
	return nil
}

// kind is one of the five fields.
type kind struct {
	name     string
	from, to int
	names    []string
}

var kinds = [5]kind{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// check refuses a part of a field, between commas, that is none.
func (k kind) check(part string) error {
	base, step, stepped := strings.Cut(part, "/")
	if n, err := strconv.Atoi(step); stepped && (err != nil || n < 1 || step[0] == '+') {
		return fmt.Errorf("the %s %q has the step %q; a step is a number from 1 on, as in */2", k.name, part, step)
	}
	if base == "*" {
		return nil
	}
	ends := strings.SplitN(base, "-", 2)
	for _, one := range ends {
		if err := k.checkOne(one); err != nil {
			return err
		}
	}
	return nil
}

// checkOne refuses what is neither a number nor a name of the field.
func (k kind) checkOne(one string) error {
	takes := fmt.Sprintf("numbers from %d to %d, ranges, lists and steps", k.from, k.to)
	if len(k.names) > 0 {
		takes += ", and names such as " + k.names[1]
	}
	n, err := strconv.Atoi(one)
	switch {
	case slices.Contains(k.names, strings.ToLower(one)):
		return nil
	case err != nil || one[0] == '+' || one[0] == '-':
		return fmt.Errorf("%q is no %s; the field takes %s", one, k.name, takes)
	case n < k.from || n > k.to:
		return fmt.Errorf("the %s %d is not from %d to %d", k.name, n, k.from, k.to)
	}
	return nil
}

// backwards reports whether a range of numbers ends before it begins. (fri-sun does not.)
func backwards(part string) bool {
	var from, to int
	n, _ := fmt.Sscanf(part, "%d-%d", &from, &to)
	return n == 2 && to < from
}

// Next returns the first time after another at which the job is due; zero when it never is again.
func (s *Schedule) Next(after time.Time) time.Time {
	for at := after; ; {
		from, to := at.In(s.zone).ZoneBounds()
		if due := s.within(after, at, from, to); !due.IsZero() || to.IsZero() {
			return due
		}
		if to.Sub(after) > years*366*24*time.Hour {
			return time.Time{}
		}
		at = to
	}
}

// within is Next as long as the zone keeps the offset that it has at a time: between from and to,
// which are zero where there is no bound.
func (s *Schedule) within(after, at, from, to time.Time) time.Time {
	_, offset := at.In(s.zone).Zone()
	shift := time.Duration(offset) * time.Second
	first := after.Add(1) // the earliest that is wanted
	if !from.IsZero() && !from.Before(first) {
		first = from
	}
	wall := first.UTC().Add(shift)
	if !from.IsZero() && !s.passing {
		_, earlier := from.Add(-1).In(s.zone).Zone()
		shown := from.UTC().Add(time.Duration(earlier) * time.Second) // what the clock would show, had it not been changed
		began := from.UTC().Add(shift)                                // what it shows instead
		if began.After(shown) && first.Equal(from) && s.matches(shown, began) {
			return from // the times that are left out
		}
		if wall.Before(shown) {
			wall = shown // what is before that was shown already
		}
	}
	next := s.spec.Next(wall.Add(-1))
	if next.IsZero() {
		return next
	}
	if due := next.Add(-shift); to.IsZero() || due.Before(to) {
		return due
	}
	return time.Time{}
}

// matches reports whether the expression matches some time of the wall clock from one up to another.
func (s *Schedule) matches(from, to time.Time) bool {
	next := s.spec.Next(from.Add(-1))
	return !next.IsZero() && next.Before(to)
}
