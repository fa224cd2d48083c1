package api_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestRetryRun(t *testing.T) {
	f := serve(t)
	got := f.send("POST", "/api/runs/R/retry", "")
	if got.status != http.StatusAccepted || got.raw != `{"threadId":"T","messageId":8,"runId":"R2","existed":false}`+"\n" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.send("POST", "/api/runs/R/retry", `{"author":"Ann"}`)
	if want := []any{"retry R by a person", "retry R by Ann"}; !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %q, want %q", f.host.asked, want)
	}
	f.host.err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "run R was answered")
	f.isProblem(f.send("POST", "/api/runs/R/retry", ""), 422, "run R was answered")
}

// Who stops a thread without saying more must not lose what waits in it.
func TestStopKeepsTheQueueUnlessToldOtherwise(t *testing.T) {
	f := serve(t)
	if got := f.send("POST", "/api/threads/T/stop", ""); got.status != 200 || got.raw != `{"dropped":[]}`+"\n" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.send("POST", "/api/threads/T/stop", `{}`)
	f.send("POST", "/api/threads/T/stop", `{"queue":"keep","author":"Ann"}`)
	f.host.stopped = pluginsdk.Stopped{RunID: "R", Dropped: []string{"Q1", "Q2"}}
	if got := f.send("POST", "/api/threads/T/stop", `{"queue":"drop"}`); got.raw != `{"runId":"R","dropped":["Q1","Q2"]}`+"\n" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	want := []any{
		pluginsdk.StopThreadRequest{ThreadID: "T", Queue: "keep", Author: "a person"},
		pluginsdk.StopThreadRequest{ThreadID: "T", Queue: "keep", Author: "a person"},
		pluginsdk.StopThreadRequest{ThreadID: "T", Queue: "keep", Author: "Ann"},
		pluginsdk.StopThreadRequest{ThreadID: "T", Queue: "drop", Author: "a person"},
	}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
}

// Whoever reads a run that was cancelled must see that a person did it, and who:
// not that the API's plugin did.
func TestCancelSaysWhoWantedIt(t *testing.T) {
	f := serve(t)
	for _, body := range []string{``, `{}`, `{"author":"Ann"}`} {
		if got := f.send("POST", "/api/runs/R/cancel", body); got.status != 200 || got.body["state"] != "cancelled" {
			t.Errorf("%q: %d %s", body, got.status, got.raw)
		}
	}
	want := []any{
		pluginsdk.CancelRunRequest{ID: "R", Author: "a person"}, pluginsdk.CancelRunRequest{ID: "R", Author: "a person"},
		pluginsdk.CancelRunRequest{ID: "R", Author: "Ann"},
	}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
}

func TestUpdateThreadChangesOnlyWhatIsNamed(t *testing.T) {
	f := serve(t)
	for body, want := range map[string]pluginsdk.ThreadPatch{
		`{}`: {},
		`{"name":"","permissionMode":"","lastReadMessageId":0,"reportTo":""}`: {
			Name: to(""), PermissionMode: to(""), LastReadMessageID: to(int64(0)), ReportTo: &pluginsdk.Target{},
		},
		`{"name":"Garden","status":"archived","model":"m","effort":"high","permissionMode":"plan","cwd":"/srv",
			"instructions":"be brief","busyMode":"collect","lastReadMessageId":7,"reportTo":"discord:lobby"}`: {
			ReportTo: &pluginsdk.Target{Plugin: "discord", Place: "lobby"},
			Name:     to("Garden"), Status: to(pluginsdk.ThreadArchived), Model: to("m"), Effort: to("high"),
			PermissionMode: to("plan"), Cwd: to("/srv"), Instructions: to("be brief"),
			BusyMode: to(pluginsdk.BusyCollect), LastReadMessageID: to(int64(7)),
		},
	} {
		f.host.asked = nil
		got := f.send("PATCH", "/api/threads/T", body)
		if got.status != 200 || got.body["id"] != "T" || !reflect.DeepEqual(f.host.asked, []any{want}) {
			t.Errorf("%s: %d %s, asked %+v", body, got.status, got.raw, f.host.asked)
		}
	}
}

func to[V any](value V) *V { return &value }

func TestDeliveries(t *testing.T) {
	f := serve(t)
	if got := f.send("GET", "/api/deliveries", ""); got.raw != `{"deliveries":[]}`+"\n" {
		t.Errorf("no deliveries: %s", got.raw)
	}
	f.host.deliveries = []pluginsdk.Delivery{{ID: "D", Plugin: "discord", State: pluginsdk.DeliveryDead, LastError: "gone"}}
	got := f.send("GET", "/api/deliveries?state=dead&plugin=discord&place=c1&limit=2&after=C&newest=true", "")
	row := got.body["deliveries"].([]any)[0].(map[string]any)
	if got.status != 200 || row["id"] != "D" || row["state"] != "dead" || row["lastError"] != "gone" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if got := f.send("POST", "/api/deliveries/D/retry", ""); got.status != 200 || got.body["state"] != "pending" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	want := []any{
		pluginsdk.DeliveryQuery{Limit: 100},
		pluginsdk.DeliveryQuery{State: "dead", Plugin: "discord", Place: "c1", Newest: true, Limit: 2, After: "C"},
		"retry delivery D",
	}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %+v", f.host.asked)
	}
}

// An installation from before deliveries could be shown has not granted it: its
// web must say what to grant.
func TestAMissingGrantIsNamed(t *testing.T) {
	f := serve(t)
	f.host.err = pluginsdk.Errorf(pluginsdk.CodeDenied, "the plugin web lacks the capability deliveries.read")
	f.isProblem(f.send("GET", "/api/deliveries", ""), 403, "deliveries.read")
	f.isProblem(f.send("POST", "/api/deliveries/D/retry", ""), 403, "lacks the capability")
}

// A person who looks why there is no answer yet must see what was tried.
func TestRunsShowTheirAttemptsAndWhatTheyAbsorbed(t *testing.T) {
	f := serve(t)
	f.host.threads = []pluginsdk.Thread{{ID: "T"}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.host.runs = []pluginsdk.Run{{
		ID: "R", State: pluginsdk.RunWaiting, Attempt: 2, NextAttemptAt: at, Error: "529", MergedInto: "M",
		Absorbed: []int64{4, 5}, Failures: []pluginsdk.Failed{{Attempt: 1, Error: "529 overloaded", At: at}},
	}}
	for _, path := range []string{"/api/runs/R", "/api/threads/T/runs"} {
		got := f.send("GET", path, "")
		for _, part := range []string{
			`"attempt":2`, `"nextAttemptAt":"2026-01-02T03:04:05Z"`, `"error":"529"`, `"mergedInto":"M"`, `"absorbed":[4,5]`,
			`"failures":[{"attempt":1,"error":"529 overloaded","at":"2026-01-02T03:04:05Z"}]`,
		} {
			if !strings.Contains(got.raw, part) {
				t.Errorf("%s lacks %s: %s", path, part, got.raw)
			}
		}
	}
}
