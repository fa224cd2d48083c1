package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func runTo(v pluginsdk.Run) *typesv1.Run {
	return &typesv1.Run{
		Id:            v.ID,
		ThreadId:      v.ThreadID,
		MessageId:     v.MessageID,
		Kind:          string(v.Kind),
		State:         string(v.State),
		MergedInto:    v.MergedInto,
		Absorbed:      v.Absorbed,
		CauseRunId:    v.CauseRunID,
		OnBehalfOf:    onBehalfTo(v.OnBehalfOf),
		Depth:         int64(v.Depth),
		Step:          string(v.Step),
		Attempt:       int64(v.Attempt),
		NextAttemptAt: timeTo(v.NextAttemptAt),
		TraceId:       v.TraceID,
		SessionId:     v.SessionID,
		Result:        pointerTo(v.Result, invokeResultTo),
		Events:        listTo(v.Events, streamEventTo),
		Steps:         listTo(v.Steps, pipelineStepTo),
		Hooks:         listTo(v.Hooks, hookCallTo),
		Outcomes:      listTo(v.Outcomes, outcomeTo),
		Failures:      listTo(v.Failures, failedTo),
		Error:         v.Error,
		Usage:         usageTo(v.Usage),
		CostUsd:       v.CostUSD,
		NotionalUsd:   v.NotionalUSD,
		CostUnsure:    v.CostUnsure,
		QueuedAt:      timeTo(v.QueuedAt),
		StartedAt:     timeTo(v.StartedAt),
		FinishedAt:    timeTo(v.FinishedAt),
		Plugin:        v.Plugin,
		Purpose:       v.Purpose,
		TaskId:        v.TaskID,
		Parked:        pointerTo(v.Parked, parkedTo),
		Override:      pointerTo(v.Override, runOverrideTo),
		Account:       v.Account,
		Beside:        v.Beside,
	}
}

func runFrom(m *typesv1.Run) pluginsdk.Run {
	return pluginsdk.Run{
		ID:            m.GetId(),
		ThreadID:      m.GetThreadId(),
		MessageID:     m.GetMessageId(),
		Kind:          pluginsdk.RunKind(m.GetKind()),
		State:         pluginsdk.RunState(m.GetState()),
		MergedInto:    m.GetMergedInto(),
		Absorbed:      m.GetAbsorbed(),
		CauseRunID:    m.GetCauseRunId(),
		OnBehalfOf:    onBehalfFrom(m.GetOnBehalfOf()),
		Depth:         int(m.GetDepth()),
		Step:          pluginsdk.RunStep(m.GetStep()),
		Attempt:       int(m.GetAttempt()),
		NextAttemptAt: timeFrom(m.GetNextAttemptAt()),
		TraceID:       m.GetTraceId(),
		SessionID:     m.GetSessionId(),
		Result:        pointerFrom(m.GetResult(), invokeResultFrom),
		Events:        listFrom(m.GetEvents(), streamEventFrom),
		Steps:         listFrom(m.GetSteps(), pipelineStepFrom),
		Hooks:         listFrom(m.GetHooks(), hookCallFrom),
		Outcomes:      listFrom(m.GetOutcomes(), outcomeFrom),
		Failures:      listFrom(m.GetFailures(), failedFrom),
		Error:         m.GetError(),
		Usage:         usageFrom(m.GetUsage()),
		CostUSD:       m.GetCostUsd(),
		NotionalUSD:   m.GetNotionalUsd(),
		CostUnsure:    m.GetCostUnsure(),
		QueuedAt:      timeFrom(m.GetQueuedAt()),
		StartedAt:     timeFrom(m.GetStartedAt()),
		FinishedAt:    timeFrom(m.GetFinishedAt()),
		Plugin:        m.GetPlugin(),
		Purpose:       m.GetPurpose(),
		TaskID:        m.GetTaskId(),
		Parked:        pointerFrom(m.GetParked(), parkedFrom),
		Override:      pointerFrom(m.GetOverride(), runOverrideFrom),
		Account:       m.GetAccount(),
		Beside:        m.GetBeside(),
	}
}

