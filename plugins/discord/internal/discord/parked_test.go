package discord

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var parkedUntil = time.Unix(1_900_000_000, 0)

// parks parks a run until parkedUntil, as the core does, and returns what people are to read.
func (p *post) parks(run string) (line string) {
	p.Helper()
	p.hear(p.host.ParkRun(run, pluginsdk.Parked{Reason: "The plan's five-hour limit is used up.", Account: "work", Window: "five_hour", Until: parkedUntil}))
	return fmt.Sprintf("-# … waits for the plan (five-hour limit), goes on at <t:%[1]d:t> (<t:%[1]d:R>)", parkedUntil.Unix())
}

// An answer that waits for a plan is not shown as under way: below what there is of it stands
// when it goes on. When it does, it is written on in the same message.
func TestAnAnswerThatWaitsForThePlan(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	id, run := p.question("what is the capital of France?")
	p.hear(p.host.BeginRun(run), delta(run, 0, "It is"))
	p.shows("It is\n-# … writing")
	p.reacts(id, running)
	line := p.parks(run)
	p.shows("It is\n" + line)
	p.reacts(id, queued)
	if shown := p.discord.Messages(p.channel)[1]; !slices.Equal(labels(shown), []string{"Go now", "Cancel"}) {
		t.Errorf("got %q", labels(shown))
	}
	if p.inner.views.of(run) != nil {
		t.Error("it is shown at work")
	}
	p.hear(started(run))
	p.shows("-# … goes on")
	p.reacts(id, running)
	if shown := p.discord.Messages(p.channel)[1]; !slices.Equal(labels(shown), []string{"Stop"}) {
		t.Errorf("got %q", labels(shown))
	}
	p.hear(delta(run, 0, "It is Paris"))
	p.shows("It is Paris\n-# … writing")
	p.deliver(p.to(reply(run, "It is Paris.")))
	p.holds("in the end", "It is Paris.")
	p.reacts(id, done)
}

// A run that waits before it has said a word says so, also to who comes back after a restart,
// and once.
func TestARunThatWaitsForThePlanFromTheBeginning(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	id, run := p.question("well?")
	line := p.parks(run)
	p.shows(line)
	p.reacts(id, queued)
	p.hear(event(pluginsdk.EventPipelineParked, pluginsdk.ParkedPayload{RunID: run, Parked: pluginsdk.Parked{Window: "five_hour", Until: parkedUntil}}))
	p.restart()
	p.shows(line)
	p.deliver(p.to(lineOf(run, "pipeline_error", "stopped by owner")))
	p.holds("in the end", "stopped by owner")
	p.reacts(id, failed)
}

// The row of the thread that says that a run waits is not posted beside the message that says
// so with buttons, whichever of the two is there first. It is posted where there is no such
// message, and not at all when the run goes on already.
func TestThatARunWaitsIsToldOnce(t *testing.T) {
	t.Parallel()
	row := func(run string) pluginsdk.Message {
		of := lineOf(run, "pipeline_parked", "Parked until 9. To have it go on now: /plan go")
		of.Kind, of.Source = pluginsdk.MessageNotification, "core"
		return of
	}
	waits := pluginsdk.Parked{Window: "five_hour", Until: parkedUntil}
	t.Run("the message first", func(t *testing.T) {
		p := newPost(t, fake.Config{}, nil)
		p.connect()
		_, run := p.question("well?")
		line := p.parks(run)
		p.shows(line)
		p.deliver(p.to(row(run)))
		p.holds("beside it", line)
	})
	t.Run("the row first", func(t *testing.T) {
		p := newPost(t, fake.Config{}, nil)
		p.connect()
		_, run := p.question("well?")
		p.host.ParkRun(run, waits)
		request := p.to(row(run))
		p.deliver(request)
		line := parkedLine(waits)
		p.holds("at once", line)
		request.Delivery.Attempt = 2
		p.deliver(request)
		p.holds("once more", line)
		p.deliver(p.to(reply(run, "Done.")))
		p.holds("in the end", "Done.")
	})
	t.Run("it goes on already", func(t *testing.T) {
		p := newPost(t, fake.Config{}, nil)
		p.connect()
		_, run := p.question("well?")
		p.deliver(p.to(row(run)))
		p.holds("of what is over")
	})
	t.Run("nothing is shown before the answer", func(t *testing.T) {
		p := newPost(t, fake.Config{}, map[string]any{"live": false})
		p.connect()
		_, run := p.question("well?")
		p.host.ParkRun(run, waits)
		p.deliver(p.to(row(run)))
		p.holds("as a message", row(run).Content)
	})
	t.Run("of another place", func(t *testing.T) {
		p := newPost(t, fake.Config{}, nil)
		p.connect()
		p.host.AddRun(pluginsdk.Run{ID: "elsewhere", State: pluginsdk.RunQueued})
		p.host.ParkRun("elsewhere", waits)
		p.deliver(p.to(row("elsewhere")))
		p.holds("as a message", row("elsewhere").Content)
	})
}

// What is about to say that a run waits must not say so behind its end.
func TestARunThatEndsWhileItIsShownToWait(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	_, run := p.question("well?")
	p.discord.Break(fake.Fault{Route: "POST /channels/*/messages", Kind: fake.FaultLost, Delay: 300 * time.Millisecond, Times: 1})
	p.parks(run)
	p.until("it is on its way", func() bool { return p.discord.Count("POST /channels/*/messages") > 0 })
	p.deliver(p.to(lineOf(run, "pipeline_error", "Interrupted by a newer message.")))
	p.holds("in the end", "Interrupted by a newer message.")
}

