package pluginhost

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// version is one process of a plugin. There are two while one replaces the
// other.
type version struct {
	process *launch.Plugin
	row     pluginsdk.PluginInfo // what it was started from
	stop    []func()             // ends what was begun for it: events, watch

	// These are guarded by the instance's lock.
	calls   int  // under way
	runs    int  // that keep to it
	late    int  // calls past their deadline that have not returned
	onTrial bool // it was started after a failure and has not answered a call yet
}

func (v *version) exclusive() bool { return v.process.Manifest().Exclusive }

// launch brings a process to the point where it stands ready: verified,
// described, started, not active.
func (i *Instance) launch(ctx context.Context) (*version, error) {
	ctx, cancel := context.WithTimeout(ctx, i.host.config.StartTimeout)
	defer cancel()
	v := &version{row: *i.wanted.Load()}
	var err error
	began := time.Now()
	if err := i.verify(v); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	verified := time.Now()
	if v.process, err = i.begin(ctx, v); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	if err := i.admit(ctx, v); err != nil {
		i.kill(v)
		return nil, err
	}
	if err := i.configure(ctx, v.row); err != nil {
		i.kill(v)
		return nil, fmt.Errorf("settings: %w", err)
	}
	described := time.Now()
	if err := v.process.Start(ctx); err != nil {
		err = withLastWords("start: "+err.Error(), v)
		i.kill(v)
		return nil, err
	}
	i.log.Debug("plugin was started", "pid", v.process.PID(), "verify", verified.Sub(began),
		"launch", described.Sub(verified), "start", time.Since(described))
	return v, nil
}

// begin starts the process, or meets the one that runs under a debugger.
func (i *Instance) begin(ctx context.Context, v *version) (*launch.Plugin, error) {
	config := i.launchConfig(v)
	if v.row.Attach != "" {
		if !i.host.config.Dev {
			return nil, refused("it is to be attached to a debugger, which only a daemon started with --dev does; "+
				"`harness plugin detach %s` takes that back", i.name)
		}
		at, err := launch.ParseAttachTo(v.row.Attach)
		if err != nil {
			return nil, refused("attach: %w", err)
		}
		return i.host.launcher.Attach(ctx, config, at)
	}
	return i.host.launcher.Launch(ctx, config)
}

// verify asks whether the file is the one that was pinned; a process under a
// debugger has none.
func (i *Instance) verify(v *version) error {
	if i.host.config.Verify == nil || v.row.Attach != "" || i.host.pins.holds(v.row) {
		return nil
	}
	if err := i.host.config.Verify(v.row); err != nil {
		return refusal{err}
	}
	return nil
}

func (i *Instance) launchConfig(v *version) launch.Config {
	limits := limitsOf(v.row.Limits, i.host.config.Limits)
	return launch.Config{
		Path: v.row.Path, Env: i.host.environment(v.row), Host: i.host.api.For(i.name),
		Admit: func(ctx context.Context, capability pluginsdk.Capability) error {
			return i.host.api.Admit(ctx, i.name, capability)
		},
		Log: i.processLog(), Name: i.name, StartTimeout: i.host.config.StartTimeout, SocketDir: i.host.config.Sockets,
		Limits: launch.Limits{
			MemoryBytes: limits.MemoryBytes, CPUPercent: limits.CPUPercent,
			Processes: limits.Processes * threadsPerProcess, OpenFiles: limits.OpenFiles,
		},
		Cgroups: i.host.cgroups,
		Fault:   func(err error) { i.blame(v, err.Error()) },
	}
}

// processLog is where a plugin's own lines go: the daemon's log, and the
// plugin's file.
func (i *Instance) processLog() *slog.Logger {
	both := slog.NewMultiHandler(i.host.config.Log.Handler(), fileHandler{file: i.host.logs.of(i.name)})
	return slog.New(redactHandler{both, i.redact})
}

