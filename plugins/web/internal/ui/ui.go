// Package ui is the parts that pages are made of, and how they write times, sums and
// states. Its look is in the site's stylesheet; all parts stand on the page /design of a
// build with the tag design.
package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Tone is what a badge, a button or a line of words says by its colour. The words say it
// too.
type Tone string

// The tones; the empty one is neutral.
const (
	Plain Tone = ""
	Good  Tone = "good"
	Busy  Tone = "busy"
	Wait  Tone = "wait" // for a person
	Bad   Tone = "bad"
)

// states are the states of runs, tasks, approvals, deliveries, plugins, checks and threads
// that are not neutral.
var states = map[string]Tone{
	"running": Busy, "evaluating": Busy, "starting": Busy, "stopping": Busy, "sending": Busy, "pending": Busy,
	"waiting": Wait, "open": Wait, "backoff": Wait, "warning": Wait,
	"succeeded": Good, "completed": Good, "allowed": Good, "delivered": Good, "serving": Good, "ok": Good,
	"failed": Bad, "denied": Bad, "dead": Bad, "quarantined": Bad, "failing": Bad,
}

// ToneOf is the tone of a state, by its name in the API.
func ToneOf(state string) Tone { return states[state] }

// Ago says how long ago something was, or how soon it is: 5 min ago, in 2 h. The zero time
// is never.
func Ago(at, now time.Time) string {
	if at.IsZero() {
		return "never"
	}
	since := now.Sub(at)
	ahead := since < 0
	words := Long(since.Abs())
	switch {
	case since.Abs() < 10*time.Second:
		return "now"
	case ahead:
		return "in " + words
	}
	return words + " ago"
}

// Long is a duration with one unit: 340 ms, 12 s, 5 min, 3 h, 4 days.
func Long(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Long(-d)
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + " s"
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " days"
}

// USD is a sum of money: $0, $0.0042, $12.40, $1,240.
func USD(sum float64) string {
	switch {
	case sum == 0:
		return "$0"
	case sum < 0:
		return "-" + USD(-sum)
	case sum < 0.0001:
		return "< $0.0001"
	case sum < 0.1:
		return "$" + strconv.FormatFloat(sum, 'f', 4, 64)
	case sum < 1000:
		return "$" + strconv.FormatFloat(sum, 'f', 2, 64)
	}
	return "$" + humanize.Comma(int64(math.Round(sum)))
}

// Money is a sum of money as prices are written: $5.00.
func Money(sum float64) string { return "$" + strconv.FormatFloat(sum, 'f', 2, 64) }

// Cost is what turns have cost; unsure: about.
func Cost(sum float64, unsure bool) string {
	if unsure {
		return "≈ " + USD(sum)
	}
	return USD(sum)
}

// CostOf is Cost, with what of it nobody is billed: that of turns on a plan.
func CostOf(sum, notional float64, unsure bool) string {
	switch {
	case notional <= 0:
		return Cost(sum, unsure)
	case notional >= sum:
		return Cost(sum, unsure) + " on a plan"
	}
	return Cost(sum, unsure) + ", " + USD(notional) + " on a plan"
}

// clock is a time of a day, with its day when that is further away than 20 hours.
func clock(at, now time.Time) string {
	if at.Sub(now).Abs() < 20*time.Hour {
		return at.UTC().Format("15:04 MST")
	}
	return at.UTC().Format("Mon 2 Jan 15:04 MST")
}

// Count is a number that may be large: 940, 12.4k, 1.2M.
func Count(n int64) string {
	switch {
	case n < 0:
		return "-" + Count(-n)
	case n < 10_000:
		return humanize.Comma(n)
	case n < 999_950:
		return trim(float64(n)/1e3) + "k"
	case n < 999_950_000:
		return trim(float64(n)/1e6) + "M"
	}
	return trim(float64(n)/1e9) + "G"
}

func trim(n float64) string { return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0") }

// Size is a number of bytes: 12 kB.
func Size(bytes int64) string {
	if bytes < 0 {
		return strconv.FormatInt(bytes, 10) + " B"
	}
	return humanize.Bytes(uint64(bytes))
}

// Plural is a number with its noun: 1 task, 3 tasks.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Short is the beginning of an id, which tells it from others on a page. Ids begin with
// their time: the end differs.
func Short(id string) string {
	if len(id) <= 8 {
		return id
	}
	return id[len(id)-8:]
}

// Cut is the first n characters of a text on one line.
func Cut(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return strings.TrimSpace(string(runes[:n])) + "…"
}
