package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// replacement is a version that is being brought up beside the one that serves.
type replacement struct {
	why    string
	row    *ledger.Plugin // what was wanted when it was begun
	cancel context.CancelFunc
	made   chan brought
}

// brought is how bringing up a version has ended.
type brought struct {
	version *version
	err     error
}

// result is what the loop waits for; nothing without a replacement.
func (r *replacement) result() <-chan brought {
	if r == nil {
		return nil
	}
	return r.made
}

// follow compares what serves with what is wanted, and begins a replacement when
// only that makes them the same.
func (i *Instance) follow(ctx context.Context, current *version) *replacement {
	wanted := i.wanted.Load()
	why := renewal(&current.row, wanted)
	if why == "" && !hears(current) && i.hasOldSettings(current, wanted) {
		why = "its settings changed"
	}
	if why == "" {
		i.carriedOut(wanted)
		i.setback = setback{}
		return nil
	}
	if !i.setback.over(wanted) {
		return nil
	}
	i.log.Info("plugin is replaced", "why", why)
	ctx, cancel := context.WithCancel(ctx)
	next := &replacement{why: why, row: wanted, cancel: cancel, made: make(chan brought, 1)}
	i.spawn("the replacement of a plugin", func() {
		var made brought
		made.err = i.guarded("the replacement of a plugin", func() (err error) {
			made.version, err = i.bring(ctx, wanted, current)
			return err
		})
		next.made <- made
	})
	return next
}

// settle ends a replacement, and returns the version that serves from then on.
// Runs that began with the old one keep to it; a new one that failed never gets
// a call.
func (i *Instance) settle(ctx context.Context, old *version, next *replacement, made brought) *version {
	next.cancel()
	if made.err != nil {
		i.host.described(i, old.process.Manifest())
		words := i.redact(fmt.Sprintf("version %s goes on, the one that was to replace it failed: %s", old.process.Manifest().Version, made.err))
		i.setback.add(next.row, made.err, words, i.backoff)
		i.setOutcome(next.row, pluginsdk.PluginServing, words, time.Time{})
		i.log.Error("plugin could not be replaced; the one that serves goes on", "why", next.why, "err", made.err)
		return old
	}
	i.setback = setback{}
	made.version.takeOver(old)
	i.publish(made.version)
	alone := exclusive(old, made.version) // then the old one is not active any more
	i.spawn("the end of a replaced version", func() {
		if guard.Try(i.log, "the end of a replaced version", func() { i.retire(ctx, old, !alone) }) {
			i.killNow(old)
		}
	})
	i.nudge() // the row may have changed meanwhile
	return made.version
}

// abandon ends a replacement that nobody waits for any more.
func (i *Instance) abandon(next *replacement) {
	if next == nil {
		return
	}
	next.cancel()
	if made := <-next.made; made.version != nil {
		i.kill(made.version)
	}
}

// retire ends a version that was replaced, once nothing keeps to it, or when it
// is at fault.
func (i *Instance) retire(ctx context.Context, old *version, active bool) {
	over, cancel := context.WithTimeout(ctx, i.host.config.Handover)
	defer cancel()
	fault := i.drain(over, old, true)
	i.forget(old)
	if fault != "" {
		i.log.Warn("replaced version is at fault and is ended", "why", fault, "version", old.process.Manifest().Version)
		i.killNow(old)
		return
	}
	if active {
		i.close(old)
	} else {
		i.kill(old)
	}
	i.log.Info("replaced version has ended", "version", old.process.Manifest().Version)
}

// exclusive reports whether only one of two versions may be active.
func exclusive(a, b *version) bool {
	return a.process.Manifest().Exclusive || b.process.Manifest().Exclusive
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

// setback is a replacement that failed: it is not tried again at once, nor, when
// it was refused, before something has changed.
type setback struct {
	essence string // of the row that it failed for
	words   string // what the operator was told
	times   int
	until   time.Time // zero: for good
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
