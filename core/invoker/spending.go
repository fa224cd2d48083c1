package invoker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/invoker/cli"
	"github.com/seed-706843ae/harness/core/invoker/prices"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// pricing is what API calls of a turn cost, with which a cap can be enforced before the CLI reports
// a cost. A cost that the CLI reports wins. The prices are those in force when the turn began. The
// zero pricing has the shipped ones of now.
type pricing struct {
	table *prices.Table
	at    time.Time
}

// of returns the price of a model. A model of an unknown family is priced as the dearest
// known one: a cap must not be held by too low a price. (The CLI takes the price of an Opus.)
func (p pricing) of(model string) (price prices.Price, known bool) {
	if p.table == nil {
		p = pricing{prices.Shipped(), time.Now()}
	}
	if found, _, known := p.table.Of(model, p.at); known {
		return found.Price, true
	}
	dearest, _ := p.table.Dearest(p.at)
	return dearest.Price, false
}

// unpriced are the models without a known price of which the operator has been told.
type unpriced struct {
	mu   sync.Mutex
	told map[string]bool
}

// first reports whether the model is told for the first time.
func (u *unpriced) first(model string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.told[model] {
		return false
	}
	if u.told == nil {
		u.told = make(map[string]bool)
	}
	u.told[model] = true
	return true
}

// checkPrice says once of each model without a known price what its turns are priced as. The
// cost of such a turn may be wrong.
func (t *turn) checkPrice(model string, u usage) {
	price, known := t.calls.pricing.of(model)
	if known || u == (usage{}) {
		return
	}
	t.cost.unsure = true
	if t.session.unpriced.first(model) {
		t.session.log.Warn("THE PRICE OF THIS MODEL IS NOT KNOWN: caps and budgets price it as the dearest known model; give its price in prices.json in the data directory",
			"model", model, "inputPerMillionUSD", price.Input, "outputPerMillionUSD", price.Output)
		if model != "" {
			t.unpriced = append(t.unpriced, model)
		}
	}
}

// tellUnpriced tells people of the models without a price that the turn was the first to use.
func (t *turn) tellUnpriced() {
	if t.config.OnUnpriced == nil {
		return
	}
	for _, model := range t.unpriced {
		t.config.OnUnpriced(model)
	}
}

// usdOf returns what the tokens of a call cost.
func usdOf(p prices.Price, u usage) float64 {
	if p.Long != nil && u.Input+u.CacheRead+u.CacheWrite > p.LongAbove {
		return usdOf(*p.Long, u)
	}
	hour := min(u.CacheCreation.OneHour, u.CacheWrite)
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead +
		float64(hour)*p.CacheWrite1h + float64(u.CacheWrite-hour)*p.CacheWrite) / 1e6
}

// bill is what API calls have used and cost, by model. The first entry is that of the model
// whose call came first.
type bill []pluginsdk.ModelUsage

// add adds one model's part.
func (b *bill) add(part pluginsdk.ModelUsage) {
	if part.Usage == (pluginsdk.Usage{}) && part.CostUSD == 0 {
		return
	}
	for i := range *b {
		if one := &(*b)[i]; one.Model == part.Model {
			addUsage(&one.Usage, part.Usage)
			one.CostUSD += part.CostUSD
			return
		}
	}
	*b = append(*b, part)
}

func (b *bill) addAll(other bill) {
	for _, part := range other {
		b.add(part)
	}
}

func (b bill) usd() (sum float64) {
	for _, part := range b {
		sum += part.CostUSD
	}
	return sum
}

func (b bill) tokens() (sum pluginsdk.Usage) {
	for _, part := range b {
		addUsage(&sum, part.Usage)
	}
	return sum
}

// missing returns how many of the prompts' tokens are in one bill and not in the other, of
// the models that told names. The stream tells them exactly for the turn's own calls, and not
// always for those of sub-agents.
func (b bill) missing(told bill) (tokens int64) {
	for _, part := range told {
		of := prompt(part)
		for _, other := range b {
			if other.Model == part.Model {
				of -= prompt(other)
			}
		}
		tokens += max(of, -of)
	}
	return tokens
}

// prompt returns how many tokens were sent to a model.
func prompt(of pluginsdk.ModelUsage) int64 {
	return of.Usage.InputTokens + of.Usage.CacheReadTokens + of.Usage.CacheWriteTokens
}

// goesOn reports whether the bill may be a later total of the one that had come to earlier.
func (b bill) goesOn(earlier bill) bool {
	return !slices.ContainsFunc(earlier, func(before pluginsdk.ModelUsage) bool {
		return !slices.ContainsFunc(b, func(now pluginsdk.ModelUsage) bool {
			return now.Model == before.Model && now.CostUSD >= before.CostUSD-rounding && lessUsage(before.Usage, now.Usage) == (pluginsdk.Usage{})
		})
	})
}

