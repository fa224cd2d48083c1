package discord_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/discord"
	"github.com/seed-706843ae/harness/core/fakeapi"
)

// secretary is a model that makes a reminder when it is told to, says it when it is due, and watches a build.
func secretary(r fakeapi.Request) fakeapi.Reply {
	use := func(tool string, input any) fakeapi.Reply {
		encoded, err := json.Marshal(input)
		if err != nil {
			panic(err)
		}
		return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "mcp__harness__cron__" + tool, Input: encoded}}}
	}
	results := func(words string) bool {
		return slices.ContainsFunc(r.ToolResults(), func(b fakeapi.Block) bool { return strings.Contains(string(b.Content), words) })
	}
	switch {
	case !fakeapi.Main(r):
		return fakeapi.Reply{Text: "ok"}
	case r.Says(`"words":"weekdays at nine"`) && len(r.ToolResults()) == 0:
		return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "StructuredOutput", Input: json.RawMessage(`{"schedule": "0 9 * * mon-fri", "at": "", "timezone": "Europe/Berlin", "cannot": ""}`)}}}
	case results("The schedule stand-up is made, and on"):
		return fakeapi.Reply{Text: "I will remind you."}
	case r.Says("remind me every weekday at 9"):
		return use("cron_create", map[string]string{"name": "stand-up", "schedule": "0 9 * * mon-fri", "timezone": "UTC", "prompt": "Say that it is time for the stand-up."})
	case r.Says("time for the stand-up"):
		return fakeapi.Reply{Text: "It is time for the stand-up."}
	case results("The people of the schedule watch are told"):
		return fakeapi.Reply{Text: "I have told them that it is red."}
	case r.Says("the build is red"):
		return use("notify", map[string]string{"text": "Somebody should look at the build."})
	}
	return fakeapi.Reply{Text: "I have nothing to say to that."}
}

// Somebody asks for a reminder in a conversation: the agent makes it, people hear of it, and it comes when it is
// due, each time in a session of its own. A watch that is to be silent costs no turn and says nothing until its
// command finds news; then people get what the agent hands to them, and not what it answers.
func TestRemindersAndWatchesReachDiscord(t *testing.T) {
	d := settle(t, secretary)
	api, daemon, channel := d.api, d.daemon, d.channel
	first := d.say(channel, "good morning")
	said := func(words string) func(discord.Message) bool {
		return func(m discord.Message) bool { return m.Bot && strings.Contains(m.Text, words) }
	}
	var threads []struct{ ID, Kind string }
	if err := json.Unmarshal([]byte(daemon.MustRun(t, "threads", "--json")), &threads); err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		if thread.Kind == "primary" {
			daemon.MustRun(t, "thread", "set", thread.ID, "reportTo=discord:"+channel)
		}
	}

	if answer := daemon.MustRun(t, "send", "remind me every weekday at 9"); !strings.Contains(answer, "I will remind you.") {
		t.Fatalf("it answers %q", answer)
	}
	d.wait("that a schedule was made", channel, first, said("The agent has made the schedule stand-up"))
	if shown := daemon.MustRun(t, "cron", "show", "stand-up"); !strings.Contains(shown, "schedule: 0 9 * * mon-fri") {
		t.Errorf("it has made\n%s", shown)
	}
	daemon.MustRun(t, "cron", "edit", "stand-up | at = "+time.Now().Add(2*time.Second).UTC().Format("2006-01-02T15:04:05Z"))
	reminded := d.wait("the reminder", channel, first, said("It is time for the stand-up."))
	eventually(t, "the fire in its history", func() bool {
		return strings.Contains(daemon.MustRun(t, "cron", "history", "stand-up"), "succeeded")
	}, func() string { return daemon.MustRun(t, "cron", "history", "stand-up") })
	daemon.MustRun(t, "cron", "run", "stand-up")
	d.wait("the second reminder", channel, reminded.ID, func(m discord.Message) bool {
		return m.ID != reminded.ID && said("It is time for the stand-up.")(m)
	})
	fires := api.Requests(fakeapi.Main, func(r fakeapi.Request) bool { return strings.Contains(r.Prompt(), "time for the stand-up") })
	for _, r := range fires {
		if n := strings.Count(strings.Join(r.UserTexts(), "\n"), "Say that it is time"); n != 1 {
			t.Errorf("a fire in a session of its own is told %d times what it is to say", n)
		}
	}
	if len(fires) != 2 {
		t.Errorf("two fires have asked the model %d times", len(fires))
	}

	_, err := daemon.Run(t.Context(), "cron", "add", "tea | weekdays at nine | Europe/Berlin | Tea.")
	if err == nil || !strings.Contains(err.Error(), "is read as: 0 9 * * mon-fri (Europe/Berlin). It is due:") || strings.Contains(daemon.MustRun(t, "cron", "list"), "**tea**") {
		t.Errorf("a time in words without a yes: %v", err)
	}
	if kept := daemon.MustRun(t, "cron", "add", "--yes", "tea | weekdays at nine | Europe/Berlin | Tea."); !strings.Contains(kept, "tea is made, and on.") {
		t.Errorf("with a yes it is answered with %q", kept)
	}

	red := filepath.Join(t.TempDir(), "red")
	daemon.MustRun(t, "cron", "add", "watch | 0 0 1 1 * | UTC | Look at the build.")
	daemon.MustRun(t, "cron", "edit", "watch | report_to = discord:"+channel+" | report = on_notify")
	daemon.MustRun(t, "cron", "edit", "watch | when = test -e "+red+" && echo the build is red")
	before := len(api.Requests(fakeapi.Main))
	runs := func(state string) func() bool {
		return func() bool { return strings.Contains(daemon.MustRun(t, "cron", "history", "watch"), state) }
	}
	for range 3 {
		daemon.MustRun(t, "cron", "run", "watch")
	}
	eventually(t, "three looks without news", func() bool {
		return strings.Count(daemon.MustRun(t, "cron", "history", "watch"), "found no news") == 3
	}, func() string { return daemon.MustRun(t, "cron", "history", "watch") })
	if n := len(api.Requests(fakeapi.Main)) - before; n != 0 {
		t.Errorf("looks without news have asked the model %d times", n)
	}
	if err := os.WriteFile(red, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	daemon.MustRun(t, "cron", "run", "watch")
	d.wait("what people are to know", channel, reminded.ID, said("Somebody should look at the build."))
	eventually(t, "the end of the fire", runs("succeeded"), func() string { return daemon.MustRun(t, "cron", "history", "watch") })
	told := 0
	for _, m := range d.messages(channel) {
		if strings.Contains(m.Text, "I have told them") {
			t.Errorf("people are shown %q", m.Text)
		}
		told += strings.Count(m.Text, "Somebody should look at the build.")
	}
	if told != 1 {
		t.Errorf("they are told %d times", told)
	}
	t.Logf("#general%s", d.transcript(channel))
}
