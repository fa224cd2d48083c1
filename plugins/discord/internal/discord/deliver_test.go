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
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// unlimited are limits that no test comes near.
var unlimited = map[string]fake.Limit{
	"send": {Count: 10000, Per: time.Second}, "edit": {Count: 10000, Per: time.Second}, "history": {Count: 10000, Per: time.Second},
	"message": {Count: 10000, Per: time.Second}, "delete": {Count: 10000, Per: time.Second}, "react": {Count: 10000, Per: time.Second},
	"typing": {Count: 10000, Per: time.Second},
}

// post is a plugin that delivers, and is not connected.
type post struct {
	*testing.T
	discord *fake.Server
	host    *plugintest.Host
	inner   *Plugin
	plugin  *plugintest.Plugin
	channel string
	serial  int64
}

func newPost(t *testing.T, config fake.Config, settings map[string]any) *post {
	t.Helper()
	if config.Limits == nil {
		config.Limits, config.Global = unlimited, 10000
	}
	p := &post{T: t, discord: fake.New(config), host: plugintest.NewHost()}
	base, err := p.discord.Listen("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.discord.Close)
	p.channel = p.discord.AddChannel(fake.NewChannel{Guild: p.discord.AddGuild(fake.NewGuild{Name: "Home"}), Name: "general"})
	all := map[string]any{"token": "token", "apiURL": base + "/api/v10"}
	for name, value := range settings {
		all[name] = value
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	p.host.SetSettings(raw)
	p.serve()
	return p
}

// serve begins another process of the plugin.
func (p *post) serve() {
	p.inner = new(Plugin)
	p.plugin = p.host.Serve(p.T, p.inner)
}

// asked makes a run of a person's question, and returns both ids.
func (p *post) asked(kind pluginsdk.RunKind) (run, asked string) {
	p.Helper()
	p.serial++
	run = fmt.Sprintf("run-%d", p.serial)
	asked = p.discord.Say(fake.Said{Channel: p.channel, Text: "a question of " + run})
	p.host.AddRun(pluginsdk.Run{ID: run, Kind: kind, State: pluginsdk.RunRunning})
	if err := p.inner.runs.begin(p.Context(), run, func(r *record) {
		r.Channel, r.Questions = p.channel, []question{{p.channel, asked}}
	}); err != nil {
		p.Fatal(err)
	}
	return run, asked
}

// live shows a run as its view does. unknown says that the process died before it learned
// the message's id.
func (p *post) live(run, said string, unknown bool) string {
	p.Helper()
	of, _, err := p.inner.runs.get(p.Context(), run)
	if err != nil {
		p.Fatal(err)
	}
	if err := p.inner.runs.change(p.Context(), run, func(r *record) { r.Live, r.Since = unknownLive, of.asked() }); err != nil {
		p.Fatal(err)
	}
	posted, err := p.inner.account.Load().client.Send(p.Context(), p.channel, rest.Message{
		Content: liveText(said, ""), Components: stopButton(run), Nonce: nonce("live", run, 0), ReplyTo: of.replyTo(),
	})
	if err != nil {
		p.Fatal(err)
	}
	if !unknown {
		p.inner.runs.note(run, func(r *record) { r.Live = posted.ID })
	}
	return posted.ID
}

// to is a delivery of a message, with the next ids.
func (p *post) to(message pluginsdk.Message) *pluginsdk.DeliverRequest {
	p.serial++
	message.ID = p.serial
	return &pluginsdk.DeliverRequest{
		Delivery: pluginsdk.Delivery{
			ID: fmt.Sprintf("delivery-%06d", p.serial), MessageID: p.serial, Place: p.channel, Plugin: name, CreatedAt: time.Now(),
		},
		Message: message,
	}
}

func reply(run, said string) pluginsdk.Message {
	return pluginsdk.Message{RunID: run, Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Source: "agent", Content: said}
}

func lineOf(run, event, said string) pluginsdk.Message {
	return pluginsdk.Message{
		RunID: run, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Source: "pipeline", Content: said, Metadata: json.RawMessage(`{"event":"` + event + `"}`),
	}
}

func told(said string) pluginsdk.Message {
	return pluginsdk.Message{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "tasks", Plugin: "tasks", Content: said}
}

// attempt is one attempt of a delivery; the daemon stores what was acknowledged.
func (p *post) attempt(request *pluginsdk.DeliverRequest) error {
	return p.attemptWithin(p.Context(), request)
}

func (p *post) attemptWithin(ctx context.Context, request *pluginsdk.DeliverRequest) error {
	request.Delivery.Attempt++
	answer, err := p.plugin.Deliver(ctx, request)
	if err == nil {
		of := request.Delivery
		of.State, of.ExternalID = pluginsdk.DeliveryDelivered, answer.ExternalID
		p.host.AddDelivery(of)
	}
	return err
}

func (p *post) deliver(request *pluginsdk.DeliverRequest) {
	p.Helper()
	if err := p.attempt(request); err != nil {
		p.Fatal(err)
	}
}

// says is what the bot says in the channel, the oldest first.
func (p *post) says() (said []string) {
	for _, message := range p.discord.Messages(p.channel) {
		if message.Bot {
			said = append(said, message.Text)
		}
	}
	return said
}

// holds fails the test unless the bot says this in the channel, once each and in order,
// offers no button that stops something, pings nobody, and has kept to the documentation.
func (p *post) holds(what string, want ...string) {
	p.Helper()
	if got := p.says(); !slices.Equal(got, want) {
		p.Errorf("%s: the bot says %q, want %q", what, got, want)
	}
	for _, message := range p.discord.Messages(p.channel) {
		for _, button := range message.Buttons {
			if button.Label == "Stop" {
				p.Errorf("%s: %q can still be stopped", what, message.Text)
			}
		}
		if message.Bot && !message.Pinged.Nobody() {
			p.Errorf("%s: %q has pinged %+v", what, message.Text, message.Pinged)
		}
	}
	for _, breach := range p.discord.Breaches() {
		p.Errorf("%s: breach: %+v", what, breach)
	}
}

// long is an answer of so many messages.
func long(messages int) string {
	var said []string
	for n := range messages {
		said = append(said, strings.Repeat(fmt.Sprintf("w%d ", n), 450))
	}
	return strings.Join(said, "\n\n")
}

// story is something that is delivered, with what is in the channel before and after it.
type story struct {
	what string
	tell func(*post) (*pluginsdk.DeliverRequest, []string)
}

var stories = []story{
	{"a notification", func(p *post) (*pluginsdk.DeliverRequest, []string) {
		return p.to(told("ok")), []string{"ok"}
	}},
	{"an answer without a live message", func(p *post) (*pluginsdk.DeliverRequest, []string) {
		run, _ := p.asked(pluginsdk.RunMessage)
		return p.to(reply(run, "ok")), []string{"ok"}
	}},
	{"an answer in the place of the live message", func(p *post) (*pluginsdk.DeliverRequest, []string) {
		run, _ := p.asked(pluginsdk.RunMessage)
		p.live(run, "o", false)
		return p.to(reply(run, "ok")), []string{"ok"}
	}},
	{"an answer in the place of a live message of which is not known whether it is there", func(p *post) (*pluginsdk.DeliverRequest, []string) {
		run, _ := p.asked(pluginsdk.RunMessage)
		p.live(run, "o", true)
		return p.to(reply(run, "ok")), []string{"ok"}
	}},
	{"an answer whose live message a moderator has deleted", func(p *post) (*pluginsdk.DeliverRequest, []string) {
		run, _ := p.asked(pluginsdk.RunMessage)
		p.discord.Delete(p.live(run, "o", false))
		return p.to(reply(run, "ok")), []string{"ok"}
	}},
	{"an answer behind something that came after its live message", func(p *post) (*pluginsdk.DeliverRequest, []string) {
		run, _ := p.asked(pluginsdk.RunMessage)
		p.live(run, "o", true)
		p.deliver(p.to(told("between")))
		return p.to(reply(run, "ok")), []string{"between", "ok"}
	}},
	{"a long answer", func(p *post) (*pluginsdk.DeliverRequest, []string) {
		run, _ := p.asked(pluginsdk.RunMessage)
		p.live(run, "w0", false)
		said := long(3)
		return p.to(reply(run, said)), parted(said)
	}},
	{"an answer that was broken off", func(p *post) (*pluginsdk.DeliverRequest, []string) {
		run, _ := p.asked(pluginsdk.RunMessage)
		p.live(run, "this far", false)
		return p.to(lineOf(run, "pipeline_cancelled", "Stopped.")), []string{"this far", "Stopped."}
	}},
	{"an answer that was broken off before it said anything", func(p *post) (*pluginsdk.DeliverRequest, []string) {
		run, _ := p.asked(pluginsdk.RunMessage)
		return p.to(lineOf(run, "pipeline_error", "It failed.")), []string{"It failed."}
	}},
	{"an answer that a plugin took out", func(p *post) (*pluginsdk.DeliverRequest, []string) {
		run, _ := p.asked(pluginsdk.RunMessage)
		p.live(run, "a secret", false)
		return p.to(lineOf(run, "pipeline_emptied", "There is no answer.")), []string{"There is no answer."}
	}},
	{"what a command has come to", func(p *post) (*pluginsdk.DeliverRequest, []string) {
		run, _ := p.asked(pluginsdk.RunCommand)
		return p.to(pluginsdk.Message{RunID: run, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Source: "core", Content: "ok"}), []string{"ok"}
	}},
	{"an answer with a file", func(p *post) (*pluginsdk.DeliverRequest, []string) {
		run, _ := p.asked(pluginsdk.RunMessage)
		p.live(run, "o", false)
		file := p.host.AddFile(pluginsdk.File{Name: "a.txt", Type: "text/plain"}, []byte("content"))
		message := reply(run, "ok")
		message.Attachments = []pluginsdk.Attachment{{Name: "a.txt", Type: "text/plain", Size: 7, Where: "file:" + file.ID}}
		return p.to(message), []string{"ok"}
	}},
	{"white space", func(p *post) (*pluginsdk.DeliverRequest, []string) {
		run, _ := p.asked(pluginsdk.RunMessage)
		p.live(run, "o", false)
		return p.to(reply(run, " \n ")), []string{"-# (nothing to show)"}
	}},
}

func parted(said string) (parts []string) {
	for _, part := range text.Split(said, text.Limit) {
		parts = append(parts, strings.TrimSpace(part))
	}
	return parts
}

// What is delivered is in the channel once, wherever the process died while it was posted:
// at any request to Discord, which had done what was asked or not, and at any call of the
// host; and whether it is repeated at once, or when Discord has long forgotten the nonce.
func TestDeathAtAnyMoment(t *testing.T) {
	for _, story := range stories {
		for _, of := range []struct {
			nonces bool // Discord tells them where messages are read
			later  time.Duration
		}{{false, 0}, {false, 10 * time.Minute}, {true, 10 * time.Minute}} {
			t.Run(fmt.Sprintf("%s/nonces told %v/later %v", story.what, of.nonces, of.later), func(t *testing.T) {
				t.Parallel()
				for _, kind := range []string{fake.FaultCut, fake.FaultLost} {
					for k := 0; deathAtRequest(t, story, of.nonces, of.later, kind, k); k++ {
					}
				}
				for _, done := range []bool{false, true} {
					for call := int64(2); deathAtCall(t, story, of.nonces, of.later, plugintest.Death{Call: call, CarriedOut: done}); call++ {
					}
				}
			})
		}
	}
}

// deathAtRequest has a process die at the kth request to Discord. False: it made fewer.
func deathAtRequest(t *testing.T, story story, nonces bool, later time.Duration, kind string, k int) bool {
	p := newPost(t, fake.Config{TellNonces: nonces}, map[string]any{"reactions": false})
	p.deliver(p.to(told("ok"))) // the same words, once before
	request, want := story.tell(p)
	p.discord.Break(fake.Fault{Kind: kind, After: k, Times: 1})
	p.discord.Break(fake.Fault{Kind: fake.FaultCut, After: k})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		if p.discord.Wait(ctx, p.died) == nil {
			cancel() // a process that has died waits for nothing
		}
	}()
	err := p.attemptWithin(ctx, request)
	died := p.died()
	p.discord.Mend()
	if err != nil || died {
		p.again(request, later)
	}
	p.holds(fmt.Sprintf("%s at request %d", kind, k), append([]string{"ok"}, want...)...)
	return died && !t.Failed()
}

// died reports whether a request went wrong.
func (p *post) died() bool {
	return slices.ContainsFunc(p.discord.Requests(), func(r fake.Request) bool { return r.Fault != "" })
}

// deathAtCall has a process die at a call of the host. False: it made fewer.
func deathAtCall(t *testing.T, story story, nonces bool, later time.Duration, at plugintest.Death) bool {
	p := newPost(t, fake.Config{TellNonces: nonces}, map[string]any{"reactions": false})
	p.deliver(p.to(told("ok")))
	request, want := story.tell(p)
	p.inner = new(Plugin)
	p.plugin = p.host.ServeUntil(t, p.inner, at)
	err := p.attempt(request)
	died := p.plugin.Died()
	if err != nil {
		p.again(request, later)
	}
	p.holds(fmt.Sprintf("killed at call %d, done %v", at.Call, at.CarriedOut), append([]string{"ok"}, want...)...)
	return died && !t.Failed()
}

// again has another process carry a delivery, after others have written.
func (p *post) again(request *pluginsdk.DeliverRequest, later time.Duration) {
	p.Helper()
	p.discord.Advance(later)
	p.discord.Say(fake.Said{Channel: p.channel, Text: "ok"})
	p.serve()
	p.deliver(request)
}

// Everything is in its channel once and in order, whatever goes wrong: several channels,
// messages of all kinds, processes that die, answers that are lost, people who write
// between, and a clock that jumps.
func TestManyDeliveriesWithManyFaults(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 0))
			p := newPost(t, fake.Config{Seed: seed, TellNonces: seed%2 == 0}, map[string]any{"reactions": false})
			first := p.channel
			second := p.discord.AddChannel(fake.NewChannel{Guild: p.discord.AddGuild(fake.NewGuild{Name: "Other"}), Name: "other"})
			want := make(map[string][]string)
			for range 25 {
				p.channel = []string{first, second}[random.IntN(2)]
				request, said := p.draw(random)
				p.discord.Break(fake.Fault{Kind: []string{fake.FaultCut, fake.FaultLost, fake.FaultStatus}[random.IntN(3)], Status: 502, Chance: 0.2})
				for p.attempt(request) != nil {
					if request.Delivery.Attempt > 60 {
						t.Fatalf("%q was never delivered", said)
					}
					if random.IntN(3) == 0 {
						p.serve()
					}
					if random.IntN(4) == 0 {
						p.discord.Advance(4 * time.Minute)
					}
					p.discord.Say(fake.Said{Channel: p.channel, Text: "ok"})
				}
				p.discord.Mend()
				want[p.channel] = append(want[p.channel], said...)
			}
			for channel, said := range want {
				p.channel = channel
				p.holds("in the end", said...)
			}
		})
	}
}

