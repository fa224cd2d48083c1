package cron

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/cron/internal/calendar"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// mostNext is how many times can be asked for, and shownNext how many are shown.
	mostNext, shownNext = 100, 5
	// mostHistory is how many fires can be asked for, and shownHistory how many are shown.
	mostHistory, shownHistory = 200, 10
)

// named finds the job that somebody means: its name, also in quotes as lists of names have it, or the beginning of one
// alone, in whatever case.
func (p *Plugin) named(ctx context.Context, words string) (job pluginsdk.CronJob, err error) {
	jobs, err := p.jobs(ctx)
	if err != nil {
		return job, err
	}
	if job := find(jobs, words); job != nil {
		return *job, nil
	}
	words = strings.TrimSpace(words)
	if quoted, err := strconv.Unquote(words); err == nil { // a name that was written by SQL may have what nobody can type
		if job := find(jobs, quoted); job != nil {
			return *job, nil
		}
		return job, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no schedule has the name %s; there are %s", words, names(jobs)) // the beginning of a name is not quoted
	}
	if words == "" {
		return job, pluginsdk.Errorf(pluginsdk.CodeInvalid, "which schedule is meant? There are %s", names(jobs))
	}
	var like []pluginsdk.CronJob
	for _, one := range jobs {
		switch {
		case one.Spec.Name == words:
			return one, nil
		case strings.HasPrefix(strings.ToLower(one.Spec.Name), strings.ToLower(words)):
			like = append(like, one)
		}
	}
	switch len(like) {
	case 1:
		return like[0], nil
	case 0:
		return job, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no schedule has the name %q; there are %s", words, names(jobs))
	}
	return job, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q may be %s", words, names(like))
}

// exactly is named, for what cannot be undone: the whole name is needed.
func (p *Plugin) exactly(ctx context.Context, words string) (pluginsdk.CronJob, error) {
	job, err := p.named(ctx, words)
	if trimmed := strings.TrimSpace(words); err == nil && job.Spec.Name != words && job.Spec.Name != trimmed && strconv.Quote(job.Spec.Name) != trimmed {
		err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "say the whole name: %q", job.Spec.Name)
	}
	return job, err
}

// names lists jobs.
func names(jobs []pluginsdk.CronJob) string {
	if len(jobs) == 0 {
		return "none"
	}
	quoted := make([]string, len(jobs))
	for i, job := range jobs {
		quoted[i] = strconv.Quote(job.Spec.Name)
	}
	return strings.Join(quoted, ", ")
}

const commandWords = "a schedule gives the agent a prompt, and no command: it does not begin with /NAME"

func isCommand(prompt string) bool {
	_, _, is := pluginsdk.ParseCommand(prompt)
	return is
}

// wellNamed says what is wrong with the name or the prompt of a specification.
func wellNamed(spec pluginsdk.CronSpec) error {
	if err := spec.CheckName(); err != nil {
		return err
	}
	if isCommand(spec.Prompt) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "prompt: %s", commandWords)
	}
	if strings.TrimSpace(spec.Prompt) == "" {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "a schedule needs a prompt: what the agent is told when it is due")
	}
	return nil
}

// check says what is wrong with a specification, in words for who has written it.
func check(spec pluginsdk.CronSpec, now time.Time) error {
	if err := wellNamed(spec); err != nil {
		return err
	}
	if spec.Trigger != "" {
		if !spec.OneCause() {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "a schedule fires by the clock, or on a trigger: both are given")
		}
		if spec.Except != "" || spec.Hours != "" || !spec.Until.IsZero() || spec.Jitter != 0 || spec.Lateness != 0 {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "trigger: except, hours, until, jitter and lateness are for schedules by the clock; take them away first, as in hours =")
		}
		_, err := triggerOf(spec.Trigger)
		return err
	}
	if !spec.FireAt.IsZero() {
		if spec.Schedule != "" {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "a schedule is due again and again, or once: both are given")
		}
		if !spec.FireAt.After(now) {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s has passed already: it is %s", spec.FireAt.Format(time.RFC3339), now.In(spec.FireAt.Location()).Format(time.RFC3339))
		}
		return nil
	}
	when, err := timesOf(spec)
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%w", err)
	}
	if when.Next(now).IsZero() {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "it would never be due: its exceptions, hours or end leave no time")
	}
	if least := shortest(when, now); spec.Jitter > 0 && least > 0 && spec.Jitter >= least {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "jitter: %s is not less than the %s from one of its times to the next", durationWords(spec.Jitter), short(least))
	}
	return nil
}

