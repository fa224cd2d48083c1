package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// pipelineServer answers the bends of the pipeline with the plugin's hooks.
type pipelineServer struct {
	pluginv1.UnimplementedPipelineServiceServer
	plugin pluginsdk.Plugin
}

func (s pipelineServer) OnBeforeRun(ctx context.Context, m *pluginv1.OnBeforeRunRequest) (*pluginv1.OnBeforeRunResponse, error) {
	hook, err := answering[pluginsdk.BeforeRunHook](s.plugin, pluginsdk.HookBeforeRun)
	if err != nil {
		return nil, err
	}
	verdict, err := hook.OnBeforeRun(ctx, runStartFrom(m))
	return &pluginv1.OnBeforeRunResponse{Verdict: verdictTo(verdict)}, err
}

func (s pipelineServer) OnPipelineStart(ctx context.Context, m *pluginv1.OnPipelineStartRequest) (*pluginv1.OnPipelineStartResponse, error) {
	hook, err := answering[pluginsdk.PipelineStartHook](s.plugin, pluginsdk.HookPipelineStart)
	if err != nil {
		return nil, err
	}
	return &pluginv1.OnPipelineStartResponse{}, hook.OnPipelineStart(ctx, pipelineStartFrom(m))
}

func (s pipelineServer) OnMessage(ctx context.Context, m *pluginv1.OnMessageRequest) (*pluginv1.OnMessageResponse, error) {
	hook, err := answering[pluginsdk.MessageHook](s.plugin, pluginsdk.HookMessage)
	if err != nil {
		return nil, err
	}
	return &pluginv1.OnMessageResponse{}, hook.OnMessage(ctx, incomingMessageFrom(m))
}

func (s pipelineServer) OnBeforeInvoke(ctx context.Context, m *pluginv1.OnBeforeInvokeRequest) (*pluginv1.OnBeforeInvokeResponse, error) {
	hook, err := answering[pluginsdk.BeforeInvokeHook](s.plugin, pluginsdk.HookBeforeInvoke)
	if err != nil {
		return nil, err
	}
	text, err := hook.OnBeforeInvoke(ctx, promptFrom(m))
	return &pluginv1.OnBeforeInvokeResponse{Text: text}, err
}

func (s pipelineServer) OnAfterInvoke(ctx context.Context, m *pluginv1.OnAfterInvokeRequest) (*pluginv1.OnAfterInvokeResponse, error) {
	hook, err := answering[pluginsdk.AfterInvokeHook](s.plugin, pluginsdk.HookAfterInvoke)
	if err != nil {
		return nil, err
	}
	return &pluginv1.OnAfterInvokeResponse{}, hook.OnAfterInvoke(ctx, invocationFrom(m))
}

func (s pipelineServer) OnBeforeReply(ctx context.Context, m *pluginv1.OnBeforeReplyRequest) (*pluginv1.OnBeforeReplyResponse, error) {
	hook, err := answering[pluginsdk.BeforeReplyHook](s.plugin, pluginsdk.HookBeforeReply)
	if err != nil {
		return nil, err
	}
	text, err := hook.OnBeforeReply(ctx, replyFrom(m))
	return &pluginv1.OnBeforeReplyResponse{Text: text}, err
}

func (s pipelineServer) OnPipelineComplete(ctx context.Context, m *pluginv1.OnPipelineCompleteRequest) (*pluginv1.OnPipelineCompleteResponse, error) {
	hook, err := answering[pluginsdk.PipelineCompleteHook](s.plugin, pluginsdk.HookPipelineComplete)
	if err != nil {
		return nil, err
	}
	return &pluginv1.OnPipelineCompleteResponse{}, hook.OnPipelineComplete(ctx, pipelineCompleteFrom(m))
}

// OnBeforeRun implements pluginsdk.BeforeRunHook.
func (c *PluginClient) OnBeforeRun(ctx context.Context, start pluginsdk.RunStart) (pluginsdk.Verdict, error) {
	start.Call = completed(ctx, start.Call)
	m, err := c.pipeline.OnBeforeRun(ctx, runStartTo(start))
	return verdictFrom(m.GetVerdict()), err
}

// OnPipelineStart implements pluginsdk.PipelineStartHook.
func (c *PluginClient) OnPipelineStart(ctx context.Context, start pluginsdk.PipelineStart) error {
	start.Call = completed(ctx, start.Call)
	_, err := c.pipeline.OnPipelineStart(ctx, pipelineStartTo(start))
	return err
}

// OnMessage implements pluginsdk.MessageHook.
func (c *PluginClient) OnMessage(ctx context.Context, message pluginsdk.IncomingMessage) error {
	message.Call = completed(ctx, message.Call)
	_, err := c.pipeline.OnMessage(ctx, incomingMessageTo(message))
	return err
}

// OnBeforeInvoke implements pluginsdk.BeforeInvokeHook.
func (c *PluginClient) OnBeforeInvoke(ctx context.Context, prompt pluginsdk.Prompt) (string, error) {
	prompt.Call = completed(ctx, prompt.Call)
	m, err := c.pipeline.OnBeforeInvoke(ctx, promptTo(prompt))
	return m.GetText(), err
}

// OnAfterInvoke implements pluginsdk.AfterInvokeHook.
func (c *PluginClient) OnAfterInvoke(ctx context.Context, invocation pluginsdk.Invocation) error {
	invocation.Call = completed(ctx, invocation.Call)
	_, err := c.pipeline.OnAfterInvoke(ctx, invocationTo(invocation))
	return err
}

// OnBeforeReply implements pluginsdk.BeforeReplyHook.
func (c *PluginClient) OnBeforeReply(ctx context.Context, reply pluginsdk.Reply) (string, error) {
	reply.Call = completed(ctx, reply.Call)
	m, err := c.pipeline.OnBeforeReply(ctx, replyTo(reply))
	return m.GetText(), err
}

// OnPipelineComplete implements pluginsdk.PipelineCompleteHook.
func (c *PluginClient) OnPipelineComplete(ctx context.Context, complete pluginsdk.PipelineComplete) error {
	complete.Call = completed(ctx, complete.Call)
	_, err := c.pipeline.OnPipelineComplete(ctx, pipelineCompleteTo(complete))
	return err
}
