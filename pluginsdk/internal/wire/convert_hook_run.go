package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

func onBeforeRunRequestTo(v pluginsdk.OnBeforeRunRequest) *pluginv1.OnBeforeRunRequest {
	return &pluginv1.OnBeforeRunRequest{
		Call:    callTo(v.Call),
		Thread:  threadTo(v.Thread),
		Message: messageTo(v.Message),
		Run:     runTo(v.Run),
		Model:   v.Model,
	}
}

func onBeforeRunRequestFrom(m *pluginv1.OnBeforeRunRequest) pluginsdk.OnBeforeRunRequest {
	return pluginsdk.OnBeforeRunRequest{
		Call:    callFrom(m.GetCall()),
		Thread:  threadFrom(m.GetThread()),
		Message: messageFrom(m.GetMessage()),
		Run:     runFrom(m.GetRun()),
		Model:   m.GetModel(),
	}
}

func onBeforeRunResponseTo(v pluginsdk.OnBeforeRunResponse) *pluginv1.OnBeforeRunResponse {
	return &pluginv1.OnBeforeRunResponse{
		Deny:         v.Deny,
		Reason:       v.Reason,
		Reservations: listTo(v.Reservations, reservationTo),
		CostCapUsd:   v.CostCapUSD,
		Effects:      pointerTo(v.Effects, effectsTo),
		Wait:         pointerTo(v.Wait, waitTo),
	}
}

func onBeforeRunResponseFrom(m *pluginv1.OnBeforeRunResponse) pluginsdk.OnBeforeRunResponse {
	return pluginsdk.OnBeforeRunResponse{
		Deny:         m.GetDeny(),
		Reason:       m.GetReason(),
		Reservations: listFrom(m.GetReservations(), reservationFrom),
		CostCapUSD:   m.GetCostCapUsd(),
		Effects:      pointerFrom(m.GetEffects(), effectsFrom),
		Wait:         pointerFrom(m.GetWait(), waitFrom),
	}
}

func onPipelineStartRequestTo(v pluginsdk.OnPipelineStartRequest) *pluginv1.OnPipelineStartRequest {
	return &pluginv1.OnPipelineStartRequest{
		Call:    callTo(v.Call),
		Thread:  threadTo(v.Thread),
		Message: messageTo(v.Message),
	}
}

func onPipelineStartRequestFrom(m *pluginv1.OnPipelineStartRequest) pluginsdk.OnPipelineStartRequest {
	return pluginsdk.OnPipelineStartRequest{
		Call:    callFrom(m.GetCall()),
		Thread:  threadFrom(m.GetThread()),
		Message: messageFrom(m.GetMessage()),
	}
}

func onPipelineStartResponseTo(v pluginsdk.OnPipelineStartResponse) *pluginv1.OnPipelineStartResponse {
	return &pluginv1.OnPipelineStartResponse{
		Effects: pointerTo(v.Effects, effectsTo),
	}
}

func onPipelineStartResponseFrom(m *pluginv1.OnPipelineStartResponse) pluginsdk.OnPipelineStartResponse {
	return pluginsdk.OnPipelineStartResponse{
		Effects: pointerFrom(m.GetEffects(), effectsFrom),
	}
}

func onMessageRequestTo(v pluginsdk.OnMessageRequest) *pluginv1.OnMessageRequest {
	return &pluginv1.OnMessageRequest{
		Call:    callTo(v.Call),
		Thread:  threadTo(v.Thread),
		Message: messageTo(v.Message),
		Steered: v.Steered,
	}
}

func onMessageRequestFrom(m *pluginv1.OnMessageRequest) pluginsdk.OnMessageRequest {
	return pluginsdk.OnMessageRequest{
		Call:    callFrom(m.GetCall()),
		Thread:  threadFrom(m.GetThread()),
		Message: messageFrom(m.GetMessage()),
		Steered: m.GetSteered(),
	}
}

func onMessageResponseTo(v pluginsdk.OnMessageResponse) *pluginv1.OnMessageResponse {
	return &pluginv1.OnMessageResponse{
		Effects: pointerTo(v.Effects, effectsTo),
	}
}

func onMessageResponseFrom(m *pluginv1.OnMessageResponse) pluginsdk.OnMessageResponse {
	return pluginsdk.OnMessageResponse{
		Effects: pointerFrom(m.GetEffects(), effectsFrom),
	}
}

