// Package walk walks through the dashboard as a person does: in a real browser, on a daemon
// with its plugins as processes.
package walk

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/browser"
	"github.com/seed-706843ae/harness/core/coretest/fakeapi"
	"github.com/seed-706843ae/harness/core/coretest/installation"
)

// bin has harness and the plugins that the walks need, built once.
var bin string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv("HARNESS_TEST_CHROMIUM") == "" {
		return m.Run() // everything is left out
	}
	var err error
	if bin, err = os.MkdirTemp("", "harness-walk"); err == nil {
		defer os.RemoveAll(bin)
		err = installation.Build(bin, "activity", "context", "time", "web")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Somebody opens the address that the daemon has told them.
func TestTheFrontPage(t *testing.T) {
	b := browser.Start(t)
	d := installation.Start(t, bin, installation.Options{})
	p := b.Page(t, browser.Options{})
	p.Open(d.URL)
	p.Wait("body")
}

// After a power cut the same address answers, and who was logged in still is.
func TestAPowerCut(t *testing.T) {
	b := browser.Start(t)
	d := installation.Start(t, bin, installation.Options{})
	d.MustRun(t, "plugin", "settings", "set", "web", "auth=always")
	secret := d.Token(t, "Ann", "chat")
	p := b.Page(t, browser.Options{Width: 375, Height: 667, Mobile: true})
	p.Open(d.URL + "/login")
	p.Type("input[type=password]", secret)
	p.Press("Enter")
	p.WaitGone("input[type=password]")
	if err := errors.Join(d.Kill(), d.Up()); err != nil {
		t.Fatal(err)
	}
	p.Open(d.URL)
	p.WaitGone("input[type=password]")
}

// The real agent answers, by the model that the test plays.
func TestTheRealAgent(t *testing.T) {
	browser.Start(t)
	d := installation.Start(t, bin, installation.Options{API: fakeapi.Start(t)})
	if said := d.MustRun(t, "send", "say:Good morning"); said != "Good morning\n" {
		t.Errorf("the agent said %q", said)
	}
}
