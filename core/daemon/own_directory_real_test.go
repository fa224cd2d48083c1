package daemon_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Strangers who talk to the agent have it read what it knows of its owner, in all the ways
// that the CLI goes unasked in the workspace.
func TestTheRealAgentTellsStrangersNothing(t *testing.T) {
	if !apart(t) {
		return
	}
	in := leanInstallation(t, "")
	in.link(filepath.Join(pluginDir, "delegation"), "delegation")
	in.link(filepath.Join(pluginDir, "time"), "time")
	api := in.claude()
	api.Handle(clerk)
	in.start()
	workspace := filepath.Join(in.config.Data, "workspace")
	memory := filepath.Join(workspace, "context", "memory.md")
	if err := os.WriteFile(memory, []byte("the word is xyzzy"), 0o600); err != nil {
		t.Fatal(err)
	}
	var strangers pluginsdk.Thread
	if status := in.call(http.MethodPost, "/api/threads", map[string]any{"name": "strangers", "ownDirectory": true}, &strangers); status != http.StatusCreated {
		t.Fatalf("POST /api/threads: %d", status)
	}
	owners := in.thread("the owner's")
	reads := func(path string) string { return fmt.Sprintf(`use:Read {"file_path":%q}`, path) }
	runs := func(command string) string {
		return fmt.Sprintf(`use:Bash {"command":%q,"description":"look"}`, command)
	}
	knows := func(run pluginsdk.Run) bool { return run.Result != nil && strings.Contains(run.Result.Text, "xyzzy") }

	// Nobody is asked whether the workspace may be read: it may not.
	for _, path := range []string{memory, filepath.Join(strangers.Cwd, "../../../workspace/context/memory.md"), "../../../workspace/context/memory.md"} {
		if run := in.ended(in.chat(strangers.ID, reads(path)).RunID); run.State != pluginsdk.RunSucceeded || knows(run) {
			t.Errorf("Read %s: %s, %+v", path, run.State, run.Result)
		}
	}
	for _, command := range []string{"cat " + memory, "cat < ../../../workspace/context/memory.md", "tac ../../../workspace/context/memory.md", "cd ../../.. && cat workspace/context/memory.md"} {
		accepted := in.chat(strangers.ID, runs(command))
		// 2.1.197 asks about each, 2.1.330 refuses some without a question.
		if approval, asked := in.askedOrEnded(accepted.RunID); asked {
			in.decide(approval, map[string]any{"choice": "deny"})
		}
		if run := in.ended(accepted.RunID); knows(run) {
			t.Errorf("%s: %+v", command, run.Result)
		}
	}
	for _, ask := range []string{reads(memory), runs("cat context/memory.md"), runs("cat < context/memory.md")} {
		if run := in.ended(in.chat(owners, ask).RunID); !knows(run) {
			t.Errorf("the owner's thread, %s: %s, %+v", ask, run.State, run.Result)
		}
	}

	// Work is handed on when people say so, and not before.
	accepted := in.chat(strangers.ID, `use:mcp__harness__delegation__delegate {"task":"write a Makefile"}`)
	if approval, asked := in.askedOrEnded(accepted.RunID); !asked {
		t.Error("work is handed on from a thread apart, and nobody was asked")
	} else {
		in.decide(approval, map[string]any{"choice": "deny"})
	}
	var tasks struct{ Tasks []pluginsdk.Task }
	in.ended(accepted.RunID)
	if in.call(http.MethodGet, "/api/tasks", nil, &tasks); len(tasks.Tasks) > 0 {
		t.Errorf("tasks: %+v", tasks.Tasks)
	}
	if _, asked := in.askedOrEnded(in.chat(strangers.ID, "use:mcp__harness__time__current_time {}").RunID); asked {
		t.Error("the time is asked about")
	}

	// What is its own it reads; the directory comes back when somebody has removed it.
	if err := os.WriteFile(filepath.Join(strangers.Cwd, "own.md"), []byte("ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	if run := in.ended(in.chat(strangers.ID, reads(filepath.Join(strangers.Cwd, "own.md"))).RunID); run.Result == nil || !strings.Contains(run.Result.Text, "ours") {
		t.Errorf("its own file: %s, %+v", run.State, run.Result)
	}
	if err := os.RemoveAll(filepath.Dir(strangers.Cwd)); err != nil {
		t.Fatal(err)
	}
	in.call(http.MethodPost, "/api/chat", map[string]string{"threadId": strangers.ID, "content": "/new"}, nil)
	if run := in.ended(in.chat(strangers.ID, reads(memory)).RunID); run.State != pluginsdk.RunSucceeded || knows(run) {
		t.Errorf("after the directory was removed: %s, %+v, %s", run.State, run.Result, run.Error)
	}
	for _, request := range api.Requests() {
		if body := string(request.Body); strings.Contains(body, "strangers") && strings.Contains(body, "xyzzy") {
			t.Error("the model was told")
		}
	}
}
