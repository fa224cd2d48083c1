package discord

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	seenPrefix = "seen/" // and a channel's id: the last message that was dealt with there
	aliveKey   = "alive" // a snowflake: what was written before was dealt with, but for the channels above
	seenPause  = 5 * time.Second
	closeTime  = 2 * time.Second // bounds what is written at the end
	pageSize   = 1000
	// overlap is how far before its mark a channel is read again: two messages that were
	// written in the same moment can be told of in the other order.
	overlap = 10 * time.Second
)

// seen is up to which message each channel was read: its own mark, else that of all. Marks
// are written a few seconds late: what is read again has the key that it had, so that
// nothing comes of it but the reading. Those that the mark of all has overtaken are dropped.
type seen struct {
	state   pluginsdk.State
	log     *slog.Logger
	writing sync.Mutex // held while something is stored, so that it is stored in order

	mu    sync.Mutex
	ids   map[string]string // by channel
	dirty map[string]bool   // channels whose id is not stored yet
	alive string
	timer *time.Timer // nil: nothing is about to be written
}

// readSeen reads what is stored. A bot that never was connected has missed nothing before
// now.
func readSeen(ctx context.Context, state pluginsdk.State, log *slog.Logger) (*seen, error) {
	s := &seen{state: state, log: log, ids: make(map[string]string), dirty: make(map[string]bool), alive: wire.IDAt(time.Now())}
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
		return s, nil
	case pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound:
		return nil, err
	}
	_, err = state.Put(ctx, &pluginsdk.PutStateRequest{Key: aliveKey, Value: []byte(s.alive)})
	return s, err
}

// after is the message behind which a channel has not been read; own reports whether that
// is a mark of its own.
func (s *seen) after(channel string) (id string, own bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, own = s.ids[channel]; own {
		return id, true
	}
	return s.alive, false
}

// before is from where on a channel with a mark is read.
func (s *seen) before(mark string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := wire.IDAt(wire.TimeOf(mark).Add(-overlap))
	if !wire.Later(s.alive, mark) && wire.Later(s.alive, from) {
		return s.alive
	}
	return from
}

// mark notes that a channel was dealt with up to a message.
func (s *seen) mark(channel, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if wire.Later(id, s.ids[channel]) {
		s.note(channel, id)
	}
}

// begin gives a channel a mark of its own, if it has none, at a message or the mark of all.
// With it nothing behind the mark is missed, should the plugin die before it is dealt with.
func (s *seen) begin(channel, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, own := s.ids[channel]; own {
		return
	}
	if id == "" {
		id = s.alive
	}
	s.note(channel, id)
}

// note changes a mark. The caller holds mu.
func (s *seen) note(channel, id string) {
	s.ids[channel], s.dirty[channel] = id, true
	s.later()
}

// later sees to it that what is not stored will be. The caller holds mu.
func (s *seen) later() {
	if s.timer == nil {
		s.timer = time.AfterFunc(seenPause, func() {
			ctx, cancel := context.WithTimeout(context.Background(), hostTime)
			defer cancel()
			s.writing.Lock()
			defer s.writing.Unlock()
			s.flush(ctx)
		})
	}
}

// live notes that all that was written before a moment was dealt with, or is at work in a
// channel that is busy, and has a mark of its own.
func (s *seen) live(ctx context.Context, until time.Time, busy func(channel string) bool) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if !s.flush(ctx) {
		return
	}
	s.mu.Lock()
	alive := wire.IDAt(until)
	if !wire.Later(alive, s.alive) {
		alive = s.alive
	}
	s.mu.Unlock()
	if !s.put(ctx, aliveKey, alive) {
		return
	}
	s.mu.Lock()
	s.alive = alive
	var overtaken []string
	for channel, id := range s.ids {
		if !wire.Later(id, alive) && !s.dirty[channel] && !busy(channel) {
			overtaken = append(overtaken, channel)
			delete(s.ids, channel)
		}
	}
	s.mu.Unlock()
	for _, channel := range overtaken {
		if _, err := s.state.Delete(ctx, &pluginsdk.DeleteStateRequest{Key: seenPrefix + channel}); err != nil {
			s.log.Debug("how far a channel was read is kept for longer than needed", "channel", channel, "err", err)
		}
	}
}

// close writes what is not stored yet. Nothing is marked any more.
func (s *seen) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	s.writing.Lock()
	defer s.writing.Unlock()
	s.flush(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}

// flush writes what is not stored yet, and reports whether it is now. The caller holds
// writing.
func (s *seen) flush(ctx context.Context) bool {
	s.mu.Lock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	dirty := slices.Sorted(maps.Keys(s.dirty))
	s.mu.Unlock()
	for i, channel := range dirty {
		s.mu.Lock()
		id := s.ids[channel]
		delete(s.dirty, channel)
		s.mu.Unlock()
		if s.put(ctx, seenPrefix+channel, id) {
			continue
		}
		s.mu.Lock()
		for _, left := range dirty[i:] {
			s.dirty[left] = true
		}
		s.later()
		s.mu.Unlock()
		return false
	}
	return true
}

func (s *seen) put(ctx context.Context, key, id string) bool {
	if _, err := s.state.Put(ctx, &pluginsdk.PutStateRequest{Key: key, Value: []byte(id)}); err != nil {
		s.log.Warn("how far Discord was read is not stored; more would be read again after a new start", "key", key, "err", err)
		return false
	}
	return true
}
