package discord_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/discord"
	"github.com/seed-706843ae/harness/core/coretest/installation"
	"github.com/seed-706843ae/harness/core/coretest/programs"
	"github.com/seed-706843ae/harness/core/fakeapi"
)

// bin has harness and the plugins, service the fake Discord; built once.
var bin, service string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv("HARNESS_TEST_CLAUDE") == "" {
		return m.Run() // everything is left out
	}
	dir, err := os.MkdirTemp("", "harness-discord")
	if err == nil {
		defer os.RemoveAll(dir)
		bin = filepath.Join(dir, "bin")
		err = programs.Installation(bin, "activity", "context", "cron", "delegation", "discord", "time", "web")
	}
	if err == nil {
		service, err = discord.Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// people are those on a fake Discord.
type people struct {
	*discord.Server
	t *testing.T
}

func gather(t *testing.T) people {
	t.Helper()
	programs.Used()
	server, err := discord.Start(t.Context(), service)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("the fake Discord: %v", err)
		}
	})
	return people{server, t}
}

// home is people on a fake Discord with a guild and a channel, and a daemon whose bot is there.
type home struct {
	people
	api            *fakeapi.Server
	daemon         *installation.Installation
	guild, channel string // ids
}

// settle starts a daemon with a model, and connects it to a fake Discord.
func settle(t *testing.T, model func(fakeapi.Request) fakeapi.Reply) home {
	t.Helper()
	h := home{api: fakeapi.Start(t), people: gather(t)}
	h.api.Handle(model)
	h.daemon = installation.Start(t, bin, installation.Options{API: h.api})
	h.daemon.MustRun(t, "plugin", "settings", "set", "discord", "apiURL="+h.API())
	if err := h.Connect(t.Context(), h.daemon.URL, "token"); err != nil {
		t.Fatal(err)
	}
	h.guild = h.made("guild", discord.Object{"name": "Home"})
	h.channel = h.made("channel", discord.Object{"guild": h.guild, "name": "general"})
	return h
}

func (p people) ask(operation string, argument, into any) {
	p.t.Helper()
	if err := p.Ask(p.t.Context(), operation, argument, into); err != nil {
		p.t.Fatal(err)
	}
}

func (p people) made(operation string, argument any) string {
	p.t.Helper()
	id, err := p.Make(p.t.Context(), operation, argument)
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

func (p people) say(channel, text string) string {
	p.t.Helper()
	return p.made("say", discord.Object{"channel": channel, "text": text})
}

func (p people) messages(channel string) []discord.Message {
	p.t.Helper()
	all, err := p.Messages(p.t.Context(), channel)
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// wait waits for a message of the bot's in a channel, behind one, of which something holds.
func (p people) wait(what, channel, behind string, holds func(discord.Message) bool) (found discord.Message) {
	p.t.Helper()
	eventually(p.t, what, func() bool {
		reached := false
		for _, m := range p.messages(channel) {
			if reached && m.Bot && holds(m) {
				found = m
				return true
			}
			reached = reached || m.ID == behind
		}
		return false
	}, func() string { return p.transcript(channel) })
	return found
}

// press presses the button of a message whose label has these words.
func (p people) press(m discord.Message, words string) {
	p.t.Helper()
	for _, button := range m.Buttons {
		if strings.Contains(button.Label, words) {
			p.made("press", discord.Object{"id": m.ID, "name": button.CustomID})
			return
		}
	}
	p.t.Fatalf("there is no button %q below %+v", words, m)
}

// transcript is a channel as people read it.
func (p people) transcript(channel string) string {
	var b strings.Builder
	for _, m := range p.messages(channel) {
		who := "person"
		if m.Bot {
			who = "bot"
		}
		fmt.Fprintf(&b, "\n  %-6s %s", who, strings.ReplaceAll(m.Text, "\n", "\n         "))
		if n := len(m.Past); n > 0 {
			fmt.Fprintf(&b, "\n         (edited %d times, first: %q)", n, m.Past[0])
		}
		for _, button := range m.Buttons {
			fmt.Fprintf(&b, "\n         [%s]", button.Label)
		}
		for emoji := range m.Reactions {
			fmt.Fprintf(&b, "\n         %s", emoji)
		}
	}
	return b.String()
}

// eventually waits until something holds; state says how it stands when that is in vain.
func eventually(t *testing.T, what string, holds func() bool, state func() string) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(time.Minute); !holds(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited for %s%s", what, state())
		}
	}
}
