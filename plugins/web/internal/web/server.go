package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/live"
	"github.com/seed-706843ae/harness/plugins/web/internal/metrics"
	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const socketPath = "/ws"

// times bound what a client may take. Zero fields get defaults.
type times struct {
	Header time.Duration // for the headers of a request; default 10 s
	Read   time.Duration // for a whole request; default 1 min
	Write  time.Duration // for an answer; default 2 min
	Idle   time.Duration // between requests; default 2 min
	// Typed is for a command that an operation types, see api.Config.Patience; default 20 s.
	Typed time.Duration
}

// server is one time of listening.
type server struct {
	listener    net.Listener
	certificate *certificate // nil: no TLS
	wide        bool         // others than this machine can connect
	http        *http.Server
	done        chan struct{}
}

// ready makes what answers on the listener, and lets nobody in yet.
func (p *Plugin) ready(listener net.Listener, certificate *certificate) (*server, error) {
	handler, err := p.handler()
	if err != nil {
		return nil, err
	}
	if bound, ok := listener.Addr().(*net.TCPAddr); ok {
		p.gate.Serves(bound.Port, certificate != nil)
	}
	return &server{
		listener: listener, certificate: certificate, wide: !onLoopback(listener),
		done: make(chan struct{}),
		http: &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: cmp.Or(p.times.Header, 10*time.Second),
			ReadTimeout:       cmp.Or(p.times.Read, time.Minute),
			WriteTimeout:      cmp.Or(p.times.Write, 2*time.Minute),
			IdleTimeout:       cmp.Or(p.times.Idle, 2*time.Minute),
			MaxHeaderBytes:    64 << 10,
			ConnContext:       p.gate.Connected,
			ConnState:         newCrowd(cmp.Or(p.most, maxConnections), maxEach).changed,
			ErrorLog:          slog.NewLogLogger(p.log.Handler(), slog.LevelDebug), // what strangers do wrong
		},
	}, nil
}

// url is where the server is.
func (s *server) url() string {
	scheme := "http://"
	if s.certificate != nil {
		scheme = "https://"
	}
	return scheme + s.listener.Addr().String()
}

// serve begins to answer.
func (s *server) serve(log *slog.Logger) {
	go func() {
		defer close(s.done)
		listener := s.listener
		if s.certificate != nil {
			listener = tls.NewListener(listener, s.certificate.config())
		}
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("HTTP API ended", "err", err)
		}
	}()
}

// handler puts in front of everything: the guard, which keeps other sites away, and the
// gate, which knows who calls. Pages ask the API behind them, as their reader.
func (p *Plugin) handler() (http.Handler, error) {
	mux, version := http.NewServeMux(), cmp.Or(os.Getenv(versionVariable), "unknown")
	mux.Handle("GET "+socketPath, access.Need(pluginsdk.ScopeRead, p.hub))
	mux.Handle("GET /metrics", access.Need(pluginsdk.ScopeRead, metrics.Handler(p.host, p.log)))
	err := api.Register(mux, api.Config{Host: p.host, Version: version, Started: time.Now(), Log: p.log, Patience: p.times.Typed})
	if err != nil {
		return nil, err
	}
	frame, err := site.New(mux, site.Config{
		API: problem.Routes(mux, mux), Position: p.hub.Position, Version: version, Log: p.log,
	})
	if err != nil {
		return nil, err
	}
	p.gate.Register(mux, frame.Login)
	register(frame, p.hub)
	known := p.gate.Wrap(problem.Routes(mux, mux), site.Public)
	return frame.Errors(problem.Recover(p.guard.Wrap(known, socketPath), p.log)), nil
}

// stop takes no more connections, sends the sockets away, which would go on for
// ever, and lets the requests under way end until ctx is done.
func (s *server) stop(ctx context.Context, hub *live.Hub) {
	away := make(chan struct{})
	go func() {
		defer close(away)
		hub.Close(ctx)
	}()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
	<-away
	<-s.done
}
