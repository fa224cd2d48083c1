package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// connect has the plugin read what is written.
func (p *post) connect() {
	p.Helper()
	if err := p.plugin.Activate(p.Context()); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(p.disconnect(p.plugin))
	p.until("the bot is connected", func() bool { return p.discord.State().Ready == 1 })
}

func (p *post) disconnect(plugin *plugintest.Plugin) func() {
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := plugin.Deactivate(ctx); err != nil {
			p.Errorf("deactivate: %v", err)
		}
	}
}

// restart replaces the process by another one.
func (p *post) restart() {
	p.Helper()
	p.disconnect(p.plugin)()
	p.serve()
	p.connect()
}

func (p *post) until(what string, condition func() bool) {
	p.Helper()
	(&world{T: p.T, discord: p.discord, host: p.host, plugin: p.plugin}).until(what, condition)
}

// question has somebody ask the bot, and returns the message and its run, which waits.
func (p *post) question(said string) (id, run string) {
	p.Helper()
	n := len(p.host.Submissions())
	id = p.discord.Say(fake.Said{Channel: p.channel, Text: "<@" + p.discord.Who().Bot + "> " + said})
	return id, p.submitted(n + 1)
}

// submitted is the run of the nth submission, once it is noted.
func (p *post) submitted(n int) (run string) {
	p.Helper()
	p.until("a run is noted", func() bool {
		list, err := p.host.SDK().Runs.List(p.Context(), &pluginsdk.ListRunsRequest{})
		if err != nil || len(list.Runs) < n {
			return false
		}
		run = list.Runs[n-1].ID
		return slices.ContainsFunc(p.host.State(name), func(entry pluginsdk.StateEntry) bool { return entry.Key == runPrefix+run })
	})
	return run
}

// hear broadcasts events.
func (p *post) hear(events ...pluginsdk.Event) {
	p.Helper()
	if _, err := p.plugin.OnBroadcast(p.Context(), &pluginsdk.OnBroadcastRequest{Events: events}); err != nil {
		p.Fatal(err)
	}
}

func event(kind pluginsdk.EventType, payload any) pluginsdk.Event {
	data, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	return pluginsdk.Event{Type: kind, Data: data}
}

func started(run string) pluginsdk.Event {
	return event(pluginsdk.EventPipelineStart, pluginsdk.RunRef{RunID: run})
}

func stream(run string, of pluginsdk.StreamEvent) pluginsdk.Event {
	return event(pluginsdk.EventPipelineStream, pluginsdk.StreamPayload{RunID: run, Event: of})
}

// delta is a piece of text that comes after so many bytes.
func delta(run string, offset int, said string) pluginsdk.Event {
	return stream(run, pluginsdk.StreamEvent{Type: pluginsdk.StreamTextDelta, Offset: offset, Text: said})
}

func block(run, said string) pluginsdk.Event {
	return stream(run, pluginsdk.StreamEvent{Type: pluginsdk.StreamText, Text: said})
}

// shows waits until the bot's messages are these.
func (p *post) shows(want ...string) {
	p.Helper()
	p.until(fmt.Sprintf("the bot says %q", want), func() bool { return slices.Equal(p.says(), want) })
}

// reacts waits until a message has these reactions of the bot.
func (p *post) reacts(id string, want ...string) {
	p.Helper()
	p.until(fmt.Sprintf("%s has %q", id, want), func() bool {
		for _, message := range p.discord.Messages(p.channel) {
			if message.ID != id {
				continue
			}
			for _, emoji := range want {
				if len(message.Reactions[emoji]) == 0 {
					return false
				}
			}
			return len(message.Reactions) == len(want)
		}
		return false
	})
}

const reactRoute = "* /channels/*/messages/*/reactions/*/@me"

// reactionsAsked fails the test unless the bot has asked n times for reactions other than the
// sign that a message waits. A slow machine may show that sign; it is taken back only where it
// was shown.
func (p *post) reactionsAsked(n int) {
	p.Helper()
	waits := url.PathEscape(queued)
	all := p.discord.Count(reactRoute)
	put := p.discord.Count("PUT /channels/*/messages/*/reactions/" + waits + "/@me")
	taken := p.discord.Count("DELETE /channels/*/messages/*/reactions/" + waits + "/@me")
	if all-put-taken != n || taken > put {
		p.Errorf("%d requests for reactions, of them %d put the sign that a message waits and %d take it back; want %d others", all, put, taken, n)
	}
}

