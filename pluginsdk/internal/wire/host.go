package wire

import (
	"context"
	"log/slog"
	"path"

	"google.golang.org/grpc"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// HostOptions are what a grpc.Server that serves a host must be made with. log
// gets the stacks of panics; admit is asked before each call.
func HostOptions(log *slog.Logger, admit Admit) []grpc.ServerOption {
	admitted := admission(admit)
	return append(serverLimits(), grpc.ChainUnaryInterceptor(
		func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
			err = recovered(log, path.Base(info.FullMethod), func() error {
				ctx, err := withIncomingCall(ctx)
				if err != nil {
					return err
				}
				resp, err = admitted(ctx, req, info, next)
				return err
			})
			return resp, statusFrom(err)
		}))
}

// RegisterHost adds the host's services to a server made with HostOptions. The
// context of a call carries the pluginsdk.Call it is made in, if it is made in
// one. A service that is nil is not offered (CodeUnimplemented).
func RegisterHost(r grpc.ServiceRegistrar, host pluginsdk.Host) {
	server := hostServer{host: host}
	if host.Threads != nil {
		hostv1.RegisterThreadServiceServer(r, server)
	}
	if host.Messages != nil {
		hostv1.RegisterMessageServiceServer(r, server)
	}
	if host.Runs != nil {
		hostv1.RegisterRunServiceServer(r, server)
	}
	if host.Deliveries != nil {
		hostv1.RegisterDeliveryServiceServer(r, server)
	}
	if host.Tasks != nil {
		hostv1.RegisterTaskServiceServer(r, server)
	}
	if host.Agent != nil {
		hostv1.RegisterAgentServiceServer(r, server)
	}
	if host.Events != nil {
		hostv1.RegisterEventServiceServer(r, server)
	}
	if host.Settings != nil {
		hostv1.RegisterSettingsServiceServer(r, server)
	}
	if host.State != nil {
		hostv1.RegisterStateServiceServer(r, server)
	}
	if host.Crons != nil {
		hostv1.RegisterCronServiceServer(r, server)
	}
	if host.Metrics != nil {
		hostv1.RegisterMetricServiceServer(r, server)
	}
	if host.Tools != nil {
		hostv1.RegisterToolServiceServer(r, server)
	}
	if host.Plugins != nil {
		hostv1.RegisterPluginServiceServer(r, server)
	}
}

// hostServer serves the host; its methods are in host_*.go.
type hostServer struct {
	hostv1.UnimplementedThreadServiceServer
	hostv1.UnimplementedMessageServiceServer
	hostv1.UnimplementedRunServiceServer
	hostv1.UnimplementedDeliveryServiceServer
	hostv1.UnimplementedTaskServiceServer
	hostv1.UnimplementedAgentServiceServer
	hostv1.UnimplementedEventServiceServer
	hostv1.UnimplementedSettingsServiceServer
	hostv1.UnimplementedStateServiceServer
	hostv1.UnimplementedCronServiceServer
	hostv1.UnimplementedMetricServiceServer
	hostv1.UnimplementedToolServiceServer
	hostv1.UnimplementedPluginServiceServer

	host pluginsdk.Host
}

// NewHost makes the Host that a plugin is given. A call made with a hook's
// context takes the hook's Call along.
func NewHost(conn grpc.ClientConnInterface, log *slog.Logger) pluginsdk.Host {
	conn = codedConn{callConn{conn}}
	return pluginsdk.Host{
		Threads:    threadClient{hostv1.NewThreadServiceClient(conn)},
		Messages:   messageClient{hostv1.NewMessageServiceClient(conn)},
		Runs:       runClient{hostv1.NewRunServiceClient(conn)},
		Deliveries: deliveryClient{hostv1.NewDeliveryServiceClient(conn)},
		Tasks:      taskClient{hostv1.NewTaskServiceClient(conn)},
		Agent:      agentClient{hostv1.NewAgentServiceClient(conn)},
		Events:     eventClient{hostv1.NewEventServiceClient(conn)},
		Settings:   settingsClient{hostv1.NewSettingsServiceClient(conn)},
		State:      stateClient{hostv1.NewStateServiceClient(conn)},
		Crons:      cronClient{hostv1.NewCronServiceClient(conn)},
		Metrics:    metricClient{hostv1.NewMetricServiceClient(conn)},
		Tools:      toolClient{hostv1.NewToolServiceClient(conn)},
		Plugins:    pluginClient{hostv1.NewPluginServiceClient(conn)},
		Log:        log,
	}
}
