package invoker

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What the two versions of the CLI write about windows is read alike: who misses one lets
// runs fail at night that had only to wait.
func TestWindowsInLines(t *testing.T) {
	reset := time.Unix(1795454574, 0).UTC()
	for name, row := range map[string]struct {
		line string
		want []pluginsdk.PlanWindow
	}{
		"2.1.197, used up": {
			`{"rate_limit_info":{"status":"rejected","resetsAt":1795454574,"rateLimitType":"five_hour","overageStatus":"rejected","isUsingOverage":false}}`,
			[]pluginsdk.PlanWindow{{Name: "five_hour", Used: 1, Status: pluginsdk.PlanRejected, ResetsAt: reset}},
		},
		"2.1.330, a warning": {
			`{"rate_limit_info":{"status":"allowed","resetsAt":1795454574,"rateLimitType":"five_hour","unifiedWindows":{"five_hour":{"utilization":0.93,"resetsAt":1795454574,"status":"allowed_warning"},"seven_day":{"utilization":0.41,"resetsAt":1795710174,"status":"allowed"}}}}`,
			[]pluginsdk.PlanWindow{
				{Name: "five_hour", Used: 0.93, Status: pluginsdk.PlanWarning, ResetsAt: reset},
				{Name: "seven_day", Used: 0.41, Status: pluginsdk.PlanAllowed, ResetsAt: time.Unix(1795710174, 0).UTC()},
			},
		},
		"one model only, no reset": {
			`{"rate_limit_info":{"status":"rejected","rateLimitType":"seven_day_opus"}}`,
			[]pluginsdk.PlanWindow{{Name: "seven_day_opus", Model: "opus", Used: 1, Status: pluginsdk.PlanRejected}},
		},
		"paid use beyond the plan": {
			`{"rate_limit_info":{"status":"allowed","rateLimitType":"five_hour","isUsingOverage":true,"unifiedWindows":{"five_hour":{"utilization":1,"resetsAt":1795454574,"status":"rejected"}}}}`,
			[]pluginsdk.PlanWindow{{Name: "five_hour", Used: 1, Status: pluginsdk.PlanRejected, ResetsAt: reset, Overage: true}},
		},
		"the API is busy, which is no plan's": {`{"rate_limit_info":{"status":"rejected","isUsingOverage":false}}`, nil},
		"an absurd reset":                     {`{"rate_limit_info":{"status":"rejected","rateLimitType":"five_hour","resetsAt":-5}}`, []pluginsdk.PlanWindow{{Name: "five_hour", Used: 1, Status: pluginsdk.PlanRejected}}},
	} {
		var line rateLimitLine
		if err := json.Unmarshal([]byte(row.line), &line); err != nil {
			t.Fatal(err)
		}
		got := line.windows()
		if len(got) != len(row.want) {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
			continue
		}
		for i := range got {
			if got[i] != row.want[i] {
				t.Errorf("%s: %+v, want %+v", name, got[i], row.want[i])
			}
		}
	}
}

// The CLI's answer to get_usage has percentages, and entries of other shapes beside windows.
func TestWindowsInUsage(t *testing.T) {
	var answer usageResponse
	err := json.Unmarshal([]byte(`{"response":{"request_id":"1","response":{"rate_limits":{
		"five_hour":{"utilization":93.5,"resets_at":"2026-11-23T21:32:40Z"},"seven_day":{"utilization":100,"resets_at":null},
		"seven_day_opus":null,"model_scoped":[{"display_name":"Fable","utilization":3}],"extra_usage":{"is_enabled":true}}}}}`), &answer)
	if err != nil {
		t.Fatal(err)
	}
	got := answer.windows()
	want := []pluginsdk.PlanWindow{
		{Name: "five_hour", Used: 0.935, Status: pluginsdk.PlanAllowed, ResetsAt: time.Date(2026, 11, 23, 21, 32, 40, 0, time.UTC)},
		{Name: "seven_day", Used: 1, Status: pluginsdk.PlanRejected},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A CLI is asked for the windows of a plan only where there is one, and seldom: it asks the
// API, and people with a key have none.
func TestWhenTheCLIIsAskedForThePlan(t *testing.T) {
	var p plans
	now := time.Now()
	if p.due("key", now) || p.has("key") {
		t.Error("an account of which no plan was seen is asked for")
	}
	p.mark("login")
	if !p.has("login") || !p.due("login", now) || p.due("login", now.Add(usageEvery-time.Second)) || !p.due("login", now.Add(usageEvery)) {
		t.Error("it is not asked once in a while")
	}
	p.mark("login")
	if p.due("login", now.Add(usageEvery+time.Second)) {
		t.Error("what was asked is forgotten")
	}
}
