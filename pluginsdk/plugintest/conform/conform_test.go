package conform_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest/conform"
)

// patience is short, because the faulty plugins run into it, and still long
// enough for a good one on a busy machine.
const patience = 5 * time.Second

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func config(t *testing.T, mode string) conform.Config {
	t.Helper()
	return conform.Config{
		Path: subjectFile, Args: []string{"be-plugin", mode}, Helper: []string{self(t), "be-host"}, Patience: patience,
		Env: []string{"GORACE=atexit_sleep_ms=10"}, // the race detector waits a second before each exit
	}
}

func examined(t *testing.T, cfg conform.Config) conform.Report {
	t.Helper()
	report, err := conform.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, result := range report.Results {
		result.WriteText(&text)
	}
	t.Log(text.String())
	return report
}

// failed returns the names of the checks that failed.
func failed(report conform.Report) []string {
	var names []string
	for _, result := range report.Results {
		if result.Status == conform.Fail {
			names = append(names, result.Name)
		}
	}
	return names
}

func TestAGoodPluginConforms(t *testing.T) {
	t.Parallel()
	report := examined(t, config(t, "good"))
	if !report.OK() || report.Plugin != "subject" || report.Version != "1.0.0" {
		t.Errorf("%s %s fails %v", report.Plugin, report.Version, failed(report))
	}
	for _, result := range report.Results {
		if result.Status == conform.Skip && result.Name != "plugin-json" {
			t.Errorf("%s was skipped: %s", result.Name, result.Detail)
		}
	}
}

// An author who is told the wrong thing looks in the wrong place; one who is
// told nothing ships the fault.
func TestEachFaultFailsItsCheckAndNoOther(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ mode, check, detail string }{
		{"chatty", "handshake", `the first line on stdout is "starting up ..."`},
		{"mute", "cookie", "exit status 0"},
		{"unstable", "describe", "version is once"},
		{"activates-once", "lifecycle", "Activate after Deactivate: address already in use"},
		{"not-serving", "health", "NOT_SERVING"},
		{"lies", "hooks large parallel cancel", "OnMessage: it answers UNIMPLEMENTED"},
		{"panics", "hooks large parallel cancel", "OnMessage panicked: at the disco"},
		{"secretive", "undeclared", "OnAfterInvoke answers, and the manifest does not declare it"},
		{"forgets-command", "commands", "/second: it answers UNIMPLEMENTED"},
		{"forgets-tool", "tools", "two: CallTool panicked"},
		{"has-no-key", "effects", "OnPipelineStart: the effects have no key"},
		{"has-another-key", "effects", "both would be stored"},
		{"says-something-else", "effects", "did something else when it was repeated"},
		{"sees-one-message", "effects", `OnMessage: asked for another message of the run, the effects have the key "seen" again`},
		{"sees-one-command", "effects", `OnCommand: asked for another command of the run, the effects have the key "command" again`},
		{"speaks-in-effects", "effects", "kind: \"text\" is not accepted in effects"},
		{"counts", "effects", "does not ask for metrics.write"},
		{"feels-odd", "surroundings", "in the state \"odd\""},
		{"feels-too-much", "surroundings", "41 checks"},
		{"counts-for-others", "surroundings", "1 of the figures of OnCheck are left out of /metrics"},
		{"ignores-cancel", "cancel", "OnMessage, cancelled: the call was still under way"},
		{"small", "large", "OnMessage: refused"},
		{"breaks-under-load", "parallel", "OnMessage: its process ended (exit status 3)"},
		{"dies-of-settings", "settings", "OnSettingsChange with"},
		{"leaks", "memory", "it grew from"},
		{"stubborn", "shutdown", "it had to be killed"},
		{"slow-to-go", "shutdown", "ended only at SIGTERM"},
		{"drains-for-ever", "drain", "was killed"},
		{"leaves-child", "children host-death", "it left behind: "},
		{"leaves-far-child", "children host-death", "it left behind: "},
		{"leaves-socket", "sockets", "subject"},
		{"asks-too-much", "capabilities", "needs threads.read"},
	} {
		t.Run(row.mode, func(t *testing.T) {
			t.Parallel()
			cfg := config(t, row.mode)
			if row.check != "memory" { // which takes most of the time
				cfg.Only = slices.DeleteFunc(conform.Checks(), func(name string) bool { return name == "memory" })
			}
			requireFailure(t, examined(t, cfg), row.check, row.detail)
		})
	}
}

// requireFailure fails the test unless exactly the checks failed, the first of
// them with the words and with advice.
func requireFailure(t *testing.T, report conform.Report, checks, detail string) {
	t.Helper()
	if got := strings.Join(failed(report), " "); got != checks {
		t.Errorf("failed are %q, want %q", got, checks)
	}
	first, _, _ := strings.Cut(checks, " ")
	for _, result := range report.Results {
		if result.Name == first && (!strings.Contains(result.Detail, detail) || result.Advice == "") {
			t.Errorf("%s says %q (%s), want %q", first, result.Detail, result.Advice, detail)
		}
	}
}

