package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// The relay is today's code with an older version on both sides: frames go
// through a server of today, the types of pluginsdk, and a client of today to
// the other old end, and the answers back. What comes out must be what went in.

// A host of an older version must be served by today's SDK, and an older
// plugin by today's daemon.
func TestHooksOfOlderVersionsPassThroughToday(t *testing.T) {
	for _, version := range goldens(t) {
		end := newOldEnd(t, version)
		relay := pluginRelay(t, end)
		for _, path := range version.paths() {
			service, method, _ := strings.Cut(path[1:], "/")
			switch {
			case !strings.HasPrefix(service, "harness.plugin.v1."):
			case method == "Describe" || method == "InFlight":
				// Answered by the SDK itself; see the test below.
			default:
				t.Run(version.name+path, func(t *testing.T) { requireRelayed(t, relay, end, path, nil) })
				t.Run(version.name+path+" of a newer version", func(t *testing.T) { requireRelayed(t, relay, end, path, fieldOfTheFuture()) })
			}
		}
	}
}

// A plugin of an older version must reach today's host, and be told what it
// was told.
func TestHostCallsOfOlderVersionsPassThroughToday(t *testing.T) {
	for _, version := range goldens(t) {
		end := newOldEnd(t, version)
		host := NewHost(dialled(t, end.serve(t)), slog.New(slog.DiscardHandler))
		admitAll := func(context.Context, pluginsdk.Capability) error { return nil }
		relay := dialled(t, served(t, HostOptions(host.Log, admitAll), func(r grpc.ServiceRegistrar) { RegisterHost(r, host) }))
		for _, path := range version.paths() {
			if strings.HasPrefix(path, "/harness.host.v1.") {
				t.Run(version.name+path, func(t *testing.T) { requireRelayed(t, relay, end, path, nil) })
				t.Run(version.name+path+" of a newer version", func(t *testing.T) { requireRelayed(t, relay, end, path, fieldOfTheFuture()) })
			}
		}
	}
}

func TestManifestsOfOlderVersionsAreUnderstood(t *testing.T) {
	const describe, inFlight = "/harness.plugin.v1.LifecycleService/Describe", "/harness.plugin.v1.LifecycleService/InFlight"
	for _, version := range goldens(t) {
		client := NewPluginClient(dialled(t, newOldEnd(t, version).serve(t)))
		manifest, err := client.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		output := version.method(describe).Output()
		again, err := newCodec().Marshal(manifestTo(manifest))
		if err != nil {
			t.Fatal(err)
		}
		frame := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), again.Materialize())
		requireSame(t, version.name+describe, output, frame, version.methods[describe].Answers[0])
		if ids, err := client.InFlight(t.Context()); err != nil || len(ids) != 2 || !strings.HasPrefix(ids[0], "call_id-") {
			t.Errorf("%s%s: %v, %v", version.name, inFlight, ids, err)
		}
	}
}

