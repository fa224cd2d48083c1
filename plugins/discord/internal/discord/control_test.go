package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/plugins/discord/internal/slash"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// offered waits until Discord has a command in a guild; of "", in direct messages.
func (w *world) offered(guild, name string) {
	w.Helper()
	w.until("the command "+name+" in "+guild, func() bool { return w.has(guild, name) })
}

func (w *world) has(guild, name string) bool {
	return slices.ContainsFunc(w.discord.Commands(guild), func(raw json.RawMessage) bool {
		var command struct{ Name string }
		return json.Unmarshal(raw, &command) == nil && command.Name == name
	})
}

// answered waits for the first answer to an interaction.
func (w *world) answered(id string) fake.Interaction {
	w.Helper()
	w.until("an answer", func() bool { return w.discord.Interaction(id).Answer != 0 })
	return w.discord.Interaction(id)
}

// whispered waits for what one person alone is told on an interaction.
func (w *world) whispered(id string) (said string) {
	w.Helper()
	w.until("a whisper", func() bool {
		of := w.discord.Interaction(id)
		all := of.Sent
		if of.Original != nil {
			all = append(all, *of.Original)
		}
		for _, message := range all {
			if message.Only != "" {
				said = message.Text
				return true
			}
		}
		return false
	})
	return said
}

// deliver has the plugin carry something, once.
func (w *world) deliver(id string, attempt int, place string, message pluginsdk.Message, approval *pluginsdk.Approval) string {
	w.Helper()
	done, err := w.plugin.Deliver(w.Context(), &pluginsdk.DeliverRequest{
		Delivery: pluginsdk.Delivery{ID: id, Place: place, Plugin: name, Attempt: attempt, CreatedAt: time.Now()},
		Message:  message, Thread: pluginsdk.Thread{ID: message.ThreadID}, Approval: approval,
	})
	if err != nil {
		w.Fatal(err)
	}
	return done.ExternalID
}

// shows is a message of a channel as people see it.
func (w *world) shows(channel, id string) fake.Message {
	w.Helper()
	i := slices.IndexFunc(w.discord.Messages(channel), func(m fake.Message) bool { return m.ID == id })
	if i < 0 {
		w.Fatalf("there is no message %s", id)
	}
	return w.discord.Messages(channel)[i]
}

// replyOf is what the assistant says in a run.
func replyOf(run pluginsdk.Run, said string) pluginsdk.Message {
	return pluginsdk.Message{ID: 2, ThreadID: run.ThreadID, RunID: run.ID, Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Content: said}
}

var noted = pluginsdk.Command{Plugin: "notes", CommandSpec: pluginsdk.CommandSpec{Name: "note", Description: "writes down", Options: []pluginsdk.CommandOption{
	{Name: "words", Type: pluginsdk.OptionText, Required: true},
	{Name: "times", Type: pluginsdk.OptionNumber, Named: true},
	{Name: "loud", Type: pluginsdk.OptionFlag, Named: true},
	{Name: "thread", Type: pluginsdk.OptionThread, Named: true},
	{Name: "task", Type: pluginsdk.OptionTask, Named: true},
}}}

// A command of which Discord tells twice is answered once. Source: reference#consistency.
func TestACommandThatIsToldOfTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.host.AddCommand(noted)
	w.offered(w.guild, "note")
	w.discord.BreakEvents(fake.EventFault{Event: "INTERACTION_CREATE", Kind: "duplicate"})
	given := w.discord.Slash(fake.Slash{Channel: w.channel, Name: "note", Options: map[string]any{"words": "buy milk"}})
	w.answered(given)
	w.submission(1)
	w.stop() // when nothing is at work any more
	w.noBreach()
}

