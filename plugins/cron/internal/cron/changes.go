package cron

import (
	"cmp"
	"fmt"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// changeWords tell people what an agent has changed of a job: each field, from what to what. Empty: nothing.
func changeWords(was, now pluginsdk.CronSpec) (words string) {
	for _, f := range fields {
		before, after := shownValue(f.name, f.get(was)), shownValue(f.name, f.get(now))
		if before == after || whenField(f.name) {
			continue
		}
		words += fmt.Sprintf("\n- %s: from %s to %s", f.name, before, after)
	}
	if whenWords(was) != whenWords(now) || was.Timezone != now.Timezone {
		words = fmt.Sprintf("\n- when: from (%s, %s) to (%s, %s)", whenWords(was), was.Timezone, whenWords(now), now.Timezone) + words
	}
	if was.Prompt != now.Prompt {
		words += fmt.Sprintf("\n\nIt was told: %s\n\nIt will be told: %s", promptWords(was.Prompt), promptWords(now.Prompt))
	}
	return words
}

// whenField reports whether a field is one of those that whenWords tell together.
func whenField(name string) bool {
	switch name {
	case "schedule", "at", "trigger", "timezone":
		return true
	}
	return false
}

// shownValue is a value as people read it, also one that is left out.
func shownValue(field, value string) string {
	defaults := map[string]string{"report": string(pluginsdk.ReportAlways), "overlap": string(pluginsdk.OverlapSkip), "missed": string(pluginsdk.MissedSkip), "if_room": "no"}
	return cmp.Or(value, defaults[field], "none")
}
