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
		Depth:         int64(v.Depth),
		Step:          string(v.Step),
		Attempt:       int64(v.Attempt),
		NextAttemptAt: timeTo(v.NextAttemptAt),
		TraceId:       v.TraceID,
		SessionId:     v.SessionID,
		Result:        pointerTo(v.Result, invokeResultTo),
		Events:        listTo(v.Events, streamEventTo),
		Steps:         listTo(v.Steps, pipelineStepTo),
		Outcomes:      listTo(v.Outcomes, outcomeTo),
		Failures:      listTo(v.Failures, failedTo),
		Error:         v.Error,
		Usage:         usageTo(v.Usage),
		CostUsd:       v.CostUSD,
		QueuedAt:      timeTo(v.QueuedAt),
		StartedAt:     timeTo(v.StartedAt),
		FinishedAt:    timeTo(v.FinishedAt),
		Plugin:        v.Plugin,
		Purpose:       v.Purpose,
		TaskId:        v.TaskID,
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
		Depth:         int(m.GetDepth()),
		Step:          pluginsdk.RunStep(m.GetStep()),
		Attempt:       int(m.GetAttempt()),
		NextAttemptAt: timeFrom(m.GetNextAttemptAt()),
		TraceID:       m.GetTraceId(),
		SessionID:     m.GetSessionId(),
		Result:        pointerFrom(m.GetResult(), invokeResultFrom),
		Events:        listFrom(m.GetEvents(), streamEventFrom),
		Steps:         listFrom(m.GetSteps(), pipelineStepFrom),
		Outcomes:      listFrom(m.GetOutcomes(), outcomeFrom),
		Failures:      listFrom(m.GetFailures(), failedFrom),
		Error:         m.GetError(),
		Usage:         usageFrom(m.GetUsage()),
		CostUSD:       m.GetCostUsd(),
		QueuedAt:      timeFrom(m.GetQueuedAt()),
		StartedAt:     timeFrom(m.GetStartedAt()),
		FinishedAt:    timeFrom(m.GetFinishedAt()),
		Plugin:        m.GetPlugin(),
		Purpose:       m.GetPurpose(),
		TaskID:        m.GetTaskId(),
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

func outcomeTo(v pluginsdk.Outcome) *typesv1.Outcome {
	return &typesv1.Outcome{
		Index:   int64(v.Index),
		Name:    v.Name,
		Plugin:  v.Plugin,
		Handled: v.Handled,
		Reply:   v.Reply,
		Error:   v.Error,
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
		ThreadID:   m.GetThreadId(),
		States:     namesFrom[pluginsdk.RunState](m.GetStates()),
		CauseRunID: m.GetCauseRunId(),
		Newest:     m.GetNewest(),
		After:      m.GetAfter(),
		Limit:      int(m.GetLimit()),
	}
}
