package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// aTask makes a task below a thread whose replies are carried, and runs it.
func aTask(t *testing.T, s *store.Store, n pluginsdk.NewTask) ledger.Task {
	t.Helper()
	if n.Prompt == "" {
		n.Prompt = "work"
	}
	made, _, err := s.CreateTask(context.Background(), ledger.NewTask{Plugin: "maker", NewTask: n})
	check(t, err)
	return must[ledger.Task](t)(s.TaskState(context.Background(), made.ID))
}

// ended is the move that ends a task, with all that goes with it.
func ended(of ledger.Task) ledger.TaskMove {
	to := of
	to.Status, to.Phase, to.CompletedAt = pluginsdk.TaskCompleted, ledger.PhaseIdle, of.CreatedAt
	return ledger.TaskMove{
		From: of, To: to,
		Answer: &ledger.TaskAnswer{TaskID: of.ID, Phase: of.Phase, Plugin: "p", Answer: "done", At: of.CreatedAt},
		Notice: &ledger.Row{Key: "task:" + of.ID, Message: pluginsdk.NewMessage{
			Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Content: "it is done", Metadata: json.RawMessage(`{"task":"x"}`),
		}},
		Wake: &ledger.Acceptance{
			RunID: uuid.Must(uuid.NewV7()).String(), Kind: pluginsdk.RunMessage, MaxDepth: 1,
			Submission: pluginsdk.Submission{ThreadID: of.ParentThreadID, Source: "task", Key: of.ID + "/wake", Content: "look", CauseRunID: of.RunID},
		},
	}
}

// A move that is made twice would tell a parent twice; one that is half made would
// tell nobody, or of nothing.
func TestATaskIsMovedOnceAndWhole(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		parent := newThread(t, s, "a")
		move := ended(aTask(t, s, pluginsdk.NewTask{ParentThreadID: parent.ID}))
		moved := must[ledger.TaskMoved](t)(s.MoveTask(ctx, move))
		now := must[ledger.Task](t)(s.TaskState(ctx, move.From.ID))
		if now.Status != pluginsdk.TaskCompleted || now.Epoch != 1 || moved.Task.Epoch != 1 {
			t.Errorf("moved to %+v, answered %+v", now, moved.Task)
		}
		if moved.Woken.RunID != move.Wake.RunID || len(moved.Lanes) != 1 || moved.NoticeID == 0 {
			t.Errorf("moved: %+v", moved)
		}
		wantCode(t, second(s.MoveTask(ctx, move)), pluginsdk.CodeStale)
		late := move
		late.From.Epoch = 1 // as if it had not been moved, but is in another phase
		wantCode(t, second(s.MoveTask(ctx, late)), pluginsdk.CodeStale)
		page, _, err := s.MessagePage(ctx, pluginsdk.MessageQuery{ThreadID: parent.ID})
		check(t, err)
		if got := contents(page); len(got) != 2 || got[0] != "it is done" || got[1] != "look" {
			t.Errorf("the parent's thread has %q", got)
		}
		if got := must[[]pluginsdk.Delivery](t)(s.Deliveries(ctx, pluginsdk.DeliveryQuery{})); len(got) != 1 || got[0].MessageID != moved.NoticeID {
			t.Errorf("deliveries %+v", got)
		}
		if got := must[[]ledger.TaskAnswer](t)(s.TaskAnswers(ctx, move.From.ID, 0)); len(got) != 1 {
			t.Errorf("answers %+v", got)
		}

		bad := ended(aTask(t, s, pluginsdk.NewTask{ParentThreadID: parent.ID}))
		bad.Notice.Message.Role = "nobody"
		wantCode(t, second(s.MoveTask(ctx, bad)), pluginsdk.CodeInvalid)
		if still := must[ledger.Task](t)(s.TaskState(ctx, bad.From.ID)); still.Status != pluginsdk.TaskPending || still.Epoch != 0 {
			t.Errorf("half moved: %+v", still)
		}
	})
}

