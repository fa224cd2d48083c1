// Package plugintest is what authors test their plugins with. Serve runs a
// plugin in the test's process, over real gRPC in both directions: what a test
// sees is what the daemon would. NewHost is a host in memory that records what
// the plugin asked of it.
//
//	host := plugintest.NewHost()
//	plugin := host.Serve(t, new(myplugin.Plugin))
//	answer, err := plugin.OnMessage(ctx, &pluginsdk.OnMessageRequest{Message: message})
//	applied := host.Apply(plugin.Manifest(), "run-1", "thread-1", answer.Effects)
package plugintest

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
)

// startTime bounds the plugin's own Start.
const startTime = 30 * time.Second

// Plugin is a plugin that is served. It implements every hook interface of
// pluginsdk, and has Activate, Deactivate and InFlight. A hook that the plugin
// does not answer returns CodeUnimplemented.
type Plugin struct {
	*wire.PluginClient
	manifest pluginsdk.Manifest
	death    *death // nil: it lives
	host     *Host  // that it is served with; nil: another one
}

// Manifest returns what the plugin declared about itself, with its hooks.
func (p *Plugin) Manifest() pluginsdk.Manifest { return p.manifest }

// Start readies the plugin with the host it was made with; see Starter. It may
// be called once, and Serve has.
func (p *Plugin) Start(ctx context.Context) error { return p.StartWith(ctx, 0) }

// Serve serves a plugin, started, until the test ends, and grants it every
// capability. The test fails at once when the manifest is wrong or the plugin does
// not start.
func Serve(t testing.TB, plugin pluginsdk.Plugin, host pluginsdk.Host) *Plugin {
	t.Helper()
	p, err := New(t, plugin, host)
	return started(t, p, err)
}

// Serve serves a plugin with the host, as it sees it, and grants it what its
// manifest asks for, as an operator would who grants all.
func (h *Host) Serve(t testing.TB, plugin pluginsdk.Plugin) *Plugin {
	t.Helper()
	p, err := h.New(t, plugin)
	return started(t, p, err)
}

// New is Serve of a plugin that is not started.
func (h *Host) New(t testing.TB, plugin pluginsdk.Plugin) (*Plugin, error) {
	t.Helper()
	return h.newPlugin(t, plugin, nil)
}

func (h *Host) newPlugin(t testing.TB, plugin pluginsdk.Plugin, end *death) (*Plugin, error) {
	t.Helper()
	p, err := newPlugin(t, plugin, h.As(plugin.Manifest()), h.admit(plugin.Manifest()), end)
	if p != nil {
		p.host = h
	}
	return p, err
}

// ServeUntil is Serve of a plugin that is killed at one of its calls of the host.
// Another instance, served with the same host, is what the daemon starts then.
func (h *Host) ServeUntil(t testing.TB, plugin pluginsdk.Plugin, at Death) *Plugin {
	t.Helper()
	p, err := h.newPlugin(t, plugin, &death{at: at})
	return started(t, p, err)
}

// admit grants what a manifest asks for.
func (h *Host) admit(manifest pluginsdk.Manifest) wire.Admit {
	return func(ctx context.Context, capability pluginsdk.Capability) error {
		if capability == pluginsdk.CapTasksDecide && h.typedIn(ctx, manifest) {
			capability = pluginsdk.CapTasksWrite // see tasks.Decide
		}
		if capability != "" && !asksFor(manifest, capability) {
			return pluginsdk.Errorf(pluginsdk.CodeDenied, "the manifest of the plugin %s does not ask for %s", manifest.Name, capability)
		}
		return nil
	}
}

func started(t testing.TB, p *Plugin, err error) *Plugin {
	t.Helper()
	if err != nil {
		t.Fatalf("serve the plugin: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	if err := p.Start(ctx); err != nil {
		t.Fatalf("start plugin %s: %v", p.manifest.Name, err)
	}
	return p
}

// New serves a plugin that is not started, until the test ends. The error says
// what is wrong with its manifest.
func New(t testing.TB, plugin pluginsdk.Plugin, host pluginsdk.Host) (*Plugin, error) {
	t.Helper()
	return newPlugin(t, plugin, host, func(context.Context, pluginsdk.Capability) error { return nil }, nil)
}

func newPlugin(t testing.TB, plugin pluginsdk.Plugin, host pluginsdk.Host, admit wire.Admit, end *death) (*Plugin, error) {
	t.Helper()
	if host.Log == nil {
		host.Log = slog.New(slog.DiscardHandler)
	}
	options := wire.HostOptions(host.Log, admit)
	if end != nil {
		options = append(options, grpc.ChainUnaryInterceptor(end.intercept))
	}
	hostConn := serve(t, options, func(r grpc.ServiceRegistrar) { wire.RegisterHost(r, host) })
	dial := func(uint32) (grpc.ClientConnInterface, error) { return hostConn, nil }
	server, err := wire.NewPluginServer(plugin, dial, host.Log)
	if err != nil {
		return nil, err
	}
	client := wire.NewPluginClient(serve(t, server.Options(), server.Register))
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	manifest, err := client.Describe(ctx)
	return &Plugin{PluginClient: client, manifest: manifest, death: end}, err
}

// serve starts a gRPC server in memory and returns a connection to it; both
// end with the test.
func serve(t testing.TB, opts []grpc.ServerOption, register func(grpc.ServiceRegistrar)) *grpc.ClientConn {
	t.Helper()
	listener := bufconn.Listen(256 << 10)
	server := grpc.NewServer(opts...)
	register(server)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///memory", append(wire.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
	if err != nil {
		t.Fatalf("connect in memory: %v", err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		if err := <-ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("the server in memory: %v", err)
		}
	})
	return conn
}
