package hostapi

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func (f *fixture) update(t *testing.T, id string, patch pluginsdk.ThreadPatch) error {
	t.Helper()
	return second(f.Threads.Update(t.Context(), &pluginsdk.UpdateThreadRequest{ID: id, Patch: patch}))
}

func (f *fixture) create(t *testing.T, thread pluginsdk.NewThread) error {
	t.Helper()
	return second(f.Threads.Create(t.Context(), &pluginsdk.CreateThreadRequest{Thread: thread}))
}

// With threads.write a plugin could otherwise have every answer of another's thread
// sent to itself, or have the agent work anywhere without asking.
func TestThreadsWriteIsForOwnThreadsAndNotForWhatTheyMayDo(t *testing.T) {
	f := newFixture(pluginsdk.CapThreadsWrite)
	name, model := "n", "opus"
	if err := f.update(t, "mine", pluginsdk.ThreadPatch{Name: &name, Model: &model, Instructions: &name}); err != nil {
		t.Errorf("its own thread: %v", err)
	}
	if err := f.create(t, pluginsdk.NewThread{Source: "p", SourceID: "new", Name: name}); err != nil {
		t.Errorf("a thread of its own source: %v", err)
	}
	if err := f.create(t, pluginsdk.NewThread{Source: "p", SourceID: "apart", OwnDirectory: true}); err != nil {
		t.Errorf("a thread that may less: %v", err)
	}
	written := len(f.store.patches) + len(f.store.threads)
	grant := "harness plugin grant p threads.admin"
	refused(t, "another's thread", f.update(t, "ann's", pluginsdk.ThreadPatch{Name: &name}), pluginsdk.CodeDenied, `"discord"`, "speaks for p", grant)
	refused(t, "a thread of another's source", f.create(t, pluginsdk.NewThread{Source: "discord", SourceID: "2"}), pluginsdk.CodeDenied, `"discord"`, grant)

	cwd, mode, to := "/", "plan", pluginsdk.Target{Plugin: "discord", Place: "general"}
	for field, patch := range map[string]pluginsdk.ThreadPatch{
		"cwd": {Cwd: &cwd}, "permissionMode": {PermissionMode: &mode}, "reportTo": {ReportTo: &to},
		"cwd, permissionMode, reportTo": {Name: &name, Cwd: &cwd, PermissionMode: &mode, ReportTo: &to},
	} {
		refused(t, field, f.update(t, "mine", patch), pluginsdk.CodeDenied, field+":", grant)
		refused(t, field+" of a new thread", f.create(t, pluginsdk.NewThread{
			Source: "p", SourceID: "3", Cwd: value(patch.Cwd), PermissionMode: value(patch.PermissionMode), ReportTo: value(patch.ReportTo),
		}), pluginsdk.CodeDenied, field+":", grant)
	}
	refused(t, "nobody's thread", f.update(t, "nowhere", pluginsdk.ThreadPatch{Name: &name}), pluginsdk.CodeNotFound)
	if now := len(f.store.patches) + len(f.store.threads); now != written {
		t.Errorf("%d of what was refused was written", now-written)
	}
	if len(f.store.audits) > 0 {
		t.Errorf("audited: %v", f.store.audits)
	}
	if !slices.Equal(f.events.kinds, []pluginsdk.EventType{pluginsdk.EventThreadUpdated, pluginsdk.EventThreadCreated, pluginsdk.EventThreadCreated}) {
		t.Errorf("broadcast %v", f.events.kinds)
	}
}

