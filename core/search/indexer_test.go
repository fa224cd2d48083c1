package search_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/search"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// indexed says how far the index has come, and what it alone finds: ids of messages that
// have a word.
func indexed(t testing.TB, s *store.Store, word string) []int64 {
	t.Helper()
	return must[[]int64](t)(s.Indexed(context.Background(), ledger.IndexQuery{
		All: [][]ledger.IndexTerm{{{Token: word}}}, After: 0, Before: 1 << 40, Limit: 1 << 20,
	}))
}

func numbered(n int) (texts []string) {
	for i := range n {
		texts = append(texts, "said number"+strconv.Itoa(i))
	}
	return texts
}

// started is a room whose indexer works, until the test ends.
func started(t testing.TB, config search.Config, s search.Store) *search.Room {
	t.Helper()
	room := search.New(config, s)
	if err := room.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := room.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return room
}

// watched is a store that says when the index has been added to.
type watched struct {
	*store.Store

	added chan struct{}
}

func (w watched) AddToIndex(ctx context.Context, from ledger.IndexMark, upTo int64, entries []ledger.IndexEntry) error {
	err := w.Store.AddToIndex(ctx, from, upTo, entries)
	select {
	case w.added <- struct{}{}:
	default:
	}
	return err
}

// until waits for a condition, which is looked at whenever the index was added to.
func (w watched) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	late := time.After(time.Minute)
	for !holds() {
		select {
		case <-w.added:
		case <-late:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// What is there from before, and what is said from then on, comes into the index without
// anybody asking for it.
func TestTheIndexFollows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		thread := newThread(t, s, "one")
		say(t, s, thread, numbered(130)...)
		w := watched{s, make(chan struct{}, 1)}
		room := started(t, search.Config{Delay: time.Millisecond, Sweep: time.Hour}, w)
		w.until(t, "what was there before", func() bool { return len(indexed(t, s, "said")) == 130 })
		say(t, s, thread, "said later")
		room.Wake()
		w.until(t, "what is said later", func() bool { return len(indexed(t, s, "later")) == 1 })
	})
}

// What was said a moment ago is found, and what was deleted is not, whatever the index has.
func TestWhatWasJustSaidIsFoundAndWhatIsDeletedIsNot(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		ctx := context.Background()
		s := storetest.OpenConfig(t, config)
		room := search.New(search.Config{}, s)
		thread := newThread(t, s, "one")
		ids := say(t, s, thread, "hello one", "hello two", "hello three")
		if err := room.Finish(ctx, nil); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, say(t, s, thread, "hello four", "hello five")...)
		slices.Reverse(ids)
		query := pluginsdk.SearchQuery{Text: "hello", Order: pluginsdk.SearchNewest}
		if got := all(t, room, query, 2); !slices.Equal(got, ids) {
			t.Fatalf("found %d, want %d", got, ids)
		}
		if _, err := database(t, config).ExecContext(ctx, "DELETE FROM messages WHERE content IN ('hello two', 'hello five')"); err != nil {
			t.Fatal(err)
		}
		want := []int64{ids[1], ids[2], ids[4]}
		if got := all(t, room, query, 2); !slices.Equal(got, want) {
			t.Errorf("found %d, want %d", got, want)
		}
		if got := indexed(t, s, "two"); len(got) != 0 {
			t.Errorf("the index still has what was deleted: %d", got)
		}
		sound(t, s)
	})
}

