package operate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Elsewhere is a daemon that is reached through its API. What its plugin web may not decide,
// operators decide on its own machine; the refusal names the command.
type Elsewhere struct {
	API *client.Client
	// Poll is how often a plugin is looked at whose end is waited for, and Patience how long.
	Poll, Patience time.Duration
}

// NewElsewhere returns what is reached through the client.
func NewElsewhere(api *client.Client) Elsewhere {
	return Elsewhere{API: api, Poll: 250 * time.Millisecond, Patience: 30 * time.Second}
}

// onItsMachine refuses what only an operator on the daemon's own machine may.
func (e Elsewhere) onItsMachine(what, command string) error {
	return pluginsdk.Errorf(pluginsdk.CodeDenied, "%s is for an operator on the daemon's own machine: `%s` there", what, command)
}

// Running is true: it answers, or the call that asks it fails.
func (e Elsewhere) Running() bool { return true }

// Plugin returns what the daemon shows of a plugin.
func (e Elsewhere) Plugin(ctx context.Context, name string) (ledger.Plugin, error) {
	plugin, err := e.API.Plugin(ctx, name)
	return rowOf(plugin), err
}

// All returns what the daemon shows of its plugins.
func (e Elsewhere) All(ctx context.Context) ([]ledger.Plugin, error) {
	plugins, err := e.API.Plugins(ctx)
	rows := make([]ledger.Plugin, len(plugins))
	for n, plugin := range plugins {
		rows[n] = rowOf(plugin)
	}
	return rows, err
}

func rowOf(plugin client.Plugin) ledger.Plugin { return ledger.Plugin{PluginInfo: plugin.Info()} }

// Problem is empty: the rows have it.
func (e Elsewhere) Problem(context.Context, ledger.Plugin) string { return "" }

// Damage is empty: `harness doctor` looks at the files.
func (e Elsewhere) Damage(context.Context, ledger.Plugin) string { return "" }

// Taken is nothing: a row's problem says what the daemon has found.
func (e Elsewhere) Taken(ledger.Plugin, []ledger.Plugin) []registry.Conflict { return nil }

// Unoffered is nothing: a row's problem says what the daemon has found.
func (e Elsewhere) Unoffered([]ledger.Plugin) map[string]string { return nil }

// Missing is what the plugin asks for and has not.
func (e Elsewhere) Missing(row ledger.Plugin) (missing registry.Rights) {
	for _, request := range row.Manifest.Requests() {
		if !slices.Contains(row.Granted, request.Capability) {
			missing.Capabilities = append(missing.Capabilities, request.Capability)
		}
	}
	for _, request := range row.Manifest.Environment {
		if !slices.Contains(row.GrantedEnv, request.Name) {
			missing.Env = append(missing.Env, request.Name)
		}
	}
	return missing
}

// maxArchive is how large an archive is that the API takes.
const maxArchive = 12 << 20

// pack reads an archive of this machine, with its signature.
func pack(source string) (*client.Package, error) {
	info, err := os.Stat(source)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || !strings.HasSuffix(source, ".tar.gz") && !strings.HasSuffix(source, ".tgz"):
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: a daemon elsewhere is sent an archive (.tar.gz or .tgz); "+
			"make one of the plugin's directory: tar -czf PLUGIN.tar.gz -C DIR .", source)
	case info.Size() > maxArchive:
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s has %d bytes, and the API takes %d; copy it to the daemon's machine and install it there", source, info.Size(), maxArchive)
	}
	archive, err := os.ReadFile(source) //nolint:gosec // the operator names it
	if err != nil {
		return nil, err
	}
	signature, err := os.ReadFile(source + ".minisig") //nolint:gosec // beside it
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &client.Package{Archive: archive, Signature: signature}, nil
}

// decision is a plan of the daemon's, and how it is agreed to.
type decision struct {
	grants  registry.Grants
	request client.DecidePlugin
	ask     func(client.DecidePlugin) (client.PluginDecision, error)
}

