package invoker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Parts of TestRealConversation: messages that come while a turn runs, and interrupts.

func (c *conversation) steeredDuringAToolCall(t *testing.T) {
	gate := filepath.Join(c.config.Workspace, "gate")
	input, err := json.Marshal(map[string]string{"command": "until [ -e " + gate + " ]; do sleep 0.02; done"})
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder()
	results := c.begins(t.Context(), "usetool:Bash "+string(input), r.emit)
	eventually(t, "the tool call", func() bool { return len(r.of(pluginsdk.StreamToolCall)) == 1 })
	mustSteer(t, c, "use the blue one")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	result := <-results
	if result.Failure != nil || !strings.HasPrefix(result.Text, fakeapi.DefaultText) {
		t.Fatalf("result %+v", result)
	}
	if n := len(c.api.Requests(fakeapi.Main, fakeapi.Seeing("use the blue one"))); n == 0 {
		t.Error("the model never saw the message")
	}
	c.quiet(t)
}

// It is answered by the same Invoke.
func (c *conversation) steeredDuringTheLastText(t *testing.T) {
	results := c.begins(t.Context(), "block:gate say:first", nil)
	c.api.WaitRequest(t, fakeapi.Saying("block:gate say:first"))
	mustSteer(t, c, "say:second")
	c.api.Release("gate")
	result := <-results
	wantText(t, result, "first\n\nsecond")
	usage := fakeapi.DefaultUsage
	if result.Turns != 2 || result.Usage.InputTokens != 2*usage.InputTokens || result.Usage.OutputTokens != 2*usage.OutputTokens {
		t.Errorf("what both answers cost is not added up: %+v", result)
	}
	if next := c.quiet(t); next.CostUSD == 0 || !near(2*next.CostUSD, result.CostUSD) {
		t.Errorf("the turn cost %f, the next, of half its size, %f", result.CostUSD, next.CostUSD)
	}
}

// It steers until the turn is over, over and over: the model has seen every message that
// was taken when Invoke returns.
func (c *conversation) steeredAtAnyInstant(t *testing.T) {
	own, accepted := c.only(t), 0
	for round := range 10 {
		results := c.begins(t.Context(), "say:x", nil)
		var taken []string
		var result pluginsdk.InvokeResult
		for over, spins := false, 0; !over; spins++ {
			text := fmt.Sprintf("say:message %d of round %d.", len(taken), round)
			if len(taken) < 3 && spins%(200*(round+1)) == 0 && c.Steer("run-thread", text) {
				taken = append(taken, text)
			}
			select {
			case result = <-results:
				over = true
			default:
				runtime.Gosched()
			}
		}
		if result.Failure != nil || !strings.HasPrefix(result.Text, "x") {
			t.Fatalf("result %+v", result)
		}
		for _, text := range taken {
			if len(c.api.Requests(fakeapi.Main, fakeapi.Seeing(text))) == 0 {
				t.Errorf("round %d ended with %q although the model had not seen %q", round, result.Text, text)
			}
		}
		accepted += len(taken)
	}
	c.quiet(t)
	if c.only(t) != own || accepted == 0 {
		t.Errorf("%d messages taken; the process is the same: %t", accepted, c.only(t) == own)
	}
	t.Logf("%d messages taken", accepted)
}

func (c *conversation) interruptTakesSteeredMessagesBack(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	own := c.only(t)
	results := c.begins(ctx, "block:never and be steered", nil)
	c.api.WaitRequest(t, fakeapi.Saying("block:never and be steered"))
	mustSteer(t, c, "say:withdrawn one")
	mustSteer(t, c, "say:withdrawn two")
	cancel()
	_ = wantFailure(t, <-results, pluginsdk.FailureInterrupted, false)
	c.quiet(t)
	if c.only(t) != own {
		t.Error("the process is gone after the interrupt")
	}
	if n := len(c.api.Requests(fakeapi.Seeing("say:withdrawn"))); n != 0 {
		t.Errorf("the model saw messages that were taken back in %d requests", n)
	}
}

func (c *conversation) steeredIntoATurnThatFails(t *testing.T) {
	results := c.begins(t.Context(), "block:fail apierror:400", nil)
	c.api.WaitRequest(t, fakeapi.Saying("block:fail"))
	mustSteer(t, c, "block:never say:second")
	c.api.Release("fail")
	_ = wantFailure(t, <-results, pluginsdk.FailureAPI, false)
	c.noProcesses()
	c.quiet(t)
}

func (c *conversation) interruptKeepsWhatTheTurnCost(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := newRecorder()
	results := c.begins(ctx, `usetool:Bash {"command":"sleep 3600"}`, r.emit)
	eventually(t, "the tool call", func() bool { return len(r.of(pluginsdk.StreamToolCall)) == 1 })
	cancel()
	result := <-results
	_ = wantFailure(t, result, pluginsdk.FailureInterrupted, false)
	if result.Usage.InputTokens != fakeapi.DefaultUsage.InputTokens || result.CostUSD == 0 {
		t.Errorf("usage %+v, cost %f: what was spent is lost", result.Usage, result.CostUSD)
	}
}
