package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A task works beside the checkout, and what it has done is in the branch afterwards. Nothing
// else is.
func TestATaskIsMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	before := w.look()
	is, err := w.create(t.Context(), "t1", filepath.Join(w.repo, "sub"))
	if err != nil {
		t.Fatal(err)
	}
	top := filepath.Join(w.repo, ".claude", "worktrees", "t1")
	if is.Cwd != filepath.Join(top, "sub") || is.PermissionMode != "acceptEdits" || !strings.HasPrefix(is.Context, "Be brief.") || !strings.Contains(is.Context, top) {
		t.Errorf("it is to work with %+v", is)
	}
	want := map[string]string{
		"worktree.repository": w.repo, "worktree.path": top, "worktree.branch": "task/t1", "worktree.target": "main", "worktree.base": before.head,
	}
	for name, value := range want {
		if is.Labels[name] != value {
			t.Errorf("label %s is %q, want %q", name, is.Labels[name], value)
		}
	}
	write(t, is.Cwd, "b.txt", "changed\n", "new file.txt", "new\n")
	if now := w.look(); now != before {
		t.Errorf("the checkout is %+v, and was %+v", now, before)
	}
	if rounds := w.merges("t1"); rounds != 1 {
		t.Errorf("it was evaluated %d times", rounds)
	}
	if read(t, w.repo, "sub/b.txt") != "changed\n" || read(t, w.repo, "sub/new file.txt") != "new\n" {
		t.Error("the files are not in the checkout")
	}
	now := w.look()
	if now.status != "" || now.branch != "main" || now.head == before.head {
		t.Errorf("the checkout is %+v", now)
	}
	log := gitIn(t, w.repo, "log", "--topo-order", "--format=%P|%s|%(trailers:key=Harness-Task,valueonly,separator=)|%an <%ae>")
	lines := strings.Split(log, "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], before.head+" ") || !strings.Contains(lines[0], "|Merge task/t1: do t1|t1|Ann <ann@example.org>") ||
		lines[1] != before.head+"|do t1|t1|Ann <ann@example.org>" {
		t.Errorf("the log is\n%s", log)
	}
	w.bare()
	if answer, err := w.validate(t.Context(), "t1"); err != nil || answer.Handover != "" || !answer.CwdGone {
		t.Errorf("asked once more: %+v, %v", answer, err)
	}
}

// Reviewers are shown what will be merged, and what others leave behind is not merged.
func TestWhatWasLookedAtIsWhatIsMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	write(t, w.repo, ".gitignore", "*.o\n")
	base := committed(t, w.repo, "ignore")
	dir := w.begun("t1", "")
	write(t, dir, "a.txt", "other\n", "x.o", "object\n", "c.txt", "c\nd\n")
	answer, err := w.complete(t.Context(), "t1")
	if err != nil || answer.Verdict != "" {
		t.Fatalf("%+v, %v", answer, err)
	}
	got := make(map[string]pluginsdk.Evidence)
	for _, e := range answer.Evidence {
		got[e.Kind] = e
	}
	tree := got["tree"].Tree
	if files := gitIn(t, w.repo, "ls-tree", "-r", "--name-only", tree); files != ".gitignore\na.txt\nc.txt\nsub/b.txt" {
		t.Errorf("the tree has\n%s", files)
	}
	if got["base"].Tree != base || got["paths"].Output != "a.txt\nc.txt\n" || !strings.Contains(got["diff"].Diff, "+other") || len(got["patch-id"].Output) != 64 {
		t.Errorf("evidence %+v", answer.Evidence)
	}
	// Checks run now, and leave things behind.
	write(t, dir, "a.txt", "spoilt\n", "coverage.out", "100%\n")
	if answer, err := w.validate(t.Context(), "t1"); err != nil || answer.Handover != "" {
		t.Fatalf("%+v, %v", answer, err)
	}
	if merged := gitIn(t, w.repo, "rev-parse", "HEAD^{tree}"); merged != tree {
		t.Errorf("merged %s, and %s was looked at", merged, tree)
	}
	if read(t, w.repo, "a.txt") != "other\n" || exists(filepath.Join(w.repo, "coverage.out")) {
		t.Error("what was left behind is in the checkout")
	}
	// It may have been somebody's work: it is kept for a while.
	if kept := gitIn(t, w.repo, "show", "refs/harness/leftovers/t1:coverage.out"); kept != "100%" {
		t.Errorf("kept %q", kept)
	}
	w.bare()
}

