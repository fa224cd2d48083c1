package store_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"entgo.io/ent/dialect"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// everyBy is all that usage can be summed up by.
var everyBy = []pluginsdk.UsageBy{
	"", pluginsdk.UsageByThread, pluginsdk.UsageByPurpose, pluginsdk.UsageByModel, pluginsdk.UsageByTask, pluginsdk.UsageByPlugin,
	pluginsdk.UsageByAccount, pluginsdk.UsageByCron, pluginsdk.UsageByDay, pluginsdk.UsageByHour,
}

// books are turns as a test remembers them, and are summed up by plain code.
type books struct {
	random *rand.Rand
	turns  []ledger.AgentRun
}

func newBooks(seed uint64) *books { return &books{random: rand.New(rand.NewPCG(seed, 29))} } //nolint:gosec // it is to be repeatable

func (b *books) one(of ...string) string { return of[b.random.IntN(len(of))] }

// usd is an amount that adds up without rounding, in whatever order.
func (b *books) usd() float64 { return float64(b.random.IntN(1<<20)) / 1024 }

func (b *books) usage() pluginsdk.Usage {
	n := func() int64 { return b.random.Int64N(1000) }
	return pluginsdk.Usage{InputTokens: n(), OutputTokens: n(), CacheReadTokens: n(), CacheWriteTokens: n()}
}

// moment is an instant around the end of a year, often at a border of hours, days or months, or a
// microsecond beside it, in some zone.
func (b *books) moment() time.Time {
	at := time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC).Add(time.Duration(b.random.Int64N(int64(48 * time.Hour))))
	if b.random.IntN(4) == 0 {
		at = time.Date(2025, 11, 20, 0, 0, 0, 0, time.UTC).Add(time.Duration(b.random.Int64N(int64(100 * 24 * time.Hour))))
	}
	switch b.random.IntN(5) {
	case 0:
		at = at.Truncate(time.Hour)
	case 1:
		at = at.Truncate(24 * time.Hour)
	case 2:
		at = time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	at = at.Add(time.Duration(b.random.IntN(3)-1) * time.Microsecond)
	return at.In(time.FixedZone("", (b.random.IntN(96)-48)*900))
}

// turn is a turn of which anything may be.
func (b *books) turn() ledger.AgentRun {
	run := ledger.AgentRun{
		ThreadID: b.one("", "T1", "T2", "T3"), TaskID: b.one("", "above", "below", "other"), Plugin: b.one("", "validation", "cron"), Cron: b.one("", "digest", "review"),
		Purpose: b.one("pipeline", "task", "validation"), Model: b.one("opus", "haiku", ""), Account: b.one("", "work", "spare"), Usage: b.usage(), CostUSD: b.usd(),
		Notional: b.random.IntN(2) == 0, CostUnsure: b.random.IntN(3) == 0, Success: b.random.IntN(3) > 0, Duration: time.Duration(b.random.IntN(1e9)), StartedAt: b.moment(),
	}
	if b.random.IntN(3) == 0 {
		for _, model := range []string{"haiku", "opus", "sonnet"}[b.random.IntN(3):] {
			run.Models = append(run.Models, pluginsdk.ModelUsage{Model: model, Usage: b.usage(), CostUSD: b.usd()})
		}
	}
	return run
}

// keep stores so many turns.
func (b *books) keep(t *testing.T, s *store.Store, n int) {
	t.Helper()
	for range n {
		run := b.turn()
		must[int64](t)(s.KeepAgentRun(t.Context(), run))
		b.turns = append(b.turns, run)
	}
}

// request asks for anything, now and then of turns between two instants.
func (b *books) request() pluginsdk.UsageRequest {
	r := pluginsdk.UsageRequest{By: everyBy[b.random.IntN(len(everyBy))], Limit: 1000}
	if b.random.IntN(3) > 0 {
		r.Since = b.moment()
	}
	if b.random.IntN(3) > 0 {
		r.Until = b.moment()
	}
	if b.random.IntN(4) == 0 {
		r.ThreadID = b.one("T1", "T2", "nobody")
	}
	if b.random.IntN(6) == 0 {
		r.Limit = 2
	}
	return r
}

