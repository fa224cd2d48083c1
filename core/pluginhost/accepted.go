package pluginhost

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
)

// acceptance is the settings that a plugin has accepted, as its row should have them.
type acceptance struct {
	mu      sync.Mutex
	newest  *ledger.AcceptedSettings // nil: none
	unsaved bool                     // the row lacks it
}

func newAcceptance(row ledger.Plugin) *acceptance {
	a := &acceptance{}
	if all := ledger.ReadAccepted(row.Accepted); len(all) > 0 {
		a.newest = all[0]
	}
	return a
}

// overlay puts into a row what its process has accepted: the row may have been read before
// that was stored.
func (a *acceptance) overlay(row *ledger.Plugin) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unsaved {
		row.Accepted, _ = json.Marshal(a.newest) // JSON within is valid: it was read from a row
	}
}

// add notes that a process has taken the settings, in its start or while it ran. It
// reports whether the row has to be written.
func (a *acceptance) add(taken ledger.AcceptedSettings, started bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.newest
	if before != nil && before.Mark == taken.Mark && (before.Started || !started) {
		return false
	}
	if !started && before != nil && before.Started {
		taken.Before = before
	} else if !started && before != nil {
		taken.Before = before.Before
	}
	taken.At, taken.Started = time.Now().UTC().Truncate(time.Second), started
	a.newest, a.unsaved = &taken, true
	return true
}

// beside reports whether others are kept than the settings with this mark.
func (a *acceptance) beside(mark string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.newest != nil && (a.newest.Mark != mark || a.newest.Before != nil)
}

// drop forgets the newest settings, with this mark, where there are others before: no
// process starts with them.
func (a *acceptance) drop(mark string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.newest != nil && a.newest.Mark == mark && a.newest.Before != nil {
		a.newest, a.unsaved = a.newest.Before, true
	}
}

// pending returns what the row lacks; nil: nothing.
func (a *acceptance) pending() *ledger.AcceptedSettings {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.unsaved {
		return nil
	}
	return a.newest
}

// saved notes that the row has these.
func (a *acceptance) saved(accepted *ledger.AcceptedSettings) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unsaved = a.unsaved && a.newest != accepted
}

// took notes that a process has taken the settings of its row; nil: it was given others.
func (i *Instance) took(stored *ledger.AcceptedSettings, started bool) {
	if stored == nil {
		return
	}
	i.report.settingsTaken()
	if i.acceptance.add(*stored, started) {
		i.saveAccepted()
	}
}

// saveAccepted has a goroutine store what the plugin has accepted and the row lacks. When
// that fails, update calls it again.
func (i *Instance) saveAccepted() {
	if i.acceptance.pending() == nil || !i.savingAccepted.CompareAndSwap(false, true) {
		return
	}
	i.crew.spawn("the settings of a plugin", func() {
		defer i.savingAccepted.Store(false)
		accepted := i.acceptance.pending()
		if accepted == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), i.host.config.StopTimeout)
		defer cancel()
		if err := i.host.store.SavePluginAccepted(ctx, i.name, *accepted); err != nil {
			i.log.Warn("settings that a plugin has taken cannot be stored; trying again", "err", err)
			return
		}
		i.acceptance.saved(accepted)
	})
}

// refuses notes that the plugin has refused the settings of a row, and why: they are not
// offered again.
func (i *Instance) refuses(row *ledger.Plugin, why string) (words string) {
	mark := row.SettingsMark()
	i.acceptance.drop(mark)
	why = cut(i.redact(why), maxFailureWords)
	i.log.Warn("plugin refused its new settings", "err", why)
	words = ledger.SettingsRefused + ", and goes on with those that it has: " + why
	i.report.note(func(seen *ledger.PluginSeen) {
		blame(seen, words)
		seen.Refused = ledger.RefusedSettings{Mark: mark, Words: why, At: seen.LastErrorAt}
	})
	return words
}

// settingsRefusal says that a start failed because the plugin refuses the settings of its
// row, and that it has accepted others.
type settingsRefusal struct{ error }