// A directory of a task's own is edited without questions, and nothing is merged from it.
func TestWithoutARepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := t.TempDir()
	for name, one := range map[string]struct {
		task pluginsdk.Task
		cwd  string
		was  string
		mode string
	}{
		"no directory":        {},
		"a directory":         {cwd: dir},
		"one of its own":      {task: pluginsdk.Task{OwnDirectory: true}, cwd: dir, mode: "acceptEdits"},
		"one that only plans": {task: pluginsdk.Task{OwnDirectory: true}, cwd: dir, was: "plan", mode: "plan"},
		"its own in a repo":   {task: pluginsdk.Task{OwnDirectory: true}, cwd: repository(t, "shop"), mode: "acceptEdits"},
	} {
		one.task.ID = "t1"
		was := pluginsdk.TaskContext{Cwd: one.cwd, PermissionMode: one.was}
		answer, err := w.plugin.OnTaskCreate(t.Context(), &pluginsdk.OnTaskCreateRequest{Task: one.task, Context: was})
		is := was.Changed(answer)
		if err != nil || is.PermissionMode != one.mode || is.Cwd != one.cwd {
			t.Errorf("%s: %+v, %v", name, is, err)
		}
		if said, err := w.complete(t.Context(), "t1"); err != nil || said != nil {
			t.Errorf("%s: evaluated: %+v, %v", name, said, err)
		}
		if said, err := w.validate(t.Context(), "t1"); err != nil || said.Handover != "" || said.CwdGone {
			t.Errorf("%s: handed over: %+v, %v", name, said, err)
		}
		w.fails("t1")
	}
	// What a repository ignores is no part of it.
	repo := repository(t, "daemon")
	write(t, repo, ".gitignore", "data/\n", "data/workspace/note", "\n")
	if is, err := w.create(t.Context(), "t2", filepath.Join(repo, "data", "workspace")); err != nil || len(is.Labels) > 0 {
		t.Errorf("below an ignored directory: %+v, %v", is, err)
	}
	// What git knows is, whatever is ignored around it: no task works on it in the checkout.
	gitIn(t, repo, "add", "-f", "data/workspace/note")
	commitAll(t, repo, "known")
	if is, err := w.create(t.Context(), "t3", filepath.Join(repo, "data", "workspace")); err != nil || is.Cwd != filepath.Join(repo, worktrees, "t3", "data", "workspace") {
		t.Errorf("below an ignored directory with files that git knows: %+v, %v", is, err)
	}
}

// A task of which nothing was made by then has nothing that could be merged.
func TestNothingWasChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	before := w.look()
	w.begun("t1", "")
	w.merges("t1")
	if now := w.look(); now != before {
		t.Errorf("the checkout is %+v, and was %+v", now, before)
	}
	w.bare()
}

// Paths may have anything in them, and names that look like options are names.
func TestOddNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with blanks", "two\nlines", "--force", "ümläut's \"$(touch x)\""} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repository(t, name))
			dir := w.begun("t1", "")
			files := []string{"-rf", "--", "a b", "new\nline", "tab\there", ":(top)x", "*", "\"quoted\"", "deep/-x/y\n"}
			for _, file := range files {
				write(t, dir, file, file)
			}
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(dir, "c.txt")); err != nil {
				t.Fatal(err)
			}
			write(t, w.repo, "elsewhere.txt", "x\n")
			commitAll(t, w.repo, "elsewhere")
			if rounds := w.merges("t1"); rounds != 2 {
				t.Errorf("%d rounds", rounds)
			}
			for _, file := range files {
				if read(t, w.repo, file) != file {
					t.Errorf("%q is not there", file)
				}
			}
			if exists(filepath.Join(w.repo, "c.txt")) || !exists(filepath.Join(w.repo, "link")) || w.look().status != "" {
				t.Errorf("the checkout is %+v", w.look())
			}
			w.bare()
		})
	}
}

