package objects_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-706843ae/harness/plugins/internal/objects"
)

var bounds = objects.Bounds{Bytes: 1 << 20, Files: 50}

// record records a directory, and returns the files of a checkout of it.
func record(t *testing.T, from string) (objects.Recorded, map[string]string) {
	t.Helper()
	place := t.TempDir()
	s, recorded, err := objects.Record(t.Context(), filepath.Join(place, "own.git"), from, bounds)
	if err != nil {
		t.Fatal(err)
	}
	if recorded.Tree == "" {
		return recorded, nil
	}
	copied, trees, err := objects.Copy(t.Context(), filepath.Join(place, "copy.git"), s.Dir, recorded.Tree)
	if err != nil || trees[0] != recorded.Tree {
		t.Fatalf("%q, %v", trees, err)
	}
	dir := filepath.Join(place, "work")
	if err := copied.Checkout(t.Context(), trees[0], dir); err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, content := strings.TrimPrefix(path, dir+"/"), []byte(nil)
		if entry.Type()&os.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			files[name] = "-> " + to
			return err
		}
		content, err = os.ReadFile(path)
		files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return recorded, files
}

// A directory is recorded byte for byte, whatever in it looks like git's; what git takes in by
// no means is named.
func TestADirectoryIsRecordedAsItIs(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, "secret")
	for name, row := range map[string]struct {
		lay   func(t *testing.T, dir string)
		apart string
		files map[string]string
	}{
		"nothing":                 {lay: func(*testing.T, string) {}},
		"ignored":                 {lay: lay(".gitignore", "*\n", "evil.sh", "evil\n"), files: map[string]string{".gitignore": "*\n", "evil.sh": "evil\n"}},
		"attributes":              {lay: lay(".gitattributes", "* text eol=crlf ident filter=x working-tree-encoding=UTF-16 export-ignore\n", "a", "$Id$\nb\n"), files: map[string]string{".gitattributes": "* text eol=crlf ident filter=x working-tree-encoding=UTF-16 export-ignore\n", "a": "$Id$\nb\n"}},
		"a repository":            {lay: lay(".git/config", "[core]\nfsmonitor=evil\n", "a", "a\n"), apart: ".git", files: map[string]string{"a": "a\n"}},
		"one below":               {lay: lay("x/.git/config", "", "x/a", "a\n"), apart: "x/.git", files: map[string]string{"x/a": "a\n"}},
		"a .git file":             {lay: lay("x/.git", "gitdir: /\n", "x/a", "a\n"), apart: "x/.git", files: map[string]string{"x/a": "a\n"}},
		".GIT":                    {lay: lay(".GIT/config", "", "a", "a\n"), apart: ".GIT", files: map[string]string{"a": "a\n"}},
		"NTFS's names":            {lay: lay("git~1/config", "x", ".git /config", "y", "a:b", "z", `x\.git\c`, "w"), files: map[string]string{"git~1/config": "x", ".git /config": "y", "a:b": "z", `x\.git\c`: "w"}},
		"odd names":               {lay: lay("a\nb", "1", "\xff\xfe", "2", "-rf", "3", "a\"b", "4", "…", "5", " ", "6", "\\", "7", "deleteall", "8", ":(top)x", "9"), files: map[string]string{"a\nb": "1", "\xff\xfe": "2", "-rf": "3", "a\"b": "4", "…": "5", " ": "6", "\\": "7", "deleteall": "8", ":(top)x": "9"}},
		"odd content":             {lay: lay("a", "\nM 100644 :1 evil\ndone\n", "b", "", "c", "\x00\r\n"), files: map[string]string{"a": "\nM 100644 :1 evil\ndone\n", "b": "", "c": "\x00\r\n"}},
		"a link out":              {lay: link("out", secret), files: map[string]string{"out": "-> " + secret}},
		"a link up":               {lay: link("out", "../../.."), files: map[string]string{"out": "-> ../../.."}},
		"a link around":           {lay: link("x/y", ".."), files: map[string]string{"x/y": "-> .."}},
		"a link with lines in it": {lay: link("x", "a\nM 100644 :1 b"), files: map[string]string{"x": "-> a\nM 100644 :1 b"}},
		".gitmodules, a link":     {lay: link(".gitmodules", secret), apart: ".gitmodules", files: map[string]string{}},
		"a hard link": {lay: func(t *testing.T, dir string) {
			if err := os.Link(secret, filepath.Join(dir, "hard")); err != nil {
				t.Skip(err)
			}
		}, files: map[string]string{"hard": "secret"}},
		"a socket and a pipe": {lay: func(t *testing.T, dir string) {
			if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
				t.Fatal(err)
			}
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer syscall.Close(fd)
			t.Chdir(dir) // a socket's path is short
			if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: "socket"}); err != nil {
				t.Fatal(err)
			}
		}, apart: "pipe socket"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			row.lay(t, dir)
			recorded, files := record(t, dir)
			if got := strings.Join(recorded.Apart, " "); got != row.apart || recorded.Over+recorded.Fault != "" || fmt.Sprint(files) != fmt.Sprint(row.files) && len(files)+len(row.files) > 0 {
				t.Errorf("recorded as %+v: %q", recorded, files)
			}
			if again, _ := record(t, dir); again.Tree != recorded.Tree {
				t.Errorf("recorded again as %s, and was %s", again.Tree, recorded.Tree)
			}
		})
	}
}

