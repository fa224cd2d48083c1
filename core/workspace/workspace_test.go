package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Two people who edit the same file must both keep what they wrote: the later one is told, and
// finds their text in the history.
func TestNobodyWritesOverWhatTheyHaveNotSeen(t *testing.T) {
	f := newFixture(t)
	f.put("context/memory.md", "one")
	first := f.version("context/memory.md")
	if err := f.write("context/memory.md", "two", first); err != nil {
		t.Fatal(err)
	}
	second := f.version("context/memory.md")
	err := f.write("context/memory.md", "other", first)
	f.code("an old version", err, pluginsdk.CodeConflict)
	if err == nil || !strings.Contains(err.Error(), second) || !strings.Contains(err.Error(), versionOf([]byte("other"))) {
		t.Errorf("%v names neither the version that it is of, nor where the text is", err)
	}
	f.code("one that is said not to be there", f.write("context/memory.md", "new", ""), pluginsdk.CodeConflict)
	f.code("one that is not there", f.write("context/none.md", "new", first), pluginsdk.CodeConflict)
	if f.onDisk("context/memory.md") != "two" || f.onDisk("context/none.md") != "" {
		t.Errorf("on disk: %q, %q", f.onDisk("context/memory.md"), f.onDisk("context/none.md"))
	}
	for version, want := range map[string]string{first: "one", second: "two", versionOf([]byte("other")): "other"} {
		if _, text, err := f.Read(t.Context(), "context/memory.md", version); err != nil || text != want {
			t.Errorf("the history has %q for %q, %v", text, want, err)
		}
	}
	f.code("delete an old version", f.Delete(t.Context(), pluginsdk.DeleteWorkspaceRequest{Path: "context/memory.md", Version: first}, ledger.By{}), pluginsdk.CodeConflict)
	if err := f.Delete(t.Context(), pluginsdk.DeleteWorkspaceRequest{Path: "context/memory.md", Version: second}, ledger.By{Plugin: "p"}); err != nil {
		t.Error(err)
	}
	f.code("delete what is gone", f.Delete(t.Context(), pluginsdk.DeleteWorkspaceRequest{Path: "context/memory.md", Version: second}, ledger.By{}), pluginsdk.CodeNotFound)
	if err := f.write("context/deep/er/notes.md", "", ""); err != nil {
		t.Error(err)
	}
	want := []string{
		"context/memory.md outside  ", "context/memory.md person  ann", "context/memory.md conflict  ann", "context/memory.md conflict  ann",
		"context/none.md conflict  ann", "context/memory.md plugin  ", "context/deep/er/notes.md person  ann",
	}
	if got := f.history(); !slices.Equal(got, want) {
		t.Errorf("the history is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if left, err := filepath.Glob(filepath.Join(f.dir, "context", ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// Somebody may change the file between the look and the moment in which it is replaced.
func TestAChangeInTheLastMomentIsSeen(t *testing.T) {
	f := newFixture(t)
	f.put("CLAUDE.md", "one")
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	seen := seen{version: versionOf([]byte("one")), size: 3}
	err = write(root, "CLAUDE.md", []byte("mine"), func() error {
		f.put("CLAUDE.md", "the agent's")
		return asSeen(root, "CLAUDE.md", seen)
	})
	if err == nil || f.onDisk("CLAUDE.md") != "the agent's" {
		t.Errorf("%v; the file says %q", err, f.onDisk("CLAUDE.md"))
	}
	if left, err := filepath.Glob(filepath.Join(f.dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// Some programs give what they write the time of what was there. Then it is found by who reads
// or writes the file, and does not keep it from being written for ever.
func TestAChangeThatLooksLikeNoneIsFound(t *testing.T) {
	f := newFixture(t)
	f.put("CLAUDE.md", "one")
	f.put("context/a.md", "one")
	f.put("context/b.md", "one")
	first := f.version("CLAUDE.md")
	for _, path := range []string{"CLAUDE.md", "context/a.md", "context/b.md"} { // nobody reads but the first
		was, err := os.Stat(filepath.Join(f.dir, path))
		if err != nil {
			t.Fatal(err)
		}
		f.put(path, "two")
		f.setTime(path, was.ModTime())
	}
	if err := f.write("context/a.md", "three", first); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict || !strings.Contains(err.Error(), versionOf([]byte("two"))) {
		t.Errorf("%v does not name the version that it is of", err)
	}
	f.code("delete what is not as it was seen", f.Delete(t.Context(), pluginsdk.DeleteWorkspaceRequest{Path: "context/b.md", Version: first}, ledger.By{}), pluginsdk.CodeConflict)
	read, text, err := f.Read(t.Context(), "CLAUDE.md", "")
	if err != nil || text != "two" || f.onDisk("context/b.md") != "two" {
		t.Fatalf("%q, %v", text, err)
	}
	for _, path := range []string{"CLAUDE.md", "context/a.md"} {
		if err := f.write(path, "three", read.Version); err != nil {
			t.Errorf("what was read cannot be replaced: %v", err)
		}
		if _, text, err := f.Read(t.Context(), path, read.Version); err != nil || text != "two" {
			t.Errorf("what was replaced is kept as %q, %v", text, err)
		}
	}
}

// What cannot be a directory of context files is said to whoever asks for it: nothing is
// written where nobody finds it again.
func TestFilesAreWrittenWhereTheyAreListed(t *testing.T) {
	f := newFixture(t)
	f.put("context/a.md", "a")
	f.put("tasks/T/b.md", "b")
	if err := os.Symlink("../tasks", filepath.Join(f.dir, "context/link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"context/a.md/b.md", "context/link/b.md", "context/link/T/b.md", "context/link/new/b.md"} {
		err := f.write(name, "x", "")
		f.code("write "+name, err, pluginsdk.CodeConflict)
		if err != nil && !strings.Contains(err.Error(), "no directory") {
			t.Errorf("write %s: %v", name, err)
		}
	}
	if f.onDisk("tasks/T/b.md") != "b" || f.onDisk("tasks/b.md") != "" || f.onDisk("tasks/new/b.md") != "" {
		t.Error("it was written through a link")
	}
	long := "context/" + strings.Repeat("a", maxPath-len("context/"+suffix)) + suffix
	if err := f.write(long, "x", ""); err != nil || f.onDisk(long) != "x" {
		t.Errorf("the longest path: %v", err)
	}
}

// Whose change it was is what people ask when the agent has changed its mind overnight.
func TestChangesAreThoseOfWhoWasAtWork(t *testing.T) {
	f := newFixture(t)
	f.put("CLAUDE.md", "as laid")
	f.see()
	f.put("CLAUDE.md", "edited by hand")
	f.see()
	f.pass()

	f.Began("R1", "T1")
	f.put("context/memory.md", "learned")
	f.pass()
	f.Ended("R1")
	f.pass()
	f.put("context/world.md", "by hand, after the turn and before the look")
	f.see()
	f.pass()

	f.Began("R2", "T2")
	f.Began("R3", "T3")
	f.put("context/memory.md", "learned by one of two")
	f.Ended("R3")
	f.pass()
	f.put("CLAUDE.md", "by the one that is left")
	f.Ended("R2")
	f.pass()
	f.see()
	f.pass()

	f.Began("R4", "T4")
	if err := os.Remove(filepath.Join(f.dir, "context/world.md")); err != nil {
		t.Fatal(err)
	}
	f.pass()
	f.Ended("R4")
	f.pass()
	f.see()
	f.pass()
	f.see() // nothing more
	want := []string{
		"CLAUDE.md outside  ", "CLAUDE.md outside  ", "context/memory.md agent R1 ", "context/world.md outside  ",
		"CLAUDE.md agent R2 ", "context/memory.md agent  ", "context/world.md agent R4 ",
	}
	if got := f.history(); !slices.Equal(got, want) {
		t.Errorf("the history is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if last := f.store.changes[len(f.store.changes)-1]; last.Version != "" || last.ThreadID != "T4" {
		t.Errorf("the deletion is %+v", last)
	}
	if len(f.runs) != 0 {
		t.Errorf("%d turns are remembered that are long over", len(f.runs))
	}
}

// What a turn has changed is noted without anybody asking for it, also by the daemon that
// comes after one that was killed, and what nobody changed is not noted again.
func TestChangesAreNotedByThemselves(t *testing.T) {
	f := newFixture(t)
	f.put("CLAUDE.md", "as laid")
	start := func() {
		t.Helper()
		if err := f.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	until := func(what string, changes int) {
		t.Helper()
		for {
			f.store.mu.Lock()
			n, changed := len(f.store.changes), f.store.changed
			f.store.mu.Unlock()
			if n >= changes {
				return
			}
			select {
			case <-changed:
			case <-t.Context().Done():
				t.Fatalf("waited in vain for %s", what)
			}
		}
	}
	start()
	until("the first look", 1)
	f.Began("R1", "T1")
	f.put("CLAUDE.md", "by the agent")
	f.Ended("R1")
	until("the look after the turn", 2)
	if err := f.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.put("context/.memory.md.x"+halfWritten, "half")
	f.put("context/while-away.md", "x")
	f.Room = New(Config{Dir: f.dir, Now: f.clock.Now}, f.store)
	start()
	until("the look of the next daemon", 3)
	if err := f.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"CLAUDE.md outside  ", "CLAUDE.md agent R1 ", "context/while-away.md outside  "}
	if got := f.history(); !slices.Equal(got, want) {
		t.Errorf("the history is %q, want %q", got, want)
	}
	if f.onDisk("context/.memory.md.x"+halfWritten) != "" {
		t.Error("what was half written is left")
	}
}

// While the database is away, what a person writes is not lost, and not somebody else's later.
func TestAChangeThatCouldNotBeNotedIsNotedLater(t *testing.T) {
	f := newFixture(t)
	f.put("CLAUDE.md", "one")
	version := f.version("CLAUDE.md")
	f.store.away = true
	if err := f.write("CLAUDE.md", "two", version); err == nil || !strings.Contains(err.Error(), "could not be noted") {
		t.Errorf("%v", err)
	}
	if _, err := f.List(t.Context()); err == nil {
		t.Error("the look says that all is well")
	}
	f.store.away = false
	f.see()
	want := []string{"CLAUDE.md outside  ", "CLAUDE.md person  ann"}
	if got := f.history(); !slices.Equal(got, want) || f.onDisk("CLAUDE.md") != "two" {
		t.Errorf("the history is %q, want %q; the file says %q", got, want, f.onDisk("CLAUDE.md"))
	}
}

// Nothing outside of the workspace is read or written, whatever the agent or a caller makes of
// the names in it.
func TestNoWayLeadsOutOfTheWorkspace(t *testing.T) {
	f := newFixture(t)
	f.put("context/a.md", "a")
	outside := filepath.Join(t.TempDir(), "outside.md")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"context/link.md": outside, "context/dir": filepath.Dir(outside), "CLAUDE.md": "context/a.md",
	} {
		if err := os.Symlink(target, filepath.Join(f.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(f.dir, "context/pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.put("context/large.md", strings.Repeat("x", MaxText+1))
	f.put("context/bytes.md", "\xff\xfe")
	f.put("context/nul.md", "a\x00b")
	f.put("context/.hidden.md", "x")
	f.put("context/note.txt", "x")
	f.put("other.md", "x")
	f.put("tasks/T/CLAUDE.md", "x")
	files, err := f.List(t.Context())
	if err != nil || len(files) != 1 || files[0].Path != "context/a.md" {
		t.Errorf("listed %+v, %v", files, err)
	}
	for _, name := range []string{"context/link.md", "context/dir/outside.md", "CLAUDE.md", "context/pipe.md", "context/large.md", "context/bytes.md"} {
		_, _, err := f.Read(t.Context(), name, "")
		f.code("read "+name, err, pluginsdk.CodeNotFound)
		if err := f.write(name, "mine", ""); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	for _, name := range []string{
		"", "/etc/passwd.md", "../x.md", "context/../../x.md", "context/../CLAUDE.md", "context//a.md", "context/./a.md", "./CLAUDE.md", "claude.md",
		"context", "context/", "context/a", "context/a.md/", "context/a.txt", "context/.a.md", "context/.git/a.md", "context\\a.md", "context/a\x00.md",
		"context/a\n.md", "context/\xff.md", "memory.md", "tasks/a.md", "context/" + strings.Repeat("a/", 9) + "a.md", "context/" + strings.Repeat("a", 300) + ".md",
	} {
		_, _, err := f.Read(t.Context(), name, "")
		f.code("read "+name, err, pluginsdk.CodeInvalid)
		f.code("write "+name, f.write(name, "x", ""), pluginsdk.CodeInvalid)
		f.code("delete "+name, f.Delete(t.Context(), pluginsdk.DeleteWorkspaceRequest{Path: name}, ledger.By{}), pluginsdk.CodeInvalid)
	}
	for _, text := range []string{strings.Repeat("x", MaxText+1), "\xff", "a\x00"} {
		f.code("write a text that is none", f.write("context/b.md", text, ""), pluginsdk.CodeInvalid)
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "secret" {
		t.Errorf("outside is %q, %v", text, err)
	}
	if info, err := os.Lstat(filepath.Join(f.dir, "CLAUDE.md")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("a link was replaced: %v, %v", info, err)
	}
}

// What the agent makes thousands of keeps nobody from what was there, and a link that takes the
// place of a file between the look and the reading is not followed.
func TestContextFilesAreBounded(t *testing.T) {
	f := newFixture(t)
	for n := range maxFiles - 1 {
		if err := os.MkdirAll(filepath.Join(f.dir, "context"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(f.dir, fmt.Sprintf("context/%04d.md", n)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.write("CLAUDE.md", "one", ""); err != nil {
		t.Errorf("the last one: %v", err)
	}
	f.code("one too many", f.write("context/new.md", "x", ""), pluginsdk.CodeExhausted)
	if err := f.write("CLAUDE.md", "two", f.version("CLAUDE.md")); err != nil {
		t.Errorf("one that is there: %v", err)
	}
	f.put("context/more.md", "x")
	if files, err := f.List(t.Context()); err != nil || len(files) != maxFiles {
		t.Errorf("listed %d, %v", len(files), err)
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.Symlink("../CLAUDE.md", filepath.Join(f.dir, "context/link.md")); err != nil {
		t.Fatal(err)
	}
	if text, err := read(root, "context/link.md"); !errors.Is(err, errNoContext) {
		t.Errorf("a link is read: %q, %v", text, err)
	}
}

// A file that lies there as it was costs no read, and keeps who may read it.
func TestWrittenFilesKeepTheirMode(t *testing.T) {
	f := newFixture(t)
	f.put("CLAUDE.md", "one")
	path := filepath.Join(f.dir, "CLAUDE.md")
	if err := os.Chmod(path, 0o640); err != nil { //nolint:gosec // what a person has set
		t.Fatal(err)
	}
	if err := f.write("CLAUDE.md", "two", f.version("CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if err := f.write("CLAUDE.md", "two", f.version("CLAUDE.md")); err != nil || len(f.history()) != 2 {
		t.Errorf("written as it was: %v, noted %q", err, f.history())
	}
}
