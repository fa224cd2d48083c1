package plugintest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

func TestToolsAndPlugins(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	host.AddTool(pluginsdk.ToolSpec{Name: "time__now", InputSchema: json.RawMessage(`{}`)})
	host.Tool = func(name string, input json.RawMessage) (pluginsdk.ToolResult, error) {
		return pluginsdk.ToolResult{Text: name, Structured: input, IsError: true}, nil
	}
	if got := must(sdk.Tools.List(ctx, &pluginsdk.ListToolsRequest{})).Tools; len(got) != 1 || got[0].Name != "time__now" {
		t.Errorf("listed %+v", got)
	}
	got := must(sdk.Tools.Call(ctx, &pluginsdk.InvokeToolRequest{Name: "time__now", Input: json.RawMessage(`{"a":1}`)})).Result
	if got.Text != "time__now" || string(got.Structured) != `{"a":1}` || !got.IsError {
		t.Errorf("called %+v", got)
	}
	host.AddPlugin(pluginsdk.PluginInfo{Name: "time", OnFailure: map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookMessage: pluginsdk.FailClosed}})
	must(sdk.Plugins.SetEnabled(ctx, &pluginsdk.SetPluginEnabledRequest{Name: "time", Enabled: true}))
	listed := must(sdk.Plugins.List(ctx, &pluginsdk.ListPluginsRequest{})).Plugins
	if len(listed) != 1 || !listed[0].Enabled || listed[0].OnFailure[pluginsdk.HookMessage] != pluginsdk.FailClosed {
		t.Errorf("listed %+v", listed)
	}
	if _, err := sdk.Plugins.SetEnabled(ctx, &pluginsdk.SetPluginEnabledRequest{Name: "none", Enabled: true}); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("error is %v", err)
	}
	host.SetPluginView("time", pluginsdk.SettingsView{Values: json.RawMessage(`{"a":1,"b":2}`)})
	must(sdk.Plugins.ChangeSettings(ctx, &pluginsdk.ChangePluginSettingsRequest{Name: "time", Patch: json.RawMessage(`{"a":null,"c":3}`)}))
	if view := must(sdk.Plugins.Settings(ctx, &pluginsdk.GetPluginSettingsRequest{Name: "time"})).Settings; string(view.Values) != `{"b":2,"c":3}` {
		t.Errorf("settings %s", view.Values)
	}
	host.SetPluginLog("time", []pluginsdk.LogLine{{Text: "old"}, {Text: "new"}})
	if lines := must(sdk.Plugins.Logs(ctx, &pluginsdk.ReadPluginLogRequest{Name: "time", Limit: 1})).Lines; len(lines) != 1 || lines[0].Text != "new" {
		t.Errorf("logs %+v", lines)
	}
}

// A list that cannot be read to its end hides what comes last from its reader.
func TestWhatIsListedByNameIsReadPageByPage(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	for _, name := range []string{"c", "a", "b"} {
		host.AddTool(pluginsdk.ToolSpec{Name: name + "__tool"})
		host.AddPlugin(pluginsdk.PluginInfo{Name: name})
		must(sdk.Crons.Save(ctx, &pluginsdk.SaveCronRequest{Spec: pluginsdk.CronSpec{Name: name, Schedule: "@every 1h"}}))
	}
	for what, list := range map[string]struct {
		want string // the operator's order is not that of names
		page func(after string) (last string, more bool)
	}{
		"tools": {"a__tool b__tool c__tool", func(after string) (string, bool) {
			got := must(sdk.Tools.List(ctx, &pluginsdk.ListToolsRequest{After: after, Limit: 1}))
			return got.Tools[0].Name, got.More
		}},
		"plugins": {"c a b", func(after string) (string, bool) {
			got := must(sdk.Plugins.List(ctx, &pluginsdk.ListPluginsRequest{After: after, Limit: 1}))
			return got.Plugins[0].Name, got.More
		}},
		"jobs": {"a b c", func(after string) (string, bool) {
			got := must(sdk.Crons.List(ctx, &pluginsdk.ListCronsRequest{After: after, Limit: 1}))
			return got.Jobs[0].Spec.Name, got.More
		}},
	} {
		var names []string
		for last, more := "", true; more; {
			last, more = list.page(last)
			names = append(names, last)
		}
		if got := strings.Join(names, " "); got != list.want {
			t.Errorf("%s: %s, want %s", what, got, list.want)
		}
	}
}