// less returns the bill without what an earlier one has of the same models.
func (b bill) less(earlier bill) bill {
	var rest bill
	for _, part := range b {
		for _, before := range earlier {
			if before.Model == part.Model {
				part.CostUSD = max(0, part.CostUSD-before.CostUSD)
				part.Usage = lessUsage(part.Usage, before.Usage)
			}
		}
		rest.add(part)
	}
	return rest
}

// calls are the API calls of a turn that no result line has reported yet. Verified with
// 2.1.197: the CLI counts a call when the stream reports its output. So results leave out
// a call that was cut off before that (by an interrupt, or because the connection broke),
// although its input is paid for.
type calls struct {
	pricing pricing

	told bill // of calls that the next result will report
	cut  bill // of calls that no result will report
	open struct {
		model string
		usage usage
		ended bool // the stream has reported its output
	}
	// last says that the call streamed last is, as far as can be known, the turn's last.
	last bool
	// short says that a call was cut off in the middle of its output, whose rest was paid for
	// and is not told.
	short bool
	seen  map[string]bool // ids of the sub-agents' messages that are counted
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
		case "": // 2.1.330 tells so of a call that was cut off, and counts it as far as it came
			c.short = true
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
	c.told.add(c.pricing.part(message.Message.Model, message.Message.Usage))
}

// close ends the open call: the stream reports nothing more of it.
func (c *calls) close() {
	part := c.pricing.part(c.open.model, c.open.usage)
	if c.open.ended {
		c.told.add(part)
	} else {
		c.cut.add(part)
	}
	c.open.model, c.open.usage, c.open.ended = "", usage{}, false
}

// total returns the sum of all calls, the open one included.
func (c *calls) total() bill {
	var total bill
	total.add(c.pricing.part(c.open.model, c.open.usage))
	total.addAll(c.told)
	total.addAll(c.cut)
	return total
}

// part is what calls of a model have used, with its price.
func (p pricing) part(model string, u usage) pluginsdk.ModelUsage {
	price, _ := p.of(model)
	return pluginsdk.ModelUsage{Model: model, Usage: u.tokens(), CostUSD: usdOf(price, u)}
}

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

// lessUsage returns a without b, no count below 0.
func lessUsage(a, b pluginsdk.Usage) pluginsdk.Usage {
	return pluginsdk.Usage{
		InputTokens: max(0, a.InputTokens-b.InputTokens), OutputTokens: max(0, a.OutputTokens-b.OutputTokens),
		CacheReadTokens: max(0, a.CacheReadTokens-b.CacheReadTokens), CacheWriteTokens: max(0, a.CacheWriteTokens-b.CacheWriteTokens),
	}
}

// The cost of a turn. Every result line counts, also that of an error. API calls that no
// result line reports are counted from the stream, at list prices.
//
// A result line has the totals of the CLI, which 2.1.197 counts from the start of the process,
// and 2.1.330 from the beginning of the session, also in the process that resumes it (without
// the calls in whose middle an earlier process was killed). 2.1.330 tells beside them what has
// come since its last result line.

