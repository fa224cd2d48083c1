package daemon_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A conversation is branched, goes on with what was said, and is deleted for good, by what a
// person types and through the API alike.
func TestThreadsFromBranchToDeletion(t *testing.T) {
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t))
		stop := in.start()
		watching := in.watch()
		thread := in.thread("plans")
		in.say(watching, thread, "the password is swordfish")

		var branch pluginsdk.Thread
		if status := in.call("POST", "/api/threads/"+thread+"/branch", map[string]any{"name": "other plans"}, &branch); status != http.StatusCreated {
			t.Fatalf("branched: %d", status)
		}
		if said := in.messages(branch.ID); len(said) == 0 || !strings.Contains(said[0].Content, "swordfish") {
			t.Fatalf("the branch has %+v", said)
		}
		accepted, _ := in.say(watching, branch.ID, "what was it?")
		in.say(watching, thread, "/thread ask Bash")
		var changed pluginsdk.Thread
		in.call("GET", "/api/threads/"+thread, nil, &changed)
		if changed.AskTools != "Bash" {
			t.Errorf("the thread is %+v", changed)
		}

		in.say(watching, branch.ID, "/thread archive")
		in.call("GET", "/api/threads/"+branch.ID, nil, &changed)
		if changed.Status != pluginsdk.ThreadArchived {
			t.Errorf("the branch is %s", changed.Status)
		}
		deletion := map[string]string{"threadId": branch.ID, "content": "/thread delete " + branch.ID[len(branch.ID)-8:], "idempotencyKey": "once"}
		var gone, again pluginsdk.Accepted
		in.call("POST", "/api/chat", deletion, &gone)
		if status := in.call("POST", "/api/chat", deletion, &again); status != http.StatusAccepted || again.RunID != gone.RunID {
			t.Errorf("the same deletion under the same key: %d, %+v", status, again)
		}
		if primary := in.run(gone.RunID); gone.ThreadID == branch.ID || primary.State != pluginsdk.RunSucceeded {
			t.Errorf("answered in %s, the run is %s", gone.ThreadID, primary.State)
		}
		for _, path := range []string{"", "/messages"} {
			if status := in.call("GET", "/api/threads/"+branch.ID+path, nil, nil); status != http.StatusNotFound {
				t.Errorf("the deleted thread%s: %d", path, status)
			}
		}
		if status := in.call("DELETE", "/api/threads/"+thread, nil, nil); status != http.StatusNoContent {
			t.Errorf("deleted: %d", status)
		}
		var primary struct{ Threads []pluginsdk.Thread }
		in.call("GET", "/api/threads?kind=primary", nil, &primary)
		if status := in.call("DELETE", "/api/threads/"+primary.Threads[0].ID, nil, nil); status != http.StatusConflict {
			t.Errorf("the primary thread: %d", status)
		}
		in.until("the end of the removal", func() bool {
			return in.count("SELECT COUNT(*) FROM thread_removals") == 0 && in.count("SELECT COUNT(*) FROM runs WHERE id = '"+accepted.RunID+"'") == 0
		})
		if left := in.count("SELECT COUNT(*) FROM messages WHERE content LIKE '%swordfish%'"); left != 0 {
			t.Errorf("%d rows still say it", left)
		}
		if audited := in.count("SELECT COUNT(*) FROM audit_entries WHERE action = 'thread.delete'"); audited != 2 {
			t.Errorf("%d deletions are in the audit log", audited)
		}
		stop()
		if problems, err := in.database().Integrity(t.Context()); err != nil || len(problems) > 0 {
			t.Errorf("the database is not sound: %q, %v", problems, err)
		}
	})
}

// A daemon that was killed between a deletion and the removal of what is left leaves that to
// the next one.
func TestTheNextDaemonRemovesWhatIsLeft(t *testing.T) {
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := leanInstallation(t, database(t))
		stop := in.start()
		thread := in.thread("plans")
		in.say(in.watch(), thread, "hello")
		stop()
		store := in.database()
		if _, err := store.DeleteThread(t.Context(), thread, "ann"); err != nil {
			t.Fatal(err)
		}
		if in.count("SELECT COUNT(*) FROM messages WHERE thread_id = '"+thread+"'") == 0 {
			t.Fatal("nothing is left to be removed")
		}
		in.start()
		in.until("the removal", func() bool {
			return in.count("SELECT COUNT(*) FROM messages WHERE thread_id = '"+thread+"'")+in.count("SELECT COUNT(*) FROM thread_removals") == 0
		})
	})
}

// What the agent changes of its files in a turn is noted as that turn's, and what a person
// writes as theirs.
func TestContextFilesHaveAHistory(t *testing.T) {
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := leanInstallation(t, database(t))
		in.demo(`[{"match": "remember", "delay": 1500, "text": "I do"}]`)
		in.start()
		watching := in.watch()
		accepted := in.chat(in.thread("a"), "remember this")
		in.until("the turn", func() bool {
			return in.count("SELECT COUNT(*) FROM runs WHERE id = '"+accepted.RunID+"' AND step = '"+string(pluginsdk.StepInvoking)+"'") == 1
		})
		memory := filepath.Join(in.config.Data, "workspace", "context", "memory.md")
		if err := os.WriteFile(memory, []byte("learned"), 0o600); err != nil {
			t.Fatal(err)
		}
		watching.end(accepted.RunID)
		query := "?path=" + url.QueryEscape("context/memory.md")
		var history struct{ Changes []pluginsdk.WorkspaceChange }
		in.until("the note of it", func() bool {
			return in.count("SELECT COUNT(*) FROM workspace_changes WHERE kind = 'agent'") == 1
		})
		in.call("GET", "/api/context/history"+query, nil, &history)
		if len(history.Changes) != 2 || history.Changes[0].RunID != accepted.RunID || history.Changes[1].Kind != pluginsdk.ChangeOutside {
			t.Errorf("the history is %+v", history.Changes)
		}
		var file struct{ Version, Text string }
		in.call("GET", "/api/context/file"+query, nil, &file)
		write := func(text, version string) int {
			return in.call("PUT", "/api/context/file"+query, map[string]any{"text": text, "version": version}, nil)
		}
		if status := write("corrected", file.Version); file.Text != "learned" || status != http.StatusOK {
			t.Errorf("read %+v, wrote %d", file, status)
		}
		if status := write("corrected otherwise", file.Version); status != http.StatusConflict {
			t.Errorf("wrote an old version: %d", status)
		}
		if text, err := os.ReadFile(memory); err != nil || string(text) != "corrected" {
			t.Errorf("the file says %q, %v", text, err)
		}
		in.call("GET", "/api/context/history"+query, nil, &history)
		if len(history.Changes) != 4 || history.Changes[0].Kind != pluginsdk.ChangeRefused || history.Changes[1].Author != daemon.OwnerName {
			t.Errorf("the history is %+v", history.Changes)
		}
		var commands struct{ Commands []pluginsdk.Command }
		in.call("GET", "/api/commands", nil, &commands)
		if len(commands.Commands) < 9 {
			t.Errorf("commands %+v", commands)
		}
	})
}
