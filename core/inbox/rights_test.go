package inbox

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A plugin that may submit messages could otherwise stop everybody's turns, or give
// threads another model, by writing the command for it.
func TestWhatACommandNeeds(t *testing.T) {
	f := newFixture(t, Config{}, Command{Plugin: "shop", Spec: pluginsdk.CommandSpec{Name: "buy"}})
	for content, want := range map[string]pluginsdk.Capability{
		"/stop": pluginsdk.CapRunsControl, "/stop all": pluginsdk.CapRunsControl, " /retry ": pluginsdk.CapRunsControl,
		"/tasks": pluginsdk.CapTasksRead, "/tasks 1a2b3c": pluginsdk.CapTasksRead, "/tasks approve 1a2b3c": pluginsdk.CapTasksDecide,
		"/new": pluginsdk.CapThreadsWrite, "/model opus": pluginsdk.CapThreadsWrite, "/busy steer": pluginsdk.CapThreadsWrite,
		"/thread archive": pluginsdk.CapThreadsWrite, "/thread": "", "/thread dir /x": pluginsdk.CapThreadsAdmin, "/tasks cancel 1a2b3c": pluginsdk.CapTasksDecide,
		"/model": "", "/busy": "", "/help": "", "/status": "", "/buy milk": "", "/nonsense": "",
		"hello": "", "say /stop": "", "/etc/stop is a file": "",
	} {
		if got, needs := f.Needs(content); needs != (want != "") || needs && got != want {
			t.Errorf("%q needs %q (%v), want %q", content, got, needs, want)
		}
	}
	for _, name := range Reserved() { // what the check misses, the inbox must not carry out
		if _, _, ok := pluginsdk.ParseCommand("/" + name); !ok {
			t.Errorf("/%s is not read as a command", name)
		}
	}
}

// What is answered at once is stored at once, whatever waits in the queues: who counts
// it must not take a message, or a plugin's command, for one.
func TestWhatIsAnsweredAtOnce(t *testing.T) {
	f := newFixture(t, Config{}, Command{Plugin: "shop", Spec: pluginsdk.CommandSpec{Name: "buy"}})
	for content, want := range map[string]bool{
		"/stop": true, "/help me": true, " /nonsense ": true, "/buy milk": false, "hello": false, "/etc/hosts": false, "say /help": false,
	} {
		if got := f.AtOnce(content); got != want {
			t.Errorf("%q at once: %v", content, got)
		}
	}
}

// Who stopped a turn is what its people ask first.
func TestATypedStopSaysWhoseWordItWas(t *testing.T) {
	for want, typed := range map[string]struct {
		plugin string
		pluginsdk.Submission
	}{
		"stopped by ann, through discord":            {"discord", pluginsdk.Submission{Author: "ann"}},
		"stopped by a person, through discord":       {"discord", pluginsdk.Submission{}},
		"stopped by a person":                        {"", pluginsdk.Submission{}},
		"stopped by the plugin discord":              {"discord", pluginsdk.Submission{CauseRunID: "R"}},
		"stopped by ann  I am core, through discord": {"discord", pluginsdk.Submission{Author: "ann\n\x1bI am core\n"}},
		"stopped by " + strings.Repeat("x", maxAuthor) + "…, through discord": {"discord",
			pluginsdk.Submission{Author: strings.Repeat("x", 10_000)}},
	} {
		f := newFixture(t, Config{})
		entered := make(chan struct{})
		f.line.handle = func(ctx context.Context, _ ledger.Claim) error {
			close(entered)
			<-ctx.Done()
			if got := context.Cause(ctx).Error(); got != want {
				t.Errorf("the turn was %q, want %q", got, want)
			}
			return nil
		}
		f.begin(t)
		f.submit(t, "T", "1", "long")
		<-entered
		typed.ThreadID, typed.Source, typed.Key, typed.Content = "T", "discord", "2", "/stop"
		if _, err := f.Submit(t.Context(), typed.plugin, typed.Submission); err != nil {
			t.Fatal(err)
		}
		f.store.until(t, "the end of the run", f.store.allFinal)
	}
}

// A person's word on a task is the one thing that an agent must not have: it would accept
// its own work.
func TestAWordOnATaskIsAPersons(t *testing.T) {
	f := newFixture(t, Config{})
	submit := func(key, author, cause, content string) string {
		t.Helper()
		accepted, err := f.Submit(t.Context(), "discord", pluginsdk.Submission{
			ThreadID: "T", Source: "discord", Key: key, Author: author, CauseRunID: cause, Content: content,
		})
		if err != nil {
			t.Fatal(err)
		}
		run, err := f.store.Run(t.Context(), accepted.RunID)
		if err != nil {
			t.Fatal(err)
		}
		return string(run.State)
	}
	for n, typed := range []struct{ author, cause, content, state string }{
		{"ann", "", "/tasks approve 1a2b3c", "succeeded"},
		{"", "", "/tasks approve 1a2b3c", "succeeded"},
		{"ann", "R", "/tasks approve 1a2b3c", "failed"},
		{"", "R", "/tasks approve 1a2b3c", "failed"},
		{"", "R", "/tasks 1a2b3c", "succeeded"},
		{strings.Repeat("x", maxAuthor+1), "", "/tasks", "succeeded"},
	} {
		if state := submit(strconv.Itoa(n), typed.author, typed.cause, typed.content); state != typed.state {
			t.Errorf("%+v is %s", typed, state)
		}
	}
	submit("0", "ann", "", "/tasks approve 1a2b3c") // repeated, it is not carried out again
	want := []string{
		"T: ann|discord says approve 1a2b3c", "T: a person|discord says approve 1a2b3c", "T: |discord says 1a2b3c",
		"T: " + strings.Repeat("x", maxAuthor) + "…|discord says ",
	}
	if !slices.Equal(f.desk.asked, want) {
		t.Errorf("asked %q", f.desk.asked)
	}
}

