package pluginhost

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
)

// confinement is whether a plugin is in quarantine.
type confinement struct {
	reason string // empty: it is not
	stored bool   // the row says so as well
	at     int64  // the reading of the registry at which it was stored
}

// follow takes over what a row of the reading says. A row that was read before
// the quarantine was stored does not end it.
func (c *confinement) follow(row string, reading int64) {
	switch {
	case row != "":
		*c = confinement{reason: row, stored: true, at: reading}
	case c.stored && reading > c.at:
		*c = confinement{}
	}
}

// tooOften counts a failure, and reports whether there were too many.
func (s *supervisor) tooOften() bool {
	now := time.Now()
	s.recent = append(s.recent, now)
	for len(s.recent) > 0 && now.Sub(s.recent[0]) > s.config.Window {
		s.recent = s.recent[1:]
	}
	return len(s.recent) >= s.config.Failures
}

// quarantine ends the restarts of a plugin that failed too often, the last time so.
func (s *supervisor) quarantine(ctx context.Context, words string) {
	reason := fmt.Sprintf("it failed %d times within %s, the last time: %s", len(s.recent), s.config.Window, words)
	if tail := s.tail(); tail != "" {
		reason += "\nIts log ends with:\n" + tail
	}
	s.recent = nil
	s.confined = confinement{reason: reason}
	s.report.setQuarantine(reason)
	s.storeQuarantine(ctx)
	s.log.Error("plugin is in quarantine: it is not started any more until an operator enables it or installs another version",
		"why", words)
	say := s.quarantineSaid()
	say.restarts = 1
	s.move(onConfined, say)
}

// holdBack waits while the plugin is in quarantine.
func (s *supervisor) holdBack(ctx context.Context) {
	if s.confined.reason == "" {
		s.start(ctx, onFreed)
		return
	}
	s.storeQuarantine(ctx)
	if row := s.wanted; row.Generation != s.reached {
		s.reached = row.Generation // nothing more becomes of what is wanted now
		s.report.note(func(seen *ledger.PluginSeen) { seen.Rejected, seen.Settled = row.SHA256, row.Generation })
	}
	select {
	case <-s.wake:
	case <-ctx.Done():
	}
}

// storeQuarantine stores a quarantine that the row does not have yet. What cannot be
// stored holds, and is stored later.
func (s *supervisor) storeQuarantine(ctx context.Context) {
	if s.confined.reason == "" || s.confined.stored {
		return
	}
	reading, err := s.hands.confine(ctx, s.confined.reason)
	if err != nil {
		s.log.Warn("quarantine of a plugin cannot be stored; trying again", "err", err)
		return
	}
	s.confined.stored, s.confined.at = true, reading
}

// quarantineLines is how much of a plugin's log is kept with its quarantine.
const quarantineLines = 20

// tail is the end of the plugin's log.
func (i *Instance) tail() string {
	lines, err := i.host.Logs(context.Background(), i.name, quarantineLines)
	if err != nil {
		i.log.Warn("log of a plugin cannot be read", "err", err)
	}
	var text strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&text, "%s %s\n", line.Level, cut(line.Text, maxFailureWords))
	}
	return strings.TrimSuffix(text.String(), "\n")
}
