package daemon

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/core/hostapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/toolserver"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func checkPluginDir(dir string) Check {
	check := Check{Name: "plugin directory", Remedy: "run `make build`, or name the directory of the binaries with --plugins or HARNESS_PLUGINS"}
	entries, err := os.ReadDir(dir)
	if err != nil {
		check.Detail = err.Error()
		return check
	}
	count := 0
	for _, entry := range entries {
		if executable(filepath.Join(dir, entry.Name())) == nil {
			count++
		}
	}
	check.OK, check.Detail = count > 0, fmt.Sprintf("plugin binaries in %s: %d", dir, count)
	return check
}

// executable returns why a file cannot be started, or nil.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file", path)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable", path)
	}
	return nil
}

// checkTools is silent about plugins all of whose tools the agent is offered.
func checkTools(rows []ledger.Plugin, config Config) (checks []Check) {
	lacking := toolserver.Unoffered(config.ToolBounds, hostapi.CoreTools(), rows)
	for _, name := range slices.Sorted(maps.Keys(lacking)) {
		checks = append(checks, Check{
			Name: "tools of " + name, Optional: true, Detail: lacking[name],
			Remedy: "disable plugins that the agent does not need, or raise HARNESS_TOOLS_MAX or HARNESS_TOOLS_BYTES: " +
				"all of it is in every request to the model",
		})
	}
	return checks
}

// checkBudgets is silent while a plugin is on that may deny runs and knows what was spent: what it
// bounds, it says itself.
func checkBudgets(rows []ledger.Plugin, config Config) []Check {
	if len(rows) == 0 || config.Agent == "demo" {
		return nil
	}
	remedy := "install a plugin that does"
	for _, row := range rows {
		switch holds := row.Manifest.Answers(pluginsdk.HookBeforeRun) && slices.Contains(row.Granted, pluginsdk.CapBudgetsRead); {
		case holds && row.Enabled:
			return nil
		case holds:
			remedy = "`harness plugin enable " + row.Name + "`"
		}
	}
	return []Check{{
		Name: "budgets", Optional: true, Remedy: remedy,
		Detail: "no budget holds: no plugin is on that may deny runs and knows what was spent, so that nothing but the caps of tasks and turns bounds what the agent costs",
	}}
}

// checkSchedules is silent while no job is on, or a plugin is on that may fire jobs. The plugin web only changes them.
func checkSchedules(rows []ledger.Plugin, on []string) []Check {
	fires := func(row ledger.Plugin) bool {
		return row.Enabled && row.Name != "web" && slices.Contains(row.Granted, pluginsdk.CapCronsWrite)
	}
	if len(on) == 0 || slices.ContainsFunc(rows, fires) {
		return nil
	}
	return []Check{{
		Name: "schedules", Optional: true, Remedy: "`harness plugin enable cron` has them run; `harness cron off NAME` turns off one then",
		Detail: fmt.Sprintf("schedules that are on, and that nobody fires, for the plugin cron is off: %d (%s)", len(on), strings.Join(on[:min(len(on), 3)], ", ")),
	}}
}

func checkPlugin(row ledger.Plugin, running bool) Check {
	check := Check{Name: "plugin " + row.Name, OK: true, Detail: "disabled"}
	if row.Problem != "" {
		check.OK, check.Detail = false, "its row is wrong: "+row.Problem
		check.Remedy = "correct the row; until then its last good values hold"
		return check
	}
	if !row.Enabled {
		return check
	}
	if err := executable(row.Path); err != nil {
		check.OK, check.Detail = false, err.Error()
		check.Remedy = "build or install the plugin again, or `harness plugin disable " + row.Name + "`"
		return check
	}
	if !running {
		check.Detail = "enabled; starts with the daemon"
		return check
	}
	check.Detail = string(row.State)
	switch row.State { //nolint:exhaustive // the others are what an enabled plugin goes through
	case pluginsdk.PluginQuarantined:
		check.OK = false
		check.Detail = strings.TrimSuffix(string(row.State)+": "+row.LastError, ": ")
		check.Remedy = "`harness plugin info " + row.Name + "` says why; `harness plugin enable " + row.Name + "` starts it again"
	case pluginsdk.PluginServing:
		if len(row.Checks) > 0 && old(row) != "" {
			check.Detail += "; how it finds its surroundings it said last " + humanize.Time(row.CheckedAt)
		}
	case pluginsdk.PluginBackoff, pluginsdk.PluginFailed, pluginsdk.PluginStopped, pluginsdk.PluginDisabled:
		check.OK = false
		check.Detail = strings.TrimSuffix(string(row.State)+": "+row.LastError, ": ")
		check.Remedy = "the daemon's log says more under plugin=" + row.Name + "; `harness plugin disable " + row.Name + "` does without it"
	}
	return check
}

