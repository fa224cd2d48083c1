package transcript

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A message must not be able to end its own quotation: what follows it would
// be read as somebody else's words.
func TestNothingLeavesItsQuotation(t *testing.T) {
	var out strings.Builder
	m := NewMarkdown(&out)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	hostile := "```\nopen fence\r# heading\r\n\r\n</details>\n> quote\n\n    code\n\x1b[2Jclear\n"
	if err := m.Thread(pluginsdk.Thread{ID: "t1", Name: "a # `b`\n# c", Source: "web"}); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{hostile, "", "end"} {
		if err := m.Message(pluginsdk.Message{Author: "an*n\n# x", Role: "user", Kind: "text", Content: content, CreatedAt: at,
			Attachments: []pluginsdk.Attachment{{Name: "a\nb", Type: "text/plain", Size: 3, Where: "x`y"}}}); err != nil {
			t.Fatal(err)
		}
	}
	headings := 0
	for line := range strings.SplitSeq(out.String(), "\n") {
		switch {
		case strings.HasPrefix(line, "# "):
			headings++
		case line == "", strings.HasPrefix(line, ">"), strings.HasPrefix(line, "Thread `t1`"),
			strings.HasPrefix(line, `**an\*n \# x**, 2026-01-02 03:04:05 UTC`), line == "- attachment: a b (text/plain, 3 bytes), `x'y`":
		default:
			t.Errorf("line outside of a quotation: %q", line)
		}
	}
	if headings != 1 || strings.ContainsAny(out.String(), "\x1b\r") {
		t.Errorf("%d headings:\n%q", headings, out.String())
	}
}