// draw is something that is delivered, and what people read of it.
func (p *post) draw(random *rand.Rand) (*pluginsdk.DeliverRequest, []string) {
	if random.IntN(4) == 0 {
		return p.to(told("ok")), []string{"ok"}
	}
	run, _ := p.asked(pluginsdk.RunMessage)
	said, parts := "ok", []string{"ok"}
	if random.IntN(4) == 0 {
		said = long(2 + random.IntN(2))
		parts = parted(said)
	}
	if random.IntN(3) > 0 {
		p.live(run, "o", random.IntN(2) == 0)
	}
	if random.IntN(5) == 0 {
		return p.to(lineOf(run, "pipeline_empty", said)), parts
	}
	return p.to(reply(run, said)), parts
}

// A limit that lasts longer than the call is the daemon's to wait for: the call ends in
// time, and is no failure for good.
func TestALimitThatOutlastsTheCall(t *testing.T) {
	for _, scope := range []string{"user", "global"} {
		p := newPost(t, fake.Config{}, nil)
		p.discord.Break(fake.Fault{Route: "POST /channels/*/messages", Kind: fake.FaultLimit, Scope: scope, RetryAfter: time.Minute, Times: 1})
		request := p.to(told("ok"))
		request.Delivery.Attempt = 1
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := p.plugin.Deliver(ctx, request)
		if code := pluginsdk.CodeOf(err); code != pluginsdk.CodeExhausted || ctx.Err() != nil {
			t.Errorf("%s: got %v (%s) after %v", scope, err, code, ctx.Err())
		}
		if n := p.discord.Count("POST /channels/*/messages"); n != 1 {
			t.Errorf("%s: %d requests", scope, n)
		}
	}
}

