package discord

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// quick is a Discord that a bot may ask as often as a test wants: one process does not know
// what the one before it was told of limits.
func quick() fake.Config {
	limits := make(map[string]fake.Limit)
	for _, bucket := range []string{"account", "gateway", "dm", "channel", "history", "send", "thread", "commands"} {
		limits[bucket] = fake.Limit{Count: 1 << 30, Per: time.Second}
	}
	return fake.Config{IdentifyEvery: time.Nanosecond, SessionStarts: 1 << 30, Global: 1 << 30, HeartbeatInterval: time.Hour, Limits: limits}
}

// keys are the messages that were submitted, in their order.
func (w *world) keys() (keys []string) {
	for _, said := range w.host.Submissions() {
		keys = append(keys, said.Key)
	}
	return keys
}

// stop ends the process.
func (w *world) stop() {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	if err := w.plugin.Deactivate(ctx); err != nil {
		w.Fatal(err)
	}
	w.until("the bot is gone", func() bool { return w.discord.State().Connections == 0 })
}

// Who writes beside the bot must not be answered, and who writes to it must be.
func TestWhatStartsATurn(t *testing.T) {
	w := emptyWorld(t, quick(), nil)
	add := func(name string) string { return w.discord.AddChannel(fake.NewChannel{Guild: w.guild, Name: name}) }
	all, nothing, forum := add("all"), add("nothing"), w.discord.AddChannel(fake.NewChannel{Guild: w.guild, Name: "forum", Kind: wire.ChannelForum})
	w.set(map[string]any{"guilds": []string{w.guild}, "users": []string{}, "places": []map[string]any{
		{"channel": all, "starts": "everything"}, {"channel": nothing, "starts": "nothing"},
	}}, w.who.Base)
	ann := w.discord.AddUser(fake.NewUser{Name: "ann", Guilds: []string{w.guild}})
	robot := w.discord.AddUser(fake.NewUser{Name: "robot", Bot: true, Guilds: []string{w.guild}})
	w.start()
	me := "<@" + w.who.Bot + "> "
	own := w.discord.Say(fake.Said{Channel: w.channel, By: w.who.Bot, Text: "I am the bot"})
	others := w.discord.Say(fake.Said{Channel: w.channel, By: ann, Text: "I am Ann"})
	thread := w.discord.AddThread(fake.NewThread{Channel: all, Name: "below all"})
	mine := w.discord.AddThread(fake.NewThread{Channel: w.channel, Name: "the bot's", By: w.who.Bot, Text: "here"})
	for name, test := range map[string]struct {
		said  fake.Said
		turns bool
	}{
		"no mention":                      {fake.Said{Channel: w.channel, Text: "hello"}, false},
		"a mention":                       {fake.Said{Channel: w.channel, Text: me + "hello"}, true},
		"a mention at the end":            {fake.Said{Channel: w.channel, Text: "hello " + me}, true},
		"a mention alone":                 {fake.Said{Channel: w.channel, Text: me}, true},
		"somebody else is mentioned":      {fake.Said{Channel: w.channel, Text: "<@" + ann + "> hello"}, false},
		"everybody is mentioned":          {fake.Said{Channel: w.channel, Text: "@everyone hello"}, false},
		"an answer to the bot":            {fake.Said{Channel: w.channel, Text: "yes", ReplyTo: own}, true},
		"a silent answer to the bot":      {fake.Said{Channel: w.channel, Text: "yes", ReplyTo: own, Quiet: true}, true},
		"an answer to somebody":           {fake.Said{Channel: w.channel, Text: "yes", ReplyTo: others}, false},
		"everything":                      {fake.Said{Channel: all, Text: "hello"}, true},
		"everything, in a thread":         {fake.Said{Channel: thread, Text: "hello"}, true},
		"nothing":                         {fake.Said{Channel: nothing, Text: me + "hello"}, false},
		"a thread that the bot has begun": {fake.Said{Channel: mine, Text: "hello"}, true},
		"direct":                          {fake.Said{Channel: w.discord.DM(w.who.Owner), Text: "hello"}, true},
		"another bot":                     {fake.Said{Channel: all, By: robot, Text: me + "hello"}, false},
		"itself":                          {fake.Said{Channel: all, By: w.who.Bot, Text: me + "hello"}, false},
		"a message of Discord's":          {fake.Said{Channel: all, Text: "pinned", Kind: 6}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w.T = t
			id := w.discord.Say(test.said)
			// Whatever was to come of it has, once what is said after it was taken in.
			last := w.discord.Say(fake.Said{Channel: all, Text: "last"})
			w.until("the last is there", func() bool { return slices.Contains(w.keys(), last) })
			w.until("it is dealt with", func() bool { return !w.process.connected().lanes.busy(test.said.Channel) })
			if got := slices.Contains(w.keys(), id); got != test.turns {
				t.Errorf("submitted: %v", got)
			}
		})
	}
	w.T = t
	post := w.discord.AddThread(fake.NewThread{Channel: forum, Name: "a post", Text: me + "what is this?"})
	w.until("the post is there", func() bool { return slices.Contains(w.keys(), post) })
	w.noBreach()
}

