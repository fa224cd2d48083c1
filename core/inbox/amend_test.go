package inbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who looks on sees the words of now. What is no message, or too much of one, is refused
// before anything is stored.
func TestAmend(t *testing.T) {
	f := newFixture(t, Config{})
	f.submit(t, "T", "key", "helo")
	amend := func(key, content string) (pluginsdk.Message, error) {
		return f.Amend(t.Context(), ledger.Amendment{Plugin: "web", Source: "web", Key: key, Content: content})
	}
	for range 2 { // the second time it says so already
		if message, err := amend("key", "hello"); err != nil || message.Content != "hello" {
			t.Fatalf("amended to %+v, %v", message, err)
		}
	}
	if want := []pluginsdk.EventType{pluginsdk.EventChatMessage, pluginsdk.EventChatAmended}; !slices.Equal(f.events.kinds, want) {
		t.Errorf("published %v, want %v", f.events.kinds, want)
	}
	for content, want := range map[string]pluginsdk.Code{
		"/stop": pluginsdk.CodeInvalid, "/unheard-of": pluginsdk.CodeInvalid, strings.Repeat("x", MaxContent+1): pluginsdk.CodeInvalid,
	} {
		if _, err := amend("key", content); pluginsdk.CodeOf(err) != want {
			t.Errorf("%.20s: %v", content, err)
		}
	}
	if _, err := amend("", "x"); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("without a key: %v", err)
	}
	for _, content := range []string{"x", "/stop"} { // by a command it can be submitted yet
		if _, err := amend("another", content); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			t.Errorf("an unknown key, %s: %v", content, err)
		}
	}
	f.begin(t)
	f.Pause()
	if _, err := amend("key", "x"); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("while the database may be another's: %v", err)
	}
}
