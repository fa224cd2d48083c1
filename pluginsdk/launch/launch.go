package launch

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/internal/identity"
	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
)

// Launch starts a plugin's process, shakes hands and asks for its manifest,
// which must be valid. The plugin then waits for Start. Nothing of a plugin
// that could not be launched is left.
func (l *Launcher) Launch(ctx context.Context, cfg Config) (*Plugin, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.startTimeout())
	defer cancel()
	self, err := identity.New()
	if err != nil {
		return nil, fmt.Errorf("launch plugin %s: %w", cfg.label(), err)
	}
	p := l.newPlugin(cfg, self)
	if err := p.connect(ctx); err != nil {
		p.discard()
		return nil, fmt.Errorf("launch plugin %s: %w", cfg.label(), p.handshakeError(ctx, err))
	}
	if err := p.describe(ctx, cfg.Name); err != nil {
		p.discard()
		return nil, fmt.Errorf("launch plugin %s: %w", cfg.label(), err)
	}
	return p, nil
}

func (l *Launcher) newPlugin(cfg Config, self *identity.Identity) *Plugin {
	log := cfg.Log.With("plugin", cfg.label())
	cmd := exec.Command(cfg.Path, cfg.Args...)
	cmd.Dir = cfg.Dir
	p := &Plugin{
		name:    cfg.label(),
		host:    cfg.Host,
		admit:   cfg.admit(),
		fault:   cfg.Fault,
		log:     log,
		process: newProcess(l, cmd, newOutput(log, cfg.Stderr), cfg.Ended),
		cleaned: make(chan struct{}),
	}
	p.process.confine = newConfinement(cfg)
	p.config = &plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  wire.ProtocolVersion,
			MagicCookieKey:   wire.CookieKey,
			MagicCookieValue: wire.CookieValue,
		},
		Plugins: plugin.PluginSet{wire.DispenseName: (*dispenser)(nil)},
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, _ string) (runner.Runner, error) {
			// The launcher's and go-plugin's own variables come last: they win.
			cmd.Env = append(append([]string(nil), cfg.Env...), spec.Env...)
			cmd.Env = append(cmd.Env, self.Environment(), wire.HostPIDKey+"="+strconv.Itoa(os.Getpid()), p.process.confine.mark)
			return processRunner{p.process}, nil
		},
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: cfg.SocketDir},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		TLSConfig:        self.Config(x509.NewCertPool()),
		SkipHostEnv:      true,
		StartTimeout:     cfg.startTimeout(),
		GRPCDialOptions:  p.dialOptions(),
		// What a plugin prints through os.Stdout and os.Stderr once it is served.
		SyncStdout: &lineWriter{each: p.process.output.stdoutLine},
		SyncStderr: &lineWriter{each: p.process.output.stderrLine},
		Logger:     hclog.NewNullLogger(),
	}
	p.client = plugin.NewClient(p.config)
	return p
}

// connect shakes hands. go-plugin's calls do not end with a context, so the
// process is killed when ctx ends, and they end with the process.
func (p *Plugin) connect(ctx context.Context) error {
	stop := context.AfterFunc(ctx, p.process.kill)
	defer stop()
	client, err := p.client.Client()
	if err != nil {
		return err
	}
	dispensed, err := client.Dispense(wire.DispenseName)
	if err != nil {
		return err
	}
	link, ok := dispensed.(link)
	if !ok {
		return fmt.Errorf("go-plugin dispensed a %T", dispensed)
	}
	p.link = link
	p.PluginClient = wire.NewPluginClient(watchedConn{ClientConn: link.conn, plugin: p})
	return nil
}

// describe asks for the manifest and checks it.
func (p *Plugin) describe(ctx context.Context, name string) error {
	manifest, err := p.Describe(ctx)
	if err != nil {
		return fmt.Errorf("ask for the manifest: %w", err)
	}
	if err := manifest.Check(); err != nil {
		return err
	}
	if name != "" && manifest.Name != name {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "its manifest names it %q", manifest.Name)
	}
	p.manifest = manifest
	p.name = manifest.Name
	return nil
}

// handshakeError says why the handshake failed, in words that help more than
// go-plugin's when the process is the reason. Only after discard.
func (p *Plugin) handshakeError(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return pluginsdk.Errorf(pluginsdk.CodeDeadline, "no handshake in time%s: %w", p.lastWords(), ctx.Err())
	case ctx.Err() != nil:
		return pluginsdk.Errorf(pluginsdk.CodeCancelled, "given up: %w", ctx.Err())
	case p.process.endedByItself():
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "it ended before the handshake (%s)%s", p.process.exitText(), p.lastWords())
	}
	return err
}

// discard ends a plugin that could not be launched.
func (p *Plugin) discard() {
	p.process.kill()
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	p.clean(ctx)
}

// link is what go-plugin gives for a connected plugin.
type link struct {
	conn   *grpc.ClientConn
	broker *plugin.GRPCBroker
}

// dispenser takes the connection and the broker out of go-plugin.
type dispenser struct {
	plugin.NetRPCUnsupportedPlugin
}

var _ plugin.GRPCPlugin = (*dispenser)(nil)

// GRPCServer is the plugin's half of a go-plugin plugin; see package serve.
func (*dispenser) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "package launch is the host's side")
}

// GRPCClient returns the link.
func (*dispenser) GRPCClient(_ context.Context, broker *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return link{conn: conn, broker: broker}, nil
}
