package pluginhost

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// An Instance is its supervisor's hands: it starts, asks and ends the plugin's processes.
var _ hands = (*Instance)(nil)

func (i *Instance) enter(v *version) {
	i.subscribe(v)
	v.stopWatch, v.stopChecks = i.watchOver(v), i.checkOn(v)
}

func (i *Instance) leave(v *version) {
	i.router.forget(v)
	v.stopEvents()
	v.stopChecks()
}

func (i *Instance) serves(v *version) {
	i.took(v.stored, true)
	i.change(func(info *ledger.Plugin) { info.Manifest, info.Version = v.manifest, v.manifest.Version })
	i.log.Info("plugin serves", "pid", v.process.PID(), "version", v.manifest.Version)
	if lacking := i.Info().Lacking(); len(lacking) > 0 {
		i.log.Info("plugin asks for more than it was granted", "lacks", listed(lacking))
	}
}

func (i *Instance) goesOn(v *version) { i.host.described(i, v.manifest) }

func (i *Instance) confine(ctx context.Context, reason string) (reading int64, err error) {
	if err := i.host.store.SetPluginQuarantine(ctx, i.name, reason); err != nil {
		return 0, err
	}
	i.change(func(info *ledger.Plugin) { info.Quarantine = reason })
	return i.host.readings.Load(), nil
}

func (i *Instance) bury(v *version, why string) error {
	if why != "" {
		i.killNow(v)
		return withLastWords(why, v)
	}
	reason := "the process ended"
	if err := v.process.ExitError(); err != nil {
		reason += ": " + err.Error()
	}
	err := withLastWords(reason, v)
	i.kill(v)
	return err
}

// close ends a version after the calls under way. They get half of Config.StopTimeout;
// the rest is for the plugin's deactivation.
func (i *Instance) close(v *version) {
	ctx, cancel := context.WithTimeout(context.Background(), i.host.config.StopTimeout)
	defer cancel()
	calls, cancelCalls := context.WithTimeout(ctx, i.host.config.StopTimeout/2)
	defer cancelCalls()
	if fault := i.drain(calls, v, false); fault != "" {
		i.killNow(v)
		return
	}
	i.deactivate(ctx, v)
	i.stop(ctx, v)
}

// retire ends a version that was replaced, once no run keeps to it, after
// Config.Handover, or when it is at fault. An active version is deactivated first.
func (i *Instance) retire(ctx context.Context, old *version, active bool) {
	panicked := guard.Try(i.log, "the end of a replaced version", func() {
		over, cancel := context.WithTimeout(ctx, i.host.config.Handover)
		defer cancel()
		fault := i.drain(over, old, true)
		i.router.forget(old)
		switch {
		case fault != "":
			i.log.Warn("replaced version is at fault and is ended", "why", fault, "version", old.manifest.Version)
			i.killNow(old)
			return
		case active:
			i.close(old)
		default:
			i.kill(old)
		}
		i.log.Info("replaced version has ended", "version", old.manifest.Version)
	})
	if panicked {
		i.killNow(old)
	}
}

// drain waits until the version has no call under way and, withRuns, no run keeps to it.
// It returns early when ctx ends, when the version has ended, or with the fault of one
// that is at fault.
func (i *Instance) drain(ctx context.Context, v *version, withRuns bool) (fault string) {
	for {
		busy, changed := i.router.busy(v, withRuns)
		if !busy {
			return ""
		}
		select {
		case <-changed:
		case fault = <-v.fault:
			return fault
		case <-v.gone:
			return ""
		case <-ctx.Done():
			return ""
		}
	}
}

func (i *Instance) deactivate(ctx context.Context, v *version) {
	ctx, cancel := context.WithTimeout(ctx, i.host.config.StopTimeout)
	defer cancel()
	if err := v.process.Deactivate(ctx); err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeUnimplemented {
		i.log.Warn("plugin could not be deactivated", "err", err)
	}
}

// killTime is how long a process that is not active gets to end by itself.
const killTime = time.Second

// killNow kills a version that is at fault: its process may be stopped, or use up the
// machine's memory, and the calls under way wait for its end.
func (i *Instance) killNow(v *version) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	i.stop(ctx, v)
}

// kill ends a version that is not active, or whose process has ended by itself.
func (i *Instance) kill(v *version) {
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	i.stop(ctx, v)
}

func (i *Instance) stop(ctx context.Context, v *version) {
	if err := v.process.Stop(ctx); err != nil {
		i.log.Debug("plugin was killed", "err", err)
	}
	v.stopWatch()
	v.stopChecks()
	i.report.figures.ended(v)
	i.alive.Delete(v)
}

func (i *Instance) endAll() {
	i.alive.Range(func(left, _ any) bool {
		v := left.(*version)
		guard.Try(i.log, "the end of a plugin", func() { i.leave(v) })
		guard.Try(i.log, "the end of a plugin", func() { i.killNow(v) })
		return true
	})
}
