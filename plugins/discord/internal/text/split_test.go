package text

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// sound holds what is true of any parts, whatever they were cut from. It knows nothing of
// how they are cut.
func sound(t interface{ Errorf(string, ...any) }, parts []string, limit int) {
	for k, part := range parts {
		if n := Units(part); n < 1 || n > limit {
			t.Errorf("part %d has %d units of %d", k, n, limit)
		}
		if strings.TrimSpace(part) == "" || strings.HasPrefix(part, " ") {
			t.Errorf("part %d is empty or begins with space: %q", k, part)
		}
		if !utf8.ValidString(part) {
			t.Errorf("part %d is not UTF-8: %q", k, part)
		}
		// Discord's code blocks begin and end at any three backticks: they are there only
		// as lines of their own, in pairs.
		fences := 0
		for line := range strings.SplitSeq(part, "\n") {
			n := strings.Count(line, "```")
			fences += n
			if n > 1 || n == 1 && !fenceLine.MatchString(line) {
				t.Errorf("part %d has a fence within a line: %q", k, line)
			}
		}
		if fences%2 != 0 {
			t.Errorf("part %d has a fence that is not closed:\n%s", k, part)
		}
		// A part of nothing but headings has none to leave to the next.
		if last := part[strings.LastIndexByte(part, '\n')+1:]; k < len(parts)-1 && headingLine.MatchString(last) && slices.ContainsFunc(strings.Split(part, "\n"), func(line string) bool { return line != "" && !headingLine.MatchString(line) }) {
			t.Errorf("part %d ends with a heading: %q\n%s\n---\n%s", k, last, part, parts[k+1])
		}
	}
}

var (
	fenceLine   = regexp.MustCompile("^(?:> )*```[A-Za-z0-9_+.#-]{0,24}$")
	anyFence    = regexp.MustCompile("(?m)^.*(?:```|~~~).*$")
	headingLine = regexp.MustCompile(`^(?:> )*#{1,3} \S`)
	prefixes    = regexp.MustCompile(`(?m)^[ \t]*(?:>[ \t]*|[-*+][ \t]+|[0-9]+[.)][ \t]+|#{1,6}[ \t]+|-#[ \t]+)*`)
)

// words is what is left of a text without Markdown: its letters, digits and signs in order,
// without whitespace, marks, and what begins lines. Parts are mended with nothing else, so
// that theirs are the input's.
func words(s string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(s, "\n") {
		if fenceLine.MatchString(strings.TrimSpace(line)) {
			continue
		}
		line = line[len(prefixes.FindString(line)):]
		for _, r := range line {
			if !unicode.IsSpace(r) && !strings.ContainsRune("*_~|`…\u200b\\", r) {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// answer draws a Markdown answer of blocks as agents write them.
func answer(t *rapid.T) string {
	word := rapid.SampledFrom([]string{"alpha", "beta,", "gamma.", "Delta!", "naïve", "日本語。", "ประเทศไทย", "مرحبا", "👩‍👩‍👧‍👦", "🇹🇭", "e\u0301", "x_y_z", `2\*3`,
		"`code span`", "**bold words here**", "*soft*", "~~gone~~", "||hidden words||", "__under__", "[a link](https://example.org/a_b?c=d)",
		"https://example.org/path_(x)", "<https://example.com/>", "<@1234567890>", "@name", "supercalifragilisticexpialidocious"})
	sentence := func(most int) string {
		return strings.Join(rapid.SliceOfN(word, 1, most).Draw(t, "words"), " ")
	}
	var blocks []string
	for range rapid.IntRange(1, 12).Draw(t, "blocks") {
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			blocks = append(blocks, "## "+sentence(6))
		case 1:
			lines := rapid.SliceOfN(rapid.SampledFrom([]string{"func main() {", "\tx := `a` & \"b\"", "", "}", "// 日本語 " + strings.Repeat("long ", 30), "**not bold**", "- not a list"}), 1, 40).Draw(t, "code")
			lines = append(lines, "end")
			blocks = append(blocks, "```go\n"+strings.TrimLeft(strings.Join(lines, "\n"), "\n")+"\n```")
		case 2:
			var items []string
			for range rapid.IntRange(1, 12).Draw(t, "items") {
				items = append(items, strings.Repeat("  ", 0)+"- "+sentence(30))
				if rapid.Bool().Draw(t, "nested") {
					items = append(items, "  - "+sentence(20))
				}
			}
			blocks = append(blocks, strings.Join(items, "\n"))
		case 3:
			blocks = append(blocks, "1. "+sentence(40)+"\n2. "+sentence(200)+"\n3. "+sentence(10))
		case 4:
			blocks = append(blocks, "> "+sentence(60)+"\n> "+sentence(60))
		case 5:
			blocks = append(blocks, "**"+strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"long", "bold", "words", "日本"}), 1, 300).Draw(t, "bold"), " ")+"**")
		default:
			blocks = append(blocks, sentence(300))
		}
	}
	return strings.Join(blocks, "\n\n")
}

