package invoker

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What the two versions of the CLI write about windows is read alike: who misses one lets
// runs fail at night that had only to wait.
func TestWindowsInLines(t *testing.T) {
	reset := time.Unix(1795454574, 0).UTC()
	for name, row := range map[string]struct {
		line    string
		want    []pluginsdk.PlanWindow
		decides string // the name of the window that decides; none: the line is about no plan
	}{
		"2.1.197, used up": {
			`{"rate_limit_info":{"status":"rejected","resetsAt":1795454574,"rateLimitType":"five_hour","overageStatus":"rejected","isUsingOverage":false}}`,
			[]pluginsdk.PlanWindow{{Name: "five_hour", Used: 1, Status: pluginsdk.PlanRejected, ResetsAt: reset}}, "five_hour",
		},
		"2.1.330, a warning": {
			`{"rate_limit_info":{"status":"allowed","resetsAt":1795454574,"rateLimitType":"five_hour","unifiedWindows":{"five_hour":{"utilization":0.93,"resetsAt":1795454574,"status":"allowed_warning"},"seven_day":{"utilization":0.41,"resetsAt":1795710174,"status":"allowed"}}}}`,
			[]pluginsdk.PlanWindow{
				{Name: "five_hour", Used: 0.93, Status: pluginsdk.PlanWarning, ResetsAt: reset},
				{Name: "seven_day", Used: 0.41, Status: pluginsdk.PlanAllowed, ResetsAt: time.Unix(1795710174, 0).UTC()},
			}, "five_hour",
		},
		"one model only, no reset": {
			`{"rate_limit_info":{"status":"rejected","rateLimitType":"seven_day_opus"}}`,
			[]pluginsdk.PlanWindow{{Name: "seven_day_opus", Model: "opus", Used: 1, Status: pluginsdk.PlanRejected}}, "seven_day_opus",
		},
		"one model only, in the CLI's own words": {
			`{"rate_limit_info":{"status":"rejected","rateLimitType":"seven_day_overage_included","unifiedWindows":{"seven_day_overage_included":{"utilization":1,"resetsAt":1795454574,"status":"rejected"}}}}`,
			[]pluginsdk.PlanWindow{{Name: "seven_day_fable", Model: "fable", Used: 1, Status: pluginsdk.PlanRejected, ResetsAt: reset}}, "seven_day_fable",
		},
		"a window that a later CLI tells of": {
			`{"rate_limit_info":{"status":"rejected","rateLimitType":"seven_day_new","resetsAt":1795454574,"unifiedWindows":{"seven_day_other":{"utilization":1,"resetsAt":1795454574,"status":"rejected"}}}}`,
			[]pluginsdk.PlanWindow{{Name: "seven_day_new", Model: "claude-opus-5", Used: 1, Status: pluginsdk.PlanRejected, ResetsAt: reset}}, "seven_day_new",
		},
		"paid use beyond the plan": {
			`{"rate_limit_info":{"status":"allowed","rateLimitType":"five_hour","isUsingOverage":true,"unifiedWindows":{"five_hour":{"utilization":1,"resetsAt":1795454574,"status":"rejected"}}}}`,
			[]pluginsdk.PlanWindow{{Name: "five_hour", Used: 1, Status: pluginsdk.PlanRejected, ResetsAt: reset, Overage: true}}, "five_hour",
		},
		"paid use beyond the plan, of the type of that": {
			`{"rate_limit_info":{"status":"allowed","rateLimitType":"overage","overageInUse":true,"utilization":0.2,"unifiedWindows":{"five_hour":{"utilization":1,"resetsAt":1795454574,"status":"rejected"}}}}`,
			[]pluginsdk.PlanWindow{{Name: "five_hour", Used: 1, Status: pluginsdk.PlanRejected, ResetsAt: reset, Overage: true}}, "five_hour",
		},
		"what may be paid for is used up":     {`{"rate_limit_info":{"status":"rejected","rateLimitType":"overage","resetsAt":1795454574}}`, nil, ""},
		"the API is busy, which is no plan's": {`{"rate_limit_info":{"status":"rejected","isUsingOverage":false}}`, nil, "none"},
		"an absurd reset": {
			`{"rate_limit_info":{"status":"rejected","rateLimitType":"five_hour","resetsAt":-5}}`,
			[]pluginsdk.PlanWindow{{Name: "five_hour", Used: 1, Status: pluginsdk.PlanRejected}}, "five_hour",
		},
	} {
		var line rateLimitLine
		if err := json.Unmarshal([]byte(row.line), &line); err != nil {
			t.Fatal(err)
		}
		got, decides := line.windows("claude-opus-5")
		switch {
		case (decides == nil) != (row.decides == "none"), decides != nil && decides.Name != row.decides:
			t.Errorf("%s: %+v decides, want %q", name, decides, row.decides)
		case decides != nil && decides.Name == "" && (decides.Status != pluginsdk.PlanRejected || !decides.ResetsAt.Equal(reset)):
			t.Errorf("%s: %+v decides", name, decides)
		}
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
		"seven_day_opus":null,"model_scoped":[{"display_name":"Fable","utilization":3},{"display_name":"Nobody's","utilization":100}],
		"extra_usage":{"is_enabled":true,"utilization":100},"seven_day_oauth_apps":{"utilization":100,"resets_at":"2026-11-30T18:00:00Z"}}}}}`), &answer)
	if err != nil {
		t.Fatal(err)
	}
	got := answer.windows()
	want := []pluginsdk.PlanWindow{
		{Name: "five_hour", Used: 0.935, Status: pluginsdk.PlanAllowed, ResetsAt: time.Date(2026, 11, 23, 21, 32, 40, 0, time.UTC)},
		{Name: "seven_day", Used: 1, Status: pluginsdk.PlanRejected},
		{Name: "seven_day_fable", Model: "fable", Used: 0.03, Status: pluginsdk.PlanAllowed},
	}
	if !slices.Equal(got, want) {
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
