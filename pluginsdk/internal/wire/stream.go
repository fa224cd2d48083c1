package wire

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

// answerInUpdates serves a call whose answer is a stream: what the hook reports
// with the context that do gets (pluginsdk.ReportProgress), then the response.
func answerInUpdates[U, RM any](calls *inFlight, call *typesv1.Call, stream grpc.ServerStreamingServer[U], update func(*typesv1.Progress, *RM) *U, do func(context.Context) (*RM, error)) error {
	updates := &updates[U]{stream: stream}
	return statusFrom(calls.run(stream.Context(), callFrom(call), methodName(stream.Context()), func(ctx context.Context) error {
		defer updates.close()
		response, err := do(pluginsdk.WithProgress(ctx, func(progress pluginsdk.Progress) {
			updates.report(update(progressTo(progress), nil))
		}))
		if err != nil {
			// Without it, an error after a report looks to the other side like a process that
			// has ended in the middle, which it waits to learn more of.
			stream.SetTrailer(metadata.Pairs(answeredKey, "1"))
			return err
		}
		return updates.end(update(nil, response))
	}))
}

// answeredKey is the trailer of a stream that the plugin itself has ended with an error.
const answeredKey = "harness-answered"

// updates sends the updates of a call. A hook may report from any goroutine, and
// one that outlives the call must do no harm.
type updates[U any] struct {
	mu     sync.Mutex
	stream grpc.ServerStreamingServer[U]
	closed bool
}

func (u *updates[U]) report(update *U) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.closed {
		_ = u.stream.Send(update) // what cannot be sent is of a call that nobody waits for
	}
}

func (u *updates[U]) end(update *U) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	return u.stream.Send(update)
}

func (u *updates[U]) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
}

// update is a message of a stream that answers a call.
type update[U, RM any] interface {
	*U
	GetProgress() *typesv1.Progress
	GetResponse() *RM
}

// askForUpdates makes a call whose answer is a stream. What the plugin reports is
// handed to whom the context reports to (pluginsdk.WithProgress), in order, from
// this goroutine. The call ends with its context, and has no other deadline than
// the context's.
func askForUpdates[Q, R, QM, RM, U any, P update[U, RM]](ctx context.Context, request *Q, to func(Q) *QM, do func(context.Context, *QM, ...grpc.CallOption) (grpc.ServerStreamingClient[U], error), from func(*RM) R) (*R, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the stream whichever way this returns
	defer cancel()
	stream, err := do(ctx, requestTo(ctx, request, to))
	if err != nil {
		return nil, callError(ctx, err)
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInternal, "the call ended without a response")
		}
		if err != nil {
			return nil, callError(ctx, err)
		}
		if response := P(m).GetResponse(); response != nil {
			response := from(response)
			return &response, nil
		}
		if progress := P(m).GetProgress(); progress != nil {
			pluginsdk.ReportProgress(ctx, progressFrom(progress))
		}
	}
}
