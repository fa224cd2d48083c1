package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// choosy refuses at its start what the words in a file name, and settings that say so. It
// says the settings with which it runs.
type choosy struct{ part }

var holds []byte

func (c *choosy) Start(ctx context.Context, host pluginsdk.Host) error {
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	holds = answer.Settings
	return refuse(answer.Settings, "start")
}

func refuse(settings []byte, at string) error {
	named, _ := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(os.Args[0])), at))
	for word := range strings.FieldsSeq(string(named) + " never-" + at) {
		if strings.Contains(string(settings), word) {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: %s is not for me", word)
		}
	}
	return nil
}

func (c *choosy) OnCommand(context.Context, *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: c.version + " " + string(holds)}, nil
}

// picky is a choosy plugin that takes settings while it runs.
type picky struct{ choosy }

func (p *picky) OnSettingsChange(_ context.Context, r *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	if err := refuse(r.Settings, "change"); err != nil {
		return nil, err
	}
	holds = r.Settings
	return nil, nil
}

// choice is an installation with one plugin that refuses settings.
type choice struct {
	*testing.T
	h    *Host
	r    *registry
	name string
}

func newChoice(t *testing.T, name string) *choice {
	t.Helper()
	c := &choice{T: t, name: name}
	c.h, c.r = startOn(t, Config{Settings: acceptedOf}, &bus{}, name)
	_ = c.r.edit(name, func(p *ledger.Plugin) { p.Settings = []byte(`{"is":"good"}`) })
	serving(t, c.h, c.r, name)
	c.holds(`1.0.0 {"is":"good"}`)
	c.r.until(t, "the accepted settings in the row", func() bool { return c.r.row(name).Accepted != nil })
	return c
}

// acceptedOf is package settings, as far as plain settings without a schema go.
func acceptedOf(_ context.Context, row ledger.Plugin) (Settings, error) {
	if !row.RefusesSettings() {
		return Settings{Values: row.Settings, Stored: &ledger.AcceptedSettings{Mark: row.SettingsMark(), Plain: row.Settings}}, nil
	}
	for _, one := range row.AcceptedSettings() {
		return Settings{Values: one.Plain, Problem: "refused"}, nil
	}
	return Settings{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "none are kept")
}

// set changes the settings as an operator does, and waits until that is carried out.
func (c *choice) set(settings string) {
	c.Helper()
	c.change(settings)
	c.settled()
}

func (c *choice) change(settings string) {
	_ = c.r.edit(c.name, func(p *ledger.Plugin) {
		p.Settings, p.LastError = []byte(settings), ""
		p.SettingsRevision++
		p.Generation++
	})
}

func (c *choice) settled() {
	c.Helper()
	c.r.until(c.T, "the word that it is carried out", func() bool {
		row := c.r.row(c.name)
		return row.Settled == row.Generation && row.State == pluginsdk.PluginServing
	})
}

// restart starts the daemon anew over the same registry.
func (c *choice) restart() {
	c.Helper()
	if err := c.h.Stop(context.Background()); err != nil {
		c.Fatal(err)
	}
	c.h.stop = nil                                // Stop does no more
	_ = c.r.edit(c.name, func(p *ledger.Plugin) { // what a database keeps of a row
		raw, err := json.Marshal(p.Refused)
		p.Refused = ledger.RefusedSettings{}
		if err := errors.Join(err, json.Unmarshal(raw, &p.Refused)); err != nil {
			c.Error(err)
		}
	})
	c.h = New(c.h.config, c.r, &bus{}, nobody{})
	c.h.api = nobody{c.h}
	if err := c.h.Start(c.Context()); err != nil {
		c.Fatal(err)
	}
	h := c.h
	c.Cleanup(func() { _ = h.Stop(context.Background()) })
	if err := c.h.Ready(c.Context()); err != nil {
		c.Fatal(err)
	}
}

// restarted restarts the process of the plugin.
func (c *choice) restarted() {
	c.Helper()
	before := c.r.row(c.name).Restarts
	c.instance().router.current().blame("the test ends it")
	c.r.until(c.T, "the restart", func() bool {
		row := c.r.row(c.name)
		return row.Restarts > before && row.State == pluginsdk.PluginServing
	})
}

func (c *choice) instance() *Instance {
	instance, _ := c.h.current.Load(c.name)
	return instance.(*Instance)
}

// holds checks with which settings the plugin serves.
func (c *choice) holds(want string) {
	c.Helper()
	if got, err := say(c.T, c.instance(), "which"); err != nil || got != want {
		c.Errorf("it serves with %s, %v; want %s", got, err, want)
	}
	if got, ok := c.h.SettingsOf(c.name); !ok || !strings.HasSuffix(want, string(got)) {
		c.Errorf("in force are said to be %s", got)
	}
}

// refuses checks what the row says of the settings that the plugin has refused.
func (c *choice) refuses(words string) {
	c.Helper()
	if row := c.r.row(c.name); !row.RefusesSettings() || !strings.Contains(row.Refused.Words, words) || row.Refused.At.IsZero() || row.Rejected != "" {
		c.Errorf("the row says that refused are %+v, rejected %q", row.Refused, row.Rejected)
	}
}

// says puts the words into the file that makes the plugin refuse them.
func (c *choice) says(at, words string) {
	c.Helper()
	file := filepath.Join(filepath.Dir(c.h.config.Dir), at)
	if err := os.WriteFile(file, []byte(words), 0o600); err != nil {
		c.Fatal(err)
	}
}

