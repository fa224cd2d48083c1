package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Strangers whose thread is branched, or whose task is moved elsewhere, must not be told what the
// workspace holds by that.
func TestWhatComesOfAThreadApartIsApart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		apart, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "discord", SourceID: "strangers", OwnDirectory: true})
		check(t, err)
		open, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "discord", SourceID: "owner"})
		check(t, err)
		is := func(id, what string, want bool) pluginsdk.Thread {
			t.Helper()
			thread := must[pluginsdk.Thread](t)(s.Thread(ctx, id))
			if thread.Apart != want {
				t.Errorf("%s is apart: %t", what, thread.Apart)
			}
			return thread
		}
		is(apart.ID, "the thread", true)
		is(open.ID, "an ordinary one", false)
		given := func(parent, what string, want bool) pluginsdk.Task {
			t.Helper()
			task, _, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", Key: what, NewTask: pluginsdk.NewTask{Prompt: "dig", ParentThreadID: parent}})
			check(t, err)
			if is(task.ThreadID, what, want); task.Origin.Apart != want {
				t.Errorf("%s is asked for apart: %t", what, task.Origin.Apart)
			}
			return task
		}
		task := given(apart.ID, "its task", true)
		below := given(task.ThreadID, "the task of its task", true)
		given(open.ID, "another's task", false)
		check(t, second(s.UpdateThread(ctx, task.ThreadID, pluginsdk.ThreadPatch{Cwd: new("/repo/.claude/worktrees/x")})))
		is(task.ThreadID, "its task in a worktree", true)
		branch, _, err := s.BranchThread(ctx, branchOf(task.ThreadID, 0, "of the task"))
		check(t, err)
		is(branch.ID, "a branch of the task", true)
		again, _, err := s.BranchThread(ctx, branchOf(branch.ID, 0, "of the branch"))
		check(t, err)
		is(again.ID, "a branch of the branch", true)
		given(branch.ID, "a task of the branch", true)
		check(t, second(s.UpdateThread(ctx, apart.ID, pluginsdk.ThreadPatch{Cwd: new("/home/owner")})))
		is(apart.ID, "the thread elsewhere", true)
		is(below.ThreadID, "the task of its task", true)
		ordinary, _, err := s.BranchThread(ctx, branchOf(open.ID, 0, "of the open one"))
		check(t, err)
		is(ordinary.ID, "a branch of an ordinary one", false)
	})
}

// A message keeps what its thread was when it was written, also in a copy, and whose it was.
func TestAMessageKeepsItsLabel(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		thread, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "discord", SourceID: "room"})
		check(t, err)
		by := acceptance(thread.ID, "k", "before")
		by.Plugin, by.Submission.Author = "web", "phone"
		by.Origin = pluginsdk.Origin{Token: "0192", TokenName: "phone"}
		check(t, second(s.Accept(ctx, by)))
		check(t, second(s.UpdateThread(ctx, thread.ID, pluginsdk.ThreadPatch{Cwd: new("/data/threads/" + thread.ID + "/own")})))
		told := must[ledger.Appended](t)(s.Append(ctx, ledger.Append{ThreadID: thread.ID, Plugin: "writer", Key: "k", Rows: []pluginsdk.NewMessage{
			{Role: "system", Kind: pluginsdk.MessageText, Content: "after"}, {Role: "system", Kind: pluginsdk.MessageText, Content: "after"},
		}}))
		elsewhere := pluginsdk.Origin{ThreadID: "T", RunID: "R", TaskID: "K"}
		check(t, second(s.Append(ctx, ledger.Append{ThreadID: thread.ID, Key: "n", Origin: elsewhere, Rows: []pluginsdk.NewMessage{
			{Role: "system", Kind: pluginsdk.MessageNotification, Source: "agent", Content: "told"},
		}})))
		want := []string{
			"phone, by a token, through the plugin web", "the plugin writer, in a thread apart", "the plugin writer, in a thread apart",
			"the agent of the thread T, run R, task K",
		}
		if got := told.Messages[1].Label().String(); got != want[2] {
			t.Errorf("the row as it was stored is of %q", got)
		}
		branch, _, err := s.BranchThread(ctx, branchOf(thread.ID, 0, "copy"))
		check(t, err)
		for _, id := range []string{thread.ID, branch.ID} {
			rows := must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: id}))
			for i, label := range want {
				if got := rows[i].Label().String(); got != label {
					t.Errorf("in %s: %q is of %q, want %q", id, rows[i].Content, got, label)
				}
			}
			if last := rows[len(rows)-1]; id == branch.ID && !last.Origin.Apart {
				t.Error("the line about the branch is not apart")
			}
		}
	})
}

// After an upgrade strangers' threads, and the tasks that they have given, must be apart as before.
func TestUpgradeSaysWhichThreadsAreApart(t *testing.T) {
	const own = "/d/threads/01994b1a-0000-7000-8000-000000000001/own"
	threads := []struct {
		id, kind, parent, cwd string
		want                  bool
	}{
		{"own", "general", "", own, true},
		{"below", "general", "", own + "/deep", true},
		{"task", "task", "own", "/repo", true},
		{"deeper", "task", "task", "", true},
		{"talk", "general", "own", "", false},
		{"open", "general", "", "/repo", false},
		{"of open", "task", "open", "", false},
		{"like", "general", "", own + "er", false},
		{"short", "general", "", "/d/threads/01994b1a-0000-7000-8000/own", false},
		{"loop a", "task", "loop b", "", false},
		{"loop b", "task", "loop a", "", false},
	}
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		before(t, config, 25, func(s *store.Store) {
			const at = "'2026-01-02 03:04:05'"
			for _, row := range threads {
				byHand(t, s, fmt.Sprintf("INSERT INTO threads (id, source, source_id, kind, parent_thread_id, cwd, last_activity, created_at) VALUES ('%[1]s', 'x', '%[1]s', '%[2]s', '%[3]s', '%[4]s', %[5]s, %[5]s)",
					row.id, row.kind, row.parent, row.cwd, at))
				byHand(t, s, fmt.Sprintf("INSERT INTO messages (thread_id, role, kind, source, plugin, author, content, created_at) VALUES ('%s', 'user', 'text', 'discord', 'discord', 'Ann', 'hi', %s)", row.id, at))
			}
		})
		s := storetest.OpenConfig(t, config)
		for _, row := range threads {
			rows := must[[]pluginsdk.Message](t)(s.Messages(context.Background(), pluginsdk.MessageQuery{ThreadID: row.id}))
			label := "Ann, says the plugin discord"
			if row.want {
				label += ", in a thread apart"
			}
			if thread := must[pluginsdk.Thread](t)(s.Thread(t.Context(), row.id)); thread.Apart != row.want || rows[0].Label().String() != label {
				t.Errorf("%s is apart: %t; what is said there is of %q", row.id, thread.Apart, rows[0].Label())
			}
		}
	})
}
