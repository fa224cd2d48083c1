package cron

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/cron/internal/calendar"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// inTime is how late a fire may be made that was not missed.
	inTime = time.Minute
	// daily is from which interval on a missed fire may be made a day late. (A day on which the
	// clock is put forward has 23 hours.)
	daily = 23 * time.Hour
	// mostRows is how many times that were missed one after the other have a row each. More have
	// one together.
	mostRows = 50
	// clockWrong is how far in the future no time can have been decided.
	clockWrong = 24 * time.Hour
	// lookBack is how far back missed times are counted.
	lookBack = 366 * 24 * time.Hour
)

// note is what is kept with a job (CronStatus.Mark).
type note struct {
	Decided time.Time `json:"decided"`       // the times up to this one are decided
	Of      string    `json:"of"`            // the timing that they were of
	Off     bool      `json:"off,omitempty"` // the job was off
	Bad     string    `json:"bad,omitempty"` // why the schedule cannot be read, or the job is not confirmed
	// File is what the file looked like that the job's trigger names; see fingerprint.
	File string `json:"file,omitempty"`
	// Unread is why that file cannot be read.
	Unread string `json:"unread,omitempty"`
	// Streak is how many fires of the job's trigger have followed each other as soon as they might; see eventRest.
	Streak int `json:"streak,omitempty"`
	// Confirmed is of what an operator has set or confirmed; see powers.
	Confirmed string `json:"confirmed,omitempty"`
	// Since is when it was turned on, or its timing was changed; zero: it is as it was made.
	Since time.Time `json:"since,omitzero"`
	// Paused is of what the job was when it was turned off after failures; see specSum.
	Paused string `json:"paused,omitempty"`
	// Good are the last good limits, and Wrong what is wrong with those that the row has; see keepLimits.
	Good  string `json:"good,omitempty"`
	Wrong string `json:"wrong,omitempty"`
	// Asked are the fires that a person has asked for; see asking.
	Asked string `json:"asked,omitempty"`
	// Reports are the values that the job's report_to had, as checksums; see keepReports.
	Reports string `json:"reports,omitempty"`
	// Refused is how many times in a row were not made since the job is not confirmed. Together is the first of those that
	// have one row together; of these Refused is the count, then.
	Refused  int       `json:"refused,omitempty"`
	Together time.Time `json:"together,omitzero"`
}

func noteOf(job pluginsdk.CronJob) (n note) {
	_ = json.Unmarshal([]byte(job.Status.Mark), &n) // of a job that is new it is empty
	return n
}

func (n note) mark() string {
	encoded, _ := json.Marshal(n) //nolint:errchkjson // strings, a flag and a time
	return string(encoded)
}

// timing is a checksum of what in a specification says when the job is due.
func timing(spec pluginsdk.CronSpec) string {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	words := []string{spec.Schedule, at(spec.FireAt), spec.Timezone, spec.Except, spec.Hours, at(spec.Until), spec.Jitter.String()}
	if spec.Trigger != "" {
		words = append(words, spec.Trigger)
	}
	sum := sha256.Sum256([]byte(strings.Join(words, "|")))
	return hex.EncodeToString(sum[:8])
}

// times says when a job is due.
type times interface {
	// Next is the first time after another; zero: there is none.
	Next(after time.Time) time.Time
}

// once is due at one time.
type once time.Time

func (o once) Next(after time.Time) time.Time {
	if at := time.Time(o); at.After(after) {
		return at
	}
	return time.Time{}
}

