package pluginhost

import (
	"encoding/json"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Answering returns the enabled plugins that declare the hook, in the
// operator's order; for a run (empty: none) those whose version, which the run
// keeps to, declares it. One that cannot be started is left out where its hook
// may be passed over.
func (h *Host) Answering(run string, hook pluginsdk.Hook) []*Instance {
	order := *h.order.Load()
	answering := make([]*Instance, 0, len(order))
	for _, instance := range order {
		if instance.router.asks(run, hook) {
			answering = append(answering, instance)
		}
	}
	return answering
}

// Instance returns the enabled plugin of that name; false: there is none.
func (h *Host) Instance(name string) (*Instance, bool) {
	instance, ok := h.current.Load(name)
	if !ok {
		return nil, false
	}
	return instance.(*Instance), true
}

// Hold says that a run begins: for all its calls it keeps to the version of a
// plugin that answers the first.
func (h *Host) Hold(run string) { h.held.Store(run, true) }

// Release says that a run is over: it no longer keeps to the versions of the
// plugins that it began with.
func (h *Host) Release(run string) {
	h.held.Delete(run)
	h.current.Range(func(_, instance any) bool {
		instance.(*Instance).router.release(run)
		return true
	})
}

// Live puts what is known of a plugin at this moment into its row.
func (h *Host) Live(row ledger.Plugin) ledger.Plugin {
	if instance, ok := h.current.Load(row.Name); ok {
		instance.(*Instance).live(&row)
	}
	return row
}

// SettingsOf returns the settings in force of a plugin that was started.
func (h *Host) SettingsOf(plugin string) (json.RawMessage, bool) {
	instance, ok := h.current.Load(plugin)
	if !ok {
		return nil, false
	}
	settings := instance.(*Instance).settings.Load()
	if settings == nil || settings.Values == nil {
		return nil, false
	}
	return settings.Values, true
}

// EachCommand calls fn for every command that an enabled plugin declares, in
// the operator's order; of a command that several declare, for the first one's.
func (h *Host) EachCommand(fn func(plugin string, spec pluginsdk.CommandSpec)) {
	seen := make(map[string]bool)
	for _, instance := range h.Answering("", pluginsdk.HookCommand) {
		for _, spec := range instance.Info().Manifest.Commands {
			if !seen[spec.Name] {
				seen[spec.Name] = spec.Name != "*"
				fn(instance.name, spec)
			}
		}
	}
}

// Granted reports whether an operator granted the capability to the plugin. A
// plugin that was never started has no grants.
func (h *Host) Granted(plugin string, capability pluginsdk.Capability) bool {
	instance, ok := h.current.Load(plugin)
	return ok && slices.Contains(instance.(*Instance).Info().Granted, capability)
}