func parkedTo(v pluginsdk.Parked) *typesv1.Parked {
	return &typesv1.Parked{
		Reason:  v.Reason,
		Account: v.Account,
		Window:  v.Window,
		Model:   v.Model,
		Until:   timeTo(v.Until),
		Since:   timeTo(v.Since),
		Plugin:  v.Plugin,
		Budget:  v.Budget,
	}
}

func parkedFrom(m *typesv1.Parked) pluginsdk.Parked {
	return pluginsdk.Parked{
		Reason:  m.GetReason(),
		Account: m.GetAccount(),
		Window:  m.GetWindow(),
		Model:   m.GetModel(),
		Until:   timeFrom(m.GetUntil()),
		Since:   timeFrom(m.GetSince()),
		Plugin:  m.GetPlugin(),
		Budget:  m.GetBudget(),
	}
}

func runOverrideTo(v pluginsdk.RunOverride) *typesv1.RunOverride {
	return &typesv1.RunOverride{
		Model:   v.Model,
		Account: v.Account,
	}
}

func runOverrideFrom(m *typesv1.RunOverride) pluginsdk.RunOverride {
	return pluginsdk.RunOverride{
		Model:   m.GetModel(),
		Account: m.GetAccount(),
	}
}

func pipelineStepTo(v pluginsdk.PipelineStep) *typesv1.PipelineStep {
	return &typesv1.PipelineStep{
		Step:      v.Step,
		Detail:    v.Detail,
		Timestamp: timeTo(v.Timestamp),
	}
}

func pipelineStepFrom(m *typesv1.PipelineStep) pluginsdk.PipelineStep {
	return pluginsdk.PipelineStep{
		Step:      m.GetStep(),
		Detail:    m.GetDetail(),
		Timestamp: timeFrom(m.GetTimestamp()),
	}
}

func hookCallTo(v pluginsdk.HookCall) *typesv1.HookCall {
	return &typesv1.HookCall{
		Hook:      string(v.Hook),
		Plugin:    v.Plugin,
		Attempt:   int64(v.Attempt),
		StartedAt: timeTo(v.StartedAt),
		Duration:  durationTo(v.Duration),
		State:     string(v.State),
		Error:     v.Error,
		Omitted:   int64(v.Omitted),
	}
}

func hookCallFrom(m *typesv1.HookCall) pluginsdk.HookCall {
	return pluginsdk.HookCall{
		Hook:      pluginsdk.Hook(m.GetHook()),
		Plugin:    m.GetPlugin(),
		Attempt:   int(m.GetAttempt()),
		StartedAt: timeFrom(m.GetStartedAt()),
		Duration:  durationFrom(m.GetDuration()),
		State:     pluginsdk.CallState(m.GetState()),
		Error:     m.GetError(),
		Omitted:   int(m.GetOmitted()),
	}
}

func outcomeTo(v pluginsdk.Outcome) *typesv1.Outcome {
	return &typesv1.Outcome{
		Index:   int64(v.Index),
		Name:    v.Name,
		Plugin:  v.Plugin,
		Handled: v.Handled,
		Reply:   v.Reply,
		Error:   v.Error,
		Refused: v.Refused,
	}
}

func outcomeFrom(m *typesv1.Outcome) pluginsdk.Outcome {
	return pluginsdk.Outcome{
		Index:   int(m.GetIndex()),
		Name:    m.GetName(),
		Plugin:  m.GetPlugin(),
		Handled: m.GetHandled(),
		Reply:   m.GetReply(),
		Error:   m.GetError(),
		Refused: m.GetRefused(),
	}
}

func failedTo(v pluginsdk.Failed) *typesv1.Failed {
	return &typesv1.Failed{
		Attempt: int64(v.Attempt),
		Error:   v.Error,
		At:      timeTo(v.At),
	}
}

func failedFrom(m *typesv1.Failed) pluginsdk.Failed {
	return pluginsdk.Failed{
		Attempt: int(m.GetAttempt()),
		Error:   m.GetError(),
		At:      timeFrom(m.GetAt()),
	}
}

func stoppedTo(v pluginsdk.Stopped) *typesv1.Stopped {
	return &typesv1.Stopped{
		RunId:   v.RunID,
		Dropped: v.Dropped,
	}
}

