package review

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Part is a part of a change, which one prompt shows whole.
type Part struct {
	Number, Of int
	// Continues is the header of the file in the middle of which the part begins; empty: it begins
	// with a file.
	Continues string
	Diff      string
}

// Parts cuts a diff of git's into parts that each fit into a prompt: between files or, where one file
// does not fit, between its hunks. The parts one after the other are the diff. ok is false where there
// would be more than most of them, or a hunk fits into none.
func Parts(diff string, most int) (parts []Part, ok bool) {
	var at Part
	var full size
	flush := func() {
		if at.Diff != "" {
			parts = append(parts, at)
		}
	}
	for _, file := range cutBefore(diff, "diff --git ") {
		pieces := []Part{{Diff: file}}
		if !pieces[0].size().fits() {
			pieces = hunks(file)
		}
		for _, piece := range pieces {
			alone, more := piece.size(), Part{Diff: piece.Diff}.size()
			if !alone.fits() || len(parts) > most {
				return nil, false
			}
			if longer := full.plus(more); at.Diff != "" && longer.fits() {
				at.Diff, full = at.Diff+piece.Diff, longer
				continue
			}
			flush()
			at, full = piece, alone
		}
	}
	flush()
	for n := range parts {
		parts[n].Number, parts[n].Of = n+1, len(parts)
	}
	return parts, len(parts) > 0 && len(parts) <= most
}

// size is how many bytes a part has, and how many a prompt that shows it.
type size struct{ raw, shown int }

func (p Part) size() size {
	return size{len(p.Continues) + len(p.Diff), len(quoted(p.Continues, math.MaxInt)) + len(quoted(p.Diff, math.MaxInt)) + 1}
}

func (s size) plus(more size) size { return size{s.raw + more.raw, s.shown + more.shown} }

// fits reports whether a prompt has a part of that size whole.
func (s size) fits() bool { return s.raw <= MaxDiff && s.shown <= maxDiff }

// hunks are the pieces of the diff of a file: the first with the file's header.
func hunks(file string) (pieces []Part) {
	cut := cutBefore(file, "@@ ")
	if len(cut) < 2 {
		return []Part{{Diff: file}}
	}
	pieces = append(pieces, Part{Diff: cut[0] + cut[1]})
	for _, hunk := range cut[2:] {
		pieces = append(pieces, Part{Continues: cut[0], Diff: hunk})
	}
	return pieces
}

// cutBefore cuts a text before each line that begins with a word. In a diff each line of a file is
// marked, so that none of them begins with one of git's words.
func cutBefore(text, word string) (cut []string) {
	for text != "" {
		end := strings.Index(text[1:], "\n"+word)
		if end < 0 {
			return append(cut, text)
		}
		end += 2 // behind the newline
		cut, text = append(cut, text[:end]), text[end:]
	}
	return cut
}

// tell tells which part of the change is to be reviewed.
func (p Part) tell(b *strings.Builder) {
	fmt.Fprintf(b, "## Part %d of %d\n\nThe change does not fit into one review, so that it is reviewed in %d parts, each by a reviewer of its own, and accepted only when each of them accepts. "+
		"Yours is part %d: the lines under \"The change\" below. Answer the questions about these, and look at each of them; nobody else does. The whole work lies where it is said below: what belongs to these lines, "+
		"such as their tests, may be in files of another part, which you can read. Set `part` to %d in your answer.\n\n", p.Number, p.Of, p.Of, p.Number, p.Number)
}

// change shows the changed paths, and the change or a part of it.
func (p Paper) change(b *strings.Builder) {
	diff := p.Diff
	if paths := strings.TrimSpace(p.Paths); paths != "" {
		fmt.Fprintf(b, "## Changed paths\n\n%s\n\n", quoted(paths, maxPaths))
		if p.Part.Of > 0 && len(quoted(paths, math.MaxInt)) > maxPaths {
			fmt.Fprintf(b, "There are %d in all. Each of those that are cut off here is named in the part that shows its change.\n\n", strings.Count(paths, "\n")+1)
		}
	}
	if p.Part.Of > 0 {
		diff = p.Part.Diff
	}
	if strings.TrimSpace(diff) == "" {
		return
	}
	b.WriteString("## The change\n\n")
	if p.Part.Continues != "" {
		fmt.Fprintf(b, "The part begins in the middle of this file, whose beginning is in the part before:\n\n%s\n\nIt goes on with:\n\n", quoted(p.Part.Continues, maxDiff))
	}
	fmt.Fprintf(b, "%s\n\n", quoted(diff, maxDiff))
}

// mostEvidence is how many pieces of evidence are kept of several verdicts: the core keeps no more.
const mostEvidence = 100

// Together is the verdict of all parts, each of which has accepted.
func Together(parts []*Verdict) *Verdict {
	whole := &Verdict{Verdict: pluginsdk.VerdictAccept}
	var feedback []string
	for n, part := range parts {
		of := part.Of(n+1, len(parts))
		if part.Feedback != "" {
			feedback = append(feedback, of.Feedback)
		}
		whole.Evidence = append(whole.Evidence, of.Evidence...)
	}
	quotes := func(e pluginsdk.Evidence) bool { return e.Kind != "answer" }
	answers := slices.DeleteFunc(slices.Clone(whole.Evidence), quotes)
	whole.Evidence = append(answers, slices.DeleteFunc(whole.Evidence, func(e pluginsdk.Evidence) bool { return !quotes(e) })...)
	whole.Evidence = whole.Evidence[:min(len(whole.Evidence), mostEvidence)]
	whole.Feedback = cut(strings.Join(feedback, "\n\n"), maxFeedback, " [cut]")
	return whole
}

// Of is a verdict of a part, which says so.
func (v Verdict) Of(part, parts int) *Verdict {
	v.Feedback = fmt.Sprintf("Part %d of %d: %s", part, parts, v.Feedback)
	v.Evidence = slices.Clone(v.Evidence)
	for n := range v.Evidence {
		if e := &v.Evidence[n]; e.Kind == "answer" {
			e.Command += fmt.Sprintf(" (part %d of %d)", part, parts)
		}
	}
	return &v
}
