package installation

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/fakeapi"
)

// Build makes harness and these of the shipped plugins in a directory, as `make build` does
// in bin.
func Build(dir string, plugins ...string) error {
	const module = "github.com/seed-706843ae/harness/"
	into := dir + string(filepath.Separator)
	builds := [][]string{{into, module + "core/cmd/harness"}, {filepath.Join(into, "plugins") + string(filepath.Separator)}}
	for _, name := range plugins {
		builds[1] = append(builds[1], module+"plugins/"+name)
	}
	for _, build := range builds {
		command := exec.Command("go", append([]string{"build", "-trimpath", "-ldflags", "-s -w", "-o"}, build...)...) //nolint:gosec // our own
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("build %v: %w\n%s", build[1:], err, output)
		}
	}
	return nil
}

// Options say what is started.
type Options struct {
	// API is the model: the agent is the real Claude CLI, which talks to it. Without one
	// the agent is the demo's.
	API *fakeapi.Server
	Env []string // settings, as HARNESS_NAME=VALUE
}

// Start starts a daemon from what Build has made in bin, until the test ends. With an API,
// a test without HARNESS_TEST_CLAUDE, which .ci/test-env sets, is left out.
func Start(t *testing.T, bin string, o Options) *Installation {
	t.Helper()
	d := &Installation{Program: filepath.Join(bin, "harness"), Dir: filepath.Join(t.TempDir(), "data"), Env: environment()}
	if o.API == nil {
		d.Env = append(d.Env, "HARNESS_AGENT=demo")
	} else {
		claude := os.Getenv("HARNESS_TEST_CLAUDE")
		if claude == "" {
			t.Skip("left out: HARNESS_TEST_CLAUDE is not set (.ci/test-env sets it)")
		}
		d.Env = append(append(d.Env, fakeapi.Env(o.API.URL(), t.TempDir())...), "HARNESS_AGENT=claude", "HARNESS_CLAUDE="+claude)
	}
	d.Env = append(d.Env, o.Env...)
	t.Cleanup(func() { d.end(t) })
	if err := d.Up(); err != nil {
		t.Fatal(err)
	}
	return d
}

// end takes the daemon down, and lets its directory be removed.
func (d *Installation) end(t *testing.T) {
	if err := d.Down(); err != nil {
		t.Error(err)
	} else if t.Failed() {
		t.Logf("the daemon's log:\n%s", d.Log.String())
	}
	_ = filepath.WalkDir(d.Dir, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a directory of the test
		}
		return nil
	})
}

// environment is that of this process without the settings in it.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "HARNESS_") || name == "DATABASE_URL" || name == "PORT" || name == "NOTIFY_SOCKET"
	})
}

// MustRun is Run for a test, which fails if it does.
func (d *Installation) MustRun(t *testing.T, arguments ...string) string {
	t.Helper()
	output, err := d.Run(t.Context(), arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// Token makes a token and returns its secret.
func (d *Installation) Token(t *testing.T, name, scope string) string {
	t.Helper()
	var made struct{ Secret string }
	if err := json.Unmarshal([]byte(d.MustRun(t, "token", "create", name, "--scope", scope, "--json")), &made); err != nil {
		t.Fatal(err)
	}
	return made.Secret
}
