package discord

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// failed is a run that was asked for in the channel and has ended without an answer, and the
// message that says so.
func (w *world) failed(n int) (run pluginsdk.Run, message string) {
	w.Helper()
	w.discord.Say(fake.Said{Channel: w.channel, Text: fmt.Sprintf("<@%s> question %d", w.who.Bot, n)})
	run = w.run(n)
	w.noted(run.ID)
	if _, err := w.host.SDK().Runs.Cancel(w.Context(), &pluginsdk.CancelRunRequest{ID: run.ID}); err != nil {
		w.Fatal(err)
	}
	return run, w.deliver("status-"+run.ID, 1, w.channel, pluginsdk.Message{
		ID: 5, ThreadID: run.ThreadID, RunID: run.ID, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: "It was stopped.",
	}, nil)
}

// noted waits until the plugin has noted what a run answers.
func (w *world) noted(run string) {
	w.Helper()
	w.until("what is answered is noted", func() bool {
		return slices.ContainsFunc(w.host.State(name), func(e pluginsdk.StateEntry) bool { return e.Key == runPrefix+run })
	})
}

func (w *world) runs() []pluginsdk.Run {
	w.Helper()
	list, err := w.host.SDK().Runs.List(w.Context(), &pluginsdk.ListRunsRequest{})
	if err != nil {
		w.Fatal(err)
	}
	return list.Runs
}

// What failed is tried again once, however many press, and its answer comes to the channel.
func TestTryAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]any{"reactions": false})
	bob := w.discord.AddUser(fake.NewUser{Name: "bob", Guilds: []string{w.guild}})
	w.settings(map[string]any{"users": []string{bob}, "reactions": false})
	run, message := w.failed(1)
	if got := labels(w.shows(w.channel, message)); !slices.Equal(got, []string{"Try again", "Continue"}) {
		t.Fatalf("got %q", got)
	}
	presses := []string{w.discord.Press(message, "", "Try again"), w.discord.Press(message, bob, "Try again"), w.discord.Press(message, "", "Try again")}
	if said := w.settled(w.channel, message); !strings.HasPrefix(said, "It was stopped.\n\n-# tried again by ") {
		t.Errorf("it says %q", said)
	}
	late := 0
	w.until("the others are told", func() bool {
		late = 0
		for _, press := range presses {
			for _, sent := range w.discord.Interaction(press).Sent {
				if sent.Only != "" && strings.Contains(sent.Text, "tried again already") {
					late++
				}
			}
		}
		return late == len(presses)-1
	})
	runs := w.runs()
	if len(runs) != 2 || runs[0].ID != run.ID {
		t.Fatalf("got %+v", runs)
	}
	w.deliver("again", 1, w.channel, replyOf(runs[1], "Paris"), nil)
	if all := w.discord.Messages(w.channel); all[len(all)-1].Text != "Paris" {
		t.Errorf("got %+v", all)
	}
	w.noBreach()
}

// Who has the agent go on does it once, and the answer is a message with a view of its own.
func TestContinue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]any{"reactions": false})
	_, message := w.failed(1)
	for range 3 {
		w.discord.Press(message, "", "Continue")
	}
	w.settled(w.channel, message)
	if said := w.submission(2); said.Content != "Go on where you were stopped." || said.Author != "owner" {
		t.Errorf("got %+v", said)
	}
	w.until("all were answered", func() bool { return w.discord.Count("POST /interactions/*/*/callback") == 3 })
	if n := len(w.runs()); n != 2 {
		t.Errorf("there are %d runs", n)
	}
	w.noBreach()
}

// A run is stopped from its channel by those who may talk there, and by nobody else; that it
// is over is told.
func TestStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	eve := w.discord.AddUser(fake.NewUser{Name: "eve", Guilds: []string{w.guild}})
	w.discord.Say(fake.Said{Channel: w.channel, Text: "<@" + w.who.Bot + "> a long story"})
	run := w.run(1)
	w.noted(run.ID)
	w.host.BeginRun(run.ID)
	state := func() pluginsdk.RunState { return w.runs()[0].State }
	live := w.live(run)
	if said := w.whispered(w.discord.Press(live, eve, "Stop")); said != notForYou || state().Final() {
		t.Errorf("told %q, the run is %s", said, state())
	}
	w.discord.Press(live, "", "Stop")
	w.until("it is stopped", func() bool { return state() == pluginsdk.RunCancelled })
	w.deliver("end", 1, w.channel, pluginsdk.Message{ID: 9, ThreadID: run.ThreadID, RunID: run.ID, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: "stopped by owner"}, nil)
	if got := w.runs()[0].Error; got != "cancelled by owner" {
		t.Errorf("got %q", got)
	}
	w.noBreach()
}

