package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
)

// noOutput is the fault of an output that is not there. Only then does the file decide.
const noOutput = "there is no structured output"

// said is what an output says; parts that cannot be read are empty.
type said struct {
	decision stages.Decision
	score    int
	summary  string
	issues   []string
	patterns string
	batch    string
}

func (s said) verdict() stages.Verdict {
	v := stages.Verdict{Decision: s.decision, Score: s.score, Summary: cleaned(s.summary, maxSummary), PatternsCompliance: cleaned(s.patterns, maxPatterns), Batch: cleaned(s.batch, 100)}
	for n, issue := range s.issues {
		if n == maxIssues {
			v.Issues = append(v.Issues, fmt.Sprintf("[%d more issues are left out]", len(s.issues)-n))
			break
		}
		if issue = cleaned(issue, maxIssue); issue != "" {
			v.Issues = append(v.Issues, issue)
		}
	}
	return v
}

// readOutput reads a structured output. A fault says why it is no verdict; what can be read is returned
// all the same, so that the builder gets it.
func readOutput(output json.RawMessage) (s said, fault string) {
	if trimmed := bytes.TrimSpace(output); len(trimmed) == 0 || string(trimmed) == "null" {
		return s, noOutput
	}
	fields, err := fieldsOf(output)
	if err != nil {
		return s, "the structured output cannot be read: " + err.Error()
	}
	var faults []string
	s.decision = stages.Decision(read[string](fields, "verdict", &faults))
	switch s.decision {
	case stages.Approve, stages.Revise, stages.Redesign:
	default:
		faults = append(faults, fmt.Sprintf("verdict: %.50q is none of APPROVE, REVISE and REDESIGN", s.decision))
	}
	score := read[float64](fields, "score", &faults)
	if score < 1 || score > 10 || score != math.Trunc(score) {
		faults = append(faults, fmt.Sprintf("score: %v is no whole number from 1 to 10", score))
	} else {
		s.score = int(score)
	}
	if s.summary = read[string](fields, "summary", &faults); strings.TrimSpace(s.summary) == "" {
		faults = append(faults, "summary: it is empty")
	}
	for n, issue := range read[[]json.RawMessage](fields, "issues", &faults) {
		words, err := exactly[string](issue)
		if err != nil {
			faults = append(faults, fmt.Sprintf("issues: item %d is no text", n+1))
			words = string(issue)
		}
		s.issues = append(s.issues, words)
	}
	s.patterns = read[string](fields, "patternsCompliance", &faults)
	if _, has := fields["batch"]; has { // which of the batches is only asked in the last review
		s.batch = read[string](fields, "batch", &faults)
	}
	for name := range fields {
		switch name {
		case "verdict", "score", "summary", "issues", "patternsCompliance", "batch":
		default:
			faults = append(faults, fmt.Sprintf("%.50q is no field of a verdict", name))
		}
	}
	if len(faults) > 0 {
		return s, "the structured output cannot be read: " + cleaned(strings.Join(faults, "; "), 1<<10)
	}
	return s, ""
}

// read returns a field's value, and adds to the faults when it is not there or of another type.
func read[T any](fields map[string]json.RawMessage, name string, faults *[]string) (value T) {
	raw, has := fields[name]
	if !has {
		*faults = append(*faults, name+": it is not given")
		return value
	}
	value, err := exactly[T](raw)
	if err != nil {
		*faults = append(*faults, name+": it is of another type")
	}
	return value
}

// exactly decodes a value of a type; null is of none.
func exactly[T any](raw json.RawMessage) (value T, err error) {
	if string(bytes.TrimSpace(raw)) == "null" {
		return value, errors.New("null")
	}
	err = json.Unmarshal(raw, &value)
	return value, err
}

// fieldsOf are the fields of a JSON object, by exactly the names that they have. A name that stands
// there twice says two things, of which none counts.
func fieldsOf(output json.RawMessage) (map[string]json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(output))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("it is no JSON object")
	}
	fields := make(map[string]json.RawMessage)
	for decoder.More() {
		name, err := decoder.Token()
		text, ok := name.(string)
		if err != nil || !ok {
			return nil, errors.New("it is no whole JSON object")
		}
		if _, has := fields[text]; has {
			return nil, fmt.Errorf("%.50q stands in it twice", text)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, errors.New("it is no whole JSON object")
		}
		fields[text] = value
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errors.New("it is no whole JSON object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	return fields, nil
}
