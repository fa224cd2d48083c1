package wire

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// DialHost opens the connection to the host's services, which the host
// announced under a number.
type DialHost func(id uint32) (grpc.ClientConnInterface, error)

// PluginServer serves a plugin's hooks.
type PluginServer struct {
	plugin   pluginsdk.Plugin
	manifest pluginsdk.Manifest
	dial     DialHost
	log      *slog.Logger
	calls    *inFlight
	started  atomic.Bool
}

// NewPluginServer makes the server of a plugin. The manifest is asked for
// once, completed with the hooks the plugin implements, and checked: an error
// names what is wrong with it. log becomes the Host.Log of the plugin.
func NewPluginServer(plugin pluginsdk.Plugin, dial DialHost, log *slog.Logger) (*PluginServer, error) {
	manifest, err := Describe(plugin)
	if err != nil {
		return nil, err
	}
	return &PluginServer{plugin: plugin, manifest: manifest, dial: dial, log: log, calls: newInFlight(log)}, nil
}

// Describe returns a plugin's manifest with its hooks filled in, checked as its author
// wants it: what has no effect is a fault here, where the plugin and the contract are of
// the same version. It is what arrives at a host: the wire does not tell empty lists from
// absent ones.
func Describe(plugin pluginsdk.Plugin) (pluginsdk.Manifest, error) {
	manifest := plugin.Manifest()
	manifest.Hooks = pluginsdk.HooksOf(plugin)
	manifest = manifestFrom(manifestTo(manifest))
	if notes := manifest.Unheeded(); len(notes) > 0 {
		return manifest, pluginsdk.Errorf(pluginsdk.CodeInvalid, "manifest of plugin %q: %s", manifest.Name, strings.Join(notes, "; "))
	}
	if err := wholeActivator(plugin); err != nil {
		return manifest, pluginsdk.Errorf(pluginsdk.CodeInvalid, "plugin %q: %w", manifest.Name, err)
	}
	return manifest, manifest.Check()
}

// wholeActivator refuses a plugin with one half of pluginsdk.Activator: it would never be
// activated, and nobody would say so.
func wholeActivator(plugin pluginsdk.Plugin) error {
	_, activate := plugin.(interface {
		Activate(ctx context.Context) error
	})
	_, deactivate := plugin.(interface {
		Deactivate(ctx context.Context) error
	})
	switch {
	case activate && !deactivate:
		return errors.New("it has Activate and no Deactivate; it is activated only if it has both (pluginsdk.Activator)")
	case deactivate && !activate:
		return errors.New("it has Deactivate and no Activate; it is deactivated only if it has both (pluginsdk.Activator)")
	}
	return nil
}

// Options are what the plugin's grpc.Server must be made with.
func (s *PluginServer) Options() []grpc.ServerOption {
	return append(serverLimits(), grpc.ChainUnaryInterceptor(s.calls.unary))
}

// Register adds the plugin's services to a server made with Options.
func (s *PluginServer) Register(r grpc.ServiceRegistrar) {
	pluginv1.RegisterLifecycleServiceServer(r, lifecycleServer{PluginServer: s})
	hooks := hookServer{plugin: s.plugin, calls: s.calls}
	pluginv1.RegisterPipelineServiceServer(r, hooks)
	pluginv1.RegisterCommandServiceServer(r, hooks)
	pluginv1.RegisterTaskServiceServer(r, hooks)
	pluginv1.RegisterSettingsServiceServer(r, hooks)
	pluginv1.RegisterBroadcastServiceServer(r, hooks)
	pluginv1.RegisterCheckServiceServer(r, hooks)
	pluginv1.RegisterCronServiceServer(r, hooks)
	pluginv1.RegisterDeliveryServiceServer(r, hooks)
	pluginv1.RegisterToolServiceServer(r, hooks)
}

// hookServer answers hooks with the plugin; its methods are in hook_*.go.
type hookServer struct {
	pluginv1.UnimplementedPipelineServiceServer
	pluginv1.UnimplementedCommandServiceServer
	pluginv1.UnimplementedTaskServiceServer
	pluginv1.UnimplementedSettingsServiceServer
	pluginv1.UnimplementedBroadcastServiceServer
	pluginv1.UnimplementedCheckServiceServer
	pluginv1.UnimplementedCronServiceServer
	pluginv1.UnimplementedDeliveryServiceServer
	pluginv1.UnimplementedToolServiceServer

	plugin pluginsdk.Plugin
	calls  *inFlight
}

// lifecycleServer takes the plugin from its start to its end.
type lifecycleServer struct {
	pluginv1.UnimplementedLifecycleServiceServer
	*PluginServer
}

func (s lifecycleServer) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return &pluginv1.DescribeResponse{Manifest: manifestTo(s.manifest)}, nil
}

func (s lifecycleServer) Start(ctx context.Context, m *pluginv1.StartRequest) (*pluginv1.StartResponse, error) {
	if !s.started.CompareAndSwap(false, true) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "plugin %s was started before", s.manifest.Name)
	}
	starter, ok := s.plugin.(pluginsdk.Starter)
	if !ok {
		return &pluginv1.StartResponse{}, nil
	}
	conn, err := s.dial(m.GetHostBrokerId())
	if err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "dial the host: %w", err)
	}
	return &pluginv1.StartResponse{}, starter.Start(ctx, NewHost(conn, s.log))
}

func (s lifecycleServer) Activate(ctx context.Context, _ *pluginv1.ActivateRequest) (*pluginv1.ActivateResponse, error) {
	activator, ok := s.plugin.(pluginsdk.Activator)
	if !ok {
		return &pluginv1.ActivateResponse{}, nil
	}
	return &pluginv1.ActivateResponse{}, activator.Activate(ctx)
}

func (s lifecycleServer) Deactivate(ctx context.Context, _ *pluginv1.DeactivateRequest) (*pluginv1.DeactivateResponse, error) {
	activator, ok := s.plugin.(pluginsdk.Activator)
	if !ok {
		return &pluginv1.DeactivateResponse{}, nil
	}
	return &pluginv1.DeactivateResponse{}, activator.Deactivate(ctx)
}

func (s lifecycleServer) InFlight(context.Context, *pluginv1.InFlightRequest) (*pluginv1.InFlightResponse, error) {
	return &pluginv1.InFlightResponse{Calls: s.calls.list()}, nil
}
