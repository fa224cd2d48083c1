package pluginhost

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A plugin that writes without end, or makes rooms write about it, does not fill the daemon's
// log: whoever looks for something else in it finds that. Before this the log grew by 95 MB in
// a minute.
func TestAPluginHasAShareOfTheLog(t *testing.T) {
	for name, flood := range map[string]func(log *slog.Logger, line string){
		"its own lines": func(log *slog.Logger, line string) { log.With("plugin", "flood").Info(line) },
		"rooms about it": func(log *slog.Logger, line string) {
			log.With("room", "hostapi").Warn("refused", "plugin", "flood", "err", line)
		},
		"in a group":       func(log *slog.Logger, line string) { log.With("plugin", "flood").WithGroup("g").Info(line) },
		"many attributes":  func(log *slog.Logger, line string) { log.Info("x", "plugin", "flood", line, 1) },
		"many empty lines": func(log *slog.Logger, _ string) { log.With("plugin", "flood").Info("") },
		"some of each kind": func(log *slog.Logger, line string) {
			log.Info(line, "plugin", "flood")
			log.With("plugin", "flood").Error(line)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			log := slog.New(ShareLog(slog.NewTextHandler(&out, nil)))
			for range 3 {
				for range 5000 {
					flood(log, strings.Repeat("x", 1000))
				}
				log.Info("of a neighbour", "plugin", "time")
				log.Info("of the daemon")
				<-time.After(shareEvery + time.Second)
				synctest.Wait()
			}
			text := out.String()
			if out.Len() > 3*3*shareBytes || strings.Count(text, "of a neighbour") != 3 || strings.Count(text, "of the daemon") != 3 {
				t.Errorf("%s: %d bytes, %d and %d lines of others", name, out.Len(), strings.Count(text, "of a neighbour"), strings.Count(text, "of the daemon"))
			}
			if n := strings.Count(text, "left out"); n != 3 || !strings.Contains(text, "plugin=flood lines=") {
				t.Errorf("%s: it is said %d times", name, n)
			}
		})
	}
}
