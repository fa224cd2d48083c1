package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// A schedule is made, read, changed, fired and removed by its name, which may have a slash; one that nobody
// could fire is refused.
func TestSchedules(t *testing.T) {
	h := plugintest.NewHost()
	sdk := h.SDK()
	asked := &host{result: pluginsdk.ToolResult{Text: "It is due:", Structured: json.RawMessage(`{"next": ["2026-12-01T09:00:00Z"]}`)}}
	asked.plugins = []pluginsdk.PluginInfo{{Name: "cron", Enabled: true, Granted: []pluginsdk.Capability{pluginsdk.CapCronsWrite}}}
	sdk.Tools, sdk.Plugins = tools{asked}, plugins{host: asked}
	f := serveFor(t, asked, sdk)
	const path = "/api/crons/a%2Fb"
	body := func(schedule string) string {
		return `{"spec": {"name": "a/b", "schedule": "` + schedule + `", "timezone": "UTC", "prompt": "hello", "missed": "run", "report": "on_notify"}}`
	}
	f.isProblem(f.send("GET", path, ""), http.StatusNotFound, `"a/b"`)
	made := f.send("PUT", path, body("0 9 * * *"))
	if made.status != http.StatusOK || made.body["enabled"] != true || !strings.Contains(made.raw, `"next":["2026-12-01T09:00:00Z"]`) {
		t.Fatalf("%d %s", made.status, made.raw)
	}
	if !slices.Contains(asked.asked, any(`call cron__cron_next {"except":"","hours":"","schedule":"0 9 * * *","timezone":"UTC"}`)) {
		t.Errorf("asked %v", asked.asked)
	}
	f.isProblem(f.send("PUT", "/api/crons/other", body("0 9 * * *")), 422, "not renamed")
	asked.result = pluginsdk.ToolResult{Text: "it needs five fields", IsError: true}
	f.isProblem(f.send("PUT", path, body("at noon")), 422, "five fields")
	onTask := strings.Replace(body(""), `"schedule": ""`, `"trigger": "task:lost", "keep": 172800000000000`, 1)
	asked.result = pluginsdk.ToolResult{Text: `trigger "task:lost": a schedule fires on task`, IsError: true}
	f.isProblem(f.send("PUT", path, onTask), 422, "a schedule fires on task")
	asked.result = pluginsdk.ToolResult{Text: "It fires when a task has failed.", Structured: json.RawMessage(`{"next": null}`)}
	if got := f.send("PUT", path, strings.Replace(onTask, "lost", "failed", 1)); got.status != http.StatusOK || !strings.Contains(got.raw, `"trigger":"task:failed"`) || !strings.Contains(got.raw, `"keep":172800000000000`) {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if !slices.Contains(asked.asked, any(`call cron__cron_next {"except":"","hours":"","timezone":"UTC","trigger":"task:failed"}`)) {
		t.Errorf("asked %v", asked.asked)
	}
	asked.toolErr = pluginsdk.Errorf(pluginsdk.CodeNotFound, "no such tool") // nobody fires schedules
	if got := f.send("PUT", path, body("0 10 * * *")); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if got := f.send("PATCH", path, `{"enabled": false}`); got.status != http.StatusOK || got.body["enabled"] != false {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if got := f.send("PUT", path, body("0 11 * * *")); got.body["enabled"] != false {
		t.Errorf("a change turns it on: %s", got.raw)
	}
	if got := f.send("GET", path, ""); got.status != http.StatusOK || !strings.Contains(got.raw, `"schedule":"0 11 * * *"`) || !strings.Contains(got.raw, `"report":"on_notify"`) {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if got := f.send("POST", path+"/fire", `{"data": "version 7"}`); got.status != http.StatusAccepted || got.body["cause"] != "called" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if got := f.send("GET", path+"/fires?limit=1", ""); got.status != http.StatusOK || !strings.Contains(got.raw, `"data":"version 7"`) {
		t.Errorf("%d %s", got.status, got.raw)
	}
	fits := `"` + strings.Repeat("x", 65534) + `"`
	f.isProblem(f.send("POST", path+"/fire", fits+" "), http.StatusRequestEntityTooLarge, "64 KiB")
	f.isProblem(f.send("POST", path+"/fire", `{"data":`), http.StatusBadRequest, "no JSON")
	for body, data := range map[string]any{ // what a program elsewhere sends is data as it is
		`{}`: nil, ``: nil, ` {"data": ""}`: nil, `{"data": "x"}`: "x", `{"data": 7}`: `{"data": 7}`,
		`{"data": "x", "action": "opened"}`: `{"data": "x", "action": "opened"}`, `{"ref": "main"}`: `{"ref": "main"}`, `[1]`: `[1]`, fits: fits,
	} {
		if got := f.send("POST", path+"/fire", body); got.status != http.StatusAccepted || got.body["data"] != data {
			t.Errorf("%.100s: %d %.300s", body, got.status, got.raw)
		}
	}
	h.Fail("Crons.Fire", pluginsdk.Errorf(pluginsdk.CodeExhausted, "less than a minute ago"))
	if got := f.send("POST", path+"/fire", `{"data": "x"}`); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "60" {
		t.Errorf("%d %v %s", got.status, got.header, got.raw)
	}
	removed := httptest.NewRecorder()
	f.handler.ServeHTTP(removed, httptest.NewRequest(http.MethodDelete, path, nil))
	if removed.Code != http.StatusNoContent {
		t.Errorf("%d %s", removed.Code, removed.Body)
	}
	f.isProblem(f.send("DELETE", path, ""), http.StatusNotFound, `"a/b"`)
}
