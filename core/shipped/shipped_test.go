package shipped_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A plugin that is built and has no line starts disabled and without grants in every
// new installation; a line without a plugin is a plugin that nobody has.
func TestEveryShippedPluginHasItsFolderAndItsLine(t *testing.T) {
	mains, err := filepath.Glob(filepath.Join("..", "..", "plugins", "cmd", "*", "main.go"))
	if err != nil || len(mains) == 0 {
		t.Fatalf("no plugins were found: %v", err)
	}
	built := make(map[string]bool, len(mains))
	for _, main := range mains {
		name := filepath.Base(filepath.Dir(main))
		if name == "harness-plugins" { // it is all of them
			continue
		}
		if built[name] = true; shipped.Plugins.Place(name) == 0 {
			t.Errorf("plugins/%s is built, and core/shipped has no line for it: add {%q, nil} at its place in the order, with what it is granted", name, name)
		}
	}
	for _, plugin := range shipped.Plugins {
		if !built[plugin.Name] {
			t.Errorf("core/shipped has the line %s, and there is no plugins/cmd/%s/main.go", plugin.Name, plugin.Name)
		}
	}
}

// What is granted must be something that there is, or the plugin lacks it for ever.
func TestWhatIsGrantedIsKnown(t *testing.T) {
	known := make(map[pluginsdk.Capability]bool)
	for _, capability := range pluginsdk.AllCapabilities() {
		known[capability] = true
	}
	for _, plugin := range shipped.Plugins {
		for _, grants := range plugin.Grants {
			for _, capability := range grants.Capabilities {
				if !known[capability] || grants.Since < 1 {
					t.Errorf("%s is granted %s since version %d", plugin.Name, capability, grants.Since)
				}
			}
		}
	}
}

func list(capabilities []pluginsdk.Capability) string {
	words := make([]string, len(capabilities))
	for n, capability := range capabilities {
		words[n] = string(capability)
	}
	return strings.Join(words, ", ")
}

// The first version is what installations have, and is not to be changed any more.
func TestTheGrantsOfTheFirstVersion(t *testing.T) {
	for name, want := range map[string]string{
		"activity": "messages.write", "context": "messages.read", "time": "",
		"web": "threads.read, threads.write, messages.read, messages.submit, runs.read, runs.control, deliveries.read, deliveries.control, " +
			"events.read, plugins.read, plugins.admin, tools.call",
	} {
		all, _ := shipped.Plugins.After(name, 0)
		added, _ := shipped.Plugins.After(name, 1)
		if first := list(all[:len(all)-len(added)]); first != want {
			t.Errorf("%s: %s", name, first)
		}
	}
	const since6 = "commands.read, approvals.read, approvals.decide, files.read, files.write, workspace.read, workspace.write, " +
		"tokens.check, tokens.admin, installation.read, installation.control, installation.backup, crons.read, accounts.write, " +
		"turns.read, turns.change, turns.decide, tasks.prepare, tasks.judge, crons.write"
	if added, env := shipped.Plugins.After("web", 1); list(added) != "threads.admin, metrics.read, tasks.read, tasks.write, tasks.decide, "+since6 || !slices.Equal(env, []string{"HARNESS_VERSION", "HARNESS_TLS_CERT", "HARNESS_TLS_KEY", "HARNESS_OWNER_TOKEN"}) {
		t.Errorf("what web has since the first version: %v %v", added, env)
	}
	if added, env := shipped.Plugins.After("web", 2); list(added) != "metrics.read, tasks.read, tasks.write, tasks.decide, "+since6 || !slices.Equal(env, []string{"HARNESS_VERSION", "HARNESS_TLS_CERT", "HARNESS_TLS_KEY", "HARNESS_OWNER_TOKEN"}) {
		t.Errorf("what web has since the second version: %v %v", added, env)
	}
	if added, env := shipped.Plugins.After("web", 3); list(added) != "metrics.read, tasks.read, tasks.write, tasks.decide, "+since6 || !slices.Equal(env, []string{"HARNESS_TLS_CERT", "HARNESS_TLS_KEY", "HARNESS_OWNER_TOKEN"}) {
		t.Errorf("what web has since the third version: %v %v", added, env)
	}
	if added, _ := shipped.Plugins.After("web", 4); list(added) != "tasks.read, tasks.write, tasks.decide, "+since6 {
		t.Errorf("what web has since the fourth version: %v", added)
	}
	discord, env := shipped.Plugins.After("discord", 7)
	if list(discord) != "threads.read, threads.write, messages.read, messages.submit, runs.read, runs.control, deliveries.read, events.read, commands.read, "+
		"approvals.read, approvals.decide, files.read, files.write, state, tasks.read, tasks.decide" || !slices.Equal(env, []string{"DISCORD_TOKEN", "DISCORD_CHANNEL_ID"}) {
		t.Errorf("what discord has since the eighth version: %v %v", discord, env)
	}
	if shipped.Plugins.Version() != 17 {
		t.Errorf("version %d", shipped.Plugins.Version())
	}
}