// What cannot be told must not keep a task from its end.
func TestATaskEndsWithoutAParentThatHears(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		orphan := aTask(t, s, pluginsdk.NewTask{})
		orphan.ParentThreadID = "" // a parent that was deleted by hand is as none
		moved := must[ledger.TaskMoved](t)(s.MoveTask(ctx, ended(orphan)))
		if moved.NoticeID != 0 || moved.Woken.RunID != "" {
			t.Errorf("somebody was told: %+v", moved)
		}
		th := newThread(t, s, "a")
		gone := ended(aTask(t, s, pluginsdk.NewTask{ParentThreadID: th.ID}))
		check(t, s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error {
			return tx.Run1(ctx, "DELETE FROM threads WHERE id = $1", th.ID)
		}))
		moved = must[ledger.TaskMoved](t)(s.MoveTask(ctx, gone))
		if moved.NoticeID != 0 || moved.Task.Status != pluginsdk.TaskCompleted {
			t.Errorf("moved %+v", moved)
		}
		job, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "jobs", SourceID: "1", Kind: pluginsdk.ThreadCron})
		check(t, err)
		moved = must[ledger.TaskMoved](t)(s.MoveTask(ctx, ended(aTask(t, s, pluginsdk.NewTask{ParentThreadID: job.ID}))))
		if moved.NoticeID == 0 || moved.Woken.RunID != "" {
			t.Errorf("a job's thread: %+v", moved)
		}
		// Agents that wake each other for ever would never stop costing.
		first, err := s.Accept(ctx, acceptance(newThread(t, s, "b").ID, "1", "first"))
		check(t, err)
		deep := acceptance(first.ThreadID, "2", "second")
		deep.Submission.CauseRunID = first.RunID
		check(t, second(s.Accept(ctx, deep)))
		caused := aTask(t, s, pluginsdk.NewTask{ParentThreadID: first.ThreadID})
		caused.RunID = deep.RunID
		moved = must[ledger.TaskMoved](t)(s.MoveTask(ctx, ended(caused)))
		if moved.NoticeID == 0 || moved.Woken.RunID != "" {
			t.Errorf("two deep, where one is allowed: %+v", moved)
		}
		pruned := aTask(t, s, pluginsdk.NewTask{ParentThreadID: first.ThreadID})
		pruned.RunID = "gone"
		if moved = must[ledger.TaskMoved](t)(s.MoveTask(ctx, ended(pruned))); moved.Woken.RunID == "" {
			t.Errorf("a run that is gone keeps the parent from being woken: %+v", moved)
		}
	})
}

// An iteration whose run is not there would be waited for for ever, and a run whose
// iteration does not count would be made again.
func TestAnIterationAndItsRunAreOne(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		of := aTask(t, s, pluginsdk.NewTask{})
		iterate := func(of ledger.Task, key string) error {
			a := acceptance(of.ThreadID, key, fmt.Sprint("go ", of.Epoch))
			to := of
			to.CurrentIteration, to.RunID = of.CurrentIteration+1, a.RunID
			a.Task, a.Submission.Source = &ledger.TaskMove{From: of, To: to}, "task"
			return second(s.Accept(ctx, a))
		}
		check(t, iterate(of, "1"))
		first := must[ledger.Task](t)(s.TaskState(ctx, of.ID))
		if run := must[pluginsdk.Run](t)(s.Run(ctx, first.RunID)); first.CurrentIteration != 1 || run.ThreadID != of.ThreadID {
			t.Errorf("task %+v, run %+v", first, run)
		}
		wantCode(t, iterate(of, "2"), pluginsdk.CodeStale)
		if rows := must[[]pluginsdk.Run](t)(s.Runs(ctx, pluginsdk.RunQuery{ThreadID: of.ThreadID})); len(rows) != 1 {
			t.Errorf("a stale iteration has made a run: %+v", rows)
		}
		wantCode(t, iterate(first, "1"), pluginsdk.CodeConflict) // another message under a key that is known
		if again := must[ledger.Task](t)(s.TaskState(ctx, of.ID)); again.CurrentIteration != 1 {
			t.Errorf("an iteration without a run: %+v", again)
		}
		if got := must[pluginsdk.Accepted](t)(s.Submitted(ctx, "task", "1")); got.RunID != first.RunID || got.MessageID == 0 || !got.Existed {
			t.Errorf("submitted %+v", got)
		}
		wantCode(t, second(s.Submitted(ctx, "task", "9")), pluginsdk.CodeNotFound)
	})
}

