package invoker

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

// lay writes files below a directory.
func lay(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheManualHasWhatItImports(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	lay(t, outside, map[string]string{"secret.md": "SECRET"})
	lay(t, dir, map[string]string{
		"CLAUDE.md": "Work well. See @notes/style.md, not @nobody, and @" + filepath.Join(dir, "absolute.md") + "\n@CLAUDE.md\n" +
			"@" + filepath.Join(outside, "secret.md") + " @../secret.md @~/secret.md @linked.md\n`@code.md`\n```\n@fenced.md\n```\n@a\\ b.md#part",
		"notes/style.md": "No flattery.\n@tone.md", "notes/tone.md": "Dry.", "absolute.md": "Absolute.", "a b.md": "Spaced.",
		"code.md": "CODE", "fenced.md": "FENCED", "nobody/else": "",
	})
	if err := os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(dir, "linked.md")); err != nil {
		t.Fatal(err)
	}
	text, err := readManual(dir, maxImports)
	if err == nil || !strings.Contains(err.Error(), "linked.md") {
		t.Errorf("of the link that leads out is said: %v", err)
	}
	at := 0
	for _, want := range []string{"Contents of " + dir + "/CLAUDE.md", "Work well.", "notes/style.md", "No flattery.", "Dry.", "Absolute.", "Spaced."} {
		found := strings.Index(text[at:], want)
		if found < 0 {
			t.Fatalf("%q is missing, or out of order, in:\n%s", want, text)
		}
		at += found
	}
	for _, never := range []string{"SECRET", "CODE", "FENCED"} {
		if strings.Contains(text, never) {
			t.Errorf("%s is in:\n%s", never, text)
		}
	}
	if strings.Count(text, "Work well.") != 1 {
		t.Errorf("it imports itself:\n%s", text)
	}
}

// The agent can put a pipe in the place of a file that was there a moment ago: the next
// session must begin nevertheless.
func TestAPipeIsNoManual(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{"CLAUDE.md": "Work well. See @pipe.md and @socket.md and @dir."})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "socket.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	lay(t, dir, map[string]string{"dir/x": ""})
	if text, err := readManual(dir, maxImports); err != nil || !strings.Contains(text, "Work well.") {
		t.Errorf("%q, %v", text, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"pipe.md", "socket.md", "dir", "nothing"} {
		if file, err := openRegular(root, name); file != nil || err != nil {
			t.Errorf("%s: %v, %v", name, file, err)
		}
	}
}

func TestAManualHasAnEnd(t *testing.T) {
	if text, err := readManual(t.TempDir(), maxImports); text != "" || err != nil {
		t.Errorf("without one: %q, %v", text, err)
	}
	deep := t.TempDir()
	lay(t, deep, map[string]string{
		"CLAUDE.md": "@1", "1": "one @2", "2": "two @3", "3": "three @4", "4": "four @5", "5": "five @6", "6": "six",
	})
	if text, err := readManual(deep, maxImports); err != nil || !strings.Contains(text, "five") || strings.Contains(text, "six") {
		t.Errorf("imports of imports: %v\n%s", err, text)
	}
	long := t.TempDir()
	lay(t, long, map[string]string{"CLAUDE.md": "Begin.\n@long.md", "long.md": strings.Repeat("x", maxManual)})
	if text, err := readManual(long, maxImports); err == nil || !strings.Contains(text, "Begin.") || !strings.Contains(text, "[cut here") || len(text) > maxManual+1000 {
		t.Errorf("one that is too long: %v, %d bytes", err, len(text))
	}
	lay(t, long, map[string]string{"CLAUDE.md": strings.Repeat("é", maxManual)})
	if text, err := readManual(long, maxImports); err == nil || !strings.Contains(text, "éé") || !utf8.ValidString(text) || len(text) > maxManual+1000 {
		t.Errorf("one that is too long by itself: %v, %d bytes", err, len(text))
	}
	// What is no file is not read, however long that would take.
	odd := t.TempDir()
	if err := os.Mkdir(filepath.Join(odd, "CLAUDE.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	if text, err := readManual(odd, maxImports); text != "" || err != nil {
		t.Errorf("a directory: %q, %v", text, err)
	}
}

// A manual that cannot be read is not the last word: the agent would work without any.
func TestAnotherManualIsReadWhereTheFirstCannotBe(t *testing.T) {
	outside := t.TempDir()
	lay(t, outside, map[string]string{"CLAUDE.md": "SECRET"})
	for name, target := range map[string]string{"a link that leads out": filepath.Join(outside, "CLAUDE.md"), "a link to nothing": "nothing"} {
		dir := t.TempDir()
		lay(t, dir, map[string]string{"AGENTS.md": "For all."})
		if err := os.Symlink(target, filepath.Join(dir, "CLAUDE.md")); err != nil {
			t.Fatal(err)
		}
		text, err := readManual(dir, maxImports)
		if !strings.Contains(text, "For all.") || strings.Contains(text, "SECRET") || (err == nil) != (target == "nothing") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func TestImports(t *testing.T) {
	for text, want := range map[string][]string{
		"@a.md":                       {"a.md"},
		"see @a.md and\n\t@b/c.md\n":  {"a.md", "b/c.md"},
		"mail me@example.org":         nil,
		"`@a.md` @b.md `x":            {"b.md"},
		"~~~sh\n@a.md\n~~~\n@b.md":    {"b.md"},
		"```\n@a.md without an end":   nil,
		"@a\\ b.md @#x @c.md#heading": {"a b.md", "c.md"},
	} {
		if got := imports(text); !slices.Equal(got, want) {
			t.Errorf("%q imports %q, want %q", text, got, want)
		}
	}
}
