package launch

import (
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// ticksPerSecond is USER_HZ, which is 100 on every architecture that Go has.
const ticksPerSecond = 100

// readers are kept for their buffers: a daemon that rests would make a new one every half second.
var readers = sync.Pool{New: func() any { return new(proc.Reader) }}

// usage measures the process and what belongs to it. A child is not waited for meanwhile,
// so that its number stays its own.
func (p *process) usage() (usage Usage, err error) {
	err = errNoProcess()
	p.held(func(pid int) { usage, err = p.measure(pid) })
	return usage, err
}

// glance looks at the process as usage does.
func (p *process) glance() (seen Glance, err error) {
	err = errNoProcess()
	r := readers.Get().(*proc.Reader)
	defer readers.Put(r)
	p.held(func(pid int) {
		if leader, ok := r.Stat(pid); ok && !leader.Dead() {
			seen, err = Glance{leader.Ticks, leader.Resident, leader.Threads, isStopped(leader)}, nil
		}
	})
	return seen, err
}

// held calls look with the number of the process, which stays its own meanwhile; not when it has
// ended.
func (p *process) held(look func(pid int)) {
	switch group := p.ownGroup(); {
	case p.attached != nil && !p.ended():
		look(p.attached.pid)
	case group != nil:
		group.Hold(look)
	}
}

// isStopped leaves out t, which is a debugger's.
func isStopped(leader proc.Stat) bool { return leader.State == 'T' }

func (p *process) measure(pid int) (Usage, error) {
	r := readers.Get().(*proc.Reader)
	defer readers.Put(r)
	leader, ok := r.Stat(pid)
	if !ok || leader.Dead() {
		return Usage{}, errNoProcess()
	}
	usage := Usage{OpenFiles: openFiles(pid), Stopped: isStopped(leader)}
	var ticks int64
	for _, stat := range tree(r, leader, p.launcher.strays.of(pid, p.confine.mark)) {
		usage.Processes++
		ticks += stat.Ticks
		usage.RSSBytes += stat.Resident
	}
	usage.CPUSeconds = float64(ticks) / ticksPerSecond
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
func tree(r *proc.Reader, leader proc.Stat, strays []proc.ID) []proc.Stat {
	seen := map[int]bool{leader.ID.PID: true}
	found := []proc.Stat{leader}
	add := func(pid int) (proc.Stat, bool) {
		if seen[pid] || len(found) == maxTree {
			return proc.Stat{}, false
		}
		return r.Stat(pid)
	}
	for _, stray := range strays {
		if stat, ok := add(stray.PID); ok && stat.ID == stray {
			seen[stray.PID] = true
			found = append(found, stat)
		}
	}
	for next := 0; next < len(found); next++ {
		for _, pid := range r.Children(found[next]) {
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
	groups map[int][]proc.ID
	marks  map[string][]proc.ID
}

// of returns what is of a group or has a mark, as it was a little while ago.
func (s *strays) of(group int, mark string) []proc.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.at) > strayInterval {
		s.look()
		s.at = now
	}
	return append(append([]proc.ID(nil), s.groups[group]...), s.marks[mark]...)
}

func (s *strays) look() {
	s.groups, s.marks = map[int][]proc.ID{}, map[string][]proc.ID{}
	var r proc.Reader
	for _, pid := range proc.All() {
		stat, ok := r.Stat(pid)
		if !ok {
			continue
		}
		s.groups[stat.Group] = append(s.groups[stat.Group], stat.ID)
		if mark, _ := r.Variable(pid, startMark); mark != "" {
			s.marks[mark] = append(s.marks[mark], stat.ID)
		}
	}
}
