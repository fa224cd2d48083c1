package pluginhost

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// core is the name under which the core's own commands are in a Conflict.
const core = "the core"

// Conflict is a command that two want.
type Conflict struct {
	Command string
	Owner   string // a plugin, or "the core"
}

func (c Conflict) String() string { return fmt.Sprintf("/%s is %s's", c.Command, c.Owner) }

// Conflicts returns the commands of a plugin that the core or another enabled
// plugin has, by the rows of the registry. It says nothing of *, which takes
// what nobody else has.
func Conflicts(plugin pluginsdk.PluginInfo, rows []pluginsdk.PluginInfo, reserved []string) []Conflict {
	owners := make(map[string]string)
	for _, row := range rows {
		if row.Enabled && row.Name != plugin.Name {
			own(owners, row)
		}
	}
	return conflicts(plugin, owners, reserved)
}

// Conflict is Conflicts as an error (CodeConflict), nil when there is none.
func (h *Host) Conflict(plugin pluginsdk.PluginInfo, rows []pluginsdk.PluginInfo) error {
	found := Conflicts(plugin, rows, h.config.Reserved)
	if len(found) == 0 {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeConflict, "the plugin %s has commands that are another's: %s", plugin.Name, listedConflicts(found))
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

// own makes the plugin the owner of its commands that nobody has.
func own(owners map[string]string, plugin pluginsdk.PluginInfo) {
	for _, command := range plugin.Manifest.Commands {
		if _, taken := owners[command.Name]; !taken {
			owners[command.Name] = plugin.Name
		}
	}
}

// markConflicts notes on each instance, in the operator's order, which of its
// commands are another's: the first in the order is asked first.
func markConflicts(instances []*Instance, reserved []string) {
	owners := make(map[string]string)
	for _, instance := range instances {
		info := *instance.Info()
		instance.setConflict(listedConflicts(conflicts(info, owners, reserved)))
		own(owners, info)
	}
}
