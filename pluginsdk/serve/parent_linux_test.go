package serve

import (
	"os"
	"os/exec"
	"testing"
)

func TestTheEndOfAProcessIsAwaited(t *testing.T) {
	other := exec.Command("sleep", "infinity")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	there := func() bool {
		if !alive(other.Process.Pid) {
			t.Error("the process has ended before it was waited for")
		}
		if err := other.Process.Kill(); err != nil { // awaitEnd has opened it by now
			t.Error(err)
		}
		return true
	}
	if told := awaitEnd(there, os.Getpid(), other.Process.Pid); !told {
		t.Error("the kernel has not told of the end")
	}
	_ = other.Wait()
	if awaitEnd(func() bool { return true }, other.Process.Pid) {
		t.Error("the end of a process that is not there is said to be told")
	}
}

// A host can have ended and keep its number, until its own parent has waited for it.
func TestAHostThatNobodyHasWaitedForHasEnded(t *testing.T) {
	host := exec.Command("true")
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	awaitHost(os.Getppid(), host.Process.Pid)
	if !alive(host.Process.Pid) {
		t.Error("the host has been waited for: the test shows nothing")
	}
	_ = host.Wait()
}