// A command is given as it would be typed, and its answer stands where Discord waits for it:
// in channels, threads and direct messages.
func TestACommandAndItsAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.host.AddCommand(noted)
	w.offered(w.guild, "note")
	w.offered("", "note")
	places := []string{w.channel, w.discord.AddThread(fake.NewThread{Channel: w.channel, Name: "T", Text: "hi"}), w.discord.DM(w.who.Owner)}
	for i, place := range places {
		given := w.discord.Slash(fake.Slash{Channel: place, Name: "note", Options: map[string]any{"words": "buy milk", "times": 2, "loud": true}})
		if got := w.answered(given); got.Answer != 5 {
			t.Fatalf("answered with %d, want to be told to wait", got.Answer)
		}
		if said := w.submission(i + 1); said.Content != `/note times=2 loud buy milk` || said.Key != given || said.Author != "owner" || said.Scope != pluginsdk.ScopeAdmin {
			t.Fatalf("got %+v", said)
		}
		run := w.run(i + 1)
		w.deliver(fmt.Sprintf("a%d", i), 1, place, replyOf(run, "Done. @everyone"), nil)
		w.deliver(fmt.Sprintf("a%d", i), 2, place, replyOf(run, "Done. @everyone"), nil)
		first := w.answered(given).Original
		if first == nil || first.Text != "Done. @everyone" || first.Loading || !first.Pinged.Nobody() || first.Only != "" {
			t.Errorf("in place %d: %+v", i, first)
		}
		if n := len(w.discord.Messages(place)); n != len(w.discord.Messages(places[i])) || first != nil && w.discord.Messages(place)[n-1].ID != first.ID {
			t.Errorf("something stands behind the answer: %+v", w.discord.Messages(place))
		}
	}
	w.noBreach()
}

// Of several rows the first stands where Discord waits, and a restart in between loses none.
func TestACommandIsAnsweredByTheNextProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.offered(w.guild, "status")
	given := w.discord.Slash(fake.Slash{Channel: w.channel, Name: "status"})
	run := w.run(1)
	w.until("what is answered is noted", func() bool { return len(w.host.State(name)) > 0 })
	if err := w.plugin.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until("it is gone", func() bool { return w.discord.State().Connections == 0 })
	w.plugin = w.host.Serve(t, new(Plugin)) // delivers without being connected
	row := pluginsdk.Message{ID: 3, ThreadID: run.ThreadID, RunID: run.ID, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Content: "first"}
	w.deliver("r1", 1, w.channel, row, nil)
	row.Content = "second"
	w.deliver("r2", 1, w.channel, row, nil)
	if got := w.answered(given).Original; got == nil || got.Text != "first" {
		t.Errorf("got %+v", got)
	}
	if all := w.discord.Messages(w.channel); len(all) != 2 || all[1].Text != "second" {
		t.Errorf("got %+v", all)
	}
	w.noBreach()
}

// An answer that comes after Discord has stopped waiting is a message.
func TestALateAnswerIsAMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.offered(w.guild, "status")
	given := w.discord.Slash(fake.Slash{Channel: w.channel, Name: "status"})
	run := w.run(1)
	w.discord.Advance(16 * time.Minute)
	w.deliver("late", 1, w.channel, replyOf(run, "at last"), nil)
	if all := w.discord.Messages(w.channel); len(all) != 2 || all[1].Text != "at last" || !w.discord.Interaction(given).Original.Loading {
		t.Errorf("got %+v", all)
	}
}

// What the assistant does not take in is said where Discord waits, to nobody's harm.
func TestARefusedCommandIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.offered(w.guild, "status")
	w.host.Fail("Messages.Submit", pluginsdk.Errorf(pluginsdk.CodeExhausted, "the queue of @everyone is full"))
	given := w.discord.Slash(fake.Slash{Channel: w.channel, Name: "status"})
	w.until("it is told", func() bool {
		of := w.discord.Interaction(given).Original
		return of != nil && strings.Contains(of.Text, "not taken in: the queue of @\u200beveryone is full") && of.Pinged.Nobody()
	})
	w.noBreach()
}

