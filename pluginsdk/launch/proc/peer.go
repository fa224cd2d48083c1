package proc

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
)

// Standing is where the process at the other end of a connection stands to a daemon.
type Standing int

const (
	// Unseen says that no process of this machine is seen to hold the other end: it was
	// closed, or is hidden.
	Unseen Standing = iota
	// Below says that a descendant of the daemon holds the other end.
	Below
	// Beside says that a process of this machine holds the other end that is no descendant
	// of the daemon.
	Beside
	// Away says that the other end is on another machine.
	Away
)

// self is this process.
var self = os.Getpid()

// maxHolders is how many processes are remembered that have held the other end.
const maxHolders = 32

// Peers finds out who is at the other end of TCP connections. It is safe for concurrent use.
//
// It goes by who holds the socket, and by no mark that a process can drop. A socket that is
// not held by a process that can be looked at is Unseen, so that it does not help to hide:
// to close the descriptor, to have it on its way through another socket, or to close the
// process to others (PR_SET_DUMPABLE). A process of another user, or one that is closed to
// others as sshd is, cannot be looked at either; it stands for the sockets of its user as
// long as all descendants of the daemon can be looked at.
type Peers struct {
	daemon ID

	mu      sync.Mutex
	holders []holder // that were beside the daemon, the latest last
}

// holder is a process that has held the other end of a connection, and its descriptor.
type holder struct {
	ID

	descriptor string
}

// NewPeers returns Peers for a daemon; nil where processes cannot be looked at (there is no
// /proc).
func NewPeers(daemon int) *Peers {
	id, ok := Of(daemon)
	if !ok {
		return nil
	}
	return &Peers{daemon: id}
}

// Peer returns where the process stands that has connected from remote to local.
func (p *Peers) Peer(local, remote netip.AddrPort) Standing {
	local, remote = unmapped(local), unmapped(remote)
	socket, found := findSocket(remote, local)
	switch {
	case !found && !onThisMachine(remote.Addr()):
		return Away
	case !found || socket.link == "":
		return Unseen
	}
	var r Reader
	if p.remembered(&r, socket) {
		return Beside
	}
	return p.search(&r, socket)
}

// socket is the other end of a connection on this machine.
type socket struct {
	link string // as descriptors show it; empty: no descriptor can lead to it any more
	user uint32
}

// remembered reports whether a process holds the socket that was beside the daemon when it held
// such a one before. It still is: a process that is orphaned becomes the child of one of its own
// ancestors, or of the first process.
func (p *Peers) remembered(r *Reader, socket socket) bool {
	p.mu.Lock()
	holders := slices.Clone(p.holders)
	p.mu.Unlock()
	for _, one := range slices.Backward(holders) { // mostly it is the same connection
		if leads(path(one.PID, "fd/"+one.descriptor), socket.link) && one.Alive() {
			return true
		}
	}
	for _, one := range slices.Backward(holders) {
		if descriptor, _ := r.descriptor(one.PID, socket.link); descriptor != "" && one.Alive() {
			p.remember(holder{one.ID, descriptor})
			return true
		}
	}
	return false
}

// search looks at all processes, the newest first. The first one that holds the socket
// decides: no descendant of the daemon has inherited it from outside. A process that the daemon
// has just forked holds all sockets of the daemon until it executes a program: what the daemon
// itself holds is the daemon's. This process has the near end, and is no client of itself.
func (p *Peers) search(r *Reader, socket socket) Standing {
	open := true // the daemon's descendants can all be looked at
	pids := All()
	slices.Sort(pids)
	hidden := false // a process that may hold it cannot be looked at
	for _, pid := range slices.Backward(pids) {
		if pid == self {
			continue
		}
		descriptor, known := r.descriptor(pid, socket.link)
		held := descriptor != ""
		if !held && known {
			continue
		}
		stat, ok := r.Stat(pid)
		below, sure := r.Below(pid, p.daemon)
		switch {
		case !ok || !sure, stat.Dead() && stat.Threads <= 1:
		case held && below:
			if own, _ := r.descriptor(p.daemon.PID, socket.link); own == "" {
				return Below
			}
		case held:
			p.remember(holder{stat.ID, descriptor})
			return Beside
		case below:
			open = false
		case pid != p.daemon.PID && r.actsFor(pid, socket.user):
			hidden = true
		}
	}
	if hidden && open {
		return Beside
	}
	return Unseen
}

func (p *Peers) remember(one holder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holders = slices.DeleteFunc(p.holders, func(old holder) bool { return old.ID == one.ID || !old.Alive() })
	p.holders = append(p.holders, one)
	if over := len(p.holders) - maxHolders; over > 0 {
		p.holders = slices.Delete(p.holders, 0, over)
	}
}

func unmapped(address netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(address.Addr().Unmap().WithZone(""), address.Port())
}

// onThisMachine reports whether an address is one of this machine's.
func onThisMachine(address netip.Addr) bool {
	if address.IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true // so that nobody is let in for that
	}
	return slices.ContainsFunc(own, func(one net.Addr) bool {
		network, ok := one.(*net.IPNet)
		if !ok {
			return false
		}
		has, ok := netip.AddrFromSlice(network.IP)
		return ok && has.Unmap() == address
	})
}
