package pluginhost

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Replies must go to the plugin that speaks for the thread's source, and wait for it
// while it is off: neither to another one nor to nobody.
func TestASourceIsTheFirstPluginsInTheOrder(t *testing.T) {
	h, r := start(t, "carries", "listens", "rivals")
	carrierOf := func(source string) string {
		name, _ := h.CarrierOf(source)
		return name
	}
	if h.Speaks("carries", "shared") || !h.Speaks("carries", "carries") || carrierOf("carries") != "carries" || carrierOf("shared") != "" {
		t.Error("a plugin that was never started speaks for its name, and for nothing else")
	}
	_ = serving(t, h, r, "rivals")
	if carrierOf("shared") != "rivals" || !h.Speaks("rivals", "shared") {
		t.Errorf("the only one: %q", carrierOf("shared"))
	}
	_ = serving(t, h, r, "carries")
	_ = serving(t, h, r, "listens")
	if carrierOf("shared") != "carries" || !h.Speaks("carries", "shared") || h.Speaks("rivals", "shared") {
		t.Errorf("the first of two: %q", carrierOf("shared"))
	}
	if got := h.Sources("carries"); !slices.Equal(got, []string{"shared", "carries"}) {
		t.Errorf("sources of the first: %v", got)
	}
	if got := h.Sources("rivals"); !slices.Equal(got, []string{"rivals"}) {
		t.Errorf("sources of the second: %v", got)
	}
	if name, ok := h.CarrierOf("listens"); ok || !h.Speaks("listens", "listens") {
		t.Errorf("what carries nothing: %q", name)
	}
	if _, ok := h.CarrierOf("nobody's"); ok || h.Speaks("", "nobody's") {
		t.Error("a source that nobody names has a carrier")
	}

	_ = r.edit("carries", enable(false))
	r.until(t, "the end", r.is("carries", pluginsdk.PluginDisabled))
	h.Refresh()
	if carrierOf("shared") != "carries" || h.Speaks("rivals", "shared") {
		t.Errorf("while it is off: %q", carrierOf("shared"))
	}
	_ = r.edit("carries", func(p *ledger.Plugin) { p.Position = 1000 })
	waitFor(t, func() bool { return carrierOf("shared") == "rivals" && h.Speaks("rivals", "shared") })
}

// What a plugin submits a moment after its first start is its own, whatever of it has
// been read from the registry by then.
func TestASourceIsKnownFromTheStart(t *testing.T) {
	h, r := start(t, "carries")
	r.slow.Store(true)
	_ = serving(t, h, r, "carries")
	if name, _ := h.CarrierOf("shared"); name != "carries" || !h.Speaks("carries", "shared") {
		t.Errorf("its carrier is %q", name)
	}
}

// Two that answer the people of one source would surprise them, and whoever turned the
// second on must know that it is not heard.
func TestConflictsOfSourcesAreFound(t *testing.T) {
	h, r := start(t, "carries", "rivals")
	_ = serving(t, h, r, "carries")
	_ = serving(t, h, r, "rivals")
	const want = "sources: the source shared is carries's"
	waitFor(t, func() bool { return h.Live(r.row("rivals")).Problem == want })
	if problem := h.Live(r.row("carries")).Problem; problem != "" {
		t.Errorf("the first in the order has %q", problem)
	}

	conflict := func() string {
		rows, _ := r.Plugins(t.Context())
		return listedConflicts(Conflicts(r.row("rivals"), rows, nil))
	}
	if got := conflict(); !strings.Contains(got, "the source shared is carries's") {
		t.Errorf("with the other on: %q", got)
	}
	_ = r.edit("carries", enable(false))
	if got := conflict(); !strings.Contains(got, "the source shared is carries's") {
		t.Errorf("with the other off, but before it: %q", got)
	}
	_ = r.edit("carries", func(p *ledger.Plugin) { p.Position = 1000 })
	if got := conflict(); got != "" {
		t.Errorf("with the other off, and behind it: %q", got)
	}
	_ = r.edit("carries", enable(true))
	if got := conflict(); got == "" {
		t.Error("a source would be taken from one that is on, and nothing is said")
	}
}

// What is said in the threads of a source is for its owner to carry. Another plugin that names
// the source, without a grant and maybe never turned on, must not get it, neither at once nor
// with its next version, which does not name it any more.
func TestNobodyCarriesForTheOwnerOfASource(t *testing.T) {
	manifest := func(name string, hooks ...pluginsdk.Hook) pluginsdk.PluginInfo {
		return pluginsdk.PluginInfo{Name: name, Manifest: pluginsdk.Manifest{Name: name, Version: "1", Sources: []string{name, "web"}, Hooks: hooks}}
	}
	h := &Host{}
	h.listSpeakers([]ledger.Plugin{{PluginInfo: manifest("web")}, {PluginInfo: manifest("spy", pluginsdk.HookDeliver)}})
	if plugin, ok := h.CarrierOf("web"); ok {
		t.Errorf("what is said in web's threads is carried by %q", plugin)
	}
	if plugin, ok := h.CarrierOf("spy"); !ok || plugin != "spy" {
		t.Errorf("its own is carried by %q", plugin)
	}
}

// A plugin that an operator has just turned on has not said yet what it answers. A
// reply in that moment must not be lost to its people.
func TestAPluginThatHasNeverStartedMayCarry(t *testing.T) {
	h := &Host{}
	h.listSpeakers([]ledger.Plugin{
		{PluginInfo: pluginsdk.PluginInfo{Name: "new"}},
		{PluginInfo: pluginsdk.PluginInfo{Name: "web", Manifest: pluginsdk.Manifest{Name: "web", Version: "1"}}},
	})
	if plugin, ok := h.CarrierOf("new"); !ok || plugin != "new" {
		t.Errorf("new is carried by %q", plugin)
	}
	if plugin, ok := h.CarrierOf("web"); ok {
		t.Errorf("web, which does not deliver, is carried by %q", plugin)
	}
}
