package wire

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

// callMetadataKey carries the hook call that a host call is made in. Its value
// is a serialised harness.types.v1.Call: -bin values may hold any bytes.
const callMetadataKey = "harness-call-bin"

// callConn sends the Call that a context carries along with every call.
type callConn struct {
	grpc.ClientConnInterface
}

// Invoke calls a method with the context's Call in the metadata.
func (c callConn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if call, ok := pluginsdk.CallFrom(ctx); ok {
		value, err := proto.Marshal(callTo(call))
		if err != nil {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "the context's Call cannot be sent: %w", err)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, callMetadataKey, string(value))
	}
	return c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
}

// withIncomingCall puts the Call that a plugin sent back into the context.
func withIncomingCall(ctx context.Context) (context.Context, error) {
	values := metadata.ValueFromIncomingContext(ctx, callMetadataKey)
	if len(values) == 0 {
		return ctx, nil
	}
	var call typesv1.Call
	if err := proto.Unmarshal([]byte(values[0]), &call); err != nil {
		return ctx, pluginsdk.Errorf(pluginsdk.CodeInvalid, "metadata %s is not a harness.types.v1.Call: %w", callMetadataKey, err)
	}
	return pluginsdk.WithCall(ctx, callFrom(&call)), nil
}

// complete fills in what the caller left out of a hook's Call: all of it from
// the context's Call, and the deadline from the context's.
func complete(ctx context.Context, m *typesv1.Call) {
	if call, ok := pluginsdk.CallFrom(ctx); ok && callFrom(m) == (pluginsdk.Call{}) {
		proto.Merge(m, callTo(call))
	}
	if deadline, ok := ctx.Deadline(); ok && m.GetDeadline() == nil {
		m.Deadline = timeTo(deadline)
	}
}
