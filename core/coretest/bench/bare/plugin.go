package bare

import (
	"context"
	"strconv"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Serve is the plugin's process. It returns when the host has ended it.
func Serve() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake, GRPCServer: plugin.DefaultGRPCServer,
		Plugins: plugin.PluginSet{Name: &side{}},
	})
}

// side is either side of the plugin, as go-plugin wants it.
type side struct {
	plugin.NetRPCUnsupportedPlugin
	host *grpc.ClientConn
}

// asked is what the plugin asks of its host: little.
const asked = "0199-a-thread"

// GRPCServer registers the plugin's service.
func (s *side) GRPCServer(broker *plugin.GRPCBroker, server *grpc.Server) error {
	register(server, map[string]answer{
		"Echo": echoed,
		"Open": func(_ context.Context, number *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
			id, err := strconv.ParseUint(number.GetValue(), 10, 32)
			if err == nil {
				s.host, err = broker.Dial(uint32(id))
			}
			return number, err
		},
		"Ask": func(ctx context.Context, text *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
			return text, call(ctx, s.host, echo, asked)
		},
	})
	return nil
}

// GRPCClient returns what the host calls the plugin with.
func (*side) GRPCClient(ctx context.Context, broker *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	id := broker.NextId()
	go broker.AcceptAndServe(id, func(options []grpc.ServerOption) *grpc.Server {
		server := grpc.NewServer(options...)
		register(server, map[string]answer{"Echo": echoed})
		return server
	})
	return conn, call(ctx, conn, open, strconv.FormatUint(uint64(id), 10))
}
