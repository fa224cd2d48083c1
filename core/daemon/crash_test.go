package daemon_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-706843ae/harness/core/pipeline"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// kill -9 at each step of the pipeline, with a turn in flight and two queued
// behind it, and turns on other threads: after the restart every message is
// answered once, in order, the agent is called again only where its answer was
// not yet stored, and no command runs twice.
func TestKillAtEveryStep(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		for _, step := range pipeline.FaultPoints {
			t.Run(step, func(t *testing.T) {
				t.Parallel()
				killAt(t, database(t), step)
			})
		}
	})
}

func killAt(t *testing.T, databaseURL, step string) {
	in := newInstallation(t, databaseURL, hostileName)
	in.demo(`[{"match":"victim","think":"hm","toolName":"Read","toolResult":"ok",
		"text":"[COMMAND type=\"tally\"]one[/COMMAND]\n[COMMAND type=\"tally\"]two[/COMMAND]\nanswered"}]`)
	database := in.database()
	daemon := in.spawn(step)
	adopt(t, in, database, map[pluginsdk.Hook]pluginsdk.OnFailure{})
	threads := []string{in.thread("first"), in.thread("second"), in.thread("third")}
	var accepted []pluginsdk.Accepted
	for n, thread := range []string{threads[0], threads[0], threads[0], threads[1], threads[2], threads[1]} {
		accepted = append(accepted, in.chat(thread, fmt.Sprintf("victim number %d", n)))
	}
	held := func() []string { return lines(t, filepath.Join(in.config.Data, "held.log")) }
	in.until("the step on every thread", func() bool { return len(held()) >= len(threads) })
	if err := os.WriteFile(filepath.Join(in.config.Data, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(); err == nil {
		t.Fatal("the daemon ended by itself")
	}
	again := in.spawn("")
	in.until("the end of all runs", func() bool {
		for _, a := range accepted {
			if !in.run(a.RunID).State.Final() {
				return false
			}
		}
		return true
	})
	inFlight := map[string]bool{}
	for _, line := range held() {
		inFlight[strings.Fields(line)[1]] = true
	}
	checkAnswers(t, in, threads, accepted)
	checkAgentCalls(t, in, step, accepted, inFlight)
	checkTallies(t, in, accepted)
	if err := again.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := again.Wait(); err != nil {
		t.Errorf("clean stop: %v", err)
	}
	if left := marked(t, in); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

// checkAnswers wants one reply for each message, in the order of acceptance,
// and one set of activity rows.
func checkAnswers(t *testing.T, in *installation, threads []string, accepted []pluginsdk.Accepted) {
	t.Helper()
	for _, thread := range threads {
		var asked, answered []string
		rows := map[string]int{}
		for _, message := range in.messages(thread) {
			switch {
			case message.Role == pluginsdk.RoleUser:
				asked = append(asked, message.RunID)
			case message.Role == pluginsdk.RoleAssistant && message.Kind == pluginsdk.MessageText:
				answered = append(answered, message.RunID)
			default:
				rows[message.RunID+" "+string(message.Kind)+" "+message.Content]++
			}
		}
		if !slices.Equal(asked, answered) {
			t.Errorf("thread %s: asked %v, answered %v", thread, asked, answered)
		}
		for row, count := range rows {
			if count > 1 {
				t.Errorf("%d times: %s", count, row)
			}
		}
		for _, run := range asked {
			for _, want := range []string{"status Pipeline started", "status Pipeline completed", "thinking hm"} {
				if rows[run+" "+want] != 1 {
					t.Errorf("run %s has %d rows %q", run, rows[run+" "+want], want)
				}
			}
		}
	}
	for _, a := range accepted {
		if run := in.run(a.RunID); run.State != pluginsdk.RunSucceeded {
			t.Errorf("run %s is %s: %s", run.ID, run.State, run.Error)
		}
	}
}

// checkAgentCalls wants one call of the agent for each run, and a second one
// only for a run that died between its call and the commit of the result.
func checkAgentCalls(t *testing.T, in *installation, step string, accepted []pluginsdk.Accepted, inFlight map[string]bool) {
	t.Helper()
	calls := map[string]int{}
	for _, line := range lines(t, filepath.Join(in.config.Data, "steps.log")) {
		if name, run, _ := strings.Cut(line, " "); name == "invoke" {
			calls[run]++
		}
	}
	for _, a := range accepted {
		want := 1
		if inFlight[a.RunID] && (step == "invoking" || step == "commitResult") {
			want = 2
		}
		if calls[a.RunID] != want {
			t.Errorf("run %s called the agent %d times, want %d", a.RunID, calls[a.RunID], want)
		}
	}
}

func checkTallies(t *testing.T, in *installation, accepted []pluginsdk.Accepted) {
	t.Helper()
	tallies := lines(t, filepath.Join(in.config.Plugins, "tally.txt"))
	slices.Sort(tallies)
	if len(slices.Compact(slices.Clone(tallies))) != len(tallies) || len(tallies) != 2*len(accepted) {
		t.Errorf("%d commands run for %d runs: %v", len(tallies), len(accepted), tallies)
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	content, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
}

// marked returns the processes that carry the installation's mark.
func marked(t *testing.T, in *installation) (found []string) {
	t.Helper()
	id, err := os.ReadFile(filepath.Join(in.config.Data, "installation-id"))
	if err != nil {
		t.Fatal(err)
	}
	mark := []byte("HARNESS_OWNER=" + strings.TrimSpace(string(id)))
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range environs {
		environ, err := os.ReadFile(path)
		if err != nil || !slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(v []byte) bool { return bytes.Equal(v, mark) }) {
			continue
		}
		pid := strings.Split(path, "/")[2]
		if n, err := strconv.Atoi(pid); err != nil || n == os.Getpid() {
			continue
		}
		command, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		found = append(found, pid+" "+string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})))
	}
	return found
}
