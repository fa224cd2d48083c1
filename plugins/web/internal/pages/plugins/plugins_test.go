package plugins

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a person has to see to is told, once, and leads to where it can be seen to.
func TestWhatAPluginNeedsOfAPerson(t *testing.T) {
	const serving = pluginsdk.PluginServing
	for what, c := range map[string]struct {
		of   api.Plugin
		want []string // words and where they lead
	}{
		"nothing":                  {api.Plugin{Enabled: true, State: serving, LastError: "hook failed: once"}, nil},
		"a quarantine":             {api.Plugin{Enabled: true, State: pluginsdk.PluginQuarantined, Quarantine: "it ended", LastError: "exit 1"}, []string{"not started any more: it ended tab=log"}},
		"a failure":                {api.Plugin{Enabled: true, State: pluginsdk.PluginFailed, LastError: "no such file"}, []string{"does not serve: no such file tab=log"}},
		"a failure without words":  {api.Plugin{Enabled: true, State: pluginsdk.PluginBackoff}, []string{"nobody knows why tab=log"}},
		"what is turned off":       {api.Plugin{State: pluginsdk.PluginDisabled, LastError: "exit 1", Lacking: []string{"state"}}, nil},
		"settings that it refused": {api.Plugin{Enabled: true, State: serving, LastError: settingsRefused + ": no zone"}, []string{"the settings that it had: it refused its new settings: no zone tab=settings"}},
		"a version that is bad":    {api.Plugin{Enabled: true, State: serving, LastError: "version 1 " + versionKept + ": exit 1"}, []string{"could not be replaced: version 1 goes on tab=versions"}},
		"grants and a check": {api.Plugin{Enabled: true, State: serving, Lacking: []string{"state", "$KEY"}, Checks: []pluginsdk.Check{
			{Name: "git", State: pluginsdk.CheckOK}, {Name: "net", State: pluginsdk.CheckWarning, Detail: "slow"},
		}}, []string{"not granted: state, $KEY tab=grants", "of its net: slow tab=overview"}},
		"what an upgrade has granted": {api.Plugin{Enabled: true, State: serving, Unconfirmed: []pluginsdk.Capability{pluginsdk.CapTurnsRead}}, []string{"nobody has confirmed that: turns.read tab=grants"}},
		"a row that was edited":       {api.Plugin{State: pluginsdk.PluginDisabled, Problem: "limits: no JSON"}, []string{"limits: no JSON tab=overview"}},
	} {
		var got []string
		for _, one := range needs(c.of) {
			got = append(got, one.words+" "+one.to)
		}
		fits := slices.EqualFunc(got, c.want, func(got, want string) bool {
			words, to, _ := strings.Cut(want, " tab=")
			return strings.Contains(got, words) && strings.HasSuffix(got, "tab="+to)
		})
		if !fits {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
	found := allNeeds([]api.Plugin{{Name: "a", Enabled: true, State: serving, Lacking: []string{"state"}}, {Name: "b", Quarantine: "it ended"}})
	if len(found) != 2 || found[0].plugin != "b" {
		t.Errorf("what is broken is not first: %+v", found)
	}
}
