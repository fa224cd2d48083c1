package launch_test

import (
	"strconv"
	"syscall"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// spawned makes the plugin start a process in a session of its own.
func spawned(t testing.TB, plugin *launch.Plugin, mode string) int {
	t.Helper()
	pid, err := strconv.Atoi(do(t, plugin, "spawn "+mode))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

// A daemon that a plugin makes of itself would go on acting, and hold its port.
func TestWhatLeftThePluginsGroupEndsWithIt(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(*launch.Plugin) error
	}{
		{"when it is stopped", func(p *launch.Plugin) error { return p.Stop(within(t, patience)) }},
		{"when it is killed", func(p *launch.Plugin) error { return syscall.Kill(p.PID(), syscall.SIGKILL) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			plugin, other := started(t, config(t, "hostile")), started(t, config(t, "hostile"))
			once, twice := spawned(t, plugin, "never-handshakes"), spawned(t, plugin, "escapes-twice")
			spared := spawned(t, other, "escapes-twice")
			if err := row.end(plugin); err != nil {
				t.Error(err)
			}
			awaitDone(t, plugin)
			eventually(t, "both are gone", func() bool { return gone(once) && gone(twice) })
			if gone(spared) {
				t.Error("what another plugin started is gone too")
			}
		})
	}
}
