package tasks

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// worktree is a plugin that moves tasks into a directory of their own, where they may edit.
func worktree(dir string) *reviewer {
	mode := "acceptEdits"
	return &reviewer{create: func(context.Context, *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
		return &pluginsdk.OnTaskCreateResponse{Cwd: &dir, PermissionMode: &mode, AllowTools: []string{"Bash(make)"}}, nil
	}}
}

// Rights that a plugin gives a worker are those of an operator's grant: without it a plugin
// would decide what agents may do.
func TestAPluginGivesATaskRightsThatItWasGranted(t *testing.T) {
	p := worktree("/repo/tree")
	w := newWorld(t, storetest.Open(t), p)
	task := w.settled(w.create(pluginsdk.NewTask{Cwd: "/repo"}))
	if task.Status != pluginsdk.TaskFailed || task.PermissionMode != "" || task.AllowedTools != nil ||
		!strings.Contains(task.Error, "harness plugin grant plugin-0 threads.admin") {
		t.Errorf("without the grant: %s %q %q, %s", task.Status, task.PermissionMode, task.AllowedTools, task.Error)
	}

	p.set(func() { p.info.Granted = []pluginsdk.Capability{pluginsdk.CapThreadsAdmin} })
	id := w.create(pluginsdk.NewTask{Cwd: "/repo", AllowedTools: []string{"Bash(ls)"}})
	if task = w.settled(id); task.PermissionMode != "acceptEdits" || !slices.Equal(task.AllowedTools, []string{"Bash(ls)", "Bash(make)"}) {
		t.Errorf("with the grant: %q %q", task.PermissionMode, task.AllowedTools)
	}
	entries, err := w.store.AuditEntries(t.Context(), id, 10)
	if err != nil || len(entries) != 1 || entries[0].Who != "plugin:plugin-0" || !strings.Contains(entries[0].Detail, `permissionMode from "" to "acceptEdits"`) ||
		!strings.Contains(entries[0].Detail, "Bash(make)") {
		t.Errorf("the audit log has %+v, %v", entries, err)
	}
}

// What is left of a task in the directory that it was moved out of must neither be written
// to by whoever talks in its thread, nor be missing when they do.
func TestAThreadGoesBackWhenItsDirectoryIsGone(t *testing.T) {
	for name, end := range map[string]func(p *reviewer){
		"validated": func(p *reviewer) {
			p.validated = func(context.Context, *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
				return &pluginsdk.OnTaskValidatedResponse{CwdGone: true}, nil
			}
		},
		"evaluated again": func(p *reviewer) {
			p.validated = func(_ context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
				if r.Task.Cwd == "/repo" {
					return nil, nil //nolint:nilnil // nothing to say
				}
				return &pluginsdk.OnTaskValidatedResponse{Handover: pluginsdk.HandoverAgain, CwdGone: true}, nil
			}
		},
		"waits": func(p *reviewer) {
			p.validated = func(context.Context, *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
				return &pluginsdk.OnTaskValidatedResponse{Handover: pluginsdk.HandoverWait, CwdGone: true}, nil
			}
		},
		"rejected": func(p *reviewer) {
			p.complete = says(pluginsdk.VerdictReject)
			p.failed = func(context.Context, *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
				return &pluginsdk.OnTaskFailedResponse{CwdGone: true}, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := worktree("/repo/tree")
			p.info.Granted = []pluginsdk.Capability{pluginsdk.CapThreadsAdmin}
			p.complete = says(pluginsdk.VerdictAccept)
			end(p)
			w := newWorld(t, storetest.Open(t), p)
			task := w.worked(pluginsdk.NewTask{Cwd: "/repo", MaxValidationIterations: 1})
			thread, err := w.store.Thread(t.Context(), task.ThreadID)
			if err != nil || task.Status.Final() == (name == "waits") || thread.Cwd != "/repo" || task.Cwd != "/repo" || task.PermissionMode != "" || task.AllowedTools != nil {
				t.Errorf("%s in %q (its thread in %q) with %q %q, %v", task.Status, task.Cwd, thread.Cwd, task.PermissionMode, task.AllowedTools, err)
			}
		})
	}
}

