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
func (*Plugin) OnPipelineStart(context.Context, *pluginsdk.OnPipelineStartRequest) (*pluginsdk.OnPipelineStartResponse, error) {
	return nil, nil //nolint:nilnil // nothing to say
}

// OnMessage asks for the thread, as a plugin does that needs its name.
func (p *Plugin) OnMessage(ctx context.Context, request *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
	_, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: request.Thread.ID})
	return nil, err
}

// OnBeforeInvoke returns the prompt.
func (p *Plugin) OnBeforeInvoke(ctx context.Context, request *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	same := &pluginsdk.OnBeforeInvokeResponse{Prompt: &request.Prompt}
	if !strings.HasPrefix(request.Prompt, AskHost) {
		return same, nil
	}
	_, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: request.Thread.ID})
	return same, err
}

// OnAfterInvoke does nothing.
func (*Plugin) OnAfterInvoke(context.Context, *pluginsdk.OnAfterInvokeRequest) (*pluginsdk.OnAfterInvokeResponse, error) {
	return nil, nil //nolint:nilnil // nothing to say
}

// OnBeforeReply says which version answered.
func (p *Plugin) OnBeforeReply(_ context.Context, request *pluginsdk.OnBeforeReplyRequest) (*pluginsdk.OnBeforeReplyResponse, error) {
	text := request.Text + " <" + p.Version + ">"
	return &pluginsdk.OnBeforeReplyResponse{Text: &text}, nil
}

// OnPipelineComplete does nothing.
func (*Plugin) OnPipelineComplete(context.Context, *pluginsdk.OnPipelineCompleteRequest) (*pluginsdk.OnPipelineCompleteResponse, error) {
	return nil, nil //nolint:nilnil // nothing to say
}
