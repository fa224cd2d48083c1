package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// installation is a daemon in a process of its own, on a directory of its own.
type installation struct {
	base    string
	dir     string
	boot    time.Duration
	command *exec.Cmd
	log     bytes.Buffer
}

// start runs bin/harness with the demo agent, unless env says otherwise, and
// returns once it is healthy.
func start(env []string) (*installation, error) {
	dir, err := os.MkdirTemp("", "harness-bench")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		return nil, err
	}
	d := &installation{base: fmt.Sprintf("http://127.0.0.1:%d", port), dir: dir}
	d.command = exec.Command(filepath.Join("bin", "harness"), "up", "--data", dir, "--port", strconv.Itoa(port))
	d.command.Env = append(append(os.Environ(), "HARNESS_AGENT=demo", "HARNESS_LOG_LEVEL=warn"), env...)
	d.command.Stderr = &d.log
	began := time.Now()
	if err := d.command.Start(); err != nil {
		return nil, err
	}
	if err := d.healthy(began.Add(30 * time.Second)); err != nil {
		return nil, errors.Join(err, d.stop())
	}
	d.boot = time.Since(began)
	return d, nil
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

func (d *installation) stop() error {
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := d.command.Wait()
	if err != nil {
		err = fmt.Errorf("stop: %w; its log:\n%s", err, d.log.String())
	}
	return errors.Join(err, os.RemoveAll(d.dir))
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