// plan has the daemon plan, and returns what an operator is shown. Its Do sends the digest of
// that: the daemon does what was shown, or nothing.
func (e Elsewhere) plan(of decision) (*registry.Plan, error) {
	if len(of.grants.Env) > 0 || of.grants.AllEnv {
		return nil, e.onItsMachine("granting variables of the daemon's environment", "harness plugin grant NAME --env VARIABLE")
	}
	planned, err := of.ask(of.request)
	if err != nil {
		return nil, err
	}
	shown := planned.Plan
	for _, name := range of.grants.Capabilities {
		of.request.Grant = append(of.request.Grant, pluginsdk.Capability(name))
	}
	if of.grants.AllCapabilities {
		of.request.Grant = shown.Wants.Capabilities
	}
	if len(of.request.Grant) > 0 { // what may not be granted is refused before anybody is asked
		if planned, err = of.ask(of.request); err != nil {
			return nil, err
		}
		shown = planned.Plan
	}
	plan := registry.Plan{
		Was: rowOfVersion(shown, shown.Was), Next: rowOfVersion(shown, shown.Next), Given: registry.Rights{Capabilities: of.request.Grant},
		Repair: shown.Action == pluginsdk.ActionRepair, Idle: shown.Idle,
	}
	plan.Next.Enabled = of.request.Enable
	if shown.Package != (pluginsdk.PluginPackageInfo{}) {
		plan.Package = &registry.Package{
			Manifest: shown.Next.Manifest, Executable: shown.Package.Executable, SHA256: shown.Next.SHA256, Files: shown.Package.Files, Bytes: shown.Package.Bytes,
			Signature: registry.Signature{Signed: shown.Package.Signed, KeyID: shown.Package.KeyID, Trusted: shown.Package.Trusted, Comment: shown.Package.Comment},
			Discard:   func() error { return nil },
		}
	}
	of.request.Digest = shown.Digest
	return plan.CarriedOutBy(func(context.Context, string) (registry.Outcome, error) {
		done, err := of.ask(of.request)
		if err == nil && done.Outcome == nil {
			err = errors.New("the daemon has planned it only; try again")
		}
		if err != nil {
			return registry.Outcome{}, err
		}
		outcome := outcomeOf(*done.Outcome)
		if outcome.Was = plan.Was; outcome.Was.Name != "" {
			outcome.Plugin.Previous = []ledger.PluginVersion{{Version: plan.Was.Version, SHA256: plan.Was.SHA256}}
		}
		return outcome, nil
	}), nil
}

// rowOfVersion is a version as a row, the zero row of none.
func rowOfVersion(plan pluginsdk.PluginPlan, version pluginsdk.PluginVersion) (row ledger.Plugin) {
	if version.SHA256 == "" && version.Version == "" && version.Manifest.Name == "" {
		return row
	}
	row.Name, row.Version, row.SHA256 = plan.Name, version.Version, version.SHA256
	row.Publisher, row.Manifest, row.Origin = version.Publisher, version.Manifest, pluginsdk.OriginStore
	row.Granted, row.GrantedEnv = plan.Has.Capabilities, plan.Has.Env
	return row
}

func outcomeOf(outcome client.PluginOutcome) registry.Outcome {
	return registry.Outcome{Plugin: rowOf(outcome.Plugin), Changed: registry.Rights(outcome.Changed), Missing: registry.Rights(outcome.Missing)}
}

// PlanInstall sends an archive of this machine.
func (e Elsewhere) PlanInstall(ctx context.Context, request registry.InstallRequest) (*registry.Plan, error) {
	packed, err := pack(request.Source)
	if err != nil {
		return nil, err
	}
	return e.plan(decision{request.Grants, client.DecidePlugin{Package: packed, Enable: request.Enable}, func(asked client.DecidePlugin) (client.PluginDecision, error) {
		return e.API.InstallPlugin(ctx, asked)
	}})
}

// PlanUpgrade sends an archive of this machine.
func (e Elsewhere) PlanUpgrade(ctx context.Context, request registry.UpgradeRequest) (*registry.Plan, error) {
	if request.Force {
		return nil, e.onItsMachine("--force", "harness plugin upgrade "+request.Name+" ARCHIVE --force")
	}
	packed, err := pack(request.Source)
	if err != nil {
		return nil, err
	}
	return e.plan(decision{request.Grants, client.DecidePlugin{Package: packed}, func(asked client.DecidePlugin) (client.PluginDecision, error) {
		return e.API.UpgradePlugin(ctx, request.Name, asked)
	}})
}