// An answer of the core that nobody carries is never seen in a channel.
func TestAnswersOfTheCoreAreCarried(t *testing.T) {
	f := newFixture(t, Config{})
	f.submit(t, "T", "1", "/help")
	f.submit(t, "T", "2", "hello")
	if !slices.Equal(f.outbox.lanes, []string{"discord:general"}) {
		t.Errorf("woken: %v", f.outbox.lanes)
	}
}

// A message that is given again is still its plugin's.
func TestWhoSubmittedIsKept(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 1})
	f.line.handle = func(context.Context, ledger.Claim) error {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "not now")
	}
	f.begin(t)
	failed, err := f.Submit(t.Context(), "discord", pluginsdk.Submission{ThreadID: "T", Source: "discord", Key: "1", Content: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	f.store.until(t, "the failure", f.store.allFinal)
	if _, err := f.Retry(t.Context(), failed.RunID, ledger.By{}); err != nil {
		t.Fatal(err)
	}
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	for _, run := range f.store.runs {
		if got := f.store.plugins[run.ID]; got != "discord" {
			t.Errorf("submitted by %q", got)
		}
	}
}

// Whoever may talk may not therefore decide. What is refused is neither stored nor done, and
// the refusal names the right.
func TestACommandNeedsTheRightOfWhoHasTypedIt(t *testing.T) {
	ranks := []pluginsdk.TokenScope{pluginsdk.ScopeRead, pluginsdk.ScopeChat, pluginsdk.ScopeApprove, pluginsdk.ScopeWork, pluginsdk.ScopeAdmin}
	for content, needed := range map[string]pluginsdk.TokenScope{
		"/tasks approve 1a2b3c": pluginsdk.ScopeApprove, "/tasks reject 1a2b3c no": pluginsdk.ScopeApprove, " /tasks cancel 1a2b3c": pluginsdk.ScopeApprove,
		"/tasks\napprove 1a2b3c": pluginsdk.ScopeApprove, "/tasks": pluginsdk.ScopeChat, "/tasks 1a2b3c": pluginsdk.ScopeChat,
		"/model opus": pluginsdk.ScopeApprove, "/model": pluginsdk.ScopeChat, "/thread model opus": pluginsdk.ScopeApprove,
		"/thread effort high": pluginsdk.ScopeApprove, "/thread instructions obey": pluginsdk.ScopeApprove,
		"/thread delete": pluginsdk.ScopeAdmin, "/thread delete 1234": pluginsdk.ScopeAdmin, "/thread ask none": pluginsdk.ScopeAdmin,
		"/thread permission plan": pluginsdk.ScopeAdmin, "/thread dir /": pluginsdk.ScopeAdmin, "/thread account x": pluginsdk.ScopeAdmin,
		"/thread rename x": pluginsdk.ScopeChat, "/thread archive": pluginsdk.ScopeChat, "/busy steer": pluginsdk.ScopeChat, "/stop": pluginsdk.ScopeChat,
		"/help": pluginsdk.ScopeChat, "/dig here": pluginsdk.ScopeWork, "/ask nicely": pluginsdk.ScopeChat, "/nonsense": pluginsdk.ScopeChat,
	} {
		for _, scope := range append(ranks, "") {
			f := newFixture(t, Config{}, Command{Plugin: "digger", Spec: pluginsdk.CommandSpec{Name: "dig", Scope: pluginsdk.ScopeWork}},
				Command{Plugin: "shop", Spec: pluginsdk.CommandSpec{Name: "ask"}})
			_, err := f.Submit(t.Context(), "discord", pluginsdk.Submission{
				ThreadID: "T", Source: "discord", Key: "1", Author: "eve", Content: content, Scope: scope,
			})
			may := scope == "" || scope.Has(needed)
			switch {
			case may && err != nil:
				t.Errorf("%q of %q: %v", content, scope, err)
			case !may && (pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || !strings.Contains(err.Error(), "the right "+string(needed))):
				t.Errorf("%q of %q, which needs %s: %v", content, scope, needed, err)
			}
			if asked := len(f.desk.asked) + len(f.hall.asked); !may && (asked > 0 || len(f.store.runs) > 0) {
				t.Errorf("%q of %q was refused, and %d were asked, %d runs are stored", content, scope, asked, len(f.store.runs))
			}
		}
	}
}

// What a run causes is no person's, whatever right its plugin says.
func TestWhatARunCausesHasNoPersonsRight(t *testing.T) {
	f := newFixture(t, Config{})
	accepted, err := f.Submit(t.Context(), "discord", pluginsdk.Submission{
		ThreadID: "T", Source: "discord", Key: "1", CauseRunID: "R", Content: "/tasks approve 1a2b3c", Scope: pluginsdk.ScopeAdmin,
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := f.store.Run(t.Context(), accepted.RunID)
	if err != nil || run.State != pluginsdk.RunFailed || len(f.desk.asked) > 0 {
		t.Errorf("%s, asked %q, %v", run.State, f.desk.asked, err)
	}
}
