package operate_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/registry"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // a file of the test
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(content); err != nil {
		t.Fatal(err)
	}
}

func numbered(from, to int) string {
	var lines strings.Builder
	for n := from; n <= to; n++ {
		fmt.Fprintf(&lines, "2026-11-21T12:00:00.000Z INFO line %d\n", n)
	}
	return lines.String()
}

func TestLogsShowsTheLastLinesAcrossARotation(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	path := filepath.Join(t.TempDir(), "greeter.log")
	d.out.Reset()
	if err := d.Logs(t.Context(), "greeter", path, 3, false, nil); err != nil || d.out.String() != "greeter has logged nothing yet.\n" {
		t.Errorf("%v\n%s", err, d.out.String())
	}
	write(t, path+".1", numbered(1, 5))
	write(t, path, numbered(6, 7))
	d.out.Reset()
	if err := d.Logs(t.Context(), "greeter", path, 3, false, nil); err != nil || d.out.String() != numbered(5, 7) {
		t.Errorf("%v\n%s", err, d.out.String())
	}
	refused(t, d.Logs(t.Context(), "gretter", filepath.Join(t.TempDir(), "none"), 3, false, nil), `there is no plugin "gretter"`)
	d.out.Reset()
	if err := d.Logs(t.Context(), "removed", path, 1, false, nil); err != nil || d.out.String() != numbered(7, 7) {
		t.Errorf("the log of a removed plugin: %v\n%s", err, d.out.String())
	}
}

// What a plugin writes reaches the operator's terminal: it may not move the
// cursor, and keeps its spaces.
func TestLogsAreSafeToShow(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	path := filepath.Join(t.TempDir(), "greeter.log")
	write(t, path, "a\x1b[2Jb    c\x07 \u202ed\n")
	d.out.Reset()
	if err := d.Logs(t.Context(), "greeter", path, 10, false, nil); err != nil || d.out.String() != "a[2Jb    c d\n" {
		t.Errorf("%v: %q", err, d.out.String())
	}
}

// Who follows a log sees every line once, whatever the daemon does to the file.
func TestFollowingSeesEveryLineOnce(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	path := filepath.Join(t.TempDir(), "greeter.log")
	reader, writer := io.Pipe()
	d.Out = writer
	ctx, cancel := context.WithCancel(t.Context())
	tick := make(chan time.Time)
	done := make(chan error, 1)
	go func() {
		done <- d.Logs(ctx, "greeter", path, 2, true, tick)
		_ = writer.Close()
	}()
	lines := make(chan string, 100) // the test may be elsewhere
	go func() {
		defer close(lines)
		all, rest := make([]byte, 1<<10), ""
		for {
			n, err := reader.Read(all)
			rest += string(all[:n])
			for {
				line, more, ok := strings.Cut(rest, "\n")
				if !ok {
					break
				}
				lines <- line
				rest = more
			}
			if err != nil {
				return
			}
		}
	}()
	expect := func(want string) {
		t.Helper()
		for line := range strings.SplitSeq(strings.TrimSuffix(want, "\n"), "\n") {
			if got := <-lines; got != line {
				t.Fatalf("got %q, want %q", got, line)
			}
		}
	}
	tick <- time.Time{} // there is no file yet
	write(t, path, numbered(1, 2))
	tick <- time.Time{}
	expect(numbered(1, 2))
	half := numbered(3, 3)
	write(t, path, half[:10])
	tick <- time.Time{} // half a line is not a line
	write(t, path, half[10:])
	tick <- time.Time{}
	expect(half)
	write(t, path, numbered(4, 4)) // not seen before the file is put away
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	tick <- time.Time{} // between two files
	expect(numbered(4, 4))
	write(t, path, numbered(5, 6))
	tick <- time.Time{}
	expect(numbered(5, 6))
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write(t, path, numbered(7, 7))
	tick <- time.Time{}
	expect(numbered(7, 7))
	cancel()
	if line, ok := <-lines; ok {
		t.Errorf("got %q too", line)
	}
	if err := <-done; err != nil {
		t.Errorf("Ctrl-C is no fault: %v", err)
	}
}

// A log that grows while it is looked at was not cut: no line is shown again.
func TestFollowingALogThatGrowsAllTheTime(t *testing.T) {
	d := newDesk(t)
	d.install(greeter("1"), registry.InstallRequest{})
	path := filepath.Join(t.TempDir(), "greeter.log")
	ctx, cancel := context.WithCancel(t.Context())
	tick, done := make(chan time.Time), make(chan error, 1)
	d.out.Reset()
	go func() { done <- d.Logs(ctx, "greeter", path, 0, true, tick) }()
	tick <- time.Time{} // following: nothing that comes now is what was there before
	written := make(chan struct{})
	go func() {
		defer close(written)
		for n := range 3000 {
			write(t, path, numbered(n, n))
		}
	}()
	for writing := true; writing; {
		select {
		case <-written:
			writing = false
		case tick <- time.Time{}:
		}
	}
	tick <- time.Time{}
	tick <- time.Time{} // taken when the one before is done with
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if d.out.String() != numbered(0, 2999) {
		t.Errorf("%d bytes were shown of %d", d.out.Len(), len(numbered(0, 2999)))
	}
}
