package discord

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/slash"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// asked has the agent ask something in a channel, and returns the approval and its card.
func (w *world) asked(channel string, approval pluginsdk.Approval) (pluginsdk.Approval, string) {
	w.Helper()
	approval.ThreadID = "T"
	made := w.host.Ask(approval)
	row := pluginsdk.Message{ID: 7, ThreadID: "T", Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Content: made.Title}
	return made, w.deliver("card-"+made.ID, 1, channel, row, &made)
}

func (w *world) approval(id string) pluginsdk.Approval {
	w.Helper()
	found, err := w.host.SDK().Approvals.Get(w.Context(), &pluginsdk.GetApprovalRequest{ID: id})
	if err != nil {
		w.Fatal(err)
	}
	return found.Approval
}

// settled waits until a card has no buttons any more, and returns what it says.
func (w *world) settled(channel, card string) string {
	w.Helper()
	w.until("the buttons are gone", func() bool { return len(w.shows(channel, card).Buttons) == 0 })
	return w.shows(channel, card).Text
}

// labels are the buttons of a message.
func labels(message fake.Message) (labels []string) {
	for _, button := range message.Buttons {
		labels = append(labels, button.Label)
	}
	return labels
}

var toolAsk = pluginsdk.Approval{
	Title: "Bash: make *deploy* @everyone", Text: "make deploy\n```\n@everyone <@1>", Note: "it _may_ have been done", Cwd: "/srv/shop",
	Choices: []pluginsdk.ApprovalChoice{
		{ID: "allow", Label: "Allow once", Allow: true},
		{ID: "rule:1", Label: "Always: make deploy", Allow: true, Rule: "Bash commands that begin with make deploy"},
		{ID: "deny", Label: "Deny"},
	},
}

// The agent asks, and each answer is handed in as it was pressed, in the person's name; then
// the card says what became of it.
func TestApprovals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, test := range []struct {
		button string
		form   map[string]string
		want   pluginsdk.ApprovalState
		choice string
		words  string
		says   string
	}{
		{"Allow once", nil, pluginsdk.ApprovalAllowed, "allow", "", "✅ Allow once, by owner"},
		{"Always: make deploy", nil, pluginsdk.ApprovalAllowed, "rule:1", "", "✅ Always: make deploy, by owner"},
		{"Deny", map[string]string{"said": " use *staging* "}, pluginsdk.ApprovalDenied, "deny", "use *staging*", `⛔ denied by owner: use \*staging\*`},
		{"Deny", map[string]string{}, pluginsdk.ApprovalDenied, "deny", "", "⛔ denied by owner"},
	} {
		of, card := w.asked(w.channel, toolAsk)
		shown := w.shows(w.channel, card)
		if !slices.Equal(labels(shown), []string{"Allow once", "Always: make deploy", "Deny"}) || !shown.Pinged.Nobody() {
			t.Fatalf("got %+v", shown)
		}
		for _, part := range []string{`**Bash: make \*deploy\* @` + "\u200b" + `everyone**`, "```\nmake deploy\n", `it \_may\_ have been done`, "-# in /srv/shop",
			"-# always means: Bash commands that begin with make deploy", "-# to be answered <t:"} {
			if !strings.Contains(shown.Text, part) {
				t.Errorf("the card has no %q: %s", part, shown.Text)
			}
		}
		pressed := w.discord.Press(card, "", test.button)
		if got := w.answered(pressed); test.form != nil {
			if got.Modal == nil {
				t.Fatalf("%s opens no form", test.button)
			}
			w.discord.Submit(pressed, test.form)
		}
		said := w.settled(w.channel, card)
		got := w.approval(of.ID)
		if got.State != test.want || got.Choice != test.choice || got.Words != test.words || got.Author != "owner" || got.Plugin != name {
			t.Errorf("%s: %+v", test.button, got)
		}
		if !strings.HasSuffix(said, test.says) || strings.Contains(said, "to be answered") {
			t.Errorf("%s: the card says %q, want %q at its end", test.button, said, test.says)
		}
	}
	w.until("nothing is kept of them", func() bool {
		return !slices.ContainsFunc(w.host.State(name), func(e pluginsdk.StateEntry) bool { return strings.HasPrefix(e.Key, approvalPrefix) })
	})
	w.noBreach()
}