// What a plugin refuses must not be what takes it down at the next start.
func TestRefusedSettingsAreNotWhatAPluginIsStartedWith(t *testing.T) {
	for _, name := range []string{"picky", "choosy"} {
		t.Run(name, func(t *testing.T) {
			c := newChoice(t, name)
			restarts := c.r.row(name).Restarts
			for _, bad := range []string{`{"is":"never-change never-start"}`, `{"is":"never-start never-change too"}`} {
				c.set(bad)
				c.holds(`1.0.0 {"is":"good"}`)
				c.refuses("is not for me")
				if row := c.r.row(name); !strings.HasPrefix(row.LastError, ledger.SettingsRefused) || row.Restarts != restarts {
					t.Errorf("last error %q, restarts %d", row.LastError, row.Restarts)
				}
			}
			c.restarted()
			c.holds(`1.0.0 {"is":"good"}`)
			c.restart()
			c.settled()
			c.holds(`1.0.0 {"is":"good"}`)
			c.refuses("is not for me")
			if got := c.h.Live(c.r.row(name)).Problem; got != "refused" {
				t.Errorf("problem %q", got)
			}
			writes := c.r.accepts.Load()
			c.set(`{"is":"better"}`)
			c.holds(`1.0.0 {"is":"better"}`)
			if row := c.r.row(name); row.RefusesSettings() || row.LastError != "" || c.h.Live(row).Problem != "" {
				t.Errorf("refused %+v, last error %q", row.Refused, row.LastError)
			}
			c.r.until(t, "the accepted settings in the row", func() bool { return strings.Contains(string(c.r.row(name).Accepted), "better") })
			c.restart()
			c.restarted()
			c.holds(`1.0.0 {"is":"better"}`)
			if got := c.r.accepts.Load() - writes; got > 2 {
				t.Errorf("what was accepted was written %d times; want once, and once more when it has started with it", got)
			}
		})
	}
}

func TestSettingsThatChangeWhileThePluginIsDownAndAreRefused(t *testing.T) {
	c := newChoice(t, "choosy")
	_ = c.r.edit(c.name, enable(false))
	c.r.until(t, "its end", c.r.is(c.name, pluginsdk.PluginDisabled))
	c.change(`{"is":"never-start"}`)
	c.change(`{"is":"never-start still"}`)
	_ = c.r.edit(c.name, enable(true))
	c.settled()
	c.holds(`1.0.0 {"is":"good"}`)
	c.refuses("start: settings: never-start is not for me")
}

// Another version is given the accepted ones too, also where settings and version change at
// once.
func TestAnotherVersionBeginsWithTheAcceptedSettings(t *testing.T) {
	for _, name := range []string{"picky", "choosy"} {
		c := newChoice(t, name)
		path := binary(t, filepath.Join(filepath.Dir(c.h.config.Dir), "version-2.0.0"), name)
		_ = c.r.edit(name, func(p *ledger.Plugin) {
			p.Path, p.Settings, p.SettingsRevision, p.Generation = path, []byte(`{"is":"never-start never-change"}`), p.SettingsRevision+1, p.Generation+1
		})
		c.settled()
		c.refuses("is not for me")
		waitFor(t, func() bool {
			got, err := say(t, c.instance(), "which")
			return err == nil && got == `2.0.0 {"is":"good"}`
		})
		c.settled()
	}
}

// A plugin that takes settings while it runs, and refuses them when it is started.
func TestAPluginThatTakesSettingsAndRefusesThemAtItsStart(t *testing.T) {
	c := newChoice(t, "picky")
	for _, bad := range []string{`{"is":"never-start"}`, `{"is":"never-start again"}`} {
		c.set(bad)
		c.holds("1.0.0 " + bad)
		c.restarted()
		c.holds(`1.0.0 {"is":"good"}`)
		c.refuses("never-start")
		c.restart()
		c.holds(`1.0.0 {"is":"good"}`)
	}
	c.set(`{"is":"never-change"}`) // and now those hold that it has started with, not those that it only took
	c.restarted()
	c.holds(`1.0.0 {"is":"good"}`)
}

// A plugin that refuses today what it has started with: there is nothing else that holds.
func TestAPluginThatRefusesWhatItHadAccepted(t *testing.T) {
	c := newChoice(t, "picky")
	c.says("start", "good")
	c.instance().router.current().blame("the test ends it")
	c.r.until(t, "the failure", func() bool { return strings.Contains(c.r.row(c.name).LastError, "good is not for me") })
	if row := c.r.row(c.name); row.RefusesSettings() {
		t.Errorf("refused %+v", row.Refused)
	}
	c.says("start", "")
	c.r.until(t, "the start", c.r.is(c.name, pluginsdk.PluginServing))
	c.holds(`1.0.0 {"is":"good"}`)
}

// A full disk must not be why nothing is known of what was accepted.
func TestAcceptedSettingsAreStoredOnceTheyCanBe(t *testing.T) {
	c := newChoice(t, "picky")
	c.r.noAccepting.Store(3)
	c.set(`{"is":"better"}`)
	c.r.until(t, "the accepted settings in the row", func() bool { return strings.Contains(string(c.r.row(c.name).Accepted), "better") })
	c.set(`{"is":"never-change never-start"}`)
	c.restart()
	c.holds(`1.0.0 {"is":"better"}`)
}

// What happens before the row is read again counts: the settings change all the time.
func TestSettingsThatChangeAllTheTime(t *testing.T) {
	for _, name := range []string{"picky", "choosy"} {
		c := newChoice(t, name)
		for n := range 12 {
			c.change([]string{`{"is":"never-change never-start"}`, `{"is":"fine"}`, `{"is":"never-start"}`}[n%3])
		}
		c.change(`{"is":"never-change never-start at last"}`)
		c.settled()
		c.refuses("is not for me")
		c.restarted()
		got, err := say(t, c.instance(), "which")
		if err != nil || strings.Contains(got, "never-start") {
			t.Errorf("it serves with %s, %v", got, err)
		}
	}
}