// When the target has moved, the work is put on top of it and looked at again; what it does
// has the same name as before, so that a reviewer need not read it again.
func TestTheBaseHasMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	dir := w.begun("t1", "")
	write(t, dir, "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nNINE\n")
	if _, err := w.complete(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	was := w.round["t1"]
	write(t, w.repo, "a.txt", "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n", "d.txt", "d\n")
	moved := committed(t, w.repo, "zero")
	write(t, dir, "coverage.out", "of the checks\n")
	answer, err := w.validate(t.Context(), "t1")
	if err != nil || answer.Handover != pluginsdk.HandoverAgain || !strings.Contains(answer.Reason, "main") || answer.CwdGone {
		t.Fatalf("%+v, %v", answer, err)
	}
	if read(t, dir, "a.txt") != "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nNINE\n" || read(t, dir, "d.txt") != "d\n" || exists(filepath.Join(dir, "coverage.out")) {
		t.Error("the worktree is not on top of the target")
	}
	if _, err := w.complete(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	is := w.round["t1"]
	if is[0].Tree == was[0].Tree || is[1].Tree != moved || is[4].Output != was[4].Output || is[4].Output == "" {
		t.Errorf("evidence\n%+v, and was\n%+v", is, was)
	}
	if answer, err := w.validate(t.Context(), "t1"); err != nil || answer.Handover != "" {
		t.Fatalf("%+v, %v", answer, err)
	}
	w.bare()
}

// A file that git ignores and knows all the same is not taken for deleted.
func TestWhatIsIgnoredAndKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	write(t, w.repo, ".gitignore", "*.o\n", "old.o", "old\n")
	gitIn(t, w.repo, "add", "-f", "old.o")
	commitAll(t, w.repo, "ignored and known")
	dir := w.begun("t1", "")
	write(t, dir, "new.txt", "new\n")
	write(t, w.repo, "new.o", "new\n")
	gitIn(t, w.repo, "add", "-f", "new.o")
	commitAll(t, w.repo, "another one")
	if w.merges("t1"); read(t, w.repo, "old.o") != "old\n" || read(t, w.repo, "new.o") != "new\n" || w.look().status != "" {
		t.Errorf("the checkout is %+v", w.look())
	}
	w.bare()
}

// White space is content: another one is another patch.
func TestAPatchIsEveryByteOfIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	dir := w.begun("t1", "")
	ids := make(map[string]string)
	for _, content := range []string{"if x:\n    y\n    z\n", "if x:\n    y\nz\n", "if x:\n    y\n    z", "bin\x00ary\n", "bin\x00ARY\n"} {
		write(t, dir, "x.py", content)
		if _, err := w.complete(t.Context(), "t1"); err != nil {
			t.Fatal(err)
		}
		id := w.round["t1"][4].Output
		if same, ok := ids[id]; ok || id == "" {
			t.Errorf("%q has the name of %q: %q", content, same, id)
		}
		ids[id] = content
	}
	if err := os.Remove(filepath.Join(dir, "x.py")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.complete(t.Context(), "t1"); err != nil || w.round["t1"][4].Output != "" {
		t.Errorf("nothing is called %q, %v", w.round["t1"][4].Output, err)
	}
}

// A worker that has failed leaves what it has done, for another one to go on from.
func TestWhatHasFailedIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	before := w.look()
	dir := w.begun("t1", "")
	write(t, dir, "half.txt", "half\n")
	w.fails("t1")
	w.bare()
	if now := w.look(); now != before {
		t.Errorf("the checkout is %+v, and was %+v", now, before)
	}
	if gitIn(t, w.repo, "show", "refs/harness/tasks/t1:half.txt") != "half" {
		t.Error("it is not kept")
	}
	write(t, w.repo, "c.txt", "moved\n")
	base := committed(t, w.repo, "moved")
	w.task("t2").FromTaskID = "t1"
	dir = w.begun("t2", "")
	if read(t, dir, "half.txt") != "half\n" || read(t, dir, "c.txt") != "moved\n" {
		t.Error("it does not go on where the other has ended")
	}
	write(t, dir, "whole.txt", "whole\n")
	if _, err := w.complete(t.Context(), "t2"); err != nil || w.round["t2"][1].Tree != base || w.round["t2"][2].Output != "half.txt\nwhole.txt\n" {
		t.Errorf("evidence %+v, %v", w.round["t2"], err)
	}
	w.merges("t2")
	w.bare()

	// One that has done nothing leaves nothing.
	w.begun("t3", "")
	w.fails("t3")
	if refs := gitIn(t, w.repo, "for-each-ref", "refs/harness/tasks/t3"); refs != "" {
		t.Errorf("kept %s", refs)
	}
	// What conflicts with what the target has become goes on as it was.
	dir = w.begun("t4", "")
	write(t, dir, "c.txt", "mine\n")
	w.fails("t4")
	write(t, w.repo, "c.txt", "yours\n")
	commitAll(t, w.repo, "yours")
	w.task("t5").FromTaskID = "t4"
	if dir = w.begun("t5", ""); read(t, dir, "c.txt") != "mine\n" {
		t.Error("it does not go on where the other has ended")
	}
	w.waits("t5", "conflict", "c.txt")
}

