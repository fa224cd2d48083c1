package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/internal/identity"
	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
)

// DebugFlag is the argument that, alone, makes a plugin serve without a host
// having started it, so that it can run under a debugger:
//
//	dlv debug . -- --debug
//
// It prints the command that makes a daemon in development mode take it.
const DebugFlag = "--debug"

// debug serves until the host asks the plugin to end or a signal does, and
// returns the exit code. Nothing protects the connection but the directory of
// its socket, which is the user's alone.
func debug(p pluginsdk.Plugin, stderr io.Writer) int {
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	slog.SetDefault(log)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serveDebug(ctx, p, stderr, log); err != nil {
		fmt.Fprintln(stderr, "the plugin cannot be served:", err)
		return 1
	}
	return 0
}

func serveDebug(ctx context.Context, p pluginsdk.Plugin, stderr io.Writer, log *slog.Logger) error {
	adapter := &adapter{}
	server, err := wire.NewPluginServer(p, adapter.dialHost, log)
	if err != nil {
		return err
	}
	adapter.server = server
	dir, err := os.MkdirTemp("", "harness-debug") // 0700
	if err != nil {
		return fmt.Errorf("make a directory for the socket: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// go-plugin takes both from the environment, where a host would have put them.
	if err := os.Setenv(plugin.EnvUnixSocketDir, dir); err != nil {
		return err
	}
	if err := os.Unsetenv(identity.Variable); err != nil {
		return err
	}
	served, closed := make(chan *plugin.ReattachConfig, 1), make(chan struct{})
	go plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: wire.ProtocolVersion},
		Plugins:         plugin.PluginSet{wire.DispenseName: adapter},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, server.Options()...)...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: stderr}),
		Test:   &plugin.ServeTestConfig{Context: ctx, ReattachConfigCh: served, CloseCh: closed},
	})
	select {
	case config := <-served:
		invite(p, stderr, config)
		<-closed
		return nil
	case <-closed:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "go-plugin could not serve it; see above")
	}
}

// invite says how a daemon gets to use the plugin.
func invite(p pluginsdk.Plugin, stderr io.Writer, config *plugin.ReattachConfig) {
	name := p.Manifest().Name
	fmt.Fprintf(stderr, `%s serves, process %d. A daemon that was started with --dev takes it with:
  harness plugin attach %s --pid %d --address %s
and gives it back with: harness plugin detach %s
`, name, config.Pid, name, config.Pid, config.Addr, name)
}
