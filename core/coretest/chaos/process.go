package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// process is an entry of /proc that belongs to the installation.
type process struct {
	pid     int
	started string // tells two processes of one id apart
	command string
	name    string // base of argv[0]
	marked  bool   // its environment holds the installation's mark
}

// processesOf returns the processes whose environment holds mark (NAME=VALUE;
// empty: none does yet), and those without it that run a program of dir or work
// there. Those that have ended and were not yet waited for are left out.
func processesOf(mark, dir string) (found []process) {
	entries, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well formed
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(entry, "environ")) // somebody else's, or gone
		marked := mark != "" && slices.Contains(strings.Split(string(environ), "\x00"), mark)
		if !marked && !within(filepath.Join(entry, "exe"), dir) && !within(filepath.Join(entry, "cwd"), dir) {
			continue
		}
		stat, ok := readStat(pid)
		command, err := os.ReadFile(filepath.Join(entry, "cmdline"))
		if !ok || err != nil || stat.state == "Z" {
			continue
		}
		args := strings.Split(strings.TrimRight(string(command), "\x00"), "\x00")
		found = append(found, process{
			pid: pid, started: stat.started, command: strings.Join(args, " "), name: filepath.Base(args[0]), marked: marked,
		})
	}
	return found
}

// within reports whether a symbolic link points to dir or into it.
func within(link, dir string) bool {
	target, err := os.Readlink(link)
	return err == nil && strings.HasPrefix(target+"/", dir+"/")
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
