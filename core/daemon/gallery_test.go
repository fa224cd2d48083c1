package daemon_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// galleryTurns is how many turns the gallery's figures are taken from.
var galleryTurns = flag.Int("gallery.turns", 8, "turns with and without each hostile plugin")

// exhibit is one hostile plugin of the gallery, and what an operator must be
// able to read about it.
type exhibit struct {
	name      string
	company   []string // good neighbours that are there with it
	apart     bool     // it changes for good what the others would meet
	hurried   bool     // it shows what it does to an installation that does not wait long
	grants    []pluginsdk.Capability
	limits    pluginsdk.PluginLimits
	configure func(*daemon.Config)    // of one that is apart
	script    string                  // a rule of the demo agent's
	ends      bool                    // its processes end again and again
	begun     []pluginsdk.PluginState // the turns begin in one of these; none: serving
	state     []pluginsdk.PluginState // it ends in one of these; none: any
	lastError []string                // words of the row
	log       []string                // words of the daemon's log
	check     func(h *hall)           // may be nil
}

var down = []pluginsdk.PluginState{pluginsdk.PluginBackoff, pluginsdk.PluginStarting, pluginsdk.PluginQuarantined}

// up are the states of one that may have served and be down again already.
var up = append(slices.Clone(down), pluginsdk.PluginServing)

// gallery is the worst plugins in the world.
var gallery = []exhibit{
	{
		name: "mute", hurried: true, ends: true, begun: []pluginsdk.PluginState{pluginsdk.PluginStarting}, state: down,
		lastError: []string{"no handshake in time"},
	},
	{name: "sulker", hurried: true, ends: true, state: down, lastError: []string{"no handshake in time"}},
	{name: "babbler", log: []string{"lines of output were dropped", "limit="}},
	{
		name: "glutton", ends: true, limits: pluginsdk.PluginLimits{MemoryBytes: 256 << 20},
		lastError: []string{"memory", "256"},
	},
	{name: "forker", ends: true, lastError: []string{"the process ended: exit status 1"}},
	{name: "stubborn", log: []string{"plugin was killed", "did not end in time"}},
	{name: "sleeper", ends: true, lastError: []string{"its process is stopped (SIGSTOP)"}},
	{name: "oversized", lastError: []string{"OnMessage", "larger than max"}},
	{name: "tardy", hurried: true, lastError: []string{"before the deadline of the call"}},
	{
		name: "impostor", begun: []pluginsdk.PluginState{pluginsdk.PluginFailed}, state: []pluginsdk.PluginState{pluginsdk.PluginFailed},
		lastError: []string{`its manifest names it "activity"`},
	},
	{name: "greedy", check: checkGreedy, log: []string{"greedy lacks the capability plugins.admin"}},
	{name: "recursive", grants: []pluginsdk.Capability{pluginsdk.CapMessagesSubmit}, check: checkRecursive, lastError: []string{"8 deep"}},
	{name: "launderer", grants: []pluginsdk.Capability{pluginsdk.CapMessagesSubmit}},
	{name: "nester", grants: []pluginsdk.Capability{pluginsdk.CapToolsCall}, check: checkNester},
	{name: "leaker", ends: true, begun: up, lastError: []string{"connections to its host"}},
	{name: "brokerage", ends: true, lastError: []string{"floods go-plugin's broker"}, begun: up},
	{name: "moth", state: []pluginsdk.PluginState{pluginsdk.PluginFailed}, lastError: []string{"was changed", "harness plugin trust moth"}},
	// It ends in several ways: what its row says is that of the last time.
	{name: "crasher", ends: true, lastError: []string{"the process ended"}, log: []string{"the process ended", "last words", "crashed in"}},
	{
		name: "windbag", company: []string{"reader"}, apart: true,
		grants: []pluginsdk.Capability{pluginsdk.CapMessagesWrite, pluginsdk.CapMessagesSubmit, pluginsdk.CapThreadsWrite},
		limits: pluginsdk.PluginLimits{BytesPerMinute: 1 << 30},
		check:  checkWindbag, log: []string{"what a hook returned is too long and is cut"},
	},
	{
		name: "hoarder", apart: true, grants: []pluginsdk.Capability{pluginsdk.CapMetricsWrite, pluginsdk.CapMessagesWrite, pluginsdk.CapThreadsWrite},
		limits: pluginsdk.PluginLimits{RowsPerMinute: hoardRows, BytesPerMinute: hoardBytes, StoredBytes: 2 * hoardBytes},
		check:  checkHoarder, log: []string{"is held back by its quotas"},
	},
	{name: "climber", grants: []pluginsdk.Capability{pluginsdk.CapThreadsWrite}, check: checkClimber},
	{
		name: "forger", company: []string{"reader"}, grants: []pluginsdk.Capability{pluginsdk.CapMessagesWrite},
		check: checkForger,
	},
	{
		name: "ventriloquist", grants: []pluginsdk.Capability{pluginsdk.CapMessagesSubmit}, check: checkVentriloquist,
		script: `{"match":"take your time","delay":60000}`,
	},
	{name: "dawdler", apart: true, check: checkDawdler, configure: dawdling, log: []string{"a run waits for a plugin"}},
	{
		name: "peddler", company: []string{"modest"}, check: checkPeddler,
		script: `{"match":"weigh it","toolName":"modest__weigh"}`,
	},
	{
		name: "packrat", grants: []pluginsdk.Capability{pluginsdk.CapFilesWrite}, limits: pluginsdk.PluginLimits{StoredBytes: packed},
		check: checkPackrat, log: []string{"is held back by its quotas"},
	},
	{name: "burrower", grants: []pluginsdk.Capability{pluginsdk.CapWorkspaceRead, pluginsdk.CapWorkspaceWrite}, check: checkBurrower},
	{
		name: "usurper", grants: []pluginsdk.Capability{pluginsdk.CapApprovalsRead}, check: checkUsurper,
		script: `{"match":"clean up","toolName":"Bash","toolInput":{"command":"rm x"},"toolResult":"gone","ask":true,"text":"done"}`,
	},
	{name: "rummager", grants: []pluginsdk.Capability{pluginsdk.CapMessagesRead}, check: checkRummager, log: []string{"is held back by its quotas"}},
}

