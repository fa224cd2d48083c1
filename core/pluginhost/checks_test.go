package pluginhost

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// finds has the plugin looks say something of its surroundings from now on.
func finds(t *testing.T, h *Host, what any) {
	t.Helper()
	raw, isText := what.(string)
	if !isText {
		words, err := json.Marshal(what)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(words)
	}
	file := filepath.Join(filepath.Dir(h.config.Dir), "checks")
	if err := os.WriteFile(file+".new", []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// An operator whose bot is mute must read in the plugin's row that its token has
// expired, without asking the plugin.
func TestWhatAPluginFindsStandsInItsRow(t *testing.T) {
	h, r := startOn(t, Config{CheckEvery: 30 * time.Millisecond}, &bus{}, "looks")
	_ = serving(t, h, r, "looks")
	state := func() string {
		row := r.row("looks")
		if len(row.Checks) == 0 || time.Since(row.CheckedAt) > time.Minute {
			return ""
		}
		return fmt.Sprint(row.Checks)
	}
	r.until(t, "the first answer", func() bool { return state() == "[{file ok  }]" })
	finds(t, h, []pluginsdk.Check{{Name: "connection", State: pluginsdk.CheckFailing, Detail: "401", Remedy: "set another token"}})
	r.until(t, "the failing check", func() bool { return state() == "[{connection failing 401 set another token}]" })
	if live := h.Live(ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "looks"}}); fmt.Sprint(live.Checks) != state() || live.CheckedAt.IsZero() {
		t.Errorf("live: %v at %s", live.Checks, live.CheckedAt)
	}
	if calls := h.Live(r.row("looks")).Figures.Hooks[pluginsdk.HookCheck].Calls; calls < 2 {
		t.Errorf("%d calls are counted", calls)
	}
}

// What a plugin tells of itself in figures is there while it serves, and no longer; one that is not allowed is left out,
// and its log says why.
func TestAPluginsOwnFiguresAreKeptWhileItServes(t *testing.T) {
	h, r := startOn(t, Config{CheckEvery: 30 * time.Millisecond}, &bus{}, "looks")
	_ = serving(t, h, r, "looks")
	finds(t, h, pluginsdk.OnCheckResponse{Figures: []pluginsdk.Figure{
		{Name: "harness_looks_depth", Kind: pluginsdk.FigureGauge, Samples: []pluginsdk.FigureSample{{Value: 3}}},
		{Name: "harness_runs_parked", Kind: pluginsdk.FigureGauge},
	}})
	own := func() []pluginsdk.Figure { return h.OwnFigures()["looks"] }
	r.until(t, "the figure", func() bool {
		return len(own()) == 1 && own()[0].Name == "harness_looks_depth" && own()[0].Samples[0].Value == 3
	})
	r.until(t, "the word in its log", func() bool {
		written, err := os.ReadFile(h.logs.path("looks"))
		return err == nil && strings.Contains(string(written), "1 of its figures are left out; the first: figure 2") && strings.Count(string(written), "1 of its figures") == 1
	})
	if err := r.edit("looks", func(row *ledger.Plugin) { row.Enabled = false }); err != nil {
		t.Fatal(err)
	}
	h.Refresh()
	r.until(t, "the end of its figures", func() bool { return len(own()) == 0 })
}