// What cannot go right later is dead at once, in words that say what to do; what can is
// tried again.
func TestRefusals(t *testing.T) {
	permanent := []pluginsdk.Code{pluginsdk.CodeInvalid, pluginsdk.CodeNotFound, pluginsdk.CodeDenied}
	for what, try := range map[string]struct {
		break_ func(*post, *pluginsdk.DeliverRequest)
		words  string // empty: it is tried again
	}{
		"no place":        {func(_ *post, r *pluginsdk.DeliverRequest) { r.Delivery.Place = "" }, "set the setting channel, or DISCORD_CHANNEL_ID"},
		"no channel's id": {func(_ *post, r *pluginsdk.DeliverRequest) { r.Delivery.Place = "general" }, `"general", which is no channel`},
		"unknown channel": {func(_ *post, r *pluginsdk.DeliverRequest) { r.Delivery.Place = "123456789012345678" }, "no such channel"},
		"no access":       {func(p *post, _ *pluginsdk.DeliverRequest) { p.discord.Deny(p.channel, fake.MayView) }, "View Channel"},
		"no permission":   {func(p *post, _ *pluginsdk.DeliverRequest) { p.discord.Deny(p.channel, fake.MaySend) }, "Send Messages"},
		"trouble": {func(p *post, _ *pluginsdk.DeliverRequest) {
			p.discord.Break(fake.Fault{Kind: fake.FaultStatus, Status: 503})
		}, ""},
		"the token is not": {func(p *post, _ *pluginsdk.DeliverRequest) { p.discord.SetToken("another") }, ""},
		"direct messages closed": {func(p *post, r *pluginsdk.DeliverRequest) {
			user := p.discord.AddUser(fake.NewUser{Name: "ann"})
			r.Delivery.Place = p.discord.DM(user)
		}, "takes no direct messages"},
		"locked thread": {func(p *post, r *pluginsdk.DeliverRequest) {
			r.Delivery.Place = p.discord.AddThread(fake.NewThread{Channel: p.channel, Name: "t"})
			p.discord.Deny(p.channel, fake.MayManageThreads)
			p.discord.SetThread(fake.ThreadState{Thread: r.Delivery.Place, Archived: true, Locked: true})
		}, "unlock it"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newPost(t, fake.Config{}, nil)
			request := p.to(told("ok"))
			try.break_(p, request)
			err := p.attempt(request)
			if err == nil {
				t.Fatal("it was delivered")
			}
			if got, want := slices.Contains(permanent, pluginsdk.CodeOf(err)), try.words != ""; got != want || !strings.Contains(err.Error(), try.words) {
				t.Errorf("got %v (%s)", err, pluginsdk.CodeOf(err))
			}
		})
	}
}

