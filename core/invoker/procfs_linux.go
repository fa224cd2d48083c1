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
}

func readStat(pid int) (procStat, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, false
	}
	// The second field, the name, may hold anything: the rest is after its
	// last parenthesis, beginning with the third field.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return procStat{}, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return procStat{}, false
	}
	return procStat{
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
	children := map[int][]procStat{}
	for _, other := range allProcesses() {
		if stat, ok := readStat(other); ok {
			children[stat.parent] = append(children[stat.parent], stat)
		}
	}
	var found []procID
	queue := []int{pid}
	for len(queue) > 0 {
		for _, child := range children[queue[0]] {
			found = append(found, child.id)
			queue = append(queue, child.id.pid)
		}
		queue = queue[1:]
	}
	return found
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
