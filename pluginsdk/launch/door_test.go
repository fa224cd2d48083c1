package launch_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// do makes the hostile plugin do something.
func do(t testing.TB, plugin *launch.Plugin, what string) string {
	t.Helper()
	text, err := answerTo(context.Background(), plugin, what)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return text
}

// faulted is a config whose plugin's faults are told to a channel.
func faulted(cfg launch.Config) (launch.Config, <-chan error) {
	faults := make(chan error, 10)
	cfg.Fault = func(err error) { faults <- err }
	return cfg, faults
}

func oneFault(t *testing.T, faults <-chan error, want string) {
	t.Helper()
	if err := <-faults; !strings.Contains(err.Error(), want) {
		t.Errorf("its fault is %v, want %q", err, want)
	}
	select {
	case err := <-faults:
		t.Errorf("another fault: %v", err)
	default:
	}
}

// A plugin that leaks connections must not use up the daemon's descriptors.
func TestAPluginHoldsFewConnections(t *testing.T) {
	cfg, faults := faulted(config(t, "hostile"))
	plugin := started(t, cfg)
	before := openDescriptors(t)
	do(t, plugin, "hold-connections 200")
	oneFault(t, faults, "opens more than 4 connections")
	eventually(t, "the connections are closed", func() bool { return openDescriptors(t) <= before+4 })
	if err := plugin.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
	if refused := do(t, plugin, "call-host 1"); refused != "0" {
		t.Error("the connection that it had serves no more")
	}
}

// Every connection costs the daemon a handshake.
func TestAPluginThatConnectsWithoutEndIsLetInNoMore(t *testing.T) {
	cfg, faults := faulted(config(t, "hostile"))
	plugin := started(t, cfg)
	do(t, plugin, "reconnect 2000")
	if err := <-faults; err == nil {
		t.Error("a fault without words")
	}
	if refused := do(t, plugin, "call-host 1"); refused != "0" {
		t.Error("the connection that it had serves no more")
	}
}

// blockedState answers when it is told to.
type blockedState struct {
	pluginsdk.State
	release chan struct{}
	mu      sync.Mutex
	calls   int
}

func (s *blockedState) Put(ctx context.Context, _ *pluginsdk.PutStateRequest) (*pluginsdk.PutStateResponse, error) {
	s.mu.Lock()
	s.calls++
	s.mu.Unlock()
	select {
	case <-s.release:
	case <-ctx.Done():
	}
	return nil, nil
}

func (s *blockedState) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// A plugin that calls and calls must not fill the daemon with goroutines; an
// honest one under load is made to wait, and not refused.
func TestHostCallsAtOnceAreBounded(t *testing.T) {
	cfg, faults := faulted(config(t, "hostile"))
	state := &blockedState{release: make(chan struct{})}
	cfg.Host = plugintest.NewHost().SDK()
	cfg.Host.State = state
	plugin := started(t, cfg)
	refused := make(chan string, 1)
	go func() { refused <- do(t, plugin, "call-host 100") }()
	eventually(t, "64 calls are under way", func() bool { return state.waiting() == 64 })
	close(state.release)
	if got := <-refused; got != "0" || state.waiting() != 100 {
		t.Errorf("%s calls were refused, %d were made", got, state.waiting())
	}
	// The places are free again.
	for range 3 {
		if got := do(t, plugin, "call-host 60"); got != "0" {
			t.Errorf("%s calls were refused afterwards", got)
		}
	}
	if len(faults) != 0 {
		t.Errorf("it is at fault: %v", <-faults)
	}
}

// go-plugin keeps a goroutine for five seconds for every address it is sent.
func TestAFloodOfTheBrokerIsCutOff(t *testing.T) {
	before := runtime.NumGoroutine()
	cfg, faults := faulted(config(t, "floods-broker"))
	plugin := launched(t, cfg)
	oneFault(t, faults, "floods go-plugin's broker")
	if n := runtime.NumGoroutine(); n > before+100 {
		t.Errorf("%d goroutines, %d before", n, before)
	}
	if err := plugin.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
}
