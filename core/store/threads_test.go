package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A page that lists conversations shows the latest first, and each once, however
// small its pages are and although two were active at the same moment.
func TestThreadsAreListedInOrderPageByPage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		var ids []string
		for n, minute := range []int{3, 1, 3, 2, 5} {
			id := newThread(t, s, fmt.Sprint(n)).ID
			byHand(t, s, fmt.Sprintf("UPDATE threads SET last_activity = '2026-01-02 03:%02d:00' WHERE id = '%s'", minute, id))
			ids = append(ids, id)
		}
		for order, want := range map[pluginsdk.ThreadOrder][]int{
			"": {0, 1, 2, 3, 4}, pluginsdk.OldestFirst: {0, 1, 2, 3, 4}, pluginsdk.NewestFirst: {4, 3, 2, 1, 0}, pluginsdk.ActivityFirst: {4, 2, 0, 3, 1},
		} {
			for size := 1; size <= 6; size++ {
				var got []int
				query := pluginsdk.ThreadQuery{Source: "discord", Order: order, Limit: size}
				for {
					page := must[[]pluginsdk.Thread](t)(s.Threads(ctx, query))
					for _, thread := range page {
						got = append(got, slices.Index(ids, thread.ID))
					}
					if len(page) < size {
						break
					}
					query.After = page[size-1].ID
				}
				if !slices.Equal(got, want) {
					t.Errorf("order %q in pages of %d: %v, want %v", order, size, got, want)
				}
			}
		}
		_, err := s.Threads(ctx, pluginsdk.ThreadQuery{Order: "random"})
		wantCode(t, err, pluginsdk.CodeInvalid)
		child, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "task", SourceID: "x", ParentThreadID: ids[1]})
		check(t, err)
		if got := only[pluginsdk.Thread](t)(s.Threads(ctx, pluginsdk.ThreadQuery{ParentThreadID: ids[1]})); got.ID != child.ID {
			t.Errorf("child %+v", got)
		}
	})
}

// Who looks for a conversation finds it by what it is called, in the same way on both
// databases: umlauts have a case too, and % and _ are characters like others.
func TestThreadsAreFoundByTheirNames(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for i, name := range []string{"Übung im GARTEN", "garten, 100%", "Gar_ten", "", "ΟΔΟΣ"} {
			thread, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "web", SourceID: fmt.Sprint(i), Name: name})
			check(t, err)
			byHand(t, s, fmt.Sprintf("UPDATE threads SET last_activity = '2026-01-02 03:%02d:00' WHERE id = '%s'", i, thread.ID))
		}
		for _, row := range []struct {
			query pluginsdk.ThreadQuery
			want  string
		}{
			{pluginsdk.ThreadQuery{Text: "garten"}, "[0 1]"},
			{pluginsdk.ThreadQuery{Text: " Gart  üBung "}, "[0]"},
			{pluginsdk.ThreadQuery{Text: "%"}, "[1]"},
			{pluginsdk.ThreadQuery{Text: "r_t"}, "[2]"},
			{pluginsdk.ThreadQuery{Text: "garten garage"}, "[]"},
			{pluginsdk.ThreadQuery{Text: "οδ"}, "[4]"},
			{pluginsdk.ThreadQuery{Text: "  "}, "[0 1 2 3 4]"},
			{pluginsdk.ThreadQuery{Text: "gar", Source: "discord"}, "[]"},
			{pluginsdk.ThreadQuery{Text: "gar", Order: pluginsdk.ActivityFirst, Limit: 2}, "[2 1]"},
			{pluginsdk.ThreadQuery{Text: "gar", Order: pluginsdk.ActivityFirst, Limit: 2, After: "1"}, "[0]"},
		} {
			if row.query.After != "" {
				row.query.After = only[pluginsdk.Thread](t)(s.Threads(ctx, pluginsdk.ThreadQuery{SourceID: row.query.After})).ID
			}
			got := []string{}
			for _, thread := range must[[]pluginsdk.Thread](t)(s.Threads(ctx, row.query)) {
				got = append(got, thread.SourceID)
			}
			if fmt.Sprint(got) != row.want {
				t.Errorf("%+v: %v, want %s", row.query, got, row.want)
			}
		}
		wantCode(t, second(s.Threads(ctx, pluginsdk.ThreadQuery{Text: strings.Repeat("x", 1025)})), pluginsdk.CodeInvalid)
	})
}

