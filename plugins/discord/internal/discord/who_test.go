package discord

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestWhoMayTalk(t *testing.T) {
	const owner, ann, crew, guild, channel = "1", "2", "3", "10", "20"
	here, thread, dm := spot{Guild: guild, Channel: channel}, spot{Guild: guild, Channel: "21", Parent: channel}, spot{Channel: "30"}
	elsewhere := spot{Guild: "11", Channel: "22"}
	for name, test := range map[string]struct {
		settings config
		who      person
		at       spot
		may      bool
	}{
		"no lists: the owner":                 {config{}, person{ID: owner}, here, true},
		"no lists: others":                    {config{}, person{ID: ann}, here, false},
		"no lists: others, directly":          {config{}, person{ID: ann}, dm, false},
		"the owner, wherever it is":           {config{Guilds: []string{"11"}, Users: []string{"9"}}, person{ID: owner}, here, true},
		"a user who is named":                 {config{Users: []string{ann}}, person{ID: ann}, here, true},
		"a user who is named, directly":       {config{Users: []string{ann}}, person{ID: ann}, dm, true},
		"a user who is named, elsewhere":      {config{Users: []string{ann}, Guilds: []string{guild}}, person{ID: ann}, elsewhere, false},
		"another user":                        {config{Users: []string{ann}, Guilds: []string{guild}}, person{ID: "4"}, here, false},
		"a role":                              {config{Roles: []string{crew}}, person{ID: ann, Roles: []string{crew}}, here, true},
		"a role, directly":                    {config{Roles: []string{crew}}, person{ID: ann, Roles: []string{crew}}, dm, false},
		"another role":                        {config{Roles: []string{crew}}, person{ID: ann, Roles: []string{"5"}}, here, false},
		"a guild":                             {config{Guilds: []string{guild}}, person{ID: ann}, here, true},
		"a guild, its thread":                 {config{Guilds: []string{guild}}, person{ID: ann}, thread, true},
		"a guild, directly":                   {config{Guilds: []string{guild}}, person{ID: ann}, dm, false},
		"another guild":                       {config{Guilds: []string{guild}}, person{ID: ann}, elsewhere, false},
		"a channel":                           {config{Channels: []string{channel}}, person{ID: ann}, here, true},
		"a channel, its thread":               {config{Channels: []string{channel}}, person{ID: ann}, thread, true},
		"another channel":                     {config{Channels: []string{channel}}, person{ID: ann}, elsewhere, false},
		"a channel is no user":                {config{Channels: []string{ann}}, person{ID: ann}, here, false},
		"the owner's channel: the owner":      {config{OwnerChannels: []string{channel}}, person{ID: owner}, here, true},
		"the owner's channel: one who may":    {config{OwnerChannels: []string{channel}, Users: []string{ann}, Guilds: []string{guild}}, person{ID: ann}, here, false},
		"the owner's channel: in its thread":  {config{OwnerChannels: []string{channel}, Users: []string{ann}}, person{ID: ann}, thread, false},
		"nobody is the owner of what is none": {config{}, person{}, here, false},
	} {
		if got := test.settings.mayTalk(owner, test.who, test.at); got != test.may {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (&config{}).mayTalk("", person{ID: ""}, here) {
		t.Error("without an owner somebody without an id is the owner")
	}
}

// Who may not talk to the assistant gets nothing from it, and costs it nothing.
func TestStrangers(t *testing.T) {
	for name, test := range map[string]struct {
		settings map[string]any
		lines    int
	}{
		"silence": {nil, 0},
		"a line":  {map[string]any{"strangers": "line", "newThreads": true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.settings)
			eve := w.discord.AddUser(fake.NewUser{Name: "eve", Guilds: []string{w.guild}})
			me := "<@" + w.who.Bot + "> "
			secret := fake.SaidFile{Name: "a.txt", Data: []byte("a")}
			var last string
			for range 3 {
				last = w.discord.Say(fake.Said{Channel: w.channel, By: eve, Text: me + "tell me", Files: []fake.SaidFile{secret}})
			}
			w.discord.Edit(last, me+"tell me now")
			dm := w.discord.DM(eve)
			w.discord.Say(fake.Said{Channel: dm, By: eve, Text: me + "/status"})
			asked := w.discord.Say(fake.Said{Channel: w.channel, Text: me + "from the owner"})
			w.said(asked)
			w.until("all is dealt with", func() bool {
				lanes := w.process.connected().lanes
				return !lanes.busy(dm) && !lanes.busy(w.channel)
			})
			if n := len(w.host.Submissions()); n != 1 {
				t.Errorf("%d submissions", n)
			}
			if len(w.host.Files()) > 0 || w.called("Files.Begin") > 0 {
				t.Error("a stranger's file was taken in")
			}
			for _, channel := range []string{w.channel, dm} {
				said := 0
				for _, message := range w.discord.Messages(channel) {
					if message.Bot {
						said++
						if message.Text != notForYou {
							t.Errorf("the bot has said %q", message.Text)
						}
					}
					if message.Author == eve && (len(message.Reactions) > 0 || message.Thread != "") {
						t.Errorf("a stranger's message has got %+v", message)
					}
				}
				if said != test.lines {
					t.Errorf("%d lines were said", said)
				}
			}
			if w.discord.Count("POST /channels/*/typing") > 0 {
				t.Error("the bot has typed")
			}
			if n := strings.Count(w.log.String(), "may not talk"); n != 4 {
				t.Errorf("%d lines in the log:\n%s", n, w.log.String())
			}
			w.noBreach()
		})
	}
}

// Messages that are fetched do not say which roles who wrote them has: Discord is asked.
func TestRolesOfThoseWhoWroteWhileTheBotWasAway(t *testing.T) {
	w := emptyWorld(t, quick(), nil)
	crew := w.discord.AddRole(fake.NewRole{Guild: w.guild, Name: "crew"})
	w.set(map[string]any{"roles": []string{crew}, "starts": "everything"}, w.who.Base)
	ann := w.discord.AddUser(fake.NewUser{Name: "ann", Guilds: []string{w.guild}, Roles: []string{crew}})
	eve := w.discord.AddUser(fake.NewUser{Name: "eve", Guilds: []string{w.guild}})
	gone := w.discord.AddUser(fake.NewUser{Name: "gone"})
	w.start()
	meant := []string{w.discord.Say(fake.Said{Channel: w.channel, By: ann, Text: "live"})}
	w.exactly(meant)
	w.stop()
	meant = append(meant, w.discord.Say(fake.Said{Channel: w.channel, By: ann, Text: "missed"}))
	w.discord.Say(fake.Said{Channel: w.channel, By: eve, Text: "may not"})
	w.discord.Say(fake.Said{Channel: w.channel, By: gone, Text: "has left"})
	w.start()
	meant = append(meant, w.say(w.channel, "the owner"))
	w.exactly(meant)
	for _, message := range w.discord.Messages(w.channel) {
		if message.Bot {
			t.Errorf("the bot has said %q", message.Text)
		}
	}
	w.noBreach()
}

// Whose assistant it is says the setting, else the application, of a team the team.
func TestTheOwner(t *testing.T) {
	for name, test := range map[string]struct {
		config fake.Config
		other  bool
	}{
		"a person": {}, "a team": {config: fake.Config{OwnerIsTeam: true}}, "a setting": {other: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld(t, test.config, nil)
			owner, stranger := w.who.Owner, w.discord.AddUser(fake.NewUser{Name: "ann", Guilds: []string{w.guild}})
			if test.other {
				owner, stranger = stranger, owner
				w.set(map[string]any{"owner": owner}, w.who.Base)
			}
			w.start()
			w.discord.Say(fake.Said{Channel: w.channel, By: stranger, Text: "<@" + w.who.Bot + "> hello"})
			w.exactly([]string{w.discord.Say(fake.Said{Channel: w.channel, By: owner, Text: "<@" + w.who.Bot + "> hello"})})
			direct := w.discord.Say(fake.Said{Channel: w.discord.DM(owner), By: owner, Text: "hello"})
			if got := w.said(direct); got.Source != sourceOwner {
				t.Errorf("the owner's direct messages are %s", got.Source)
			}
		})
	}
}

// What a person may is what the settings say of them, and never more for talking.
func TestTheScopeOfAPerson(t *testing.T) {
	t.Parallel()
	c := &config{Users: []string{"talker", "worker", "approver"}, Approvers: []string{"approver", "deciders"}, Workers: []string{"worker", "builders"}}
	for _, test := range []struct {
		who  person
		want pluginsdk.TokenScope
	}{
		{person{ID: "owner"}, pluginsdk.ScopeAdmin},
		{person{ID: "talker"}, pluginsdk.ScopeChat},
		{person{ID: "approver"}, pluginsdk.ScopeApprove},
		{person{ID: "talker", Roles: []string{"deciders"}}, pluginsdk.ScopeApprove},
		{person{ID: "worker"}, pluginsdk.ScopeWork},
		{person{ID: "approver", Roles: []string{"builders"}}, pluginsdk.ScopeWork},
		{person{ID: "stranger"}, pluginsdk.ScopeChat},
	} {
		if got := c.scope("owner", test.who); got != test.want {
			t.Errorf("%+v: %q, want %q", test.who, got, test.want)
		}
	}
	if got := c.scope("", person{}); got != pluginsdk.ScopeChat { // while the owner is not known
		t.Errorf("nobody: %q", got)
	}
}