func timesOf(spec pluginsdk.CronSpec) (times, error) {
	if wrong := cmp.Or(wrongCause(spec), wrongLimits(spec)); wrong != "" {
		return never{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s", wrong)
	}
	if !spec.FireAt.IsZero() {
		return once(spec.FireAt.Truncate(time.Microsecond)), nil // as a row keeps it
	}
	if spec.Trigger != "" {
		_, err := triggerOf(spec.Trigger)
		return never{}, err
	}
	return calendar.New(spec.Schedule, spec.Timezone, calendar.Limits{Except: spec.Except, Hours: spec.Hours, Until: spec.Until})
}

// lateness is how late a fire of the job may be made; negative: it is never too late.
func lateness(spec pluginsdk.CronSpec, when times, due time.Time) time.Duration {
	if spec.Lateness > 0 {
		return spec.Lateness
	}
	if !spec.FireAt.IsZero() {
		return -1
	}
	next := when.Next(due)
	if next.IsZero() || next.Sub(due) >= daily {
		return 24 * time.Hour
	}
	return next.Sub(due) / 2
}

// shift is by how much each fire of the job is later than it is due.
func shift(job pluginsdk.CronJob) time.Duration {
	if job.Spec.Jitter <= 0 {
		return 0
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(job.ID))
	return time.Duration(sum.Sum64() % uint64(job.Spec.Jitter)) //nolint:gosec // positive
}

// decision is what is to be done about a job.
type decision struct {
	note    note
	next    time.Time            // when it is due next; zero: never
	again   time.Time            // when a time comes that is not made, and has a row; zero: never
	fires   []pluginsdk.CronFire // rows: those that are not made, and last the one that is, which is pending
	changed bool                 // there is something to report
	afresh  bool                 // it was turned on, or changed while it was off, or somebody has turned it off: failures from before do not count
}

// fire is the one that is to be made; nil: none is.
func (d *decision) fire() *pluginsdk.CronFire {
	if n := len(d.fires); n > 0 && d.fires[n-1].State == pluginsdk.FirePending {
		return &d.fires[n-1]
	}
	return nil
}

// decide says what becomes of the times at which a job was due up to now. open are its fires of
// which something is yet to become, and pauseAfter is the setting. It depends on nothing else, and changes nothing.
func decide(job pluginsdk.CronJob, open []pluginsdk.CronFire, now time.Time, pauseAfter int) (d decision) {
	before := noteOf(job)
	d.note, d.next = before, job.Status.NextRun
	defer func() {
		d.changed = len(d.fires) > 0 || d.afresh || d.note != before || !d.next.Equal(job.Status.NextRun)
	}()
	if !job.Enabled {
		d.off(job, open, now, pauseAfter)
		return d
	}
	of := timing(job.Spec)
	sure := confirmed(job)
	if before.Of == of && !before.Off && sure && now.Before(d.next) && !before.Decided.After(now.Add(clockWrong)) {
		return d // most of the time: nothing is due, and nothing has changed
	}
	d.next = time.Time{}
	switch {
	case before.Of == "" && before.Decided.IsZero() && !before.Off: // it is new
		d.note.Decided = since(job, now)
	case before.Decided.After(now.Add(clockWrong)): // by a clock that was wrong; what was made then has its key
		d.note.Decided = now
	case before.Off || before.Of != of: // what was due while it was off, or before it was changed, is not made up for
		d.note.Decided, d.note.Since, d.afresh = now, now, before.Off
	}
	d.note.Of, d.note.Off, d.note.Bad, d.note.Unread, d.note.Paused = of, false, "", before.Unread, ""
	if before.Of != of || before.Bad != "" {
		d.note.Unread = ""
	}
	when, err := timesOf(job.Spec)
	if err != nil {
		d.unreadable(before, err.Error(), now)
		return d
	}
	why := refused(job, before, of)
	if why == "" || before.Of != of || before.Off {
		d.note.Refused, d.note.Together = 0, time.Time{}
	}
	if !sure {
		if d.note.Bad = why; job.Spec.Trigger != "" && before.Bad != why { // it has no times: that it became so has a row
			d.fires = append(d.fires, refusal(now.Truncate(time.Microsecond), why, now))
		}
	}
	if fire := job.Spec.FireAt; !fire.IsZero() && !fire.After(d.note.Decided) && (before.Of != of || fire.After(before.Decided)) {
		d.fires = []pluginsdk.CronFire{{
			Due: fire, Cause: pluginsdk.FireScheduled, State: pluginsdk.FireMissed, Reason: "this time had passed when it was set, or turned on",
			DecidedAt: now, EndedAt: now,
		}}
		return d
	}
	offset := shift(job)
	from := d.note.Decided
	if early := now.Add(-lookBack); from.Before(early) && job.Spec.FireAt.IsZero() {
		from = early
	}
	passed := passedUpTo(when, from, offset, now)
	if !passed.next.IsZero() {
		d.next = passed.next.Add(offset)
	}
	if why != "" {
		d.refuse(passed, why, now)
		if sure { // what comes from now on is made
			d.note.Refused, d.note.Together = 0, time.Time{}
		} else {
			d.next, d.again = time.Time{}, d.next
		}
		return d
	}
	if passed.count == 0 {
		return d
	}
	due := passed.due
	last := due[len(due)-1]
	d.note.Decided = last
	latest, caughtUp := d.latest(job, open, when, last, offset, now)
	d.fires = missed(due[:len(due)-1], passed.count-1, passed.first, now, caughtUp)
	d.fires = append(d.fires, latest)
	return d
}

// passing are the times at which a job was due, up to now.
type passing struct {
	first time.Time
	due   []time.Time // the last ones, in order, mostRows and one at most
	count int         // of all
	next  time.Time   // the first one that is to come; zero: none is
}

// passedUpTo finds the times after from, each of which comes later by offset.
func passedUpTo(when times, from time.Time, offset time.Duration, now time.Time) (p passing) {
	at := when.Next(from)
	for ; !at.IsZero() && !at.Add(offset).After(now); at = when.Next(at) {
		if p.count++; p.count == 1 {
			p.first = at
		}
		if p.due = append(p.due, at); len(p.due) > mostRows+1 {
			p.due = p.due[1:]
		}
	}
	p.next = at
	return p
}

// catchUp has the fire that is to be made say that it is late, when the plugin began only after its time. Such fires are made
// apart from each other.
func (d *decision) catchUp(job pluginsdk.CronJob, began, now time.Time) {
	fire := d.fire()
	if fire == nil || fire.Cause != pluginsdk.FireScheduled || fire.Reason != "" {
		return
	}
	if at := fire.Due.Add(shift(job)); at.Before(began) {
		fire.Reason = fmt.Sprintf("nobody was there at its time: it is made %s late", short(max(now.Sub(at), time.Second)))
	}
}

// since is from when on times of a job count that nobody has decided about yet. One that was made
// long ago was not given to this plugin then: others may have fired it, or nobody.
func since(job pluginsdk.CronJob, now time.Time) time.Time {
	from, long := job.CreatedAt, now.Add(-2*time.Hour)
	if !job.Spec.FireAt.IsZero() {
		long = now.Add(-24 * time.Hour)
	}
	for _, other := range []time.Time{job.Status.LastRun, long} {
		if other.After(from) {
			from = other
		}
	}
	if from.After(now) {
		return now
	}
	return from
}

// latest is what becomes of the last time at which a job was due, and whether that makes up for those
// before it.
func (d *decision) latest(job pluginsdk.CronJob, open []pluginsdk.CronFire, when times, due time.Time, offset time.Duration, now time.Time) (pluginsdk.CronFire, bool) {
	fire := pluginsdk.CronFire{JobID: job.ID, Job: job.Spec.Name, Due: due, Cause: pluginsdk.FireScheduled, DecidedAt: now}
	not := func(state pluginsdk.CronFireState, reason string, args ...any) (pluginsdk.CronFire, bool) {
		fire.State, fire.Reason, fire.EndedAt = state, fmt.Sprintf(reason, args...), now
		return fire, false
	}
	late := now.Sub(due.Add(offset))
	if late > inTime {
		if job.Spec.Missed == pluginsdk.MissedSkip {
			return not(pluginsdk.FireMissed, "nobody was there to make it, and missed is skip")
		}
		if most := lateness(job.Spec, when, due); most >= 0 && late > most {
			return not(pluginsdk.FireMissed, "it could only be made %s late, and may be %s", short(late), short(most))
		}
		fire.Reason = fmt.Sprintf("it is made %s late", short(late))
	}
	if n := job.Status.Failures; n > 0 {
		if again := job.Status.LastRun.Add(backoff(n)); due.Before(again) {
			return not(pluginsdk.FireSkipped, "it has failed %s: it is tried again from %s on", inARow(n), moment(again, job.Spec))
		}
	}
	if len(open) > 0 {
		switch job.Spec.Overlap {
		case pluginsdk.OverlapQueue:
			if len(open) > 1 {
				return not(pluginsdk.FireSkipped, "the one of %s waits for the one before it", moment(open[len(open)-1].Due, job.Spec))
			}
		case pluginsdk.OverlapCancel:
		case pluginsdk.OverlapSkip, "":
			return not(pluginsdk.FireSkipped, "the one of %s is not over yet", moment(open[len(open)-1].Due, job.Spec))
		}
	}
	fire.State = pluginsdk.FirePending
	return fire, true
}

// backoff is how long a job that has failed so often in a row rests.
func backoff(failures int) time.Duration {
	return min(time.Minute<<min(failures, 10), time.Hour)
}

// inARow says how often something has happened.
func inARow(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", n)
}

// missed are the rows of times that passed before the latest one: count in all, of which due are the last,
// in order.
func missed(due []time.Time, count int, first, now time.Time, caughtUp bool) (rows []pluginsdk.CronFire) {
	row := func(at time.Time) pluginsdk.CronFire {
		reason := "nobody was there to make it"
		if caughtUp {
			reason += "; a later one makes up for it"
		}
		return pluginsdk.CronFire{Due: at, Cause: pluginsdk.FireScheduled, State: pluginsdk.FireMissed, Reason: reason, DecidedAt: now, EndedAt: now}
	}
	if count > len(due) || count > mostRows {
		one := row(first)
		one.Until, one.Count = due[len(due)-1], count
		return []pluginsdk.CronFire{one}
	}
	for _, at := range due {
		rows = append(rows, row(at))
	}
	return rows
}

// short is a duration as people say it: without seconds when it has hours, without fractions.
func short(d time.Duration) string {
	if d >= time.Hour {
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}
