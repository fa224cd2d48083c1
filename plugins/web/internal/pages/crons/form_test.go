package crons

import (
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a job is stays when its form is saved as it was shown.
func TestAFormKeepsWhatItShows(t *testing.T) {
	for _, spec := range []pluginsdk.CronSpec{
		{Name: "a", Trigger: "task:failed", Timezone: "UTC", Prompt: "x", Keep: time.Hour},
		{Name: "b", Trigger: "file:notes.md", Timezone: "UTC", Prompt: "x", Keep: 30 * 24 * time.Hour},
		{Name: "c", Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "x", Keep: 36 * time.Hour},
		{Name: "d", Schedule: "0 9 * * *", Timezone: "Europe/Berlin", Prompt: "x", Until: time.Date(2036, 1, 2, 3, 4, 5, 0, time.UTC), Lateness: 90 * time.Second,
			Jitter: 1500 * time.Millisecond, Timeout: 2 * time.Hour, Session: pluginsdk.SessionThread, IfRoom: true, ReportTo: pluginsdk.Target{Plugin: "discord", Place: "7"},
			When: "test -s x", Model: "haiku", PermissionMode: "odd", Tools: []string{"WebFetch", "Bash(ls:*)"}},
	} {
		form := formOf(spec, true)
		typed := url.Values{}
		for _, in := range form.inputs() {
			typed.Set(in.Name, in.Value)
			if in.Checked {
				typed.Set(in.Name, "true")
			}
		}
		form.take(typed)
		got, right := form.spec(spec)
		if spec.Tools == nil {
			got.Tools = nil
		}
		if !right || !reflect.DeepEqual(got, spec) {
			t.Errorf("%+v is %+v (%v) when it is saved", spec, got, right)
		}
	}
	for name, value := range map[string]string{ // the trigger beside a schedule
		"keep": "some", "trigger": "task", "jitter": "banana", "lateness": "-5m", "timeout": "99999999999d", "until": "tomorrow", "reportTo": "thread:",
	} {
		form := formOf(pluginsdk.CronSpec{Name: "c", Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "x"}, false)
		form.take(url.Values{name: {value}})
		if _, right := form.spec(pluginsdk.CronSpec{Name: "c"}); right {
			t.Errorf("%s %q is right", name, value)
		}
	}
}

// What only an operator sets is taken from nobody else, whatever they send.
func TestOnlyAnOperatorsFormSetsPowers(t *testing.T) {
	spec := pluginsdk.CronSpec{Name: "c", Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "x", When: "true", Tools: []string{"WebFetch"}}
	for operator, want := range map[bool]string{false: "true", true: "rm -rf ."} {
		form := formOf(spec, operator)
		form.take(url.Values{"when": {"rm -rf ."}, "tools": {"WebFetch\r\n\r\nBash"}})
		got, right := form.spec(spec)
		if !right || got.When != want || len(got.Tools) != map[bool]int{false: 1, true: 2}[operator] {
			t.Errorf("operator %v: %+v %v", operator, got, right)
		}
	}
}
