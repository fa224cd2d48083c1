package pluginhost

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
)

// confinement says whether a plugin is in quarantine, and whether its row says so.
type confinement struct {
	reason string // empty: it is in none
	stored bool   // the row has the reason
	at     int64  // the last reading of the registry that began before it was stored
}

// follow takes over the quarantine of a row, of that reading of the registry. A row that
// was read before the quarantine was stored does not end it.
func (c *confinement) follow(row string, reading int64) {
	switch {
	case row != "":
		*c = confinement{reason: row, stored: true, at: reading}
	case c.stored && reading > c.at:
		*c = confinement{}
	}
}

// tooOften counts a failure, and reports whether it is at least the Config.Failures-th
// within Config.Window.
func (s *supervisor) tooOften() bool {
	now := time.Now()
	s.recent = append(s.recent, now)
	for len(s.recent) > 0 && now.Sub(s.recent[0]) > s.config.Window {
		s.recent = s.recent[1:]
	}
	return len(s.recent) >= s.config.Failures
}

// quarantine puts the plugin in quarantine. words is its last failure.
func (s *supervisor) quarantine(ctx context.Context, words string) {
	reason := fmt.Sprintf("it failed %d times within %s, the last time: %s", len(s.recent), s.config.Window, words)
	if tail := s.tail(); tail != "" {
		reason += "\nIts log ends with:\n" + tail
	}
	s.recent = nil
	s.confined = confinement{reason: reason}
	s.report.setQuarantine(reason)
	s.storeQuarantine(ctx)
	s.log.Error("plugin is in quarantine: it is not started any more until an operator enables it, changes its settings or installs another version",
		"why", words)
	say := s.quarantineSaid()
	say.restarts = 1
	s.move(onConfined, say)
}

// waitInQuarantine waits for a change while the plugin is in quarantine, and starts the
// plugin once it is out.
func (s *supervisor) waitInQuarantine(ctx context.Context) {
	if s.confined.reason == "" {
		s.start(ctx, onFreed)
		return
	}
	s.storeQuarantine(ctx)
	if row := s.wanted; row.Generation != s.reached {
		s.reached = row.Generation // a row that is in quarantine is settled: it will not be started
		s.report.note(func(seen *ledger.PluginSeen) { seen.Rejected, seen.Settled = row.SHA256, row.Generation })
	}
	select {
	case <-s.wake:
	case <-ctx.Done():
	}
}

// storeQuarantine stores a quarantine that the row does not have yet. One that cannot be
// stored is in force all the same, and is stored later.
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

// quarantineLines is how many lines of a plugin's log are kept with its quarantine.
const quarantineLines = 20

// tail returns the last lines of the plugin's log.
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
