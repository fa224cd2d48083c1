package invoker

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What API calls cost, so that a cap can be held before the CLI reports a cost.
// What it reports wins. The table is the CLI's own (2.1.197, read on 2026-11-22),
// which follows https://docs.claude.com/en/docs/about-claude/pricing; a test lets
// the CLI price the same calls.

// price is in US dollars for a million tokens.
type price struct {
	input, output            float64
	cacheWrite, cacheWrite1h float64 // kept for five minutes, and for an hour
	cacheRead                float64
}

// priced returns the price of which the others are fixed parts: of the input's,
// 1.25 for what is cached for five minutes, 2 for an hour, 0.1 for what is read.
func priced(input, output float64) price {
	return price{input, output, 1.25 * input, 2 * input, 0.1 * input}
}

// prices are by a part of the model's name, the first that is in it: single
// versions, and then what a family costs otherwise. (Clouds put their own before
// and behind the name.)
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

// priceOf returns the price of a model. One of no known family is taken for an
// Opus, as the CLI takes it.
func priceOf(model string) price {
	for _, known := range prices {
		if strings.Contains(model, known.part) {
			return known.price
		}
	}
	return priceOf("opus")
}

// usd is what tokens cost at the price.
func (p price) usd(u usage) float64 {
	hour := min(u.CacheCreation.OneHour, u.CacheWrite)
	return (float64(u.Input)*p.input + float64(u.Output)*p.output + float64(u.CacheRead)*p.cacheRead +
		float64(hour)*p.cacheWrite1h + float64(u.CacheWrite-hour)*p.cacheWrite) / 1e6
}

// bill is what API calls come to.
type bill struct {
	tokens pluginsdk.Usage
	usd    float64
}

func (b *bill) add(other bill) {
	addUsage(&b.tokens, other.tokens)
	b.usd += other.usd
}

// calls are a turn's API calls that no result has told of yet. Verified with
// 2.1.197: the CLI counts a call when the stream says what came out of it, so that
// its results leave out one that was cut off before (by an interrupt, or because
// the connection broke), whose input is paid for all the same.
type calls struct {
	told bill // that the next result tells of
	cut  bill // that none will
	open struct {
		model string
		usage usage
		ended bool // it has said what came out
	}
	// last says that the one streamed last is the turn's last, as far as one can know.
	last bool
	seen map[string]bool // ids of sub-agents' messages
}

// streamed takes what the stream says of a call: what goes in at its start, what
// came out, so far, later on. It is not said of sub-agents' calls.
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

// subAgent takes a message of a sub-agent, as far as those are shown: what went
// into the call, and hardly anything of what came out.
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

// close says that nothing more comes of the open call.
func (c *calls) close() {
	b := billOf(c.open.model, c.open.usage)
	if c.open.ended {
		c.told.add(b)
	} else {
		c.cut.add(b)
	}
	c.open.model, c.open.usage, c.open.ended = "", usage{}, false
}

// total is what all of them come to.
func (c *calls) total() bill {
	total := billOf(c.open.model, c.open.usage)
	total.add(c.told)
	total.add(c.cut)
	return total
}

func billOf(model string, u usage) bill { return bill{tokens: u.tokens(), usd: priceOf(model).usd(u)} }

// grow takes a later word on the same call. What it leaves out stands.
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

// What a turn costs. Every result counts, also that of an error; for API calls
// that no result tells of there is what the stream said, at our own prices.

// count adds a result line to what the turn has come to.
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

// usage is a result's own, which leaves out sub-agents, and on some errors tokens
// that were spent; the totals by model, which grow over the process's life, have
// them.
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

// costUSD is what the turn has come to so far.
func (t *turn) costUSD() float64 { return t.spent.CostUSD + t.calls.total().usd }

// overspent reports whether the turn is to be interrupted at its cap. Nothing is
// saved any more when it is about to end by itself.
func (t *turn) overspent() bool {
	if t.capUSD == 0 || t.interrupt != "" || t.result != nil || t.costUSD() < t.capUSD {
		return false
	}
	return !t.calls.last && !t.givesOutput()
}

// givesOutput reports whether the CLI is looking at a structured output. If it is
// good, the turn ends with it.
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

// dollars writes an amount with cents, and with as many more digits as it needs to
// say anything.
func dollars(usd float64) string {
	digits := 2
	for scale := 0.1; digits < 6 && usd < scale; scale /= 10 {
		digits++
	}
	return "$" + strconv.FormatFloat(usd, 'f', digits, 64)
}
