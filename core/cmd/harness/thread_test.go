package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recorder is an API that remembers what it was asked, and answers from a table by METHOD PATH.
func recorder(t *testing.T, answers map[string]string) (url string, asked *[]string) {
	t.Helper()
	asked = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		line := strings.TrimSpace(r.Method + " " + r.URL.RequestURI() + " " + string(body))
		*asked = append(*asked, line)
		answer, ok := answers[r.Method+" "+r.URL.RequestURI()]
		status := http.StatusOK
		switch {
		case !ok:
			status, answer = http.StatusNotFound, `{"status": 404, "detail": "there is none"}`
		case answer == "":
			status = http.StatusNoContent
		case strings.HasPrefix(answer, "409"):
			status, answer = http.StatusConflict, answer[3:]
		}
		w.Header().Set("Content-Type", "application/json")
		if status >= http.StatusBadRequest {
			w.Header().Set("Content-Type", "application/problem+json")
		}
		w.WriteHeader(status)
		if answer != "" {
			fmt.Fprint(w, answer)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// What can be typed in a thread can be done from the shell.
func TestThreadsAreChangedFromTheShell(t *testing.T) {
	isolate(t)
	const thread = `{"id": "T1", "name": "plans", "kind": "general", "status": "active", "busyMode": "queue", "model": "opus"}`
	url, asked := recorder(t, map[string]string{
		"POST /api/threads": thread, "GET /api/threads/T1": thread, "PATCH /api/threads/T1": thread, "POST /api/threads/T1/branch": `{"id": "T2"}`,
		"DELETE /api/threads/T1": "",
	})
	for _, row := range []struct{ args, out, asked string }{
		{"new plans", "T1\n", `POST /api/threads {"name":"plans"}`},
		{"show T1", "opus", "GET /api/threads/T1"},
		{"rename T1 trip", `"plans"`, `PATCH /api/threads/T1 {"name":"trip"}`},
		{"archive T1", "is archived", `PATCH /api/threads/T1 {"status":"archived"}`},
		{"unarchive T1", "in use again", `PATCH /api/threads/T1 {"status":"active"}`},
		{"set T1 model=opus ask=Bash dir=default busy=default", "opus", `PATCH /api/threads/T1 {"askTools":"Bash","busyMode":"queue","cwd":"","model":"opus"}`},
		{"branch T1 --at 7 --name x", "T2\n", `POST /api/threads/T1/branch {"messageId":7,"name":"x"}`},
		{"delete T1 --yes", "is deleted", "DELETE /api/threads/T1"},
	} {
		got := harness(t, "", append(append([]string{"thread"}, strings.Fields(row.args)...), "--url", url)...)
		if got.code != 0 || !strings.Contains(got.out, row.out) || (*asked)[len(*asked)-1] != row.asked {
			t.Errorf("thread %s: %+v; asked %q, want %q", row.args, got, (*asked)[len(*asked)-1], row.asked)
		}
	}
	before := len(*asked)
	for args, want := range map[string]string{
		"delete T1": "--yes", "set T1 model": "FIELD=VALUE", "show T9": "there is none", "branch T1 --at -1": "--at",
	} {
		got := harness(t, "", append(append([]string{"thread"}, strings.Fields(args)...), "--url", url)...)
		if got.code == 0 || !strings.Contains(got.err, want) {
			t.Errorf("thread %s: %+v, want %q", args, got, want)
		}
	}
	for _, line := range (*asked)[before:] {
		if !strings.HasPrefix(line, "GET ") {
			t.Errorf("what was refused was asked: %s", line)
		}
	}
}

// A person's edit is written with the version that they have seen, and is not lost when the
// agent was faster.
func TestContextIsEditedInAnEditor(t *testing.T) {
	isolate(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", "sed -i s/old/mine/")
	const path = "?path=context%2Fmemory.md"
	old, err := json.Marshal(map[string]string{"path": "context/memory.md", "version": "aaaaaaaaaaaaaaaa", "text": "old"})
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{
		"GET /api/context/file" + path: string(old), "PUT /api/context/file" + path: `{"path": "context/memory.md", "version": "bbbbbbbbbbbbbbbb", "size": 4}`,
		"GET /api/context": `{"files": [{"path": "CLAUDE.md", "version": "cccccccccccccccc", "size": 5, "modifiedAt": "2026-01-02T03:04:05Z"}]}`,
		"GET /api/context/history?before=0&limit=500&path=context%2Fmemory.md": `{"changes": [{"id": 3, "path": "context/memory.md", "kind": "agent", "version": "dddddddddddddddd"}]}`,
		"GET /api/context/history?before=3&limit=500&path=context%2Fmemory.md": `{"changes": []}`,
		"GET /api/context/history?before=0&limit=50":                           `{"changes": [{"id": 3, "path": "context/memory.md", "kind": "agent", "runId": "R1", "version": "dddddddddddddddd", "at": "2026-01-02T03:04:05Z"}]}`,
		"GET /api/context/file" + path + "&version=dddddddddddddddd":           `{"path": "context/memory.md", "version": "dddddddddddddddd", "text": "then"}`,
	}
	url, asked := recorder(t, answers)
	run := func(want string, args ...string) result {
		t.Helper()
		got := harness(t, "from the pipe", append(append([]string{"context"}, args...), "--url", url)...)
		if !strings.Contains(got.out+got.err, want) {
			t.Errorf("context %q: %+v, want %q", args, got, want)
		}
		return got
	}
	run("bbbbbbbbbbbb)", "edit", "context/memory.md")
	run("4 bytes", "edit", "context/memory.md", "--file", "-")
	run("CLAUDE.md  5", "list")
	run("old", "show", "context/memory.md")
	run("then", "show", "context/memory.md", "--version", "dddddd")
	run("the agent, run R1", "history")
	run("again", "restore", "context/memory.md", "dddddd")
	run("none that begins", "restore", "context/memory.md", "eeeeee")
	puts := slices.DeleteFunc(slices.Clone(*asked), func(line string) bool { return !strings.HasPrefix(line, "PUT") })
	want := []string{
		"PUT /api/context/file" + path + ` {"text":"mine","version":"aaaaaaaaaaaaaaaa"}`,
		"PUT /api/context/file" + path + ` {"text":"from the pipe","version":"aaaaaaaaaaaaaaaa"}`,
		"PUT /api/context/file" + path + ` {"text":"then","version":"aaaaaaaaaaaaaaaa"}`,
	}
	if !slices.Equal(puts, want) {
		t.Errorf("asked %q, want %q", puts, want)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "harness-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	answers["PUT /api/context/file"+path] = `409{"status": 409, "detail": "it is of the version eeee"}`
	got := run("it is of the version eeee", "edit", "context/memory.md")
	left, err := filepath.Glob(filepath.Join(dir, "harness-*"))
	if err != nil || len(left) != 1 || got.code == 0 || !strings.Contains(got.err, left[0]) {
		t.Fatalf("%+v; kept %q, %v", got, left, err)
	}
	if text, err := os.ReadFile(left[0]); err != nil || string(text) != "mine" {
		t.Errorf("kept is %q, %v", text, err)
	}
	t.Setenv("EDITOR", "true")
	run("Nothing was changed", "edit", "context/memory.md")
	t.Setenv("EDITOR", "")
	run("EDITOR", "edit", "context/memory.md")
}

// Who mistypes a field is told which ones there are.
func TestAFieldThatThereIsNotIsNamed(t *testing.T) {
	isolate(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"status":422,"detail":"validation failed: body.colour: unexpected property"}`))
	}))
	t.Cleanup(server.Close)
	harness(t, "", "thread", "set", "T1", "colour=red", "--url", server.URL).want(t, exitFailed, "",
		"body.colour: unexpected property; FIELD is model, effort, permission, dir, instructions, account, busy, ask, name")
}
