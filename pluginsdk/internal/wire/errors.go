package wire

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxErrorBytes bounds the message of an error on the wire: it travels in a
// header, which other gRPC implementations refuse when it is large.
const maxErrorBytes = 8 << 10

// statusCode is the one table between the contract's codes and gRPC's.
func statusCode(code pluginsdk.Code) codes.Code {
	switch code {
	case pluginsdk.CodeInvalid:
		return codes.InvalidArgument
	case pluginsdk.CodeNotFound:
		return codes.NotFound
	case pluginsdk.CodeConflict:
		return codes.AlreadyExists
	case pluginsdk.CodeDenied:
		return codes.PermissionDenied
	case pluginsdk.CodeStale:
		return codes.FailedPrecondition
	case pluginsdk.CodeExhausted:
		return codes.ResourceExhausted
	case pluginsdk.CodeUnavailable:
		return codes.Unavailable
	case pluginsdk.CodeDeadline:
		return codes.DeadlineExceeded
	case pluginsdk.CodeCancelled:
		return codes.Canceled
	case pluginsdk.CodeUnimplemented:
		return codes.Unimplemented
	case pluginsdk.CodeInternal:
		return codes.Internal
	}
	return codes.Internal
}

// errorCode is statusCode backwards. Codes that the contract does not use, and
// a foreign plugin may, become the nearest one.
func errorCode(code codes.Code) pluginsdk.Code {
	switch code {
	case codes.InvalidArgument, codes.OutOfRange:
		return pluginsdk.CodeInvalid
	case codes.NotFound:
		return pluginsdk.CodeNotFound
	case codes.AlreadyExists:
		return pluginsdk.CodeConflict
	case codes.PermissionDenied, codes.Unauthenticated:
		return pluginsdk.CodeDenied
	case codes.FailedPrecondition:
		return pluginsdk.CodeStale
	case codes.ResourceExhausted:
		return pluginsdk.CodeExhausted
	case codes.Unavailable, codes.Aborted:
		return pluginsdk.CodeUnavailable
	case codes.DeadlineExceeded:
		return pluginsdk.CodeDeadline
	case codes.Canceled:
		return pluginsdk.CodeCancelled
	case codes.Unimplemented:
		return pluginsdk.CodeUnimplemented
	}
	return pluginsdk.CodeInternal
}

// statusFrom turns what a handler returned into a gRPC status error.
func statusFrom(err error) error {
	if err == nil {
		return nil
	}
	return status.Error(statusCode(codeOf(err)), clip(err.Error()))
}

// codeOf is pluginsdk.CodeOf, which also knows the errors of an ended context.
func codeOf(err error) pluginsdk.Code {
	var coded *pluginsdk.Error
	switch {
	case errors.As(err, &coded):
		return coded.Code
	case errors.Is(err, context.DeadlineExceeded):
		return pluginsdk.CodeDeadline
	case errors.Is(err, context.Canceled):
		return pluginsdk.CodeCancelled
	}
	return pluginsdk.CodeInternal
}

// errorFrom turns the error of a gRPC call into a pluginsdk.Error. An ended
// call keeps the context's error as its cause, so that errors.Is finds it.
func errorFrom(err error) error {
	var known *pluginsdk.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	st := status.Convert(err)
	coded := &pluginsdk.Error{Code: errorCode(st.Code()), Message: st.Message()}
	switch coded.Code {
	case pluginsdk.CodeDeadline:
		coded.Cause = context.DeadlineExceeded
	case pluginsdk.CodeCancelled:
		coded.Cause = context.Canceled
	}
	return coded
}

// clip bounds an error's message without cutting a character.
func clip(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxErrorBytes {
		return text
	}
	cut := maxErrorBytes
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + " [cut]"
}

// codedConn is a connection whose calls fail with a pluginsdk.Error, those whose
// request is too large with ErrTooLarge. It must have been made with DialOptions.
type codedConn struct {
	grpc.ClientConnInterface
}

// Invoke calls a method and converts its error.
func (c codedConn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	request, err := encodeRequest(method, args)
	if err != nil {
		return err
	}
	return callError(ctx, c.ClientConnInterface.Invoke(ctx, method, request, reply, opts...))
}

// NewStream opens a stream. Its errors, but for those of what cannot be sent, are
// left to askForUpdates.
func (c codedConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := c.ClientConnInterface.NewStream(ctx, desc, method, opts...)
	if err != nil {
		return nil, err
	}
	return codedStream{ClientStream: stream, method: method}, nil
}

type codedStream struct {
	grpc.ClientStream
	method string
}

// SendMsg sends the request.
func (s codedStream) SendMsg(m any) error {
	request, err := encodeRequest(s.method, m)
	if err != nil {
		return err
	}
	return s.ClientStream.SendMsg(request)
}

// callError converts the error of a call that was made with ctx. Only the
// call's own deadline has context.DeadlineExceeded as its cause: what the other
// side says of one of its own is its answer.
func callError(ctx context.Context, err error) error {
	if status.Code(err) == codes.Canceled && strings.Contains(err.Error(), ConnectionClosing) {
		// Our end was closed because the other has died: nobody cancelled the call.
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the other side has ended: %w", err)
	}
	if code := status.Code(err); (code == codes.DeadlineExceeded || code == codes.Canceled) && expired(ctx) {
		return pluginsdk.Errorf(pluginsdk.CodeDeadline, "there was no answer before the deadline of the call: %w", context.DeadlineExceeded)
	}
	err = errorFrom(err)
	var answered *pluginsdk.Error
	switch {
	case !errors.As(err, &answered):
	case answered.Code == pluginsdk.CodeDeadline:
		answered.Cause = nil
	case answered.Code == pluginsdk.CodeExhausted && strings.Contains(answered.Message, answerTooLarge):
		answered.Cause = ErrAnswerTooLarge
	}
	return err
}

// answerTooLarge is what grpc says of an answer that has more bytes than a message may have.
const answerTooLarge = "received message larger than max"

// ErrAnswerTooLarge is the cause of the CodeExhausted of a call whose answer has more than MaxMessageBytes. The other side has
// carried the call out.
var ErrAnswerTooLarge = errors.New("the answer is too large to be received")

// clockSlack is how much earlier than this side the other one may see that the
// deadline has come.
const clockSlack = 5 * time.Millisecond

// expired reports whether the deadline of the call has come. The other side may
// have noticed it first, and then the call looks like one that was cancelled.
func expired(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < clockSlack
}

// ConnectionClosing is what grpc says of a call on a connection that this side
// has closed. (Its error value is deprecated without a successor.)
const ConnectionClosing = "the client connection is closing"