// Gates believe the plugin that gave a task its directory: another one does not take it from the
// task while it is there.
func TestOnlyItsPluginTakesATaskOutOfADirectoryThatIsThere(t *testing.T) {
	p, liar := worktree(t.TempDir()), &reviewer{}
	p.info.Granted = []pluginsdk.Capability{pluginsdk.CapThreadsAdmin}
	p.complete = says(pluginsdk.VerdictAccept)
	liar.validated = func(context.Context, *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
		return &pluginsdk.OnTaskValidatedResponse{Handover: pluginsdk.HandoverWait, CwdGone: true}, nil
	}
	w := newWorld(t, storetest.Open(t), liar, p)
	if task := w.worked(pluginsdk.NewTask{Cwd: "/repo"}); task.Cwd == "/repo" || task.CwdPlugin != p.Info().Name {
		t.Errorf("it is in %q, by %q", task.Cwd, task.CwdPlugin)
	}
}

// A reviewer judges by what those before it have found; the findings of one that rejected
// are of work that is no more. Who hands over is shown what every reviewer has seen.
func TestEvidenceIsPassedOn(t *testing.T) {
	var seen, handed []pluginsdk.Evidence
	tree := &reviewer{complete: func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		return &pluginsdk.OnTaskCompleteResponse{Evidence: []pluginsdk.Evidence{{Kind: "tree", Tree: "T"}}}, nil
	}}
	gate := &reviewer{
		complete: func(_ context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
			seen = r.Evidence
			return says(pluginsdk.VerdictAccept)(nil, r)
		},
		validated: func(_ context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
			handed = r.Evidence
			return nil, nil //nolint:nilnil // nothing to say
		},
	}
	w := newWorld(t, storetest.Open(t), tree, gate)
	task := w.worked(pluginsdk.NewTask{})
	if task.Status != pluginsdk.TaskCompleted || len(seen) != 1 || seen[0].Tree != "T" || len(handed) != 2 || handed[0].Tree != "T" || handed[1].Command != "make" {
		t.Errorf("%s: the gate was shown %+v, who hands over %+v", task.Status, seen, handed)
	}
}

// A verdict that says what it is worth must not lose that on the way; one that rejects
// marks nothing.
func TestAVerdictMarksItsTask(t *testing.T) {
	verdict := pluginsdk.VerdictReject
	p := &reviewer{complete: func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		return &pluginsdk.OnTaskCompleteResponse{Verdict: verdict, Feedback: "no", Marks: []string{"demo"}}, nil
	}}
	w := newWorld(t, storetest.Open(t), p)
	if task := w.worked(pluginsdk.NewTask{}); task.Status != pluginsdk.TaskRunning || task.Marks != nil {
		t.Errorf("rejected: %s %q", task.Status, task.Marks)
	}
	p.set(func() { verdict = pluginsdk.VerdictAccept })
	if task := w.worked(pluginsdk.NewTask{}); task.Status != pluginsdk.TaskCompleted || !slices.Equal(task.Marks, []string{"demo"}) {
		t.Errorf("accepted: %s %q", task.Status, task.Marks)
	}
	if notices, _ := w.said(); len(notices) != 1 || !strings.Contains(notices[0], "(demo)") {
		t.Errorf("people were told %q", notices)
	}
}