// of is what a part of a turn is summed up under.
func of(by pluginsdk.UsageBy, run ledger.AgentRun, model string) string {
	return map[pluginsdk.UsageBy]string{
		pluginsdk.UsageByThread: run.ThreadID, pluginsdk.UsageByPurpose: run.Purpose, pluginsdk.UsageByModel: model, pluginsdk.UsageByTask: run.TaskID,
		pluginsdk.UsageByPlugin: run.Plugin, pluginsdk.UsageByAccount: run.Account, pluginsdk.UsageByCron: run.Cron,
		pluginsdk.UsageByDay: run.StartedAt.UTC().Format("2006-01-02"), pluginsdk.UsageByHour: run.StartedAt.UTC().Format("2006-01-02T15"),
	}[by]
}

// count adds a turn to a sum, with what is given of tokens and cost.
func count(sum *pluginsdk.UsageSum, run ledger.AgentRun) {
	sum.Turns++
	sum.Duration += run.Duration
	if !run.Success {
		sum.Failed++
	}
	if run.CostUnsure {
		sum.Unsure++
	}
}

func spend(sum *pluginsdk.UsageSum, run ledger.AgentRun, usage pluginsdk.Usage, usd float64) {
	sum.Usage.InputTokens += usage.InputTokens
	sum.Usage.OutputTokens += usage.OutputTokens
	sum.Usage.CacheReadTokens += usage.CacheReadTokens
	sum.Usage.CacheWriteTokens += usage.CacheWriteTokens
	sum.CostUSD += usd
	if run.Notional {
		sum.NotionalUSD += usd
	}
}

// sums are what the answer has to be.
func (b *books) sums(r pluginsdk.UsageRequest) *pluginsdk.UsageResponse {
	answer, sums := &pluginsdk.UsageResponse{}, make(map[string]*pluginsdk.UsageSum)
	for _, run := range b.turns {
		if !r.Since.IsZero() && run.StartedAt.Before(r.Since.Truncate(time.Microsecond)) || !r.Until.IsZero() && !run.StartedAt.Before(r.Until.Truncate(time.Microsecond)) ||
			r.ThreadID != "" && run.ThreadID != r.ThreadID {
			continue
		}
		parts := run.Models
		if r.By != pluginsdk.UsageByModel || len(parts) == 0 {
			parts = []pluginsdk.ModelUsage{{Model: run.Model, Usage: run.Usage, CostUSD: run.CostUSD}}
		}
		count(&answer.Total, run)
		for _, part := range parts {
			name := of(r.By, run, part.Model)
			if sums[name] == nil {
				sums[name] = &pluginsdk.UsageSum{Of: name}
			}
			count(sums[name], run)
			spend(sums[name], run, part.Usage, part.CostUSD)
			spend(&answer.Total, run, part.Usage, part.CostUSD)
		}
	}
	if r.By == "" {
		return answer
	}
	for _, sum := range sums {
		answer.Sums = append(answer.Sums, *sum)
	}
	slices.SortFunc(answer.Sums, func(a, b pluginsdk.UsageSum) int {
		if r.By == pluginsdk.UsageByDay || r.By == pluginsdk.UsageByHour {
			return cmp.Compare(b.Of, a.Of)
		}
		return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Turns, a.Turns), cmp.Compare(a.Of, b.Of))
	})
	answer.Sums = answer.Sums[:min(len(answer.Sums), r.Limit)]
	return answer
}

// equal compares answers to so many requests with what they have to be.
func (b *books) equal(t *testing.T, s *store.Store, requests int) {
	t.Helper()
	for range requests {
		r := b.request()
		got, want := must[*pluginsdk.UsageResponse](t)(s.Usage(t.Context(), r)), b.sums(r)
		if got.Total != want.Total || !slices.Equal(got.Sums, want.Sums) {
			t.Fatalf("%+v of %d turns:\n got %+v\n     %+v\nwant %+v\n     %+v", r, len(b.turns), got.Total, got.Sums, want.Total, want.Sums)
		}
	}
}

