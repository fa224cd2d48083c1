package hostapi

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What no turn can be is refused with the name of the field, before anything is stored.
func TestATurnIsCheckedFieldByField(t *testing.T) {
	f := newFixture(pluginsdk.AllCapabilities()...)
	for field, request := range map[string]pluginsdk.StartTurnRequest{
		"prompt":         {Prompt: " "},
		"session":        {Prompt: "x", Session: "mine"},
		"threadId":       {Prompt: "x", Session: pluginsdk.SessionThread},
		"timeout":        {Prompt: "x", Timeout: -time.Second},
		"costCapUsd":     {Prompt: "x", CostCapUSD: -1},
		"cwd":            {Prompt: "x", Cwd: "relative"},
		"permissionMode": {Prompt: "x", PermissionMode: "bypassPermissions"},
		"jsonSchema":     {Prompt: "x", JSONSchema: json.RawMessage(`{"type":`)},
		"jsonSchema: at": {Prompt: "x", JSONSchema: json.RawMessage(`{"type":"array"}`)},
		"key":            {Prompt: "x", Key: strings.Repeat("k", 600)},
		"systemPrompt":   {Prompt: "x", SystemPrompt: strings.Repeat("s", 3<<20)},
		"allowedTools":   {Prompt: "x", AllowedTools: []string{strings.Repeat("t", 20<<10)}},
	} {
		refused(t, field, second(f.Agent.Start(t.Context(), &request)), pluginsdk.CodeInvalid, field)
	}
	if len(f.inbox.turns) != 0 {
		t.Errorf("asked for %+v", f.inbox.turns)
	}
}

// A plugin cannot have the agent do for it, in a turn, what it may not do itself.
func TestATurnIsNoWayRoundThreadsAdmin(t *testing.T) {
	beyond := map[string]pluginsdk.StartTurnRequest{
		"cwd":            {Prompt: "x", Cwd: "/etc"},
		"permissionMode": {Prompt: "x", PermissionMode: "acceptEdits"},
		"allowedTools":   {Prompt: "x", AllowedTools: []string{"Bash"}},
		"threadId":       {Prompt: "x", ThreadID: "ann's"},
	}
	f := newFixture(pluginsdk.CapAgentInvoke)
	for field, request := range beyond {
		refused(t, field, second(f.Agent.Start(t.Context(), &request)), pluginsdk.CodeDenied, field)
	}
	for name, request := range map[string]pluginsdk.StartTurnRequest{
		"nothing":   {Prompt: "x"},
		"less":      {Prompt: "x", PermissionMode: "plan", DisallowedTools: []string{"Bash"}},
		"one's own": {Prompt: "x", ThreadID: "mine", Session: pluginsdk.SessionThread},
	} {
		if _, err := f.Agent.Start(t.Context(), &request); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	f = newFixture(pluginsdk.CapAgentInvoke, pluginsdk.CapThreadsAdmin)
	for field, request := range beyond {
		if _, err := f.Agent.Start(t.Context(), &request); err != nil {
			t.Errorf("%s with threads.admin: %v", field, err)
		}
	}
	if len(f.store.audits) != len(beyond) {
		t.Errorf("audited %q", f.store.audits)
	}
}

// What a hook asks of the agent is caused by the run that the hook is called in.
func TestATurnKnowsItsCause(t *testing.T) {
	f := newFixture(pluginsdk.CapAgentInvoke)
	ctx, _ := f.within(t, ledger.Behalf{RunID: "R"})
	got, err := f.Agent.Start(ctx, &pluginsdk.StartTurnRequest{Prompt: "x"})
	if err != nil || got.RunID != "turn caused by R" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Who waits for a run is told of its end when it is announced, and when announcements
// were missed; who asks for a turn of another plugin's is told that it has none.
func TestWaiting(t *testing.T) {
	for name, event := range map[string]pluginsdk.Event{
		"announced": {Type: pluginsdk.EventPipelineComplete, Data: json.RawMessage(`{"runId":"R"}`)},
		"missed":    {Type: pluginsdk.EventResync},
	} {
		f := newFixture(pluginsdk.AllCapabilities()...)
		f.events.subscribed = make(chan struct{})
		f.store.set(pluginsdk.Run{ID: "R", Kind: pluginsdk.RunTurn, Plugin: "p", State: pluginsdk.RunRunning})
		ended := make(chan *pluginsdk.WaitTurnResponse, 1)
		go func() {
			response, err := f.Agent.Wait(t.Context(), &pluginsdk.WaitTurnRequest{RunID: "R"})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			ended <- response
		}()
		<-f.events.subscribed // it waits
		f.store.set(pluginsdk.Run{
			ID: "R", Kind: pluginsdk.RunTurn, Plugin: "p", State: pluginsdk.RunSucceeded, Result: &pluginsdk.InvokeResult{Text: "good"},
		})
		if err := f.events.subscriber()(t.Context(), []pluginsdk.Event{event}); err != nil {
			t.Fatal(err)
		}
		if got := <-ended; got == nil || got.State != pluginsdk.RunSucceeded || got.Result.Text != "good" {
			t.Errorf("%s: %+v", name, got)
		}
		if f.events.subscriber() != nil {
			t.Errorf("%s: the events are listened to although nobody waits", name)
		}
	}
	f := newFixture(pluginsdk.AllCapabilities()...)
	f.store.set(pluginsdk.Run{ID: "R", Kind: pluginsdk.RunTurn, Plugin: "another", State: pluginsdk.RunRunning})
	refused(t, "another's turn", second(f.Agent.Wait(t.Context(), &pluginsdk.WaitTurnRequest{RunID: "R"})), pluginsdk.CodeNotFound, "no turn")
	refused(t, "another's turn", second(f.Agent.Cancel(t.Context(), &pluginsdk.CancelTurnRequest{RunID: "R"})), pluginsdk.CodeNotFound, "no turn")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	refused(t, "a wait that is given up", second(f.Runs.Wait(ctx, &pluginsdk.WaitRunRequest{ID: "R"})), pluginsdk.CodeCancelled, "not over")
}
