package bare

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// Host is the host's side of a bare plugin.
type Host struct {
	client *plugin.Client
	conn   *grpc.ClientConn
}

// Start starts the bare plugin, an executable whose file is called Name.
func Start(path string) (*Host, error) {
	h := &Host{client: plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: handshake, Plugins: plugin.PluginSet{Name: &side{}}, Cmd: exec.Command(path),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, AutoMTLS: true, Logger: hclog.NewNullLogger(),
	})}
	protocol, err := h.client.Client()
	if err == nil {
		var dispensed any
		if dispensed, err = protocol.Dispense(Name); err == nil {
			h.conn = dispensed.(*grpc.ClientConn)
			return h, nil
		}
	}
	h.client.Kill()
	return nil, fmt.Errorf("start the bare plugin: %w", err)
}

// Echo is a call to the plugin and its answer, the same text.
func (h *Host) Echo(ctx context.Context, text string) error { return call(ctx, h.conn, echo, text) }

// Ask is Echo of a plugin that calls its host before it answers.
func (h *Host) Ask(ctx context.Context, text string) error { return call(ctx, h.conn, ask, text) }

// Stop ends the plugin.
func (h *Host) Stop() { h.client.Kill() }
