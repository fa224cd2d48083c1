package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func taskTo(v pluginsdk.Task) *typesv1.Task {
	return &typesv1.Task{
		Id:                      v.ID,
		ThreadId:                v.ThreadID,
		ParentThreadId:          v.ParentThreadID,
		ParentTaskId:            v.ParentTaskID,
		Depth:                   int64(v.Depth),
		Plugin:                  v.Plugin,
		Key:                     v.Key,
		Status:                  string(v.Status),
		OriginalMessage:         v.OriginalMessage,
		Prompt:                  v.Prompt,
		Model:                   v.Model,
		PermissionMode:          v.PermissionMode,
		AllowedTools:            v.AllowedTools,
		Cwd:                     v.Cwd,
		OwnDirectory:            v.OwnDirectory,
		CwdPlugin:               v.CwdPlugin,
		FromTaskId:              v.FromTaskID,
		Account:                 v.Account,
		Context:                 v.Context,
		Labels:                  v.Labels,
		RequestedBy:             v.RequestedBy,
		Wake:                    v.Wake,
		CurrentIteration:        int64(v.CurrentIteration),
		MaxIterations:           int64(v.MaxIterations),
		ValidationIterations:    int64(v.ValidationIterations),
		MaxValidationIterations: int64(v.MaxValidationIterations),
		CostCapUsd:              v.CostCapUSD,
		CostUsd:                 v.CostUSD,
		NotionalUsd:             v.NotionalUSD,
		CostUnsure:              v.CostUnsure,
		RunId:                   v.RunID,
		Marks:                   v.Marks,
		Result:                  v.Result,
		Feedback:                v.Feedback,
		Error:                   v.Error,
		CreatedAt:               timeTo(v.CreatedAt),
		CompletedAt:             timeTo(v.CompletedAt),
		Origin:                  originTo(v.Origin),
	}
}

func taskFrom(m *typesv1.Task) pluginsdk.Task {
	return pluginsdk.Task{
		ID:                      m.GetId(),
		ThreadID:                m.GetThreadId(),
		ParentThreadID:          m.GetParentThreadId(),
		ParentTaskID:            m.GetParentTaskId(),
		Depth:                   int(m.GetDepth()),
		Plugin:                  m.GetPlugin(),
		Key:                     m.GetKey(),
		Status:                  pluginsdk.TaskStatus(m.GetStatus()),
		OriginalMessage:         m.GetOriginalMessage(),
		Prompt:                  m.GetPrompt(),
		Model:                   m.GetModel(),
		PermissionMode:          m.GetPermissionMode(),
		AllowedTools:            m.GetAllowedTools(),
		Cwd:                     m.GetCwd(),
		OwnDirectory:            m.GetOwnDirectory(),
		CwdPlugin:               m.GetCwdPlugin(),
		FromTaskID:              m.GetFromTaskId(),
		Account:                 m.GetAccount(),
		Context:                 m.GetContext(),
		Labels:                  m.GetLabels(),
		RequestedBy:             m.GetRequestedBy(),
		Wake:                    m.GetWake(),
		CurrentIteration:        int(m.GetCurrentIteration()),
		MaxIterations:           int(m.GetMaxIterations()),
		ValidationIterations:    int(m.GetValidationIterations()),
		MaxValidationIterations: int(m.GetMaxValidationIterations()),
		CostCapUSD:              m.GetCostCapUsd(),
		CostUSD:                 m.GetCostUsd(),
		NotionalUSD:             m.GetNotionalUsd(),
		CostUnsure:              m.GetCostUnsure(),
		RunID:                   m.GetRunId(),
		Marks:                   m.GetMarks(),
		Result:                  m.GetResult(),
		Feedback:                m.GetFeedback(),
		Error:                   m.GetError(),
		CreatedAt:               timeFrom(m.GetCreatedAt()),
		CompletedAt:             timeFrom(m.GetCompletedAt()),
		Origin:                  originFrom(m.GetOrigin()),
	}
}

func newTaskTo(v pluginsdk.NewTask) *typesv1.NewTask {
	return &typesv1.NewTask{
		ParentThreadId:          v.ParentThreadID,
		ParentTaskId:            v.ParentTaskID,
		OriginalMessage:         v.OriginalMessage,
		Prompt:                  v.Prompt,
		Model:                   v.Model,
		PermissionMode:          v.PermissionMode,
		AllowedTools:            v.AllowedTools,
		Cwd:                     v.Cwd,
		Labels:                  v.Labels,
		RequestedBy:             v.RequestedBy,
		Wake:                    v.Wake,
		MaxIterations:           int64(v.MaxIterations),
		MaxValidationIterations: int64(v.MaxValidationIterations),
		CostCapUsd:              v.CostCapUSD,
		OwnDirectory:            v.OwnDirectory,
		FromTaskId:              v.FromTaskID,
		Account:                 v.Account,
	}
}

func newTaskFrom(m *typesv1.NewTask) pluginsdk.NewTask {
	return pluginsdk.NewTask{
		ParentThreadID:          m.GetParentThreadId(),
		ParentTaskID:            m.GetParentTaskId(),
		OriginalMessage:         m.GetOriginalMessage(),
		Prompt:                  m.GetPrompt(),
		Model:                   m.GetModel(),
		PermissionMode:          m.GetPermissionMode(),
		AllowedTools:            m.GetAllowedTools(),
		Cwd:                     m.GetCwd(),
		Labels:                  m.GetLabels(),
		RequestedBy:             m.GetRequestedBy(),
		Wake:                    m.GetWake(),
		MaxIterations:           int(m.GetMaxIterations()),
		MaxValidationIterations: int(m.GetMaxValidationIterations()),
		CostCapUSD:              m.GetCostCapUsd(),
		OwnDirectory:            m.GetOwnDirectory(),
		FromTaskID:              m.GetFromTaskId(),
		Account:                 m.GetAccount(),
	}
}

