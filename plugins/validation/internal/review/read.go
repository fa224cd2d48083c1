package review

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/validation/internal/checks"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// How much is kept of a reviewer's words, in bytes: of the feedback, of why it answers as it
// does, and of what it quotes.
const (
	maxFeedback = 32 << 10
	maxWhy      = 2 << 10
	maxQuote    = 1 << 10
)

// Verdict is what a reviewer has said, with the evidence that was found to hold.
type Verdict struct {
	Verdict  pluginsdk.Verdict    `json:"verdict"`
	Feedback string               `json:"feedback"`
	Evidence []pluginsdk.Evidence `json:"evidence"`
}

// said is a reviewer's answer as it is written.
type said struct {
	Verdict  pluginsdk.Verdict `json:"verdict"`
	Feedback string            `json:"feedback"`
	Answers  map[string]answer `json:"answers"`
	Part     int               `json:"part"`
}

type answer struct {
	Answer   string  `json:"answer"`
	Why      string  `json:"why"`
	Evidence []piece `json:"evidence"`
}

type piece struct {
	Kind     string `json:"kind"`
	Command  string `json:"command"`
	ExitCode *int   `json:"exitCode"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Quote    string `json:"quote"`
}

// parse reads an answer that has the shape that was asked for.
func (w Work) parse(output json.RawMessage) (said, error) {
	var s said
	if len(bytes.TrimSpace(output)) == 0 {
		return s, errors.New("you gave no structured answer")
	}
	decoder := json.NewDecoder(bytes.NewReader(output))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return s, fmt.Errorf("your answer cannot be read: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return s, errors.New("your answer cannot be read: something follows it")
	}
	if s.Verdict != pluginsdk.VerdictAccept && s.Verdict != pluginsdk.VerdictReject {
		return s, fmt.Errorf("verdict: %.50q is neither accept nor reject", s.Verdict)
	}
	if s.Part != w.Part {
		return s, fmt.Errorf("part: you answer about %d, and were asked about %d", s.Part, w.Part)
	}
	var faults []error
	for _, q := range questions(w.Code) {
		switch a, ok := s.Answers[q.name]; {
		case !ok:
			faults = append(faults, fmt.Errorf("%s: it is not answered", q.name))
		case a.Answer != yes && a.Answer != no && a.Answer != none:
			faults = append(faults, fmt.Errorf("%s: %.50q is none of yes, no and does_not_apply", q.name, a.Answer))
		}
	}
	if len(s.Answers) > len(questions(w.Code)) {
		faults = append(faults, errors.New("you answer what was not asked"))
	}
	return s, errors.Join(faults...)
}

// Read returns the reviewer's verdict, or what is wrong with its answer, in words for
// the reviewer. An acceptance is one only when every question is answered by yes or
// does_not_apply, each with evidence, and all evidence holds. A rejection only has to say
// why; of its evidence what does not hold is left out.
func (w Work) Read(ctx context.Context, output json.RawMessage) (*Verdict, error) {
	s, err := w.parse(output)
	if err != nil {
		return nil, err
	}
	w.asked = make(map[string][]byte)
	verdict := &Verdict{Verdict: s.Verdict, Feedback: cut(strings.TrimSpace(s.Feedback), maxFeedback, " [cut]")}
	var faults []error
	for _, q := range questions(w.Code) {
		a := s.Answers[q.name]
		verdict.Evidence = append(verdict.Evidence, pluginsdk.Evidence{Kind: "answer", Command: q.name, Output: a.Answer + ": " + cut(a.Why, maxWhy, " [cut]"), Tree: w.Tree})
		if err := w.consistent(q, a); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", q.name, err))
		}
		for _, p := range a.Evidence {
			held, err := w.holds(ctx, p)
			if err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", q.name, err))
			} else if held.Kind != byCommand { // what was run is evidence anyway
				verdict.Evidence = append(verdict.Evidence, held)
			}
		}
	}
	if s.Verdict == pluginsdk.VerdictReject {
		if verdict.Feedback == "" {
			return nil, errors.New("you reject, and do not say in feedback what the worker has to do")
		}
		return verdict, nil
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return verdict, nil
}

// Unchecked returns the verdict of an agent that is no model: as it says, and with
// nothing to rest on.
func (w Work) Unchecked(output json.RawMessage) (*Verdict, error) {
	s, err := w.parse(output)
	if err != nil {
		return nil, err
	}
	feedback := strings.TrimSpace("[demo agent] No model has looked at this work: the verdict was made up. " + cut(s.Feedback, maxFeedback, " [cut]"))
	return &Verdict{Verdict: s.Verdict, Feedback: feedback}, nil
}

// consistent returns why an answer cannot be part of an acceptance, whatever its evidence
// is.
func (w Work) consistent(q question, a answer) error {
	if a.Answer == no {
		return errors.New("you accept, and answer no")
	}
	if len(a.Evidence) == 0 || len(a.Evidence) > maxPieces {
		return fmt.Errorf("it has %d pieces of evidence; want 1 to %d", len(a.Evidence), maxPieces)
	}
	if q.kind == "" {
		return nil
	}
	// What a check can answer, a check that was run has to.
	could := slices.ContainsFunc(w.Ran, func(o checks.Outcome) bool { return q.answerable(o.Check) })
	cited := slices.ContainsFunc(a.Evidence, func(p piece) bool {
		o, ok := w.ran(p.Command)
		return p.Kind == byCommand && ok && o.Passed() && (!could || q.answerable(o.Check))
	})
	switch {
	case could && a.Answer == none:
		return errors.New("there is a check for it, so that it applies")
	case could && !cited:
		return errors.New("there is a check for it: cite its command, with the exit code 0")
	case !could && q.kind != checks.Types && a.Answer == yes && !cited:
		return errors.New("yes needs a command that was run and has passed; where the project has none, it does not apply")
	}
	return nil
}

func (w Work) ran(command string) (checks.Outcome, bool) {
	i := slices.IndexFunc(w.Ran, func(o checks.Outcome) bool { return o.Check.Command == strings.TrimSpace(command) })
	if i < 0 {
		return checks.Outcome{}, false
	}
	return w.Ran[i], true
}

// leastQuote is how many characters a quote has at least: less is on any line.
const leastQuote = 3

// holds returns a piece of evidence as it is kept, or why it does not hold.
func (w Work) holds(ctx context.Context, p piece) (pluginsdk.Evidence, error) {
	held := pluginsdk.Evidence{Kind: p.Kind, File: cut(p.File, maxQuote, ""), Tree: w.Tree}
	if !slices.Contains(kindsOf(w.Code), p.Kind) {
		return held, fmt.Errorf("evidence of the kind %.50q is none here", p.Kind)
	}
	var err error
	switch p.Kind {
	case byCommand:
		o, ok := w.ran(p.Command)
		switch {
		case !ok:
			err = fmt.Errorf("the command %.200q was not run", p.Command)
		case p.ExitCode == nil || *p.ExitCode != o.ExitCode:
			err = fmt.Errorf("the command %.200q ended with the exit code %d, which is not the one that you cite", p.Command, o.ExitCode)
		}
	case byFile:
		held.Line, held.Output = p.Line, cut(p.Quote, maxQuote, " [cut]")
		err = w.quotes(ctx, p)
	case byUnchanged:
		if err = w.unchanged(ctx, p.File); err != nil {
			err = fmt.Errorf("%.200q is not unchanged: %w", p.File, err)
		}
	case byAbsent:
		if err = w.absent(ctx, p.File); err != nil {
			err = fmt.Errorf("%.200q is not absent: %w", p.File, err)
		}
	case byResult:
		held.Output, err = cut(p.Quote, maxQuote, " [cut]"), within(p.Quote, w.Result, "what the worker says")
	case byRequest:
		held.Output, err = cut(p.Quote, maxQuote, " [cut]"), within(p.Quote, w.Request, "the request")
	}
	return held, err
}

// quotes returns nil when the lines of the quote are in the file, from its line on.
func (w Work) quotes(ctx context.Context, p piece) error {
	quoted := strings.Split(strings.Trim(p.Quote, "\n"), "\n")
	if len(strings.TrimSpace(p.Quote)) < leastQuote {
		return fmt.Errorf("the quote %q of %.200q is too short to be one", p.Quote, p.File)
	}
	lines, err := w.lines(ctx, p.File)
	if err != nil {
		return fmt.Errorf("%.200q cannot be quoted: %w", p.File, err)
	}
	if p.Line < 1 || p.Line > len(lines) {
		return fmt.Errorf("%.200q has no line %d: it has %d", p.File, p.Line, len(lines))
	}
	for n, want := range quoted {
		at := p.Line - 1 + n
		if at >= len(lines) || !strings.Contains(lines[at], strings.TrimSpace(want)) {
			return fmt.Errorf("line %d of %.200q does not contain %.200q", at+1, p.File, strings.TrimSpace(want))
		}
	}
	return nil
}

// within returns nil when a text contains a quote, spaces and line ends not counted.
func within(quote, text, whose string) error {
	spaced := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	switch quote = spaced(quote); {
	case len(quote) < leastQuote:
		return fmt.Errorf("the quote %q is too short to be one", quote)
	case !strings.Contains(spaced(text), quote):
		return fmt.Errorf("%.200q is not in %s", quote, whose)
	}
	return nil
}
