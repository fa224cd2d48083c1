package installation

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/fakeapi"
)

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