// A page shows conversations without what is put away, and without what works in the
// background, in one list.
func TestThreadsOfSeveralStatusesAndKindsAreOneList(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for _, status := range []pluginsdk.ThreadStatus{pluginsdk.ThreadActive, pluginsdk.ThreadIdle, pluginsdk.ThreadArchived} {
			for _, kind := range []pluginsdk.ThreadKind{pluginsdk.ThreadGeneral, pluginsdk.ThreadTask} {
				name := fmt.Sprint(status, " ", kind)
				thread, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "web", SourceID: name, Name: name, Kind: kind})
				check(t, err)
				check(t, second(s.UpdateThread(ctx, thread.ID, pluginsdk.ThreadPatch{Status: &status})))
			}
		}
		shown := pluginsdk.ThreadQuery{
			Kinds:    []pluginsdk.ThreadKind{pluginsdk.ThreadPrimary, pluginsdk.ThreadGeneral},
			Statuses: []pluginsdk.ThreadStatus{pluginsdk.ThreadActive, pluginsdk.ThreadIdle},
		}
		for text, want := range map[string]string{"": "[active general idle general]", "IDLE": "[idle general]"} {
			shown.Text = text
			got := []string{}
			for _, thread := range must[[]pluginsdk.Thread](t)(s.Threads(ctx, shown)) {
				got = append(got, thread.Name)
			}
			if fmt.Sprint(got) != want {
				t.Errorf("%q: %v, want %s", text, got, want)
			}
		}
	})
}

// What everybody's page asks for first does not sort all the threads that there are.
func TestThreadsByActivityAreReadFromAnIndex(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		manyThreads(t, s)
		query := pluginsdk.ThreadQuery{Order: pluginsdk.ActivityFirst, Statuses: []pluginsdk.ThreadStatus{pluginsdk.ThreadActive, pluginsdk.ThreadIdle}, Limit: 40}
		for _, query.After = range []string{"", "thread-5000"} {
			plans := s.Plans(func() { must[[]pluginsdk.Thread](t)(s.Threads(ctx, query)) })
			if len(plans) != 1 || !strings.Contains(plans[0], "thread_last_activity_id") || strings.Contains(strings.ToLower(plans[0]), "sort") || strings.Contains(plans[0], "TEMP B-TREE") {
				t.Errorf("after %q:\n%s", query.After, strings.Join(plans, "\n\n"))
			}
		}
	})
}

// manyThreads makes 10,000 threads: one in nine is archived.
func manyThreads(t testing.TB, s *store.Store) {
	t.Helper()
	newThread(t, s, "model")
	check(t, s.Write(context.Background(), true, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Run1(ctx, `INSERT INTO threads (id, source, source_id, name, status, last_activity, created_at)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
			SELECT 'thread-' || i, 'web', 'web-' || i, 'thread number ' || i, CASE i % 9 WHEN 0 THEN 'archived' ELSE 'idle' END,
				last_activity, created_at FROM n CROSS JOIN (SELECT last_activity, created_at FROM threads) AS model`),
			tx.Run1(ctx, "ANALYZE threads"))
	}))
}

