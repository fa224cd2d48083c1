package cron

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/schedules"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// field is a part of a specification that people read and write by name.
type field struct {
	name  string
	power func(value string) bool // whether only an operator sets that value; see powers. nil: anybody does
	get   func(pluginsdk.CronSpec) string
	set   func(spec *pluginsdk.CronSpec, value string) error
}

// fields are all that people change of a job but its name and its prompt.
var fields = []field{
	{
		name: "schedule", get: func(s pluginsdk.CronSpec) string { return s.Schedule },
		set: func(s *pluginsdk.CronSpec, value string) error {
			s.Schedule, s.FireAt, s.Trigger = value, time.Time{}, ""
			return nil
		},
	},
	{
		name: "at",
		get: func(s pluginsdk.CronSpec) string {
			if s.FireAt.IsZero() {
				return ""
			}
			return s.FireAt.In(zoneOf(s)).Format(time.RFC3339)
		},
		set: func(s *pluginsdk.CronSpec, value string) (err error) {
			s.Schedule, s.Trigger = "", ""
			s.FireAt, err = parseTime(value, s.Timezone)
			return err
		},
	},
	{
		name: "trigger", power: func(value string) bool { return strings.HasPrefix(value, filePrefix) }, get: func(s pluginsdk.CronSpec) string { return s.Trigger },
		set: func(s *pluginsdk.CronSpec, value string) error {
			s.Schedule, s.FireAt, s.Trigger = "", time.Time{}, value
			return nil
		},
	},
	text("timezone", func(s *pluginsdk.CronSpec) *string { return &s.Timezone }),
	named("missed", func(s *pluginsdk.CronSpec) *pluginsdk.MissedPolicy { return &s.Missed }),
	lasting("lateness", func(s *pluginsdk.CronSpec) *time.Duration { return &s.Lateness }),
	named("overlap", func(s *pluginsdk.CronSpec) *pluginsdk.OverlapPolicy { return &s.Overlap }),
	lasting("jitter", func(s *pluginsdk.CronSpec) *time.Duration { return &s.Jitter }),
	{
		name: "until",
		get: func(s pluginsdk.CronSpec) string {
			if s.Until.IsZero() {
				return ""
			}
			return s.Until.In(zoneOf(s)).Format(time.RFC3339)
		},
		set: func(s *pluginsdk.CronSpec, value string) (err error) {
			if s.Until = (time.Time{}); value != "" {
				s.Until, err = parseTime(value, s.Timezone)
			}
			return err
		},
	},
	text("except", func(s *pluginsdk.CronSpec) *string { return &s.Except }),
	text("hours", func(s *pluginsdk.CronSpec) *string { return &s.Hours }),
	named("report", func(s *pluginsdk.CronSpec) *pluginsdk.CronReport { return &s.Report }),
	{
		name: "report_to", get: func(s pluginsdk.CronSpec) string { return s.ReportTo.String() },
		set: func(s *pluginsdk.CronSpec, value string) (err error) {
			s.ReportTo, err = pluginsdk.ParseTarget(value)
			return err
		},
	},
	text("thread_id", func(s *pluginsdk.CronSpec) *string { return &s.ThreadID }),
	named("session", func(s *pluginsdk.CronSpec) *pluginsdk.TurnSession { return &s.Session }),
	{
		name: "cost_cap",
		get: func(s pluginsdk.CronSpec) string {
			if s.CostCapUSD == 0 {
				return ""
			}
			return fmt.Sprintf("%.2f", s.CostCapUSD)
		},
		set: func(s *pluginsdk.CronSpec, value string) error {
			usd, err := strconv.ParseFloat(strings.TrimPrefix(value, "$"), 64)
			if err != nil || usd < 0 {
				return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q is no amount in dollars, such as 0.50; 0 is none", value)
			}
			s.CostCapUSD = usd
			return nil
		},
	},
	lasting("timeout", func(s *pluginsdk.CronSpec) *time.Duration { return &s.Timeout }),
	{
		name: "if_room",
		get: func(s pluginsdk.CronSpec) string {
			if s.IfRoom {
				return "yes"
			}
			return ""
		},
		set: func(s *pluginsdk.CronSpec, value string) error {
			switch strings.ToLower(value) {
			case "yes", "true", "on":
				s.IfRoom = true
			case "no", "false", "off", "":
				s.IfRoom = false
			default:
				return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q is neither yes nor no", value)
			}
			return nil
		},
	},
	lasting("keep", func(s *pluginsdk.CronSpec) *time.Duration { return &s.Keep }),
	powerful(text("when", func(s *pluginsdk.CronSpec) *string { return &s.When })),
	powerful(text("model", func(s *pluginsdk.CronSpec) *string { return &s.Model })),
	powerful(text("permission_mode", func(s *pluginsdk.CronSpec) *string { return &s.PermissionMode })),
	{
		name: "tools", power: always, get: func(s pluginsdk.CronSpec) string { return strings.Join(s.Tools, "; ") },
		set: func(s *pluginsdk.CronSpec, value string) error {
			s.Tools = nil
			for rule := range strings.SplitSeq(value, ";") {
				if rule = strings.TrimSpace(rule); rule != "" {
					s.Tools = append(s.Tools, rule)
				}
			}
			return nil
		},
	},
}

