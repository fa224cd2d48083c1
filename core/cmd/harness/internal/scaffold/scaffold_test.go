package scaffold_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/scaffold"
	"github.com/seed-706843ae/harness/core/coretest/programs"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest/conform"
)

func checkout(t *testing.T) string {
	t.Helper()
	dir, err := scaffold.FindCheckout(".")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs a command in a directory, without the network. What the plugin needs is compiled with
// the Makefile's flags, so that it is compiled once for the whole of the tests.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	programs.Used()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly -buildvcs=false -trimpath", "GOWORK=off", "HARNESS=true")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// What an author is given first must work, or it is also the last.
func TestANewPluginBuildsPassesItsTestsAndConforms(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my plugin")
	written, err := scaffold.Write(t.Context(), scaffold.Plugin{Name: "type-2", Dir: dir, Harness: checkout(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range written {
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	if unformatted := run(t, dir, "gofmt", "-l", "."); unformatted != "" {
		t.Errorf("not in gofmt's form: %s", unformatted)
	}
	run(t, dir, "make", "test", "package") // the conformance run is below, so HARNESS=true
	if listed := run(t, dir, "tar", "-tzf", "type-2.tar.gz"); listed != "plugin.json\ntype-2\n" {
		t.Errorf("the package has %q", listed)
	}
	report, err := conform.Run(t.Context(), conform.Config{Path: filepath.Join(dir, "bin", "type-2")})
	if err != nil {
		t.Fatal(err)
	}
	without := []string{"tools", "surroundings", "host-death"}
	for _, result := range report.Results {
		if result.Status == conform.Fail || result.Status == conform.Skip && !slices.Contains(without, result.Name) {
			t.Errorf("%s: %s: %s", result.Status, result.Name, result.Detail)
		}
	}
}

func TestWhatCannotBeBegunIsLeftAlone(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "precious"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "new")
	for _, row := range []struct {
		name   string
		plugin scaffold.Plugin
		code   pluginsdk.Code
		want   string
	}{
		{"a name that no plugin can have", scaffold.Plugin{Name: "My_Plugin", Dir: fresh}, pluginsdk.CodeInvalid, "lower case letter"},
		{"a module that Go does not take", scaffold.Plugin{Name: "p", Dir: fresh, Module: "a b"}, pluginsdk.CodeInvalid, "path of a Go module"},
		{"a directory with something in it", scaffold.Plugin{Name: "p", Dir: full}, pluginsdk.CodeConflict, "is not empty"},
		{"a checkout of something else", scaffold.Plugin{Name: "p", Dir: fresh, Harness: full}, pluginsdk.CodeInvalid, "not a checkout"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := scaffold.Write(t.Context(), row.plugin); pluginsdk.CodeOf(err) != row.code || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error is %v, want %q", err, row.want)
			}
			if _, err := os.Stat(fresh); !os.IsNotExist(err) {
				t.Errorf("something was written: %v", err)
			}
		})
	}
}

func TestWithoutACheckoutItIsSaidWhatToName(t *testing.T) {
	if dir, err := scaffold.FindCheckout(t.TempDir()); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound || !strings.Contains(err.Error(), "--harness DIR") {
		t.Errorf("found %q, %v", dir, err)
	}
}
