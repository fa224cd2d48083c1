package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	waitingFlow = "01990000-0000-7000-8000-0000aaaaaaaa"
	runningFlow = "01990000-0000-7000-8000-0000bbbbbbbb"
	doneFlow    = "01990000-0000-7000-8000-0000cccccccc"
)

// withWorkflows is a daemon with a workflow that waits, one at work and one that is over.
func withWorkflows(t *testing.T) *clienttest.Daemon {
	t.Helper()
	isolate(t)
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		if strings.Contains(turn.Said, "refuse") {
			turn.Refuse("another workflow works there")
			return
		}
		turn.Answer(pluginsdk.RunSucceeded, "did "+turn.Said)
	})
	daemon.AddCommand(pluginsdk.Command{CommandSpec: pluginsdk.CommandSpec{Name: "workflow"}, Plugin: "workflow"})
	stages := []client.WorkflowStage{
		{Agent: "architect", Status: "completed", Attempt: 1, CostUSD: 0.25, Seconds: 90},
		{Agent: "builder", Batch: "Tasks 1-3", Status: "reviewing", Attempt: 3, Round: 3},
		{Agent: "reviewer", Batch: "Tasks 1-3", Status: "pending", Attempt: 3, Round: 3, Verdicts: []client.WorkflowVerdict{
			{Verdict: "REVISE", Score: 3, Summary: "the first"}, {Verdict: "REVISE", Score: 4, Summary: "no test\x1b[2J", Issues: []string{"todo.go:12 panics"}, Checks: []string{"go test ./...: exit code 1"}},
		}},
	}
	cost := client.WorkflowCost{USD: 1.5, BuildingUSD: 1, VerifyingUSD: 0.5, CapUSD: 20}
	for _, w := range []client.Workflow{
		{ID: doneFlow, Title: "A bell", State: client.WorkflowCompleted, Dir: "/srv/bell", EndedAt: time.Now()},
		{ID: runningFlow, Title: "A clock", State: client.WorkflowRunning, Stages: stages[:2], Estimate: &client.WorkflowEstimate{Text: "about 15 min and $0.90"}},
		{ID: waitingFlow, Title: "A todo list", State: client.WorkflowWaiting, Waits: "the limit of rounds is reached\n3 of 3", Stages: stages, Dir: "/srv/todo", Git: true, Branch: "task/x", Cost: cost, Limits: client.WorkflowLimits{Rounds: 3, Redesigns: 1, Tries: 3}, Redesigns: 1},
	} {
		daemon.AddWorkflow(w)
	}
	t.Setenv("HARNESS_URL", daemon.URL())
	return daemon
}

func TestWorkflowStatus(t *testing.T) {
	withWorkflows(t)
	all := harness(t, "", "workflow", "status")
	all.want(t, 0, waitingFlow+"  needs you  1/3     1.50", "")
	all.want(t, 0, "the limit of rounds is reached 3 of 3", "")
	one := harness(t, "", "workflow", "status", "aaaaaaaa")
	for _, words := range []string{
		"A todo list (" + waitingFlow + ")\nneeds you\n  the limit of rounds is reached\n  3 of 3\n", "harness workflow continue " + waitingFlow + " --accept", "branch     task/x", "1.50 of 20.00 USD", "building 1.00, verifying 0.50 (50 % of that)",
		"1 of 1 redesigns used", "reviewer   Tasks 1-3  pending", "changes requested, 4/10", "Stage 3, reviewer of Tasks 1-3: changes requested, 4/10\n  no test", "- todo.go:12 panics", "go test ./...: exit code 1",
	} {
		one.want(t, 0, words, "")
	}
	if strings.Contains(one.out, "\x1b") || strings.Contains(one.out, "the first") {
		t.Errorf("%q", one.out)
	}
	harness(t, "", "workflow", "status", "bbbbbbbb").want(t, 0, "about 15 min and $0.90", "")
	var read client.Workflow
	if got := harness(t, "", "workflow", "status", waitingFlow, "--json"); json.Unmarshal([]byte(got.out), &read) != nil || read.State != client.WorkflowWaiting || len(read.Stages) != 3 {
		t.Errorf("%+v", got)
	}
	var list []client.Workflow
	if got := harness(t, "", "workflow", "status", "--json"); json.Unmarshal([]byte(got.out), &list) != nil || len(list) != 3 {
		t.Errorf("%+v", got)
	}
	harness(t, "", "workflow", "status", "dddddddd").want(t, exitFailed, "", "`harness workflow status` lists those that there are")
	harness(t, "", "workflow", "statsu").want(t, exitUsage, "", "there is no command statsu; did you mean status?")
	harness(t, "", "__complete", "workflow", "continue", "").want(t, 0, waitingFlow+"\tneeds you: A todo list\n:", "")
	harness(t, "", "__complete", "workflow", "stop", "").want(t, 0, runningFlow+"\trunning: A clock\n:", "")
	harness(t, "", "__complete", "workflow", "status", "").want(t, 0, doneFlow, "")
}