// tell broadcasts an event to the plugin.
func (w *world) tell(kind pluginsdk.EventType, thread string, payload any) {
	w.Helper()
	data, err := json.Marshal(payload)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.plugin.OnBroadcast(w.Context(), &pluginsdk.OnBroadcastRequest{Events: []pluginsdk.Event{{Type: kind, ThreadID: thread, Data: data}}}); err != nil {
		w.Fatal(err)
	}
}

// live waits for the message that shows a run while it is at work.
func (w *world) live(run pluginsdk.Run) (id string) {
	w.Helper()
	w.tell(pluginsdk.EventPipelineStart, run.ThreadID, pluginsdk.RunRef{ThreadID: run.ThreadID, RunID: run.ID})
	w.until("it is shown", func() bool { return w.discord.Count("POST /channels/*/typing") > 0 })
	w.tell(pluginsdk.EventPipelineStream, run.ThreadID, pluginsdk.StreamPayload{ThreadID: run.ThreadID, RunID: run.ID, Event: pluginsdk.StreamEvent{Type: pluginsdk.StreamTextDelta, Text: "Once upon a time"}})
	w.until("it has a button", func() bool {
		for _, message := range w.discord.Messages(w.channel) {
			if slices.Equal(labels(message), []string{"Stop"}) {
				id = message.ID
			}
		}
		return id != ""
	})
	return id
}

// A task that waits for a person is accepted or sent back at the iteration that was shown;
// what is over, or is another by now, is told.
func TestTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]any{"dashboard": "https://harness.example.org"})
	task := func(id string, status pluginsdk.TaskStatus, iteration int, result string) {
		w.host.AddTask(pluginsdk.Task{ID: id, ThreadID: "thread-" + id, Status: status, CurrentIteration: iteration, Result: result})
	}
	notify := func(id string, of notice, said string) string {
		metadata, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		return w.deliver("n-"+id+said[:3], 1, w.channel, pluginsdk.Message{ID: 4, ThreadID: "T", Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Content: said, Metadata: metadata}, nil)
	}
	of := func(id string, status pluginsdk.TaskStatus, iteration int) notice {
		return notice{Event: "task", FromThread: "thread-" + id, Task: id, Status: status, Iteration: iteration}
	}
	for _, test := range []struct {
		id        string
		status    pluginsdk.TaskStatus // now
		iteration int                  // now
		result    string
		told      notice
		want      []string
	}{
		{"waits", pluginsdk.TaskWaiting, 2, "built", of("waits", pluginsdk.TaskWaiting, 2), []string{"Accept", "Send back"}},
		{"returns", pluginsdk.TaskWaiting, 1, "built", of("returns", pluginsdk.TaskWaiting, 1), []string{"Accept", "Send back"}},
		{"nothing", pluginsdk.TaskWaiting, 1, "", of("nothing", pluginsdk.TaskWaiting, 1), []string{"Send back"}},
		{"later", pluginsdk.TaskWaiting, 3, "built anew", of("later", pluginsdk.TaskWaiting, 2), nil},
		{"goes-on", pluginsdk.TaskRunning, 3, "", of("goes-on", pluginsdk.TaskWaiting, 2), nil},
		{"done", pluginsdk.TaskCompleted, 1, "built", of("done", pluginsdk.TaskCompleted, 1), nil},
		{"failed", pluginsdk.TaskFailed, 1, "", of("failed", pluginsdk.TaskFailed, 1), nil},
	} {
		task(test.id, test.status, test.iteration, test.result)
		id := notify(test.id, test.told, "Task "+test.id)
		shown := w.shows(w.channel, id)
		if got := labels(shown); !slices.Equal(got, test.want) || !strings.HasSuffix(shown.Text, "-# <https://harness.example.org/chat/thread-"+test.id+">") {
			t.Errorf("%s: %q below %q", test.id, got, shown.Text)
		}
		switch test.id {
		case "waits":
			w.discord.Press(id, "", "Accept")
			if said := w.settled(w.channel, id); !strings.HasSuffix(said, "-# accepted by owner") {
				t.Errorf("it says %q", said)
			}
		case "returns":
			form := w.discord.Press(id, "", "Send back")
			w.answered(form)
			w.discord.Submit(form, map[string]string{"said": "in blue"})
			if said := w.settled(w.channel, id); !strings.HasSuffix(said, "-# sent back by owner") {
				t.Errorf("it says %q", said)
			}
		}
	}
	now := func(id string) pluginsdk.Task {
		got, err := w.host.SDK().Tasks.Get(t.Context(), &pluginsdk.GetTaskRequest{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		return got.Task
	}
	if got := now("waits"); got.Status != pluginsdk.TaskCompleted {
		t.Errorf("got %+v", got)
	}
	if got := now("returns"); got.Status != pluginsdk.TaskRunning || got.Feedback != "in blue" {
		t.Errorf("got %+v", got)
	}
	// It goes on while its card is looked at; and the words of others change nothing.
	task("moves", pluginsdk.TaskWaiting, 1, "built")
	talker := w.discord.AddUser(fake.NewUser{Name: "talker", Guilds: []string{w.guild}})
	w.settings(map[string]any{"users": []string{talker}})
	card := notify("moves", of("moves", pluginsdk.TaskWaiting, 1), "Task moves\n"+strings.Repeat("a long report\n", 400))
	if before := w.discord.Messages(w.channel); len(before[len(before)-2].Buttons) > 0 || len(before[len(before)-1].Buttons) != 2 {
		t.Errorf("the buttons are not on the last part alone: %+v", before[len(before)-2:])
	}
	for _, button := range []string{"Accept", "Send back"} {
		if said := w.whispered(w.discord.Press(card, talker, button)); said != notYours {
			t.Errorf("told %q", said)
		}
	}
	if _, err := w.host.SDK().Tasks.Decide(t.Context(), &pluginsdk.DecideTaskRequest{ID: "moves", Verdict: pluginsdk.VerdictReject}); err != nil {
		t.Fatal(err)
	}
	if said := w.whispered(w.discord.Press(card, "", "Accept")); !strings.Contains(said, "moves") {
		t.Errorf("told %q", said)
	}
	if got := now("moves"); got.Status != pluginsdk.TaskRunning {
		t.Errorf("got %+v", got)
	}
	w.noBreach()
}

// The checks say what is wrong and what to do about it.
func TestChecks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]any{"channel": "100000000000000001"})
	look := func(of string, state pluginsdk.CheckState, words string) {
		t.Helper()
		w.until("the check "+of, func() bool {
			check, ok := w.check(of)
			return ok && check.State == state && strings.Contains(check.Detail+" "+check.Remedy, words)
		})
	}
	look("token", pluginsdk.CheckOK, "accepted")
	look("connection", pluginsdk.CheckOK, "since")
	look("intents", pluginsdk.CheckOK, "can read")
	look("servers", pluginsdk.CheckOK, "in 1")
	look("channel for reports", pluginsdk.CheckFailing, "no channel 100000000000000001")
	w.settings(map[string]any{"channel": w.channel})
	look("channel for reports", pluginsdk.CheckOK, "general")
	hidden := w.discord.AddChannel(fake.NewChannel{Guild: w.guild, Name: "hidden"})
	w.discord.Deny(hidden, fake.MayView)
	w.settings(map[string]any{"channel": hidden})
	look("channel for reports", pluginsdk.CheckFailing, "may not see")
	w.settings(map[string]any{"channel": w.discord.AddChannel(fake.NewChannel{Guild: w.guild, Name: "forum", Kind: fake.KindForum})})
	look("channel for reports", pluginsdk.CheckFailing, "takes no messages")
	w.discord.RemoveBot(w.guild)
	look("servers", pluginsdk.CheckWarning, "harness discord invite")
	w.discord.SetToken("another")
	w.discord.CloseWith(4004)
	look("token", pluginsdk.CheckFailing, "harness plugin settings set discord token")
	look("connection", pluginsdk.CheckFailing, "4004")
}

