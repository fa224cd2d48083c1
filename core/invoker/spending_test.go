package invoker

import (
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/invoker/prices"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What the real CLI (2.1.197) counted for one call, by model. A cap that is held by
// other prices ends turns too early, or too late.
func TestPricesAreTheCLIs(t *testing.T) {
	call := usage{Input: 7, Output: 10, CacheWrite: 1000}
	call.CacheCreation.OneHour = 600
	for model, want := range map[string]float64{
		"claude-fable-5": 0.01757, "claude-mythos-5": 0.01757, "claude-opus-4-8": 0.008785,
		"us.anthropic.claude-opus-4-1-20250805-v1:0": 0.026355, "claude-sonnet-4-6[1m]": 0.005271,
		"claude-haiku-4-5": 0.001757, "claude-3-5-haiku-20241022": 0.0014056,
		"claude-unheard-1": 0.026355, // of no family: as the dearest, where the CLI has 0.008785
	} {
		if got := listed(model, call); !near(got, want) {
			t.Errorf("%s: %f, want %f", model, got, want)
		}
	}
	if listed("claude-opus-4-20250514", call) == listed("claude-opus-4-9", call) {
		t.Error("the first Opus 4 has the price of the later ones")
	}
}

// listed is what a call costs by the shipped prices of now.
func listed(model string, call usage) float64 { return pricing{}.part(model, call).CostUSD }

// A price that changes in the middle of a turn is not that turn's: what it costs would depend on
// when its calls came.
func TestATurnIsPricedAsOfItsStart(t *testing.T) {
	book := prices.Open(writePrices(t, `{"models": [{"model": "sonnet-4-6", "prices": [
		{"from": "2026-01-01", "input": 7, "output": 7, "source": "contract"}, {"from": "2026-07-01", "input": 9, "output": 9, "source": "contract"}]}]}`), slog.New(slog.DiscardHandler))
	for day, want := range map[string]float64{"2026-06-30": 7, "2026-07-01": 9} {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		turn := turn{session: &session{}, tools: map[string]string{}, emit: func(pluginsdk.StreamEvent) {}, calls: calls{pricing: pricing{book.Table(), at}}}
		turn.line([]byte(`{"type":"assistant","parent_tool_use_id":"t1","message":{"id":"m1","model":"claude-sonnet-4-6","usage":{"input_tokens":1000000},"content":[]}}`))
		if got := turn.costUSD(); !near(got, want) {
			t.Errorf("a turn of %s costs %f, want %f", day, got, want)
		}
	}
}

// An operator's prices hold from the turn on that begins after they were written, and the last good
// ones while the file cannot be read.
func TestAnOperatorsPricesHoldFromTheNextTurnOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), prices.FileName)
	a := startAgent(t, "plain", func(c *Config) { c.Prices = prices.Open(path, slog.New(slog.DiscardHandler)) })
	for _, step := range []struct {
		file string
		want float64 // of a call of 700 tokens in, 30 out, 50 read from and 5 written to the cache
	}{
		{"", 700*15e-6 + 30*75e-6 + 50*1.5e-6 + 5*18.75e-6},
		{`{"models": [{"model": "dear", "prices": [{"from": "2020-01-01", "input": 1000, "output": 2000, "source": "contract"}]}]}`, 0.7 + 0.06 + 0.005 + 0.00625},
		{`{"models": [{"model": "dear", "prices": [{"from": "2020-01-01", "input": -1`, 0.7 + 0.06 + 0.005 + 0.00625},
	} {
		if step.file != "" {
			rewrite(t, path, step.file)
		}
		// The call of the fake names no model: it has the price of the dearest.
		if got := a.Invoke(t.Context(), ledger.AgentRequest{Prompt: "spend"}, nil).CostUSD; !near(got, step.want) {
			t.Errorf("with %q a call costs %f, want %f", step.file, got, step.want)
		}
	}
}

func writePrices(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), prices.FileName)
	rewrite(t, path, text)
	return path
}

func rewrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWhatReachesACapIsSaid(t *testing.T) {
	for want, row := range map[string][2]float64{
		"its cap of $0.50: it has come to $0.75":     {0.5, 0.75},
		"its cap of $12.00: it has come to $100.10":  {12, 100.1},
		"its cap of $0.0010: it has come to $0.0044": {0.001, 0.0044},
	} {
		failure := overBudget(row[0], row[1])
		if failure.Kind != pluginsdk.FailureBudget || failure.Retryable || !strings.HasSuffix(failure.Message, want) {
			t.Errorf("%+v, want %q", failure, want)
		}
	}
}

