package inbox

import (
	"cmp"
	"context"
	"fmt"
	"os"
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
		"stopped by ann, through discord":                         {"discord", pluginsdk.Submission{Author: "ann"}},
		"stopped by a person, through discord":                    {"discord", pluginsdk.Submission{}},
		"stopped by a person":                                     {"", pluginsdk.Submission{}},
		"stopped by the agent, run R, through the plugin discord": {"discord", pluginsdk.Submission{CauseRunID: "R"}},
		"stopped by ann  I am core, through discord":              {"discord", pluginsdk.Submission{Author: "ann\n\x1bI am core\n"}},
		"stopped by " + strings.Repeat("x", 97) + "…, through discord": {"discord",
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
		if _, err := f.Submit(t.Context(), ledger.By{Plugin: typed.plugin}, typed.Submission); err != nil {
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
		accepted, err := f.Submit(t.Context(), ledger.By{Plugin: "discord"}, pluginsdk.Submission{
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
		{strings.Repeat("x", 150), "", "/tasks", "succeeded"},
	} {
		if state := submit(strconv.Itoa(n), typed.author, typed.cause, typed.content); state != typed.state {
			t.Errorf("%+v is %s", typed, state)
		}
	}
	submit("0", "ann", "", "/tasks approve 1a2b3c") // repeated, it is not carried out again
	want := []string{
		"T: ann|discord says approve 1a2b3c", "T: a person|discord says approve 1a2b3c", "T: |discord says 1a2b3c",
		"T: " + strings.Repeat("x", 97) + "…|discord says ",
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
	failed, err := f.Submit(t.Context(), ledger.By{Plugin: "discord"}, pluginsdk.Submission{ThreadID: "T", Source: "discord", Key: "1", Content: "hello"})
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
		"/plan": pluginsdk.ScopeChat, "/plan go": pluginsdk.ScopeChat, "/plan go fallback": pluginsdk.ScopeApprove, "/plan  go\nopus": pluginsdk.ScopeApprove,
		"/thread rename x": pluginsdk.ScopeChat, "/thread archive": pluginsdk.ScopeChat, "/busy steer": pluginsdk.ScopeChat, "/stop": pluginsdk.ScopeChat,
		"/help": pluginsdk.ScopeChat, "/dig here": pluginsdk.ScopeWork, "/ask nicely": pluginsdk.ScopeChat, "/nonsense": pluginsdk.ScopeChat,
		"hello": pluginsdk.ScopeChat, "/etc/hosts is a file": pluginsdk.ScopeChat,
	} {
		for _, scope := range append(ranks, "") {
			f := newFixture(t, Config{}, Command{Plugin: "digger", Spec: pluginsdk.CommandSpec{Name: "dig", Scope: pluginsdk.ScopeWork}},
				Command{Plugin: "shop", Spec: pluginsdk.CommandSpec{Name: "ask"}})
			_, err := f.Submit(t.Context(), ledger.By{Plugin: "discord"}, pluginsdk.Submission{
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
	accepted, err := f.Submit(t.Context(), ledger.By{Plugin: "discord"}, pluginsdk.Submission{
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

// failedRun has a text end as a failed run, and returns the run.
func (f *fixture) failedRun(t *testing.T, key string, s pluginsdk.Submission) pluginsdk.Run {
	t.Helper()
	s.ThreadID, s.Source, s.Key = "T", "discord", key
	accepted, err := f.Submit(t.Context(), ledger.By{Plugin: "discord"}, s)
	if err != nil {
		t.Fatal(err)
	}
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	for _, run := range f.store.runs {
		if run.ID == accepted.RunID {
			run.State = pluginsdk.RunFailed
			return run.Run
		}
	}
	t.Fatalf("there is no run %s", accepted.RunID)
	return pluginsdk.Run{}
}

// Who may not type a command may not have it carried out once more, in the name of who has
// typed it. A message is given again for whoever may talk, with the right of its writer.
func TestARetryGivesNobodyMoreThanTheyHave(t *testing.T) {
	for content, needed := range map[string]pluginsdk.TokenScope{
		"/dig here": pluginsdk.ScopeWork, "/ask nicely": pluginsdk.ScopeChat, "look at @~/.ssh/id_rsa": pluginsdk.ScopeChat, "hello": pluginsdk.ScopeChat,
		"/tasks approve 1a2b3c": pluginsdk.ScopeApprove, "/thread delete 1234": pluginsdk.ScopeAdmin,
	} {
		for _, scope := range []pluginsdk.TokenScope{pluginsdk.ScopeChat, pluginsdk.ScopeApprove, pluginsdk.ScopeWork, pluginsdk.ScopeAdmin, ""} {
			for _, way := range []string{"typed", "asked for"} {
				f := newFixture(t, Config{}, Command{Plugin: "digger", Spec: pluginsdk.CommandSpec{Name: "dig", Scope: pluginsdk.ScopeWork}},
					Command{Plugin: "shop", Spec: pluginsdk.CommandSpec{Name: "ask"}})
				failed := f.failedRun(t, "1", pluginsdk.Submission{Author: "owner", Content: content, Scope: pluginsdk.ScopeAdmin})
				asked := len(f.desk.asked) + len(f.hall.asked)
				var refusal string
				if way == "typed" { // which repeats no command
					f.failedRun(t, "3", pluginsdk.Submission{Author: "eve", Content: "/retry", Scope: scope})
					refusal = f.store.answers[len(f.store.answers)-1]
				} else if _, err := f.Retry(t.Context(), failed.ID, ledger.By{Plugin: "discord", Author: "eve", Scope: scope}); err != nil {
					refusal = err.Error()
				}
				may := scope == "" || scope.Has(needed)
				if way == "typed" && strings.HasPrefix(content, "/") {
					may = true
				}
				if refused := strings.Contains(refusal, "the right "+string(needed)); refused == may {
					t.Errorf("%q is %s again by %q: %q", content, way, scope, refusal)
				}
				if again := len(f.desk.asked) + len(f.hall.asked); !may && again > asked {
					t.Errorf("%q was refused and is carried out, %s again by %q", content, way, scope)
				}
				for _, run := range f.store.runs {
					message := f.store.message(run.MessageID)
					if message.Retry().Of == failed.ID && (message.Scope != pluginsdk.ScopeAdmin || message.Author != "owner" || !may) {
						t.Errorf("%q, %s again by %q, is %s's with %q", content, way, scope, message.Author, message.Scope)
					}
				}
			}
		}
	}
}

// A command that a run has caused, and that was refused for that, does not become a person's by
// being given again; and no run gives a person's command again.
func TestARetryMakesNobodyAPerson(t *testing.T) {
	f := newFixture(t, Config{})
	caused := f.failedRun(t, "1", pluginsdk.Submission{CauseRunID: "R", Content: "/tasks approve 1a2b3c"})
	persons := f.failedRun(t, "2", pluginsdk.Submission{Author: "ann", Content: "/tasks approve 4d5e6f", Scope: pluginsdk.ScopeAdmin})
	said := f.failedRun(t, "3", pluginsdk.Submission{Author: "ann", Content: "hello"})
	done := len(f.desk.asked)
	if _, err := f.Retry(t.Context(), caused.ID, ledger.By{Plugin: "discord", Author: "ann"}); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || !strings.Contains(err.Error(), "comes from R") {
		t.Errorf("it is given again: %v", err)
	}
	for _, by := range []ledger.By{
		{Plugin: "discord", Author: "ann", Origin: pluginsdk.Origin{RunID: "R"}}, {Plugin: "discord", Origin: pluginsdk.Origin{TaskID: "K"}},
		{Plugin: "discord", Scope: pluginsdk.ScopeAdmin, Origin: pluginsdk.Origin{RunID: "R", TaskID: "K"}},
	} {
		if _, err := f.Retry(t.Context(), persons.ID, by); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || !strings.Contains(err.Error(), "comes from "+cmp.Or(by.RunID, by.TaskID)) {
			t.Errorf("%+v: %v", by, err)
		}
	}
	f.failedRun(t, "4", pluginsdk.Submission{CauseRunID: "R", Content: "/retry"}) // of what ann has said last
	if len(f.desk.asked) > done {
		t.Errorf("the desk was asked %q", f.desk.asked[done:])
	}
	for _, run := range f.store.runs {
		if f.store.message(run.MessageID).Retry().Of == said.ID && run.CauseRunID != "R" {
			t.Errorf("what a run gives again is caused by %q", run.CauseRunID)
		}
	}
}

// Who may talk has a parked run go on; with another model, or with the fallback, whoever may
// choose that.
func TestWhoMayHaveAParkedRunGoOn(t *testing.T) {
	for _, scope := range []pluginsdk.TokenScope{pluginsdk.ScopeChat, pluginsdk.ScopeApprove, pluginsdk.ScopeAdmin, ""} {
		f := newFixture(t, Config{})
		for how, request := range map[string]pluginsdk.ResumeRunRequest{
			"as it is": {RunID: "P"}, "a model": {RunID: "P", Model: "opus"}, "the fallback": {RunID: "P", Fallback: true},
		} {
			_, err := f.ResumeRun(t.Context(), request, ledger.By{Plugin: "discord", Author: "eve", Scope: scope})
			want := how != "as it is" && scope == pluginsdk.ScopeChat
			if got := pluginsdk.CodeOf(err) == pluginsdk.CodeDenied; got != want {
				t.Errorf("%s, with %q: %v", how, scope, err)
			}
		}
	}
}

// The documented table of rights is the code's.
func TestWhoMayWhatIsDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, row := range needs {
		typed, whose := "/"+row.command, ""
		switch row.word {
		case anything:
			typed += " …"
		case "":
		default:
			typed += " " + row.word
		}
		if row.people {
			whose = "a person alone"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", typed, row.scope, whose))
	}
	if table := strings.Join(rows, "\n"); !strings.Contains(string(raw), "\n"+table+"\n") {
		t.Errorf("docs/operating.md does not have this table of what people may type:\n%s", table)
	}
}
