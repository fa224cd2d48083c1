package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// result is what a command line left behind.
type result struct {
	code     int
	out, err string
}

// harness runs a command line in a world of its own.
func harness(t *testing.T, in string, args ...string) result {
	t.Helper()
	return harnessIn(t.Context(), in, args...)
}

func harnessIn(ctx context.Context, in string, args ...string) result {
	var out, errs bytes.Buffer
	code := run(ctx, args, streams{strings.NewReader(in), &out, &errs})
	return result{code, out.String(), errs.String()}
}

// isolate keeps the machine's own settings away, and returns a data directory.
func isolate(t *testing.T) string {
	t.Helper()
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name == "PORT" || name == "DATABASE_URL" || name == "NOTIFY_SOCKET" || strings.HasPrefix(name, "HARNESS_") {
			t.Setenv(name, "") // restores it afterwards
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	data := t.TempDir()
	t.Setenv("HARNESS_DATA", data)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	return data
}

func (r result) want(t *testing.T, code int, out, err string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.out, out) || !strings.Contains(r.err, err) {
		t.Errorf("exit %d, stdout:\n%s\nstderr:\n%s\nwant exit %d, %q on stdout, %q on stderr", r.code, r.out, r.err, code, out, err)
	}
}

func TestWrongCommandLinesSayWhatIsWrong(t *testing.T) {
	isolate(t)
	for line, want := range map[string]string{
		"sned hello":             "harness: there is no command sned; did you mean send?",
		"send":                   "harness send: TEXT is missing\nIt is written: harness send TEXT...",
		"send --thred x hello":   "harness send: there is no flag --thred; did you mean --thread?",
		"send -x hello":          "harness send: there is no flag -x;",
		"send --timeout soon x":  `harness send: --timeout: "soon" is not accepted; it takes a duration such as 5m`,
		"send --thread":          "harness send: --thread needs a value: a text",
		"chat hello":             `harness chat: "hello" is one word too many`,
		"plugin list x":          `harness plugin list: "x" is one word too many`,
		"plugin lst":             "harness plugin: there is no command lst; did you mean list?",
		"plugin zzz":             "harness plugin: there is no command zzz\n",
		"plugin enable":          "harness plugin enable: NAME is missing",
		"plugin order":           "harness plugin order: NAME is missing",
		"plugin order a":         "harness plugin order: something is missing",
		"backup":                 "harness backup: FILE is missing",
		"backup a b":             `harness backup: "b" is one word too many`,
		"up --port none":         `harness up: --port: "none" is not accepted; it takes a number`,
		"threads --json=perhaps": `--json: "perhaps" is not accepted; it takes true or false`,
	} {
		t.Run(line, func(t *testing.T) {
			got := harness(t, "", strings.Fields(line)...)
			got.want(t, exitUsage, "", want)
			got.want(t, exitUsage, "", "--help` ")
		})
	}
}

// What is not there is named, and so is what there is instead, or who lists it.
func TestWhatIsNotThereIsNamedWithWhatToDo(t *testing.T) {
	withPlugins(t)
	for line, want := range map[string]string{
		"restore nosuch.backup":           "there is no file nosuch.backup; name a file",
		"backup /nowhere/x":               "there is no directory /nowhere; make it first",
		"export -o /nowhere/x":            "there is no directory /nowhere; make it first",
		"export --thread nosuch":          "`harness threads` lists",
		"plugin logs time -n -1":          "--lines: -1 is not accepted",
		"plugin order time befor nothing": `there is no plugin "befor"; there are: activity, time. One plugin is moved by NAME before OTHER`,
	} {
		harness(t, "", strings.Fields(line)...).want(t, exitFailed, "", want)
	}
	harness(t, "", "completion", "fihs").want(t, exitUsage, "", "there is no command fihs; did you mean fish?")
}

func TestWrongSettingsStopACommandAndAreNamed(t *testing.T) {
	isolate(t)
	harness(t, "", "up", "--agent", "gpt").want(t, exitFailed, "", "--agent (HARNESS_AGENT)")
	harness(t, "", "doctor", "--port", "70000").want(t, exitFailed, "", "--port (PORT)")
	t.Setenv("HARNESS_AGENTS", "many")
	harness(t, "", "send", "hello").want(t, exitFailed, "", `HARNESS_AGENTS, from the environment: "many" is not accepted`)
}

