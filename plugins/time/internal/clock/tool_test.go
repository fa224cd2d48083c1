package clock

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// The agent asks for the time over the wire, in its person's zone or another.
func TestCurrentTime(t *testing.T) {
	plugin := plugintest.Serve(t, &Plugin{Now: func() time.Time { return instant }},
		pluginsdk.Host{Settings: settingsOf(`{"timezone":"UTC"}`)})
	call := func(name, input string) (pluginsdk.ToolResult, error) {
		answer, err := plugin.CallTool(t.Context(), &pluginsdk.CallToolRequest{Call: pluginsdk.Call{ID: "C"}, Name: name, Input: json.RawMessage(input)})
		if err != nil {
			return pluginsdk.ToolResult{}, err
		}
		return answer.Result, nil
	}
	for input, want := range map[string]string{
		``:                          "Current time: Friday, 2025-11-21 23:05:09 (UTC, UTC+00:00)",
		`{}`:                        "Current time: Friday, 2025-11-21 23:05:09 (UTC, UTC+00:00)",
		`{"timezone":""}`:           "Current time: Friday, 2025-11-21 23:05:09 (UTC, UTC+00:00)",
		`{"timezone":"Asia/Tokyo"}`: "Current time: Saturday, 2025-11-22 08:05:09 (Asia/Tokyo, UTC+09:00)",
	} {
		got, err := call("current_time", input)
		if err != nil || got.IsError || got.Text != want {
			t.Errorf("%s: %+v, %v", input, got, err)
		}
	}
	for _, zone := range []string{"Mars/Olympus", "Local", "../etc/passwd", "GMT+2 hours"} {
		input, err := json.Marshal(map[string]string{"timezone": zone})
		if err != nil {
			t.Fatal(err)
		}
		got, err := call("current_time", string(input))
		if err != nil || !got.IsError || !strings.Contains(got.Text, zone) || !strings.Contains(got.Text, "Europe/Berlin") || !strings.Contains(got.Text, "leave it out for UTC") {
			t.Errorf("%s: %+v, %v", zone, got, err)
		}
	}
	if _, err := call("past_time", ""); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("another tool: %v", err)
	}
}
