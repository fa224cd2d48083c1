package daemon_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
		t.Parallel()
		in := leanInstallation(t, database(t), hostileName)
		in.demo(`[{"match":"victim","think":"hm","toolName":"Read","toolResult":"ok",
			"text":"[COMMAND type=\"tally\"]one[/COMMAND]\n[COMMAND type=\"tally\"]two[/COMMAND]\nanswered"}]`)
		rows := in.database()
		in.spawn()
		adopt(t, in, rows, map[pluginsdk.Hook]pluginsdk.OnFailure{})
		in.eachDeath(in.deaths(pipeline.FaultPoints, "beforeRun", "invoke", "afterInvoke", "betweenCommands", "clearFiles"), func(t *testing.T, step string) { killRunsAt(t, in, step) })
	})
}

func killRunsAt(t *testing.T, in *installation, step string) {
	_ = os.Remove(filepath.Join(in.config.Plugins, "tally.txt"))
	threads := []string{in.thread("first"), in.thread("second"), in.thread("third")}
	for _, thread := range threads {
		in.leave(thread, "left.txt", "of "+thread)
	}
	var accepted []pluginsdk.Accepted
	held := in.killedAt(step, func() {
		for n, thread := range []string{threads[0], threads[0], threads[0], threads[1], threads[2], threads[1]} {
			accepted = append(accepted, in.chat(thread, fmt.Sprintf("victim number %d", n)))
		}
	}, func(held []string) bool { // each thread
		return countOf(held, func(run string) bool {
			return slices.ContainsFunc(accepted, func(a pluginsdk.Accepted) bool { return a.RunID == run })
		}) >= len(threads)
	})
	in.until("the end of all runs", func() bool {
		return !slices.ContainsFunc(accepted, func(a pluginsdk.Accepted) bool { return !in.run(a.RunID).State.Final() })
	})
	inFlight := map[string]bool{}
	for _, line := range held {
		inFlight[strings.Fields(line)[1]] = true
	}
	checkAnswers(t, in, threads, accepted)
	checkAgentCalls(t, in, step, accepted, inFlight)
	checkTallies(t, in, accepted)
	checkLeft(t, in, threads)
}

// checkLeft wants what was left in the outbox of each thread to have gone with one reply,
// once, and to be kept.
func checkLeft(t *testing.T, in *installation, threads []string) {
	t.Helper()
	for _, thread := range threads {
		var sent []pluginsdk.Attachment
		for _, message := range in.messages(thread) {
			sent = append(sent, message.Attachments...)
		}
		if len(sent) != 1 || sent[0].Name != "left.txt" {
			t.Errorf("thread %s: its outbox was sent as %+v", thread, sent)
			continue
		}
		id, _ := sent[0].FileID()
		if status, _, content := in.fetch("/api/files/" + id + "/content"); status != 200 || string(content) != "of "+thread {
			t.Errorf("thread %s: %d %q", thread, status, content)
		}
	}
}

// countOf counts the lines "STEP ID" whose id is one of those that are meant.
func countOf(held []string, meant func(id string) bool) (n int) {
	for _, line := range held {
		if _, id, _ := strings.Cut(line, " "); meant(id) {
			n++
		}
	}
	return n
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
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if err != nil || !slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(v []byte) bool { return bytes.Equal(v, mark) }) {
			continue
		}
		command, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		found = append(found, entry.Name()+" "+string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})))
	}
	return found
}
