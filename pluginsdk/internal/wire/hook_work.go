package wire

import (
	"context"

	"google.golang.org/grpc"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

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
		return answer(ctx, m, onTaskFailedRequestFrom, answering(s.plugin, pluginsdk.TaskFailedHook.OnTaskFailed), emptyTo[pluginv1.OnTaskFailedResponse])
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
	return askForUpdates(ctx, request, onTaskFailedRequestTo, c.task.OnTaskFailed, emptyFrom[pluginsdk.OnTaskFailedResponse, pluginv1.OnTaskFailedResponse])
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