// What has no place of its own goes to the channel that is set, and what another lane's
// deliveries were is no reason to post it twice.
func TestWithoutAPlace(t *testing.T) {
	p := newPost(t, fake.Config{}, nil)
	other := p.discord.AddChannel(fake.NewChannel{Guild: p.discord.AddGuild(fake.NewGuild{Name: "Other"}), Name: "other"})
	p.host.SetSettings(json.RawMessage(fmt.Sprintf(`{"token":"token","apiURL":%q,"channel":%q}`, p.inner.account.Load().APIURL, p.channel)))
	p.serve()
	request := p.to(told("a report"))
	request.Delivery.Place = ""
	p.discord.Break(fake.Fault{Route: "POST /channels/*/messages", Kind: fake.FaultLost, Times: 1})
	if p.attempt(request) == nil {
		t.Fatal("delivered")
	}
	elsewhere := p.to(told("elsewhere"))
	elsewhere.Delivery.Place = other
	p.deliver(elsewhere)
	p.discord.Advance(10 * time.Minute)
	p.deliver(request)
	p.holds("the report", "a report")
}

// A thread that was archived meanwhile opens again with its answer.
func TestAnArchivedThread(t *testing.T) {
	p := newPost(t, fake.Config{}, nil)
	p.channel = p.discord.AddThread(fake.NewThread{Channel: p.channel, Name: "t"})
	run, _ := p.asked(pluginsdk.RunMessage)
	p.live(run, "this", false)
	p.discord.SetThread(fake.ThreadState{Thread: p.channel, Archived: true})
	p.deliver(p.to(reply(run, "this is it")))
	p.holds("archived", "this is it")
}