// What a thread may do is changed by whom an operator trusts with it, and the audit
// log says who it was, from what to what.
func TestWhatAThreadMayDoIsAudited(t *testing.T) {
	f := newFixture(pluginsdk.CapThreadsWrite, pluginsdk.CapThreadsAdmin)
	name, cwd, mode, same, session := "n", "/srv", "plan", "acceptEdits", "session-1"
	to := pluginsdk.Target{Plugin: "discord", Place: "general"}
	for _, patch := range []pluginsdk.ThreadPatch{
		{Name: &name}, {PermissionMode: &same}, {PermissionMode: &mode, Cwd: &cwd, ReportTo: &to}, {EndSession: &session},
	} {
		if err := f.update(t, "mine", patch); err != nil {
			t.Fatal(err)
		}
	}
	long := "/" + strings.Repeat("x", 4000)
	if err := f.update(t, "ann's", pluginsdk.ThreadPatch{Cwd: &long}); err != nil {
		t.Errorf("another's thread: %v", err)
	}
	for range 2 { // the second time it is there
		if err := f.create(t, pluginsdk.NewThread{Source: "discord", SourceID: "new", PermissionMode: "plan"}); err != nil {
			t.Errorf("a thread of another's source: %v", err)
		}
	}
	f.store.exists = pluginsdk.Errorf(pluginsdk.CodeConflict, "it exists, with other rights")
	err := f.create(t, pluginsdk.NewThread{Source: "discord", SourceID: "new", PermissionMode: "acceptEdits"})
	refused(t, "a thread that may do something else", err, pluginsdk.CodeConflict, "other rights")
	want := []string{
		`plugin:p thread.permit mine cwd from "" to "/srv", permissionMode from "acceptEdits" to "plan", reportTo from "" to "discord:general"`,
		`plugin:p thread.endsession mine session-1`,
		`plugin:p thread.permit ann's cwd from "" to "/` + strings.Repeat("x", maxAudited-1) + `"`,
		`plugin:p thread.permit discord:new permissionMode from "" to "plan"`,
	}
	if !slices.Equal(f.store.audits, want) {
		t.Errorf("audited:\n%s\nwant:\n%s", strings.Join(f.store.audits, "\n"), strings.Join(want, "\n"))
	}
}

// What is misspelt reaches neither the agent's command line nor the void.
func TestWhatAThreadMayDoIsChecked(t *testing.T) {
	f := newFixture(pluginsdk.CapThreadsWrite, pluginsdk.CapThreadsAdmin)
	mode := "bypassPermissions "
	refused(t, "a mode with a space", f.update(t, "mine", pluginsdk.ThreadPatch{PermissionMode: &mode}), pluginsdk.CodeInvalid, "permissionMode")
	refused(t, "a mode of a new thread", f.create(t, pluginsdk.NewThread{Source: "p", SourceID: "3", PermissionMode: mode}), pluginsdk.CodeInvalid, "permissionMode")
	for name, c := range map[string]struct {
		to   pluginsdk.Target
		code pluginsdk.Code
		word string
	}{
		"nobody's plugin":       {pluginsdk.Target{Plugin: "nobody", Place: "x"}, pluginsdk.CodeInvalid, "there is no plugin nobody"},
		"a plugin that is mute": {pluginsdk.Target{Plugin: "mute"}, pluginsdk.CodeInvalid, "Deliver"},
		"nobody's thread":       {pluginsdk.Target{ThreadID: "nowhere"}, pluginsdk.CodeNotFound, "nowhere"},
		"itself":                {pluginsdk.Target{ThreadID: "mine"}, pluginsdk.CodeInvalid, "never arrive"},
		"itself over another":   {pluginsdk.Target{ThreadID: "loop"}, pluginsdk.CodeInvalid, "never arrive"},
		"a ring of others":      {pluginsdk.Target{ThreadID: "ring"}, pluginsdk.CodeInvalid, "never arrive"},
		"another thread":        {pluginsdk.Target{ThreadID: "ann's"}, "", ""},
		"nobody any more":       {pluginsdk.Target{}, "", ""},
	} {
		err := f.update(t, "mine", pluginsdk.ThreadPatch{ReportTo: &c.to})
		if c.code == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if c.code != "" {
			refused(t, name, err, c.code, "reportTo:", c.word)
		}
	}
	if len(f.store.patches) != 2 {
		t.Errorf("%d patches were stored", len(f.store.patches))
	}
}