// The number beside a conversation is of what a person has to read: not of their
// own words, nor of what the agent did.
func TestUnreadCountsWhatIsToBeRead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		busy, quiet := newThread(t, s, "busy").ID, newThread(t, s, "quiet").ID
		read := add(t, s, busy, text(pluginsdk.RoleAssistant, "read"))[0].ID
		rows := []pluginsdk.NewMessage{
			text(pluginsdk.RoleAssistant, "unread"), text(pluginsdk.RoleUser, "mine"), statusRow("a step"),
			{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Content: "unread"},
			{Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageThinking, Content: "hm"}, {Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageSummary, Content: "s"},
		}
		add(t, s, busy, rows...)
		add(t, s, newThread(t, s, "elsewhere").ID, rows...)
		check(t, second(s.UpdateThread(ctx, busy, pluginsdk.ThreadPatch{LastReadMessageID: &read})))
		unread := func(ask bool) map[string]int {
			counts := make(map[string]int)
			for _, thread := range must[[]pluginsdk.Thread](t)(s.Threads(ctx, pluginsdk.ThreadQuery{Unread: ask})) {
				counts[thread.ID] = thread.Unread
			}
			return counts
		}
		if got := unread(true); got[busy] != 2 || got[quiet] != 0 {
			t.Errorf("unread %v", got)
		}
		if got := unread(false); got[busy] != 0 {
			t.Errorf("counted although nobody asked: %v", got)
		}
		add(t, s, busy, slices.Repeat(rows, 70)...)
		if got := unread(true); got[busy] != 100 {
			t.Errorf("%d unread, want no more than 100", got[busy])
		}
	})
}

// Words without end in a thread would be in every call of every hook and in every
// list: they are refused, by name, where they come in.
func TestWordsOfThreadsAreBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		long := func(n int) string { return "/" + strings.Repeat("x", n) }
		for field, max := range map[string]int{"name": 1 << 10, "instructions": 64 << 10, "cwd": 4 << 10, "sourceId": 512, "source": 64, "model": 256, "effort": 256} {
			for _, n := range []int{max, max + 1} {
				made, patch := pluginsdk.NewThread{Source: "x", SourceID: fmt.Sprint(field, n)}, pluginsdk.ThreadPatch{}
				word := long(n - 1)
				switch field {
				case "name":
					made.Name, patch.Name = word, &word
				case "instructions":
					made.Instructions, patch.Instructions = word, &word
				case "cwd":
					made.Cwd, patch.Cwd = word, &word
				case "model":
					made.Model, patch.Model = word, &word
				case "effort":
					made.Effort, patch.Effort = word, &word
				case "sourceId":
					made.SourceID = word
				case "source":
					made.Source = word
				}
				errs := []error{third(s.CreateThread(ctx, made))}
				if patch != (pluginsdk.ThreadPatch{}) {
					errs = append(errs, second(s.UpdateThread(ctx, thread.ID, patch)))
				}
				for _, err := range errs {
					if n <= max && err != nil || n > max && (pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.HasPrefix(err.Error(), field+":")) {
						t.Errorf("%s of %d bytes: %v", field, n, err)
					}
				}
			}
		}
	})
}

// No side of Harness can set a mode that asks nobody: not a plugin, not with a
// space behind it, not SQL.
func TestPermissionModesAreTheAgentsOwn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		for _, mode := range []string{"default", "acceptEdits", "plan", "dontAsk", ""} {
			if got := must[pluginsdk.Thread](t)(s.UpdateThread(ctx, thread.ID, pluginsdk.ThreadPatch{PermissionMode: &mode})); got.PermissionMode != mode {
				t.Errorf("mode %q became %q", mode, got.PermissionMode)
			}
		}
		for _, mode := range []string{"bypassPermissions", "bypassPermissions ", " plan", "Plan", "plan --dangerously-skip-permissions", "plan\x00"} {
			for _, err := range []error{
				second(s.UpdateThread(ctx, thread.ID, pluginsdk.ThreadPatch{PermissionMode: &mode})),
				third(s.CreateThread(ctx, pluginsdk.NewThread{Source: "x", SourceID: "y", PermissionMode: mode})),
				third(s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", NewTask: pluginsdk.NewTask{Prompt: "x", PermissionMode: mode}})),
			} {
				if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.HasPrefix(err.Error(), "permissionMode:") {
					t.Errorf("mode %q: %v", mode, err)
				}
			}
			if strings.Contains(mode, "\x00") {
				continue
			}
			byHand(t, s, "UPDATE threads SET permission_mode = '"+mode+"'")
			accept(t, s, thread.ID, "hello")
			c := claim(t, s, thread.ID)
			if read := must[pluginsdk.Thread](t)(s.Thread(ctx, thread.ID)); read.PermissionMode != "" || c.Thread.PermissionMode != "" {
				t.Errorf("mode %q by SQL is read as %q and claimed as %q", mode, read.PermissionMode, c.Thread.PermissionMode)
			}
			finish(t, s, c, "done")
		}
	})
}

