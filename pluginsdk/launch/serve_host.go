package launch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
)

const (
	// maxStreams is how many Host calls a plugin may have under way at once on
	// its connection. One more waits on the plugin's side until one has ended:
	// an honest plugin under load is made to wait, not refused.
	maxStreams = 64
	// maxCalls bounds them over all connections, with the handlers of calls that
	// were cancelled: what comes above it did not wait.
	maxCalls = 2 * maxStreams
	// maxHeaderBytes bounds the metadata of a call and of its answer.
	maxHeaderBytes = 256 << 10
	// greetTime is how long a connection may take for its handshakes.
	greetTime = 5 * time.Second
)

// serveHost serves the host to the plugin until the plugin is stopped. It does
// not use go-plugin's AcceptAndServe, which lets in as many as come.
func (p *Plugin) serveHost(id uint32) error {
	listener, err := p.link.broker.Accept(id)
	if err != nil {
		return fmt.Errorf("serve the host to plugin %s: %w", p.name, err)
	}
	if err := p.keepPrivate(listener); err != nil {
		return errors.Join(fmt.Errorf("serve the host to plugin %s: %w", p.name, err), listener.Close())
	}
	door := newDoor(listener, p.blame)
	server := p.newHostServer()
	p.mu.Lock()
	stopped := p.stopped
	p.door, p.hostServer = door, server
	p.mu.Unlock()
	if stopped { // before stopHost could know of it
		door.shut()
		server.Stop()
		return nil
	}
	// It returns when the server is stopped, or the door is closed.
	_ = server.Serve(door)
	return nil
}

func (p *Plugin) newHostServer() *grpc.Server {
	opts := append(wire.HostOptions(p.log, p.admit),
		grpc.WaitForHandlers(true),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ConnectionTimeout(greetTime),
		grpc.InTapHandle(new(callLimit).tap),
	)
	if p.config != nil && p.config.TLSConfig != nil {
		// go-plugin has put into it what both sides agreed on. (Nothing, with a
		// plugin that was attached to.)
		opts = append(opts, grpc.Creds(credentials.NewTLS(p.config.TLSConfig)))
	}
	server := grpc.NewServer(opts...)
	wire.RegisterHost(server, p.host)
	return server
}

// stopHost ends the service of the host, and waits for the calls under way.
func (p *Plugin) stopHost() {
	p.mu.Lock()
	p.stopped = true
	door, server, ended := p.door, p.hostServer, p.hostEnded
	p.mu.Unlock()
	if door != nil {
		door.shut()
	}
	if server != nil {
		server.Stop()
	}
	if ended != nil {
		<-ended
	}
}

// blame tells that the plugin does what no honest one does.
func (p *Plugin) blame(err error) {
	p.faultOnce.Do(func() {
		p.log.Warn("plugin is at fault", "err", err)
		if p.fault != nil {
			go p.fault(err)
		}
	})
}

// callLimit bounds the calls that are under way, over all connections. It is
// asked before a call's message is read, so that one too many costs neither a
// goroutine nor memory.
type callLimit struct {
	calls atomic.Int64
}

func (l *callLimit) tap(ctx context.Context, _ *tap.Info) (context.Context, error) {
	if l.calls.Add(1) > maxCalls {
		l.calls.Add(-1)
		return ctx, status.Errorf(codes.ResourceExhausted, "%d calls of this plugin are under way; wait for one to end", maxCalls)
	}
	context.AfterFunc(ctx, func() { l.calls.Add(-1) })
	return ctx, nil
}