// checkSettings is silent unless an enabled plugin has refused the settings of its row.
func checkSettings(row ledger.Plugin) []Check {
	if !row.Enabled || !row.RefusesSettings() {
		return nil
	}
	detail := "refused: " + row.Refused.Words
	if since := row.WhenAccepted(); since != "" {
		detail += "; in force are those of " + since
	}
	return []Check{{
		Name: "settings of " + row.Name, Optional: true, Detail: detail,
		Remedy: fmt.Sprintf("`harness plugin settings set %[1]s KEY=VALUE` sets others, `harness plugin settings revert %[1]s` goes back", row.Name),
	}}
}

// checkSurroundings is what a plugin that serves has said does not work, or not well.
func checkSurroundings(row ledger.Plugin) (checks []Check) {
	if !row.Enabled || row.State != pluginsdk.PluginServing {
		return nil
	}
	for _, said := range row.Checks {
		if said.State == pluginsdk.CheckOK {
			continue
		}
		checks = append(checks, Check{
			Name: "plugin " + row.Name + ": " + said.Name, Optional: said.State != pluginsdk.CheckFailing,
			Detail: cmp.Or(said.Detail, string(said.State)) + age(row),
			Remedy: cmp.Or(said.Remedy, "the plugin says no more; `harness plugin logs "+row.Name+"` may"),
		})
	}
	return checks
}

// old marks what a plugin has said of its surroundings when nobody should take it for
// what holds.
func old(row ledger.Plugin) string {
	if time.Since(row.CheckedAt) > ledger.ChecksGood {
		return " (old: it has said nothing since " + humanize.Time(row.CheckedAt) + ")"
	}
	return ""
}

// ageless is how old what a plugin has said is at most when its age is not said.
const ageless = 5 * time.Second

// age is how old what a plugin has said of its surroundings is; empty: it was said just now.
func age(row ledger.Plugin) string {
	switch words := old(row); {
	case words != "" || time.Since(row.CheckedAt) <= ageless:
		return words
	default:
		return " (as of " + humanize.Time(row.CheckedAt) + ")"
	}
}

// fewCalls are too few to say that all of a hook's calls fail.
const fewCalls = 3

// checkHooks is silent unless most calls of a hook fail. The plugin serves then, and is as
// good as away.
func checkHooks(row ledger.Plugin) (checks []Check) {
	if !row.Enabled || row.State != pluginsdk.PluginServing {
		return nil
	}
	for _, hook := range slices.Sorted(maps.Keys(row.Figures.Hooks)) {
		calls := row.Figures.Hooks[hook]
		if calls.Calls < fewCalls || calls.Errors*2 < calls.Calls {
			continue
		}
		checks = append(checks, Check{
			Name: "plugin " + row.Name + ": " + string(hook), Optional: calls.Errors < calls.Calls,
			Detail: fmt.Sprintf("%d of %d calls failed (%d took too long)", calls.Errors, calls.Calls, calls.Timeouts),
			Remedy: "`harness plugin logs " + row.Name + "` says why; `harness plugin disable " + row.Name + "` does without it",
		})
	}
	return checks
}

