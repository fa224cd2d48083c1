package calendar

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/cron/brute"
)

// TestNextIsWhatTheRulesSay compares the times of 200 expressions in 30 zones over three years with what
// a reading of the rules finds in each minute of them.
func TestNextIsWhatTheRulesSay(t *testing.T) {
	t.Parallel()
	const seed, expressions = 28, 200
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	fixed := []string{"30 2 * * *", "* * * * *", "0 0 29 2 *", "0 0 * * *", "0 9 13 * fri", "30 1 * * *", "*/30 * * * *", "0 0-23 * * *"}
	for zone := range brute.Zones {
		var mine []string
		for n := range expressions {
			if one := brute.Random(r); n%len(brute.Zones) == zone {
				mine = append(mine, one)
			}
		}
		t.Run(brute.Zones[zone], func(t *testing.T) {
			t.Parallel()
			clock, err := brute.NewClock(brute.Zones[zone])
			if err != nil {
				t.Fatal(err)
			}
			for _, expression := range append(mine, fixed[zone%len(fixed)], fixed[0]) {
				compare(t, clock, expression)
			}
		})
	}
}

func compare(t *testing.T, clock *brute.Clock, expression string) {
	t.Helper()
	rules := brute.Read(expression)
	want := rules.Due(clock)
	schedule, err := Parse(expression, clock.Zone.String())
	if err != nil {
		if len(want) > 0 {
			t.Errorf("%q: %v", expression, err)
		}
		return
	}
	when := func(n int) time.Time { return brute.Begin.Add(time.Duration(want[n]) * time.Minute) }
	for n := range len(want) + 1 {
		at, wanted := brute.Begin.Add(-1), time.Time{}
		if n > 0 {
			at = when(n - 1)
		}
		if n < len(want) {
			wanted = when(n)
		}
		// Of what is due in most minutes, each 50th time is enough where no clock is changed.
		if len(want) > 20_000 && n%50 > 0 && !clock.Changed(at) {
			continue
		}
		next := schedule.Next(at)
		if !next.Before(brute.End) {
			next = time.Time{}
		}
		if !next.Equal(wanted) {
			t.Fatalf("%q in %s: after %s it is due at %s, want %s", expression, clock.Zone, at.In(clock.Zone), next.In(clock.Zone), wanted.In(clock.Zone))
		}
	}
}

// TestClocksThatChange has what people ask about, in so many words.
func TestClocksThatChange(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ expression, zone, after, want string }{
		{"30 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00+01:00", "2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:00:00+02:00", "2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00"},
		{"*/30 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00+01:00", "2026-03-29T03:00:00+02:00 2026-03-30T02:00:00+02:00"},
		{"0 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00+01:00", "2026-03-29T03:00:00+02:00 2026-03-30T02:00:00+02:00"},
		{"0 * * * *", "Europe/Berlin", "2026-10-25T01:00:00+02:00", "2026-10-25T02:00:00+02:00 2026-10-25T02:00:00+01:00 2026-10-25T03:00:00+01:00"},
		{"0 * * * *", "Europe/Berlin", "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00 2026-03-29T04:00:00+02:00"},
		{"@hourly", "Europe/Berlin", "2026-10-25T01:00:00+02:00", "2026-10-25T02:00:00+02:00 2026-10-25T02:00:00+01:00"},
		{"0 0 * * *", "America/Havana", "2026-03-07T12:00:00-05:00", "2026-03-08T01:00:00-04:00 2026-03-09T00:00:00-04:00"},
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30", "2026-10-04T02:30:00+11:00 2026-10-05T02:15:00+11:00"},
		{"0 9 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T09:00:00Z"},
		{"0 9 * * fri-sun", "UTC", "2026-11-26T10:00:00Z", "2026-11-27T09:00:00Z 2026-11-28T09:00:00Z 2026-11-29T09:00:00Z 2026-12-04T09:00:00Z"},
		{"0 9 13 * fri", "UTC", "2026-11-10T10:00:00Z", "2026-11-13T09:00:00Z 2026-11-20T09:00:00Z"},
		{"0 9 */2 * mon", "UTC", "2026-11-28T10:00:00Z", "2026-12-07T09:00:00Z 2026-12-21T09:00:00Z"},
	} {
		schedule, err := Parse(row.expression, row.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, row.after)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for range strings.Fields(row.want) {
			at = schedule.Next(at)
			found = append(found, at.In(schedule.zone).Format(time.RFC3339))
		}
		if got := strings.Join(found, " "); got != row.want {
			t.Errorf("%s in %s after %s:\n got %s\nwant %s", row.expression, row.zone, row.after, got, row.want)
		}
	}
}

