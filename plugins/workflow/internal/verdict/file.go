package verdict

import (
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
)

var (
	// plain is a verdict as it has to be written: on a line of its own, in capitals, and nothing else on
	// that line but the signs of a heading, a list item, bold or code.
	plain = lazy.Regexp("^ {0,3}(?:#{1,6} +|[-*] +)?[*_`]{0,3}(?i:verdict)[*_`]{0,3} *: *[*_`]{0,3} *(APPROVE|REVISE|REDESIGN) *\\.?[*_`]{0,3}$")
	// claim is any other line that speaks of a verdict: it begins with that word, or has it and one of
	// the decisions.
	claim = lazy.Regexp(`(?i)^[^\pL\d]*(?:\pL+ ){0,2}verdict[^\pL\d]{0,6}[:：=]|verdict.*(?:approve|revise|redesign)`)
	fence = lazy.Regexp("^ {0,3}(```+|~~~+)")
)

// readFile returns the decision of REVIEW.md; empty, without a fault, when the file says none. Lines in
// a block of code, in a quotation or in a comment are no verdict. But an approval counts only when
// no line at all says something else.
func readFile(text string) (decision stages.Decision, fault string) {
	if len(text) > MaxFile {
		return "", fmt.Sprintf(".brain/REVIEW.md has %d bytes, of which at most %d are read", len(text), MaxFile)
	}
	var doubts []string // lines that are no plain verdict, but could be meant as one
	var at place
	for line := range strings.Lines(strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r", "\n")) {
		line = strings.TrimRight(line, " \t\n")
		hidden, match := at.hides(line), plain.FindStringSubmatch(line)
		switch {
		case match == nil && claim.MatchString(line), match != nil && hidden:
			doubts = append(doubts, line)
		case match == nil:
		case decision != "" && decision != stages.Decision(match[1]):
			return "", fmt.Sprintf(".brain/REVIEW.md says both Verdict: %s and Verdict: %s", decision, match[1])
		default:
			decision = stages.Decision(match[1])
		}
	}
	if decision == stages.Revise || decision == stages.Redesign {
		return decision, ""
	}
	for _, line := range doubts {
		if match := plain.FindStringSubmatch(line); match == nil || match[1] != string(decision) {
			return "", fmt.Sprintf(".brain/REVIEW.md has a line that is no plain verdict: %.200q", strings.TrimSpace(line))
		}
	}
	return decision, ""
}

// place is where in a Markdown text a line stands.
type place struct {
	fence   string // what the block of code began with; empty: it is in none
	comment bool   // of HTML
}

// hides reports whether what the line says is not the text's own word, and goes on to the next line.
func (p *place) hides(line string) bool {
	if match := fence.FindStringSubmatch(line); match != nil && !p.comment {
		switch {
		case p.fence == "":
			p.fence = match[1]
		case strings.HasPrefix(match[1], p.fence) && strings.TrimSpace(line) == match[1]:
			p.fence = ""
		}
		return true
	}
	if p.fence != "" {
		return true
	}
	hidden := p.comment || strings.Contains(line, "<!--")
	for rest, found := line, true; found; {
		mark := "<!--"
		if p.comment {
			mark = "-->"
		}
		if _, rest, found = strings.Cut(rest, mark); found {
			p.comment = !p.comment
		}
	}
	return hidden
}
