package pluginhost

// versionFor returns the version that a run keeps to, from now on the one that
// serves. A run that is over keeps to none. The lock is held.
func (i *Instance) versionFor(run string) *version {
	if pinned := i.pins[run]; pinned != nil {
		select {
		case <-pinned.process.Done():
			pinned.runs--
			delete(i.pins, run)
		default:
			return pinned
		}
	}
	if _, held := i.host.held.Load(run); held && i.serving != nil {
		i.pins[run] = i.serving
		i.serving.runs++
	}
	return i.serving
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