// What a person decides is the command of a thread; each limit can be raised.
func TestWorkflowsAreDecidedOn(t *testing.T) {
	withWorkflows(t)
	for line, typed := range map[string]string{
		"continue aaaaaaaa --more-rounds 2 --more-redesigns 1 --more-tries 4 --cost 30.5 use port 80": "continue " + waitingFlow + " rounds=2 redesigns=1 tries=4 cost=30.5 use port 80",
		"continue aaaaaaaa --rounds 2 --redesigns 1 --tries 4":                                        "continue " + waitingFlow + " rounds=2 redesigns=1 tries=4",
		"resume aaaaaaaa --accept":       "continue " + waitingFlow + " accept=yes",
		"continue aaaaaaaa cost=9 is ok": "continue " + waitingFlow + " -- cost=9 is ok",
		"continue " + waitingFlow:        "continue " + waitingFlow,
		"stop bbbbbbbb":                  "stop " + runningFlow,
		"abandon aaaaaaaa --yes":         "abandon " + waitingFlow,
	} {
		if got := harness(t, "", strings.Fields("workflow "+line)...); got != (result{0, "did /workflow " + typed + "\n", ""}) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	harness(t, "", "workflow", "abandon", "aaaaaaaa").want(t, exitFailed, "", "say --yes")
	harness(t, "", "workflow", "continue", "aaaaaaaa", "--more-rounds", "-1").want(t, exitFailed, "", "--more-rounds: -1 is not accepted")
	harness(t, "", "workflow", "continue").want(t, exitUsage, "", "ID is missing")
}

// A directory is meant as the terminal has it, and the daemon works elsewhere: it is given whole.
func TestAWorkflowIsStarted(t *testing.T) {
	withWorkflows(t)
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.MkdirAll(filepath.Join(dir, "my todo", "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := harness(t, "", "workflow", "start", "my todo", "build a todo list", "--stages", "builder,reviewer", "--batch", "5", "--cost", "7.5", "--no-git")
	got.want(t, 0, `did /workflow start dir="`+filepath.Join(dir, "my todo")+`" stages=builder,reviewer batch=5 cost=7.5 git=no build a todo list`+"\n", "")
	harness(t, "from stdin\n", "workflow", "start", ".", "--git", "-").want(t, 0, "did /workflow start dir="+dir+" git=yes from stdin\n", "")
	harness(t, "", "workflow", "start", ".", "dir=x", "is", "meant").want(t, 0, "did /workflow start dir="+dir+" -- dir=x is meant\n", "") // nobody is there to be asked
	for want, args := range map[string][]string{
		"there is no directory " + filepath.Join(dir, "nowhere"): {"nowhere", "x"},
		"--git, --no-git: want one of the two":                   {".", "x", "--git", "--no-git"},
		"--batch: -1 is not accepted":                            {".", "x", "--batch", "-1"},
		"another workflow works there":                           {".", "refuse it"},
	} {
		harness(t, "", append([]string{"workflow", "start"}, args...)...).want(t, exitFailed, "", want)
	}
	harness(t, "", "workflow", "start", ".").want(t, exitUsage, "", "TEXT is missing")
}

// Somebody at a terminal is asked before a directory becomes a repository, and nobody else is.
func TestWhetherADirectoryBecomesARepository(t *testing.T) {
	plain, repository := t.TempDir(), t.TempDir()
	below := filepath.Join(repository, "a", "b")
	for _, made := range []string{filepath.Join(repository, ".git"), below} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var asked string
	answers := func(yes bool, err error) func(string) (bool, error) {
		return func(question string) (bool, error) {
			asked = question
			return yes, err
		}
	}
	for name, c := range map[string]struct {
		place   place
		dir     string
		git, no bool
		want    string
		asks    bool
	}{
		"yes":                {place{asks: true, ask: answers(true, nil)}, plain, false, false, "yes", true},
		"no":                 {place{asks: true, ask: answers(false, nil)}, plain, false, false, "no", true},
		"in a repository":    {place{asks: true, ask: answers(true, nil)}, below, false, false, "", false},
		"nobody to ask":      {place{ask: answers(true, nil)}, plain, false, false, "", false},
		"said beforehand":    {place{asks: true, ask: answers(true, nil)}, plain, false, true, "no", false},
		"said yes":           {place{asks: true, ask: answers(false, nil)}, plain, true, false, "yes", false},
		"on another machine": {place{remote: true, asks: true, ask: answers(true, nil)}, "/srv/not/here", false, false, "", false},
	} {
		asked = ""
		_, got, err := c.place.settle(c.dir, c.git, c.no)
		if err != nil || got != c.want || (asked != "") != c.asks {
			t.Errorf("%s: %q, %v, asked %q", name, got, err, asked)
		}
	}
	asked = ""
	if _, _, err := (place{asks: true, ask: answers(true, nil)}).settle(plain, false, false); err != nil || asked != plain+" is no git repository. Make it one (git init)?" {
		t.Errorf("asked %q, %v", asked, err)
	}
	if _, _, err := (place{asks: true, ask: answers(false, errors.New("no terminal"))}).settle(plain, false, false); err == nil {
		t.Error("what could not be asked was decided")
	}
	if _, _, err := (place{remote: true}).settle("todo", false, false); err == nil || !strings.Contains(err.Error(), "given whole") {
		t.Errorf("a part of a path on another machine: %v", err)
	}
}

func TestWorkflowLog(t *testing.T) {
	daemon := withWorkflows(t)
	harness(t, "", "workflow", "log", "aaaaaaaa").want(t, 0, "reviewer of Tasks 1-3: changes requested, 4/10: no test", "")
	got := harness(t, "", "workflow", "log", "-f", "aaaaaaaa") // which does not go on by itself
	got.want(t, exitFailed, "needs you: 1/3 stages, 1.50 of 20.00 USD; the limit of rounds is reached 3 of 3\n  harness workflow continue "+waitingFlow, "")
	harness(t, "", "workflow", "log", "-f", doneFlow).want(t, 0, "completed: 0/0 stages", "")
	daemon.Stop()
	harness(t, "", "workflow", "log", "-f", doneFlow).want(t, exitUnreachable, "", "no daemon answers")
}

// Where nobody drives workflows that is said, with what to do, and nothing is given to the agent as a message.
func TestWhereNobodyDrivesWorkflows(t *testing.T) {
	isolate(t)
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("hello") })
	t.Setenv("HARNESS_URL", daemon.URL())
	for _, line := range []string{"status", "start . build it"} {
		harness(t, "", strings.Fields("workflow "+line)...).want(t, exitFailed, "", "nobody drives workflows: no plugin has the command /workflow")
	}
	daemon.AddPlugin(pluginsdk.PluginInfo{Name: "flows", Manifest: pluginsdk.Manifest{Commands: []pluginsdk.CommandSpec{{Name: "workflow"}}}})
	for _, line := range []string{"status", "start . build it"} {
		harness(t, "", strings.Fields("workflow "+line)...).want(t, exitFailed, "", "the plugin flows is disabled; harness plugin enable flows")
	}
	if said := daemon.Said(); len(said) > 0 {
		t.Errorf("said %v", said)
	}
	harness(t, "", "workflow", "status", "--url", "http://127.0.0.1:1").want(t, exitUnreachable, "", "no daemon answers")
	harness(t, "", "workflow", "start", ".", "x", "--url", "http://127.0.0.1:1").want(t, exitUnreachable, "", "no daemon answers")
}
