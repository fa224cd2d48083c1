package pluginhost

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// core is the Owner of a command of the core.
const core = "the core"

// Conflict is a command or a source of threads that a plugin wants and another owns.
type Conflict struct {
	Command string // without the slash
	Source  string // set when the conflict is not about a command
	Owner   string // a plugin's name, or "the core"
}

// What names the command or the source: /COMMAND, or the source SOURCE.
func (c Conflict) What() string {
	if c.Source != "" {
		return "the source " + c.Source
	}
	return "/" + c.Command
}

// Core reports whether the core owns it.
func (c Conflict) Core() bool { return c.Owner == core }

func (c Conflict) String() string { return fmt.Sprintf("%s is %s's", c.What(), c.Owner) }

// Conflicts returns the commands and sources that a plugin would want in vain, or take
// from another, if it were enabled. They are the commands of the core and of other
// enabled plugins, and the sources of other plugins that are enabled or come earlier in
// the operator's order. It leaves out the command *, which takes what nobody else owns.
func Conflicts(plugin ledger.Plugin, rows []ledger.Plugin, reserved []string) []Conflict {
	owners := make(map[string]string)
	sources := make(map[string]string)
	for _, row := range rows {
		if row.Name == plugin.Name {
			continue
		}
		if row.Enabled {
			own(owners, row.PluginInfo)
		}
		if row.Enabled || earlier(row.PluginInfo, plugin.PluginInfo) {
			ownSources(sources, row.Name, speaks(row.Name, row.Manifest))
		}
	}
	found := conflicts(plugin.PluginInfo, owners, reserved)
	return append(found, sourceConflicts(plugin.Name, speaks(plugin.Name, plugin.Manifest), sources)...)
}

// earlier reports whether a comes before b in the operator's order.
func earlier(a, b pluginsdk.PluginInfo) bool {
	return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Name, b.Name)) < 0
}

func listedConflicts(found []Conflict) string {
	words := make([]string, len(found))
	for n, conflict := range found {
		words[n] = conflict.String()
	}
	return strings.Join(words, ", ")
}

func conflicts(plugin pluginsdk.PluginInfo, owners map[string]string, reserved []string) (found []Conflict) {
	for _, command := range plugin.Manifest.Commands {
		if slices.Contains(reserved, command.Name) {
			found = append(found, Conflict{Command: command.Name, Owner: core})
		} else if owner, taken := owners[command.Name]; taken && command.Name != "*" {
			found = append(found, Conflict{Command: command.Name, Owner: owner})
		}
	}
	return found
}

func sourceConflicts(plugin string, sources []string, owners map[string]string) (found []Conflict) {
	for _, source := range sources {
		if owner, taken := owners[source]; taken && owner != plugin {
			found = append(found, Conflict{Source: source, Owner: owner})
		}
	}
	return found
}

// own makes the plugin the owner of those of its commands that nobody owns.
func own(owners map[string]string, plugin pluginsdk.PluginInfo) {
	for _, command := range plugin.Manifest.Commands {
		if _, taken := owners[command.Name]; !taken {
			owners[command.Name] = plugin.Name
		}
	}
}

// ownSources makes the plugin the owner of those sources that nobody owns.
func ownSources(owners map[string]string, plugin string, sources []string) {
	for _, source := range sources {
		if _, taken := owners[source]; !taken {
			owners[source] = plugin
		}
	}
}

// markConflicts notes on each instance which of its commands and sources another owns.
// The instances come in the operator's order: the first to want a command owns it.
func (h *Host) markConflicts(instances []*Instance) {
	owners := make(map[string]string)
	sources := h.sourceOwners()
	for _, instance := range instances {
		info := *instance.Info()
		var words []string
		if found := conflicts(info, owners, h.config.Reserved); len(found) > 0 {
			words = append(words, "commands: "+listedConflicts(found))
		}
		if found := sourceConflicts(info.Name, speaks(info.Name, info.Manifest), sources); len(found) > 0 {
			words = append(words, "sources: "+listedConflicts(found))
		}
		instance.report.setConflict(strings.Join(words, "; "))
		own(owners, info)
	}
}