// A scheduled job's thread answers its job alone.
func TestAJobsThreadTakesTheJobsMessages(t *testing.T) {
	s := storetest.Open(t)
	thread, _, err := s.CreateThread(t.Context(), pluginsdk.NewThread{Source: "clockwork", SourceID: "job", Kind: pluginsdk.ThreadCron})
	check(t, err)
	a := acceptance(thread.ID, "1", "hello")
	wantCode(t, second(s.Accept(t.Context(), a)), pluginsdk.CodeInvalid)
	a.Submission.Source = "clockwork"
	check(t, second(s.Accept(t.Context(), a)))
}

// An operator who looks for what just happened, and a plugin that looks for its
// own, find it, page by page.
func TestNewestFirstPageByPage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread, other := newThread(t, s, "a").ID, newThread(t, s, "b").ID
		var runs, tasks, deliveries []string
		for n := range 5 {
			a := acceptance(thread, fmt.Sprint(n), "q")
			if n > 0 {
				a.Submission.CauseRunID = runs[0]
			}
			if n == 4 {
				a.Submission.ThreadID = other
			}
			check(t, second(s.Accept(ctx, a)))
			runs = append(runs, a.RunID)
			parent := pluginsdk.NewTask{Prompt: "p", ParentThreadID: thread}
			if n > 2 {
				parent.ParentTaskID = tasks[0]
			}
			task, _, err := s.CreateTask(ctx, ledger.NewTask{Plugin: []string{"x", "y"}[n%2], NewTask: parent})
			check(t, err)
			tasks = append(tasks, task.ID)
			d := pluginsdk.Delivery{ID: fmt.Sprint("d", n), MessageID: 1, Plugin: "p", State: pluginsdk.DeliveryPending, CreatedAt: time.Now()}
			check(t, s.KeepDelivery(ctx, d))
			deliveries = append(deliveries, d.ID)
		}
		lists := map[string]struct {
			all  []string
			want []int
			page func(after string) []string
		}{
			"runs": {runs, []int{4, 3, 2, 1, 0}, func(after string) []string {
				return idsOf(must[[]pluginsdk.Run](t)(s.Runs(ctx, pluginsdk.RunQuery{Newest: true, After: after, Limit: 2})), func(r pluginsdk.Run) string { return r.ID })
			}},
			"runs of a thread": {runs, []int{3, 2, 1, 0}, func(after string) []string {
				return idsOf(must[[]pluginsdk.Run](t)(s.Runs(ctx, pluginsdk.RunQuery{ThreadID: thread, Newest: true, After: after, Limit: 2})), func(r pluginsdk.Run) string { return r.ID })
			}},
			"runs that one caused": {runs, []int{1, 2, 3, 4}, func(after string) []string {
				return idsOf(must[[]pluginsdk.Run](t)(s.Runs(ctx, pluginsdk.RunQuery{CauseRunID: runs[0], After: after, Limit: 2})), func(r pluginsdk.Run) string { return r.ID })
			}},
			"tasks": {tasks, []int{4, 3, 2, 1, 0}, func(after string) []string {
				return idsOf(must[[]pluginsdk.Task](t)(s.Tasks(ctx, pluginsdk.TaskQuery{Newest: true, After: after, Limit: 2})), func(r pluginsdk.Task) string { return r.ID })
			}},
			"tasks of a plugin": {tasks, []int{0, 2, 4}, func(after string) []string {
				return idsOf(must[[]pluginsdk.Task](t)(s.Tasks(ctx, pluginsdk.TaskQuery{Plugin: "x", After: after, Limit: 2})), func(r pluginsdk.Task) string { return r.ID })
			}},
			"tasks below one": {tasks, []int{3, 4}, func(after string) []string {
				return idsOf(must[[]pluginsdk.Task](t)(s.Tasks(ctx, pluginsdk.TaskQuery{ParentTaskID: tasks[0], After: after, Limit: 2})), func(r pluginsdk.Task) string { return r.ID })
			}},
			"the task of a thread": {tasks, []int{1}, func(after string) []string {
				own := must[pluginsdk.Task](t)(s.Task(ctx, tasks[1])).ThreadID
				return idsOf(must[[]pluginsdk.Task](t)(s.Tasks(ctx, pluginsdk.TaskQuery{ThreadID: own, After: after, Limit: 2})), func(r pluginsdk.Task) string { return r.ID })
			}},
			"deliveries": {deliveries, []int{4, 3, 2, 1, 0}, func(after string) []string {
				return idsOf(must[[]pluginsdk.Delivery](t)(s.Deliveries(ctx, pluginsdk.DeliveryQuery{Newest: true, After: after, Limit: 2})), func(r pluginsdk.Delivery) string { return r.ID })
			}},
		}
		for name, list := range lists {
			var got []int
			for page := list.page(""); len(page) > 0; page = list.page(page[len(page)-1]) {
				for _, id := range page {
					got = append(got, slices.Index(list.all, id))
				}
			}
			if !slices.Equal(got, list.want) {
				t.Errorf("%s: %v, want %v", name, got, list.want)
			}
		}
	})
}

