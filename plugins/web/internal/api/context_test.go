package api_test

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestContextFilesAreReadAndWritten(t *testing.T) {
	f := serve(t)
	f.host.files = []pluginsdk.WorkspaceFile{{Path: "CLAUDE.md", Version: "v2", Size: 3}}
	f.host.texts = map[string]string{"context/a b.md": "now", "context/a b.md@v1": "then"}
	if got := f.send("GET", "/api/context", ""); !strings.Contains(got.raw, `"path":"CLAUDE.md","version":"v2"`) {
		t.Errorf("listed %s", got.raw)
	}
	path := "?path=" + url.QueryEscape("context/a b.md")
	if got := f.send("GET", "/api/context/file"+path, ""); got.body["text"] != "now" || got.body["version"] != "v2" || got.body["path"] != "context/a b.md" {
		t.Errorf("got %s", got.raw)
	}
	if got := f.send("GET", "/api/context/file"+path+"&version=v1", ""); got.body["text"] != "then" {
		t.Errorf("got %s", got.raw)
	}
	if got := f.send("PUT", "/api/context/file"+path, `{"text": "new", "version": "v2", "author": "ann"}`); got.status != http.StatusOK || got.body["version"] != "v3" {
		t.Errorf("wrote %d %s", got.status, got.raw)
	}
	if got := f.send("PUT", "/api/context/file"+path, `{"text": ""}`); got.status != http.StatusOK {
		t.Errorf("wrote %d %s", got.status, got.raw)
	}
	f.answersNothing("DELETE", "/api/context/file"+path+"&version=v2")
	if got := f.send("GET", "/api/context/history"+path+"&before=9&limit=3", ""); !strings.Contains(got.raw, `"kind":"agent"`) {
		t.Errorf("got %s", got.raw)
	}
	want := []any{
		pluginsdk.WriteWorkspaceRequest{Path: "context/a b.md", Text: "new", Version: "v2", Author: "ann"},
		pluginsdk.WriteWorkspaceRequest{Path: "context/a b.md", Author: "a person"},
		pluginsdk.DeleteWorkspaceRequest{Path: "context/a b.md", Version: "v2", Author: "a person"},
		pluginsdk.WorkspaceHistoryRequest{Path: "context/a b.md", Before: 9, Limit: 3},
	}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked\n%+v, want\n%+v", f.host.asked, want)
	}
}

// Who is refused sees what the file says, and needs no second question to decide.
func TestAContextConflictShowsTheFile(t *testing.T) {
	f := serve(t)
	f.host.texts = map[string]string{"CLAUDE.md": "the agent's"}
	f.host.err = pluginsdk.Errorf(pluginsdk.CodeConflict, "version: CLAUDE.md is of the version v2")
	for _, got := range []answer{
		f.send("PUT", "/api/context/file?path=CLAUDE.md", `{"text": "mine", "version": "v1"}`), f.send("DELETE", "/api/context/file?path=CLAUDE.md&version=v1", ""),
	} {
		f.isProblem(got, http.StatusConflict, "of the version v2")
		current, _ := got.body["current"].(map[string]any)
		if current["text"] != "the agent's" || current["version"] != "v2" {
			t.Errorf("the problem shows %s", got.raw)
		}
	}
	if got := f.send("PUT", "/api/context/file?path=gone.md", `{"text": "mine", "version": "v1"}`); got.body["current"] != nil {
		t.Errorf("the problem shows %s", got.raw)
	}
	f.host.err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "path: no")
	if got := f.send("PUT", "/api/context/file?path=x", `{"text": "mine"}`); got.status/100 != 4 || got.status == http.StatusConflict {
		t.Errorf("a bad path is %d %s", got.status, got.raw)
	}
	f.isProblem(f.send("PUT", "/api/context/file", `{"text": "mine"}`), http.StatusUnprocessableEntity, "path")
	f.isProblem(f.send("PUT", "/api/context/file?path=a", `{"version": "v"}`), http.StatusUnprocessableEntity, "text")
	f.isProblem(f.send("DELETE", "/api/context/file?path=a", ""), http.StatusUnprocessableEntity, "version")
}
