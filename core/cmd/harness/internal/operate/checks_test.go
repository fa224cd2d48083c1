package operate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// shows returns what list and info print of a plugin.
func (d *desk) shows(name string) (listed, info string) {
	d.t.Helper()
	rows, err := d.Rows(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	d.out.Reset()
	if err := d.Overview(rows); err != nil {
		d.t.Fatal(err)
	}
	listed = d.out.String()
	report, err := d.Report(d.t.Context(), name)
	if err != nil {
		d.t.Fatal(err)
	}
	d.out.Reset()
	if err := d.Info(report); err != nil {
		d.t.Fatal(err)
	}
	return listed, d.out.String()
}

func mute(at time.Time) ledger.Plugin {
	return ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{
		Name: "bot", Enabled: true, State: pluginsdk.PluginServing, CheckedAt: at, Checks: []pluginsdk.Check{
			{Name: "disk", State: pluginsdk.CheckOK},
			{Name: "account", State: pluginsdk.CheckWarning, Detail: "the token expires tomorrow"},
			{Name: "connection", State: pluginsdk.CheckFailing, Detail: "401\x1b[2J of the server", Remedy: "set another token"},
		},
	}, Path: "/opt/bot"}
}

// A bot that serves and is mute looks well in every other column.
func TestListAndInfoShowWhatFails(t *testing.T) {
	d := newDesk(t)
	d.running = true
	d.register(mute(time.Now().Add(-time.Minute)))
	listed, info := d.shows("bot")
	for _, want := range []string{"bot   serving (!)  yes", "\n! bot: connection is failing: 401[2J of the server\n"} {
		if !strings.Contains(listed, want) {
			t.Errorf("the list does not say %q:\n%s", want, listed)
		}
	}
	for _, want := range []string{
		"Its surroundings, as it said 1 minute ago:\n", "\ndisk          ok       -\n", "\n! account     warning  the token expires tomorrow\n",
		"\n! connection  failing  401[2J of the server\n                       → set another token\n",
	} {
		if !strings.Contains(info, want) {
			t.Errorf("the info does not say %q:\n%s", want, info)
		}
	}

	d.running = false
	if listed, _ := d.shows("bot"); strings.Contains(listed, "!") {
		t.Errorf("with the daemon down nothing fails:\n%s", listed)
	}
}

// What a plugin said long ago must not be taken for what holds.
func TestOldChecksAreSaidToBeOld(t *testing.T) {
	d := newDesk(t)
	d.running = true
	d.register(mute(time.Now().Add(-12 * time.Minute)))
	listed, info := d.shows("bot")
	if !strings.Contains(listed, "401[2J of the server (old: it has said nothing since)\n") ||
		!strings.Contains(info, "as it said 12 minutes ago (old: it has said nothing since):\n") {
		t.Errorf("%s\n%s", listed, info)
	}
}
