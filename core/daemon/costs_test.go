package daemon_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/events"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/shipped"
)

// byTheClock are done from time to time, whatever turns there are.
var byTheClock = []string{
	"read RevokedTokens", "read Plugins", "read Lever", "read Accounts", "read ListState", "read IndexMark", "read IndexHorizon", "read SaidBetween",
	"write SavePluginFigures", "write SavePluginChecks", "write SavePluginSeen", "write ResetIndex, durable", "write AddToIndex", "write SettleIndex", "write TouchTokens",
	"hook OnCheck", "asked Crons.List", "read Crons", "asked Budgets.Account", "read BudgetAccount",
}

// costs counts what turns cost: how often each thing is done, and of how many statements or
// events it consists in all.
type costs struct {
	mu    sync.Mutex
	done  map[string]int
	parts map[string]int
}

func (c *costs) note(span ledger.Span) {
	name := fmt.Sprintf("%s %s", span.Kind, span.Name)
	if span.Kind == ledger.SpanWrite && span.Durable {
		name += ", durable"
	}
	if slices.ContainsFunc(byTheClock, func(one string) bool { return strings.HasPrefix(name, one) }) {
		return
	}
	if span.Plugin != "" {
		name += ", " + span.Plugin
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[name]++
	c.parts[name] += span.Count
}

// each is what each of so many turns has cost, a line a thing: how often, what, of how many
// parts. What does not come out even is marked.
func (c *costs) each(turns int) (lines []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range c.done {
		line := fmt.Sprintf("%d %s: %d", n/turns, name, c.parts[name]/turns)
		if n%turns != 0 || c.parts[name]%turns != 0 {
			line += fmt.Sprintf(" (in %d turns %d: %d)", turns, n, c.parts[name])
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

func (c *costs) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done, c.parts = make(map[string]int), make(map[string]int)
}

// What a message and its answer cost, with the demo agent: each line says how often something is
// done in a turn, and how many statements or events that takes. These numbers are the budget of a
// turn (docs/figures.md): who raises one says in the commit why it is worth it to every turn.
const (
	turnAlone = `9 events
1 asked Messages.Submit, web: 0
1 events web: 9
1 hook OnBroadcast, web: 0
1 hook OnPipelineComplete, activity: 0
1 hook OnPipelineStart, activity: 0
1 read Waiting: 1`
	turnOfAll = turnAlone + `
1 hook OnBeforeInvoke, context: 0
1 hook OnBeforeInvoke, time: 0
1 hook OnBeforeInvoke, workflow: 0
1 hook OnBeforeRun, metrics: 0`
	commitsOnSQLite = `
1 write Accept, durable: 4
1 write Finish, durable: 5
1 write SaveIntent, durable: 4
1 write SaveResult: 3`
	commitsOnPostgres = `
1 write Accept, durable: 6
1 write Finish, durable: 5
1 write SaveIntent, durable: 4
1 write SaveResult, durable: 3`
)

func TestWhatATurnCosts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		for name, c := range map[string]struct {
			plugins []string // besides web and activity
			want    string
		}{
			"web and activity":    {nil, turnAlone},
			"all shipped plugins": {slices.DeleteFunc(shipped.Plugins.Names(), func(name string) bool { return name == "web" || name == "activity" }), turnOfAll},
		} {
			t.Run(name, func(t *testing.T) {
				in := leanInstallation(t, database(t))
				for _, plugin := range c.plugins {
					in.link(filepath.Join(pluginDir, plugin), plugin)
				}
				in.config.Supervise = func(c *pluginhost.Config) { c.Poll = time.Hour }
				in.config.Tell = func(c *events.Config) { c.Linger = time.Hour } // a batch ends with its turn
				noted := new(costs)
				noted.begin()
				in.config.Trace = noted.note
				in.start()
				commits := commitsOnSQLite
				if in.config.DatabaseURL != "" {
					commits = commitsOnPostgres
				}
				checkCosts(t, in, noted, strings.Split(c.want+commits, "\n"))
			})
		}
	})
}

func checkCosts(t *testing.T, in *installation, noted *costs, want []string) {
	const turns = 4
	watch := in.watch()
	// While the lane of a thread still looks for its next message, Accept does not claim a new one:
	// the lane claims it later, with other statements. Between two turns of one thread there are
	// therefore those of the others.
	threads := make([]string, turns)
	for n := range threads {
		threads[n] = in.thread(fmt.Sprintf("of costs %d", n))
	}
	done := func(names ...string) (least int) {
		noted.mu.Lock()
		defer noted.mu.Unlock()
		for n, name := range names {
			if n == 0 || noted.done[name] < least {
				least = noted.done[name]
			}
		}
		return least
	}
	last := func() (published uint64) {
		for n, thread := range threads {
			before := done("read Waiting")
			_, heard := in.say(watch, thread, fmt.Sprintf("message %d", n))
			published = heard[len(heard)-1].Seq
			in.until("the end of a turn", func() bool { return done("read Waiting") > before })
		}
		in.until("the telling of all events", func() bool { return done("events web", "hook OnBroadcast, web") >= turns })
		return published
	}
	// What a plugin does once after it has started, the indexer when it has caught up, or a sweep, may
	// fall among the turns of one series. What turns cost comes up in every series.
	before := last()
	var lines []string
	for series := range 3 {
		noted.begin()
		end := last()
		published := end - before
		before = end
		got := append([]string{fmt.Sprintf("%d events", published/turns)}, noted.each(turns)...)
		if published%turns != 0 {
			got[0] = fmt.Sprintf("%d events in %d turns", published, turns)
		}
		now := differences(want, got)
		if series > 0 {
			now = slices.DeleteFunc(now, func(line string) bool { return !slices.Contains(lines, line) })
		}
		if lines = now; len(lines) == 0 {
			return
		}
	}
	t.Errorf("a turn costs something else now; lines of the budget that are gone (-) and new (+):\n%s", strings.Join(lines, "\n"))
}

// differences are the lines that are in one list only.
func differences(want, got []string) (lines []string) {
	for _, line := range want {
		if !slices.Contains(got, line) {
			lines = append(lines, "- "+line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			lines = append(lines, "+ "+line)
		}
	}
	return lines
}