// Whoever has put right what a plugin complained of, and looks, must not read the complaint. Many who
// look ask a plugin once, and one that is stuck keeps nobody.
func TestAPluginIsAskedAnewForWhoLooks(t *testing.T) {
	h, r := startOn(t, Config{CheckEvery: time.Hour}, &bus{}, "looks")
	_ = serving(t, h, r, "looks")
	looks := func() ledger.Plugin { return h.Live(r.row("looks")) }
	finds(t, h, pluginsdk.OnCheckResponse{Checks: []pluginsdk.Check{{Name: "budget", State: pluginsdk.CheckWarning}}})
	var together sync.WaitGroup
	for range 8 {
		together.Go(func() { h.CheckAnew(t.Context()) })
	}
	together.Wait()
	if live := looks(); fmt.Sprint(live.Checks) != "[{budget warning  }]" || live.Figures.Hooks[pluginsdk.HookCheck].Calls != 1 {
		t.Errorf("%v after %d calls", live.Checks, live.Figures.Hooks[pluginsdk.HookCheck].Calls)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	h.CheckAnew(ended)
	_ = r.edit("looks", func(p *ledger.Plugin) { p.Enabled = false })
	r.until(t, "the end of the plugin", func() bool { return looks().State == pluginsdk.PluginDisabled })
	h.CheckAnew(t.Context()) // nobody is there to answer: it returns
}

// A plugin that does not answer has its last checks, of which one can see how old they
// are; that it did not is counted as any failure is.
func TestNoAnswerLeavesTheLastChecks(t *testing.T) {
	h, r := startOn(t, Config{CheckEvery: 30 * time.Millisecond}, &bus{}, "looks")
	_ = serving(t, h, r, "looks")
	r.until(t, "the first answer", func() bool { return len(r.row("looks").Checks) == 1 })
	finds(t, h, "error")
	r.until(t, "the failure", func() bool { return r.row("looks").Failures > 1 })
	before := r.row("looks")
	r.until(t, "another failure", func() bool { return r.row("looks").Failures > before.Failures })
	if after := r.row("looks"); len(after.Checks) != 1 || !after.CheckedAt.Equal(before.CheckedAt) {
		t.Errorf("%v at %s, before at %s", after.Checks, after.CheckedAt, before.CheckedAt)
	}
}

// What plugins say of themselves is a stranger's text, and may hold secrets.
func TestChecksAreBounded(t *testing.T) {
	config := Config{CheckEvery: 30 * time.Millisecond, Settings: func(context.Context, ledger.Plugin) (Settings, error) {
		return Settings{Redact: func(text string) string { return strings.ReplaceAll(text, "canary", "[secret]") }}, nil
	}}
	h, r := startOn(t, config, &bus{}, "looks")
	said := slices.Repeat([]pluginsdk.Check{{Name: "x", State: pluginsdk.CheckOK}}, 40)
	said[0] = pluginsdk.Check{State: "purple", Detail: strings.Repeat("é", 1<<20), Remedy: "look after the canary"}
	finds(t, h, said)
	_ = serving(t, h, r, "looks")
	r.until(t, "the answer", func() bool { return len(r.row("looks").Checks) > 1 })
	kept := r.row("looks").Checks
	if first := kept[0]; len(kept) != 32 || first.Name != "unnamed" || first.State != pluginsdk.CheckWarning || first.Remedy != "look after the [secret]" ||
		len(first.Detail) > 1024 || !strings.HasSuffix(first.Detail, "é…") {
		t.Errorf("%d checks, the first: %.200v", len(kept), kept[0])
	}
}

// What another version has said must not be taken for what this one finds.
func TestAVersionThatIsNotAskedHasNoChecks(t *testing.T) {
	h, r := startOn(t, Config{CheckEvery: 30 * time.Millisecond}, &bus{}, "looks")
	_ = serving(t, h, r, "looks")
	r.until(t, "the first answer", func() bool { return len(r.row("looks").Checks) == 1 })
	path := binary(t, filepath.Join(filepath.Dir(h.config.Dir), "version-2.0.0"), "looks")
	_ = r.edit("looks", func(p *ledger.Plugin) { p.Path, p.SHA256 = path, "2" })
	r.until(t, "the upgrade", func() bool { return r.row("looks").Serving == "2" && len(r.row("looks").Checks) == 0 })
	if live := h.Live(r.row("looks")); len(live.Checks) != 0 {
		t.Errorf("live: %v", live.Checks)
	}
}

// opened records the tokens that were opened for a plugin, and when they would end.
type opened struct {
	mu     sync.Mutex
	good   map[string]time.Duration
	closed int
}

func (o *opened) Open(_ context.Context, plugin string, _ ledger.Behalf, deadline time.Time) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.good[plugin] = time.Until(deadline)
	return "token"
}

func (o *opened) Close(string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed++
}

// What the host itself asks is a call like any other: the operator may set its
// deadline, and what the plugin calls from within is known to belong to it.
func TestWhatTheHostAsksHasTheOperatorsDeadlineAndAToken(t *testing.T) {
	tokens := &opened{good: map[string]time.Duration{}}
	asking := hooks.New(hooks.Config{Deadlines: map[pluginsdk.Hook]time.Duration{pluginsdk.HookCheck: time.Hour}}, nil, tokens)
	h, r := startOn(t, Config{CheckEvery: 30 * time.Millisecond, Hooks: asking}, &bus{}, "looks")
	_ = serving(t, h, r, "looks")
	r.until(t, "the first answer", func() bool { return len(r.row("looks").Checks) > 0 })
	tokens.mu.Lock()
	defer tokens.mu.Unlock()
	if good := tokens.good["looks"]; good < time.Hour-time.Minute || tokens.closed == 0 {
		t.Errorf("its token was good for %s, and %d were closed", good, tokens.closed)
	}
}
