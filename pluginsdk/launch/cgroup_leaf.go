package launch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// leafTime bounds the wait for the last process of a killed cgroup.
const leafTime = 2 * time.Second

// cpuPeriod is what CPUPercent is measured over, in microseconds: the kernel's
// own default.
const cpuPeriod = 100_000

// leaf is the cgroup of one start of a plugin.
type leaf struct {
	dir   string
	rmdir func(dir string) error
}

// newLeaf makes a cgroup with limits.
func (c *Cgroups) newLeaf(label string, limits Limits) (*leaf, error) {
	dir := filepath.Join(c.dir, c.name+"."+fileName(label)+"."+strings.ToLower(rand.Text()[:8]))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make a cgroup: %w", err)
	}
	l := &leaf{dir: dir, rmdir: c.rmdir}
	if err := l.limit(limits); err != nil {
		return nil, errors.Join(err, l.remove())
	}
	return l, nil
}

func (l *leaf) limit(limits Limits) error {
	if limits.MemoryBytes > 0 {
		if err := write(l.dir, "memory.max", strconv.FormatInt(limits.MemoryBytes, 10)); err != nil {
			return err
		}
		// Absent when the kernel does not account for swap. A plugin whose
		// processes die one by one would be half alive: all or none.
		for file, value := range map[string]string{"memory.swap.max": "0", "memory.oom.group": "1"} {
			if err := write(l.dir, file, value); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
				return err
			}
		}
	}
	if limits.Processes > 0 {
		if err := write(l.dir, "pids.max", strconv.Itoa(limits.Processes)); err != nil {
			return err
		}
	}
	if limits.CPUPercent > 0 {
		return write(l.dir, "cpu.max", fmt.Sprintf("%d %d", limits.CPUPercent*cpuPeriod/100, cpuPeriod))
	}
	return nil
}

// add moves a process in.
func (l *leaf) add(pid int) error { return write(l.dir, "cgroup.procs", strconv.Itoa(pid)) }

// outOfMemory reports whether the kernel killed a process of the cgroup for
// its limit.
func (l *leaf) outOfMemory() bool {
	events, err := os.ReadFile(filepath.Join(l.dir, "memory.events"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(events)) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			return strings.TrimSpace(count) != "0"
		}
	}
	return false
}

// remove kills what is in the cgroup and removes it, with those that the
// plugin may have made below it.
func (l *leaf) remove() error {
	if err := write(l.dir, "cgroup.kill", "1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	deadline := time.Now().Add(leafTime)
	for {
		err := l.removeTree(l.dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove a cgroup: %w", err)
		}
		// The kernel refuses (EBUSY) until the killed are gone, and tells nobody.
		<-time.After(2 * time.Millisecond)
	}
}

func (l *leaf) removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := l.removeTree(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	return l.rmdir(dir)
}

// fileName is a label, which may be a path, as a part of a file's name.
func fileName(label string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, filepath.Base(label))
	return name[:min(len(name), 40)]
}
