package store_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// addAccount makes an account of the kind key, and returns its name.
func addAccount(t testing.TB, s *store.Store, name string) string {
	t.Helper()
	editAccount(t, s, name, func(a *ledger.Account) { a.Kind, a.Key = pluginsdk.AccountKey, []byte("sealed "+name) })
	return name
}

func editAccount(t testing.TB, s *store.Store, name string, edit func(*ledger.Account)) ledger.Account {
	t.Helper()
	return must[ledger.Account](t)(s.EditAccount(context.Background(), ledger.AccountChange{
		Name: name, Who: "ann", Action: "account.add",
		Edit: func(row *ledger.Account, _ bool, _ []ledger.Account) (string, error) {
			edit(row)
			return "by hand", nil
		},
	}))
}

// A decision about an account that the audit log does not have, or one that is half made,
// would leave an operator without an answer to who opened it.
func TestADecisionAboutAnAccountIsOneTransaction(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		addAccount(t, s, "work")
		addAccount(t, s, "home")
		editAccount(t, s, "work", func(a *ledger.Account) { a.Default = true })
		editAccount(t, s, "home", func(a *ledger.Account) { a.Default, a.Fallback = true, "work" })
		all := must[[]ledger.Account](t)(s.Accounts(ctx))
		if len(all) != 2 || all[0].Name != "home" || !all[0].Default || all[1].Default || string(all[1].Key) != "sealed work" {
			t.Errorf("accounts %+v", all)
		}
		_, err := s.EditAccount(ctx, ledger.AccountChange{Name: "work", Who: "ann", Action: "account.update",
			Edit: func(row *ledger.Account, known bool, all []ledger.Account) (string, error) {
				if !known || len(all) != 2 {
					t.Errorf("known %v of %d", known, len(all))
				}
				row.Overage = true
				return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "no")
			}})
		wantCode(t, err, pluginsdk.CodeInvalid)
		wantCode(t, second(s.EditAccount(ctx, ledger.AccountChange{Name: "no name!", Edit: nil})), pluginsdk.CodeInvalid)
		if entries := must[[]store.AuditEntry](t)(s.AuditEntries(ctx, "work", 0)); len(entries) != 2 || entries[1].Who != "ann" || entries[1].Detail != "by hand" {
			t.Errorf("audit log %+v", entries)
		}

		wantCode(t, second(s.RemoveAccount(ctx, "work", "ann")), pluginsdk.CodeStale) // home's fallback
		thread := newThread(t, s, "general")
		unknown, home := "unknown", "home"
		err = second(s.UpdateThread(ctx, thread.ID, pluginsdk.ThreadPatch{Account: &unknown}))
		wantCode(t, err, pluginsdk.CodeInvalid)
		if !strings.Contains(err.Error(), "there are: environment, home, work") {
			t.Errorf("who mistypes an account is told %s", err)
		}
		must[pluginsdk.Thread](t)(s.UpdateThread(ctx, thread.ID, pluginsdk.ThreadPatch{Account: &home}))
		wantCode(t, second(s.RemoveAccount(ctx, "home", "ann")), pluginsdk.CodeStale)
		home = ""
		must[pluginsdk.Thread](t)(s.UpdateThread(ctx, thread.ID, pluginsdk.ThreadPatch{Account: &home}))
		seen := ledger.PlanState{PlanWindow: pluginsdk.PlanWindow{Account: "home", Name: "five_hour", SeenAt: thread.CreatedAt}, FirstSeen: thread.CreatedAt}
		save := func(fresh, want bool) {
			t.Helper()
			if kept := must[bool](t)(s.SavePlanWindow(ctx, seen, fresh)); kept != want {
				t.Errorf("kept %v of what was seen, want %v", kept, want)
			}
		}
		save(true, true)
		save(false, true)
		check(t, s.ForgetPlan(ctx, "home")) // somebody else has logged in
		save(false, false)
		save(true, true)
		wantCode(t, second(s.RemoveAccount(ctx, "home", "ann")), pluginsdk.CodeStale) // the default
		editAccount(t, s, pluginsdk.EnvironmentAccount, func(a *ledger.Account) { a.Kind, a.Default = pluginsdk.AccountEnvironment, true })
		for _, want := range []bool{true, false} {
			if removed := must[bool](t)(s.RemoveAccount(ctx, "home", "bob")); removed != want {
				t.Errorf("removed %v", removed)
			}
		}
		if windows := must[[]ledger.PlanState](t)(s.PlanWindows(ctx)); len(windows) != 0 {
			t.Errorf("of an account that is gone there is %+v", windows)
		}
		save(false, false) // by a daemon that does not know it yet
		save(true, false)
		if entries := must[[]store.AuditEntry](t)(s.AuditEntries(ctx, "home", 0)); len(entries) != 3 || entries[2].Action != "account.remove" || entries[2].Who != "bob" {
			t.Errorf("audit log %+v", entries)
		}
	})
}

