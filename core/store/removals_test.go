package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// inhabited is a thread with something of everything that a thread can have.
func inhabited(t *testing.T, s *store.Store, name string) pluginsdk.Thread {
	t.Helper()
	ctx := context.Background()
	th := newThread(t, s, name)
	for n := range 3 {
		accept(t, s, th.ID, fmt.Sprintf("%s asks %d", name, n))
		c := claim(t, s, th.ID)
		check(t, second(s.KeepAgentRun(ctx, ledger.AgentRun{
			RunID: c.Run.ID, ThreadID: th.ID, CostUSD: 1, Purpose: "pipeline", Error: "words of " + name, StartedAt: time.Now(),
		})))
		finish(t, s, c, fmt.Sprintf("%s is told %d", name, n))
	}
	add(t, s, th.ID, pluginsdk.NewMessage{Role: "system", Kind: pluginsdk.MessageStatus, Content: "of " + name})
	check(t, second(s.Append(ctx, ledger.Append{ThreadID: th.ID, Plugin: "writer", Deliver: true, Rows: []pluginsdk.NewMessage{text("system", "carry")}})))
	check(t, s.RecordMetrics(ctx, "writer", []pluginsdk.NewMetric{{Name: "m", ThreadID: th.ID, At: time.Now()}}))
	run := must[[]pluginsdk.Run](t)(s.Runs(ctx, pluginsdk.RunQuery{ThreadID: th.ID}))[0].ID
	rule := pluginsdk.ApprovalRule{ID: "rule of " + name, ThreadID: th.ID, Tool: "Bash", CreatedAt: time.Now()}
	check(t, s.KeepApprovalAsIs(ctx, ledger.Approval{Approval: pluginsdk.Approval{
		ID: "approval of " + name, ThreadID: th.ID, RunID: run, State: pluginsdk.ApprovalAllowed, RuleID: rule.ID,
		Choices: []pluginsdk.ApprovalChoice{{ID: "allow", Label: "Allow", Allow: true}}, CreatedAt: time.Now(), ExpiresAt: time.Now(),
	}}, rule))
	kept := keepFile(t, s, ledger.KeptFile{File: pluginsdk.File{Name: name, Size: 7, ThreadID: th.ID, Plugin: "writer"}})
	attach(t, s, th.ID, kept)
	keepFile(t, s, ledger.KeptFile{File: pluginsdk.File{Name: "never sent", Size: 3, ThreadID: th.ID, Plugin: "writer"}})
	byHand(t, s, fmt.Sprintf(`INSERT INTO tasks (id, thread_id, key, original_message, prompt, status, created_at)
		VALUES ('task of %s', '%s', '%s', 'm', 'words of %s', 'completed', '2026-01-02 03:04:05')`, name, th.ID, name, name))
	byHand(t, s, fmt.Sprintf(`INSERT INTO task_answers (task_id, iteration, round, phase, plugin, answer, feedback, created_at)
		VALUES ('task of %s', 1, 1, 'reviewing', 'writer', 'accept', 'words of %s', '2026-01-02 03:04:05')`, name, name))
	return th
}

func keepFile(t *testing.T, s *store.Store, f ledger.KeptFile) pluginsdk.File {
	t.Helper()
	f.SHA256 = strings.Repeat("ab", 32)
	return must[ledger.KeptFile](t)(s.KeepFile(context.Background(), f)).File
}

// attach has a message of a thread refer to files.
func attach(t *testing.T, s *store.Store, threadID string, kept ...pluginsdk.File) {
	t.Helper()
	m := pluginsdk.NewMessage{Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Content: "here it is"}
	for _, one := range kept {
		m.Attachments = append(m.Attachments, one.Attachment())
	}
	add(t, s, threadID, m)
}