// Nobody has told this process that a run was cancelled while it waited, and nothing is
// delivered of it.
func TestARunThatIsCancelledUnheardWhileItWaits(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{IdentifyEvery: time.Millisecond}, nil)
	p.connect()
	id, run := p.question("well?")
	p.shows(p.parks(run))
	if _, err := p.host.SDK().Runs.Cancel(t.Context(), &pluginsdk.CancelRunRequest{ID: run}); err != nil {
		t.Fatal(err)
	}
	p.restart()
	p.until("nothing says that it waits", func() bool { return len(p.says()) == 0 })
	p.reacts(id, failed)
}

// An event that comes late does not have a run shown as waiting that goes on already.
func TestARunThatGoesOnIsNotShownToWait(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	_, run := p.question("well?")
	p.hear(event(pluginsdk.EventPipelineParked, pluginsdk.ParkedPayload{RunID: run, Parked: pluginsdk.Parked{Window: "five_hour", Until: parkedUntil}}))
	p.deliver(p.to(reply(run, "Well."))) // once what was heard is dealt with
	p.holds("in the end", "Well.")
}

// Nobody is told of a plan in a place where nobody has asked.
func TestARunOfOthersThatWaitsIsNotShown(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	_, run := p.question("well?")
	p.host.AddRun(pluginsdk.Run{ID: "elsewhere", State: pluginsdk.RunQueued})
	p.parks("elsewhere")
	line := p.parks(run)
	p.shows(line)
}

// Who gave a command does not look at a bot that thinks for hours: in the answer's place stands
// when it goes on, and then the answer.
func TestACommandThatWaitsForThePlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.host.AddCommand(noted)
	w.offered(w.guild, "note")
	given := w.discord.Slash(fake.Slash{Channel: w.channel, Name: "note", Options: map[string]any{"words": "buy milk"}})
	run := w.run(1)
	w.noted(run.ID)
	parked := pluginsdk.Parked{Account: "work", Window: "five_hour", Until: parkedUntil}
	w.host.ParkRun(run.ID, parked)
	w.tell(pluginsdk.EventPipelineParked, run.ThreadID, pluginsdk.ParkedPayload{ThreadID: run.ThreadID, RunID: run.ID, Parked: parked})
	w.until("it says when it goes on", func() bool {
		first := w.discord.Interaction(given).Original
		return first != nil && !first.Loading && strings.Contains(first.Text, fmt.Sprintf("goes on at <t:%d:t>", parkedUntil.Unix()))
	})
	w.tell(pluginsdk.EventPipelineStart, run.ThreadID, pluginsdk.RunRef{ThreadID: run.ThreadID, RunID: run.ID})
	w.until("it goes on", func() bool { return w.discord.Interaction(given).Original.Text == "-# … goes on" })
	w.deliver("a", 1, w.channel, replyOf(run, "Done."), nil)
	if first := w.discord.Interaction(given).Original; first.Text != "Done." || len(labels(*first)) != 0 || len(w.discord.Messages(w.channel)) != 1 {
		t.Errorf("got %+v of %+v", first, w.discord.Messages(w.channel))
	}
	w.noBreach()
}

// Those who may talk have a run go on, or end it; a stranger does not, nor a press that was
// forged for a run of another channel.
func TestGoNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	eve := w.discord.AddUser(fake.NewUser{Name: "eve", Guilds: []string{w.guild}})
	w.discord.Say(fake.Said{Channel: w.channel, Text: "<@" + w.who.Bot + "> a long story"})
	run := w.run(1)
	w.noted(run.ID)
	other := w.discord.AddChannel(fake.NewChannel{Guild: w.guild, Name: "other"})
	w.discord.Say(fake.Said{Channel: other, Text: "<@" + w.who.Bot + "> another one"})
	foreign := w.run(2)
	w.noted(foreign.ID)
	message := ""
	for _, each := range []pluginsdk.Run{run, foreign} {
		parked := pluginsdk.Parked{Account: "work", Window: "seven_day", Until: parkedUntil}
		w.host.ParkRun(each.ID, parked)
		w.tell(pluginsdk.EventPipelineParked, each.ThreadID, pluginsdk.ParkedPayload{ThreadID: each.ThreadID, RunID: each.ID, Parked: parked})
	}
	w.until("it has buttons", func() bool {
		for _, shown := range w.discord.Messages(w.channel) {
			if slices.Equal(labels(shown), []string{"Go now", "Cancel"}) && strings.Contains(shown.Text, "weekly limit") {
				message = shown.ID
			}
		}
		return message != ""
	})
	parked := func(n int) bool { return w.runs()[n].Parked != nil }
	if said := w.whispered(w.discord.Press(message, eve, "Go now")); said != notForYou || !parked(0) {
		t.Errorf("a stranger: %q", said)
	}
	client := w.process.account.Load().client
	if said := w.whispered(w.forge(client, press.ID{Action: press.Go, Of: foreign.ID}.String())); !strings.Contains(said, "over already") || !parked(1) {
		t.Errorf("of another channel: %q", said)
	}
	if said := w.whispered(w.forge(client, press.ID{Action: press.Go, Of: "nothing"}.String())); !strings.Contains(said, "over already") {
		t.Errorf("of no run: %q", said)
	}
	w.discord.Press(message, "", "Go now")
	w.until("it goes on", func() bool { return !parked(0) })
	if said := w.whispered(w.discord.Press(message, "", "Go now")); !strings.Contains(said, "being answered already") {
		t.Errorf("once more: %q", said)
	}
	w.discord.Press(message, "", "Cancel")
	w.until("it is over", func() bool { return w.runs()[0].State.Final() })
	if !parked(1) {
		t.Error("the other one goes on")
	}
	w.noBreach()
}
