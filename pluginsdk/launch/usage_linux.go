package launch

import (
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ticksPerSecond is USER_HZ, which is 100 on every architecture that Go has.
const ticksPerSecond = 100

// usage measures the process and what belongs to it. The lock keeps the
// process from being reaped, so that its number stays its own.
func (p *process) usage() (Usage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pid int
	switch {
	case p.attached != nil && !p.ended():
		pid = p.attached.pid
	case p.started && !p.reaped:
		pid = p.cmd.Process.Pid
	default:
		return Usage{}, errNoProcess()
	}
	var r procReader
	leader, ok := r.stat(pid)
	if !ok || leader.state == 'Z' || leader.state == 'X' {
		return Usage{}, errNoProcess()
	}
	usage := Usage{OpenFiles: openFiles(pid), Stopped: leader.state == 'T'} // t is a debugger's
	var ticks, pages int64
	for _, stat := range r.tree(leader, p.launcher.strays.of(pid, p.confine.mark)) {
		usage.Processes++
		ticks += stat.ticks
		pages += stat.pages
	}
	usage.CPUSeconds = float64(ticks) / ticksPerSecond
	usage.RSSBytes = pages * int64(os.Getpagesize())
	return usage, nil
}

// openFiles counts the file descriptors of a process. Since Linux 6.2 the
// directory's size is their number.
func openFiles(pid int) int {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err == nil && stat.Size > 0 {
		return int(stat.Size)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	return len(entries)
}

// tree returns the leader, what descends from it, and the strays with what
// descends from them.
func (r *procReader) tree(leader procStat, strays []procID) []procStat {
	seen := map[int]bool{leader.id.pid: true}
	found := []procStat{leader}
	add := func(pid int) (procStat, bool) {
		if seen[pid] || len(found) == maxTree {
			return procStat{}, false
		}
		stat, ok := r.stat(pid)
		return stat, ok
	}
	for _, stray := range strays {
		if stat, ok := add(stray.pid); ok && stat.id == stray {
			seen[stray.pid] = true
			found = append(found, stat)
		}
	}
	for next := 0; next < len(found); next++ {
		for _, pid := range r.children(found[next]) {
			if stat, ok := add(pid); ok {
				seen[pid] = true
				found = append(found, stat)
			}
		}
	}
	return found
}

// strayInterval is how old the knowledge of strays may be: to find them, all
// processes of the machine have to be looked at.
const strayInterval = 10 * time.Second

// strays knows what belongs to which start of a plugin, by its group or its
// mark. All plugins of a launcher share it.
type strays struct {
	mu     sync.Mutex
	at     time.Time
	groups map[int][]procID
	marks  map[string][]procID
}

// of returns what is of a group or has a mark, as it was a little while ago.
func (s *strays) of(group int, mark string) []procID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.at) > strayInterval {
		s.look()
		s.at = now
	}
	return append(append([]procID(nil), s.groups[group]...), s.marks[mark]...)
}

func (s *strays) look() {
	s.groups, s.marks = map[int][]procID{}, map[string][]procID{}
	var r procReader
	for _, pid := range allProcesses() {
		stat, ok := r.stat(pid)
		if !ok {
			continue
		}
		s.groups[stat.group] = append(s.groups[stat.group], stat.id)
		if mark := r.mark(pid); mark != "" {
			s.marks[mark] = append(s.marks[mark], stat.id)
		}
	}
}
