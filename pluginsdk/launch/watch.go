package launch

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
)

const (
	// brokerMethod and stdioMethod are the streams that go-plugin keeps open
	// to a plugin.
	brokerMethod = "/plugin.GRPCBroker/StartStream"
	stdioMethod  = "/plugin.GRPCStdio/StreamStdio"
	// maxOffers is how many of a plugin's messages to the broker are passed
	// over in silence. None is expected.
	maxOffers = 16
)

// dialOptions are those of the connection to the plugin.
func (p *Plugin) dialOptions() []grpc.DialOption {
	return append(wire.DialOptions(),
		grpc.WithMaxHeaderListSize(maxHeaderBytes),
		grpc.WithStreamInterceptor(p.watchStream),
	)
}

// watchStream puts a guard before what go-plugin itself receives, and ends it
// with the process: go-plugin would wait for as long as anybody holds the socket.
// It also notes the connection, which go-plugin then forgets to close.
func (p *Plugin) watchStream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
	streamer grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	p.mu.Lock()
	if !slices.Contains(p.conns, conn) {
		p.conns = append(p.conns, conn)
	}
	p.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-p.process.done:
		case <-ctx.Done():
		}
	}()
	stream, err := streamer(ctx, desc, conn, method, opts...)
	if err != nil {
		cancel()
		return nil, err
	}
	switch method {
	case brokerMethod:
		return &brokerStream{ClientStream: stream, plugin: p}, nil
	case stdioMethod:
		return stdioStream{ClientStream: stream, flood: p.process.output.flood}, nil
	}
	return stream, nil
}

// closeConns closes the connections to the plugin.
func (p *Plugin) closeConns() {
	p.mu.Lock()
	conns := p.conns
	p.conns = nil
	p.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close() // most are closed
	}
}

// brokerStream receives the addresses where a plugin could be dialled. The
// host never does, and go-plugin would keep a goroutine for each for five
// seconds: so nothing is passed on, and a plugin that sends many is at fault.
type brokerStream struct {
	grpc.ClientStream
	plugin *Plugin
	offers int
}

var errOffers = errors.New("it floods go-plugin's broker")

// RecvMsg returns when the stream ends.
func (s *brokerStream) RecvMsg(m any) error {
	for {
		if err := s.ClientStream.RecvMsg(m); err != nil {
			return err
		}
		if s.offers++; s.offers > maxOffers {
			s.plugin.blame(errOffers)
			return errOffers
		}
	}
}

// stdioStream receives what the plugin prints, no faster than a flood is read.
type stdioStream struct {
	grpc.ClientStream
	flood *flood
}

// RecvMsg receives a piece of output.
func (s stdioStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if message, ok := m.(proto.Message); ok && err == nil {
		s.flood.slow(proto.Size(message) + lineCost)
	}
	return err
}
