package invoker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// install puts a CLI of a version into a directory, as a package manager does:
// the new file takes the old one's name.
func install(t *testing.T, dir, version string) (path string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "claude")
	script := fmt.Sprintf("#!/bin/sh\nINVOKER_TEST_VERSION=%s exec '%s' \"$@\"\n", version, self)
	if err := os.WriteFile(path+".new", []byte(script), 0o700); err != nil { //nolint:gosec // it has to be executable
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	return path
}

// upgradeUnder replaces the CLI while a turn runs in a warm process, and checks
// who answers from then on.
func upgradeUnder(t *testing.T, a *testAgent, upgrade func()) {
	t.Helper()
	warm := a.ask("warm", "", "version")
	wantText(t, warm, "1.0")
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan pluginsdk.InvokeResult, 1)
	said := make(chan struct{}, 1)
	go func() {
		running <- a.Invoke(ctx, request("running", "", "wait"), func(pluginsdk.StreamEvent) { said <- struct{}{} })
	}()
	<-said

	upgrade()
	cancel()
	stopped := <-running
	_ = wantFailure(t, stopped, pluginsdk.FailureInterrupted, false)
	wantText(t, a.ask("running", stopped.SessionID, "version"), "2.0")
	wantText(t, a.ask("warm", warm.SessionID, "version"), "2.0")
	wantText(t, a.ask("new", "", "version"), "2.0")
	if n := len(a.pool.sessions()); n != 3 {
		t.Errorf("%d processes for 3 sessions", n)
	}
}

// People update the CLI under a daemon that runs, every day or two: a turn that is under way
// goes on with the version that it began with, and no turn after it begins with the old one.
func TestUpgradedCLIIsUsedByTheNextTurn(t *testing.T) {
	t.Run("its file is replaced", func(t *testing.T) {
		dir := t.TempDir()
		path := install(t, dir, "1.0")
		a := startAgent(t, "plain", func(c *Config) { c.Binary = path })
		upgradeUnder(t, a, func() { install(t, dir, "2.0") })
	})
	t.Run("its name leads to another file", func(t *testing.T) {
		first, second := t.TempDir(), t.TempDir()
		t.Setenv("PATH", first+string(os.PathListSeparator)+second+string(os.PathListSeparator)+os.Getenv("PATH"))
		install(t, second, "1.0")
		a := startAgent(t, "plain", func(c *Config) { c.Binary = "claude" })
		upgradeUnder(t, a, func() { install(t, first, "2.0") })
	})
}

func TestACLIThatIsAwayDuringItsUpgradeIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	path := install(t, dir, "1.0")
	a := startAgent(t, "plain", func(c *Config) { c.Binary = path })
	wantText(t, a.ask("one", "", "version"), "1.0")
	warm := a.ask("warm", "", "version")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantText(t, a.ask("warm", warm.SessionID, "version"), "1.0") // there is nothing newer yet
	_ = wantFailure(t, a.ask("two", "", "version"), pluginsdk.FailureMissing, true)
	install(t, dir, "2.0")
	wantText(t, a.ask("two", "", "version"), "2.0")
}

// The file of a launcher stays the same when the CLI that it starts is upgraded. What the CLI can
// do is then found out anew, and the process that was started for the old one ends with its turn.
func TestACLIThatIsUpgradedBehindItsLauncher(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	version := func(is string) {
		if err := os.WriteFile(filepath.Join(dir, "version"), []byte(is), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	version("1.0.0")
	launcher := filepath.Join(dir, "claude")
	script := fmt.Sprintf("#!/bin/sh\nINVOKER_TEST_VERSION=$(cat '%s') exec '%s' \"$@\"\n", filepath.Join(dir, "version"), self)
	if err := os.WriteFile(launcher, []byte(script), 0o700); err != nil { //nolint:gosec // it has to be executable
		t.Fatal(err)
	}
	a := startAgent(t, "plain", func(c *Config) { c.Binary = launcher })
	first := a.ask("thread", "", "version")
	wantText(t, first, "1.0.0")
	version("2.0.0")
	a.reapOnce(time.Now().Add(time.Hour))
	wantText(t, a.ask("thread", first.SessionID, "version"), "2.0.0")
	if n := len(a.pool.sessions()); n != 0 {
		t.Errorf("%d processes are left that were started for the old version", n)
	}
	for range 2 {
		wantText(t, a.ask("thread", first.SessionID, "version"), "2.0.0")
		if left := a.pool.sessions(); len(left) != 1 || left[0].version != "2.0.0" {
			t.Errorf("%d processes", len(left))
		}
	}
}