// A report that somebody is to write needs a place to be written in; it is nobody's
// repository, so that no person has to be asked before it is handed over.
func TestATaskWithADirectoryOfItsOwn(t *testing.T) {
	w := newWorld(t, storetest.Open(t))
	w.kill()
	w.config.Directories = filepath.Join(t.TempDir(), "tasks")
	w.begin()
	task := w.worked(pluginsdk.NewTask{OwnDirectory: true})
	if stat, err := os.Stat(task.Cwd); err != nil || !stat.IsDir() || task.Cwd != filepath.Join(w.config.Directories, task.ID) || !task.OwnDirectory {
		t.Errorf("it has %q (own: %v), %v", task.Cwd, task.OwnDirectory, err)
	}
	notices, _ := w.said()
	if task.Status != pluginsdk.TaskCompleted || !slices.Equal(task.Marks, []string{MarkUnvalidated}) || len(notices) != 1 || !strings.Contains(notices[0], task.Cwd) {
		t.Errorf("%s %q; people were told %q", task.Status, task.Marks, notices)
	}

	next, _, err := w.boot.room.Create(t.Context(), ledger.NewTask{Plugin: "maker", NewTask: pluginsdk.NewTask{Prompt: "go on", FromTaskID: task.ID, ParentThreadID: w.parent.ID}})
	if err != nil || next.Cwd != task.Cwd || !next.OwnDirectory || next.FromTaskID != task.ID {
		t.Errorf("what goes on has %q (own: %v), from %q, %v", next.Cwd, next.OwnDirectory, next.FromTaskID, err)
	}

	// Elsewhere it would be somebody's files that nobody has looked at.
	elsewhere := "/repo"
	task = w.worked(pluginsdk.NewTask{OwnDirectory: true})
	if _, err := w.store.UpdateThread(t.Context(), task.ThreadID, pluginsdk.ThreadPatch{Cwd: &elsewhere}); err != nil {
		t.Fatal(err)
	}
	next, _, err = w.boot.room.Create(t.Context(), ledger.NewTask{Plugin: "maker", NewTask: pluginsdk.NewTask{Prompt: "go on", FromTaskID: task.ID, ParentThreadID: w.parent.ID}})
	if err != nil || next.Cwd != elsewhere || next.OwnDirectory {
		t.Errorf("what goes on elsewhere has %q (own: %v), %v", next.Cwd, next.OwnDirectory, err)
	}

	if err := os.WriteFile(w.config.Directories+"x", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.kill()
	w.config.Directories += "x"
	w.begin()
	if task := w.settled(w.create(pluginsdk.NewTask{OwnDirectory: true})); task.Status != pluginsdk.TaskFailed || !strings.Contains(task.Error, "directory could not be made") {
		t.Errorf("one that cannot be made: %s, %s", task.Status, task.Error)
	}
}

// Who looks at a task sees what was tried and what was said of it, in order, however much
// it is.
func TestTheHistoryOfATask(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		verdicts := []pluginsdk.Verdict{pluginsdk.VerdictReject, pluginsdk.VerdictAccept}
		p := &reviewer{complete: func(ctx context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
			return says(verdicts[r.Task.CurrentIteration-1])(ctx, r)
		}}
		w := newWorld(t, s, p)
		task := w.worked(pluginsdk.NewTask{})
		w.iterate(task.ID)
		w.evaluate(task.ID)
		w.settled(task.ID)
		iterations, answers, err := w.boot.room.History(t.Context(), task.ID, 0, 10)
		if err != nil || len(iterations) != 2 || iterations[1].Iteration != 2 || iterations[0].RunID != task.RunID || iterations[0].CostUSD != 0.25 ||
			iterations[1].State != pluginsdk.RunSucceeded {
			t.Fatalf("iterations %+v, %v", iterations, err)
		}
		if len(answers) != 2 || answers[0].Answer != "reject" || answers[0].Hook != pluginsdk.HookTaskComplete || answers[0].Iteration != 1 ||
			answers[1].Answer != "accept" || answers[1].Evidence[0].Command != "make" || answers[1].ID <= answers[0].ID {
			t.Errorf("answers %+v", answers)
		}
		if _, rest, err := w.boot.room.History(t.Context(), task.ID, answers[0].ID, 10); err != nil || len(rest) != 1 || rest[0].ID != answers[1].ID {
			t.Errorf("after the first one %+v, %v", rest, err)
		}
		if _, _, err := w.boot.room.History(t.Context(), "nobody", 0, 10); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			t.Errorf("of no task: %v", err)
		}
	})
}

