package pluginsdk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func goodManifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: "clock-2", Version: "1.0.0",
		Hooks:        []pluginsdk.Hook{pluginsdk.HookCommand, pluginsdk.HookCallTool, pluginsdk.HookBroadcast, "OnTomorrow"},
		OnFailure:    map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookCommand: pluginsdk.FailClosed},
		Commands:     []pluginsdk.CommandSpec{{Name: "re-delegate"}, {Name: "*"}},
		Tools:        []pluginsdk.ToolSpec{{Name: "current_time", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		Events:       []string{"pipeline:*", "*", "cron:fired"},
		Capabilities: []pluginsdk.CapabilityRequest{{Capability: pluginsdk.CapState, Reason: "remembers"}},
		Environment:  []pluginsdk.EnvironmentRequest{{Name: "DISCORD_TOKEN", Reason: "to connect"}},
	}
}

func TestAGoodManifestIsValid(t *testing.T) {
	if err := goodManifest().Check(); err != nil {
		t.Error(err)
	}
}

// options are of a command that takes one thing.
func options(name string, of pluginsdk.OptionType, choices ...string) []pluginsdk.CommandOption {
	return []pluginsdk.CommandOption{{Name: name, Type: of, Choices: choices}}
}

// An author must learn what is wrong from the first start, not from silence.
func TestEveryFaultOfAManifestIsNamed(t *testing.T) {
	for _, row := range []struct {
		want  string
		spoil func(*pluginsdk.Manifest)
	}{
		{`name "Clock"`, func(m *pluginsdk.Manifest) { m.Name = "Clock" }},
		{`name ""`, func(m *pluginsdk.Manifest) { m.Name = "" }},
		{`name "2clock"`, func(m *pluginsdk.Manifest) { m.Name = "2clock" }},
		{`name "pipeline": the core speaks under that name`, func(m *pluginsdk.Manifest) { m.Name = "pipeline" }},
		{`version ""`, func(m *pluginsdk.Manifest) { m.Version = "" }},
		{"onFailure names OnMessage", func(m *pluginsdk.Manifest) { m.OnFailure[pluginsdk.HookMessage] = pluginsdk.FailOpen }},
		{"needs names OnMessage", func(m *pluginsdk.Manifest) {
			m.Needs = map[pluginsdk.Hook][]pluginsdk.Part{pluginsdk.HookMessage: {pluginsdk.PartMessage}}
		}},
		{"answers OnCommand but declares no commands", func(m *pluginsdk.Manifest) { m.Commands = nil }},
		{"commands are declared but", func(m *pluginsdk.Manifest) { m.Hooks = m.Hooks[1:] }},
		{`command "/x"`, func(m *pluginsdk.Manifest) { m.Commands[0].Name = "/x" }},
		{"command *: beside is not for all names", func(m *pluginsdk.Manifest) { m.Commands[1].Beside = true }},
		{`command "*" is declared twice`, func(m *pluginsdk.Manifest) { m.Commands[0].Name = "*" }},
		{`command "*": option "A b"`, func(m *pluginsdk.Manifest) { m.Commands[len(m.Commands)-1].Options = options("A b", "text") }},
		{`option "a" is declared twice`, func(m *pluginsdk.Manifest) {
			m.Commands[0].Options = append(options("a", "text"), options("a", "text")...)
		}},
		{`option "a": it has no type`, func(m *pluginsdk.Manifest) { m.Commands[0].Options = options("a", "") }},
		{`option "a" is a choice of nothing`, func(m *pluginsdk.Manifest) { m.Commands[0].Options = options("a", "choice") }},
		{`option "a": an empty choice`, func(m *pluginsdk.Manifest) { m.Commands[0].Options = options("a", "choice", "x", "") }},
		{"answers CallTool but declares no tools", func(m *pluginsdk.Manifest) { m.Tools = nil }},
		{"tools are declared but", func(m *pluginsdk.Manifest) { m.Hooks = m.Hooks[:1] }},
		{`tool "a__b"`, func(m *pluginsdk.Manifest) { m.Tools[0].Name = "a__b" }},
		{`tool "current_time" is declared twice`, func(m *pluginsdk.Manifest) { m.Tools = append(m.Tools, m.Tools[0]) }},
		{"inputSchema", func(m *pluginsdk.Manifest) { m.Tools[0].InputSchema = json.RawMessage(`null`) }},
		{"events are declared but", func(m *pluginsdk.Manifest) { m.Hooks = m.Hooks[:2] }},
		{`event "a*b"`, func(m *pluginsdk.Manifest) { m.Events[0] = "a*b" }},
		{`capability "state"`, func(m *pluginsdk.Manifest) { m.Capabilities[0].Reason = " " }},
		{`capability "state" is asked for twice`, func(m *pluginsdk.Manifest) { m.Capabilities = append(m.Capabilities, m.Capabilities[0]) }},
		{`environment variable "A=B"`, func(m *pluginsdk.Manifest) { m.Environment[0].Name = "A=B" }},
		{"settingsSchema", func(m *pluginsdk.Manifest) { m.SettingsSchema = json.RawMessage(`[]`) }},
	} {
		manifest := goodManifest()
		row.spoil(&manifest)
		err := manifest.Check()
		if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), row.want) {
			t.Errorf("error is %v, want %q", err, row.want)
		}
	}
}