// A command is submitted again while the host is away for a moment, and Discord, which is away
// as well, is told again that it was not taken in: nobody is left with a bot that thinks.
func TestACommandOutlastsWhatPasses(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, fake.Config{}, nil)
	w.pace = 5 * time.Millisecond
	w.start()
	w.offered(w.guild, "status")
	w.host.Fail("Messages.Submit", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away"))
	given := w.discord.Slash(fake.Slash{Channel: w.channel, Name: "status"})
	w.until("it is tried again", func() bool { return strings.Contains(w.log.String(), "cannot be seen to; trying again") })
	w.host.Fail("Messages.Submit", nil)
	w.deliver("d", 1, w.channel, replyOf(w.run(1), "ok"), nil)
	if got := w.answered(given).Original; got == nil || got.Text != "ok" {
		t.Errorf("got %+v", got)
	}

	w.discord.Break(fake.Fault{Route: "PATCH /webhooks/*/*/messages/@original", Kind: fake.FaultStatus, Status: 503, Times: 4})
	w.host.Fail("Messages.Submit", pluginsdk.Errorf(pluginsdk.CodeDenied, "it may not"))
	given = w.discord.Slash(fake.Slash{Channel: w.channel, Name: "status"})
	w.until("it is told", func() bool {
		of := w.discord.Interaction(given).Original
		return of != nil && strings.Contains(of.Text, "not taken in: it may not")
	})
	w.noBreach()
}

// lossyHost takes a message in, and its first answer is lost.
type lossyHost struct {
	pluginsdk.Messages
	over func() // called before the loss
	once *sync.Once
}

func (s lossyHost) Submit(ctx context.Context, request *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	response, err := s.Messages.Submit(ctx, request)
	s.once.Do(func() {
		s.over()
		err = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the answer is lost")
	})
	return response, err
}

// A command that was submitted although it seemed to fail, and is over by now, leaves nobody with a
// bot that thinks.
func TestACommandWhoseSubmissionIsNotConfirmed(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, fake.Config{}, nil)
	sdk := w.host.As(new(Plugin).Manifest())
	sdk.Messages = lossyHost{sdk.Messages, func() { w.host.FinishRun(w.run(1).ID, pluginsdk.InvokeResult{Text: "ok"}) }, new(sync.Once)}
	w.serve(plugintest.Serve(t, &Plugin{pace: 5 * time.Millisecond}, sdk))
	w.offered(w.guild, "status")
	given := w.discord.Slash(fake.Slash{Channel: w.channel, Name: "status"})
	w.until("it is told", func() bool {
		of := w.discord.Interaction(given).Original
		return of != nil && strings.Contains(of.Text, "a message below")
	})
	if n := len(w.host.Submissions()); n != 1 {
		t.Errorf("submitted %d times", n)
	}
	w.noBreach()
}

// slowHost takes its time to take messages in.
type slowHost struct {
	pluginsdk.Messages
	gate chan struct{}
}

func (s slowHost) Submit(ctx context.Context, request *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	select {
	case <-s.gate:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.Messages.Submit(ctx, request)
}

// Discord is answered in time whatever the host does, and however many are given at once:
// the channel's own messages hold none up.
func TestASlowHostKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, fake.Config{IdentifyEvery: time.Nanosecond}, map[string]any{"starts": "everything"})
	w.offered(w.guild, "status")
	if err := w.plugin.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until("it is gone", func() bool { return w.discord.State().Connections == 0 })
	sdk, gate := w.host.As(w.plugin.Manifest()), make(chan struct{})
	sdk.Messages = slowHost{sdk.Messages, gate}
	w.plugin = plugintest.Serve(t, new(Plugin), sdk)
	if err := w.plugin.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	plugin := w.plugin
	t.Cleanup(func() { _ = plugin.Deactivate(context.WithoutCancel(t.Context())) })
	w.until("the bot is connected", func() bool { return w.discord.State().Ready == 1 })
	w.discord.Say(fake.Said{Channel: w.channel, Text: "this one waits"})
	var given []string
	for range 20 {
		given = append(given, w.discord.Slash(fake.Slash{Channel: w.channel, Name: "status"}))
	}
	for _, id := range given {
		if got := w.answered(id); got.Answer != 5 {
			t.Errorf("answered with %d", got.Answer)
		}
	}
	close(gate)
	w.submission(21)
	seen := make(map[string]int)
	for _, said := range w.host.Submissions() {
		seen[said.Key]++
	}
	for _, id := range given {
		if seen[id] != 1 {
			t.Errorf("%s was submitted %d times", id, seen[id])
		}
	}
	w.noBreach()
}

