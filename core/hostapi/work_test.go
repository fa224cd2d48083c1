package hostapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A task is taken on by the plugin that made it and by no other: two that iterate it
// would undo each other's work. A person's word is for any.
func TestATaskIsTakenOnByWhoMadeIt(t *testing.T) {
	with := func(granted ...pluginsdk.Capability) *fixture {
		f := newFixture(granted...)
		f.store.made = []pluginsdk.Task{{ID: "mine", Plugin: "p"}, {ID: "its", Plugin: "q"}}
		return f
	}
	transitions := func(f *fixture, id string) map[string]error {
		ctx := t.Context()
		return map[string]error{
			"iterate":  second(f.Tasks.Iterate(ctx, &pluginsdk.IterateTaskRequest{ID: id, Iteration: 1})),
			"begin":    second(f.Tasks.Iterate(ctx, &pluginsdk.IterateTaskRequest{ID: id, Iteration: 2, Own: true})),
			"evaluate": second(f.Tasks.Evaluate(ctx, &pluginsdk.EvaluateTaskRequest{ID: id, Iteration: 1})),
			"suspend":  second(f.Tasks.Suspend(ctx, &pluginsdk.SuspendTaskRequest{ID: id, Iteration: 1})),
			"fail":     second(f.Tasks.Fail(ctx, &pluginsdk.FailTaskRequest{ID: id})),
			"cancel":   second(f.Tasks.Cancel(ctx, &pluginsdk.CancelTaskRequest{ID: id, Author: "Ann"})),
		}
	}
	f := with(pluginsdk.CapTasksWrite)
	for name, err := range transitions(f, "mine") {
		if err != nil {
			t.Errorf("%s its own: %v", name, err)
		}
	}
	for name, err := range transitions(f, "its") {
		refused(t, name+" another's", err, pluginsdk.CodeDenied, "q")
	}
	for name, err := range transitions(f, "none") {
		refused(t, name+" nobody's", err, pluginsdk.CodeNotFound)
	}
	if len(f.room.calls) != 6 || !slices.Contains(f.room.calls, "cancel mine by Ann/p") {
		t.Errorf("asked for %q", f.room.calls)
	}
	person := with(pluginsdk.CapTasksWrite, pluginsdk.CapTasksDecide)
	for name, err := range transitions(person, "its") {
		if (err == nil) != (name == "cancel") {
			t.Errorf("with a person's word, %s another's: %v", name, err)
		}
	}
	if err := second(person.Tasks.Decide(t.Context(), &pluginsdk.DecideTaskRequest{ID: "its"})); err != nil {
		t.Error(err)
	}
	if !slices.Equal(person.room.calls, []string{"cancel its by Ann/p", "decide its through p"}) {
		t.Errorf("asked for %q", person.room.calls)
	}
}

// What a task causes is known by the run that it was made in, so that agents that wake
// each other stop.
func TestATaskHasTheCauseThatItWasMadeIn(t *testing.T) {
	f := newFixture(pluginsdk.CapTasksWrite)
	ctx, _ := f.within(t, ledger.Behalf{RunID: "R", Fence: ledger.Fence{ThreadID: "mine"}})
	if err := second(f.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Key: "k", Task: pluginsdk.NewTask{ParentThreadID: "mine"}})); err != nil {
		t.Fatal(err)
	}
	if got := f.room.tasks[0]; got.CauseRunID != "R" || got.Plugin != "p" || got.Key != "k" {
		t.Errorf("made %+v", got)
	}
}

// What a plugin does in a task's hook comes from the task: else a hook that makes a task,
// or submits a message, could do so for ever, and in a pause.
func TestATasksHookHasTheTasksCause(t *testing.T) {
	f := newFixture(pluginsdk.AllCapabilities()...)
	f.store.made = []pluginsdk.Task{{ID: "K", Plugin: "p"}}
	ctx, _ := f.within(t, ledger.Behalf{TaskID: "K", CauseRunID: "R"})
	if err := second(f.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{ThreadID: "mine", Content: "x", CauseRunID: "other"}})); err != nil {
		t.Fatal(err)
	}
	if got := f.inbox.submissions[0].CauseRunID; got != "R" {
		t.Errorf("the message was caused by %q", got)
	}
	if turn, err := f.Agent.Start(ctx, &pluginsdk.StartTurnRequest{Prompt: "x"}); err != nil || turn.RunID != "turn caused by R" {
		t.Errorf("%+v, %v", turn, err)
	}
	if err := second(f.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Key: "k", Task: pluginsdk.NewTask{ParentThreadID: "mine"}})); err != nil {
		t.Fatal(err)
	}
	if made := f.room.tasks[0]; made.CauseRunID != "R" || made.CauseTaskID != "K" || made.ParentTaskID != "" {
		t.Errorf("made %+v", made)
	}
}

// A task that is made in a task's thread, and that says no more, would go on after that
// one's end, and cost nobody anything.
func TestWhatIsMadeInATasksThreadIsBelowThatTask(t *testing.T) {
	f := newFixture(pluginsdk.CapTasksWrite)
	f.store.threads["T"] = pluginsdk.Thread{ID: "T", Kind: pluginsdk.ThreadTask, Source: "task"}
	f.store.made = []pluginsdk.Task{{ID: "above", Plugin: "p", ThreadID: "T"}}
	for _, named := range []string{"", "above"} {
		request := pluginsdk.CreateTaskRequest{Key: "k", Task: pluginsdk.NewTask{ParentThreadID: "T", ParentTaskID: named}}
		if err := second(f.Tasks.Create(t.Context(), &request)); err != nil {
			t.Fatal(err)
		}
	}
	for _, made := range f.room.tasks {
		if made.ParentTaskID != "above" {
			t.Errorf("made below %q", made.ParentTaskID)
		}
	}
}

