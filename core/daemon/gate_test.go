package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/tasks"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// reviewers is how the reviewer of a task may behave, and where that leaves the task: one of each
// kind that the gate tells apart. Only the first one lets it through. That none does who crashes,
// is silent, late or empty, or speaks without an answer by the schema, is the plugin's own test, and
// that the real agent's turn ends so then is TestTurnsOfTheRealAgent: here each costs processes.
var reviewers = map[string]struct {
	reply fakeapi.Reply
	want  pluginsdk.TaskStatus
}{
	"accepts":       {structured(`{"verdict":"accept","feedback":"","answers":` + answersQuoting("make it") + `}`), pluginsdk.TaskCompleted},
	"rejects":       {structured(`{"verdict":"reject","feedback":"do it anew","answers":` + answersQuoting("make it") + `}`), pluginsdk.TaskFailed},
	"over budget":   {fakeapi.Reply{Text: "hm", Usage: fakeapi.Usage{InputTokens: 1_000_000}, Stall: "for ever"}, pluginsdk.TaskWaiting},
	"quotes no one": {structured(`{"verdict":"accept","feedback":"","answers":` + answersQuoting("nobody has said this") + `}`), pluginsdk.TaskWaiting},
}

func structured(output string) fakeapi.Reply {
	return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "StructuredOutput", Input: json.RawMessage(output)}}}
}

// answersQuoting are all answers about work that is words, with one quote of the request.
func answersQuoting(quote string) string {
	var answers []string
	for _, question := range []string{"completeness", "claims", "sources"} {
		answers = append(answers, fmt.Sprintf(`%q:{"answer":"yes","why":"it is","evidence":[{"kind":"request","quote":%q}]}`, question, quote))
	}
	return "{" + strings.Join(answers, ",") + "}"
}

// theCase is what the request of a task says about its reviewer.
var theCase = regexp.MustCompile(`reviewer who ([^.]+)\.`)

// castReviewers has workers say that they are done, and each task's reviewer behave as its
// request says. asked is called for every review.
func castReviewers(api *fakeapi.Server, asked func(how string)) {
	api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		prompt := strings.Join(r.UserTexts(), "\n")
		how := theCase.FindStringSubmatch(prompt)
		switch {
		case !strings.Contains(prompt, reviewHead) || how == nil:
			return fakeapi.Reply{Text: "Here it is, in words.\n\nDONE: it"}
		case len(r.ToolResults()) > 0:
			return fakeapi.Reply{Text: "So be it."}
		}
		asked(how[1])
		return reviewers[how[1]].reply
	})
}

// gated is an installation with a real agent whose failures do not take long.
func gated(t *testing.T, plugins ...string) (*installation, *fakeapi.Server) {
	t.Helper()
	in := leanInstallation(t, "")
	for _, name := range plugins {
		in.link(filepath.Join(pluginDir, name), name)
	}
	api := in.claude()
	in.config.MaxAttempts, in.config.Agents, in.config.RetryMax = 1, 16, 100*time.Millisecond
	in.config.Judge = func(c *tasks.Config) { c.MaxAttempts = 2 } // each is a process of the agent's
	return in, api
}

// handOn hands a task on for each of the reviewers and returns their ids.
func (in *installation) handOn(rows *store.Store, hows ...string) (tasks map[string]string) {
	in.t.Helper()
	parent := in.thread("parent")
	for _, how := range hows {
		in.chat(parent, "/delegate make it for a reviewer who "+how+".")
	}
	tasks = map[string]string{}
	in.until("the tasks", func() bool {
		made, err := rows.Tasks(in.t.Context(), pluginsdk.TaskQuery{ParentThreadID: parent})
		for _, task := range made {
			tasks[theCase.FindStringSubmatch(task.Prompt)[1]] = task.ID
		}
		return err == nil && len(tasks) == len(hows)
	})
	return tasks
}

// settled waits until nothing is done for a task any more but by a person.
func (in *installation) settledTask(rows *store.Store, id string, holds func(pluginsdk.Task) bool) (task pluginsdk.Task) {
	in.t.Helper()
	in.until("where the task is left", func() bool {
		var err error
		task, err = rows.Task(in.t.Context(), id)
		return err == nil && holds(task)
	})
	return task
}

func overOrWaiting(task pluginsdk.Task) bool {
	return !task.CompletedAt.IsZero() || task.Status == pluginsdk.TaskWaiting
}

// The gate serves, and the reviewer does all that reviewers do: nothing but an acceptance
// whose evidence holds completes a task.
func TestTheGateServes(t *testing.T) {
	if !apart(t) {
		return
	}
	in, api := gated(t, "delegation", "validation")
	var rejected atomic.Int32
	castReviewers(api, func(how string) {
		if how == "rejects" {
			rejected.Add(1)
		}
	})
	in.start()
	rows := in.database()
	in.serving(rows, "delegation", "validation")
	err := rows.EditPluginSettings(t.Context(), "delegation", "test", func(_ json.RawMessage, sealed map[string][]byte) (json.RawMessage, map[string][]byte, string, error) {
		return json.RawMessage(`{"maxValidationRounds":2}`), sealed, "", nil // each is two turns of the agent's
	})
	if err != nil {
		t.Fatal(err)
	}
	in.until("the new settings", func() bool {
		now := plugin(t, rows, "delegation")
		accepted := now.AcceptedSettings()
		return len(accepted) > 0 && accepted[0].Mark == now.SettingsMark()
	})
	checkGate(t, in, rows, in.handOn(rows, "accepts", "rejects", "over budget"))
	if n := rejected.Load(); n != 2 {
		t.Errorf("there were %d rounds of the task that is rejected", n)
	}
}

