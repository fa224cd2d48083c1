package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

func onSettingsChangeRequestTo(v pluginsdk.OnSettingsChangeRequest) *pluginv1.OnSettingsChangeRequest {
	return &pluginv1.OnSettingsChangeRequest{
		Call:     callTo(v.Call),
		Settings: v.Settings,
	}
}

func onSettingsChangeRequestFrom(m *pluginv1.OnSettingsChangeRequest) pluginsdk.OnSettingsChangeRequest {
	return pluginsdk.OnSettingsChangeRequest{
		Call:     callFrom(m.GetCall()),
		Settings: m.GetSettings(),
	}
}

func onBroadcastRequestTo(v pluginsdk.OnBroadcastRequest) *pluginv1.OnBroadcastRequest {
	return &pluginv1.OnBroadcastRequest{
		Call:   callTo(v.Call),
		Events: listTo(v.Events, eventTo),
	}
}

func onBroadcastRequestFrom(m *pluginv1.OnBroadcastRequest) pluginsdk.OnBroadcastRequest {
	return pluginsdk.OnBroadcastRequest{
		Call:   callFrom(m.GetCall()),
		Events: listFrom(m.GetEvents(), eventFrom),
	}
}

func onCheckRequestTo(v pluginsdk.OnCheckRequest) *pluginv1.OnCheckRequest {
	return &pluginv1.OnCheckRequest{
		Call: callTo(v.Call),
	}
}

func onCheckRequestFrom(m *pluginv1.OnCheckRequest) pluginsdk.OnCheckRequest {
	return pluginsdk.OnCheckRequest{
		Call: callFrom(m.GetCall()),
	}
}

func onCheckResponseTo(v pluginsdk.OnCheckResponse) *pluginv1.OnCheckResponse {
	return &pluginv1.OnCheckResponse{
		Checks:  listTo(v.Checks, checkTo),
		Figures: listTo(v.Figures, figureTo),
	}
}

func onCheckResponseFrom(m *pluginv1.OnCheckResponse) pluginsdk.OnCheckResponse {
	return pluginsdk.OnCheckResponse{
		Checks:  listFrom(m.GetChecks(), checkFrom),
		Figures: listFrom(m.GetFigures(), figureFrom),
	}
}

func onCronRequestTo(v pluginsdk.OnCronRequest) *pluginv1.OnCronRequest {
	return &pluginv1.OnCronRequest{
		Call:     callTo(v.Call),
		Question: cronQuestionTo(v.Question),
	}
}

func onCronRequestFrom(m *pluginv1.OnCronRequest) pluginsdk.OnCronRequest {
	return pluginsdk.OnCronRequest{
		Call:     callFrom(m.GetCall()),
		Question: cronQuestionFrom(m.GetQuestion()),
	}
}

func onCronResponseTo(v pluginsdk.OnCronResponse) *pluginv1.OnCronResponse {
	return &pluginv1.OnCronResponse{
		News: v.News,
		Text: v.Text,
	}
}

func onCronResponseFrom(m *pluginv1.OnCronResponse) pluginsdk.OnCronResponse {
	return pluginsdk.OnCronResponse{
		News: m.GetNews(),
		Text: m.GetText(),
	}
}

func deliverRequestTo(v pluginsdk.DeliverRequest) *pluginv1.DeliverRequest {
	return &pluginv1.DeliverRequest{
		Call:     callTo(v.Call),
		Delivery: deliveryTo(v.Delivery),
		Thread:   threadTo(v.Thread),
		Message:  messageTo(v.Message),
		Approval: pointerTo(v.Approval, approvalTo),
	}
}

func deliverRequestFrom(m *pluginv1.DeliverRequest) pluginsdk.DeliverRequest {
	return pluginsdk.DeliverRequest{
		Call:     callFrom(m.GetCall()),
		Delivery: deliveryFrom(m.GetDelivery()),
		Thread:   threadFrom(m.GetThread()),
		Message:  messageFrom(m.GetMessage()),
		Approval: pointerFrom(m.GetApproval(), approvalFrom),
	}
}

func deliverResponseTo(v pluginsdk.DeliverResponse) *pluginv1.DeliverResponse {
	return &pluginv1.DeliverResponse{
		ExternalId: v.ExternalID,
	}
}

func deliverResponseFrom(m *pluginv1.DeliverResponse) pluginsdk.DeliverResponse {
	return pluginsdk.DeliverResponse{
		ExternalID: m.GetExternalId(),
	}
}

func callToolRequestTo(v pluginsdk.CallToolRequest) *pluginv1.CallToolRequest {
	return &pluginv1.CallToolRequest{
		Call:     callTo(v.Call),
		Name:     v.Name,
		Input:    v.Input,
		ThreadId: v.ThreadID,
		TaskId:   v.TaskID,
	}
}

func callToolRequestFrom(m *pluginv1.CallToolRequest) pluginsdk.CallToolRequest {
	return pluginsdk.CallToolRequest{
		Call:     callFrom(m.GetCall()),
		Name:     m.GetName(),
		Input:    m.GetInput(),
		ThreadID: m.GetThreadId(),
		TaskID:   m.GetTaskId(),
	}
}

func callToolResponseTo(v pluginsdk.CallToolResponse) *pluginv1.CallToolResponse {
	return &pluginv1.CallToolResponse{
		Result: toolResultTo(v.Result),
	}
}

func callToolResponseFrom(m *pluginv1.CallToolResponse) pluginsdk.CallToolResponse {
	return pluginsdk.CallToolResponse{
		Result: toolResultFrom(m.GetResult()),
	}
}