// Each plugin may show much, and all that is shown has to fit into a call: else a gate that
// says a lot would keep those after it, and who hands over, from ever being asked.
func TestWhatIsShownFitsIntoACall(t *testing.T) {
	long := strings.Repeat("é", maxWords)
	much := slices.Repeat([]pluginsdk.Evidence{{Kind: long, Command: long, File: long, Tree: long, Output: long + "end", Diff: long}}, maxEvidence)
	if kept := bounded(much); size(kept...) > 2*maxTexts || len(kept) != maxEvidence || !strings.HasSuffix(kept[0].Output, "end") {
		t.Errorf("of one answer %d pieces and %d bytes are kept", len(kept), size(kept...))
	}
	first := []pluginsdk.Evidence{{Kind: "tree", Tree: "T"}}
	answers := []ledger.TaskAnswer{
		{Round: 1, Phase: ledger.PhaseReviewing, Answer: string(pluginsdk.VerdictReject), Evidence: much},
		{Round: 1, Phase: ledger.PhaseReviewing, Evidence: first},
	}
	for range 20 { // as an older version has stored them
		answers = append(answers, ledger.TaskAnswer{Round: 1, Phase: ledger.PhaseReviewing, Evidence: much})
	}
	if got := shown(ledger.Task{}, answers, 1); size(got...) > maxShown || len(got) < 2*maxEvidence || got[0].Tree != "T" {
		t.Errorf("%d pieces and %d bytes are shown", len(got), size(got...))
	}
}

// A mark holds work back: one that there is no room for must not get lost.
func TestNoMarkIsLost(t *testing.T) {
	var many []string
	for n := range maxMarks {
		many = append(many, strings.Repeat("m", maxMark+n))
	}
	first := &reviewer{complete: func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		return &pluginsdk.OnTaskCompleteResponse{Marks: append(many, "a", "b", "c")[1:]}, nil
	}}
	second := &reviewer{complete: func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictAccept, Marks: []string{"demo"}}, nil
	}}
	w := newWorld(t, storetest.Open(t), first, second)
	if task := w.worked(pluginsdk.NewTask{}); task.Status != pluginsdk.TaskCompleted || !slices.Equal(task.Marks, []string{many[0] + " [cut]", "a", "b", "c", "demo"}) {
		t.Errorf("%s %q", task.Status, task.Marks)
	}
	first.set(func() {
		for n := range many {
			many[n] = strings.Repeat("m", n+1)
		}
	})
	if task := w.worked(pluginsdk.NewTask{}); task.Status != pluginsdk.TaskWaiting || !strings.Contains(task.Error, "marks: the task would have") {
		t.Errorf("more than there is room for: %s %q, %s", task.Status, task.Marks, task.Error)
	}
}

// Work in a directory that a plugin gave must not count as handed over because that plugin was
// turned off meanwhile: the person would look for what is not there.
func TestWorkThatNobodyHandsOver(t *testing.T) {
	p := worktree("/repo/tree")
	p.info.Granted = []pluginsdk.Capability{pluginsdk.CapThreadsAdmin}
	gate := &reviewer{complete: says(pluginsdk.VerdictAccept)}
	w := newWorld(t, storetest.Open(t), p, gate)
	task := w.worked(pluginsdk.NewTask{Cwd: "/repo"})
	if notices, _ := w.said(); task.Status != pluginsdk.TaskWaiting || !slices.Equal(task.Marks, []string{MarkUnmerged}) || len(notices) != 1 || !strings.Contains(notices[0], "/repo/tree") {
		t.Fatalf("it is %s %q; people were told %q", task.Status, task.Marks, notices)
	}
	p.set(func() {
		p.validated = func(context.Context, *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
			return &pluginsdk.OnTaskValidatedResponse{CwdGone: true}, nil
		}
	})
	w.must(func(ctx context.Context, room *Room) error {
		_, err := room.Decide(ctx, ledger.By{Plugin: "web"}, pluginsdk.DecideTaskRequest{ID: task.ID, Verdict: pluginsdk.VerdictAccept})
		return err
	})
	if task = w.settled(task.ID); task.Status != pluginsdk.TaskCompleted || len(task.Marks) > 0 {
		t.Errorf("it is %s %q", task.Status, task.Marks)
	}
}

