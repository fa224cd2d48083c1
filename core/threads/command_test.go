package threads

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var ann = ledger.By{Plugin: "web", Author: "ann"}

// Whatever can be set of a thread can be set by what people type, and shown.
func TestThreadIsChangedByWhatIsTyped(t *testing.T) {
	store := newShelf()
	room, events := open(t, store)
	say := func(args string) string {
		t.Helper()
		text, deleted, err := room.Command(t.Context(), store.threads[plans], ann, args)
		if err != nil || deleted {
			t.Errorf("/thread %s: %q, deleted %v, %v", args, text, deleted, err)
		}
		return text
	}
	for _, args := range []string{
		"rename new plans", "archive", "unarchive", "model opus", "effort high", "permission plan", "dir /srv/a b", "ask Bash Edit", "busy steer",
		"instructions\nbe brief\nand kind",
	} {
		before := len(events.kinds)
		say(args)
		if len(events.kinds) != before+1 || events.kinds[before] != pluginsdk.EventThreadUpdated {
			t.Errorf("/thread %s: told %q", args, events.kinds[before:])
		}
	}
	want := pluginsdk.Thread{
		ID: plans, Name: "new plans", Source: "discord", SourceID: "1", Kind: pluginsdk.ThreadGeneral, Status: pluginsdk.ThreadActive,
		Model: "opus", Effort: "high", PermissionMode: "plan", Cwd: "/srv/a b", AskTools: "Bash Edit", BusyMode: pluginsdk.BusySteer,
		Instructions: "be brief\nand kind",
	}
	if got := store.threads[plans]; got != want {
		t.Errorf("the thread is\n%+v, want\n%+v", got, want)
	}
	shown := say("")
	for _, word := range []string{"new plans", "opus", "high", "plan", "/srv/a b", "Bash Edit", "steer", "be brief", "active"} {
		if !strings.Contains(shown, word) {
			t.Errorf("/thread does not show %q:\n%s", word, shown)
		}
	}
	if text := say("dir"); !strings.Contains(text, "/srv/a b") {
		t.Errorf("/thread dir says %q", text)
	}
	if noted := strings.Join(store.audits, "\n"); strings.Count(noted, "plugin:web (ann) permits") != 2 || !strings.Contains(noted, `directory from "" to "/srv/a b"`) {
		t.Errorf("what the thread may do is noted as %q", noted)
	}
	for _, of := range settings {
		say(of.verb + " default")
	}
	if got := store.threads[plans]; got.Model+got.Effort+got.PermissionMode+got.Cwd+got.AskTools+got.Instructions != "" || got.BusyMode != pluginsdk.BusyQueue {
		t.Errorf("cleared, the thread is %+v", got)
	}
}

// A thread goes only by a word that names it, and new ones can be talked in through the API.
func TestThreadIsMadeAndDeletedByWhatIsTyped(t *testing.T) {
	store := newShelf()
	room, events := open(t, store)
	thread := store.threads[plans]
	for _, args := range []string{"delete", "delete yes", "delete 0198c5c0"} {
		text, deleted, err := room.Command(t.Context(), thread, ann, args)
		if err != nil || deleted || !strings.Contains(text, "/thread delete 456789ab") || len(events.kinds) > 0 {
			t.Errorf("/thread %s: %q, deleted %v, %v", args, text, deleted, err)
		}
	}
	for args, want := range map[string]string{"new shopping": "(shopping)", "branch 17": "(plans)", "branch #18": "(plans)", "branch": "(plans)"} {
		text, _, err := room.Command(t.Context(), thread, ann, args)
		if err != nil || !strings.Contains(text, want) || !strings.Contains(text, "harness chat --thread") {
			t.Errorf("/thread %s: %q, %v", args, text, err)
		}
	}
	var at []int64
	for _, branch := range store.branches {
		at = append(at, branch.LastMessageID)
		if branch.From != plans || branch.Thread.Source != "web" || branch.Thread.SourceID == "" {
			t.Errorf("branched %+v", branch)
		}
	}
	if len(at) != 3 || at[0]+at[1]+at[2] != 35 {
		t.Errorf("branched at %v", at)
	}
	text, deleted, err := room.Command(t.Context(), thread, ann, "delete 456789ab")
	if _, there := store.threads[plans]; err != nil || !deleted || there || !strings.Contains(text, "is deleted") {
		t.Errorf("confirmed: %q, deleted %v, there %v, %v", text, deleted, there, err)
	}
	for args, want := range map[string]string{
		"dance": "is not understood", "rename": "what shall it be called", "branch soon": "not the id of a message", "model two words": "no spaces",
	} {
		if _, _, err := room.Command(t.Context(), thread, ann, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("/thread %s: %v, want %q", args, err, want)
		}
	}
}

// By the word the inbox knows what a command needs: one that only looks has none, and one that
// changes something is never taken for one that looks.
func TestTheWordOfThread(t *testing.T) {
	room := New(Config{}, newShelf(), &told{})
	for _, verb := range room.Verbs() {
		if _, _, err := room.Command(t.Context(), pluginsdk.Thread{ID: plans}, ann, verb); err != nil && strings.Contains(err.Error(), "is not understood") {
			t.Errorf("/thread %s is listed, and not understood", verb)
		}
		for _, args := range []string{verb + " x", " " + verb + "  x", verb + "\nx"} {
			if word := room.Word(args); word != verb {
				t.Errorf("the word of /thread %q is %q", args, word)
			}
		}
	}
	for args, want := range map[string]string{
		"": "", "model": "", "dir": "", " ask ": "", "delete": "delete", "new": "new", "archive": "archive", "nonsense": "nonsense", "DELETE x": "DELETE",
	} {
		if word := room.Word(args); word != want {
			t.Errorf("the word of /thread %q is %q, want %q", args, word, want)
		}
	}
}
