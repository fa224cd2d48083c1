package client

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// ownListener reports whether the program that listens at a port of this machine is this user's
// or root's (proc_pid_net(5), tcp). What cannot be found out is not.
func ownListener(port, _ string) bool {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return false
	}
	suffix := ":" + strings.ToUpper(strconv.FormatUint(0x10000|number, 16)[1:])
	found := false
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, uid := range listeners(table, suffix) {
			if found = true; uid != os.Geteuid() && uid != 0 {
				return false
			}
		}
	}
	return found
}

const stateListen = "0A"

// listeners returns the users of the sockets of a table that listen at an address with this end.
func listeners(table, suffix string) (uids []int) {
	file, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || fields[3] != stateListen || !strings.HasSuffix(fields[1], suffix) {
			continue
		}
		if uid, err := strconv.Atoi(fields[7]); err == nil {
			uids = append(uids, uid)
		}
	}
	return uids
}
