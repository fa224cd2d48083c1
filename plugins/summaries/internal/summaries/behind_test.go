package summaries

import "testing"

// Lines that came after a consolidation stay lines of their own when it is reverted.
func TestLinesBehindAText(t *testing.T) {
	for _, row := range []struct{ text, lines, want string }{
		{"# Inbox\n- a", "- b\n", "# Inbox\n- a\n- b\n"}, {"# Inbox\n- a\n", "- b\n", "# Inbox\n- a\n- b\n"}, {"# Inbox\n- a", "", "# Inbox\n- a"}, {"", "- b\n", "- b\n"},
	} {
		if got := behind(row.text, row.lines); got != row.want {
			t.Errorf("%q behind %q is %q", row.lines, row.text, got)
		}
	}
}
