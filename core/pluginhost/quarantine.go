package pluginhost

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// confinement is whether a plugin is in quarantine. It is guarded by the
// instance's lock.
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

// quarantine counts a failure, and ends the restarts of a plugin that failed
// too often. It reports whether it did.
func (i *Instance) quarantine(ctx context.Context, words string) bool {
	config := i.host.config
	now := time.Now()
	i.recent = append(i.recent, now)
	for len(i.recent) > 0 && now.Sub(i.recent[0]) > config.Window {
		i.recent = i.recent[1:]
	}
	if len(i.recent) < config.Failures {
		return false
	}
	reason := fmt.Sprintf("it failed %d times within %s, the last time: %s", len(i.recent), config.Window, words)
	if tail := i.tail(); tail != "" {
		reason += "\nIts log ends with:\n" + tail
	}
	i.recent = nil
	i.mu.Lock()
	i.confined = confinement{reason: reason}
	i.mu.Unlock()
	i.storeQuarantine(ctx)
	i.log.Error("plugin is in quarantine: it is not started any more until an operator enables it or installs another version",
		"why", words)
	return true
}

// storeQuarantine stores a quarantine that the row does not have yet.
func (i *Instance) storeQuarantine(ctx context.Context) {
	i.mu.Lock()
	confined := i.confined
	i.mu.Unlock()
	if confined.reason == "" || confined.stored {
		return
	}
	if err := i.host.store.SetPluginQuarantine(ctx, i.name, confined.reason); err != nil {
		i.log.Warn("quarantine of a plugin cannot be stored; trying again", "err", err)
		return
	}
	i.mu.Lock()
	i.confined = confinement{reason: confined.reason, stored: true, at: i.host.readings.Load()}
	i.mu.Unlock()
	i.change(func(info *ledger.Plugin) { info.Quarantine = confined.reason })
}

// quarantineLines is how much of a plugin's log is kept with its quarantine.
const quarantineLines = 20

func (i *Instance) tail() string {
	lines, err := i.host.Logs(context.Background(), i.name, quarantineLines)
	if err != nil {
		i.log.Warn("log of a plugin cannot be read", "err", err)
	}
	var text strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&text, "%s %s\n", line.Level, line.Text)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// quarantined waits while the plugin is in quarantine, and reports whether it
// was.
func (i *Instance) quarantined(ctx context.Context) bool {
	was := false
	for i.confine() {
		was = true
		i.settled()
		select {
		case <-i.wake:
		case <-ctx.Done():
			return true
		}
	}
	return was
}

// confine sets the state of a plugin that is in quarantine, and reports whether
// it is.
func (i *Instance) confine() bool {
	i.mu.Lock()
	if i.confined.reason == "" {
		i.mu.Unlock()
		return false
	}
	// An operator who lets it out is noticed by confined before wanted changes.
	row := i.wanted.Load()
	i.rejected, i.reached = row.SHA256, row.Generation
	first, _, _ := strings.Cut(i.confined.reason, "\n")
	announce := i.setStateLocked(pluginsdk.PluginQuarantined, first, time.Time{})
	i.mu.Unlock()
	announce()
	return true
}
