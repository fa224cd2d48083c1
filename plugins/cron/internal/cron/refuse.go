package cron

import (
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// refused is why no time of a job is made that has come by now; empty: they are made. A job that was just confirmed was not
// until now.
func refused(job pluginsdk.CronJob, before note, of string) string {
	if !confirmed(job) {
		return clip(unconfirmedWords(job.Spec))
	}
	if before.Of == of && !before.Off {
		return before.Bad
	}
	return ""
}

// unreadable has a decision say that the schedule cannot be read. The moment at which it became so has a row.
func (d *decision) unreadable(before note, why string, now time.Time) {
	if d.note.Bad, d.note.Unread = clip(why), ""; before.Bad != "" {
		d.note.Decided = before.Decided // each look finds the same
	}
	if before.Bad != d.note.Bad {
		d.fires = append(d.fires, refusal(now.Truncate(time.Microsecond), d.note.Bad, now))
	}
}

// refuse has a decision say that the times that have passed were not made, and why. mostRows of those that follow each other
// have a row each. Those after them, and more that passed at once, have one together, which grows.
func (d *decision) refuse(passed passing, why string, now time.Time) {
	due := passed.due
	if len(due) == 0 {
		return
	}
	last := due[len(due)-1]
	d.note.Decided = last
	if passed.count > mostRows {
		d.refuseTogether(passed.first, last, passed.count, why, now)
		return
	}
	for len(due) > 0 && d.note.Refused < mostRows && d.note.Together.IsZero() {
		d.fires = append(d.fires, refusal(due[0], why, now))
		d.note.Refused++
		due = due[1:]
	}
	if len(due) > 0 {
		d.refuseTogether(due[0], last, len(due), why, now)
	}
}

func (d *decision) refuseTogether(first, last time.Time, count int, why string, now time.Time) {
	if d.note.Together.IsZero() {
		d.note.Together, d.note.Refused = first, 0
	}
	d.note.Refused += count
	one := refusal(d.note.Together, why, now)
	one.Until, one.Count = last, d.note.Refused
	d.fires = append(d.fires, one)
}

// refusal is the row of a time that was not made.
func refusal(due time.Time, why string, now time.Time) pluginsdk.CronFire {
	return pluginsdk.CronFire{Due: due, Cause: pluginsdk.FireScheduled, State: pluginsdk.FireSkipped, Reason: why, DecidedAt: now, EndedAt: now}
}
