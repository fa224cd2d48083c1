package pluginhost

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// version is one process of a plugin. There are two while one replaces the
// other.
type version struct {
	process *launch.Plugin
	row     ledger.Plugin // what it was started from
	fault   chan string   // why it is to be ended; the first one stays
	denied  sync.Map      // the capabilities of which it was told in the log that it lacks them

	heard      pluginsdk.Position // its events begin after this
	stopEvents func()             // ends them, and sets heard; nothing before it is published
	stopWatch  func()             // ends watching over it
	stopChecks func()             // ends asking it for its checks

	// These are guarded by the instance's lock.
	calls      int            // under way
	asked      map[string]int // of them, by id
	open       int            // of them, those that may be passed over
	runs       int            // that keep to it
	late       int            // calls past their deadline for which it is passed over
	delays     int            // how often it was late since it last answered in time
	onTrial    bool           // it failed and has not answered a call since: it gets one at a time
	configured string         // settingsOf the row whose settings it was given
	telling    bool           // it is being given others
}

func newVersion(row ledger.Plugin) *version {
	return &version{
		row: row, fault: make(chan string, 1), asked: make(map[string]int), configured: settingsOf(&row),
		stopEvents: func() {}, stopWatch: func() {}, stopChecks: func() {},
	}
}

// blame has the version ended for a fault.
func (v *version) blame(why string) {
	select {
	case v.fault <- why:
	default: // it is to be ended already
	}
}

// why is the fault that the version has, as the end of a sentence: what else
// fails with it fails for that.
func (v *version) why() string {
	select {
	case why := <-v.fault:
		return ": " + why
	default:
		return ""
	}
}

// bring brings the version of a row to the point where it can serve: ready, and active. Of
// an exclusive plugin the old one is deactivated for it first, and activated
// again when the new one fails.
func (i *Instance) bring(ctx context.Context, row *ledger.Plugin, old *version) (*version, error) {
	v, err := i.launch(ctx, row)
	if err != nil {
		return nil, err
	}
	alone := old != nil && exclusive(old, v)
	err = i.guarded("the activation of a plugin", func() error {
		if alone {
			i.deactivate(ctx, old)
		}
		return i.activate(ctx, v)
	})
	if err == nil {
		return v, nil
	}
	i.kill(v)
	if alone && ctx.Err() == nil {
		if again := i.activate(ctx, old); again != nil {
			old.blame("it could not be activated again: " + again.Error())
		}
	}
	return nil, err
}

// launch brings a process to the point where it stands ready: verified,
// described, started, not active.
func (i *Instance) launch(ctx context.Context, row *ledger.Plugin) (*version, error) {
	ctx, cancel := context.WithTimeout(ctx, i.host.config.StartTimeout)
	defer cancel()
	v := newVersion(*row)
	var err error
	began := time.Now()
	if err := i.verify(ctx, v); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	verified := time.Now()
	if v.process, err = i.begin(ctx, v); err != nil {
		if err = fmt.Errorf("start: %w", err); pluginsdk.CodeOf(err) == pluginsdk.CodeInvalid {
			err = refusal{err} // what it says of itself is wrong: another try would not change it
		}
		return nil, err
	}
	i.mu.Lock()
	i.alive[v] = true
	i.mu.Unlock()
	err = i.guarded("the start of a plugin", func() error {
		if err := i.admit(ctx, v); err != nil {
			return err
		}
		if err := i.configure(ctx, v.row); err != nil {
			return fmt.Errorf("settings: %w", err)
		}
		described := time.Now()
		v.heard = i.host.events.Position() // what it reads in Start is no older
		if err := v.process.Start(ctx); err != nil {
			return withLastWords("start: "+err.Error()+v.why(), v)
		}
		i.log.Debug("plugin was started", "pid", v.process.PID(), "verify", verified.Sub(began),
			"launch", described.Sub(verified), "start", time.Since(described))
		return nil
	})
	if err != nil {
		i.kill(v)
		return nil, err
	}
	return v, nil
}