// A method that only a newer version has is refused, and nothing else happens.
func TestMethodsOfTheFutureAreUnimplemented(t *testing.T) {
	relay := pluginRelay(t, newOldEnd(t, goldens(t)[0]))
	for _, path := range []string{"/harness.plugin.v1.PipelineService/OnTomorrow", "/harness.plugin.v1.TomorrowService/OnMessage"} {
		if _, err := call(t.Context(), relay, path, []byte{}); status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A dashboard of today before a daemon of v1.0 must be able to tell that this one decides
// about no plugins, and still use what it has.
func TestAnOlderHostSaysWhatItDoesNotHave(t *testing.T) {
	version := goldens(t)[0]
	older := hostv1.PluginService_ServiceDesc
	older.Methods = slices.DeleteFunc(slices.Clone(older.Methods), func(method grpc.MethodDesc) bool {
		_, known := version.methods["/"+older.ServiceName+"/"+method.MethodName]
		return !known
	})
	log := slog.New(slog.DiscardHandler)
	admitAll := func(context.Context, pluginsdk.Capability) error { return nil }
	behind := NewHost(dialled(t, newOldEnd(t, version).serve(t)), log)
	host := NewHost(dialled(t, served(t, HostOptions(log, admitAll), func(r grpc.ServiceRegistrar) {
		r.RegisterService(&older, hostServer{host: behind})
	})), log)
	if listed, err := host.Plugins.List(t.Context(), nil); err != nil || len(listed.Plugins) != 2 {
		t.Errorf("listed %+v, %v", listed, err)
	}
	if _, err := host.Plugins.Install(t.Context(), nil); pluginsdk.CodeOf(err) != pluginsdk.CodeUnimplemented {
		t.Errorf("install: %v", err)
	}
	if _, err := host.Plugins.Follow(t.Context(), nil); pluginsdk.CodeOf(err) != pluginsdk.CodeUnimplemented {
		t.Errorf("follow: %v", err)
	}
}

// fieldOfTheFuture is a field that no version has yet.
func fieldOfTheFuture() []byte {
	return protowire.AppendString(protowire.AppendTag(nil, 19_000, protowire.BytesType), "from tomorrow")
}

// requireRelayed sends a golden request, with extra bytes, and compares what
// the other end got, and what came back, with the golden frames.
func requireRelayed(t *testing.T, relay *grpc.ClientConn, end *oldEnd, path string, extra []byte) {
	t.Helper()
	method, want := end.version.method(path), end.version.methods[path]
	end.extra = extra
	answers, err := call(t.Context(), relay, path, append(want.Request[:len(want.Request):len(want.Request)], extra...))
	if err != nil {
		t.Fatal(err)
	}
	requireSame(t, "the request", method.Input(), end.got(path), want.Request)
	if len(answers) != len(want.Answers) {
		t.Fatalf("%d answers came back, %d were given", len(answers), len(want.Answers))
	}
	for i := range answers {
		requireSame(t, "the answer", method.Output(), answers[i], want.Answers[i])
	}
}

// call makes a call of raw frames.
func call(ctx context.Context, conn *grpc.ClientConn, path string, request []byte) (answers [][]byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path, grpc.ForceCodecV2(frameCodec{}))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(stream.SendMsg(&request), stream.CloseSend()); err != nil {
		return nil, err
	}
	for {
		var answer []byte
		if err := stream.RecvMsg(&answer); errors.Is(err, io.EOF) {
			return answers, nil
		} else if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
}

// oldEnd answers every method with its golden frames and keeps the requests.
type oldEnd struct {
	version golden
	extra   []byte // added to every answer

	mu       sync.Mutex
	requests map[string][]byte
}

func newOldEnd(t *testing.T, version golden) *oldEnd {
	t.Helper()
	return &oldEnd{version: version, requests: make(map[string][]byte)}
}

func (e *oldEnd) got(path string) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests[path]
}

func (e *oldEnd) serve(t *testing.T) *bufconn.Listener {
	return served(t, []grpc.ServerOption{grpc.ForceServerCodecV2(frameCodec{}), grpc.UnknownServiceHandler(e.answer)}, func(grpc.ServiceRegistrar) {})
}

func (e *oldEnd) answer(_ any, stream grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(stream)
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	e.mu.Lock()
	e.requests[path] = request
	e.mu.Unlock()
	for _, answer := range e.version.methods[path].Answers {
		frame := append(answer[:len(answer):len(answer)], e.extra...)
		if err := stream.SendMsg(&frame); err != nil {
			return err
		}
	}
	return nil
}

// pluginRelay serves a plugin that hands every hook on to the old end.
func pluginRelay(t *testing.T, end *oldEnd) *grpc.ClientConn {
	t.Helper()
	plugin := &forwarder{PluginClient: NewPluginClient(dialled(t, end.serve(t)))}
	dial := func(id uint32) (grpc.ClientConnInterface, error) {
		plugin.hostID = id
		return dialled(t, end.serve(t)), nil
	}
	server, err := NewPluginServer(plugin, dial, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	// A process is started once, a relay twice: with the fields of tomorrow.
	options := append(server.Options(), grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		server.started.Store(false)
		return next(ctx, req)
	}))
	return dialled(t, served(t, options, server.Register))
}

// forwarder answers every hook by asking another plugin.
type forwarder struct {
	*PluginClient
	hostID uint32
}

func (*forwarder) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: "relay", Version: "1", Commands: []pluginsdk.CommandSpec{{Name: "*"}},
		Tools: []pluginsdk.ToolSpec{{Name: "any", InputSchema: json.RawMessage(`{}`)}},
	}
}

func (f *forwarder) Start(ctx context.Context, _ pluginsdk.Host) error {
	return f.StartWith(ctx, f.hostID)
}

// served starts a server in memory, until the test ends.
func served(t *testing.T, options []grpc.ServerOption, register func(grpc.ServiceRegistrar)) *bufconn.Listener {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(options...)
	register(server)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return listener
}

func dialled(t *testing.T, listener *bufconn.Listener) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///memory", append(DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// frameCodec sends and receives *[]byte as they are.
type frameCodec struct{}

func (frameCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (frameCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func (frameCodec) Name() string { return "proto" }