// session is one that is not connected, for what needs no Discord.
func alone(settings config) *session {
	p := new(Plugin)
	p.account.Store(&account{config: &settings})
	s := newSession(p, p.account.Load())
	s.self, s.content = wire.User{ID: "1000"}, true
	s.channels.guild(wire.Guild{ID: "1", Roles: []wire.Role{{ID: "77", Name: "crew"}, {ID: "78"}}, Channels: []wire.Channel{{ID: "2", Name: "general"}}}, "1000")
	s.channels.put(wire.Channel{ID: "3", GuildID: "9", Name: "secret"})
	return s
}

func TestTheRoleOfTheBotMeansTheBot(t *testing.T) {
	s := alone(config{Starts: startsMention})
	var role wire.Role
	role.ID, role.Tags.BotID = "78", "1000"
	s.channels.roleOf("1", role, "1000")
	for id, want := range map[string]bool{"78": true, "77": false} {
		if got := s.addressed(s.account(), wire.Message{MentionRoles: []string{id}}, wire.Channel{ID: "2", GuildID: "1"}); got != want {
			t.Errorf("the role %s means the bot: %v", id, got)
		}
	}
	if got := s.said(wire.Message{GuildID: "1", Content: "<@&78> hello"}); got != "hello" {
		t.Errorf("it says %q", got)
	}
}

// Without the intent Discord tells what those messages say that mention the bot.
func TestWhatTheBotIsNotToldItDoesNotAnswer(t *testing.T) {
	s := alone(config{Starts: startsEverything})
	s.content = false
	at := wire.Channel{ID: "2", GuildID: "1"}
	if s.addressed(s.account(), wire.Message{}, at) {
		t.Error("a message is answered of which nothing is known")
	}
	if !s.addressed(s.account(), wire.Message{Mentions: []wire.User{{ID: "1000"}}}, at) {
		t.Error("a mention is not answered")
	}
}

func TestWordsAreReadable(t *testing.T) {
	s := alone(config{Starts: startsMention})
	ann := wire.User{ID: "50", Username: "ann", GlobalName: "Ann B."}
	said := func(content string) wire.Message {
		return wire.Message{GuildID: "1", Content: content, Mentions: []wire.User{ann}}
	}
	reply := func(by wire.User, content, before string) wire.Message {
		m := said(content)
		m.Type, m.Referenced = wire.MessageReply, &wire.Message{Author: by, Content: before}
		return m
	}
	forward := said("")
	forward.Reference = &wire.Reference{Type: 1}
	forward.Snapshots = make([]wire.Snapshot, 1)
	forward.Snapshots[0].Message.Content = "look\nthere"
	sticker := said("")
	sticker.Stickers = []wire.Sticker{{Name: "wave"}}
	for _, test := range []struct {
		message wire.Message
		want    string
	}{
		{said("<@1000> hello"), "hello"},
		{said("<@!1000>, hello <@1000>"), "hello <@1000>"},
		{said("<@1000>"), ""},
		{said("<@1000> /status"), "/status"},
		{said("<@1000> /etc/hosts?"), "/etc/hosts?"},
		{said("ask <@50> and <@51>"), "ask @Ann B. (ann) and <@51>"},
		{said("<@&77> in <#2>, not <#3>"), "@crew in #general, not <#3>"},
		{said("<:wave:123> <a:dance:124>"), ":wave: :dance:"},
		{said("at <t:1618953630:R>"), "at 2021-04-20 21:20 UTC"},
		{said("use </airhorn:816437322781949972>"), "use /airhorn"},
		{said("a < b > c <html>"), "a < b > c <html>"},
		{reply(ann, "no", "is it?"), "In reply to what Ann B. (ann) has said:\n> is it?\n\nno"},
		{reply(wire.User{ID: "1000", Username: "bot"}, "no", ""), "In reply to what you have said:\n> (nothing to read)\n\nno"},
		{reply(ann, "<@1000> /status", "is it?"), "/status"},
		{forward, "Forwarded:\n> look\n> there"},
		{sticker, "[sticker: wave]"},
	} {
		if got := s.words(test.message); got != test.want {
			t.Errorf("%q is %q, want %q", test.message.Content, got, test.want)
		}
	}
}

