package pluginhost

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// configure reads the settings of a row, which a process is about to be given. Those
// that do not fit the schema have a problem, and the last that did in their place; without
// any the plugin may not be started.
func (i *Instance) configure(ctx context.Context, row ledger.Plugin) error {
	settings, err := i.host.config.Settings(ctx, row)
	if last := i.settings.Load(); err != nil && last != nil {
		settings.Values = last.Values
	}
	i.settings.Store(&settings)
	if settings.Problem != "" {
		i.log.Warn("settings of a plugin are wrong", "problem", settings.Problem)
	}
	switch {
	case err == nil:
		return nil
	case pluginsdk.CodeOf(err) == pluginsdk.CodeInvalid:
		return refusal{err}
	}
	return ownTrouble{err}
}

// noteOffered notes that the version was given the settings of a row, or has refused them.
func (v *version) noteOffered(row *ledger.Plugin) {
	settings := settingsOf(row)
	v.configured.Store(&settings)
}

// hasOldSettings reports whether the version was configured with others than are
// wanted.
func (v *version) hasOldSettings(wanted *ledger.Plugin) bool {
	return *v.configured.Load() != settingsOf(wanted)
}

// hears reports whether settings can be given to the version while it runs.
func (v *version) hears() bool { return v.manifest.Answers(pluginsdk.HookSettingsChange) }

// tell is the supervisor's: it gives a version the settings that are wanted while it
// runs, if it has others. One word is on its way at a time; when there are newer ones
// after it, they are the next.
func (i *Instance) tell(v *version, wanted *ledger.Plugin) {
	if !v.hears() || !v.hasOldSettings(wanted) || !v.telling.CompareAndSwap(false, true) {
		return
	}
	row := *wanted
	begun := i.crew.spawn("the settings of a plugin", func() {
		told := false
		defer func() {
			if told {
				v.noteOffered(&row)
			}
			v.telling.Store(false)
			if told {
				i.supervisor.nudge() // there may be newer ones
			}
		}()
		told = i.offerSettings(v, row)
	})
	if !begun {
		v.telling.Store(false)
	}
}

// offerSettings gives a version that serves the settings of a row, and reports whether
// that is done with: it has taken them, refused them, or they do not fit the schema.
// False: they could not be read, which is tried again after the next reading of the
// registry.
func (i *Instance) offerSettings(v *version, row ledger.Plugin) bool {
	ctx, cancel := context.WithTimeout(context.Background(), i.host.config.Hooks.Limit(pluginsdk.HookSettingsChange)+time.Second)
	defer cancel()
	row.Manifest = v.manifest
	had := i.settings.Load()
	if err := i.configure(ctx, row); err != nil {
		i.log.Warn("settings of a plugin cannot be used", "err", err)
		return pluginsdk.CodeOf(err) == pluginsdk.CodeInvalid
	}
	settings := i.settings.Load()
	if settings.Problem != "" {
		return true // it has the last good ones
	}
	_, err := ask(ctx, i, v, hooks.Question[pluginsdk.OnSettingsChangeRequest, pluginsdk.OnSettingsChangeResponse]{
		Hook: pluginsdk.HookSettingsChange, CallID: "settings:" + i.name, Ask: hooks.Process.OnSettingsChange,
		Request: func(pluginsdk.Call, *pluginsdk.PluginInfo) *pluginsdk.OnSettingsChangeRequest {
			return &pluginsdk.OnSettingsChangeRequest{Settings: settings.Values}
		},
	})
	switch {
	case err == nil:
		i.report.settingsTaken()
	case v.ended() || i.router.current() != v: // it answers no more, and another one has the settings
	default:
		i.log.Warn("plugin refused its new settings", "err", err)
		i.settings.Store(settings.refusedFor(had))
		words := i.redact(ledger.SettingsRefused + ", and goes on with those that it has: " + err.Error())
		i.report.note(func(seen *ledger.PluginSeen) { blame(seen, words) })
	}
	return true
}

// refusedFor is what holds once a process has refused settings: those that it had. What
// it was offered is known to it all the same, and no secret of either is to be read.
func (s *Settings) refusedFor(had *Settings) *Settings {
	if had == nil {
		return s
	}
	kept, offered := *had, s.Redact
	if kept.Redact == nil {
		kept.Redact = offered
	} else if offered != nil {
		kept.Redact = func(text string) string { return had.Redact(offered(text)) }
	}
	return &kept
}