func idsOf[T any](rows []T, id func(T) string) (ids []string) {
	for _, row := range rows {
		ids = append(ids, id(row))
	}
	return ids
}

// Two plugins that number their tasks must not get each other's.
func TestKeysOfTasksAreThePluginsOwn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		first, created, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "a", Key: "1", NewTask: pluginsdk.NewTask{Prompt: "one"}})
		if err != nil || !created {
			t.Fatal(created, err)
		}
		second, created, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "b", Key: "1", NewTask: pluginsdk.NewTask{Prompt: "two"}})
		if err != nil || !created || second.ID == first.ID || first.Plugin != "a" || second.Plugin != "b" {
			t.Errorf("%v %v %+v", err, created, second)
		}
	})
}

// A plugin that asks for a thread gets it as it is, unless it says what the thread may
// do and the thread may do something else: what it gives its agent to do there would
// be done elsewhere, or with other rights.
func TestAThreadThatExistsWithOtherRights(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		asked := pluginsdk.NewThread{Source: "cron", SourceID: "job", Name: "Job", PermissionMode: "plan", Cwd: "/srv/garden"}
		first, created, err := s.CreateThread(ctx, asked)
		if check(t, err); !created {
			t.Error("not made")
		}
		for name, change := range map[string]func(*pluginsdk.NewThread){
			"the same":          func(*pluginsdk.NewThread) {},
			"another name":      func(n *pluginsdk.NewThread) { n.Name, n.BusyMode, n.Model = "Other", pluginsdk.BusySteer, "haiku" },
			"nothing of rights": func(n *pluginsdk.NewThread) { n.PermissionMode, n.Cwd = "", "" },
		} {
			n := asked
			change(&n)
			if again, created, err := s.CreateThread(ctx, n); err != nil || created || again.ID != first.ID {
				t.Errorf("%s: %v, created %v, %s", name, err, created, again.ID)
			}
		}
		for field, change := range map[string]func(*pluginsdk.NewThread){
			"permissionMode": func(n *pluginsdk.NewThread) { n.PermissionMode = "acceptEdits" },
			"cwd":            func(n *pluginsdk.NewThread) { n.Cwd = "/srv" },
		} {
			n := asked
			change(&n)
			if err := third(s.CreateThread(ctx, n)); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict || !strings.HasPrefix(err.Error(), field+":") {
				t.Errorf("%s: %v", field, err)
			}
		}
	})
}