// An answer is shown while it is written, in one message that can be stopped, with what the
// agent does; and then it is that message. Edits are no faster than people read.
func TestAnAnswerWhileItIsWritten(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	id, run := p.question("what is the capital of France?")
	p.hear(p.host.BeginRun(run))
	p.reacts(id, running)
	p.until("typing", func() bool { return p.discord.Count("POST /channels/*/typing") == 1 })
	p.hear(delta(run, 0, "It "), delta(run, 3, "is"))
	p.shows("It is\n-# … writing")
	live := p.discord.Messages(p.channel)[1]
	if len(live.Buttons) != 1 || live.ReplyTo != id {
		t.Errorf("got %+v", live)
	}
	p.hear(block(run, "It is known."))
	p.shows("It is known.\n-# … writing")
	p.hear(stream(run, pluginsdk.StreamEvent{Type: pluginsdk.StreamToolCall, ToolName: "mcp__web__look_up"}))
	p.shows("It is known.\n-# … look\\_up")
	p.hear(delta(run, 12, "Paris"))
	p.shows("It is known.\n\nParis\n-# … writing")
	p.deliver(p.to(reply(run, "It is known.\n\nParis.")))
	p.holds("in the end", "It is known.\n\nParis.")
	p.reacts(id, done)
	var edits []time.Time
	for _, request := range p.discord.Requests() {
		if strings.HasPrefix(request.Route, "PATCH /channels/{channel}/messages") {
			edits = append(edits, request.At)
		}
	}
	for i := range edits[1 : len(edits)-1] { // the answer itself waits for nothing
		if pause := edits[i+1].Sub(edits[i]); pause < editPause {
			t.Errorf("two edits within %s", pause)
		}
	}
	p.reactionsAsked(3)
	if p.inner.views.of(run) != nil {
		t.Error("it is shown still")
	}
}

// Another attempt says everything again: nothing stands there twice.
func TestAnotherAttempt(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	_, run := p.question("well?")
	p.hear(p.host.BeginRun(run), delta(run, 0, "The ans"))
	p.shows("The ans\n-# … writing")
	p.hear(event(pluginsdk.EventPipelineRetry, pluginsdk.RetryPayload{RunID: run}))
	p.shows("The ans\n-# … something went wrong; it is tried again")
	if v := p.inner.views.of(run); !v.paused {
		t.Error("it types while nothing is done")
	}
	p.hear(started(run), delta(run, 0, "The answer"))
	p.shows("The answer\n-# … writing")
}

// What was missed of an answer is not guessed, and is there with the whole block.
func TestPiecesThatWereMissed(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	_, run := p.question("well?")
	p.hear(p.host.BeginRun(run), delta(run, 0, "One,"), delta(run, 9, "three"))
	p.shows("One, … three\n-# … writing")
	p.hear(block(run, "One, two, three."), delta(run, 16, "Four."))
	p.shows("One, two, three.\n\nFour.\n-# … writing")
}

// Nobody is shown to be at work while the agent waits for people, however long.
func TestARunThatWaitsForPeople(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	_, run := p.question("well?")
	p.hear(p.host.BeginRun(run), delta(run, 0, "I look."))
	p.shows("I look.\n-# … writing")
	asks := event(pluginsdk.EventApprovalRequested, pluginsdk.ApprovalPayload{RunID: run, ApprovalID: "a"})
	p.hear(asks)
	p.shows("I look.\n-# … it waits for an answer")
	v := p.inner.views.of(run)
	typed := p.discord.Count("POST /channels/*/typing")
	v.showTyping()
	if p.discord.Count("POST /channels/*/typing") != typed {
		t.Error("it types")
	}
	p.hear(event(pluginsdk.EventApprovalResolved, pluginsdk.ApprovalPayload{RunID: run, ApprovalID: "a"}))
	p.shows("I look.\n-# … writing")
}

// A run that ended in the queue has no answer: nothing goes on waiting for one.
func TestARunThatIsDroppedFromTheQueue(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	id, run := p.question("well?")
	p.hear(p.host.BeginRun(run), delta(run, 0, "I lo"))
	p.shows("I lo\n-# … writing")
	p.hear(event(pluginsdk.EventPipelineRetry, pluginsdk.RetryPayload{RunID: run}),
		event(pluginsdk.EventPipelineError, pluginsdk.ErrorPayload{RunID: run, Error: "stopped by Ann"}))
	p.reacts(id, failed)
	p.until("the record is gone", func() bool { _, ok := p.inner.runs.cached(run); return !ok })
	p.holds("dropped", "I lo")
}