// Nothing of an answer is lost, and each part is sound, however long the parts may be.
func TestSplitLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := answer(t)
		limit := rapid.SampledFrom([]int{200, 333, 600, 2000}).Draw(t, "limit")
		parts := Split(source, limit)
		sound(t, parts, limit)
		if got, want := words(strings.Join(parts, "\n")), words(source); got != want {
			t.Errorf("lost or added:\n got %s\nwant %s", got, want)
		}
		if !slices.Equal(parts, Split(source, limit)) {
			t.Errorf("another time it is cut elsewhere")
		}
		// What may not be cut stands whole in one part.
		for _, whole := range []string{"[a link](https://example.org/a_b?c=d)", "`code span`", "<https://example.com/>", "<@1234567890>", "👩‍👩‍👧‍👦", "e\u0301", "🇹🇭"} {
			n := 0
			for _, part := range parts {
				n += strings.Count(part, whole)
			}
			if n != strings.Count(source, whole) {
				t.Errorf("%q was cut: %d of %d are left", whole, n, strings.Count(source, whole))
			}
		}
		// Marks are in pairs in each part.
		for k, part := range parts {
			for _, mark := range []string{"**", "~~", "||"} {
				if strings.Count(outside(part), mark)%2 != 0 {
					t.Errorf("part %d has a %s that is not closed:\n%s", k, mark, part)
				}
			}
		}
	})
}

// outside is a part without its code blocks.
func outside(part string) string {
	var b strings.Builder
	for k, s := range strings.Split(part, "```") {
		if k%2 == 0 {
			b.WriteString(s)
		}
	}
	return b.String()
}

// A short text without marks is said as it is.
func TestSplitShort(t *testing.T) {
	for _, s := range []string{"Hello.", "Two lines\nof one thought", "A paragraph.\n\nAnother, with @name and 3 * 4.", "你好，世界。", "👩‍👩‍👧‍👦"} {
		if got := Split(s, Limit); len(got) != 1 || got[0] != s {
			t.Errorf("Split(%q) = %q", s, got)
		}
	}
	for _, s := range []string{"", " \n\t", "\n\n\u00a0"} {
		if got := Split(s, Limit); got != nil {
			t.Errorf("Split(%q) = %q", s, got)
		}
	}
}

// What is cut is mended so that each part reads by itself.
func TestSplitMends(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 45))
	for _, c := range []struct {
		what, source string
		end, begin   string // of the first part and of the second
	}{
		{"an item", "1. one\n2. " + words + " " + words, "word", "2. … word"},
		{"an item in an item", "1. one\n   - " + words, "word", "1. …\n   - … word"},
		{"the items in an item", "7. one\n   - " + words[:150] + "\n   - two " + words[:80], "word", "7. …\n   - two"},
		{"a quote", "> " + words, "word", "> word"},
		{"code", "```go\n" + strings.Repeat("line()\n", 40), "line()\n```", "```go\nline()"},
		{"code in a quote", "> ```go\n" + strings.Repeat("> line()\n", 40), "line()\n> ```", "> ```go\n> line()"},
		{"bold words", "**" + words + "**", "word**", "**word"},
		{"soft words in bold ones", "**bold *" + words + "* bold**", "word***", "***word"},
		{"hidden words", "||" + words + "||", "word||", "||word"},
		{"long code in a line", "`" + words + "`", "word`", "`word"},
		{"a sentence before words", words[:149] + ". Then " + words, "word.", "Then"},
		{"words that would be a heading", words[:194] + " issue # 5 and on " + words, "", "issue # 5"},
		{"a heading", words[:150] + "\n\n## Title\n\n" + words[:150], "word", "## Title\n\nword"},
		{"a link", words[:150] + " [" + words[:60] + "](https://example.org)", "word", "["},
		{"a link longer than a part", "[label](https://example.org/" + strings.Repeat("x", 300) + ")", "x", "x"},
		{"a bare address", words[:150] + " https://example.org/" + strings.Repeat("x", 60), "word", "https://"},
		{"a table", "| a | b |\n|---|---|\n" + strings.Repeat("| one | two |\n", 30), "one  two\n```", "```\na    b\n───  ───\none  two"},
	} {
		parts := Split(c.source, 200)
		sound(t, parts, 200)
		if len(parts) < 2 || !strings.HasSuffix(parts[0], c.end) || !strings.HasPrefix(parts[1], c.begin) {
			t.Errorf("%s: %q", c.what, parts)
		}
	}
}

