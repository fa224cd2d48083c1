package run

import "syscall"

// attributes put a program into a group of its own, and have it end with this process.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
