package fakeapi

import (
	"bufio"
	"context"
	"math"
	"net/http"
	"strings"
	"testing"
)

// The prices are the public table's, written out once more: whoever changes one here by
// mistake would have every test of money agree with the mistake.
func TestWhatCallsCost(t *testing.T) {
	tokens := Usage{InputTokens: 1e6, OutputTokens: 1e6, CacheReadTokens: 1e6, CacheWriteTokens: 2e6, CacheWriteHour: 1e6}
	for model, want := range map[string]float64{
		"claude-opus-4-20250514":    15 + 75 + 1.5 + 18.75 + 30,
		"claude-opus-4-1-20250805":  15 + 75 + 1.5 + 18.75 + 30,
		"claude-opus-4-6":           5 + 25 + 0.5 + 6.25 + 10,
		"claude-opus-5-5":           4 + 20 + 0.2 + 5 + 8,
		"claude-sonnet-4-6":         3 + 15 + 0.3 + 3.75 + 6,
		"claude-sonnet-5":           2 + 10 + 0.2 + 2.5 + 4,
		"claude-sonnet-5-5":         2 + 10 + 0.1 + 2.5 + 4,
		"claude-haiku-4-5-20251001": 1 + 5 + 0.1 + 1.25 + 2,
		"claude-haiku-5-5":          0.5 + 2.5 + 0.05 + 0.625 + 1, // a long prompt
		"claude-fable-5-1":          10 + 50 + 0.25 + 12.5 + 20,
		"somebody-elses":            5 + 25 + 0.5 + 6.25 + 10,
	} {
		if got := rateOf(model, tokens).usd(tokens); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v USD, want %v", model, got, want)
		}
	}
	short := Usage{InputTokens: 100_000, OutputTokens: 1000}
	if got, want := rateOf("claude-haiku-5-5", short).usd(short), 0.01+0.0005; math.Abs(got-want) > 1e-9 {
		t.Errorf("a short prompt: %v USD, want %v", got, want)
	}
}

func TestEveryCallIsBilledOnce(t *testing.T) {
	s := Start(t)
	drain(t, post(t, s, true, text("usage:1000 100 10 20\nsay:one")))
	before := s.Billed()
	drain(t, post(t, s, false, text("say:two")))
	drain(t, post(t, s, true, text("apierror:529")))
	more := s.Billed().Since(before)
	if u := before.Models["m"]; before.Calls != 1 || u != (Usage{1000, 100, 10, 20, 0}) {
		t.Errorf("the first call is billed as %+v", before)
	}
	if more.Calls != 1 || more.Models["m"] != DefaultUsage || math.Abs(more.USD-rateOf("m", DefaultUsage).usd(DefaultUsage)) > 1e-12 {
		t.Errorf("then %+v", more)
	}
	if by := s.Billed(Saying("say:one")); by.Calls != 1 || by.USD != before.USD || by.Usage() != before.Usage() {
		t.Errorf("by request %+v", by)
	}
}

// Who goes away in mid-stream pays for the input, and for what was streamed.
func TestACallThatIsCutOffIsBilledAsFarAsItCame(t *testing.T) {
	s := Start(t)
	s.Handle(func(r Request) Reply {
		if r.Says("wait") {
			return Reply{Block: "never"}
		}
		return Reply{Text: "one two three four", Stall: "gate"}
	})
	ctx, cancel := context.WithCancel(t.Context())
	for _, prompt := range []string{"go", "wait"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v1/messages", strings.NewReader(
			`{"model":"claude-sonnet-4-6","stream":true,"messages":[{"role":"user","content":"`+prompt+`"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if prompt == "wait" {
			go func() {
				if response, err := http.DefaultClient.Do(request); err == nil {
					response.Body.Close()
				}
			}()
			s.WaitRequest(t, Saying("wait"))
			continue
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		for lines := bufio.NewScanner(response.Body); lines.Scan() && !strings.Contains(lines.Text(), `"one "`); {
			continue
		}
	}
	cancel()
	bill := s.Billed()
	want := DefaultUsage
	want.OutputTokens = 1
	if bill.Calls != 1 || bill.Cut != 1 || bill.Usage() != want {
		t.Errorf("billed %+v, want one call with %+v", bill, want)
	}
}

func TestABillOutlivesTheRequestsThatAreKept(t *testing.T) {
	s := Start(t)
	s.Keep(1)
	for range 3 {
		drain(t, post(t, s, true, text("say:x")))
	}
	if bill := s.Billed(); bill.Calls != 3 || len(s.Requests()) != 1 {
		t.Errorf("%d calls billed, %d requests kept", bill.Calls, len(s.Requests()))
	}
	if kept := s.Calls(Saying("say:x")); len(kept) != 1 {
		t.Errorf("%d calls with their requests", len(kept))
	}
}