func TestWhatIsNoSchedule(t *testing.T) {
	t.Parallel()
	for expression, word := range map[string]string{
		"":                      "five",
		"0 9 * *":               "4 fields",
		"0 9 * * * *":           "6 fields",
		"@every 30m":            "*/30",
		"@reboot":               "@hourly",
		"61 * * * *":            "61",
		"* 24 * * *":            "24",
		"0 9 0 * *":             "0",
		"0 9 * 13 *":            "13",
		"0 9 * * 8":             "8",
		"0 9 * * funday":        "funday",
		"50-10 * * * *":         "backwards",
		"1,,3 * * * *":          "minute",
		"*/0 * * * *":           "step",
		"0 9 31 4 *":            "no year",
		"0 9 30 feb *":          "no year",
		"CRON_TZ=UTC 0 9 * *":   "minute",
		"TZ=UTC 0 9 * * *":      "6 fields",
		"0 9 L * *":             "L",
		"H * * * *":             "h",
		"0 9 * * 5#3":           "#",
		"0 9 ? * *":             "?",
		"-5 * * * *":            "-5",
		"9:00":                  "1 fields",
		"every weekday at 9":    "4 fields",
		"* * * * mon-":          "mon-",
		"0 9 * * *\x00":         "\\x00",
		"99999999999 * * * *":   "99999999999",
		"*/99999999999 * * * *": "99999999999",
	} {
		if _, err := Parse(expression, "UTC"); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v, want an error with %q", expression, err, word)
		}
	}
	for _, zone := range []string{"", "Local", "Mars/Base", "../../etc/passwd"} {
		if _, err := Parse("0 9 * * *", zone); err == nil {
			t.Errorf("zone %q is taken", zone)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		expression, zone string
		limits           Limits
		after, want      string
	}{
		{"0 9 * * *", "UTC", Limits{Except: "sat, Sun, 12-24, 2026-12-28..2026-12-30"}, "2026-12-23T10:00:00Z", "2026-12-25T09:00:00Z 2026-12-31T09:00:00Z 2027-01-01T09:00:00Z"},
		{"*/30 * * * *", "UTC", Limits{Hours: "08:00-09:00"}, "2026-12-23T10:00:00Z", "2026-12-24T08:00:00Z 2026-12-24T08:30:00Z 2026-12-25T08:00:00Z"},
		{"0 * * * *", "UTC", Limits{Hours: "22:00-02:00"}, "2026-12-23T10:00:00Z", "2026-12-23T22:00:00Z 2026-12-23T23:00:00Z 2026-12-24T00:00:00Z 2026-12-24T01:00:00Z 2026-12-24T22:00:00Z"},
		{"0 * * * *", "UTC", Limits{Hours: "23:00-24:00"}, "2026-12-23T10:00:00Z", "2026-12-23T23:00:00Z 2026-12-24T23:00:00Z"},
		{"0 9 * * *", "UTC", Limits{Until: time.Date(2026, 12, 24, 9, 0, 0, 0, time.UTC)}, "2026-12-23T08:00:00Z", "2026-12-23T09:00:00Z 2026-12-24T09:00:00Z never"},
		{"0 9 * * sat", "UTC", Limits{Except: "sat"}, "2026-12-23T08:00:00Z", "never"},
		{"* * * * *", "UTC", Limits{Except: "mon, tue, wed, thu, fri, sat, sun"}, "2026-12-23T08:00:00Z", "never"},
		{"0 12 * * *", "UTC", Limits{Hours: "08:00-09:00"}, "2026-12-23T08:00:00Z", "never"},
		{"* * * * *", "America/Havana", Limits{Except: "2026-03-07"}, "2026-03-06T23:59:00-05:00", "2026-03-08T01:00:00-04:00 2026-03-08T01:01:00-04:00"},
		{"* * * * *", "America/Havana", Limits{Hours: "00:30-02:00", Except: "2026-03-07"}, "2026-03-07T01:59:00-05:00", "2026-03-08T01:00:00-04:00"},
	} {
		times, err := New(row.expression, row.zone, row.limits)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, row.after)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for range strings.Fields(row.want) {
			if at = times.Next(at); at.IsZero() {
				found = append(found, "never")
				break
			}
			found = append(found, at.In(times.schedule.zone).Format(time.RFC3339))
		}
		if got := strings.Join(found, " "); got != row.want {
			t.Errorf("%s %+v after %s:\n got %s\nwant %s", row.expression, row.limits, row.after, got, row.want)
		}
	}
	for _, wrong := range []Limits{
		{Except: "weekend"}, {Except: "2026-02-30"}, {Except: "2026-12-24..2026-12-01"}, {Except: "13-01"}, {Except: "12-24..12-26"},
		{Hours: "8-18"}, {Hours: "08:00"}, {Hours: "08:00-08:00"}, {Hours: "25:00-26:00"}, {Hours: "08:00-18:00-20:00"},
	} {
		if _, err := New("0 9 * * *", "UTC", wrong); err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

// What is wrong with an expression is said with its field, and what that takes.
func TestWhatIsSaidOfAWrongExpression(t *testing.T) {
	for expression, want := range map[string]string{
		"mno * * * *":    `"mno" is no minute; the field takes numbers from 0 to 59`,
		"0 0 L * *":      `"L" is no day of month; the field takes numbers from 1 to 31`,
		"0 9 * * mon#1":  `"mon#1" is no day of week; the field takes numbers from 0 to 7, ranges, lists and steps, and names such as mon`,
		"0 25 * * *":     `the hour 25 is not from 0 to 23`,
		"0 0 1 13 *":     `the month 13 is not from 1 to 12`,
		"0 0 0 * *":      `the day of month 0 is not from 1 to 31`,
		"*/0 * * * *":    `the minute "*/0" has the step "0"`,
		"*/x * * * *":    `the minute "*/x" has the step "x"`,
		"1,,2 * * * *":   `"" is no minute`,
		"1- * * * *":     `"" is no minute`,
		"0 9 * * montag": `"montag" is no day of week`,
		"0 9 15W * *":    `"15W" is no day of month`,
		"0 9 * * mon-8":  `the day of week 8 is not from 0 to 7`,
		"-5 9 * * *":     `"" is no minute`,
	} {
		if _, err := Parse(expression, "UTC"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), expression) {
			t.Errorf("%s: %v, want %s", expression, err, want)
		}
	}
	for _, expression := range []string{"0 9 * * MON-Fri", "*/5 0-12/2 1,15 jan,JUL 0,7", "5/15 * * * *", "0 0 * dec sun"} {
		if _, err := Parse(expression, "UTC"); err != nil {
			t.Error(err)
		}
	}
}
