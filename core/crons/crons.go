// Package crons tells plugins when the rows of scheduled jobs have changed, whoever has written
// them: a command, the API, or an operator by SQL. So no plugin has to ask for that.
package crons

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is what the room needs of the database.
type Store interface {
	// Version is another one once anybody has committed something; known is false when
	// that cannot be told.
	Version(ctx context.Context) (version int64, known bool)
	// CronsMark is another one once a job was made, changed, turned on or off, or removed.
	CronsMark(ctx context.Context) (string, error)
}

// Events is where the room tells it.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
}

// Config is how the room looks.
type Config struct {
	Every time.Duration // how often the rows are looked at; default 1 s
	Log   *slog.Logger
}

// Watch looks at the rows of scheduled jobs.
type Watch struct {
	config Config
	store  Store
	events Events
	loop   guard.Loop

	version int64 // of the database, before mark was read; 0: not known
	mark    string
	read    bool // mark was read once
}

// New returns a watch that does not look yet.
func New(config Config, store Store, events Events) *Watch {
	if config.Every <= 0 {
		config.Every = time.Second
	}
	return &Watch{config: config, store: store, events: events}
}

// Start begins to look. What changes after it has returned is told.
func (w *Watch) Start(ctx context.Context) error {
	if err := w.look(ctx); err != nil {
		return err
	}
	w.loop.Start(ctx, w.follow)
	return nil
}

// Stop looks no more.
func (w *Watch) Stop(context.Context) error {
	w.loop.Stop()
	return nil
}

func (w *Watch) follow(ctx context.Context) {
	ticker := guard.NewTicker(w.config.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.Next():
		}
		err := guard.Call(w.config.Log, "the watch of scheduled jobs", func() error { return w.look(ctx) })
		if err != nil && ctx.Err() == nil {
			w.config.Log.Warn("it cannot be seen whether scheduled jobs have changed; trying again", "err", err)
		}
	}
}

// look tells of a change since the last look. In a database in which nothing was committed it reads
// nothing.
func (w *Watch) look(ctx context.Context) error {
	version, known := w.store.Version(ctx) // before the rows are read: what is committed meanwhile has them read again
	if known && w.read && version == w.version {
		return nil
	}
	mark, err := w.store.CronsMark(ctx)
	if err != nil {
		return err
	}
	changed := w.read && mark != w.mark
	w.mark, w.read, w.version = mark, true, version
	if changed {
		w.events.Publish(pluginsdk.EventCronChanged, "", pluginsdk.CronPayload{})
	}
	return nil
}
