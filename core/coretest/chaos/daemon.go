package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
)

const (
	// bootPatience is how long a daemon may take to answer.
	bootPatience = 60 * time.Second
	// stopPatience is how long it may take to end after SIGTERM.
	stopPatience = 45 * time.Second
	poll         = 20 * time.Millisecond
)

// daemon keeps bin/harness up: whenever the process ends, another is started
// at once.
type daemon struct {
	binary string
	args   []string
	env    []string
	log    string // file that all of them write to
	url    string
	health http.Client

	mu       sync.Mutex
	command  *exec.Cmd // nil: there is none now
	doomed   bool      // it was sent SIGKILL
	stopping bool
	began    time.Time
	healthy  time.Time // when the one there is now first answered; zero: not yet
	changed  chan struct{}
	down     sync.Mutex // held while none may be started
	starts   int
	exits    []check.Exit
	ended    sync.WaitGroup
}

func newDaemon(dir, binary, url string, args, env []string) *daemon {
	return &daemon{
		binary: binary, args: args, env: env, url: url, log: filepath.Join(dir, "daemon.log"),
		health: http.Client{Timeout: time.Second}, changed: make(chan struct{}),
	}
}

// start begins to keep the daemon up and returns once it answers.
func (d *daemon) start(ctx context.Context) error {
	if err := d.spawn(); err != nil {
		return err
	}
	return d.awaitHealthy(ctx)
}

// spawn starts a process and what waits for its end.
func (d *daemon) spawn() error {
	file, err := os.OpenFile(d.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()                           // the child has its own
	command := exec.Command(d.binary, d.args...) //nolint:gosec // our own
	command.Env, command.Stdout, command.Stderr = d.env, file, file
	// A Ctrl-C is ours alone: the daemon is stopped in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	d.command, d.doomed, d.began, d.healthy = command, false, time.Now(), time.Time{}
	d.starts++
	d.announce()
	d.ended.Go(func() { d.supervise(command) })
	return nil
}

// announce wakes those who wait. Called with the lock held.
func (d *daemon) announce() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// supervise follows one process to its end and starts the next.
func (d *daemon) supervise(command *exec.Cmd) {
	over := make(chan struct{})
	d.ended.Go(func() { d.watch(command, over) })
	err := command.Wait()
	close(over)
	d.mu.Lock()
	d.command = nil
	stopping := d.stopping
	// One that ended by itself in the instant of our strike was not killed.
	status, ok := command.ProcessState.Sys().(syscall.WaitStatus)
	killed := d.doomed && ok && status.Signaled() && status.Signal() == syscall.SIGKILL
	if !killed && !stopping {
		d.exits = append(d.exits, check.Exit{At: time.Now(), Why: fmt.Sprintf("%v: %s", err, d.lastWords())})
	}
	d.announce()
	d.mu.Unlock()
	if stopping {
		return
	}
	d.down.Lock()
	defer d.down.Unlock()
	if err := d.spawn(); err != nil {
		d.mu.Lock()
		d.exits = append(d.exits, check.Exit{At: time.Now(), Why: err.Error()})
		d.mu.Unlock()
	}
}

// watch notes when the process first answers.
func (d *daemon) watch(command *exec.Cmd, over <-chan struct{}) {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
		}
		response, err := d.health.Get(d.url + "/api/health")
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		d.mu.Lock()
		if d.command == command {
			d.healthy = time.Now()
			d.announce()
		}
		d.mu.Unlock()
		return
	}
}

// lastWords is the end of the log.
func (d *daemon) lastWords() string {
	content, err := os.ReadFile(d.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-2):], " | ")
}

// until waits for a condition of the daemon, which is asked with the lock held.
func (d *daemon) until(ctx context.Context, what string, limit time.Duration, holds func() bool) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		d.mu.Lock()
		done, changed := holds(), d.changed
		d.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return fmt.Errorf("the daemon is not %s after %v: %s", what, limit, d.lastWords())
		}
	}
}

func (d *daemon) awaitHealthy(ctx context.Context) error {
	return d.until(ctx, "healthy", bootPatience, func() bool { return !d.healthy.IsZero() && d.command != nil })
}

// now returns the process there is, 0 for none, and since when it answers.
func (d *daemon) now() (pid int, healthy time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.command == nil {
		return 0, time.Time{}
	}
	return d.command.Process.Pid, d.healthy
}

// count is how many processes there have been.
func (d *daemon) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.starts
}

// kill ends the process as a power cut would. It returns what was killed, or
// false when there was nothing.
func (d *daemon) kill() (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.command == nil || d.doomed {
		return "", false
	}
	what := "daemon " + strconv.Itoa(d.command.Process.Pid)
	if d.healthy.IsZero() {
		what += ", while it started"
	}
	d.doomed = d.command.Process.Kill() == nil
	return what, d.doomed
}

// away kills the daemon, and keeps it down until something is done. what names the process that was killed;
// empty: there was none to be killed, and nothing was done.
func (d *daemon) away(ctx context.Context, do func() error) (what string, err error) {
	d.down.Lock()
	defer d.down.Unlock()
	what, hit := d.kill()
	if !hit {
		return "", nil
	}
	if err := d.until(ctx, "down", stopPatience, func() bool { return d.command == nil }); err != nil {
		return "", err
	}
	return what, do()
}

// stop ends the daemon in order, for good.
func (d *daemon) stop() error {
	d.mu.Lock()
	d.stopping = true
	command := d.command
	d.mu.Unlock()
	if command == nil {
		d.ended.Wait()
		return nil
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := d.until(context.Background(), "down", stopPatience, func() bool { return d.command == nil })
	if err != nil {
		_ = command.Process.Kill()
	}
	d.ended.Wait()
	if code := command.ProcessState.ExitCode(); err == nil && code != 0 && !endedBySIGTERM(command.ProcessState) {
		err = fmt.Errorf("the daemon ended with code %d after SIGTERM: %s", code, d.lastWords())
	}
	return err
}

// endedBySIGTERM reports an end by the signal itself: it came before the process,
// just born, had said that it would take it.
func endedBySIGTERM(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGTERM
}
