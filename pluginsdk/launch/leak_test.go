package launch_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// leaky is what must be as before when plugins have come and gone.
type leaky struct{ descriptors, goroutines, children, sockets int }

func openDescriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries) - 1 // but for the one that reads
}

func children(t testing.TB) int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, list := range lists {
		content, _ := os.ReadFile(list) // the thread may have ended
		n += len(bytes.Fields(content))
	}
	return n
}

func count(t testing.TB, sockets string) leaky {
	t.Helper()
	// go-plugin leaves a listener that it could not announce to the collector.
	runtime.GC()
	left, err := os.ReadDir(sockets)
	if err != nil {
		t.Fatal(err)
	}
	return leaky{openDescriptors(t), runtime.NumGoroutine(), children(t), len(left)}
}

func stacks() string {
	var text strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&text, 1)
	return text.String()
}

// A daemon runs for months, and a plugin that crashes all the time must not
// take it down one descriptor after the other.
func TestPluginsThatComeAndGoLeaveNothing(t *testing.T) {
	for _, row := range []struct {
		name   string
		mode   string
		cycles int
		cycle  func(*testing.T, *launch.Launcher, launch.Config)
	}{
		{"ends at once", "dies-at-once", 200, failedLaunch},
		{"writes garbage", "garbage", 40, failedLaunch}, // each is a quarter of a second in which more could come
		{"ends after the handshake", "ends-after-handshake", 200, failedLaunch},
		{"leaves a socket that nobody serves", "bequeaths", 20, failedLaunch},
		{"has a wrong manifest", "wrong-manifest", 50, failedLaunch},
		{"answers with 17 MiB", "oversized", 30, failedLaunch},
		{"never shakes hands", "never-handshakes", 20, hurriedLaunch},
		{"stops itself", "stops-itself", 20, hurriedLaunch},
		{"is stopped", "plugin", 100, stoppedCycle},
		{"is killed by its host", "hostile", 50, killedCycle},
		{"is frozen", "plugin", 20, frozenCycle},
		{"ignores SIGTERM", "stubborn", 10, stubbornCycle},
		{"has a family that holds its pipes", "plugin", 5, familyCycle},
		{"floods the broker", "floods-broker", 10, unstartedCycle},
		{"floods its output", "floods-stdio", 10, unstartedCycle},
		{"holds connections", "hostile", 10, holdingCycle},
	} {
		t.Run(row.name, func(t *testing.T) {
			launcher := newLauncher(t)
			cfg := sockets(config(t, row.mode), shortDir(t))
			row.cycle(t, launcher, cfg) // what is made once is made now
			before := count(t, cfg.SocketDir)
			if raced || testing.Short() { // a leak shows all the same
				row.cycles /= 5
			}
			for range row.cycles {
				row.cycle(t, launcher, cfg)
			}
			settle(t, before, cfg.SocketDir)
		})
	}
}

// settle waits until there is no more than before.
func settle(t *testing.T, before leaky, sockets string) {
	t.Helper()
	limit := time.Now().Add(patience)
	for {
		now := count(t, sockets)
		if now.descriptors <= before.descriptors && now.goroutines <= before.goroutines &&
			now.children <= before.children && now.sockets <= before.sockets {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("before %+v, now %+v\n%s", before, now, stacks())
		}
		<-time.After(5 * time.Millisecond)
	}
}

func failedLaunch(t *testing.T, launcher *launch.Launcher, cfg launch.Config) {
	t.Helper()
	if plugin, err := launcher.Launch(t.Context(), cfg); err == nil {
		t.Error("it was launched")
		_ = plugin.Stop(ended())
	}
}

func hurriedLaunch(t *testing.T, launcher *launch.Launcher, cfg launch.Config) {
	t.Helper()
	cfg.StartTimeout = 50 * time.Millisecond
	failedLaunch(t, launcher, cfg)
}

// startedBy returns a plugin that a cycle must stop.
func startedBy(t *testing.T, launcher *launch.Launcher, cfg launch.Config) *launch.Plugin {
	t.Helper()
	plugin := launchedBy(t, launcher, cfg)
	if err := plugin.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return plugin
}

func launchedBy(t *testing.T, launcher *launch.Launcher, cfg launch.Config) *launch.Plugin {
	t.Helper()
	plugin, err := launcher.Launch(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return plugin
}

func stoppedCycle(t *testing.T, launcher *launch.Launcher, cfg launch.Config) {
	t.Helper()
	if err := startedBy(t, launcher, cfg).Stop(within(t, patience)); err != nil {
		t.Error(err)
	}
}

func killedCycle(t *testing.T, launcher *launch.Launcher, cfg launch.Config) {
	t.Helper()
	_ = startedBy(t, launcher, cfg).Stop(ended())
}

func unstartedCycle(t *testing.T, launcher *launch.Launcher, cfg launch.Config) {
	t.Helper()
	_ = launchedBy(t, launcher, cfg).Stop(ended())
}

func frozenCycle(t *testing.T, launcher *launch.Launcher, cfg launch.Config) {
	t.Helper()
	plugin := startedBy(t, launcher, cfg)
	freeze(t, plugin.PID())
	_ = plugin.Stop(within(t, 60*time.Millisecond))
}

func stubbornCycle(t *testing.T, launcher *launch.Launcher, cfg launch.Config) {
	t.Helper()
	_ = startedBy(t, launcher, cfg).Stop(within(t, 60*time.Millisecond))
}

// familyCycle ends a plugin whose child has left its group and its
// environment: the pipes are held for longer than they are read.
func familyCycle(t *testing.T, launcher *launch.Launcher, cfg launch.Config) {
	t.Helper()
	plugin := startedBy(t, launcher, cfg)
	child(t, plugin, "stays")
	escaped := child(t, plugin, "escapes")
	_ = plugin.Stop(ended())
	_ = syscall.Kill(escaped, syscall.SIGKILL)
}

func holdingCycle(t *testing.T, launcher *launch.Launcher, cfg launch.Config) {
	t.Helper()
	plugin := startedBy(t, launcher, cfg)
	do(t, plugin, "hold-connections 20")
	_ = plugin.Stop(ended())
}
