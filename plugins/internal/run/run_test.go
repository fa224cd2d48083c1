package run

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Reap()
	os.Exit(m.Run())
}

func sh(script string) Command {
	return Command{Args: []string{"/bin/sh", "-c", script}, Dir: "/", Env: os.Environ(), Limit: time.Minute}
}

// What a program says and how it ends is told, whatever that is.
func TestItEndsByItself(t *testing.T) {
	t.Parallel()
	c := sh("cat; echo wrong >&2; exit 3")
	c.Stdin = strings.NewReader("hello\n")
	if got, err := Do(t.Context(), c); err != nil || got.Code != 3 || string(got.Stdout) != "hello\n" || got.Stderr != "wrong\n" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Do(t.Context(), sh("kill -9 $$")); err != nil || got.Code != -1 {
		t.Errorf("killed: %+v, %v", got, err)
	}
	if _, err := Do(t.Context(), Command{Args: []string{"/absent"}, Limit: time.Minute}); err == nil {
		t.Error("an absent program was run")
	}
}

// So it is of a program that ends with all that it has started.
func TestItEndsWithAll(t *testing.T) {
	t.Parallel()
	whole := func(c Command) Command { c.EndGroup = true; return c }
	c := whole(sh("cat; echo wrong >&2; exit 3"))
	c.Stdin = strings.NewReader("hello\n")
	if got, err := Do(t.Context(), c); err != nil || got.Code != 3 || string(got.Stdout) != "hello\n" || got.Stderr != "wrong\n" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Do(t.Context(), whole(sh("kill -9 $$"))); err != nil || got.Code != -1 {
		t.Errorf("killed: %+v, %v", got, err)
	}
	if _, err := Do(t.Context(), Command{Args: []string{"/absent"}, Limit: time.Minute, EndGroup: true}); err == nil {
		t.Error("an absent program was run")
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/absent\n"), 0o700); err != nil { //nolint:gosec // a script
		t.Fatal(err)
	}
	if got, err := Do(t.Context(), Command{Args: []string{script}, Limit: time.Minute, EndGroup: true}); err != nil || got.Code != 126 || !strings.Contains(got.Stderr, script) {
		t.Errorf("without an interpreter: %+v, %v", got, err)
	}
	c = whole(sh("trap '' TERM; echo begun; while :; do sleep 1; done"))
	c.Limit = 100 * time.Millisecond
	if got, err := Do(t.Context(), c); !errors.Is(err, ErrLate) {
		t.Errorf("late: %+v, %v", got, err)
	}
}

// A program that talks without end fills no memory: its end is kept, or it is ended.
func TestItTalksWithoutEnd(t *testing.T) {
	t.Parallel()
	got, err := Do(t.Context(), sh("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"))
	if out := string(got.Stdout); err != nil || !strings.HasPrefix(out, "[cut] ") || !strings.HasSuffix(out, "line 19999\n") || len(out) > TailBytes+10 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	c := sh("while :; do echo more; done")
	c.Most = 1000
	if _, err := Do(t.Context(), c); err == nil || !strings.Contains(err.Error(), "more than 1000 bytes") {
		t.Errorf("%v", err)
	}
}

// A program that is told to end does, with all its children, also one that does not listen.
func TestItIsTooSlow(t *testing.T) {
	t.Parallel()
	for name, trap := range map[string]string{"listens": "echo bye >&9; exit", "does not": ""} {
		pipe := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := Do(ctx, sh("exec 9>'"+pipe+"'; trap '"+trap+"' TERM; echo begun >&9; sleep 600 & wait; sleep 600"))
			ended <- err
		}()
		file, err := os.Open(pipe)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Read(make([]byte, 6)); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-ended; err == nil {
			t.Errorf("%s: it was not cancelled", name)
		}
		// All who hold the pipe are gone when it ends.
		if err := file.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		last, err := io.ReadAll(file)
		if err != nil || (name == "listens") != (string(last) == "bye\n") {
			t.Errorf("%s: it has said %q at last, or a child of it lives: %v", name, last, err)
		}
	}
	c := sh("sleep 600")
	c.Limit = time.Millisecond
	if _, err := Do(t.Context(), c); err == nil || !strings.Contains(err.Error(), "has not ended within 1ms") {
		t.Errorf("%v", err)
	}
}
