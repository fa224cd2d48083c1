// Package threads makes, changes, branches and deletes threads, for whoever asks: people by
// the command /thread, plugins and the API through the host. It stores what is asked,
// tells everybody by an event, and removes in the background what a deleted thread has left.
// Whether somebody may is the caller's to check.
package threads

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is what the room needs of the database.
type Store interface {
	CreateThread(ctx context.Context, thread pluginsdk.NewThread) (t pluginsdk.Thread, created bool, err error)
	UpdateThread(ctx context.Context, id string, patch pluginsdk.ThreadPatch) (pluginsdk.Thread, error)
	// PermitThread is UpdateThread, noted in the audit log in the same transaction.
	PermitThread(ctx context.Context, id string, patch pluginsdk.ThreadPatch, who, detail string) (pluginsdk.Thread, error)
	DeleteThread(ctx context.Context, id, who string) (pluginsdk.Thread, error)
	BranchThread(ctx context.Context, branch ledger.Branch) (t pluginsdk.Thread, created bool, err error)
	Removals(ctx context.Context) ([]string, error)
	RemoveThread(ctx context.Context, id string) error
}

// Events publishes what became of threads.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
}

// Config holds what can be set. Zero fields get defaults.
type Config struct {
	// Sweep is how often the room looks for what is to be removed and nobody has told it
	// of; default 1 min. A removal that failed is tried again after RetryBase (default 1 s),
	// and ever more rarely, down to once a Sweep.
	Sweep, RetryBase time.Duration
	Log              *slog.Logger
}

// Room changes threads.
type Room struct {
	config Config
	store  Store
	events Events

	branching  chan struct{} // the place of the one branch that is made at a time
	background guard.Loop    // woken: something is to be removed

	mu     sync.Mutex
	making []string // ids of the branches that are being made: not to be removed
}

// New returns a Room. Its methods work at once; what is left of deleted threads is removed
// from Start on.
func New(config Config, store Store, events Events) *Room {
	if config.Sweep == 0 {
		config.Sweep = time.Minute
	}
	if config.RetryBase == 0 {
		config.RetryBase = time.Second
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Room{config: config, store: store, events: events, branching: make(chan struct{}, 1)}
}

// Create makes a thread, or returns the one that has its source and source id as it is.
func (r *Room) Create(ctx context.Context, thread pluginsdk.NewThread) (made pluginsdk.Thread, created bool, err error) {
	made, created, err = r.store.CreateThread(ctx, thread)
	if err == nil && created {
		r.tell(pluginsdk.EventThreadCreated, made)
	}
	return made, created, err
}

// Update changes the fields of a thread that are set.
func (r *Room) Update(ctx context.Context, id string, patch pluginsdk.ThreadPatch) (pluginsdk.Thread, error) {
	after, err := r.store.UpdateThread(ctx, id, patch)
	if err == nil {
		r.tell(pluginsdk.EventThreadUpdated, after)
	}
	return after, err
}

// Permit is Update for a change of what a thread may do (detail; empty: none), and for one that ends its session. who made
// it, and what it was, is in the audit log if it is made.
func (r *Room) Permit(ctx context.Context, id string, patch pluginsdk.ThreadPatch, who, detail string) (pluginsdk.Thread, error) {
	after, err := r.store.PermitThread(ctx, id, patch, who, detail)
	if err == nil {
		r.tell(pluginsdk.EventThreadUpdated, after)
	}
	return after, err
}

// Delete removes a thread for good. When it returns, nobody finds the thread any more; its
// rows go soon after. One that does not exist is no error. CodeStale: it is the primary one,
// or in use; the error says by what. who is in the audit log.
func (r *Room) Delete(ctx context.Context, id, who string) error {
	gone, err := r.store.DeleteThread(ctx, id, who)
	switch pluginsdk.CodeOf(err) {
	case "":
	case pluginsdk.CodeNotFound:
		return nil
	default:
		return err
	}
	r.tell(pluginsdk.EventThreadDeleted, gone)
	r.background.Wake()
	return nil
}

// Branch makes a thread that has the messages of another up to one of them, or returns the
// one that has its source and source id. One is made at a time.
func (r *Room) Branch(ctx context.Context, branch ledger.Branch) (made pluginsdk.Thread, created bool, err error) {
	select {
	case r.branching <- struct{}{}:
		defer func() { <-r.branching }()
	case <-ctx.Done():
		return made, false, pluginsdk.Errorf(pluginsdk.CodeExhausted, "another thread is being branched; try again when that is done")
	}
	id, err := uuid.NewV7()
	if err != nil {
		return made, false, pluginsdk.Errorf(pluginsdk.CodeInternal, "make a thread's id: %w", err)
	}
	branch.ID = id.String()
	r.mu.Lock()
	r.making = append(r.making, branch.ID)
	r.mu.Unlock()
	made, created, err = r.store.BranchThread(ctx, branch)
	r.mu.Lock()
	r.making = slices.DeleteFunc(r.making, func(id string) bool { return id == branch.ID })
	r.mu.Unlock()
	if err != nil || !created {
		r.background.Wake() // what was copied, if anything
		return made, false, err
	}
	r.tell(pluginsdk.EventThreadCreated, made)
	return made, true, nil
}

func (r *Room) tell(kind pluginsdk.EventType, thread pluginsdk.Thread) {
	r.events.Publish(kind, thread.ID, pluginsdk.ThreadPayload{ThreadID: thread.ID, Name: thread.Name})
}

// Start begins to remove what deleted threads have left, also under an earlier daemon. It
// works until Stop, whatever becomes of ctx.
func (r *Room) Start(ctx context.Context) error {
	r.background.Wake()
	r.background.Start(ctx, r.loop)
	return nil
}

// Stop ends the removal after the transaction under way, and waits for that. The next
// daemon goes on with it.
func (r *Room) Stop(context.Context) error {
	r.background.Stop()
	return nil
}

func (r *Room) loop(ctx context.Context) {
	backoff := guard.Backoff{Base: r.config.RetryBase, Max: r.config.Sweep, Jitter: 0.25}
	failures := 0
	for {
		wait := r.config.Sweep
		if failures > 0 {
			wait = backoff.After(failures)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-r.background.Woken():
		case <-timer.C:
		}
		timer.Stop()
		err := guard.Call(r.config.Log, "the removal of threads", func() error { return r.runOnce(ctx) })
		switch {
		case err == nil:
			failures = 0
		case ctx.Err() == nil:
			failures++
			r.config.Log.Warn("what deleted threads have left cannot be removed; trying again", "err", err)
		}
	}
}

// runOnce removes what deleted threads have left, and what is left of branches that were not
// completed.
func (r *Room) runOnce(ctx context.Context) error {
	ids, err := r.store.Removals(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, id := range ids {
		r.mu.Lock()
		making := slices.Contains(r.making, id)
		r.mu.Unlock()
		if making {
			continue
		}
		began := time.Now()
		if err := r.store.RemoveThread(ctx, id); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", id, err))
			if ctx.Err() != nil {
				break
			}
			continue // one that cannot be removed keeps none of the others here
		}
		r.config.Log.Info("what a thread has left is removed", "thread", id, "took", time.Since(began).Round(time.Millisecond))
	}
	return failed
}