// A task is no way to more than its parent may do.
func TestATaskMayDoWhatItsParentMay(t *testing.T) {
	create := func(f *fixture, task pluginsdk.NewTask) error {
		return second(f.Tasks.Create(t.Context(), &pluginsdk.CreateTaskRequest{Key: "k", Task: task}))
	}
	f := newFixture(pluginsdk.CapTasksWrite)
	for _, mode := range []string{"", "acceptEdits", "plan"} {
		if err := create(f, pluginsdk.NewTask{ParentThreadID: "mine", PermissionMode: mode}); err != nil {
			t.Errorf("%q below acceptEdits: %v", mode, err)
		}
	}
	refused(t, "more than the parent's", create(f, pluginsdk.NewTask{ParentThreadID: "mine", PermissionMode: "default"}),
		pluginsdk.CodeDenied, "permissionMode", "threads.admin")
	refused(t, "more than nobody's", create(f, pluginsdk.NewTask{PermissionMode: "acceptEdits"}), pluginsdk.CodeDenied, "threads.admin")
	refused(t, "what the agent does not have", create(f, pluginsdk.NewTask{PermissionMode: "bypassPermissions "}), pluginsdk.CodeInvalid)
	refused(t, "of nobody's thread", create(f, pluginsdk.NewTask{ParentThreadID: "nowhere"}), pluginsdk.CodeNotFound, "parentThreadId")
	var modes []string
	for _, task := range f.room.tasks {
		modes = append(modes, task.PermissionMode)
	}
	if !slices.Equal(modes, []string{"acceptEdits", "acceptEdits", "plan"}) {
		t.Errorf("modes %v", modes)
	}
	admin := newFixture(pluginsdk.CapTasksWrite, pluginsdk.CapThreadsAdmin)
	if err := create(admin, pluginsdk.NewTask{ParentThreadID: "ann's", PermissionMode: "acceptEdits"}); err != nil {
		t.Errorf("with threads.admin: %v", err)
	}
}

