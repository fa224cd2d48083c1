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
	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/guard"
	"github.com/seed-706843ae/harness/plugins/web/internal/live"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

const (
	version = "0.1.0"
	// addressVariable is where the API listens.
	addressVariable = "HARNESS_HTTP_ADDR"
	// ownerVariable is the file of the owner's token.
	ownerVariable  = "HARNESS_OWNER_TOKEN"
	defaultAddress = "127.0.0.1:3001"
	// versionVariable is what the daemon calls itself.
	versionVariable = "HARNESS_VERSION"
	// grantedOn is why it wants what it does nothing with by itself: it can grant only what it has.
	grantedOn = "let an operator grant it to other plugins"
)

// Plugin listens from Activate to Deactivate, which may follow each other any
// number of times.
type Plugin struct {
	// Daemon is the process that has started the plugin: what is below it has no person's
	// right. 0: it is not known, and nobody is refused for the process that calls.
	Daemon int

	host  pluginsdk.Host
	log   *slog.Logger
	guard guard.Guard
	gate  *access.Gate
	hub   *live.Hub
	times times // of connections; zero fields: the default
	most  int   // connections at a time; 0: the default

	standings access.Peers // of who connects; nil: found out by Daemon

	mu     sync.Mutex
	always bool    // a token is demanded on loopback too
	named  bool    // hosts besides loopback's are allowed
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
			{Capability: pluginsdk.CapCronsRead, Reason: "show scheduled jobs"},
			{Capability: pluginsdk.CapCronsWrite, Reason: "change scheduled jobs for people"},
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
			{Capability: pluginsdk.CapCommandsRead, Reason: "offer the commands that people can type"},
			{Capability: pluginsdk.CapApprovalsRead, Reason: "show what the agent asks"},
			{Capability: pluginsdk.CapApprovalsDecide, Reason: "hand in a person's answer to what the agent asks"},
			{Capability: pluginsdk.CapFilesRead, Reason: "show and send the files of conversations"},
			{Capability: pluginsdk.CapFilesWrite, Reason: "take in the files that people send"},
			{Capability: pluginsdk.CapWorkspaceRead, Reason: "show the agent's context files"},
			{Capability: pluginsdk.CapWorkspaceWrite, Reason: "let a person change the agent's context files"},
			{Capability: pluginsdk.CapTokensCheck, Reason: "know who calls"},
			{Capability: pluginsdk.CapTokensAdmin, Reason: "let an operator make and revoke tokens"},
			{Capability: pluginsdk.CapInstallationRead, Reason: "show what doctor finds, the audit log and usage"},
			{Capability: pluginsdk.CapInstallationControl, Reason: "let an operator pause what plugins start"},
			{Capability: pluginsdk.CapInstallationBackup, Reason: "let an operator make and fetch backups"},
			{Capability: pluginsdk.CapAccountsWrite, Reason: "let an operator add and change the agent's accounts"},
			{Capability: pluginsdk.CapTurnsRead, Reason: grantedOn},
			{Capability: pluginsdk.CapTurnsChange, Reason: grantedOn},
			{Capability: pluginsdk.CapTurnsDecide, Reason: grantedOn},
			{Capability: pluginsdk.CapTasksPrepare, Reason: grantedOn},
			{Capability: pluginsdk.CapTasksJudge, Reason: grantedOn},
		},
		Environment: []pluginsdk.EnvironmentRequest{{
			Name:   addressVariable,
			Reason: "know the address to listen on",
		}, {
			Name:   versionVariable,
			Reason: "show the version of Harness",
		}, {
			Name:   ownerVariable,
			Reason: "tell the command line on this machine where the owner's token is",
		}, {
			Name:   certVariable,
			Reason: "know the certificate to answer with over TLS",
		}, {
			Name:   keyVariable,
			Reason: "know the certificate's key",
		}},
		SettingsSchema: json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "allowedHosts": {
      "operator": true,
      "type": "array", "items": {"type": "string"}, "default": [],
      "description": "Names, with or without :port, that the Host and Origin headers may have besides those of loopback"
    },
    "auth": {
      "operator": true, "type": "string", "enum": ["network", "always"], "default": "always",
      "description": "Whom a token is demanded of: always: everybody; network: everybody, where others than this machine can connect, and nobody on loopback"
    }
  }
}`),
		Exclusive: true,
	}
}

// Start reads the settings. Wrong ones are an error that names what is wrong.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	p.log = host.Log
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.hub = live.NewHub(host.Events, live.Limits{}, p.log)
	p.gate = access.New(host.Tokens, p.peers(), p.log, nil)
	host.Tokens = p.gate.Tokens()
	p.host = host
	p.gate.Owner(os.Getenv(ownerVariable))
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	return p.configure(answer.Settings)
}

// peers tells the processes below the daemon.
func (p *Plugin) peers() access.Peers {
	if p.standings != nil || p.Daemon == 0 {
		return p.standings
	}
	found := proc.NewPeers(p.Daemon)
	if found == nil {
		p.log.Warn("processes of the agent cannot be told from those of people here: set auth to always, and keep tokens from the agent")
		return nil
	}
	return found
}

// OnSettingsChange takes new settings. Wrong ones are an error, and the last
// good ones stay in force.
func (p *Plugin) OnSettingsChange(_ context.Context, change *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	return &pluginsdk.OnSettingsChangeResponse{}, p.configure(change.Settings)
}

func (p *Plugin) configure(raw json.RawMessage) error {
	var config struct {
		AllowedHosts []string `json:"allowedHosts"`
		Auth         string   `json:"auth"`
	}
	if err := settings.Decode(raw, &config); err != nil {
		return err
	}
	hosts, err := guard.ParseHosts(config.AllowedHosts)
	if err != nil {
		return err
	}
	switch config.Auth {
	case "", "network", "always":
	default:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: auth is %q; it takes network or always", config.Auth)
	}
	p.guard.Allow(hosts)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.always, p.named = config.Auth != "network", len(hosts) > 0
	p.demand()
	return nil
}

// demand makes it true whom a token is demanded of. p.mu is held.
func (p *Plugin) demand() {
	if p.server == nil {
		p.gate.Demand(true) // nobody is answered before it is known where it listens
		return
	}
	p.gate.Demand(p.always || p.server.wide)
	p.guard.Widen(p.server.wide)
	switch {
	case p.server.wide && p.server.certificate == nil:
		p.log.Warn("THE API IS ON A NETWORK WITHOUT TLS: who can listen there reads tokens and all that is said; "+
			"set "+certVariable+" and "+keyVariable+", or let a proxy with TLS connect to loopback", "address", p.server.listener.Addr().String())
	case !p.server.wide && !p.always && p.named:
		p.log.Warn("NO TOKEN IS DEMANDED, and allowedHosts names hosts besides loopback: whoever a proxy lets through commands the agent; " +
			"set auth to always, unless the proxy asks who calls")
	}
}

// Activate begins to listen. It is an error when the address or the certificate cannot
// be had; the error says what to do.
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
	certificate, err := certificateOf(p.guard.Certify, p.log)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, address)
	if err != nil {
		return err
	}
	started, err := p.ready(listener, certificate)
	if err != nil {
		_ = listener.Close()
		return err
	}
	p.server = started
	p.demand()
	p.hub.Open(ctx)
	started.serve(p.log)
	p.log.Info("HTTP API is listening", "url", started.url(), "token", p.gate.Demands())
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
	p.gate.Wait()
	p.server = nil
	p.demand()
	return nil
}

// OnBroadcast hands events to the clients of the event socket, and ends the requests of tokens
// that are revoked. It never waits for them.
func (p *Plugin) OnBroadcast(_ context.Context, request *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	p.gate.Hear(request.Events)
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