// What was amended is found by its words of now and by no others, whether the index had it,
// did not have it yet, or was about to get what it said before.
func TestWhatIsAmendedIsFoundByItsNewWords(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		thread := newThread(t, s, "one")
		say(t, s, thread, "said before")
		submit := func(key string) int64 {
			accepted := must[ledger.Accepted](t)(s.Accept(ctx, ledger.Acceptance{
				RunID: "run " + key, Kind: pluginsdk.RunMessage, Plugin: "web",
				Submission: pluginsdk.Submission{ThreadID: thread, Source: "web", Key: key, Content: "old " + key},
			}))
			return accepted.MessageID
		}
		amend := func(key string) {
			_, _, err := s.Amend(ctx, ledger.Amendment{Plugin: "web", Source: "web", Key: key, Content: "new " + key})
			if err != nil {
				t.Fatal(err)
			}
		}
		meanwhile := func(string) {}
		room := search.New(search.Config{Fault: func(step string) { meanwhile(step) }}, s)
		finish := func() {
			t.Helper()
			if err := room.Finish(ctx, nil); err != nil {
				t.Fatal(err)
			}
		}
		ids := []int64{submit("indexed")}
		say(t, s, thread, "said after")
		finish()
		amend("indexed")
		ids = append(ids, submit("waiting"))
		amend("waiting")
		ids = append(ids, submit("read"))
		meanwhile = func(step string) {
			if step == "store" {
				meanwhile = func(string) {}
				amend("read")
			}
		}
		slices.Reverse(ids)
		for _, when := range []string{"before the index follows", "after it"} {
			if got := all(t, room, pluginsdk.SearchQuery{Text: "old", Order: pluginsdk.SearchNewest}, 10); when == "after it" && len(got) != 0 {
				t.Errorf("%s, by the old words: %d", when, got)
			}
			if got := all(t, room, pluginsdk.SearchQuery{Text: "new", Order: pluginsdk.SearchNewest}, 10); when == "after it" && !slices.Equal(got, ids) || !slices.Contains(got, ids[2]) {
				t.Errorf("%s, by the new words: %d, want %d", when, got, ids)
			}
			finish()
		}
		if got := indexed(t, s, "said"); len(got) != 2 {
			t.Errorf("of what nobody has amended the index has %d", got)
		}
		if old, now := indexed(t, s, "old"), indexed(t, s, "new"); len(old) != 0 || !slices.Equal(now, ids) {
			t.Errorf("the index has %d by the old words, %d by the new", old, now)
		}
		sound(t, s)
	})
}

// What is deleted while it is on its way into the index is not in it: neither what goes
// between the reading and the storing, nor what goes at the very moment.
func TestWhatIsDeletedMeanwhileIsNotIndexed(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		ctx := t.Context()
		s := storetest.OpenConfig(t, config)
		ids := say(t, s, newThread(t, s, "one"), numbered(10)...)
		db := database(t, config)
		var open *sql.Tx
		room := search.New(search.Config{Fault: func(step string) {
			if step != "store" || open != nil {
				return
			}
			var err error
			if open, err = db.BeginTx(ctx, nil); err != nil {
				t.Fatal(err)
			}
			if _, err = open.ExecContext(ctx, "DELETE FROM messages WHERE id IN ($1, $2)", ids[2], ids[5]); err != nil {
				t.Fatal(err)
			}
			if config.URL == "" {
				err = open.Commit() // there is one writer
			} else {
				go func() {
					blocked(t, db)
					if err := open.Commit(); err != nil {
						t.Error(err)
					}
				}()
			}
			if err != nil {
				t.Fatal(err)
			}
		}}, s)
		if err := room.Finish(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if got := indexed(t, s, "said"); len(got) != 8 {
			t.Errorf("the index has %d", got)
		}
		sound(t, s)
	})
}

// picky is a store that refuses the words of one message, for ever.
type picky struct {
	*store.Store

	poison int64
}

func (p picky) AddToIndex(ctx context.Context, from ledger.IndexMark, upTo int64, entries []ledger.IndexEntry) error {
	for _, entry := range entries {
		if entry.MessageID == p.poison && len(entry.Tokens) > 4 {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "too much")
		}
	}
	return p.Store.AddToIndex(ctx, from, upTo, entries)
}

