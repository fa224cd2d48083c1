package daemon_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/pipeline"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// besideSteps are some of those that a typed command passes.
var besideSteps = []string{"beforeRun", "runCommands", "pipelineComplete", "broadcastComplete"}

// A command that concerns no conversation is answered while the agent works in its thread, and what
// waits there goes on waiting. A daemon that is killed over it carries it out all the same, and asks the
// plugin again only where it had not heard the answer: as the same call.
func TestACommandBesideItsThreadIsAnsweredDuringATurn(t *testing.T) {
	each(t, func(t *testing.T, database func(*testing.T) string) {
		t.Parallel()
		in := leanInstallation(t, database(t), hostileName)
		in.demo(endlessTurn)
		rows := in.database()
		in.spawn()
		adopt(t, in, rows, map[pluginsdk.Hook]pluginsdk.OnFailure{})
		in.subtest("killed over the call", func(t *testing.T) { killedOverTheCall(t, in) })
		in.eachDeath(in.deaths(besideSteps, "pipelineComplete", "broadcastComplete"), func(t *testing.T, step string) { killBesideAt(t, in, step) })
	})
}

func (in *installation) notOver(accepted ...pluginsdk.Accepted) bool {
	return slices.ContainsFunc(accepted, func(a pluginsdk.Accepted) bool { return !in.run(a.RunID).State.Final() })
}

func killBesideAt(t *testing.T, in *installation, step string) {
	if !slices.Contains(pipeline.FaultPoints, step) {
		t.Fatalf("%s is no step", step)
	}
	calls := filepath.Join(in.config.Plugins, "aside.txt")
	_ = os.Remove(calls)
	thread := in.thread(step)
	var turn, waits pluginsdk.Accepted
	var asides []pluginsdk.Accepted
	in.killedAt(step, func() {
		turn, waits = in.chat(thread, "endless"), in.chat(thread, "/tally behind it")
		asides = append(asides, in.chat(thread, "/aside one"), in.chat(thread, "/aside two"))
	}, func(held []string) bool {
		return countOf(held, func(run string) bool { return run == asides[0].RunID }) > 0
	})
	in.until("the answers to the commands", func() bool { return !in.notOver(asides...) })
	for n, aside := range asides {
		run := in.run(aside.RunID)
		if run.State != pluginsdk.RunSucceeded || !run.Beside || len(run.Outcomes) != 1 {
			t.Errorf("the command is %+v", run)
		}
		answers := 0
		for _, row := range in.messages(thread) {
			if row.RunID == aside.RunID && row.Role == pluginsdk.RoleSystem && row.Content == []string{"tallied one", "tallied two"}[n] {
				answers++
			}
		}
		if answers != 1 {
			t.Errorf("%d answers to %+v", answers, aside)
		}
	}
	if made := lines(t, calls); len(made) != 2 || !strings.HasSuffix(made[0], " one") || !strings.HasSuffix(made[1], " two") {
		t.Errorf("the plugin was asked %q", made)
	}
	if state := in.run(waits.RunID).State; state != pluginsdk.RunQueued {
		t.Errorf("what waits behind the turn is %s", state)
	}
	in.until("the turn", func() bool { return in.run(turn.RunID).State == pluginsdk.RunRunning })
	in.call(http.MethodPost, "/api/threads/"+thread+"/stop", map[string]any{}, nil)
	in.until("the end of the thread's runs", func() bool { return !in.notOver(turn, waits) })
	if state := in.run(waits.RunID).State; state != pluginsdk.RunSucceeded {
		t.Errorf("what waited behind the turn is %s", state)
	}
}

// killedOverTheCall kills the daemon while the plugin works on the command.
func killedOverTheCall(t *testing.T, in *installation) {
	calls, hold := filepath.Join(in.config.Plugins, "aside.txt"), filepath.Join(in.config.Plugins, "aside.hold")
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	thread := in.thread("the call")
	aside := in.chat(thread, "/aside one")
	in.until("the call", func() bool { return len(lines(t, calls)) == 1 })
	in.kill()
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	in.spawn()
	in.until("the answer", func() bool { return !in.notOver(aside) })
	made := lines(t, calls)
	if run := in.run(aside.RunID); run.State != pluginsdk.RunSucceeded || run.Attempt != 2 || len(made) != 2 || made[0] != made[1] {
		t.Errorf("the plugin was asked %q, and the run is %+v", made, run)
	}
}
