package conform_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest/conform"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// TestMain makes the test binary be a plugin or a host when it is told to.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "be-plugin":
		become(os.Args[2])
		os.Exit(0)
	case len(os.Args) == 2 && os.Args[1] == "be-host":
		if err := conform.HostProcess(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(run(m))
}

// subjectFile is the test binary without the race detector, with which a process takes a
// multiple of the time to start and to answer: it looks for races in the examiner.
var subjectFile string

func run(m *testing.M) int {
	if !raced {
		subjectFile, _ = os.Executable()
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "conform")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	subjectFile = filepath.Join(dir, "subject")
	build := exec.Command("go", "test", "-c", "-trimpath", "-ldflags", "-s -w", "-o", subjectFile, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the subject: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}

func become(mode string) {
	subject := &subject{mode: mode}
	switch mode {
	case "lasting":
		lastForEver()
	case "chatty":
		fmt.Println("starting up ...")
	case "mute":
		if os.Getenv(wire.CookieKey) == "" {
			os.Exit(0)
		}
	case "stubborn", "not-serving", "lies", "secretive", "small", "slow-to-go", "drains-for-ever", "orphan":
		serveOddly(subject)
		return
	}
	serve.Main(subject)
}

// lastForEver ends by SIGKILL only.
func lastForEver() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals)
	for range signals {
	}
}

// serveOddly serves a plugin without package serve, which would not let it be
// as odd as its mode says.
func serveOddly(p *subject) {
	if os.Getenv(wire.CookieKey) == "" {
		fmt.Fprintln(os.Stderr, "This is a plugin of Harness.")
		os.Exit(1)
	}
	if p.mode == "stubborn" || p.mode == "drains-for-ever" {
		signal.Ignore(syscall.SIGTERM)
	}
	odd := &oddity{subject: p}
	server, err := wire.NewPluginServer(p, odd.dial, wire.NewLogger(os.Stderr))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	odd.server = server
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: wire.ProtocolVersion, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		Plugins:         plugin.PluginSet{wire.DispenseName: odd},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			opts = append(append(opts, grpc.ChainUnaryInterceptor(odd.intercept)), server.Options()...)
			if p.mode == "small" {
				opts = append(opts, grpc.MaxRecvMsgSize(512<<10))
			}
			return grpc.NewServer(opts...)
		},
		Logger: hclog.NewNullLogger(),
	})
}

// oddity is a plugin as go-plugin wants it, and its oddity on the wire.
type oddity struct {
	plugin.NetRPCUnsupportedPlugin
	subject *subject
	server  *wire.PluginServer
	broker  *plugin.GRPCBroker
}

func (o *oddity) GRPCServer(broker *plugin.GRPCBroker, s *grpc.Server) error {
	o.broker = broker
	o.server.Register(s)
	return nil
}

func (*oddity) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "the plugin's side")
}

func (o *oddity) dial(id uint32) (grpc.ClientConnInterface, error) {
	return o.broker.DialWithOptions(id, wire.DialOptions()...)
}

func (o *oddity) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	is := func(mode, method string) bool {
		return o.subject.mode == mode && strings.HasSuffix(info.FullMethod, method)
	}
	switch {
	case is("not-serving", "Health/Check"):
		return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_NOT_SERVING}, nil
	case is("lies", "/OnMessage"):
		return nil, status.Error(codes.Unimplemented, "not today")
	case is("secretive", "/OnAfterInvoke"):
		return &emptypb.Empty{}, nil
	case is("stubborn", "/Shutdown"), is("slow-to-go", "/Shutdown"):
		return &emptypb.Empty{}, nil
	case is("drains-for-ever", "/Shutdown"):
		if o.subject.calls.Load() > 0 {
			lastForEver()
		}
	}
	return next(ctx, req)
}