// A cap on a task holds only if what is made below it counts, also after a crash.
func TestATaskCostsWhatItsChildrenCost(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		top := aTask(t, s, pluginsdk.NewTask{})
		child := aTask(t, s, pluginsdk.NewTask{ParentTaskID: top.ID})
		grandchild := aTask(t, s, pluginsdk.NewTask{ParentTaskID: child.ID})
		other := aTask(t, s, pluginsdk.NewTask{})
		for task, cost := range map[string]float64{top.ID: 1, child.ID: 0.5, grandchild.ID: 0.25, "": 64} {
			for range 2 {
				agentRun := filled[ledger.AgentRun](t)
				agentRun.TaskID, agentRun.CostUSD, agentRun.Notional, agentRun.CostUnsure = task, cost, cost < 1, cost < 1
				check(t, second(s.KeepAgentRun(ctx, agentRun)))
			}
		}
		for id, want := range map[string]float64{top.ID: 3.5, child.ID: 1.5, grandchild.ID: 0.5, other.ID: 0} {
			if got := must[pluginsdk.Task](t)(s.Task(ctx, id)); got.CostUSD != want {
				t.Errorf("costs %f, want %f", got.CostUSD, want)
			}
		}
		for _, got := range must[[]pluginsdk.Task](t)(s.Tasks(ctx, pluginsdk.TaskQuery{})) {
			if got.ID == top.ID && (got.CostUSD != 3.5 || got.NotionalUSD != 1.5 || !got.CostUnsure) {
				t.Errorf("listed with %f, of it notional %f, unsure: %t", got.CostUSD, got.NotionalUSD, got.CostUnsure)
			}
		}
	})
}

// A child of a task that is over would be ended by nobody.
func TestATaskThatIsOverGetsNoChildren(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		over := aTask(t, s, pluginsdk.NewTask{})
		check(t, second(s.MoveTask(ctx, ended(over))))
		child := ledger.NewTask{Plugin: "maker", NewTask: pluginsdk.NewTask{Prompt: "x", ParentTaskID: over.ID}}
		wantCode(t, third(s.CreateTask(ctx, child)), pluginsdk.CodeStale)
		above := aTask(t, s, pluginsdk.NewTask{})
		for range 8 {
			above = aTask(t, s, pluginsdk.NewTask{ParentTaskID: above.ID})
		}
		child.ParentTaskID = above.ID
		wantCode(t, third(s.CreateTask(ctx, child)), pluginsdk.CodeExhausted)

		// A hook that makes a task, whose hook makes a task, below nothing.
		made := pluginsdk.Task{}
		for depth := range 10 {
			next, _, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", CauseTaskID: made.ID, NewTask: pluginsdk.NewTask{Prompt: "x"}})
			if depth <= 8 && (err != nil || next.Depth != depth) || depth > 8 && pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted {
				t.Errorf("%d deep: %d, %v", depth, next.Depth, err)
			}
			made = next
		}
		// One that no iteration could be made of is refused when it is made.
		deep := ledger.NewTask{Plugin: "maker", MaxDepth: 1, NewTask: pluginsdk.NewTask{Prompt: "x"}}
		of := accept(t, s, newThread(t, s, "a").ID, "go")
		for _, want := range []pluginsdk.Code{"", pluginsdk.CodeExhausted} {
			deep.CauseRunID = of.RunID
			wantCode(t, third(s.CreateTask(ctx, deep)), want)
			next := acceptance(of.ThreadID, "caused", "go")
			next.Submission.CauseRunID = of.RunID
			of = must[ledger.Accepted](t)(s.Accept(ctx, next))
		}
	})
}

