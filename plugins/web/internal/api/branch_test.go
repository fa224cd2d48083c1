package api_test

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// answersNothing sends a request whose answer has no body.
func (f fixture) answersNothing(method, path string) {
	f.Helper()
	recorder := httptest.NewRecorder()
	f.handler.ServeHTTP(recorder, httptest.NewRequest(method, path, nil))
	if recorder.Code != http.StatusNoContent || recorder.Body.Len() > 0 {
		f.Errorf("%s %s: %d %s", method, path, recorder.Code, recorder.Body)
	}
}

func TestThreadsAreDeletedAndBranched(t *testing.T) {
	f := serve(t)
	f.answersNothing("DELETE", "/api/threads/T1")
	f.answersNothing("DELETE", "/api/threads/T1?author=ann")
	if got := f.send("POST", "/api/threads/T1/branch", `{"messageId": 7, "sourceId": "s", "name": "n"}`); got.status != http.StatusCreated || got.body["id"] != "T-branch" {
		t.Errorf("branched: %d %s", got.status, got.raw)
	}
	if got := f.send("POST", "/api/threads/T1/branch", ""); got.status != http.StatusCreated {
		t.Errorf("branched at the newest: %d %s", got.status, got.raw)
	}
	last := f.host.asked[len(f.host.asked)-1].(pluginsdk.BranchThreadRequest)
	if last.SourceID == "" || last.Source != "web" || last.MessageID != 0 {
		t.Errorf("asked %+v", last)
	}
	want := []any{
		pluginsdk.DeleteThreadRequest{ID: "T1", Author: "a person"}, pluginsdk.DeleteThreadRequest{ID: "T1", Author: "ann"},
		pluginsdk.BranchThreadRequest{ThreadID: "T1", MessageID: 7, Source: "web", SourceID: "s", Name: "n"},
	}
	if !reflect.DeepEqual(f.host.asked[:3], want) {
		t.Errorf("asked %+v, want %+v", f.host.asked[:3], want)
	}
	f.isProblem(f.send("POST", "/api/threads/T1/branch", `{"messageId": -1}`), http.StatusUnprocessableEntity, "messageId")
	f.host.err = pluginsdk.Errorf(pluginsdk.CodeStale, "run R is not over")
	f.isProblem(f.send("DELETE", "/api/threads/T1", ""), http.StatusConflict, "run R is not over")
}

func TestToolsThatAskAreSet(t *testing.T) {
	f := serve(t)
	f.send("PATCH", "/api/threads/T1", `{"askTools": "Bash"}`)
	f.send("POST", "/api/threads", `{"askTools": "all"}`)
	if patch := f.host.asked[0].(pluginsdk.ThreadPatch); patch.AskTools == nil || *patch.AskTools != "Bash" {
		t.Errorf("asked %+v", patch)
	}
	if made := f.host.asked[1].(pluginsdk.NewThread); made.AskTools != "all" {
		t.Errorf("asked %+v", made)
	}
}

func TestCommandsAreListed(t *testing.T) {
	got := serve(t).send("GET", "/api/commands", "")
	want := map[string]any{"commands": []any{
		map[string]any{"name": "stop", "options": []any{map[string]any{"name": "all", "type": "flag"}}},
		map[string]any{"name": "delegate", "plugin": "delegation"},
	}}
	if !reflect.DeepEqual(got.body, want) {
		t.Errorf("listed %s", got.raw)
	}
}
