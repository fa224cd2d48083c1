package daemon_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

const looperName = "looper"

// looper is a plugin that submits one message after the other, of its own accord.
type looper struct {
	host pluginsdk.Host
	ends chan string
}

// loops is how often it submits.
const loops = 8

func runLooper() { serve.Main(&looper{ends: make(chan string, loops)}) }

func (l *looper) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: looperName, Version: "1.0.0",
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapMessagesSubmit, Reason: "loop"}, {Capability: pluginsdk.CapThreadsWrite, Reason: "loop"}, {Capability: pluginsdk.CapRunsRead, Reason: "loop"},
		},
	}
}

func (l *looper) Start(_ context.Context, host pluginsdk.Host) error {
	l.host = host
	return nil
}

func (l *looper) Activate(ctx context.Context) error {
	made, err := l.host.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{Source: looperName, SourceID: "loop", Name: "the loop"}})
	if err != nil {
		return err
	}
	go func() {
		for i := range loops {
			accepted, err := l.host.Messages.Submit(context.Background(), &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{
				ThreadID: made.Thread.ID, Key: fmt.Sprint(i), Content: "work in a loop",
			}})
			if err == nil {
				_, err = l.host.Runs.Wait(context.Background(), &pluginsdk.WaitRunRequest{ID: accepted.Accepted.RunID})
			}
			if err != nil {
				l.host.Log.Error("the loop is over", "err", err)
				return
			}
		}
	}()
	return nil
}

func (l *looper) Deactivate(context.Context) error { return nil }

// What spends by itself is stopped, each by a budget of its own: a plugin that submits in a loop, a tree of
// tasks, a scheduled job. What people write is answered all the while.
func TestWhatSpendsByItselfIsStopped(t *testing.T) {
	const turn, budget = 0.3, 0.5
	in := leanInstallation(t, inSQLite(t), looperName)
	for _, name := range []string{"metrics", "cron", "delegation"} {
		in.link(filepath.Join(pluginDir, name), name)
	}
	in.demo(`[
		{"match":"plant a tree","toolName":"delegation__delegate","toolInput":{"task":"plant a tree"},"costUsd":0.3,"text":"DONE: planted"},
		{"match":"work","costUsd":0.3,"text":"done"}
	]`)
	in.start()
	rows, watch, control := in.database(), in.watch(), in.thread("control")
	for _, name := range []string{"metrics", "cron", "delegation"} {
		in.until(name+" to serve", func() bool { return plugin(t, rows, name).State == pluginsdk.PluginServing })
	}
	in.wantSaid(watch, control, "/budget set loop $0.50 day plugin="+looperName, "**loop**: $0.50 a day for the plugin looper")
	in.wantSaid(watch, control, "/budget set jobs $0.50 day cron=poll", "**jobs**: $0.50 a day for the cron poll")
	people := func(what string) {
		t.Helper()
		said, _ := in.say(watch, control, "work for "+what)
		if run := in.run(said.RunID); run.State != pluginsdk.RunSucceeded {
			t.Errorf("beside %s, what a person wrote is %s: %s", what, run.State, run.Error)
		}
	}

	in.sql(`UPDATE plugins SET granted = '["messages.submit","threads.write","runs.read"]', enabled = TRUE WHERE name = 'looper'`)
	in.until("the loop to be over", func() bool {
		return in.count("SELECT COUNT(*) FROM runs WHERE source = 'looper' AND state = 'failed' AND error LIKE '%the budget loop of $0.50 a day is used up%'") >= loops-2
	})
	people("the loop")
	in.wantSaid(watch, control, "/budget", "**loop**: $0.50 a day for the plugin looper; $0.60 spent")

	// The second turn of the job is cut off at its cap, and the third time it does not run.
	if status := in.call(http.MethodPut, "/api/crons/poll", map[string]any{"spec": pluginsdk.CronSpec{Name: "poll", Schedule: "0 0 1 1 *", Timezone: "UTC", Prompt: "work on a schedule", Missed: pluginsdk.MissedSkip}}, nil); status != http.StatusOK {
		t.Fatalf("to make the job: %d", status)
	}
	for n, want := range []pluginsdk.CronFireState{pluginsdk.FireSucceeded, pluginsdk.FireFailed, pluginsdk.FireSkipped} {
		if status := in.call(http.MethodPost, "/api/crons/poll/fire", map[string]any{}, nil); status != http.StatusAccepted {
			t.Fatalf("to fire the job: %d", status)
		}
		var page struct{ Fires []pluginsdk.CronFire }
		in.until("the end of the fire", func() bool {
			in.call(http.MethodGet, "/api/crons/poll/fires", nil, &page)
			return len(page.Fires) == n+1 && page.Fires[0].State == want
		})
		if want == pluginsdk.FireSkipped && !strings.Contains(page.Fires[0].Reason, "the budget jobs of $0.50 a day is used up") {
			t.Errorf("it is skipped since %q", page.Fires[0].Reason)
		}
	}
	people("the job")

	// The tree has what its root may cost.
	if status := in.call(http.MethodPost, "/api/tasks", map[string]any{"text": "plant a tree", "threadId": control, "cost": budget}, nil); status != http.StatusAccepted {
		t.Fatalf("to make the task: %d", status)
	}
	over := "SELECT COUNT(*) FROM tasks WHERE status IN ('pending', 'running', 'evaluating')"
	in.until("the tree to be over", func() bool { return in.count("SELECT COUNT(*) FROM tasks") > 1 && in.count(over) == 0 })
	spent := turn * float64(in.count("SELECT COUNT(*) FROM agent_runs WHERE task_id <> ''"))
	if spent < budget-turn || spent > budget+turn {
		t.Errorf("the tree has cost $%.2f of $%.2f", spent, budget)
	}
	people("the tree")
}