// rowsOf counts what there is of a thread in every table that names one.
func rowsOf(t *testing.T, s *store.Store, id string) string {
	t.Helper()
	var out []string
	for _, query := range []struct{ of, query string }{
		{"threads", "SELECT COUNT(*) FROM threads WHERE id = $1"},
		{"messages", "SELECT COUNT(*) FROM messages WHERE thread_id = $1"},
		{"runs", "SELECT COUNT(*) FROM runs WHERE thread_id = $1"},
		{"deliveries", "SELECT COUNT(*) FROM deliveries d JOIN messages m ON m.id = d.message_id WHERE m.thread_id = $1"},
		{"metrics", "SELECT COUNT(*) FROM metrics WHERE thread_id = $1"},
		{"approvals", "SELECT COUNT(*) FROM approvals WHERE thread_id = $1"},
		{"rules", "SELECT COUNT(*) FROM approval_rules WHERE thread_id = $1"},
		{"files", "SELECT COUNT(*) FROM files WHERE thread_id = $1"},
		{"tasks", "SELECT COUNT(*) FROM tasks WHERE thread_id = $1"},
		{"agent_runs with words", "SELECT COUNT(*) FROM agent_runs WHERE thread_id = $1 AND error <> ''"},
		{"agent_runs", "SELECT COUNT(*) FROM agent_runs WHERE thread_id = $1"},
		{"removals", "SELECT COUNT(*) FROM thread_removals WHERE id = $1"},
	} {
		var n int
		if err := s.Reader().QueryRowContext(context.Background(), query.query, id).Scan(&n); err != nil {
			t.Fatalf("%s: %s", query.of, err)
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%s %d", query.of, n))
		}
	}
	return strings.Join(out, ", ")
}

func sound(t *testing.T, s *store.Store) {
	t.Helper()
	if problems := must[[]string](t)(s.Integrity(context.Background())); len(problems) > 0 {
		t.Errorf("the database is not sound: %q", problems)
	}
}

// A thread that was deleted is gone at once, for everybody; what it has left goes after it,
// and nothing of any other thread.
func TestDeletedThreadLeavesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		gone, kept := inhabited(t, s, "gone"), inhabited(t, s, "kept")
		before := rowsOf(t, s, kept.ID)
		stored := must[int64](t)(s.StoredBytes(ctx, "writer"))

		was := must[pluginsdk.Thread](t)(s.DeleteThread(ctx, gone.ID, "ann"))
		if was.SourceID != "gone" {
			t.Errorf("deleted %+v", was)
		}
		wantCode(t, second(s.Thread(ctx, gone.ID)), pluginsdk.CodeNotFound)
		wantCode(t, second(s.DeleteThread(ctx, gone.ID, "ann")), pluginsdk.CodeNotFound)
		wantCode(t, second(s.Accept(ctx, acceptance(gone.ID, "late", "late"))), pluginsdk.CodeNotFound)
		wantCode(t, second(s.Append(ctx, ledger.Append{ThreadID: gone.ID, Rows: []pluginsdk.NewMessage{text("system", "late")}})), pluginsdk.CodeNotFound)
		if left := must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: gone.ID})); len(left) > 0 {
			t.Errorf("of a deleted thread %d messages are found", len(left))
		}
		for _, all := range []string{"", gone.ID} { // in all threads, and in this one
			found := 0
			for _, of := range must[[]pluginsdk.Run](t)(s.Runs(ctx, pluginsdk.RunQuery{ThreadID: all})) {
				found += isOf(of.ThreadID, gone.ID)
			}
			for _, of := range must[[]ledger.Approval](t)(s.Approvals(ctx, pluginsdk.ApprovalQuery{ThreadID: all})) {
				found += isOf(of.ThreadID, gone.ID)
			}
			for _, of := range must[[]pluginsdk.ApprovalRule](t)(s.ApprovalRules(ctx, pluginsdk.ListApprovalRulesRequest{ThreadID: all})) {
				found += isOf(of.ThreadID, gone.ID)
			}
			for _, of := range must[[]pluginsdk.File](t)(s.Files(ctx, pluginsdk.FileQuery{ThreadID: all})) {
				found += isOf(of.ThreadID, gone.ID)
			}
			for _, of := range must[[]pluginsdk.Task](t)(s.Tasks(ctx, pluginsdk.TaskQuery{ThreadID: all})) {
				found += isOf(of.ThreadID, gone.ID)
			}
			if found > 0 {
				t.Errorf("of a deleted thread %d tasks, runs, approvals, rules and files are found, asked for %q", found, all)
			}
		}
		sound(t, s) // also in the middle
		again, created, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: gone.Source, SourceID: gone.SourceID})
		if err != nil || !created || again.ID == gone.ID {
			t.Errorf("a new thread of the same source: %+v, created %v, %v", again, created, err)
		}

		if ids := must[[]string](t)(s.Removals(ctx)); !slices.Equal(ids, []string{gone.ID}) {
			t.Errorf("to be removed: %q", ids)
		}
		check(t, s.RemoveThread(ctx, gone.ID))
		check(t, s.RemoveThread(ctx, gone.ID)) // by a daemon that does not know it is done
		if left := rowsOf(t, s, gone.ID); left != "agent_runs 3" {
			t.Errorf("left of the thread: %s; want what was paid, and nothing else", left)
		}
		if now := rowsOf(t, s, kept.ID); now != before {
			t.Errorf("another thread has %s, and had %s", now, before)
		}
		if now := must[int64](t)(s.StoredBytes(ctx, "writer")); now*2 != stored {
			t.Errorf("the plugin has stored %d bytes, want half of %d", now, stored)
		}
		wantCode(t, s.RemoveThread(ctx, kept.ID), pluginsdk.CodeInternal)
		if now := rowsOf(t, s, kept.ID); now != before {
			t.Errorf("a thread that is there lost rows: %s", now)
		}
		sound(t, s)
	})
}

