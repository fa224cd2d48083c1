package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

func runStartTo(v pluginsdk.RunStart) *pluginv1.OnBeforeRunRequest {
	return &pluginv1.OnBeforeRunRequest{
		Call:    callTo(v.Call),
		Thread:  threadTo(v.Thread),
		Message: messageTo(v.Message),
		Run:     runTo(v.Run),
	}
}

func runStartFrom(m *pluginv1.OnBeforeRunRequest) pluginsdk.RunStart {
	return pluginsdk.RunStart{
		Call:    callFrom(m.GetCall()),
		Thread:  threadFrom(m.GetThread()),
		Message: messageFrom(m.GetMessage()),
		Run:     runFrom(m.GetRun()),
	}
}

func pipelineStartTo(v pluginsdk.PipelineStart) *pluginv1.OnPipelineStartRequest {
	return &pluginv1.OnPipelineStartRequest{
		Call:    callTo(v.Call),
		Thread:  threadTo(v.Thread),
		Message: messageTo(v.Message),
	}
}

func pipelineStartFrom(m *pluginv1.OnPipelineStartRequest) pluginsdk.PipelineStart {
	return pluginsdk.PipelineStart{
		Call:    callFrom(m.GetCall()),
		Thread:  threadFrom(m.GetThread()),
		Message: messageFrom(m.GetMessage()),
	}
}

func incomingMessageTo(v pluginsdk.IncomingMessage) *pluginv1.OnMessageRequest {
	return &pluginv1.OnMessageRequest{
		Call:    callTo(v.Call),
		Thread:  threadTo(v.Thread),
		Message: messageTo(v.Message),
	}
}

func incomingMessageFrom(m *pluginv1.OnMessageRequest) pluginsdk.IncomingMessage {
	return pluginsdk.IncomingMessage{
		Call:    callFrom(m.GetCall()),
		Thread:  threadFrom(m.GetThread()),
		Message: messageFrom(m.GetMessage()),
	}
}

func promptTo(v pluginsdk.Prompt) *pluginv1.OnBeforeInvokeRequest {
	return &pluginv1.OnBeforeInvokeRequest{
		Call:    callTo(v.Call),
		Thread:  threadTo(v.Thread),
		Message: messageTo(v.Message),
		Text:    v.Text,
	}
}

func promptFrom(m *pluginv1.OnBeforeInvokeRequest) pluginsdk.Prompt {
	return pluginsdk.Prompt{
		Call:    callFrom(m.GetCall()),
		Thread:  threadFrom(m.GetThread()),
		Message: messageFrom(m.GetMessage()),
		Text:    m.GetText(),
	}
}

func invocationTo(v pluginsdk.Invocation) *pluginv1.OnAfterInvokeRequest {
	return &pluginv1.OnAfterInvokeRequest{
		Call:    callTo(v.Call),
		Thread:  threadTo(v.Thread),
		Message: messageTo(v.Message),
		Result:  invokeResultTo(v.Result),
	}
}

func invocationFrom(m *pluginv1.OnAfterInvokeRequest) pluginsdk.Invocation {
	return pluginsdk.Invocation{
		Call:    callFrom(m.GetCall()),
		Thread:  threadFrom(m.GetThread()),
		Message: messageFrom(m.GetMessage()),
		Result:  invokeResultFrom(m.GetResult()),
	}
}

func replyTo(v pluginsdk.Reply) *pluginv1.OnBeforeReplyRequest {
	return &pluginv1.OnBeforeReplyRequest{
		Call:    callTo(v.Call),
		Thread:  threadTo(v.Thread),
		Message: messageTo(v.Message),
		Text:    v.Text,
	}
}

func replyFrom(m *pluginv1.OnBeforeReplyRequest) pluginsdk.Reply {
	return pluginsdk.Reply{
		Call:    callFrom(m.GetCall()),
		Thread:  threadFrom(m.GetThread()),
		Message: messageFrom(m.GetMessage()),
		Text:    m.GetText(),
	}
}

func pipelineCompleteTo(v pluginsdk.PipelineComplete) *pluginv1.OnPipelineCompleteRequest {
	return &pluginv1.OnPipelineCompleteRequest{
		Call:     callTo(v.Call),
		Thread:   threadTo(v.Thread),
		Message:  messageTo(v.Message),
		Outcome:  string(v.Outcome),
		Error:    v.Error,
		Steps:    listTo(v.Steps, pipelineStepTo),
		Events:   listTo(v.Events, streamEventTo),
		Usage:    pointerTo(v.Usage, usageTo),
		Duration: durationTo(v.Duration),
	}
}

func pipelineCompleteFrom(m *pluginv1.OnPipelineCompleteRequest) pluginsdk.PipelineComplete {
	return pluginsdk.PipelineComplete{
		Call:     callFrom(m.GetCall()),
		Thread:   threadFrom(m.GetThread()),
		Message:  messageFrom(m.GetMessage()),
		Outcome:  pluginsdk.PipelineOutcome(m.GetOutcome()),
		Error:    m.GetError(),
		Steps:    listFrom(m.GetSteps(), pipelineStepFrom),
		Events:   listFrom(m.GetEvents(), streamEventFrom),
		Usage:    pointerFrom(m.GetUsage(), usageFrom),
		Duration: durationFrom(m.GetDuration()),
	}
}

func commandTo(v pluginsdk.Command) *pluginv1.OnCommandRequest {
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

func commandFrom(m *pluginv1.OnCommandRequest) pluginsdk.Command {
	return pluginsdk.Command{
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
