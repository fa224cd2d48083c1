// Package brute finds out when a cron expression is due by looking at each minute of three years. It
// implements the rules of crontab(5), and what the docs say of clocks that change, without the calendar
// and its library. It is for tests, which compare with it what the calendar and the whole plugin do.
package brute

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Zones are some that change their clocks by an hour, by half of one, at midnight, on the southern
// half of the earth, not at all, or by a whole day.
var Zones = []string{
	"America/Phoenix", "UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Africa/Cairo",
	"Asia/Beirut", "America/Santiago", "Asia/Kathmandu", "Africa/Casablanca", "Pacific/Apia", "Europe/London", "America/Sao_Paulo",
	"America/St_Johns", "Pacific/Auckland", "Asia/Tehran", "Atlantic/Azores", "America/Los_Angeles", "Asia/Tokyo", "Australia/Adelaide",
	"Pacific/Chatham", "America/Nuuk", "Asia/Gaza", "America/Asuncion", "Europe/Dublin", "Antarctica/Troll", "Asia/Kolkata", "Pacific/Kiritimati", "America/Scoresbysund",
}

// The years from Begin to End have changes of clocks in most of the zones.
var (
	Begin = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	End   = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Minute is what a wall clock shows in a minute.
type Minute struct{ Minute, Hour, Day, Month, Weekday int8 }

// shown is what wall clocks show, minute by minute, from a day before Begin to a day after End.
var shown = sync.OnceValue(func() (all []Minute) {
	for at := Begin.AddDate(0, 0, -1); at.Before(End.AddDate(0, 0, 1)); at = at.Add(time.Minute) {
		all = append(all, Minute{int8(at.Minute()), int8(at.Hour()), int8(at.Day()), int8(at.Month()), int8(at.Weekday())})
	}
	return all
})

// Clock has of each minute since Begin what a zone's wall clock shows: an index of shown.
type Clock struct {
	Zone *time.Location
	wall []int32
}

// NewClock returns the clock of a zone.
func NewClock(zone string) (*Clock, error) {
	location, err := time.LoadLocation(zone)
	if err != nil {
		return nil, err
	}
	c := &Clock{Zone: location}
	for at := Begin; at.Before(End); at = at.Add(15 * time.Minute) { // clocks are changed at quarters of an hour
		_, offset := at.In(location).Zone()
		wall := int32((at.Unix()-Begin.Unix()+int64(offset))/60 + 24*60)
		for n := range int32(15) {
			c.wall = append(c.wall, wall+n)
		}
	}
	return c, nil
}

// field is one of an expression, read as crontab(5) says.
type field struct {
	has  [64]bool
	star bool
}

func readField(text string, least, most int, names string) (f field) {
	f.star = strings.Contains(text, "*")
	value := func(word string) int {
		if at := strings.Index(names, strings.ToLower(word)); at >= 0 && len(word) == 3 {
			return at/3 + least
		}
		n, _ := strconv.Atoi(word)
		return n
	}
	for part := range strings.SplitSeq(text, ",") {
		span, stepped, isStepped := strings.Cut(part, "/")
		step, from, to := 1, least, most
		if isStepped {
			step, _ = strconv.Atoi(stepped)
		}
		if first, last, isSpan := strings.Cut(span, "-"); isSpan {
			from, to = value(first), value(last)
		} else if span != "*" {
			from = value(span)
			if !isStepped {
				to = from
			}
		}
		for v := from; v <= to; v += step {
			f.has[v] = true
		}
	}
	return f
}

// Rules is an expression in the words of the rules, and not of the library.
type Rules struct {
	minute, hour, day, month, weekday field
	passing                           bool
}

// Read reads an expression.
func Read(expression string) Rules {
	fields := strings.Fields(expression)
	r := Rules{
		minute: readField(fields[0], 0, 59, ""), hour: readField(fields[1], 0, 23, ""), day: readField(fields[2], 1, 31, ""),
		month: readField(fields[3], 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"), weekday: readField(fields[4], 0, 7, "sunmontuewedthufrisat"),
		passing: fields[1][0] == '*',
	}
	r.weekday.has[0] = r.weekday.has[0] || r.weekday.has[7]
	return r
}

func (r *Rules) match(m Minute) bool {
	day, weekday := r.day.has[m.Day], r.weekday.has[m.Weekday]
	both := day && weekday
	if !r.day.star && !r.weekday.star {
		both = day || weekday
	}
	return r.minute.has[m.Minute] && r.hour.has[m.Hour] && r.month.has[m.Month] && both
}

// Due lists the minutes since Begin in which the rules have a job due.
func (r *Rules) Due(c *Clock) (due []int) {
	shown, latest := shown(), c.wall[0]-1
	for i, wall := range c.wall {
		hit := r.match(shown[wall]) && (r.passing || wall > latest)
		if !r.passing && i > 0 {
			for left := c.wall[i-1] + 1; left < wall; left++ { // what the clock has left out just now
				hit = hit || r.match(shown[left])
			}
		}
		if latest = max(latest, wall); hit {
			due = append(due, i)
		}
	}
	return due
}

// Random returns an expression that people might write.
func Random(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	number := func(least, most int) string { return strconv.Itoa(least + r.IntN(most-least+1)) }
	span := func(least, most int) string {
		a, b := least+r.IntN(most-least+1), least+r.IntN(most-least+1)
		return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
	}
	return strings.Join([]string{
		pick("0", "30", number(0, 59), "*/"+number(2, 30), "*", number(0, 29)+","+number(30, 59), span(0, 59), number(0, 20)+"-"+number(40, 59)+"/7"),
		pick("2", "*", "*/"+number(2, 12), number(0, 23), number(0, 3), span(0, 23), "1,2,3", "0-23/"+number(2, 6)),
		pick("*", "*", "*", number(1, 31), "*/"+number(2, 10), span(1, 31), "29"),
		pick("*", "*", "*", number(1, 12), "mar", "OCT", "2", "*/3", span(1, 12)),
		pick("*", "*", "*", number(0, 7), "mon-fri", "sun", "1,3,5", "*/2", "5-7", "SAT,sun"),
	}, " ")
}

// Shown is what the zone's wall clock shows in a minute since Begin.
func (c *Clock) Shown(minute int) Minute { return shown()[c.wall[minute]] }

// Changed reports whether the clock is changed within some hours of a time.
func (c *Clock) Changed(at time.Time) bool {
	i := int(at.Sub(Begin) / time.Minute)
	return i < 180 || i+180 >= len(c.wall) || c.wall[i+180]-c.wall[i-180] != 360
}
