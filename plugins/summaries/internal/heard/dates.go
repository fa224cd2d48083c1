package heard

import (
	"slices"
	"strconv"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// date is a day as it was written.
type date struct {
	year       int // 0: it does not say
	month, day int
}

// spoken are the days that a message names.
type spoken struct {
	at       time.Time // of the message
	dates    []date
	weekdays map[time.Weekday]bool
	days     []int // from the message's on, such as 1 for tomorrow
}

func (w *Words) spokenOf(folded string, at time.Time) spoken {
	s := spoken{at: at, weekdays: make(map[time.Weekday]bool)}
	_, written := cutDates(folded, true)
	known := make(map[date]bool)
	for _, one := range written {
		for _, means := range one.means {
			if !known[means] {
				s.dates, known[means] = append(s.dates, means), true
			}
		}
		for _, number := range []int{one.means[0].year, one.means[0].month, one.means[0].day} {
			w.numbers[strconv.Itoa(number)] = true
		}
	}
	for _, word := range wordsOf(folded) {
		if day, ok := weekdays()[word]; ok {
			s.weekdays[day] = true
		}
		if days, ok := relativeDays()[word]; ok {
			s.days = append(s.days, days)
		}
	}
	return s
}

// written is a date in a text, and what it can mean.
type written struct {
	raw   string
	means []date
}

var (
	isoDate     = lazy.Regexp(`\b([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})\b`)
	yearDate    = lazy.Regexp(`\b([0-9]{1,2})[./-]([0-9]{1,2})[./-]([0-9]{4})\b`)
	shortDate   = lazy.Regexp(`\b([0-9]{1,2})(?:\.|/)([0-9]{1,2})\b\.?`)
	dayMonth    = lazy.Regexp(`\b([0-9]{1,2})(?:st|nd|rd|th|er|\.)?(?: of| de)? (` + monthPattern + `)\b\.?(?:,? (?:de |del )?([0-9]{4})\b)?`)
	monthDay    = lazy.Regexp(`\b(` + monthPattern + `)\b\.? (?:the )?([0-9]{1,2})(?:st|nd|rd|th)?\b(?:,? ([0-9]{4})\b)?`)
	clock       = lazy.Regexp(`\b([0-9]{1,2})[:h]([0-9]{2})(?::[0-9]{2})?(?: ?([ap])\.?m\b\.?)?`)
	hour        = lazy.Regexp(`\b([0-9]{1,2}) ?(?:([ap])\.?m\b\.?|(?:uhr|h|o'clock|heures?|horas?)\b)`)
	hourOfWords = lazy.Regexp(`\b(?:at|to|um|gegen|by|around|until|till|from|bis|ab|a las?|vers) ([0-9]{1,2})\b`)
)

// cutDates takes the dates out of a text. In what people say, two numbers with a mark between them may be one.
func cutDates(folded string, spoken bool) (rest string, all []written) {
	cut := func(pattern *lazy.Pattern, means func(parts []string) []date) {
		folded = pattern.ReplaceAllStringFunc(folded, func(raw string) string {
			valid := slices.DeleteFunc(means(pattern.FindStringSubmatch(raw)), func(d date) bool { return d.month < 1 || d.month > 12 || d.day < 1 || d.day > 31 })
			if len(valid) == 0 {
				return raw
			}
			all = append(all, written{raw, valid})
			return found
		})
	}
	cut(isoDate, func(p []string) []date { return []date{{atoi(p[1]), atoi(p[2]), atoi(p[3])}} })
	cut(yearDate, func(p []string) []date {
		return []date{{atoi(p[3]), atoi(p[2]), atoi(p[1])}, {atoi(p[3]), atoi(p[1]), atoi(p[2])}}
	})
	cut(dayMonth, func(p []string) []date { return []date{{atoi(p[3]), months()[p[2]], atoi(p[1])}} })
	cut(monthDay, func(p []string) []date { return []date{{atoi(p[3]), months()[p[1]], atoi(p[2])}} })
	if spoken {
		cut(shortDate, func(p []string) []date { return []date{{0, atoi(p[2]), atoi(p[1])}, {0, atoi(p[1]), atoi(p[2])}} })
	}
	return folded, all
}

func atoi(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// takeDates takes the dates out of a note, and returns those that nobody has named and that are not the day on which it was written.
func (w *Words) takeDates(text string, at time.Time) (rest string, missing []string) {
	rest, all := cutDates(text, false)
	for _, one := range all {
		if !slices.ContainsFunc(one.means, func(d date) bool { return w.named(d, at) }) {
			missing = append(missing, one.raw)
		}
	}
	return rest, missing
}

// named reports whether a date was said, as a date, as a day of the week, or as one such as tomorrow.
func (w *Words) named(d date, at time.Time) bool {
	if slices.ContainsFunc(d.near(at), func(day time.Time) bool { return within(day, at, 1) }) {
		return true
	}
	return slices.ContainsFunc(w.dates, func(s spoken) bool { return s.names(d) })
}

func (s spoken) names(d date) bool {
	for _, day := range d.near(s.at) {
		if slices.ContainsFunc(s.dates, func(said date) bool { return said.is(day, s.at) }) {
			return true
		}
		if s.weekdays[day.Weekday()] && within(day, s.at.AddDate(0, 0, 3), 11) {
			return true
		}
		if slices.ContainsFunc(s.days, func(days int) bool { return within(day, s.at.AddDate(0, 0, days), 1) }) {
			return true
		}
	}
	return false
}

// is reports whether a date that was said at a time means a day.
func (d date) is(day, at time.Time) bool {
	return slices.ContainsFunc(d.near(at), day.Equal)
}

// near are the days that a date means: without a year, those of the years around a time.
func (d date) near(at time.Time) (days []time.Time) {
	years := []int{d.year}
	if d.year == 0 {
		years = []int{at.Year() - 1, at.Year(), at.Year() + 1}
	}
	for _, year := range years {
		days = append(days, time.Date(year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC))
	}
	return days
}

// within reports whether a day is so many days from that of a time at most. Where people are it may be another day than in UTC.
func within(day, at time.Time, days int) bool {
	away := day.Sub(at.UTC().Truncate(24 * time.Hour))
	return away.Abs() <= time.Duration(days)*24*time.Hour
}

// timesOf are the times of the day in a text, in minutes: of an hour that is before noon or after it, both.
func timesOf(folded string) (minutes []int) {
	add := func(hours, past int, half string) {
		switch {
		case hours > 24 || past > 59:
		case half == "p":
			minutes = append(minutes, (hours%12+12)*60+past)
		case half == "a":
			minutes = append(minutes, hours%12*60+past)
		case hours <= 12:
			minutes = append(minutes, hours%24*60+past, (hours+12)%24*60+past)
		default:
			minutes = append(minutes, hours%24*60+past)
		}
	}
	for _, p := range clock.FindAllStringSubmatch(folded, -1) {
		add(atoi(p[1]), atoi(p[2]), p[3])
	}
	for _, p := range hour.FindAllStringSubmatch(folded, -1) {
		add(atoi(p[1]), 0, p[2])
	}
	for _, p := range hourOfWords.FindAllStringSubmatch(folded, -1) {
		add(atoi(p[1]), 0, "")
	}
	for _, word := range wordsOf(folded) {
		switch word {
		case "noon", "midday", "mittag", "mittags", "midi", "mediodia":
			minutes = append(minutes, 12*60)
		case "midnight", "mitternacht", "minuit", "medianoche":
			minutes = append(minutes, 0)
		}
	}
	return minutes
}

// takeTimes takes the times of the day out of a note, and returns those that were not said.
func (w *Words) takeTimes(text string) (rest string, missing []string) {
	for _, pattern := range []*lazy.Pattern{clock, hour} {
		text = pattern.ReplaceAllStringFunc(text, func(raw string) string {
			switch {
			case slices.ContainsFunc(timesOf(raw), func(minutes int) bool { return w.times[minutes] }):
			case pattern == clock:
				missing = append(missing, raw)
			default: // of an hour alone it may be a number of something else
				return raw
			}
			return found
		})
	}
	return text, missing
}
