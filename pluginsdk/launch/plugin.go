package launch

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
)

// Plugin is a plugin that has been launched. It implements every hook
// interface of pluginsdk, and has Activate, Deactivate and InFlight; each call
// ends with its context, whatever the plugin does. It must be stopped, also
// when it has ended by itself.
type Plugin struct {
	*wire.PluginClient

	name     string
	host     pluginsdk.Host
	admit    wire.Admit
	fault    func(error) // may be nil
	log      *slog.Logger
	process  *process
	config   *plugin.ClientConfig
	client   *plugin.Client
	link     link
	manifest pluginsdk.Manifest

	mu         sync.Mutex
	conns      []*grpc.ClientConn // that go-plugin has made
	stopped    bool
	door       *door // nil before Start, as the next two
	hostServer *grpc.Server
	hostEnded  chan struct{} // closed when the host is no longer served

	faultOnce sync.Once
	cleanOnce sync.Once
	cleaned   chan struct{} // closed when nothing of the plugin is left
}

// Manifest returns what the plugin declared about itself.
func (p *Plugin) Manifest() pluginsdk.Manifest { return p.manifest }

// PID returns the id of the process, which is also that of its group.
func (p *Plugin) PID() int {
	if p.process.attached != nil {
		return p.process.attached.pid
	}
	return p.process.cmd.Process.Pid
}

// Done is closed when the process has ended and its last output is logged.
func (p *Plugin) Done() <-chan struct{} { return p.process.done }

// ExitError says how the process ended: nil while it runs and after exit
// status 0, else usually an *exec.ExitError.
func (p *Plugin) ExitError() error {
	if !p.process.ended() {
		return nil
	}
	return p.process.err
}

// LastStderr returns the newest lines of stderr, the oldest first.
func (p *Plugin) LastStderr() []string { return p.process.output.lastLines() }

// LastWords returns the lines of stderr in which the process says why it ends, the oldest
// first and three at most: a Go program's panic from its first line on, else the newest.
func (p *Plugin) LastWords() []string { return p.process.output.lastWords(keptCrash) }

// Start serves the host to the plugin and lets it ready itself. It may be
// called once.
func (p *Plugin) Start(ctx context.Context) error {
	ended := make(chan struct{})
	p.mu.Lock()
	again := p.hostEnded != nil
	if !again {
		p.hostEnded = ended
	}
	p.mu.Unlock()
	if again {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "plugin %s was started before", p.name)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	id := p.link.broker.NextId()
	go func() {
		defer close(ended)
		if err := p.serveHost(id); err != nil {
			cancel(err)
		}
	}()
	err := p.StartWith(ctx, id)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, ctx.Err()) {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%w", cause)
	}
	return err
}

// Ping asks the plugin whether it is there.
func (p *Plugin) Ping(ctx context.Context) error {
	health := grpc_health_v1.NewHealthClient(p.link.conn)
	answer, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: plugin.GRPCServiceName})
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "ping plugin %s: %w", p.name, err)
	}
	if answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "ping plugin %s: it says that it is %s", p.name, answer.GetStatus())
	}
	return nil
}

// lastWords is the end of stderr as the end of an error's sentence.
func (p *Plugin) lastWords() string {
	lines := p.process.output.lastWords(1)
	if len(lines) == 0 {
		return ""
	}
	return "; it last said: " + lines[0]
}