// admit checks what a process says that it is. What an operator installed must
// be what its plugin.json said; what comes from elsewhere is taken at its word.
func (i *Instance) admit(ctx context.Context, v *version) error {
	manifest := v.process.Manifest()
	if manifest.Name != i.name {
		return refused("describe: the binary says that it is the plugin %q", manifest.Name)
	}
	differences := manifest.Differences(v.row.Manifest)
	if v.row.Origin == pluginsdk.OriginStore && len(differences) > 0 {
		return refused("describe: it is not what its plugin.json said when it was installed; they differ in %s", listed(differences))
	}
	if len(differences) > 0 {
		if err := i.host.store.SavePluginManifest(ctx, i.name, manifest); err != nil {
			return fmt.Errorf("store the manifest: %w", err)
		}
	}
	v.row.Manifest = manifest
	return nil
}

func (i *Instance) activate(ctx context.Context, v *version) error {
	ctx, cancel := context.WithTimeout(ctx, i.host.config.StartTimeout)
	defer cancel()
	if err := v.process.Activate(ctx); err != nil {
		return withLastWords("activate: "+err.Error(), v)
	}
	return nil
}

// publish makes a version the one that answers.
func (i *Instance) publish(ctx context.Context, v *version) {
	v.stop = append(v.stop, i.subscribe(v), i.watchOver(v))
	manifest := v.process.Manifest()
	i.change(func(info *pluginsdk.PluginInfo) { info.Manifest, info.Version = manifest, manifest.Version })
	i.setServing(v)
	i.setState(pluginsdk.PluginServing, i.lastError(), time.Time{})
	i.log.Info("plugin serves", "pid", v.process.PID(), "version", manifest.Version)
	if lacking := i.Info().Lacking(); len(lacking) > 0 {
		i.log.Info("plugin asks for more than it was granted", "lacks", listed(lacking))
	}
}

// withdraw takes the version out of service, also of the runs that began with
// it: it is about to be ended.
func (i *Instance) withdraw(v *version) {
	i.setServing(nil)
	i.forget(v)
	v.end()
}

// end ends what was begun for the version besides its process.
func (v *version) end() {
	for _, stop := range v.stop {
		stop()
	}
	v.stop = nil
}

// close ends a version after the calls under way.
func (i *Instance) close(v *version) {
	ctx, cancel := context.WithTimeout(context.Background(), i.host.config.StopTimeout)
	defer cancel()
	i.setState(pluginsdk.PluginStopping, i.lastError(), time.Time{})
	i.drain(ctx, v, false)
	i.deactivate(ctx, v)
	i.stop(ctx, v)
}

// killTime is how long a process that is at fault gets to end by itself.
const killTime = time.Second

// kill ends a version that is at fault.
func (i *Instance) kill(v *version) {
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	i.stop(ctx, v)
}

func (i *Instance) stop(ctx context.Context, v *version) {
	if err := v.process.Stop(ctx); err != nil {
		i.log.Debug("plugin was killed", "err", err)
	}
	i.figures.ended()
}

func (i *Instance) deactivate(ctx context.Context, v *version) {
	if err := v.process.Deactivate(ctx); err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeUnimplemented {
		i.log.Warn("plugin could not be deactivated", "err", err)
	}
}

// drain waits until the version answers no hook and, with its runs, until no
// run keeps to it.
func (i *Instance) drain(ctx context.Context, v *version, withRuns bool) {
	for {
		i.mu.Lock()
		busy := v.calls > 0 || withRuns && v.runs > 0
		changed := i.changed
		i.mu.Unlock()
		if !busy {
			return
		}
		select {
		case <-changed:
		case <-v.process.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

func (i *Instance) subscribe(v *version) (stop func()) {
	manifest := v.process.Manifest()
	if !manifest.Answers(pluginsdk.HookBroadcast) {
		return func() {}
	}
	return i.host.events.Subscribe(i.name, manifest.Events, func(ctx context.Context, events []pluginsdk.Event) error {
		last := events[len(events)-1]
		call := pluginsdk.Call{ID: fmt.Sprintf("broadcast:%s:%d", last.Boot, last.Seq), Attempt: 1}
		return i.tell(ctx, v, pluginsdk.HookBroadcast, call, func(ctx context.Context) error {
			return v.process.OnBroadcast(ctx, events)
		})
	})
}
