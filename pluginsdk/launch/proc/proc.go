// Package proc is what those have in common who start processes that may misbehave: it
// reads what the system says of processes, signals one or a whole group without ever
// hitting another that was given its number, and forks from a thread that stays.
//
// It is a mechanism of hosts (pluginsdk/launch, and Harness's own rooms), and no part of
// the contract with plugins: it may change with any version.
//
// What it reads is /proc, and so there on Linux only. Elsewhere no process is found: ID
// is not alive, Reader knows nothing, and what has left its group is left alone.
package proc

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ID names a process for good: numbers are given out again, but not with the same start
// time.
type ID struct {
	PID   int
	Start uint64 // in the clock of /proc
}

// Alive reports whether that very process still runs. One that has ended and was not yet
// waited for does not.
func (id ID) Alive() bool {
	var r Reader
	stat, ok := r.Stat(id.PID)
	return ok && stat.ID == id && !stat.Dead()
}

// Signal signals that very process, and reports whether it was there.
func (id ID) Signal(signal os.Signal) bool {
	// The handle is taken first and the start time compared after: from then on it can
	// mean no other process.
	process, err := os.FindProcess(id.PID)
	if err != nil {
		return false
	}
	defer process.Release() //nolint:errcheck // frees nothing but memory
	return id.Alive() && process.Signal(signal) == nil
}

// Stat is what is read of /proc/PID/stat (proc_pid_stat(5)).
type Stat struct {
	ID      ID
	State   byte // as ps(1) shows it
	Parent  int
	Group   int
	Threads int
	Ticks   int64 // hundredths of a second of processor time, with that of the children waited for
	// Virtual is the bytes of its address space: 0 only of a thread of the kernel, and of
	// what is ending.
	Virtual int64
	// Resident is the bytes of memory; a page counts in each process that shares it. Linux
	// counts by processor and may show 0 for one that is small.
	Resident int64
}

// Dead reports whether the process has ended and was not yet waited for.
func (s Stat) Dead() bool { return s.State == 'Z' || s.State == 'X' }

// Reader reads files of /proc. It does so by system calls, and keeps its buffer: a
// plugin's usage takes a file for every one of its threads, and package os (and with it
// github.com/prometheus/procfs) takes several times as long for each. The zero Reader is
// ready; one must not be used by several goroutines at a time.
type Reader struct {
	buf []byte
}

// read returns a file's content, which the next read overwrites; nil when it cannot be
// read.
func (r *Reader) read(path string) []byte {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }()
	if r.buf == nil {
		r.buf = make([]byte, 4<<10)
	}
	size := 0
	for {
		n, err := unix.Read(fd, r.buf[size:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil
		}
		if n == 0 {
			return r.buf[:size]
		}
		if size += n; size == len(r.buf) {
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
	}
}

func path(pid int, file string) string { return "/proc/" + strconv.Itoa(pid) + "/" + file }

// Stat returns false for a process that is not there.
func (r *Reader) Stat(pid int) (Stat, bool) {
	data := r.read(path(pid, "stat"))
	// The second field, the name, may hold anything: the rest is after its last
	// parenthesis, beginning with the third field.
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return Stat{}, false
	}
	var fields [22][]byte
	n := 0
	for field := range bytes.FieldsSeq(data[end+1:]) {
		if n == len(fields) {
			break
		}
		fields[n] = field
		n++
	}
	if n < len(fields) {
		return Stat{}, false
	}
	number := func(field int) int64 {
		v, _ := strconv.ParseInt(string(fields[field-3]), 10, 64)
		return v
	}
	return Stat{
		ID:       ID{PID: pid, Start: uint64(number(22))},
		State:    fields[0][0],
		Parent:   int(number(4)),
		Group:    int(number(5)),
		Threads:  int(number(20)),
		Ticks:    number(14) + number(15) + number(16) + number(17),
		Virtual:  number(23),
		Resident: number(24) * int64(os.Getpagesize()),
	}, true
}

// Name returns the name of a process as ps(1) shows it; empty: it is not there.
func (r *Reader) Name(pid int) string {
	return string(bytes.TrimSpace(r.read(path(pid, "comm"))))
}

// Children returns the processes that any thread of a process has forked.
func (r *Reader) Children(parent Stat) []int {
	if parent.Threads < 2 {
		return r.childrenOf(parent.ID.PID, parent.ID.PID)
	}
	var pids []int
	for _, tid := range numbersIn(path(parent.ID.PID, "task")) {
		pids = append(pids, r.childrenOf(parent.ID.PID, tid)...)
	}
	return pids
}

func (r *Reader) childrenOf(pid, tid int) []int {
	var pids []int
	for field := range bytes.FieldsSeq(r.read(path(pid, "task/"+strconv.Itoa(tid)+"/children"))) {
		if child, err := strconv.Atoi(string(field)); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// Variable returns a variable of the environment that a process was started with, as
// NAME=value; empty for none. known is false when there is no environment to be read: of
// another user's process, of one that is just becoming another program (execve(2)), or
// of one that has ended.
func (r *Reader) Variable(pid int, name string) (entry string, known bool) {
	environ := r.read(path(pid, "environ"))
	for have := range bytes.SplitSeq(environ, []byte{0}) {
		if len(have) > len(name) && have[len(name)] == '=' && string(have[:len(name)]) == name {
			return string(have), true
		}
	}
	return "", len(environ) > 0
}

// All returns the numbers of all processes.
func All() []int { return numbersIn("/proc") }

// Marked returns the living processes that were started with the variable NAME=value in
// their environment. Those of other users cannot be read and are not found.
func Marked(name, value string) []ID {
	var r Reader
	var found []ID
	for _, pid := range All() {
		// The process is named before its mark is read: what has its number later has
		// another name.
		stat, ok := r.Stat(pid)
		if !ok || stat.Dead() {
			continue
		}
		if entry, _ := r.Variable(pid, name); entry == name+"="+value {
			found = append(found, stat.ID)
		}
	}
	return found
}

// numbersIn returns those of a directory's names that are numbers.
func numbersIn(path string) []int {
	names, _ := namesIn(path) // what could be read is better than nothing
	var numbers []int
	for _, name := range names {
		if number, err := strconv.Atoi(name); err == nil {
			numbers = append(numbers, number)
		}
	}
	return numbers
}
