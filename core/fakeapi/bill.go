package fakeapi

import "strings"

// What the calls cost, counted here and by nobody else: tests compare it with what the CLI
// and Harness say. The prices are those of
// https://platform.claude.com/docs/en/about-claude/pricing (read on 2026-11-23), in US
// dollars for a million tokens. Nothing here is shared with core/invoker.

// rate is the price of a model.
type rate struct{ in, out, read, write, writeHour float64 }

// rates are looked up by a part of the model's name; the first that the name contains
// counts.
var rates = []struct {
	part string
	rate rate
	// long is the price of calls whose prompt has more than above tokens.
	above int64
	long  rate
}{
	{part: "fable-5-1", rate: rate{10, 50, 0.25, 12.5, 20}},
	{part: "mythos-5-1", rate: rate{10, 50, 0.25, 12.5, 20}},
	{part: "fable", rate: rate{10, 50, 1, 12.5, 20}},
	{part: "mythos", rate: rate{10, 50, 1, 12.5, 20}},
	{part: "opus-5-5", rate: rate{4, 20, 0.2, 5, 8}},
	{part: "opus-4-1", rate: rate{15, 75, 1.5, 18.75, 30}},
	{part: "opus-4-2025", rate: rate{15, 75, 1.5, 18.75, 30}},
	{part: "opus", rate: rate{5, 25, 0.5, 6.25, 10}},
	{part: "sonnet-5-5", rate: rate{2, 10, 0.1, 2.5, 4}},
	{part: "sonnet-5", rate: rate{2, 10, 0.2, 2.5, 4}},
	{part: "sonnet", rate: rate{3, 15, 0.3, 3.75, 6}},
	{part: "haiku-5-5", rate: rate{0.1, 0.5, 0.01, 0.125, 0.2}, above: 100_000, long: rate{0.5, 2.5, 0.05, 0.625, 1}},
	{part: "3-5-haiku", rate: rate{0.8, 4, 0.08, 1, 1.6}},
	{part: "haiku", rate: rate{1, 5, 0.1, 1.25, 2}},
}

// rateOf returns the price of a call. A model of an unknown family costs what an Opus does.
func rateOf(model string, u Usage) rate {
	for _, known := range rates {
		if !strings.Contains(model, known.part) {
			continue
		}
		if known.above > 0 && u.InputTokens+u.CacheReadTokens+u.CacheWriteTokens > known.above {
			return known.long
		}
		return known.rate
	}
	return rateOf("opus", u)
}

func (r rate) usd(u Usage) float64 {
	hour := min(u.CacheWriteHour, u.CacheWriteTokens)
	return (float64(u.InputTokens)*r.in + float64(u.OutputTokens)*r.out + float64(u.CacheReadTokens)*r.read +
		float64(u.CacheWriteTokens-hour)*r.write + float64(hour)*r.writeHour) / 1e6
}

// Call is what one call of POST /v1/messages is billed. Calls that are refused, or given
// up before the answer began, cost nothing and are not listed.
type Call struct {
	Request Request // of a call older than those that Keep keeps: its model alone
	Usage   Usage
	USD     float64
	// Cut says that the caller has gone in mid-stream: Usage is the whole input, and the
	// output that was streamed by then, a token for each piece.
	Cut bool
}

// Bill is the sum of calls.
type Bill struct {
	Calls  int
	Cut    int // of them
	Models map[string]Usage
	USD    float64
}

// Usage returns the tokens of all models together.
func (b Bill) Usage() Usage {
	var total Usage
	for _, u := range b.Models {
		total = total.plus(u)
	}
	return total
}

// Since returns the bill without what an earlier one has.
func (b Bill) Since(earlier Bill) Bill {
	more := Bill{Calls: b.Calls - earlier.Calls, Cut: b.Cut - earlier.Cut, USD: b.USD - earlier.USD, Models: map[string]Usage{}}
	for model, u := range b.Models {
		if u = u.minus(earlier.Models[model]); u != (Usage{}) {
			more.Models[model] = u
		}
	}
	return more
}

// Billed returns what the calls have cost so far that every filter holds for. A call counts
// before its caller has the end of the answer.
func (s *Server) Billed(filters ...func(Request) bool) Bill {
	bill := Bill{Models: map[string]Usage{}}
	for _, call := range s.Calls(filters...) {
		bill.Calls++
		if call.Cut {
			bill.Cut++
		}
		bill.USD += call.USD
		bill.Models[call.Request.Model] = bill.Models[call.Request.Model].plus(call.Usage)
	}
	return bill
}

// Calls returns the calls that were billed, in order: those that every filter holds for.
func (s *Server) Calls(filters ...func(Request) bool) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Call
	for _, call := range s.calls {
		if all(filters, call.Request) {
			found = append(found, *call)
		}
	}
	return found
}

// charge returns what bills a call: with its input and so much output as has been streamed.
// What is billed later replaces what was before.
func (s *Server) charge(r Request) (bill func(u Usage, cut bool)) {
	var call *Call
	return func(u Usage, cut bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if call == nil {
			call = &Call{Request: r}
			s.calls = append(s.calls, call)
			if old := len(s.calls) - s.keep - 1; s.keep > 0 && old >= 0 {
				s.calls[old].Request = Request{Model: s.calls[old].Request.Model}
			}
		}
		call.Usage, call.Cut, call.USD = u, cut, rateOf(r.Model, u).usd(u)
	}
}

func (u Usage) plus(more Usage) Usage {
	return Usage{
		InputTokens: u.InputTokens + more.InputTokens, OutputTokens: u.OutputTokens + more.OutputTokens,
		CacheReadTokens: u.CacheReadTokens + more.CacheReadTokens, CacheWriteTokens: u.CacheWriteTokens + more.CacheWriteTokens,
		CacheWriteHour: u.CacheWriteHour + more.CacheWriteHour,
	}
}

func (u Usage) minus(less Usage) Usage {
	return u.plus(Usage{
		-less.InputTokens, -less.OutputTokens, -less.CacheReadTokens, -less.CacheWriteTokens, -less.CacheWriteHour,
	})
}