func powerful(f field) field {
	f.power = always
	return f
}

func always(string) bool { return true }

// powerful reports whether only an operator sets a value.
func (f *field) powerful(value string) bool { return f.power != nil && f.power(value) }

func text(name string, of func(*pluginsdk.CronSpec) *string) field { return named(name, of) }

// named is a field that is a text, which the host checks.
func named[T ~string](name string, of func(*pluginsdk.CronSpec) *T) field {
	return field{
		name: name, get: func(s pluginsdk.CronSpec) string { return string(*of(&s)) },
		set: func(s *pluginsdk.CronSpec, value string) error {
			*of(s) = T(value)
			return nil
		},
	}
}

// lasting is a field that is a duration.
func lasting(name string, of func(*pluginsdk.CronSpec) *time.Duration) field {
	return field{
		name: name,
		get: func(s pluginsdk.CronSpec) string {
			return durationWords(*of(&s))
		},
		set: func(s *pluginsdk.CronSpec, value string) error {
			if *of(s) = 0; value == "" {
				return nil
			}
			d, err := parseDuration(value)
			*of(s) = d
			return err
		},
	}
}

const day = 24 * time.Hour

// parseDuration reads a duration such as 15m or 30d. It is not negative.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, whole := strings.CutSuffix(text, "d"); whole {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(n) * day
		if n > 100_000 { // more than a time.Duration has
			d = -1
		}
	}
	if err != nil || d < 0 {
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q is no duration, such as 90s, 15m, 2h or 30d", text)
	}
	return d, nil
}

// durationWords is a duration as people write it: in days when it is some; empty: 0.
func durationWords(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	}
	return d.String()
}

// fieldNames are those that can be edited.
func fieldNames() string {
	names := make([]string, len(fields), len(fields)+1)
	for i, f := range fields {
		names[i] = f.name
	}
	return strings.Join(append(names, "prompt"), ", ")
}

// edited is a specification with changes such as "schedule = 0 8 * * * | report = on_notify | prompt = ...".
// A prompt, or a command, is the last of them, and all that follows it. powers says that one is only for
// operators.
func edited(spec pluginsdk.CronSpec, changes string) (changed pluginsdk.CronSpec, powers bool, err error) {
	type assignment struct {
		field *field
		value string
	}
	var all []assignment
	for rest := changes; rest != ""; {
		name, value, assigned := strings.Cut(rest, "=")
		name = strings.TrimSpace(name)
		if !assigned || name == "" {
			return spec, false, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q changes nothing: say FIELD = VALUE, and | before the next one. The fields are %s", strings.TrimSpace(rest), fieldNames())
		}
		if rest = ""; name == "prompt" {
			spec.Prompt = strings.TrimSpace(value)
			break
		}
		if name != "when" {
			value, rest, _ = strings.Cut(value, "|")
		}
		f := fieldOf(name)
		if f == nil {
			return spec, false, pluginsdk.Errorf(pluginsdk.CodeInvalid, "a schedule has no %q; it has %s", name, fieldNames())
		}
		all = append(all, assignment{f, strings.TrimSpace(value)})
		powers = powers || f.powerful(strings.TrimSpace(value))
	}
	zoned := func(one assignment) bool { return one.field.name == "timezone" }
	if i := slices.IndexFunc(all, zoned); i > 0 { // times are read by its clock
		all[0], all[i] = all[i], all[0]
	}
	for _, one := range all {
		if err := one.field.set(&spec, one.value); err != nil {
			return spec, false, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %w", one.field.name, err)
		}
	}
	return spec, powers, nil
}

