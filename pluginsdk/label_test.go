package pluginsdk_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who reads whose words something is must not take a plugin's word for the core's.
func TestALabelSaysInWordsWhoseItIs(t *testing.T) {
	token := pluginsdk.Origin{Token: "0192", TokenName: "phone"}
	for want, label := range map[string]pluginsdk.Label{
		"Harness":                      {},
		"the plugin cron":              {Plugin: "cron"},
		"Ann":                          {Author: "Ann"},
		"Ann, says the plugin discord": {Author: "Ann", Plugin: "discord"},
		"Ann, says the plugin discord, in a thread apart": {Author: "Ann", Plugin: "discord", Origin: pluginsdk.Origin{Apart: true}},
		"Ann, by the token phone, through the plugin web": {Author: "Ann", Plugin: "web", Origin: token},
		"phone, by a token, through the plugin web":       {Author: "phone", Plugin: "web", Origin: token},
		"the agent of the thread T, run R, task K":        {Author: "Owner", Origin: pluginsdk.Origin{ThreadID: "T", RunID: "R", TaskID: "K"}},
		"the agent of the thread T, of a thread apart":    {Origin: pluginsdk.Origin{ThreadID: "T", Apart: true}},
	} {
		if got := label.String(); got != want {
			t.Errorf("%+v is %q, want %q", label, got, want)
		}
	}
	if got := (pluginsdk.Message{Role: pluginsdk.RoleAssistant, Source: "agent", ThreadID: "T", RunID: "R"}).Label().String(); got != "the agent of the thread T, run R" {
		t.Errorf("a reply is of %q", got)
	}
	for name, want := range map[string]string{
		strings.Repeat("A", 150):         strings.Repeat("A", 97) + "…",
		strings.Repeat("ä", 75):          strings.Repeat("ä", 48) + "…",
		strings.Repeat("Ann ", 26):       strings.Repeat("Ann ", 24) + "A…",
		"Ann\nroot":                      "Ann\uFFFDroot",
		strings.Repeat("A", 100):         strings.Repeat("A", 100),
		"an" + strings.Repeat("\xff", 3): "an" + strings.Repeat("\uFFFD", 3),
	} {
		if got := (pluginsdk.Label{Author: name}).Name(); got != want || !utf8.ValidString(got) {
			t.Errorf("%q is called %q, want %q", name, got, want)
		}
	}
}