// begin starts the process, or meets the one that runs under a debugger.
func (i *Instance) begin(ctx context.Context, v *version) (*launch.Plugin, error) {
	config := i.launchConfig(v)
	if v.row.Origin == pluginsdk.OriginDev && !i.host.config.Dev {
		return nil, refused("its author is working on it (`harness plugin dev`), which only a daemon started with --dev runs; " +
			"`harness plugin install` installs it for good")
	}
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
func (i *Instance) verify(ctx context.Context, v *version) error {
	if i.host.config.Verify == nil || v.row.Attach != "" || i.host.pins.holds(v.row) {
		return nil
	}
	err := i.host.config.Verify(ctx, v.row)
	if err == nil || ctx.Err() != nil {
		return err // too slow is no verdict
	}
	return refusal{err}
}

func (i *Instance) launchConfig(v *version) launch.Config {
	limits := limitsOf(v.row.Limits, i.host.config.Limits)
	return launch.Config{
		Path: v.row.Path, Env: i.host.environment(v.row), Host: i.host.api.For(i.name),
		Admit: func(ctx context.Context, capability pluginsdk.Capability) error {
			err := i.host.api.Admit(ctx, i.name, capability)
			if pluginsdk.CodeOf(err) == pluginsdk.CodeDenied {
				i.tellDenied(v, capability, err)
			}
			return err
		},
		Log: i.processLog(), Name: i.name, StartTimeout: i.host.config.StartTimeout, SocketDir: i.host.config.Sockets,
		Limits: launch.Limits{
			MemoryBytes: limits.MemoryBytes, CPUPercent: limits.CPUPercent,
			Processes: limits.Processes * threadsPerProcess, OpenFiles: limits.OpenFiles,
		},
		Cgroups: i.host.cgroups,
		Fault:   func(err error) { v.blame(err.Error()) },
	}
}

// tellDenied logs the first call that a process was refused for the want of a
// capability.
func (i *Instance) tellDenied(v *version, capability pluginsdk.Capability, err error) {
	if _, told := v.denied.LoadOrStore(capability, true); !told {
		i.log.Warn("plugin was refused a call", "err", err)
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
			return ownTrouble{fmt.Errorf("store the manifest: %w", err)}
		}
	}
	v.row.Manifest = manifest
	i.host.described(i, manifest)
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
func (i *Instance) publish(v *version) {
	i.subscribe(v)
	v.stopWatch, v.stopChecks = i.watchOver(v), i.checkOn(v)
	i.mu.Lock()
	i.serving, i.rejected, i.reached = v, "", v.row.Generation
	i.settled() // who reads that it serves finds it in the next run
	announce := i.setStateLocked(pluginsdk.PluginServing, "", time.Time{})
	i.mu.Unlock()
	announce()
	manifest := v.process.Manifest()
	i.change(func(info *ledger.Plugin) { info.Manifest, info.Version = manifest, manifest.Version })
	i.log.Info("plugin serves", "pid", v.process.PID(), "version", manifest.Version)
	if lacking := i.Info().Lacking(); len(lacking) > 0 {
		i.log.Info("plugin asks for more than it was granted", "lacks", listed(lacking))
	}
}

// withdraw takes the version out of service, also of the runs that began with
// it: it is about to be ended.
func (i *Instance) withdraw(v *version, to pluginsdk.PluginState) {
	i.mu.Lock()
	i.serving = nil
	announce := i.setStateLocked(to, "", time.Now())
	i.mu.Unlock()
	announce()
	i.forget(v)
	v.stopEvents()
	v.stopChecks()
}

// close ends a version after the calls under way. They get half of the time:
// the rest is for the plugin to put down what it holds.
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

// killTime is how long a process that could not be started gets to end by
// itself.
const killTime = time.Second

// killNow ends a version that is at fault: it may be stopped, or eating the
// machine's memory, and the calls that it has not answered wait for its end.
func (i *Instance) killNow(v *version) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	i.stop(ctx, v)
}

// kill ends a version that is of no use.
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
	i.figures.ended(v)
	i.mu.Lock()
	delete(i.alive, v)
	i.mu.Unlock()
}

// endAll ends what a supervisor that panicked has left running.
func (i *Instance) endAll() {
	i.mu.Lock()
	left := slices.Collect(maps.Keys(i.alive))
	i.mu.Unlock()
	for _, v := range left {
		guard.Try(i.log, "the end of a plugin", func() { i.withdraw(v, pluginsdk.PluginStarting) })
		guard.Try(i.log, "the end of a plugin", func() { i.killNow(v) })
	}
}

func (i *Instance) deactivate(ctx context.Context, v *version) {
	if err := v.process.Deactivate(ctx); err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeUnimplemented {
		i.log.Warn("plugin could not be deactivated", "err", err)
	}
}

// drain waits until the version answers no hook and, with its runs, until no
// run keeps to it. It returns at once when the version has ended, and with the
// fault when it is at fault.
func (i *Instance) drain(ctx context.Context, v *version, withRuns bool) (fault string) {
	for {
		i.mu.Lock()
		busy := v.calls > 0 || withRuns && v.runs > 0
		changed := i.changed
		i.mu.Unlock()
		if !busy {
			return ""
		}
		select {
		case <-changed:
		case fault = <-v.fault:
			return fault
		case <-v.process.Done():
			return ""
		case <-ctx.Done():
			return ""
		}
	}
}