// Whatever is asked, and however far usage is rolled up at that moment, the answer is what the
// turns say: also of turns that began in an hour that was rolled up before they were recorded, of
// tasks that were removed, and while the sums are made anew.
func TestRollupsEqualTheRows(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				b := newBooks(seed)
				th := newThread(t, s, "below")
				check(t, s.KeepTask(t.Context(), ledger.Task{Task: pluginsdk.Task{ID: "above", ThreadID: newThread(t, s, "above").ID, Status: pluginsdk.TaskCompleted}}))
				check(t, s.KeepTask(t.Context(), ledger.Task{Task: pluginsdk.Task{ID: "below", ThreadID: th.ID, ParentTaskID: "above", Status: pluginsdk.TaskCompleted}}))
				for round := range 25 {
					b.keep(t, s, b.random.IntN(20))
					switch b.random.IntN(8) {
					case 0:
					case 1:
						check(t, s.ResetUsage(t.Context()))
					default:
						must[bool](t)(s.RollUpUsage(t.Context(), 1+b.random.IntN(30)))
					}
					if round == 15 {
						b.removeThread(t, s, th.ID)
					}
					b.equal(t, s, 12)
				}
				for must[bool](t)(s.RollUpUsage(t.Context(), 50)) {
				}
				if in, behind, err := s.UsageRolledUp(t.Context()); err != nil || in != int64(len(b.turns)) || behind != 0 {
					t.Errorf("%d turns are rolled up and %d are not, of %d; %v", in, behind, len(b.turns), err)
				}
				b.equal(t, s, 100)
			})
		})
	}
}

// removeThread deletes the thread of the task below the other one, which has its turns then.
func (b *books) removeThread(t *testing.T, s *store.Store, id string) {
	t.Helper()
	epoch := func() (epoch int) {
		check(t, s.Reader().QueryRowContext(t.Context(), "SELECT epoch FROM usage_marks").Scan(&epoch))
		return epoch
	}
	before := epoch()
	check(t, second(s.DeleteThread(t.Context(), id, "ann")))
	check(t, s.RemoveThread(t.Context(), id))
	if epoch() == before {
		t.Error("who rolls up while turns are moved to another task does not notice")
	}
	for i := range b.turns {
		if b.turns[i].TaskID == "below" {
			b.turns[i].TaskID = "above"
		}
	}
}

// A turn that got its id before another one, and is stored after it, must not be left out of the
// sums: Postgres gives out ids before rows are there.
func TestATurnThatIsStoredLateIsRolledUp(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if s.Dialect() != dialect.Postgres {
			t.Skip("SQLite has one writer")
		}
		b := newBooks(1)
		late, err := s.Reader().BeginTx(t.Context(), nil)
		check(t, err)
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		check(t, second(late.ExecContext(t.Context(), "INSERT INTO agent_runs (purpose, thread_id, cost_usd, success, started_at) VALUES ('late', 'T1', 3, true, $1)", at)))
		b.keep(t, s, 3)
		rolled := make(chan error, 1)
		go func() {
			_, err := s.RollUpUsage(context.WithoutCancel(t.Context()), 100)
			rolled <- err
		}()
		b.equal(t, s, 20)
		check(t, late.Commit())
		b.turns = append(b.turns, ledger.AgentRun{ThreadID: "T1", Purpose: "late", CostUSD: 3, Success: true, StartedAt: at})
		check(t, <-rolled)
		b.equal(t, s, 100)
	})
}

// Who reads while usage is rolled up must see each turn once, at every moment.
func TestUsageIsWholeWhileItIsRolledUp(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := newBooks(2)
		b.keep(t, s, 300)
		rolled := make(chan error, 1)
		go func() {
			ctx := context.WithoutCancel(t.Context())
			for n := range 3 {
				for more := true; more; {
					var err error
					if more, err = s.RollUpUsage(ctx, 5+n); err != nil {
						rolled <- err
						return
					}
				}
				if err := s.ResetUsage(ctx); err != nil {
					rolled <- err
					return
				}
			}
			rolled <- nil
		}()
		for {
			select {
			case err := <-rolled:
				check(t, err)
				return
			default:
				b.equal(t, s, 1)
			}
		}
	})
}

