package wire

import (
	"errors"

	"google.golang.org/grpc"
)

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
