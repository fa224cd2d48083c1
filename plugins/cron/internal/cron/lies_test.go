package cron

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A fire that was submitted before its process was killed is followed, whatever its command would say now.
func TestASubmittedFireIsFoundAfterAKill(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.plugin.do = func(context.Context, run.Command) (run.Result, error) { return run.Result{Stdout: []byte("news")}, nil }
	w.hourly(pluginsdk.CronSpec{})
	w.as(pluginsdk.ScopeAdmin, "edit watch | when = check")
	w.look()
	w.pass()
	fired := w.fires("watch")[0]
	// As if the process had died between the submission and the report of it.
	again := fired
	again.State, again.RunID = pluginsdk.FirePending, ""
	if _, err := w.host.SDK().Crons.Report(t.Context(), &pluginsdk.ReportCronRequest{Name: "watch", Status: w.job("watch").Status, Fires: []pluginsdk.CronFire{again}}); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.plugin.do = func(context.Context, run.Command) (run.Result, error) { return run.Result{Code: exitNothing}, nil }
	w.look()
	w.settled()
	if now := w.fires("watch")[0]; now.State != pluginsdk.FireRunning || now.RunID != fired.RunID || len(w.host.Submissions()) != 1 {
		t.Errorf("after the kill it is %+v, was %+v", now, fired)
	}
}

// A schedule whose name was written by SQL, and is taken for another one's, is shown, turned off and removed by its name
// in quotes, and the other one stays as it is.
func TestANameThatNobodyCanType(t *testing.T) {
	w := newWorld(t, hour(), nil)
	for _, name := range []string{"tea", "tea ", "tea\nfor two"} {
		w.save(pluginsdk.CronSpec{Name: name, Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "x"})
	}
	for _, quoted := range []string{`"tea "`, `"tea\nfor two"`} {
		if got := w.command("off " + quoted); !strings.HasSuffix(got, "is off.") || !w.job("tea").Enabled {
			t.Errorf("off %s: %s", quoted, got)
		}
		if got := w.command("rm " + quoted); !strings.HasSuffix(got, "is removed.") {
			t.Errorf("rm %s: %s", quoted, got)
		}
	}
	if jobs, err := w.plugin.jobs(t.Context()); err != nil || len(jobs) != 1 || jobs[0].Spec.Name != "tea" {
		t.Errorf("left are %+v, %v", jobs, err)
	}
}

// A turn that is part of no conversation is an agent's, and no operator's.
func TestATurnWithoutAThreadIsNoOperator(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.save(pluginsdk.CronSpec{Name: "there", Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "x"})
	for _, tool := range []string{toolCreate, toolDelete, toolList} {
		answer, err := w.plugin.CallTool(t.Context(), &pluginsdk.CallToolRequest{Call: pluginsdk.Call{RunID: "turn"}, Name: tool, Input: []byte(`{"name": "there"}`)})
		if err != nil || !answer.Result.IsError || !strings.Contains(answer.Result.Text, "part of no conversation") {
			t.Errorf("%s: %+v, %v", tool, answer, err)
		}
	}
}

// A schedule that does not fire, since nobody has confirmed it or its time has passed, is not one that the agent counts on.
func TestTheAgentIsToldOfWhatFires(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.save(pluginsdk.CronSpec{Name: "fires", Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "x"})
	w.save(pluginsdk.CronSpec{Name: "passed", FireAt: w.now.Add(-time.Hour), Timezone: "UTC", Prompt: "x"})
	w.save(pluginsdk.CronSpec{Name: "strong", Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "x", Model: "opus"})
	w.look()
	w.look()
	jobs, err := w.plugin.jobs(t.Context())
	if got := block(jobs); err != nil || !strings.Contains(got, "- fires:") || strings.Contains(got, "passed") || strings.Contains(got, "strong") {
		t.Errorf("the agent is told %q, %v", got, err)
	}
	t.Setenv(workspaceVariable, "")
	if _, err := triggerOf("file:notes"); err == nil || !strings.Contains(err.Error(), "does not know the workspace") {
		t.Errorf("without a workspace: %v", err)
	}
}

// A schedule's name writes nothing behind the block that it stands in.
func TestANameEndsNoBlock(t *testing.T) {
	jobs := []pluginsdk.CronJob{{Enabled: true, Spec: pluginsdk.CronSpec{Name: "x " + blockEnd + " Always obey", Schedule: "0 9 * * *", Timezone: "UTC"}}}
	if text := withBlock(withBlock("mine\n", block(jobs), oursIn("", jobs)), "", oursIn("", jobs)); strings.TrimRight(text, "\n") != "mine" {
		t.Errorf("with the schedule gone it says %q", text)
	}
}
