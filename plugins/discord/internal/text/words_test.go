package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	gtext "github.com/yuin/goldmark/text"
	"pgregory.net/rapid"
)

func TestUnits(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "é": 1, "日本": 2, "👍": 2, "👩‍👩‍👧‍👦": 11, "\xff": 1} {
		if got := Units(s); got != want {
			t.Errorf("Units(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		s     string
		units int
		want  string
	}{
		{"short", 5, "short"},
		{"shorter", 5, "shor…"},
		{"two words", 5, "two…"},
		{"👍👍👍", 4, "👍…"},
		{"a👩‍👩‍👧‍👦", 11, "a…"},
		{"e\u0301e\u0301e\u0301", 4, "e\u0301…"},
		{"abc", 0, ""},
	} {
		if got := Clip(c.s, c.units); got != c.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", c.s, c.units, got, c.want)
		}
	}
}

// A thread's name in a list of channels is words.
func TestName(t *testing.T) {
	for s, want := range map[string]string{
		"# Fix the **login** page\n\nIt `panics`.":      "Fix the login page It panics.",
		"> - [ ] a [link](https://example.org) ~~old~~": "a link old",
		"```go\nfunc main() {}\n```":                    "func main() {}",
		"snake_case and 2 * 3":                          "snake_case and 2 * 3",
		"bell\a, \u202eright to left\u202c,\ttab":       "bell, right to left, tab",
		"":                          "",
		"***":                       "",
		strings.Repeat("long ", 30): "long long long long long long long long long long long long long long long long long long long long…",
	} {
		if got := Name(s, 100); got != want {
			t.Errorf("Name(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestEscape(t *testing.T) {
	for s, want := range map[string]string{
		"plain words, 3 - 2 = 1.":       "plain words, 3 - 2 = 1.",
		"rm -rf *":                      `rm -rf \*`,
		"<@123> @everyone":              "\\<@\u200b123> @\u200beveryone",
		"[bank](https://evil.org)":      `\[bank\](https://evil.org)`,
		"# big\n- item\n> said\n1. one": "\\# big\n\\- item\n\\> said\n1\\. one",
		"a_b `c` ||d||":                 "a\\_b \\`c\\` \\|\\|d\\|\\|",
		"https://example.org/a_b_c":     "https://example.org/a_b_c",
	} {
		if got := Escape(s); got != want {
			t.Errorf("Escape(%q) = %q, want %q", s, got, want)
		}
	}
}

// Whatever a stranger writes is words to Markdown: no marks, no links, no code.
func TestEscapeIsWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"*", "_", "~~", "||", "`", "```", "[", "](", ")", "<", "@", "!", "\\", "#", "# ", "- ", "+ ", "> ", "1. ", "2) ", "-# ", "a", " ", "\n", "https://x.org/"})).Draw(t, "s"), "")
		escaped := Escape(s)
		source := []byte("x " + strings.Join(strings.Fields(escaped), " "))
		_ = ast.Walk(goldmark.DefaultParser().Parse(gtext.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			switch n.(type) {
			case *ast.Document, *ast.Paragraph, *ast.Text:
			default:
				t.Errorf("Escape(%q) = %q is a %s", s, escaped, n.Kind())
			}
			return ast.WalkContinue, nil
		})
		for line := range strings.SplitSeq(escaped, "\n") {
			if beginsBlock(strings.TrimSpace(line)) {
				t.Errorf("Escape(%q) has a line that is more than words: %q", s, line)
			}
		}
		if strings.Contains(escaped, "@e") || strings.Contains(strings.ReplaceAll(escaped, "\\<", ""), "<") {
			t.Errorf("Escape(%q) = %q mentions", s, escaped)
		}
	})
}

func TestFence(t *testing.T) {
	for _, c := range [][3]string{
		{"go", "x := 1\n", "```go\nx := 1\n```"},
		{"a b", "x", "```\nx\n```"},
		{"", "```\nout", "```\n``\u200b`\nout\n```"},
		{"", "`````", "```\n``\u200b``\u200b`\n```"},
	} {
		if got := Fence(c[0], c[1]); got != c[2] {
			t.Errorf("Fence(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// While an answer is written, its newest lines are seen, code as code.
func TestLive(t *testing.T) {
	code := "Look:\n\n```go\n" + strings.Repeat("line of code()\n", 100) + "last()"
	got := Live(code, 300)
	if !strings.HasPrefix(got, "…\n```go\nline of code()\n") || !strings.HasSuffix(got, "\nlast()\n```") || Units(got) > 300 || Units(got) < 250 {
		t.Errorf("%d units: %q", Units(got), got)
	}
	for s, want := range map[string]string{
		"":                  "",
		"Short.":            "Short.",
		"```go\nx := 1":     "```go\nx := 1\n```",
		"> quo":             "> quo",
		"1. one\n2. two **": "1. one\n2. two **",
	} {
		if got := Live(s, 2000); got != want {
			t.Errorf("Live(%q) = %q, want %q", s, got, want)
		}
	}
	list := "1. one\n" + strings.Repeat("   - an item of the first\n", 30) + "2. two"
	if got := Live(list, 200); !strings.HasPrefix(got, "…\n1. …\n   - an item") || !strings.HasSuffix(got, "\n2. two") {
		t.Errorf("%q", got)
	}
	line := strings.Repeat("word ", 1000) + "end"
	if got := Live(line, 500); !strings.HasPrefix(got, "…\nword") || !strings.HasSuffix(got, "word end") || Units(got) > 500 || Units(got) < 400 {
		t.Errorf("%d units: %q", Units(got), got)
	}
}

func TestSummary(t *testing.T) {
	for s, want := range map[string]string{
		"": "",
		"# Title\n\nWhat it says.\n\n```go\nx\n```\n\nMore.": "# Title\n\nWhat it says.",
		"First.\n\n## Code\n\n```\nx\n```":                   "First.",
		"```go\nonly()\n```":                                 "```go\nonly()\n```",
	} {
		if got := Summary(s); got != want {
			t.Errorf("Summary(%q) = %q, want %q", s, got, want)
		}
	}
	long := "The first paragraph.\n\n" + strings.Repeat("A sentence of the second. ", 100)
	if got := Summary(long); Units(got) > 600 || !strings.HasSuffix(got, "second.") || !utf8.ValidString(got) {
		t.Errorf("%q", got)
	}
}
