package text

import (
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// linkSet is where the labels of links begin and end in a text.
type linkSet struct {
	s     string
	close map[int]int // of "[", its "]"
}

// findLinks finds what stands in brackets, outside code.
func findLinks(s string) linkSet {
	set := linkSet{s, map[int]int{}}
	if !strings.Contains(s, "]") {
		return set
	}
	ticks := newTicks(s)
	var open []int
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '`':
			if end, n := ticks.span(i); end > 0 {
				i = end - 1
			} else {
				i += n - 1
			}
		case '[':
			open = append(open, i)
		case ']':
			if n := len(open); n > 0 {
				set.close[open[n-1]] = i
				open = open[:n-1]
			}
		}
	}
	return set
}

var destination = lazy.Regexp(`^\(\s*(<[^<>\n]*>|(?:[^\s()<>]|\([^\s()<>]*\))*)(?:\s+("[^"\n]*"|'[^'\n]*'))?\s*\)`)

// at is the link that begins at i, and where it ends; 0 when there is none.
func (l linkSet) at(i int, refs map[string]string) (text, dest, title string, end int) {
	shut, ok := l.close[i]
	if !ok {
		return "", "", "", 0
	}
	text = l.s[i+1 : shut]
	rest := l.s[shut+1:]
	if strings.HasPrefix(rest, "(") {
		// A "](" in an address begins another link; looking stops there.
		near := rest[:min(len(rest), 4*Limit)]
		if next := strings.Index(near, "]("); next >= 0 {
			near = near[:next]
		}
		if m := destination.FindStringSubmatch(near); m != nil {
			return text, m[1], m[2], shut + 1 + len(m[0])
		}
	}
	if len(refs) == 0 {
		return "", "", "", 0
	}
	label, end := text, shut+1
	if strings.HasPrefix(rest, "[") {
		if second, ok := l.close[shut+1]; ok {
			end = second + 1
			if second > shut+2 {
				label = l.s[shut+2 : second]
			}
		}
	}
	if dest, ok = refs[labelOf(label)]; !ok {
		return "", "", "", 0
	}
	return text, dest, "", end
}

func (l linkSet) has(i int, refs map[string]string) bool {
	_, _, _, end := l.at(i, refs)
	return end > 0
}

// labelOf is the label of a link by reference as it is compared.
func labelOf(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// ticks are the runs of backticks of a text.
type ticks struct {
	s    string
	runs map[int][]int // by length, where they begin
}

func newTicks(s string) *ticks {
	t := &ticks{s, map[int][]int{}}
	for i := 0; i < len(s); i++ {
		if s[i] != '`' {
			continue
		}
		n := run(s, i)
		t.runs[n] = append(t.runs[n], i)
		i += n - 1
	}
	return t
}

// span is the code span that the backticks at i open: where it ends, 0 when nothing closes
// it, and how many backticks there are.
func (t *ticks) span(i int) (end, n int) {
	n = run(t.s, i)
	runs := t.runs[n]
	if k, _ := slices.BinarySearch(runs, i+n); k < len(runs) {
		return runs[k] + n, n
	}
	return 0, n
}

// run is how often the byte at i stands there in a row.
func run(s string, i int) int {
	n := 1
	for i+n < len(s) && s[i+n] == s[i] {
		n++
	}
	return n
}
