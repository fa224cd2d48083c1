package launch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A plugin must not make the daemon dial where it likes.
func TestAnAddressElsewhereIsNotDialled(t *testing.T) {
	_, err := newLauncher(t).Launch(t.Context(), config(t, "names-elsewhere"))
	if err == nil || !strings.Contains(err.Error(), `the network "tcp"; it must be unix`) {
		t.Errorf("error is %v", err)
	}
}

// go-plugin's scanner stops at 64 KiB: the rest would be waited for for ever.
func TestAFirstLineWithoutEndIsNoHandshake(t *testing.T) {
	_, err := newLauncher(t).Launch(t.Context(), config(t, "garbage"))
	if err == nil || len(err.Error()) > 16<<10 {
		t.Errorf("error is %.100v", err)
	}
}

func TestStopWithLittleTimeDoesNotAsk(t *testing.T) {
	plugin := started(t, config(t, "plugin"))
	if err := plugin.Stop(within(t, 40*time.Millisecond)); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("error is %v", err)
	}
	if !gone(plugin.PID()) {
		t.Error("it is still there")
	}
}

// The supervisor pings; one plugin that does not answer must not hold it up.
func TestPingEndsWithItsContext(t *testing.T) {
	frozen, stopped := started(t, config(t, "plugin")), started(t, config(t, "plugin"))
	freeze(t, frozen.PID())
	_ = stopped.Stop(ended())
	pings := make(chan error)
	for range 200 {
		go func() { pings <- frozen.Ping(within(t, 100*time.Millisecond)) }()
	}
	go func() { pings <- frozen.Ping(ended()) }()
	go func() { pings <- stopped.Ping(context.Background()) }()
	for range 202 {
		if err := <-pings; pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
			t.Errorf("ping: %v", err)
		}
	}
	later, cancel := context.WithCancel(t.Context())
	go func() { pings <- frozen.Ping(later) }()
	cancel()
	if err := <-pings; err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a ping that was given up: %v", err)
	}
}
