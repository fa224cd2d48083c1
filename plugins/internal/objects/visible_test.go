package objects

import "testing"

// What a reviewer is shown has everything in it that the bytes have.
func TestEverythingCanBeSeen(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\r\nc é 漢":   "a\tb\r\nc é 漢",
		"\xe9\xed\xf0x":   `\xe9\xed\xf0x`,
		"a\u202eb\u2028c": `a\u202eb\u2028c`,
		"\U000e0041":      `\ue0041`,
		"a\u3164\u115f\uffa0\u034fb\U000e0100\u2800": `a\u3164\u115f\uffa0\u034fb\ue0100\u2800`,
	} {
		if got := visible(text); got != want {
			t.Errorf("%q is shown as %q, not %q", text, got, want)
		}
	}
}