// A task that works in another directory, with tools that its parent does not have or
// below somebody else's thread, is what threads.admin is for: tasks.write is no way
// round it. A plugin that answers the agent in somebody's thread delegates from there.
func TestATaskIsNoWayRoundThreadsAdmin(t *testing.T) {
	fill := func(f *fixture) {
		for _, task := range []pluginsdk.Task{
			{ID: "K", ThreadID: "own task", Plugin: "p", AllowedTools: []string{"Read", "Bash(ls:*)"}},
			{ID: "J", ThreadID: "q's task", Plugin: "q", AllowedTools: []string{"Bash"}},
		} {
			f.store.made = append(f.store.made, task)
			f.store.threads[task.ThreadID] = pluginsdk.Thread{ID: task.ThreadID, Source: "task", Kind: pluginsdk.ThreadTask}
		}
	}
	f, admin := newFixture(pluginsdk.CapTasksWrite), newFixture(pluginsdk.CapTasksWrite, pluginsdk.CapThreadsAdmin)
	fill(f)
	fill(admin)
	create := func(f *fixture, ctx context.Context, task pluginsdk.NewTask) error {
		return second(f.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Key: "k", Task: task}))
	}
	for name, c := range map[string]struct {
		task  pluginsdk.NewTask
		field string
	}{
		"another directory":         {pluginsdk.NewTask{ParentThreadID: "mine", Cwd: "/root/.ssh"}, "cwd"},
		"a directory, of nobody":    {pluginsdk.NewTask{Cwd: "/root/.ssh"}, "cwd"},
		"a tool, of nobody":         {pluginsdk.NewTask{AllowedTools: []string{"Bash"}}, "allowedTools"},
		"a tool more":               {pluginsdk.NewTask{ParentThreadID: "own task", AllowedTools: []string{"Read", "Bash"}}, "allowedTools"},
		"another's tools":           {pluginsdk.NewTask{ParentThreadID: "q's task", AllowedTools: []string{"Bash"}}, "parentThreadId"},
		"another's thread":          {pluginsdk.NewTask{ParentThreadID: "ann's"}, "parentThreadId"},
		"another's task":            {pluginsdk.NewTask{ParentThreadID: "mine", ParentTaskID: "J"}, "parentTaskId"},
		"all of it":                 {pluginsdk.NewTask{ParentThreadID: "P", Cwd: "/", AllowedTools: []string{"Bash"}}, "parentThreadId, cwd, allowedTools"},
		"its own thread is no help": {pluginsdk.NewTask{ParentThreadID: "mine", ParentTaskID: "K", AllowedTools: []string{"Read"}}, "allowedTools"},
	} {
		refused(t, name, create(f, t.Context(), c.task), pluginsdk.CodeDenied, c.field+":", "threads.admin")
		admin.store.audits = nil
		if err := create(admin, t.Context(), c.task); err != nil || len(admin.store.audits) != 1 ||
			!strings.Contains(admin.store.audits[0], "plugin:p thread.permit task p/k "+strings.Split(c.field, ",")[0]) {
			t.Errorf("%s, with threads.admin: %v, audited %q", name, err, admin.store.audits)
		}
	}
	if len(f.room.tasks) > 0 {
		t.Fatalf("made %+v", f.room.tasks)
	}
	inside, _ := f.within(t, ledger.Behalf{RunID: "R", Fence: ledger.Fence{ThreadID: "ann's"}})
	working, _ := f.within(t, ledger.Behalf{RunID: "R", TaskID: "J", Fence: ledger.Fence{ThreadID: "q's task"}})
	for name, c := range map[string]struct {
		ctx  context.Context
		task pluginsdk.NewTask
	}{
		"of nobody":           {t.Context(), pluginsdk.NewTask{}},
		"its parent's":        {t.Context(), pluginsdk.NewTask{ParentThreadID: "here", Cwd: "/here", ParentTaskID: "K"}},
		"fewer tools":         {t.Context(), pluginsdk.NewTask{ParentThreadID: "own task", ParentTaskID: "K", AllowedTools: []string{"Read"}}},
		"where it is called":  {inside, pluginsdk.NewTask{ParentThreadID: "ann's"}},
		"by another's worker": {working, pluginsdk.NewTask{ParentThreadID: "q's task", ParentTaskID: "J", AllowedTools: []string{"Bash"}}},
	} {
		if err := create(f, c.ctx, c.task); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused(t, "elsewhere than where it is called", create(f, inside, pluginsdk.NewTask{ParentThreadID: "P"}), pluginsdk.CodeDenied, "parentThreadId:")
	if len(f.store.audits) > 0 {
		t.Errorf("audited %q", f.store.audits)
	}
}

// With threads.write a plugin could otherwise make a schedule's thread, which is shown memory,
// or one whose agent asks nobody, or the people above it.
func TestThreadsWriteMakesNoThreadWithMoreAudience(t *testing.T) {
	asked := map[string]pluginsdk.NewThread{
		"kind":           {Kind: pluginsdk.ThreadCron},
		"kind ":          {Kind: pluginsdk.ThreadTask},
		"askTools":       {AskTools: "none"},
		"askTools ":      {AskTools: "Bash"},
		"parentThreadId": {ParentThreadID: "P"},
	}
	f, admin := newFixture(pluginsdk.CapThreadsWrite), newFixture(pluginsdk.CapThreadsWrite, pluginsdk.CapThreadsAdmin)
	for field, thread := range asked {
		thread.Source, thread.SourceID = "p", field
		refused(t, field, f.create(t, thread), pluginsdk.CodeDenied, strings.TrimSpace(field)+":", "threads.admin")
		if err := admin.create(t, thread); err != nil {
			t.Errorf("%s with threads.admin: %v", field, err)
		}
	}
	none := "none"
	refused(t, "askTools of a thread that exists", f.update(t, "mine", pluginsdk.ThreadPatch{AskTools: &none}), pluginsdk.CodeDenied, "askTools:", "threads.admin")
	if len(f.store.audits) > 0 || len(admin.store.audits) != len(asked) {
		t.Errorf("audited %q and %q", f.store.audits, admin.store.audits)
	}
	f.store.threads["own"] = pluginsdk.Thread{ID: "own", Source: "web", Cwd: "/apart"}
	f.store.threads["K"] = pluginsdk.Thread{ID: "K", Kind: pluginsdk.ThreadTask, ParentThreadID: "own"}
	for id, apart := range map[string]bool{"own": true, "K": true, "mine": false} {
		if answer, err := f.Threads.Get(t.Context(), &pluginsdk.GetThreadRequest{ID: id}); err != nil || answer.Thread.Apart != apart {
			t.Errorf("%s is apart: %t, %v", id, answer.Thread.Apart, err)
		}
	}
}