// shortest is the shortest time from one of the next times at which a job is due to the one after; 0: there is none.
func shortest(when times, now time.Time) (least time.Duration) {
	const looked = 100
	at := when.Next(now)
	for range looked {
		next := when.Next(at)
		if next.IsZero() {
			break
		}
		if gap := next.Sub(at); least == 0 || gap < least {
			least = gap
		}
		at = next
	}
	return least
}

// save makes or changes a job, and says when it is due next.
func (p *Plugin) save(ctx context.Context, spec pluginsdk.CronSpec, enabled bool) (pluginsdk.CronJob, error) {
	if err := check(spec, p.now()); err != nil {
		return pluginsdk.CronJob{}, err
	}
	answer, err := p.host.Crons.Save(ctx, &pluginsdk.SaveCronRequest{Spec: spec, Enabled: enabled})
	if err != nil {
		return pluginsdk.CronJob{}, err
	}
	p.soon()
	return answer.Job, nil
}

// toggle turns a job on or off.
func (p *Plugin) toggle(ctx context.Context, name string, on bool) (pluginsdk.CronJob, error) {
	answer, err := p.host.Crons.SetEnabled(ctx, &pluginsdk.SetCronEnabledRequest{Name: name, Enabled: on})
	if err != nil {
		return pluginsdk.CronJob{}, err
	}
	p.soon()
	return answer.Job, nil
}

// ask has a job fire for each of some times, also one that is off. The fires are made at once, beside the
// call: what they submit is not caused by the run in which somebody has asked.
func (p *Plugin) ask(ctx context.Context, job pluginsdk.CronJob, cause pluginsdk.FireCause, times ...time.Time) error {
	return p.askFrom(ctx, "", job, cause, times...)
}

// askFrom is ask, for a person in a thread, who is told there that a fire has failed.
func (p *Plugin) askFrom(ctx context.Context, thread string, job pluginsdk.CronJob, cause pluginsdk.FireCause, times ...time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.load(ctx); err != nil {
		return err
	}
	jobs, err := p.jobs(ctx) // what became of it meanwhile is said of it now
	if err != nil {
		return err
	}
	i := slices.IndexFunc(jobs, func(one pluginsdk.CronJob) bool { return one.ID == job.ID })
	if i < 0 {
		return pluginsdk.Errorf(pluginsdk.CodeNotFound, "the schedule %q is not there any more", job.Spec.Name)
	}
	job = jobs[i]
	var fires []pluginsdk.CronFire
	now := p.now()
	for _, due := range times {
		fires = append(fires, pluginsdk.CronFire{
			JobID: job.ID, Job: job.Spec.Name, Due: due.Truncate(time.Microsecond), Cause: cause, State: pluginsdk.FirePending, DecidedAt: now,
		})
	}
	n := noteOf(job)
	n.askedIn(thread, now)
	job.Status.Mark = n.mark()
	if err := p.report(ctx, job, fires...); err != nil {
		return err
	}
	p.open[job.ID] = append(p.open[job.ID], fires...)
	p.soon()
	return nil
}

// mostBackfill is how many times can be made up for at once.
const mostBackfill = 50

