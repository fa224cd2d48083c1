package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// steady is how long a plugin must have served for its next restart to count
// as a first one.
const steady = time.Minute

// Instance owns one enabled plugin: launch, restart, graceful stop, kill.
type Instance struct {
	host *Host
	name string
	log  *slog.Logger
	info atomic.Pointer[pluginsdk.PluginInfo]

	tried   chan struct{} // closed once the first start has succeeded or failed
	once    sync.Once
	cancel  context.CancelFunc
	done    chan struct{} // the supervisor's loop has ended
	gone    chan struct{} // and so has everything else of the instance
	restart chan ending   // reasons to end the process and start another

	infoMu   sync.Mutex // held while info is replaced
	mu       sync.Mutex
	changed  chan struct{} // closed and replaced whenever what follows changes
	process  *launch.Plugin
	calls    int
	state    pluginsdk.PluginState
	lastErr  string
	restarts int
	nextTry  time.Time
	failures int64 // not yet stored
	failure  string
	watches  sync.WaitGroup
}

// ending is why a process is ended. What an operator changed is no fault: the
// calls under way are let through, and the next process starts at once.
type ending struct {
	why   string
	fault bool
}

func newInstance(h *Host, row pluginsdk.PluginInfo) *Instance {
	i := &Instance{
		host: h, name: row.Name, log: h.config.Log.With("plugin", row.Name),
		tried: make(chan struct{}), done: make(chan struct{}), gone: make(chan struct{}), restart: make(chan ending, 1),
		changed: make(chan struct{}), state: pluginsdk.PluginStarting, restarts: row.Restarts,
	}
	i.info.Store(&row)
	return i
}

// Info returns what the registry says of the plugin. It must not be changed.
func (i *Instance) Info() *pluginsdk.PluginInfo { return i.info.Load() }

// change replaces the info by a changed copy and returns the old one.
func (i *Instance) change(edit func(*pluginsdk.PluginInfo)) (old *pluginsdk.PluginInfo) {
	i.infoMu.Lock()
	defer i.infoMu.Unlock()
	old = i.info.Load()
	changed := *old
	edit(&changed)
	i.info.Store(&changed)
	return old
}

// start begins to supervise, once the predecessor of the same name is gone:
// two processes must not hold one port.
func (i *Instance) start(run context.Context, predecessor *Instance) {
	ctx, cancel := context.WithCancel(run)
	i.cancel = cancel
	go func() {
		if predecessor != nil {
			<-predecessor.gone
		}
		i.run(ctx)
	}()
}

// end stops the process within the configured time and waits for it.
func (i *Instance) end(final pluginsdk.PluginState) {
	i.cancel()
	<-i.done
	i.watches.Wait()
	i.flush(context.Background())
	i.setState(final, "", time.Time{})
	close(i.gone)
}