// What OnTaskCreate makes of a task must not make a repetition of its creation another
// task, and a directory of its own is where its thread's sessions are.
func TestATaskIsKnownByWhatWasAskedFor(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		asked := ledger.NewTask{Plugin: "maker", Key: "k", NewTask: pluginsdk.NewTask{Prompt: "x", Cwd: "/repo", Labels: map[string]string{"a": "b"}}}
		made, _, err := s.CreateTask(ctx, asked)
		check(t, err)
		if got := must[[]string](t)(s.OpenTasks(ctx)); len(got) != 1 || got[0] != made.ID {
			t.Errorf("open are %v", got)
		}
		from := must[ledger.Task](t)(s.TaskState(ctx, made.ID))
		to := from
		to.Cwd, to.Labels, to.Phase, to.Status = "/worktree", nil, ledger.PhaseIdle, pluginsdk.TaskRunning
		check(t, second(s.MoveTask(ctx, ledger.TaskMove{From: from, To: to})))
		again, created, err := s.CreateTask(ctx, asked)
		if err != nil || created || again.Cwd != "/worktree" {
			t.Errorf("again: %+v, %v, %v", again, created, err)
		}
		asked.PermissionMode = "plan" // its parent's has changed since
		if again, created, err = s.CreateTask(ctx, asked); err != nil || created || again.ID != made.ID {
			t.Errorf("with its parent's new mode: %+v, %v, %v", again, created, err)
		}
		asked.AskedPermissionMode = "plan"
		wantCode(t, third(s.CreateTask(ctx, asked)), pluginsdk.CodeConflict)
		if th := must[pluginsdk.Thread](t)(s.Thread(ctx, made.ThreadID)); th.Cwd != "/worktree" {
			t.Errorf("its thread is in %q", th.Cwd)
		}
		if got := must[[]string](t)(s.OpenTasks(ctx)); len(got) != 0 {
			t.Errorf("open are %v", got)
		}
	})
}

// A cap that another task's work is not counted in holds nothing: all above pay.
func TestATaskHasWhatThoseAboveItHaveLeft(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		top := aTask(t, s, pluginsdk.NewTask{CostCapUSD: 2})
		middle := aTask(t, s, pluginsdk.NewTask{ParentTaskID: top.ID, CostCapUSD: 4})
		low := aTask(t, s, pluginsdk.NewTask{ParentTaskID: middle.ID, CostCapUSD: 1.5})
		spend := func(of ledger.Task, cost float64) {
			accept(t, s, of.ThreadID, "go")
			claimed := claim(t, s, of.ThreadID)
			check(t, s.SaveResult(ctx, claimed.Fence, ledger.ResultCommit{RunID: claimed.Run.ID, AgentRun: ledger.AgentRun{TaskID: of.ID, CostUSD: cost}}))
			finish(t, s, claimed, "done")
		}
		want := func(id, payer string, left float64) {
			t.Helper()
			if got := must[ledger.TaskCap](t)(s.TaskCap(ctx, id)); got.TaskID != payer || got.Left() != left {
				t.Errorf("%+v with %g left, want %s with %g", got, got.Left(), payer, left)
			}
		}
		want(low.ID, low.ID, 1.5)
		spend(middle, 1)
		want(low.ID, top.ID, 1)
		want(middle.ID, top.ID, 1)
		spend(low, 1.25)
		want(low.ID, top.ID, 0)
		want("none", "", 0)
	})
}

