package pluginhost

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// shipped are the plugins that come with Harness: enabled with their grants at
// first start, in this order. Whatever else lies in the directory starts
// disabled, with no grants, behind them.
var shipped = releases{
	{"activity", []grants{{since: 1, capabilities: []pluginsdk.Capability{pluginsdk.CapMessagesWrite}}}},
	{"context", []grants{{since: 1, capabilities: []pluginsdk.Capability{pluginsdk.CapMessagesRead}, env: []string{"HARNESS_WORKSPACE"}}}},
	{"time", nil},
	{"web", []grants{
		{since: 1, capabilities: []pluginsdk.Capability{
			pluginsdk.CapThreadsRead, pluginsdk.CapThreadsWrite, pluginsdk.CapMessagesRead, pluginsdk.CapMessagesSubmit,
			pluginsdk.CapRunsRead, pluginsdk.CapRunsControl, pluginsdk.CapDeliveriesRead, pluginsdk.CapDeliveriesControl,
			pluginsdk.CapEventsRead, pluginsdk.CapPluginsRead, pluginsdk.CapPluginsAdmin, pluginsdk.CapToolsCall,
		}, env: []string{"HARNESS_HTTP_ADDR"}},
		{since: 2, capabilities: []pluginsdk.Capability{pluginsdk.CapThreadsAdmin}},
		{since: 3, env: []string{"HARNESS_VERSION"}},
	}},
}

// releases say of each shipped plugin what it is granted by default, and since when.
// What a release changes is a version of the grants more: an entry that was in a
// release stays as it is.
type releases []struct {
	name   string
	grants []grants
}

// grants are what a version of the grants adds to those before it.
type grants struct {
	since        int
	capabilities []pluginsdk.Capability
	env          []string
}

// version is the newest version of the grants.
func (r releases) version() (newest int) {
	for _, plugin := range r {
		for _, added := range plugin.grants {
			newest = max(newest, added.since)
		}
	}
	return newest
}

// place is the plugin's among the shipped ones, from 1; 0: it is none of them.
func (r releases) place(name string) int {
	for n, plugin := range r {
		if plugin.name == name {
			return n + 1
		}
	}
	return 0
}

// after returns what a plugin is granted by the versions after one, and was by none
// of those before.
func (r releases) after(name string, version int) (capabilities []pluginsdk.Capability, env []string) {
	place := r.place(name)
	if place == 0 {
		return nil, nil
	}
	var had grants
	for _, added := range r[place-1].grants {
		if added.since <= version {
			had.capabilities, had.env = append(had.capabilities, added.capabilities...), append(had.env, added.env...)
			continue
		}
		capabilities = append(capabilities, without(added.capabilities, had.capabilities)...)
		env = append(env, without(added.env, had.env)...)
	}
	return capabilities, env
}

// without returns the names that are not among others.
func without[T comparable](names, others []T) []T {
	return slices.DeleteFunc(slices.Clone(names), func(name T) bool { return slices.Contains(others, name) })
}

// grantedOf is the version of the grants that a row has been given. Rows of before
// there were versions have the first, but for those of before there were origins: they
// were given less (nothing of the environment), and of them nobody knows what.
func grantedOf(row ledger.Plugin) int {
	if row.GrantsVersion == 0 && row.Origin != "" {
		return 1
	}
	return row.GrantsVersion
}

// adopt gives a shipped plugin, once, what the versions of the grants since its own
// have added. What an operator took from it before stays taken, but for a row of before
// there were origins, which gets everything, once. Of a row that was broken by hand
// nobody knows what was granted: it is left alone until a start finds it mended.
func (h *Host) adopt(ctx context.Context, known ledger.Plugin) error {
	newest := h.shipped.version()
	if h.shipped.place(known.Name) == 0 || known.GrantsVersion >= newest {
		return nil
	}
	if known.Problem != "" {
		h.config.Log.Warn("a plugin is not granted what this release needs, because its row is wrong; the next start does it",
			"plugin", known.Name, "problem", known.Problem)
		return nil
	}
	err := h.store.EditPlugin(ctx, known.Name, "daemon", "plugin.grant", func(row *ledger.Plugin) (string, error) {
		capabilities, env := h.shipped.after(row.Name, grantedOf(known))
		capabilities, env = without(capabilities, row.Granted), without(env, row.GrantedEnv)
		row.Granted, row.GrantedEnv = append(row.Granted, capabilities...), append(row.GrantedEnv, env...)
		row.GrantsVersion = newest
		if len(capabilities)+len(env) == 0 {
			return fmt.Sprintf("this release (grants %d) gives it nothing new", newest), nil
		}
		return fmt.Sprintf("this release (grants %d) needs: %s", newest, listed(append(names(capabilities), env...))), nil
	})
	if err != nil {
		return fmt.Errorf("grant %s what this release needs: %w", known.Name, err)
	}
	return nil
}

func names[T ~string](of []T) []string {
	words := make([]string, len(of))
	for n, name := range of {
		words[n] = string(name)
	}
	return words
}