// A task below another sees what that one has not committed, and is merged into its worktree.
func TestTasksBelowTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	before := w.look()
	above := w.begun("p", "")
	write(t, above, "plan.txt", "a plan\n")
	is, err := w.create(t.Context(), "s", filepath.Join(above, "sub"))
	if err != nil {
		t.Fatal(err)
	}
	if is.Labels["worktree.repository"] != above || is.Labels["worktree.target"] != "task/p" || filepath.Dir(filepath.Dir(is.Cwd)) != filepath.Dir(above) {
		t.Errorf("it is to work with %+v", is)
	}
	top := is.Labels["worktree.path"]
	if _, err := w.complete(t.Context(), "s"); err != nil || is.Labels["worktree.root"] != w.repo || w.round["s"][1].File != w.repo {
		t.Errorf("settings name the repository %s, and it is said to be %q and %q, %v", w.repo, is.Labels["worktree.root"], w.round["s"][1].File, err)
	}
	if read(t, top, "plan.txt") != "a plan\n" {
		t.Error("it does not see what the task above has done")
	}
	if status := gitIn(t, above, "status", "--porcelain"); status != "" {
		t.Errorf("the status above is %q", status)
	}
	write(t, top, "part.txt", "a part\n")
	write(t, above, "more.txt", "more of the plan\n") // meanwhile
	if rounds := w.merges("s"); rounds != 2 {
		t.Errorf("%d rounds", rounds)
	}
	if read(t, above, "part.txt") != "a part\n" || read(t, above, "more.txt") != "more of the plan\n" || gitIn(t, above, "status", "--porcelain") != "" {
		t.Error("it is not merged into the worktree of the task above")
	}
	if now := w.look(); now != before {
		t.Errorf("the checkout is %+v, and was %+v", now, before)
	}
	w.merges("p")
	if read(t, w.repo, "part.txt") != "a part\n" || read(t, w.repo, "plan.txt") != "a plan\n" || w.look().status != "" {
		t.Error("it is not in the checkout")
	}
	w.bare()
}

// However often a task below another was given back, and whatever its worker has committed: the branch
// above gets one commit for it, which has the task's first line as its title, and no merge.
func TestATaskBelowIsOneCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	above := w.begun("p", "")
	began := gitIn(t, above, "rev-parse", "HEAD")
	for id, more := range map[string]func(dir string){
		"s1": func(dir string) {
			commitAll(t, dir, "wip")
			gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "wip 2")
		},
		"s2": func(dir string) { // which has a task below itself
			write(t, w.begun("s2s", dir), "s2s.txt", "s2s\n")
			w.merges("s2s")
		},
		"s3": func(string) { // while another one is merged
			write(t, w.begun("s4", above), "s4.txt", "s4\n")
			w.merges("s4")
		},
	} {
		dir := w.begun(id, above)
		for _, content := range []string{"first\n", "second\n", "third\n"} { // and rejected by others
			write(t, dir, id+".txt", content)
			if said, err := w.complete(t.Context(), id); err != nil || said.Verdict != "" {
				t.Fatalf("%+v, %v", said, err)
			}
		}
		more(dir)
		w.merges(id)
		if read(t, above, id+".txt") != "third\n" || gitIn(t, above, "status", "--porcelain") != "" {
			t.Errorf("%s is not merged as it was", id)
		}
	}
	commits := strings.Split(gitIn(t, above, "log", "--format=%s|%an|%p|%(trailers:key=Harness-Task,valueonly,separator=%x2C)", began+".."), "\n")
	slices.Sort(commits)
	for i, id := range []string{"s1", "s2", "s3", "s4"} {
		if fields := strings.Split(commits[min(i, len(commits)-1)], "|"); fields[0] != "do "+id || fields[1] != "Ann" || strings.Contains(fields[2], " ") || fields[3] != id {
			t.Errorf("the commit of %s is %q", id, fields)
		}
	}
	if len(commits) != 4 {
		t.Errorf("%d commits: %q", len(commits), commits)
	}
	w.merges("p")
	if merges := gitIn(t, w.repo, "log", "--merges", "--format=%s", began+".."); merges != "Merge task/p: do p" {
		t.Errorf("merges: %q", merges)
	}
	w.bare()
}

