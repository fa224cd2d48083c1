package wire

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// PluginClient is a plugin as the host sees it: it implements every hook
// interface of the contract (hook_*.go). A hook that the plugin does not answer
// returns CodeUnimplemented. Every call ends with its context, also when the
// plugin never answers. A request whose Call is zero gets the context's, and the
// context's deadline.
type PluginClient struct {
	lifecycle pluginv1.LifecycleServiceClient
	pipeline  pluginv1.PipelineServiceClient
	command   pluginv1.CommandServiceClient
	task      pluginv1.TaskServiceClient
	settings  pluginv1.SettingsServiceClient
	broadcast pluginv1.BroadcastServiceClient
	check     pluginv1.CheckServiceClient
	cron      pluginv1.CronServiceClient
	delivery  pluginv1.DeliveryServiceClient
	tool      pluginv1.ToolServiceClient
}

// NewPluginClient makes the client of a plugin.
func NewPluginClient(conn grpc.ClientConnInterface) *PluginClient {
	conn = codedConn{conn}
	return &PluginClient{
		lifecycle: pluginv1.NewLifecycleServiceClient(conn),
		pipeline:  pluginv1.NewPipelineServiceClient(conn),
		command:   pluginv1.NewCommandServiceClient(conn),
		task:      pluginv1.NewTaskServiceClient(conn),
		settings:  pluginv1.NewSettingsServiceClient(conn),
		broadcast: pluginv1.NewBroadcastServiceClient(conn),
		check:     pluginv1.NewCheckServiceClient(conn),
		cron:      pluginv1.NewCronServiceClient(conn),
		delivery:  pluginv1.NewDeliveryServiceClient(conn),
		tool:      pluginv1.NewToolServiceClient(conn),
	}
}

// Describe asks the plugin for its manifest. It is not checked.
func (c *PluginClient) Describe(ctx context.Context) (pluginsdk.Manifest, error) {
	m, err := c.lifecycle.Describe(ctx, &pluginv1.DescribeRequest{})
	return manifestFrom(m.GetManifest()), err
}

// StartWith starts the plugin with the host's services that are announced
// under hostID.
func (c *PluginClient) StartWith(ctx context.Context, hostID uint32) error {
	_, err := c.lifecycle.Start(ctx, &pluginv1.StartRequest{HostBrokerId: hostID})
	return err
}

// Activate lets the plugin act outside its process. A plugin that has nothing
// to activate answers at once.
func (c *PluginClient) Activate(ctx context.Context) error {
	_, err := c.lifecycle.Activate(ctx, &pluginv1.ActivateRequest{})
	return err
}

// Deactivate takes Activate back.
func (c *PluginClient) Deactivate(ctx context.Context) error {
	_, err := c.lifecycle.Deactivate(ctx, &pluginv1.DeactivateRequest{})
	return err
}

// InFlight returns the ids of the hook calls that have not returned yet, the
// oldest first, also of those whose caller has given up.
func (c *PluginClient) InFlight(ctx context.Context) ([]string, error) {
	calls, err := c.InFlightCalls(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(calls))
	for _, call := range calls {
		ids = append(ids, call.ID)
	}
	return ids, nil
}

// InFlightCall is a hook call that has not returned yet.
type InFlightCall struct {
	ID        string
	StartedAt time.Time // by the plugin's clock; zero when the plugin does not say it
}

// InFlightCalls returns the hook calls that have not returned yet, the oldest first,
// also those whose caller has given up.
func (c *PluginClient) InFlightCalls(ctx context.Context) ([]InFlightCall, error) {
	m, err := c.lifecycle.InFlight(ctx, &pluginv1.InFlightRequest{})
	if err != nil {
		return nil, err
	}
	calls := make([]InFlightCall, 0, len(m.GetCalls()))
	for _, call := range m.GetCalls() {
		calls = append(calls, InFlightCall{ID: call.GetCallId(), StartedAt: timeFrom(call.GetStartedAt())})
	}
	return calls, nil
}
