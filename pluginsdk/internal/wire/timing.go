package wire

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// A call whose metadata has timingKey is answered with tookKey in the trailer: how
// long the plugin had it, in nanoseconds.
const (
	timingKey = "harness-timing"
	tookKey   = "harness-took"
)

// AskTiming has a call say how long the plugin had it: see Took.
func AskTiming(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, timingKey, "1")
}

// Took is how long the plugin had a call, by the call's trailer; 0: it does not say.
func Took(trailer metadata.MD) time.Duration {
	values := trailer.Get(tookKey)
	if len(values) == 0 {
		return 0
	}
	ns, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(ns)
}

// tellTiming answers a call that asks for it with how long it took. An error means
// that the answer has been sent already, which is nothing to act on.
func tellTiming(ctx context.Context, began time.Time) {
	if len(metadata.ValueFromIncomingContext(ctx, timingKey)) > 0 {
		_ = grpc.SetTrailer(ctx, metadata.Pairs(tookKey, strconv.FormatInt(int64(time.Since(began)), 10)))
	}
}