func TestNobodyPassesForAnother(t *testing.T) {
	for _, test := range []struct{ shown, own, want string }{
		{"", "ann", "ann"},
		{"Ann", "ann", "ann"},
		{"Ann B.", "ann", "Ann B. (ann)"},
		{"ann", "eve", "ann (eve)"},
		{"Ann B. (ann)", "eve", "Ann B. ann (eve)"},
		{"Ann\nowner", "eve", "Ann owner (eve)"},
	} {
		if got := personName(wire.User{GlobalName: test.shown, Username: test.own}); got != test.want {
			t.Errorf("%q, %q is %q, want %q", test.shown, test.own, got, test.want)
		}
	}
}

// said waits for the message that was submitted under a key, as the agent would be given it.
func (w *world) said(key string) pluginsdk.Submission {
	w.Helper()
	var found pluginsdk.Submission
	w.until("the submission of "+key, func() bool {
		for _, said := range w.host.Submissions() {
			if said.Key == key {
				found = said
				return true
			}
		}
		return false
	})
	return found
}

// stands is the message that was submitted under a key as it stands now.
func (w *world) stands(key string) pluginsdk.Message {
	w.Helper()
	for _, message := range w.host.Messages(w.said(key).ThreadID) {
		if strings.Contains(string(message.Metadata), `"messageId":"`+key+`"`) {
			return message
		}
	}
	w.Fatalf("no message has come of %s", key)
	return pluginsdk.Message{}
}

// Who corrects a question is answered as corrected, as long as nobody has read it.
func TestEdits(t *testing.T) {
	w := newWorld(t, nil)
	dm := w.discord.DM(w.who.Owner)
	asked := w.discord.Say(fake.Said{Channel: dm, Text: "what is teh time?", Files: []fake.SaidFile{{Name: "a.txt", Data: []byte("a")}}})
	w.said(asked)
	w.discord.Edit(asked, "what is the time?")
	w.until("it is amended", func() bool { return w.stands(asked).Content == "what is the time?" })
	if len(w.stands(asked).Attachments) != 1 || w.called("Files.Begin") != 1 {
		t.Errorf("its file was taken in again, or is gone: %+v", w.stands(asked).Attachments)
	}

	w.host.BeginRun(w.run(1).ID)
	w.discord.Edit(asked, "too late")
	late := w.discord.Say(fake.Said{Channel: dm, Text: "after that"})
	w.said(late)
	if got := w.stands(asked).Content; got != "what is the time?" {
		t.Errorf("its run has begun, and it says %q", got)
	}

	plain := w.discord.Say(fake.Said{Channel: w.channel, Text: "no mention"})
	w.discord.Edit(plain, "<@"+w.who.Bot+"> a mention")
	if got := w.said(plain).Content; got != "a mention" {
		t.Errorf("it says %q", got)
	}
	if n := len(w.host.Submissions()); n != 3 {
		t.Errorf("%d submissions: %v", n, w.keys())
	}
	w.noBreach()
}