// A dashboard's page, as its author tests it: a package is shown, a person agrees, and it
// is done; what was not shown is not done, and what the plugin may not is refused.
func TestDecisionsAboutPlugins(t *testing.T) {
	host := plugintest.NewHost()
	clock := func(version string) pluginsdk.PluginVersion {
		return pluginsdk.PluginVersion{Version: version, SHA256: "sum of " + version, Manifest: pluginsdk.Manifest{Name: "clock", Version: version,
			Capabilities: []pluginsdk.CapabilityRequest{{Capability: pluginsdk.CapState}, {Capability: pluginsdk.CapMessagesRead}}}}
	}
	host.Package = func(from pluginsdk.PluginPackage) (pluginsdk.PluginVersion, error) {
		return clock(string(from.Archive)), nil
	}
	page := host.As(pluginsdk.Manifest{Name: "page", Capabilities: []pluginsdk.CapabilityRequest{
		{Capability: pluginsdk.CapPluginsAdmin}, {Capability: pluginsdk.CapState}, {Capability: pluginsdk.CapPluginsRead},
	}}).Plugins
	host.AddPlugin(pluginsdk.PluginInfo{Name: "page"})
	host.AddPlugin(pluginsdk.PluginInfo{Name: "other"})
	ctx := t.Context()

	install := &pluginsdk.InstallPluginRequest{Package: pluginsdk.PluginPackage{Archive: []byte("1")}}
	planned := must(page.Install(ctx, install))
	if plan := planned.Plan; planned.Outcome != nil || plan.Action != pluginsdk.ActionInstall || plan.Next.Version != "1" ||
		len(plan.Wants.Capabilities) != 2 || !slices.Equal(plan.MayGrant, []pluginsdk.Capability{pluginsdk.CapState}) {
		t.Errorf("planned %+v", planned)
	}
	install.Digest, install.Enable, install.Grant = planned.Plan.Digest, true, planned.Plan.MayGrant
	install.Package.Archive = []byte("2")
	if _, err := page.Install(ctx, install); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Errorf("another package than the one that was shown: %v", err)
	}
	install.Package.Archive = []byte("1")
	if done := must(page.Install(ctx, install)).Outcome; done == nil || !done.Plugin.Enabled || len(done.Changed.Capabilities) != 1 || len(done.Missing.Capabilities) != 1 {
		t.Errorf("installed %+v", done)
	}
	if came := must(page.Follow(ctx, &pluginsdk.FollowPluginRequest{Name: "clock"})); came.Standing != pluginsdk.StandingServes || came.Plugin.Version != "1" {
		t.Errorf("followed %+v", came)
	}
	upgrade := &pluginsdk.UpgradePluginRequest{Name: "clock", Package: pluginsdk.PluginPackage{Archive: []byte("2")}}
	upgrade.Digest = must(page.Upgrade(ctx, upgrade)).Plan.Digest
	if done := must(page.Upgrade(ctx, upgrade)).Outcome; done.Plugin.Version != "2" || len(done.Plugin.Granted) != 1 {
		t.Errorf("upgraded %+v", done)
	}
	rollback := &pluginsdk.RollbackPluginRequest{Name: "clock"}
	rollback.Digest = must(page.Rollback(ctx, rollback)).Plan.Digest
	if done := must(page.Rollback(ctx, rollback)).Outcome; done.Plugin.Version != "1" {
		t.Errorf("rolled back %+v", done)
	}
	state := pluginsdk.PluginRights{Capabilities: []pluginsdk.Capability{pluginsdk.CapState}}
	if done := must(page.Revoke(ctx, &pluginsdk.RevokePluginRequest{Name: "clock", Rights: state})).Outcome; len(done.Plugin.Granted) != 0 || len(done.Missing.Capabilities) != 2 {
		t.Errorf("revoked %+v", done)
	}
	if done := must(page.Grant(ctx, &pluginsdk.GrantPluginRequest{Name: "clock", Capabilities: state.Capabilities})).Outcome; len(done.Plugin.Granted) != 1 {
		t.Errorf("granted %+v", done)
	}
	calls := 7
	if done := must(page.SetLimits(ctx, &pluginsdk.SetPluginLimitsRequest{Name: "clock", Patch: pluginsdk.PluginLimitsPatch{CallsPerMinute: &calls}})).Outcome; done.Plugin.Limits != (pluginsdk.PluginLimits{CallsPerMinute: 7}) {
		t.Errorf("limited %+v", done)
	}
	if got := must(page.Order(ctx, &pluginsdk.OrderPluginsRequest{Name: "clock", Before: "other"})).Order; !slices.Equal(got, []string{"page", "clock", "other"}) {
		t.Errorf("ordered %v", got)
	}
	for what, err := range map[string]error{
		"a capability that it lacks": second(page.Grant(ctx, &pluginsdk.GrantPluginRequest{Name: "clock", Capabilities: []pluginsdk.Capability{pluginsdk.CapMessagesRead}})),
		"itself":                     second(page.Remove(ctx, &pluginsdk.RemovePluginRequest{Name: "page"})),
		"its own limits":             second(page.SetLimits(ctx, &pluginsdk.SetPluginLimitsRequest{Name: "page"})),
		"its own place":              second(page.Order(ctx, &pluginsdk.OrderPluginsRequest{Name: "page", After: "other"})),
	} {
		if pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
			t.Errorf("%s: %v", what, err)
		}
	}
	remove := &pluginsdk.RemovePluginRequest{Name: "clock"}
	remove.Digest = must(page.Remove(ctx, remove)).Plan.Digest
	if done := must(page.Remove(ctx, remove)).Outcome; done.Plugin.Name != "clock" {
		t.Errorf("removed %+v", done)
	}
	if rows := must(page.List(ctx, &pluginsdk.ListPluginsRequest{})).Plugins; len(rows) != 2 {
		t.Errorf("left %+v", rows)
	}
}

func second[T any](_ T, err error) error { return err }