// PlanRollback plans to go back to an earlier version.
func (e Elsewhere) PlanRollback(ctx context.Context, request registry.RollbackRequest) (*registry.Plan, error) {
	if request.Force {
		return nil, e.onItsMachine("--force", "harness plugin rollback "+request.Name+" --force")
	}
	return e.plan(decision{registry.Grants{}, client.DecidePlugin{To: request.To}, func(asked client.DecidePlugin) (client.PluginDecision, error) {
		return e.API.RollbackPlugin(ctx, request.Name, asked)
	}})
}

// PlanRemove plans to forget a plugin.
func (e Elsewhere) PlanRemove(ctx context.Context, request registry.RemoveRequest) (*registry.Plan, error) {
	return e.plan(decision{registry.Grants{}, client.DecidePlugin{KeepState: request.KeepState}, func(asked client.DecidePlugin) (client.PluginDecision, error) {
		return e.API.RemovePlugin(ctx, request.Name, asked)
	}})
}

// PlanTrust refuses: whom to trust is not for plugins to say, and web is one.
func (e Elsewhere) PlanTrust(_ context.Context, name string) (*registry.Plan, error) {
	return nil, e.onItsMachine("saying which files are trusted", "harness plugin trust "+name)
}

// Enable turns a plugin on.
func (e Elsewhere) Enable(ctx context.Context, _ string, request registry.EnableRequest) (registry.Outcome, error) {
	if request.Force {
		return registry.Outcome{}, e.onItsMachine("--force", "harness plugin enable "+request.Name+" --force")
	}
	plugin, err := e.API.SetPluginEnabled(ctx, request.Name, true)
	row := rowOf(plugin)
	return registry.Outcome{Plugin: row, Missing: e.Missing(row)}, err
}

// Disable turns a plugin off.
func (e Elsewhere) Disable(ctx context.Context, _, name string) (registry.Outcome, error) {
	plugin, err := e.API.SetPluginEnabled(ctx, name, false)
	return registry.Outcome{Plugin: rowOf(plugin)}, err
}

// LetGo waits until a plugin that is off has ended.
func (e Elsewhere) LetGo(ctx context.Context, name string) error {
	bounded, cancel := context.WithTimeout(ctx, e.Patience)
	defer cancel()
	ticker := time.NewTicker(e.Poll)
	defer ticker.Stop()
	for {
		plugin, err := e.API.Plugin(bounded, name)
		if err == nil && (plugin.State == pluginsdk.PluginDisabled || plugin.State == pluginsdk.PluginStopped) {
			return nil
		}
		if err != nil && bounded.Err() == nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-bounded.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return pluginsdk.Errorf(pluginsdk.CodeDeadline, "the daemon has not let go of %s in %s; `harness plugin info %s` says how it is", name, e.Patience, name)
		}
	}
}

// Grant grants capabilities.
func (e Elsewhere) Grant(ctx context.Context, _ string, request registry.GrantRequest) (registry.Outcome, error) {
	if len(request.Grants.Env) > 0 {
		return registry.Outcome{}, e.onItsMachine("granting variables of the daemon's environment", "harness plugin grant "+request.Name+" --env "+strings.Join(request.Grants.Env, ","))
	}
	row, err := e.Plugin(ctx, request.Name)
	if err != nil {
		return registry.Outcome{}, err
	}
	wanted := capabilities(request.Grants.Capabilities)
	if request.Grants.AllCapabilities {
		wanted = append(wanted, e.Missing(row).Capabilities...)
	}
	if len(wanted) == 0 && request.Grants.AllCapabilities {
		return registry.Outcome{Was: row, Plugin: row, Missing: e.Missing(row)}, nil
	}
	if len(wanted) == 0 {
		return registry.Outcome{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "name what is to be granted, or --all; %s lacks: %s", request.Name, e.Missing(row))
	}
	outcome, err := e.API.GrantPlugin(ctx, request.Name, wanted)
	return outcomeOf(outcome), err
}

