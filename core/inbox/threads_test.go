package inbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// An agent that has a plugin submit for it must not delete threads by that; a person may, and
// is answered where there is still a place for it.
func TestThreadIsDeletedByPeopleOnly(t *testing.T) {
	f := newFixture(t, Config{})
	submit := func(key, cause, content string) pluginsdk.Accepted {
		t.Helper()
		accepted, err := f.Submit(t.Context(), ledger.By{Plugin: "web"}, pluginsdk.Submission{
			ThreadID: "T1", Source: "web", Key: key, Content: content, Author: "ann", CauseRunID: cause,
		})
		if err != nil {
			t.Fatal(err)
		}
		return accepted
	}
	caused := submit("1", "R", "/thread delete")
	if len(f.hall.asked) > 0 || f.store.runs[0].State != pluginsdk.RunFailed || caused.ThreadID != "T1" {
		t.Errorf("asked %q, the run is %s in %s", f.hall.asked, f.store.runs[0].State, caused.ThreadID)
	}
	if shown := submit("2", "R", "/thread archive"); shown.ThreadID != "T1" {
		t.Errorf("answered in %s", shown.ThreadID)
	}
	if gone := submit("3", "", "/thread delete"); gone.ThreadID != "P" {
		t.Errorf("the answer of a deletion is in %s, want the primary thread", gone.ThreadID)
	}
	if again := submit("3", "", "/thread delete"); !again.Existed || again.ThreadID != "P" {
		t.Errorf("the same deletion again is %+v, want what became of the first", again)
	}
	other := pluginsdk.Submission{ThreadID: "T1", Source: "web", Key: "late", Content: "/thread delete", Author: "ann"}
	if _, err := f.Submit(t.Context(), ledger.By{Plugin: "web"}, other); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("a deletion of what is gone: %v", err)
	}
	other.ThreadID, other.Content = "T2", "/model opus"
	if _, err := f.Submit(t.Context(), ledger.By{Plugin: "web"}, other); err != nil {
		t.Error(err)
	}
	want := []string{"T1: |web says archive", "T1: ann|web says delete"}
	if !slices.Equal(f.hall.asked, want) {
		t.Errorf("asked %q, want %q", f.hall.asked, want)
	}
}

// What people can type is one list, for /help and for whoever offers it.
func TestCommandsAreListed(t *testing.T) {
	spec := pluginsdk.CommandSpec{Name: "buy", Options: []pluginsdk.CommandOption{{Name: "what", Type: "fruit"}}}
	f := newFixture(t, Config{}, Command{Plugin: "shop", Spec: spec},
		Command{Plugin: "rogue", Spec: pluginsdk.CommandSpec{Name: "stop"}}, Command{Plugin: "all", Spec: pluginsdk.CommandSpec{Name: "*"}})
	var names []string
	for _, command := range f.Commands() {
		names = append(names, command.Plugin+"/"+command.Name)
		if command.Name == "buy" && (len(command.Options) != 1 || command.Options[0].Type != "fruit") {
			t.Errorf("the options of a plugin's command are %+v", command.Options)
		}
		for _, option := range command.Options {
			if (option.Type == pluginsdk.OptionChoice) != (len(option.Choices) > 0) || option.Name == "" {
				t.Errorf("/%s: option %+v", command.Name, option)
			}
		}
	}
	want := []string{"all/*", "/busy", "shop/buy", "/help", "/model", "/new", "/plan", "/retry", "/status", "/stop", "/tasks", "/thread"}
	if !slices.Equal(names, want) {
		t.Errorf("listed %q, want %q", names, want)
	}
	answer := f.coreCommand(t.Context(), pluginsdk.Thread{ID: "T1"}, ledger.By{}, typed{name: "help"})
	for _, name := range []string{"/buy — ", "/thread [WORD] [VALUE]", "(shop)"} {
		if !strings.Contains(answer.Text, strings.TrimSuffix(name, " — ")) {
			t.Errorf("/help does not say %q:\n%s", name, answer.Text)
		}
	}
	if strings.Contains(answer.Text, "rogue") || strings.Contains(answer.Text, "/* ") {
		t.Errorf("/help lists what nobody can type:\n%s", answer.Text)
	}
}