// Of several who press, the first one counts; the others are told who it was.
func TestTwoAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.discord.AddUser(fake.NewUser{Name: "bob", Guilds: []string{w.guild}})
	w.settings(map[string]any{"approvers": []string{id}})
	of, card := w.asked(w.channel, toolAsk)
	form := w.discord.Press(card, id, "Deny")
	w.answered(form)
	w.discord.Press(card, "", "Allow once")
	w.settled(w.channel, card)
	late := w.discord.Submit(form, map[string]string{"said": "no"})
	if said := w.whispered(late); !strings.Contains(said, "owner") || !strings.Contains(said, "allowed") {
		t.Errorf("told %q", said)
	}
	if got := w.approval(of.ID); got.Author != "owner" || got.State != pluginsdk.ApprovalAllowed {
		t.Errorf("got %+v", got)
	}
	w.noBreach()
}

// Who presses what was answered elsewhere is told by whom, and it is offered no more: also
// when nobody has told the bot.
func TestAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	of, card := w.asked(w.channel, toolAsk)
	w.until("the bot has seen that it is open", func() bool {
		return slices.ContainsFunc(w.host.Calls(), func(c plugintest.HostCall) bool { return c.Method == "Approvals.Get" })
	})
	if _, err := w.host.SDK().Approvals.Decide(t.Context(), &pluginsdk.DecideApprovalRequest{ID: of.ID, Choice: "deny", Author: "mia"}); err != nil {
		t.Fatal(err)
	}
	if said := w.whispered(w.discord.Press(card, "", "Allow once")); !strings.Contains(said, "mia") {
		t.Errorf("told %q", said)
	}
	if said := w.settled(w.channel, card); !strings.HasSuffix(said, "⛔ denied by mia") {
		t.Errorf("the card says %q", said)
	}
	w.noBreach()
}

// settings gives the plugin other settings while it runs.
func (w *world) settings(more map[string]any) {
	w.Helper()
	w.set(more, w.who.Base)
	raw, err := w.host.SDK().Settings.Get(w.Context(), &pluginsdk.GetSettingsRequest{})
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.plugin.OnSettingsChange(w.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: raw.Settings}); err != nil {
		w.Fatal(err)
	}
}

// What was answered elsewhere, has expired or was taken back is not offered any more, also
// when that happened while the bot was away; a card of a thread that was deleted goes.
func TestApprovalsThatEndElsewhere(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]bool{"there": false, "away": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorldOf(t, fake.Config{IdentifyEvery: time.Nanosecond}, nil)
			ends := []struct {
				end  func(id string)
				says string
			}{
				{func(id string) {
					if _, err := w.host.SDK().Approvals.Decide(t.Context(), &pluginsdk.DecideApprovalRequest{ID: id, Choice: "deny", Author: "mia", Words: "later"}); err != nil {
						t.Fatal(err)
					}
				}, "⛔ denied by mia: later"},
				{func(id string) { w.host.EndApproval(id, pluginsdk.ApprovalExpired) }, "⌛ nobody answered in time: denied"},
				{func(id string) { w.host.EndApproval(id, pluginsdk.ApprovalWithdrawn) }, "its run is over: nothing is to be decided any more"},
			}
			var cards []string
			var events []pluginsdk.Event
			var asked []pluginsdk.Approval
			for range ends {
				of, card := w.asked(w.channel, toolAsk)
				data, err := json.Marshal(pluginsdk.ApprovalPayload{ApprovalID: of.ID})
				if err != nil {
					t.Fatal(err)
				}
				cards, asked = append(cards, card), append(asked, of)
				events = append(events, pluginsdk.Event{Type: pluginsdk.EventApprovalResolved, Data: data})
			}
			if away {
				if err := w.plugin.Deactivate(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.until("it is gone", func() bool { return w.discord.State().Connections == 0 })
			}
			for i, of := range asked {
				ends[i].end(of.ID)
			}
			if away {
				w.start()
			} else if _, err := w.plugin.OnBroadcast(t.Context(), &pluginsdk.OnBroadcastRequest{Events: events}); err != nil {
				t.Fatal(err)
			}
			for i, card := range cards {
				if said := w.settled(w.channel, card); !strings.HasSuffix(said, ends[i].says) {
					t.Errorf("the card says %q, want %q", said, ends[i].says)
				}
			}
			w.noBreach()
		})
	}
}

