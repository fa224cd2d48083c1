package discord

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	seenPrefix = "seen/" // and a channel's id: the last message that was dealt with there
	aliveKey   = "alive" // a snowflake of when the bot was last known to be connected
	seenPause  = 5 * time.Second
	pageSize   = 1000
)

// seen is up to which message each channel was read. It is written a few seconds late:
// what is read again has the key that it had, so that nothing comes of it but the reading.
type seen struct {
	state pluginsdk.State
	log   *slog.Logger

	mu    sync.Mutex
	ids   map[string]string // by channel
	dirty map[string]bool   // channels whose id is not stored yet
	alive string
	timer *time.Timer // nil: nothing is to be written
}

// readSeen reads what is stored.
func readSeen(ctx context.Context, state pluginsdk.State, log *slog.Logger) (*seen, error) {
	s := &seen{state: state, log: log, ids: make(map[string]string), dirty: make(map[string]bool)}
	for after := ""; ; {
		page, err := state.List(ctx, &pluginsdk.ListStateRequest{Prefix: seenPrefix, After: after, Limit: pageSize})
		if err != nil {
			return nil, err
		}
		for _, entry := range page.Entries {
			s.ids[strings.TrimPrefix(entry.Key, seenPrefix)] = string(entry.Value)
			after = entry.Key
		}
		if !page.More {
			break
		}
	}
	entry, err := state.Get(ctx, &pluginsdk.GetStateRequest{Key: aliveKey})
	switch {
	case err == nil:
		s.alive = string(entry.Entry.Value)
	case pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound:
		return nil, err
	}
	return s, nil
}

// after is the message behind which a channel has not been read; base for one that never
// was.
func (s *seen) after(channel, base string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := s.ids[channel]; ok {
		return id
	}
	return base
}

// base is from where on a channel is read that never was: from when the bot was last
// connected. Empty: it never was.
func (s *seen) base() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alive
}

// channels are those that were ever read.
func (s *seen) channels() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.ids {
		ids = append(ids, id)
	}
	return ids
}

// mark notes that a message of a channel was dealt with.
func (s *seen) mark(channel, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !wire.Later(id, s.ids[channel]) {
		return
	}
	s.ids[channel], s.dirty[channel] = id, true
	if s.timer == nil {
		s.timer = time.AfterFunc(seenPause, func() { s.flush(context.Background()) })
	}
}

// begin notes, of a channel that was never read, that it is read from a message on, so
// that this one is not missed should the plugin die before it is dealt with.
func (s *seen) begin(channel, id string) {
	s.mu.Lock()
	_, known := s.ids[channel]
	s.mu.Unlock()
	if !known {
		s.mark(channel, wire.Before(id))
	}
}

// live notes that the bot is connected now, after all that was read before.
func (s *seen) live(ctx context.Context) {
	s.flush(ctx)
	s.mu.Lock()
	now := wire.IDAt(time.Now())
	s.alive = now
	s.mu.Unlock()
	s.put(ctx, aliveKey, now)
}

// flush writes what is not stored yet.
func (s *seen) flush(ctx context.Context) {
	s.mu.Lock()
	written := make(map[string]string, len(s.dirty))
	for channel := range s.dirty {
		written[channel] = s.ids[channel]
	}
	s.timer = nil
	clear(s.dirty)
	s.mu.Unlock()
	for channel, id := range written {
		s.put(ctx, seenPrefix+channel, id)
	}
}

func (s *seen) put(ctx context.Context, key, id string) {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	if _, err := s.state.Put(ctx, &pluginsdk.PutStateRequest{Key: key, Value: []byte(id)}); err != nil {
		s.log.Warn("how far Discord was read is not stored; more is read again after the next start", "key", key, "err", err)
	}
}
