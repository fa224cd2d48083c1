package pluginhost

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// Who looks for what makes runs slow finds the plugin by it; a tool that takes its
// time, and what is asked outside of runs, holds up nobody.
func TestSlowCallsOfRunsAreCounted(t *testing.T) {
	h, r := start(t, "first")
	i := serving(t, h, r, "first")
	ask := func(run string, hook pluginsdk.Hook) {
		t.Helper()
		if err := i.Do(t.Context(), run, hook, "call", func(*Process) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	ask("R", pluginsdk.HookCommand)
	if slow := h.Live(r.row("first")).Figures.Slow; slow != 0 {
		t.Errorf("%d calls of a moment are slow", slow)
	}
	h.slow = 0 // from now on all are
	ask("R", pluginsdk.HookCommand)
	ask("R", pluginsdk.HookCallTool)
	ask("", pluginsdk.HookCommand)
	if figures := h.Live(r.row("first")).Figures; figures.Slow != 1 || figures.Calls != 4 {
		t.Errorf("%d of %d calls are slow", figures.Slow, figures.Calls)
	}
}

// Rows that are not in the thread must be somewhere: the author finds in the plugin's
// log why, and the operator how many.
func TestDroppedRowsAreCountedAndLogged(t *testing.T) {
	h, r := start(t, "first")
	_ = serving(t, h, r, "first")
	h.CountDropped("first", 3, "it lacks messages.write")
	h.CountDropped("first", 2, "too much")
	h.CountDropped("nobody", 1, "who is that")
	if dropped := h.Live(r.row("first")).Figures.RowsDropped; dropped != 5 {
		t.Errorf("%d rows", dropped)
	}
	lines, err := h.Logs(t.Context(), "first", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if line.Level == "warn" && line.Text == "rows that were not stored: 3: it lacks messages.write" {
			return
		}
	}
	t.Errorf("the log: %v", lines)
}

// What a plugin asks of the core is in its figures beside what it is asked.
func TestTheFiguresHaveWhatThePluginAskedOfTheHost(t *testing.T) {
	config := Config{HostFigures: func(plugin string) (map[string]pluginsdk.CallFigures, int64) {
		return map[string]pluginsdk.CallFigures{plugin + ".Messages.Append": {Calls: 7}}, 4
	}}
	h, r := startOn(t, config, &bus{}, "first")
	_ = serving(t, h, r, "first")
	right := func(f pluginsdk.PluginFigures) bool {
		return f.Host["first.Messages.Append"].Calls == 7 && f.HeldBack == 4
	}
	if figures := h.Live(r.row("first")).Figures; !right(figures) {
		t.Errorf("live: %+v", figures)
	}
	r.until(t, "the figures in the row", func() bool { return right(r.row("first").Figures) })
}

// A person who sends too much must not get the plugin into quarantine that was to
// answer it.
func TestACallThatIsTooLargeIsNotThePluginsFault(t *testing.T) {
	h, r := start(t, "first")
	i := serving(t, h, r, "first")
	i.router.mu.Lock()
	i.router.serving.onTrial = true
	i.router.mu.Unlock()
	_, err := say(t, i, strings.Repeat("x", 17<<20))
	if !errors.Is(err, launch.ErrTooLarge) {
		t.Fatal(err)
	}
	i.router.mu.Lock()
	onTrial := i.router.serving.onTrial
	i.router.mu.Unlock()
	i.report.mu.Lock()
	failures := i.report.failures
	i.report.mu.Unlock()
	if figures := h.Live(r.row("first")).Figures; failures != 0 || figures.Calls != 0 || !onTrial {
		t.Errorf("%d failures, %+v, on trial: %v", failures, figures, onTrial)
	}
	if reply, err := say(t, i, ""); reply != "first" || err != nil {
		t.Errorf("the next call: %q %v", reply, err)
	}
}

// A person who mistypes a command must not make the plugin look broken. What else fails counts: the same error of another hook,
// a failure without a code, and an answer that is too large.
func TestACommandThatIsRefusedIsNotThePluginsFault(t *testing.T) {
	h, r := start(t, "first")
	i := serving(t, h, r, "first")
	large := &pluginsdk.Error{Code: pluginsdk.CodeExhausted, Message: "received message larger than max", Cause: launch.ErrAnswerTooLarge}
	for _, row := range []struct {
		hook     pluginsdk.Hook
		err      error
		failures int
	}{
		{pluginsdk.HookCommand, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no x"), 0},
		{pluginsdk.HookCommand, pluginsdk.Errorf(pluginsdk.CodeExhausted, "there are 50 already"), 0},
		{pluginsdk.HookMessage, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no x"), 1},
		{pluginsdk.HookCommand, errors.New("out of order"), 2},
		{pluginsdk.HookCommand, large, 3},
	} {
		_ = i.Do(t.Context(), "", row.hook, "call", func(*Process) error { return row.err })
		i.report.mu.Lock()
		failures := int(i.report.failures)
		i.report.mu.Unlock()
		if failures != row.failures {
			t.Errorf("%s, %v: %d failures, want %d", row.hook, row.err, failures, row.failures)
		}
	}
	if of := h.Live(r.row("first")).Figures.Hooks[pluginsdk.HookCommand]; of.Calls != 4 || of.Errors != 2 {
		t.Errorf("%+v", of)
	}
}

// Its secrets are taken out of the error, and it is known for what it is.
func TestAnErrorWithoutSecretsIsStillTooLarge(t *testing.T) {
	i := &Instance{}
	i.settings.Store(&Settings{Redact: func(string) string { return "[secret]" }})
	err := i.redacted(pluginsdk.Errorf(pluginsdk.CodeInvalid, "%w: canary", launch.ErrTooLarge))
	if !errors.Is(err, launch.ErrTooLarge) || pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}

// An operator who gives a plugin more room in the database does not end its work.
func TestOtherQuotasAreNoReasonToReplaceAPlugin(t *testing.T) {
	h, r := start(t, "first")
	i := serving(t, h, r, "first")
	process := func() (p *Process) {
		_ = i.Do(t.Context(), "", pluginsdk.HookCommand, "call", func(now *Process) error { p = now; return nil })
		return p
	}
	before := process()
	quotas := pluginsdk.PluginLimits{CallsPerMinute: 1, RowsPerMinute: 2, BytesPerMinute: 3, StoredBytes: 4}
	_ = r.edit("first", func(p *ledger.Plugin) { p.Limits, p.Generation = quotas, p.Generation+1 })
	r.until(t, "the word that it is carried out", func() bool { return r.row("first").Settled == r.row("first").Generation })
	if h.Limits("first") != quotas || h.Limits("nobody") != (pluginsdk.PluginLimits{}) {
		t.Errorf("in force: %+v", h.Limits("first"))
	}
	if process() != before {
		t.Error("it was replaced")
	}
	path := binary(t, filepath.Join(filepath.Dir(h.config.Dir), "version-2.0.0"), "first")
	_ = r.edit("first", func(p *ledger.Plugin) { p.Path, p.Limits.OpenFiles = path, 64 })
	waitFor(t, func() bool { now := process(); return now != nil && now != before })
	if h.Limits("first").StoredBytes != 4 {
		t.Errorf("in force: %+v", h.Limits("first"))
	}
}
