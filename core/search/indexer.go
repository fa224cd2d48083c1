package search

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A batch is stored in one transaction. Beside turns it is small: SQLite has one writer, and
// a turn's commit waits for it. When nothing else is done, it is larger; on Postgres, whose
// index takes in what was added from time to time, no larger than what is done in seconds.
var (
	besideTurns = batch{messages: 50, bytes: 32 << 10}
	alone       = batch{messages: 500, bytes: 1 << 20}
)

// batch bounds how much is indexed at once.
type batch struct{ messages, bytes int }

// Start begins to follow what is said, and to index what is there from before. It works
// until Stop, whatever becomes of ctx.
func (r *Room) Start(ctx context.Context) error {
	r.indexer.Start(ctx, r.loop)
	return nil
}

// Stop ends after the batch under way.
func (r *Room) Stop(context.Context) error {
	r.indexer.Stop()
	return nil
}

// Wake says that something was said. It waits for nothing.
func (r *Room) Wake() {
	r.indexer.Wake()
}

func (r *Room) loop(ctx context.Context) {
	failures := 0
	for wait := r.config.Delay; ; {
		if !pause(ctx, wait) {
			return
		}
		err := guard.Call(r.config.Log, "index what was said", func() error { return r.follow(ctx) })
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if failures++; failures == 1 {
				r.config.Log.Warn("what was said cannot be indexed now; it is found all the same, and the index follows", "err", err)
			}
			wait = min(time.Duration(failures)*r.config.Delay, r.config.Sweep)
			continue
		}
		failures, wait = 0, r.config.Delay
		select {
		case <-r.indexer.Woken():
		case <-guard.After(r.config.Sweep):
			wait = 0
		case <-ctx.Done():
			return
		}
	}
}

// pause waits; false: the context has ended first.
func pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// follow indexes what there is, and rests after each batch for as long as that took, so
// that what people wait for is not slower than by half.
func (r *Room) follow(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	for {
		began := time.Now()
		more, err := r.step(ctx, besideTurns)
		if err != nil {
			return err
		}
		if !more {
			return r.store.SettleIndex(ctx)
		}
		if !pause(ctx, time.Since(began)) {
			return ctx.Err()
		}
	}
}

// begin empties an index that was made by other rules.
func (r *Room) begin(ctx context.Context) error {
	mark, err := r.store.IndexMark(ctx)
	if err != nil || mark.Rules == Rules {
		return err
	}
	r.config.Log.Info("indexing what was said, from the first message on")
	return r.store.ResetIndex(ctx, Rules)
}

// step indexes one batch and reports whether there is more.
func (r *Room) step(ctx context.Context, size batch) (more bool, err error) {
	mark, err := r.store.IndexMark(ctx)
	if err != nil {
		return false, err
	}
	if mark.Rules != Rules {
		return true, r.begin(ctx)
	}
	horizon, err := r.store.IndexHorizon(ctx)
	if err != nil || horizon <= mark.MessageID {
		return false, err
	}
	r.config.Fault("read")
	var entries []ledger.IndexEntry
	upTo, bytes, seen := horizon, 0, 0
	err = r.store.SaidBetween(ctx, mark.MessageID, horizon+1, false, size.messages, func(said ledger.Said) bool {
		entries = append(entries, ledger.IndexEntry{MessageID: said.ID, CreatedAt: said.CreatedAt, Tokens: tokensOf(said)})
		bytes, seen = bytes+len(said.Content), seen+1
		if bytes >= size.bytes || seen == size.messages {
			upTo, more = said.ID, true
			return false
		}
		return true
	})
	if err != nil {
		return false, err
	}
	r.config.Fault("store")
	err = r.store.AddToIndex(ctx, mark, upTo, entries)
	switch code := pluginsdk.CodeOf(err); {
	case code == pluginsdk.CodeConflict: // somebody else indexes too, or has begun anew
		return true, nil
	case code == pluginsdk.CodeInvalid && len(entries) > 1: // it will always be refused: for which of them?
		return r.step(ctx, batch{messages: 1, bytes: 1})
	case code == pluginsdk.CodeInvalid && len(entries) == 1:
		r.config.Log.Error("a message cannot be indexed, so that no search finds it", "message", entries[0].MessageID, "err", err)
		entries[0].Tokens = entries[0].Tokens[:facetsOf]
		err = r.store.AddToIndex(ctx, mark, upTo, entries)
	}
	r.config.Fault("stored")
	return more, err
}

// Reindex begins the index anew and returns when it is whole. Progress, unless it is nil,
// is told up to which message it has come, and of how many. Nothing else should be done
// with the database meanwhile: turns would wait. A search finds what the index does not
// have yet among the newest messages only.
func (r *Room) Reindex(ctx context.Context, progress func(done, of int64)) error {
	if err := r.store.ResetIndex(ctx, Rules); err != nil {
		return err
	}
	return r.Finish(ctx, progress)
}

// Finish indexes all that there is.
func (r *Room) Finish(ctx context.Context, progress func(done, of int64)) error {
	for more := true; more; {
		var err error
		if more, err = r.step(ctx, alone); err != nil {
			return err
		}
		if progress == nil {
			continue
		}
		mark, err := r.store.IndexMark(ctx)
		if err != nil {
			return err
		}
		newest, err := r.store.NewestMessage(ctx)
		if err != nil {
			return fmt.Errorf("look how much there is to index: %w", err)
		}
		progress(mark.MessageID, newest)
	}
	return r.store.SettleIndex(ctx)
}