// A message that the database does not take into the index is left out, and all the others
// are found.
func TestAMessageThatIsRefusedStopsNothing(t *testing.T) {
	s := storetest.Open(t)
	ids := say(t, s, newThread(t, s, "one"), numbered(130)...)
	var log bytes.Buffer
	room := search.New(search.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, picky{s, ids[60]})
	if err := room.Finish(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := indexed(t, s, "said"); len(got) != 129 || slices.Contains(got, ids[60]) {
		t.Errorf("the index has %d", len(got))
	}
	if said := log.String(); strings.Count(said, "cannot be indexed") != 1 || !strings.Contains(said, "message="+strconv.FormatInt(ids[60], 10)) {
		t.Errorf("said: %s", said)
	}
}

// Who read before somebody else moved the index on, or began it anew, adds nothing to it.
func TestNobodyAddsToAnIndexThatHasMovedOn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		ids := say(t, s, newThread(t, s, "one"), numbered(2)...)
		if err := s.ResetIndex(ctx, search.Rules); err != nil {
			t.Fatal(err)
		}
		entry := []ledger.IndexEntry{{MessageID: ids[0], Tokens: []string{"said"}}}
		begun := must[ledger.IndexMark](t)(s.IndexMark(ctx))
		if err := s.AddToIndex(ctx, begun, ids[0], entry); err != nil {
			t.Fatal(err)
		}
		refused := func(what string, from ledger.IndexMark) {
			t.Helper()
			if err := s.AddToIndex(ctx, from, ids[1], []ledger.IndexEntry{{MessageID: ids[1], Tokens: []string{"said"}}}); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict {
				t.Errorf("%s: %v", what, err)
			}
		}
		refused("from where it was", begun)
		if err := s.ResetIndex(ctx, search.Rules); err != nil {
			t.Fatal(err)
		}
		refused("before it was begun anew", begun)
		other := must[ledger.IndexMark](t)(s.IndexMark(ctx))
		other.Rules++
		refused("by other rules", other)
		if got := indexed(t, s, "said"); len(got) != 0 {
			t.Errorf("the index has %d", got)
		}
	})
}

// blocked waits until somebody in the database waits for a lock of another.
func blocked(t *testing.T, db *sql.DB) {
	late := time.After(10 * time.Second)
	for waiting := 0; waiting == 0; {
		if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting); err != nil {
			t.Error(err)
			return
		}
		select {
		case <-late:
			t.Error("nobody waits")
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Wherever the indexer is killed, it goes on from there: nothing is missing, nothing twice.
func TestTheIndexSurvivesAKillAtAnyPoint(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		ids := say(t, s, newThread(t, s, "one"), numbered(200)...)
		slices.Reverse(ids)
		killed := errors.New("killed")
		for kills := 0; ; kills++ {
			points, dead := 0, false
			room := search.New(search.Config{Fault: func(string) {
				if points++; points == kills%7+1 && kills < 40 {
					dead = true
					panic(killed)
				}
			}}, s)
			func() {
				defer func() {
					if cause := recover(); cause != nil && cause != any(killed) {
						panic(cause)
					}
				}()
				if err := room.Begin(ctx); err != nil {
					t.Fatal(err)
				}
				for more := true; more; {
					var err error
					if more, err = room.StepBesideTurns(ctx); err != nil {
						t.Fatal(err)
					}
				}
			}()
			if got := all(t, room, pluginsdk.SearchQuery{Text: "said", Order: pluginsdk.SearchNewest}, 100); !slices.Equal(got, ids) {
				t.Fatalf("after %d kills a search finds %d of %d", kills, len(got), len(ids))
			}
			if kills == 3 { // in the middle of it all
				if err := s.ResetIndex(ctx, search.Rules); err != nil {
					t.Fatal(err)
				}
			}
			if !dead {
				break
			}
		}
		if got := indexed(t, s, "said"); !slices.Equal(got, ids) {
			t.Errorf("the index has %d, want %d", len(got), len(ids))
		}
		sound(t, s)
	})
}

