package promptcontext

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

// age sets a file's time, so that it is long settled.
func (f fixture) age(name string, modified time.Time) {
	f.Helper()
	if err := os.Chtimes(filepath.Join(f.dir, name), modified, modified); err != nil {
		f.Fatal(err)
	}
}

func (f fixture) section() string { return f.plugin.files.Load().section() }

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
	if n := len(f.plugin.files.Load().cache); n != 0 {
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

// A file in the context directory must neither show another one of the machine
// nor block every prompt.
func TestOddFilesAreIgnored(t *testing.T) {
	f := start(t)
	f.write("memory.md", "m")
	f.write(".hidden.md", "an editor's copy")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Symlink(secret, filepath.Join(f.dir, "link.md")),
		os.Symlink("/nowhere", filepath.Join(f.dir, "dangling.md")),
		os.Mkdir(filepath.Join(f.dir, "folder.md"), 0o755),
		syscall.Mkfifo(filepath.Join(f.dir, "pipe.md"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := f.section(); got != "# Context\n\n## memory.md\n\nm" {
		t.Errorf("section = %q", got)
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

func TestFilesTogetherAreBounded(t *testing.T) {
	f := start(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		f.write(name+".md", strings.Repeat("x", defaultFileBytes))
	}
	f.write("small.md", "still fits")
	got := f.section()
	if len(got) > maxSectionBytes+1024 || !strings.Contains(got, "still fits") {
		t.Errorf("section has %d bytes", len(got))
	}
	if !strings.HasSuffix(got, "[left out, because the files together are too long: h.md, i.md]") {
		t.Errorf("section ends %q", got[len(got)-80:])
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
