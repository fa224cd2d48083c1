package conform

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// child is a process as /proc shows it.
type child struct {
	pid, group int
	name       string
	resident   int64 // bytes
}

func (c child) String() string { return fmt.Sprintf("%s (process %d)", c.name, c.pid) }

// seesProcesses reports whether this system shows processes in /proc.
func seesProcesses() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

// processes returns the living processes that match.
func processes(match func(child) bool) []child {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	var found []child
	for _, path := range stats {
		if c, alive := readProcess(path); alive && match(c) {
			found = append(found, c)
		}
	}
	return found
}

// readProcess reads proc_pid_stat(5). What has ended and was not yet waited
// for does not live.
func readProcess(path string) (c child, alive bool) {
	stat, err := os.ReadFile(path)
	if err != nil {
		return c, false
	}
	head, rest, ok := strings.Cut(string(stat), " (")
	end := strings.LastIndex(rest, ") ")
	if !ok || end < 0 {
		return c, false
	}
	fields := strings.Fields(rest[end+2:])
	if len(fields) < 22 || fields[0] == "Z" || fields[0] == "X" {
		return c, false
	}
	c.name = rest[:end]
	c.pid, _ = strconv.Atoi(head)
	c.group, _ = strconv.Atoi(fields[2])
	pages, _ := strconv.ParseInt(fields[21], 10, 64)
	c.resident = pages * int64(os.Getpagesize())
	return c, true
}

// marked returns the living processes that have the mark in their environment.
func marked(mark string) []child {
	variable := []byte(OwnerVariable + "=" + mark)
	return processes(func(c child) bool {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.pid))
		if err != nil {
			return false
		}
		for _, entry := range bytes.Split(environ, []byte{0}) {
			if bytes.Equal(entry, variable) {
				return true
			}
		}
		return false
	})
}

// leftOf returns the living processes of a group, and those with the mark,
// without the group's leader.
func leftOf(group int, mark string) []child {
	left := processes(func(c child) bool { return c.group == group && c.pid != group })
	for _, c := range marked(mark) {
		if c.group != group {
			left = append(left, c)
		}
	}
	return left
}

// killMarked ends what has the mark. Where /proc is missing, it finds nothing.
func killMarked(mark string) {
	for _, c := range marked(mark) {
		// It may have ended meanwhile.
		_ = syscall.Kill(c.pid, syscall.SIGKILL)
	}
}

// gone reports whether a process has ended.
func gone(pid int) bool {
	if seesProcesses() {
		_, alive := readProcess(fmt.Sprintf("/proc/%d/stat", pid))
		return !alive
	}
	return syscall.Kill(pid, 0) != nil
}

func names(children []child) string {
	texts := make([]string, len(children))
	for n, c := range children {
		texts[n] = c.String()
	}
	return strings.Join(texts, ", ")
}
