package launch

import (
	"os"
)

// escapeeRounds is how often escapees are looked for, as long as there are
// any: one that is killed may just have forked.
const escapeeRounds = 4

// killEscapees kills what carries the mark of a start and left its group:
// daemons that the plugin made of itself. One that has also thrown away its
// environment is found by its cgroup only.
func killEscapees(mark string) {
	var r procReader
	for range escapeeRounds {
		found := false
		for _, pid := range allProcesses() {
			if pid != os.Getpid() && r.mark(pid) == mark {
				found = r.kill(pid, mark) || found
			}
		}
		if !found {
			return
		}
	}
}

// kill kills a process that carries the mark, and reports whether it was
// there. The handle is taken first and the mark compared after: from then on
// it can mean no other process.
func (r *procReader) kill(pid int, mark string) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer process.Release() //nolint:errcheck // frees nothing but memory
	if r.mark(pid) != mark {
		return false
	}
	return process.Kill() == nil
}
