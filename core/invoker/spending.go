package invoker

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The prices of API calls, with which a cap can be enforced before the CLI reports a
// cost. A cost that the CLI reports wins. The table is the CLI's own (2.1.197, read on
// 2026-11-22), which follows https://docs.claude.com/en/docs/about-claude/pricing; a
// test compares it with the CLI's cost of the same calls.

// price is in US dollars for a million tokens.
type price struct {
	input, output            float64
	cacheWrite, cacheWrite1h float64 // of what is cached for five minutes, and for an hour
	cacheRead                float64
}

// priced returns a price from those of input and output. The others are fixed parts of
// the input's: 1.25 for caching for five minutes, 2 for an hour, 0.1 for reading the
// cache.
func priced(input, output float64) price {
	return price{input, output, 1.25 * input, 2 * input, 0.1 * input}
}

// prices are looked up by a part of the model's name; the first that the name contains
// counts. Single versions come first, then the other versions of each family. (Clouds add
// to the name at both ends.)
var prices = []struct {
	part string
	price
}{
	{"opus-4-1", priced(15, 75)},
	{"opus-4-0", priced(15, 75)},
	{"opus-4-2025", priced(15, 75)},
	{"opus-4@2025", priced(15, 75)},
	{"3-5-haiku", priced(0.8, 4)},
	{"mythos", priced(10, 50)},
	{"fable", priced(10, 50)},
	{"opus", priced(5, 25)},
	{"sonnet", priced(3, 15)},
	{"haiku", priced(1, 5)},
}

// priceOf returns the price of a model. A model of an unknown family is priced as an
// Opus, as the CLI does.
func priceOf(model string) price {
	for _, known := range prices {
		if strings.Contains(model, known.part) {
			return known.price
		}
	}
	return priceOf("opus")
}

// usd returns what the tokens cost.
func (p price) usd(u usage) float64 {
	hour := min(u.CacheCreation.OneHour, u.CacheWrite)
	return (float64(u.Input)*p.input + float64(u.Output)*p.output + float64(u.CacheRead)*p.cacheRead +
		float64(hour)*p.cacheWrite1h + float64(u.CacheWrite-hour)*p.cacheWrite) / 1e6
}

// bill is the sum of API calls.
type bill struct {
	tokens pluginsdk.Usage
	usd    float64
}

func (b *bill) add(other bill) {
	addUsage(&b.tokens, other.tokens)
	b.usd += other.usd
}

// calls are the API calls of a turn that no result line has reported yet. Verified with
// 2.1.197: the CLI counts a call when the stream reports its output. So results leave out
// a call that was cut off before that (by an interrupt, or because the connection broke),
// although its input is paid for.
type calls struct {
	told bill // of calls that the next result will report
	cut  bill // of calls that no result will report
	open struct {
		model string
		usage usage
		ended bool // the stream has reported its output
	}
	// last says that the call streamed last is, as far as can be known, the turn's last.
	last bool
	seen map[string]bool // ids of the sub-agents' messages that are counted
}

// streamed takes an event of the stream about a call: its input at the start, and later
// its output so far. The stream does not report the calls of sub-agents.
func (c *calls) streamed(stream streamLine) {
	event := stream.Event
	switch event.Type {
	case "message_start":
		c.close()
		c.open.model, c.open.usage = event.Message.Model, event.Message.Usage
		c.last = false
	case "message_delta":
		c.open.usage.grow(event.Usage)
		c.open.ended = true
		switch event.Delta.StopReason {
		case "end_turn", "stop_sequence", "refusal":
			c.last = true
		}
	}
}

