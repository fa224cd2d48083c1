package crons

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// form is what people say of a job, as it is typed.
type form struct {
	name, schedule, fireAt, timezone, prompt ui.Input
	report, missed, overlap                  ui.Input
	except, hours, costCap, trigger, keep    ui.Input
	reportTo, until, lateness, jitter        ui.Input
	timeout, session, ifRoom                 ui.Input

	operator                           bool // who types may administer: what only an operator sets is in the form, too
	when, model, permissionMode, tools ui.Input

	version string // of the job that was shown; empty: it is new
	wrong   string // what is wrong with no field in particular
}

func newForm(operator bool) form {
	return form{
		operator: operator,
		reportTo: ui.Input{Name: "reportTo", Label: "Report to", Mono: true, Placeholder: "discord:1234", Hint: "PLUGIN:PLACE or thread:ID. Empty: its own conversation"},
		until:    ui.Input{Name: "until", Label: "Until", Placeholder: "2026-12-31 23:59", Hint: "By the clock of the timezone. Empty: no end"},
		lateness: ui.Input{Name: "lateness", Label: "Late by at most", Placeholder: "2h", Hint: "A missed run is made up for up to then. Empty: half of the time until the next"},
		jitter:   ui.Input{Name: "jitter", Label: "Jitter", Placeholder: "5m", Hint: "Each run begins later by less than this"},
		timeout:  ui.Input{Name: "timeout", Label: "Timeout of a run", Placeholder: "15m", Hint: "Empty: that of the daemon"},
		session: ui.Input{Name: "session", Label: "Session", Options: ui.Options("", "As usual",
			string(pluginsdk.SessionFresh), "A new one each time", string(pluginsdk.SessionThread), "That of its conversation")},
		ifRoom: ui.Input{Name: "ifRoom", Label: "Only while the plan has room", Hint: "It is skipped while a window of the plan is nearly used up"},
		when:   ui.Input{Name: "when", Label: "Check first (when)", Mono: true, Placeholder: "test -s inbox.md", Hint: "A command that says whether there is news, or plugin:NAME WORDS"},
		model:  ui.Input{Name: "model", Label: "Model", Placeholder: "haiku", Hint: "Empty: that of the conversation"},
		permissionMode: ui.Input{Name: "permissionMode", Label: "Permission mode", Options: ui.Options("", "As configured",
			"default", "Ask about what nothing allows", "acceptEdits", "Change files without asking", "plan", "Read only, and plan", "dontAsk", "Deny what nothing allows")},
		tools:    ui.Input{Name: "tools", Label: "Tools that need no approval", Mono: true, Rows: 3, Placeholder: "WebFetch", Hint: "A rule in each line"},
		name:     ui.Input{Name: "name", Label: "Name", Required: true, Autofocus: true},
		schedule: ui.Input{Name: "schedule", Label: "Schedule", Mono: true, Placeholder: "0 9 * * mon-fri", Hint: "Minute, hour, day of the month, month, day of the week"},
		fireAt:   ui.Input{Name: "fireAt", Label: "Or once at", Placeholder: "2026-12-24 17:00", Hint: "By the clock of the timezone"},
		trigger:  ui.Input{Name: "trigger", Label: "Or when this happens", Mono: true, Placeholder: "task:failed", Hint: "task, task:completed, task:failed, task:cancelled; or file:PATH, which an operator confirms"},
		timezone: ui.Input{Name: "timezone", Label: "Timezone", Required: true, Value: "America/Phoenix", Hint: "Such as Europe/Berlin"},
		prompt:   ui.Input{Name: "prompt", Label: "Prompt", Required: true, Rows: 5, Hint: "Each run begins a new session: say all that the agent needs to know."},
		report: ui.Input{Name: "report", Label: "Report", Options: ui.Options(
			"always", "Every reply", "on_notify", "Only notifications", "never", "Nothing")},
		missed:  ui.Input{Name: "missed", Label: "Missed while Harness is down", Options: ui.Options("run", "Run once later", "skip", "Skip")},
		overlap: ui.Input{Name: "overlap", Label: "When the last run is still going", Options: ui.Options("skip", "Skip", "queue", "Queue one", "cancel", "Cancel the last run")},
		except:  ui.Input{Name: "except", Label: "Except", Placeholder: "sat, sun, 12-24", Hint: "Weekdays and dates, with commas between them"},
		hours:   ui.Input{Name: "hours", Label: "Active hours", Placeholder: "08:00-18:00"},
		costCap: ui.Input{Name: "costCapUsd", Label: "Cost cap of a run, in USD", Type: "number", Min: "0", Step: "0.01", Hint: "Empty: no cap"},
		keep:    ui.Input{Name: "keep", Label: "Keep its history, in days", Type: "number", Min: "0", Step: "any", Hint: "Empty: 90 days, and at least 2,000 times"},
	}
}

