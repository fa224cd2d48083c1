package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A conversation in which nothing was said for longer than the limit gets a summary, and its session of the real agent ends; the
// next message begins another one, whose prompt has the summary and what was said since, and the thread keeps all of it. The
// audit log has who has ended the session.
func TestTheRealAgentsSessionEnds(t *testing.T) {
	if !apart(t) {
		return
	}
	in := newInstallation(t, "")
	in.link(filepath.Join(pluginDir, "ahead"), "summaries") // with a clock that is put forward
	ahead := func(by time.Duration) {
		t.Helper()
		next := filepath.Join(t.TempDir(), "ahead")
		if err := os.WriteFile(next, []byte(by.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(filepath.Dir(in.config.Plugins), "ahead")); err != nil {
			t.Fatal(err)
		}
	}
	const gist = "They want the boathouse painted turquoise."
	threads := regexp.MustCompile(`"thread": ?"([^"]+)"`)
	api := in.claude()
	asked := make(chan fakeapi.Request, 10)
	api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		switch {
		case strings.Contains(r.System, "You write notes for an assistant") && len(r.ToolResults()) == 0:
			type row struct {
				Thread string   `json:"thread"`
				Lines  []string `json:"lines"`
				Name   string   `json:"name"`
				Long   string   `json:"long"`
			}
			var rows []row
			for _, match := range threads.FindAllStringSubmatch(r.Prompt(), -1) {
				rows = append(rows, row{match[1], []string{"painting"}, "", gist})
			}
			input, _ := json.Marshal(map[string]any{"threads": rows})
			return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "StructuredOutput", Input: input}}}
		case r.Says("which colour"):
			asked <- r
		}
		return fakeapi.Directed(r)
	})
	in.start()
	var answer json.RawMessage
	change := map[string]any{"values": map[string]any{"rotateIdleHours": 1, "every": 1, "names": false}}
	if status := in.call(http.MethodPatch, "/api/plugins/summaries/settings", change, &answer); status != http.StatusOK {
		t.Fatalf("the settings: %d %s", status, answer)
	}
	watch, thread := in.watch(), in.thread("talk")
	in.say(watch, thread, "the boathouse is to be painted turquoise")
	session := func() (id string) {
		for _, one := range in.threads() {
			if one.ID == thread {
				id = one.SessionID
			}
		}
		return id
	}
	first := session()
	if first == "" {
		t.Fatal("the conversation has no session")
	}
	hours := 0
	in.until("the session has ended", func() bool {
		hours += 3 // that a thread is gone has the plugin look, at a clock that is ahead by more
		ahead(time.Duration(hours) * time.Hour)
		in.call(http.MethodDelete, "/api/threads/"+in.thread(fmt.Sprint("gone ", hours)), nil, nil)
		return session() == ""
	})
	accepted, _ := in.say(watch, thread, "which colour was it")
	select {
	case r := <-asked:
		if text := r.System + strings.Join(r.UserTexts(), "\n"); !strings.Contains(text, gist) {
			t.Errorf("the new session is not told the summary: %s", r.Body)
		}
		if len(r.Messages) > 2 {
			t.Errorf("the new session has the messages of the old one: %s", r.Body)
		}
	default:
		t.Fatal("the model was not asked")
	}
	if second := session(); second == "" || second == first {
		t.Errorf("the session is %q, was %q", second, first)
	}
	var all []string
	for _, row := range in.messages(thread) {
		all = append(all, string(row.Kind)+": "+row.Content)
	}
	said := strings.Join(all, "\n")
	for _, part := range []string{"text: the boathouse is to be painted turquoise", string(pluginsdk.MessageSummary) + ": " + gist, "The agent's session has ended, because there was no message here for 1 hour", "text: which colour was it"} {
		if strings.Count(said, part) != 1 {
			t.Errorf("%q is not there once in\n%s", part, said)
		}
	}
	if in.replyTo(thread, accepted.RunID) == "" {
		t.Error("there is no answer")
	}
	if n := in.count("SELECT count(*) FROM audit_entries WHERE action = 'thread.endsession' AND who = 'plugin:summaries' AND target = '" + thread + "' AND detail = '" + first + "'"); n != 1 {
		t.Errorf("the audit log has the end of the session %d times", n)
	}
}