// Who says something on the command line must not be stopped by what that overrides.
func TestAFlagBeatsAWrongSetting(t *testing.T) {
	data := isolate(t)
	t.Setenv("HARNESS_AGENT", "gpt")
	if err := os.WriteFile(data+"/harness.env", []byte("PORT=none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := harness(t, "", "doctor", "--json", "--agent", "demo", "--port", freePort(t), "--plugins", data+"/nowhere")
	if strings.Contains(got.err, "is not accepted") || !strings.Contains(got.out, "demo agent answers") {
		t.Errorf("%+v", got)
	}
	harness(t, "", "doctor", "--port", freePort(t)).want(t, exitFailed, "", `HARNESS_AGENT, from the environment: "gpt" is not accepted`)
}

// What holds is asked when something else was expected to.
func TestConfigShowsWhatHolds(t *testing.T) {
	data := isolate(t)
	if err := os.WriteFile(data+"/harness.env", []byte("HARNESS_AGENTS=7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DATABASE_URL", "postgres://ann:hunter2@db/harness")
	t.Setenv("HARNESS_AGNET", "demo")
	got := harness(t, "", "config", "--port", "3100")
	got.want(t, 0, "HARNESS_AGENTS ", "did you mean HARNESS_AGENT?")
	for _, line := range []string{
		`HARNESS_AGENTS +7 +` + data + `/harness.env\n`, `PORT +3100 +--port\n`, `HARNESS_LOG_LEVEL +info +default\n`, `HARNESS_DATA +` + data + ` +the environment\n`,
	} {
		if !regexp.MustCompile(line).MatchString(got.out) {
			t.Errorf("no %q in\n%s", line, got.out)
		}
	}
	if strings.Contains(got.out, "hunter2") {
		t.Error("the password is shown")
	}
	harness(t, "", "config", "--json").want(t, 0, `"source": "`+data+`/harness.env"`, "")
}

// What is in backquotes in a flag's help is taken for the name of its value.
func TestHelpOfFlagsHasNoBackquotes(t *testing.T) {
	isolate(t)
	root, _ := newRoot(streams{strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}})
	commands := []*cobra.Command{root}
	for n := 0; n < len(commands); n++ {
		commands = append(commands, commands[n].Commands()...)
		commands[n].Flags().VisitAll(func(flag *pflag.Flag) {
			if strings.Contains(flag.Usage, "`") {
				t.Errorf("%s --%s: %s", commands[n].CommandPath(), flag.Name, flag.Usage)
			}
		})
	}
}

func TestEveryCommandExplainsItselfWithAnExample(t *testing.T) {
	isolate(t)
	root, _ := newRoot(streams{strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}})
	commands := root.Commands()
	for n := 0; n < len(commands); n++ {
		command := commands[n]
		commands = append(commands, command.Commands()...)
		if command.Short == "" || command.Example == "" {
			t.Errorf("%s has no short help or no example", command.CommandPath())
		}
	}
	harness(t, "").want(t, 0, "harness send", "")
	harness(t, "", "plugin").want(t, 0, "harness plugin disable time", "")
}

// Whoever reports a fault says what they run, and a script asks before it upgrades.
func TestVersionNamesTheBuild(t *testing.T) {
	isolate(t)
	harness(t, "", "version").want(t, 0, "harness dev (go1.", "")
	harness(t, "", "--version").want(t, 0, "harness dev (go1.", "")
	var told map[string]any
	answer := harness(t, "", "version", "--json")
	if err := json.Unmarshal([]byte(answer.out), &told); err != nil {
		t.Fatalf("%s: %s", err, answer.out)
	}
	for key, want := range map[string]any{
		"version": "dev", "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		"contract": float64(pluginsdk.ContractVersion), "schema": float64(store.SchemaVersion()),
	} {
		if told[key] != want {
			t.Errorf("%s is %v; want %v", key, told[key], want)
		}
	}
	for _, key := range []string{"commit", "date"} { // a test's binary is not stamped
		if _, there := told[key]; !there {
			t.Errorf("there is no %s", key)
		}
	}
}

func TestCompletionIsThere(t *testing.T) {
	isolate(t)
	harness(t, "", "completion", "bash").want(t, 0, "__start_harness", "")
}
