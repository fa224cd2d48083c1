package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// state is what the search index of an installation does while turns are taken.
type state struct {
	name    string
	volume  volume
	prepare func(f *filled) error // while the daemon is down
	*filled
	sequence *sequence
}

// indexing measures turns of three installations, in alternation: one whose search index
// stands still, one whose index follows what is said, and one that makes the index of much
// that was said before.
func (b *bench) indexing() error {
	for _, database := range b.databases() {
		if err := b.indexingOn(database); err != nil {
			return fmt.Errorf("%s: %w", database.name, err)
		}
	}
	return nil
}

func (b *bench) indexingOn(database database) (err error) {
	much := b.volume.part(4)
	states := []*state{
		{name: "index stands still", volume: much.onePage(), prepare: (*filled).holdIndex},
		{name: "index follows", volume: much.onePage(), prepare: (*filled).reindex},
		{name: "index is made", volume: much, prepare: func(*filled) error { return nil }},
	}
	for _, s := range states {
		if s.filled, err = b.openFilled(database, s.volume, s.prepare); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		s.sequence = &sequence{client: s.client, thread: s.landmarks.ordinary[0]}
		if err := s.sequence.turns(warmUp); err != nil {
			return err
		}
	}
	const indexed, newest = "SELECT message_id FROM message_index_marks WHERE id = 1", "SELECT MAX(id) FROM messages"
	making, from := states[2], int64(0)
	for from == 0 { // the indexer waits for a moment before it begins
		if err := making.sequence.turns(warmUp); err != nil {
			return err
		}
		if from, err = making.number(indexed); err != nil {
			return err
		}
	}
	for _, s := range states {
		s.sequence.times = stopwatch{}
	}
	began, took, upTo := time.Now(), time.Duration(0), from
	whole := 0 // turns of each that were taken while the index was made
	for round := range rounds {
		for n := range states {
			if err := states[(n+round)%len(states)].sequence.turns(4 * b.turns / rounds); err != nil {
				return err
			}
		}
		at, err := making.number(indexed)
		if err != nil {
			return err
		}
		all, err := making.number(newest)
		if err != nil {
			return err
		}
		if at >= all && whole == 0 {
			return fmt.Errorf("the index of %d messages was made before the turns were over: they were beside nothing", all)
		}
		if at >= all {
			break
		}
		whole, upTo, took = whole+4*b.turns/rounds, at, time.Since(began)
	}
	for _, s := range states {
		s.sequence.times.committed = s.sequence.times.committed[:whole]
	}
	still := states[0].sequence.times.committed
	for _, s := range states {
		times := s.sequence.times.committed
		b.row(database.name+": "+s.name+", POST -> reply committed", "%s; p50 x%.2f", spread(times),
			float64(quantile(times, 0.5))/float64(quantile(still, 0.5)))
	}
	b.row(database.name+": index is made", "%.0f messages a second meanwhile", float64(upTo-from)/took.Seconds())
	return nil
}

// reindex makes the search index, as an operator does.
func (f *filled) reindex() error {
	command := exec.Command(f.Program, "db", "reindex", "--data", f.Dir)
	command.Env = append(command.Environ(), f.database.env...)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("db reindex: %w\n%s", err, output)
	}
	return nil
}

// holdIndex makes the daemon find that everything is indexed that will ever be said.
func (f *filled) holdIndex() error {
	if err := f.reindex(); err != nil {
		return err
	}
	_, err := f.number(fmt.Sprintf("UPDATE message_index_marks SET message_id = %d WHERE id = 1 RETURNING 1", int64(1)<<62))
	return err
}

// number is what a statement returns.
func (f *filled) number(statement string) (n int64, err error) {
	db, err := f.database.open(f.Dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.QueryRowContext(context.Background(), statement).Scan(&n)
	return n, err
}
