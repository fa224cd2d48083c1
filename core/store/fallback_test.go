package store_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// purse is what the key spare may cost on one day as a fallback.
type purse struct {
	t     *testing.T
	s     *store.Store
	name  string
	limit float64
}

func newPurse(t *testing.T, s *store.Store, limit float64) purse {
	t.Helper()
	return purse{t: t, s: s, name: ledger.FallbackAccount("spare", "2026-11-23"), limit: limit}
}

// begins sets aside what an attempt may cost, as step 5a does.
func (p purse) begins(c ledger.Claim, amount float64) error {
	one := setAside(p.name, p.limit, amount)
	one.Plugin = ledger.CoreAccounts
	return intent(p.s, c, one)
}

// ends stores that an attempt has failed, as one that can be tried again, and what it has cost.
func (p purse) ends(c ledger.Claim, usd float64) {
	p.t.Helper()
	p.turn(c, usd, p.name)
}

// turn stores a turn without an answer. Without a purse the plan has paid for it.
func (p purse) turn(c ledger.Claim, usd float64, from string) {
	p.t.Helper()
	commit := result(c)
	commit.Key, commit.Step, commit.Rows = uuid.NewString(), pluginsdk.StepInvoking, nil
	commit.Purse = from
	commit.Result.CostUSD, commit.AgentRun.CostUSD = usd, usd
	check(p.t, p.s.SaveResult(context.Background(), c.Fence, commit))
}

// killed is the claim of a run by the next daemon, when this one has died at work on it.
func (p purse) killed(c ledger.Claim) ledger.Claim {
	p.t.Helper()
	must[[]ledger.Queue](p.t)(p.s.Recover(context.Background(), uuid.NewString()))
	return claim(p.t, p.s, c.Thread.ID)
}

// wants checks what is spent from the purse and set aside in it.
func (p purse) wants(want float64) {
	p.t.Helper()
	if got := must[float64](p.t)(p.s.Reserved(context.Background(), ledger.CoreAccounts, p.name)); math.Abs(got-want) > 1e-9 {
		p.t.Errorf("spent and set aside are %v, want %v", got, want)
	}
}

// What a fallback may cost in a day has nothing to do with what the run has cost before and
// later on the plan, of which nobody is billed a cent.
func TestAFallbackPaysForWhatItWasUsedFor(t *testing.T) {
	clocked(t, func(t *testing.T, s *store.Store, clock *time.Time) {
		p := newPurse(t, s, 1)
		first, next := claimed(t, s, "first"), claimed(t, s, "next")
		p.turn(first, 5, "")
		check(t, p.begins(first, 0.6))
		p.wants(0.6)
		wantOver(t, p.begins(next, 0.5), 0, 0.6)
		p.ends(first, 0.25)
		p.wants(0.25)
		must[[]ledger.Lane](t)(s.ParkRun(t.Context(), first.Fence, parkedFor(first, *clock)))
		p.wants(0.25) // who waits has nothing set aside
		first = claim(t, s, first.Thread.ID)
		p.turn(first, 7, "")
		finish(t, s, first, "answer")
		p.wants(0.25)
		check(t, p.begins(next, 0.75))
		p.wants(1)
		sound(t, s)
	})
}

// A run that is tried again has the money that its attempts before have not spent, and no more.
func TestARunThatIsTriedAgainWithItsFallback(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p := newPurse(t, s, 1)
		c := claimed(t, s, "first")
		check(t, p.begins(c, 1))
		p.ends(c, 0) // 529
		p.wants(0)
		check(t, p.begins(c, 1))
		p.ends(c, 0.9)
		p.wants(0.9)
		wantOver(t, p.begins(c, 1), 0.9, 0)
		check(t, p.begins(c, 0.1))
		p.ends(c, 0.15) // the last call was dearer than what was left
		wantOver(t, p.begins(c, 0.01), 1.05, 0)
	})
}

// Two runs that take turns with one fallback spend no more than one would.
func TestTwoRunsSpendNoMoreThanTheirFallback(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p := newPurse(t, s, 2)
		a, b := claimed(t, s, "a"), claimed(t, s, "b")
		check(t, p.begins(a, 1))
		p.ends(a, 0.9)
		check(t, p.begins(b, 1))
		wantOver(t, p.begins(a, 1), 0.9, 1)
	})
}

