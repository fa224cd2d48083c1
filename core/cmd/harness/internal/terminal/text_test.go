package terminal

import "testing"

// What a plugin or the agent says is shown, and must not move the cursor, change
// colors or turn other text around; other scripts and emoji stay as they are.
func TestCleanTakesOutWhatPlaysWithATerminal(t *testing.T) {
	const plays = "a\x1b[2Jb\u009b31mc\u202ed\u2066e\u200ff\u061cg\u2028h\ufeffi\x07j\rk\u200bl"
	if got, want := Clean(plays), "a[2Jb31mcdefghijkl"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, text := range []string{"a\tb\n", "Grüße\u00a0„你好“", "می\u200cخواهم", "👨\u200d👩\u200d👧 ❤\ufe0f", "e\u0301"} {
		if got := Clean(text); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
}
