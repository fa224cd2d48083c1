package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/plugins/internal/run"
)

const (
	defaultTimeout = 10 * time.Minute
	defaultOutput  = 16 << 10
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
	args := check.Args
	if len(args) == 0 {
		args = []string{"/bin/sh", "-c", check.Command}
	}
	output := &tail{max: cmp.Or(r.Output, defaultOutput)}
	result, err := run.Do(ctx, run.Command{
		Args: args, Dir: check.Dir, Env: r.environ(), Stdout: output, Stderr: output, Limit: timeout, EndGroup: true,
	})
	if ctx.Err() != nil {
		return Outcome{}, context.Cause(ctx)
	}
	outcome := Outcome{Check: check, ExitCode: result.Code, Output: output.String()}
	late := errors.Is(err, run.ErrLate)
	if err != nil && !late {
		outcome.Unable = err.Error()
	}
	switch {
	case late:
		outcome.Late = true
		outcome.Output += fmt.Sprintf("\n[ended after %s, its time limit]", timeout)
	case outcome.ExitCode == 126 || outcome.ExitCode == 127:
		outcome.Unable = fmt.Sprintf("exit code %d: a program that it calls is not there, or cannot be run", outcome.ExitCode)
	case check.Silent && outcome.ExitCode == 0 && strings.TrimSpace(outcome.Output) != "":
		outcome.ExitCode = 1
	}
	return outcome, nil
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
var colours = lazy.Regexp("\x1b\\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")

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