func TestChecksWithoutAToken(t *testing.T) {
	w := &world{T: t, host: plugintest.NewHost()}
	t.Setenv(tokenVariable, "")
	w.plugin = w.host.Serve(t, new(Plugin))
	check, ok := w.check("token")
	if !ok || check.State != pluginsdk.CheckOK || !strings.Contains(check.Remedy, "harness plugin settings set discord token") {
		t.Errorf("got %+v", check)
	}
	if _, err := w.plugin.OnCommand(t.Context(), &pluginsdk.OnCommandRequest{Name: "discord", Body: "invite"}); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("got %v", err)
	}
}

// The command says how the bot is invited and how it stands.
func TestTheCommand(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, fake.Config{Privileged: -1}, nil)
	w.until("the bot knows that it is connected", func() bool { _, ok := w.check("intents"); return ok })
	for body, want := range map[string]string{
		" invite ": "https://discord.com/oauth2/authorize?client_id=" + w.who.App + "&scope=bot%20applications.commands&permissions=309237746752",
		"STATUS":   "- intents: warning, Message Content Intent is off",
	} {
		got, err := w.plugin.OnCommand(t.Context(), &pluginsdk.OnCommandRequest{Name: "discord", Body: body})
		if err != nil || !got.Handled || !strings.Contains(got.Reply, want) {
			t.Errorf("%q: %+v, %v", body, got, err)
		}
	}
	for body, want := range map[string]string{"": "want `/discord invite`", "dance": "/discord dance: want"} {
		got, err := w.plugin.OnCommand(t.Context(), &pluginsdk.OnCommandRequest{Name: "discord", Body: body})
		if got != nil || !pluginsdk.CodeOf(err).Refuses() || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want it refused", body, got, err)
		}
	}
	if got, err := w.plugin.OnCommand(t.Context(), &pluginsdk.OnCommandRequest{Name: "other"}); err != nil || got.Handled {
		t.Errorf("it answers another's command: %+v, %v", got, err)
	}
}