// Work and private life are kept apart by a task's account as well: what it does must not be
// paid by another one than the thread that gives it.
func TestATaskHasTheAccountOfItsParent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		addAccount(t, s, "work")
		home := addAccount(t, s, "home")
		parent := newThread(t, s, "parent")
		must[pluginsdk.Thread](t)(s.UpdateThread(ctx, parent.ID, pluginsdk.ThreadPatch{Account: &home}))
		create := func(key string, asked pluginsdk.NewTask) pluginsdk.Task {
			asked.Prompt = key
			task, _, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", Key: key, NewTask: asked})
			check(t, err)
			if thread := must[pluginsdk.Thread](t)(s.Thread(ctx, task.ThreadID)); thread.Account != task.Account {
				t.Errorf("%s: the thread's account is %q, the task's %q", key, thread.Account, task.Account)
			}
			return task
		}
		below := create("below", pluginsdk.NewTask{ParentThreadID: parent.ID})
		for key, c := range map[string]struct {
			asked pluginsdk.NewTask
			want  string
		}{
			"child":  {pluginsdk.NewTask{ParentTaskID: below.ID}, "home"},
			"other":  {pluginsdk.NewTask{ParentThreadID: parent.ID, Account: "work"}, "work"},
			"nobody": {pluginsdk.NewTask{}, ""},
		} {
			if task := create(key, c.asked); task.Account != c.want {
				t.Errorf("%s: account %q", key, task.Account)
			}
		}
		none := ""
		must[pluginsdk.Thread](t)(s.UpdateThread(ctx, parent.ID, pluginsdk.ThreadPatch{Account: &none}))
		if again := create("below", pluginsdk.NewTask{ParentThreadID: parent.ID}); again.ID != below.ID {
			t.Error("a task that is asked for again was made twice, because its parent has another account now")
		}
		_, _, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", NewTask: pluginsdk.NewTask{Prompt: "x", Account: "unknown"}})
		wantCode(t, err, pluginsdk.CodeInvalid)
	})
}

// Tasks come and go: one that is over does not hold its account for ever, and who is refused is
// told which threads do.
func TestAnAccountIsHeldByWhatStillUsesIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		addAccount(t, s, "home")
		task, _, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", NewTask: pluginsdk.NewTask{Prompt: "dig", Account: "home"}})
		check(t, err)
		err = second(s.RemoveAccount(ctx, "home", "ann"))
		if wantCode(t, err, pluginsdk.CodeStale); !strings.Contains(err.Error(), "1 threads use it ("+task.ThreadID+")") {
			t.Errorf("while the task is not over: %s", err)
		}
		var threads []string
		for _, name := range []string{"a", "b", "c", "d"} {
			thread := newThread(t, s, name)
			must[pluginsdk.Thread](t)(s.UpdateThread(ctx, thread.ID, pluginsdk.ThreadPatch{Account: new("home")}))
			threads = append(threads, thread.ID)
		}
		byHand(t, s, "UPDATE tasks SET status = 'completed', phase = '' WHERE id = '"+task.ID+"'")
		slices.Sort(threads)
		err = second(s.RemoveAccount(ctx, "home", "ann"))
		if wantCode(t, err, pluginsdk.CodeStale); !strings.Contains(err.Error(), "4 threads use it ("+strings.Join(threads[:3], ", ")+" and others)") {
			t.Errorf("with four threads: %s", err)
		}
		for _, id := range threads {
			must[pluginsdk.Thread](t)(s.UpdateThread(ctx, id, pluginsdk.ThreadPatch{Account: new("")}))
		}
		if removed, err := s.RemoveAccount(ctx, "home", "ann"); err != nil || !removed {
			t.Errorf("with nothing but a task that is over: %v, %v", removed, err)
		}
	})
}