// A first answer of which it is not known whether it arrived is given again; what was asked
// for is done once.
func TestALostFirstAnswer(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{fake.FaultLost, fake.FaultCut, fake.FaultStatus} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.offered(w.guild, "status")
			w.discord.Break(fake.Fault{Route: "POST /interactions/*/*/callback", Kind: kind, Status: 502, Times: 1})
			given := w.discord.Slash(fake.Slash{Channel: w.channel, Name: "status"})
			run := w.run(1)
			w.deliver("d", 1, w.channel, replyOf(run, "ok"), nil)
			if got := w.answered(given).Original; got == nil || got.Text != "ok" {
				t.Errorf("got %+v", got)
			}
			w.noBreach()
		})
	}
}

// Who may not talk to the assistant is told so, alone; nothing is submitted and nothing of
// the owner's is suggested to them.
func TestCommandsOfStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.host.AddCommand(noted)
	w.host.AddThread(pluginsdk.Thread{ID: "secret-thread", Name: "secret plans"})
	w.offered(w.guild, "note")
	stranger := w.discord.AddUser(fake.NewUser{Name: "eve", Guilds: []string{w.guild}})
	asked := w.discord.Say(fake.Said{Channel: w.channel, By: stranger, Text: "look"})
	for _, given := range []string{
		w.discord.Slash(fake.Slash{Channel: w.channel, By: stranger, Name: "note", Options: map[string]any{"words": "x"}}),
		w.discord.Slash(fake.Slash{Channel: w.discord.DM(stranger), By: stranger, Name: "note", Options: map[string]any{"words": "x"}}),
		w.discord.Menu(asked, stranger, slash.Ask),
	} {
		if said := w.whispered(given); said != notForYou {
			t.Errorf("told %q", said)
		}
		if w.answered(given).Modal != nil {
			t.Error("a form was opened")
		}
	}
	typing := w.discord.Slash(fake.Slash{Channel: w.channel, By: stranger, Name: "note", Options: map[string]any{"thread": "s"}, Typing: "thread"})
	if got := w.answered(typing); len(got.Choices) > 0 {
		t.Errorf("suggested %+v", got.Choices)
	}
	if n := len(w.host.Submissions()); n > 0 {
		t.Errorf("%d submissions", n)
	}
	w.noBreach()
}

// Threads and tasks are suggested by name in the owner's own places, and nowhere else.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.host.AddCommand(noted)
	w.host.AddThread(pluginsdk.Thread{ID: "T1", Name: "secret plans"})
	w.host.AddTask(pluginsdk.Task{ID: "K1", Status: pluginsdk.TaskRunning, OriginalMessage: "paint the fence"})
	w.offered(w.guild, "note")
	w.offered("", "note")
	for _, test := range []struct {
		place, option, typed string
		want                 []fake.Choice
	}{
		{w.discord.DM(w.who.Owner), "thread", "PLANS", []fake.Choice{{Name: "secret plans", Value: "T1"}}},
		{w.discord.DM(w.who.Owner), "task", "paint", []fake.Choice{{Name: "running: paint the fence", Value: "K1"}}},
		{w.channel, "thread", "plans", nil},
		{w.channel, "task", "paint", nil},
	} {
		given := w.discord.Slash(fake.Slash{Channel: test.place, Name: "note", Options: map[string]any{test.option: test.typed}, Typing: test.option})
		if got := w.answered(given); got.Answer != 8 || !slices.Equal(got.Choices, test.want) {
			t.Errorf("%s %s: answered with %d, %+v; want %+v", test.option, test.typed, got.Answer, got.Choices, test.want)
		}
	}
	w.noBreach()
}

