package daemon_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// claude makes the installation use the real CLI against a fake API. It sets what is the
// whole process's: the test is to be apart.
func (in *installation) claude() *fakeapi.Server {
	in.t.Helper()
	binary := os.Getenv("HARNESS_TEST_CLAUDE")
	if binary == "" {
		in.t.Skip("left out: needs the real Claude CLI; `make test` installs it, or set HARNESS_TEST_CLAUDE")
	}
	api := fakeapi.Start(in.t)
	for _, variable := range fakeapi.Env(api.URL(), in.t.TempDir()) {
		name, value, _ := strings.Cut(variable, "=")
		in.t.Setenv(name, value)
	}
	in.t.Setenv("CLAUDE_CODE_MAX_RETRIES", "0")
	in.config.Agent, in.config.ClaudeBinary = "claude", binary
	return api
}

// prompts returns what the API was sent as the newest message, by the
// conversation's own turns.
func prompts(api *fakeapi.Server) []string {
	var prompts []string
	for _, request := range api.Requests(fakeapi.Main) {
		prompts = append(prompts, strings.Join(request.Newest(), "\n"))
	}
	return prompts
}

// The main job with nothing faked but the model: four plugins in processes of
// their own, the real CLI, the API's view of the prompt, the thread's rows and
// the events.
func TestTurnsWithTheRealAgent(t *testing.T) {
	if !apart(t) {
		return
	}
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t))
		api := in.claude()
		in.start()
		memory := filepath.Join(in.config.Data, "workspace", "context", "memory.md")
		if err := os.WriteFile(memory, []byte("The person likes plums.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		watch := in.watch()
		thread := in.thread("a thread")
		in.say(watch, thread, "say:An early answer.")
		in.say(watch, thread, "/new")

		accepted, events := in.say(watch, thread, "think: say:A late answer.")
		seen := prompts(api)
		inOrder(t, seen[len(seen)-1],
			"Current time: ",
			"# Context", "## memory.md", "The person likes plums.", "## world-state.md",
			"# Conversation History", "[user]: say:An early answer.", "[assistant]: An early answer.",
			"[thread "+thread, "# Since your last turn", "fresh session", "think: say:A late answer.")
		checkRows(t, in.messages(thread), accepted)
		checkEvents(t, in, events)

		in.say(watch, thread, "say:A third answer.")
		seen = prompts(api)
		last := seen[len(seen)-1]
		if strings.Contains(last, "# Conversation History") || strings.Contains(last, "# Recap") {
			t.Errorf("the warm session was given the history again: %s", last)
		}
		first := in.run(accepted.RunID).SessionID
		now, err := in.database().Thread(t.Context(), thread)
		if err != nil || now.SessionID != first {
			t.Errorf("session %s became %s (%v)", first, now.SessionID, err)
		}
		clis := slices.DeleteFunc(marked(t, in), func(p string) bool { return !strings.Contains(p, "stream-json") })
		if len(clis) != 1 {
			t.Errorf("CLI processes: %v", clis)
		}
	})
}

func inOrder(t *testing.T, text string, wants ...string) {
	t.Helper()
	at := 0
	for _, want := range wants {
		found := strings.Index(text[at:], want)
		if found < 0 {
			t.Fatalf("%q is missing, or out of order, in:\n%s", want, text)
		}
		at += found + len(want)
	}
}

