// Package serve is the plugin's side of the wire. A plugin's main function is
// one call:
//
//	func main() { serve.Main(new(myplugin.Plugin)) }
package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
)

// DescribeFlag is the argument that, alone, makes a plugin print its manifest
// as JSON and end, without a host.
const DescribeFlag = "--describe"

// Main serves the plugin to the host that started the process, until the host
// ends it or is gone. Started by hand it explains itself. It never returns.
//
// Main owns the process: it makes Host.Log the default of package slog.
func Main(p pluginsdk.Plugin) {
	// go-plugin replaces os.Stderr with a pipe of its own, which is lost when
	// the process ends; this is file descriptor 2.
	stderr := os.Stderr
	if len(os.Args) == 2 && os.Args[1] == DescribeFlag {
		os.Exit(describe(p, os.Stdout, stderr))
	}
	if len(os.Args) == 2 && os.Args[1] == DebugFlag {
		os.Exit(debug(p, stderr))
	}
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		os.Exit(introduce(p, stderr))
	}
	log := wire.NewLogger(stderr)
	slog.SetDefault(log)
	if err := serve(p, stderr, log); err != nil {
		log.Error("the plugin cannot be served", "error", err.Error())
		os.Exit(1)
	}
	os.Exit(0)
}

// serve returns when the host has asked the plugin to end.
func serve(p pluginsdk.Plugin, stderr io.Writer, log *slog.Logger) error {
	go watchHost(log)
	adapter := &adapter{}
	server, err := wire.NewPluginServer(p, adapter.dialHost, log)
	if err != nil {
		return err
	}
	adapter.server = server
	certificate, err := announce()
	if err != nil {
		return err
	}
	plugin.Serve(&plugin.ServeConfig{
		TLSProvider: certificate,
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  wire.ProtocolVersion,
			MagicCookieKey:   wire.CookieKey,
			MagicCookieValue: wire.CookieValue,
		},
		Plugins: plugin.PluginSet{wire.DispenseName: adapter},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, server.Options()...)...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: stderr, JSONFormat: true}),
	})
	return nil
}

var _ plugin.GRPCPlugin = (*adapter)(nil)

// adapter is the plugin as go-plugin wants it.
type adapter struct {
	plugin.NetRPCUnsupportedPlugin
	server *wire.PluginServer
	broker *plugin.GRPCBroker
}

// GRPCServer registers the plugin's services.
func (a *adapter) GRPCServer(broker *plugin.GRPCBroker, s *grpc.Server) error {
	a.broker = broker
	a.server.Register(s)
	return nil
}

// GRPCClient is the host's half of a go-plugin plugin; see package launch.
func (a *adapter) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "package serve is the plugin's side")
}

// dialHost opens the one connection to the host, through the broker.
func (a *adapter) dialHost(id uint32) (grpc.ClientConnInterface, error) {
	return a.broker.DialWithOptions(id, wire.DialOptions()...)
}

// describe prints the manifest and returns the exit code.
func describe(p pluginsdk.Plugin, stdout, stderr io.Writer) int {
	manifest, err := wire.Describe(p)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	encoder := json.NewEncoder(stdout)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(manifest); err != nil {
		fmt.Fprintln(stderr, "print the manifest:", err)
		return 1
	}
	return 0
}

// introduce tells a person who started the plugin by hand what it is, and
// returns the exit code.
func introduce(p pluginsdk.Plugin, stderr io.Writer) int {
	manifest, err := wire.Describe(p)
	fmt.Fprintf(stderr, "This is %s %s, a plugin of Harness. It does not run by itself: the daemon starts it.\n", manifest.Name, manifest.Version)
	if manifest.Description != "" {
		fmt.Fprintln(stderr, manifest.Description)
	}
	if err != nil {
		fmt.Fprintf(stderr, "It cannot be installed as it is: %v.\n", err)
		return 1
	}
	fmt.Fprintf(stderr, "To install it, copy it into the daemon's plugin directory as %s, restart the daemon (`harness up` registers it),\n"+
		"then:  harness plugin enable %s\nSee its manifest with:  %s %s\n", manifest.Name, manifest.Name, os.Args[0], DescribeFlag)
	return 1
}
