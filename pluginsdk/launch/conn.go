package launch

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
)

// endNotice is how long a failed call waits to learn that the process ended:
// the connection breaks a moment before.
const endNotice = 2 * time.Second

// watchedConn is the connection to a plugin. Its calls say so when they failed
// because the process ended.
type watchedConn struct {
	*grpc.ClientConn
	plugin *Plugin
}

type timedKey struct{}

// Timed returns a context for one call of a plugin, and how long the plugin had that
// call, by its own clock, once it has returned; 0 when the plugin does not say.
func Timed(ctx context.Context) (timed context.Context, inside func() time.Duration) {
	took := new(time.Duration)
	return context.WithValue(ctx, timedKey{}, took), func() time.Duration { return *took }
}

// Invoke calls a method.
func (c watchedConn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	var header, trailer metadata.MD
	took, timed := ctx.Value(timedKey{}).(*time.Duration)
	if timed {
		ctx = wire.AskTiming(ctx)
	}
	err := c.ClientConn.Invoke(ctx, method, args, reply, append(opts, grpc.Header(&header), grpc.Trailer(&trailer))...)
	if timed {
		*took = wire.Took(trailer)
	}
	return c.plugin.explain(ctx, err, header, trailer)
}

// NewStream opens a stream.
func (c watchedConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := c.ClientConn.NewStream(ctx, desc, method, opts...)
	if err != nil {
		return nil, c.plugin.explain(ctx, err, nil, nil)
	}
	return watchedStream{ClientStream: stream, caller: ctx, plugin: c.plugin}, nil
}

type watchedStream struct {
	grpc.ClientStream
	caller context.Context // the stream's own ends with the connection
	plugin *Plugin
}

// RecvMsg receives a message.
func (s watchedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return s.plugin.explain(s.caller, err, nil, s.Trailer())
}

// explain replaces a broken connection's error by how the process ended. An
// error that the plugin itself answered comes with a header or a trailer (at
// least its content type), and is left as it is.
func (p *Plugin) explain(ctx context.Context, err error, header, trailer metadata.MD) error {
	if len(header)+len(trailer) > 0 || status.Code(err) != codes.Unavailable && !closedHere(ctx, err) {
		return err
	}
	notice := time.NewTimer(endNotice)
	defer notice.Stop()
	select {
	case <-p.process.done:
		return status.Errorf(codes.Unavailable, "plugin %s has ended (%s)%s", p.name, p.process.exitText(), p.lastWords())
	case <-ctx.Done():
		return err
	case <-notice.C:
	}
	return status.Error(codes.Unavailable, status.Convert(err).Message())
}

// closedHere reports whether a call ended because this side has closed the
// connection, which it does when the process has ended. Nobody has cancelled it,
// although that is what grpc says: of a call without a stream in the one way, of
// one with a stream in the other.
func closedHere(caller context.Context, err error) bool {
	if status.Code(err) != codes.Canceled || caller.Err() != nil {
		return false
	}
	says := status.Convert(err).Message()
	return strings.Contains(says, wire.ConnectionClosing) || says == context.Canceled.Error()
}