// Of an attempt that was killed nobody knows what it has cost: it counts as all that it might
// have.
func TestAKilledAttemptHasSpentWhatWasSetAside(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p := newPurse(t, s, 2)
		c := claimed(t, s, "first")
		check(t, p.begins(c, 1))
		c = p.killed(c)
		p.wants(1)
		check(t, p.begins(c, 0.8))
		p.wants(1.8)
		p.ends(c, 0.3)
		p.wants(1.3)
		c = p.killed(c) // between two attempts: all is known
		p.wants(1.3)
		check(t, p.begins(c, 0.5))
		c = p.killed(c)
		finish(t, s, c, "done") // with the plan
		p.wants(1.8)
		wantOver(t, p.begins(claimed(t, s, "next"), 0.3), 1.8, 0)
		sound(t, s)
	})
}

// book is what really happened with the money of one day.
type book struct {
	known  float64 // what attempts have cost whose results were stored
	killed float64 // what was set aside for those that were killed
	real   float64 // what all of them have cost
	// killedOver is what those that were killed have cost above what was set aside for them.
	killedOver float64
	// lastOver is what others have cost above that since an attempt was let through last: until
	// then, all that was known had to be within the limit.
	lastOver float64
}

// try is an attempt at work.
type try struct {
	day    string
	amount float64
}

// fallbackWorld is a store in which several runs use one fallback, with what really happened.
type fallbackWorld struct {
	purse

	random *rand.Rand
	serial int
	day    string
	books  map[string]*book
	claims []ledger.Claim
	open   []*try // by run; nil: none is at work
}

// call is what the most expensive call of the API costs.
const call = 0.4

// What happens to runs that share a fallback, in any order and on both databases: the limit of
// a day is passed by no more than the last call of each turn that was at work last, or was
// killed; and no cent is held for what is over.
func TestTheFallbacksLimitHoldsWhateverHappens(t *testing.T) {
	clocked(t, func(t *testing.T, s *store.Store, clock *time.Time) {
		for seed := range uint64(8) {
			limit := []float64{0.5, 1, 2, 9}[seed%4]
			w := &fallbackWorld{purse: newPurse(t, s, limit), random: rand.New(rand.NewPCG(seed, 1)), books: make(map[string]*book)}
			w.serial = int(seed) * 100 //nolint:gosec // it is small
			w.nextDay()
			for range 3 {
				w.claims, w.open = append(w.claims, ledger.Claim{}), append(w.open, nil)
				w.renew(len(w.claims) - 1)
			}
			for step := range 60 {
				did := w.step(*clock)
				if w.check(); t.Failed() {
					t.Fatalf("seed %d, step %d: %s", seed, step, did)
				}
			}
		}
		sound(t, s)
	})
}

func (w *fallbackWorld) step(now time.Time) string {
	i := w.random.IntN(len(w.claims))
	c, at := w.claims[i], w.open[i]
	switch what := w.random.IntN(10); {
	case what == 0:
		w.nextDay()
		return "midnight"
	case what == 1:
		w.kill()
		return "kill"
	case what == 2:
		w.rush()
		return "all begin at once"
	case at == nil && what <= 6:
		w.granted(i, w.begin(i))
		return "begin"
	case at == nil && what == 7:
		must[[]ledger.Lane](w.t)(w.s.ParkRun(w.t.Context(), c.Fence, parkedFor(c, now)))
		w.claims[i] = claim(w.t, w.s, c.Thread.ID)
		return "park"
	case at == nil && what == 8:
		w.turn(c, 3*w.random.Float64(), "")
		return "a turn on the plan"
	case at == nil:
		finish(w.t, w.s, c, "done")
		w.renew(i)
		return "finish"
	case what == 3: // the agent did not know the session
		one := w.reservation(at.day, at.amount)
		one.Again = true
		check(w.t, intent(w.s, c, one))
		return "begin again"
	default:
		w.end(i)
		return "end"
	}
}