// A plugin that names only the task above it, or a freer thread beside it, would have its
// worker do what that task's may not.
func TestATaskDoesNoMoreThanTheTaskAboveIt(t *testing.T) {
	f := newFixture(pluginsdk.CapTasksWrite)
	f.store.threads["T"] = pluginsdk.Thread{ID: "T", Kind: pluginsdk.ThreadTask, Source: "task", PermissionMode: "plan"}
	f.store.made = []pluginsdk.Task{{ID: "above", Plugin: "p", ThreadID: "T", AllowedTools: []string{"Read"}}}
	create := func(task pluginsdk.NewTask) error {
		task.ParentTaskID = "above"
		return second(f.Tasks.Create(t.Context(), &pluginsdk.CreateTaskRequest{Key: "k", Task: task}))
	}
	for _, thread := range []string{"", "mine"} {
		if err := create(pluginsdk.NewTask{ParentThreadID: thread}); err != nil {
			t.Fatal(err)
		}
		if made := f.room.tasks[len(f.room.tasks)-1]; made.PermissionMode != "plan" {
			t.Errorf("below %q it works in %q", thread, made.PermissionMode)
		}
		refused(t, "more", create(pluginsdk.NewTask{ParentThreadID: thread, PermissionMode: "acceptEdits"}), pluginsdk.CodeDenied, "permissionMode: ")
		refused(t, "a tool", create(pluginsdk.NewTask{ParentThreadID: thread, AllowedTools: []string{"Bash"}}), pluginsdk.CodeDenied, "allowedTools: ")
	}
	if err := create(pluginsdk.NewTask{AllowedTools: []string{"Read"}}); err != nil {
		t.Errorf("what the task may: %v", err)
	}
}

// Work that is taken up again must be below who it was made for, and no way into another
// plugin's thread.
func TestATaskGoesOnOnlyFromItsPluginsOwn(t *testing.T) {
	f := newFixture(pluginsdk.CapTasksWrite)
	f.store.threads["T"] = pluginsdk.Thread{ID: "T", Kind: pluginsdk.ThreadTask, Source: "task", PermissionMode: "plan"}
	f.store.made = []pluginsdk.Task{
		{ID: "above", Plugin: "q", ThreadID: "T"},
		{ID: "old", Plugin: "p", ThreadID: "O", ParentThreadID: "T", ParentTaskID: "above", Cwd: "/worktree"},
		{ID: "theirs", Plugin: "q", ThreadID: "Q"},
		{ID: "above again", Plugin: "q", ThreadID: "T"},
	}
	create := func(task pluginsdk.NewTask) error {
		return second(f.Tasks.Create(t.Context(), &pluginsdk.CreateTaskRequest{Key: "k", Task: task}))
	}
	if err := create(pluginsdk.NewTask{FromTaskID: "old", Cwd: "/worktree"}); err != nil {
		t.Fatal(err)
	}
	if made := f.room.tasks[0]; made.ParentThreadID != "T" || made.ParentTaskID != "above again" || made.PermissionMode != "plan" {
		t.Errorf("made %+v", made)
	}
	refused(t, "another's", create(pluginsdk.NewTask{FromTaskID: "theirs"}), pluginsdk.CodeDenied, "fromTaskId: ")
	refused(t, "nobody's", create(pluginsdk.NewTask{FromTaskID: "none"}), pluginsdk.CodeNotFound, "fromTaskId: ")
	refused(t, "elsewhere", create(pluginsdk.NewTask{FromTaskID: "old", ParentThreadID: "mine"}), pluginsdk.CodeInvalid, "parentThreadId: ")
	refused(t, "more", create(pluginsdk.NewTask{FromTaskID: "old", PermissionMode: "acceptEdits"}), pluginsdk.CodeDenied, "permissionMode: ")
}

func TestWordsAboutATaskAreBounded(t *testing.T) {
	f, ctx := newFixture(pluginsdk.AllCapabilities()...), t.Context()
	f.store.made = []pluginsdk.Task{{ID: "mine", Plugin: "p"}}
	long := strings.Repeat("w", maxTaskText+1)
	refused(t, "what a person may accept", second(f.Tasks.Suspend(ctx, &pluginsdk.SuspendTaskRequest{ID: "mine", Result: long})), pluginsdk.CodeInvalid, "result: ")
	for field, err := range map[string]error{
		"disallowedTools": second(f.Tasks.Iterate(ctx, &pluginsdk.IterateTaskRequest{ID: "mine", Iteration: 1, Content: "go", DisallowedTools: []string{long}})),

		"result":   second(f.Tasks.Evaluate(ctx, &pluginsdk.EvaluateTaskRequest{ID: "mine", Result: long})),
		"reason":   second(f.Tasks.Suspend(ctx, &pluginsdk.SuspendTaskRequest{ID: "mine", Reason: long})),
		"mark":     second(f.Tasks.Suspend(ctx, &pluginsdk.SuspendTaskRequest{ID: "mine", Mark: long})),
		"feedback": second(f.Tasks.Decide(ctx, &pluginsdk.DecideTaskRequest{ID: "mine", Feedback: long})),
		"author":   second(f.Tasks.Cancel(ctx, &pluginsdk.CancelTaskRequest{ID: "mine", Author: long})),
	} {
		refused(t, field, err, pluginsdk.CodeInvalid, field+": ")
	}
}
