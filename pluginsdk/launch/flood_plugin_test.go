package launch_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// flooding returns a plugin whose output is recorded.
func flooding(t testing.TB) (*launch.Plugin, recorder) {
	t.Helper()
	log, cfg := newRecorder(), config(t, "hostile")
	cfg.Log = log.logger()
	return started(t, cfg), log
}

// A plugin that prints without end must not fill the daemon's log.
func TestAFloodOfOutputIsDroppedAndReported(t *testing.T) {
	for _, how := range []string{"print", "print-stderr", "print-through-sdk"} {
		t.Run(how, func(t *testing.T) {
			plugin, log := flooding(t)
			before := time.Now()
			do(t, plugin, how+" 50000")
			_ = plugin.Stop(within(t, patience))
			lines, dropped := log.matching("line "), log.matching("lines of output were dropped")
			// 1000 at once, and 200 for each second that it took.
			if most := 1000 + 200*int(time.Since(before).Seconds()+1); lines < 1000 || lines > most || dropped == 0 {
				t.Errorf("%d lines were logged, %d at most; %d reports", lines, most, dropped)
			}
			if how == "print-stderr" && !strings.HasPrefix(plugin.LastStderr()[0], "line ") {
				t.Errorf("the last lines are %q", plugin.LastStderr())
			}
		})
	}
}

// BenchmarkFlood is what the daemon pays for a plugin that writes as fast as it
// can, in milliseconds of processor time a second.
func BenchmarkFlood(b *testing.B) {
	for _, how := range []string{"print", "print-stderr", "print-through-sdk"} {
		b.Run(how, func(b *testing.B) {
			plugin := started(b, config(b, "hostile"))
			go func() { // until the plugin is stopped
				_, _ = answerTo(b.Context(), plugin, how+" 1000000000")
			}()
			benchmarkFlood(b, plugin)
		})
	}
	b.Run("go-plugin's stream", func(b *testing.B) {
		benchmarkFlood(b, launched(b, config(b, "floods-stdio")))
	})
}

func benchmarkFlood(b *testing.B, plugin *launch.Plugin) {
	b.Helper()
	<-time.After(3 * time.Second) // until what is allowed at once is used up
	b.ResetTimer()
	cpu, wall := cpuTime(b), time.Now()
	for range b.N {
		<-time.After(time.Second)
	}
	b.ReportMetric((cpuTime(b)-cpu).Seconds()*1000/time.Since(wall).Seconds(), "cpu-ms/s")
	_ = plugin.Stop(ended())
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
