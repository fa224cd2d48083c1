package crons

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// form is what people say of a job, as it is typed. What only an operator sets is not in it.
type form struct {
	name, schedule, fireAt, timezone, prompt ui.Input
	report, missed, overlap                  ui.Input
	except, hours, costCap, trigger, keep    ui.Input
}

func newForm() form {
	return form{
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
		costCap: ui.Input{Name: "costCap", Label: "Cost cap of a run, in USD", Type: "number", Min: "0", Step: "0.01", Hint: "Empty: no cap"},
		keep:    ui.Input{Name: "keep", Label: "Keep its history, in days", Type: "number", Min: "0", Step: "any", Hint: "Empty: 90 days, and at least 2,000 times"},
	}
}

func (f *form) inputs() []*ui.Input {
	return []*ui.Input{&f.name, &f.schedule, &f.fireAt, &f.trigger, &f.timezone, &f.prompt, &f.report, &f.missed, &f.overlap, &f.except, &f.hours, &f.costCap, &f.keep}
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

func formOf(spec pluginsdk.CronSpec) form {
	f := newForm()
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
	return f
}

// take puts what was typed into the form.
func (f *form) take(typed url.Values) {
	for _, in := range f.inputs() {
		if typed.Has(in.Name) {
			in.Value = strings.TrimSpace(typed.Get(in.Name))
		}
	}
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
	switch was := spec.FireAt; {
	case f.fireAt.Value == "":
		spec.FireAt = time.Time{}
	case f.fireAt.Value != was.In(zone(spec.Timezone)).Format(clock): // else its seconds stay
		at, err := time.ParseInLocation(clock, f.fireAt.Value, zone(spec.Timezone))
		if err != nil {
			f.fireAt.Wrong, right = "a date and a time, such as 2026-12-24 17:00", false
		}
		spec.FireAt = at
	}
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
	f.schedule.Wrong = problem.Detail
}
