package invoker

import (
	"cmp"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The safeguards of a model can stop its answer. Verified with 2.1.197 and 2.1.330: both
// write the line below and then a result that is an error. 2.1.330 has first asked the model once more,
// with a note that its answer was stopped; when that brings an answer the turn succeeds, and
// there is no such line. Both go on in the same session with the next turn: what was said
// last is part of it, so that safeguards may stop that turn as well.

// refusal is the line that says that an answer was stopped.
type refusal struct {
	Category    string `json:"api_refusal_category"`
	Explanation string `json:"api_refusal_explanation"`
}

func (t *turn) refusal(line []byte) {
	var said refusal
	if t.decode(line, &said) {
		t.refused = &said
	}
}

// refusalFailure is the failure of a turn whose answer was stopped. words are the CLI's.
func (t *turn) refusalFailure(words string) *pluginsdk.Failure {
	message := "The safeguards of the model stopped its answer"
	if t.refused.Category != "" {
		message += " (" + t.refused.Category + ")"
	}
	message += ". Say it in other words, or choose another model (/model); the conversation goes on. " +
		"When it is stopped again, /new begins a new session without what was said here."
	return &pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: message + " The CLI said: " + cmp.Or(t.refused.Explanation, words)}
}
