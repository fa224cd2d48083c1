// Package installation runs a daemon in a process of its own, on a directory of its own, for
// what is tested and measured from outside.
package installation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/owner"
	"github.com/seed-706843ae/harness/core/coretest/ports"
)

// bootPatience is how long a daemon may take to answer.
const bootPatience = 30 * time.Second

// Installation is a daemon and its directory. Its methods are for one goroutine; Log may be
// read by any.
type Installation struct {
	Program string        // harness, as it stands beside plugins/
	Dir     string        // of its data
	Env     []string      // the whole environment of its processes
	URL     string        // of its API, from the first Up on
	Began   time.Time     // the newest start of the process
	Boot    time.Duration // from then until it answered
	Log     Logbook

	port    int
	command *exec.Cmd // nil: it is down
}

// Logbook is what a process says. It may be read while the process goes on.
type Logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write notes what was said.
func (l *Logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns what was said so far.
func (l *Logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Reset forgets it.
func (l *Logbook) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// Up starts the daemon on its directory, which may have seen one before, and returns once
// it answers. Its port is free the first time, and the same from then on.
func (d *Installation) Up() (err error) {
	if d.port == 0 {
		if d.port, err = ports.Free(); err != nil {
			return err
		}
		d.URL = fmt.Sprintf("http://127.0.0.1:%d", d.port)
		owner.Know(d.URL, filepath.Join(d.Dir, "owner.token"))
	}
	command := exec.Command(d.Program, "up", "--data", d.Dir, "--port", strconv.Itoa(d.port)) //nolint:gosec // our own
	command.Env = d.environment()
	command.Stdout, command.Stderr = &d.Log, &d.Log
	d.Began = time.Now()
	if err := command.Start(); err != nil {
		return err
	}
	d.command = command
	if err := d.healthy(d.Began.Add(bootPatience)); err != nil {
		return errors.Join(err, d.Kill())
	}
	d.Boot = time.Since(d.Began)
	return nil
}

func (d *Installation) healthy(deadline time.Time) error {
	for time.Now().Before(deadline) {
		response, err := http.Get(d.URL + "/api/health")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		<-time.After(time.Millisecond)
	}
	return fmt.Errorf("not healthy in time; its log:\n%s", d.Log.String())
}

// Down ends the daemon as an operator does; Up may follow. One that is down stays so.
func (d *Installation) Down() error {
	if d.command == nil {
		return nil
	}
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := d.command.Wait()
	d.command = nil
	if err != nil {
		return fmt.Errorf("stop: %w; its log:\n%s", err, d.Log.String())
	}
	return nil
}

// Kill ends the daemon as a power cut does; Up may follow. One that is down stays so.
func (d *Installation) Kill() error {
	if d.command == nil {
		return nil
	}
	if err := d.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = d.command.Wait() // it says that the process was killed
	d.command = nil
	return nil
}

// PID is the daemon's process. It is up.
func (d *Installation) PID() int { return d.command.Process.Pid }

// Run carries out a command line of harness on the installation, up or down, and returns
// what it printed.
func (d *Installation) Run(ctx context.Context, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, d.Program, append(arguments, "--data", d.Dir)...) //nolint:gosec // our own
	var out, errs strings.Builder
	command.Env, command.Stdout, command.Stderr = d.environment(), &out, &errs
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("harness %s: %w\n%s%s", strings.Join(arguments, " "), err, out.String(), errs.String())
	}
	return out.String(), nil
}

// environment names the port too, for those commands that speak to the API.
func (d *Installation) environment() []string {
	return append(slices.Clone(d.Env), "PORT="+strconv.Itoa(d.port))
}
