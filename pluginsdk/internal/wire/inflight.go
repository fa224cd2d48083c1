package wire

import (
	"context"
	"log/slog"
	"path"
	"runtime/debug"
	"sort"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

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
