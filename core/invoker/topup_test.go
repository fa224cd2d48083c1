package invoker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/invoker/prices"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// dearTurn is a turn of which the stream has told that it has come to $0.30, in a call that goes on.
func dearTurn(topUp func(context.Context) float64) *turn {
	one := &turn{session: &session{log: slog.New(slog.DiscardHandler)}, tools: map[string]string{}, emit: func(pluginsdk.StreamEvent) {}, capUSD: 0.1, topUp: topUp}
	one.line([]byte(`{"type":"stream_event","event":{"type":"message_start","message":{"model":"claude-sonnet-4-6","usage":{"input_tokens":100000}}}}`))
	return one
}

// A turn that reaches its cap asks for more, goes on while it waits for that, and again as long
// as it gets more; then it is interrupted.
func TestATurnAsksForMoreBeforeItIsInterrupted(t *testing.T) {
	caps := []float64{0.2, 0.5, 0.5}
	asked := 0
	one := dearTurn(func(context.Context) float64 { asked++; return caps[asked-1] })
	ctx := t.Context()
	for i, want := range []struct {
		capUSD  float64
		reaches bool // once the answer is taken
	}{{0.2, false}, {0.5, false}} {
		for range 2 {
			if one.reachesCap(ctx) || one.topping == nil {
				t.Fatalf("%d: it is interrupted without an answer, or nobody is asked", i)
			}
		}
		one.toppedUp(<-one.topping)
		if one.capUSD != want.capUSD || asked != i+1 {
			t.Errorf("%d: the cap is %v, asked %d times", i, one.capUSD, asked)
		}
	}
	if one.reachesCap(ctx) || one.topping != nil {
		t.Error("it asks below its cap")
	}
	one.line([]byte(`{"type":"stream_event","event":{"type":"message_start","message":{"model":"claude-sonnet-4-6","usage":{"input_tokens":100000}}}}`))
	if one.reachesCap(ctx) {
		t.Error("it is interrupted without an answer")
	}
	one.toppedUp(<-one.topping)
	if !one.reachesCap(ctx) || asked != 3 {
		t.Errorf("there is no more, and it goes on; asked %d times", asked)
	}
}

// A turn that can have no more is interrupted at once.
func TestATurnWithoutMoreIsInterrupted(t *testing.T) {
	if one := dearTurn(nil); !one.reachesCap(t.Context()) {
		t.Error("it goes on beyond its cap")
	}
}

// Who ends a turn waits for who is asked: nothing is set aside after its result.
func TestTheEndOfATurnWaitsForItsTopUp(t *testing.T) {
	over := false
	one := dearTurn(func(ctx context.Context) float64 { <-ctx.Done(); over = true; return 0 })
	ctx, cancel := context.WithCancel(t.Context())
	_ = one.reachesCap(ctx)
	cancel()
	one.awaitTopUp()
	if !over {
		t.Error("it has not waited")
	}
}

// A model without a price must not run under a cap that is held by too low a one, and who pays
// for it is told.
func TestAModelWithoutAPriceIsTheDearest(t *testing.T) {
	dearest, _ := prices.Shipped().Dearest(time.Now())
	for _, known := range prices.Shipped().Entries {
		if dearest.Output < known.Prices[0].Output || dearest.Input < known.Prices[0].Input {
			t.Errorf("%s is dearer", known.Model)
		}
	}
	var told []string
	said := &strings.Builder{}
	all := &unpriced{}
	for range 2 {
		one := &turn{session: &session{log: slog.New(slog.NewTextHandler(said, nil)), unpriced: all}, tools: map[string]string{}, emit: func(pluginsdk.StreamEvent) {},
			config: &Config{OnUnpriced: func(model string) { told = append(told, model) }}}
		one.line([]byte(`{"type":"stream_event","event":{"type":"message_start","message":{"model":"claude-new-9","usage":{"input_tokens":100000}}}}`))
		if got := one.costUSD(); !near(got, 1.5) || !one.cost.unsure {
			t.Errorf("it has come to %f, unsure %t", got, one.cost.unsure)
		}
		one.tellUnpriced()
	}
	if got := strings.Count(said.String(), "THE PRICE OF THIS MODEL IS NOT KNOWN"); got != 1 {
		t.Errorf("it is said %d times", got)
	}
	if !slices.Equal(told, []string{"claude-new-9"}) {
		t.Errorf("people are told of %v", told)
	}
}

// The demo agent tops up too.
func TestTheDemoAgentTopsUp(t *testing.T) {
	for _, c := range []struct {
		most    float64
		failure string
	}{{2.5, ""}, {1.5, "its cap of $1.50: it has come to $2.00"}} {
		demo := NewDemo(DemoConfig{Script: NewScript(Rule{Match: "dear", CostUSD: 2, Text: "x"})})
		r := fresh("R", "thread", "dear")
		capUSD := 0.5
		r.CostCapUSD = capUSD
		r.TopUp = func(context.Context) float64 { capUSD = min(capUSD+0.5, c.most); return capUSD }
		result := demo.Invoke(t.Context(), r, nil)
		if got := fmt.Sprint(result.Failure); (result.Failure == nil) != (c.failure == "") || c.failure != "" && !strings.Contains(got, c.failure) {
			t.Errorf("at most %v: %s", c.most, got)
		}
	}
}