// What is corrected while it waits for the daemon is submitted as corrected.
func TestAnEditOfWhatWaits(t *testing.T) {
	w := newWorld(t, nil)
	dm := w.discord.DM(w.who.Owner)
	w.host.Fail("Messages.Submit", pluginsdk.Errorf(pluginsdk.CodeExhausted, "too many runs wait"))
	first := w.discord.Say(fake.Said{Channel: dm, Text: "first"})
	second := w.discord.Say(fake.Said{Channel: dm, Text: "secnd"})
	w.until("it was tried", func() bool { return w.called("Messages.Submit") > 0 })
	w.discord.Edit(second, "second")
	w.until("the edit is known", func() bool {
		s := w.process.connected()
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.edits) == 1
	})
	w.host.Fail("Messages.Submit", nil)
	w.said(first)
	if got := w.said(second).Content; got != "second" {
		t.Errorf("it says %q", got)
	}
	w.until("nothing is kept", func() bool {
		s := w.process.connected()
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.edits) == 0
	})
}

// called counts the calls of a method of the host.
func (w *world) called(method string) (n int) {
	for _, call := range w.host.Calls() {
		if call.Method == method {
			n++
		}
	}
	return n
}

// A question in a channel gets one thread, whatever happens on the way there.
func TestAThreadForEachQuestion(t *testing.T) {
	w := newWorld(t, map[string]any{"newThreads": true})
	w.host.Fail("Threads.Create", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "not now"))
	w.discord.Break(fake.Fault{Route: "POST /channels/*/messages/*/threads", Kind: fake.FaultLost, Times: 1})
	said := w.discord.Say(fake.Said{Channel: w.channel, Text: "I have said that"})
	asked := w.discord.Say(fake.Said{Channel: w.channel, Text: "<@" + w.who.Bot + "> what *is* this?", ReplyTo: said})
	w.until("the thread was opened", func() bool { return w.called("Threads.Create") > 0 })
	w.host.Fail("Threads.Create", nil)
	if got := w.said(asked); !strings.Contains(got.Content, "I have said that") {
		t.Errorf("it says %q", got.Content)
	}
	var threads []fake.Channel
	for _, channel := range w.discord.Channels(w.guild) {
		if channel.Parent != "" {
			threads = append(threads, channel)
		}
	}
	if len(threads) != 1 || threads[0].ID != asked || threads[0].Name != "what is this?" {
		t.Errorf("there are %+v", threads)
	}
	list, err := w.host.SDK().Threads.List(t.Context(), &pluginsdk.ListThreadsRequest{})
	if err != nil || len(list.Threads) != 1 || list.Threads[0].SourceID != asked {
		t.Errorf("Harness has %+v, %v", list, err)
	}
	follow := w.discord.Say(fake.Said{Channel: asked, Text: "and now?"})
	if w.said(follow).ThreadID != w.said(asked).ThreadID {
		t.Error("what is written in the thread is in another one")
	}
	command := w.discord.Say(fake.Said{Channel: w.channel, Text: "<@" + w.who.Bot + "> /status"})
	if w.said(command).ThreadID == w.said(asked).ThreadID || w.discord.Count("POST /channels/*/messages/"+command+"/threads") != 0 {
		t.Error("a command got a thread")
	}
	w.noBreach()
}

// Where the bot may open no thread it answers all the same.
func TestWhereNoThreadCanBeOpened(t *testing.T) {
	w := newWorld(t, map[string]any{"newThreads": true})
	w.discord.Deny(w.channel, fake.MayOpenThreads)
	asked := w.discord.Say(fake.Said{Channel: w.channel, Text: "<@" + w.who.Bot + "> hello?"})
	w.said(asked)
	w.discord.Break(fake.Fault{Route: "POST /channels/*/messages/*/threads", Kind: fake.FaultStatus, Status: 400})
	w.said(w.discord.Say(fake.Said{Channel: w.channel, Text: "<@" + w.who.Bot + "> hello?"}))
	if messages := w.discord.Messages(w.channel); len(messages) != 2 {
		t.Errorf("the bot has said %+v", messages[2:])
	}
}