func TestAllFaultsAreNamedAtOnce(t *testing.T) {
	err := pluginsdk.Manifest{}.Check()
	if err == nil || !strings.Contains(err.Error(), "name") || !strings.Contains(err.Error(), "version") {
		t.Errorf("error is %v", err)
	}
}

// A plugin that was made for a later version of the contract works here as far as this
// one goes: an operator must not have to choose between a new plugin and the daemon.
func TestWhatALaterVersionMayHaveIsNoFault(t *testing.T) {
	needs := func(hook pluginsdk.Hook, parts ...pluginsdk.Part) func(*pluginsdk.Manifest) {
		return func(m *pluginsdk.Manifest) { m.Needs = map[pluginsdk.Hook][]pluginsdk.Part{hook: parts} }
	}
	for _, row := range []struct {
		note  string // an author who has mistyped it is told
		spoil func(*pluginsdk.Manifest)
	}{
		{"OnTomorrow is not a hook", needs("OnTomorrow", pluginsdk.PartMessage, "weather")},
		{"OnTomorrow is not a hook", func(m *pluginsdk.Manifest) { m.OnFailure["OnTomorrow"] = pluginsdk.FailClosed }},
		{`the part "message" of OnCommand, of which`, needs(pluginsdk.HookCommand, pluginsdk.PartMessage)},
		{`the part "weather" of OnCommand`, needs(pluginsdk.HookCommand, "weather")},
		{`option "a" of the command "`, func(m *pluginsdk.Manifest) { m.Commands[0].Options = options("a", "planet") }},
		{`onFailure of OnCommand is "ajar"`, func(m *pluginsdk.Manifest) { m.OnFailure[pluginsdk.HookCommand] = "ajar" }},
	} {
		manifest := goodManifest()
		row.spoil(&manifest)
		if err := manifest.Check(); err != nil {
			t.Errorf("%s: %v", row.note, err)
		}
		if notes := strings.Join(manifest.Unheeded(), "\n"); !strings.Contains(notes, row.note) {
			t.Errorf("the author reads %q, want %q", notes, row.note)
		}
	}
}

// A gate whose mode this version does not know must not be open by that.
func TestAnUnknownFailureModeIsTheHooksDefault(t *testing.T) {
	info := pluginsdk.PluginInfo{Manifest: pluginsdk.Manifest{OnFailure: map[pluginsdk.Hook]pluginsdk.OnFailure{
		pluginsdk.HookBeforeRun: "ajar", pluginsdk.HookMessage: pluginsdk.FailClosed,
	}}}
	if got := info.FailureMode(pluginsdk.HookBeforeRun); got != pluginsdk.FailClosed {
		t.Errorf("OnBeforeRun is %q, want its default", got)
	}
	if got := info.FailureMode(pluginsdk.HookMessage); got != pluginsdk.FailClosed {
		t.Errorf("OnMessage is %q, want what the manifest says", got)
	}
	info.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookMessage: "ajar"}
	if got := info.FailureMode(pluginsdk.HookMessage); got != pluginsdk.FailClosed {
		t.Errorf("OnMessage is %q, want what the manifest says: the operator's word is none", got)
	}
}
