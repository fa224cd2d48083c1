package cron

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// hangs is a file system of which some files hang until they are let go. It counts their reads.
type hangs struct {
	hang  func(path string) bool
	let   chan struct{}
	reads atomic.Int32
	begun chan struct{} // has an element for each read that hangs
}

func (h *hangs) fingerprint(path, known string) (string, error) {
	if h.hang(path) {
		h.reads.Add(1)
		h.begun <- struct{}{}
		<-h.let
	}
	return fingerprint(path, known)
}

// onFile makes a job that fires on a file, which an operator has confirmed.
func (w *world) onFile(name, path string) {
	w.Helper()
	w.save(pluginsdk.CronSpec{Name: name, Trigger: "file:" + path, Timezone: "UTC", Prompt: "Look at it."})
	w.as(pluginsdk.ScopeAdmin, "confirm "+name)
}

// step looks at the jobs once, and waits for no file.
func (w *world) step(passed time.Duration) {
	w.Helper()
	w.now = w.now.Add(passed)
	if err := w.plugin.Step(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// A file whose file system hangs holds up no other schedule: those by the clock and those on other files fire on time,
// doctor names the job and the file, and the file is read once, however often the jobs are looked at. When the file system
// answers, the schedule goes on as if nothing had been.
func TestAFileThatHangsHoldsUpNothing(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "remote"), filepath.Join(dir, "local")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path, "one")
	write(other, "one")
	w := newWorld(t, hour(), nil)
	w.onFile("remote", path)
	w.onFile("local", other)
	w.look()
	slow := &hangs{hang: func(p string) bool { return p == path }, let: make(chan struct{}), begun: make(chan struct{}, 100)}
	w.plugin.fingerprint = slow.fingerprint
	w.save(pluginsdk.CronSpec{Name: "clock", Schedule: "0 * * * *", Timezone: "UTC", Prompt: "x"})
	w.freshStep("clock")
	write(path, "two")
	w.step(time.Minute)
	<-slow.begun
	if checks := w.checks(); len(checks) != 1 || checks[0].State != pluginsdk.CheckOK {
		t.Errorf("at once doctor says %+v", checks)
	}
	write(other, "two")
	for range 4 {
		w.step(10 * time.Minute)
		for !w.haveRead(1) { // the other file is read
			w.step(0)
		}
	}
	w.step(20 * time.Minute)
	if n := len(w.fires("clock")); n != 1 {
		t.Errorf("the schedule by the clock has fired %d times", n)
	}
	if n := len(w.fires("local")); n != 1 {
		t.Errorf("the schedule on another file has fired %d times", n)
	}
	if n := slow.reads.Load(); n != 1 {
		t.Errorf("the file that hangs was read %d times", n)
	}
	checks := w.checks()
	if len(checks) != 1 || checks[0].Name != "schedule remote" || checks[0].State != pluginsdk.CheckWarning || !strings.Contains(checks[0].Detail, path) || !strings.Contains(checks[0].Detail, "in 30s") {
		t.Errorf("doctor says %+v", checks)
	}
	close(slow.let)
	w.plugin.again.Store(true)
	w.look()
	if fires := w.fires("remote"); len(fires) != 1 || !strings.Contains(fires[0].Data, "has changed") {
		t.Errorf("when the file system answers there are %+v", fires)
	}
	if checks := w.checks(); len(checks) != 1 || checks[0].State != pluginsdk.CheckOK {
		t.Errorf("when the file system answers doctor says %+v", checks)
	}
}

// freshStep is fresh, and waits for no file.
func (w *world) freshStep(job string) {
	w.Helper()
	for _, switched := range []string{"off ", "on "} {
		w.command(switched + job)
		w.step(0)
	}
}

// Files that hang keep a bounded number of threads, and have the next ones wait until their limit has passed; each
// schedule says that its file is not read.
func TestManyFilesThatHang(t *testing.T) {
	w := newWorld(t, hour(), nil)
	slow := &hangs{hang: func(string) bool { return true }, let: make(chan struct{}), begun: make(chan struct{}, 1000)}
	t.Cleanup(func() { close(slow.let) })
	w.plugin.fingerprint = slow.fingerprint
	const remote = mostReads + 10
	for n := range remote {
		w.save(pluginsdk.CronSpec{Name: fmt.Sprint("remote ", n), Trigger: fmt.Sprint("file:/remote/", n), Timezone: "UTC", Prompt: "x"})
	}
	w.step(0)
	for n := range remote {
		w.as(pluginsdk.ScopeAdmin, fmt.Sprint("confirm remote ", n))
	}
	w.step(0)
	for all := readsAtOnce; all <= mostReads; all += readsAtOnce {
		for range readsAtOnce {
			<-slow.begun
		}
		w.step(time.Second)
		if n := int(slow.reads.Load()); n != all {
			t.Fatalf("%d files are read, want %d", n, all)
		}
		w.step(readLimit)
	}
	w.step(readLimit)
	w.step(readLimit)
	if n := slow.reads.Load(); n > mostReads {
		t.Errorf("%d files hang", n)
	}
	unread := 0
	for n := range remote {
		if strings.Contains(noteOf(w.job(fmt.Sprint("remote ", n))).Unread, "has not come to an end") {
			unread++
		}
	}
	if unread != remote {
		t.Errorf("%d of %d schedules say that their file is not read", unread, remote)
	}
}

