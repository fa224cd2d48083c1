package launch_test

import (
	"syscall"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

func usage(t testing.TB, plugin *launch.Plugin) launch.Usage {
	t.Helper()
	usage, err := plugin.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return usage
}

// lonely is the usage of a plugin that has no children. At first it may have
// one for a moment: the Go runtime tries out what the kernel can.
func lonely(t *testing.T, plugin *launch.Plugin) (alone launch.Usage) {
	t.Helper()
	eventually(t, "it is alone", func() bool {
		alone = usage(t, plugin)
		return alone.Processes == 1
	})
	return alone
}

// An operator decides by these figures which plugin is too much.
func TestUsageIsOfThePluginAndWhatItStarted(t *testing.T) {
	plugin := started(t, config(t, "hostile"))
	alone := lonely(t, plugin)
	if alone.Processes != 1 || alone.RSSBytes < 1<<20 || alone.OpenFiles < 3 || alone.Stopped {
		t.Errorf("at first it uses %+v", alone)
	}
	spawned(t, plugin, "never-handshakes")
	if two := usage(t, plugin); two.Processes != 2 {
		t.Errorf("with a child it uses %+v", two)
	}
	eventually(t, "the child's memory counts", func() bool { return usage(t, plugin).RSSBytes > alone.RSSBytes+1<<20 })
	eventually(t, "work counts", func() bool {
		do(t, plugin, "burn 50")
		return usage(t, plugin).CPUSeconds > alone.CPUSeconds+0.1
	})
	freeze(t, plugin.PID())
	if !usage(t, plugin).Stopped {
		t.Error("that it is frozen does not show")
	}
	_ = plugin.Stop(ended())
	if _, err := plugin.Usage(); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("after its end: %v", err)
	}
}

// A plugin must not hide what it takes by disowning it.
func TestUsageCountsWhatIsInNoLineOfDescent(t *testing.T) {
	plugin := started(t, config(t, "hostile"))
	pid := spawned(t, plugin, "escapes-twice")
	if got := usage(t, plugin); got.Processes < 2 {
		t.Errorf("it uses %+v, without process %d", got, pid)
	}
}

// A plugin that is ended by another is not measured by what has its number now.
func TestUsageOfAPluginThatWasKilled(t *testing.T) {
	plugin := started(t, config(t, "plugin"))
	if err := syscall.Kill(plugin.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitDone(t, plugin)
	if _, err := plugin.Usage(); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("error is %v", err)
	}
}

// BenchmarkUsage is what the supervisor does once a second for every plugin.
func BenchmarkUsage(b *testing.B) {
	plugin := started(b, config(b, "hostile"))
	b.ResetTimer()
	for range b.N {
		usage(b, plugin)
	}
}

// BenchmarkUsageOfFour is the same for a plugin with three children.
func BenchmarkUsageOfFour(b *testing.B) {
	plugin := started(b, config(b, "hostile"))
	for range 3 {
		spawned(b, plugin, "never-handshakes")
	}
	b.ResetTimer()
	for range b.N {
		usage(b, plugin)
	}
}
