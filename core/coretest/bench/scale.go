package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	threadPage  = 100 // threads in a page, the API's default
	historyPage = 50
	// scaleAim is how many times as long a full database may take.
	scaleAim = 1.5
)

// scale compares a full database with one that just fills a page of each kind,
// request by request, so that both see the same machine.
func (b *bench) scale() error {
	for _, database := range b.databases() {
		if err := b.scaleOn(database); err != nil {
			return fmt.Errorf("%s: %w", database.name, err)
		}
	}
	return nil
}

func (b *bench) scaleOn(database database) (err error) {
	small, err := b.openFilled(database, b.volume.onePage(), (*filled).reindex)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, small.close()) }()
	full, err := b.openFilled(database, b.volume, (*filled).reindex)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, full.close()) }()
	b.row(database.name, "%v, beside %v; filled in %v", full.volume, small.volume, full.filling.Round(time.Second))
	b.row(database.name+": start -> healthy", "empty %v, full %v", small.Boot.Round(time.Millisecond), full.Boot.Round(time.Millisecond))
	for _, page := range pages {
		var times [2][]time.Duration
		for n := range warmUp + b.pages {
			for i, f := range []*filled{small, full} {
				took, err := f.read(page, n)
				if err != nil {
					return err
				}
				times[i] = append(times[i], took)
			}
		}
		b.compare(database.name+": "+page.name, times[0][warmUp:], times[1][warmUp:])
	}
	for _, in := range []struct {
		name        string
		skip, turns int
		thread      func(m landmarks, n int) string
	}{
		{"ordinary threads, first turn", 0, walk, func(m landmarks, n int) string { return m.ordinary[n] }},
		{"ordinary thread, warm turn", warmUp, b.pages, func(m landmarks, _ int) string { return m.ordinary[0] }},
		{"hot thread, warm turn", warmUp, b.pages, func(m landmarks, _ int) string { return m.hot }},
	} {
		if err := b.compareTurns(database.name+": "+in.name, small, full, in.skip, in.turns, in.thread); err != nil {
			return err
		}
	}
	return nil
}

// compareTurns takes so many turns of both, one after the other, in the nth turn's
// thread; the first skip of them do not count.
func (b *bench) compareTurns(name string, small, full *filled, skip, turns int, thread func(landmarks, int) string) error {
	both := []*sequence{{client: small.client}, {client: full.client}}
	for n := range skip + turns {
		for i, f := range []*filled{small, full} {
			s := both[i]
			s.thread = thread(f.landmarks, n%walk)
			if n == skip {
				s.times = stopwatch{}
			}
			if err := s.turns(1); err != nil {
				return err
			}
		}
	}
	b.compare(name+", POST -> 202", both[0].times.accepted, both[1].times.accepted)
	b.compare(name+", POST -> reply committed", both[0].times.committed, both[1].times.committed)
	return nil
}

func (b *bench) compare(name string, empty, full []time.Duration) {
	at := func(times []time.Duration, q float64) time.Duration {
		return quantile(times, q).Round(10 * time.Microsecond)
	}
	b.row(name, "empty p50 %v, p99 %v; full p50 %v, p99 %v; p50 x%.2f (aim x%.1f)", at(empty, 0.5), at(empty, 0.99),
		at(full, 0.5), at(full, 0.99), float64(quantile(full, 0.5))/float64(quantile(empty, 0.5)), scaleAim)
}

// page is a request that lists something, at the nth place of the walk.
type page struct {
	name string
	want int // rows
	path func(m landmarks, n int) string
}

var pages = []page{
	{"threads, first page", threadPage, func(landmarks, int) string { return "/api/threads" }},
	{"threads, pages along the list", threadPage, func(m landmarks, n int) string { return "/api/threads?after=" + m.after[n] }},
	{"history, hot thread, newest", historyPage, func(m landmarks, _ int) string { return history(m.hot, "last=true") }},
	{"history, hot thread, pages along it", historyPage, func(m landmarks, n int) string {
		return history(m.hot, fmt.Sprintf("last=true&before=%d", m.before[n]))
	}},
	{"history, ordinary threads, newest", historyPage, func(m landmarks, n int) string { return history(m.ordinary[n], "last=true") }},
	{"runs, hot thread", historyPage, func(m landmarks, _ int) string {
		return fmt.Sprintf("/api/threads/%s/runs?limit=%d", m.hot, historyPage)
	}},
}

func history(thread, query string) string {
	return fmt.Sprintf("/api/threads/%s/messages?limit=%d&%s", thread, historyPage, query)
}

// read times a page, and makes sure that it is a full one.
func (f *filled) read(page page, n int) (time.Duration, error) {
	path := page.path(f.landmarks, n%walk)
	began := time.Now()
	body, err := f.client.get(path)
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	var answer struct{ Threads, Messages, Runs []json.RawMessage }
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, fmt.Errorf("GET %s: %w", path, err)
	}
	if got := len(answer.Threads) + len(answer.Messages) + len(answer.Runs); got != page.want {
		return 0, fmt.Errorf("GET %s: %d rows; want %d", path, got, page.want)
	}
	return took, nil
}

// filled is an installation with rows in its database, and a client of it.
type filled struct {
	*installation
	database  database
	volume    volume
	filling   time.Duration
	landmarks landmarks
	client    *client
	drop      func() error
}

// openFilled lets a daemon make the schema, fills it, has it prepared, and starts the daemon.
func (b *bench) openFilled(database database, volume volume, prepare func(*filled) error) (f *filled, err error) {
	database, drop, err := database.fresh()
	if err != nil {
		return nil, err
	}
	f = &filled{database: database, volume: volume, drop: drop}
	if f.installation, err = startFrom(b.bin, database.env); err != nil {
		return nil, errors.Join(err, drop())
	}
	if err := f.restart(prepare); err != nil {
		return nil, errors.Join(err, f.Kill(), f.remove())
	}
	return f, nil
}

// restart fills the database while the daemon is down.
func (f *filled) restart(prepare func(*filled) error) (err error) {
	if err := f.Down(); err != nil {
		return err
	}
	began := time.Now()
	if f.landmarks, err = f.volume.fill(f.database, f.Dir); err != nil {
		return err
	}
	f.filling = time.Since(began)
	if err := prepare(f); err != nil {
		return err
	}
	if err := f.up(f.database.env); err != nil {
		return err
	}
	f.client, err = f.connect()
	return err
}

func (f *filled) close() error {
	_ = f.client.socket.Close()
	return errors.Join(f.Down(), f.remove())
}

func (f *filled) remove() error { return errors.Join(os.RemoveAll(f.Dir), f.drop()) }
