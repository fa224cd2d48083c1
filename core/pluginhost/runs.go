package pluginhost

import (
	"cmp"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// kept returns the version that a run keeps to; nil: none, or it has ended. The
// lock is held.
func (i *Instance) kept(run string) *version {
	pinned := i.pins[run]
	if pinned == nil {
		return nil
	}
	select {
	case <-pinned.process.Done():
		pinned.runs--
		delete(i.pins, run)
		return nil
	default:
		return pinned
	}
}

// versionFor returns the version that a run keeps to, from now on the one that
// serves. A run that is over keeps to none. The lock is held.
func (i *Instance) versionFor(run string) *version {
	if kept := i.kept(run); kept != nil {
		return kept
	}
	if _, held := i.host.held.Load(run); held && i.serving != nil {
		i.pins[run] = i.serving
		i.serving.runs++
	}
	return i.serving
}

// answers reports whether the plugin declares the hook to the run, which then
// keeps to the version that does.
func (i *Instance) answers(run string, hook pluginsdk.Hook) bool {
	last := i.Info().Manifest
	i.mu.Lock()
	defer i.mu.Unlock()
	v := cmp.Or(i.kept(run), i.serving)
	if v == nil {
		return last.Answers(hook)
	}
	if !v.process.Manifest().Answers(hook) {
		return false
	}
	i.versionFor(run)
	return true
}

// InfoFor returns the plugin's row as a run sees it: with the manifest of the
// version that the run keeps to.
func (i *Instance) InfoFor(run string) *pluginsdk.PluginInfo {
	info := i.Info()
	i.mu.Lock()
	kept := i.kept(run)
	i.mu.Unlock()
	if kept == nil {
		return info
	}
	seen := *info
	seen.Manifest = kept.process.Manifest()
	seen.Version = seen.Manifest.Version
	return &seen
}

// unpin says that a run is over.
func (i *Instance) unpin(run string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	v := i.pins[run]
	if v == nil {
		return
	}
	delete(i.pins, run)
	if v.runs--; v.runs == 0 && v != i.serving {
		i.signal()
	}
}

// forget lets the runs that still keep to the version go on with the one that
// serves.
func (i *Instance) forget(v *version) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for run, pinned := range i.pins {
		if pinned == v {
			delete(i.pins, run)
			v.runs--
		}
	}
}
