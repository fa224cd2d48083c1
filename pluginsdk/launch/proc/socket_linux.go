package proc

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// findSocket returns the TCP socket of this machine whose own address is from and whose other
// end is to. The kernel is asked for that one socket (sock_diag(7)); where it cannot tell, its
// table of all is read (proc_pid_net(5)), if from is an address of this machine.
func findSocket(from, to netip.AddrPort) (socket, bool) {
	if found, ok := askKernel(from, to); ok {
		return found, true
	}
	if !onThisMachine(from.Addr()) {
		return socket{}, false
	}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		if found, ok := findInTable(table, from, to); ok {
			return found, true
		}
	}
	return socket{}, false
}

const (
	diagByFamily = 20 // SOCK_DIAG_BY_FAMILY
	stateListen  = 10 // TCP_LISTEN
	header       = unix.SizeofNlMsghdr
	request      = 56 // struct inet_diag_req_v2
	reply        = 72 // struct inet_diag_msg
)

func askKernel(from, to netip.AddrPort) (socket, bool) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return socket{}, false
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Sendto(fd, question(from, to), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return socket{}, false
	}
	answer := make([]byte, 4<<10)
	n, err := receive(fd, answer)
	if err != nil || n < header+reply {
		return socket{}, false
	}
	kind := binary.NativeEndian.Uint16(answer[4:])
	message := answer[header:n]
	// A socket that listens on the address is found too; it is no end of the connection.
	if kind != diagByFamily || message[1] == stateListen {
		return socket{}, false
	}
	return socketOf(binary.NativeEndian.Uint32(message[64:]), uint64(binary.NativeEndian.Uint32(message[68:]))), true
}

func receive(fd int, into []byte) (n int, err error) {
	for {
		n, _, err = unix.Recvfrom(fd, into, 0)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// question is a request for one socket, in the shapes of linux/inet_diag.h.
func question(from, to netip.AddrPort) []byte {
	q := make([]byte, header+request)
	binary.NativeEndian.PutUint32(q[0:], uint32(len(q)))
	binary.NativeEndian.PutUint16(q[4:], diagByFamily)
	binary.NativeEndian.PutUint16(q[6:], unix.NLM_F_REQUEST)
	body := q[header:]
	body[0], body[1] = unix.AF_INET, unix.IPPROTO_TCP
	if from.Addr().Is6() {
		body[0] = unix.AF_INET6
	}
	binary.NativeEndian.PutUint32(body[4:], ^uint32(0)) // in any state
	id := body[8:]
	binary.BigEndian.PutUint16(id[0:], from.Port())
	binary.BigEndian.PutUint16(id[2:], to.Port())
	copy(id[4:20], from.Addr().AsSlice())
	copy(id[20:36], to.Addr().AsSlice())
	binary.NativeEndian.PutUint64(id[40:], ^uint64(0)) // no cookie
	return q
}

func socketOf(user uint32, inode uint64) socket {
	if inode == 0 {
		return socket{user: user}
	}
	return socket{link: "socket:[" + strconv.FormatUint(inode, 10) + "]", user: user}
}

func findInTable(table string, from, to netip.AddrPort) (socket, bool) {
	var r Reader
	for line := range bytes.Lines(r.read(table)) {
		fields := fieldsOf(line)
		if len(fields) < 10 || !isAddress(fields[1], from) || !isAddress(fields[2], to) {
			continue
		}
		user, err := strconv.ParseUint(fields[7], 10, 32)
		inode, wrong := strconv.ParseUint(fields[9], 10, 64)
		if errors.Join(err, wrong) == nil {
			return socketOf(uint32(user), inode), true
		}
	}
	return socket{}, false
}

// isAddress reads an address as the table shows it: words of 32 bits in the machine's order,
// a colon, the port.
func isAddress(text string, want netip.AddrPort) bool {
	address, port, _ := bytes.Cut([]byte(text), []byte(":"))
	number, err := strconv.ParseUint(string(port), 16, 16)
	if err != nil || uint16(number) != want.Port() {
		return false
	}
	shown, err := hex.DecodeString(string(address))
	if err != nil {
		return false
	}
	for word := range slices.Chunk(shown, 4) {
		if len(word) == 4 {
			binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
		}
	}
	have, ok := netip.AddrFromSlice(shown)
	return ok && have.Unmap() == want.Addr()
}
