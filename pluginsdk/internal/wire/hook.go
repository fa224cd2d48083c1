package wire

import (
	"context"

	"google.golang.org/grpc"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
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
	response, err := answer(ctx, m, onBeforeInvokeRequestFrom, answering(s.plugin, pluginsdk.BeforeInvokeHook.OnBeforeInvoke), onBeforeInvokeResponseTo)
	if err == nil && response.Prompt == nil && response.Prefix != "" && m.Prompt != "" {
		// A daemon that sends the prompt does not know that this plugin has PromptPrefix.
		whole := response.Prefix + pluginsdk.PromptSeparator + m.Prompt
		response.Prompt, response.Prefix = &whole, ""
	}
	return response, err
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

// The hooks that report progress: those of a task, and tools.

func (s hookServer) OnTaskCreate(m *pluginv1.OnTaskCreateRequest, stream grpc.ServerStreamingServer[pluginv1.OnTaskCreateUpdate]) error {
	return answerInUpdates(s.calls, m.GetCall(), stream, onTaskCreateUpdate, func(ctx context.Context) (*pluginv1.OnTaskCreateResponse, error) {
		return answer(ctx, m, onTaskCreateRequestFrom, answering(s.plugin, pluginsdk.TaskCreateHook.OnTaskCreate), onTaskCreateResponseTo)
	})
}

func onTaskCreateUpdate(progress *typesv1.Progress, response *pluginv1.OnTaskCreateResponse) *pluginv1.OnTaskCreateUpdate {
	if progress != nil {
		return &pluginv1.OnTaskCreateUpdate{Update: &pluginv1.OnTaskCreateUpdate_Progress{Progress: progress}}
	}
	return &pluginv1.OnTaskCreateUpdate{Update: &pluginv1.OnTaskCreateUpdate_Response{Response: response}}
}

// OnTaskCreate implements pluginsdk.TaskCreateHook.
func (c *PluginClient) OnTaskCreate(ctx context.Context, request *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
	return askForUpdates(ctx, request, onTaskCreateRequestTo, c.task.OnTaskCreate, onTaskCreateResponseFrom)
}

func (s hookServer) OnTaskComplete(m *pluginv1.OnTaskCompleteRequest, stream grpc.ServerStreamingServer[pluginv1.OnTaskCompleteUpdate]) error {
	return answerInUpdates(s.calls, m.GetCall(), stream, onTaskCompleteUpdate, func(ctx context.Context) (*pluginv1.OnTaskCompleteResponse, error) {
		return answer(ctx, m, onTaskCompleteRequestFrom, answering(s.plugin, pluginsdk.TaskCompleteHook.OnTaskComplete), onTaskCompleteResponseTo)
	})
}

func onTaskCompleteUpdate(progress *typesv1.Progress, response *pluginv1.OnTaskCompleteResponse) *pluginv1.OnTaskCompleteUpdate {
	if progress != nil {
		return &pluginv1.OnTaskCompleteUpdate{Update: &pluginv1.OnTaskCompleteUpdate_Progress{Progress: progress}}
	}
	return &pluginv1.OnTaskCompleteUpdate{Update: &pluginv1.OnTaskCompleteUpdate_Response{Response: response}}
}

// OnTaskComplete implements pluginsdk.TaskCompleteHook.
func (c *PluginClient) OnTaskComplete(ctx context.Context, request *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	return askForUpdates(ctx, request, onTaskCompleteRequestTo, c.task.OnTaskComplete, onTaskCompleteResponseFrom)
}

func (s hookServer) OnTaskValidated(m *pluginv1.OnTaskValidatedRequest, stream grpc.ServerStreamingServer[pluginv1.OnTaskValidatedUpdate]) error {
	return answerInUpdates(s.calls, m.GetCall(), stream, onTaskValidatedUpdate, func(ctx context.Context) (*pluginv1.OnTaskValidatedResponse, error) {
		return answer(ctx, m, onTaskValidatedRequestFrom, answering(s.plugin, pluginsdk.TaskValidatedHook.OnTaskValidated), onTaskValidatedResponseTo)
	})
}

func onTaskValidatedUpdate(progress *typesv1.Progress, response *pluginv1.OnTaskValidatedResponse) *pluginv1.OnTaskValidatedUpdate {
	if progress != nil {
		return &pluginv1.OnTaskValidatedUpdate{Update: &pluginv1.OnTaskValidatedUpdate_Progress{Progress: progress}}
	}
	return &pluginv1.OnTaskValidatedUpdate{Update: &pluginv1.OnTaskValidatedUpdate_Response{Response: response}}
}

// OnTaskValidated implements pluginsdk.TaskValidatedHook.
func (c *PluginClient) OnTaskValidated(ctx context.Context, request *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
	return askForUpdates(ctx, request, onTaskValidatedRequestTo, c.task.OnTaskValidated, onTaskValidatedResponseFrom)
}

func (s hookServer) OnTaskFailed(m *pluginv1.OnTaskFailedRequest, stream grpc.ServerStreamingServer[pluginv1.OnTaskFailedUpdate]) error {
	return answerInUpdates(s.calls, m.GetCall(), stream, onTaskFailedUpdate, func(ctx context.Context) (*pluginv1.OnTaskFailedResponse, error) {
		return answer(ctx, m, onTaskFailedRequestFrom, answering(s.plugin, pluginsdk.TaskFailedHook.OnTaskFailed), onTaskFailedResponseTo)
	})
}

func onTaskFailedUpdate(progress *typesv1.Progress, response *pluginv1.OnTaskFailedResponse) *pluginv1.OnTaskFailedUpdate {
	if progress != nil {
		return &pluginv1.OnTaskFailedUpdate{Update: &pluginv1.OnTaskFailedUpdate_Progress{Progress: progress}}
	}
	return &pluginv1.OnTaskFailedUpdate{Update: &pluginv1.OnTaskFailedUpdate_Response{Response: response}}
}

// OnTaskFailed implements pluginsdk.TaskFailedHook.
func (c *PluginClient) OnTaskFailed(ctx context.Context, request *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
	return askForUpdates(ctx, request, onTaskFailedRequestTo, c.task.OnTaskFailed, onTaskFailedResponseFrom)
}

func (s hookServer) CallTool(m *pluginv1.CallToolRequest, stream grpc.ServerStreamingServer[pluginv1.CallToolUpdate]) error {
	return answerInUpdates(s.calls, m.GetCall(), stream, callToolUpdate, func(ctx context.Context) (*pluginv1.CallToolResponse, error) {
		return answer(ctx, m, callToolRequestFrom, answering(s.plugin, pluginsdk.ToolProvider.CallTool), callToolResponseTo)
	})
}

func callToolUpdate(progress *typesv1.Progress, response *pluginv1.CallToolResponse) *pluginv1.CallToolUpdate {
	if progress != nil {
		return &pluginv1.CallToolUpdate{Update: &pluginv1.CallToolUpdate_Progress{Progress: progress}}
	}
	return &pluginv1.CallToolUpdate{Update: &pluginv1.CallToolUpdate_Response{Response: response}}
}

// CallTool implements pluginsdk.ToolProvider.
func (c *PluginClient) CallTool(ctx context.Context, request *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	return askForUpdates(ctx, request, callToolRequestTo, c.tool.CallTool, callToolResponseFrom)
}

// The hooks that are about the plugin itself, and deliveries.

func (s hookServer) OnSettingsChange(ctx context.Context, m *pluginv1.OnSettingsChangeRequest) (*pluginv1.OnSettingsChangeResponse, error) {
	return answer(ctx, m, onSettingsChangeRequestFrom, answering(s.plugin, pluginsdk.SettingsChangeHook.OnSettingsChange), emptyTo[pluginv1.OnSettingsChangeResponse])
}

// OnSettingsChange implements pluginsdk.SettingsChangeHook.
func (c *PluginClient) OnSettingsChange(ctx context.Context, request *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	return ask(ctx, request, onSettingsChangeRequestTo, c.settings.OnSettingsChange, emptyFrom[pluginsdk.OnSettingsChangeResponse])
}

func (s hookServer) OnBroadcast(ctx context.Context, m *pluginv1.OnBroadcastRequest) (*pluginv1.OnBroadcastResponse, error) {
	return answer(ctx, m, onBroadcastRequestFrom, answering(s.plugin, pluginsdk.BroadcastHook.OnBroadcast), emptyTo[pluginv1.OnBroadcastResponse])
}

// OnBroadcast implements pluginsdk.BroadcastHook.
func (c *PluginClient) OnBroadcast(ctx context.Context, request *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	return ask(ctx, request, onBroadcastRequestTo, c.broadcast.OnBroadcast, emptyFrom[pluginsdk.OnBroadcastResponse])
}

func (s hookServer) OnCheck(ctx context.Context, m *pluginv1.OnCheckRequest) (*pluginv1.OnCheckResponse, error) {
	return answer(ctx, m, onCheckRequestFrom, answering(s.plugin, pluginsdk.CheckHook.OnCheck), onCheckResponseTo)
}

// OnCheck implements pluginsdk.CheckHook.
func (c *PluginClient) OnCheck(ctx context.Context, request *pluginsdk.OnCheckRequest) (*pluginsdk.OnCheckResponse, error) {
	return ask(ctx, request, onCheckRequestTo, c.check.OnCheck, onCheckResponseFrom)
}

func (s hookServer) OnCron(ctx context.Context, m *pluginv1.OnCronRequest) (*pluginv1.OnCronResponse, error) {
	return answer(ctx, m, onCronRequestFrom, answering(s.plugin, pluginsdk.CronHook.OnCron), onCronResponseTo)
}

// OnCron implements pluginsdk.CronHook.
func (c *PluginClient) OnCron(ctx context.Context, request *pluginsdk.OnCronRequest) (*pluginsdk.OnCronResponse, error) {
	return ask(ctx, request, onCronRequestTo, c.cron.OnCron, onCronResponseFrom)
}

func (s hookServer) Deliver(ctx context.Context, m *pluginv1.DeliverRequest) (*pluginv1.DeliverResponse, error) {
	return answer(ctx, m, deliverRequestFrom, answering(s.plugin, pluginsdk.DeliverHook.Deliver), deliverResponseTo)
}

// Deliver implements pluginsdk.DeliverHook.
func (c *PluginClient) Deliver(ctx context.Context, request *pluginsdk.DeliverRequest) (*pluginsdk.DeliverResponse, error) {
	return ask(ctx, request, deliverRequestTo, c.delivery.Deliver, deliverResponseFrom)
}
