package discord

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What somebody asks is given to the assistant, and its answer stands below it.
func TestAQuestionAndItsAnswer(t *testing.T) {
	w := newWorld(t, nil)
	asked := w.discord.Say(fake.Said{Channel: w.channel, Text: "<@" + w.who.Bot + "> what is the capital of France?"})
	said := w.submission(1)
	if said.Content != "what is the capital of France?" || said.Key != asked || said.Source != source {
		t.Errorf("got %+v", said)
	}
	run := w.run(1)
	answer := &pluginsdk.DeliverRequest{
		Delivery: pluginsdk.Delivery{ID: "d1", Place: w.channel, Plugin: name, Attempt: 1, CreatedAt: time.Now()},
		Message:  pluginsdk.Message{ID: 2, ThreadID: run.ThreadID, RunID: run.ID, Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Content: "Paris. @everyone"},
	}
	for attempt := range 2 {
		answer.Delivery.Attempt = attempt + 1
		if _, err := w.plugin.Deliver(t.Context(), answer); err != nil {
			t.Fatal(err)
		}
	}
	messages := w.discord.Messages(w.channel)
	if len(messages) != 2 || messages[1].Text != "Paris. @everyone" || messages[1].ReplyTo != asked {
		t.Fatalf("got %+v", messages)
	}
	if p := messages[1].Pinged; !p.Nobody() {
		t.Errorf("pinged %+v", p)
	}
	w.until("the commands are offered", func() bool { return len(w.discord.Commands(w.guild)) > 0 })
	if !strings.Contains(string(w.discord.Commands(w.guild)[0]), `"status"`) && len(w.discord.Commands(w.guild)) < 2 {
		t.Errorf("got %s", w.discord.Commands(w.guild))
	}
	w.noBreach()
}