func (w *fallbackWorld) nextDay() {
	w.serial++
	w.day = time.Date(2026, 1, w.serial, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	w.books[w.day] = &book{}
}

// renew puts a new run in a place.
func (w *fallbackWorld) renew(i int) { w.claims[i] = claimed(w.t, w.s, uuid.NewString()) }

func (w *fallbackWorld) reservation(day string, amount float64) ledger.Reservation {
	one := setAside(ledger.FallbackAccount("spare", day), w.limit, amount)
	one.Plugin = ledger.CoreAccounts
	return one
}

// begin begins an attempt of a run, and returns it unless it was refused. It may know too little
// of what is spent.
func (w *fallbackWorld) begin(i int) *try {
	ctx, day := w.t.Context(), w.day
	amount := max(1, w.limit/4)
	if w.random.IntN(4) > 0 {
		used, err := w.s.Reserved(ctx, ledger.CoreAccounts, ledger.FallbackAccount("spare", day))
		check(w.t, err)
		amount = min(amount, w.limit-used)
	}
	return w.ask(i, day, amount)
}

func (w *fallbackWorld) ask(i int, day string, amount float64) *try {
	if amount < 0.01 {
		return nil
	}
	err := intent(w.s, w.claims[i], w.reservation(day, amount))
	var over *ledger.OverLimit
	if errors.As(err, &over) {
		return nil
	}
	check(w.t, err)
	return &try{day: day, amount: amount}
}

func (w *fallbackWorld) granted(i int, at *try) {
	if w.open[i] = at; at != nil {
		w.books[at.day].lastOver = 0
	}
}

// rush has all runs that are not at work begin at the same moment.
func (w *fallbackWorld) rush() {
	var wait sync.WaitGroup
	began, amount := make([]*try, len(w.claims)), min(w.limit, 1)
	for i, at := range w.open {
		if at == nil {
			wait.Go(func() { began[i] = w.ask(i, w.day, amount) })
		}
	}
	wait.Wait()
	for i, at := range w.open {
		if at == nil {
			w.granted(i, began[i])
		}
	}
}

// costs is what an attempt that ends now has really cost.
func (w *fallbackWorld) costs(at *try) float64 {
	switch w.random.IntN(3) {
	case 0:
		return 0 // 529
	case 1:
		return at.amount * w.random.Float64()
	}
	return at.amount + call*w.random.Float64()
}

func (w *fallbackWorld) end(i int) {
	at := w.open[i]
	usd, of := w.costs(at), w.books[at.day]
	w.turn(w.claims[i], usd, ledger.FallbackAccount("spare", at.day))
	of.known, of.real, of.lastOver = of.known+usd, of.real+usd, of.lastOver+max(0, usd-at.amount)
	w.open[i] = nil
}

// kill kills the daemon. A person gives some of the runs up before they are claimed again.
func (w *fallbackWorld) kill() {
	must[[]ledger.Queue](w.t)(w.s.Recover(w.t.Context(), uuid.NewString()))
	for i, at := range w.open {
		if at != nil {
			usd, of := w.costs(at), w.books[at.day]
			of.killed, of.real, of.killedOver = of.killed+at.amount, of.real+usd, of.killedOver+max(0, usd-at.amount)
			w.open[i] = nil
		}
		if w.random.IntN(3) > 0 {
			w.claims[i] = claim(w.t, w.s, w.claims[i].Thread.ID)
			continue
		}
		_, cancelled, err := w.s.CancelQueued(w.t.Context(), w.claims[i].Run.ID, "given up")
		if err != nil || !cancelled {
			w.t.Errorf("cancelled: %v, %v", cancelled, err)
		}
		w.renew(i)
	}
}

func (w *fallbackWorld) check() {
	for day, of := range w.books {
		want := of.known + of.killed
		for _, at := range w.open {
			if at != nil && at.day == day {
				want += at.amount
			}
		}
		w.name = ledger.FallbackAccount("spare", day)
		w.wants(want)
		if most := w.limit + of.killedOver + of.lastOver; of.real > most+1e-6 {
			w.t.Errorf("%s: the key has cost %v, and may cost %v", day, of.real, most)
		}
	}
}