// What was held back because of a mark is merged once a person says so, and not asked about
// again because the target has moved.
func TestMarksHoldBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	dir := w.begun("t1", "")
	write(t, dir, "new.txt", "new\n")
	w.task("t1").Marks = []string{"demo"}
	before := w.look()
	w.waits("t1", "", "demo", "task/t1")
	if now := w.look(); now != before || !exists(dir) {
		t.Errorf("the checkout is %+v, and was %+v", now, before)
	}
	write(t, w.repo, "c.txt", "moved\n")
	commitAll(t, w.repo, "moved")
	w.task("t1").Marks = nil // a person has accepted it
	answer, err := w.validate(t.Context(), "t1")
	if err != nil || answer.Handover != pluginsdk.HandoverAgain {
		t.Fatalf("%+v, %v", answer, err)
	}
	w.task("t1").Marks = []string{"demo"} // the reviewer is who it was
	w.merges("t1")
	w.bare()

	// The word was for that work, and no other.
	dir = w.begun("t2", "")
	write(t, dir, "new2.txt", "new\n")
	w.task("t2").Marks = []string{"unvalidated"}
	w.waits("t2", "", "unvalidated")
	write(t, dir, "new2.txt", "newer\n")
	w.waits("t2", "", "unvalidated")
}

// Who has taken a task out of its worktree is who gates believe of what the work is, also where
// the directory is the same in other words: what they accepted need not be what is merged.
func TestATaskThatAnotherPluginHasMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	for id, by := range map[string]string{"t1": "forger", "t2": ""} { // the last: back into the checkout
		dir := w.begun(id, "")
		write(t, dir, id+".txt", "new\n")
		w.task(id).Cwd, w.task(id).CwdPlugin = dir+"/.", by
		w.waits(id, "worktree", "approve")
		if exists(filepath.Join(w.repo, id+".txt")) {
			t.Errorf("%s: merged, and shown by %q", id, by)
		}
		w.host.AddTaskAnswer(id, pluginsdk.TaskAnswer{Author: "Ann", Answer: "accept", Hook: pluginsdk.HookTaskComplete})
		if answer, rounds := w.evaluated(id); answer.Handover != "" || !exists(filepath.Join(w.repo, id+".txt")) {
			t.Errorf("%s: a person has accepted it: %+v after %d rounds", id, answer, rounds)
		}
	}
	w.bare()
}