// checkGrants is silent unless work waits for a grant of an enabled plugin, or an upgrade of
// Harness has granted something that nobody has confirmed.
func checkGrants(row ledger.Plugin) (checks []Check) {
	if !row.Enabled {
		return nil
	}
	name := "what the plugin " + row.Name + " may"
	for _, hook := range row.Manifest.Hooks {
		if lacks := row.MayAnswer(hook); lacks != nil && row.FailureMode(hook) == pluginsdk.FailClosed {
			checks = append(checks, Check{
				Name: name, Detail: fmt.Sprintf("it is not asked %s, which must not be passed over: work waits", hook), Remedy: lacks.Error(),
			})
		}
	}
	if len(row.Unconfirmed) > 0 {
		rights, words := registry.Rights{Capabilities: row.Unconfirmed}, make([]string, len(row.Unconfirmed))
		for n, capability := range row.Unconfirmed {
			words[n] = fmt.Sprintf("%s (%s)", capability, capability.Meaning())
		}
		checks = append(checks, Check{
			Name: name, Optional: true,
			Detail: "an upgrade of Harness has granted what its hooks need, and nobody has confirmed that: " + strings.Join(words, ", "),
			Remedy: fmt.Sprintf("`%s` confirms it; `%s` takes it back", registry.GrantCommand(row.Name, rights), registry.RevokeCommand(row.Name, rights)),
		})
	}
	return checks
}

// checkWaits is silent unless runs wait for a plugin that they must not pass over.
func checkWaits(row ledger.Plugin, waits []ledger.Waits) []Check {
	waits = slices.DeleteFunc(slices.Clone(waits), func(one ledger.Waits) bool { return one.Call.Plugin != row.Name })
	if len(waits) == 0 {
		return nil
	}
	first := waits[0]
	for _, one := range waits {
		if one.Call.StartedAt.Before(first.Call.StartedAt) {
			first = one
		}
	}
	remedy := "`harness plugin logs " + row.Name + "` may say why; `harness plugin disable " + row.Name + "` does without it"
	return []Check{{
		Name: "waiting for " + row.Name, Remedy: cmp.Or(first.Call.Error, remedy), // the grant that is missing
		Detail: fmt.Sprintf("runs that wait for its answer: %d, the first (%s) to %s since %s", len(waits), first.RunID, first.Call.Hook, first.Call.StartedAt.Local().Format(time.DateTime)),
	}}
}

// checkOff is silent unless messages and turns wait for plugins that are turned off.
func checkOff(ctx context.Context, database *store.Store) (checks []Check) {
	waiting, err := database.WaitingForPlugins(ctx)
	if err != nil {
		return []Check{{Name: "queues of plugins that are off", Detail: err.Error(), Remedy: damagedRemedy}}
	}
	for _, name := range slices.Sorted(maps.Keys(waiting)) {
		checks = append(checks, Check{
			Name: "queue of " + name, Optional: true,
			Detail: fmt.Sprintf("the plugin is turned off, and messages and turns that it has asked for wait until it is on again: %d", waiting[name]),
			Remedy: fmt.Sprintf("`harness plugin enable %[1]s` has them answered; `/stop all` drops what waits in a thread, `harness plugin remove %[1]s` all of it", name),
		})
	}
	return checks
}

// checkPackage is silent unless what lies on the disk is not what was installed. What
// serves goes on, and what is off is not missed until it is turned on.
func checkPackage(ctx context.Context, config Config, row ledger.Plugin, running bool) []Check {
	if row.SHA256 == "" || row.Enabled && executable(row.Path) != nil {
		return nil // checkPlugin, or the plugin's state, says so
	}
	if row.Origin == pluginsdk.OriginDirectory && !running {
		return nil // the next start takes what is there
	}
	packages, err := config.Depot()
	if err == nil {
		err = packages.Verify(ctx, row)
	}
	if err == nil {
		return nil
	}
	check := Check{
		Name: "files of " + row.Name, Detail: err.Error(), Optional: !row.Enabled || row.State == pluginsdk.PluginServing,
		Remedy: "do as it says before the plugin is started again",
	}
	if row.Origin == pluginsdk.OriginDirectory {
		check.Remedy = "restart the daemon if the plugin was replaced on purpose, else put the right file back"
	}
	return []Check{check}
}