func onBeforeInvokeRequestTo(v pluginsdk.OnBeforeInvokeRequest) *pluginv1.OnBeforeInvokeRequest {
	return &pluginv1.OnBeforeInvokeRequest{
		Call:    callTo(v.Call),
		Thread:  threadTo(v.Thread),
		Message: messageTo(v.Message),
		Prompt:  v.Prompt,
	}
}

func onBeforeInvokeRequestFrom(m *pluginv1.OnBeforeInvokeRequest) pluginsdk.OnBeforeInvokeRequest {
	return pluginsdk.OnBeforeInvokeRequest{
		Call:    callFrom(m.GetCall()),
		Thread:  threadFrom(m.GetThread()),
		Message: messageFrom(m.GetMessage()),
		Prompt:  m.GetPrompt(),
	}
}

func onBeforeInvokeResponseTo(v pluginsdk.OnBeforeInvokeResponse) *pluginv1.OnBeforeInvokeResponse {
	return &pluginv1.OnBeforeInvokeResponse{
		Prompt:  v.Prompt,
		Prefix:  v.Prefix,
		Effects: pointerTo(v.Effects, effectsTo),
	}
}

func onBeforeInvokeResponseFrom(m *pluginv1.OnBeforeInvokeResponse) pluginsdk.OnBeforeInvokeResponse {
	if m == nil { // its optional fields have no nil-safe getters
		return pluginsdk.OnBeforeInvokeResponse{}
	}
	return pluginsdk.OnBeforeInvokeResponse{
		Prompt:  m.Prompt,
		Prefix:  m.GetPrefix(),
		Effects: pointerFrom(m.GetEffects(), effectsFrom),
	}
}

func onAfterInvokeRequestTo(v pluginsdk.OnAfterInvokeRequest) *pluginv1.OnAfterInvokeRequest {
	return &pluginv1.OnAfterInvokeRequest{
		Call:    callTo(v.Call),
		Thread:  threadTo(v.Thread),
		Message: messageTo(v.Message),
		Result:  invokeResultTo(v.Result),
	}
}

func onAfterInvokeRequestFrom(m *pluginv1.OnAfterInvokeRequest) pluginsdk.OnAfterInvokeRequest {
	return pluginsdk.OnAfterInvokeRequest{
		Call:    callFrom(m.GetCall()),
		Thread:  threadFrom(m.GetThread()),
		Message: messageFrom(m.GetMessage()),
		Result:  invokeResultFrom(m.GetResult()),
	}
}

func onAfterInvokeResponseTo(v pluginsdk.OnAfterInvokeResponse) *pluginv1.OnAfterInvokeResponse {
	return &pluginv1.OnAfterInvokeResponse{
		Effects: pointerTo(v.Effects, effectsTo),
	}
}

func onAfterInvokeResponseFrom(m *pluginv1.OnAfterInvokeResponse) pluginsdk.OnAfterInvokeResponse {
	return pluginsdk.OnAfterInvokeResponse{
		Effects: pointerFrom(m.GetEffects(), effectsFrom),
	}
}

func onCommandRequestTo(v pluginsdk.OnCommandRequest) *pluginv1.OnCommandRequest {
	return &pluginv1.OnCommandRequest{
		Call:       callTo(v.Call),
		Thread:     threadTo(v.Thread),
		Message:    messageTo(v.Message),
		Origin:     string(v.Origin),
		Index:      int64(v.Index),
		Name:       v.Name,
		Body:       v.Body,
		Attributes: v.Attributes,
	}
}

func onCommandRequestFrom(m *pluginv1.OnCommandRequest) pluginsdk.OnCommandRequest {
	return pluginsdk.OnCommandRequest{
		Call:       callFrom(m.GetCall()),
		Thread:     threadFrom(m.GetThread()),
		Message:    messageFrom(m.GetMessage()),
		Origin:     pluginsdk.CommandOrigin(m.GetOrigin()),
		Index:      int(m.GetIndex()),
		Name:       m.GetName(),
		Body:       m.GetBody(),
		Attributes: m.GetAttributes(),
	}
}

