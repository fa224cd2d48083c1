package worktree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// A plugin that is killed leaves the files as they are in that moment, and what the core has stored:
// nothing of its memory. So a copy of these, made at a step while nothing else goes on, is what a
// death there leaves. One life is lived to the end, with a copy at each step, and then each copy takes
// the life's place and is lived on.

// death is what the plugin leaves that dies at a step.
type death struct {
	at    string // step; empty: a call has ended
	files string // copy of the repository, with the worktrees in it
	state []pluginsdk.StateEntry
	tasks map[string]*pluginsdk.Task
	round map[string][]pluginsdk.Evidence
	said  *pluginsdk.OnTaskValidatedResponse
}

// minimal has git know an unchanged file by its time and size: a copy has another inode, which would
// be a change that no death makes.
func (w *world) minimal() {
	w.t.Helper()
	gitIn(w.t, w.repo, "config", "core.checkStat", "minimal")
	gitIn(w.t, w.repo, "config", "core.trustctime", "false")
}

// keep makes a copy of everything.
func (w *world) keep(at string) death {
	w.t.Helper()
	w.kept++
	files := filepath.Join(filepath.Dir(w.repo), fmt.Sprintf("copy-%d", w.kept))
	copyTree(w.t, w.repo, files)
	d := w.now()
	d.at, d.files = at, files
	return d
}

// now is everything, without a copy of the repository.
func (w *world) now() death {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := death{files: w.repo, state: w.host.State(name), tasks: make(map[string]*pluginsdk.Task), round: maps.Clone(w.round), said: w.said}
	for id, task := range w.tasks {
		same := *task
		d.tasks[id] = &same
	}
	return d
}

// restore puts a copy in the place of everything, with a new instance. It can be done once.
func (w *world) restore(d death) {
	w.t.Helper()
	if err := errors.Join(os.RemoveAll(w.repo), os.Rename(d.files, w.repo)); err != nil {
		w.t.Fatal(err)
	}
	w.host, w.tasks, w.round, w.said = plugintest.NewHost(), d.tasks, d.round, d.said
	w.host.SetSettings(w.set)
	for _, task := range d.tasks {
		w.host.AddTask(*task)
	}
	for _, entry := range d.state {
		if _, err := w.host.As(w.plugin.Manifest()).State.Put(context.Background(), &pluginsdk.PutStateRequest{Key: entry.Key, Value: entry.Value}); err != nil {
			w.t.Fatal(err)
		}
	}
	w.start()
}

// deaths makes a call, and returns a death at each of its steps.
func (w *world) deaths(call func() error) (deaths []death) {
	w.t.Helper()
	w.plugin.Config.Fault = func(step, _ string) { deaths = append(deaths, w.keep(step)) }
	if err := call(); err != nil {
		w.t.Fatal(err)
	}
	w.plugin.Config.Fault = func(string, string) {}
	return deaths
}

// killed makes a call, whose instance does nothing any more from a step on, and starts another one. It
// wants what there is then to be what a copy has.
func (w *world) killed(at string, call func() error) {
	w.t.Helper()
	died, over := make(chan struct{}), make(chan error)
	var copied death
	w.plugin.Config.Fault = func(step, _ string) {
		if step == at {
			copied = w.keep(at)
			close(died)
			select {} // nothing of it happens any more
		}
	}
	go func() { over <- call() }()
	select {
	case <-died:
	case err := <-over:
		w.t.Fatalf("there is no step %q: %v", at, err)
	}
	w.start()
	if left, has := w.traits(w.now()), w.traits(copied); left.words != has.words || !maps.Equal(left.objects, has.objects) {
		w.t.Errorf("dead at %q, it leaves\n%s\nand the copy is\n%s", at, left.words, has.words)
	}
}

// is reports whether everything is as in a copy, but for what nobody who lives on can tell: what the
// clock said when a commit was made, and which inode a file has. The objects of the copy are there.
func (w *world) is(d traits) bool {
	w.t.Helper()
	now := w.traits(w.now())
	for id := range d.objects {
		if !now.objects[id] {
			return false
		}
	}
	return now.words == d.words
}

