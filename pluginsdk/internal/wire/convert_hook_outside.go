package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// The hooks outside the pipeline: tasks, settings, deliveries, tools.

func taskCreationTo(v pluginsdk.TaskCreation) *pluginv1.OnTaskCreateRequest {
	return &pluginv1.OnTaskCreateRequest{
		Call:    callTo(v.Call),
		Task:    taskTo(v.Task),
		Context: taskContextTo(v.Context),
	}
}

func taskCreationFrom(m *pluginv1.OnTaskCreateRequest) pluginsdk.TaskCreation {
	return pluginsdk.TaskCreation{
		Call:    callFrom(m.GetCall()),
		Task:    taskFrom(m.GetTask()),
		Context: taskContextFrom(m.GetContext()),
	}
}

func taskReviewTo(v pluginsdk.TaskReview) *pluginv1.OnTaskCompleteRequest {
	return &pluginv1.OnTaskCompleteRequest{
		Call:   callTo(v.Call),
		Task:   taskTo(v.Task),
		Cwd:    v.Cwd,
		Result: invokeResultTo(v.Result),
	}
}

func taskReviewFrom(m *pluginv1.OnTaskCompleteRequest) pluginsdk.TaskReview {
	return pluginsdk.TaskReview{
		Call:   callFrom(m.GetCall()),
		Task:   taskFrom(m.GetTask()),
		Cwd:    m.GetCwd(),
		Result: invokeResultFrom(m.GetResult()),
	}
}

func taskValidatedTo(v pluginsdk.TaskEnd) *pluginv1.OnTaskValidatedRequest {
	return &pluginv1.OnTaskValidatedRequest{
		Call:   callTo(v.Call),
		Task:   taskTo(v.Task),
		Reason: v.Reason,
	}
}

func taskValidatedFrom(m *pluginv1.OnTaskValidatedRequest) pluginsdk.TaskEnd {
	return pluginsdk.TaskEnd{
		Call:   callFrom(m.GetCall()),
		Task:   taskFrom(m.GetTask()),
		Reason: m.GetReason(),
	}
}

func taskFailedTo(v pluginsdk.TaskEnd) *pluginv1.OnTaskFailedRequest {
	return &pluginv1.OnTaskFailedRequest{
		Call:   callTo(v.Call),
		Task:   taskTo(v.Task),
		Reason: v.Reason,
	}
}

func taskFailedFrom(m *pluginv1.OnTaskFailedRequest) pluginsdk.TaskEnd {
	return pluginsdk.TaskEnd{
		Call:   callFrom(m.GetCall()),
		Task:   taskFrom(m.GetTask()),
		Reason: m.GetReason(),
	}
}

func settingsChangeTo(v pluginsdk.SettingsChange) *pluginv1.OnSettingsChangeRequest {
	return &pluginv1.OnSettingsChangeRequest{
		Call:     callTo(v.Call),
		Settings: v.Settings,
	}
}

func settingsChangeFrom(m *pluginv1.OnSettingsChangeRequest) pluginsdk.SettingsChange {
	return pluginsdk.SettingsChange{
		Call:     callFrom(m.GetCall()),
		Settings: m.GetSettings(),
	}
}

func deliveryRequestTo(v pluginsdk.DeliveryRequest) *pluginv1.DeliverRequest {
	return &pluginv1.DeliverRequest{
		Call:     callTo(v.Call),
		Delivery: deliveryTo(v.Delivery),
		Thread:   threadTo(v.Thread),
		Message:  messageTo(v.Message),
	}
}

func deliveryRequestFrom(m *pluginv1.DeliverRequest) pluginsdk.DeliveryRequest {
	return pluginsdk.DeliveryRequest{
		Call:     callFrom(m.GetCall()),
		Delivery: deliveryFrom(m.GetDelivery()),
		Thread:   threadFrom(m.GetThread()),
		Message:  messageFrom(m.GetMessage()),
	}
}

// The Progress of a ToolCall is the stream itself: see hook_tool.go.
func toolCallTo(v pluginsdk.ToolCall) *pluginv1.CallToolRequest {
	return &pluginv1.CallToolRequest{
		Call:     callTo(v.Call),
		Name:     v.Name,
		Input:    v.Input,
		ThreadId: v.ThreadID,
		TaskId:   v.TaskID,
	}
}

func toolCallFrom(m *pluginv1.CallToolRequest) pluginsdk.ToolCall {
	return pluginsdk.ToolCall{
		Call:     callFrom(m.GetCall()),
		Name:     m.GetName(),
		Input:    m.GetInput(),
		ThreadID: m.GetThreadId(),
		TaskID:   m.GetTaskId(),
	}
}
