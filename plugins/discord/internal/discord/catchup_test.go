package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// home is a quick world in which everything in a channel is for the bot.
func home(t *testing.T, settings map[string]any) (w *world, all string) {
	t.Helper()
	w = emptyWorld(t, quick(), nil)
	w.pace = 5 * time.Millisecond
	all = w.discord.AddChannel(fake.NewChannel{Guild: w.guild, Name: "all"})
	with := map[string]any{"guilds": []string{w.guild}, "places": []map[string]any{{"channel": all, "starts": "everything"}}}
	for name, value := range settings {
		with[name] = value
	}
	w.set(with, w.who.Base)
	return w, all
}

// exactly waits until the messages were submitted, and fails when others were, or those of
// a channel in another order than they were written.
func (w *world) exactly(meant []string) {
	w.Helper()
	sorted := slices.Clone(meant)
	slices.Sort(sorted)
	w.until(fmt.Sprintf("these are submitted: %v", meant), func() bool { return len(w.keys()) >= len(sorted) })
	keys := w.keys()
	slices.Sort(keys)
	if !slices.Equal(keys, sorted) {
		w.Fatalf("submitted %v, want %v", keys, sorted)
	}
	w.until("nothing is at work", func() bool {
		s := w.process.connected()
		s.lanes.mu.Lock()
		defer s.lanes.mu.Unlock()
		return len(s.lanes.queue) == 0
	})
	last := make(map[string]string)
	for _, said := range w.host.Submissions() {
		var of struct{ Discord origin }
		if err := json.Unmarshal(said.Metadata, &of); err != nil {
			w.Fatal(err)
		}
		if at := of.Discord.Channel; wire.Later(last[at], said.Key) {
			w.Errorf("%s was submitted after %s", said.Key, last[at])
		}
		last[of.Discord.Channel] = said.Key
	}
	for _, breach := range w.discord.Breaches() {
		if breach.Rule != fake.RuleResumeURL { // tried last when that address does not answer
			w.Errorf("breach: %+v", breach)
		}
	}
}

// say writes something, and returns its id.
func (w *world) say(channel, text string) string {
	return w.discord.Say(fake.Said{Channel: channel, Text: text})
}