// Revoke takes rights back.
func (e Elsewhere) Revoke(ctx context.Context, _ string, request registry.GrantRequest) (registry.Outcome, error) {
	row, err := e.Plugin(ctx, request.Name)
	if err != nil {
		return registry.Outcome{}, err
	}
	gone := pluginsdk.PluginRights{Capabilities: capabilities(request.Grants.Capabilities), Env: request.Grants.Env}
	if request.Grants.AllCapabilities {
		gone.Capabilities = row.Granted
	}
	if request.Grants.AllEnv {
		gone.Env = row.GrantedEnv
	}
	if len(gone.Capabilities) == 0 && len(gone.Env) == 0 {
		if request.Grants.AllCapabilities {
			return registry.Outcome{Was: row, Plugin: row}, nil
		}
		return registry.Outcome{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "name what is to be taken back, or --all; %s has: %s", request.Name, registry.RightsOf(row))
	}
	outcome, err := e.API.RevokePlugin(ctx, request.Name, gone)
	return outcomeOf(outcome), err
}

func capabilities(names []string) (named []pluginsdk.Capability) {
	for _, name := range names {
		named = append(named, pluginsdk.Capability(name))
	}
	return named
}

// SetLimits changes what change makes another of the limits that the plugin has.
func (e Elsewhere) SetLimits(ctx context.Context, _, name string, change func(pluginsdk.PluginLimits) (pluginsdk.PluginLimits, error)) (registry.Outcome, error) {
	row, err := e.Plugin(ctx, name)
	if err != nil {
		return registry.Outcome{}, err
	}
	limits, err := change(row.Limits)
	if err != nil {
		return registry.Outcome{}, err
	}
	outcome, err := e.API.LimitPlugin(ctx, name, row.Limits, limits)
	return outcomeOf(outcome), err
}

// Order changes the order.
func (e Elsewhere) Order(ctx context.Context, _ string, request registry.OrderRequest) ([]string, error) {
	return e.API.OrderPlugins(ctx, client.OrderRequest(request))
}

// Follow has the daemon wait.
func (e Elsewhere) Follow(ctx context.Context, name string) (registry.Followed, error) {
	plugin, standing, err := e.API.FollowPlugin(ctx, name)
	return registry.Followed{Plugin: rowOf(plugin), Standing: registry.Standing(standing)}, err
}

// FollowOrder has the daemon wait for each plugin that serves.
func (e Elsewhere) FollowOrder(ctx context.Context) (bool, error) {
	rows, err := e.All(ctx)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if !row.Enabled || row.State != pluginsdk.PluginServing {
			continue
		}
		if followed, err := e.Follow(ctx, row.Name); err != nil || followed.Standing == registry.Pending {
			return false, err
		}
	}
	return true, nil
}

// Logs prints the last n lines of a plugin's log, and with follow all that come until ctx
// ends. A tick is when the daemon is asked.
func (e Elsewhere) Logs(ctx context.Context, o *Operator, name string, n int, follow bool, tick <-chan time.Time) error {
	lines, err := e.API.PluginLogs(ctx, name, max(n, 1))
	if err != nil {
		return err
	}
	if len(lines) == 0 && !follow {
		o.say("%s has logged nothing yet.", name)
	}
	for _, line := range lines[max(0, len(lines)-n):] {
		o.say("%s", logLine(line))
	}
	for follow {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
		now, err := e.API.PluginLogs(ctx, name, max(n, 1000))
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, line := range after(now, lines) {
			o.say("%s", logLine(line))
		}
		lines = now
	}
	return nil
}

// after returns the lines of now that were not there before: those behind the last one that
// was.
func after(now, before []pluginsdk.LogLine) []pluginsdk.LogLine {
	if len(before) == 0 {
		return now
	}
	last := before[len(before)-1]
	for n := len(now) - 1; n >= 0; n-- {
		if now[n] == last {
			return now[n+1:]
		}
	}
	return now
}

// logLine is a line of the log on one line.
func logLine(line pluginsdk.LogLine) string {
	return fmt.Sprintf("%s %-5s %s", line.Time.Local().Format("2006-01-02T15:04:05.000Z07:00"), strings.ToUpper(line.Level), strings.TrimRight(visible(line.Text), " "))
}