func isOf(threadID, id string) int {
	if threadID == id {
		return 1
	}
	return 0
}

// What a message refers to is kept for as long as the message: files that were a deleted
// thread's are those of a branch of it from then on, and go with the last one.
func TestFilesStayWithTheLastThreadThatShowsThem(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		first, other := newThread(t, s, "first"), newThread(t, s, "other")
		shown := keepFile(t, s, ledger.KeptFile{File: pluginsdk.File{Name: "shown", Size: 10, ThreadID: first.ID, Plugin: "writer"}})
		late := keepFile(t, s, ledger.KeptFile{File: pluginsdk.File{Name: "late", Size: 20, ThreadID: first.ID, Plugin: "writer"}})
		passed := keepFile(t, s, ledger.KeptFile{File: pluginsdk.File{Name: "passed on", Size: 30, ThreadID: first.ID}})
		nobodys := keepFile(t, s, ledger.KeptFile{File: pluginsdk.File{Name: "of no thread", Size: 40}})
		attach(t, s, first.ID, shown, passed)
		branch, created, err := s.BranchThread(ctx, branchOf(first.ID, 0, "branch"))
		if check(t, err); !created {
			t.Fatal("there was a branch")
		}
		attach(t, s, first.ID, late, nobodys)
		attach(t, s, other.ID, passed)

		want := func(after string, files map[string]string) {
			t.Helper()
			is := make(map[string]string)
			for _, f := range must[[]pluginsdk.File](t)(s.Files(ctx, pluginsdk.FileQuery{})) {
				is[f.Name] = f.ThreadID
			}
			if !maps.Equal(is, files) {
				t.Errorf("after %s there are %v, want %v", after, is, files)
			}
			counts := int64(0) // for its plugin, as long as it is there
			if _, there := files["shown"]; there {
				counts = ledger.RowBytes + shown.Size
			}
			if counted := must[int64](t)(s.StoredBytes(ctx, "writer")); counted != counts {
				t.Errorf("after %s: the plugin has stored %d bytes, want %d", after, counted, counts)
			}
			sound(t, s)
		}
		remove := func(id string) {
			t.Helper()
			check(t, second(s.DeleteThread(ctx, id, "ann")))
			check(t, s.RemoveThread(ctx, id))
		}
		remove(first.ID)
		want("the first thread", map[string]string{"shown": branch.ID, "passed on": branch.ID, "of no thread": ""})
		check(t, second(s.Prune(ctx, time.Now().Add(time.Hour), false)))
		want("a pruning", map[string]string{"shown": branch.ID, "passed on": branch.ID}) // the last message with the other one is gone
		remove(branch.ID)
		want("the branch", map[string]string{"passed on": other.ID})
		remove(other.ID)
		want("all", nil)
	})
}

