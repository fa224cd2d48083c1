package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
)

// follow compares what serves with what is wanted, and begins to replace it when only
// that makes them the same.
func (s *supervisor) follow(ctx context.Context) {
	why := renewal(&s.current.row, s.wanted)
	if why == "" && !s.current.hears() && s.current.hasOldSettings(s.wanted) {
		why = "its settings changed"
	}
	if why == "" && s.current.hears() && s.current.hasOldSettings(s.wanted) {
		s.reached = s.wanted.Generation // what it dies of from here on is that row's
		return                          // it is being told, and may refuse them: until then they are not carried out
	}
	if why == "" {
		s.carriedOut()
		return
	}
	if !s.setback.over(s.wanted) {
		return
	}
	s.log.Info("plugin is replaced", "why", why)
	s.move(onDiffers, saying{})
	s.bringing = s.bring(ctx, why, s.current)
}

// carriedOut notes that what serves is what the row wants. A version that could not
// take over is wanted no more, and what was said of it is forgotten.
func (s *supervisor) carriedOut() {
	words := s.setback.words
	s.setback, s.reached = setback{}, s.wanted.Generation
	s.report.note(func(seen *ledger.PluginSeen) {
		if seen.Rejected != "" && seen.LastError == words {
			absolve(seen)
		}
		seen.Rejected, seen.Settled = "", s.wanted.Generation
	})
}

// replace ends a replacement. Runs that began with the old version keep to it; a new one
// that failed never gets a call.
func (s *supervisor) replace(ctx context.Context, made brought) {
	old, b := s.current, s.bringing
	s.bringing = nil
	b.cancel()
	if made.err != nil {
		s.hands.goesOn(old)
		words := cut(s.redact(fmt.Sprintf("version %s goes on, the one that was to replace it failed: %s", old.manifest.Version, made.err)), maxErrorWords)
		s.setback.add(b.row, made.err, words, s.backoff)
		s.move(onSetBack, saying{words: words, rejected: b.row})
		s.log.Error("plugin could not be replaced; the one that serves goes on", "why", b.why, "err", words)
		return
	}
	s.setback = setback{}
	s.hands.takeOver(made.version, old)
	s.serve(made.version, onReplaced)
	active := !exclusive(old, made.version) // else it is deactivated already
	s.crew.spawn("the end of a replaced version", func() { s.hands.retire(ctx, old, active) })
}

// exclusive reports whether only one of two versions may be active.
func exclusive(a, b *version) bool {
	return a.manifest.Exclusive || b.manifest.Exclusive
}

// renewal says which difference between what a version was started from and
// what is wanted needs another process; empty: none.
func renewal(from, wanted *ledger.Plugin) string {
	switch {
	case from.Path != wanted.Path:
		return "its binary is " + wanted.Path + " now"
	case from.SHA256 != wanted.SHA256:
		return "its binary was pinned anew"
	case from.Attach != wanted.Attach:
		return "it was attached to a debugger, or detached"
	case !slices.Equal(from.GrantedEnv, wanted.GrantedEnv):
		return "its environment changed"
	case processLimits(from.Limits) != processLimits(wanted.Limits):
		return "its limits changed"
	}
	return ""
}

// essence is what of a row decides how a start of the plugin goes, and whether an
// operator wants another.
func essence(row *ledger.Plugin) string {
	return fmt.Sprintf("%d %q %q %q %q %v %s", row.Generation, row.Path, row.SHA256, row.Attach, row.GrantedEnv, processLimits(row.Limits), settingsOf(row))
}

// settingsOf tells settings from others, without the secrets.
func settingsOf(row *ledger.Plugin) string {
	return fmt.Sprintf("%d %s", row.SettingsRevision, row.Settings)
}

// setback is a replacement that failed. It is tried again after the wait (a refusal:
// after refusedRetry), for as long as the row wants it, and counts for no quarantine.
type setback struct {
	essence string // of the row that it failed for
	words   string // what the operator was told
	times   int
	until   time.Time // not before
}

func (s *setback) add(row *ledger.Plugin, err error, words string, backoff func(int) time.Duration) {
	if s.essence != essence(row) {
		*s = setback{essence: essence(row)}
	}
	s.times++
	s.words = words
	s.until = time.Now().Add(backoff(s.times))
	var no refusal
	if errors.As(err, &no) {
		s.until = time.Now().Add(refusedRetry)
	}
}

// over reports whether a replacement for the row may be tried now.
func (s *setback) over(row *ledger.Plugin) bool {
	return s.essence != essence(row) || !time.Now().Before(s.until)
}

func listed[T ~string](names []T) string {
	words := make([]string, len(names))
	for n, name := range names {
		words[n] = string(name)
	}
	return strings.Join(words, ", ")
}
