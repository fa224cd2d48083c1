package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// The hooks of a run.

func (s hookServer) OnBeforeRun(ctx context.Context, m *pluginv1.OnBeforeRunRequest) (*pluginv1.OnBeforeRunResponse, error) {
	return answer(ctx, m, onBeforeRunRequestFrom, answering(s.plugin, pluginsdk.BeforeRunHook.OnBeforeRun), onBeforeRunResponseTo)
}

// OnBeforeRun implements pluginsdk.BeforeRunHook.
func (c *PluginClient) OnBeforeRun(ctx context.Context, request *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	return ask(ctx, request, onBeforeRunRequestTo, c.pipeline.OnBeforeRun, onBeforeRunResponseFrom)
}

func (s hookServer) OnPipelineStart(ctx context.Context, m *pluginv1.OnPipelineStartRequest) (*pluginv1.OnPipelineStartResponse, error) {
	return answer(ctx, m, onPipelineStartRequestFrom, answering(s.plugin, pluginsdk.PipelineStartHook.OnPipelineStart), onPipelineStartResponseTo)
}

// OnPipelineStart implements pluginsdk.PipelineStartHook.
func (c *PluginClient) OnPipelineStart(ctx context.Context, request *pluginsdk.OnPipelineStartRequest) (*pluginsdk.OnPipelineStartResponse, error) {
	return ask(ctx, request, onPipelineStartRequestTo, c.pipeline.OnPipelineStart, onPipelineStartResponseFrom)
}

func (s hookServer) OnMessage(ctx context.Context, m *pluginv1.OnMessageRequest) (*pluginv1.OnMessageResponse, error) {
	return answer(ctx, m, onMessageRequestFrom, answering(s.plugin, pluginsdk.MessageHook.OnMessage), onMessageResponseTo)
}

// OnMessage implements pluginsdk.MessageHook.
func (c *PluginClient) OnMessage(ctx context.Context, request *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
	return ask(ctx, request, onMessageRequestTo, c.pipeline.OnMessage, onMessageResponseFrom)
}

func (s hookServer) OnBeforeInvoke(ctx context.Context, m *pluginv1.OnBeforeInvokeRequest) (*pluginv1.OnBeforeInvokeResponse, error) {
	return answer(ctx, m, onBeforeInvokeRequestFrom, answering(s.plugin, pluginsdk.BeforeInvokeHook.OnBeforeInvoke), onBeforeInvokeResponseTo)
}

// OnBeforeInvoke implements pluginsdk.BeforeInvokeHook.
func (c *PluginClient) OnBeforeInvoke(ctx context.Context, request *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	return ask(ctx, request, onBeforeInvokeRequestTo, c.pipeline.OnBeforeInvoke, onBeforeInvokeResponseFrom)
}

func (s hookServer) OnAfterInvoke(ctx context.Context, m *pluginv1.OnAfterInvokeRequest) (*pluginv1.OnAfterInvokeResponse, error) {
	return answer(ctx, m, onAfterInvokeRequestFrom, answering(s.plugin, pluginsdk.AfterInvokeHook.OnAfterInvoke), onAfterInvokeResponseTo)
}

// OnAfterInvoke implements pluginsdk.AfterInvokeHook.
func (c *PluginClient) OnAfterInvoke(ctx context.Context, request *pluginsdk.OnAfterInvokeRequest) (*pluginsdk.OnAfterInvokeResponse, error) {
	return ask(ctx, request, onAfterInvokeRequestTo, c.pipeline.OnAfterInvoke, onAfterInvokeResponseFrom)
}

func (s hookServer) OnCommand(ctx context.Context, m *pluginv1.OnCommandRequest) (*pluginv1.OnCommandResponse, error) {
	return answer(ctx, m, onCommandRequestFrom, answering(s.plugin, pluginsdk.CommandHook.OnCommand), onCommandResponseTo)
}

// OnCommand implements pluginsdk.CommandHook.
func (c *PluginClient) OnCommand(ctx context.Context, request *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	return ask(ctx, request, onCommandRequestTo, c.command.OnCommand, onCommandResponseFrom)
}

func (s hookServer) OnBeforeReply(ctx context.Context, m *pluginv1.OnBeforeReplyRequest) (*pluginv1.OnBeforeReplyResponse, error) {
	return answer(ctx, m, onBeforeReplyRequestFrom, answering(s.plugin, pluginsdk.BeforeReplyHook.OnBeforeReply), onBeforeReplyResponseTo)
}

// OnBeforeReply implements pluginsdk.BeforeReplyHook.
func (c *PluginClient) OnBeforeReply(ctx context.Context, request *pluginsdk.OnBeforeReplyRequest) (*pluginsdk.OnBeforeReplyResponse, error) {
	return ask(ctx, request, onBeforeReplyRequestTo, c.pipeline.OnBeforeReply, onBeforeReplyResponseFrom)
}

func (s hookServer) OnPipelineComplete(ctx context.Context, m *pluginv1.OnPipelineCompleteRequest) (*pluginv1.OnPipelineCompleteResponse, error) {
	return answer(ctx, m, onPipelineCompleteRequestFrom, answering(s.plugin, pluginsdk.PipelineCompleteHook.OnPipelineComplete), onPipelineCompleteResponseTo)
}

// OnPipelineComplete implements pluginsdk.PipelineCompleteHook.
func (c *PluginClient) OnPipelineComplete(ctx context.Context, request *pluginsdk.OnPipelineCompleteRequest) (*pluginsdk.OnPipelineCompleteResponse, error) {
	return ask(ctx, request, onPipelineCompleteRequestTo, c.pipeline.OnPipelineComplete, onPipelineCompleteResponseFrom)
}
