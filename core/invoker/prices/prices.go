// Package prices says what API calls cost, with which caps are enforced before the CLI reports
// a cost. A cost that the CLI reports wins.
//
// The prices are data: the file prices.json, which is part of the program, and over it a file of
// the operator's. Both say from which day on a price holds, and where it was read.
package prices

import (
	_ "embed"
	"strings"
	"sync"
	"time"
)

// Price is in US dollars for a million tokens.
type Price struct {
	Input, Output            float64
	CacheWrite, CacheWrite1h float64 // of what is cached for five minutes, and for an hour
	CacheRead                float64
	// Long is the price of calls whose prompt has more than LongAbove tokens; nil: the same.
	Long      *Price
	LongAbove int64
}

// Dated is a price with the day (UTC) from which on it holds.
type Dated struct {
	Price

	From   time.Time
	Source string // where it was read
}

// Entry is what calls of some models cost: of those whose names contain Model.
type Entry struct {
	Model  string
	Prices []Dated // by their days, the earliest first; at least one
	Own    bool    // at least one is the operator's
}

// at returns the price that holds at an instant, and whether one does yet. Before the first day
// of an entry that is its first price.
func (e Entry) at(instant time.Time) (price Dated, holds bool) {
	for _, one := range e.Prices {
		if one.From.After(instant) {
			break
		}
		price, holds = one, true
	}
	if !holds {
		price = e.Prices[0]
	}
	return price, holds
}

// Table has the prices of all known models. It does not change.
type Table struct {
	// Checked is the day on which somebody compared the newer of the two files with its sources.
	Checked time.Time
	Entries []Entry
}

//go:embed prices.json
var shipped []byte

// Shipped returns the table that is part of the program.
var Shipped = sync.OnceValue(func() *Table {
	table, err := Parse(shipped)
	if err != nil {
		panic("prices.json of the program: " + err.Error()) // a test reads it
	}
	return table
})

// Of returns the price of a model's calls at an instant, and the entry that it is of. The entry
// with the longest part of the name counts (clouds add to the name at both ends), of two as long
// the operator's; one none of whose prices holds yet only when there is no other.
func (t *Table) Of(model string, instant time.Time) (price Dated, entry Entry, known bool) {
	held := false
	for _, one := range t.Entries {
		if !strings.Contains(model, one.Model) {
			continue
		}
		candidate, holds := one.at(instant)
		longer := len(one.Model) > len(entry.Model) || len(one.Model) == len(entry.Model) && one.Own && !entry.Own
		if !known || holds && !held || holds == held && longer {
			price, entry, known, held = candidate, one, true, holds
		}
	}
	return price, entry, known
}

// Dearest returns the highest of the known prices that hold at an instant: of a model that is not
// known, nothing lower may be assumed.
func (t *Table) Dearest(instant time.Time) (dearest Dated, entry Entry) {
	held := false
	for _, one := range t.Entries {
		candidate, holds := one.at(instant)
		if entry.Model == "" || holds && !held || holds == held && candidate.dearer(dearest.Price) {
			dearest, entry, held = candidate, one, holds
		}
	}
	return dearest, entry
}

func (p Price) dearer(than Price) bool {
	return p.Output > than.Output || p.Output == than.Output && p.Input > than.Input
}

// over returns the table with an operator's over it. From the first day on that the operator has a
// price of a model, only the operator's prices of it hold.
func (t *Table) over(own *Table) *Table {
	merged := &Table{Checked: t.Checked}
	if own.Checked.After(merged.Checked) {
		merged.Checked = own.Checked
	}
	theirs := make(map[string]Entry, len(own.Entries))
	for _, entry := range own.Entries {
		theirs[entry.Model] = entry
	}
	for _, entry := range t.Entries {
		if mine, ok := theirs[entry.Model]; ok {
			entry = Entry{Model: entry.Model, Own: true, Prices: append(before(entry.Prices, mine.Prices[0].From), mine.Prices...)}
			delete(theirs, entry.Model)
		}
		merged.Entries = append(merged.Entries, entry)
	}
	for _, entry := range own.Entries {
		if _, left := theirs[entry.Model]; left {
			entry.Own = true
			merged.Entries = append(merged.Entries, entry)
		}
	}
	return merged
}

// before returns the prices that hold from a day before this one on, in memory of their own.
func before(prices []Dated, day time.Time) (earlier []Dated) {
	for _, one := range prices {
		if one.From.Before(day) {
			earlier = append(earlier, one)
		}
	}
	return earlier
}
