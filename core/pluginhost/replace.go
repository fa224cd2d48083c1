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

// follow compares the version that serves with the wanted row, and begins a replacement
// when only another process can carry the row out.
func (s *supervisor) follow(ctx context.Context) {
	why := renewal(&s.current.row, s.wanted)
	if why == "" && !s.current.hears() && s.current.notOffered(s.wanted) {
		why = "its settings changed"
	}
	if why == "" && s.current.hears() && s.current.notOffered(s.wanted) {
		s.reached = s.wanted.Generation // a failure from here on counts for that row
		return                          // not carried out before the version has taken its new settings, or refused them
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

// carriedOut notes that nothing is left to do: what serves is what the row wants, or has
// refused the settings of it. It forgets a setback, with the row that was rejected and its
// error: that row is not wanted any more.
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

// replace ends a replacement: the new version serves, or failed and the old one goes on.
// Runs that began with the old version keep to it; a new version that failed never gets a
// call.
func (s *supervisor) replace(ctx context.Context, made brought) {
	old, b := s.current, s.bringing
	s.bringing = nil
	b.cancel()
	var no settingsRefusal
	if errors.As(made.err, &no) { // the row is carried out: the one that serves has what holds
		s.hands.goesOn(old)
		old.noteOffered(b.row)
		s.move(onSetBack, saying{words: cut(s.redact(no.Error()), maxErrorWords)})
		s.nudge()
		return
	}
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
	active := !exclusive(old, made.version) // else bring has deactivated it
	s.crew.spawn("the end of a replaced version", func() { s.hands.retire(ctx, old, active) })
}

// exclusive reports whether only one of two versions may be active.
func exclusive(a, b *version) bool {
	return a.manifest.Exclusive || b.manifest.Exclusive
}

// renewal says which difference between the row that a version was started from and the
// wanted row needs another process; empty: none.
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

// essence returns, as a string to compare, what of a row decides whether a start
// succeeds: its generation too, which says that an operator wants something else.
func essence(row *ledger.Plugin) string {
	return fmt.Sprintf("%d %q %q %q %q %v %s", row.Generation, row.Path, row.SHA256, row.Attach, row.GrantedEnv, processLimits(row.Limits), row.SettingsMark())
}

// setback is a replacement that failed. While the row stays wanted, it is tried again
// after a wait, or after refusedRetry when it was refused. It does not count towards
// quarantine.
type setback struct {
	essence string // of the row whose version failed
	words   string // the last error that it left in the row
	times   int
	until   time.Time // not tried again before
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

// over reports whether the replacement may be tried now.
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
