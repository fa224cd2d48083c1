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

// version is one process of a plugin. There are two while one replaces the other.
type version struct {
	process  *launch.Plugin
	manifest pluginsdk.Manifest // as the process described itself
	gone     <-chan struct{}    // closed when the process has ended
	row      ledger.Plugin      // that it was started from
	fault    chan string        // why it has to be ended; the first one counts
	denied   sync.Map           // capabilities: those whose lack was logged already

	stored  *ledger.AcceptedSettings // the settings of its row, if it was started with those
	offered atomic.Pointer[string]   // SettingsMark of the row whose settings it was offered last
	telling atomic.Bool              // an offer of settings is under way

	heard      pluginsdk.Position // its events begin after this; stopEvents sets where they ended
	hearing    hearing            // by which rules it is told events
	stopEvents func()             // ends its events, and sets heard; does nothing before subscribe
	stopWatch  func()             // ends the watch over it
	stopChecks func()             // ends asking for its checks

	// The router's lock guards what follows.
	calls   int            // under way
	asked   map[string]int // calls under way, by id
	open    int            // calls under way that may be passed over
	runs    int            // how many runs keep to it
	late    int            // how many late calls it is passed over for
	delays  int            // how often it was late since it last answered without an error
	onTrial bool           // it failed and has not answered since: it gets one call at a time that may be passed over
}

func newVersion(row ledger.Plugin) *version {
	v := &version{
		row: row, fault: make(chan string, 1), asked: make(map[string]int),
		stopEvents: func() {}, stopWatch: func() {}, stopChecks: func() {},
	}
	v.noteOffered(&row)
	return v
}

// isOf sets the process of the version. Only launch calls it, once.
func (v *version) isOf(process *launch.Plugin) {
	v.process, v.manifest, v.gone = process, process.Manifest(), process.Done()
	v.hearing.begin(v.manifest)
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

// blame has the version ended for a fault. Any goroutine may call it; the first fault
// counts.
func (v *version) blame(why string) {
	select {
	case v.fault <- why:
	default: // it has a fault already
	}
}

// why takes the version's fault, if it has one, as the end of a sentence: it is why the
// rest failed.
func (v *version) why() string {
	select {
	case why := <-v.fault:
		return ": " + why
	default:
		return ""
	}
}

// withLastWords returns the reason as an error, with what the process last wrote of its
// end.
func withLastWords(reason string, v *version) error {
	if lines := v.process.LastWords(); len(lines) > 0 {
		reason += "; last words: " + strings.Join(lines, " | ")
	}
	return errors.New(reason)
}

// bring starts a version of the row and activates it; see hands.
func (i *Instance) bring(ctx context.Context, row *ledger.Plugin, old *version, ready func()) (*version, error) {
	v, err := i.launch(ctx, row)
	var no settingsRefusal
	if errors.As(err, &no) && (old == nil || renewal(&old.row, row) != "") {
		v, err = i.launch(ctx, row) // with the settings that the plugin has accepted
	}
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

// launch starts a process for the row, up to the point where it can be activated: the
// file is verified, the process described, configured and started. It takes at most
// Config.StartTimeout.
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
			err = refusal{err} // its description is wrong, and would be again
		}
		return nil, err
	}
	v.isOf(process)
	i.alive.Store(v, true)
	err = guarded(i.log, "the start of a plugin", func() error {
		if err := i.admit(ctx, v); err != nil {
			return err
		}
		had := i.settings.Load()
		settings, err := i.configure(ctx, v.row)
		if err != nil {
			return fmt.Errorf("settings: %w", err)
		}
		v.stored = settings.Stored
		described := time.Now()
		v.heard = i.host.events.Position() // what the plugin reads in Start is at least as new
		if err := v.process.Start(ctx); err != nil {
			if i.refusedStart(v, err) {
				words := i.refuses(&v.row, "start: "+err.Error())
				i.settings.CompareAndSwap(settings, settings.refusedFor(had))
				return settingsRefusal{errors.New(words)}
			}
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

// begin starts the process, or attaches to the one that runs under a debugger.
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

// verify checks that the file is the one that was pinned; a process under a debugger has
// none.
func (i *Instance) verify(ctx context.Context, v *version) error {
	if i.host.config.Verify == nil || v.row.Attach != "" || i.host.pins.holds(v.row) {
		return nil
	}
	err := i.host.config.Verify(ctx, v.row)
	if err == nil || ctx.Err() != nil {
		return err // a check that was cut short refuses nothing
	}
	return refusal{err}
}

func (i *Instance) launchConfig(v *version) launch.Config {
	limits := limitsOf(v.row.Limits, i.host.config.Limits)
	return launch.Config{
		Path: v.row.Path, Env: i.host.environment(v.row), Host: i.host.api.For(i.name, i.listener(v)),
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

// logDenied logs the first call that a process was denied for the lack of a capability.
func (i *Instance) logDenied(v *version, capability pluginsdk.Capability, err error) {
	if _, told := v.denied.LoadOrStore(capability, true); !told {
		i.log.Warn("plugin was refused a call", "err", err)
	}
}

// admit checks the manifest with which a process describes itself. Of a plugin that an
// operator installed it must equal plugin.json; any other manifest is stored as it is.
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

// refusedStart reports whether the plugin's Start has failed with err because of the
// settings of its row (CodeInvalid), and others are kept that it has accepted.
func (i *Instance) refusedStart(v *version, err error) bool {
	return pluginsdk.CodeOf(err) == pluginsdk.CodeInvalid && !v.ended() && v.stored != nil && i.acceptance.beside(v.stored.Mark)
}

func (i *Instance) activate(ctx context.Context, v *version) error {
	ctx, cancel := context.WithTimeout(ctx, i.host.config.StartTimeout)
	defer cancel()
	if err := v.process.Activate(ctx); err != nil {
		return i.notReady(ctx, v, "activate: "+err.Error(), err)
	}
	return nil
}

// notReady returns, in words, why a version failed to start or to be activated. The error
// is unready when the plugin itself reports CodeUnavailable for the lack of something
// outside, and still answers. A broken connection has the same code, and so has a fault
// that the host found: those are not unready.
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