// run is the supervisor's loop; serve one life of the process.
func (i *Instance) run(ctx context.Context) {
	defer close(i.done)
	defer i.once.Do(func() { close(i.tried) })
	failures := 0
	for ctx.Err() == nil {
		began := time.Now()
		err := i.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			continue
		}
		if time.Since(began) > steady {
			failures = 0
		}
		failures++
		wait := i.backoff(failures)
		i.mu.Lock()
		i.restarts++
		i.mu.Unlock()
		i.setState(pluginsdk.PluginBackoff, err.Error(), time.Now().Add(wait))
		i.log.Warn("plugin ended; it will be started again", "err", err, "in", wait.Round(time.Millisecond))
		i.once.Do(func() { close(i.tried) })
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// serve starts the process and returns when it has ended, with the fault that
// ended it, if it was one.
func (i *Instance) serve(ctx context.Context) error {
	select {
	case <-i.restart: // asked of the process before this one
	default:
	}
	i.setState(pluginsdk.PluginStarting, i.lastError(), time.Now())
	process, err := i.launch(ctx)
	if err != nil {
		return err
	}
	stopEvents := i.subscribe(process)
	i.publish(process)
	i.once.Do(func() { close(i.tried) })
	i.log.Info("plugin serves", "pid", process.PID(), "version", process.Manifest().Version)
	var reason error
	select {
	case <-ctx.Done():
	case end := <-i.restart:
		i.log.Info("plugin is started anew", "why", end.why)
		if end.fault {
			reason = errors.New(end.why)
		}
	case <-process.Done():
		reason = deathOf(process)
	}
	i.publish(nil)
	stopEvents()
	i.close(process, reason == nil)
	return reason
}

// launch brings a process to the point where it serves.
func (i *Instance) launch(ctx context.Context) (*launch.Plugin, error) {
	ctx, cancel := context.WithTimeout(ctx, i.host.config.StartTimeout)
	defer cancel()
	info := i.Info()
	process, err := i.host.launcher.Launch(ctx, launch.Config{
		Path: info.Path, Name: i.name, Env: i.host.environment(i.name),
		Host: i.host.hostFor(i.name), Log: i.host.config.Log, StartTimeout: i.host.config.StartTimeout,
		SocketDir: i.host.config.Sockets,
	})
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	if err := i.ready(ctx, process); err != nil {
		i.close(process, false)
		return nil, err
	}
	return process, nil
}

func (i *Instance) ready(ctx context.Context, process *launch.Plugin) error {
	manifest := process.Manifest()
	if manifest.Name != i.name {
		return fmt.Errorf("describe: the binary says that it is the plugin %q", manifest.Name)
	}
	if !reflect.DeepEqual(i.Info().Manifest, manifest) {
		if err := i.host.store.SavePluginManifest(ctx, i.name, manifest); err != nil {
			return fmt.Errorf("store the manifest: %w", err)
		}
		i.change(func(info *pluginsdk.PluginInfo) { info.Manifest, info.Version = manifest, manifest.Version })
	}
	if err := process.Start(ctx); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if err := process.Activate(ctx); err != nil {
		return fmt.Errorf("activate: %w", err)
	}
	return nil
}

// close ends a process: after the calls under way, when there is no hurry.
func (i *Instance) close(process *launch.Plugin, graceful bool) {
	ctx, cancel := context.WithTimeout(context.Background(), i.host.config.StopTimeout)
	defer cancel()
	if graceful {
		i.setState(pluginsdk.PluginStopping, i.lastError(), time.Time{})
		i.drain(ctx)
		if err := process.Deactivate(ctx); err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeUnimplemented {
			i.log.Warn("plugin could not be deactivated", "err", err)
		}
	}
	if err := process.Stop(ctx); err != nil {
		i.log.Debug("plugin was killed", "err", err)
	}
}

// drain waits until no hook is being answered.
func (i *Instance) drain(ctx context.Context) {
	for {
		i.mu.Lock()
		calls, changed := i.calls, i.changed
		i.mu.Unlock()
		if calls == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func deathOf(process *launch.Plugin) error {
	reason := "the process ended"
	if err := process.ExitError(); err != nil {
		reason += ": " + err.Error()
	}
	if lines := process.LastStderr(); len(lines) > 0 {
		reason += "; last words: " + strings.Join(lines[max(0, len(lines)-3):], " | ")
	}
	return errors.New(reason)
}

func (i *Instance) subscribe(process *launch.Plugin) (stop func()) {
	manifest := process.Manifest()
	if !manifest.Answers(pluginsdk.HookBroadcast) {
		return func() {}
	}
	return i.host.events.Subscribe(i.name, manifest.Events, func(ctx context.Context, events []pluginsdk.Event) error {
		last := events[len(events)-1]
		call := pluginsdk.Call{ID: fmt.Sprintf("broadcast:%s:%d", last.Boot, last.Seq), Attempt: 1}
		return i.tell(ctx, process, pluginsdk.HookBroadcast, call, func(ctx context.Context) error {
			return process.OnBroadcast(ctx, events)
		})
	})
}

// tellTimeout bounds the calls that the host itself makes.
const tellTimeout = 5 * time.Second

// tell makes a call outside of any run, with its deadline; a failure counts
// against the plugin as one in a run does.
func (i *Instance) tell(ctx context.Context, process *launch.Plugin, hook pluginsdk.Hook, call pluginsdk.Call,
	fn func(context.Context) error,
) error {
	call.Deadline = time.Now().Add(tellTimeout)
	callCtx, cancel := context.WithDeadline(pluginsdk.WithCall(ctx, call), call.Deadline)
	defer cancel()
	err := fn(callCtx)
	i.judge(ctx, process, hook, call.ID, err)
	return err
}

// backoff doubles with the failures in a row and spreads by a quarter.
func (i *Instance) backoff(failures int) time.Duration {
	wait := i.host.config.BackoffBase
	for range failures - 1 {
		if wait *= 2; wait >= i.host.config.BackoffMax {
			wait = i.host.config.BackoffMax
			break
		}
	}
	return time.Duration(float64(wait) * (0.75 + 0.5*rand.Float64())) //nolint:gosec // jitter, not a secret
}
