// Package walk walks through the dashboard as a person does: in a real browser, on a daemon
// with its plugins as processes.
package walk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/browser"
	"github.com/seed-706843ae/harness/core/coretest/installation"
	"github.com/seed-706843ae/harness/core/coretest/programs"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// bin has harness and the plugins that come with it, and stage has the plugin of the tests;
// built once.
var bin, stage string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv("HARNESS_TEST_CHROMIUM") == "" {
		return m.Run() // everything is left out
	}
	defer browser.EndShared()
	dir, err := os.MkdirTemp("", "harness-walk")
	if err == nil {
		defer os.RemoveAll(dir)
		bin, stage = filepath.Join(dir, "bin"), filepath.Join(dir, "stage")
		err = programs.Installation(bin, "activity", "context", "cron", "delegation", "metrics", "summaries", "time", "validation", "web", "worktree")
	}
	if err == nil {
		err = programs.Build(dir, "core/coretest/walk/stage")
	}
	if err == nil {
		err = placeDriver(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// daemon is a daemon whose owner calls its API.
type daemon struct{ *installation.Installation }

// rule is one of the demo agent's script.
type rule map[string]any

// start starts a daemon whose demo agent answers by these rules.
func start(t *testing.T, rules ...rule) daemon {
	t.Helper()
	programs.Used()
	script := filepath.Join(t.TempDir(), "script.json")
	text, err := json.Marshal(append([]rule{}, rules...))
	if err == nil {
		err = os.WriteFile(script, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return daemon{installation.Start(t, bin, installation.Options{Env: []string{"HARNESS_DEMO_SCRIPT=" + script}})}
}

// object is a JSON object that is sent.
type object map[string]any

// call asks the API. A body that is no reader is sent as JSON; nil: none.
func (d daemon) call(t *testing.T, method, path string, body, into any) {
	t.Helper()
	if status, answer := d.ask(t, method, path, body); status >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, status, answer)
	} else if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			t.Fatalf("%s %s: %v: %s", method, path, err, answer)
		}
	}
}

// ask is call for who wants to see a refusal.
func (d daemon) ask(t *testing.T, method, path string, body any) (status int, answer []byte) {
	t.Helper()
	kind := "application/json"
	sent, raw := body.(io.Reader)
	switch {
	case raw:
		kind = "application/octet-stream"
	case body == nil:
		sent = http.NoBody
	default:
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, d.URL+path, sent)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", kind)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if answer, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, answer
}

// thread makes a thread.
func (d daemon) thread(t *testing.T, fields object) string {
	t.Helper()
	var made pluginsdk.Thread
	d.call(t, http.MethodPost, "/api/threads", fields, &made)
	return made.ID
}

// say says something in a thread, and returns its run.
func (d daemon) say(t *testing.T, thread, author, words string) string {
	t.Helper()
	var accepted pluginsdk.Accepted
	d.call(t, http.MethodPost, "/api/chat", object{"threadId": thread, "author": author, "content": words}, &accepted)
	return accepted.RunID
}

// finish waits until a run is over, and returns it.
func (d daemon) finish(t *testing.T, id string) (over pluginsdk.Run) {
	t.Helper()
	eventually(t, "the end of run "+id, func() bool {
		d.call(t, http.MethodGet, "/api/runs/"+id, nil, &over)
		return over.State.Final()
	})
	return over
}

// task waits until a task is in one of these states, and returns it.
func (d daemon) task(t *testing.T, id string, states ...pluginsdk.TaskStatus) pluginsdk.Task {
	t.Helper()
	var history struct{ Task pluginsdk.Task }
	eventually(t, fmt.Sprintf("task %s to be %v", id, states), func() bool {
		d.call(t, http.MethodGet, "/api/tasks/"+id, nil, &history)
		return slices.Contains(states, history.Task.Status)
	})
	return history.Task
}

// open waits until the agent asks something in a thread, and returns what.
func (d daemon) open(t *testing.T, thread string) pluginsdk.Approval {
	t.Helper()
	var found struct{ Approvals []pluginsdk.Approval }
	eventually(t, "a question in "+thread, func() bool {
		d.call(t, http.MethodGet, "/api/approvals?state=open&below=true&thread="+thread, nil, &found)
		return len(found.Approvals) > 0
	})
	return found.Approvals[0]
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(time.Minute); !holds(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited for %s", what)
		}
	}
}

// pack makes a plugin's package of the stage's program and files beside it, and returns its
// path, which is a directory.
func pack(t *testing.T, manifest object, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), manifest["name"].(string))
	text, err := json.Marshal(manifest)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	program := filepath.Join(dir, manifest["name"].(string))
	if err == nil {
		var bytes []byte
		if bytes, err = os.ReadFile(stage); err == nil {
			err = os.WriteFile(program, bytes, 0o700) //nolint:gosec // a program
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	files["stage.json"] = string(text)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	described, err := exec.Command(program, "--describe").Output() //nolint:gosec // our own
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "plugin.json"), described, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
