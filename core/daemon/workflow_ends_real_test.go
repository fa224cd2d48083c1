package daemon_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// soon is within what a workflow ends that comes to its cost limit, or is stopped, between two words of
// an answer.
const soon = 2 * time.Second

// breaksOff is a builder that writes a file, and then speaks at length. The next time it makes the result.
func breaksOff(usage fakeapi.Usage) func(of part) []fakeapi.Reply {
	return func(of part) []fakeapi.Reply {
		if of.n > 1 {
			return builds("result.txt", "ok\n")(of)
		}
		return []fakeapi.Reply{writes(of, "first.txt", "first\n"), {Text: "I say this at length, and go on.", Usage: usage, Stall: "never"}}
	}
}

func lastOf(parts []part) part {
	if len(parts) == 0 {
		return part{}
	}
	return parts[len(parts)-1]
}

// A workflow that comes to its cost limit, or that a person stops, in the middle of an answer ends
// within 2 s. When it is continued it goes on in the same session with what was there, and comes to its
// end.
func TestAWorkflowEndsBetweenTwoWords(t *testing.T) {
	if !apart(t) {
		return
	}
	dear := &play{word: "dear.", build: breaksOff(fakeapi.Usage{InputTokens: 100_000})}
	slow := &play{word: "slow.", build: breaksOff(fakeapi.Usage{})}
	w := newWorkshop(t, dear, slow)
	w.open(nil)
	for _, row := range []struct {
		name    string
		of      *play
		options string
		ends    func(b begun) time.Time // from then on it is to end
		waits   string
		goOn    string
	}{
		{"it comes to its cost limit", dear, "cost=0.2", func(begun) time.Time { return w.speaks(dear) }, "of the $0.20 that it may", "cost=5"},
		{"it is stopped", slow, "cost=5", func(b begun) time.Time {
			w.speaks(slow)
			at := time.Now()
			if said := b.says("stop", ""); !strings.Contains(said, "is stopped") {
				t.Errorf("who stops it is told %q", said)
			}
			return at
		}, "stopped by ", ""},
	} {
		w.subtest(row.name, func(t *testing.T) {
			r := newRepository(t)
			b := w.begin(w.primary(), r.dir, "stages=builder,reviewer "+row.options, row.of.word+" result.txt says ok")
			from := row.ends(b)
			root := b.rests()
			waited := time.Since(from)
			if root.Status != pluginsdk.TaskWaiting || !strings.Contains(root.Error, row.waits) {
				t.Fatalf("it is %s: %s", root.Status, root.Error)
			}
			s := b.report().Stages[0]
			run := w.run(s.RunID)
			if took := run.FinishedAt.Sub(from); took > soon {
				t.Errorf("the turn went on for %s", took)
			}
			if waited > soon {
				t.Errorf("the workflow waits after %s", waited)
			}
			t.Logf("the turn ended after %s, the workflow waited after %s: %s, $%.2f", run.FinishedAt.Sub(from), waited, root.Error, root.CostUSD)
			if state, err := os.ReadFile(r.dir + "/.brain/pipeline-state.json"); err != nil || !strings.Contains(string(state), run.SessionID) || run.SessionID == "" {
				t.Errorf("the state has no session %q: %v", run.SessionID, err)
			}
			if commits := r.git("rev-list", "--count", "main"); commits != "1" {
				t.Errorf("the project's branch has %s commits", commits)
			}
			said := b.says("continue", row.goOn)
			w.until("the workflow to go on", func() bool { root = b.root(); return root.Status != pluginsdk.TaskWaiting })
			root = b.rests()
			if root.Status != pluginsdk.TaskCompleted {
				b.tells()
				t.Logf("asked were %q; the builder was told %q", w.scenes(row.of), lastOf(w.all(row.of, building, "")).newest)
				t.Logf("the reviewer was told %s", lastOf(w.all(row.of, reviewing, "")).words)
				t.Fatalf("continued (%s) it is %s: %s", said, root.Status, root.Error)
			}
			if files := r.git("ls-tree", "--name-only", "main", "first.txt", "result.txt"); files != "first.txt\nresult.txt" {
				t.Errorf("the project's branch has %q", files)
			}
			after := b.report().Stages[0]
			if now := w.run(after.RunID); now.SessionID != run.SessionID || now.ThreadID != run.ThreadID || now.ID == run.ID {
				t.Errorf("it went on in the session %s of thread %s, not in %s of %s", now.SessionID, now.ThreadID, run.SessionID, run.ThreadID)
			}
		})
	}
}

// A workflow whose builder has used the plan up waits until the window opens, and goes on by itself.
// (The window opens in a few seconds: the CLI itself asks nothing before, and has its own clock.)
func TestAWorkflowWaitsForThePlan(t *testing.T) {
	if !apart(t) {
		return
	}
	var opens time.Time
	of := &play{word: "patient.", build: func(of part) []fakeapi.Reply {
		if of.n > 1 {
			return builds("result.txt", "ok\n")(of)
		}
		opens = time.Now().Add(6 * time.Second)
		closed := &fakeapi.Windows{Status: fakeapi.Rejected, Each: []fakeapi.Window{{Name: "5h", Used: 1, Reset: opens}}}
		return []fakeapi.Reply{writes(of, "first.txt", "first\n"), {Text: "Never heard.", Windows: closed}}
	}}
	w := newWorkshop(t, of)
	t.Setenv("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-test")
	if err := os.Unsetenv("ANTHROPIC_API_KEY"); err != nil { // claude has set it, and takes it back
		t.Fatal(err)
	}
	w.config.PlanSpread = time.Millisecond
	w.open(nil)
	r := newRepository(t)
	b := w.begin(w.primary(), r.dir, "stages=builder,reviewer", of.word+" result.txt says ok")
	if root := b.rests(); root.Status != pluginsdk.TaskCompleted {
		b.tells()
		t.Fatalf("it is %s: %s", root.Status, root.Error)
	}
	s := b.report().Stages[0]
	parked := 0
	for _, row := range w.messages(s.ThreadID) {
		if strings.HasPrefix(row.Content, "Parked: The plan's five-hour limit is used up") {
			parked++
		}
	}
	run := w.run(s.RunID)
	w.mu.Lock()
	defer w.mu.Unlock()
	if parked != 1 || run.FinishedAt.Before(opens.Truncate(time.Second)) || run.Attempt != 1 {
		t.Errorf("it was parked %d times, and went on in attempt %d until %s; the window opened at %s", parked, run.Attempt, run.FinishedAt, opens)
	}
	if files := r.git("ls-tree", "--name-only", "main", "first.txt", "result.txt"); files != "first.txt\nresult.txt" {
		t.Errorf("the project's branch has %q", files)
	}
}