// A cancel that came too late to keep the work out must not be told as if it had.
func TestWhatIsSaidBesideTheReason(t *testing.T) {
	p := &reviewer{
		create: func(context.Context, *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "no repository")
		},
		failed: func(context.Context, *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
			return &pluginsdk.OnTaskFailedResponse{Note: "it was merged before that"}, nil
		},
	}
	w := newWorld(t, storetest.Open(t), p)
	w.settled(w.create(pluginsdk.NewTask{}))
	if notices, _ := w.said(); len(notices) != 1 || !strings.Contains(notices[0], "no repository; it was merged before that") {
		t.Errorf("people were told %q", notices)
	}
}

// A stranger would have a worker read what the thread's own agent may not.
func TestATaskOfAThreadApartWorksApart(t *testing.T) {
	w := newWorld(t, storetest.Open(t))
	w.kill()
	w.config.Directories = filepath.Join(t.TempDir(), "workspace", "tasks")
	w.begin()
	own := ledger.ThreadDirectory(t.TempDir(), w.parent.ID)
	if _, err := w.store.UpdateThread(t.Context(), w.parent.ID, pluginsdk.ThreadPatch{Cwd: &own}); err != nil {
		t.Fatal(err)
	}
	for name, asked := range map[string]pluginsdk.NewTask{"its own": {OwnDirectory: true}, "none": {}} {
		task := w.worked(asked)
		if stat, err := os.Stat(task.Cwd); err != nil || !stat.IsDir() || task.Cwd != filepath.Join(own, "tasks", task.ID) || !task.OwnDirectory {
			t.Errorf("one that asks for %s works in %q (own: %v), %v", name, task.Cwd, task.OwnDirectory, err)
		}
	}
	within := w.worked(pluginsdk.NewTask{Cwd: own})
	if within.Cwd != own || within.OwnDirectory {
		t.Errorf("one in the thread's directory works in %q (own: %v)", within.Cwd, within.OwnDirectory)
	}
}

// A plugin that is asked about tasks must not have agents edit a person's files unasked: what
// they may was said of the directory that the task is moved out of. Somebody can see who did it.
func TestATaskIsMovedWithoutItsRights(t *testing.T) {
	mover := &reviewer{create: func(context.Context, *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
		dir := "/home/me/private"
		return &pluginsdk.OnTaskCreateResponse{Cwd: &dir}, nil
	}}
	first := worktree("/repo/tree")
	first.info.Granted = []pluginsdk.Capability{pluginsdk.CapThreadsAdmin}
	w := newWorld(t, storetest.Open(t), first, mover)
	id := w.create(pluginsdk.NewTask{Cwd: "/repo", AllowedTools: []string{"Bash(ls)"}})
	if task := w.settled(id); task.Cwd != "/home/me/private" || task.PermissionMode != "" || task.AllowedTools != nil {
		t.Errorf("it is in %q with %q %q", task.Cwd, task.PermissionMode, task.AllowedTools)
	}
	entries, err := w.store.AuditEntries(t.Context(), id, 10)
	if err != nil || len(entries) != 2 || !strings.Contains(entries[0].Detail, `cwd from "/repo" to "/repo/tree"`) ||
		entries[1].Who != "plugin:plugin-1" || !strings.Contains(entries[1].Detail, `cwd from "/repo/tree" to "/home/me/private"`) {
		t.Errorf("the audit log has %+v, %v", entries, err)
	}

	mover.set(func() { mover.info.Granted = []pluginsdk.Capability{pluginsdk.CapThreadsAdmin} })
	if task := w.settled(w.create(pluginsdk.NewTask{Cwd: "/repo", AllowedTools: []string{"Bash(ls)"}})); !slices.Equal(task.AllowedTools, []string{"Bash(ls)", "Bash(make)"}) {
		t.Errorf("moved by who may say what it may: %q", task.AllowedTools)
	}
	plan := withoutRights(pluginsdk.TaskContext{PermissionMode: "plan", AllowedTools: []string{"Bash"}})
	if plan.PermissionMode != "plan" || plan.AllowedTools != nil {
		t.Errorf("a task that may only read: %+v", plan)
	}
}
