package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// change gives the plugin other settings.
func (w *world) change(settings map[string]any) {
	w.Helper()
	all := map[string]any{"token": "token", "apiURL": w.who.Base + "/api/v10"}
	maps.Copy(all, settings)
	raw, err := json.Marshal(all)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.plugin.OnSettingsChange(w.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: raw}); err != nil {
		w.Fatal(err)
	}
}

// refused waits until nothing more is tried.
func (w *world) refused() {
	w.Helper()
	w.until("the bot has given up", func() bool {
		s := w.process.connected()
		return s != nil && s.refused() && w.discord.State().Connections == 0
	})
}

// A token that Discord refuses is not tried again and again: that is how addresses are
// banned.
func TestATokenThatIsRefused(t *testing.T) {
	t.Run("from the beginning", func(t *testing.T) {
		w := emptyWorld(t, quick(), nil)
		w.discord.SetToken("another")
		w.process = new(Plugin)
		w.serve(w.host.Serve(t, w.process))
		w.refused()
		if n := w.discord.State().Requests; n != 1 {
			t.Errorf("%d requests:%s", n, w.requests())
		}
		w.change(map[string]any{"token": "another"})
		w.until("the bot is connected", func() bool { return w.discord.State().Ready == 1 })
	})
	t.Run("later", func(t *testing.T) {
		w := newWorld(t, nil)
		w.said(w.discord.Say(fake.Said{Channel: w.discord.DM(w.who.Owner), Text: "hello"}))
		w.discord.SetToken("another")
		w.discord.CloseWith(4004)
		w.refused()
		before := w.discord.State()
		if before.Identifies != 1 {
			t.Errorf("%d sessions were begun", before.Identifies)
		}
		w.change(map[string]any{"token": "another"})
		w.until("the bot is connected", func() bool { return w.discord.State().Ready == 1 })
		w.said(w.discord.Say(fake.Said{Channel: w.discord.DM(w.who.Owner), Text: "hello again"}))
		w.noBreach()
	})
	t.Run("and set back", func(t *testing.T) {
		w := emptyWorld(t, quick(), nil)
		w.discord.SetToken("another")
		w.process = new(Plugin)
		w.serve(w.host.Serve(t, w.process))
		w.refused()
		w.discord.SetToken("token")
		w.change(map[string]any{"live": false})
		w.until("the bot is connected", func() bool { return w.discord.State().Ready == 1 })
	})
}

// Without the privileged intent the bot is there for those who mention it.
func TestWithoutTheIntentToReadMessages(t *testing.T) {
	for name, lies := range map[string]bool{"the flags say so": false, "the flags lie": true} {
		t.Run(name, func(t *testing.T) {
			config := quick()
			if !lies {
				config.Privileged = -1
			}
			w := emptyWorld(t, config, map[string]any{"starts": "everything"})
			w.pace = 20 * time.Millisecond
			w.start()
			if lies {
				w.discord.SetPrivileged(-1)
				w.discord.InvalidSession(false)
				w.until("it is known", func() bool { return !w.process.connected().reads() })
				w.until("the bot is connected", func() bool { return w.discord.State().Ready == 1 })
			}
			w.discord.Say(fake.Said{Channel: w.channel, Text: "it cannot read this"})
			w.exactly([]string{w.discord.Say(fake.Said{Channel: w.channel, Text: "<@" + w.who.Bot + "> but this"})})
			w.noBreach()
		})
	}
}

