package daemon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// firedHooks are the hooks that the pipeline fires.
var firedHooks = []pluginsdk.Hook{
	pluginsdk.HookBeforeRun, pluginsdk.HookPipelineStart, pluginsdk.HookMessage, pluginsdk.HookBeforeInvoke,
	pluginsdk.HookAfterInvoke, pluginsdk.HookCommand, pluginsdk.HookBeforeReply, pluginsdk.HookPipelineComplete,
}

// Whatever a plugin does in a hook of each kind (a gate, a chain, a command that one plugin answers, a
// notice to all): the turn ends as the table of the hook runners says, other threads are answered, the
// plugin is back by itself, and an operator sees what happened. (TestFailingHooks has all hooks, without
// processes, and an error of each code that a plugin's failure can have.)
func TestHostilePluginInAHookOfEachKind(t *testing.T) {
	t.Parallel()
	for hook, database := range map[pluginsdk.Hook]func(*testing.T) string{
		pluginsdk.HookBeforeRun: inSQLite, pluginsdk.HookCommand: inSQLite, pluginsdk.HookPipelineComplete: inSQLite,
		pluginsdk.HookBeforeReply: inPostgres, // comes after the answer was stored, with which a later attempt goes on
	} {
		t.Run(string(hook), func(t *testing.T) {
			t.Parallel()
			in := leanInstallation(t, database(t), hostileName)
			in.demo(`[{"match":"victim","text":"[COMMAND type=\"poke\"]x[/COMMAND]\nanswered"}]`)
			in.config.HookGrace, in.config.PluginBackoff = 200*time.Millisecond, 20*time.Millisecond
			in.config.HookDeadlines = map[pluginsdk.Hook]time.Duration{hook: time.Second}
			rows := in.database()
			in.start()
			for _, mode := range []pluginsdk.OnFailure{pluginsdk.FailOpen, pluginsdk.FailClosed} {
				in.subtest(string(mode), func(t *testing.T) { hostileHook(t, in, rows, hook, mode) })
			}
		})
	}
}

func hostileHook(t *testing.T, in *installation, database *store.Store, hook pluginsdk.Hook, mode pluginsdk.OnFailure) {
	adopt(t, in, database, map[pluginsdk.Hook]pluginsdk.OnFailure{hook: mode})
	watch := in.watch()
	for _, how := range []string{"error", "panic", "late", "exit", "kill", "hang"} {
		thread, other := in.thread(how), in.thread("other "+how)
		before := plugin(t, database, hostileName)
		plan, err := json.Marshal(mischief{Hook: hook, How: how})
		if err != nil {
			t.Fatal(err)
		}
		mischiefFile := filepath.Join(in.config.Plugins, "mischief.json")
		if err := os.WriteFile(mischiefFile, plan, 0o600); err != nil {
			t.Fatal(err)
		}
		hurt := in.chat(thread, "victim of "+how)
		bystander := in.chat(other, "bystander")
		in.until("the end of both runs", func() bool {
			if !in.run(hurt.RunID).State.Final() || !in.run(bystander.RunID).State.Final() {
				return false
			}
			if _, err := os.Stat(mischiefFile); err != nil {
				return true
			}
			hurt = in.chat(thread, "victim of "+how) // the plugin was late before, and passed over for a while
			return false
		})
		checkHurt(t, in, hurt, hook, mode, how)
		if run := in.run(bystander.RunID); run.State != pluginsdk.RunSucceeded {
			t.Errorf("%s: the other thread's run is %s: %s", how, run.State, run.Error)
		}
		in.until("the plugin's return, with its record", func() bool {
			now := plugin(t, database, hostileName)
			died := how == "exit" || how == "kill" || how == "hang"
			return now.State == pluginsdk.PluginServing && now.Failures > before.Failures && now.LastError != "" &&
				(!died || now.Restarts > before.Restarts)
		})
		if _, events := in.say(watch, thread, "afterwards"); events[len(events)-1].Event != string(pluginsdk.EventPipelineComplete) {
			t.Errorf("%s: the next message is not answered", how)
		}
		for _, message := range in.messages(thread) {
			if message.Content == "written too late" {
				t.Errorf("%s: a late hook wrote into the thread", how)
			}
		}
	}
	told := filepath.Join(in.config.Plugins, "late.txt")
	late, err := os.ReadFile(told)
	if err != nil || string(late) != string(pluginsdk.CodeStale) {
		t.Errorf("what the late hook was told: %q %v", late, err)
	}
	_ = os.Remove(told)
	in.sql(`UPDATE plugins SET enabled = FALSE WHERE name = 'hostile'`)
	in.until("the plugin's end", func() bool { return plugin(t, database, hostileName).State == pluginsdk.PluginDisabled })
}

func checkHurt(t *testing.T, in *installation, hurt pluginsdk.Accepted, hook pluginsdk.Hook, mode pluginsdk.OnFailure, how string) {
	t.Helper()
	run := in.run(hurt.RunID)
	said := ""
	for _, message := range in.messages(hurt.ThreadID) {
		if message.RunID == run.ID && message.Role != pluginsdk.RoleUser && message.Kind != pluginsdk.MessageStep {
			said += message.Content + "\n"
		}
	}
	ownWord := how == "error" || how == "panic"
	switch {
	case hook == pluginsdk.HookBeforeRun && mode == pluginsdk.FailClosed && ownWord:
		if run.State != pluginsdk.RunFailed || !strings.Contains(said, "hostile") {
			t.Errorf("%s: run %s, said %q", how, run.State, said)
		}
	case mode == pluginsdk.FailClosed:
		if run.State != pluginsdk.RunSucceeded || run.Attempt < 2 || !strings.Contains(said, "answered") {
			t.Errorf("%s: run %s at attempt %d, said %q", how, run.State, run.Attempt, said)
		}
	default:
		if run.State != pluginsdk.RunSucceeded || run.Attempt != 1 || !strings.Contains(said, "answered") {
			t.Errorf("%s: run %s at attempt %d, said %q", how, run.State, run.Attempt, said)
		}
		if hook == pluginsdk.HookCommand && !strings.Contains(said, "failed in the plugin hostile") {
			t.Errorf("%s: the failed command is not shown: %q", how, said)
		}
	}
}

// adopt does what an operator does with a plugin of somebody else's: grants
// and failure modes in the row, then enable.
func adopt(t *testing.T, in *installation, database *store.Store, modes map[pluginsdk.Hook]pluginsdk.OnFailure) {
	t.Helper()
	for _, hook := range firedHooks {
		if _, ok := modes[hook]; !ok {
			modes[hook] = pluginsdk.FailOpen
		}
	}
	encoded, err := json.Marshal(modes)
	if err != nil {
		t.Fatal(err)
	}
	in.sql(`UPDATE plugins SET granted = '["messages.write","turns.read","turns.change","turns.decide","tasks.prepare","tasks.judge"]', on_failure = '` + string(encoded) + `', enabled = TRUE WHERE name = 'hostile'`)
	in.until("the plugin's serving", func() bool { return plugin(t, database, hostileName).State == pluginsdk.PluginServing })
}

func plugin(t *testing.T, database *store.Store, name string) ledger.Plugin {
	t.Helper()
	row, err := database.Plugin(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return row
}