// serveUntil activates a process that is killed at a call of the host.
func (w *world) serveUntil(at plugintest.Death) {
	w.Helper()
	w.process = &Plugin{pace: w.pace}
	w.plugin = w.host.ServeUntil(w.T, w.process, at)
	if err := w.plugin.Activate(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// What was written while the daemon was away is answered when it is back, wherever that was.
func TestWhatWasMissedIsCaughtUp(t *testing.T) {
	w, all := home(t, map[string]any{"catchUpMessages": 1000})
	ann := w.discord.AddUser(fake.NewUser{Name: "ann", Guilds: []string{w.guild}})
	var meant []string
	add := func(id string) { meant = append(meant, id) }
	add(w.say(all, "while it never was connected")) // before the first start nothing counts
	meant = nil
	w.start()
	w.until("the bot has noted that", func() bool { return len(w.host.State(name)) > 0 })
	thread := w.discord.AddThread(fake.NewThread{Channel: all, Name: "a thread"})
	add(w.say(all, "there"))
	w.exactly(meant)
	w.stop()

	w.discord.Advance(time.Hour)
	dm := w.discord.DM(w.who.Owner)
	for i := range 250 {
		add(w.say(all, fmt.Sprint("missed ", i)))
	}
	add(w.say(thread, "in the thread"))
	add(w.say(dm, "the first direct message"))
	add(w.say(dm, "the second"))
	fresh := w.discord.AddChannel(fake.NewChannel{Guild: w.guild, Name: "fresh"})
	add(w.say(fresh, "<@"+w.who.Bot+"> in a new channel"))
	w.say(fresh, "not meant")
	opened := w.discord.AddThread(fake.NewThread{Channel: all, Name: "a new thread", Text: "hello"})
	add(w.discord.Messages(opened)[0].ID)
	w.discord.Say(fake.Said{Channel: w.discord.DM(ann), By: ann, Text: "may not"})
	w.start()
	add(w.say(all, "while it catches up"))
	add(w.say(dm, "the third"))
	w.exactly(meant)

	// Nothing of it is done again.
	w.stop()
	w.start()
	add(w.say(all, "again"))
	w.exactly(meant)
	for _, message := range w.discord.Messages(all) {
		if message.Bot {
			t.Errorf("the bot has said %q", message.Text)
		}
	}
}

// A person who waits for an answer is told when none comes, once.
func TestWhatIsTooMuchOrTooOldIsToldOnce(t *testing.T) {
	for name, test := range map[string]struct {
		settings map[string]any
		says     string
		answered []string
	}{
		"too many":     {map[string]any{"catchUpMessages": 2, "catchUpHours": 720}, "have not answered 3 messages", []string{"3", "4"}},
		"too old":      {map[string]any{"catchUpHours": 24}, "have not answered 4 messages", []string{"4"}},
		"none at all":  {map[string]any{"catchUpMessages": 0}, "have not answered 5 messages", nil},
		"all of these": {map[string]any{"catchUpHours": 720}, "", []string{"0", "1", "2", "3", "4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, all := home(t, test.settings)
			w.start()
			meant := []string{w.say(all, "before")}
			w.exactly(meant)
			w.stop()
			for i := range 5 {
				if i == 4 {
					w.discord.Advance(25 * time.Hour)
				}
				id := w.say(all, fmt.Sprint(i))
				if slices.Contains(test.answered, fmt.Sprint(i)) {
					meant = append(meant, id)
				}
			}
			for range 2 {
				w.start()
				meant = append(meant, w.say(all, "now"))
				w.exactly(meant)
				w.stop()
			}
			var said []string
			for _, message := range w.discord.Messages(all) {
				if message.Bot {
					said = append(said, message.Text)
				}
			}
			if test.says == "" && len(said) > 0 || test.says != "" && (len(said) != 1 || !strings.Contains(said[0], test.says)) {
				t.Errorf("the bot has said %q", said)
			}
		})
	}
}

// A process can die at any moment: what people have written is submitted once all the same.
func TestADeathAtEveryCallOfTheHost(t *testing.T) {
	for call := int64(1); call < 60; call++ {
		for _, done := range []bool{false, true} {
			w, all := home(t, nil)
			w.start()
			dm := w.discord.DM(w.who.Owner)
			meant := []string{w.say(all, "before")}
			w.exactly(meant)
			w.stop()
			for range 3 {
				meant = append(meant, w.say(all, "missed"), w.say(dm, "missed"))
			}
			// The first call is of the settings; who dies there is not started.
			w.serveUntil(plugintest.Death{Call: call + 1, CarriedOut: done})
			w.until("the bot is connected", func() bool { return w.plugin.Died() || w.discord.State().Ready == 1 })
			meant = append(meant, w.say(all, "live"), w.say(dm, "live"))
			w.until("it is dead, or done", func() bool { return w.plugin.Died() || len(w.keys()) == len(meant) })
			last := !w.plugin.Died()
			w.stop()
			meant = append(meant, w.say(all, "missed again"), w.say(dm, "missed again"))
			w.start()
			w.exactly(meant)
			w.stop()
			w.discord.Close()
			if last {
				t.Logf("all was done before the call %d", call)
				return
			}
		}
	}
}

// A message whose writer was told that it was not taken in is not taken in when the channel is
// read again, though they may say it by then: they have been told, and may not mean it any more.
// One that they have edited since is another.
func TestWhatWasRefusedStaysRefused(t *testing.T) {
	w, all := home(t, nil)
	talker := w.discord.AddUser(fake.NewUser{Name: "tom", Guilds: []string{w.guild}})
	needs := map[string]pluginsdk.TokenScope{"/tasks approve K": pluginsdk.ScopeApprove, "/tasks approve L": pluginsdk.ScopeApprove}
	begin := func() {
		t.Helper()
		w.process = &Plugin{pace: w.pace}
		sdk := w.host.As(w.process.Manifest())
		sdk.Messages = coreHost{sdk.Messages, needs}
		w.serve(plugintest.Serve(t, w.process, sdk))
		w.until("the bot is connected", func() bool { return w.discord.State().Ready == 1 })
	}
	begin()
	say := func(text string) string { return w.discord.Say(fake.Said{Channel: all, By: talker, Text: text}) }
	refused := []string{say("/tasks approve K"), say("/tasks approve L")}
	w.until("both are refused", func() bool {
		told := 0
		for _, m := range w.discord.Messages(all) {
			if m.Bot && slices.Contains(refused, m.ReplyTo) {
				told++
			}
		}
		return told == len(refused)
	})
	w.stop()
	w.discord.Edit(refused[1], "please look at L")
	w.set(map[string]any{"guilds": []string{w.guild}, "places": []map[string]any{{"channel": all, "starts": "everything"}}, "approvers": []string{talker}}, w.who.Base)
	last := say("I may now?")
	begin()
	w.exactly([]string{refused[1], last})
}

// A flood fills the lane, and nothing of it is lost.
func TestAFlood(t *testing.T) {
	w, all := home(t, map[string]any{"catchUpMessages": 1, "reactions": false})
	w.start()
	w.host.Fail("Messages.Submit", pluginsdk.Errorf(pluginsdk.CodeExhausted, "too many runs wait"))
	var meant []string
	s := w.process.connected()
	for range laneLength + 50 {
		meant = append(meant, w.say(all, "before the daemon is there again"))
	}
	w.until("the lane is full", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.gaps[all]
	})
	w.host.Fail("Messages.Submit", nil)
	for range 150 {
		meant = append(meant, w.say(all, "and on it goes"))
	}
	w.exactly(meant)
}

// Whatever happens between Discord, the plugin and the daemon: each message that is meant
// for the bot is submitted once, and those of a channel in order.
func TestWhateverHappens(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			whatever(t, seed)
		})
	}
}

