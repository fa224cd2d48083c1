package agentcheck

import (
	"encoding/json"
	"strings"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What comes of a turn: an answer, a structured output, a failure that says which.

var verdictSchema = json.RawMessage(`{"type":"object","properties":{"verdict":{"type":"string","minLength":2}},"required":["verdict"]}`)

func goodSchema(w *world) string {
	w.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		switch {
		case len(r.Messages) > 6:
			return fakeapi.Reply{Text: "so be it"}
		case len(r.ToolResults()) == 0:
			return uses("StructuredOutput", map[string]any{"verdict": 3}) // does not fit
		}
		return uses("StructuredOutput", map[string]any{"verdict": "yes"})
	})
	request := w.fresh("judge")
	request.JSONSchema = verdictSchema
	t := w.invoke(request)
	w.expect(t.Failure == nil, "a turn with a schema failed: %s", wordsOf(t.Failure))
	w.expect(string(t.StructuredOutput) == `{"verdict":"yes"}`, "the structured output is %q", cut(string(t.StructuredOutput)))
	w.expect(len(t.main()) == 2, "a value that does not fit, and one that does, took %d calls of the API", len(t.main()))
	return ""
}

// badSchema is valid for Harness, and no schema for the CLI, which has another language of
// patterns.
var badSchema = json.RawMessage(`{"type":"object","properties":{"verdict":{"type":"string","pattern":"(?P<word>x)"}}}`)

func badSchemaIsRefused(w *world) string {
	request := w.fresh("say:judged")
	request.JSONSchema = badSchema
	t := w.invoke(request)
	w.expect(t.Failure != nil, "a bad schema is ignored")
	w.expect(!t.Failure.Retryable && t.Failure.Kind == pluginsdk.FailureOther && strings.Contains(strings.ToLower(t.Failure.Message), "schema"),
		"a bad schema looks like another failure: %s", wordsOf(t.Failure))
	return ""
}

func refusalIsTold(w *world) string {
	w.began()
	w.api.Handle(func(fakeapi.Request) fakeapi.Reply { return fakeapi.Reply{Text: "I will", StopReason: "refusal"} })
	t := w.invoke(w.request("do something bad"))
	w.expect(t.Failure != nil, "a refusal is taken for an answer: %q", cut(t.Text))
	w.expect(t.Failure.Kind == pluginsdk.FailureAPI && !t.Failure.Retryable && t.Failure.Message != "", "a refusal looks like another failure: %s", wordsOf(t.Failure))
	w.api.Handle(nil)
	w.say("say:and on", "and on")
	return ""
}

func apiErrorIsTold(w *world) string {
	w.began()
	t := w.invoke(w.request("apierror:529"))
	w.expect(t.Failure != nil, "an API error is taken for an answer: %q", cut(t.Text))
	w.expect(t.Failure.Kind == pluginsdk.FailureAPI && t.Failure.APIStatus == 529 && t.Failure.Retryable, "an API error (529) looks like another failure: %s", wordsOf(t.Failure))
	retries := 0
	for _, event := range t.events {
		if event.Type == pluginsdk.StreamRetry {
			retries++
		}
	}
	w.expect(retries == 1, "the CLI reports %d retries instead of 1", retries)
	w.say("say:back", "back")
	return ""
}