// A script in between gets the parent-death signal, not the plugin: that must
// look for itself.
func TestAPluginThatOutlivesItsHostIsFound(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "plugin.sh")
	for mode, want := range map[string]string{"good": "", "orphan": "host-death"} {
		cfg := config(t, mode)
		cfg.Env = append(cfg.Env, "SUBJECT="+cfg.Path)
		if err := os.WriteFile(script, []byte("#!/bin/sh\n\"$SUBJECT\" be-plugin "+mode+"\nexit $?\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		cfg.Path, cfg.Args, cfg.Only = script, nil, []string{"host-death"}
		if got := strings.Join(failed(examined(t, cfg)), " "); got != want {
			t.Errorf("%s fails %q, want %q", mode, got, want)
		}
	}
}

func TestPluginJSONMustSayWhatThePluginSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := config(t, "good")
	cfg.Path = filepath.Join(dir, "subject")
	if err := os.Symlink(subjectFile, cfg.Path); err != nil {
		t.Fatal(err)
	}
	cfg.Only = []string{"plugin-json"}
	manifest := (&subject{}).Manifest()
	manifest.Hooks = pluginsdk.HooksOf(&subject{})
	for version, want := range map[string]string{"1.0.0": "", "2.0.0": "plugin-json"} {
		manifest.Version = version
		writePluginJSON(t, dir, manifest)
		if got := strings.Join(failed(examined(t, cfg)), " "); got != want {
			t.Errorf("version %s: failed are %q, want %q", version, got, want)
		}
	}
}

func writePluginJSON(t *testing.T, dir string, manifest pluginsdk.Manifest) {
	t.Helper()
	content, err := json.MarshalIndent(manifest, "", "    ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, conform.ManifestFile), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// An error of the plugin's own work, such as an unknown channel, is an answer.
func TestAPluginMayRefuseInWords(t *testing.T) {
	t.Parallel()
	cfg := config(t, "grumbles")
	cfg.Only = []string{"hooks", "parallel", "memory"}
	report := examined(t, cfg)
	if !report.OK() {
		t.Errorf("failed are %v", failed(report))
	}
	if i := slices.IndexFunc(report.Results, func(r conform.Result) bool { return r.Name == "hooks" }); !strings.Contains(report.Results[i].Detail, "there is no such channel") {
		t.Errorf("the author is not told of the error: %q", report.Results[i].Detail)
	}
}

func TestWhatCannotBeExaminedIsAnErrorThatSaysWhy(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*conform.Config){
		"executable":       func(c *conform.Config) { c.Path += ".gone" },
		"a JSON object":    func(c *conform.Config) { c.Settings = json.RawMessage(`[]`) },
		"NAME=VALUE":       func(c *conform.Config) { c.Env = []string{"TOKEN"} },
		"there is no chec": func(c *conform.Config) { c.Only = []string{"looks"} },
	} {
		cfg := config(t, "good")
		change(&cfg)
		if _, err := conform.Run(t.Context(), cfg); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := conform.Run(ctx, config(t, "good")); pluginsdk.CodeOf(err) == "" {
		t.Error("a run that was given up has a report")
	}
}

func TestJUnitSaysWhatTheReportSays(t *testing.T) {
	report := conform.Report{Plugin: "p", Version: "1", Began: time.Unix(0, 0), Results: []conform.Result{
		{Name: "a", Title: "A", Status: conform.Pass, Duration: 1500 * time.Millisecond},
		{Name: "b", Title: "B", Status: conform.Fail, Detail: "it <broke>", Advice: "mend it"},
		{Name: "c", Title: "C", Status: conform.Skip, Detail: "no need"},
	}}
	var out bytes.Buffer
	if err := report.WriteJUnit(&out); err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Skipped  int `xml:"skipped,attr"`
			Cases    []struct {
				Name    string `xml:"name,attr"`
				Time    string `xml:"time,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(out.Bytes(), &parsed); err != nil || len(parsed.Suites) != 1 {
		t.Fatalf("%v: %s", err, out.String())
	}
	suite := parsed.Suites[0]
	if suite.Tests != 3 || suite.Failures != 1 || suite.Skipped != 1 || len(suite.Cases) != 3 {
		t.Fatalf("%s", out.String())
	}
	if a := suite.Cases[0]; a.Time != "1.500" || a.Failure != nil || a.Skipped != nil {
		t.Errorf("a is %+v", a)
	}
	if b := suite.Cases[1]; b.Failure == nil || b.Failure.Message != "it <broke>" || !strings.Contains(b.Failure.Text, "mend it") {
		t.Errorf("b is %+v", b)
	}
	if suite.Cases[2].Skipped == nil {
		t.Error("c is not skipped")
	}
}