// What is rolled up must be read from the sums, or a page takes longer with each turn: who changes
// them by hand sees that.
func TestUsageIsReadFromTheSums(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := newBooks(4)
		b.keep(t, s, 50)
		must[bool](t)(s.RollUpUsage(t.Context(), 100))
		byHand(t, s, "UPDATE usage_sums SET turns = turns + 1000")
		for _, by := range everyBy {
			for _, thread := range []string{"", "T1"} {
				answer := must[*pluginsdk.UsageResponse](t)(s.Usage(t.Context(), pluginsdk.UsageRequest{By: by, ThreadID: thread}))
				ofThread := by == "" || by == pluginsdk.UsageByThread || by == pluginsdk.UsageByDay
				if fromSums := answer.Total.Turns > 1000; fromSums != (thread == "" || ofThread) {
					t.Errorf("by %q of the thread %q: %d turns", by, thread, answer.Total.Turns)
				}
			}
		}
	})
}

// Several may roll up at a time, and a task may go meanwhile: each turn is in the sums once.
// Without this, usage by thread takes as long as there are turns in the database, however many of them are in the sums.
// Postgres knows how many turns there are, and chooses by that.
func TestUsageOfWhatIsRolledUpScansNoTurnsOnSQLite(t *testing.T) {
	s := storetest.OpenConfig(t, storetest.SQLite(t))
	check(t, s.FillAgentRuns(t.Context(), 2000))
	must[bool](t)(s.RollUpUsage(t.Context(), 2000))
	for _, by := range []pluginsdk.UsageBy{"", pluginsdk.UsageByThread, pluginsdk.UsageByTask, pluginsdk.UsageByModel, pluginsdk.UsageByPurpose, pluginsdk.UsageByDay} {
		for _, plan := range s.Plans(func() { must[*pluginsdk.UsageResponse](t)(s.Usage(t.Context(), pluginsdk.UsageRequest{By: by})) }) {
			if strings.Contains(plan, "SCAN a ") || strings.Contains(plan, "SCAN a\n") {
				t.Errorf("by %q:\n%s", by, plan)
			}
		}
	}
}

func TestSeveralRollUpAtATime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := newBooks(5)
		th := newThread(t, s, "below")
		check(t, s.KeepTask(t.Context(), ledger.Task{Task: pluginsdk.Task{ID: "above", ThreadID: newThread(t, s, "above").ID, Status: pluginsdk.TaskCompleted}}))
		check(t, s.KeepTask(t.Context(), ledger.Task{Task: pluginsdk.Task{ID: "below", ThreadID: th.ID, ParentTaskID: "above", Status: pluginsdk.TaskCompleted}}))
		b.keep(t, s, 200)
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				for more := true; more; {
					var err error
					if more, err = s.RollUpUsage(t.Context(), 7); err != nil {
						t.Error(err)
					}
				}
			})
		}
		b.removeThread(t, s, th.ID)
		group.Wait()
		if problems := must[[]string](t)(s.UsageIntegrity(t.Context())); len(problems) != 0 {
			t.Error(problems)
		}
		b.equal(t, s, 100)
	})
}

// When somebody has changed turns by SQL, the doctor has to find that the sums are not theirs.
func TestIntegrityComparesRollupsWithTheRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := newBooks(3)
		b.keep(t, s, 40)
		must[bool](t)(s.RollUpUsage(t.Context(), 30))
		if problems := must[[]string](t)(s.UsageIntegrity(t.Context())); len(problems) != 0 {
			t.Errorf("of sums that are right: %v", problems)
		}
		byHand(t, s, "UPDATE agent_runs SET cost_usd = cost_usd + 1 WHERE id = 7")
		if problems := must[[]string](t)(s.UsageIntegrity(t.Context())); len(problems) == 0 || !strings.Contains(problems[0], "usage") {
			t.Errorf("of a turn that was changed: %v", problems)
		}
		byHand(t, s, "UPDATE agent_runs SET cost_usd = cost_usd - 1 WHERE id = 7")
		byHand(t, s, "DELETE FROM usage_sums WHERE facet = 'plugin' AND span = 'month'")
		if problems := must[[]string](t)(s.UsageIntegrity(t.Context())); len(problems) != 1 || !strings.Contains(problems[0], "month by plugin have 0 turns") {
			t.Errorf("of sums that are gone: %v", problems)
		}
		check(t, s.ResetUsage(t.Context()))
		if problems := must[[]string](t)(s.UsageIntegrity(t.Context())); len(problems) != 0 {
			t.Errorf("of none: %v", problems)
		}
	})
}