// What was begun goes on where the agent knows of it: in the same thread and session, as a
// task of its own that has paid for nothing yet. Two that went on at once would write into
// each other's work.
func TestATaskGoesOnFromOneThatIsOver(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		first := aTask(t, s, pluginsdk.NewTask{Model: "sonnet", PermissionMode: "acceptEdits", Cwd: "/worktree"})
		accept(t, s, first.ThreadID, "go")
		answered := claim(t, s, first.ThreadID)
		check(t, s.SaveResult(ctx, answered.Fence, ledger.ResultCommit{
			RunID: answered.Run.ID, SessionID: "S", AgentRun: ledger.AgentRun{TaskID: answered.TaskID, CostUSD: 1},
		}))
		finish(t, s, answered, "done")
		asked := ledger.NewTask{Plugin: "maker", Key: "again", NewTask: pluginsdk.NewTask{Prompt: "the door, too", PermissionMode: "plan", FromTaskID: first.ID}}
		wantCode(t, third(s.CreateTask(ctx, asked)), pluginsdk.CodeStale)
		check(t, second(s.MoveTask(ctx, ended(first))))

		next, created, err := s.CreateTask(ctx, asked)
		if err != nil || !created || next.ThreadID != first.ThreadID || next.Cwd != "/worktree" || next.CostUSD != 0 || next.Status != pluginsdk.TaskPending {
			t.Fatalf("went on as %+v, %v, %v", next, created, err)
		}
		if again, created, err := s.CreateTask(ctx, asked); err != nil || created || again.ID != next.ID {
			t.Errorf("repeated: %+v, %v, %v", again, created, err)
		}
		other := asked
		other.FromTaskID = ""
		wantCode(t, third(s.CreateTask(ctx, other)), pluginsdk.CodeConflict)
		other = asked
		other.Key = "another"
		wantCode(t, third(s.CreateTask(ctx, other)), pluginsdk.CodeStale)
		other.FromTaskID = "none"
		wantCode(t, third(s.CreateTask(ctx, other)), pluginsdk.CodeNotFound)

		th := must[pluginsdk.Thread](t)(s.Thread(ctx, first.ThreadID))
		if th.Model != "sonnet" || th.PermissionMode != "plan" || th.SessionID != "S" || th.Cwd != "/worktree" {
			t.Errorf("its thread is %+v", th)
		}
		accept(t, s, first.ThreadID, "go on")
		if got := claim(t, s, first.ThreadID); got.TaskID != next.ID {
			t.Errorf("its turns are for %q", got.TaskID)
		}
		check(t, second(s.MoveTask(ctx, ended(must[ledger.Task](t)(s.TaskState(ctx, next.ID))))))
		moved, _, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", NewTask: pluginsdk.NewTask{Prompt: "x", Cwd: "/elsewhere", Model: "opus", FromTaskID: first.ID}})
		th = must[pluginsdk.Thread](t)(s.Thread(ctx, first.ThreadID))
		if err != nil || moved.Cwd != "/elsewhere" || th.Cwd != "/elsewhere" || th.SessionID != "" || th.Model != "opus" {
			t.Errorf("elsewhere: %+v in %+v, %v", moved, th, err)
		}
	})
}

