// Package subject is a plugin that answers every hook that a turn passes and
// does next to nothing in it.
package subject

import (
	"context"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// AskHost in front of a prompt makes the plugin ask its host once.
const AskHost = "ask the host:"

// Plugin is the subject. Replies get its version.
type Plugin struct {
	Name, Version string
	host          pluginsdk.Host
}

// Manifest describes the plugin.
func (p *Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: p.Name, Version: p.Version, Description: "What the benchmark measures with",
		Capabilities: []pluginsdk.CapabilityRequest{{Capability: pluginsdk.CapThreadsRead, Reason: "ask for the thread of a message"}},
	}
}

// Start takes the host.
func (p *Plugin) Start(_ context.Context, host pluginsdk.Host) error {
	p.host = host
	return nil
}

// OnPipelineStart does nothing.
func (*Plugin) OnPipelineStart(context.Context, pluginsdk.PipelineStart) error { return nil }

// OnMessage asks for the thread, as a plugin does that needs its name.
func (p *Plugin) OnMessage(ctx context.Context, m pluginsdk.IncomingMessage) error {
	_, err := p.host.Threads.Get(ctx, m.Thread.ID)
	return err
}

// OnBeforeInvoke returns the prompt.
func (p *Plugin) OnBeforeInvoke(ctx context.Context, prompt pluginsdk.Prompt) (string, error) {
	if !strings.HasPrefix(prompt.Text, AskHost) {
		return prompt.Text, nil
	}
	_, err := p.host.Threads.Get(ctx, prompt.Thread.ID)
	return prompt.Text, err
}

// OnAfterInvoke does nothing.
func (*Plugin) OnAfterInvoke(context.Context, pluginsdk.Invocation) error { return nil }

// OnBeforeReply says which version answered.
func (p *Plugin) OnBeforeReply(_ context.Context, reply pluginsdk.Reply) (string, error) {
	return reply.Text + " <" + p.Version + ">", nil
}

// OnPipelineComplete does nothing.
func (*Plugin) OnPipelineComplete(context.Context, pluginsdk.PipelineComplete) error { return nil }