func stoppedFrom(m *typesv1.Stopped) pluginsdk.Stopped {
	return pluginsdk.Stopped{
		RunID:   m.GetRunId(),
		Dropped: m.GetDropped(),
	}
}

func runQueryTo(v pluginsdk.RunQuery) *typesv1.RunQuery {
	return &typesv1.RunQuery{
		Ids:        v.IDs,
		ThreadId:   v.ThreadID,
		States:     namesTo(v.States),
		CauseRunId: v.CauseRunID,
		Newest:     v.Newest,
		After:      v.After,
		Limit:      int64(v.Limit),
	}
}

func runQueryFrom(m *typesv1.RunQuery) pluginsdk.RunQuery {
	return pluginsdk.RunQuery{
		IDs:        m.GetIds(),
		ThreadID:   m.GetThreadId(),
		States:     namesFrom[pluginsdk.RunState](m.GetStates()),
		CauseRunID: m.GetCauseRunId(),
		Newest:     m.GetNewest(),
		After:      m.GetAfter(),
		Limit:      int(m.GetLimit()),
	}
}

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
		Parked:    pointerTo(v.Parked, parkedTo),
	}
}

func failureFrom(m *typesv1.Failure) pluginsdk.Failure {
	return pluginsdk.Failure{
		Kind:      pluginsdk.FailureKind(m.GetKind()),
		Message:   m.GetMessage(),
		APIStatus: int(m.GetApiStatus()),
		Retryable: m.GetRetryable(),
		Parked:    pointerFrom(m.GetParked(), parkedFrom),
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
		Demo:             v.Demo,
		Account:          v.Account,
		Notional:         v.Notional,
		CostUnsure:       v.CostUnsure,
		Models:           listTo(v.Models, modelUsageTo),
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
		Demo:             m.GetDemo(),
		Account:          m.GetAccount(),
		Notional:         m.GetNotional(),
		CostUnsure:       m.GetCostUnsure(),
		Models:           listFrom(m.GetModels(), modelUsageFrom),
	}
}

func modelUsageTo(v pluginsdk.ModelUsage) *typesv1.ModelUsage {
	return &typesv1.ModelUsage{
		Model:   v.Model,
		Usage:   usageTo(v.Usage),
		CostUsd: v.CostUSD,
	}
}

func modelUsageFrom(m *typesv1.ModelUsage) pluginsdk.ModelUsage {
	return pluginsdk.ModelUsage{
		Model:   m.GetModel(),
		Usage:   usageFrom(m.GetUsage()),
		CostUSD: m.GetCostUsd(),
	}
}

func toolSpecTo(v pluginsdk.ToolSpec) *typesv1.ToolSpec {
	return &typesv1.ToolSpec{
		Name:        v.Name,
		Description: v.Description,
		InputSchema: v.InputSchema,
	}
}

func toolSpecFrom(m *typesv1.ToolSpec) pluginsdk.ToolSpec {
	return pluginsdk.ToolSpec{
		Name:        m.GetName(),
		Description: m.GetDescription(),
		InputSchema: m.GetInputSchema(),
	}
}

func toolResultTo(v pluginsdk.ToolResult) *typesv1.ToolResult {
	return &typesv1.ToolResult{
		Text:       v.Text,
		Structured: v.Structured,
		IsError:    v.IsError,
	}
}

func toolResultFrom(m *typesv1.ToolResult) pluginsdk.ToolResult {
	return pluginsdk.ToolResult{
		Text:       m.GetText(),
		Structured: m.GetStructured(),
		IsError:    m.GetIsError(),
	}
}

// onBehalfTo returns nil of the zero value: nothing has caused the run.
func onBehalfTo(v pluginsdk.OnBehalf) *typesv1.OnBehalf {
	if v == (pluginsdk.OnBehalf{}) {
		return nil
	}
	return &typesv1.OnBehalf{
		Source: v.Source,
		Author: v.Author,
	}
}

func onBehalfFrom(m *typesv1.OnBehalf) pluginsdk.OnBehalf {
	return pluginsdk.OnBehalf{
		Source: m.GetSource(),
		Author: m.GetAuthor(),
	}
}