// subAgent counts a message of a sub-agent. Not all are shown, and their usage has the
// call's input and hardly any of its output.
func (c *calls) subAgent(message messageLine) {
	id := message.Message.ID
	if id == "" || c.seen[id] {
		return
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[id] = true
	c.told.add(billOf(message.Message.Model, message.Message.Usage))
}

// close ends the open call: the stream reports nothing more of it.
func (c *calls) close() {
	b := billOf(c.open.model, c.open.usage)
	if c.open.ended {
		c.told.add(b)
	} else {
		c.cut.add(b)
	}
	c.open.model, c.open.usage, c.open.ended = "", usage{}, false
}

// total returns the sum of all calls, the open one included.
func (c *calls) total() bill {
	total := billOf(c.open.model, c.open.usage)
	total.add(c.told)
	total.add(c.cut)
	return total
}

func billOf(model string, u usage) bill { return bill{tokens: u.tokens(), usd: priceOf(model).usd(u)} }

// grow takes a later report on the same call. A field that the report leaves out stays.
func (u *usage) grow(later usage) {
	u.Input = max(u.Input, later.Input)
	u.Output = max(u.Output, later.Output)
	u.CacheRead = max(u.CacheRead, later.CacheRead)
	u.CacheWrite = max(u.CacheWrite, later.CacheWrite)
	u.CacheCreation.OneHour = max(u.CacheCreation.OneHour, later.CacheCreation.OneHour)
}

func (u usage) tokens() pluginsdk.Usage {
	return pluginsdk.Usage{
		InputTokens: u.Input, OutputTokens: u.Output, CacheReadTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite,
	}
}

// addUsage adds b to a.
func addUsage(a *pluginsdk.Usage, b pluginsdk.Usage) {
	a.InputTokens += b.InputTokens
	a.OutputTokens += b.OutputTokens
	a.CacheReadTokens += b.CacheReadTokens
	a.CacheWriteTokens += b.CacheWriteTokens
}

// The cost of a turn. Every result line counts, also that of an error. API calls that no
// result line reports are counted from the stream, at the prices above.

// count adds a result line to the turn's cost, texts and output.
func (t *turn) count(line resultLine) {
	s := t.session
	t.calls.close()
	t.spent.Turns += line.Turns
	t.spent.CostUSD += cmp.Or(max(0, line.TotalCostUSD-s.spentUSD), t.calls.told.usd) + t.calls.cut.usd
	addUsage(&t.spent.Usage, t.usage(line))
	addUsage(&t.spent.Usage, t.calls.cut.tokens)
	t.calls.told, t.calls.cut = bill{}, bill{}
	s.spentUSD = line.TotalCostUSD
	s.turns++
	if line.SessionID != "" && !line.unknownSession() {
		s.id = line.SessionID
	}
	if line.IsError {
		return
	}
	if line.Result != "" {
		t.texts = append(t.texts, line.Result)
	}
	if output := line.StructuredOutput; len(output) > 0 && string(output) != "null" {
		t.output = output
	}
}

// usage returns the tokens of a result. The result's own count leaves out sub-agents, and
// after some errors tokens that were spent. The totals by model have them; they grow over
// the process's life.
func (t *turn) usage(line resultLine) pluginsdk.Usage {
	var total pluginsdk.Usage
	for _, m := range line.ModelUsage {
		addUsage(&total, pluginsdk.Usage{
			InputTokens: m.Input, OutputTokens: m.Output, CacheReadTokens: m.CacheRead, CacheWriteTokens: m.CacheWrite,
		})
	}
	before := t.session.tokens
	t.session.tokens = total
	own := line.Usage.tokens()
	grown := pluginsdk.Usage{
		InputTokens:      max(own.InputTokens, total.InputTokens-before.InputTokens),
		OutputTokens:     max(own.OutputTokens, total.OutputTokens-before.OutputTokens),
		CacheReadTokens:  max(own.CacheReadTokens, total.CacheReadTokens-before.CacheReadTokens),
		CacheWriteTokens: max(own.CacheWriteTokens, total.CacheWriteTokens-before.CacheWriteTokens),
	}
	return cmp.Or(grown, t.calls.told.tokens)
}

// costUSD returns what the turn has cost so far.
func (t *turn) costUSD() float64 { return t.spent.CostUSD + t.calls.total().usd }

// overspent reports whether the turn has to be interrupted at its cap. It does not when
// the turn is about to end: that would save nothing.
func (t *turn) overspent() bool {
	if t.capUSD == 0 || t.interrupt != "" || t.result != nil || t.costUSD() < t.capUSD {
		return false
	}
	return !t.calls.last && !t.givesOutput()
}

// givesOutput reports whether the CLI is checking a structured output. If it fits, the
// turn ends with it.
func (t *turn) givesOutput() bool {
	for _, tool := range t.tools {
		if tool == outputTool {
			return true
		}
	}
	return false
}

// budgetFailure is the failure of a turn that has reached its cap.
func (t *turn) budgetFailure() *pluginsdk.Failure { return overBudget(t.capUSD, t.costUSD()) }

func overBudget(capUSD, costUSD float64) *pluginsdk.Failure {
	return &pluginsdk.Failure{
		Kind:    pluginsdk.FailureBudget,
		Message: fmt.Sprintf("the turn was ended at its cap of %s: it has come to %s", dollars(capUSD), dollars(costUSD)),
	}
}

// dollars formats an amount with two digits, or, for less than a tenth of a dollar, with
// up to six.
func dollars(usd float64) string {
	digits := 2
	for scale := 0.1; digits < 6 && usd < scale; scale /= 10 {
		digits++
	}
	return "$" + strconv.FormatFloat(usd, 'f', digits, 64)
}