// Carried again, a question is one card, whatever became of it in between.
func TestOneCard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	long := toolAsk
	long.Text = strings.Repeat("make deploy # and more of it\n", 300)
	for n, ask := range []pluginsdk.Approval{toolAsk, long} {
		for name, between := range map[string]func(of pluginsdk.Approval, card string){
			"open":            func(pluginsdk.Approval, string) {},
			"nonce forgotten": func(pluginsdk.Approval, string) { w.discord.Advance(time.Hour) },
			"over":            func(of pluginsdk.Approval, _ string) { w.host.EndApproval(of.ID, pluginsdk.ApprovalExpired) },
			"over and settled": func(of pluginsdk.Approval, card string) {
				w.discord.Press(card, "", "Allow once")
				w.settled(w.channel, card)
			},
		} {
			of, card := w.asked(w.channel, ask)
			before := len(w.discord.Messages(w.channel))
			between(of, card)
			now := w.approval(of.ID)
			row := pluginsdk.Message{ID: 7, ThreadID: "T", Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification}
			if again := w.deliver("card-"+of.ID, 2, w.channel, row, &now); again != card {
				t.Errorf("%d, %s: it is now %s, was %s", n, name, again, card)
			}
			if after := len(w.discord.Messages(w.channel)); after != before {
				t.Errorf("%d, %s: there are %d messages, were %d", n, name, after, before)
			}
			if now.State != pluginsdk.ApprovalOpen {
				w.settled(w.channel, card)
			}
		}
	}
	w.noBreach()
}

// Who may not decide is told so, alone, and nothing comes of what they press, wherever.
func TestOnlyApproversDecide(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	foreign := w.discord.AddGuild(fake.NewGuild{Name: "Foreign"})
	role := w.discord.AddRole(fake.NewRole{Guild: w.guild, Name: "ops"})
	talker := w.discord.AddUser(fake.NewUser{Name: "talker", Guilds: []string{w.guild}})
	ops := w.discord.AddUser(fake.NewUser{Name: "ops", Guilds: []string{w.guild}, Roles: []string{role}})
	stranger := w.discord.AddUser(fake.NewUser{Name: "eve", Guilds: []string{w.guild, foreign}})
	abroad := w.discord.AddChannel(fake.NewChannel{Guild: foreign, Name: "abroad"})
	w.settings(map[string]any{"users": []string{talker}, "approvers": []string{role}})
	for _, test := range []struct {
		who, by, channel string
		told             string // empty: they may
	}{
		{"a stranger", stranger, w.channel, notForYou},
		{"a stranger of another guild", stranger, abroad, notForYou},
		{"a stranger's direct messages", stranger, w.discord.DM(stranger), notForYou},
		{"an allowed talker", talker, w.channel, notYours},
		{"an allowed talker's direct messages", talker, w.discord.DM(talker), notYours},
		{"a role's member without their roles", ops, w.discord.DM(ops), notForYou},
		{"a role's member", ops, w.channel, ""},
		{"the owner", "", w.channel, ""},
		{"the owner's direct messages", "", w.discord.DM(w.who.Owner), ""},
	} {
		t.Run(test.who, func(t *testing.T) {
			for _, button := range []string{"Allow once", "Deny"} {
				of, card := w.asked(test.channel, toolAsk)
				pressed := w.discord.Press(card, test.by, button)
				got := w.answered(pressed)
				if test.told == "" {
					if button == "Deny" {
						w.discord.Submit(pressed, map[string]string{})
					}
					w.settled(test.channel, card)
					continue
				}
				if said := w.whispered(pressed); said != test.told || got.Modal != nil {
					t.Errorf("%s: told %q, form %s", button, said, got.Modal)
				}
				if got := w.approval(of.ID); got.State != pluginsdk.ApprovalOpen || len(w.shows(test.channel, card).Buttons) != 3 {
					t.Errorf("%s: %+v", button, got)
				}
			}
		})
	}
	w.noBreach()
}

// Who may decide and not talk gets no further than that.
func TestApproversAreNotTalkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]any{"reactions": false})
	approver := w.discord.AddUser(fake.NewUser{Name: "ann", Guilds: []string{w.guild}})
	w.settings(map[string]any{"approvers": []string{approver}, "reactions": false})
	w.offered(w.guild, "status")
	about := w.discord.Say(fake.Said{Channel: w.channel, Text: "x"})
	for _, given := range []string{
		w.discord.Slash(fake.Slash{Channel: w.channel, By: approver, Name: "status"}),
		w.discord.Menu(about, approver, slash.Ask),
	} {
		if said := w.whispered(given); said != notForYou {
			t.Errorf("told %q", said)
		}
	}
	_, status := w.failed(1)
	for _, button := range []string{"Try again", "Continue"} {
		if said := w.whispered(w.discord.Press(status, approver, button)); said != notForYou {
			t.Errorf("%s: told %q", button, said)
		}
	}
	if n := len(w.runs()); n != 1 {
		t.Errorf("there are %d runs", n)
	}
	of, card := w.asked(w.channel, toolAsk)
	w.discord.Press(card, approver, "Allow once")
	w.settled(w.channel, card)
	if got := w.approval(of.ID); got.Author != "ann" {
		t.Errorf("got %+v", got)
	}
	w.noBreach()
}

