package main

import (
	"bytes"
	"errors"
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

	"github.com/seed-706843ae/harness/core/coretest/ports"
)

// installation is a daemon in a process of its own, on a directory of its own.
type installation struct {
	program string // harness, as it stands beside plugins/
	base    string
	dir     string
	began   time.Time // the newest start of the process
	boot    time.Duration
	command *exec.Cmd
	log     logbook
}

// logbook is what a process says. It may be read while the process goes on.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write notes what was said.
func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns what was said so far.
func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Reset forgets it.
func (l *logbook) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// start runs the build on a new directory with the demo agent, unless env says
// otherwise, and returns once it is healthy.
func (b *bench) start(env []string) (*installation, error) { return startFrom(b.bin, env) }

// startFrom is start with the binaries of another directory.
func startFrom(bin string, env []string) (*installation, error) {
	return startProgram(filepath.Join(bin, "harness"), env)
}

// startProgram is start with that program.
func startProgram(program string, env []string) (*installation, error) {
	dir, err := os.MkdirTemp("", "harness-bench")
	if err != nil {
		return nil, err
	}
	d := &installation{program: program, dir: dir}
	if err := d.up(env); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return d, nil
}

// up starts the daemon on the installation's directory, which may have seen one
// before, and returns once it is healthy.
func (d *installation) up(env []string) error {
	port, err := ports.Free()
	if err != nil {
		return err
	}
	d.base = fmt.Sprintf("http://127.0.0.1:%d", port)
	d.log.Reset()
	d.command = exec.Command(d.program, "up", "--data", d.dir, "--port", strconv.Itoa(port))
	d.command.Env = append(append(os.Environ(), "HARNESS_AGENT=demo", "HARNESS_LOG_LEVEL=warn", "PORT="+strconv.Itoa(port)), env...)
	d.command.Stderr = &d.log
	d.began = time.Now()
	if err := d.command.Start(); err != nil {
		return err
	}
	if err := d.healthy(d.began.Add(30 * time.Second)); err != nil {
		return errors.Join(err, d.kill())
	}
	d.boot = time.Since(d.began)
	return nil
}

func (d *installation) healthy(deadline time.Time) error {
	for time.Now().Before(deadline) {
		response, err := http.Get(d.base + "/api/health")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		<-time.After(time.Millisecond)
	}
	return fmt.Errorf("not healthy in time; its log:\n%s", d.log.String())
}

// stop ends the daemon and removes its directory.
func (d *installation) stop() error {
	return errors.Join(d.down(), os.RemoveAll(d.dir))
}

// down ends the daemon as an operator does; up may follow.
func (d *installation) down() error {
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := d.command.Wait(); err != nil {
		return fmt.Errorf("stop: %w; its log:\n%s", err, d.log.String())
	}
	return nil
}

// kill ends the daemon as a power cut does; up may follow.
func (d *installation) kill() error {
	if err := d.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = d.command.Wait() // it says that the process was killed
	return nil
}

// process is the daemon or one of its plugins.
type process struct {
	name string
	pid  int
}

// processes returns the daemon, then its children.
func (d *installation) processes() ([]process, error) {
	pid := d.command.Process.Pid
	found := []process{{"daemon", pid}}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	for _, path := range stats {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		fields := afterName(content)
		if len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		child, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err != nil {
			return nil, err
		}
		executable, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", child))
		if err != nil {
			continue
		}
		found = append(found, process{"plugin " + filepath.Base(executable), child})
	}
	return found, nil
}

// afterName splits /proc/PID/stat behind the name, which may hold spaces:
// state, parent, ... (proc(5)).
func afterName(stat []byte) []string {
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// cpu returns the processor time used so far, in ticks of 10 ms.
func (p process) cpu() time.Duration {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return 0
	}
	fields := afterName(content)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// memory returns the resident and the proportional set size in MB.
func (p process) memory() (rss, pss float64) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.SplitSeq(string(content), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kilobytes, _ := strconv.ParseFloat(fields[1], 64)
		switch fields[0] {
		case "Rss:":
			rss = kilobytes / 1024
		case "Pss:":
			pss = kilobytes / 1024
		}
	}
	return rss, pss
}

// agent returns the id of the one warm process of the Claude CLI.
func (d *installation) agent() (int, error) {
	children, err := d.processes()
	if err != nil {
		return 0, err
	}
	var found []int
	for _, child := range children {
		arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child.pid))
		if err == nil && bytes.Contains(arguments, []byte("--input-format")) {
			found = append(found, child.pid)
		}
	}
	if len(found) != 1 {
		return 0, fmt.Errorf("%d processes of the Claude CLI are alive; want 1", len(found))
	}
	return found[0], nil
}
