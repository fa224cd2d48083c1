// Package verdict reads what a reviewer has decided. Nothing is taken for an approval that does not
// say so plainly: what cannot be read, says two things or is not whole asks for changes.
package verdict

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
)

// How much of a reviewer's words is kept, in bytes, and how many issues.
const (
	maxSummary  = 16 << 10
	maxIssue    = 4 << 10
	maxPatterns = 4 << 10
	maxIssues   = 50
)

// MaxFile is how many bytes of REVIEW.md are read. The verdict of a larger file is not: what follows
// could say something else.
const MaxFile = 256 << 10

// The sources of a verdict that can be read. Any other source says why it could not be.
const (
	FromOutput = "output"
	FromFile   = "file"
	FromBoth   = "both"
)

// Readable reports whether a reviewer has said a verdict in a way that can be read; else it is REVISE,
// and Source says why.
func Readable(v stages.Verdict) bool {
	return v.Source == FromOutput || v.Source == FromFile || v.Source == FromBoth
}

// Read returns the verdict of a reviewer from the structured output of its turn, and from the text of
// .brain/REVIEW.md, if that was written in this stage. An output decides; without one the line
// "Verdict:" of the file does. An output that cannot be read, an output and a file that disagree, and
// neither of both, are REVISE.
func Read(output json.RawMessage, file string, written bool) stages.Verdict {
	said, outputFault := readOutput(output)
	inFile, fileFault := stages.Decision(""), ""
	if written {
		inFile, fileFault = readFile(file)
	}
	v := said.verdict()
	switch {
	case outputFault == "" && inFile == "" && fileFault == "":
		v.Source = FromOutput
	case outputFault == "" && inFile == v.Decision:
		v.Source = FromBoth
	case outputFault == "":
		v.Source = fmt.Sprintf("the structured output says %s, and %s", v.Decision, cmp.Or(fileFault, fmt.Sprintf(".brain/REVIEW.md says %s", inFile)))
		v.Decision = stages.Revise
		v.Issues = append(v.Issues, "The review contradicts itself: "+v.Source+". That counts as REVISE.")
		v.Summary = cleaned(v.Summary+"\n\n.brain/REVIEW.md says:\n\n"+file, maxSummary)
	case outputFault == noOutput && inFile != "":
		v = stages.Verdict{Decision: inFile, Source: FromFile, Summary: cleaned(file, maxSummary)}
	default:
		v.Decision, v.Source = stages.Revise, unreadable(outputFault, inFile, fileFault, written)
		v.Issues = append(v.Issues, "The review has no verdict that can be read, which counts as REVISE: "+v.Source+".")
		if written {
			v.Summary = cleaned(v.Summary+"\n\n.brain/REVIEW.md says:\n\n"+file, maxSummary)
		}
	}
	return v
}

// unreadable says why neither the output nor the file is a verdict.
func unreadable(outputFault string, inFile stages.Decision, fileFault string, written bool) string {
	switch {
	case !written:
		return outputFault + ", and .brain/REVIEW.md was not written in this stage"
	case fileFault != "":
		return outputFault + ", and " + fileFault
	case inFile != "":
		return outputFault + fmt.Sprintf(", so that .brain/REVIEW.md, which says %s, does not count", inFile)
	}
	return outputFault + `, and .brain/REVIEW.md has no line "Verdict:"`
}

// Batch is which of the scopes the findings of the last review are about: the one that the verdict
// names, else the last. Without scopes it is the zero value.
func Batch(v stages.Verdict, scopes []plan.Scope) plan.Scope {
	if len(scopes) == 0 {
		return plan.Scope{}
	}
	named := strings.Join(strings.Fields(v.Batch), " ")
	at := slices.IndexFunc(scopes, func(s plan.Scope) bool { return strings.EqualFold(s.String(), named) })
	if at < 0 {
		at = len(scopes) - 1
	}
	return scopes[at]
}

// Schema is the JSON Schema of a reviewer's answer. The last review, of all batches, has their scopes,
// one of which its findings are about. Approving comes first: it is what the demo agent says when its
// script says nothing else.
func Schema(final ...plan.Scope) json.RawMessage {
	type object = map[string]any
	required := []string{"verdict", "score", "summary", "issues", "patternsCompliance"}
	properties := object{
		"verdict": object{"enum": []stages.Decision{stages.Approve, stages.Revise, stages.Redesign},
			"description": "APPROVE: nothing has to be changed. REVISE: the builder has to change something. REDESIGN: the plan itself is wrong."},
		"score":              object{"type": "integer", "minimum": 1, "maximum": 10, "description": "10 is the best"},
		"summary":            object{"type": "string", "minLength": 1, "description": "what you looked at and ran, and what you found"},
		"issues":             object{"type": "array", "items": object{"type": "string"}, "description": "what has to be changed, each by file and line; empty when you approve"},
		"patternsCompliance": object{"type": "string", "description": "how the work keeps to the project's patterns"},
	}
	if len(final) > 0 {
		names := make([]string, len(final))
		for n, scope := range final {
			names[n] = scope.String()
		}
		required = append(required, "batch")
		properties["batch"] = object{"enum": names, "description": "the batch that has to be changed first; when you approve, the last one"}
	}
	schema, err := json.Marshal(object{"type": "object", "additionalProperties": false, "required": required, "properties": properties})
	if err != nil {
		panic(err) // it is made of texts and lists
	}
	return schema
}

// cleaned is a text without what a terminal or a prompt could stumble over, and cut with a visible
// mark where it is too long.
func cleaned(text string, most int) string {
	if text = strings.TrimSpace(text); len(text) > 4*most {
		text = text[:4*most] // more than what is left of it below
	}
	text = strings.Map(func(char rune) rune {
		if unicode.IsControl(char) && char != '\n' && char != '\t' {
			return '\uFFFD'
		}
		return char
	}, strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n"))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " [cut]"
	}
	return text
}