// What Discord does not know is written in what it knows.
func TestSplitWrites(t *testing.T) {
	for source, want := range map[string]string{
		"#### Small":                             "**Small**",
		"Big\n===":                               "# Big",
		"a\n\n---\n\nb":                          "a\n\n──────────\n\nb",
		"![alt](https://x.org/a.png)":            "[alt](https://x.org/a.png)",
		"![](https://x.org/a.png)":               "https://x.org/a.png",
		"- [ ] open\n- [x] done":                 "- ☐ open\n- ☑ done",
		"1) a\n2) b":                             "1. a\n2. b",
		"1. a\n1. b\n5. c":                       "1. a\n2. b\n5. c",
		"+ a":                                    "- a",
		"> a\n>\n> b":                            "> a\n> \n> b",
		"[a][r] and [r]\n\n[r]: <https://x.org>": "[a](https://x.org) and [r](https://x.org)",
		"[unused]: https://x.org":                "[unused]: https://x.org",
		"[f.go](src/f.go#L2)":                    "f.go (`src/f.go#L2`)",
		"[https://x.org](https://x.org)":         "https://x.org",
		"a || b || c, ||hidden||":                `a \|\| b \|\| c, ||hidden||`,
		"&lt;b&gt; `&lt;`":                       "<b> `&lt;`",
		"<b>x</b><br>y <i>":                      "**x**\ny <i>",
		"| a |\n|---|\n| https://x.org |":        "- **a: https://x.org**",
		"<https://x.org> <@12> @name <t:1:R>":    "<https://x.org> <@12> @name <t:1:R>",
		"-# small\n\n__under__ ~~gone~~":         "-# small\n\n__under__ ~~gone~~",
		"~~~\na\n\n\tb ` c\n~~~":                 "```\na\n\n\tb ` c\n```",
	} {
		if got := strings.Join(Split(source, Limit), between); got != want {
			t.Errorf("Split(%q) = %q, want %q", source, got, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"```go\nx", "- a\n  - b\n\n    ```\n    c\n    ```", "> ~~~\n> ```\n", "| a | b |\n|--|--|\n| `x` | [y](z) |", "***a** b*", "[a]: b\n[a]", "`` ` ``", "<b>x</b> &lt;", "1) a\n2) b"} {
		f.Add(s, 200)
	}
	f.Fuzz(func(t *testing.T, source string, limit int) {
		if limit < least || limit > 4000 || len(source) > 20000 {
			return
		}
		parts := Split(source, limit)
		sound(t, parts, limit)
		if live := Live(source, limit); Units(live) > limit {
			t.Errorf("Live has %d units of %d", Units(live), limit)
		} else if live != "" {
			sound(t, []string{live}, limit)
		}
		if n := Units(Summary(source)); n > summaryUnits {
			t.Errorf("Summary has %d units", n)
		}
		if n := Units(Name(source, 100)); n > 100 || strings.ContainsAny(Name(source, 100), "\n\r") {
			t.Errorf("Name has %d units: %q", n, Name(source, 100))
		}
		// Letters are neither lost nor put in another order, whatever the text is; tags,
		// entities, an empty block's language, names of columns and labels of links may become others.
		if strings.ContainsAny(source, "<&|") || strings.Contains(source, "]:") {
			return
		}
		got, at := []rune(strings.Join(parts, "\n")), 0
		for _, r := range anyFence.ReplaceAllString(strings.ToValidUTF8(source, ""), "") {
			if !unicode.IsLetter(r) {
				continue
			}
			for at < len(got) && got[at] != r {
				at++
			}
			if at++; at > len(got) {
				t.Fatalf("%q is lost of %q in %q", r, source, parts)
			}
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	lines := map[string]string{
		"prose": strings.Repeat("A sentence of **some words**, with `code` and [a link](https://example.org).\n\n", 13000),
		"line":  strings.Repeat("word ", 200000),
		"code":  "```go\n" + strings.Repeat("x\n", 500000),
		"ticks": strings.Repeat("` `` ``` [](", 90000),
		"table": "| a | b |\n|---|---|\n" + strings.Repeat("| some | words |\n", 60000),
		"list":  strings.Repeat("- an item\n  - another in it\n", 40000),
	}
	for name, source := range lines {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(source)))
			for b.Loop() {
				Split(source, Limit)
			}
		})
	}
}