// What was read before a run of the job is not what the file is after it: a job that changes its own file would fire
// again.
func TestWhatWasReadBeforeARunIsForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, hour(), nil)
	w.onFile("after", path)
	w.look()
	slow := &hangs{hang: func(string) bool { return true }, let: make(chan struct{}), begun: make(chan struct{}, 100)}
	w.plugin.fingerprint = func(path, known string) (string, error) {
		looks, err := fingerprint(path, known)
		if _, err := slow.fingerprint(path, known); err != nil {
			return "", err
		}
		return looks, err
	}
	w.step(time.Minute)
	<-slow.begun // "one" is read
	w.as(pluginsdk.ScopeAdmin, "run after")
	w.step(time.Second)
	if err := os.WriteFile(path, []byte("by the run"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.finish()
	w.step(time.Second) // the run still goes on for the look, and is over after it
	close(slow.let)
	w.look()
	for range 3 {
		w.wait(2 * time.Minute)
	}
	if fires := w.fires("after"); len(fires) != 1 || fires[0].Cause != pluginsdk.FireAsked {
		t.Errorf("it has fired %+v", fires)
	}
}

// A file that becomes a directory, a circle of links, or something that the daemon may not read, is named to the operator
// and is no change; what it is afterwards is compared with what it was.
func TestAFileThatBecomesSomethingElse(t *testing.T) {
	for name, become := range map[string]func(path string) error{
		"a directory":       func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"a circle of links": func(path string) error { return errors.Join(os.Remove(path), os.Symlink(path, path)) },
		"a FIFO":            func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) },
		"below no directory": func(path string) error {
			return errors.Join(os.Remove(path), os.Remove(filepath.Dir(path)), os.WriteFile(filepath.Dir(path), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dir", "notes")
			write := func(text string) {
				t.Helper()
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			write("one")
			w := newWorld(t, hour(), nil)
			w.onFile("after", path)
			w.look()
			if err := become(path); err != nil {
				t.Fatal(err)
			}
			w.wait(2 * time.Minute)
			if checks := w.checks(); len(checks) != 1 || checks[0].State != pluginsdk.CheckWarning || !strings.Contains(checks[0].Detail, path) {
				t.Errorf("doctor says %+v", checks)
			}
			if err := os.RemoveAll(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
			write("one")
			w.wait(2 * time.Minute)
			if fires := w.fires("after"); len(fires) != 0 {
				t.Errorf("as it was it fires: %+v", fires)
			}
			write("two")
			w.wait(2 * time.Minute)
			if fires := w.fires("after"); len(fires) != 1 {
				t.Errorf("changed it has fired %+v", fires)
			}
		})
	}
}

// Of a file of more than mostHashed bytes nothing is read, whatever that would take: another size or time is a change.
func TestAHugeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skip("no file of such a size:", err)
	}
	w := newWorld(t, hour(), nil)
	w.onFile("after", path)
	w.look()
	w.wait(2 * time.Minute)
	if fires := w.fires("after"); len(fires) != 0 {
		t.Errorf("as it was it fires: %+v", fires)
	}
	if err := os.Chtimes(path, w.now, w.now); err != nil {
		t.Fatal(err)
	}
	w.wait(2 * time.Minute)
	if fires := w.fires("after"); len(fires) != 1 {
		t.Errorf("with another time it has fired %+v", fires)
	}
}

// A command that names a file whose file system hangs is answered.
func TestACommandWaitsForNoFile(t *testing.T) {
	w := newWorld(t, hour(), nil)
	let := make(chan struct{})
	defer close(let)
	w.plugin.stat = func(string) (os.FileInfo, error) { <-let; return nil, os.ErrNotExist }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for n := range mostReads + 1 {
		want := "does not answer"
		if n == mostReads {
			want = "has not come to an end"
		}
		if words := w.plugin.fileWords(ctx, pluginsdk.CronSpec{Trigger: "file:/remote"}); !strings.Contains(words, want) {
			t.Fatalf("after %d: %q", n, words)
		}
	}
}

// A run that changes its own file and is over before the jobs are looked at again causes no other fire.
func TestARunThatIsOverAtOnceIsNoChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	w := newWorld(t, hour(), nil)
	w.onFile("after", path)
	w.look()
	w.wait(time.Minute)
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.step(time.Minute)
	for !w.haveRead(0) {
		if _, err := w.plugin.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("by the run"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.finish()
	if err := w.plugin.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.wait(2 * time.Minute)
	}
	if fires := w.fires("after"); len(fires) != 1 || fires[0].State != pluginsdk.FireSucceeded {
		t.Errorf("it has fired %+v", fires)
	}
}
