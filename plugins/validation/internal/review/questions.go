// Package review is what a reviewer is asked about a task's work, and how the answer is
// read: nothing is taken for an acceptance that does not say so with evidence that holds.
package review

import (
	"encoding/json"
	"slices"

	"github.com/seed-706843ae/harness/plugins/validation/internal/checks"
)

// question is one that a reviewer has to answer.
type question struct {
	name string
	asks string
	// kind is of the checks that answer it, where there are any: then neither words nor
	// anything else do.
	kind checks.Kind
}

// ofCode are the questions about work on a project.
var ofCode = []question{
	{"tests_pass", "Do the tests pass?", checks.Test},
	{"lint", "Does the linter find nothing?", checks.Lint},
	{"format", "Is everything formatted as the project wants it?", checks.Format},
	{"build", "Does it build?", checks.Build},
	{"tests_written", "Were tests written for what was changed, and do they mean something: would one of them fail if the change were wrong or taken away?", ""},
	{"coverage", "Do the tests cover what was changed: its errors and its edges too?", ""},
	{"mocks", "Are mocks kept small: is what matters tested as it is, and not a stand-in for it?", ""},
	{"imports", "Are the imports right: nothing unused, nothing that the project's layers forbid?", ""},
	{"types", "Are types used well: nothing untyped, cast or ignored that need not be?", checks.Types},
	{"dependencies", "Are the dependencies right: none added without need, none missing, the lock file in step?", ""},
	{"patterns", "Does the work keep to the project's patterns: names, structure, errors, documents?", ""},
}

// ofWords are the questions about work that is an answer, such as research or a text.
var ofWords = []question{
	{"completeness", "Is everything answered and delivered that was asked for, and nothing else?", ""},
	{"claims", "Does each claim follow from what is said or cited, and do no two contradict each other?", ""},
	{"sources", "Does what is not common knowledge name a source, precisely enough to be found again?", ""},
}

func questions(code bool) []question {
	if code {
		return ofCode
	}
	return ofWords
}

// The answers to a question.
const (
	yes  = "yes"
	no   = "no"
	none = "does_not_apply"
)

// The kinds of evidence that a reviewer can give.
const (
	byCommand   = "command"   // a check that was run, and its exit code
	byFile      = "file"      // a line of a file, and what is on it
	byUnchanged = "unchanged" // a file that the work has left as it was
	byAbsent    = "absent"    // a file that there is none of
	byResult    = "result"    // words of the worker's answer
	byRequest   = "request"   // words of the request
)

// maxPieces is how many pieces of evidence an answer can have.
const maxPieces = 5

// kindsOf are the kinds of evidence that count for the questions.
func kindsOf(code bool) []string {
	if code {
		return []string{byCommand, byFile, byUnchanged, byAbsent}
	}
	return []string{byResult, byRequest, byFile}
}

// Schema is the JSON Schema of the reviewer's answer. Accepting comes first: it is what
// the demo agent says, whose word counts for nothing. part is the number of the part of the change
// that it is about; 0: it is about all of it.
func Schema(code bool, part int) json.RawMessage {
	type object = map[string]any
	closed := func(required []string, properties object) object {
		return object{"type": "object", "additionalProperties": false, "required": required, "properties": properties}
	}
	text := object{"type": "string"}
	piece := object{"kind": object{"enum": kindsOf(code)}, "file": text, "line": object{"type": "integer", "minimum": 1}, "quote": text}
	if code {
		piece["command"], piece["exitCode"] = text, object{"type": "integer"}
	}
	answer := closed([]string{"answer", "why", "evidence"}, object{
		"answer": object{"enum": []string{yes, no, none}}, "why": text,
		"evidence": object{"type": "array", "minItems": 1, "maxItems": maxPieces, "items": closed([]string{"kind"}, piece)},
	})
	answers, names := object{}, []string{}
	for _, q := range questions(code) {
		answers[q.name], names = answer, append(names, q.name)
	}
	required, all := []string{"verdict", "feedback", "answers"}, object{
		"verdict": object{"enum": []string{"accept", "reject"}}, "feedback": text, "answers": closed(names, answers),
	}
	if part > 0 {
		required, all["part"] = append(required, "part"), object{"enum": []int{part}}
	}
	schema, err := json.Marshal(closed(required, all))
	if err != nil {
		panic(err) // it is made of texts and lists
	}
	return schema
}

// answerable reports whether a check says anything about a question: one of its kind, or
// one of several kinds.
func (q question) answerable(check checks.Check) bool {
	return check.Kind == q.kind || check.Kind == checks.All && slices.Contains([]checks.Kind{checks.Test, checks.Lint, checks.Format, checks.Build, checks.Types}, q.kind)
}