func whatever(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 2))
	discord := quick()
	discord.Seed, discord.HeartbeatInterval, discord.HeartbeatGrace = seed, 100*time.Millisecond, time.Minute
	w := emptyWorld(t, discord, nil)
	w.pace = 2 * time.Millisecond
	all := w.discord.AddChannel(fake.NewChannel{Guild: w.guild, Name: "all"})
	w.set(map[string]any{"guilds": []string{w.guild}, "catchUpMessages": 1000, "places": []map[string]any{{"channel": all, "starts": "everything"}}}, w.who.Base)
	ann := w.discord.AddUser(fake.NewUser{Name: "ann", Guilds: []string{w.guild}})
	robot := w.discord.AddUser(fake.NewUser{Name: "robot", Bot: true, Guilds: []string{w.guild}})
	places := []string{all, w.channel, w.discord.DM(w.who.Owner)}
	var meant []string
	me := "<@" + w.who.Bot + "> "
	begin := func() {
		w.serveUntil(plugintest.Death{Call: 2 + random.Int64N(150), CarriedOut: random.IntN(2) == 0})
	}
	w.start()
	w.until("the bot has noted that", func() bool { return len(w.host.State(name)) > 0 })
	for range 300 {
		if w.plugin.Died() {
			w.stop()
			begin()
		}
		at := places[random.IntN(len(places))]
		switch random.IntN(26) {
		default:
			said := fake.Said{Channel: at, Text: "words"}
			if at != places[2] && random.IntN(2) == 0 {
				said.By = ann
			}
			if at == w.channel && random.IntN(3) > 0 {
				said.Text = me + "words"
			}
			id := w.discord.Say(said)
			if at != w.channel || said.Text != "words" {
				meant = append(meant, id)
				if random.IntN(4) == 0 {
					w.discord.Edit(id, said.Text+", edited")
				}
			}
		case 0:
			w.discord.Say(fake.Said{Channel: at, By: robot, Text: me})
		case 1:
			w.discord.Cut()
		case 2:
			w.discord.AskReconnect()
		case 3:
			w.discord.InvalidSession(random.IntN(2) == 0)
		case 4:
			w.discord.LoseSessions()
			w.discord.Cut()
		case 5:
			w.discord.Hang()
		case 6:
			w.discord.Refuse(1+random.IntN(2), 0)
		case 7:
			kind := []string{fake.FaultCut, fake.FaultLost, fake.FaultStatus, fake.FaultLimit}[random.IntN(4)]
			w.discord.Break(fake.Fault{Kind: kind, Status: 500, RetryAfter: 5 * time.Millisecond, Scope: []string{"user", "shared", "global"}[random.IntN(3)], Times: 1 + random.IntN(4)})
		case 8:
			w.discord.BreakEvents(fake.EventFault{Kind: "duplicate", Times: 3})
		case 9:
			w.stop()
			begin()
		case 10:
			if len(places) < 12 {
				places = append(places, w.discord.AddThread(fake.NewThread{Channel: all, Name: "more"}))
			}
		case 11:
			w.host.Fail("Messages.Submit", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "not now"))
		case 12, 13:
			w.host.Fail("Messages.Submit", nil)
		case 14:
			if s := w.process.connected(); s.me() != "" { // it is time to note that it is alive
				s.noteAlive()
			}
		case 15:
			version := w.discord.State().Version
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(50))*time.Millisecond)
			_ = w.discord.Wait(ctx, func() bool { return w.discord.State().Version > version+5 }) // a moment
			cancel()
		}
	}
	w.discord.Mend()
	w.host.Fail("Messages.Submit", nil)
	w.stop()
	w.start()
	for _, at := range places {
		meant = append(meant, w.discord.Say(fake.Said{Channel: at, Text: me + "the last"}))
	}
	w.exactly(meant)
	w.stop()
}
