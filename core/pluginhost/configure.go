package pluginhost

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// configure reads the settings of a row. Those that are wrong have a problem,
// and the last good ones in their place; without any the plugin is refused.
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

// isConfigured notes that the version was given the settings of a row.
func (v *version) isConfigured(row *ledger.Plugin) {
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
				v.isConfigured(&row)
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

// offerSettings reports false when the settings could not be read, which is
// tried again after the next reading of the registry. What a plugin refuses is
// not offered again.
func (i *Instance) offerSettings(v *version, row ledger.Plugin) bool {
	ctx, cancel := context.WithTimeout(context.Background(), i.host.config.Hooks.Limit(pluginsdk.HookSettingsChange)+time.Second)
	defer cancel()
	row.Manifest = v.manifest
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
	if err != nil {
		i.log.Warn("plugin refused its new settings", "err", err)
		words := i.redact(ledger.SettingsRefused + ", and goes on with those that it has: " + err.Error())
		i.report.note(func(seen *ledger.PluginSeen) { seen.LastError = words })
	}
	return true
}
