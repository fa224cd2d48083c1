package discord

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var lamps = pluginsdk.Command{Plugin: "lamps", CommandSpec: pluginsdk.CommandSpec{Name: "lamp", Scope: pluginsdk.ScopeWork, Description: "lamps"}}

// row is what a plugin has told people of a thread that is not Discord's, with a button for each label, as
// it is shown in a channel. noted says that it was delivered there as far as the core knows.
func (w *world) row(channel string, noted bool, labels ...string) (row pluginsdk.Message, shown string) {
	w.Helper()
	var of pluginsdk.RowMetadata
	for _, label := range labels {
		of.Actions = append(of.Actions, pluginsdk.RowAction{Label: label, Command: "/lamp " + strings.ToLower(label) + " kitchen_1"})
	}
	metadata, err := json.Marshal(of)
	if err != nil {
		w.Fatal(err)
	}
	row = pluginsdk.Message{ThreadID: "elsewhere", Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "lamps", Plugin: "lamps", Content: "It is dark.", Metadata: metadata, CreatedAt: time.Now()}
	row.ID = w.host.AddMessage(row)
	id := fmt.Sprint("lamp-", row.ID)
	if noted {
		w.host.AddDelivery(pluginsdk.Delivery{ID: id, MessageID: row.ID, Plugin: name, Place: channel, State: pluginsdk.DeliverySending, CreatedAt: time.Now()})
	}
	return row, w.deliver(id, 1, channel, row, nil)
}

// A button of a plugin's row types its command in the row's thread, in the name and with the right of who presses, once,
// however many press. The others stay.
func TestARowsButtonTypesItsCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.host.AddCommand(lamps)
	bob := w.discord.AddUser(fake.NewUser{Name: "bob", Guilds: []string{w.guild}})
	w.settings(map[string]any{"users": []string{bob}, "workers": []string{bob}})
	row, shown := w.row(w.channel, true, "On", "Off")
	said := w.shows(w.channel, shown)
	if !slices.Equal(labels(said), []string{"On", "Off"}) || !strings.Contains(said.Text, `lamps, On: /lamp on kitchen\_1`) {
		t.Fatalf("it shows %q with %q", said.Text, labels(said))
	}
	presses := []string{w.discord.Press(shown, bob, "On"), w.discord.Press(shown, bob, "On"), w.discord.Press(shown, "", "On")}
	w.until("all presses are dealt with", func() bool {
		told := 0
		for _, press := range presses {
			for _, sent := range w.discord.Interaction(press).Sent {
				if sent.Only != "" && strings.Contains(sent.Text, "On was pressed already, by ") {
					told++
				}
			}
		}
		return told == len(presses)-1
	})
	typed := w.submission(1)
	want := map[string]pluginsdk.TokenScope{"bob": pluginsdk.ScopeWork, "owner": pluginsdk.ScopeAdmin}[typed.Author]
	if typed.ThreadID != row.ThreadID || typed.Content != "/lamp on kitchen_1" || want == "" || typed.Scope != want || typed.CauseRunID != "" {
		t.Errorf("typed %+v", typed)
	}
	said = w.shows(w.channel, shown)
	if !slices.Equal(labels(said), []string{"Off"}) || !strings.HasSuffix(said.Text, "\n\n-# On: pressed by "+typed.Author) || len(w.host.Submissions()) != 1 {
		t.Errorf("then it shows %q with %q, submitted %+v", said.Text, labels(said), w.host.Submissions())
	}
	w.discord.Press(shown, "", "Off")
	if text := w.settled(w.channel, shown); !strings.HasSuffix(text, "-# Off: pressed by owner") {
		t.Errorf("at last it shows %q", text)
	}
	run := w.run(2)
	w.noted(run.ID)
	w.deliver("answer", 1, w.channel, pluginsdk.Message{ID: 99, ThreadID: run.ThreadID, RunID: run.ID, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Content: "The lamp is off."}, nil)
	if all := w.discord.Messages(w.channel); all[len(all)-1].Text != "The lamp is off." {
		t.Errorf("answered %+v", all[len(all)-1])
	}
	w.noBreach()
}

// What nobody offered here, or not any more, is not done, and the button stays for who may.
func TestARowsButtonThatIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	eve := w.discord.AddUser(fake.NewUser{Name: "eve", Guilds: []string{w.guild}})
	other := w.discord.AddChannel(fake.NewChannel{Guild: w.guild, Name: "other"})
	refused := func(what, shown, by, button, says string) {
		t.Helper()
		if said := w.whispered(w.discord.Press(shown, by, button)); !strings.Contains(said, says) {
			t.Errorf("%s: told %q, want %q", what, said, says)
		}
		if got := w.host.Submissions(); len(got) != 0 {
			t.Errorf("%s: submitted %+v", what, got)
		}
	}
	_, shown := w.row(w.channel, true, "On")
	refused("of a plugin that is gone or off", shown, "", "On", "the plugin lamps, which has written this, does not have the command /lamp at the moment")
	refused("by somebody who may not talk here", shown, eve, "On", notForYou)
	if got := labels(w.shows(w.channel, shown)); !slices.Equal(got, []string{"On"}) {
		t.Errorf("the buttons are %q", got)
	}
	w.host.AddCommand(lamps)
	w.host.Fail("Messages.Submit", pluginsdk.Errorf(pluginsdk.CodeDenied, "/lamp needs the right work, and you have chat"))
	refused("without the right", shown, "", "On", "/lamp needs the right work, and you have chat")
	w.host.Fail("Messages.Submit", nil)
	if got := labels(w.shows(w.channel, shown)); !slices.Equal(got, []string{"On"}) {
		t.Errorf("refused, the buttons are %q", got)
	}
	_, elsewhere := w.row(other, false, "On")
	refused("of a row that was not delivered there", elsewhere, "", "On", noSuchPush)
	w.discord.Press(shown, "", "On") // it was good all the time
	w.settled(w.channel, shown)
	w.noBreach()
}

// A command that came to be another plugin's is not typed by the button of who had it before.
func TestARowsButtonWhoseCommandIsAnothers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.host.AddCommand(pluginsdk.Command{Plugin: "rival", CommandSpec: lamps.CommandSpec})
	_, shown := w.row(w.channel, true, "On")
	if said := w.whispered(w.discord.Press(shown, "", "On")); !strings.Contains(said, "the plugin lamps, which has written this, does not have the command") || len(w.host.Submissions()) != 0 {
		t.Errorf("told %q, submitted %+v", said, w.host.Submissions())
	}
}

// What people and agents say has no buttons, whatever comes with it.
func TestWordsOfOthersHaveNoButtons(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for name, change := range map[string]func(*pluginsdk.Message){
		"a person": func(m *pluginsdk.Message) { m.Role, m.Kind = pluginsdk.RoleUser, pluginsdk.MessageText },
		"an agent": func(m *pluginsdk.Message) {
			m.Role, m.Kind, m.Plugin = pluginsdk.RoleAssistant, pluginsdk.MessageText, ""
		},
		"the core": func(m *pluginsdk.Message) { m.Plugin = "" },
	} {
		row := pluginsdk.Message{
			ID: 7, ThreadID: "elsewhere", Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Plugin: "lamps", Content: "Press this.",
			Metadata: json.RawMessage(`{"actions":[{"label":"OK","command":"/lamp off"}]}`),
		}
		change(&row)
		shown := w.shows(w.channel, w.deliver(name, 1, w.channel, row, nil))
		if len(shown.Buttons) > 0 || shown.Text != "Press this." {
			t.Errorf("%s: %+v", name, shown)
		}
	}
}