// Plugins come and go with their commands; Discord is told of nothing where nothing has
// changed.
func TestCommandsAreKeptInStep(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, fake.Config{IdentifyEvery: time.Nanosecond}, nil)
	w.offered(w.guild, "status")
	w.offered("", "status")
	w.host.AddCommand(noted)
	state := &pluginsdk.OnBroadcastRequest{Events: []pluginsdk.Event{{Type: pluginsdk.EventPluginState, Data: json.RawMessage(`{}`)}}}
	for range 5 {
		if _, err := w.plugin.OnBroadcast(t.Context(), state); err != nil {
			t.Fatal(err)
		}
	}
	w.offered(w.guild, "note")
	w.offered("", "note")
	put := func() int {
		return w.discord.Count("PUT /applications/*/commands") + w.discord.Count("PUT /applications/*/guilds/*/commands")
	}
	if n := put(); n != 4 {
		t.Errorf("Discord was told %d times, want twice in each place: once each that there was something new", n)
	}
	other := w.discord.AddGuild(fake.NewGuild{Name: "Other"})
	w.offered(other, "note")
	if n := put(); n != 5 {
		t.Errorf("Discord was told %d times, want once more of a guild", n)
	}
	// Another process finds all as it is.
	if err := w.plugin.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until("it is gone", func() bool { return w.discord.State().Connections == 0 })
	read := w.discord.Count("GET /applications/*/guilds/*/commands")
	w.start()
	w.until("the commands are compared", func() bool { return w.discord.Count("GET /applications/*/guilds/*/commands") >= read+2 })
	if n := put(); n != 5 {
		t.Errorf("Discord was told %d times, though it had all", n)
	}
	w.noBreach()
}

// A guild that does not let the bot offer commands keeps no other from having them, and is
// not asked for ever; what Discord refuses for a while is tried again.
func TestAGuildWithoutCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.offered(w.guild, "status")
	w.discord.Break(fake.Fault{Route: "PUT /applications/*/guilds/*/commands", Kind: fake.FaultStatus, Status: 403})
	w.discord.AddGuild(fake.NewGuild{Name: "Closed"})
	w.until("the check says so", func() bool {
		check, ok := w.check("commands")
		return ok && check.State == pluginsdk.CheckWarning && strings.Contains(check.Detail, "1 servers") && strings.Contains(check.Remedy, "harness discord invite")
	})
	w.discord.Mend()
	w.discord.Break(fake.Fault{Route: "PUT /applications/*/guilds/*/commands", Kind: fake.FaultLimit, RetryAfter: 50 * time.Millisecond, Times: 1})
	third := w.discord.AddGuild(fake.NewGuild{Name: "Open"})
	w.offered(third, "status")
	w.until("the check is content", func() bool { _, ok := w.check("commands"); return !ok })
}

// check is what OnCheck says under a name.
func (w *world) check(of string) (pluginsdk.Check, bool) {
	w.Helper()
	answer, err := w.plugin.OnCheck(w.Context(), &pluginsdk.OnCheckRequest{})
	if err != nil {
		w.Fatal(err)
	}
	i := slices.IndexFunc(answer.Checks, func(c pluginsdk.Check) bool { return c.Name == of })
	if i < 0 {
		return pluginsdk.Check{}, false
	}
	return answer.Checks[i], true
}