// Who accepts work before it is written down has accepted what others may have changed since.
func TestWhatWasAcceptedBeforeItWasWrittenDown(t *testing.T) {
	t.Parallel()
	gate := func(plugin, answer string, round int) pluginsdk.TaskAnswer {
		return pluginsdk.TaskAnswer{Plugin: plugin, Answer: answer, Round: round, Hook: pluginsdk.HookTaskComplete}
	}
	for what, c := range map[string]struct {
		said  []pluginsdk.TaskAnswer
		waits bool
	}{
		"before":                        {[]pluginsdk.TaskAnswer{gate("validation", "accept", 1), gate(name, "told", 1)}, true},
		"before, and told of it again":  {[]pluginsdk.TaskAnswer{gate("validation", "accept", 1), gate(name, "told", 1), gate("other", "told", 1)}, true},
		"after":                         {[]pluginsdk.TaskAnswer{gate(name, "told", 1), gate("validation", "accept", 1)}, false},
		"before, and by another after":  {[]pluginsdk.TaskAnswer{gate("licence", "accept", 1), gate(name, "told", 1), gate("validation", "accept", 1)}, false},
		"after, and before in the next": {[]pluginsdk.TaskAnswer{gate(name, "told", 1), gate("validation", "accept", 1), gate("validation", "accept", 2), gate(name, "told", 2)}, true},
		"before, and after in the next": {[]pluginsdk.TaskAnswer{gate("validation", "accept", 1), gate(name, "told", 1), gate(name, "told", 2), gate("validation", "accept", 2)}, false},
		"before, and by a person since": {[]pluginsdk.TaskAnswer{gate("validation", "accept", 1), gate(name, "told", 1), {Author: "Ann", Plugin: "web", Answer: "accept", Round: 1}}, false},
	} {
		w := newWorld(t, repository(t, "shop"))
		write(t, w.begun("t1", ""), "new.txt", "new\n")
		for _, answer := range c.said {
			w.host.AddTaskAnswer("t1", answer)
		}
		if c.waits {
			w.waits("t1", "worktree", "the plugin validation has accepted it before", "harness plugin order worktree before validation", "approve")
		} else if answer, rounds := w.evaluated("t1"); answer.Handover != "" {
			t.Errorf("%s: %+v after %d rounds", what, answer, rounds)
		}
		if merged := exists(filepath.Join(w.repo, "new.txt")); merged == c.waits {
			t.Errorf("%s: merged is %t", what, merged)
		}
	}
}

// A person may accept what no reviewer has seen: then it is what is there. Without such a
// word it is looked at first.
func TestAcceptedWithoutBeingSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	dir := w.begun("t1", "")
	write(t, dir, "new.txt", "new\n")
	answer, err := w.validate(t.Context(), "t1")
	if err != nil || answer.Handover != pluginsdk.HandoverAgain {
		t.Fatalf("nobody has looked at it: %+v, %v", answer, err)
	}
	w.round["t1"] = []pluginsdk.Evidence{{Kind: "tree", Tree: gitIn(t, w.repo, "rev-parse", "HEAD^{tree}")}} // somebody's
	if answer, err = w.validate(t.Context(), "t1"); err != nil || answer.Handover != pluginsdk.HandoverAgain {
		t.Fatalf("another tree was looked at: %+v, %v", answer, err)
	}
	w.host.AddTaskAnswer("t1", pluginsdk.TaskAnswer{Author: "Ann", Answer: "accept", Hook: pluginsdk.HookTaskComplete})
	if answer, err = w.validate(t.Context(), "t1"); err != nil || answer.Handover != "" || read(t, w.repo, "new.txt") != "new\n" {
		t.Errorf("a person has accepted it: %+v, %v", answer, err)
	}
	w.bare()

	// What has become of it on top of the target is looked at, although a person has accepted it.
	dir = w.begun("t2", "")
	write(t, dir, "new2.txt", "new\n")
	w.host.AddTaskAnswer("t2", pluginsdk.TaskAnswer{Author: "Ann", Answer: "accept", Hook: pluginsdk.HookTaskComplete})
	write(t, w.repo, "c.txt", "moved\n")
	commitAll(t, w.repo, "moved")
	for range 2 { // the first answer may have been lost
		if answer, err = w.validate(t.Context(), "t2"); err != nil || answer.Handover != pluginsdk.HandoverAgain {
			t.Errorf("the target has moved: %+v, %v", answer, err)
		}
	}
	w.merges("t2")
	w.bare()
}

