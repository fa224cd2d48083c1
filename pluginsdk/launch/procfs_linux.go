package launch

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// procID names a process for good: numbers are given out again, but not with
// the same start time.
type procID struct {
	pid   int
	start uint64
}

// procStat is what is read of /proc/PID/stat (proc_pid_stat(5)).
type procStat struct {
	id      procID
	state   byte
	group   int
	ticks   int64 // of processor time, with that of the children waited for
	threads int
	pages   int64 // resident
}

// procReader reads files of /proc. It does so by system calls, and keeps its
// buffer: a plugin's usage takes a file for every one of its threads, and
// package os (and with it github.com/prometheus/procfs) takes several times as
// long for each.
type procReader struct {
	buf []byte
}

// read returns a file's content, which the next read overwrites; nil when it
// cannot be read.
func (r *procReader) read(path string) []byte {
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

func procPath(pid int, file string) string { return "/proc/" + strconv.Itoa(pid) + "/" + file }

// stat returns false for a process that is not there.
func (r *procReader) stat(pid int) (procStat, bool) {
	data := r.read(procPath(pid, "stat"))
	// The second field, the name, may hold anything: the rest is after its
	// last parenthesis, beginning with the third field.
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return procStat{}, false
	}
	var fields [23][]byte
	n := 0
	for field := range bytes.FieldsSeq(data[end+1:]) {
		if n == len(fields) {
			break
		}
		fields[n] = field
		n++
	}
	if n < 22 {
		return procStat{}, false
	}
	number := func(field int) int64 {
		v, _ := strconv.ParseInt(string(fields[field-3]), 10, 64)
		return v
	}
	return procStat{
		id:      procID{pid: pid, start: uint64(number(22))},
		state:   fields[0][0],
		group:   int(number(5)),
		ticks:   number(14) + number(15) + number(16) + number(17),
		threads: int(number(20)),
		pages:   number(24),
	}, true
}

// children returns the processes that any thread of a process has forked.
func (r *procReader) children(parent procStat) []int {
	if parent.threads < 2 {
		return r.childrenOf(parent.id.pid, parent.id.pid)
	}
	var pids []int
	for _, tid := range numbersIn(procPath(parent.id.pid, "task")) {
		pids = append(pids, r.childrenOf(parent.id.pid, tid)...)
	}
	return pids
}

func (r *procReader) childrenOf(pid, tid int) []int {
	var pids []int
	for field := range bytes.FieldsSeq(r.read(procPath(pid, "task/"+strconv.Itoa(tid)+"/children"))) {
		if child, err := strconv.Atoi(string(field)); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// mark returns the mark in the environment that a process was started with,
// NAME=value; empty for none. Those of other users cannot be read.
func (r *procReader) mark(pid int) string {
	for entry := range bytes.SplitSeq(r.read(procPath(pid, "environ")), []byte{0}) {
		if bytes.HasPrefix(entry, []byte(startMark+"=")) {
			return string(entry)
		}
	}
	return ""
}

func allProcesses() []int { return numbersIn("/proc") }

// numbersIn returns those of a directory's names that are numbers.
func numbersIn(path string) []int {
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1) // what could be read is better than nothing
	var numbers []int
	for _, name := range names {
		if number, err := strconv.Atoi(name); err == nil {
			numbers = append(numbers, number)
		}
	}
	return numbers
}