var objectName = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// traits are what there is in a copy, in words that are the same whenever its commits were made, and
// its objects.
type traits struct {
	words   string
	objects map[string]bool
}

func (w *world) traits(d death) traits {
	w.t.Helper()
	ids := make(map[string]string) // of commits, without their dates
	objects := make(map[string]bool)
	commits := make(map[string]string)
	rest := gitIn(w.t, d.files, "cat-file", "--batch-all-objects", "--batch") + "\n"
	for rest != "" {
		head, more, _ := strings.Cut(rest, "\n")
		fields := strings.Fields(head) // ID TYPE SIZE
		size, err := strconv.Atoi(fields[2])
		if err != nil {
			w.t.Fatal(err)
		}
		if fields[1] == "commit" {
			commits[fields[0]] = more[:size]
		} else {
			objects[fields[0]] = true
		}
		rest = more[size+1:]
	}
	var timeless func(id string) string
	timeless = func(id string) string {
		content, ok := commits[id]
		if !ok {
			return id
		}
		if ids[id] == "" {
			sum := sha256.Sum256([]byte(objectName.ReplaceAllStringFunc(dates.ReplaceAllString(content, ""), timeless)))
			ids[id] = hex.EncodeToString(sum[:20])
		}
		return ids[id]
	}
	for id := range commits {
		objects[timeless(id)] = true
	}
	said, err := json.Marshal([]any{d.tasks, d.round})
	if err != nil {
		w.t.Fatal(err)
	}
	var words strings.Builder
	fmt.Fprintf(&words, "%s\n", said)
	if d.said != nil { // its reason is for people
		fmt.Fprintln(&words, d.said.Handover, d.said.Mark, d.said.CwdGone)
	}
	for _, entry := range d.state {
		fmt.Fprintf(&words, "%s %s\n", entry.Key, entry.Value)
	}
	err = filepath.WalkDir(d.files, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, d.files)
		if entry.IsDir() {
			if name == "/.git/objects" || entry.Name() == "logs" {
				return filepath.SkipDir
			}
			if !strings.HasPrefix(name, "/.git/refs/") { // where git makes and removes them as it likes
				fmt.Fprintln(&words, name, info.Mode())
			}
			return nil
		}
		var content []byte
		if entry.Type() == os.ModeSymlink {
			var target string
			target, err = os.Readlink(path)
			content = []byte(target)
		} else if content, err = os.ReadFile(path); bytes.HasPrefix(content, []byte("DIRC")) {
			top := d.files
			if of := filepath.Dir(name); of != "/.git" {
				top = filepath.Join(d.files, filepath.FromSlash(worktrees), filepath.Base(of))
			}
			content = []byte(indexed(w.t, content, top))
		}
		fmt.Fprintf(&words, "%s %s %q\n", name, info.Mode(), content)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return traits{objectName.ReplaceAllStringFunc(words.String(), timeless), objects}
}

// dates are those of a commit.
var dates = regexp.MustCompile(`(?m) [0-9]+ [+-][0-9]{4}$`)

// indexed are the entries of an index, and which of them git takes for unchanged by the time of the
// file below top.
func indexed(t testing.TB, index []byte, top string) (words string) {
	t.Helper()
	number := func(at int) int { return int(binary.BigEndian.Uint32(index[at:])) }
	if number(4) != 2 {
		t.Fatalf("an index of version %d", number(4))
	}
	at := 12
	for range number(8) {
		const fixed = 62 // ctime, mtime, device, inode, mode, owner, group, size, object, flags
		end := at + fixed + bytes.IndexByte(index[at+fixed:], 0)
		path := string(index[at+fixed : end])
		info, err := os.Lstat(filepath.Join(top, path))
		same := err == nil && int(info.ModTime().Unix()) == number(at+8)
		words += fmt.Sprintf("%o %x %x %q %v\n", number(at+24), index[at+40:at+60], index[at+60:at+62], path, same)
		at += (end - at + 8) &^ 7
	}
	return words
}