func (f *form) inputs() []*ui.Input {
	all := []*ui.Input{&f.name, &f.schedule, &f.fireAt, &f.trigger, &f.timezone, &f.prompt, &f.report, &f.missed, &f.overlap, &f.except, &f.hours, &f.costCap, &f.keep}
	all = append(all, f.folded()...)
	if f.operator {
		all = append(all, &f.when, &f.model, &f.permissionMode, &f.tools)
	}
	return all
}

// folded are the inputs that few need.
func (f *form) folded() []*ui.Input {
	return []*ui.Input{&f.reportTo, &f.until, &f.lateness, &f.jitter, &f.timeout, &f.session, &f.ifRoom}
}

// unfold reports whether one of the inputs that few need is in use, or wrong.
func (f *form) unfold() bool {
	return slices.ContainsFunc(f.folded(), func(in *ui.Input) bool { return in.Value != "" || in.Wrong != "" || in.Checked })
}

// mostDays is for how many days a history can be kept.
const mostDays = 36_500

// clock is how a time is typed.
const clock = "2006-01-02 15:04"

func zone(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil && name != "" {
		return zone
	}
	return time.UTC
}

func formOf(spec pluginsdk.CronSpec, operator bool) form {
	f := newForm(operator)
	f.name.Value, f.name.Autofocus = spec.Name, false
	f.schedule.Value, f.timezone.Value, f.prompt.Value = spec.Schedule, spec.Timezone, spec.Prompt
	if !spec.FireAt.IsZero() {
		f.fireAt.Value = spec.FireAt.In(zone(spec.Timezone)).Format(clock)
	}
	f.report.Value, f.missed.Value, f.overlap.Value = string(spec.Report), string(spec.Missed), string(spec.Overlap)
	f.except.Value, f.hours.Value, f.trigger.Value = spec.Except, spec.Hours, spec.Trigger
	if spec.Keep > 0 {
		f.keep.Value = strconv.FormatFloat(spec.Keep.Hours()/24, 'f', -1, 64)
	}
	if spec.CostCapUSD > 0 {
		f.costCap.Value = strconv.FormatFloat(spec.CostCapUSD, 'f', -1, 64)
	}
	f.reportTo.Value, f.session.Value, f.ifRoom.Checked = spec.ReportTo.String(), string(spec.Session), spec.IfRoom
	if !spec.Until.IsZero() {
		f.until.Value = spec.Until.In(zone(spec.Timezone)).Format(clock)
	}
	f.lateness.Value, f.jitter.Value, f.timeout.Value = spanWords(spec.Lateness), spanWords(spec.Jitter), spanWords(spec.Timeout)
	f.when.Value, f.model.Value, f.permissionMode.Value, f.tools.Value = spec.When, spec.Model, spec.PermissionMode, strings.Join(spec.Tools, "\n")
	if mode := spec.PermissionMode; !slices.ContainsFunc(f.permissionMode.Options, func(o ui.Option) bool { return o.Value == mode }) {
		f.permissionMode.Options = append(f.permissionMode.Options, ui.Option{Value: mode, Label: mode}) // of a row that was written by hand
	}
	return f
}

// take puts what was typed into the form.
func (f *form) take(typed url.Values) {
	for _, in := range f.inputs() {
		if typed.Has(in.Name) {
			in.Value = strings.TrimSpace(typed.Get(in.Name))
		}
	}
	f.ifRoom.Checked, f.ifRoom.Value = typed.Get(f.ifRoom.Name) == "true", ""
	f.version = typed.Get("version")
}

