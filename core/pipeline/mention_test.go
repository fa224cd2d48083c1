package pipeline

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Whoever may talk must not have the agent shown any file that the daemon's user can read.
func TestWhoseMessagesShowFiles(t *testing.T) {
	const plain = "mail ann@example.org"
	for text, want := range map[string]string{
		"@/etc/passwd": "@\u2060/etc/passwd", "see @~/.ssh/id_rsa, please": "see @\u2060~/.ssh/id_rsa, please",
		`what is in @"a b"?`: "what is in @\u2060\"a b\"?", "(@x)": "(@x)", "a\n@x": "a\n@\u2060x", "\t@x": "\t@\u2060x",
		"@@x": "@\u2060@x", "@ @x": "@\u2060 @\u2060x", "é@x": "é@x", plain: plain, "": "",
	} {
		if got := inert(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for scope, shown := range map[pluginsdk.TokenScope]bool{
		"": true, pluginsdk.ScopeRead: false, pluginsdk.ScopeChat: false, pluginsdk.ScopeApprove: false,
		pluginsdk.ScopeWork: true, pluginsdk.ScopeAdmin: true, "unheard-of": false,
	} {
		text := messageText(pluginsdk.Message{Content: "read @/key", Scope: scope}, ledger.Desk{})
		if got := strings.Contains(text, "@/key"); got != shown {
			t.Errorf("scope %q: %q", scope, text)
		}
	}
}