func option(label string) pluginsdk.QuestionOption {
	return pluginsdk.QuestionOption{Label: label, Description: "that is " + label}
}

// The agent's questions are answered by buttons, by menus and in words.
func TestQuestions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	one := pluginsdk.AgentQuestion{Text: "Which colour?", Options: []pluginsdk.QuestionOption{option("Red"), option("Blue")}}
	many := pluginsdk.AgentQuestion{Text: "Which sizes?", Multiple: true, Options: []pluginsdk.QuestionOption{option("S"), option("M"), option("L")}}
	open := pluginsdk.AgentQuestion{Text: "What name? " + strings.Repeat("long ", 30), Header: "Name"}
	no := pluginsdk.ApprovalChoice{ID: "deny", Label: "No answer"}
	colours := []pluginsdk.ApprovalChoice{{ID: "answer:1", Label: "Red", Allow: true}, {ID: "answer:2", Label: "Blue", Allow: true}, no}
	for _, test := range []struct {
		name      string
		questions []pluginsdk.AgentQuestion
		choices   []pluginsdk.ApprovalChoice
		buttons   []string
		button    string
		form      map[string]string
		want      []pluginsdk.QuestionAnswer
		says      string
	}{
		{"a button", []pluginsdk.AgentQuestion{one}, colours, []string{"Red", "Blue", "No answer", "In words"}, "Blue", nil, []pluginsdk.QuestionAnswer{{Labels: []string{"Blue"}}}, "✅ Blue, by owner"},
		{"in words", []pluginsdk.AgentQuestion{one}, colours, nil, "In words", map[string]string{"words.0": "Green"}, []pluginsdk.QuestionAnswer{{Text: "Green"}}, "✅ answered by owner: Green"},
		{"an option in words", []pluginsdk.AgentQuestion{one}, colours, nil, "In words", map[string]string{"words.0": "red"}, []pluginsdk.QuestionAnswer{{Labels: []string{"Red"}}}, "✅ answered by owner: Red"},
		{"several options", []pluginsdk.AgentQuestion{many}, []pluginsdk.ApprovalChoice{no}, []string{"Answer", "No answer"}, "Answer", map[string]string{"options.0": "0\n2", "words.0": "and XL"}, []pluginsdk.QuestionAnswer{{Labels: []string{"S", "L"}, Text: "and XL"}}, "✅ answered by owner: S, L, and XL"},
		{"two", []pluginsdk.AgentQuestion{one, many}, []pluginsdk.ApprovalChoice{no}, nil, "Answer", map[string]string{"options.0": "1", "words.1": "all"}, []pluginsdk.QuestionAnswer{{Labels: []string{"Blue"}}, {Text: "all"}}, "✅ answered by owner: Blue; all"},
		{"four", []pluginsdk.AgentQuestion{one, many, open, one}, []pluginsdk.ApprovalChoice{no}, nil, "Answer", map[string]string{"options.0": "0", "options.1": "1", "words.2": "Bo", "options.3": "1"},
			[]pluginsdk.QuestionAnswer{{Labels: []string{"Red"}}, {Labels: []string{"M"}}, {Text: "Bo"}, {Labels: []string{"Blue"}}}, "✅ answered by owner: Red; M; Bo; Blue"},
		{"none", []pluginsdk.AgentQuestion{many, one}, []pluginsdk.ApprovalChoice{no}, nil, "No answer", map[string]string{"said": "ask later"}, nil, "⛔ denied by owner: ask later"},
	} {
		t.Run(test.name, func(t *testing.T) {
			of, card := w.asked(w.channel, pluginsdk.Approval{Kind: pluginsdk.ApprovalQuestion, Title: "The agent asks", Questions: test.questions, Choices: test.choices})
			shown := w.shows(w.channel, card)
			if test.buttons != nil && !slices.Equal(labels(shown), test.buttons) {
				t.Errorf("the buttons are %q", labels(shown))
			}
			for _, question := range test.questions {
				for _, option := range question.Options {
					if !strings.Contains(shown.Text, "- "+option.Label+": that is "+option.Label) {
						t.Errorf("the card does not show %s: %s", option.Label, shown.Text)
					}
				}
			}
			pressed := w.discord.Press(card, "", test.button)
			if w.answered(pressed); test.form != nil {
				w.discord.Submit(pressed, test.form)
			}
			said := w.settled(w.channel, card)
			if got := w.approval(of.ID); !reflect.DeepEqual(got.Answers, test.want) && len(got.Answers)+len(test.want) > 0 {
				t.Errorf("answered %+v, want %+v", got.Answers, test.want)
			}
			if !strings.HasSuffix(said, test.says) {
				t.Errorf("the card says %q, want %q", said, test.says)
			}
		})
	}
	// Nothing said is no answer.
	of, card := w.asked(w.channel, pluginsdk.Approval{Kind: pluginsdk.ApprovalQuestion, Questions: []pluginsdk.AgentQuestion{one}, Choices: colours})
	form := w.discord.Press(card, "", "In words")
	w.answered(form)
	if said := w.whispered(w.discord.Submit(form, map[string]string{})); !strings.Contains(said, "Which colour?") {
		t.Errorf("told %q", said)
	}
	if got := w.approval(of.ID); got.State != pluginsdk.ApprovalOpen {
		t.Errorf("got %+v", got)
	}
	w.noBreach()
}

