package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func streamEventTo(v pluginsdk.StreamEvent) *typesv1.StreamEvent {
	return &typesv1.StreamEvent{
		Type:      string(v.Type),
		Text:      v.Text,
		Offset:    int64(v.Offset),
		ToolName:  v.ToolName,
		ToolUseId: v.ToolUseID,
		Input:     v.Input,
		IsError:   v.IsError,
		Timestamp: timeTo(v.Timestamp),
	}
}

func streamEventFrom(m *typesv1.StreamEvent) pluginsdk.StreamEvent {
	return pluginsdk.StreamEvent{
		Type:      pluginsdk.StreamEventType(m.GetType()),
		Text:      m.GetText(),
		Offset:    int(m.GetOffset()),
		ToolName:  m.GetToolName(),
		ToolUseID: m.GetToolUseId(),
		Input:     m.GetInput(),
		IsError:   m.GetIsError(),
		Timestamp: timeFrom(m.GetTimestamp()),
	}
}

func usageTo(v pluginsdk.Usage) *typesv1.Usage {
	return &typesv1.Usage{
		InputTokens:      v.InputTokens,
		OutputTokens:     v.OutputTokens,
		CacheReadTokens:  v.CacheReadTokens,
		CacheWriteTokens: v.CacheWriteTokens,
	}
}

func usageFrom(m *typesv1.Usage) pluginsdk.Usage {
	return pluginsdk.Usage{
		InputTokens:      m.GetInputTokens(),
		OutputTokens:     m.GetOutputTokens(),
		CacheReadTokens:  m.GetCacheReadTokens(),
		CacheWriteTokens: m.GetCacheWriteTokens(),
	}
}

func failureTo(v pluginsdk.Failure) *typesv1.Failure {
	return &typesv1.Failure{
		Kind:      string(v.Kind),
		Message:   v.Message,
		ApiStatus: int64(v.APIStatus),
		Retryable: v.Retryable,
	}
}

func failureFrom(m *typesv1.Failure) pluginsdk.Failure {
	return pluginsdk.Failure{
		Kind:      pluginsdk.FailureKind(m.GetKind()),
		Message:   m.GetMessage(),
		APIStatus: int(m.GetApiStatus()),
		Retryable: m.GetRetryable(),
	}
}

func invokeResultTo(v pluginsdk.InvokeResult) *typesv1.InvokeResult {
	return &typesv1.InvokeResult{
		Text:             v.Text,
		SessionId:        v.SessionID,
		Model:            v.Model,
		Usage:            usageTo(v.Usage),
		CostUsd:          v.CostUSD,
		Duration:         durationTo(v.Duration),
		Turns:            int64(v.Turns),
		StructuredOutput: v.StructuredOutput,
		Failure:          pointerTo(v.Failure, failureTo),
	}
}

func invokeResultFrom(m *typesv1.InvokeResult) pluginsdk.InvokeResult {
	return pluginsdk.InvokeResult{
		Text:             m.GetText(),
		SessionID:        m.GetSessionId(),
		Model:            m.GetModel(),
		Usage:            usageFrom(m.GetUsage()),
		CostUSD:          m.GetCostUsd(),
		Duration:         durationFrom(m.GetDuration()),
		Turns:            int(m.GetTurns()),
		StructuredOutput: m.GetStructuredOutput(),
		Failure:          pointerFrom(m.GetFailure(), failureFrom),
	}
}