// A plugin that may change threads must not do so for the agent that calls its tool: the agent
// would move out of its own directory, and be asked nothing there.
func TestNoRunMovesAThread(t *testing.T) {
	f := newFixture(pluginsdk.CapThreadsWrite, pluginsdk.CapThreadsAdmin)
	cwd, mode, account, tools, name, model, empty := "/", "acceptEdits", "work", "none", "n", "opus", ""
	to := pluginsdk.Target{Plugin: "discord", Place: "general"}
	moved := map[string]pluginsdk.ThreadPatch{
		"cwd": {Cwd: &cwd}, "permissionMode": {PermissionMode: &mode}, "account": {Account: &account}, "reportTo": {ReportTo: &to}, "askTools": {AskTools: &tools},
		"cwd, beside a name": {Cwd: &cwd, Name: &name}, "account, beside others": {Account: &account, Cwd: &empty, Model: &model},
	}
	for what, origin := range map[string]ledger.Behalf{
		"a run's hook or tool": {RunID: "R", Fence: ledger.Fence{ThreadID: "mine"}}, "a tool that a tool calls": {RunID: "R", Depth: 2},
		"what a run has caused": {CauseRunID: "R"}, "a task's hook": {TaskID: "K"},
	} {
		ctx, _ := f.within(t, origin)
		for _, thread := range []string{"ann's", "loop"} {
			for field, patch := range moved {
				if thread == "loop" && patch.ReportTo == nil {
					continue
				}
				for _, as := range []context.Context{ctx, pluginsdk.WithPerson(ctx, "Ann")} {
					err := second(f.Threads.Update(as, &pluginsdk.UpdateThreadRequest{ID: thread, Patch: patch}))
					refused(t, what+": "+field+" of "+thread, err, pluginsdk.CodeDenied, "only a person says what a thread may do ("+strings.Fields(strings.ReplaceAll(field, ",", ""))[0])
				}
			}
		}
		for field, patch := range moved {
			err := second(f.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{
				Source: "p", SourceID: "3", Cwd: value(patch.Cwd), PermissionMode: value(patch.PermissionMode), ReportTo: value(patch.ReportTo), Account: value(patch.Account), AskTools: value(patch.AskTools),
			}}))
			refused(t, what+": "+field+" of a new thread", err, pluginsdk.CodeDenied, "only a person says what a thread may do")
		}
		if err := second(f.Threads.Update(ctx, &pluginsdk.UpdateThreadRequest{ID: "mine", Patch: pluginsdk.ThreadPatch{Name: &name, Model: &model}})); err != nil {
			t.Errorf("%s: what moves nothing: %v", what, err)
		}
		if err := second(f.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{Source: "p", SourceID: what, Kind: pluginsdk.ThreadCron, ParentThreadID: "mine", OwnDirectory: true}})); err != nil {
			t.Errorf("%s: a schedule's thread: %v", what, err)
		}
	}
	for _, audited := range f.store.audits {
		if strings.Contains(audited, "cwd") || strings.Contains(audited, "permissionMode") {
			t.Errorf("audited: %s", audited)
		}
	}
	if err := f.update(t, "mine", moved["cwd"]); err != nil {
		t.Errorf("outside of runs: %v", err)
	}
}
