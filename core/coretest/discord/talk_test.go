package discord_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/discord"
	"github.com/seed-706843ae/harness/core/fakeapi"
)

// model answers as a model would: by what is said to it.
func model(r fakeapi.Request) fakeapi.Reply {
	use := func(name, input string) fakeapi.Reply {
		return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: name, Input: json.RawMessage(input)}}}
	}
	switch {
	case !fakeapi.Main(r):
		return fakeapi.Reply{Text: "ok"}
	case len(r.ToolResults()) > 0:
		return fakeapi.Reply{Text: "The directory is there."}
	case r.Says("make a directory"):
		return use("Bash", `{"command": "mkdir made", "description": "Make it"}`)
	case r.Says("count for ever"):
		return fakeapi.Reply{Text: "One, two, three, and so on without end.", Stall: "endless"}
	case r.Says("a story"):
		return fakeapi.Reply{Text: "Once upon a time there was a bot, and it was asked.", Stall: "story"}
	case r.Says("a report on rivers"):
		return fakeapi.Reply{Text: "Rivers run to the sea.\n\nDONE: wrote the report on rivers"}
	}
	return fakeapi.Reply{Text: "I have nothing to say to that."}
}

// Somebody mentions the bot, and reads the answer while it grows; gives a command; allows a
// call by a button; stops an answer by a button; and hands on work that reports back.
func TestPeopleTalkOnDiscord(t *testing.T) {
	d := settle(t, model)
	api, daemon, channel := d.api, d.daemon, d.channel
	eventually(t, "the bot on Discord, with its commands", func() bool {
		var commands []json.RawMessage
		d.ask("commands", discord.Object{"id": d.guild}, &commands)
		return len(commands) > 5
	}, func() string { return daemon.MustRun(t, "discord", "status") })
	mention := "<@" + d.Bot + "> "

	asked := d.say(channel, mention+"tell me a story")
	live := d.wait("the beginning of the answer", channel, asked, func(m discord.Message) bool { return strings.Contains(m.Text, "Once") && len(m.Buttons) == 1 })
	api.Release("story")
	answer := d.wait("the whole answer", channel, asked, func(m discord.Message) bool { return strings.HasSuffix(m.Text, "and it was asked.") })
	if answer.ID != live.ID || len(answer.Buttons) > 0 || answer.ReplyTo != asked {
		t.Errorf("the answer is not what grew: %+v, then %+v", live, answer)
	}

	command := d.made("slash", discord.Object{"channel": channel, "name": "status"})
	eventually(t, "the answer to a command", func() bool {
		var of struct{ Original *discord.Message }
		d.ask("interaction", discord.Object{"id": command}, &of)
		return of.Original != nil && !of.Original.Loading && of.Original.Text != ""
	}, func() string { return d.transcript(channel) })

	asked = d.say(channel, mention+"make a directory")
	card := d.wait("the agent's question", channel, asked, func(m discord.Message) bool { return strings.Contains(m.Text, "mkdir made") && len(m.Buttons) > 1 })
	d.press(card, "nce")
	d.wait("the answer after it was allowed", channel, asked, func(m discord.Message) bool { return m.Text == "The directory is there." })
	if made, err := filepath.Glob(filepath.Join(daemon.Dir, "threads", "*", "own", "made")); err != nil || len(made) != 1 {
		t.Errorf("it was allowed and is not there: %v", err)
	}
	d.wait("the question without its buttons", channel, asked, func(m discord.Message) bool { return m.ID == card.ID && len(m.Buttons) == 0 })

	asked = d.say(channel, mention+"count for ever")
	live = d.wait("the beginning of what has no end", channel, asked, func(m discord.Message) bool { return strings.Contains(m.Text, "One") && len(m.Buttons) == 1 })
	d.press(live, "Stop")
	d.wait("what says that it was stopped", channel, live.ID, func(m discord.Message) bool { return strings.Contains(strings.ToLower(m.Text), "stop") })
	d.wait("the answer as far as it came", channel, asked, func(m discord.Message) bool { return m.ID == live.ID && len(m.Buttons) == 0 })
	api.Release("endless")

	d.made("slash", discord.Object{"channel": channel, "name": "delegate", "options": discord.Object{"task": "Write a report on rivers"}})
	d.wait("the report", channel, asked, func(m discord.Message) bool {
		return strings.Contains(m.Text, "Rivers run to the sea") || strings.Contains(m.Text, "wrote the report on rivers")
	})

	for _, m := range d.messages(channel) {
		if len(m.Pinged) > 0 && m.Bot {
			t.Errorf("somebody was pinged by %+v", m)
		}
	}
	var breaches []discord.Object
	d.ask("breaches", nil, &breaches)
	for _, breach := range breaches {
		t.Errorf("against Discord's documentation: %v", breach)
	}
	t.Logf("#general%s", d.transcript(channel))
}
