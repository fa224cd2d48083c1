package daemon_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var verdictSchema = json.RawMessage(`{"type":"object","properties":{"verdict":{"type":"string"}},"required":["verdict"]}`)

// What a plugin asks of the real agent: an answer by a schema, once for a key; a refusal in
// words; an error of the API; a cap that is hit in mid-stream, with no call after it; a CLI
// that is killed in the middle and asked anew.
func TestTurnsOfTheRealAgent(t *testing.T) {
	if !apart(t) {
		return
	}
	in := newInstallation(t, "", turnerName)
	api := in.claude()
	in.config.HookDeadlines = map[pluginsdk.Hook]time.Duration{pluginsdk.HookCommand: patience} // the CLI starts twice in one
	in.start()
	in.adoptTurner()
	watch, thread := in.watch(), in.thread("talk")
	calls := func() int { return len(api.Requests(fakeapi.Main)) }
	want := func(answer string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(answer, part) {
				t.Errorf("%s; want %s", answer, part)
			}
		}
	}

	turn := pluginsdk.StartTurnRequest{Key: "k", ThreadID: thread, Prompt: `usetool:StructuredOutput {"verdict":"yes"}`, JSONSchema: verdictSchema}
	want(in.ask(watch, thread, turn), "succeeded existed=false", `output={"verdict":"yes"}`)
	asked := calls()
	want(in.ask(watch, thread, turn), "succeeded existed=true", `output={"verdict":"yes"}`)
	if calls() != asked {
		t.Errorf("the same key has asked %d times more", calls()-asked)
	}

	api.Handle(func(fakeapi.Request) fakeapi.Reply { return fakeapi.Reply{Text: "I would rather not."} })
	want(in.ask(watch, thread, pluginsdk.StartTurnRequest{Prompt: "go", JSONSchema: verdictSchema}),
		"succeeded", "I would rather not.", "output= ")

	api.Handle(func(fakeapi.Request) fakeapi.Reply { return fakeapi.Reply{Status: 400} })
	want(in.ask(watch, thread, pluginsdk.StartTurnRequest{Prompt: "go"}), "failed", "400")

	asked = calls()
	api.Handle(func(fakeapi.Request) fakeapi.Reply {
		return fakeapi.Reply{Text: "at length", Usage: fakeapi.Usage{InputTokens: 1_000_000}, Stall: "never"}
	})
	capped := in.ask(watch, thread, pluginsdk.StartTurnRequest{Prompt: "go", CostCapUSD: 0.5})
	want(capped, "failed", "$0.50")
	if calls() != asked+1 || strings.Contains(capped, "cost=0\n") {
		t.Errorf("%d calls after the cap; %s", calls()-asked-1, capped)
	}

	var once sync.Once
	api.Handle(func(fakeapi.Request) fakeapi.Reply {
		first := false
		once.Do(func() { first = true })
		if !first {
			return fakeapi.Reply{Text: "thought anew"}
		}
		in.killCLI() // the turn's is the only one
		return fakeapi.Reply{Text: "never heard"}
	})
	want(in.ask(watch, thread, pluginsdk.StartTurnRequest{Prompt: "go"}), "succeeded", "thought anew")
}