// What a bot may not do there does not keep the words from people: replies, and files.
func TestWordsAreMoreThanTheirForm(t *testing.T) {
	p := newPost(t, fake.Config{}, nil)
	run, _ := p.asked(pluginsdk.RunMessage)
	p.discord.Deny(p.channel, fake.MayReadHistory|fake.MayAttach)
	file := p.host.AddFile(pluginsdk.File{Name: "a.txt", Type: "text/plain"}, []byte("content"))
	message := reply(run, "ok")
	message.Attachments = []pluginsdk.Attachment{{Name: "a.txt", Type: "text/plain", Size: 7, Where: "file:" + file.ID}}
	p.deliver(p.to(message))
	if got := p.says(); len(got) != 1 || !strings.HasPrefix(got[0], "ok\n\n-# its files could not be sent") {
		t.Errorf("got %q", got)
	}
}

// Files go with the last part, whole; those that cannot are named.
func TestFilesThatAreSent(t *testing.T) {
	p := newPost(t, fake.Config{}, map[string]any{"dashboard": "https://home.example"})
	message := told("here")
	attach := func(name string, size int) string {
		file := p.host.AddFile(pluginsdk.File{Name: name, Type: "text/plain"}, []byte(strings.Repeat("x", size)))
		message.Attachments = append(message.Attachments, pluginsdk.Attachment{Name: name, Type: "text/plain", Size: int64(size), Where: "file:" + file.ID})
		return file.ID
	}
	attach("large", largestFile+1)
	attach("empty", 0)
	attach("../..", 3)
	attach("gone", 3)
	message.Attachments[3].Where = "file:nowhere"
	for n := range 10 {
		attach(fmt.Sprintf("%d.txt", n), 1<<20+n)
	}
	p.deliver(p.to(message))
	got := p.discord.Messages(p.channel)[0]
	for _, want := range []string{"large (10241 KB) is too large", "empty is empty", "gone is not kept any more", "9.txt is not sent: a message has at most 9: see <https://home.example/chat/", "8.txt is not sent"} {
		if !strings.Contains(strings.ReplaceAll(got.Text, `\`, ""), want) {
			t.Errorf("%q is not in %q", want, got.Text)
		}
	}
	if len(got.Files) != 9 || len(got.Files[1].Data) != 1<<20 || string(got.Files[0].Data) != "xxx" {
		t.Errorf("%d files", len(got.Files))
	}

	p.host.Fail("Files.Read", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the daemon is busy"))
	if err := p.attempt(p.to(message)); pluginsdk.CodeOf(err) != pluginsdk.CodeInternal && pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("files that cannot be read now were left out: %v", err)
	}
}

// A very long answer is a file with how it begins, where that is set.
func TestALongAnswerAsAFile(t *testing.T) {
	p := newPost(t, fake.Config{}, map[string]any{"longReplies": "file", "longerThan": 2})
	run, _ := p.asked(pluginsdk.RunMessage)
	p.live(run, "It", false)
	said := "It begins so.\n\n" + long(3)
	p.deliver(p.to(reply(run, said)))
	got := p.discord.Messages(p.channel)
	if len(got) != 2 || !strings.Contains(got[1].Text, "It begins so.") || len(got[1].Files) != 1 || string(got[1].Files[0].Data) != said {
		t.Errorf("got %+v", got)
	}
}

// A line of a plugin's in the midst of a run is not its end, and only what has failed
// offers to be tried again.
func TestWhatEndsARun(t *testing.T) {
	p := newPost(t, fake.Config{}, nil)
	run, question := p.asked(pluginsdk.RunMessage)
	line := lineOf(run, "step", "half of it is done")
	line.Plugin = "steps"
	p.deliver(p.to(line))
	p.deliver(p.to(pluginsdk.Message{RunID: run, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Source: "tasks", Plugin: "tasks", Content: "the task is made"}))
	if of, ok := p.inner.runs.cached(run); !ok || of.Over {
		t.Fatal("the run is taken for over")
	}
	p.deliver(p.to(reply(run, "all of it is done")))
	failedRun, _ := p.asked(pluginsdk.RunMessage)
	p.deliver(p.to(lineOf(failedRun, "pipeline_error", "I could not answer this message")))
	messages := p.discord.Messages(p.channel)
	for i, want := range map[int]int{1: 0, 2: 0, 3: 0, 5: 2} {
		if got := messages[i]; len(got.Buttons) != want || i < 4 && got.ReplyTo != question {
			t.Errorf("got %+v", got)
		}
	}
}

// The answer to one question stands before that to the next, also when it was late and the
// next one is being written already.
func TestAnswersKeepTheirOrder(t *testing.T) {
	p := newPost(t, fake.Config{}, nil)
	first, _ := p.asked(pluginsdk.RunMessage)
	second, question := p.asked(pluginsdk.RunMessage)
	p.live(second, "the sec", false)
	p.deliver(p.to(reply(first, "the first")))
	p.deliver(p.to(reply(second, "the second")))
	p.holds("late", "the first", "the second")
	if last := p.discord.Messages(p.channel)[3]; last.ReplyTo != question {
		t.Errorf("got %+v", last)
	}
}

// What is reported from another thread is a message of its own: it ends no run here.
func TestAReportToAnotherChannel(t *testing.T) {
	p := newPost(t, fake.Config{}, nil)
	run, _ := p.asked(pluginsdk.RunMessage)
	live := p.live(run, "wri", false)
	other := p.discord.AddChannel(fake.NewChannel{Guild: p.discord.AddGuild(fake.NewGuild{Name: "Other"}), Name: "other"})
	request := p.to(reply(run, "written"))
	request.Delivery.Place = other
	p.deliver(request)
	if got := p.discord.Messages(other); len(got) != 1 || got[0].ReplyTo != "" || got[0].Text != "written" {
		t.Errorf("got %+v", got)
	}
	for _, message := range p.discord.Messages(p.channel) {
		if message.ID == live {
			t.Errorf("it still shows %q", message.Text)
		}
	}
}

// What an approval offered before its process died is what is settled, also when it was
// answered meanwhile.
func TestAnApprovalThatWasAnsweredMeanwhile(t *testing.T) {
	for _, later := range []time.Duration{0, 10 * time.Minute} {
		p := newPost(t, fake.Config{}, nil)
		approval := p.host.Ask(pluginsdk.Approval{ThreadID: "t", RunID: "r", Title: "may I?", ExpiresAt: time.Now().Add(time.Hour)})
		request := p.to(told("may I?"))
		request.Approval = &approval
		p.discord.Break(fake.Fault{Route: "POST /channels/*/messages", Kind: fake.FaultLost, Times: 1})
		if p.attempt(request) == nil {
			t.Fatal("delivered")
		}
		p.host.EndApproval(approval.ID, pluginsdk.ApprovalExpired)
		approval.State = pluginsdk.ApprovalExpired
		p.discord.Advance(later)
		p.deliver(request)
		p.until("the card that is there is settled", func() bool {
			got := p.discord.Messages(p.channel)
			return len(got) == 1 && len(got[0].Buttons) == 0 && strings.Contains(got[0].Text, "nobody answered")
		})
	}
}

// A record costs nothing once its run is over, and is gone when nothing can come any more.
func TestRecordsEnd(t *testing.T) {
	p := newPost(t, fake.Config{}, nil)
	for range 20 {
		run, _ := p.asked(pluginsdk.RunMessage)
		p.deliver(p.to(reply(run, "ok")))
		p.host.FinishRun(run, pluginsdk.InvokeResult{Text: "ok"})
	}
	if n := len(p.inner.runs.known); n != 0 {
		t.Errorf("%d records are in memory", n)
	}
	p.host.AddRun(pluginsdk.Run{ID: "old", State: pluginsdk.RunCancelled, FinishedAt: time.Now().Add(-2 * keptOver)})
	if err := p.inner.runs.begin(t.Context(), "old", func(r *record) { r.Channel = p.channel }); err != nil {
		t.Fatal(err)
	}
	p.live("old", "it was", false)
	p.inner.resume(t.Context())
	if _, ok, err := p.inner.runs.get(t.Context(), "old"); ok || err != nil {
		t.Errorf("the record of an old run is there: %v", err)
	}
	if last := p.says()[20]; last != "it was" {
		t.Errorf("it shows %q", last)
	}
}

// Deliveries wait for what is being submitted from their channel, and for nothing else.
func TestDeliveriesWaitForSubmissions(t *testing.T) {
	at := &inFlight{channels: make(map[string][]chan struct{})}
	over, other := at.begin("1"), at.begin("1")
	waited := make(chan error)
	go func() { waited <- at.wait(t.Context(), "1") }()
	if err := at.wait(t.Context(), "2"); err != nil {
		t.Error(err)
	}
	over()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := at.wait(ctx, "1"); err == nil {
		t.Error("it did not wait for the second one")
	}
	other()
	if err := <-waited; err != nil || len(at.channels) != 0 {
		t.Errorf("%v, %d channels are kept", err, len(at.channels))
	}
}