func onCommandResponseTo(v pluginsdk.OnCommandResponse) *pluginv1.OnCommandResponse {
	return &pluginv1.OnCommandResponse{
		Handled: v.Handled,
		Reply:   v.Reply,
		Effects: pointerTo(v.Effects, effectsTo),
		Audit:   v.Audit,
	}
}

func onCommandResponseFrom(m *pluginv1.OnCommandResponse) pluginsdk.OnCommandResponse {
	return pluginsdk.OnCommandResponse{
		Handled: m.GetHandled(),
		Reply:   m.GetReply(),
		Effects: pointerFrom(m.GetEffects(), effectsFrom),
		Audit:   m.GetAudit(),
	}
}

func onBeforeReplyRequestTo(v pluginsdk.OnBeforeReplyRequest) *pluginv1.OnBeforeReplyRequest {
	return &pluginv1.OnBeforeReplyRequest{
		Call:    callTo(v.Call),
		Thread:  threadTo(v.Thread),
		Message: messageTo(v.Message),
		Text:    v.Text,
	}
}

func onBeforeReplyRequestFrom(m *pluginv1.OnBeforeReplyRequest) pluginsdk.OnBeforeReplyRequest {
	return pluginsdk.OnBeforeReplyRequest{
		Call:    callFrom(m.GetCall()),
		Thread:  threadFrom(m.GetThread()),
		Message: messageFrom(m.GetMessage()),
		Text:    m.GetText(),
	}
}

func onBeforeReplyResponseTo(v pluginsdk.OnBeforeReplyResponse) *pluginv1.OnBeforeReplyResponse {
	return &pluginv1.OnBeforeReplyResponse{
		Text:    v.Text,
		Effects: pointerTo(v.Effects, effectsTo),
	}
}

func onBeforeReplyResponseFrom(m *pluginv1.OnBeforeReplyResponse) pluginsdk.OnBeforeReplyResponse {
	if m == nil { // its optional fields have no nil-safe getters
		return pluginsdk.OnBeforeReplyResponse{}
	}
	return pluginsdk.OnBeforeReplyResponse{
		Text:    m.Text,
		Effects: pointerFrom(m.GetEffects(), effectsFrom),
	}
}

func onPipelineCompleteRequestTo(v pluginsdk.OnPipelineCompleteRequest) *pluginv1.OnPipelineCompleteRequest {
	return &pluginv1.OnPipelineCompleteRequest{
		Call:     callTo(v.Call),
		Thread:   threadTo(v.Thread),
		Message:  messageTo(v.Message),
		Outcome:  string(v.Outcome),
		Error:    v.Error,
		Steps:    listTo(v.Steps, pipelineStepTo),
		Events:   listTo(v.Events, streamEventTo),
		Usage:    pointerTo(v.Usage, usageTo),
		CostUsd:  v.CostUSD,
		Duration: durationTo(v.Duration),
	}
}

func onPipelineCompleteRequestFrom(m *pluginv1.OnPipelineCompleteRequest) pluginsdk.OnPipelineCompleteRequest {
	return pluginsdk.OnPipelineCompleteRequest{
		Call:     callFrom(m.GetCall()),
		Thread:   threadFrom(m.GetThread()),
		Message:  messageFrom(m.GetMessage()),
		Outcome:  pluginsdk.PipelineOutcome(m.GetOutcome()),
		Error:    m.GetError(),
		Steps:    listFrom(m.GetSteps(), pipelineStepFrom),
		Events:   listFrom(m.GetEvents(), streamEventFrom),
		Usage:    pointerFrom(m.GetUsage(), usageFrom),
		CostUSD:  m.GetCostUsd(),
		Duration: durationFrom(m.GetDuration()),
	}
}

func onPipelineCompleteResponseTo(v pluginsdk.OnPipelineCompleteResponse) *pluginv1.OnPipelineCompleteResponse {
	return &pluginv1.OnPipelineCompleteResponse{
		Effects: pointerTo(v.Effects, effectsTo),
	}
}

func onPipelineCompleteResponseFrom(m *pluginv1.OnPipelineCompleteResponse) pluginsdk.OnPipelineCompleteResponse {
	return pluginsdk.OnPipelineCompleteResponse{
		Effects: pointerFrom(m.GetEffects(), effectsFrom),
	}
}
