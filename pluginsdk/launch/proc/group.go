package proc

import (
	"os"
	"sync"
	"syscall"
)

// Group is a process group whose leader is a child of this process (Attributes). Its
// number is the leader's, and can become another group's only when the leader has been
// waited for: so whoever waits for it does so by Wait, and nothing is signalled after
// that. It is safe for concurrent use.
type Group struct {
	leader *os.Process

	mu   sync.Mutex
	over bool // the number may be another's any time
}

// Lead returns the group of a child that was started with Attributes.
func Lead(leader *os.Process) *Group { return &Group{leader: leader} }

// Signal sends a signal to all processes of the group, unless Wait is about to give up
// its number, or has. SIGKILL reaches the leader also when it has left the group.
func (g *Group) Signal(signal syscall.Signal) {
	g.Hold(func(pid int) { g.signal(pid, signal) })
}

func (g *Group) signal(pid int, signal syscall.Signal) {
	_ = syscall.Kill(-pid, signal) // the group may be gone already
	if signal == syscall.SIGKILL {
		_ = g.leader.Kill()
	}
}

// Hold calls use with the group's number as long as that is the group's, and reports
// whether it was. The leader may have ended; it is not waited for until use returns.
func (g *Group) Hold(use func(pid int)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		use(g.leader.Pid)
	}
	return !g.over
}

// Wait waits until the leader has ended, then calls ended, gives up the group's number,
// and calls reap, which is to wait for the leader; it returns reap's error. In ended,
// which may be nil, the number is still the group's, and kill kills what is left of it.
// Where the end of a child cannot be seen before it is reaped (macOS), ended is called
// right after reap, and for that moment the number is held by what is left of the group
// only. Wait is called once.
func (g *Group) Wait(ended func(pid int, kill func()), reap func() error) error {
	call := func() {
		if ended != nil {
			ended(g.leader.Pid, func() { g.signal(g.leader.Pid, syscall.SIGKILL) })
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.over = true
	}
	if awaitEnd(g.leader.Pid) {
		call()
		return reap()
	}
	err := reap()
	call()
	return err
}
