package promptcontext

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// age sets a file's time, so that it is long settled.
func (f fixture) age(name string, modified time.Time) {
	f.Helper()
	if err := os.Chtimes(filepath.Join(f.dir, name), modified, modified); err != nil {
		f.Fatal(err)
	}
}

func (f fixture) section() string {
	return f.plugin.shelf.Load().section(pluginsdk.Thread{Kind: pluginsdk.ThreadPrimary})
}

func TestFilesAreReadAgainOnlyWhenTheyChange(t *testing.T) {
	f := start(t)
	old := time.Now().Add(-time.Hour)
	f.write("memory.md", "tea")
	f.age("memory.md", old)
	f.section()

	f.write("memory.md", "pop") // same size, and the same time: cannot be told apart
	f.age("memory.md", old)
	if got := f.section(); !strings.HasSuffix(got, "tea") {
		t.Errorf("unchanged by time and size, the file was read again: %q", got)
	}
	f.age("memory.md", old.Add(time.Second))
	if got := f.section(); !strings.HasSuffix(got, "pop") {
		t.Errorf("after another time: %q", got)
	}
	f.write("memory.md", "coffee")
	f.age("memory.md", old.Add(time.Second))
	if got := f.section(); !strings.HasSuffix(got, "coffee") {
		t.Errorf("after another size: %q", got)
	}
	if err := os.Remove(filepath.Join(f.dir, "memory.md")); err != nil {
		t.Fatal(err)
	}
	if got := f.section(); got != "" {
		t.Errorf("after its removal: %q", got)
	}
	if n := len(f.plugin.shelf.Load().files.cache); n != 0 {
		t.Errorf("%d files are cached that are gone", n)
	}
}

// What the agent wrote a moment ago must be in the next prompt, even when the
// clock of the file system has not moved on.
func TestFreshFilesAreNotCached(t *testing.T) {
	f := start(t)
	now := time.Now()
	for _, content := range []string{"tea", "pop"} {
		f.write("memory.md", content)
		f.age("memory.md", now)
		if got := f.section(); !strings.HasSuffix(got, content) {
			t.Errorf("section = %q; want %s", got, content)
		}
	}
}

// A pipe in the context directory must not block every prompt, and who wonders
// why a file is not shown finds the reason in the log, once.
func TestOddFilesAreSkippedAndNamedOnce(t *testing.T) {
	f := start(t)
	f.write("memory.md", "m")
	f.write(".hidden.md", "an editor's copy")
	for _, err := range []error{
		os.Symlink("/nowhere", filepath.Join(f.dir, "dangling.md")),
		os.Symlink("loop.md", filepath.Join(f.dir, "loop.md")),
		os.Symlink("/dev/zero", filepath.Join(f.dir, "endless.md")),
		os.Mkdir(filepath.Join(f.dir, "folder.md"), 0o755),
		syscall.Mkfifo(filepath.Join(f.dir, "pipe.md"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if got := f.section(); got != "# Context\n\n## memory.md\n\nm" {
			t.Errorf("section = %q", got)
		}
	}
	for _, name := range []string{"dangling.md", "loop.md", "endless.md", "folder.md", "pipe.md"} {
		if n := strings.Count(f.log.String(), filepath.Join(f.dir, name)+" "); n != 1 {
			t.Errorf("%s is named %d times in the log; want once:\n%s", name, n, f.log)
		}
	}
	if strings.Contains(f.log.String(), "hidden") {
		t.Errorf("an editor's copy is worth no word: %s", f.log)
	}
}

// Notes that live elsewhere, in a folder that is synchronized, are linked.
func TestLinksToFilesAreFollowed(t *testing.T) {
	f := start(t)
	f.write("memory.md", "m")
	elsewhere := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for name, content := range map[string]string{"one": strings.Repeat("1", defaultFileBytes+1), "two": strings.Repeat("2", defaultFileBytes+1)} {
		path := filepath.Join(elsewhere, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(f.dir, "notes.md")
	for _, target := range []string{"one", "two"} { // of the same time and size
		_ = os.Remove(link)
		if err := os.Symlink(filepath.Join(elsewhere, target), link); err != nil {
			t.Fatal(err)
		}
		content := strings.Repeat(map[string]string{"one": "1", "two": "2"}[target], defaultFileBytes)
		want := "# Context\n\n## memory.md\n\nm\n\n## notes.md\n\n" + content + "\n\n[cut: the first 65536 of 65537 bytes of notes.md]"
		if got := f.section(); got != want {
			t.Errorf("section of %d bytes ends %q", len(got), got[len(got)-80:])
		}
	}
	if f.log.Len() > 0 {
		t.Errorf("log = %s", f.log)
	}
}

func TestLongFileIsCutVisibly(t *testing.T) {
	f := start(t)
	f.write("memory.md", strings.Repeat("x", defaultFileBytes-1)+"é and the rest")
	got := f.section()
	if !strings.HasSuffix(got, "x\n\n[cut: the first 65535 of 65550 bytes of memory.md]") || !utf8.ValidString(got) {
		t.Errorf("section ends %q", got[len(got)-80:])
	}
	f.write("memory.md", strings.Repeat("x", defaultFileBytes))
	if got := f.section(); strings.Contains(got, "[cut") {
		t.Error("a file of just the limit is cut")
	}
	f.write("memory.md", "a\xffb")
	if got := f.section(); !strings.HasSuffix(got, "a\uFFFDb") {
		t.Errorf("invalid UTF-8 became %q", got)
	}
}

// The file that passes the bound is shown as far as there is room, and what is
// missing is said.
func TestFilesTogetherAreBounded(t *testing.T) {
	f := start(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		f.write(name+".md", strings.Repeat("x", defaultFileBytes))
	}
	f.write("last.md", "no room")
	f.write("none.md", " ")
	got := f.section()
	if len(got) < maxSectionBytes || len(got) > maxSectionBytes+1024 {
		t.Errorf("section has %d bytes", len(got))
	}
	const end = "xx\n\n[cut: the first 65459 of 65536 bytes of h.md]" +
		"\n\n[left out, because the files together are too long: i.md, last.md]"
	if !strings.HasSuffix(got, end) {
		t.Errorf("section ends %q", got[len(got)-160:])
	}
}

// One file may be as long as all of them together: it is cut, not dropped.
func TestAFileLongerThanTheBoundIsCutToIt(t *testing.T) {
	f := start(t)
	f.write("memory.md", strings.Repeat("é", maxSectionBytes))
	change := &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(`{"maxFileBytes":1048576}`)}
	if _, err := f.plugin.OnSettingsChange(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	want := "# Context\n\n## memory.md\n\n" + strings.Repeat("é", maxSectionBytes/2) +
		"\n\n[cut: the first 524288 of 1048576 bytes of memory.md]"
	if got := f.section(); got != want {
		t.Errorf("section of %d bytes ends %q", len(got), got[len(got)-80:])
	}
}

// Threads run in parallel, and each asks for its prompt.
func TestConcurrentPrompts(t *testing.T) {
	f := start(t)
	f.write("memory.md", "m")
	f.age("memory.md", time.Now().Add(-time.Hour))
	var prompts sync.WaitGroup
	for range 8 {
		prompts.Go(func() {
			if got := f.section(); got != "# Context\n\n## memory.md\n\nm" {
				t.Errorf("section = %q", got)
			}
		})
	}
	prompts.Wait()
}
