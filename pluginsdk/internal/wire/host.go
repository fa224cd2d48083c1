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
	if host.Budgets != nil {
		hostv1.RegisterBudgetServiceServer(r, server)
	}
	if host.Tools != nil {
		hostv1.RegisterToolServiceServer(r, server)
	}
	if host.Plugins != nil {
		hostv1.RegisterPluginServiceServer(r, server)
	}
	if host.Commands != nil {
		hostv1.RegisterCommandServiceServer(r, server)
	}
	if host.Approvals != nil {
		hostv1.RegisterApprovalServiceServer(r, server)
	}
	if host.Search != nil {
		hostv1.RegisterSearchServiceServer(r, server)
	}
	if host.Files != nil {
		hostv1.RegisterFileServiceServer(r, server)
	}
	if host.Workspace != nil {
		hostv1.RegisterWorkspaceServiceServer(r, server)
	}
	if host.Tokens != nil {
		hostv1.RegisterTokenServiceServer(r, server)
	}
	if host.Installation != nil {
		hostv1.RegisterInstallationServiceServer(r, server)
	}
	if host.Accounts != nil {
		hostv1.RegisterAccountServiceServer(r, server)
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
	hostv1.UnimplementedBudgetServiceServer
	hostv1.UnimplementedToolServiceServer
	hostv1.UnimplementedPluginServiceServer
	hostv1.UnimplementedCommandServiceServer
	hostv1.UnimplementedApprovalServiceServer
	hostv1.UnimplementedSearchServiceServer
	hostv1.UnimplementedFileServiceServer
	hostv1.UnimplementedWorkspaceServiceServer
	hostv1.UnimplementedTokenServiceServer
	hostv1.UnimplementedInstallationServiceServer
	hostv1.UnimplementedAccountServiceServer

	host pluginsdk.Host
}

// NewHost makes the Host that a plugin is given. A call made with a hook's
// context takes the hook's Call along.
func NewHost(conn grpc.ClientConnInterface, log *slog.Logger) pluginsdk.Host {
	conn = codedConn{callConn{conn}}
	return pluginsdk.Host{
		Threads:      threadClient{hostv1.NewThreadServiceClient(conn)},
		Messages:     messageClient{hostv1.NewMessageServiceClient(conn)},
		Runs:         runClient{hostv1.NewRunServiceClient(conn)},
		Deliveries:   deliveryClient{hostv1.NewDeliveryServiceClient(conn)},
		Tasks:        taskClient{hostv1.NewTaskServiceClient(conn)},
		Agent:        agentClient{hostv1.NewAgentServiceClient(conn)},
		Events:       eventClient{hostv1.NewEventServiceClient(conn)},
		Settings:     settingsClient{hostv1.NewSettingsServiceClient(conn)},
		State:        stateClient{hostv1.NewStateServiceClient(conn)},
		Crons:        cronClient{hostv1.NewCronServiceClient(conn)},
		Metrics:      metricClient{hostv1.NewMetricServiceClient(conn)},
		Budgets:      budgetClient{hostv1.NewBudgetServiceClient(conn)},
		Tools:        toolClient{hostv1.NewToolServiceClient(conn)},
		Plugins:      pluginClient{hostv1.NewPluginServiceClient(conn)},
		Commands:     commandClient{hostv1.NewCommandServiceClient(conn)},
		Approvals:    approvalClient{hostv1.NewApprovalServiceClient(conn)},
		Search:       searchClient{hostv1.NewSearchServiceClient(conn)},
		Files:        fileClient{hostv1.NewFileServiceClient(conn)},
		Workspace:    workspaceClient{hostv1.NewWorkspaceServiceClient(conn)},
		Tokens:       tokenClient{hostv1.NewTokenServiceClient(conn)},
		Installation: installationClient{hostv1.NewInstallationServiceClient(conn)},
		Accounts:     accountClient{hostv1.NewAccountServiceClient(conn)},
		Log:          log,
	}
}