// backfill makes up for the times at which a job was due: NAME | FROM | TO. It does so whatever became of them.
func (p *Plugin) backfill(ctx context.Context, thread, rest string) (string, error) {
	parts := strings.Split(rest, "|")
	if len(parts) != 3 {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "say it so: /cron backfill NAME | FROM | TO, as in /cron backfill Stand-up | 2026-11-02 00:00 | 2026-11-06 23:59")
	}
	job, err := p.exactly(ctx, parts[0])
	if err != nil {
		return "", err
	}
	from, err := parseTime(strings.TrimSpace(parts[1]), job.Spec.Timezone)
	if err != nil {
		return "", err
	}
	to, err := parseTime(strings.TrimSpace(parts[2]), job.Spec.Timezone)
	if err != nil {
		return "", err
	}
	if now := p.now(); to.After(now) {
		to = now
	}
	when, err := timesOf(job.Spec)
	if err != nil {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "%w", err)
	}
	// Each has a row of its own, also when the same is made up for again.
	own := time.Microsecond + time.Duration(p.now().UnixMicro()%900_000)*time.Microsecond
	var times []time.Time
	for at := when.Next(from.Add(-time.Second)); !at.IsZero() && !at.After(to); at = when.Next(at) {
		if times = append(times, at.Add(own)); len(times) > mostBackfill {
			return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "it was due more than %d times from %s to %s, and so many are made up for at once; say a shorter span", mostBackfill, moment(from, job.Spec), moment(to, job.Spec))
		}
	}
	if len(times) == 0 {
		return job.Spec.Name + " was not due from " + moment(from, job.Spec) + " to " + moment(to, job.Spec) + ".", nil
	}
	if err := p.askFrom(ctx, thread, job, pluginsdk.FireBackfill, times...); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s fires for %d times, one after the other. What becomes of them: /cron history %s", job.Spec.Name, len(times), job.Spec.Name), nil
}

// next lists times at which a job fires, in its zone: those at which it is due, and later by its jitter. One that is not made
// yet has none.
func (p *Plugin) next(job pluginsdk.CronJob, n int) (all []time.Time, err error) {
	spec, offset := job.Spec, time.Duration(0)
	if job.ID != "" {
		offset = shift(job)
	}
	when, err := timesOf(spec)
	if err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%w", err)
	}
	zone := zoneOf(spec)
	for at := when.Next(p.now().Add(-offset)); !at.IsZero() && len(all) < n; at = when.Next(at) {
		all = append(all, at.Add(offset).In(zone))
	}
	return all, nil
}

func zoneOf(spec pluginsdk.CronSpec) *time.Location {
	if zone, err := time.LoadLocation(spec.Timezone); err == nil {
		return zone
	}
	return time.UTC
}

// moment is a time as people read it, in the zone of a job.
func moment(at time.Time, spec pluginsdk.CronSpec) string {
	if at.IsZero() {
		return "never"
	}
	return at.In(zoneOf(spec)).Format("Mon 2006-01-02 15:04 MST")
}

// line is a job in one line.
func line(job pluginsdk.CronJob) string {
	spec := job.Spec
	when := spec.Schedule
	switch {
	case spec.Trigger != "":
		when = "on " + spec.Trigger
	case !spec.FireAt.IsZero():
		when = "once"
	}
	state := "off"
	switch n := noteOf(job); {
	case job.Enabled && !confirmed(job):
		state = "needs confirmation, and does not fire: /cron confirm " + spec.Name
	case n.Bad != "" && job.Enabled:
		state = "wrong: " + n.Bad
	case job.Enabled && job.Status.NextRun.IsZero() && !spec.FireAt.IsZero():
		state = "over"
	case job.Enabled && spec.Trigger != "":
		if state = "on"; n.Unread != "" {
			state += ", but its file cannot be read: " + n.Unread
		}
	case job.Enabled:
		state = "next " + moment(job.Status.NextRun, spec)
	}
	if why := keepWrong(spec); why != "" {
		state += "; " + why
	}
	text := fmt.Sprintf("- **%s** (%s, %s): %s", spec.Name, when, spec.Timezone, state)
	if wrong := noteOf(job).Wrong; wrong != "" {
		text += "; wrong: " + wrong + wrongWords
	}
	if job.Status.LastResult != "" && noteOf(job).Bad == "" {
		text += "; last " + job.Status.LastResult
	}
	return text
}

