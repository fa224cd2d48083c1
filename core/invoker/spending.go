package invoker

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/seed-706843ae/harness/pluginsdk"
)

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