// A thread that something still needs is not deleted, and who wants to is told what it is.
func TestThreadInUseIsKept(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		refused := func(what, id string, words string) {
			t.Helper()
			_, err := s.DeleteThread(ctx, id, "ann")
			wantCode(t, err, pluginsdk.CodeStale)
			if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "%!") {
				t.Errorf("%s: %v does not say %q", what, err, words)
			}
			if ids := must[[]string](t)(s.Removals(ctx)); len(ids) > 0 {
				t.Errorf("%s: %q are removed", what, ids)
			}
		}
		primary := must[pluginsdk.Thread](t)(s.EnsurePrimary(ctx))
		refused("the primary thread", primary.ID, "primary")
		busy := newThread(t, s, "busy")
		waiting := accept(t, s, busy.ID, "hello")
		refused("a run that waits", busy.ID, waiting.RunID)
		c := claim(t, s, busy.ID)
		refused("a run that executes", busy.ID, "harness stop --drop --thread "+busy.ID) // without it, it would be the primary one
		byHand(t, s, "UPDATE runs SET state = 'waiting' WHERE state = 'running'")
		refused("a run that waits for a person", busy.ID, waiting.RunID)
		byHand(t, s, "UPDATE runs SET state = 'running' WHERE state = 'waiting'")
		finish(t, s, c, "done")

		for _, of := range []string{"its own thread", "the parent", "the cause"} {
			task := ledger.Task{Task: pluginsdk.Task{ID: "task of " + of, ThreadID: "elsewhere", Status: pluginsdk.TaskRunning}}
			switch of {
			case "its own thread":
				task.ThreadID = busy.ID
			case "the parent":
				task.ParentThreadID = busy.ID
			case "the cause":
				task.CauseRunID = c.Run.ID
			}
			check(t, s.KeepTask(ctx, task))
			refused("a task, by "+of, busy.ID, "harness task cancel "+task.ID)
			byHand(t, s, "UPDATE tasks SET status = 'failed', phase = 'ending' WHERE status = 'running'")
			refused("a task whose end is not told yet, by "+of, busy.ID, task.ID)
			byHand(t, s, "UPDATE tasks SET phase = ''")
			check(t, s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error {
				return tx.Run1(ctx, "UPDATE tasks SET status = 'completed' WHERE id = $1", task.ID)
			}))
		}
		_, _, err := s.SaveCron(ctx, pluginsdk.CronSpec{Name: "digest", Schedule: "0 7 * * *", ThreadID: busy.ID, Timezone: "UTC"}, true)
		check(t, err)
		refused("a scheduled job", busy.ID, "digest")
		check(t, s.DeleteCron(ctx, "digest"))
		check(t, second(s.DeleteThread(ctx, busy.ID, "ann")))
		check(t, s.RemoveThread(ctx, busy.ID))
	})
}

