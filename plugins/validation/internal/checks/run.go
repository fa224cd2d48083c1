package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	defaultTimeout = 10 * time.Minute
	defaultOutput  = 16 << 10
	// outputGrace is how long is waited for output when a command has ended and something
	// that it has started still holds its output.
	outputGrace = 2 * time.Second
)

// Runner runs checks, each in a process group of its own, with an environment that is
// made for them. It is safe for concurrent use.
type Runner struct {
	Timeout time.Duration // of one check; 0: 10 minutes
	Output  int           // how much of the output's end is kept, in bytes; 0: 16 KiB
	Environ []string      // as NAME=VALUE, over what every check gets
	// Places bounds how many checks run at the same time: as many as it can hold.
	Places chan struct{}
}

// handedOn are the variables of this process that checks get. The two of Harness are
// marks, by which what checks leave behind is found and ended.
var handedOn = []string{
	"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "HARNESS_OWNER", "HARNESS_PLUGIN_START",
	"GOPATH", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "CARGO_HOME", "RUSTUP_HOME", "VIRTUAL_ENV",
}

// environ is what a check gets to know. CI has test runners run once, and ask nobody.
func (r *Runner) environ() []string {
	environ := []string{"CI=true"}
	for _, name := range handedOn {
		if value, ok := os.LookupEnv(name); ok {
			environ = append(environ, name+"="+value)
		}
	}
	return append(environ, r.Environ...)
}

// Missing names the programs of the checks that are not there.
func (r *Runner) Missing(list []Check) (names []string) {
	for _, check := range list {
		if len(check.Args) == 0 || strings.Contains(check.Args[0], "/") {
			continue
		}
		if _, err := exec.LookPath(check.Args[0]); err != nil && !slices.Contains(names, check.Args[0]) {
			names = append(names, check.Args[0])
		}
	}
	return names
}

// Run runs a check once there is a place for it. The error is the context's: what is
// wrong with the check is in its outcome.
func (r *Runner) Run(ctx context.Context, check Check) (Outcome, error) {
	if r.Places != nil {
		select {
		case r.Places <- struct{}{}:
			defer func() { <-r.Places }()
		case <-ctx.Done():
			return Outcome{}, context.Cause(ctx)
		}
	}
	timeout := cmp.Or(r.Timeout, defaultTimeout)
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	args := check.Args
	if len(args) == 0 {
		args = []string{"/bin/sh", "-c", check.Command}
	}
	output := &tail{max: cmp.Or(r.Output, defaultOutput)}
	command := exec.CommandContext(limited, args[0], args[1:]...) //nolint:gosec // what the project says it is checked by
	command.Dir, command.Env = check.Dir, r.environ()
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.WaitDelay = outputGrace
	command.Cancel = func() error { return killGroup(command.Process.Pid) }
	outcome := Outcome{Check: check}
	if err := command.Start(); err != nil {
		outcome.ExitCode, outcome.Unable = -1, err.Error()
		return outcome, context.Cause(ctx)
	}
	err := command.Wait()
	// What it has left behind is in its group, whose number nobody else is given as long
	// as there is anything in it.
	_ = killGroup(command.Process.Pid)
	if ctx.Err() != nil {
		return Outcome{}, context.Cause(ctx)
	}
	outcome.Output, outcome.ExitCode = output.String(), command.ProcessState.ExitCode()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && limited.Err() == nil {
		outcome.Unable = err.Error()
	}
	switch {
	case limited.Err() != nil && outcome.ExitCode != 0:
		outcome.Late = true
		outcome.Output += fmt.Sprintf("\n[ended after %s, its time limit]", timeout)
	case outcome.ExitCode == 126 || outcome.ExitCode == 127:
		outcome.Unable = fmt.Sprintf("exit code %d: a program that it calls is not there, or cannot be run", outcome.ExitCode)
	case check.Silent && outcome.ExitCode == 0 && strings.TrimSpace(outcome.Output) != "":
		outcome.ExitCode = 1
	}
	return outcome, nil
}

// killGroup kills all processes of the group that a process leads. That there is none is
// no error.
func killGroup(pid int) error {
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// tail keeps the end of what is written to it.
type tail struct {
	max int

	mu   sync.Mutex
	kept []byte
	cut  bool
}

// Write keeps up to twice as much as is asked for, so that it seldom moves it.
func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, data...)
	if over := len(t.kept) - t.max; over > t.max {
		t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
	}
	return len(data), nil
}

// colours are the sequences with which programs colour what they print, and other
// controls but tab and newline.
var colours = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")

// String is the end of what was written, as text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept, cut := t.kept, t.cut
	if over := len(kept) - t.max; over > 0 {
		kept, cut = kept[over:], true
	}
	text := colours.ReplaceAllString(strings.ToValidUTF8(string(kept), "\uFFFD"), "")
	if cut {
		text = "[the beginning is cut off] " + text
	}
	return strings.TrimRight(text, "\n")
}
