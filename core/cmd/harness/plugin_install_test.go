package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// withDepot is an installation with no plugins.
func withDepot(t *testing.T) (data string) {
	t.Helper()
	data = isolate(t)
	if err := openStore(t, data).Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(data, func(path string, entry fs.DirEntry, _ error) error {
			if entry != nil && entry.IsDir() {
				_ = os.Chmod(path, 0o700) //nolint:gosec // a directory of the test
			}
			return nil
		})
	})
	return data
}

// packPlugin writes the archive of a plugin and returns its path.
func packPlugin(t *testing.T, name, version string) string {
	t.Helper()
	manifest, err := json.Marshal(pluginsdk.Manifest{
		Name: name, Version: version, Hooks: []pluginsdk.Hook{pluginsdk.HookCheck},
		Capabilities: []pluginsdk.CapabilityRequest{{Capability: pluginsdk.CapMessagesRead, Reason: "to read"}},
		Environment:  []pluginsdk.EnvironmentRequest{{Name: "GREETER_TOKEN", Reason: "to sign in"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	writer := tar.NewWriter(zipped)
	for file, content := range map[string]string{"plugin.json": string(manifest), name: "#!/bin/sh\necho " + version + "\n"} {
		if err := writer.WriteHeader(&tar.Header{Name: file, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name+"-"+version+".tar.gz")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func pluginRow(t *testing.T, data, name string) ledger.Plugin {
	t.Helper()
	database := openStore(t, data)
	defer database.Close()
	row, err := database.Plugin(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// The whole life of somebody else's plugin, as an operator types it.
func TestAPluginIsInstalledUpgradedRolledBackAndRemoved(t *testing.T) {
	data := withDepot(t)
	one, two := packPlugin(t, "greeter", "1.0.0"), packPlugin(t, "greeter", "2.0.0")
	harness(t, "", "plugin", "install", one, "--yes").want(t, 0, "greeter is installed, and disabled.", "")
	harness(t, "", "plugin", "info", "greeter").want(t, 0, "lacks", "")
	harness(t, "", "plugin", "grant", "greeter", "messages.read").want(t, 0, "greeter was granted messages.read", "")
	harness(t, "", "plugin", "grant", "greeter", "--env", "GREETER_TOKEN").want(t, 0, "greeter was granted env GREETER_TOKEN", "")
	harness(t, "", "plugin", "enable", "greeter").want(t, 0, "greeter is enabled; from the daemon's next start on.", "")
	harness(t, "", "plugin", "limits", "greeter", "--memory", "200MB", "--cpu", "50").want(t, 0, "memory 200 MB, CPU 50 % of a core", "")
	harness(t, "", "plugin", "limits", "greeter", "--calls-per-minute", "6000", "--rows-per-minute", "0", "--bytes-per-minute", "64MiB", "--stored", "2GiB").
		want(t, 0, "calls a minute 6000, rows a minute no limit, bytes a minute 64 MiB, stored 2.0 GiB", "")
	harness(t, "", "plugin", "upgrade", "greeter", two, "--yes").want(t, 0, "greeter is version 2.0.0 now, was 1.0.0", "")
	harness(t, "", "plugin", "rollback", "greeter", "--yes").want(t, 0, "greeter is version 1.0.0 now, was 2.0.0", "")
	harness(t, "", "plugin", "rollback", "greeter", "--to", "2.0.0", "--yes").want(t, 0, "greeter is version 2.0.0 now", "")
	row := pluginRow(t, data, "greeter")
	if !row.Enabled || len(row.Granted) != 1 || len(row.GrantedEnv) != 1 || row.Limits.CPUPercent != 50 {
		t.Errorf("row: %+v", row)
	}
	harness(t, "", "plugin", "revoke", "greeter", "--all").want(t, 0, "was taken from greeter", "")
	harness(t, "", "plugin", "remove", "greeter", "--yes").want(t, 0, "greeter is removed", "")
	harness(t, "", "plugin", "info", "greeter").want(t, exitFailed, "", `there is no plugin "greeter"`)
	left, err := filepath.Glob(filepath.Join(data, "plugins", "[^.]*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestEverythingAtOnceForScripts(t *testing.T) {
	data := withDepot(t)
	harness(t, "", "plugin", "install", packPlugin(t, "greeter", "1"), "--yes", "--grant", "all", "--grant-env", "GREETER_TOKEN", "--enable").
		want(t, 0, "greeter is installed and enabled", "")
	row := pluginRow(t, data, "greeter")
	if !row.Enabled || len(row.Granted) != 1 || len(row.GrantedEnv) != 1 {
		t.Errorf("row: %+v", row)
	}
	var report struct {
		ledger.Plugin
		Missing []string
	}
	got := harness(t, "", "plugin", "info", "greeter", "--json")
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || report.SHA256 != row.SHA256 || report.Missing == nil {
		t.Errorf("%v\n%s", err, got.out)
	}
}

// Nobody can say yes where there is no terminal, and silence is no consent.
func TestWithoutATerminalNothingIsDoneUnasked(t *testing.T) {
	data := withDepot(t)
	archive := packPlugin(t, "greeter", "1")
	harness(t, "y\n", "plugin", "install", archive).want(t, exitFailed, "messages.read (read everything that was said, and what the agent thought, did and read for it): to read", "say --yes")
	harness(t, "", "plugin", "install", archive, "--yes").want(t, 0, "installed", "")
	for _, words := range [][]string{{"upgrade", "greeter", packPlugin(t, "greeter", "2")}, {"remove", "greeter"}} {
		harness(t, "y\n", append([]string{"plugin"}, words...)...).want(t, exitFailed, "", "say --yes")
	}
	if row := pluginRow(t, data, "greeter"); row.Version != "1" {
		t.Errorf("version %s", row.Version)
	}
}

// The policy and the keys come from the settings that an operator writes.
func TestSignaturesAreRequiredWhenTheOperatorSaysSo(t *testing.T) {
	data := withDepot(t)
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	archive := packPlugin(t, "greeter", "1")
	t.Setenv("HARNESS_PLUGIN_SIGNATURES", "required")
	harness(t, "", "plugin", "install", archive, "--yes").want(t, exitFailed, "", "it is not signed")
	content, err := os.ReadFile(archive) //nolint:gosec // made by this test
	if err != nil {
		t.Fatal(err)
	}
	reader := minisign.NewReader(bytes.NewReader(content))
	if _, err := reader.Read(make([]byte, len(content)+1)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(archive+".minisig", reader.Sign(private), 0o600); err != nil {
		t.Fatal(err)
	}
	harness(t, "", "plugin", "install", archive, "--yes").want(t, exitFailed, "", "unknown key")
	t.Setenv("HARNESS_PLUGIN_PUBLISHERS", public.String())
	harness(t, "", "plugin", "install", archive, "--yes").want(t, 0, "trusted (timestamp:", "")
	harness(t, "", "plugin", "remove", "greeter", "--yes").want(t, 0, "removed", "")
	t.Setenv("HARNESS_PLUGIN_PUBLISHERS", "")
	text, err := public.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(data, "publishers"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "publishers", "us.pub"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	harness(t, "", "plugin", "install", archive, "--yes").want(t, 0, "installed", "")
	if row := pluginRow(t, data, "greeter"); len(row.Publisher) != 16 {
		t.Errorf("publisher %q", row.Publisher)
	}
	t.Setenv("HARNESS_PLUGIN_SIGNATURES", "perhaps")
	harness(t, "", "plugin", "list").want(t, exitFailed, "", `HARNESS_PLUGIN_SIGNATURES, from the environment: "perhaps" is not accepted`)
	t.Setenv("HARNESS_PLUGIN_SIGNATURES", "")
	t.Setenv("HARNESS_PLUGIN_PUBLISHERS", "RWQbad")
	harness(t, "", "plugin", "list").want(t, exitFailed, "", "HARNESS_PLUGIN_PUBLISHERS")
}

func TestAChangedPluginIsShownAndTrusted(t *testing.T) {
	data := withDepot(t)
	harness(t, "", "plugin", "install", packPlugin(t, "greeter", "1"), "--yes").want(t, 0, "installed", "")
	path := pluginRow(t, data, "greeter").Path
	for _, err := range []error{
		os.Chmod(path, 0o700), //nolint:gosec // an executable of the test
		os.WriteFile(path, []byte("#!/bin/sh\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	harness(t, "", "plugin", "info", "greeter").want(t, 0, `"greeter" has other content`, "")
	harness(t, "", "plugin", "trust", "greeter", "--yes").want(t, 0, "greeter is trusted as it is now", "")
	if got := harness(t, "", "plugin", "info", "greeter"); strings.Contains(got.out, "may not start") {
		t.Errorf("it is still refused:\n%s", got.out)
	}
}

func TestPluginsAreOrderedFromTheCommandLine(t *testing.T) {
	data := withPlugins(t)
	harness(t, "", "plugin", "order", "time", "before", "activity").want(t, 0, "The order is: time, activity;", "")
	if a, b := pluginRow(t, data, "time"), pluginRow(t, data, "activity"); a.Position >= b.Position {
		t.Errorf("positions %d and %d", a.Position, b.Position)
	}
	harness(t, "", "plugin", "order", "time").want(t, exitUsage, "", "harness plugin order: something is missing")
}

func TestLogsAreReadFromTheDataDirectory(t *testing.T) {
	data := withPlugins(t)
	harness(t, "", "plugin", "logs", "time").want(t, 0, "time has logged nothing yet.", "")
	dir := filepath.Join(data, "logs", "plugins")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "time.log"), []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := harness(t, "", "plugin", "logs", "time", "-n", "2"); got.out != "two\nthree\n" {
		t.Errorf("got %q", got.out)
	}
}
