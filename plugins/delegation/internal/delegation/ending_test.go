package delegation

import (
	"log/slog"
	"testing"
)

// discard is a log that nobody reads.
var discard = slog.New(slog.DiscardHandler)

// Work that is not done must not count as done, and who says it in another dress must not
// be sent round again.
func TestHowAWorkerEnded(t *testing.T) {
	for text, want := range map[string]struct {
		said ending
		rest string
	}{
		"DONE: built":                     {saidDone, "built"},
		"I built it.\n\nDONE: built \n\n": {saidDone, "built"},
		"done: built":                     {saidDone, "built"},
		"**DONE:** built":                 {saidDone, "built"},
		"**DONE: built**":                 {saidDone, "built"},
		"**DONE**: `x`":                   {saidDone, "`x"},
		"`DONE: built`":                   {saidDone, "built"},
		"- DONE: built":                   {saidDone, "built"},
		"## Done: built":                  {saidDone, "built"},
		"[demo agent] DONE: built":        {saidDone, "built"},
		"```\nDONE: built\n```":           {saidDone, "built"},
		"All is there.\nDONE:":            {saidDone, ""},
		"DONE: built\n[COMMAND type=\"checkin\"]\n[/COMMAND]": {saidDone, "built"},
		"BLOCKED: which port?":                                {saidBlocked, "which port?"},
		"DONE: half\nBLOCKED: the other half":                 {saidBlocked, "the other half"},

		"":                                 {},
		" \n":                              {},
		"DONE:":                            {},
		"[demo agent] DONE:":               {},
		"**DONE:**":                        {},
		"BLOCKED:":                         {},
		"I will say DONE: when I am":       {},
		"Not DONE: the tests fail":         {},
		"DONE":                             {},
		"DONE built":                       {},
		"UNDONE: built":                    {},
		"DONE: built\nBut the tests fail.": {},
		"> DONE: and says what you did":    {},
		"[COMMAND type=\"delegate\"]\nDONE: x\n[/COMMAND]": {},
	} {
		if said, rest := readEnding(text); said != want.said || rest != want.rest {
			t.Errorf("%q: %q, %q; want %q, %q", text, said, rest, want.said, want.rest)
		}
	}
}
