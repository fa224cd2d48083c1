package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// process is an entry of /proc that carries the installation's mark.
type process struct {
	pid     int
	started string // tells two processes of one id apart
	command string
	name    string // base of argv[0]
}

// marked returns the processes whose environment holds mark (NAME=VALUE).
// Those that have ended and were not yet waited for have none.
func marked(mark string) (found []process) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well formed
	for _, path := range environs {
		environ, err := os.ReadFile(path)
		if err != nil || !slices.Contains(strings.Split(string(environ), "\x00"), mark) {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat, ok := readStat(pid)
		command, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if !ok || err != nil || stat.state == "Z" {
			continue
		}
		args := strings.Split(strings.TrimRight(string(command), "\x00"), "\x00")
		found = append(found, process{pid: pid, started: stat.started, command: strings.Join(args, " "), name: filepath.Base(args[0])})
	}
	return found
}

type stat struct {
	state, started string
	parent         int
}

// readStat reads /proc/PID/stat; the fields are those of proc(5).
func readStat(pid int) (stat, bool) {
	content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, false
	}
	// Behind the name, which may hold spaces and parentheses.
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	const starttime = 19
	if len(fields) <= starttime {
		return stat{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	return stat{state: fields[0], started: fields[starttime], parent: parent}, err == nil
}

// descends reports whether a process has ancestor above it.
func descends(pid, ancestor int) bool {
	for pid > 1 {
		if pid == ancestor {
			return true
		}
		s, ok := readStat(pid)
		if !ok {
			return false
		}
		pid = s.parent
	}
	return false
}