// What the audit log says a thread was allowed is what it was allowed, and not what was refused.
func TestWhatAThreadMayDoIsNotedIfItIsSo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		th := newThread(t, s, "a")
		wantCode(t, second(s.PermitThread(ctx, th.ID, pluginsdk.ThreadPatch{Cwd: new("relative")}, "ann", "refused")), pluginsdk.CodeInvalid)
		wantCode(t, second(s.PermitThread(ctx, "nowhere", pluginsdk.ThreadPatch{Cwd: new("/srv")}, "ann", "refused")), pluginsdk.CodeNotFound)
		wantCode(t, second(s.PermitThread(ctx, th.ID, pluginsdk.ThreadPatch{ReportTo: &pluginsdk.Target{ThreadID: "nowhere"}}, "ann", "refused")), pluginsdk.CodeInvalid)
		if noted := must[[]pluginsdk.AuditEntry](t)(s.AuditPage(ctx, pluginsdk.AuditQuery{})); len(noted) > 0 {
			t.Errorf("noted %+v", noted)
		}
		after := must[pluginsdk.Thread](t)(s.PermitThread(ctx, th.ID, pluginsdk.ThreadPatch{Cwd: new("/srv")}, "ann", "a directory"))
		noted := must[[]pluginsdk.AuditEntry](t)(s.AuditPage(ctx, pluginsdk.AuditQuery{}))
		if after.Cwd != "/srv" || len(noted) != 1 || noted[0].Who != "ann" || noted[0].Action != "thread.permit" || noted[0].Target != th.ID || noted[0].Detail != "a directory" {
			t.Errorf("the thread is %+v, noted %+v", after, noted)
		}
	})
}

// Two threads of strangers that share a directory read each other's files, and one whose
// directory a stranger names reads anybody's.
func TestADirectoryOfAThreadsOwn(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		ctx := t.Context()
		s := storetest.OpenConfig(t, config)
		asked := pluginsdk.NewThread{Source: "discord", SourceID: "../../workspace", OwnDirectory: true}
		made, _, err := s.CreateThread(ctx, asked)
		check(t, err)
		if want := filepath.Join(config.Dir, "threads", made.ID, "own"); made.Cwd != want {
			t.Errorf("it works in %q; want %q", made.Cwd, want)
		}
		same(t, made, must[pluginsdk.Thread](t)(s.Thread(ctx, made.ID)))
		again, created, err := s.CreateThread(ctx, asked)
		if err != nil || created || again.Cwd != made.Cwd {
			t.Errorf("asked again: %q, made %v, %v", again.Cwd, created, err)
		}
		before, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "discord", SourceID: "old"})
		check(t, err)
		old, created, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "discord", SourceID: "old", OwnDirectory: true})
		if err != nil || created || old.ID != before.ID || old.Cwd != "" {
			t.Errorf("one from before an upgrade: %+v, made %v, %v", old, created, err)
		}
		asked.SourceID, asked.Cwd = "both", "/srv"
		wantCode(t, third(s.CreateThread(ctx, asked)), pluginsdk.CodeInvalid)

		branch, _, err := s.BranchThread(ctx, branchOf(made.ID, 0, "branch"))
		check(t, err)
		if want := filepath.Join(config.Dir, "threads", branch.ID, "own"); branch.Cwd != want {
			t.Errorf("a branch of it works in %q; want %q", branch.Cwd, want)
		}
	})
}
