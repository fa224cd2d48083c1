package hostapi

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// box is a Toolbox that remembers for whom it was opened.
type box struct {
	caller string
	origin ledger.Behalf
	call   func(context.Context) error
}

func (b *box) List() []pluginsdk.ToolSpec { return []pluginsdk.ToolSpec{{Name: "time__now"}} }

func (b *box) Call(ctx context.Context, caller string, origin ledger.Behalf, name string, input json.RawMessage) (pluginsdk.ToolResult, error) {
	b.caller, b.origin = caller, origin
	if b.call != nil {
		return pluginsdk.ToolResult{}, b.call(ctx)
	}
	return pluginsdk.ToolResult{Text: name + string(input)}, nil
}

func withBox() (*box, *Tokens, pluginsdk.Host) {
	opened, f := &box{}, newFixture(pluginsdk.CapToolsCall)
	f.api.Toolbox = opened
	return opened, f.tokens, f.Host
}

func within(t *testing.T, token string) context.Context {
	return pluginsdk.WithCall(t.Context(), pluginsdk.Call{ID: "C", RunID: "claimed", Token: token})
}

// A tool that is called inside of a hook or another tool is part of that one's
// run, by what the core knows of the call and not by what the plugin says.
func TestAToolCallIsPartOfWhatItIsMadeIn(t *testing.T) {
	opened, tokens, host := withBox()
	if listed, err := host.Tools.List(t.Context(), &pluginsdk.ListToolsRequest{}); err != nil || len(listed.Tools) != 1 {
		t.Errorf("%v %v", listed, err)
	}
	call := &pluginsdk.InvokeToolRequest{Name: "time__now", Input: json.RawMessage(`{}`)}
	called, err := host.Tools.Call(within(t, ""), call)
	if err != nil || called.Result.Text != "time__now{}" || opened.caller != "p" || opened.origin != (ledger.Behalf{}) {
		t.Errorf("outside: %+v %v, origin %+v", called, err, opened.origin)
	}
	origin := ledger.Behalf{RunID: "R", Attempt: 2, TaskID: "K", Fence: ledger.Fence{ThreadID: "T", Epoch: 3}, Depth: 4}
	token := tokens.Open(t.Context(), "p", origin, time.Now().Add(time.Hour))
	if _, err := host.Tools.Call(within(t, token), call); err != nil {
		t.Fatal(err)
	}
	if origin.Token = token; opened.origin != origin {
		t.Errorf("inside: %+v, want %+v", opened.origin, origin)
	}
	tokens.Close(token)
	if _, err := host.Tools.Call(within(t, token), call); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Errorf("after its end: %v", err)
	}
}

// What was called inside of a call ends with it, and so does what that asks for.
func TestAToolCallEndsWithTheOneItIsMadeIn(t *testing.T) {
	opened, tokens, host := withBox()
	outer := tokens.Open(t.Context(), "p", ledger.Behalf{RunID: "R"}, time.Now().Add(time.Hour))
	opened.call = func(ctx context.Context) error {
		inner := tokens.Open(t.Context(), "q", opened.origin, time.Now().Add(time.Hour))
		if _, ok := tokens.lookup(inner); !ok {
			t.Error("the inner call's token is not good while both last")
		}
		tokens.Close(outer)
		<-ctx.Done()
		if _, ok := tokens.lookup(inner); ok {
			t.Error("the inner call's token outlives the outer call")
		}
		return context.Cause(ctx)
	}
	_, err := host.Tools.Call(within(t, outer), &pluginsdk.InvokeToolRequest{Name: "q__work"})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Errorf("it ended with %v", err)
	}
	late := tokens.Open(t.Context(), "q", ledger.Behalf{Token: outer}, time.Now().Add(time.Hour))
	if _, ok := tokens.lookup(late); ok {
		t.Error("a token that is opened inside of a call that is over is good")
	}
}
