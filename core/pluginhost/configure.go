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

// hasOldSettings reports whether a version was configured with others than are
// wanted.
func (i *Instance) hasOldSettings(v *version, wanted *ledger.Plugin) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return v.configured != settingsOf(wanted)
}

// hears reports whether settings can be given to the version while it runs.
func hears(v *version) bool { return v.process.Manifest().Answers(pluginsdk.HookSettingsChange) }

// keepTold gives a version the settings that are wanted, if it has others.
func (i *Instance) keepTold(v *version) {
	if wanted := i.wanted.Load(); hears(v) && i.hasOldSettings(v, wanted) {
		i.tellSettings(v, *wanted)
	}
}

// tellSettings gives a version the settings of a row while it runs. One word is
// on its way at a time; when there are newer ones after it, they are the next.
func (i *Instance) tellSettings(v *version, row ledger.Plugin) {
	i.mu.Lock()
	busy := v.telling
	v.telling = true
	i.mu.Unlock()
	if busy {
		return
	}
	i.spawn("the settings of a plugin", func() {
		told := false
		defer func() {
			i.mu.Lock()
			defer i.mu.Unlock()
			v.telling = false
			if told {
				v.configured = settingsOf(&row)
				i.nudge() // there may be newer ones
			}
		}()
		told = i.offerSettings(v, row)
	})
}

// offerSettings reports false when the settings could not be read, which is
// tried again after the next reading of the registry. What a plugin refuses is
// not offered again.
func (i *Instance) offerSettings(v *version, row ledger.Plugin) bool {
	ctx, cancel := context.WithTimeout(context.Background(), i.host.config.Hooks.Limit(pluginsdk.HookSettingsChange)+time.Second)
	defer cancel()
	row.Manifest = v.process.Manifest()
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
	}
	return true
}
