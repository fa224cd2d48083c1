//go:build !unix

package invoker

import (
	"os"
	"syscall"
)

// terminateSignal is the only signal that can be sent here.
var terminateSignal = os.Kill

func processAttributes() *syscall.SysProcAttr { return nil }

func killGroup(process *os.Process) { _ = process.Kill() }

// awaitEnd cannot be had here: for a moment after its end a process's number is
// free and not yet given up.
func awaitEnd(int) bool { return false }