// What a set-up command leaves behind that git does not ignore is not the worker's.
func TestTheSetUpCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	w.settings(map[string]any{"setup": map[string]string{w.repo: "mkdir -p deps/x && echo 1 >deps/x/lib && echo 2 >.ready && pwd >where"}})
	dir := w.begun("t1", "")
	if read(t, dir, "where") != dir+"\n" || read(t, dir, "deps/x/lib") != "1\n" {
		t.Error("it was not run in the worktree")
	}
	write(t, dir, "new.txt", "new\n", "deps/x/more", "more\n")
	write(t, w.repo, "c.txt", "moved\n")
	commitAll(t, w.repo, "moved")
	if w.merges("t1") != 2 {
		t.Error("it was not put on top of the target")
	}
	if files := gitIn(t, w.repo, "ls-files"); files != "a.txt\nc.txt\nnew.txt\nsub/b.txt" {
		t.Errorf("merged\n%s", files)
	}
	w.bare()

	before := w.look()
	w.settings(map[string]any{"setup": map[string]string{w.repo: "echo no network; exit 7"}})
	if _, err := w.create(t.Context(), "t2", ""); err == nil || !strings.Contains(err.Error(), "no network") || !strings.Contains(err.Error(), "exit code 7") || pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("a set-up command that fails: %v", err)
	}
	w.fails("t2")
	w.settings(map[string]any{"setup": map[string]string{w.repo: "sleep 60 & sleep 60"}, "setupTimeout": "50ms"})
	if _, err := w.create(t.Context(), "t3", ""); err == nil || !strings.Contains(err.Error(), "50ms") {
		t.Errorf("a set-up command that hangs: %v", err)
	}
	w.fails("t3")
	if now := w.look(); now != before {
		t.Errorf("the checkout is %+v, and was %+v", now, before)
	}
	w.bare()
}

// Without a setting the lock file says what the command is, and a setting may say: none.
func TestTheSetUpCommandIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	r := &record{Root: w.repo, Path: w.repo, Prefix: "sub/"}
	if command, _ := w.plugin.setupCommand(r); command != "" {
		t.Errorf("found %q", command)
	}
	write(t, w.repo, "sub/uv.lock", "")
	if command, dir := w.plugin.setupCommand(r); command != "uv sync --frozen --link-mode=copy" || dir != filepath.Join(w.repo, "sub") {
		t.Errorf("found %q in %s", command, dir)
	}
	write(t, w.repo, "package-lock.json", "")
	if command, dir := w.plugin.setupCommand(r); command != "npm ci" || dir != w.repo {
		t.Errorf("found %q in %s", command, dir)
	}
	w.settings(map[string]any{"setup": map[string]string{w.repo + "/": ""}})
	if command, _ := w.plugin.setupCommand(r); command != "" {
		t.Errorf("found %q", command)
	}
}

// Wrong settings name what is wrong.
func TestSettings(t *testing.T) {
	t.Parallel()
	for raw, word := range map[string]string{
		`{"setupTimeout":"soon"}`: "setupTimeout", `{"setup":{"shop":"make"}}`: `"shop"`, `{"sepup":{}}`: "sepup",
	} {
		if _, err := parse([]byte(raw)); err == nil || !strings.Contains(err.Error(), word) || pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// Over the wire, as the daemon asks.
func TestOverTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	served := w.host.Serve(t, new(Plugin))
	if err := served.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	task := *w.task("t1")
	var words []string
	ctx := pluginsdk.WithProgress(t.Context(), func(progress pluginsdk.Progress) { words = append(words, progress.Message) })
	made, err := served.OnTaskCreate(ctx, &pluginsdk.OnTaskCreateRequest{Task: task, Context: pluginsdk.TaskContext{Cwd: w.repo}})
	if err != nil || len(words) == 0 {
		t.Fatalf("%+v, %v, said %q", made, err, words)
	}
	task.Cwd, task.CwdPlugin = *made.Cwd, name // as the core does
	write(t, *made.Cwd, "new.txt", "new\n")
	seen, err := served.OnTaskComplete(ctx, &pluginsdk.OnTaskCompleteRequest{Task: task})
	if err != nil {
		t.Fatal(err)
	}
	for i := range seen.Evidence {
		seen.Evidence[i].Plugin = name // as the core does
	}
	done, err := served.OnTaskValidated(ctx, &pluginsdk.OnTaskValidatedRequest{Task: task, Evidence: seen.Evidence})
	if err != nil || done.Handover != "" || !done.CwdGone {
		t.Errorf("%+v, %v", done, err)
	}
	checks, err := served.OnCheck(t.Context(), &pluginsdk.OnCheckRequest{})
	if err != nil || len(checks.Checks) != 1 || checks.Checks[0].State != pluginsdk.CheckOK {
		t.Errorf("%+v, %v", checks, err)
	}
	if err := served.Deactivate(context.Background()); err != nil {
		t.Error(err)
	}
	w.bare()
}
