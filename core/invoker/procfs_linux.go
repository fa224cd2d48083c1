package invoker

import (
	"bytes"
	"os"
	"strconv"
)

// procStat is what is read of /proc/PID/stat (proc_pid_stat(5)).
type procStat struct {
	id     procID
	parent int
	zombie bool
	rss    int64 // resident memory in bytes
}

func readStat(pid int) (procStat, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, false
	}
	// The second field, the name, may hold anything: the rest is after its
	// last parenthesis, beginning with the third field.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 22 {
		return procStat{}, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return procStat{}, false
	}
	pages, err := strconv.ParseInt(string(fields[21]), 10, 64)
	if err != nil {
		return procStat{}, false
	}
	return procStat{
		rss:    pages * int64(os.Getpagesize()),
		id:     procID{pid: pid, start: string(fields[19])},
		parent: parent,
		zombie: string(fields[0]) == "Z" || string(fields[0]) == "X",
	}, true
}

// alive reports whether that process still runs. A zombie does not.
func alive(id procID) bool {
	stat, ok := readStat(id.pid)
	return ok && stat.id == id && !stat.zombie
}

func allProcesses() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// descendants returns the processes below pid, as far as their parents live.
func descendants(pid int) []procID {
	var found []procID
	for _, stat := range readFamilies().below(pid) {
		found = append(found, stat.id)
	}
	return found
}

// families are the processes there are, by the number of their parent.
type families map[int][]procStat

func readFamilies() families {
	children := families{}
	for _, pid := range allProcesses() {
		if stat, ok := readStat(pid); ok {
			children[stat.parent] = append(children[stat.parent], stat)
		}
	}
	return children
}

// below returns the processes below pid.
func (f families) below(pid int) []procStat {
	var found []procStat
	queue := []int{pid}
	for len(queue) > 0 {
		for _, child := range f[queue[0]] {
			found = append(found, child)
			queue = append(queue, child.id.pid)
		}
		queue = queue[1:]
	}
	return found
}

// footprints returns the resident memory of those of the processes that are
// there.
func footprints(pids []int) map[int]footprint {
	sizes := map[int]footprint{}
	children := readFamilies()
	for _, pid := range pids {
		stat, ok := readStat(pid)
		if !ok {
			continue
		}
		size := footprint{own: stat.rss, tree: stat.rss}
		for _, below := range children.below(pid) {
			size.tree += below.rss
		}
		sizes[pid] = size
	}
	return sizes
}

// ancestors returns the processes above pid.
func ancestors(pid int) map[int]bool {
	above := map[int]bool{}
	for {
		stat, ok := readStat(pid)
		if !ok || stat.parent == 0 || above[stat.parent] {
			return above
		}
		above[stat.parent] = true
		pid = stat.parent
	}
}

// marked returns the processes whose environment, as it was when they were
// started, has the entry. Those of other users cannot be read and are not ours.
func marked(entry string) []procID {
	want := []byte(entry)
	var found []procID
	for _, pid := range allProcesses() {
		environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err != nil || !hasEntry(environ, want) {
			continue
		}
		if stat, ok := readStat(pid); ok && !stat.zombie {
			found = append(found, stat.id)
		}
	}
	return found
}

func hasEntry(environ, entry []byte) bool {
	for have := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.Equal(have, entry) {
			return true
		}
	}
	return false
}
