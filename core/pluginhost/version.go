package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// version is one process of a plugin. There are two while one replaces the
// other.
type version struct {
	process  *launch.Plugin
	manifest pluginsdk.Manifest // what the process said that it is
	gone     <-chan struct{}    // closed when the process has ended
	row      ledger.Plugin      // what it was started from
	fault    chan string        // why it is to be ended; the first one stays
	denied   sync.Map           // the capabilities of which it was told in the log that it lacks them

	configured atomic.Pointer[string] // settingsOf the row whose settings it was given
	telling    atomic.Bool            // it is being given others

	heard      pluginsdk.Position // its events begin after this
	stopEvents func()             // ends them, and sets heard; nothing before it is published
	stopWatch  func()             // ends watching over it
	stopChecks func()             // ends asking it for its checks

	// These are guarded by the router's lock.
	calls   int            // under way
	asked   map[string]int // of them, by id
	open    int            // of them, those that may be passed over
	runs    int            // that keep to it
	late    int            // calls past their deadline for which it is passed over
	delays  int            // how often it was late since it last answered in time
	onTrial bool           // it failed and has not answered a call since: it gets one at a time
}

func newVersion(row ledger.Plugin) *version {
	v := &version{
		row: row, fault: make(chan string, 1), asked: make(map[string]int),
		stopEvents: func() {}, stopWatch: func() {}, stopChecks: func() {},
	}
	v.noteOffered(&row)
	return v
}

// isOf says which process the version is.
func (v *version) isOf(process *launch.Plugin) {
	v.process, v.manifest, v.gone = process, process.Manifest(), process.Done()
}

// ended reports whether the process has ended.
func (v *version) ended() bool {
	select {
	case <-v.gone:
		return true
	default:
		return false
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

// withLastWords is a reason with what the process said of its end.
func withLastWords(reason string, v *version) error {
	if lines := v.process.LastWords(); len(lines) > 0 {
		reason += "; last words: " + strings.Join(lines, " | ")
	}
	return errors.New(reason)
}

// bring is the supervisor's: it brings a version to the point where it can serve.
func (i *Instance) bring(ctx context.Context, row *ledger.Plugin, old *version, ready func()) (*version, error) {
	v, err := i.launch(ctx, row)
	if err != nil {
		return nil, err
	}
	alone := old != nil && exclusive(old, v)
	err = guarded(i.log, "the activation of a plugin", func() error {
		if alone {
			ready()
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
	began := time.Now()
	if err := i.verify(ctx, v); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	verified := time.Now()
	process, err := i.begin(ctx, v)
	if err != nil {
		if err = fmt.Errorf("start: %w", err); pluginsdk.CodeOf(err) == pluginsdk.CodeInvalid {
			err = refusal{err} // what it says of itself is wrong: another try would not change it
		}
		return nil, err
	}
	v.isOf(process)
	i.alive.Store(v, true)
	err = guarded(i.log, "the start of a plugin", func() error {
		if err := i.admit(ctx, v); err != nil {
			return err
		}
		if err := i.configure(ctx, v.row); err != nil {
			return fmt.Errorf("settings: %w", err)
		}
		described := time.Now()
		v.heard = i.host.events.Position() // what it reads in Start is no older
		if err := v.process.Start(ctx); err != nil {
			return i.notReady(ctx, v, "start: "+err.Error(), err)
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
				i.logDenied(v, capability, err)
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

// logDenied logs the first call that a process was refused for the want of a
// capability.
func (i *Instance) logDenied(v *version, capability pluginsdk.Capability, err error) {
	if _, told := v.denied.LoadOrStore(capability, true); !told {
		i.log.Warn("plugin was refused a call", "err", err)
	}
}

// admit checks what a process says that it is. What an operator installed must
// be what its plugin.json said; what comes from elsewhere is taken at its word.
func (i *Instance) admit(ctx context.Context, v *version) error {
	if v.manifest.Name != i.name {
		return refused("describe: the binary says that it is the plugin %q", v.manifest.Name)
	}
	differences := v.manifest.Differences(v.row.Manifest)
	if v.row.Origin == pluginsdk.OriginStore && len(differences) > 0 {
		return refused("describe: it is not what its plugin.json said when it was installed; they differ in %s", listed(differences))
	}
	if len(differences) > 0 {
		if err := i.host.store.SavePluginManifest(ctx, i.name, v.manifest); err != nil {
			return ownTrouble{fmt.Errorf("store the manifest: %w", err)}
		}
	}
	v.row.Manifest = v.manifest
	i.host.described(i, v.manifest)
	return nil
}

func (i *Instance) activate(ctx context.Context, v *version) error {
	ctx, cancel := context.WithTimeout(ctx, i.host.config.StartTimeout)
	defer cancel()
	if err := v.process.Activate(ctx); err != nil {
		return i.notReady(ctx, v, "activate: "+err.Error(), err)
	}
	return nil
}

// notReady returns, in words, why a version has failed to start or to be activated. One
// that says so itself, and still answers, for the want of something of the world
// (CodeUnavailable) is unready; the same code is that of a connection that has broken, or
// of a host that has found it at fault.
func (i *Instance) notReady(ctx context.Context, v *version, words string, err error) error {
	fault := v.why()
	said := withLastWords(words+fault, v)
	if fault != "" || pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || ctx.Err() != nil {
		return said
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if v.process.Ping(ctx) != nil {
		return said
	}
	return unready{said}
}
