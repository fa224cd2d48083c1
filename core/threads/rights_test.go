package threads

import (
	"os"
	"regexp"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What an agent may do in a thread is changed by people with the scope admin. A setting of
// /thread that says so and is not among the commands that the dashboard's API holds back could
// be typed in a conversation by everybody who may talk.
func TestWhatThreadMayDoIsHeldBackFromWhoMayTalk(t *testing.T) {
	const scopes = "plugins/web/internal/api/scopes.go"
	source, err := os.ReadFile("../../" + scopes)
	if err != nil {
		t.Fatal(err)
	}
	entry := regexp.MustCompile("\\{\"thread\", regexp\\.MustCompile\\(`([^`]+)`\\), pluginsdk\\.ScopeAdmin\\}").FindSubmatch(source)
	if entry == nil {
		t.Fatalf("%s has no entry for /thread that this test can read", scopes)
	}
	held := regexp.MustCompile(string(entry[1]))
	var room *Room
	walked := 0
	for _, verb := range room.Verbs() {
		args := verb + " x"
		needs, _ := room.Needs(args)
		if needs != pluginsdk.CapThreadsAdmin && !room.OnlyPeople(args) {
			continue
		}
		walked++
		if !held.MatchString(args) {
			t.Errorf("/thread %s changes what a thread may do; add %q to the commands in %s", args, verb, scopes)
		}
	}
	if walked < 5 { // account, ask, delete, dir, permission
		t.Errorf("only %d settings of /thread are rights: does this test read the right table?", walked)
	}
}