// Questions that are answered together all show it, and one live message is left of them.
func TestQuestionsThatAreMerged(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	first, run := p.question("one?")
	p.hear(p.host.BeginRun(run), delta(run, 0, "One"))
	p.shows("One\n-# … writing")
	second, merged := p.question("two?")
	p.hear(event(pluginsdk.EventPipelineMerged, pluginsdk.MergedPayload{RunID: merged, Into: run}))
	p.until("merged", func() bool { of, _ := p.inner.runs.cached(run); return len(of.Questions) == 2 })
	p.deliver(p.to(reply(run, "One and two.")))
	p.holds("merged", "One and two.")
	p.reacts(first, done)
	p.reacts(second, done)
}

// Nothing goes on saying that an answer is being written, or waits for a plan, because Discord
// was not there when its run was merged into another one.
func TestARunThatEndsWhileDiscordIsAway(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	_, run := p.question("one?")
	_, merged := p.question("two?")
	p.shows(p.parks(merged))
	const looks = "GET /channels/*/messages/*"
	p.discord.Break(fake.Fault{Route: looks, Kind: fake.FaultStatus, Status: 503})
	p.hear(event(pluginsdk.EventPipelineMerged, pluginsdk.MergedPayload{RunID: merged, Into: run}))
	p.until("it could not be closed", func() bool { of, _ := p.inner.runs.cached(run); return len(of.Questions) == 2 })
	p.holds("meanwhile", parkedLine(pluginsdk.Parked{Window: "five_hour", Until: parkedUntil}))
	p.discord.Mend()
	p.until("it is gone", func() bool { return len(p.says()) == 0 })
}