// On Postgres a message can appear below one that is there already. The indexer does not
// go past it.
func TestTheIndexerWaitsForWhatIsCommittedLate(t *testing.T) {
	config := storetest.Postgres(t)
	s := storetest.OpenConfig(t, config)
	ctx := context.Background()
	slow, fast := newThread(t, s, "slow"), newThread(t, s, "fast")
	late, err := database(t, config).BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.ExecContext(ctx, `INSERT INTO messages (thread_id, role, kind, source, content, created_at)
		VALUES ($1, 'user', 'text', 'web', 'said late', now())`, slow); err != nil {
		t.Fatal(err)
	}
	ids := say(t, s, fast, "said early")
	room := search.New(search.Config{}, s)
	patience, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if err := room.Finish(patience, nil); err == nil {
		t.Error("the indexer has not waited for a transaction that writes")
	}
	if got := indexed(t, s, "said"); len(got) != 0 {
		t.Errorf("the index has %d although an older message can still appear", got)
	}
	if got := all(t, room, pluginsdk.SearchQuery{Text: "said"}, 10); !slices.Equal(got, ids) {
		t.Errorf("a search finds %d", got)
	}
	if err := late.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := room.Finish(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if got := indexed(t, s, "said"); len(got) != 2 {
		t.Errorf("the index has %d, want both", got)
	}
}

// database is a connection of the test's own.
func database(t testing.TB, config store.Config) *sql.DB {
	t.Helper()
	driver, address := "postgres", config.URL
	if address == "" {
		driver, address = "sqlite", filepath.Join(config.Dir, "harness.db")
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// While people talk, others search, and an operator has the index made anew, every search
// finds all that had been said when it began.
func TestSearchingWhileTheIndexIsWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		room := started(t, search.Config{Delay: time.Millisecond, Sweep: time.Hour}, s)
		var mu sync.Mutex
		said := 0
		var group sync.WaitGroup
		for _, name := range []string{"one", "two", "three"} {
			thread := newThread(t, s, name)
			group.Go(func() {
				for i := range 150 {
					say(t, s, thread, "word "+strconv.Itoa(i))
					mu.Lock()
					said++
					mu.Unlock()
					room.Wake()
				}
			})
		}
		for i := range 20 {
			if i%10 == 5 {
				if err := s.ResetIndex(ctx, search.Rules); err != nil {
					t.Error(err)
				}
			}
			mu.Lock()
			least := said
			mu.Unlock()
			got := all(t, room, pluginsdk.SearchQuery{Text: "WORD", Order: pluginsdk.SearchNewest}, 100)
			if len(got) < least {
				t.Errorf("%d found, although %d had been said", len(got), least)
			}
			if !slices.IsSortedFunc(got, func(a, b int64) int { return int(b - a) }) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("not the newest first, or one twice: %d", got)
			}
		}
		group.Wait()
	})
}

// An index that was made by other rules is not asked, and is made anew.
func TestOtherRulesMakeTheIndexAnew(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "one")
		ids := say(t, s, thread, "Grüße")
		if err := s.ResetIndex(ctx, search.Rules+1); err != nil {
			t.Fatal(err)
		}
		mark := must[ledger.IndexMark](t)(s.IndexMark(ctx))
		if err := s.AddToIndex(ctx, mark, ids[0], []ledger.IndexEntry{{MessageID: ids[0], Tokens: []string{"grueße"}}}); err != nil {
			t.Fatal(err)
		}
		room := search.New(search.Config{}, s)
		query := pluginsdk.SearchQuery{Text: "GRÜSSE"}
		if got := all(t, room, query, 10); !slices.Equal(got, ids) {
			t.Errorf("before: found %d", got)
		}
		if err := room.Finish(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if got := indexed(t, s, "grueße"); len(got) != 0 {
			t.Errorf("tokens by other rules are still there: %d", got)
		}
		if got := indexed(t, s, "grusse"); !slices.Equal(got, ids) {
			t.Errorf("indexed %d", got)
		}
	})
}