// spec is a specification with what was typed; what is not in the form stays. Not right: an input says why.
func (f *form) spec(spec pluginsdk.CronSpec) (_ pluginsdk.CronSpec, right bool) {
	if spec.Name == "" {
		spec.Name = f.name.Value
	}
	spec.Schedule, spec.Timezone, spec.Prompt = f.schedule.Value, f.timezone.Value, f.prompt.Value
	spec.Report, spec.Missed, spec.Overlap = pluginsdk.CronReport(f.report.Value), pluginsdk.MissedPolicy(f.missed.Value), pluginsdk.OverlapPolicy(f.overlap.Value)
	spec.Except, spec.Hours, spec.Trigger = f.except.Value, f.hours.Value, f.trigger.Value
	right = true
	spec.FireAt = f.moment(&f.fireAt, spec.FireAt, spec.Timezone, &right)
	spec.Until = f.moment(&f.until, spec.Until, spec.Timezone, &right)
	f.rest(&spec, &right)
	spec.CostCapUSD = 0
	if f.costCap.Value != "" {
		usd, err := strconv.ParseFloat(f.costCap.Value, 64)
		if err != nil || !(usd >= 0) {
			f.costCap.Wrong, right = "an amount in USD, such as 0.50", false
		}
		spec.CostCapUSD = usd
	}
	spec.Keep = 0
	if f.keep.Value != "" {
		days, err := strconv.ParseFloat(f.keep.Value, 64)
		if err != nil || !(days >= 0 && days <= mostDays) {
			f.keep.Wrong, right = "a number of days, such as 30", false
		}
		spec.Keep = time.Duration(math.Round(days*24*60*60)) * time.Second
	}
	for _, in := range []*ui.Input{&f.name, &f.timezone, &f.prompt} {
		if in.Value == "" {
			in.Wrong, right = "it is needed", false
		}
	}
	if !spec.OneCause() && f.fireAt.Wrong == "" {
		f.schedule.Wrong, right = "say when again and again, or when once, or what has to happen: one of the three", false
	}
	return spec, right
}

// moment is a time that was typed by the clock of a zone. One that is not changed keeps its seconds.
func (f *form) moment(in *ui.Input, was time.Time, timezone string, right *bool) time.Time {
	if in.Value == "" {
		return time.Time{}
	}
	if in.Value == was.In(zone(timezone)).Format(clock) {
		return was
	}
	at, err := time.ParseInLocation(clock, in.Value, zone(timezone))
	if err != nil {
		in.Wrong, *right = "a date and a time, such as 2026-12-24 17:00", false
	}
	return at
}

// rest are the fields that few need, and those that only an operator sets.
func (f *form) rest(spec *pluginsdk.CronSpec, right *bool) {
	var err error
	if spec.ReportTo, err = pluginsdk.ParseTarget(f.reportTo.Value); err != nil {
		f.reportTo.Wrong, *right = "PLUGIN:PLACE or thread:ID", false
	}
	spec.Session, spec.IfRoom = pluginsdk.TurnSession(f.session.Value), f.ifRoom.Checked
	for in, span := range map[*ui.Input]*time.Duration{&f.lateness: &spec.Lateness, &f.jitter: &spec.Jitter, &f.timeout: &spec.Timeout} {
		if in.Value == spanWords(*span) {
			continue // what is not changed stays as exact as it is
		}
		if *span, err = parseSpan(in.Value); err != nil {
			in.Wrong, *right = "a time such as 90s, 15m, 2h or 30d", false
		}
	}
	if !f.operator {
		return
	}
	spec.When, spec.Model, spec.PermissionMode, spec.Tools = f.when.Value, f.model.Value, f.permissionMode.Value, nil
	for rule := range strings.SplitSeq(f.tools.Value, "\n") {
		if rule = strings.TrimSpace(rule); rule != "" {
			spec.Tools = append(spec.Tools, rule)
		}
	}
}

const day = 24 * time.Hour

// parseSpan reads a span such as 15m or 30d. It is not negative; an empty one is 0.
func parseSpan(text string) (span time.Duration, err error) {
	if days, whole := strings.CutSuffix(text, "d"); whole {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > mostDays {
			return 0, strconv.ErrRange
		}
		return time.Duration(n) * day, nil
	}
	if text == "" {
		return 0, nil
	}
	if span, err = time.ParseDuration(text); err == nil && span < 0 {
		err = strconv.ErrRange
	}
	return span, err
}

// spanWords is a span as people write it; empty: 0.
func spanWords(span time.Duration) string {
	switch {
	case span == 0:
		return ""
	case span%day == 0:
		return strconv.Itoa(int(span/day)) + "d"
	}
	text := span.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// powerful reports whether a job may do or cost what only an operator says.
func powerful(spec pluginsdk.CronSpec) bool {
	return spec.When != "" || ofFile(spec) || spec.Model != "" || spec.PermissionMode != "" || len(spec.Tools) > 0
}

// wrongWith puts what the API says at the input that it is about.
func (f *form) wrongWith(problem *site.Problem) {
	placed := false
	for _, wrong := range problem.Fields {
		for _, in := range f.inputs() {
			if wrong.Location == "body.spec."+in.Name {
				in.Wrong, placed = wrong.Message, true
			}
		}
	}
	if placed {
		return
	}
	for _, in := range f.inputs() { // the host begins with the name of the field
		if strings.HasPrefix(problem.Detail, in.Name+":") {
			in.Wrong = strings.TrimSpace(strings.TrimPrefix(problem.Detail, in.Name+":"))
			return
		}
	}
	f.wrong = problem.Detail
}