// impatient makes short how long plugins may take to start.
func impatient(c *pluginhost.Config) { c.StartTimeout = 4 * time.Second }

// hurry makes the deadlines of hooks short.
func hurry(c *daemon.Config) {
	c.HookGrace = 500 * time.Millisecond
	c.HookDeadlines = make(map[pluginsdk.Hook]time.Duration)
	for _, hook := range witnessed {
		c.HookDeadlines[hook] = 2 * time.Second
	}
}

// The worst plugins in the world do their worst to an installation, and nothing
// is lost but the plugin: every turn is answered, the other plugins take part in
// it, the operator can read what happened, and nothing is left of it when it is
// turned off. Those that can come to one installation, one after the other, do so: it
// is as it was then.
func TestGallery(t *testing.T) {
	if !alone() {
		t.Parallel()
	}
	var together, hurried []exhibit
	for _, e := range gallery {
		switch {
		case e.hurried:
			hurried = append(hurried, e)
		case !e.apart:
			together = append(together, e)
		default:
			t.Run(e.name, func(t *testing.T) {
				if apart(t) {
					h, without := show(t, nil, e.configure, e)
					t.Log(h.visit(e, without))
				}
			})
		}
	}
	t.Run("together", func(t *testing.T) {
		if apart(t) {
			showAll(t, nil, script(together), together)
		}
	})
	t.Run("hurried", func(t *testing.T) {
		if apart(t) {
			showAll(t, impatient, hurry, hurried)
		}
	})
}

// showAll shows exhibits one after the other in one installation.
func showAll(t *testing.T, supervise func(*pluginhost.Config), configure func(*daemon.Config), exhibits []exhibit) {
	h, without := show(t, supervise, configure, exhibits...)
	for _, e := range exhibits {
		h.subtest(e.name, func(t *testing.T) { t.Log(h.visit(e, without)) })
	}
}

// show opens an installation that is configured as the exhibits need it, and returns how long
// turns take without them.
func show(t *testing.T, supervise func(*pluginhost.Config), configure func(*daemon.Config), exhibits ...exhibit) (*hall, latencies) {
	var names []string
	for _, e := range exhibits {
		names = append(append(names, e.name), e.company...)
	}
	slices.Sort(names)
	h := openHall(t, supervise, slices.Compact(names)...)
	if configure != nil {
		configure(&h.config)
	}
	h.open()
	h.turns(audience * 2) // what is made once is made now
	return h, h.turns(*galleryTurns)
}