// leastKeep is how long the history of a schedule is kept at least; the host takes no less, but a row that was written by SQL
// may say less.
const leastKeep = time.Hour

// keepWrong says that a row's keep is too short, and what is done instead; empty: it is not.
func keepWrong(spec pluginsdk.CronSpec) string {
	if spec.Keep == 0 || spec.Keep >= leastKeep {
		return ""
	}
	return fmt.Sprintf("keep = %s is less than an hour: the history is kept for an hour", spec.Keep)
}

// historyLine is a fire in one line.
func historyLine(fire pluginsdk.CronFire, spec pluginsdk.CronSpec) string {
	text := "- " + moment(fire.Due, spec)
	if fire.Count > 1 {
		text += fmt.Sprintf(" to %s, %d times", moment(fire.Until, spec), fire.Count)
	}
	text += ": " + string(fire.State)
	if fire.Cause != pluginsdk.FireScheduled {
		text += ", " + string(fire.Cause)
	}
	if fire.Reason != "" {
		text += " (" + fire.Reason + ")"
	}
	if fire.CostUSD > 0 {
		text += fmt.Sprintf(", $%.4f", fire.CostUSD)
	}
	if fire.RunID != "" {
		text += ", run " + fire.RunID
	}
	return text
}

// history are a job's last fires, at most so many, newest first.
func (p *Plugin) history(ctx context.Context, job pluginsdk.CronJob, n int) ([]pluginsdk.CronFire, error) {
	return p.fires(ctx, job, false, n)
}

// fires are history, with open of those of which something is yet to become.
func (p *Plugin) fires(ctx context.Context, job pluginsdk.CronJob, open bool, n int) (fires []pluginsdk.CronFire, err error) {
	for before := (time.Time{}); n > 0; {
		page, err := p.host.Crons.Fires(ctx, &pluginsdk.CronFiresRequest{Name: job.Spec.Name, Open: open, Before: before, Limit: min(n, pageSize)})
		if err != nil {
			return nil, err
		}
		for _, fire := range page.Fires {
			if before = fire.Due; fire.JobID == job.ID { // else of one that had its name
				fires = append(fires, fire)
			}
		}
		if n -= len(page.Fires); !page.More || len(page.Fires) == 0 {
			break
		}
	}
	return fires, nil
}

// lastSuccess is the newest of a job's last fires that has succeeded; zero: none has.
func (p *Plugin) lastSuccess(ctx context.Context, job pluginsdk.CronJob) (pluginsdk.CronFire, error) {
	fires, err := p.history(ctx, job, mostHistory)
	if i := slices.IndexFunc(fires, func(fire pluginsdk.CronFire) bool { return fire.State == pluginsdk.FireSucceeded }); i >= 0 {
		return fires[i], err
	}
	return pluginsdk.CronFire{}, err
}

// parseTime reads when something is due once: with an offset, or by the wall clock of a zone.
func parseTime(text, zone string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "" || zone == "Local" {
		return time.Time{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "timezone %q is not a name of the IANA database, such as America/Phoenix", zone)
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if at, err := time.ParseInLocation(layout, text, location); err == nil {
			return at, nil
		}
	}
	return time.Time{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q is no time, such as 2026-12-24 17:00 or 2026-12-24T17:00:00+01:00", text)
}

// isSchedule reports whether a text is an expression.
func isSchedule(text string) bool {
	_, err := calendar.Parse(text, "UTC")
	return err == nil
}