// What people send along reaches the agent, or the agent is told why it does not.
func TestFilesThatPeopleSend(t *testing.T) {
	big := strings.Repeat("x", 3*megabyte)
	for name, test := range map[string]struct {
		files    []fake.SaidFile
		fault    fake.Fault
		fail     map[string]error
		taken    int
		says     string
		settings map[string]any
	}{
		"a text":                   {files: []fake.SaidFile{{Name: "a.txt", Data: []byte("text")}}, taken: 1},
		"a picture and a PDF":      {files: []fake.SaidFile{{Name: "a.png", Data: []byte("\x89PNG")}, {Name: "b.pdf", Data: []byte("%PDF")}}, taken: 2},
		"more than a part":         {files: []fake.SaidFile{{Name: "a.bin", Data: []byte(big)}}, taken: 1},
		"nothing in it":            {files: []fake.SaidFile{{Name: "a.txt"}}, taken: 1},
		"too large":                {files: []fake.SaidFile{{Name: "a.bin", Data: []byte(big)}, {Name: "b.txt", Data: []byte("b")}}, settings: map[string]any{"maxFileMB": 1}, taken: 1, says: "a.bin was not taken in: it has 3 MB"},
		"the CDN does not have it": {files: []fake.SaidFile{{Name: "a.txt", Data: []byte("a")}}, fault: fake.Fault{Route: "GET /attachments/**", Kind: fake.FaultStatus, Status: 404}, says: "Discord does not give it"},
		"the CDN is away once":     {files: []fake.SaidFile{{Name: "a.txt", Data: []byte("a")}}, fault: fake.Fault{Route: "GET /attachments/**", Kind: fake.FaultStatus, Status: 503, Times: 1}, taken: 1},
		"cut":                      {files: []fake.SaidFile{{Name: "a.txt", Data: []byte(big)}}, fault: fake.Fault{Route: "GET /attachments/**", Kind: fake.FaultLost, Times: 1}, taken: 1},
		"a quota":                  {files: []fake.SaidFile{{Name: "a.txt", Data: []byte("a")}}, fail: map[string]error{"Files.Begin": pluginsdk.Errorf(pluginsdk.CodeExhausted, "the quota is used up")}, says: "the quota is used up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, test.settings)
			for method, err := range test.fail {
				w.host.Fail(method, err)
			}
			if test.fault.Kind != "" {
				w.discord.Break(test.fault)
			}
			got := w.said(w.discord.Say(fake.Said{Channel: w.discord.DM(w.who.Owner), Text: "look", Files: test.files}))
			if len(got.Attachments) != test.taken || !strings.Contains(got.Content, test.says) {
				t.Errorf("got %+v", got)
			}
			stored := w.host.Files()
			if len(stored) != test.taken {
				t.Errorf("stored %+v", stored)
			}
			w.noBreach()
		})
	}
}

// A file is taken in once, however long the daemon does not take the message.
func TestAFileIsNotTakenInAgainAndAgain(t *testing.T) {
	w := newWorld(t, nil)
	w.host.Fail("Messages.Submit", pluginsdk.Errorf(pluginsdk.CodeExhausted, "too many runs wait"))
	var files []fake.SaidFile
	for i := range 3 {
		files = append(files, fake.SaidFile{Name: fmt.Sprintf("%d.txt", i), Data: []byte("a")})
	}
	id := w.discord.Say(fake.Said{Channel: w.discord.DM(w.who.Owner), Files: files})
	w.until("it was tried twice", func() bool { return w.called("Messages.Submit") == 2 })
	w.host.Fail("Messages.Submit", nil)
	if got := w.said(id); len(got.Attachments) != 3 || got.Content != noWords || w.called("Files.Begin") != 3 {
		t.Errorf("got %+v after %d uploads", got, w.called("Files.Begin"))
	}
}

// A panic over one message keeps no other from being read.
func TestAPanicInALane(t *testing.T) {
	w := newWorld(t, nil)
	dm := w.discord.DM(w.who.Owner)
	w.said(w.discord.Say(fake.Said{Channel: dm, Text: "first"}))
	w.process.connected().lanes.push(dm, true, func(context.Context) { panic("on purpose") })
	w.said(w.discord.Say(fake.Said{Channel: dm, Text: "second"}))
}
