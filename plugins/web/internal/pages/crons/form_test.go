package crons

import (
	"net/url"
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
	} {
		form := formOf(spec)
		typed := url.Values{}
		for _, in := range form.inputs() {
			typed.Set(in.Name, in.Value)
		}
		form.take(typed)
		got, right := form.spec(spec)
		if !right || got.Trigger != spec.Trigger || got.Schedule != spec.Schedule || got.Keep != spec.Keep {
			t.Errorf("%+v is %+v (%v) when it is saved", spec, got, right)
		}
	}
	for name, value := range map[string]string{"keep": "some", "trigger": "task"} { // the second beside a schedule
		form := formOf(pluginsdk.CronSpec{Name: "c", Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "x"})
		form.take(url.Values{name: {value}})
		if _, right := form.spec(pluginsdk.CronSpec{Name: "c"}); right {
			t.Errorf("%s %q is right", name, value)
		}
	}
}