// A run that begins before its record is stored is shown once the record is.
func TestAnEarlyStart(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	asked := p.discord.Say(fake.Said{Channel: p.channel, Text: "well?"})
	const run = "early"
	p.host.AddRun(pluginsdk.Run{ID: run, State: pluginsdk.RunQueued})
	stored := p.inner.at.begin(p.channel)
	p.hear(p.host.BeginRun(run), delta(run, 0, "One,"))
	for range 100 { // time enough to look for the record too early
		if _, err := p.inner.host.Runs.List(t.Context(), &pluginsdk.ListRunsRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.inner.runs.begin(t.Context(), run, func(r *record) {
		r.Channel, r.Questions = p.channel, []question{{p.channel, asked}}
	}); err != nil {
		t.Fatal(err)
	}
	stored()
	p.until("the run is shown", func() bool { return p.inner.views.of(run) != nil })
	p.hear(delta(run, 5, "two"))
	p.shows("… two\n-# … writing")
}

// An event that comes late begins nothing that would never end.
func TestALateStart(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	_, run := p.question("well?")
	begun := p.host.BeginRun(run)
	p.deliver(p.to(reply(run, "Yes.")))
	p.hear(begun, delta(run, 0, "Ye"))
	p.inner.views.begin(run)
	if p.inner.views.of(run) != nil {
		t.Error("it is shown")
	}
	_, other := p.question("and?")
	p.inner.views.end(other)
	p.inner.views.begin(other)
	if p.inner.views.of(other) != nil {
		t.Error("one that ends is shown")
	}
}

// What operators have switched off is not there.
func TestWithoutLiveAndReactions(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, map[string]any{"live": false, "reactions": false})
	p.connect()
	_, run := p.question("well?")
	p.hear(p.host.BeginRun(run), delta(run, 0, "Yes"), block(run, "Yes."))
	p.until("typing", func() bool { return p.discord.Count("POST /channels/*/typing") == 1 })
	v := p.inner.views.of(run)
	p.until("it was heard", func() bool { return len(v.news) == 0 })
	p.hear(p.host.FinishRun(run, pluginsdk.InvokeResult{Text: "Yes."}))
	<-v.ended
	p.deliver(p.to(reply(run, "Yes.")))
	p.holds("in the end", "Yes.")
	if n := p.discord.Count(reactRoute); n != 0 {
		t.Errorf("%d requests for reactions", n)
	}
	if n := p.discord.Count("PATCH /channels/*/messages/*"); n != 0 {
		t.Errorf("%d edits", n)
	}
}

// A question that waits says so after a moment; one that is answered at once shows that
// alone.
func TestReactions(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	quick, run := p.question("quick?")
	p.deliver(p.to(reply(run, "Yes.")))
	p.reacts(quick, done)
	p.reactionsAsked(1)
	slow, waits := p.question("slow?")
	p.reacts(slow, queued)
	p.hear(p.host.BeginRun(waits))
	p.reacts(slow, running)
	p.deliver(p.to(lineOf(waits, "pipeline_error", "It failed.")))
	p.reacts(slow, failed)
	p.reactionsAsked(4)
}

// A moderator's word is the last one: a live message that is deleted does not come back.
func TestALiveMessageThatIsDeleted(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.connect()
	_, run := p.question("well?")
	p.hear(p.host.BeginRun(run), delta(run, 0, "One"))
	p.shows("One\n-# … writing")
	p.discord.Delete(p.discord.Messages(p.channel)[1].ID)
	p.hear(delta(run, 3, ", two"))
	p.until("an edit is refused", func() bool { return p.discord.Count("PATCH /channels/*/messages/*") == 1 })
	p.hear(delta(run, 8, ", three"))
	p.deliver(p.to(reply(run, "One, two, three.")))
	p.holds("in the end", "One, two, three.")
}

// A command's answer stands where Discord keeps a place for it, once: also when the process
// dies, and as a message of its own when Discord keeps the place no longer.
func TestACommandsAnswer(t *testing.T) {
	t.Parallel()
	p := newPost(t, fake.Config{}, nil)
	p.host.AddCommand(pluginsdk.Command{CommandSpec: pluginsdk.CommandSpec{Name: "status", Description: "how it stands"}})
	p.connect()
	connected := p.inner
	p.until("the commands are offered", func() bool { return p.offered("status") })
	answered := 0
	give := func() (interaction, run string) {
		p.inner = connected
		n := len(p.host.Submissions())
		interaction = p.discord.Slash(fake.Slash{Channel: p.channel, Name: "status"})
		run = p.submitted(n + 1)
		p.serve()
		p.deliver(p.to(told(fmt.Sprintf("behind %s", run)))) // the command's place is before it
		return interaction, run
	}
	once := func(what, said string) {
		t.Helper()
		if n := len(slices.DeleteFunc(p.says(), func(each string) bool { return each != said })); n != 1 {
			t.Errorf("%s: the answer is there %d times", what, n)
		}
		answered++
	}
	for _, part := range []bool{false, true} { // a command's own line, or one of several of a run
		for _, done := range []bool{false, true} {
			for call := int64(2); ; call++ {
				interaction, run := give()
				said := fmt.Sprintf("answer %d", answered)
				message := reply(run, said)
				if part {
					message.Role, message.Plugin, message.Source = pluginsdk.RoleSystem, "tasks", "tasks"
				}
				request := p.to(message)
				p.inner = new(Plugin)
				p.plugin = p.host.ServeUntil(t, p.inner, plugintest.Death{Call: call, CarriedOut: done})
				err, plugin := p.attempt(request), p.plugin
				if err != nil {
					p.serve()
					p.deliver(request)
				}
				once(fmt.Sprintf("part %v, call %d, done %v", part, call, done), said)
				if got := p.discord.Interaction(interaction).Original; got == nil || got.Text != said {
					t.Errorf("the command's place has %+v", got)
				}
				if !plugin.Died() {
					break
				}
			}
		}
	}

	_, run := give()
	request := p.to(reply(run, "just in time"))
	p.discord.Break(fake.Fault{Route: "PATCH /webhooks/**", Kind: fake.FaultLost})
	if p.attempt(request) == nil {
		t.Fatal("answered")
	}
	p.discord.Mend()
	if err := p.inner.runs.change(t.Context(), run, func(r *record) { r.Answer.Until = time.Now() }); err != nil {
		t.Fatal(err)
	}
	p.deliver(request)
	once("just in time", "just in time")

	_, run = give()
	if err := connected.runs.change(t.Context(), run, func(r *record) { r.Answer.Until = time.Now() }); err != nil {
		t.Fatal(err)
	}
	p.plugin = p.host.Serve(t, new(Plugin))
	p.deliver(p.to(reply(run, "late")))
	once("late", "late")

	// What is answered with another message, or not at all, says so.
	_, merged := give()
	connected.merged(t.Context(), merged, "another")
	once("merged", "-# it is answered together with another message")
	_, dropped := give()
	connected.dropped(t.Context(), dropped, "cancelled by Ann")
	once("dropped", "-# cancelled by Ann")
}

// offered reports whether a command is offered in the channel's guild.
func (p *post) offered(name string) bool {
	for _, request := range p.discord.Requests() {
		if request.Method == "PUT" && strings.Contains(request.Path, "/guilds/") && strings.Contains(request.Body, `"`+name+`"`) && request.Status == 200 {
			return true
		}
	}
	return false
}

// A delivery that was given up and is taken up again is not mistaken for a later one of the
// same words.
func TestADeliveryThatIsTakenUpAgain(t *testing.T) {
	p := newPost(t, fake.Config{}, nil)
	request := p.to(told("ok"))
	p.discord.Break(fake.Fault{Kind: fake.FaultCut, Times: 1})
	if p.attempt(request) == nil {
		t.Fatal("delivered")
	}
	p.deliver(p.to(told("ok")))
	p.deliver(request)
	p.holds("taken up again", "ok", "ok")
}
