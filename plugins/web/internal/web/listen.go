package web

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// listen binds the address, whosever it is.
func listen(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"%s is %q; it must be HOST:PORT, such as %s", addressVariable, address, defaultAddress)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"%s is %q; its port must be a number up to 65535, such as in %s", addressVariable, address, defaultAddress)
	} else if n == 0 {
		port = "0"
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, explain(address, port, err)
	}
	return listener, nil
}

// onLoopback reports whether only this machine can connect. What localhost is the
// machine's host table says, so that what was bound is looked at.
func onLoopback(listener net.Listener) bool {
	bound, ok := listener.Addr().(*net.TCPAddr)
	return ok && bound.IP.IsLoopback()
}

func explain(address, port string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable,
			"port %s is in use (listen on %s): another program, or another harness, has it. "+
				"Stop that, or choose another port with --port or PORT", port, address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "this machine has no address %s; %s must be one that it has, or 0.0.0.0 for all", address, addressVariable)
	case errors.Is(err, syscall.EACCES):
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable,
			"port %s may not be used by this user (listen on %s); choose one from 1024 up with --port or PORT", port, address)
	}
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "listen on %s: %w; choose another port with --port or PORT", address, err)
}
