package devloop_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/devloop"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// patience is for what is expected to happen; a test that runs into it fails.
const patience = time.Minute

// transcript is what the author sees.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed and replaced when there is more
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.more)
	s.more = make(chan struct{})
	return s.text.Write(p)
}

// await waits until the author has been told something.
func (s *transcript) await(t *testing.T, want string) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		s.mu.Lock()
		text, more := s.text.String(), s.more
		s.mu.Unlock()
		if strings.Contains(text, want) {
			return
		}
		select {
		case <-more:
		case <-limit.C:
			t.Fatalf("the author is never told %q:\n%s", want, text)
		}
	}
}

func (s *transcript) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Reset()
}

// desk is a loop that runs, and the author's hands.
type desk struct {
	t    *testing.T
	dir  string
	home string
	said *transcript
	used chan devloop.Build
	fail chan error // what the daemon says of the next build, if it says something
}

func sit(t *testing.T, files map[string]string) *desk {
	t.Helper()
	d := &desk{
		t: t, dir: filepath.Join(t.TempDir(), "sample"), home: filepath.Join(t.TempDir(), "dev"),
		said: &transcript{more: make(chan struct{})}, used: make(chan devloop.Build, 8), fail: make(chan error, 1),
	}
	for name, content := range files {
		d.save(name, content)
	}
	return d
}

func (d *desk) save(name, content string) {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	mode := os.FileMode(0o600)
	if strings.HasPrefix(content, "#!") {
		mode = 0o700
	}
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), mode))
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) start() {
	d.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- devloop.Loop{Dir: d.dir, Home: d.home, Out: d.said, Use: d.use}.Run(ctx) }()
	d.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			d.t.Errorf("the loop ended with %v", err)
		}
	})
}

func (d *desk) use(_ context.Context, build devloop.Build) error {
	select {
	case err := <-d.fail:
		return err
	default:
		d.used <- build
		return nil
	}
}

func (d *desk) next() devloop.Build {
	d.t.Helper()
	select {
	case build := <-d.used:
		return build
	case <-time.After(patience):
		d.t.Fatal("nothing is given to the daemon")
		return devloop.Build{}
	}
}

// says runs a kept build and returns what it prints.
func says(t *testing.T, build devloop.Build) string {
	t.Helper()
	out, err := exec.Command(build.Path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// program is a plugin as far as the loop looks: it describes itself.
func program(word string) string {
	return `package main

import "os"

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--describe" {
		os.Stdout.WriteString("{\"name\": \"sample\", \"version\": \"1\"}")
		return
	}
	os.Stdout.WriteString("` + word + `")
}
`
}

const goMod = "module sample\n\ngo 1.26\n"

// An author who saves must see the daemon run what was saved, and one whose
// code does not compile must read why, and lose nothing.
func TestASaveIsBuiltAndUsed(t *testing.T) {
	d := sit(t, map[string]string{"go.mod": goMod, "main.go": program("one")})
	d.start()
	first := d.next()
	if first.Manifest.Name != "sample" || says(t, first) != "one" || len(first.SHA256) != 64 {
		t.Errorf("first is %+v", first)
	}

	d.save("main.go", program("one")+"\nwhat is this")
	d.said.await(t, "main.go:")
	d.said.await(t, "The last build goes on running")

	d.save("main.go", program("two"))
	second := d.next()
	if says(t, second) != "two" || says(t, first) != "one" {
		t.Error("the second build is not what was saved, or has overwritten the first")
	}
	if want := filepath.Join(d.home, "sample", second.SHA256, "sample"); second.Path != want {
		t.Errorf("kept as %s, want %s", second.Path, want)
	}

	d.said.await(t, "Built sample 1")
	d.said.clear()
	d.save("other/other.go", "package other\n") // in a new directory, and in no binary
	d.said.await(t, "nothing has changed")

	d.save("main.go", program("three"))
	third := d.next()
	d.said.await(t, "Built sample 1")
	if _, err := os.Stat(first.Path); !os.IsNotExist(err) {
		t.Errorf("old builds are kept for ever (%v)", err)
	}
	if says(t, second) != "two" || says(t, third) != "three" {
		t.Error("the build before the last is gone, and may still be draining")
	}
}

func TestTheMakefileSaysHowToBuild(t *testing.T) {
	makefile := "build: ## the plugin\n\tmkdir -p bin\n\tcp plugin.sh bin/sample\n\tprintf '{\"name\": \"from-make\", \"version\": \"2\"}' > bin/plugin.json\n"
	d := sit(t, map[string]string{"Makefile": makefile, "plugin.sh": "#!/bin/sh\necho one"})
	d.start()
	if first := d.next(); first.Manifest.Name != "from-make" || says(t, first) != "one\n" {
		t.Errorf("first is %+v", first)
	}
	d.save("plugin.sh", "#!/bin/sh\necho two")
	if second := d.next(); says(t, second) != "two\n" {
		t.Errorf("second is %+v", second)
	}
}

// A plugin in a language without a build is its whole directory.
func TestWithoutABuildTheWholeDirectoryIsUsed(t *testing.T) {
	d := sit(t, map[string]string{
		"plugin.json":       `{"name": "script", "version": "1", "executable": "src/run.sh"}`,
		"src/run.sh":        "#!/bin/sh\ncat \"$(dirname \"$0\")/word.txt\"",
		"src/word.txt":      "one",
		".git/objects/pack": "not to be copied",
	})
	d.start()
	first := d.next()
	if says(t, first) != "one" {
		t.Errorf("first is %+v", first)
	}
	d.save("src/word.txt", "two")
	second := d.next()
	if says(t, second) != "two" || says(t, first) != "one" {
		t.Error("the second build is not what was saved, or has overwritten the first")
	}
	if left, _ := filepath.Glob(filepath.Join(d.home, "script", "*", ".git")); len(left) > 0 {
		t.Errorf("hidden files were copied: %v", left)
	}
}

func TestABuildThatTheDaemonRefusesIsTriedAgainWithTheNextSave(t *testing.T) {
	d := sit(t, map[string]string{"plugin.json": `{"name": "script", "version": "1", "executable": "run.sh"}`, "run.sh": "#!/bin/sh\necho one"})
	d.fail <- errors.New("the database is away")
	d.start()
	d.said.await(t, "the database is away")
	d.said.await(t, "Nothing runs yet")
	d.save("run.sh", "#!/bin/sh\necho two")
	if build := d.next(); says(t, build) != "two\n" {
		t.Errorf("used is %+v", build)
	}
}

func TestADirectoryThatCannotBeBuiltEndsIt(t *testing.T) {
	empty := t.TempDir()
	several := sit(t, map[string]string{"Makefile": "build:\n\ttrue\n", "bin/a": "#!/bin/sh", "bin/b": "#!/bin/sh"}).dir
	for dir, want := range map[string]string{
		empty: "nothing to build", several: "name the plugin's with --binary", filepath.Join(empty, "gone"): "not a directory",
	} {
		loop := devloop.Loop{Dir: dir, Home: t.TempDir(), Out: &bytes.Buffer{}, Use: func(context.Context, devloop.Build) error { return nil }}
		if err := loop.Run(t.Context()); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
	}
}