// Whatever an operator does in haste, there is one connection at most, and one in the end.
func TestOneConnectionAtMost(t *testing.T) {
	w := emptyWorld(t, quick(), nil)
	w.pace = 5 * time.Millisecond
	w.start()
	for i := range 20 {
		switch i % 4 {
		case 0:
			w.change(map[string]any{"token": "wrong"})
		case 1:
			w.change(nil)
		case 2:
			w.stop()
		case 3:
			if err := w.plugin.Activate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.until("the bot is connected", func() bool { return w.discord.State().Ready == 1 })
	w.said(w.discord.Say(fake.Said{Channel: w.discord.DM(w.who.Owner), Text: "hello"}))
	w.noBreach()
}

// That Discord is away when the daemon starts is nothing that an operator has to deal with.
func TestDiscordIsDownAtStart(t *testing.T) {
	w := emptyWorld(t, quick(), nil)
	w.pace = 5 * time.Millisecond
	w.discord.Break(fake.Fault{Kind: fake.FaultStatus, Status: 503})
	w.process = &Plugin{pace: w.pace}
	w.serve(w.host.Serve(t, w.process))
	w.until("it was asked again", func() bool { return w.discord.Count("GET /applications/@me") > 3 })
	w.discord.Mend()
	w.until("the bot is connected", func() bool { return w.discord.State().Ready == 1 })
}

// The daemon waits for no plugin: whatever it is at, it ends soon.
func TestDeactivateEndsSoon(t *testing.T) {
	hang := func(route string) fake.Fault {
		return fake.Fault{Route: route, Kind: fake.FaultSlow, Delay: time.Minute}
	}
	for name, test := range map[string]struct {
		fault fake.Fault
		host  string // a method that fails
		until func(w *world) bool
	}{
		"introducing itself":       {fault: hang("GET /applications/@me")},
		"asking where to connect":  {fault: hang("GET /gateway/bot")},
		"reading a channel":        {fault: hang("GET /channels/*/messages")},
		"opening direct messages":  {fault: hang("POST /users/@me/channels")},
		"telling its commands":     {fault: hang("PUT /applications/**")},
		"waiting, after faults":    {fault: fake.Fault{Route: "GET /gateway/bot", Kind: fake.FaultStatus, Status: 500}},
		"waiting for a limit":      {fault: fake.Fault{Route: "GET /channels/*/messages", Kind: fake.FaultLimit, RetryAfter: time.Minute}},
		"waiting for a file":       {fault: hang("GET /attachments/**"), until: func(w *world) bool { return w.called("Threads.Create") > 0 }},
		"waiting for the daemon":   {host: "Messages.Submit"},
		"waiting for its state":    {host: "State.Put"},
		"waiting for all of these": {host: "Threads.Create"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := quick()
			w := emptyWorld(t, config, nil)
			dm := w.discord.DM(w.who.Owner)
			w.start()
			w.said(w.discord.Say(fake.Said{Channel: dm, Text: "before"}))
			w.stop()
			w.discord.Say(fake.Said{Channel: dm, Text: "missed", Files: []fake.SaidFile{{Name: "a.txt", Data: []byte("a")}}})
			if test.fault.Kind != "" {
				w.discord.Break(test.fault)
			}
			calls, requests := w.called(test.host), w.discord.Count(test.fault.Route)
			if test.host != "" {
				w.host.Fail(test.host, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away"))
			}
			threads := w.called("Threads.Create")
			w.process = new(Plugin)
			w.serve(w.host.Serve(t, w.process))
			w.until("it is at it", func() bool {
				switch {
				case test.until != nil:
					return w.called("Threads.Create") > threads
				case test.host != "":
					return w.called(test.host) > calls
				}
				return w.discord.Count(test.fault.Route) > requests
			})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if err := w.plugin.Deactivate(ctx); err != nil {
				t.Errorf("it goes on: %v", err)
			}
		})
	}
}

// A large server is caught up with as fast as Discord allows, and no faster.
func TestAManyChannels(t *testing.T) {
	config := quick()
	config.Global = 200
	w := emptyWorld(t, config, map[string]any{"starts": "everything", "catchUpMessages": 1000})
	w.pace = 5 * time.Millisecond
	w.start()
	w.stop()
	var meant []string
	for i := range 60 {
		channel := w.discord.AddChannel(fake.NewChannel{Guild: w.guild, Name: fmt.Sprint("channel ", i)})
		meant = append(meant, w.say(channel, "missed"))
		for range 4 {
			thread := w.discord.AddThread(fake.NewThread{Channel: channel, Name: "thread"})
			meant = append(meant, w.say(thread, "missed"))
		}
	}
	w.start()
	w.exactly(meant)
	if n := w.discord.State().Invalid; n > 2*readers*len(meant)/config.Global+2*readers {
		t.Errorf("%d requests were refused", n)
	}
}

// At rest the bot keeps a connection, and does nothing else.
func TestAtRest(t *testing.T) {
	before := len(working()) // what other tests have left, and may end
	w := newWorld(t, nil)
	dm := w.discord.DM(w.who.Owner)
	w.said(w.discord.Say(fake.Said{Channel: dm, Text: "hello"}))
	w.host.FinishRun(w.run(1).ID, pluginsdk.InvokeResult{Text: "hello"})
	const resting = 3 // reading, heartbeats, the note of being alive
	w.until("nothing is at work but the connection", func() bool { return len(working()) <= before+resting })
}

// working are the goroutines of the plugin.
func working() (all []string) {
	own := regexp.MustCompile(`internal/(discord|gateway|rest)\.\(`)
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for goroutine := range strings.SplitSeq(string(stacks), "\n\n") {
		if own.MatchString(goroutine) && !strings.Contains(goroutine, "testing.tRunner") {
			all = append(all, goroutine)
		}
	}
	return all
}

// Where Discord does not say who the bot is, the gateway does, and whom the settings name is
// the owner.
func TestNobodyIsTheOwnerOfWhatIsNotTold(t *testing.T) {
	w := emptyWorld(t, fake.Config{}, nil)
	w.set(map[string]any{"owner": w.who.Owner}, w.who.Base)
	for _, route := range []string{"GET /applications/@me", "GET /users/@me"} {
		w.discord.Break(fake.Fault{Route: route, Kind: fake.FaultStatus, Status: 404})
	}
	w.start()
	asked := w.discord.Say(fake.Said{Channel: w.channel, Text: "<@" + w.who.Bot + "> hello"})
	if said := w.said(asked); said.Content != "hello" {
		t.Errorf("got %+v", said)
	}
	w.offered(w.guild, "status")
	w.noBreach()
}
