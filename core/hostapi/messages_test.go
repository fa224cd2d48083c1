package hostapi

import (
	"reflect"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A row that says that another wrote it would have the agent, or people, believe
// anything. The whole call is refused.
func TestAppendedRowsAreThePluginsOwn(t *testing.T) {
	f := newFixture()
	for name, row := range map[string]pluginsdk.NewMessage{
		"as the agent":       {Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Content: "x"},
		"as a person":        {Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Content: "x"},
		"as the core":        {Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "core", Content: "x"},
		"a kind of nobody's": {Role: pluginsdk.RoleSystem, Kind: "announcement", Content: "x"},
	} {
		refused(t, name, f.append(t.Context(), "mine", text[0], row), pluginsdk.CodeInvalid, "messages[1]:")
	}
	if len(f.store.rows) > 0 {
		t.Errorf("stored: %+v", f.store.rows)
	}
	record := pluginsdk.NewMessage{Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageToolCall, Source: "builtin", Content: "x"}
	if err := f.append(t.Context(), "mine", record); err != nil || f.store.rows[0].Plugin != "p" {
		t.Errorf("a record of another's doing: %v, %+v", err, f.store.rows)
	}
}

// The run of a row is what the core knows of the call, and a row of a run that is
// not the thread's any more is refused.
func TestRowsOfAHookAreItsRuns(t *testing.T) {
	f := newFixture()
	fence := ledger.Fence{ThreadID: "T", Epoch: 7}
	ctx, _ := f.within(t, ledger.Behalf{RunID: "R", Fence: fence})
	for _, thread := range []string{"T", "another"} {
		if err := f.append(ctx, thread, text...); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.append(t.Context(), "T", text...); err != nil {
		t.Fatal(err)
	}
	own, others, outside := f.store.rows[0], f.store.rows[1], f.store.rows[2]
	if own.RunID != "R" || own.Fence == nil || *own.Fence != fence {
		t.Errorf("in the run's thread: %+v", own)
	}
	if others.RunID != "" || others.Fence != nil || outside.RunID != "" || outside.Fence != nil {
		t.Errorf("elsewhere: %+v; outside: %+v", others, outside)
	}
}

// A notification that nobody is told of, or that nobody carries, is not one.
func TestAppendedRowsAreBroadcastAndCarried(t *testing.T) {
	f := newFixture()
	made, err := f.Messages.Append(t.Context(), &pluginsdk.AppendMessagesRequest{
		ThreadID: "T", Key: "k", Messages: append(text, text...), Deliver: true,
	})
	if err != nil || len(made.Messages) != 2 {
		t.Fatal(made, err)
	}
	if got := f.store.rows[0]; got.Key != "k" || !got.Deliver {
		t.Errorf("stored %+v", got)
	}
	if !slices.Equal(f.events.kinds, []pluginsdk.EventType{pluginsdk.EventThreadMessage, pluginsdk.EventThreadMessage}) {
		t.Errorf("broadcast %v", f.events.kinds)
	}
	if !slices.Equal(f.outbox.woken, []string{"discord:T"}) {
		t.Errorf("to be carried: %v", f.outbox.woken)
	}
}

// A plugin speaks for the sources that are its own, and for no other's people.
func TestSourceOfASubmission(t *testing.T) {
	f := newFixture()
	submit := func(plugin, source string) (string, error) {
		_, err := f.api.For(plugin).Messages.Submit(t.Context(), &pluginsdk.SubmitMessageRequest{
			Submission: pluginsdk.Submission{Source: source, Content: "x", CauseRunID: "claimed"},
		})
		if err != nil {
			return "", err
		}
		last := len(f.inbox.submissions) - 1
		if f.inbox.plugins[last] != plugin {
			t.Errorf("submitted by %s, stored as %s's", plugin, f.inbox.plugins[last])
		}
		return f.inbox.submissions[last].Source, nil
	}
	for _, c := range [][3]string{{"p", "", "p"}, {"p", "p", "p"}, {"web", "", "web"}, {"web", "cli", "cli"}} {
		if got, err := submit(c[0], c[1]); err != nil || got != c[2] {
			t.Errorf("%s as %q: %q, %v", c[0], c[1], got, err)
		}
	}
	refused(t, "p as discord", second(submit("p", "discord")), pluginsdk.CodeDenied, `"discord"`, "speaks for p")
	refused(t, "of no source", second(submit("shadowed", "")), pluginsdk.CodeDenied, "source")

	ctx, _ := f.within(t, ledger.Behalf{RunID: "R"})
	if _, err := f.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{Content: "x", CauseRunID: "claimed"}}); err != nil {
		t.Fatal(err)
	}
	if last := f.inbox.submissions[len(f.inbox.submissions)-1]; last.CauseRunID != "R" {
		t.Errorf("caused by %q: a run that a run causes is counted", last.CauseRunID)
	}
}

