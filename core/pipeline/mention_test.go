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
		`what is in @"a b"?`: "what is in @\u2060\"a b\"?", "(@x)": "(@\u2060x)", "a\u00a0@x": "a\u00a0@\u2060x", "a\u3000@x": "a\u3000@\u2060x", "a\v@x": "a\v@\u2060x",
		"a\ufeff@x": "a\ufeff@\u2060x", "a\u2028@x": "a\u2028@\u2060x", "看。@x": "看。@\u2060x", "@\u2060x": "@\u2060x", "a\n@x": "a\n@\u2060x", "\t@x": "\t@\u2060x",
		"@@x": "@\u2060@\u2060x", "@ @x": "@\u2060 @\u2060x", "é@x": "é@x", plain: plain, "": "",
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

// What was said before, memory and names show no file, whoever speaks now; what the person who
// may have work done says in this message does.
func TestOnlyTheMessageItselfShowsFiles(t *testing.T) {
	prompt := "# Conversation History\n\n[user]: see @/key\n\n---\n\n[thread T, name \"a @/key\"]\n\n---\n\nread @/mine"
	got := inertBut(prompt, []string{"read @/mine"})
	if strings.Contains(got, "@/key") || !strings.HasSuffix(got, "read @/mine") {
		t.Errorf("%q", got)
	}
	if got := inertBut(prompt, nil); strings.Contains(got, "@/") {
		t.Errorf("nobody may: %q", got)
	}
	if got := inertBut("read @/a\n\nand @/b", []string{"and @/b", "read @/a"}); got != "read @/a\n\nand @/b" {
		t.Errorf("two messages: %q", got)
	}
}

// So is the prompt that the agent gets: of what plugins put before a message, and of the names of files
// that came with it, nothing shows a file.
func TestAPromptShowsNoFilesOfOthers(t *testing.T) {
	for scope, shown := range map[pluginsdk.TokenScope]bool{pluginsdk.ScopeChat: false, pluginsdk.ScopeWork: true} {
		b := newBench("a")
		b.claim.Message.Content, b.claim.Message.Scope = "read @/mine", scope
		b.claim.Message.Attachments = []pluginsdk.Attachment{{Name: "x @/named"}}
		b.plugins[0].before = func(r *pluginsdk.OnBeforeInvokeRequest) (string, error) {
			return "# Conversation History\n\nsee @/key\n\n" + r.Prompt, nil
		}
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		prompt := b.agent.requests[0].Prompt
		if strings.Contains(prompt, "@/key") || strings.Contains(prompt, "@/named") || strings.Contains(prompt, "@/mine") != shown {
			t.Errorf("scope %q: %q", scope, prompt)
		}
		if steered := messageText(b.claim.Message, ledger.Desk{}); strings.Contains(steered, "@/named") {
			t.Errorf("put into a running turn: %q", steered)
		}
	}
}
