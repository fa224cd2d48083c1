package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
)

// AttachTo is where a plugin serves that its author started, usually under a
// debugger (see serve.DebugFlag). As JSON it is PluginInfo.Attach.
type AttachTo struct {
	PID     int    `json:"pid"`
	Address string `json:"address"` // of its unix socket
}

// ParseAttachTo reads what PluginInfo.Attach holds, and checks it.
func ParseAttachTo(text string) (AttachTo, error) {
	var to AttachTo
	if err := json.Unmarshal([]byte(text), &to); err != nil {
		return to, pluginsdk.Errorf(pluginsdk.CodeInvalid, "attach to %q: want JSON such as {\"pid\":1,\"address\":\"/tmp/s\"}: %w", text, err)
	}
	return to, to.Check()
}

// Check reports what is wrong with it: the process must live, and nobody but
// its owner may reach the socket, because nothing on that connection says who
// is at its other end.
func (to AttachTo) Check() error {
	switch {
	case to.PID <= 0:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "attach to process %d: want the id of a process", to.PID)
	case !filepath.IsAbs(to.Address):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "attach to %q: want the absolute path of a socket", to.Address)
	case !lives(to.PID):
		return pluginsdk.Errorf(pluginsdk.CodeNotFound, "attach to process %d: it has ended; start the plugin under the debugger again", to.PID)
	}
	info, err := os.Lstat(to.Address)
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeNotFound, "attach to process %d: %w", to.PID, err)
	}
	if info.Mode()&os.ModeSocket == 0 {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "attach to %s: it is no socket", to.Address)
	}
	dir, err := os.Stat(filepath.Dir(to.Address))
	if err != nil {
		return fmt.Errorf("attach to process %d: %w", to.PID, err)
	}
	if owner, ok := dir.Sys().(*syscall.Stat_t); dir.Mode().Perm()&0o077 != 0 || ok && int(owner.Uid) != os.Getuid() {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "attach to %s: its directory must belong to this user alone (chmod 700)", to.Address)
	}
	return nil
}

// lives reports whether there is a process of that id.
func lives(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Attach takes a plugin that runs already, and asks for its manifest. What it
// returns behaves as what Launch returns, except that the process is its
// author's: Stop asks it to end, and leaves alone one that does not; its output
// goes where its author reads it. Of the Config, only Name, Host, Admit, Log,
// Fault and StartTimeout count.
//
// The connection is NOT mutual TLS: the certificates of a launched plugin are
// made for its start. That is why the socket's directory must be private, and
// why this is for an author's own machine only.
func (l *Launcher) Attach(ctx context.Context, cfg Config, to AttachTo) (*Plugin, error) {
	if cfg.Log == nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "attach to process %d: Log is nil", to.PID)
	}
	if err := to.Check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.startTimeout())
	defer cancel()
	p := l.newAttached(cfg, to)
	if err := l.enter(p.process); err != nil {
		return nil, err
	}
	go p.process.watchAttached()
	err := p.connect(ctx)
	if err == nil {
		err = p.describe(ctx, cfg.Name)
	}
	if err != nil {
		p.discard()
		return nil, fmt.Errorf("attach to process %d: %w", to.PID, err)
	}
	return p, nil
}

func (l *Launcher) newAttached(cfg Config, to AttachTo) *Plugin {
	log := cfg.Log.With("plugin", cfg.label())
	attached := &attachment{pid: to.PID, loose: make(chan struct{})}
	p := &Plugin{
		name:    cfg.label(),
		host:    cfg.Host,
		admit:   cfg.admit(),
		fault:   cfg.Fault,
		log:     log,
		process: &process{launcher: l, output: newOutput(log, nil), attached: attached, done: make(chan struct{})},
		cleaned: make(chan struct{}),
	}
	p.config = &plugin.ClientConfig{
		Plugins: plugin.PluginSet{wire.DispenseName: (*dispenser)(nil)},
		Reattach: &plugin.ReattachConfig{
			Protocol:        plugin.ProtocolGRPC,
			ProtocolVersion: wire.ProtocolVersion,
			Addr:            &net.UnixAddr{Net: "unix", Name: to.Address},
			ReattachFunc:    func() (runner.AttachedRunner, error) { return attachedRunner{process: p.process}, nil },
		},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		GRPCDialOptions:  p.dialOptions(),
		Logger:           hclog.NewNullLogger(),
	}
	p.client = plugin.NewClient(p.config)
	return p
}

// detach asks a plugin that was attached to to end, and lets go of it.
func (p *Plugin) detach(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, stopTime)
		defer cancel()
	}
	p.askToEnd(ctx)
	ended := p.awaitDone(ctx)
	p.process.kill() // which only lets go
	cleanCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	switch cleaned := p.clean(cleanCtx); {
	case !ended:
		return fmt.Errorf("stop plugin %s: process %d was not started here and has not ended; it is left alone", p.name, p.PID())
	case !cleaned:
		return fmt.Errorf("stop plugin %s: a call that it made to the host has not returned", p.name)
	}
	return nil
}

// keepPrivate lets nobody but the user reach the host's socket, when nothing
// else does: go-plugin puts that of an attached plugin among all temporary files.
func (p *Plugin) keepPrivate(listener net.Listener) error {
	if p.process.attached == nil {
		return nil
	}
	return os.Chmod(listener.Addr().String(), 0o600)
}

// attachedInterval is how often a process is looked for that is no child.
const attachedInterval = 200 * time.Millisecond

// errLetGo is how a process ended that may well go on.
var errLetGo = errors.New("the plugin was let go of")

// errAttachedEnded is all that is known of the end of a process that is no
// child.
var errAttachedEnded = errors.New("the process that was attached to has ended")

// attachment is a process that another has started.
type attachment struct {
	pid   int
	once  sync.Once
	loose chan struct{} // closed when it is let go of
}

func (a *attachment) letGo() { a.once.Do(func() { close(a.loose) }) }

// watchAttached waits for the end of a process that is no child, or until it
// is let go of.
func (p *process) watchAttached() {
	defer p.launcher.leave(p)
	defer close(p.done)
	ticks := time.NewTicker(attachedInterval)
	defer ticks.Stop()
	for {
		select {
		case <-p.attached.loose:
			p.err = errLetGo
			return
		case <-ticks.C:
			if !lives(p.attached.pid) {
				p.err = errAttachedEnded
				return
			}
		}
	}
}

// attachedRunner is an attached process as go-plugin wants it.
type attachedRunner struct {
	processRunner // for the addresses
	process       *process
}

// Wait returns when the process has ended or was let go of.
func (r attachedRunner) Wait(context.Context) error {
	<-r.process.done
	return r.process.err
}

// Kill kills nothing that was not started here.
func (r attachedRunner) Kill(context.Context) error {
	r.process.attached.letGo()
	return nil
}

// ID must not be empty, or go-plugin leaves its connection open.
func (r attachedRunner) ID() string { return "attached" }
