package pluginhost

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// A plugin that eats memory, or stands still, is ended for it and comes back;
// the operator reads which it was.
func TestAFaultThatOnlyShowsFromOutsideEndsThePlugin(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a process uses is read from /proc, which only Linux has")
	}
	limits := pluginsdk.PluginLimits{MemoryBytes: 120 << 20}
	h, r := startOn(t, Config{Limits: limits}, &bus{}, "first")
	i := serving(t, h, r, "first")
	for how, want := range map[string]string{"eat": "its limit is 120 MiB", "stop": "SIGSTOP"} {
		before := r.row("first").Restarts
		_, _ = say(t, i, how)
		r.until(t, how+": end and return", func() bool {
			row := r.row("first")
			return row.Restarts > before && row.State == pluginsdk.PluginServing
		})
		if row := r.row("first"); !strings.Contains(row.LastError, want) {
			t.Errorf("%s: the last error is %q, want %q", how, row.LastError, want)
		}
		if reply, err := say(t, i, ""); reply != "first" || err != nil {
			t.Errorf("after %s: %q %v", how, reply, err)
		}
	}
}

// People wait for a call of a plugin that was stopped: it is not the next look in
// turn that ends it.
func TestAStoppedPluginIsNoticedByItsCalls(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("whether a process is stopped is read from /proc, which only Linux has")
	}
	h, r := startOn(t, Config{Watch: time.Hour}, &bus{}, "first")
	i := serving(t, h, r, "first")
	if _, err := say(t, i, "stop"); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("the call ended with %v", err)
	}
	r.until(t, "its return", func() bool {
		row := r.row("first")
		return row.Restarts == 1 && row.State == pluginsdk.PluginServing
	})
	if row := r.row("first"); !strings.Contains(row.LastError, "SIGSTOP") {
		t.Errorf("the operator reads %q", row.LastError)
	}
}

// resting is a process that does not run, unless it is woken.
type resting struct {
	woken    bool
	measured int
}

func (r *resting) Glance() (launch.Glance, error) { return launch.Glance{Stopped: r.woken}, nil }

func (r *resting) Usage() (launch.Usage, error) {
	r.measured++
	return launch.Usage{Processes: 1}, nil
}

// A look at all processes of a plugin costs a hundred times what the one at its first process does.
func TestAPluginThatRestsIsMeasuredSeldom(t *testing.T) {
	process := new(resting)
	watch := watcher{process: process}
	look := func(looks int) int {
		before := process.measured
		for range looks {
			watch.at++
			if _, err := watch.measure(); err != nil {
				t.Fatal(err)
			}
		}
		return process.measured - before
	}
	if measured := look(3 * measureEvery); measured != 3 { // one of them at the first look
		t.Errorf("in %d looks at a plugin that rests it is measured %d times; want 3", 3*measureEvery, measured)
	}
	process.woken = true
	if measured := look(1); measured != 1 {
		t.Error("a plugin that has run since is not measured at the next look")
	}
}

// A process that rests has answered a health check, and does not have to be woken for the next one so
// soon; one that did not answer, or runs, is asked again soon.
func TestAPluginThatRestsIsAskedSeldomHowItIs(t *testing.T) {
	for _, c := range []struct {
		is   string
		of   watcher
		asks int // in 3 times pingRest
	}{
		{"runs", watcher{}, 9}, {"rests", watcher{rests: true}, 3}, {"rests, and has not answered", watcher{rests: true, misses: 1}, 9},
	} {
		asks := 0
		for range 3 * pingRest {
			c.of.at++
			if c.of.pingDue() {
				asks++
			}
		}
		if asks != c.asks {
			t.Errorf("a plugin that %s is asked %d times, want %d", c.is, asks, c.asks)
		}
	}
}

func TestLedgerCountsWhatAPluginDid(t *testing.T) {
	events := &bus{}
	h, r := startOn(t, Config{}, events, "listens")
	i := serving(t, h, r, "listens")
	_ = r.edit("listens", func(p *ledger.Plugin) { p.Granted = []pluginsdk.Capability{pluginsdk.CapEventsRead} })
	waitFor(t, func() bool { return h.Granted("listens", pluginsdk.CapEventsRead) })
	for range 10 {
		if _, err := say(t, i, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := events.send(t, "x:error"); err == nil {
		t.Fatal("no error")
	}
	if runtime.GOOS == "linux" {
		waitFor(t, func() bool { return h.Live(r.row("listens")).Figures.RSSBytes > 0 })
	}
	figures := h.Live(r.row("listens")).Figures
	command, broadcast := figures.Hooks[pluginsdk.HookCommand], figures.Hooks[pluginsdk.HookBroadcast]
	if figures.Calls != 11 || figures.Errors != 1 || figures.Timeouts != 0 || command.Calls != 10 || broadcast.Errors != 1 {
		t.Errorf("%+v", figures)
	}
	if command.P50 <= 0 || command.P99 < command.P50 {
		t.Errorf("p50 %s, p99 %s", command.P50, command.P99)
	}
	r.until(t, "the figures in the row", func() bool { return r.row("listens").Figures.Calls > 0 })
}
