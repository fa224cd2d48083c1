package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

func schedulesAPI(t *testing.T) (f fixture, asked *host) {
	t.Helper()
	sdk := plugintest.NewHost().SDK()
	asked = &host{
		result:  pluginsdk.ToolResult{Text: "It is due:", Structured: json.RawMessage(`{"next": ["2036-12-01T09:00:00Z"], "confirmed": false}`)},
		threads: []pluginsdk.Thread{{ID: "T1"}},
		plugins: []pluginsdk.PluginInfo{{Name: "cron", Enabled: true, Granted: []pluginsdk.Capability{pluginsdk.CapCronsWrite}}},
		ended:   pluginsdk.Run{State: pluginsdk.RunSucceeded, Outcomes: []pluginsdk.Outcome{{Handled: true}}},
	}
	sdk.Tools, sdk.Threads, sdk.Plugins, sdk.Messages, sdk.Runs = tools{asked}, threads{host: asked}, plugins{host: asked}, messages{host: asked}, runs{host: asked}
	return serveFor(t, asked, sdk), asked
}

// What the command line refuses of a schedule the API refuses, and names the field. What is in the path, and what is as
// usual, may be left out.
func TestASchedulesFieldsAreChecked(t *testing.T) {
	f, asked := schedulesAPI(t)
	body := func(fields string) string { return `{"spec": {"timezone": "UTC", ` + fields + `}}` }
	if got := f.send("PUT", "/api/crons/tea", body(`"schedule": "0 9 * * *", "prompt": "tea"`)); got.status != http.StatusOK || !strings.Contains(got.raw, `"name":"tea"`) || !strings.Contains(got.raw, `"missed":"run"`) {
		t.Errorf("%d %s", got.status, got.raw)
	}
	for fields, want := range map[string]string{
		`"schedule": "0 9 * * *", "prompt": " /cron rm tea"`:           "spec.prompt",
		`"schedule": "0 9 * * *", "prompt": "/help"`:                   "no command",
		`"schedule": "0 9 * * *", "prompt": " \n"`:                     "spec.prompt",
		`"fireAt": "2020-01-01T00:00:00Z", "prompt": "tea"`:            "spec.fireAt",
		`"schedule": "0 9 * * *", "prompt": "tea", "threadId": "nope"`: "spec.threadId",
		`"schedule": "0 9 * * *", "prompt": "tea", "name": "coffee"`:   "spec.name",
		`"schedule": "0 9 * * *"`:                                      "prompt",
		`"schedule": "0 9 * * *", "prompt": "tea", "nmae": "x"`:        "nmae",
	} {
		got := f.send("PUT", "/api/crons/tea", body(fields))
		if got.status != http.StatusUnprocessableEntity && got.status != http.StatusBadRequest || !strings.Contains(got.raw, want) {
			t.Errorf("%s: %d %s, want %q", fields, got.status, got.raw, want)
		}
	}
	if got := f.send("PUT", "/api/crons/tea", body(`"schedule": "0 9 * * *", "prompt": "tea", "threadId": "T1"`)); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.raw)
	}
	asked.result = pluginsdk.ToolResult{Text: `except: "yesterday" is no day`, IsError: true}
	f.isProblem(f.send("PUT", "/api/crons/tea", body(`"schedule": "0 9 * * *", "except": "yesterday", "prompt": "tea"`)), 422, "spec.except")
}

// What a schedule may do beyond others an operator confirms: what they have seen, and nothing else.
func TestAnOperatorConfirmsWhatTheyHaveSeen(t *testing.T) {
	f, asked := schedulesAPI(t)
	const path = "/api/crons/tea"
	spec := `"schedule": "0 9 * * *", "timezone": "UTC", "prompt": "tea", "when": "true"`
	made := f.send("PUT", path, `{"spec": {`+spec+`}}`)
	version, _ := made.body["version"].(string)
	if made.status != http.StatusOK || made.body["confirmed"] != false || version == "" {
		t.Fatalf("%d %s", made.status, made.raw)
	}
	confirm := func(f fixture, version string) answer {
		return f.send("POST", path+"/confirm", `{"version": "`+version+`"}`)
	}
	for _, scope := range []pluginsdk.TokenScope{pluginsdk.ScopeRead, pluginsdk.ScopeChat, pluginsdk.ScopeApprove, pluginsdk.ScopeWork, pluginsdk.ScopeOfCron("tea")} {
		caller := access.Caller{Token: pluginsdk.Token{ID: "1", Name: "Ann", Scope: scope}}
		if got := confirm(f.of(caller), version); got.status != http.StatusForbidden {
			t.Errorf("with the scope %s: %d %s", scope, got.status, got.raw)
		}
	}
	asked.asked = nil
	if got := confirm(f, version); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.raw)
	}
	said, _ := asked.asked[0].(pluginsdk.Submission)
	if said.Content != "/cron confirm tea | "+version || said.Scope != pluginsdk.ScopeAdmin {
		t.Errorf("typed %+v", said)
	}
	// Somebody else changes the prompt.
	if got := f.send("PUT", path, `{"spec": {`+strings.Replace(spec, `"tea"`, `"buy all of it"`, 1)+`}}`); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.raw)
	}
	asked.asked = nil
	f.isProblem(confirm(f, version), http.StatusConflict, "was changed since")
	f.isProblem(f.send("PUT", path, `{"version": "`+version+`", "spec": {`+spec+`}}`), http.StatusConflict, "was changed since")
	f.isProblem(f.send("POST", path+"/confirm", `{}`), http.StatusUnprocessableEntity, "version")
	f.isProblem(confirm(f, "0 | rm"), http.StatusUnprocessableEntity, "version")
	f.isProblem(f.send("POST", "/api/crons/ghost/confirm", `{"version": "0"}`), http.StatusNotFound, "ghost")
	for _, one := range asked.asked {
		if said, is := one.(pluginsdk.Submission); is {
			t.Errorf("typed %+v", said)
		}
	}
	asked.ended.Outcomes[0] = pluginsdk.Outcome{Error: "only who may administer", Refused: true}
	version, _ = f.send("GET", path, "").body["version"].(string)
	f.isProblem(confirm(f, version), http.StatusConflict, "only who may administer")
}

// Where nobody fires schedules that is said, and nobody is told that one fires now.
func TestNobodyFiresSchedules(t *testing.T) {
	f, asked := schedulesAPI(t)
	const path = "/api/crons/tea"
	f.send("PUT", path, `{"spec": {"schedule": "0 9 * * *", "timezone": "UTC", "prompt": "tea"}}`)
	if got := f.send("GET", "/api/crons", ""); got.body["fired"] != true {
		t.Errorf("%s", got.raw)
	}
	asked.plugins[0].Enabled = false
	asked.plugins = append(asked.plugins, pluginsdk.PluginInfo{Name: "web", Enabled: true, Granted: []pluginsdk.Capability{pluginsdk.CapCronsWrite}})
	for _, read := range []string{"/api/crons", path} {
		if got := f.send("GET", read, ""); got.status != http.StatusOK || got.body["fired"] != false {
			t.Errorf("%s: %s", read, got.raw)
		}
	}
	f.isProblem(f.send("POST", path+"/fire", ""), http.StatusConflict, "harness plugin enable cron")
	if got := f.send("GET", path+"/fires", ""); !strings.Contains(got.raw, `"fires":[]`) {
		t.Errorf("%s", got.raw)
	}
	asked.plugins[1].Name = "ours" // another may fire them
	if got := f.send("POST", path+"/fire", ""); got.status != http.StatusAccepted {
		t.Errorf("%d %s", got.status, got.raw)
	}
}
