package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/search"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// searchAim and searchAimP99 are how long a search may take.
	searchAim    = 50 * time.Millisecond
	searchAimP99 = 500 * time.Millisecond
	searchDays   = 1000 // over which what was said is spread
)

func figureSearch(database string) string    { return database + ": search, p50" }
func figureSearchP99(database string) string { return database + ": search, p99" }

// searches measures a written mix of queries where much was said, and turns while the index
// is made.
func (b *bench) searches() error {
	for _, database := range b.databases() {
		if err := b.searchesOn(database); err != nil {
			return fmt.Errorf("%s: %w", database.name, err)
		}
		if err := b.table.Flush(); err != nil { // the next one takes minutes
			return err
		}
	}
	return nil
}

// language makes up what people say: words as often as in a language (Zipf), a tenth of it
// Chinese.
type language struct {
	random *rand.Rand
	ranks  *rand.Zipf
}

func newLanguage(seed uint64) language {
	random := rand.New(rand.NewPCG(seed, 7))
	return language{random, rand.NewZipf(random, 1.05, 4, 60_000)}
}

// word is the word of a rank; 0 is the commonest.
func word(rank uint64) string {
	var b strings.Builder
	for n := rank + 1; n > 0; n /= 40 {
		b.WriteByte("bdfgklmnprstvz"[n%40%14])
		b.WriteByte("aeiou"[n%40%5])
		if n%40 > 25 {
			b.WriteByte('n')
		}
	}
	return b.String()
}

func character(rank uint64) rune { return rune(0x4E00 + rank%3000) }

func (l language) text(words int) string {
	var b strings.Builder
	chinese := l.random.IntN(10) == 0
	for i := range words {
		if chinese {
			b.WriteRune(character(l.ranks.Uint64()))
			continue
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word(l.ranks.Uint64()))
	}
	return b.String()
}

// said makes up n messages, in 200 threads, over searchDays.
func said(n int, store func(thread, role, text string, at time.Time) error) error {
	l := newLanguage(1)
	begin := time.Now().Add(-searchDays * 24 * time.Hour)
	for i := range n {
		role, words := "user", 3+l.random.IntN(20)
		if i%2 == 1 {
			role, words = "assistant", 10+l.random.IntN(50)
		}
		at := begin.Add(time.Duration(float64(i) / float64(n) * searchDays * 24 * float64(time.Hour)))
		if err := store(searchThread(i%200), role, l.text(words), at); err != nil {
			return err
		}
	}
	return nil
}

func searchThread(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }

// talk fills the messages of a database that has its schema.
func talk(ctx context.Context, db *sql.DB, postgres bool, n int) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	for i := range 200 {
		if _, err := tx.ExecContext(ctx, "INSERT INTO threads (id, source, source_id, name, last_activity, created_at) VALUES ($1, 'web', $1, $1, $2, $2)",
			searchThread(i), time.Now().UTC().Format("2006-01-02 15:04:05")); err != nil {
			return err
		}
	}
	insert := "INSERT INTO messages (thread_id, role, kind, source, content, created_at) VALUES ($1, $2, $3, $4, $5, $6)"
	if postgres {
		insert = "COPY messages (thread_id, role, kind, source, content, created_at) FROM STDIN"
	}
	statement, err := tx.PrepareContext(ctx, insert) //nolint:sqlclosecheck // closed below, with the transaction at the latest
	if err != nil {
		return err
	}
	defer statement.Close()
	if err := said(n, func(thread, role, text string, at time.Time) error {
		_, err := statement.ExecContext(ctx, thread, role, "text", "web", text, at.UTC().Format("2006-01-02 15:04:05.000000+00:00"))
		return err
	}); err != nil {
		return err
	}
	if postgres {
		if _, err := statement.ExecContext(ctx); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// mix is what is searched: a name, and a query of which the nth is made.
var mix = []struct {
	name  string
	query func(l language, n int) pluginsdk.SearchQuery
}{
	{"a common word", func(_ language, n int) pluginsdk.SearchQuery { return text(word(uint64(n % 10))) }},
	{"a common word, the newest", func(_ language, n int) pluginsdk.SearchQuery { return newest(text(word(uint64(n % 10)))) }},
	{"a word of some messages", func(_ language, n int) pluginsdk.SearchQuery { return text(word(uint64(1000 + 37*n))) }},
	{"a rare word", func(_ language, n int) pluginsdk.SearchQuery { return text(word(uint64(30_000 + 997*n))) }},
	{"a word that nobody said", func(_ language, n int) pluginsdk.SearchQuery { return text(fmt.Sprintf("xyzzy%d", n)) }},
	{"two words, a common and a rarer one", func(_ language, n int) pluginsdk.SearchQuery {
		return text(word(uint64(n%20)) + " " + word(uint64(500+71*n)))
	}},
	{"three words", func(_ language, n int) pluginsdk.SearchQuery {
		return text(word(uint64(50+n)) + " " + word(uint64(200+n)) + " " + word(uint64(20+n)))
	}},
	{"a phrase of common words", func(_ language, n int) pluginsdk.SearchQuery {
		return text(`"` + word(uint64(n%7)) + " " + word(uint64(10+n%9)) + `"`)
	}},
	{"a phrase of rarer words", func(_ language, n int) pluginsdk.SearchQuery {
		return text(`"` + word(uint64(100+n)) + " " + word(uint64(150+3*n)) + `"`)
	}},
	{"the beginning of a word, 3 letters", func(_ language, n int) pluginsdk.SearchQuery { return text(word(uint64(2000 + 611*n))[:3] + "*") }},
	{"the beginning of a word, 4 letters, the newest", func(_ language, n int) pluginsdk.SearchQuery {
		return newest(text(word(uint64(2000 + 613*n))[:4] + "*"))
	}},
	{"a common word in a thread", func(_ language, n int) pluginsdk.SearchQuery {
		q := text(word(uint64(n % 10)))
		q.ThreadIDs = []string{searchThread(n % 200)}
		return q
	}},
	{"a common word, said by people in a week of the past", func(_ language, n int) pluginsdk.SearchQuery {
		q := text(word(uint64(n % 10)))
		q.Roles = []pluginsdk.Role{pluginsdk.RoleUser}
		q.Since = time.Now().AddDate(0, 0, -searchDays+30*n)
		q.Until = q.Since.AddDate(0, 0, 7)
		return q
	}},
	{"a word of two characters", func(_ language, n int) pluginsdk.SearchQuery {
		return text(string([]rune{character(uint64(n % 40)), character(uint64(5 + n%60))}))
	}},
	{"one character", func(_ language, n int) pluginsdk.SearchQuery { return text(string(character(uint64(50 + 13*n)))) }},
	{"a sentence", func(l language, n int) pluginsdk.SearchQuery { return text(l.text(12)) }},
}

func text(words string) pluginsdk.SearchQuery { return pluginsdk.SearchQuery{Text: words} }

func newest(q pluginsdk.SearchQuery) pluginsdk.SearchQuery {
	q.Order = pluginsdk.SearchNewest
	return q
}

func (b *bench) searchesOn(database database) (err error) {
	ctx := context.Background()
	database, drop, err := database.fresh()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "harness-bench-search")
	if err != nil {
		return errors.Join(err, drop())
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir), drop()) }()
	opened, err := store.Open(ctx, store.Config{URL: database.url, Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	db, err := database.open(dir)
	if err != nil {
		return err
	}
	defer db.Close()
	began := time.Now()
	if err := talk(ctx, db, database.url != "", b.volume.messages()); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	filled := time.Since(began)
	before, err := opened.Status(ctx)
	if err != nil {
		return err
	}
	room := search.New(search.Config{}, opened)
	began = time.Now()
	if err := room.Reindex(ctx, nil); err != nil {
		return err
	}
	indexed := time.Since(began)
	if _, err := db.ExecContext(ctx, "ANALYZE"); err != nil {
		return err
	}
	after, err := opened.Status(ctx)
	if err != nil {
		return err
	}
	b.row(database.name, "%d messages, filled in %v, indexed in %v (%.0f a second); %d MB, with the index %d MB", b.volume.messages(),
		filled.Round(time.Second), indexed.Round(time.Second), float64(b.volume.messages())/indexed.Seconds(), before.Bytes>>20, after.Bytes>>20)
	var all []time.Duration
	l := newLanguage(2)
	for _, of := range mix {
		var times []time.Duration
		hits := 0
		for n := range b.searching {
			began := time.Now()
			found, err := room.Search(ctx, of.query(l, n))
			if err != nil {
				return fmt.Errorf("%s: %w", of.name, err)
			}
			times = append(times, time.Since(began))
			hits += len(found.Hits)
		}
		b.row(database.name+": "+of.name, "%s; %.1f hits", spread(times), float64(hits)/float64(b.searching))
		all = append(all, times...)
	}
	b.row(database.name+": all of these", "%s (aims: p50 %v, p99 %v)", spread(all), searchAim, searchAimP99)
	b.note(figureSearch(database.name), ms(quantile(all, 0.5)), "ms")
	b.note(figureSearchP99(database.name), ms(quantile(all, 0.99)), "ms")
	return nil
}
