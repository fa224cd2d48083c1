package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"runtime/debug"
	"sort"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

// Admit says whether a plugin may make a call that needs the capability; an
// empty one is needed for what every plugin may do. The context carries the
// pluginsdk.Call that the call is made in, if it is made in one.
type Admit func(ctx context.Context, capability pluginsdk.Capability) error

// noCapability is what a method says that every plugin may call.
const noCapability = "none"

// admission asks admit before each call of the host. A method that does not
// declare what it needs is refused.
func admission(admit Admit) grpc.UnaryServerInterceptor {
	needs := capabilities()
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		capability, declared := needs[info.FullMethod]
		if !declared {
			return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "%s declares no capability; nobody may call it", info.FullMethod)
		}
		if err := admit(ctx, capability); err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

// capabilities reads from the contract what each method of the host needs.
func capabilities() map[string]pluginsdk.Capability {
	needs := make(map[string]pluginsdk.Capability)
	protoregistry.GlobalFiles.RangeFilesByPackage(hostv1.File_harness_host_v1_capability_proto.Package(), func(file protoreflect.FileDescriptor) bool {
		for s := range file.Services().Len() {
			service := file.Services().Get(s)
			for m := range service.Methods().Len() {
				method := service.Methods().Get(m)
				if !proto.HasExtension(method.Options(), hostv1.E_Capability) {
					continue
				}
				capability := proto.GetExtension(method.Options(), hostv1.E_Capability).(string)
				if capability == noCapability {
					capability = ""
				}
				needs[fmt.Sprintf("/%s/%s", service.FullName(), method.Name())] = pluginsdk.Capability(capability)
			}
		}
		return true
	})
	return needs
}

// inFlightCall is a hook call whose handler has not returned.
type inFlightCall struct {
	callID  string
	hook    string
	started time.Time
}

// inFlight runs the plugin's hooks and knows which of them have not returned,
// also those whose caller has given up.
type inFlight struct {
	log *slog.Logger

	mu    sync.Mutex
	next  uint64
	calls map[uint64]inFlightCall
}

func newInFlight(log *slog.Logger) *inFlight {
	return &inFlight{log: log, calls: make(map[uint64]inFlightCall)}
}

// run answers one hook call: with the call in its context and the call's
// deadline applied, counted while it lasts, and a panic made an error.
func (f *inFlight) run(ctx context.Context, call pluginsdk.Call, hook string, answer func(context.Context) error) error {
	defer tellTiming(ctx, time.Now())
	ctx = pluginsdk.WithCall(ctx, call)
	if !call.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, call.Deadline)
		defer cancel()
	}
	defer f.begin(call.ID, hook)()
	return recovered(f.log, hook, func() error { return answer(ctx) })
}

func (f *inFlight) begin(callID, hook string) (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	id := f.next
	f.calls[id] = inFlightCall{callID: callID, hook: hook, started: time.Now()}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.calls, id)
	}
}

// list returns the calls in flight, the oldest first.
func (f *inFlight) list() []*pluginv1.InFlightCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := make([]*pluginv1.InFlightCall, 0, len(f.calls))
	for _, call := range f.calls {
		calls = append(calls, &pluginv1.InFlightCall{
			CallId:    call.callID,
			Hook:      call.hook,
			StartedAt: timeTo(call.started),
		})
	}
	sort.Slice(calls, func(i, j int) bool {
		return calls[i].GetStartedAt().AsTime().Before(calls[j].GetStartedAt().AsTime())
	})
	return calls
}

// unary is the interceptor of the plugin's server. A request that carries a
// Call is a hook; anything else (lifecycle, go-plugin's own services) is only
// kept from panicking through.
func (f *inFlight) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
	method := path.Base(info.FullMethod)
	answer := func(ctx context.Context) error {
		resp, err = next(ctx, req)
		return err
	}
	if hook, ok := req.(interface{ GetCall() *typesv1.Call }); ok {
		err = f.run(ctx, callFrom(hook.GetCall()), method, answer)
	} else {
		err = recovered(f.log, method, func() error { return answer(ctx) })
	}
	return resp, statusFrom(err)
}

// recovered calls do and turns a panic into a CodeInternal error, whose stack
// is logged.
func recovered(log *slog.Logger, name string, do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			log.Error("panic", "in", name, "panic", v, "stack", string(debug.Stack()))
			err = pluginsdk.Errorf(pluginsdk.CodeInternal, "%s panicked: %v", name, v)
		}
	}()
	return do()
}

// MaxMessageBytes is the largest message either side sends or accepts.
const MaxMessageBytes = 16 << 20

// ErrTooLarge is the cause of the CodeInvalid of a call whose request has more
// than MaxMessageBytes: it was not made, and who was to get it has no part in it.
// An answer that is too large is CodeExhausted, and its giver's fault.
var ErrTooLarge = errors.New("the message is too large to be sent")

// windowBytes is the flow-control window of streams and connections. Set by
// hand, it also turns off gRPC's measuring of the bandwidth, which answers
// every small message with a ping: on a local socket that is pure cost.
const windowBytes = 1 << 20

// streamWorkers is how many goroutines a server keeps for calls, so that not
// every one grows a stack of its own.
const streamWorkers = 4

// DialOptions are the options of every client connection: the size limit in
// both directions (go-plugin's own is 2 GiB), and no idling, so that a
// connection made at start is kept. Text that is not UTF-8 is repaired.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(MaxMessageBytes),
			grpc.MaxCallSendMsgSize(MaxMessageBytes),
			grpc.ForceCodecV2(newCodec()),
		),
		grpc.WithIdleTimeout(0),
		grpc.WithStaticStreamWindowSize(windowBytes),
		grpc.WithStaticConnWindowSize(windowBytes),
	}
}

func serverLimits() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(MaxMessageBytes),
		grpc.MaxSendMsgSize(MaxMessageBytes),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.StaticStreamWindowSize(windowBytes),
		grpc.StaticConnWindowSize(windowBytes),
		grpc.NumStreamWorkers(streamWorkers),
	}
}
