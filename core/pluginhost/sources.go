package pluginhost

import (
	"slices"
	"sync"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// speakers is which registered plugin has which source of threads. It is made anew
// whenever the registry was read and whenever a process has described itself: what
// one submits a moment after its start is its own already.
type speakers struct {
	mu      sync.RWMutex
	rows    []ledger.Plugin // as they were read last, in the operator's order
	owners  map[string]string
	carrier map[string]string // the first of those that name the source and answer Deliver
}

// speaks returns the sources of a plugin; one that has never described itself has its
// name.
func speaks(name string, manifest pluginsdk.Manifest) []string {
	manifest.Name = name
	return manifest.SpeaksFor()
}

// CarrierOf returns the plugin that carries the replies to a source's threads: the
// first in the operator's order that answers Deliver and names the source, whether it
// is enabled or not. What is for one that is off is kept until it is on again, and so
// is what is for one that has never been started.
func (h *Host) CarrierOf(source string) (plugin string, ok bool) {
	h.speakers.mu.RLock()
	defer h.speakers.mu.RUnlock()
	plugin, ok = h.speakers.carrier[source]
	return plugin, ok
}

// Speaks reports whether a source is the plugin's: whether it is the first in the
// operator's order, enabled or not, that names it.
func (h *Host) Speaks(plugin, source string) bool {
	h.speakers.mu.RLock()
	defer h.speakers.mu.RUnlock()
	return h.speakers.owners[source] == plugin && plugin != ""
}

// Sources returns the sources that are the plugin's, in the order of its manifest.
func (h *Host) Sources(plugin string) (sources []string) {
	h.speakers.mu.RLock()
	defer h.speakers.mu.RUnlock()
	for _, row := range h.speakers.rows {
		if row.Name != plugin {
			continue
		}
		for _, source := range speaks(plugin, h.lastSaid(row)) {
			if h.speakers.owners[source] == plugin && !slices.Contains(sources, source) {
				sources = append(sources, source)
			}
		}
	}
	return sources
}

// sourceOwners are the plugins that have the sources. It must not be changed.
func (h *Host) sourceOwners() map[string]string {
	h.speakers.mu.RLock()
	defer h.speakers.mu.RUnlock()
	return h.speakers.owners
}

// listSpeakers notes the rows that were read.
func (h *Host) listSpeakers(rows []ledger.Plugin) {
	h.speakers.mu.Lock()
	defer h.speakers.mu.Unlock()
	h.speakers.rows = rows
	h.reckonSpeakers()
}

// described notes what a process says of itself before it does anything else.
func (h *Host) described(i *Instance, manifest pluginsdk.Manifest) {
	h.speakers.mu.Lock()
	defer h.speakers.mu.Unlock()
	i.said = &manifest
	h.reckonSpeakers()
}

// reckonSpeakers says who has which source. The lock is held.
func (h *Host) reckonSpeakers() {
	h.speakers.owners, h.speakers.carrier = make(map[string]string), make(map[string]string)
	for _, row := range h.speakers.rows {
		manifest := h.lastSaid(row)
		sources := speaks(row.Name, manifest)
		ownSources(h.speakers.owners, row.Name, sources)
		// One that has never said what it is may carry what comes from its source:
		// that is kept until it does say.
		if unknown := manifest.Version == ""; unknown || manifest.Answers(pluginsdk.HookDeliver) {
			ownSources(h.speakers.carrier, row.Name, sources)
		}
	}
}

// lastSaid is what a plugin said of itself last: its process knows better than a row
// that was read before it began. The lock is held.
func (h *Host) lastSaid(row ledger.Plugin) pluginsdk.Manifest {
	if found, ok := h.current.Load(row.Name); ok {
		if instance := found.(*Instance); instance.said != nil && !instance.hasGone() {
			return *instance.said
		}
	}
	return row.Manifest
}
