package web

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/guard"
	"github.com/seed-706843ae/harness/plugins/web/internal/live"
	"github.com/seed-706843ae/harness/plugins/web/internal/metrics"
	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
)

const socketPath = "/ws"

// server is one time of listening.
type server struct {
	listener net.Listener
	http     *http.Server
	done     chan struct{}
}

// serve begins to answer on the listener.
func (p *Plugin) serve(ctx context.Context, listener net.Listener) (*server, error) {
	handler, err := p.handler()
	if err != nil {
		return nil, err
	}
	started := &server{
		listener: listener,
		done:     make(chan struct{}),
		http: &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: 10 * time.Second,
			ReadTimeout:       time.Minute,
			WriteTimeout:      2 * time.Minute,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    64 << 10,
			ErrorLog:          slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
		},
	}
	p.hub.Open(ctx)
	go func() {
		defer close(started.done)
		if err := started.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.log.Error("HTTP API ended", "err", err)
		}
	}()
	return started, nil
}

// handler puts the guard in front of everything.
func (p *Plugin) handler() (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", front)
	mux.Handle("GET "+socketPath, p.hub)
	mux.Handle("GET /metrics", metrics.Handler(p.host, p.log))
	err := api.Register(mux, api.Config{Host: p.host, Version: cmp.Or(os.Getenv(versionVariable), "unknown"), Started: time.Now(), Log: p.log})
	if err != nil {
		return nil, err
	}
	return problem.Recover(p.guard.Wrap(problem.Routes(mux, guard.OnlyJSON(mux)), socketPath), p.log), nil
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
