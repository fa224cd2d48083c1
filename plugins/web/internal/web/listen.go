package web

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// listen binds the address, which must be loopback's: there is no way yet to
// tell who calls, so whoever can reach the API commands the agent.
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
	if !loopback(host) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"%s is %q, which other machines can reach; only 127.0.0.1, ::1 and localhost are accepted, "+
				"because the API does not ask who calls. Use a tunnel (ssh -L) to reach it from elsewhere", addressVariable, address)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, explain(address, port, err)
	}
	// localhost is whatever the machine's host table says.
	if bound, ok := listener.Addr().(*net.TCPAddr); !ok || !bound.IP.IsLoopback() {
		_ = listener.Close()
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"%s is %q, which stands for %s here, not for loopback; use 127.0.0.1", addressVariable, address, listener.Addr())
	}
	return listener, nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

func explain(address, port string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable,
			"port %s is in use (listen on %s): another program, or another harness, has it. "+
				"Stop that, or choose another port with --port or PORT", port, address)
	case errors.Is(err, syscall.EACCES):
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable,
			"port %s may not be used by this user (listen on %s); choose one from 1024 up with --port or PORT", port, address)
	}
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "listen on %s: %w; choose another port with --port or PORT", address, err)
}
