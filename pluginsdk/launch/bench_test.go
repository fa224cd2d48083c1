package launch_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	bareSocketKey = "HARNESS_TEST_SOCKET"
	bareMethod    = "/bare.Echo/Echo"
)

// serveBare echoes strings over plain gRPC on a unix socket.
func serveBare() {
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bare.Echo", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Echo",
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				message := new(wrapperspb.StringValue)
				return message, decode(message)
			},
		}},
	}, struct{}{})
	if err := server.Serve(unixSocket(os.Getenv(bareSocketKey))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// BenchmarkHookHop1KB is what one hook of one plugin adds to a turn.
func BenchmarkHookHop1KB(b *testing.B) { benchmarkHookHop(b, 1<<10) }

// BenchmarkHookHop64KB is the same with a large prompt.
func BenchmarkHookHop64KB(b *testing.B) { benchmarkHookHop(b, 64<<10) }

// BenchmarkBareGRPC1KB is the least that gRPC to another process costs.
func BenchmarkBareGRPC1KB(b *testing.B) { benchmarkBare(b, 1<<10) }

// BenchmarkBareGRPC64KB is the same with a large message.
func BenchmarkBareGRPC64KB(b *testing.B) { benchmarkBare(b, 64<<10) }

func benchmarkHookHop(b *testing.B, size int) {
	plugin := started(b, config(b, "plugin"))
	request := &pluginsdk.OnBeforeInvokeRequest{
		Call:    pluginsdk.Call{ID: "call", RunID: "run", Attempt: 1, Token: "token"},
		Thread:  pluginsdk.Thread{ID: "thread", Source: "web"},
		Message: pluginsdk.Message{ID: 1, ThreadID: "thread", Content: "hello"},
		Prompt:  strings.Repeat("x", size),
	}
	b.ResetTimer()
	for range b.N {
		if _, err := plugin.OnBeforeInvoke(b.Context(), request); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkBare(b *testing.B, size int) {
	socket := filepath.Join(b.TempDir(), "bare")
	child := exec.Command(config(b, "").Path)
	child.Env = []string{modeKey + "=bare", bareSocketKey + "=" + socket}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	message := wrapperspb.String(strings.Repeat("x", size))
	answer := new(wrapperspb.StringValue)
	if err := conn.Invoke(b.Context(), bareMethod, message, answer, grpc.WaitForReady(true)); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		if err := conn.Invoke(b.Context(), bareMethod, message, answer); err != nil {
			b.Fatal(err)
		}
	}
}