// A worker without the tools that its task allows could not do its work; one whose
// turns count for no task would cost nobody anything.
func TestARunOfATaskKnowsItsTask(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		of := aTask(t, s, pluginsdk.NewTask{AllowedTools: []string{"Bash(make:*)"}})
		atOnce := acceptance(of.ThreadID, "1", "go")
		atOnce.Claimer = "me"
		accepted := must[ledger.Accepted](t)(s.Accept(ctx, atOnce))
		finish(t, s, accepted.Claim, "done")
		accept(t, s, of.ThreadID, "go on")
		second := claim(t, s, of.ThreadID)
		finish(t, s, second, "done")
		for _, got := range []ledger.Claim{accepted.Claim, second} {
			if got.TaskID != of.ID || !slices.Equal(got.AllowedTools, of.AllowedTools) {
				t.Errorf("claimed for %q, with %q", got.TaskID, got.AllowedTools)
			}
		}
		byHand(t, s, "UPDATE tasks SET permission_mode = 'acceptEdits'")
		accept(t, s, of.ThreadID, "and on")
		held := claim(t, s, of.ThreadID)
		if held.PermissionMode != "acceptEdits" {
			t.Errorf("claimed with the permission mode %q", held.PermissionMode)
		}
		// What its thread's rights are said to be is what its turns have.
		leave := must[ledger.TaskLeave](t)(s.TaskLeave(ctx, held.Thread.Thread))
		if want := (ledger.TaskLeave{TaskID: of.ID, AllowedTools: held.AllowedTools, PermissionMode: "acceptEdits"}); !reflect.DeepEqual(leave, want) {
			t.Errorf("the task's leave is %+v, want %+v", leave, want)
		}
		finish(t, s, held, "done")
		before, plan := must[ledger.Task](t)(s.TaskState(ctx, of.ID)), "plan"
		must[pluginsdk.Thread](t)(s.UpdateThread(ctx, of.ThreadID, pluginsdk.ThreadPatch{PermissionMode: &plan}))
		accept(t, s, of.ThreadID, "only look")
		lowered := claim(t, s, of.ThreadID)
		if lowered.PermissionMode != "plan" {
			t.Errorf("after a person has lowered it, claimed with the permission mode %q", lowered.PermissionMode)
		}
		finish(t, s, lowered, "done")
		// What was being decided then must not bring it back.
		if _, err := s.MoveTask(ctx, ledger.TaskMove{From: before, To: before}); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
			t.Errorf("a move from before: %v", err)
		}
		byHand(t, s, "UPDATE tasks SET status = 'completed', phase = ''")
		accept(t, s, of.ThreadID, "thank you")
		if got := claim(t, s, of.ThreadID); got.TaskID != of.ID || got.AllowedTools != nil || got.PermissionMode != "" {
			t.Errorf("after its end claimed for %q, with %q and %q", got.TaskID, got.AllowedTools, got.PermissionMode)
		}
		other := newThread(t, s, "a").ID
		accept(t, s, other, "hello")
		if got := claim(t, s, other); got.TaskID != "" || got.AllowedTools != nil {
			t.Errorf("another thread's: %q, %q", got.TaskID, got.AllowedTools)
		}
	})
}

// A task with very many iterations can be looked at, too: each page has all that are shown.
func TestTheHistoryOfVeryManyIterations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const last, at = 2000, "'2026-01-02 03:04:05'"
		of := aTask(t, s, pluginsdk.NewTask{})
		var rows []string
		for n := 1; n <= last; n++ {
			state, into := "failed", ""
			if n == last {
				state, into = "merged", "R1999"
			}
			if n != last-2 { // that one was deleted by hand
				rows = append(rows, fmt.Sprintf("('R%d', '%s', 0, 'message', '%s', '%s', '%s', 'task', '%s', 1.5, %s)", n, of.ThreadID, state, into, strings.Repeat("é", 600), ledger.IterationKey(of.ID, n), at))
			}
		}
		byHand(t, s, "INSERT INTO runs (id, thread_id, message_id, kind, state, merged_into, error, source, key, cost_usd, queued_at) VALUES "+strings.Join(rows, ", "))
		byHand(t, s, fmt.Sprintf("UPDATE tasks SET current_iteration = %d", last))
		iterations, _, err := s.TaskHistory(t.Context(), of.ID, 0, 10)
		if err != nil || len(iterations) != 999 || iterations[0].Iteration != last-999 || iterations[0].RunID != "R1001" || iterations[0].CostUSD != 1.5 ||
			iterations[0].Error != strings.Repeat("é", 512) {
			t.Fatalf("%d iterations, %v", len(iterations), err)
		}
		if got := iterations[998]; got.Iteration != last || got.RunID != "R1999" || got.State != pluginsdk.RunFailed || iterations[997].Iteration != last-1 || iterations[996].Iteration != last-3 {
			t.Errorf("the last ones are %+v", iterations[996:])
		}
	})
}
