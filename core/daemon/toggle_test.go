package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// An operator turns a plugin off and on in the database while turns run: the
// turn under way ends well, the next has no context, and it comes back. The
// daemon is not restarted.
func TestPluginIsToggledBySQLDuringATurn(t *testing.T) {
	if !apart(t) {
		return
	}
	withRealAgent(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t))
		api := in.claude()
		in.start()
		memory := filepath.Join(in.config.Data, "workspace", "context", "memory.md")
		if err := os.WriteFile(memory, []byte("The person likes plums.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		registry, watch, thread := in.database(), in.watch(), in.thread("toggled")
		state := func(want pluginsdk.PluginState) func() bool {
			return func() bool { return plugin(t, registry, "context").State == want }
		}
		hasContext := func() bool {
			seen := prompts(api)
			return strings.Contains(seen[len(seen)-1], "likes plums")
		}

		during := in.chat(thread, "block:gate say:Unhurt.")
		api.WaitRequests(t, 1)
		in.sql(`UPDATE plugins SET enabled = FALSE WHERE name = 'context'`)
		in.until("the plugin's end", state(pluginsdk.PluginDisabled))
		api.Release("gate")
		watch.end(during.RunID)
		if run := in.run(during.RunID); run.State != pluginsdk.RunSucceeded || !hasContext() {
			t.Errorf("the turn under way: %s %s, context %v", run.State, run.Error, hasContext())
		}
		in.say(watch, thread, "say:Without.")
		if hasContext() {
			t.Error("the next turn has the context of a plugin that is off")
		}
		in.sql(`UPDATE plugins SET enabled = TRUE WHERE name = 'context'`)
		in.until("the plugin's return", state(pluginsdk.PluginServing))
		in.say(watch, thread, "say:With.")
		if !hasContext() {
			t.Error("the context did not come back")
		}
	})
}
