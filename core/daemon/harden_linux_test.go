package daemon_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/core/daemon"
)

// A plugin of the same user would read the daemon's keys in /proc/PID/environ.
func TestHardenClosesTheProcessToOthers(t *testing.T) {
	before, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(before), 0, 0, 0) })
	if err := daemon.Harden(); err != nil {
		t.Fatal(err)
	}
	if now, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); now != 0 || err != nil {
		t.Errorf("dumpable is %d, %v", now, err)
	}
}