// count adds a result line to the turn's cost, texts and output.
func (t *turn) count(line resultLine) {
	s := t.session
	t.calls.close()
	t.cost.Turns += line.Turns
	since, sure := t.since(line)
	t.cost.unsure = t.cost.unsure || !sure || t.calls.short || len(t.calls.cut) > 0
	t.cost.bill.addAll(since)
	t.cost.bill.addAll(t.calls.cut)
	t.cost.bill.addAll(s.takeUnbilled())
	t.calls.told, t.calls.cut = nil, nil
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

// since returns what has been used and paid since the result line before. It is not sure
// where the CLI does not tell, and the totals of a resumed session may have older turns.
func (t *turn) since(line resultLine) (since bill, sure bool) {
	s, told := t.session, t.calls.told
	totals := line.totals()
	before := s.totals
	s.totals = totals
	switch {
	case line.SinceLast != nil:
		since, sure = line.SinceLast.bill(), true
	case s.turns > 0 || !s.resumed:
		since, sure = totals.less(before), true
	case s.countsAnew():
		since, sure = totals, true
	default: // the totals begin with the process, or go on from those of the session
		since, sure = s.past.resumed(s.id, totals, told)
		sure = sure && len(t.calls.seen) == 0 // the stream tells little of what sub-agents use
	}
	s.past.set(s.id, totals)
	if len(line.ModelUsage) == 0 && len(line.SinceLast) == 0 { // nothing by model: the line's own count
		since = bill{{Model: t.model, Usage: line.Usage.tokens(), CostUSD: since.usd()}}
	}
	if since.usd() == 0 && since.tokens() == (pluginsdk.Usage{}) {
		return told, sure // after some errors the CLI leaves out what was spent
	}
	return since, sure
}

// countsAnew reports whether the totals of the CLI begin with each process, also in a session
// that it resumes. Verified with 2.1.197. Nothing but the version tells.
func (s *session) countsAnew() bool {
	oldest, newest := Verified()
	return cli.Newer(newest, s.version) && !cli.Newer(s.version, oldest)
}

// mayCall reports whether a call of the API may be under way. It is while the model answers,
// and between that and the next call's first line; not while the agent waits for a tool that is
// no sub-agent.
func (t *turn) mayCall() bool {
	if !t.begun || t.calls.last || t.result != nil {
		return false
	}
	return len(t.tools) == 0 || slices.ContainsFunc(slices.Collect(maps.Values(t.tools)), startsSubAgent)
}

// totals returns what the CLI has counted so far.
func (r resultLine) totals() bill {
	totals := r.ModelUsage.bill()
	if rest := r.TotalCostUSD - totals.usd(); rest > rounding {
		totals.add(pluginsdk.ModelUsage{CostUSD: rest}) // of no model that it names
	}
	return totals
}

// rounding is what sums of the CLI and ours may differ by, in US dollars.
const rounding = 1e-7

// pastMax is how many sessions' totals are remembered.
const pastMax = 1000

// past has the totals of sessions as their last result lines had them, in whichever process
// of this daemon. It is safe for concurrent use.
type past struct {
	mu     sync.Mutex
	totals map[string]bill
}

func (p *past) of(session string) (totals bill, ok bool) {
	if p == nil {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	totals, ok = p.totals[session]
	return totals, ok
}

// resumed returns what of the first totals of a process that has resumed the session is new,
// by what the stream has told: all of it, if the CLI counts from the start of the process, else
// what they have more than the session's earlier ones. It is not sure if the stream fits neither.
func (p *past) resumed(session string, totals, told bill) (since bill, sure bool) {
	since = totals
	if earlier, ok := p.of(session); ok && totals.goesOn(earlier) {
		more := totals.less(earlier)
		if more.missing(told) < since.missing(told) {
			since = more
		}
		return since, since.missing(told) == 0
	}
	// The stream hides most of what sub-agents use, so this only guesses.
	if sure = since.usd() <= 2*told.usd(); !sure {
		since = told
	}
	return since, sure
}

func (p *past) set(session string, totals bill) {
	if p == nil || session == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.totals == nil || len(p.totals) >= pastMax {
		p.totals = make(map[string]bill)
	}
	p.totals[session] = totals
}

// paid is what a turn has come to.
type paid struct {
	bill   bill
	Turns  int
	unsure bool // the bill may be wrong
}

// result returns the result of a turn with this cost, and that of the calls that no result
// line has reported.
func (p paid) result(open bill) pluginsdk.InvokeResult {
	all := slices.Clone(p.bill)
	all.addAll(open)
	result := pluginsdk.InvokeResult{
		Usage: all.tokens(), CostUSD: all.usd(), Turns: p.Turns, CostUnsure: p.unsure || len(open) > 0,
	}
	if len(all) > 1 {
		result.Models = all
	}
	return result
}

// costUSD returns what the turn has cost so far.
func (t *turn) costUSD() float64 { return t.cost.bill.usd() + t.calls.total().usd() }

// overspent reports whether the turn has to be interrupted at its cap. It does not when
// the turn is about to end: that would save nothing.
func (t *turn) overspent() bool {
	if t.capUSD == 0 || t.interrupt != "" || t.result != nil || t.costUSD() < t.capUSD {
		return false
	}
	return !t.calls.last && !t.givesOutput()
}

// reachesCap reports whether the turn has to be interrupted at its cap. A turn that can have
// more asks for it first, and goes on meanwhile.
func (t *turn) reachesCap(ctx context.Context) bool {
	switch {
	case !t.overspent():
		return false
	case t.topUp == nil:
		return true
	case t.topping == nil:
		topping, topUp := make(chan float64, 1), t.topUp
		t.topping = topping
		go func() { topping <- topUp(ctx) }()
	}
	return false
}

// toppedUp takes the cap from now on. One that is not higher was the last.
func (t *turn) toppedUp(capUSD float64) {
	t.topping = nil
	if capUSD <= t.capUSD {
		t.topUp = nil
		return
	}
	t.capUSD = capUSD
}

// awaitTopUp waits until nobody is asked for money any more.
func (t *turn) awaitTopUp() {
	if t.topping != nil {
		<-t.topping
		t.topping = nil
	}
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
