package discord

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// patience is how long something may take that a test waits for.
const patience = time.Minute

// world is a Discord with a guild and a channel, and a plugin that is connected to it.
type world struct {
	*testing.T
	discord        *fake.Server
	host           *plugintest.Host
	process        *Plugin
	plugin         *plugintest.Plugin // the same, as the daemon sees it
	who            fake.Who
	guild, channel string
	log            journal
	pace           time.Duration // of the processes; 0: their own
}

// newWorld connects the plugin, with settings beside the token and the address.
func newWorld(t *testing.T, settings map[string]any) *world {
	t.Helper()
	w := emptyWorld(t, fake.Config{}, settings)
	w.start()
	return w
}

// emptyWorld is a Discord of a kind, to which the plugin is not connected yet.
func emptyWorld(t *testing.T, config fake.Config, settings map[string]any) *world {
	t.Helper()
	w := &world{T: t, discord: fake.New(config), host: plugintest.NewHost()}
	w.host.Log = slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	base, err := w.discord.Listen("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.discord.Close)
	w.who = w.discord.Who()
	w.guild = w.discord.AddGuild(fake.NewGuild{Name: "Home"})
	w.channel = w.discord.AddChannel(fake.NewChannel{Guild: w.guild, Name: "general"})
	w.host.AddCommand(pluginsdk.Command{CommandSpec: pluginsdk.CommandSpec{Name: "status", Description: "how it stands"}})
	w.set(settings, base)
	return w
}

func (w *world) set(settings map[string]any, base string) {
	all := map[string]any{"token": "token", "apiURL": base + "/api/v10"}
	maps.Copy(all, settings)
	raw, err := json.Marshal(all)
	if err != nil {
		w.Fatal(err)
	}
	w.host.SetSettings(raw)
}

// start serves another process of the plugin, and returns when it is connected.
func (w *world) start() {
	w.Helper()
	w.process = &Plugin{pace: w.pace}
	w.serve(w.host.Serve(w.T, w.process))
	w.until("the bot is connected", func() bool { return w.discord.State().Ready == 1 })
}

// serve activates a process of the plugin, and deactivates it at the test's end.
func (w *world) serve(plugin *plugintest.Plugin) {
	w.Helper()
	w.plugin = plugin
	if err := w.plugin.Activate(w.Context()); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := plugin.Deactivate(ctx); err != nil {
			w.Errorf("deactivate: %v", err)
		}
	})
}

// journal is what the plugin has logged.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// until waits for a condition.
func (w *world) until(what string, condition func() bool) {
	w.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !condition() {
		select {
		case <-look.C:
		case <-deadline.C:
			w.Fatalf("waited in vain: %s\nrequests: %s\nbreaches: %+v\nlog:\n%s", what, w.requests(), w.discord.Breaches(), w.log.String())
		}
	}
}

func (w *world) requests() string {
	var b strings.Builder
	for _, request := range w.discord.Requests() {
		b.WriteString("\n" + request.Method + " " + request.Path)
	}
	return b.String()
}

// submission waits for the nth submission, from 1.
func (w *world) submission(n int) pluginsdk.Submission {
	w.Helper()
	w.until("a submission", func() bool { return len(w.host.Submissions()) >= n })
	return w.host.Submissions()[n-1]
}

// run waits for the nth run, from 1, and for what the plugin notes of it.
func (w *world) run(n int) pluginsdk.Run {
	w.Helper()
	w.submission(n)
	list, err := w.host.SDK().Runs.List(w.Context(), &pluginsdk.ListRunsRequest{})
	if err != nil || len(list.Runs) < n {
		w.Fatalf("runs: %+v, %v", list, err)
	}
	return list.Runs[n-1]
}

// noBreach fails the test if the plugin has done what Discord's documentation forbids, or
// has pinged anybody.
func (w *world) noBreach() {
	w.Helper()
	for _, breach := range w.discord.Breaches() {
		w.Errorf("breach: %+v", breach)
	}
	if state := w.discord.State(); state.Most > 1 {
		w.Errorf("%d connections at once", state.Most)
	}
}
