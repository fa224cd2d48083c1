package ledger

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The audit log names who did something on one line, whatever they call themselves.
func TestAuditName(t *testing.T) {
	for want, by := range map[string]By{
		"":                           {},
		"Ann":                        {Author: "Ann"},
		"plugin:web":                 {Plugin: "web"},
		"plugin:web (Ann)":           {Plugin: "web", Author: "Ann"},
		"plugin:web (Ann\uFFFDroot)": {Plugin: "web", Author: "Ann\nroot"},
	} {
		if got := by.AuditName(); got != want {
			t.Errorf("%+v is %q, want %q", by, got, want)
		}
	}
	if long := (By{Author: strings.Repeat("ä", 1000)}).AuditName(); len(long) > 100 || !strings.HasSuffix(long, "ä…") || !utf8.ValidString(long) {
		t.Errorf("a long name has %d bytes: %q", len(long), long)
	}
}
