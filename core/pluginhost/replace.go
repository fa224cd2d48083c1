package pluginhost

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// replace puts a new version in the place of the one that serves, and returns
// the one that serves from then on. The new one starts, describes itself and
// readies itself beside the old one; runs that began with the old one keep to
// it. A new one that fails never gets a call.
func (i *Instance) replace(ctx context.Context, old *version, why string) *version {
	i.log.Info("plugin is replaced", "why", why)
	next, err := i.launch(ctx)
	if err == nil {
		err = i.takeOver(ctx, old, next)
	}
	if ctx.Err() != nil {
		if err == nil {
			return next
		}
		return old
	}
	if err != nil {
		words := i.redact(fmt.Sprintf("version %s goes on, the one that was to replace it failed: %s", old.process.Manifest().Version, err))
		i.setState(pluginsdk.PluginServing, words, time.Time{})
		i.log.Error("plugin could not be replaced; the one that serves goes on", "why", why, "err", err)
		return old
	}
	return next
}

// takeOver moves calls from the old version to the next.
func (i *Instance) takeOver(ctx context.Context, old, next *version) error {
	alone := old.exclusive() || next.exclusive()
	if alone {
		i.deactivate(ctx, old)
	}
	if err := i.activate(ctx, next); err != nil {
		i.kill(next)
		if alone {
			if again := i.activate(ctx, old); again != nil {
				i.blame(old, "it could not be activated again: "+again.Error())
			}
		}
		return err
	}
	i.publish(ctx, next)
	old.end()
	i.watch.Go(func() { i.retire(ctx, old, !alone) })
	return nil
}

// retire ends a version that was replaced, once nothing keeps to it.
func (i *Instance) retire(ctx context.Context, old *version, active bool) {
	ctx, cancel := context.WithTimeout(ctx, i.host.config.Handover)
	defer cancel()
	i.drain(ctx, old, true)
	i.forget(old)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.host.config.StopTimeout)
	defer cancel()
	i.drain(stop, old, false)
	if active {
		i.deactivate(stop, old)
	}
	if err := old.process.Stop(stop); err != nil {
		i.log.Debug("replaced version was killed", "err", err)
	}
	i.log.Info("replaced version has ended", "version", old.process.Manifest().Version)
}

// forget lets the runs that still keep to the version go on with the one that
// serves, if there is one: from now on the version gets no new calls.
func (i *Instance) forget(v *version) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for run, pinned := range i.pins {
		if pinned == v {
			delete(i.pins, run)
		}
	}
}

func listed[T ~string](names []T) string {
	words := make([]string, len(names))
	for n, name := range names {
		words[n] = string(name)
	}
	return strings.Join(words, ", ")
}
