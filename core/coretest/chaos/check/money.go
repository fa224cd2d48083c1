package check

import (
	"fmt"
	"math"
)

// cent is what sums of dollars may differ by, because they are added up in another order.
const cent = 1e-6

// leastAside is what is set aside for an attempt at least, in USD.
const leastAside = 0.05

// money finds sums of what turns have cost that are not what the turns say: as the API tells them, in the rows of
// the runs, and in the account of a budget that counts all turns.
func (j *judge) money() (violations []string) {
	for _, told := range j.Usages {
		violations = append(violations, j.miscounted(told)...)
	}
	ofRun := map[string]float64{}
	for _, cost := range j.Costs {
		ofRun[cost.RunID] += cost.USD
	}
	for _, run := range j.Runs {
		if sum := ofRun[run.ID]; math.Abs(run.CostUSD-sum) > cent {
			violations = append(violations, fmt.Sprintf("run %s (thread %s) has cost $%.6f, and its turns $%.6f", run.ID, j.thread(run.ThreadID), run.CostUSD, sum))
		}
	}
	return append(violations, j.spent()...)
}

// miscounted compares sums with the turns that they are of.
func (j *judge) miscounted(told Usage) (violations []string) {
	want, total := map[string]Sum{}, Sum{}
	for _, cost := range j.Costs {
		total = total.plus(1, cost.USD)
		for of, usd := range cost.by(told.By) {
			want[of] = want[of].plus(1, usd)
		}
	}
	wrong := func(of string, is, should Sum) {
		if is.Turns != should.Turns || math.Abs(is.USD-should.USD) > cent {
			violations = append(violations, fmt.Sprintf("usage by %q: %q has %d turns for $%.6f, and there are %d for $%.6f",
				told.By, of, is.Turns, is.USD, should.Turns, should.USD))
		}
	}
	wrong("total", told.Total, total)
	if told.By == "" {
		return violations
	}
	for of, sum := range ordered(told.Sums) {
		wrong(of, sum, want[of])
	}
	for of, sum := range ordered(want) {
		if _, there := told.Sums[of]; !there {
			wrong(of, Sum{}, sum)
		}
	}
	return violations
}

func (s Sum) plus(turns int, usd float64) Sum { return Sum{s.Turns + turns, s.USD + usd} }

// by is what the turn counts as: names with what each has had of it.
func (c Cost) by(what string) map[string]float64 {
	if what == "model" {
		return c.Models
	}
	return map[string]float64{c.Of[what]: c.USD}
}

// spent compares what was spent of a budget for all turns with what these have cost. Of an attempt that was killed
// nobody knows what it has cost: all that was set aside for it is spent. No more, and no less than was billed.
func (j *judge) spent() (violations []string) {
	recorded := map[string]int{}
	var cost, dearest float64
	for _, one := range j.Costs {
		recorded[one.RunID]++
		cost += one.USD
	}
	killed := 0
	for _, run := range j.Runs {
		killed += max(0, run.Attempt-recorded[run.ID])
		dearest = max(dearest, run.CostUSD)
	}
	for _, budget := range j.Budgets {
		limit := cost + float64(killed)*(max(leastAside, dearest)+dearest)
		unknown := (budget.SpentUSD - cost) / leastAside // attempts whose cost is not known
		switch {
		case budget.SpentUSD < cost-cent:
			violations = append(violations, fmt.Sprintf("of the budget %s $%.6f are spent, and the turns have cost $%.6f", budget.Name, budget.SpentUSD, cost))
		case budget.SpentUSD > limit+cent:
			violations = append(violations, fmt.Sprintf("of the budget %s $%.6f are spent, and the turns have cost $%.6f; %d attempts that were killed explain no more than $%.6f",
				budget.Name, budget.SpentUSD, cost, killed, limit-cost))
		case dearest < leastAside && math.Abs(unknown-math.Round(unknown))*leastAside > cent: // for each attempt the least is set aside
			violations = append(violations, fmt.Sprintf("of the budget %s $%.6f are spent, and the turns have cost $%.6f: the rest is no number of killed attempts, for each of which $%.2f were set aside",
				budget.Name, budget.SpentUSD, cost, leastAside))
		case budget.SpentUSD < j.BilledUSD-cent:
			violations = append(violations, fmt.Sprintf("of the budget %s $%.6f are spent, and $%.6f were billed", budget.Name, budget.SpentUSD, j.BilledUSD))
		}
		if math.Abs(budget.SetAsideUSD) > cent {
			violations = append(violations, fmt.Sprintf("of the budget %s $%.6f are set aside, although all is at rest", budget.Name, budget.SetAsideUSD))
		}
	}
	return violations
}
