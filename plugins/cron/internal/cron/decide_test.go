package cron

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// noon is a Saturday.
var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// told is a decision in words: each row, then when it is due next.
func told(d decision) string {
	var all []string
	for _, fire := range d.fires {
		text := fire.Due.Format("02T15:04 ") + string(fire.State)
		if fire.Count > 0 {
			text += fmt.Sprintf(" to %s, %d", fire.Until.Format("02T15:04"), fire.Count)
		}
		if fire.Reason != "" {
			text += " (" + fire.Reason + ")"
		}
		all = append(all, text)
	}
	if d.note.Bad != "" {
		all = append(all, "bad: "+d.note.Bad)
	}
	if !d.next.IsZero() {
		all = append(all, "next "+d.next.Format("02T15:04"))
	}
	return strings.Join(all, "; ")
}

func TestDecide(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	hourly := pluginsdk.CronSpec{Name: "job", Schedule: "0 * * * *", Timezone: "UTC", Missed: pluginsdk.MissedRun}
	with := func(spec pluginsdk.CronSpec, change func(*pluginsdk.CronSpec)) pluginsdk.CronSpec {
		change(&spec)
		return spec
	}
	daily := with(hourly, func(s *pluginsdk.CronSpec) { s.Schedule = "0 7 * * *" })
	once := pluginsdk.CronSpec{Name: "job", FireAt: ago(time.Hour), Timezone: "UTC", Missed: pluginsdk.MissedRun}
	running := []pluginsdk.CronFire{{Due: ago(time.Hour), State: pluginsdk.FireRunning}}
	for name, row := range map[string]struct {
		spec    pluginsdk.CronSpec
		decided time.Time // zero: it is new, and was made an hour and a half ago
		off     bool      // it was off until now
		was     string    // the schedule that it had; empty: this one
		isOff   bool
		open    []pluginsdk.CronFire
		now     time.Time
		want    string
	}{
		"in time":                      {spec: hourly, decided: ago(time.Hour), now: noon.Add(2 * time.Second), want: "28T12:00 pending; next 28T13:00"},
		"not due":                      {spec: hourly, decided: ago(0), now: noon.Add(time.Minute), want: "next 28T13:00"},
		"new":                          {spec: hourly, now: noon.Add(time.Second), want: "28T11:00 missed (nobody was there to make it; a later one makes up for it); 28T12:00 pending; next 28T13:00"},
		"missed, made late":            {spec: hourly, decided: ago(time.Hour), now: noon.Add(20 * time.Minute), want: "28T12:00 pending (it is made 20m0s late); next 28T13:00"},
		"missed, too late":             {spec: hourly, decided: ago(time.Hour), now: noon.Add(31 * time.Minute), want: "28T12:00 missed (it could only be made 31m0s late, and may be 30m0s); next 28T13:00"},
		"missed, later than it says":   {spec: with(hourly, func(s *pluginsdk.CronSpec) { s.Lateness = 5 * time.Minute }), decided: ago(time.Hour), now: noon.Add(6 * time.Minute), want: "28T12:00 missed (it could only be made 6m0s late, and may be 5m0s); next 28T13:00"},
		"missed, skip":                 {spec: with(hourly, func(s *pluginsdk.CronSpec) { s.Missed = pluginsdk.MissedSkip }), decided: ago(time.Hour), now: noon.Add(2 * time.Minute), want: "28T12:00 missed (nobody was there to make it, and missed is skip); next 28T13:00"},
		"daily, a day late":            {spec: daily, decided: ago(29 * time.Hour), now: ago(0), want: "28T07:00 pending (it is made 5h0m late); next 29T07:00"},
		"away for long":                {spec: hourly, decided: ago(100 * time.Hour), now: noon.Add(time.Second), want: "24T09:00 missed to 28T11:00, 99 (nobody was there to make it; a later one makes up for it); 28T12:00 pending; next 28T13:00"},
		"still running":                {spec: hourly, decided: ago(time.Hour), open: running, now: noon, want: "28T12:00 skipped (the one of Sat 2026-11-28 11:00 UTC is not over yet); next 28T13:00"},
		"still running, queue":         {spec: with(hourly, func(s *pluginsdk.CronSpec) { s.Overlap = pluginsdk.OverlapQueue }), decided: ago(time.Hour), open: running, now: noon, want: "28T12:00 pending; next 28T13:00"},
		"one waits already":            {spec: with(hourly, func(s *pluginsdk.CronSpec) { s.Overlap = pluginsdk.OverlapQueue }), decided: ago(time.Hour), open: append(running, running...), now: noon, want: "28T12:00 skipped (the one of Sat 2026-11-28 11:00 UTC waits for the one before it); next 28T13:00"},
		"still running, cancel":        {spec: with(hourly, func(s *pluginsdk.CronSpec) { s.Overlap = pluginsdk.OverlapCancel }), decided: ago(time.Hour), open: running, now: noon, want: "28T12:00 pending; next 28T13:00"},
		"turned off":                   {spec: hourly, decided: ago(5 * time.Hour), isOff: true, now: noon, want: ""},
		"turned on":                    {spec: hourly, decided: ago(5 * time.Hour), off: true, now: noon.Add(time.Minute), want: "next 28T13:00"},
		"another schedule":             {spec: daily, decided: ago(5*time.Hour + time.Minute), was: "0 12 * * *", now: noon, want: "next 29T07:00"},
		"a reminder":                   {spec: once, decided: ago(2 * time.Hour), now: noon, want: "28T11:00 pending (it is made 1h0m late)"},
		"a reminder, made too late":    {spec: with(once, func(s *pluginsdk.CronSpec) { s.FireAt = ago(2 * time.Hour) }), now: noon, want: "28T10:00 missed (this time had passed when it was set, or turned on)"},
		"a reminder that was":          {spec: once, decided: ago(time.Hour), now: noon, want: ""},
		"a reminder, turned on later":  {spec: once, decided: ago(3 * time.Hour), off: true, now: noon, want: "28T11:00 missed (this time had passed when it was set, or turned on)"},
		"no schedule":                  {spec: with(hourly, func(s *pluginsdk.CronSpec) { s.Schedule = "sometimes" }), decided: ago(time.Hour), now: noon, want: `28T12:00 skipped (schedule "sometimes" has 1 fields`},
		"the clock is put back":        {spec: hourly, decided: noon.Add(time.Hour), now: noon.Add(30 * time.Minute), want: "next 28T14:00"},
		"the clock was wrong by years": {spec: hourly, decided: noon.AddDate(9, 0, 5), now: noon.Add(time.Minute), want: "next 28T13:00"},
		"at the end":                   {spec: with(hourly, func(s *pluginsdk.CronSpec) { s.Until = noon }), decided: ago(time.Hour), now: noon, want: "28T12:00 pending"},
	} {
		t.Run(name, func(t *testing.T) {
			job := pluginsdk.CronJob{ID: "id", Spec: row.spec, Enabled: !row.isOff, CreatedAt: ago(90 * time.Minute)}
			if !row.decided.IsZero() {
				before := row.spec
				if row.was != "" {
					before.Schedule = row.was
				}
				job.Status.Mark = note{Decided: row.decided, Of: timing(before), Off: row.off}.mark()
			}
			d := decide(job, row.open, row.now, usualPauseAfter)
			if got := told(d); !strings.HasPrefix(got, row.want) || row.want == "" && got != "" {
				t.Fatalf("got  %s\nwant %s", got, row.want)
			}
			// Decided, there is nothing more to decide.
			job.Status.Mark, job.Status.NextRun = d.note.mark(), d.next
			if again := decide(job, row.open, row.now, usualPauseAfter); len(again.fires) > 0 || again.changed && again.note.Bad == "" {
				t.Errorf("decided again: %s", told(again))
			}
		})
	}
}

// TestJitter has each fire of a job later than it is due by the same, and less than the jitter.
func TestJitter(t *testing.T) {
	t.Parallel()
	job := pluginsdk.CronJob{ID: "some id", Enabled: true, CreatedAt: noon, Spec: pluginsdk.CronSpec{Schedule: "0 * * * *", Timezone: "UTC", Jitter: 10 * time.Minute}}
	offset := shift(job)
	if offset <= 0 || offset >= job.Spec.Jitter {
		t.Fatalf("shifted by %s", offset)
	}
	for n := range 3 {
		due := noon.Add(time.Duration(n+1) * time.Hour)
		if d := decide(job, nil, due.Add(offset-time.Second), usualPauseAfter); len(d.fires) > 0 {
			t.Errorf("made before its moment: %s", told(d))
		}
		d := decide(job, nil, due.Add(offset), usualPauseAfter)
		if fire := d.fire(); fire == nil || !fire.Due.Equal(due) || fire.Reason != "" {
			t.Errorf("at its moment: %s", told(d))
		}
		job.Status.Mark, job.Status.NextRun = d.note.mark(), d.next
	}
}
