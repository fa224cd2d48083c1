package checks_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	program "github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/plugins/validation/internal/checks"
)

func TestMain(m *testing.M) {
	program.Reap()
	os.Exit(m.Run())
}

func run(t *testing.T, runner *checks.Runner, check checks.Check) checks.Outcome {
	t.Helper()
	if check.Dir == "" {
		check.Dir = t.TempDir()
	}
	outcome, err := runner.Run(t.Context(), check)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func shell(command string) checks.Check { return checks.Check{Command: command} }

func TestWhatACheckComesTo(t *testing.T) {
	for name, row := range map[string]struct {
		check  checks.Check
		want   checks.Outcome
		passed bool
	}{
		"passes":       {shell("echo fine; echo ok >&2"), checks.Outcome{Output: "fine\nok"}, true},
		"fails":        {shell("echo bad; exit 3"), checks.Outcome{ExitCode: 3, Output: "bad"}, false},
		"colours":      {shell(`printf '\033[31mred\033[0m\a'`), checks.Outcome{Output: "red"}, true},
		"no program":   {checks.Check{Args: []string{"no-such-program"}}, checks.Outcome{ExitCode: -1, Unable: "not found"}, false},
		"calls none":   {shell("no-such-program"), checks.Outcome{ExitCode: 127, Output: "not found", Unable: "exit code 127"}, false},
		"no directory": {checks.Check{Args: []string{"true"}, Dir: "/no/such/directory"}, checks.Outcome{ExitCode: -1, Unable: "no such file"}, false},
		"prints":       {checks.Check{Command: "echo x.go", Silent: true}, checks.Outcome{ExitCode: 1, Output: "x.go"}, false},
		"prints none":  {checks.Check{Command: "echo", Silent: true}, checks.Outcome{}, true},
		"kills itself": {shell("kill -9 $$"), checks.Outcome{ExitCode: -1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, new(checks.Runner), row.check)
			if got.ExitCode != row.want.ExitCode || !strings.Contains(got.Output, row.want.Output) || !strings.Contains(got.Unable, row.want.Unable) ||
				(got.Unable == "") != (row.want.Unable == "") || got.Passed() != row.passed {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}

// Nothing of the daemon's environment is in that of a check but what it cannot do without.
func TestTheEnvironmentOfAChecks(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "x")
	t.Setenv("HARNESS_OWNER", "mark")
	got := run(t, &checks.Runner{Environ: []string{"MINE=1"}}, shell("env")).Output
	for text, want := range map[string]bool{"SECRET_TOKEN": false, "MINE=1": true, "CI=true": true, "HARNESS_OWNER=mark": true, "PATH=": true} {
		if strings.Contains(got, text) != want {
			t.Errorf("%s: %t in\n%s", text, !want, got)
		}
	}
}

func TestTheEndOfTheOutputIsKept(t *testing.T) {
	got := run(t, &checks.Runner{Output: 1000}, shell("seq 100000; echo the end")).Output
	if len(got) > 1100 || !strings.HasSuffix(got, "the end") || !strings.HasPrefix(got, "[the beginning is cut off]") {
		t.Errorf("kept %d bytes: %.100q", len(got), got)
	}
}

// A check that hangs is ended with all that it has started, and has failed; one that has
// ended leaves nothing behind.
func TestNothingOfACheckIsLeft(t *testing.T) {
	for name, row := range map[string]struct {
		command string
		late    bool
	}{
		"hangs":             {`sleep 1000 & echo $! >pid; wait`, true},
		"leaves one over":   {`sleep 1000 >/dev/null 2>&1 & echo $! >pid`, false},
		"holds the pipe":    {`sleep 1000 & echo $! >pid`, false},
		"leaves its group":  {`setsid sh -c 'echo $$ >pid; exec sleep 1000' >/dev/null 2>&1 & while [ ! -s pid ]; do :; done`, false},
		"is nobody's child": {`(env -i /usr/bin/setsid -f /bin/sh -c 'echo $$ >pid; exec sleep 1000') >/dev/null 2>&1 </dev/null; while [ ! -s pid ]; do :; done`, false},
		"listens to nobody": {`setsid sh -c 'trap "" TERM HUP INT; echo $$ >pid; while :; do sleep 1; done' & trap "" TERM; wait`, true},
	} {
		t.Run(name, func(t *testing.T) {
			check := shell(row.command)
			check.Dir = t.TempDir()
			got := run(t, &checks.Runner{Timeout: 3 * time.Second}, check)
			if got.Late != row.late || got.Passed() == row.late {
				t.Errorf("got %+v", got)
			}
			gone(t, check.Dir)
		})
	}
}

// gone waits until the process whose number is in the file pid has ended.
func gone(t *testing.T, dir string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for limit := time.After(10 * time.Second); ; {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil && syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-ticks.C:
		case <-limit:
			t.Fatalf("the process %d is still there: %s", pid, stat)
		}
	}
}

// A task that is cancelled does not wait for its checks.
func TestARunIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the task was cancelled")
	dir := t.TempDir()
	pipe := filepath.Join(dir, "begun")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = os.ReadFile(pipe) // returns when the check has begun
		cancel(why)
	}()
	check := checks.Check{Command: `echo $$ >pid; echo >begun; sleep 1000`, Dir: dir}
	if outcome, err := new(checks.Runner).Run(ctx, check); !errors.Is(err, why) {
		t.Errorf("%+v, %v", outcome, err)
	}
	gone(t, dir)

	full := &checks.Runner{Places: make(chan struct{}, 1)}
	full.Places <- struct{}{}
	if outcome, err := full.Run(ctx, check); !errors.Is(err, why) {
		t.Errorf("while others run: %+v, %v", outcome, err)
	}
}

func TestProgramsThatAreMissing(t *testing.T) {
	got := new(checks.Runner).Missing([]checks.Check{
		{Args: []string{"no-such-program", "x"}}, {Args: []string{"no-such-program"}}, {Args: []string{"sh"}}, shell("no-such-program"),
	})
	if strings.Join(got, " ") != "no-such-program" {
		t.Errorf("missing %q", got)
	}
}