// Something is asked about a message of anybody's, from its menu: the agent gets the message
// with its files, also where the bot may read no messages.
func TestAskAboutAMessage(t *testing.T) {
	t.Parallel()
	for name, intent := range map[string]int{"with the intent": 0, "without": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorldOf(t, fake.Config{Privileged: intent}, nil)
			w.offered(w.guild, "status")
			other := w.discord.AddUser(fake.NewUser{Name: "bob", Guilds: []string{w.guild}})
			long := strings.Repeat("a rather long line\n", 60) + "and its end"
			about := w.discord.Say(fake.Said{Channel: w.channel, By: other, Text: long, Files: []fake.SaidFile{{Name: "plan.txt", Data: []byte("secret")}}})
			menu := w.discord.Menu(about, "", slash.Ask)
			if w.answered(menu).Modal == nil {
				t.Fatal("there is no form")
			}
			given := w.discord.Submit(menu, map[string]string{"said": "Is this right?"})
			said := w.submission(1)
			if !strings.HasPrefix(said.Content, "About this message of bob:\n> a rather long line\n> ") ||
				!strings.HasSuffix(said.Content, "> and its end\n\nIs this right?") || len(said.Attachments) != 1 {
				t.Errorf("got %q with %d files", said.Content, len(said.Attachments))
			}
			w.deliver("d", 1, w.channel, replyOf(w.run(1), "It is."), nil)
			if got := w.answered(given).Original; got == nil || got.Text != "It is." {
				t.Errorf("got %+v", got)
			}
			w.noBreach()
		})
	}
}

// A message that was deleted meanwhile is said to be gone where its content was not kept.
func TestAskAboutWhatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.offered(w.guild, "status")
	about := w.discord.Say(fake.Said{Channel: w.channel, Text: "x"})
	menu := w.discord.Menu(about, "", slash.Ask)
	w.answered(menu)
	if err := w.plugin.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until("it is gone", func() bool { return w.discord.State().Connections == 0 })
	w.start()
	w.discord.Delete(about)
	given := w.discord.Submit(menu, map[string]string{"said": "?"})
	w.until("it is told", func() bool {
		of := w.discord.Interaction(given).Original
		return of != nil && strings.Contains(of.Text, "cannot be read")
	})
	if n := len(w.host.Submissions()); n > 0 {
		t.Errorf("%d submissions", n)
	}
}

// What somebody was told will be seen to is, also when the bot is told to stop meanwhile.
func TestACommandOutlivesTheSession(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, fake.Config{IdentifyEvery: time.Nanosecond}, nil)
	w.offered(w.guild, "status")
	if err := w.plugin.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until("it is gone", func() bool { return w.discord.State().Connections == 0 })
	sdk, gate := w.host.As(w.plugin.Manifest()), make(chan struct{})
	sdk.Messages = slowHost{sdk.Messages, gate}
	plugin := plugintest.Serve(t, new(Plugin), sdk)
	if err := plugin.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until("the bot is connected", func() bool { return w.discord.State().Ready == 1 })
	w.answered(w.discord.Slash(fake.Slash{Channel: w.channel, Name: "status"}))
	ended := make(chan error)
	go func() { ended <- plugin.Deactivate(t.Context()) }()
	w.until("it is gone", func() bool { return w.discord.State().Connections == 0 })
	close(gate)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if said := w.submission(1); said.Content != "/status" {
		t.Errorf("got %+v", said)
	}
}

// A bot that is in no server yet offers its commands in direct messages.
func TestCommandsWithoutAServer(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, fake.Config{IdentifyEvery: time.Nanosecond}, nil)
	if err := w.plugin.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until("it is gone", func() bool { return w.discord.State().Connections == 0 })
	w.discord.RemoveBot(w.guild)
	w.host.AddCommand(noted)
	w.start()
	w.offered("", "note")
	w.noBreach()
}

// newWorldOf is newWorld with another Discord.
func newWorldOf(t *testing.T, config fake.Config, settings map[string]any) *world {
	t.Helper()
	w := emptyWorld(t, config, settings)
	w.start()
	return w
}