func fieldOf(name string) *field {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

// operator refuses what only somebody may who may administer the installation: what a job can do beyond
// others is done unasked, for as long as nobody looks.
func operator(by pluginsdk.Label, what string) error {
	if by.Scope.Has(pluginsdk.ScopeAdmin) {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeDenied, "%s: only who may administer Harness says that (on its machine: harness cron ...)", what)
}

// edit changes a job: NAME | FIELD = VALUE | ... What an operator sets is confirmed with it.
func (p *Plugin) edit(ctx context.Context, by pluginsdk.Label, rest string) (made answered, err error) {
	words, changes, _ := strings.Cut(rest, "|")
	job, err := p.named(ctx, words)
	if err != nil {
		return made, err
	}
	if strings.TrimSpace(changes) == "" {
		return made, pluginsdk.Errorf(pluginsdk.CodeInvalid, "say it so: /cron edit NAME | FIELD = VALUE | FIELD = VALUE, as in /cron edit Stand-up | schedule = 30 9 * * mon-fri. The fields are %s", fieldNames())
	}
	before, sure := job.Spec, confirmed(job) && by.Scope.Has(pluginsdk.ScopeAdmin)
	spec, asksPowers, err := edited(job.Spec, changes)
	if err != nil {
		return made, err
	}
	if spec.ThreadID != "" && spec.ThreadID != job.Spec.ThreadID {
		if _, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: spec.ThreadID}); err != nil {
			return made, pluginsdk.Errorf(pluginsdk.CodeOf(err), "thread_id: %w", err)
		}
	}
	if asksPowers {
		if err := operator(by, "when, model, permission_mode, tools, trigger = file:..."); err != nil {
			return made, err
		}
	}
	mind := ""
	if asksPowers {
		if mind, err = p.checkPowers(ctx, pluginsdk.CronJob{ID: job.ID, Spec: spec}); err != nil {
			return made, err
		}
	}
	// What others have set meanwhile is not confirmed by a change of something else.
	if job, err = p.change(ctx, job, spec, sure); err != nil {
		return made, err
	}
	if asksPowers || sure && powers(job.Spec) != powers(before) {
		made.decided = []string{changedWords(before, job.Spec)}
	}
	if !confirmed(job) {
		made.reply = job.Spec.Name + " is changed, and does not fire: " + unconfirmedWords(job.Spec)
		return made, nil
	}
	made.reply, err = p.told(ctx, job, "is changed")
	made.reply += mind
	if job.Spec.ReportTo != before.ReportTo {
		made.reply += "\n\n" + reportWords(job.Spec)
	}
	return made, err
}

// sameAs refuses a job that is not the one that somebody has seen: as its row has it, which the page shows, or with the last
// good limits, which the plugin shows. An empty version is that of every job.
func (p *Plugin) sameAs(ctx context.Context, job pluginsdk.CronJob, seen string) error {
	is := schedules.Version(job.Spec)
	if seen == "" || seen == is {
		return nil
	}
	rows, err := p.jobRows(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.ID == job.ID && seen == schedules.Version(row.Spec) && is == schedules.Version(healed(row).Spec) {
			return nil
		}
	}
	return pluginsdk.Errorf(pluginsdk.CodeStale, "%q was changed since you have seen it: look at it again, and confirm it then", job.Spec.Name)
}