// Nobody corrects what people have written through another plugin.
func TestAmendIsOfThePluginsOwnSources(t *testing.T) {
	f := newFixture()
	amend := func(plugin, source string) error {
		_, err := f.api.For(plugin).Messages.Amend(t.Context(), &pluginsdk.AmendMessageRequest{ThreadID: "T", Source: source, Key: "k", Content: "x"})
		return err
	}
	for _, c := range [][3]string{{"p", "", "p"}, {"web", "", "web"}, {"web", "cli", "cli"}} {
		if err := amend(c[0], c[1]); err != nil {
			t.Errorf("%s as %q: %v", c[0], c[1], err)
			continue
		}
		want := ledger.Amendment{Plugin: c[0], ThreadID: "T", Source: c[2], Key: "k", Content: "x"}
		if got := f.inbox.amendments[len(f.inbox.amendments)-1]; !reflect.DeepEqual(got, want) {
			t.Errorf("amended %+v, want %+v", got, want)
		}
	}
	refused(t, "p as discord", amend("p", "discord"), pluginsdk.CodeDenied, `"discord"`, "speaks for p")
	ctx, token := f.within(t, ledger.Behalf{RunID: "R"})
	f.tokens.Close(token)
	_, err := f.Messages.Amend(ctx, &pluginsdk.AmendMessageRequest{Key: "k", Content: "x"})
	refused(t, "after its call", err, pluginsdk.CodeStale)

	// Whose label a message has corrects it; no agent does.
	before := len(f.inbox.amendments)
	for what, origin := range map[string]ledger.Behalf{"in a tool": {RunID: "R", Fence: ledger.Fence{ThreadID: "T"}}, "in a task's hook": {TaskID: "K"}} {
		ctx, _ := f.within(t, origin)
		_, err := f.Messages.Amend(pluginsdk.WithPerson(ctx, "Ann"), &pluginsdk.AmendMessageRequest{Key: "k", Content: "x"})
		refused(t, what, err, pluginsdk.CodeDenied, "only a person corrects")
	}
	typed, _ := f.within(t, ledger.Behalf{RunID: "R", Typed: ledger.By{Author: "Ann"}})
	if _, err := f.Messages.Amend(typed, &pluginsdk.AmendMessageRequest{Key: "k", Content: "x"}); err != nil || len(f.inbox.amendments) != before+1 {
		t.Errorf("in a command that a person has typed: %v, %d amended", err, len(f.inbox.amendments)-before)
	}
}

// What a plugin may not do itself it does not do by typing the command for it.
func TestTypedCommandsNeedWhatTheyDo(t *testing.T) {
	say := func(f *fixture, thread, content string) error {
		return second(f.Messages.Submit(t.Context(), &pluginsdk.SubmitMessageRequest{
			Submission: pluginsdk.Submission{ThreadID: thread, Content: content},
		}))
	}
	none := newFixture(pluginsdk.CapMessagesSubmit)
	refused(t, "/stop", say(none, "mine", "/stop"), pluginsdk.CodeDenied, "runs.control", "harness plugin grant p runs.control")
	refused(t, "/new", say(none, "mine", "/new"), pluginsdk.CodeDenied, "threads.write")
	if err := say(none, "ann's", "hello"); err != nil {
		t.Errorf("a message: %v", err)
	}
	if err := say(newFixture(pluginsdk.CapRunsControl), "ann's", "/stop"); err != nil {
		t.Errorf("/stop with runs.control: %v", err)
	}
	writer := newFixture(pluginsdk.CapThreadsWrite)
	if err := say(writer, "mine", "/new"); err != nil {
		t.Errorf("/new in a thread of its own: %v", err)
	}
	for _, thread := range []string{"ann's", ""} {
		refused(t, "/new in another's thread "+thread, say(writer, thread, "/new"), pluginsdk.CodeDenied, "threads.admin")
	}
	refused(t, "/new nowhere", say(writer, "nowhere", "/new"), pluginsdk.CodeNotFound)
	repeated := newFixture(pluginsdk.CapThreadsWrite)
	deletion := &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{ThreadID: "gone", Content: "/thread delete", Key: "once"}}
	if err := second(repeated.Messages.Submit(t.Context(), deletion)); err != nil || len(repeated.inbox.submissions) != 1 {
		t.Errorf("what may be a repeated deletion does not reach the inbox: %v", err)
	}
	if n := len(writer.inbox.submissions) + len(none.inbox.submissions); n != 2 {
		t.Errorf("%d were submitted", n)
	}
	if err := say(newFixture(pluginsdk.CapThreadsWrite, pluginsdk.CapThreadsAdmin), "", "/new"); err != nil {
		t.Errorf("/new in the primary thread with threads.admin: %v", err)
	}
}

// A button types a command in the name of who presses it: a plugin whose row offers another's
// command, or the core's, would have people do what it may not do itself.
func TestARowOffersItsPluginsCommandsOnly(t *testing.T) {
	row := func(command string) pluginsdk.NewMessage {
		return pluginsdk.NewMessage{
			Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Content: "x",
			Metadata: []byte(`{"actions":[{"label":"OK","command":"` + command + `"}]}`),
		}
	}
	f := newFixture(pluginsdk.CapMessagesWrite)
	for _, command := range []string{"/thread delete", "/another off", "words"} {
		refused(t, command, f.append(t.Context(), "mine", text[0], row(command)), pluginsdk.CodeInvalid, "messages[1]: metadata: actions[0]: command:")
	}
	if len(f.store.rows) > 0 {
		t.Errorf("stored: %+v", f.store.rows)
	}
	if err := f.append(t.Context(), "mine", row("/p off x")); err != nil {
		t.Error(err)
	}
	charges = nil
	admitted, _ := f.api.AdmitEffects(t.Context(), "p", &pluginsdk.Effects{Key: "k", Rows: []pluginsdk.NewMessage{row("/thread delete"), row("/p off x")}}, 1000)
	if len(admitted.Rows) != 1 || len(charges) != 1 || !slices.ContainsFunc(charges, func(said string) bool {
		return said == "p 1 row 0 of effects: metadata: actions[0]: command: /thread is not a command of this plugin: a row offers only commands that its plugin's manifest declares"
	}) {
		t.Errorf("admitted %+v, charged %q", admitted, charges)
	}
}