func lay(files ...string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		for pair := range slices.Chunk(files, 2) {
			write(t, filepath.Join(dir, pair[0]), pair[1])
		}
	}
}

func link(name, to string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever changes of a directory, its tree is another one.
func TestEachChangeOfADirectoryIsAnotherTree(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	write(t, path, "one\n")
	seen := map[string]string{}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"as it was", func() error { return nil }},
		{"another byte", func() error { return os.WriteFile(path, []byte("two\n"), 0o600) }},
		{"it can be run", func() error { return os.Chmod(path, 0o700) }},
		{"another name", func() error { return os.Rename(path, filepath.Join(dir, "b")) }},
		{"a link in its place", func() error { return os.Symlink("b", path) }},
		{"another file", func() error { return os.WriteFile(filepath.Join(dir, "c"), nil, 0o600) }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		recorded, _ := record(t, dir)
		if was, ok := seen[recorded.Tree]; ok {
			t.Errorf("%s: the tree is as for %s", step.name, was)
		}
		seen[recorded.Tree] = step.name
	}
}

// What is too much is not read; what cannot be read is named.
func TestWhatIsNotRecorded(t *testing.T) {
	for name, row := range map[string]struct {
		lay         func(t *testing.T, dir string)
		over, fault string
	}{
		"2 GB": {lay: func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "large"), "")
			if err := os.Truncate(filepath.Join(dir, "large"), 2<<30); err != nil {
				t.Fatal(err)
			}
		}, over: "1 MB"},
		"many files": {lay: func(t *testing.T, dir string) {
			for n := range 60 {
				write(t, filepath.Join(dir, fmt.Sprint(n)), "")
			}
		}, over: "50 files"},
		"many directories": {lay: func(t *testing.T, dir string) {
			for n := range 60 {
				if err := os.MkdirAll(filepath.Join(dir, fmt.Sprint(n%10), fmt.Sprint(n)), 0o700); err != nil {
					t.Fatal(err)
				}
			}
		}, over: "50 files"},
		"deep": {lay: func(t *testing.T, dir string) {
			if err := os.MkdirAll(filepath.Join(dir, strings.Repeat(strings.Repeat("d", 200)+"/", 12)), 0o700); err != nil {
				t.Fatal(err)
			}
		}, fault: "too deep"},
		"a link in its place": {lay: func(t *testing.T, dir string) {
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/", dir); err != nil {
				t.Fatal(err)
			}
		}, fault: "is no directory"},
		"hidden": {lay: func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "evil.sh"), "evil\n")
			if err := os.Chmod(filepath.Join(dir, "evil.sh"), 0); err != nil {
				t.Fatal(err)
			}
		}, fault: `"evil.sh" cannot be read`},
		"a hidden directory": {lay: func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "x", "evil.sh"), "evil\n")
			if err := os.Chmod(filepath.Join(dir, "x"), 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "x"), 0o700) })
		}, fault: `"x" cannot be read`},
	} {
		t.Run(name, func(t *testing.T) {
			if row.fault != "" && os.Getuid() == 0 && strings.Contains(name, "hidden") {
				t.Skip("root reads all")
			}
			dir := t.TempDir()
			row.lay(t, dir)
			recorded, _ := record(t, dir)
			if recorded.Tree != "" || !strings.Contains(recorded.Over, row.over) || !strings.Contains(recorded.Fault, row.fault) {
				t.Errorf("%+v", recorded)
			}
		})
	}
}