// change saves what somebody has made of a job that they have read, with what it may do beyond others confirmed if they are
// sure. A job that has become another one since it was read stays as it is. Nobody looks at the job in between.
func (p *Plugin) change(ctx context.Context, read pluginsdk.CronJob, spec pluginsdk.CronSpec, sure bool) (pluginsdk.CronJob, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.unchanged(ctx, read); err != nil {
		return read, err
	}
	job, err := p.save(ctx, spec, read.Enabled)
	if of := powers(spec); err == nil && sure && of != "" {
		return p.markLocked(ctx, job, of)
	}
	return job, err
}

// keepConfirmed stores that a job is confirmed as it was read, unless it has become another one since.
func (p *Plugin) keepConfirmed(ctx context.Context, read pluginsdk.CronJob) (pluginsdk.CronJob, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.unchanged(ctx, read); err != nil {
		return read, err
	}
	// The host refuses what no run can have; a row may have been written past it.
	if _, err := p.host.Crons.Save(ctx, &pluginsdk.SaveCronRequest{Spec: read.Spec, Enabled: read.Enabled}); err != nil {
		return read, pluginsdk.Errorf(pluginsdk.CodeOf(err), "%s is not confirmed: %w", read.Spec.Name, err)
	}
	return p.markLocked(ctx, read, powers(read.Spec))
}

// unchanged refuses to write a job that was removed, turned on or off, or changed since it was read: what was written of it
// meanwhile would be lost.
func (p *Plugin) unchanged(ctx context.Context, read pluginsdk.CronJob) error {
	jobs, err := p.jobs(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(jobs, func(job pluginsdk.CronJob) bool { return job.ID == read.ID })
	switch {
	case i < 0:
		return pluginsdk.Errorf(pluginsdk.CodeStale, "the schedule %q was removed just now: nothing is changed", read.Spec.Name)
	case jobs[i].Enabled != read.Enabled:
		return pluginsdk.Errorf(pluginsdk.CodeStale, "the schedule %q was turned on or off just now, and nothing else is changed: look at it, and say it again", read.Spec.Name)
	case schedules.Version(jobs[i].Spec) != schedules.Version(read.Spec):
		return pluginsdk.Errorf(pluginsdk.CodeStale, "somebody else has changed the schedule %q just now, and nothing else is changed: look at it, and say it again", read.Spec.Name)
	}
	return nil
}

// markLocked stores what of a job is confirmed, if the job still says the same. The lock is held. Times at which the job was due until now have rows that say that it was not
// confirmed then.
func (p *Plugin) markLocked(ctx context.Context, job pluginsdk.CronJob, of string) (pluginsdk.CronJob, error) {
	jobs, err := p.jobs(ctx) // what became of it meanwhile stays
	if err != nil {
		return job, err
	}
	now := find(jobs, job.Spec.Name)
	if now == nil || now.ID != job.ID {
		return job, pluginsdk.Errorf(pluginsdk.CodeNotFound, "the schedule %q is not there any more", job.Spec.Name)
	}
	if powers(now.Spec) != of {
		return job, pluginsdk.Errorf(pluginsdk.CodeStale, "the schedule %q was changed just now: look at it again", job.Spec.Name)
	}
	n := noteOf(*now)
	var fires []pluginsdk.CronFire
	if n.Bad != "" && !confirmed(*now) { // else it was confirmed up to now, or it is off
		d := decide(*now, nil, p.now(), p.pauseAfter())
		n, fires = d.note, d.fires
		if now.Enabled {
			n.Bad, n.Refused, n.Together = "", 0, time.Time{}
		}
	}
	if n.Confirmed = of; now.Status.LastResult != "" && now.Status.LastResult == noteOf(*now).Bad {
		now.Status.LastResult = n.Bad
	}
	now.Status.Mark = n.mark()
	if err := p.report(ctx, *now, fires...); err != nil {
		return job, err
	}
	p.soon()
	return *now, nil
}
