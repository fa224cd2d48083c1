package main

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// withCommands is a daemon that answers what is said to it with that, and has a plugin's command.
func withCommands(t *testing.T) *clienttest.Daemon {
	t.Helper()
	isolate(t)
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		if strings.HasSuffix(turn.Said, " break") {
			turn.Answer(pluginsdk.RunFailed, "It is broken.")
			return
		}
		if strings.HasSuffix(turn.Said, " nosuch") {
			turn.Refuse("nothing has the name nosuch")
			return
		}
		where := ""
		if turn.Accepted.ThreadID != clienttest.Primary {
			where = " in " + turn.Accepted.ThreadID
		}
		turn.Answer(pluginsdk.RunSucceeded, "did "+turn.Said+where)
	})
	daemon.AddCommand(pluginsdk.Command{CommandSpec: pluginsdk.CommandSpec{Name: "status"}})
	for _, name := range []string{"discord", "search", "*"} {
		daemon.AddCommand(pluginsdk.Command{CommandSpec: pluginsdk.CommandSpec{Name: name, Usage: "/" + name + " invite|status", Description: "of a plugin", Options: []pluginsdk.CommandOption{
			{Name: "what", Type: pluginsdk.OptionChoice, Choices: []string{"invite", "status"}},
			{Name: "from", Type: pluginsdk.OptionText, Named: true, Description: "since when"}, {Name: "loud", Type: pluginsdk.OptionFlag, Named: true},
		}}, Plugin: "discord"})
	}
	t.Setenv("HARNESS_URL", daemon.URL())
	return daemon
}

// A plugin's command is one of the command line, where nobody has to be in a conversation.
func TestAPluginsCommandIsGivenByItsName(t *testing.T) {
	daemon := withCommands(t)
	daemon.AddThread(pluginsdk.Thread{ID: "elsewhere"})
	for line, want := range map[string]result{
		"discord invite":                     {0, "did /discord invite\n", ""},
		"discord":                            {0, "did /discord\n", ""},
		"discord invite -- --for ann -x":     {0, "did /discord invite --for ann -x\n", ""},
		"discord invite --no-ask ann":        {0, "did /discord invite ann\n", ""},
		"discord status --thread elsewhere":  {0, "did /discord status in elsewhere\n", ""},
		"discord --help":                     {0, "harness discord invite|status\nof a plugin\n  --from  since when\n  --loud  \n", ""},
		"--no-ask --timeout 5m discord send": {0, "did /discord send\n", ""},
		"--thread elsewhere discord status":  {0, "did /discord status in elsewhere\n", ""},
		"discord break":                      {exitFailed, "", "It is broken.\n"},
		"discord nosuch":                     {exitFailed, "", "nothing has the name nosuch\n"},
		"send /discord nosuch":               {exitFailed, "", "nothing has the name nosuch\n"},
	} {
		if got := harness(t, "", strings.Fields(line)...); got != want {
			t.Errorf("%s: %+v, want %+v", line, got, want)
		}
	}
	t.Setenv("HARNESS_URL", "http://127.0.0.1:1")
	harness(t, "", "--server", daemon.URL(), "discord", "here").want(t, 0, "did /discord here\n", "")
	harness(t, "", "discord", "there", "--server", daemon.URL()).want(t, 0, "did /discord there\n", "")
}

