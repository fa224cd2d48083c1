package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk/plugintest/conform"

	"github.com/seed-706843ae/harness/core/ledger"
)

// notAPlugin is an executable that prints something else than a handshake.
func notAPlugin(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hello")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho hello from $TOKEN\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// CI goes by the exit code and the JUnit file; an author by the words.
func TestPluginTestReportsWhatFails(t *testing.T) {
	isolate(t)
	path, junit := notAPlugin(t), filepath.Join(t.TempDir(), "report.xml")
	t.Setenv("TOKEN", "me")
	got := harness(t, "", "plugin", "test", path, "--only", "handshake,cookie", "--env", "TOKEN", "--junit", junit)
	got.want(t, exitFailed, "does NOT conform: 1 passed, 1 failed, 2 skipped", "")
	for _, want := range []string{`"hello from me", not the handshake`, "What to do: print nothing to stdout"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the report does not say %q:\n%s", want, got.out)
		}
	}
	if got.err != "" {
		t.Errorf("stderr repeats: %s", got.err)
	}
	if content, err := os.ReadFile(junit); err != nil || !strings.Contains(string(content), "<testsuites>") {
		t.Errorf("JUnit file: %v\n%s", err, content)
	}
	got = harness(t, "", "plugin", "test", path, "--only", "handshake", "--json")
	var report conform.Report
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || report.OK() || got.code != exitFailed {
		t.Errorf("as JSON: exit %d, %v\n%s", got.code, err, got.out)
	}
}

func TestPluginTestSaysWhatItCannotUse(t *testing.T) {
	isolate(t)
	path := notAPlugin(t)
	harness(t, "", "plugin", "test", path+".gone").want(t, exitFailed, "", "executable")
	harness(t, "", "plugin", "test", path, "--only", "beauty").want(t, exitFailed, "", `there is no check "beauty"`)
	harness(t, "", "plugin", "test", path, "--settings", "gone.json").want(t, exitFailed, "", "--settings: want a JSON object, or a file")
	harness(t, "", "plugin", "test", path, "--settings", "{").want(t, exitFailed, "", "a JSON object")
}

func TestPluginNewWritesAPluginOnce(t *testing.T) {
	isolate(t)
	dir := filepath.Join(t.TempDir(), "greeter")
	got := harness(t, "", "plugin", "new", "greeter", "--dir", dir, "--module", "example.org/greeter")
	got.want(t, 0, "make test", "")
	if content, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil || !strings.HasPrefix(string(content), "module example.org/greeter\n") {
		t.Errorf("go.mod: %v\n%s", err, content)
	}
	harness(t, "", "plugin", "new", "greeter", "--dir", dir).want(t, exitFailed, "", "is not empty")
	harness(t, "", "plugin", "new", "other", "--dir", dir+"2", "--harness", t.TempDir()).want(t, exitFailed, "", "name it with --harness DIR")
}

// What an author begins must be something that can be installed in the end.
func TestPluginNewRefusesNamesThatCannotBeInstalled(t *testing.T) {
	isolate(t)
	for name, want := range map[string]string{
		"stop": "/stop is a command of the core", "time": "comes with Harness", "discord": "comes with Harness", "cli": "the core speaks under that name",
	} {
		dir := filepath.Join(t.TempDir(), name)
		harness(t, "", "plugin", "new", name, "--dir", dir).want(t, exitFailed, "", want)
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}

func TestPluginDevNeedsAnInstallationAndSources(t *testing.T) {
	isolate(t)
	harness(t, "", "plugin", "dev", t.TempDir()).want(t, exitFailed, "", "")
	withPlugins(t)
	harness(t, "", "plugin", "dev", t.TempDir()).want(t, exitFailed, "No daemon runs", "nothing to build in")
}

// A daemon that was not started for it would never run what an author has built: nothing
// is built, and no row is left that fails.
func TestAPluginIsWorkedOnOnlyWithADaemonForIt(t *testing.T) {
	data := withPlugins(t)
	pretendRunning(t, data)
	pid := strconv.Itoa(os.Getpid())
	socket := filepath.Join(data, "socket")
	if err := os.Chmod(data, 0o700); err != nil { //nolint:gosec // a directory
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dev := []string{"plugin", "dev", t.TempDir()}
	attach := []string{"plugin", "attach", "time", "--pid", pid, "--address", socket}
	for _, command := range [][]string{dev, attach} {
		harness(t, "", command...).want(t, exitFailed, "", "harness up --dev")
	}
	database := openStore(t, data)
	defer database.Close()
	if row, err := database.Plugin(t.Context(), "time"); err != nil || row.Attach != "" {
		t.Errorf("it is attached: %q, %v", row.Attach, err)
	}
	if err := database.SetLever(t.Context(), ledger.LeverDev, true, "daemon"); err != nil {
		t.Fatal(err)
	}
	harness(t, "", dev...).want(t, exitFailed, "", "nothing to build in")
	harness(t, "", attach...).want(t, 0, "time is to be process "+pid, "")
}

// What an author builds is signed by nobody.
func TestPluginDevIsRefusedWhereSignaturesAreRequired(t *testing.T) {
	withPlugins(t)
	t.Setenv("HARNESS_PLUGIN_SIGNATURES", "required")
	harness(t, "", "plugin", "dev", t.TempDir()).want(t, exitFailed, "", "signatures are required here")
}

func TestAPluginIsAttachedToOnlyIfItIsThere(t *testing.T) {
	data := withPlugins(t)
	pid := strconv.Itoa(os.Getpid())
	harness(t, "", "plugin", "attach", "time").want(t, exitFailed, "", "want the id of a process")
	harness(t, "", "plugin", "attach", "time", "--pid", pid, "--address", "/nowhere/s").want(t, exitFailed, "", "no such file")
	harness(t, "", "plugin", "detach", "tme").want(t, exitFailed, "", `there is no plugin "tme"; there are: activity, time`)
	harness(t, "", "plugin", "detach", "time").want(t, exitFailed, "", "time is not attached")
	database := openStore(t, data)
	defer database.Close()
	err := database.EditPlugin(t.Context(), "time", "test", "plugin.test", func(row *ledger.Plugin) (string, error) {
		row.Attach = "{}"
		return "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	harness(t, "", "plugin", "detach", "time").want(t, 0, "started by the daemon again", "")
	rows, err := database.Plugins(t.Context())
	if err != nil || rows[1].Attach != "" {
		t.Errorf("%+v, %v", rows, err)
	}
}
