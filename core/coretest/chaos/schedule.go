package main

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
)

// strike is one entry of the schedule.
type strike struct {
	kind  check.Kind
	pick  int           // which of the victims there are
	pause time.Duration // before it
	// rash strikes a daemon that is still starting; others wait until it
	// answers.
	rash bool
	// aimed strikes the daemon just after a commit that adds rows to a thread: what
	// should have been stored with them, and is stored beside them, is missing then.
	aimed bool
	hold  time.Duration // SQLite: how long the write lock is held
	// calm lets the system alone for a moment before: long enough for orphans
	// to show.
	calm bool
	// progress is how often something has to go forward (a question reaches the
	// agent, a run ends) before: a campaign in which nothing happens proves
	// nothing, and one that strikes at rest proves little.
	progress int
}

const (
	calmEvery = 25 // or half of the schedule, when that is less
	calmPause = 5 * time.Second
	// enough is how many strikes a schedule must have for each of its kinds to
	// be sure to find a victim.
	enough = 10
)

// schedule is drawn from the seed alone: clusters of strikes in quick
// succession, random pauses between them.
func schedule(seed uint64, kills int) []strike {
	random := rand.New(rand.NewPCG(seed, 0xc4a05)) //nolint:gosec // a schedule, not a secret
	strikes := make([]strike, 0, kills)
	calm := max(1, min(calmEvery, kills/2))
	for len(strikes) < kills {
		size := 1
		if random.IntN(4) == 0 {
			size += 1 + random.IntN(3)
		}
		for i := range min(size, kills-len(strikes)) {
			s := strike{
				kind: kindOf(random.IntN(100)), pick: random.IntN(1 << 20), pause: between(random, 20, 400),
				rash: random.IntN(4) == 0, hold: between(random, 50, 1500), progress: random.IntN(6),
			}
			if i > 0 {
				s.pause, s.progress = between(random, 0, 40), 0
			}
			if s.pick%40 == 0 {
				s.hold = 11 * time.Second // longer than SQLite's clients wait
			}
			s.aimed = s.pick%2 == 0
			n := len(strikes)
			s.calm = n > 0 && n%calm == 0
			strikes = append(strikes, s)
		}
	}
	return strikes
}

// wanted returns the kinds that a schedule has to hit at least once.
func wanted(strikes []strike, agents bool) (kinds []check.Kind) {
	if len(strikes) < enough {
		return nil
	}
	for _, kind := range check.Kinds() {
		has := slices.ContainsFunc(strikes, func(s strike) bool { return s.kind == kind })
		if has && (agents || kind != check.Agent) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func kindOf(n int) check.Kind {
	switch {
	case n < 35:
		return check.Daemon
	case n < 60:
		return check.Plugin
	case n < 85:
		return check.Agent
	}
	return check.Database
}

func between(random *rand.Rand, low, high int) time.Duration {
	return time.Duration(low+random.IntN(high-low)) * time.Millisecond
}