// What was paid stays paid: by the tasks above one that went, and in the accounts of gates.
func TestDeletedThreadKeepsWhatWasPaid(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		above, middle, below := newThread(t, s, "above"), newThread(t, s, "middle"), newThread(t, s, "below")
		for n, th := range []pluginsdk.Thread{above, middle, below} {
			parent := ""
			if n > 0 {
				parent = fmt.Sprint("task ", n-1)
			}
			id := fmt.Sprint("task ", n)
			check(t, s.KeepTask(ctx, ledger.Task{Task: pluginsdk.Task{ID: id, ThreadID: th.ID, ParentTaskID: parent, Status: pluginsdk.TaskCompleted}}))
			check(t, second(s.KeepAgentRun(ctx, ledger.AgentRun{TaskID: id, ThreadID: th.ID, CostUSD: 1, Purpose: "task", StartedAt: time.Now()})))
		}
		run := uuid.NewString()
		check(t, s.KeepRun(ctx, ledger.Run{Run: pluginsdk.Run{
			ID: run, ThreadID: middle.ID, Kind: pluginsdk.RunTurn, State: pluginsdk.RunSucceeded, CostUSD: 2, QueuedAt: time.Now(), FinishedAt: time.Now(),
		}}))
		reserve := "INSERT INTO reservations (plugin, account, run_id, usd) VALUES ('gate', 'a', $1, $2)"
		check(t, s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error { return tx.Run1(ctx, reserve, run, 5.0) }))

		check(t, second(s.DeleteThread(ctx, middle.ID, "ann")))
		check(t, s.RemoveThread(ctx, middle.ID))
		if task := must[pluginsdk.Task](t)(s.Task(ctx, "task 0")); task.CostUSD != 3 {
			t.Errorf("the task above has cost %v, and it was 3", task.CostUSD)
		}
		if task := must[pluginsdk.Task](t)(s.Task(ctx, "task 2")); task.ParentTaskID != "task 0" {
			t.Errorf("the task below is below %q", task.ParentTaskID)
		}
		var spent float64
		check(t, s.Reader().QueryRowContext(ctx, "SELECT SUM(usd) FROM reservations WHERE plugin = 'gate' AND account = 'a'").Scan(&spent))
		if spent != 2 {
			t.Errorf("the account has %v spent, want the 2 that the run has cost", spent)
		}
		sound(t, s)
	})
}

// Replies that went to a deleted thread go nowhere, and what was below it is below none.
func TestDeletedThreadIsNobodysTarget(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		gone := newThread(t, s, "gone")
		child, _, err := s.CreateThread(ctx, pluginsdk.NewThread{
			Source: "discord", SourceID: "child", ParentThreadID: gone.ID, ReportTo: pluginsdk.Target{ThreadID: gone.ID},
		})
		check(t, err)
		check(t, second(s.DeleteThread(ctx, gone.ID, "ann")))
		left := must[pluginsdk.Thread](t)(s.Thread(ctx, child.ID))
		if left.ParentThreadID != "" || left.ReportTo.ThreadID != child.ID {
			t.Errorf("the thread below it is %+v", left)
		}
		sound(t, s)
	})
}

// A daemon may die between any two steps of a removal: the next one ends it, and nothing
// else is touched.
func TestRemovalGoesOnWhereItEnded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		kept := inhabited(t, s, "kept")
		want := rowsOf(t, s, kept.ID)
		for steps := 0; ; steps++ {
			gone := inhabited(t, s, fmt.Sprint("gone ", steps))
			check(t, second(s.DeleteThread(ctx, gone.ID, "ann")))
			revive := s.DieAfter(steps)
			err := s.RemoveThread(ctx, gone.ID)
			revive()
			sound(t, s)
			if err == nil {
				if steps < 4 {
					t.Errorf("a removal has only %d transactions", steps)
				}
				break
			}
			if ids := must[[]string](t)(s.Removals(ctx)); !slices.Equal(ids, []string{gone.ID}) {
				t.Errorf("after %d steps: to be removed: %q", steps, ids)
			}
			check(t, s.RemoveThread(ctx, gone.ID))
			if left := rowsOf(t, s, gone.ID); left != "agent_runs 3" {
				t.Errorf("after %d steps: left of the thread: %s", steps, left)
			}
		}
		if now := rowsOf(t, s, kept.ID); now != want {
			t.Errorf("another thread has %s, and had %s", now, want)
		}
	})
}