// A plan is approved or sent back by the words that the host has for that.
func TestAPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	of, card := w.asked(w.channel, pluginsdk.Approval{Kind: pluginsdk.ApprovalPlan, Title: "The agent has a plan", Text: strings.Repeat("1. a step\n", 400), Choices: []pluginsdk.ApprovalChoice{
		{ID: "allow", Label: "Carry it out", Allow: true}, {ID: "deny", Label: "Keep planning"},
	}})
	shown := w.shows(w.channel, card)
	if len(shown.Files) != 1 || strings.Count(string(shown.Files[0].Data), "1. a step") != 400 || !strings.Contains(shown.Text, "all of it is in the file") {
		t.Errorf("the plan is not there: %+v", shown)
	}
	pressed := w.discord.Press(card, "", "Keep planning")
	if form := w.answered(pressed).Modal; !strings.Contains(string(form), `"title":"Keep planning"`) {
		t.Errorf("the form is %s", form)
	}
	w.discord.Submit(pressed, map[string]string{"said": "smaller steps"})
	w.settled(w.channel, card)
	if got := w.approval(of.ID); got.State != pluginsdk.ApprovalDenied || got.Words != "smaller steps" || len(w.shows(w.channel, card).Files) != 1 {
		t.Errorf("got %+v", got)
	}
	w.noBreach()
}

// What a button does not stand for any more, and what nobody ever offered, does nothing.
func TestForgedPresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	changed := toolAsk
	changed.Choices = []pluginsdk.ApprovalChoice{{ID: "rule:9", Label: "Allow once", Allow: true, Rule: "everything"}, {ID: "deny", Label: "Deny"}}
	of := w.host.Ask(changed)
	client, err := rest.New(rest.Config{Token: "token", Version: version, Base: w.who.Base + "/api/v10"})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := w.discord.AddChannel(fake.NewChannel{Guild: w.guild, Name: "elsewhere"})
	w.discord.Say(fake.Said{Channel: elsewhere, Text: "<@" + w.who.Bot + "> a secret"})
	run := w.run(1)
	w.noted(run.ID)
	w.host.AddCommand(lamps)
	row, _ := w.row(elsewhere, true, "On")
	lamp, _ := press.Typing(row, 0)
	unlike, nowhere := lamp, lamp
	unlike.Check, nowhere.Of = "01234567", "nowhere/1"
	for _, test := range []struct{ id, told string }{
		{lamp.String(), noSuchPush}, // which stands elsewhere
		{unlike.String(), noSuchPush},
		{nowhere.String(), noSuchPush},
		{press.ID{Action: press.Stop, Of: run.ID}.String(), "over already"},
		{press.ID{Action: press.Retry, Of: run.ID}.String(), "somewhere else"},
		{"click_me", noSuchPush},
		{press.ID{Action: press.Approve, Of: of.ID, N: 0, Check: "01234567"}.String(), "not there any more"},
		{press.ID{Action: press.Words, Of: "nothing"}.String(), "nothing"},
		{press.ID{Action: press.Answer, Of: of.ID}.String(), "cannot be answered here"},
		{press.ID{Action: press.Stop, Of: "run-9"}.String(), "over already"},
		{press.ID{Action: press.Retry, Of: "run-9"}.String(), "run-9"},
		{press.ID{Action: press.Accept, Of: "K", N: 1}.String(), "K"},
		{press.ID{Action: press.Ask, Of: "1/2"}.String(), noSuchPush},
	} {
		if said := w.whispered(w.forge(client, test.id)); !strings.Contains(said, test.told) {
			t.Errorf("%s: told %q, want %q", test.id, said, test.told)
		}
	}
	if got := w.approval(of.ID); got.State != pluginsdk.ApprovalOpen {
		t.Errorf("got %+v", got)
	}
	if runs := w.runs(); len(runs) != 1 || runs[0].State.Final() {
		t.Errorf("got %+v", runs)
	}
	w.noBreach()
}

