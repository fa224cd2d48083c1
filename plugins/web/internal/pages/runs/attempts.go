package runs

import (
	"slices"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
)

// attempt is what happened in one attempt of a run, in the order of time.
type attempt struct {
	number  int
	entries []entry
}

// attempts parts entries by the attempt that they belong to: what tells its own, and what
// does not by when it was.
func attempts(run api.Run, all []entry) (parted []attempt) {
	begins := map[int]time.Time{} // by attempt
	begin := func(number int, at time.Time) {
		if known, ok := begins[number]; number > 0 && (!ok || at.Before(known)) {
			begins[number] = at
		}
	}
	for _, failed := range run.Failures {
		begin(failed.Attempt+1, failed.At)
	}
	for _, e := range all {
		begin(e.attempt, e.at)
	}
	numbers := make([]int, 0, len(begins))
	for number := range begins {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	first := 1
	if len(numbers) > 0 && len(run.Failures) == 0 {
		first = numbers[0]
	}
	for n := range all {
		if all[n].attempt > 0 {
			continue
		}
		all[n].attempt = first
		for _, number := range numbers {
			if !all[n].at.Before(begins[number]) {
				all[n].attempt = number
			}
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		if a.attempt != b.attempt {
			return a.attempt - b.attempt
		}
		return a.at.Compare(b.at)
	})
	for _, e := range all {
		if n := len(parted); n == 0 || parted[n-1].number != e.attempt {
			parted = append(parted, attempt{number: e.attempt})
		}
		last := &parted[len(parted)-1]
		last.entries = append(last.entries, e)
	}
	for _, one := range parted {
		place(run, one.entries)
	}
	return parted
}

// place says of each entry where it lies in its attempt, which begins when the run no longer
// waits in its queue.
func place(run api.Run, all []entry) {
	begin := all[0].at
	if begin.Before(run.StartedAt) && len(all) > 1 {
		begin = run.StartedAt
	}
	end := begin
	for _, e := range all {
		if done := e.at.Add(e.took); done.After(end) {
			end = done
		}
	}
	whole := end.Sub(begin).Seconds()
	if whole <= 0 {
		return
	}
	for n := range all {
		if all[n].took <= 0 {
			continue
		}
		all[n].from = 100 * max(0, all[n].at.Sub(begin).Seconds()) / whole
		all[n].width = max(100*all[n].took.Seconds()/whole, 1)
		all[n].from = min(all[n].from, 100-all[n].width)
	}
}
