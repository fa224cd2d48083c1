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

// Who allows a command must see all of it: what hides a part of it is itself shown.
func TestWhatIsAllowedIsShownAsItIs(t *testing.T) {
	for text, want := range map[string]string{
		"make test\n\techo ä 日本 👍":               "make test\n\techo ä 日本 👍",
		"echo ok\x1b[2K\rrm -rf /":               `echo ok\x1b[2K\rrm -rf /`,
		"a\x00b\x7fc\u009bd":                     `a\x00b\x7fc\u009bd`,
		"cat \u202etxt.exe\u202c":                `cat \u202etxt.exe\u202c`,
		"rm\u00a0-rf\u2003x\u200by\u200dz":       `rm\u00a0-rf\u2003x\u200by\u200dz`,
		"hidden\U000e0041\U000e0100\ufe0f\u3164": `hidden\U000e0041\U000e0100\ufe0f\u3164`,
		"wrong\xff\u2800":                        `wrong\ufffd\u2800`,
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q is shown as %q; want %q", text, got, want)
		}
	}
}
