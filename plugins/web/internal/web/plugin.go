// Package web serves the HTTP API and the event socket.
package web

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"sync"

	"github.com/seed-706843ae/harness/plugins/internal/settings"
	"github.com/seed-706843ae/harness/plugins/web/internal/guard"
	"github.com/seed-706843ae/harness/plugins/web/internal/live"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	version = "0.1.0"
	// addressVariable is where the API listens.
	addressVariable = "HARNESS_HTTP_ADDR"
	defaultAddress  = "127.0.0.1:3001"
	// versionVariable is what the daemon calls itself.
	versionVariable = "HARNESS_VERSION"
)

// Plugin listens from Activate to Deactivate, which may follow each other any
// number of times.
type Plugin struct {
	host  pluginsdk.Host
	log   *slog.Logger
	guard guard.Guard
	hub   *live.Hub

	mu     sync.Mutex
	server *server // nil while not active
}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name:        "web",
		Version:     version,
		Description: "Serves the HTTP API and streams events over a WebSocket",
		Sources:     []string{"web", "cli"}, // the terminal comes in through the API
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapMessagesSubmit, Reason: "hand people's messages to the agent"},
			{Capability: pluginsdk.CapMessagesRead, Reason: "show conversations"},
			{Capability: pluginsdk.CapThreadsRead, Reason: "show threads"},
			{Capability: pluginsdk.CapThreadsWrite, Reason: "make threads and change their settings"},
			{Capability: pluginsdk.CapThreadsAdmin, Reason: "change threads that came in elsewhere, and where and how a thread's agent works"},
			{Capability: pluginsdk.CapRunsRead, Reason: "show how runs stand"},
			{Capability: pluginsdk.CapRunsControl, Reason: "cancel and retry runs, stop threads"},
			{Capability: pluginsdk.CapTasksRead, Reason: "show tasks and what was said of them"},
			{Capability: pluginsdk.CapTasksWrite, Reason: "cancel tasks"},
			{Capability: pluginsdk.CapTasksDecide, Reason: "hand in a person's word on a task, and cancel those of other plugins"},
			{Capability: pluginsdk.CapDeliveriesRead, Reason: "show what is on its way to people"},
			{Capability: pluginsdk.CapDeliveriesControl, Reason: "try deliveries again"},
			{Capability: pluginsdk.CapEventsRead, Reason: "replay events to clients that reconnect"},
			{Capability: pluginsdk.CapPluginsRead, Reason: "show plugins and their state"},
			{Capability: pluginsdk.CapMetricsRead, Reason: "tell Prometheus how the daemon does"},
			{Capability: pluginsdk.CapPluginsAdmin, Reason: "show and change plugins' settings"},
			{Capability: pluginsdk.CapToolsCall, Reason: "list and call plugins' tools for an operator"},
		},
		Environment: []pluginsdk.EnvironmentRequest{{
			Name:   addressVariable,
			Reason: "know the address to listen on",
		}, {
			Name:   versionVariable,
			Reason: "show the version of Harness",
		}},
		SettingsSchema: json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "allowedHosts": {
      "type": "array", "items": {"type": "string"}, "default": [],
      "description": "Names, with or without :port, that the Host and Origin headers may have besides those of loopback"
    }
  }
}`),
		Exclusive: true,
	}
}

// Start reads the settings. Wrong ones are an error that names what is wrong.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	p.host, p.log = host, host.Log
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.hub = live.NewHub(host.Events, live.Limits{}, p.log)
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	return p.configure(answer.Settings)
}

// OnSettingsChange takes new settings. Wrong ones are an error, and the last
// good ones stay in force.
func (p *Plugin) OnSettingsChange(_ context.Context, change *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	return &pluginsdk.OnSettingsChangeResponse{}, p.configure(change.Settings)
}

func (p *Plugin) configure(raw json.RawMessage) error {
	var config struct {
		AllowedHosts []string `json:"allowedHosts"`
	}
	if err := settings.Decode(raw, &config); err != nil {
		return err
	}
	hosts, err := guard.ParseHosts(config.AllowedHosts)
	if err != nil {
		return err
	}
	p.guard.Allow(hosts)
	return nil
}

// Activate begins to listen. It is an error when the address is not loopback's
// or cannot be had; the error says what to do.
func (p *Plugin) Activate(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil {
		return nil
	}
	address := os.Getenv(addressVariable)
	if address == "" {
		address = defaultAddress
	}
	listener, err := listen(ctx, address)
	if err != nil {
		return err
	}
	started, err := p.serve(ctx, listener)
	if err != nil {
		_ = listener.Close()
		return err
	}
	p.server = started
	p.log.Info("HTTP API is listening", "url", "http://"+listener.Addr().String())
	return nil
}

// Deactivate stops to listen, lets requests under way end until ctx is done,
// and sends the clients of the event socket away.
func (p *Plugin) Deactivate(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return nil
	}
	p.server.stop(ctx, p.hub)
	p.server = nil
	return nil
}

// OnBroadcast hands events to the clients of the event socket. It never waits
// for them.
func (p *Plugin) OnBroadcast(_ context.Context, request *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	p.hub.Broadcast(request.Events)
	return &pluginsdk.OnBroadcastResponse{}, nil
}

// Addr returns the address that is listened on, or nil while not active.
func (p *Plugin) Addr() net.Addr {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return nil
	}
	return p.server.listener.Addr()
}
