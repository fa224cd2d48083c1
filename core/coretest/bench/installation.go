package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	daemon "github.com/seed-706843ae/harness/core/coretest/installation"
)

// installation is what is measured.
type installation struct {
	daemon.Installation
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
	d := newInstallation(program, dir)
	if err := d.up(env); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return d, nil
}

// newInstallation is one that is down, of a program beside its plugins.
func newInstallation(program, dir string) *installation {
	return &installation{daemon.Installation{Program: program, Dir: dir}}
}

// up starts the daemon with the demo agent, unless env says otherwise, and returns once
// it is healthy. Its log begins anew.
func (d *installation) up(env []string) error {
	d.Log.Reset()
	d.Env = append(append(os.Environ(), "HARNESS_AGENT=demo", "HARNESS_LOG_LEVEL=warn"), env...)
	return d.Up()
}

// stop ends the daemon and removes its directory.
func (d *installation) stop() error {
	return errors.Join(d.Down(), os.RemoveAll(d.Dir))
}

// process is the daemon or one of its plugins.
type process struct {
	name string
	pid  int
}

// processes returns the daemon, then its children.
func (d *installation) processes() ([]process, error) {
	pid := d.PID()
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
		name := filepath.Base(executable)
		if name == "harness-plugins" { // it is the plugin of its own name
			arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
			if err != nil {
				continue
			}
			name, _, _ = strings.Cut(string(arguments), "\x00")
			name = filepath.Base(name)
		}
		found = append(found, process{"plugin " + name, child})
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