// act is a call of a life, and what happens in the world after it.
type act struct {
	name string // empty: nobody dies in it
	call func() error
	then func()
}

// lives lives the life, and from each death in a call that has a name, after which the call is made
// anew. whole is asked of each life's end.
func (w *world) lives(t *testing.T, life []act, whole func()) {
	t.Helper()
	on := func(from int) {
		for n, act := range life[from:] {
			if n > 0 { // else it was called
				if err := act.call(); err != nil {
					w.t.Fatal(err)
				}
			}
			act.then()
		}
		whole()
	}
	for n, act := range life {
		if act.name == "" {
			if err := act.call(); err != nil {
				t.Fatal(err)
			}
			act.then()
			continue
		}
		w.t = t
		deaths := w.deaths(act.call)
		if len(deaths) == 0 {
			t.Fatalf("%s has no step to die at", act.name)
		}
		after := w.keep("")
		traits := w.traits(after)
		for nth, death := range deaths {
			t.Run(fmt.Sprintf("%s %d %s", act.name, nth+1, death.at), func(t *testing.T) {
				w.t = t
				w.restore(death)
				if err := act.call(); err != nil {
					t.Fatalf("after the death: %v", err)
				}
				if !w.is(traits) { // else what follows is what follows in the life
					on(n)
				}
			})
		}
		w.t = t
		w.restore(after)
		act.then()
	}
	whole()
}

// Wherever the plugin is killed while it makes a worktree, writes the work down, puts it on
// top of the target, merges it, or takes it away: whoever comes next ends what it has begun,
// once, and nothing is left over.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	write(t, w.repo, "gone/deep/d.txt", "d\n")
	commitAll(t, w.repo, "gone")
	w.minimal()
	w.settings(map[string]any{"setup": map[string]string{w.repo: "echo x >>set-up"}})
	var dir string
	validate := func() error { _, err := w.validate(context.Background(), "t1"); return err }
	complete := func() error { _, err := w.complete(context.Background(), "t1"); return err }
	w.lives(t, []act{
		{"create", func() error {
			is, err := w.create(context.Background(), "t1", filepath.Join(w.repo, "sub"))
			dir = is.Cwd
			return err
		}, func() {
			write(w.t, dir, "new.txt", "new\n")
			if err := os.RemoveAll(filepath.Join(dir, "..", "gone")); err != nil {
				w.t.Fatal(err)
			}
		}},
		{"complete", complete, func() {
			write(w.t, w.repo, "c.txt", "moved\n")
			commitAll(w.t, w.repo, "moved")
			write(w.t, dir, "coverage.out", "of the checks\n")
		}},
		{"again", validate, func() {
			if w.said.Handover != pluginsdk.HandoverAgain {
				// It was put on top before the plugin died, and what was looked at is another tree.
				w.t.Fatalf("%+v", w.said)
			}
		}},
		{"complete again", complete, func() {}},
		{"merge", validate, func() {}},
	}, func() {
		if w.said.Handover == pluginsdk.HandoverAgain { // what was looked at was lost with the plugin
			w.t.Errorf("%+v", w.said)
		}
		if !w.said.CwdGone || read(w.t, w.repo, "sub/new.txt") != "new\n" || exists(filepath.Join(w.repo, "sub/coverage.out")) || exists(filepath.Join(w.repo, "gone")) || w.look().status != "" {
			w.t.Errorf("%+v, the checkout is %+v", w.said, w.look())
		}
		if merges := gitIn(w.t, w.repo, "rev-list", "--count", "--merges", "HEAD"); merges != "1" {
			w.t.Errorf("merged %s times", merges)
		}
		w.bare()
	})
}

