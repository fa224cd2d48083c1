package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func shown(columns int, pieces ...string) string {
	var out strings.Builder
	screen := NewScreen(&out, Style{}, func() int { return columns })
	screen.Passage()
	for _, piece := range pieces {
		screen.Text(piece)
	}
	screen.Fresh()
	return out.String()
}

// An answer is read in words, and what would be another thing when it is broken, code
// above all, is copied from the terminal as it was written.
func TestTextIsBrokenBetweenWords(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"words":                  {"one two three four", "one two\nthree four\n"},
		"one that just fits":     {"one two th\nfour", "one two th\nfour\n"},
		"a long word":            {"a https://example.org/long b", "a https://example.org/long b\n"},
		"paragraphs":             {"one two three\n\nfour", "one two\nthree\n\nfour\n"},
		"an item":                {"- one two three", "- one two\n  three\n"},
		"an item in an item":     {"  1. one two", "  1. one\n     two\n"},
		"a block of code":        {"```go\nif a   := b(); a {\n```\none two three", "```go\nif a   := b(); a {\n```\none two\nthree\n"},
		"a block in a block":     {"````\n```\none two three\n```\n````\none two three", "````\n```\none two three\n```\n````\none two\nthree\n"},
		"no block of code":       {"```a``` one two", "```a```\none two\n"},
		"indented":               {"    one two three four", "    one two three four\n"},
		"a table":                {"| one | two | three |", "| one | two | three |\n"},
		"wide characters":        {"你好你 好你好", "你好你\n好你好\n"},
		"spaces between":         {"a  b", "a  b\n"},
		"characters on one base": {"e\u0301e\u0301e\u0301 two th", "e\u0301e\u0301e\u0301 two th\n"},
	} {
		if got := shown(10, test.text); got != test.want {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, test.want)
		}
		if got := shown(0, test.text); got != test.text+"\n" {
			t.Errorf("%s, of a width that nobody knows: %q", name, got)
		}
	}
	var out strings.Builder
	NewScreen(&out, Style{coloured: true}, func() int { return 10 }).Line(Style{coloured: true}.Dim("· one two three"))
	if want := "\x1b[2m· one two\n  three\x1b[0m\n"; out.String() != want {
		t.Errorf("a line of colour: %q, want %q", out.String(), want)
	}
}

// However the answer comes in, it is the same on the screen, and in a pipe it is as it was
// written.
func TestTextThatComesInPiecesIsBrokenAlike(t *testing.T) {
	const text = "A first line that is long:\n\n- an item, naïve 你好\n  1. another\n\n```sh\n\tif  x; then\n  done | or something\n```\n| a | b |\nThe end of it.\n"
	whole := shown(20, text)
	for at := range text {
		if !utf8.RuneStart(text[at]) {
			continue
		}
		if got := shown(20, text[:at], text[at:]); got != whole {
			t.Fatalf("cut at %d:\n%s\nwant\n%s", at, got, whole)
		}
	}
	var out strings.Builder
	pipe := NewScreen(&out, Style{}, nil)
	for _, r := range text {
		pipe.Text(string(r))
	}
	if out.String() != text {
		t.Errorf("a pipe has %q", out.String())
	}
}

// Who makes the window wider has the rest of the answer in all of it.
func TestTextFollowsTheWidthOfTheWindow(t *testing.T) {
	var out strings.Builder
	columns := 10
	screen := NewScreen(&out, Style{}, func() int { return columns })
	screen.Text("one two three ")
	columns = 40
	screen.Text("four five six seven ")
	screen.Line("(an aside)")
	screen.Text("eight")
	screen.Fresh()
	if want := "one two\nthree four five six seven\n(an aside)\neight\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// A colour that stands by itself at the beginning of a line is no word of it.
func TestALineMayBeginWithAColour(t *testing.T) {
	var out strings.Builder
	screen := NewScreen(&out, Style{coloured: true}, func() int { return 10 })
	screen.Line(screen.Dim("  one two three"))
	if want := "\x1b[2m  one two\n  three\x1b[0m\n"; out.String() != want {
		t.Errorf("shown %q; want %q", out.String(), want)
	}
}
