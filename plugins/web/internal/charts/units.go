package charts

import (
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// Unit is what the values of a chart are, which says how they are written.
type Unit string

// The units.
const (
	Count   Unit = "count"   // 1,240
	Tokens  Unit = "tokens"  // 1.2M
	USD     Unit = "usd"     // $0.0123, $12.40, $1,240
	Seconds Unit = "seconds" // 340 ms, 1.2 s, 3 min
)

// units has, for each unit, how a value is written, how one at a tick of the axis, and
// which distances ticks may have.
var units = map[Unit]struct {
	format func(float64) string
	tick   func(value, step float64) string
	step   func(least float64) float64
}{
	Count:   {count, func(value, _ float64) string { return short(value) }, wholeStep},
	Tokens:  {short, func(value, _ float64) string { return short(value) }, wholeStep},
	USD:     {usd, usdTick, decimalStep},
	Seconds: {seconds, secondsTick, secondsStep},
}

// Format writes a value that is not negative, as cells and sentences have it.
func (u Unit) Format(value float64) string { return units[u].format(value) }

// significant writes value with so many significant digits, and without an exponent or
// zeros at its end.
func significant(value float64, digits int) string {
	if value == 0 {
		return "0"
	}
	places := max(0, digits-1-int(math.Floor(math.Log10(value))))
	if places > 15 {
		return strconv.FormatFloat(value, 'g', digits, 64)
	}
	text := strconv.FormatFloat(value, 'f', places, 64)
	if places > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// short writes 1234567 as 1.2M: at most three digits from 1000 on.
func short(value float64) string {
	if value < 999.5 {
		return significant(value, 3)
	}
	for _, suffix := range []string{"k", "M", "B", "T"} {
		value /= 1000
		switch {
		case value < 99.5:
			return significant(value, 2) + suffix
		case value < 999.5:
			return strconv.FormatFloat(value, 'f', 0, 64) + suffix
		}
	}
	return strconv.FormatFloat(value*1e12, 'g', 2, 64)
}

// count writes whole numbers exactly, as long as they can be read.
func count(value float64) string {
	switch {
	case value < 999.5:
		return significant(value, 3)
	case value < 1e12:
		return humanize.Comma(int64(math.Round(value)))
	}
	return short(value)
}

func usd(value float64) string {
	switch {
	case value == 0:
		return "$0"
	case value < 1:
		text := significant(value, 3)
		if whole, cents, _ := strings.Cut(text, "."); len(cents) < 2 && !strings.Contains(text, "e") {
			text = whole + "." + (cents + "00")[:2]
		}
		return "$" + text
	case value < 999.995:
		return "$" + strconv.FormatFloat(value, 'f', 2, 64)
	}
	return "$" + count(value)
}

func usdTick(value, step float64) string {
	if step >= 1 || value == 0 {
		return "$" + short(value)
	}
	places := max(2, int(math.Ceil(-math.Log10(step)-1e-9)))
	if places > 12 {
		return "$" + strconv.FormatFloat(value, 'g', 2, 64)
	}
	return "$" + strconv.FormatFloat(value, 'f', places, 64)
}

// seconds writes a duration with its two largest units at most.
func seconds(value float64) string {
	switch {
	case value == 0:
		return "0 s"
	case value < 0.00995:
		return significant(value*1000, 2) + " ms"
	case value < 0.9995:
		return strconv.FormatFloat(value*1000, 'f', 0, 64) + " ms"
	case value < 59.95:
		return strings.TrimSuffix(strconv.FormatFloat(value, 'f', 1, 64), ".0") + " s"
	case value < 3599.5:
		return pair(math.Round(value), 60, "min", "s")
	case value < 86400-30:
		return pair(math.Round(value/60), 60, "h", "min")
	}
	return pair(math.Round(value/3600), 24, "d", "h")
}

// pair writes 200 with 60 seconds a minute as "3 min 20 s".
func pair(value, per float64, large, little string) string {
	text := count(math.Floor(value/per)) + " " + large
	if rest := math.Mod(value, per); rest >= 1 {
		text += " " + strconv.FormatFloat(rest, 'f', 0, 64) + " " + little
	}
	return text
}

func secondsTick(value, step float64) string {
	switch {
	case value == 0:
		return "0"
	case step < 1:
		return seconds(value)
	case step < 60:
		return short(value) + " s"
	case step < 3600:
		return short(value/60) + " min"
	case step < 86400:
		return short(value/3600) + " h"
	}
	return short(value/86400) + " d"
}

// decimalStep is the smallest of 1, 2, 5, 10, … and of their tenths that is no less.
func decimalStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 5} {
		if step := factor * power; step >= least*(1-1e-9) {
			return step
		}
	}
	return 10 * power
}

func wholeStep(least float64) float64 { return max(1, decimalStep(least)) }

// secondsStep has the steps of clocks between a second and a day.
func secondsStep(least float64) float64 {
	if least <= 1 {
		return decimalStep(least)
	}
	for _, step := range []float64{2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 2 * 3600, 6 * 3600, 12 * 3600} {
		if step >= least {
			return step
		}
	}
	return 86400 * decimalStep(least/86400)
}