// The same of a task below another one, whose edits are committed for it.
func TestKilledBelowATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	w.minimal()
	above := w.begun("p", "")
	write(t, above, "plan.txt", "a plan\n")
	var below string
	validate := func() error { _, err := w.validate(context.Background(), "s"); return err }
	complete := func() error { _, err := w.complete(context.Background(), "s"); return err }
	w.lives(t, []act{
		{"create", func() error {
			is, err := w.create(context.Background(), "s", above)
			below = is.Cwd
			return err
		}, func() {
			write(w.t, below, "part.txt", "a part\n")
			write(w.t, above, "more.txt", "more\n")
		}},
		{"", complete, func() {}},
		{"again", validate, func() {}},
		{"", complete, func() {}},
		{"merge", validate, func() {}},
	}, func() {
		if !w.said.CwdGone || read(w.t, above, "part.txt") != "a part\n" || read(w.t, above, "more.txt") != "more\n" || lookAt(w.t, above).status != "" {
			w.t.Errorf("%+v, and above there is %+v", w.said, lookAt(w.t, above))
		}
		if commits := gitIn(w.t, above, "rev-list", "--count", "--grep=^Harness-Task: s$", "HEAD"); commits != "1" {
			w.t.Errorf("merged as %s commits", commits)
		}
		w.merges("p")
		w.bare()
	})
}

// The same when the task is cancelled after the death: all of it is merged, or nothing.
func TestKilledAndThenCancelled(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"create", "merge", "fail"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repository(t, "shop"))
			w.minimal()
			before := w.look()
			call := func() error { _, err := w.create(context.Background(), "t1", ""); return err }
			if name != "create" {
				write(t, w.begun("t1", ""), "new.txt", "new\n")
				if _, err := w.complete(t.Context(), "t1"); err != nil {
					t.Fatal(err)
				}
				call = func() error { _, err := w.validate(context.Background(), "t1"); return err }
			}
			if name == "fail" {
				call = func() error {
					_, err := w.plugin.OnTaskFailed(context.Background(), &pluginsdk.OnTaskFailedRequest{Task: *w.task("t1")})
					return err
				}
			}
			deaths := w.deaths(call)
			if len(deaths) == 0 {
				t.Fatal("there is no step to die at")
			}
			for nth, death := range append(deaths, w.keep("")) {
				w.restore(death)
				w.fails("t1")
				now := w.look()
				if merged := exists(filepath.Join(w.repo, "new.txt")); now.status != "" || merged != (now.head != before.head) {
					t.Errorf("merged %v, the checkout is %+v and was %+v", merged, now, before)
				}
				kept := gitIn(t, w.repo, "for-each-ref", keptRef("t1")) != ""
				if want := name != "create" && now.head == before.head; kept != want {
					t.Errorf("kept %v, want %v", kept, want)
				}
				w.bare()
				if t.Failed() {
					t.Fatalf("killed at %q (step %d)", death.at, nth+1)
				}
			}
		})
	}
}

// The same without copies, once for each of the three: whoever comes next finds what an instance has
// left that does not go on.
func TestOneThatIsDead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	validate := func(id string) func() error {
		return func() error { _, err := w.validate(context.Background(), id); return err }
	}
	write(t, w.begun("t1", ""), "new.txt", "new\n")
	if _, err := w.complete(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	w.killed("files", validate("t1"))
	if answer, err := w.validate(t.Context(), "t1"); err != nil || !answer.CwdGone || read(t, w.repo, "new.txt") != "new\n" || w.look().status != "" {
		t.Errorf("%+v, %v, the checkout is %+v", answer, err, w.look())
	}
	w.bare()

	above := w.begun("p", "")
	write(t, above, "plan.txt", "a plan\n")
	w.killed("snapshot", func() error { _, err := w.create(context.Background(), "s", above); return err })
	write(t, w.begun("s", above), "part.txt", "a part\n")
	if w.merges("s"); read(t, above, "part.txt") != "a part\n" || lookAt(t, above).status != "" {
		t.Errorf("above there is %+v", lookAt(t, above))
	}
	w.merges("p")
	w.bare()

	before := w.look()
	write(t, w.begun("t2", ""), "another.txt", "another\n")
	if _, err := w.complete(t.Context(), "t2"); err != nil {
		t.Fatal(err)
	}
	w.killed("move", validate("t2"))
	if w.fails("t2"); w.look() != before || gitIn(t, w.repo, "for-each-ref", keptRef("t2")) == "" {
		t.Errorf("the checkout is %+v, and was %+v", w.look(), before)
	}
	w.bare()
}