// What a command declares as a named option is a flag of it. This program's own flags count wherever they stand, also beside
// one that nobody has, which is named.
func TestFlagsOfAPluginsCommand(t *testing.T) {
	daemon := withCommands(t)
	t.Setenv("HARNESS_URL", "http://127.0.0.1:1")
	for _, row := range []struct {
		args []string
		want result
	}{
		{[]string{"invite", "ann", "--from", "2026-11-02 00:00"}, result{0, "did /discord from=\"2026-11-02 00:00\" invite ann\n", ""}},
		{[]string{"--from=now", "invite"}, result{0, "did /discord from=now invite\n", ""}},
		{[]string{"--from", "", "invite"}, result{0, "did /discord from=\"\" invite\n", ""}},
		{[]string{"--from", `the "day"`, "invite"}, result{0, "did /discord from='the \"day\"' invite\n", ""}},
		{[]string{"invite", "--loud", "ann"}, result{0, "did /discord loud invite ann\n", ""}},
		{[]string{"invite", "-", "--no-ask", "--timeout=5m"}, result{0, "did /discord invite -\n", ""}},
		{[]string{"invite", "--from"}, result{exitUsage, "", "--from needs a value"}},
		{[]string{"invite", "--from", `'"`}, result{exitUsage, "", "both kinds of quotes"}},
		{[]string{"invite", "--form", "x"}, result{exitUsage, "", "harness: there is no flag --form"}},
		{[]string{"invite", "--form", "x"}, result{exitUsage, "", "/discord has --from, --loud. A word for the plugin"}},
		{[]string{"invite", "-3"}, result{exitUsage, "", "there is no flag -3"}},
		{[]string{"invite", "-from", "x"}, result{exitUsage, "", "there is no flag -f"}},
		{[]string{"--what", "invite"}, result{exitUsage, "", "there is no flag --what"}},
	} {
		for _, at := range [][]string{ // before and behind what the plugin gets
			append([]string{"discord", "--server", daemon.URL()}, row.args...), append(append([]string{"discord"}, row.args...), "--server="+daemon.URL()),
		} {
			got := harness(t, "", at...)
			if got.code != row.want.code || got.out != row.want.out || !strings.Contains(got.err, row.want.err) {
				t.Errorf("%q: %+v, want %+v", at, got, row.want)
			}
		}
	}
	harness(t, "", "discord", "invite", "--port").want(t, exitUsage, "", "--port needs a value")
	harness(t, "", "nosuch", "--json", "--server", daemon.URL()).want(t, exitUsage, "", "there is no command nosuch")
}

// A command of a plugin that is turned off is no slip of the pen: how to turn the plugin on is said.
func TestACommandOfAPluginThatIsOff(t *testing.T) {
	daemon := withCommands(t)
	for _, name := range []string{"cron", "*"} {
		daemon.AddPlugin(pluginsdk.PluginInfo{Name: "timer" + name[:1], Manifest: pluginsdk.Manifest{Commands: []pluginsdk.CommandSpec{{Name: name}}}})
	}
	daemon.AddPlugin(pluginsdk.PluginInfo{Name: "on", Enabled: true, Manifest: pluginsdk.Manifest{Commands: []pluginsdk.CommandSpec{{Name: "starting"}}}})
	harness(t, "", "cron", "list").want(t, exitFailed, "", "harness: cron is a command of the plugin timerc, which is disabled: harness plugin enable timerc\n")
	harness(t, "", "starting").want(t, exitUsage, "", "there is no command starting")
	harness(t, "", "*").want(t, exitUsage, "", "there is no command *")
	if said := daemon.Said(); len(said) > 0 {
		t.Errorf("said %q", said)
	}
}

