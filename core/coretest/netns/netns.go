// Package netns gives a test a second machine: a network namespace that is joined to this
// one by a cable, for what has to be tried from another address than loopback.
package netns

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

// Machine is another network namespace. What runs in it reaches this one at Here only; its
// loopback is its own.
type Machine struct {
	Here  string // address of this side of the cable
	There string // address of the other

	name string
}

var serial atomic.Int32

// New makes a namespace that goes with the test. It needs root and the program ip; without
// them the test is left out, which says why, or fails where HARNESS_TEST_REQUIRED is 1.
func New(t *testing.T) *Machine {
	t.Helper()
	n := int(serial.Add(1))
	// The last bytes of 10.X.Y.Z tell tests apart that run at a time.
	net := fmt.Sprintf("10.%d.%d", 64+os.Getpid()>>8&0x3f, os.Getpid()&0xff)
	m := &Machine{
		Here: fmt.Sprintf("%s.%d", net, 4*n+1), There: fmt.Sprintf("%s.%d", net, 4*n+2),
		name: fmt.Sprintf("harness-%d-%d", os.Getpid(), n),
	}
	near, far := fmt.Sprintf("hn%d-%d", os.Getpid()%100000, n), fmt.Sprintf("hf%d-%d", os.Getpid()%100000, n)
	t.Cleanup(func() {
		_ = ip("link", "delete", near)
		_ = ip("netns", "delete", m.name)
	})
	for _, words := range []string{
		"netns add " + m.name,
		"link add " + near + " type veth peer name " + far + " netns " + m.name,
		"address add " + m.Here + "/30 dev " + near,
		"link set " + near + " up",
		"-netns " + m.name + " address add " + m.There + "/30 dev " + far,
		"-netns " + m.name + " link set " + far + " up",
		"-netns " + m.name + " link set lo up",
	} {
		if err := ip(strings.Fields(words)...); err != nil {
			if os.Getenv("HARNESS_TEST_REQUIRED") == "1" {
				t.Fatalf("no network namespace: %s", err)
			}
			t.Skipf("left out: there is no second network namespace here (it needs root and the program ip): %s", err)
		}
	}
	return m
}

func ip(arguments ...string) error {
	output, err := exec.Command("ip", arguments...).CombinedOutput() //nolint:gosec,noctx // a test's; it takes no time
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

// Command is a program that runs on the other machine, as this user and with these files.
func (m *Machine) Command(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", m.name, name}, arguments...)...) //nolint:gosec // a test's
}
