package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// spending is a bench with a gate that sets money aside, and an agent that asks for more until
// there is none. It returns what the caps were.
func spending(verdict pluginsdk.OnBeforeRunResponse) (b *bench, caps *[]float64) {
	b, caps = newBench("purser"), new([]float64)
	b.plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) { return &verdict, nil }
	b.agent.answer = func(ctx context.Context, request ledger.AgentRequest, _ func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		*caps = append(*caps, request.CostCapUSD)
		for request.TopUp != nil {
			capUSD := request.TopUp(ctx)
			if capUSD <= (*caps)[len(*caps)-1] {
				break
			}
			*caps = append(*caps, capUSD)
		}
		last := (*caps)[len(*caps)-1]
		return pluginsdk.InvokeResult{
			SessionID: request.SessionID, CostUSD: last,
			Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureBudget, Message: fmt.Sprintf("the turn was ended at its cap of $%.2f", last)},
		}
	}
	return b, caps
}

func atRest(account string, amount float64) pluginsdk.Reservation {
	return pluginsdk.Reservation{Account: account, LimitUSD: 1, AmountUSD: amount, CapAtRest: true, Reason: "the budget is used up: {spent} of {limit}"}
}

// The turn's cap is the least that is set aside with CapAtRest, and grows with what is set aside
// more. When there is no more, the person reads why in the words of the plugin.
func TestATurnsCapGrowsWithWhatIsSetAside(t *testing.T) {
	b, caps := spending(pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{
		atRest("day", 0.3), atRest("month", 0.2), {Account: "counted", AmountUSD: 0.01},
	}})
	left := []float64{0.2, 0.1}
	b.store.topUp = func() (float64, error) {
		if len(left) == 0 {
			return 0, fmt.Errorf("top up: %w", &ledger.OverLimit{Reservation: ledger.Reservation{Plugin: "purser", Reservation: atRest("month", 0.2)}, SpentUSD: 0.5, OwnUSD: 0.5})
		}
		more := left[0]
		left = left[1:]
		return more, nil
	}
	err := b.handle()
	if err == nil || !strings.Contains(err.Error(), "the turn was ended at its cap") {
		t.Fatalf("it ended with %v", err)
	}
	if got := fmt.Sprintf("%.2f", *caps); got != "[0.20 0.40 0.50]" {
		t.Errorf("the caps were %s", got)
	}
	accounts := func(all []ledger.Reservation) (names []string) {
		for _, one := range all {
			names = append(names, one.Plugin+"/"+one.Account)
		}
		return names
	}
	if got := accounts(b.store.topUps[0]); len(b.store.topUps) != 3 || !slices.Equal(got, []string{"purser/day", "purser/month"}) {
		t.Errorf("topped up %d times, in %q", len(b.store.topUps), got)
	}
	if got := accounts(b.store.results[0].Closes); !slices.Equal(got, []string{"purser/day", "purser/month"}) {
		t.Errorf("the result closes %q", got)
	}
	if !strings.Contains(err.Error(), "its cap of $0.50; the budget is used up: $0.50 of $1.00") {
		t.Errorf("the person reads %q", err)
	}
}

// A cap that does not grow bounds what does: a gate's, a task's.
func TestATopUpKeepsToTheOtherCaps(t *testing.T) {
	b, caps := spending(pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{atRest("day", 0.3)}, CostCapUSD: 0.5})
	b.store.topUp = func() (float64, error) { return 0.3, nil }
	err := b.handle()
	if err == nil || !strings.Contains(err.Error(), "the turn was ended at its cap") {
		t.Fatalf("it ended with %v", err)
	}
	if got := fmt.Sprintf("%.2f", *caps); got != "[0.30 0.50]" || len(b.store.topUps) != 1 || b.agent.requests[0].CostMostUSD != 0.5 {
		t.Errorf("the caps were %s, topped up %d times, at most %v", got, len(b.store.topUps), b.agent.requests[0].CostMostUSD)
	}
}

// What cannot be set aside must not be spent.
func TestWithoutTheDatabaseATurnEndsAtItsCap(t *testing.T) {
	b, caps := spending(pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{atRest("day", 0.3)}})
	b.store.topUp = func() (float64, error) { return 0, errors.New("no answer") }
	err := b.handle()
	if err == nil || !strings.Contains(err.Error(), "the turn was ended at its cap") {
		t.Fatalf("it ended with %v", err)
	}
	if got := fmt.Sprintf("%.2f", *caps); got != "[0.30]" {
		t.Errorf("the caps were %s", got)
	}
}

// A session that the agent does not know has cost nothing: what was set aside for it is there for
// the next one, and is not taken for what a killed turn has spent.
func TestASecondExchangeSetsTheSameAside(t *testing.T) {
	b, _ := spending(pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{atRest("day", 0.3)}})
	b.claim.Thread.SessionID = "gone"
	b.agent.answer = failsWith(&pluginsdk.Failure{Kind: pluginsdk.FailureUnknownSession}, nil)
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	first, again := b.store.intents[0].Reservations[0], b.store.intents[1].Reservations[0]
	if first.Again || !again.Again || b.agent.requests[1].CostCapUSD != 0.3 {
		t.Errorf("set aside %+v, then %+v", first, again)
	}
}

// A cap that is nothing, and a reason that is no text, are errors of the gate's.
func TestReservationsThatMakeNoSense(t *testing.T) {
	for words, one := range map[string]pluginsdk.Reservation{
		"it reserves nothing, which is to be the turn's cap": {Account: "day", CapAtRest: true},
		"no text of at most 1000 bytes":                      {Account: "day", AmountUSD: 1, Reason: strings.Repeat("a", 1001)},
	} {
		b, _ := spending(pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{one}})
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		if finish := b.store.finishes[0]; finish.State != pluginsdk.RunFailed || !strings.Contains(finish.Rows[0].Message.Content, words) {
			t.Errorf("%s: %s %q", words, finish.State, finish.Rows[0].Message.Content)
		}
	}
}

// A turn for which there is less left than it usually costs begins with what is left; with next to nothing left it
// does not begin.
func TestATurnBeginsWithWhatIsLeft(t *testing.T) {
	for spent, want := range map[float64][]float64{0.7: {0.5, 0.1}, 0.78: {0.5}} {
		b, _ := spending(pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{atRest("day", 0.5)}})
		b.store.fail["SaveIntent"] = fmt.Errorf("5a: %w", &ledger.OverLimit{
			Reservation: ledger.Reservation{Plugin: "purser", Reservation: atRest("day", 0.5)}, SpentUSD: spent, ReservedUSD: 0.2,
		})
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		var asked []float64
		for _, intent := range b.store.intents {
			asked = append(asked, math.Round(100*intent.Reservations[0].AmountUSD)/100)
		}
		if !slices.Equal(asked, want) {
			t.Errorf("with %v spent it asks for %v, want %v", spent, asked, want)
		}
		if end := b.store.finishes[0]; end.State != pluginsdk.RunFailed || !strings.Contains(end.Error, "the budget is used up") {
			t.Errorf("refused again, it ends as %+v", end)
		}
	}
}