// deadly has the world's git be killed in the middle of each call that a pattern of sh is of, for
// as long as it is armed: once it writes a large file.
func (w *world) deadly(pattern string) (arm func(), armed func() bool) {
	w.t.Helper()
	dir := w.t.TempDir()
	strike := filepath.Join(dir, "strike")
	write(w.t, dir, "git", "#!/bin/sh\ncase \" $* \" in "+pattern+") if rm '"+strike+"' 2>/dev/null; then ulimit -f 64; fi;; esac\nexec git \"$@\"\n")
	if err := os.Chmod(filepath.Join(dir, "git"), 0o755); err != nil {
		w.t.Fatal(err)
	}
	w.config.Program = filepath.Join(dir, "git")
	w.start()
	return func() { write(w.t, dir, "strike", "") }, func() bool { return exists(strike) }
}

func large(line string) string { return strings.Repeat(line+"\n", 50_000) }

// Not the plugin but its git is killed, in the middle of writing files.
func TestGitIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	write(t, w.repo, "m.x", large("m"))
	commitAll(t, w.repo, "large")
	arm, armed := w.deadly(`*" worktree add "*|*" reset --quiet --hard "*|*" read-tree -m -u "*`)
	before := w.look()

	arm()
	if _, err := w.create(t.Context(), "t1", ""); err == nil {
		t.Fatal("nothing was killed")
	}
	if now := w.look(); now != before || armed() {
		t.Errorf("the checkout is %+v, and was %+v", now, before)
	}
	w.bare()

	dir := w.begun("t1", "")
	write(t, dir, "a.txt", "changed\n", "l.x", large("l"), "m.x", large("changed"), "z.txt", "z\n")
	write(t, w.repo, "n.x", large("n"))
	commitAll(t, w.repo, "moved")
	if _, err := w.complete(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	arm()
	if answer, err := w.validate(t.Context(), "t1"); err == nil || armed() {
		t.Fatalf("nothing was killed on the way to the target: %+v", answer)
	}
	if answer, err := w.validate(t.Context(), "t1"); err != nil || answer.Handover != pluginsdk.HandoverAgain {
		t.Fatalf("%+v, %v", answer, err)
	}
	if _, err := w.complete(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	arm()
	answer, err := w.validate(t.Context(), "t1")
	if err != nil || answer.Handover != "" || armed() {
		t.Fatalf("%+v, %v", answer, err)
	}
	if now := w.look(); now.status != "" || read(t, w.repo, "l.x") != large("l") || read(t, w.repo, "z.txt") != "z\n" || read(t, w.repo, "m.x") != large("changed") {
		t.Errorf("the checkout is %+v", now)
	}
	w.bare()
}

// A commit that is killed is made again, whatever it has left locked in the worktree.
func TestACommitIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	dir := t.TempDir()
	strike := filepath.Join(dir, "strike")
	write(t, dir, "strike", "", "git", "#!/bin/sh\ncase \" $* \" in *\" commit --quiet \"*) if rm '"+strike+"' 2>/dev/null; then touch \"$GIT_DIR/index.lock\"; kill -9 $$; fi;; esac\nexec git \"$@\"\n")
	if err := os.Chmod(filepath.Join(dir, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.config.Program = filepath.Join(dir, "git")
	w.start()
	write(t, w.begun("t1", ""), "new.txt", "new\n")
	if _, err := w.complete(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	if answer, err := w.validate(t.Context(), "t1"); err == nil || !exists(filepath.Join(w.repo, ".git", "worktrees", "t1", "index.lock")) {
		t.Fatalf("nothing was killed: %+v", answer)
	}
	if answer, err := w.validate(t.Context(), "t1"); err != nil || answer.Handover != "" {
		t.Errorf("%+v, %v", answer, err)
	}
	w.bare()
}

// A full disk keeps a task from beginning, in git's words; in the middle of a merge it leaves
// a half of it that is made whole when there is room.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	write(t, w.repo, "large", strings.Repeat("large\n", 50_000))
	commitAll(t, w.repo, "large")
	before := w.look()
	full := filepath.Join(t.TempDir(), "git")
	write(t, filepath.Dir(full), "git", "#!/bin/sh\ntrap '' XFSZ\nulimit -f 64\nexec git \"$@\"\n")
	if err := os.Chmod(full, 0o755); err != nil {
		t.Fatal(err)
	}
	w.config.Program = full
	w.start()
	if _, err := w.create(t.Context(), "t1", ""); err == nil || !strings.Contains(err.Error(), "large") {
		t.Errorf("made on a full disk: %v", err)
	}
	w.fails("t1")
	if now := w.look(); now != before {
		t.Errorf("the checkout is %+v, and was %+v", now, before)
	}
	w.bare()

	w.config.Program = ""
	w.start()
	write(t, w.begun("t1", ""), "another", strings.Repeat("another\n", 50_000), "c.txt", "changed\n")
	if err := os.RemoveAll(filepath.Join(w.task("t1").Cwd, "sub")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.complete(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	w.config.Program = full
	w.start()
	for range 2 {
		if answer, err := w.validate(t.Context(), "t1"); err == nil {
			t.Fatalf("merged on a full disk: %+v", answer)
		}
	}
	if !exists(filepath.Join(w.repo, ".git", "index.lock")) {
		t.Error("others may commit the half of a merge")
	}
	write(t, w.repo, "c.txt", "by somebody\n") // who has not seen that a merge is under way
	w.config.Program = ""
	w.start()
	if answer, err := w.validate(t.Context(), "t1"); err != nil || answer.Handover != "" || w.look().status != "" {
		t.Errorf("%+v, %v; the checkout is %+v", answer, err, w.look())
	}
	if exists(filepath.Join(w.repo, "sub")) {
		t.Error("an empty directory is left")
	}
	if kept := gitIn(t, w.repo, "show", "refs/harness/leftovers/t1-checkout:c.txt"); kept != "by somebody" {
		t.Errorf("kept %q", kept)
	}
	w.bare()
}

// A lock that is not of a merge of the plugin's is somebody's: it stays, and is named.
func TestSomebodysLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	write(t, w.begun("t1", ""), "new.txt", "new\n")
	if _, err := w.complete(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(w.repo, ".git", "index.lock")
	write(t, w.repo, ".git/index.lock", "")
	before := gitIn(t, w.repo, "rev-parse", "HEAD")
	for range 2 {
		if _, err := w.validate(t.Context(), "t1"); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || err == nil || !strings.Contains(err.Error(), lock+" is there: another git") {
			t.Errorf("%v", err)
		}
	}
	if !exists(lock) || gitIn(t, w.repo, "rev-parse", "HEAD") != before || exists(filepath.Join(w.repo, "new.txt")) {
		t.Error("it was not respected")
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if answer, err := w.validate(t.Context(), "t1"); err != nil || answer.Handover != "" {
		t.Errorf("%+v, %v", answer, err)
	}
	w.bare()
}

// Locks of indexes that nobody else knows are of a git that has died, and in nobody's way.
func TestLocksOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository(t, "shop"))
	write(t, w.begun("t1", ""), "new.txt", "new\n")
	write(t, w.repo, ".git/worktrees/t1/harness-index.lock", "", ".git/harness-index.lock", "", ".git/harness-lock-t1", "")
	w.merges("t1")
	w.bare()
}
