package wire

import "google.golang.org/grpc"

// MaxMessageBytes is the largest message either side sends or accepts.
const MaxMessageBytes = 16 << 20

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
	}
}

func serverLimits() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(MaxMessageBytes),
		grpc.MaxSendMsgSize(MaxMessageBytes),
		grpc.ForceServerCodecV2(newCodec()),
	}
}