// visit lets an exhibit in, looks at what becomes of the turns, and has it out again.
func (h *hall) visit(e exhibit, without latencies) (figures string) {
	h.t.Helper()
	before, began := h.rest(), burnt()
	for _, name := range e.company {
		h.must(h.store.SetPluginGrants(h.t.Context(), name, withHooks(), nil))
		h.enable(name)
	}
	h.adopt(e)
	if e.begun == nil {
		e.begun = []pluginsdk.PluginState{pluginsdk.PluginServing}
	}
	h.await(e.name, e.begun...)
	with := h.turns(*galleryTurns)
	h.operatorSees(e)
	restarts := h.row(e.name).Restarts
	h.disable(e.name)
	for _, name := range e.company {
		h.disable(name)
	}
	h.settle(before)
	h.saidInLog(e)

	slow := without.at(0.99) + 100*time.Millisecond
	return fmt.Sprintf("gallery %-10s turns %d  p50 %s -> %s  p99 %s -> %s  max %s -> %s  slow %d  restarts %d  cpu %.2f s",
		e.name, len(with), ms(without.at(0.5)), ms(with.at(0.5)), ms(without.at(0.99)), ms(with.at(0.99)),
		ms(without.at(1)), ms(with.at(1)), with.over(slow), restarts, (burnt() - began).Seconds())
}

// burnt is the processor's time that this process and its children that have ended have taken.
func burnt() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		_ = syscall.Getrusage(who, &usage) // a figure for the log
		sum += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return sum
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }

// adopt does what an operator does with a plugin of somebody else's: it comes
// first in the order, and its hooks may be passed over.
func (h *hall) adopt(e exhibit) {
	h.t.Helper()
	ctx := h.t.Context()
	h.must(h.store.SetPluginGrants(ctx, e.name, withHooks(e.grants...), nil))
	h.must(h.store.EditPlugin(ctx, e.name, "test", "plugin.test", func(row *ledger.Plugin) (string, error) {
		row.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookBeforeRun: pluginsdk.FailOpen}
		row.Limits, row.Position = e.limits, 1
		return "", nil
	}))
	h.must(h.store.SetPluginEnabled(ctx, e.name, true))
}

// operatorSees waits for what the row must say.
func (h *hall) operatorSees(e exhibit) {
	h.t.Helper()
	if e.check != nil {
		e.check(h)
	}
	h.until(fmt.Sprintf("the words %q of %s (it says %q)", e.lastError, e.name, h.row(e.name).LastError), func() bool {
		return containsAll(h.row(e.name).LastError, e.lastError)
	})
	if e.state != nil {
		h.await(e.name, e.state...)
	}
}

// saidInLog looks for what the daemon's log must say, unless the plugin has used up its share
// of it.
func (h *hall) saidInLog(e exhibit) {
	h.t.Helper()
	said := 0
	for line := range strings.Lines(h.log.String()) {
		if strings.Contains(line, e.name) {
			if containsAll(line, e.log) {
				return
			}
			said += len(line)
		}
	}
	if said > 60<<10 {
		return
	}
	h.t.Errorf("the log has no line with %q", e.log)
}

func containsAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// hookRights are the capabilities that nothing but hooks needs.
var hookRights = []pluginsdk.Capability{
	pluginsdk.CapTurnsRead, pluginsdk.CapTurnsChange, pluginsdk.CapTurnsDecide, pluginsdk.CapTasksPrepare, pluginsdk.CapTasksJudge,
}

// withHooks are grants, and those with which a plugin is asked its hooks.
func withHooks(grants ...pluginsdk.Capability) []pluginsdk.Capability {
	return slices.Concat(grants, hookRights)
}

// checkGreedy looks at what the plugin was told when it asked for everything.
func checkGreedy(h *hall) {
	h.t.Helper()
	told := h.file("greedy.txt")
	for _, capability := range pluginsdk.AllCapabilities() {
		if slices.Contains(hookRights, capability) {
			continue // no method needs it
		}
		lacking := capability
		if capability == pluginsdk.CapThreadsAdmin { // it is more of threads.write, which it lacks too
			lacking = pluginsdk.CapThreadsWrite
		}
		if !strings.Contains(told, string(capability)+"\tthe plugin greedy lacks the capability "+string(lacking)) {
			h.t.Errorf("it was not refused %s:\n%s", capability, told)
		}
	}
	if !h.row("activity").Enabled {
		h.t.Error("it has turned another plugin off")
	}
}

// checkRecursive looks at how deep the runs went.
func checkRecursive(h *hall) {
	h.t.Helper()
	h.until("the refusal", func() bool { return strings.Contains(h.file("recursive.txt"), "may cause no further one") })
	runs, err := h.store.Runs(h.t.Context(), pluginsdk.RunQuery{Limit: 1000})
	h.must(err)
	for _, run := range runs {
		if run.Depth > 8 {
			h.t.Errorf("run %s is %d deep", run.ID, run.Depth)
		}
	}
}

// checkNester looks at what the tools were told that call themselves.
func checkNester(h *hall) {
	h.t.Helper()
	h.until("the refusals", func() bool {
		return strings.Contains(h.file("nest.txt"), "tools may call each other 8 deep") &&
			strings.Contains(h.file("stray.txt"), "under way")
	})
}
