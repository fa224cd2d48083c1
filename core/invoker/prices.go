package invoker

import "strings"

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