func checkRows(t *testing.T, rows []pluginsdk.Message, accepted pluginsdk.Accepted) {
	t.Helper()
	var got []string
	for _, row := range rows {
		if row.RunID == accepted.RunID {
			got = append(got, string(row.Role)+"/"+string(row.Kind)+" "+row.Content)
		}
	}
	want := []string{
		"user/text think: say:A late answer.",
		"system/status Pipeline started",
		"system/pipeline_step onMessage", "system/pipeline_step onBeforeInvoke",
		"system/pipeline_step invoking", "system/pipeline_step onAfterInvoke",
		"assistant/thinking ",
		"system/status Pipeline completed",
		"assistant/text A late answer.",
	}
	for i := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], want[i]) || len(got) != len(want) {
			t.Fatalf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// checkEvents wants the documented order, and a reader that fetches when the
// last one comes to find the reply.
func checkEvents(t *testing.T, in *installation, events []wire) {
	t.Helper()
	var got []string
	for _, event := range events {
		name := event.Event
		if strings.Contains(name, "step") {
			name += " " + strings.Split(string(event.Data), `"step":"`)[1]
			name = name[:strings.Index(name, `"`)]
		}
		if len(got) == 0 || got[len(got)-1] != name {
			got = append(got, name)
		}
	}
	want := "chat:message; pipeline:start; pipeline:step onMessage; pipeline:step onBeforeInvoke; pipeline:step invoking; " +
		"pipeline:stream; pipeline:step onAfterInvoke; pipeline:complete"
	if strings.Join(got, "; ") != want {
		t.Errorf("events %s\nwant   %s", strings.Join(got, "; "), want)
	}
	for i := 1; i < len(events); i++ {
		if events[i].Seq <= events[i-1].Seq {
			t.Errorf("event %d after %d", events[i].Seq, events[i-1].Seq)
		}
	}
	last := in.run(events[0].runID())
	if last.State != pluginsdk.RunSucceeded {
		t.Errorf("on pipeline:complete the run is %s", last.State)
	}
}

// Trouble with the agent, all of it in one conversation: a clear line in the thread, nothing of
// it as the assistant's words, and the next message works.
func TestTroubleWithTheAgent(t *testing.T) {
	if !apart(t) {
		return
	}
	in := leanInstallation(t, "")
	api := in.claude()
	in.config.MaxAttempts = 2
	in.config.SilenceTimeout = 8 * time.Second // a busy machine starts the CLI in less
	in.config.ClaudeBinary = filepath.Join(t.TempDir(), "claude")
	in.start()
	watch, thread := in.watch(), in.thread("trouble")
	for _, row := range []struct {
		name, message, says string
		during              func(asked int)
		after               func()
	}{
		{name: "missing", message: "say:x", says: "npm install",
			after: func() {
				if err := os.Symlink(os.Getenv("HARNESS_TEST_CLAUDE"), in.config.ClaudeBinary); err != nil {
					in.t.Fatal(err)
				}
			}},
		{name: "401", message: "apierror:401", says: "401"},
		{name: "529", message: "apierror:529", says: "529"},
		{name: "exits in mid-turn", message: "block:exits", says: "ended",
			during: func(asked int) {
				for n := 1; n <= 2; n++ { // both attempts
					api.WaitRequests(in.t, asked+n, fakeapi.Main)
					in.killCLI()
				}
			},
			after: func() { api.Release("exits") }},
		{name: "goes silent in mid-turn", message: "block:silent", says: "no sign of life",
			after: func() { api.Release("silent") }},
	} {
		in.subtest(row.name, func(t *testing.T) {
			asked := len(api.Requests(fakeapi.Main))
			accepted := in.chat(thread, row.message)
			if row.during != nil {
				row.during(asked)
			}
			events := watch.end(accepted.RunID)
			if last := events[len(events)-1]; last.Event != string(pluginsdk.EventPipelineError) {
				t.Fatalf("ended with %s", last.Event)
			}
			checkTrouble(t, in.messages(thread), accepted, row.says)
			if row.after != nil {
				row.after()
			}
			next, _ := in.say(watch, thread, "say:All is well.")
			if run := in.run(next.RunID); run.State != pluginsdk.RunSucceeded || run.Result.Text != "All is well." {
				t.Errorf("the next message: %s %s", run.State, run.Error)
			}
		})
	}
}

func checkTrouble(t *testing.T, rows []pluginsdk.Message, accepted pluginsdk.Accepted, says string) {
	t.Helper()
	told := 0
	for _, row := range rows {
		switch {
		case row.RunID != accepted.RunID || row.Role == pluginsdk.RoleUser:
		case row.Role == pluginsdk.RoleAssistant && row.Kind == pluginsdk.MessageText:
			t.Errorf("stored as the assistant's words: %q", row.Content)
		case strings.Contains(string(row.Metadata), "pipeline_error"):
			told++
			t.Logf("the person is told: %s", row.Content)
			if !strings.Contains(row.Content, says) {
				t.Errorf("the person is told %q, which does not say %q", row.Content, says)
			}
		}
	}
	if told != 1 {
		t.Errorf("the person is told %d times", told)
	}
}

// killCLI ends the agent's process the hard way.
func (in *installation) killCLI() {
	in.t.Helper()
	in.until("a CLI to kill", func() bool {
		for _, process := range marked(in.t, in) {
			if strings.Contains(process, "stream-json") {
				pid, _ := strconv.Atoi(strings.Fields(process)[0])
				return syscall.Kill(pid, syscall.SIGKILL) == nil
			}
		}
		return false
	})
}

// A session that the CLI does not know any more must not fail every turn.
func TestUnknownSessionIsReplacedWithHistory(t *testing.T) {
	if !apart(t) {
		return
	}
	in := newInstallation(t, "")
	api := in.claude()
	in.start()
	watch := in.watch()
	thread := in.thread("stale")
	in.say(watch, thread, "say:Before the loss.")
	in.sql(`UPDATE threads SET session_id = '00000000-0000-4000-8000-000000000000' WHERE id = '` + thread + `'`)
	accepted, _ := in.say(watch, thread, "say:After the loss.")
	if run := in.run(accepted.RunID); run.State != pluginsdk.RunSucceeded || run.Attempt != 1 {
		t.Fatalf("run %s: %s", run.State, run.Error)
	}
	seen := prompts(api)
	inOrder(t, seen[len(seen)-1], "# Conversation History", "[assistant]: Before the loss.", "say:After the loss.")
}

// kill -9 of the daemon while the agent works: its processes, those of its
// tools included, are gone after the start, and the turn is taken up again
// with words that say what happened.
func TestKilledDaemonLeavesNoAgentBehind(t *testing.T) {
	if !apart(t) {
		return
	}
	withRealAgent(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t))
		api := in.claude()
		in.config.AllowedTools = []string{"Bash"}
		in.spawn()
		thread := in.thread("doomed")
		in.chat(thread, "say:The first answer.")
		working := in.chat(thread, `usetool:Bash {"command":"sleep 1000","description":"wait"}`)
		in.until("the tool's process", func() bool {
			return slices.ContainsFunc(marked(t, in), func(p string) bool { return strings.HasSuffix(p, " sleep 1000 ") })
		})
		before := api.Requests(fakeapi.Main)
		in.kill()
		old := marked(t, in)
		api.Handle(func(fakeapi.Request) fakeapi.Reply { return fakeapi.Reply{Text: "Taken up again."} })
		in.spawn()
		in.until("the end of the run", func() bool { return in.run(working.RunID).State.Final() })
		if run := in.run(working.RunID); run.State != pluginsdk.RunSucceeded || run.Result.Text != "Taken up again." {
			t.Errorf("run %s: %s", run.State, run.Error)
		}
		for _, process := range old {
			if slices.Contains(marked(t, in), process) {
				t.Errorf("still there: %s", process)
			}
		}
		resumed := api.Requests(fakeapi.Main)[len(before):]
		text := strings.Join(resumed[len(resumed)-1].UserTexts(), "\n")
		inOrder(t, text, "# Recap", "The first answer.", "were interrupted", "usetool:Bash")
		in.quit()
	})
}

// A message that comes during a turn goes into it: one reply for both, and one
// CLI process.
func TestMessageIsSteeredIntoTheRunningTurn(t *testing.T) {
	if !apart(t) {
		return
	}
	withRealAgent(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t))
		api := in.claude()
		in.config.AllowedTools = []string{"Bash(sleep:*)"}
		in.start()
		watch := in.watch()
		thread := in.busyThread(pluginsdk.BusySteer)
		running := in.chat(thread, `usetool:Bash {"command":"sleep 2"}`)
		for event := watch.next(); !strings.Contains(string(event.Data), string(pluginsdk.StreamToolCall)); event = watch.next() {
		}
		steered := in.chat(thread, "Use the blue one.")
		watch.end(running.RunID)
		if run := in.run(steered.RunID); run.State != pluginsdk.RunMerged || run.MergedInto != running.RunID {
			t.Errorf("the steered run %+v", run)
		}
		if n := len(api.Requests(fakeapi.Main, fakeapi.Seeing("Use the blue one."))); n == 0 {
			t.Error("the model never saw the message")
		}
		if in.replyTo(thread, running.RunID) == "" {
			t.Error("there is no reply")
		}
	})
}