// A sub-agent's message comes as often as it has blocks, and is one call.
func TestASubAgentsMessageIsBilledOnce(t *testing.T) {
	turn := turn{session: &session{}, tools: map[string]string{}, emit: func(pluginsdk.StreamEvent) {}}
	for range 3 {
		turn.line([]byte(`{"type":"assistant","parent_tool_use_id":"t1","message":{"id":"m1","model":"claude-sonnet-4-6","usage":{"input_tokens":1000000},"content":[]}}`))
	}
	if got := turn.costUSD(); !near(got, 3) {
		t.Errorf("billed %f, want 3", got)
	}
}

func TestRequestsThatMakeNoSense(t *testing.T) {
	a := startAgent(t, "plain", nil)
	demo := NewDemo(DemoConfig{})
	for name, r := range map[string]ledger.AgentRequest{
		"cost cap is -1": {CostCapUSD: -1}, "cost cap is NaN": {CostCapUSD: math.NaN()}, "cost cap is +Inf": {CostCapUSD: math.Inf(1)},
		"timeout is -1s": {Timeout: -time.Second},
	} {
		for _, result := range []pluginsdk.InvokeResult{a.Invoke(t.Context(), r, nil), demo.Invoke(t.Context(), r, nil)} {
			if failure := wantFailure(t, result, pluginsdk.FailureOther, false); !strings.Contains(failure.Message, name) {
				t.Errorf("message %q does not say that the %s", failure.Message, name)
			}
		}
	}
}

// A turn is interrupted at its cap unless it is about to end by itself: an answer
// that has come is not thrown away.
func TestWhenATurnIsInterruptedAtItsCap(t *testing.T) {
	const (
		start    = `{"type":"stream_event","event":{"type":"message_start","message":{"model":"claude-sonnet-4-6","usage":{"input_tokens":100000}}}}`
		ends     = `{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":10000}}}`
		goesOn   = `{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":10000}}}`
		gives    = `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"StructuredOutput","input":{}}]}}`
		fits     = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}`
		fitsNot  = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"no","is_error":true}]}}`
		insisted = start // the CLI insists on a structured output after an end without one
	)
	for name, row := range map[string]struct {
		lines []string
		want  bool
	}{
		"below the cap":                           {[]string{start}, false}, // 0.30 of 0.40
		"the call goes on":                        {[]string{start, goesOn}, true},
		"the call is the last":                    {[]string{start, ends}, false},
		"the next begins all the same":            {[]string{start, ends, insisted}, true},
		"an output is looked at":                  {[]string{start, gives, goesOn}, false},
		"an output has been taken":                {[]string{start, gives, fits, goesOn}, false},
		"an output has been taken late":           {[]string{start, gives, goesOn, fits}, false},
		"an output does not fit":                  {[]string{start, gives, fitsNot, goesOn}, true},
		"an output does not fit, as is said late": {[]string{start, gives, goesOn, fitsNot}, true},
	} {
		turn := turn{session: &session{}, tools: map[string]string{}, emit: func(pluginsdk.StreamEvent) {}, capUSD: 0.4}
		for _, line := range row.lines {
			turn.line([]byte(line))
		}
		if got := turn.overspent(); got != row.want {
			t.Errorf("%s: interrupted %t, want %t, at %f", name, got, row.want, turn.costUSD())
		}
	}
}

// The first totals of a resumed session are of the turn alone or of the session, as the CLI
// counts. What the stream tells of the turn's own calls decides, and where it does not, the
// cost is unsure.
func TestTheFirstTotalsOfAResumedSession(t *testing.T) {
	part := func(model string, prompt int64, usd float64) pluginsdk.ModelUsage {
		return pluginsdk.ModelUsage{Model: model, Usage: pluginsdk.Usage{InputTokens: prompt}, CostUSD: usd}
	}
	earlier := bill{part("sonnet", 100, 0.1)}
	for _, c := range []struct {
		name         string
		totals, told bill
		usd          float64
		sure         bool
	}{
		{"of the turn alone", bill{part("sonnet", 150, 0.15)}, bill{part("sonnet", 150, 0.15)}, 0.15, true},
		{"of the session", bill{part("sonnet", 150, 0.15)}, bill{part("sonnet", 50, 0.05)}, 0.05, true},
		{"fewer than before", bill{part("sonnet", 70, 0.07)}, bill{part("sonnet", 70, 0.07)}, 0.07, true},
		{"of the turn alone, with a sub-agent that was not shown", bill{part("sonnet", 150, 0.15), part("haiku", 110, 0.11)}, bill{part("sonnet", 150, 0.15)}, 0.26, true},
		{"neither", bill{part("sonnet", 150, 0.15)}, bill{part("sonnet", 60, 0.06)}, 0.05, false},
	} {
		var known past
		known.set("S", earlier)
		since, sure := known.resumed("S", c.totals, c.told)
		if math.Abs(since.usd()-c.usd) > 1e-9 || sure != c.sure {
			t.Errorf("%s: %.2f, sure %t", c.name, since.usd(), sure)
		}
	}
}