// forge posts a message as the bot, with a button of any id, and presses that.
func (w *world) forge(client *rest.Client, id string) string {
	w.Helper()
	posted, err := client.Send(w.Context(), w.channel, rest.Message{Content: "forged", Components: buttons(discordgo.Button{Label: "Press", Style: discordgo.PrimaryButton, CustomID: id})})
	if err != nil {
		w.Fatal(err)
	}
	return w.discord.Press(posted.ID, "", id)
}

// Whatever the agent asks, its card is a message that Discord takes, and what it does not
// hold is in the file.
func TestCardsFit(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"*", "_", "`", "```", "@everyone", "<@123>", "\n", " ", "long-word", "é", "👩‍👩‍👧", "\u202e", "https://example.org/a_b", "[x](y)", "#", "- ", "\\", "|"}
	words := func(most int) string {
		var b strings.Builder
		for range random.IntN(most + 1) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return b.String()
	}
	states := []pluginsdk.ApprovalState{pluginsdk.ApprovalOpen, pluginsdk.ApprovalAllowed, pluginsdk.ApprovalDenied, pluginsdk.ApprovalExpired, pluginsdk.ApprovalWithdrawn}
	for n := range 120 {
		most := []int{3, 40, 400}[n%3]
		of := pluginsdk.Approval{
			ID: "A", State: states[random.IntN(len(states))], Title: words(most), Text: words(most), Note: words(most), Cwd: words(most), ExpiresAt: time.Now(),
			Author: words(most), Words: words(most), Choice: "c0",
		}
		for i := range random.IntN(30) {
			of.Choices = append(of.Choices, pluginsdk.ApprovalChoice{ID: fmt.Sprintf("c%d", i), Label: words(most), Allow: true, Rule: words(most)})
		}
		if n%2 == 0 {
			for range 1 + random.IntN(5) {
				question := pluginsdk.AgentQuestion{Text: words(most), Header: words(3), Multiple: n%4 == 0}
				for range random.IntN(30) {
					question.Options = append(question.Options, option(words(most)))
				}
				of.Questions = append(of.Questions, question)
			}
			of.Answers = []pluginsdk.QuestionAnswer{{Labels: []string{words(most)}, Text: words(most)}}
			for _, field := range questionFields(of.Questions) {
				if units := text.Units(field.Label); units < 1 || units > formTitle || text.Units(field.About) > formLine || len(field.Options) > formOptions {
					t.Fatalf("a field %+v", field)
				}
			}
		}
		card := cardOf(of)
		if units := text.Units(card.Content); units == 0 || units > text.Limit {
			t.Fatalf("a card of %d units: %s", units, card.Content)
		}
		if strings.Contains(card.Content, "\u202e") {
			t.Fatalf("it turns the writing around: %s", card.Content)
		}
		if len(card.Files) == 0 && !strings.Contains(card.Content, strings.TrimSpace(text.Escape(visible(of.Note)))) {
			t.Fatalf("a note is hidden, and there is no file:\n%q\n%q", of.Note, card.Content)
		}
		if of.State == pluginsdk.ApprovalOpen && len(of.Questions) == 0 && len(card.Files) == 0 && of.Text != "" &&
			!strings.Contains(strings.ReplaceAll(card.Content, "\u200b", ""), strings.TrimSuffix(visible(of.Text), "\n")) {
			t.Fatalf("something is hidden, and there is no file:\n%q\n%q", of.Text, card.Content)
		}
	}
}