func taskQueryTo(v pluginsdk.TaskQuery) *typesv1.TaskQuery {
	return &typesv1.TaskQuery{
		Plugin:         v.Plugin,
		ParentThreadId: v.ParentThreadID,
		ParentTaskId:   v.ParentTaskID,
		ThreadId:       v.ThreadID,
		Statuses:       namesTo(v.Statuses),
		Newest:         v.Newest,
		After:          v.After,
		Limit:          int64(v.Limit),
		EndedAfter:     timeTo(v.EndedAfter),
	}
}

func taskQueryFrom(m *typesv1.TaskQuery) pluginsdk.TaskQuery {
	return pluginsdk.TaskQuery{
		Plugin:         m.GetPlugin(),
		ParentThreadID: m.GetParentThreadId(),
		ParentTaskID:   m.GetParentTaskId(),
		ThreadID:       m.GetThreadId(),
		Statuses:       namesFrom[pluginsdk.TaskStatus](m.GetStatuses()),
		Newest:         m.GetNewest(),
		After:          m.GetAfter(),
		Limit:          int(m.GetLimit()),
		EndedAfter:     timeFrom(m.GetEndedAfter()),
	}
}

func taskContextTo(v pluginsdk.TaskContext) *typesv1.TaskContext {
	return &typesv1.TaskContext{
		Cwd:            v.Cwd,
		Context:        v.Context,
		Labels:         v.Labels,
		PermissionMode: v.PermissionMode,
		AllowedTools:   v.AllowedTools,
	}
}

func taskContextFrom(m *typesv1.TaskContext) pluginsdk.TaskContext {
	return pluginsdk.TaskContext{
		Cwd:            m.GetCwd(),
		Context:        m.GetContext(),
		Labels:         m.GetLabels(),
		PermissionMode: m.GetPermissionMode(),
		AllowedTools:   m.GetAllowedTools(),
	}
}

func taskIterationTo(v pluginsdk.TaskIteration) *typesv1.TaskIteration {
	return &typesv1.TaskIteration{
		Iteration:   int64(v.Iteration),
		RunId:       v.RunID,
		State:       string(v.State),
		Error:       v.Error,
		CostUsd:     v.CostUSD,
		NotionalUsd: v.NotionalUSD,
		CostUnsure:  v.CostUnsure,
		QueuedAt:    timeTo(v.QueuedAt),
		FinishedAt:  timeTo(v.FinishedAt),
		Own:         v.Own,
	}
}

func taskIterationFrom(m *typesv1.TaskIteration) pluginsdk.TaskIteration {
	return pluginsdk.TaskIteration{
		Iteration:   int(m.GetIteration()),
		RunID:       m.GetRunId(),
		State:       pluginsdk.RunState(m.GetState()),
		Error:       m.GetError(),
		CostUSD:     m.GetCostUsd(),
		NotionalUSD: m.GetNotionalUsd(),
		CostUnsure:  m.GetCostUnsure(),
		QueuedAt:    timeFrom(m.GetQueuedAt()),
		FinishedAt:  timeFrom(m.GetFinishedAt()),
		Own:         m.GetOwn(),
	}
}

func taskAnswerTo(v pluginsdk.TaskAnswer) *typesv1.TaskAnswer {
	return &typesv1.TaskAnswer{
		Id:        v.ID,
		Iteration: int64(v.Iteration),
		Round:     int64(v.Round),
		Hook:      string(v.Hook),
		Plugin:    v.Plugin,
		Author:    v.Author,
		Answer:    v.Answer,
		Feedback:  v.Feedback,
		Evidence:  listTo(v.Evidence, evidenceTo),
		At:        timeTo(v.At),
		Origin:    originTo(v.Origin),
	}
}

func taskAnswerFrom(m *typesv1.TaskAnswer) pluginsdk.TaskAnswer {
	return pluginsdk.TaskAnswer{
		ID:        m.GetId(),
		Iteration: int(m.GetIteration()),
		Round:     int(m.GetRound()),
		Hook:      pluginsdk.Hook(m.GetHook()),
		Plugin:    m.GetPlugin(),
		Author:    m.GetAuthor(),
		Answer:    m.GetAnswer(),
		Feedback:  m.GetFeedback(),
		Evidence:  listFrom(m.GetEvidence(), evidenceFrom),
		At:        timeFrom(m.GetAt()),
		Origin:    originFrom(m.GetOrigin()),
	}
}

func evidenceTo(v pluginsdk.Evidence) *typesv1.Evidence {
	return &typesv1.Evidence{
		Kind:     v.Kind,
		Command:  v.Command,
		ExitCode: int64(v.ExitCode),
		Output:   v.Output,
		File:     v.File,
		Line:     int64(v.Line),
		Diff:     v.Diff,
		Tree:     v.Tree,
		Plugin:   v.Plugin,
	}
}

func evidenceFrom(m *typesv1.Evidence) pluginsdk.Evidence {
	return pluginsdk.Evidence{
		Kind:     m.GetKind(),
		Command:  m.GetCommand(),
		ExitCode: int(m.GetExitCode()),
		Output:   m.GetOutput(),
		File:     m.GetFile(),
		Line:     int(m.GetLine()),
		Diff:     m.GetDiff(),
		Tree:     m.GetTree(),
		Plugin:   m.GetPlugin(),
	}
}
