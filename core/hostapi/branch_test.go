package hostapi

import (
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A plugin deletes its own threads, and others only where it may change every thread. Who
// wanted it is in the log.
func TestAPluginDeletesItsOwnThreads(t *testing.T) {
	f := newFixture(pluginsdk.CapThreadsWrite)
	remove := func(id string) error {
		return second(f.Threads.Delete(t.Context(), &pluginsdk.DeleteThreadRequest{ID: id, Author: "ann"}))
	}
	refused(t, "another's thread", remove("ann's"), pluginsdk.CodeDenied, "discord", "threads.admin")
	if err := remove("mine"); err != nil {
		t.Error(err)
	}
	if err := remove("mine"); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
	if want := []string{"plugin:p (ann) thread.delete mine"}; !slices.Equal(f.store.audits, want) {
		t.Errorf("noted %q, want %q", f.store.audits, want)
	}
	f = newFixture(pluginsdk.CapThreadsWrite, pluginsdk.CapThreadsAdmin)
	if err := second(f.Threads.Delete(t.Context(), &pluginsdk.DeleteThreadRequest{ID: "ann's"})); err != nil {
		t.Error(err)
	}
	if want := []string{"plugin:p thread.delete ann's"}; !slices.Equal(f.store.audits, want) {
		t.Errorf("noted %q, want %q", f.store.audits, want)
	}
}

// A branch must not give a plugin a thread that may do what only threads.admin can give, nor
// show it what it may not read.
func TestABranchGivesNoRights(t *testing.T) {
	branch := func(f *fixture, from, source string) error {
		return second(f.Threads.Branch(t.Context(), &pluginsdk.BranchThreadRequest{ThreadID: from, MessageID: 7, Source: source, SourceID: "b"}))
	}
	f := newFixture(pluginsdk.CapThreadsWrite)
	refused(t, "who may not read", branch(f, "mine", "p"), pluginsdk.CodeDenied, "messages.read")

	f = newFixture(pluginsdk.CapThreadsWrite, pluginsdk.CapMessagesRead)
	f.store.threads["strong"] = pluginsdk.Thread{ID: "strong", Source: "discord", Cwd: "/secret"}
	refused(t, "another's source", branch(f, "mine", "discord"), pluginsdk.CodeDenied, "discord")
	refused(t, "another's rights", branch(f, "strong", "p"), pluginsdk.CodeDenied, "cwd", "threads.admin")
	refused(t, "no thread", branch(f, "none", "p"), pluginsdk.CodeNotFound)
	refused(t, "no source id", second(f.Threads.Branch(t.Context(), &pluginsdk.BranchThreadRequest{ThreadID: "mine", Source: "p"})), pluginsdk.CodeInvalid)
	if len(f.hall.branches) > 0 || len(f.store.audits) > 0 {
		t.Errorf("branched %+v, noted %q", f.hall.branches, f.store.audits)
	}
	for _, from := range []string{"here", "ann's"} {
		if err := branch(f, from, "p"); err != nil {
			t.Errorf("%s: %v", from, err)
		}
	}
	if len(f.hall.branches) != 2 || f.hall.branches[0].From != "here" || f.hall.branches[0].LastMessageID != 7 {
		t.Errorf("branched %+v", f.hall.branches)
	}
	if want := []string{`plugin:p thread.permit p:b cwd from "" to "/here"`}; !slices.Equal(f.store.audits, want) {
		t.Errorf("noted %q, want %q", f.store.audits, want)
	}
}

func TestCommandsAreToldToPlugins(t *testing.T) {
	f := newFixture()
	answer, err := f.Commands.List(t.Context(), &pluginsdk.ListCommandsRequest{})
	if err != nil || len(answer.Commands) != 2 || answer.Commands[1].Plugin != "p" {
		t.Errorf("%+v, %v", answer, err)
	}
}
