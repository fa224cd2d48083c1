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
