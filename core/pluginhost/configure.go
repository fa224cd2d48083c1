package pluginhost

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// configure reads the settings that hold for a row and puts them in force, before a
// process is given them. Of faulty settings, and of those that the plugin has refused, the
// last good ones are in force, beside the problem. When there are none, it returns a
// refusal, and when the settings cannot be read, an ownTrouble: the process must not be
// started.
func (i *Instance) configure(ctx context.Context, row ledger.Plugin) (*Settings, error) {
	i.acceptance.overlay(&row)
	row.Refused = i.report.now().Refused
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
		return &settings, nil
	case pluginsdk.CodeOf(err) == pluginsdk.CodeInvalid:
		return nil, refusal{err}
	}
	return nil, ownTrouble{err}
}

// noteOffered notes that the version was offered the settings of a row, whether it took
// or refused them.
func (v *version) noteOffered(row *ledger.Plugin) {
	mark := row.SettingsMark()
	v.offered.Store(&mark)
}

// notOffered reports whether the version was last offered other settings than those
// of the wanted row.
func (v *version) notOffered(wanted *ledger.Plugin) bool {
	return *v.offered.Load() != wanted.SettingsMark()
}

// hears reports whether the version takes new settings while it runs.
func (v *version) hears() bool { return v.manifest.Answers(pluginsdk.HookSettingsChange) }

// tell offers the wanted settings to a version that takes them while it runs, if it was
// offered others before. One offer is under way at a time; newer settings follow in the
// next. Only the supervisor calls it.
func (i *Instance) tell(v *version, wanted *ledger.Plugin) {
	if !v.hears() || !v.notOffered(wanted) || !v.telling.CompareAndSwap(false, true) {
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
				i.supervisor.nudge() // there may be newer settings
			}
		}()
		told = i.offerSettings(v, row)
	})
	if !begun {
		v.telling.Store(false)
	}
}

// offerSettings gives the settings of a row to a version that serves. It reports whether
// the offer is settled: the version took or refused the settings, or they do not fit the
// schema. False: they could not be read, and are offered again after the next reading of
// the registry.
func (i *Instance) offerSettings(v *version, row ledger.Plugin) bool {
	ctx, cancel := context.WithTimeout(context.Background(), i.host.config.Hooks.Limit(pluginsdk.HookSettingsChange)+time.Second)
	defer cancel()
	row.Manifest = v.manifest
	had := i.settings.Load()
	settings, err := i.configure(ctx, row)
	if err != nil {
		i.log.Warn("settings of a plugin cannot be used", "err", err)
		return pluginsdk.CodeOf(err) == pluginsdk.CodeInvalid
	}
	if settings.Problem != "" {
		return true // the version keeps the last good settings
	}
	_, err = ask(ctx, i, v, hooks.Question[pluginsdk.OnSettingsChangeRequest, pluginsdk.OnSettingsChangeResponse]{
		Hook: pluginsdk.HookSettingsChange, CallID: "settings:" + i.name, Ask: hooks.Process.OnSettingsChange,
		Request: func(pluginsdk.Call, *pluginsdk.PluginInfo) *pluginsdk.OnSettingsChangeRequest {
			return &pluginsdk.OnSettingsChangeRequest{Settings: settings.Values}
		},
	})
	switch {
	case err == nil:
		i.took(settings.Stored, false)
	case v.ended() || i.router.current() != v: // the version that replaces it has the settings
	default:
		i.refuses(&row, err.Error())
		i.settings.CompareAndSwap(settings, settings.refusedFor(had)) // a version that is brought up may have others by now
	}
	return true
}

// refusedFor returns the settings in force after a process has refused s: those that it
// had. The process knows the refused ones all the same, so Redact removes the secrets of
// both.
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