// The gate is replaced by another version while its reviewers are at work: what it has asked
// them is not asked again, and nothing gets through that would not have.
func TestTheGateIsUpgradedInTheMiddle(t *testing.T) {
	if !apart(t) {
		return
	}
	in, api := gated(t, "delegation", "validation")
	var mu sync.Mutex
	asked := make(map[string]int)
	var once sync.Once
	upgraded := make(chan struct{})
	castReviewers(api, func(how string) {
		mu.Lock()
		defer mu.Unlock()
		asked[how]++
		once.Do(func() { close(upgraded) })
	})
	in.start()
	rows := in.database()
	in.serving(rows, "delegation", "validation")
	tasks := in.handOn(rows, "accepts", "quotes no one")
	<-upgraded
	in.sql(`UPDATE plugins SET limits = '{"processes": 100}' WHERE name = 'validation'`) // another process
	checkGate(t, in, rows, tasks)
	mu.Lock()
	defer mu.Unlock()
	if asked["accepts"] != 1 || asked["quotes no one"] != 3 { // a round pays for three
		t.Errorf("reviews were asked for: %v", asked)
	}
}

// serving waits until the plugins serve.
func (in *installation) serving(rows *store.Store, names ...string) {
	in.t.Helper()
	for _, name := range names {
		in.until("the serving of "+name, func() bool { return plugin(in.t, rows, name).State == pluginsdk.PluginServing })
	}
}

func checkGate(t *testing.T, in *installation, rows *store.Store, tasks map[string]string) {
	for how, id := range tasks {
		in.subtest(how, func(t *testing.T) {
			task := in.settledTask(rows, id, overOrWaiting)
			if want := reviewers[how].want; task.Status != want || len(task.Marks) > 0 {
				t.Errorf("it is %s %q, want %s: %s", task.Status, task.Marks, want, task.Error)
			}
			_, answers, err := rows.TaskHistory(t.Context(), id, 0, 100)
			accepted := slices.ContainsFunc(answers, func(a ledger.TaskAnswer) bool { return a.Answer == string(pluginsdk.VerdictAccept) })
			if err != nil || accepted != (how == "accepts") {
				t.Errorf("accepted: %v, of %+v, %v", accepted, answers, err)
			}
		})
	}
}

// The gate is enabled and does not serve: tasks wait for it, and say so, whatever its reviewer
// would say: nobody is asked. So there is one cell here for all of them.
func TestTheGateIsDown(t *testing.T) {
	if !apart(t) {
		return
	}
	in, api := gated(t, "delegation", "validation")
	castReviewers(api, func(string) { t.Error("a reviewer is asked") })
	stop := in.start()
	rows := in.database()
	in.serving(rows, "delegation", "validation")
	stop()
	link := filepath.Join(in.config.Plugins, "validation")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(link, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	in.start()
	in.serving(rows, "delegation")
	for _, id := range in.handOn(rows, "accepts") {
		task := in.settledTask(rows, id, func(task pluginsdk.Task) bool {
			return overOrWaiting(task) || strings.Contains(task.Error, "validation")
		})
		if task.Status != pluginsdk.TaskPending { // it is asked at the creation, too
			t.Errorf("it is %s %q: %s", task.Status, task.Marks, task.Error)
		}
	}
}

// Nobody wants a gate: the answer is handed over and says that nobody has looked at it. No
// reviewer is asked: there is one cell for all of them.
func TestThereIsNoGate(t *testing.T) {
	for name, plugins := range map[string][]string{"disabled": {"delegation", "validation"}, "not installed": {"delegation"}} {
		t.Run(name, func(t *testing.T) {
			if !apart(t) {
				return
			}
			in, api := gated(t, plugins...)
			castReviewers(api, func(string) { t.Error("a reviewer is asked") })
			in.start()
			rows := in.database()
			in.serving(rows, plugins...)
			if len(plugins) > 1 {
				in.sql("UPDATE plugins SET enabled = FALSE WHERE name = 'validation'")
				in.until("its end", func() bool { return plugin(t, rows, "validation").State != pluginsdk.PluginServing })
			}
			for _, id := range in.handOn(rows, "accepts") {
				if task := in.settledTask(rows, id, overOrWaiting); task.Status != pluginsdk.TaskCompleted || !slices.Equal(task.Marks, []string{"unvalidated"}) {
					t.Errorf("it is %s %q: %s", task.Status, task.Marks, task.Error)
				}
			}
		})
	}
}
