package toolserver

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Bounds are what the plugins together can offer the agent: all of it is in
// every request to the model. Zero fields get defaults.
type Bounds struct {
	Tools int // default 128
	Bytes int // of the tools' names, descriptions and schemas; default 128 KiB
}

// DefaultBounds are what holds where nobody has set anything.
func DefaultBounds() Bounds { return Bounds{Tools: 128, Bytes: 128 << 10} }

func (b Bounds) withDefaults() Bounds {
	return Bounds{Tools: cmp.Or(b.Tools, DefaultBounds().Tools), Bytes: cmp.Or(b.Bytes, DefaultBounds().Bytes)}
}

func (b Bounds) String() string {
	return fmt.Sprintf("%d tools and %s of names, descriptions and schemas", b.Tools, humanize.IBytes(uint64(b.Bytes))) //nolint:gosec // not negative
}

// size is what the tool takes of the bound in bytes.
func (t *tool) size() int {
	return len(t.spec.Name) + len(t.spec.Description) + len(t.spec.InputSchema)
}

// share says of each shelf how many of its first tools are offered. It is fair
// from the least up: the next tool is always of the plugin that has the least
// with it, be it of the number or of the bytes, and a plugin whose next tool has
// no room gets no more. A plugin that wants no more than an equal share thus has
// all of it, and only those are cut that want more. Among equals the first in
// the order goes first.
func (b Bounds) share(shelves []*shelf) (taken []int) {
	taken = make([]int, len(shelves))
	used := make([]int, len(shelves)) // bytes
	full := make([]bool, len(shelves))
	tools, bytes := 0, 0
	for {
		next, least := -1, 0
		for n, shelf := range shelves {
			if full[n] || taken[n] == len(shelf.tools) {
				continue
			}
			with := max((taken[n]+1)*b.Bytes, (used[n]+shelf.tools[taken[n]].size())*b.Tools) // both of Bytes*Tools
			if next < 0 || with < least {
				next, least = n, with
			}
		}
		if next < 0 {
			return taken
		}
		size := shelves[next].tools[taken[next]].size()
		if tools+1 > b.Tools || bytes+size > b.Bytes {
			full[next] = true
			continue
		}
		taken[next]++
		used[next] += size
		tools++
		bytes += size
	}
}

// menu is what of the shelves of several plugins the agent is offered.
type menu struct {
	bounds  Bounds
	shelves []*shelf // in the operator's order
	taken   []int    // by shelf, how many of its first tools
}

func (m *menu) tools() []*tool {
	var tools []*tool
	for n, shelf := range m.shelves {
		tools = append(tools, shelf.tools[:m.taken[n]]...)
	}
	return tools
}

// lack says what of a shelf is not offered; empty: all is.
func (m *menu) lack(n int) string {
	shelf, taken := m.shelves[n], m.taken[n]
	if taken == len(shelf.tools) {
		return ""
	}
	return fmt.Sprintf("the agent is offered %d of the %d tools of %s, none from %s on: there is room for %s of all plugins together",
		taken, len(shelf.tools), shelf.plugin, shelf.tools[taken].local, m.bounds)
}

// Unoffered says, by the rows of the registry, of which enabled plugins the agent
// is not offered all tools for want of room beside the core's own, and which.
func Unoffered(bounds Bounds, own *pluginsdk.PluginInfo, rows []ledger.Plugin) map[string]string {
	var plugins []*pluginsdk.PluginInfo
	for _, row := range rows {
		if row.Enabled && len(row.Manifest.Tools) > 0 {
			plugins = append(plugins, &row.PluginInfo)
		}
	}
	slices.SortStableFunc(plugins, func(a, b *pluginsdk.PluginInfo) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Name, b.Name))
	})
	menu := newCatalog(bounds, slog.New(slog.DiscardHandler)).menu(append([]*pluginsdk.PluginInfo{own}, plugins...))
	lacking := make(map[string]string)
	for n, shelf := range menu.shelves {
		if lack := menu.lack(n); lack != "" {
			lacking[shelf.plugin] = lack
		}
	}
	return lacking
}

// Unoffered says what of a plugin's tools the agent is not offered for want of
// room; empty: all are.
func (s *Server) Unoffered(plugin string) string {
	menu := s.menu()
	for n, shelf := range menu.shelves {
		if shelf.plugin == plugin {
			return menu.lack(n)
		}
	}
	return ""
}
