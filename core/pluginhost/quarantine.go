package pluginhost

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

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
	if err := i.host.store.SetPluginQuarantine(ctx, i.name, reason); err != nil {
		i.log.Warn("quarantine of a plugin cannot be stored", "err", err)
	}
	i.confinedAt.Store(i.host.readings.Load())
	i.change(func(info *pluginsdk.PluginInfo) { info.Quarantine = reason })
	i.log.Error("plugin is in quarantine: it is not started any more until an operator enables it or installs another version",
		"why", words)
	return true
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

// quarantined waits while the plugin's row says that it is in quarantine, and
// reports whether it was.
func (i *Instance) quarantined(ctx context.Context) bool {
	reason := i.Info().Quarantine
	if reason == "" {
		return false
	}
	first, _, _ := strings.Cut(reason, "\n")
	i.setState(pluginsdk.PluginQuarantined, first, time.Time{})
	i.settled()
	select {
	case <-i.freed:
	case <-ctx.Done():
	}
	return true
}

// confined reports whether the plugin stays in quarantine. A row that was read
// before the quarantine was stored does not end it.
func (i *Instance) confined(row pluginsdk.PluginInfo) bool {
	return i.Info().Quarantine != "" && (row.Quarantine != "" || i.host.readings.Load() <= i.confinedAt.Load())
}

// free ends the quarantine.
func (i *Instance) free() {
	select {
	case i.freed <- struct{}{}:
	default:
	}
}