// What a command proposes is kept when a person says so: on a terminal, or with --yes. Without either it is shown, and
// the command line fails, so that a script does not take it for kept.
func TestWhatACommandProposesIsKeptOnAYes(t *testing.T) {
	isolate(t)
	var said []string
	answer := ""
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		said = append(said, turn.Said)
		if answer != "" {
			turn.Answer(pluginsdk.RunSucceeded, answer)
			return
		}
		if strings.Contains(turn.Said, "every day") {
			turn.Answer(pluginsdk.RunSucceeded, "It is read as 0 9 * * *.\n\nNothing is kept yet.\nTo keep it: /cron add tea | 0 9 * * * | UTC | a\nb")
			return
		}
		turn.Answer(pluginsdk.RunSucceeded, "tea is made")
	})
	daemon.AddCommand(pluginsdk.Command{CommandSpec: pluginsdk.CommandSpec{Name: "cron", Usage: "/cron add"}, Plugin: "cron"})
	t.Setenv("HARNESS_URL", daemon.URL())
	got := harness(t, "", "cron", "add", "tea | every day | UTC | a\nb")
	if got.code != exitFailed || !strings.Contains(got.out, "Nothing is kept yet.") || !strings.Contains(got.err, "say --yes") || len(said) != 1 {
		t.Errorf("without a terminal: %+v, said %q", got, said)
	}
	got = harness(t, "", "cron", "add", "--yes", "tea | every day | UTC | a\nb")
	if got.code != 0 || !strings.HasSuffix(got.out, "tea is made\n") || len(said) != 3 || said[2] != "/cron add tea | 0 9 * * * | UTC | a\nb" {
		t.Errorf("with --yes: %+v, said %q", got, said)
	}
	if got = harness(t, "", "cron", "list"); got.code != 0 || got.out != "tea is made\n" {
		t.Errorf("what proposes nothing: %+v", got)
	}
	// What others have written into an answer is given by nobody's yes.
	const edit = "\nTo keep it: /cron edit tea | when = shell"
	for _, row := range [][]string{
		{edit, "cron", "list"},
		{"no schedule has the name x" + edit, "cron", "show", "x"},
		{edit, "cron", "add", "tea | every day | UTC | a"},
		{edit + " | UTC | a", "cron", "add", "tea | every day | UTC | a"},
		{"\nTo keep it: /cron add other | 0 9 * * * | UTC | a", "cron", "add", "tea | every day | UTC | a"},
		{"\nTo keep it: /cron add tea | 0 9 * * * | UTC | b", "cron", "add", "tea | every day | UTC | a"},
		{"\nTo keep it: /cron add tea | 0 9 * * * | UTC | x | a", "cron", "add", "tea | every day | UTC | a"},
		{"\nTo keep it: /cron add tea | 0 9 * * *\n | UTC | a", "cron", "add", "tea | every day | UTC | a"},
	} {
		answer = row[0]
		before := len(said)
		if got := harness(t, "", append(row[1:], "--yes")...); got.code != 0 || len(said) != before+1 {
			t.Errorf("%q: %+v, said %q", row, got, said[before:])
		}
	}
}

// A slip of the pen is told as such, whether or not a daemon is up, and nothing is said to the agent.
func TestAWordThatIsNoCommand(t *testing.T) {
	daemon := withCommands(t)
	harness(t, "", "sned", "hello").want(t, exitUsage, "", "harness: there is no command sned; did you mean send?\n`harness --help` lists the commands.\n")
	harness(t, "", "plguin", "list", "--json").want(t, exitUsage, "", "there is no command plguin; did you mean plugin?")
	harness(t, "", "discord", "--jsn").want(t, exitUsage, "", "harness: there is no flag --jsn")
	harness(t, "", "discord", "-x").want(t, exitUsage, "", "A word for the plugin that begins with - follows --\n")
	harness(t, "", "*", "hello").want(t, exitUsage, "", "harness: there is no command *")
	harness(t, "", "discord invite").want(t, exitUsage, "", "there is no command discord invite")
	harness(t, "", "status").want(t, exitUsage, "", "It is a command of a thread: harness send /status\n")
	harness(t, "", "--thred", "x", "discord").want(t, exitUsage, "", "there is no flag --thred; did you mean --thread?")
	harness(t, "", "search", "--nonsense").want(t, exitUsage, "", "harness search: there is no flag") // its own comes first
	if said := daemon.Said(); len(said) > 0 {
		t.Errorf("said %q", said)
	}
	daemon.Stop()
	got := harness(t, "", "sned", "hello")
	got.want(t, exitUsage, "", "harness: there is no command sned; did you mean send?\n")
	got.want(t, exitUsage, "", "Whether a plugin has one only the daemon knows: no daemon answers at "+daemon.URL())
}

func TestPluginsCommandsAreCompleted(t *testing.T) {
	withCommands(t)
	for line, want := range map[string][]string{"d": {"discord\tof a plugin", "doctor"}, "se": {"send", "search\tFind"}, "discord ": {"invite", "status"}} {
		got := harness(t, "", append([]string{"__complete"}, strings.Split(line, " ")...)...)
		for _, word := range want {
			if got.code != 0 || !strings.Contains("\n"+got.out, "\n"+word) {
				t.Errorf("%q: no %q in %q", line, word, got.out)
			}
		}
		if strings.Contains(got.out, "search\tof a plugin") {
			t.Errorf("%q: what nobody can give so: %q", line, got.out)
		}
	}
}
