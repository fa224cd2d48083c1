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
		Key:                     v.Key,
		Status:                  string(v.Status),
		OriginalMessage:         v.OriginalMessage,
		Prompt:                  v.Prompt,
		Model:                   v.Model,
		CurrentIteration:        int64(v.CurrentIteration),
		MaxIterations:           int64(v.MaxIterations),
		ValidationIterations:    int64(v.ValidationIterations),
		MaxValidationIterations: int64(v.MaxValidationIterations),
		CostCapUsd:              v.CostCapUSD,
		Result:                  v.Result,
		Feedback:                v.Feedback,
		CreatedAt:               timeTo(v.CreatedAt),
		CompletedAt:             timeTo(v.CompletedAt),
	}
}

func taskFrom(m *typesv1.Task) pluginsdk.Task {
	return pluginsdk.Task{
		ID:                      m.GetId(),
		ThreadID:                m.GetThreadId(),
		ParentThreadID:          m.GetParentThreadId(),
		ParentTaskID:            m.GetParentTaskId(),
		Depth:                   int(m.GetDepth()),
		Key:                     m.GetKey(),
		Status:                  pluginsdk.TaskStatus(m.GetStatus()),
		OriginalMessage:         m.GetOriginalMessage(),
		Prompt:                  m.GetPrompt(),
		Model:                   m.GetModel(),
		CurrentIteration:        int(m.GetCurrentIteration()),
		MaxIterations:           int(m.GetMaxIterations()),
		ValidationIterations:    int(m.GetValidationIterations()),
		MaxValidationIterations: int(m.GetMaxValidationIterations()),
		CostCapUSD:              m.GetCostCapUsd(),
		Result:                  m.GetResult(),
		Feedback:                m.GetFeedback(),
		CreatedAt:               timeFrom(m.GetCreatedAt()),
		CompletedAt:             timeFrom(m.GetCompletedAt()),
	}
}

func newTaskTo(v pluginsdk.NewTask) *typesv1.NewTask {
	return &typesv1.NewTask{
		ParentThreadId:          v.ParentThreadID,
		ParentTaskId:            v.ParentTaskID,
		OriginalMessage:         v.OriginalMessage,
		Prompt:                  v.Prompt,
		Model:                   v.Model,
		MaxIterations:           int64(v.MaxIterations),
		MaxValidationIterations: int64(v.MaxValidationIterations),
		CostCapUsd:              v.CostCapUSD,
	}
}

func newTaskFrom(m *typesv1.NewTask) pluginsdk.NewTask {
	return pluginsdk.NewTask{
		ParentThreadID:          m.GetParentThreadId(),
		ParentTaskID:            m.GetParentTaskId(),
		OriginalMessage:         m.GetOriginalMessage(),
		Prompt:                  m.GetPrompt(),
		Model:                   m.GetModel(),
		MaxIterations:           int(m.GetMaxIterations()),
		MaxValidationIterations: int(m.GetMaxValidationIterations()),
		CostCapUSD:              m.GetCostCapUsd(),
	}
}

func taskPatchTo(v pluginsdk.TaskPatch) *typesv1.TaskPatch {
	return &typesv1.TaskPatch{
		Status:               nameTo(v.Status),
		CurrentIteration:     intTo(v.CurrentIteration),
		ValidationIterations: intTo(v.ValidationIterations),
		Result:               v.Result,
		Feedback:             v.Feedback,
	}
}

func taskPatchFrom(m *typesv1.TaskPatch) pluginsdk.TaskPatch {
	if m == nil {
		return pluginsdk.TaskPatch{}
	}
	return pluginsdk.TaskPatch{
		Status:               nameFrom[pluginsdk.TaskStatus](m.Status),
		CurrentIteration:     intFrom(m.CurrentIteration),
		ValidationIterations: intFrom(m.ValidationIterations),
		Result:               m.Result,
		Feedback:             m.Feedback,
	}
}

func taskQueryTo(v pluginsdk.TaskQuery) *typesv1.TaskQuery {
	return &typesv1.TaskQuery{
		ParentThreadId: v.ParentThreadID,
		Statuses:       namesTo(v.Statuses),
		After:          v.After,
		Limit:          int64(v.Limit),
	}
}

func taskQueryFrom(m *typesv1.TaskQuery) pluginsdk.TaskQuery {
	return pluginsdk.TaskQuery{
		ParentThreadID: m.GetParentThreadId(),
		Statuses:       namesFrom[pluginsdk.TaskStatus](m.GetStatuses()),
		After:          m.GetAfter(),
		Limit:          int(m.GetLimit()),
	}
}

func taskContextTo(v pluginsdk.TaskContext) *typesv1.TaskContext {
	return &typesv1.TaskContext{
		Cwd:     v.Cwd,
		Context: v.Context,
	}
}

func taskContextFrom(m *typesv1.TaskContext) pluginsdk.TaskContext {
	return pluginsdk.TaskContext{
		Cwd:     m.GetCwd(),
		Context: m.GetContext(),
	}
}
