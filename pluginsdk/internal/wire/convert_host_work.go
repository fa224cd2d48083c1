package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

func createTaskRequestTo(v pluginsdk.CreateTaskRequest) *hostv1.CreateTaskRequest {
	return &hostv1.CreateTaskRequest{
		Key:  v.Key,
		Task: newTaskTo(v.Task),
	}
}

func createTaskRequestFrom(m *hostv1.CreateTaskRequest) pluginsdk.CreateTaskRequest {
	return pluginsdk.CreateTaskRequest{
		Key:  m.GetKey(),
		Task: newTaskFrom(m.GetTask()),
	}
}

func createTaskResponseTo(v pluginsdk.CreateTaskResponse) *hostv1.CreateTaskResponse {
	return &hostv1.CreateTaskResponse{
		Task:    taskTo(v.Task),
		Existed: v.Existed,
	}
}

func createTaskResponseFrom(m *hostv1.CreateTaskResponse) pluginsdk.CreateTaskResponse {
	return pluginsdk.CreateTaskResponse{
		Task:    taskFrom(m.GetTask()),
		Existed: m.GetExisted(),
	}
}

func getTaskRequestTo(v pluginsdk.GetTaskRequest) *hostv1.GetTaskRequest {
	return &hostv1.GetTaskRequest{
		Id: v.ID,
	}
}

func getTaskRequestFrom(m *hostv1.GetTaskRequest) pluginsdk.GetTaskRequest {
	return pluginsdk.GetTaskRequest{
		ID: m.GetId(),
	}
}

func getTaskResponseTo(v pluginsdk.GetTaskResponse) *hostv1.GetTaskResponse {
	return &hostv1.GetTaskResponse{
		Task: taskTo(v.Task),
	}
}

func getTaskResponseFrom(m *hostv1.GetTaskResponse) pluginsdk.GetTaskResponse {
	return pluginsdk.GetTaskResponse{
		Task: taskFrom(m.GetTask()),
	}
}

func listTasksRequestTo(v pluginsdk.ListTasksRequest) *hostv1.ListTasksRequest {
	return &hostv1.ListTasksRequest{
		Query: taskQueryTo(v.Query),
	}
}

func listTasksRequestFrom(m *hostv1.ListTasksRequest) pluginsdk.ListTasksRequest {
	return pluginsdk.ListTasksRequest{
		Query: taskQueryFrom(m.GetQuery()),
	}
}

func listTasksResponseTo(v pluginsdk.ListTasksResponse) *hostv1.ListTasksResponse {
	return &hostv1.ListTasksResponse{
		Tasks: listTo(v.Tasks, taskTo),
	}
}

func listTasksResponseFrom(m *hostv1.ListTasksResponse) pluginsdk.ListTasksResponse {
	return pluginsdk.ListTasksResponse{
		Tasks: listFrom(m.GetTasks(), taskFrom),
	}
}

func taskHistoryRequestTo(v pluginsdk.TaskHistoryRequest) *hostv1.TaskHistoryRequest {
	return &hostv1.TaskHistoryRequest{
		Id:    v.ID,
		After: v.After,
		Limit: int64(v.Limit),
	}
}

func taskHistoryRequestFrom(m *hostv1.TaskHistoryRequest) pluginsdk.TaskHistoryRequest {
	return pluginsdk.TaskHistoryRequest{
		ID:    m.GetId(),
		After: m.GetAfter(),
		Limit: int(m.GetLimit()),
	}
}

func taskHistoryResponseTo(v pluginsdk.TaskHistoryResponse) *hostv1.TaskHistoryResponse {
	return &hostv1.TaskHistoryResponse{
		Iterations: listTo(v.Iterations, taskIterationTo),
		Answers:    listTo(v.Answers, taskAnswerTo),
		More:       v.More,
	}
}

func taskHistoryResponseFrom(m *hostv1.TaskHistoryResponse) pluginsdk.TaskHistoryResponse {
	return pluginsdk.TaskHistoryResponse{
		Iterations: listFrom(m.GetIterations(), taskIterationFrom),
		Answers:    listFrom(m.GetAnswers(), taskAnswerFrom),
		More:       m.GetMore(),
	}
}

func iterateTaskRequestTo(v pluginsdk.IterateTaskRequest) *hostv1.IterateTaskRequest {
	return &hostv1.IterateTaskRequest{
		Id:        v.ID,
		Iteration: int64(v.Iteration),
		Content:   v.Content,
		Own:       v.Own,

		DisallowedTools: v.DisallowedTools,
	}
}

func iterateTaskRequestFrom(m *hostv1.IterateTaskRequest) pluginsdk.IterateTaskRequest {
	return pluginsdk.IterateTaskRequest{
		ID:        m.GetId(),
		Iteration: int(m.GetIteration()),
		Content:   m.GetContent(),
		Own:       m.GetOwn(),

		DisallowedTools: m.GetDisallowedTools(),
	}
}

func iterateTaskResponseTo(v pluginsdk.IterateTaskResponse) *hostv1.IterateTaskResponse {
	return &hostv1.IterateTaskResponse{
		Task:     taskTo(v.Task),
		Accepted: acceptedTo(v.Accepted),
	}
}

func iterateTaskResponseFrom(m *hostv1.IterateTaskResponse) pluginsdk.IterateTaskResponse {
	return pluginsdk.IterateTaskResponse{
		Task:     taskFrom(m.GetTask()),
		Accepted: acceptedFrom(m.GetAccepted()),
	}
}

func evaluateTaskRequestTo(v pluginsdk.EvaluateTaskRequest) *hostv1.EvaluateTaskRequest {
	return &hostv1.EvaluateTaskRequest{
		Id:        v.ID,
		Iteration: int64(v.Iteration),
		Result:    v.Result,
	}
}

func evaluateTaskRequestFrom(m *hostv1.EvaluateTaskRequest) pluginsdk.EvaluateTaskRequest {
	return pluginsdk.EvaluateTaskRequest{
		ID:        m.GetId(),
		Iteration: int(m.GetIteration()),
		Result:    m.GetResult(),
	}
}

func evaluateTaskResponseTo(v pluginsdk.EvaluateTaskResponse) *hostv1.EvaluateTaskResponse {
	return &hostv1.EvaluateTaskResponse{
		Task: taskTo(v.Task),
	}
}

func evaluateTaskResponseFrom(m *hostv1.EvaluateTaskResponse) pluginsdk.EvaluateTaskResponse {
	return pluginsdk.EvaluateTaskResponse{
		Task: taskFrom(m.GetTask()),
	}
}

func suspendTaskRequestTo(v pluginsdk.SuspendTaskRequest) *hostv1.SuspendTaskRequest {
	return &hostv1.SuspendTaskRequest{
		Id:        v.ID,
		Iteration: int64(v.Iteration),
		Reason:    v.Reason,
		Mark:      v.Mark,
		Result:    v.Result,
	}
}

func suspendTaskRequestFrom(m *hostv1.SuspendTaskRequest) pluginsdk.SuspendTaskRequest {
	return pluginsdk.SuspendTaskRequest{
		ID:        m.GetId(),
		Iteration: int(m.GetIteration()),
		Reason:    m.GetReason(),
		Mark:      m.GetMark(),
		Result:    m.GetResult(),
	}
}

func suspendTaskResponseTo(v pluginsdk.SuspendTaskResponse) *hostv1.SuspendTaskResponse {
	return &hostv1.SuspendTaskResponse{
		Task: taskTo(v.Task),
	}
}

func suspendTaskResponseFrom(m *hostv1.SuspendTaskResponse) pluginsdk.SuspendTaskResponse {
	return pluginsdk.SuspendTaskResponse{
		Task: taskFrom(m.GetTask()),
	}
}

func decideTaskRequestTo(v pluginsdk.DecideTaskRequest) *hostv1.DecideTaskRequest {
	return &hostv1.DecideTaskRequest{
		Id:        v.ID,
		Iteration: int64(v.Iteration),
		Verdict:   string(v.Verdict),
		Feedback:  v.Feedback,
		Author:    v.Author,

		CostCapUsd: v.CostCapUSD,
	}
}

func decideTaskRequestFrom(m *hostv1.DecideTaskRequest) pluginsdk.DecideTaskRequest {
	return pluginsdk.DecideTaskRequest{
		ID:        m.GetId(),
		Iteration: int(m.GetIteration()),
		Verdict:   pluginsdk.Verdict(m.GetVerdict()),
		Feedback:  m.GetFeedback(),
		Author:    m.GetAuthor(),

		CostCapUSD: m.GetCostCapUsd(),
	}
}

func decideTaskResponseTo(v pluginsdk.DecideTaskResponse) *hostv1.DecideTaskResponse {
	return &hostv1.DecideTaskResponse{
		Task: taskTo(v.Task),
	}
}

func decideTaskResponseFrom(m *hostv1.DecideTaskResponse) pluginsdk.DecideTaskResponse {
	return pluginsdk.DecideTaskResponse{
		Task: taskFrom(m.GetTask()),
	}
}

func failTaskRequestTo(v pluginsdk.FailTaskRequest) *hostv1.FailTaskRequest {
	return &hostv1.FailTaskRequest{
		Id:     v.ID,
		Reason: v.Reason,
	}
}

func failTaskRequestFrom(m *hostv1.FailTaskRequest) pluginsdk.FailTaskRequest {
	return pluginsdk.FailTaskRequest{
		ID:     m.GetId(),
		Reason: m.GetReason(),
	}
}

func failTaskResponseTo(v pluginsdk.FailTaskResponse) *hostv1.FailTaskResponse {
	return &hostv1.FailTaskResponse{
		Task: taskTo(v.Task),
	}
}

func failTaskResponseFrom(m *hostv1.FailTaskResponse) pluginsdk.FailTaskResponse {
	return pluginsdk.FailTaskResponse{
		Task: taskFrom(m.GetTask()),
	}
}

func cancelTaskRequestTo(v pluginsdk.CancelTaskRequest) *hostv1.CancelTaskRequest {
	return &hostv1.CancelTaskRequest{
		Id:     v.ID,
		Reason: v.Reason,
		Author: v.Author,
	}
}

func cancelTaskRequestFrom(m *hostv1.CancelTaskRequest) pluginsdk.CancelTaskRequest {
	return pluginsdk.CancelTaskRequest{
		ID:     m.GetId(),
		Reason: m.GetReason(),
		Author: m.GetAuthor(),
	}
}

func cancelTaskResponseTo(v pluginsdk.CancelTaskResponse) *hostv1.CancelTaskResponse {
	return &hostv1.CancelTaskResponse{
		Task: taskTo(v.Task),
	}
}

func cancelTaskResponseFrom(m *hostv1.CancelTaskResponse) pluginsdk.CancelTaskResponse {
	return pluginsdk.CancelTaskResponse{
		Task: taskFrom(m.GetTask()),
	}
}

func startTurnRequestTo(v pluginsdk.StartTurnRequest) *hostv1.StartTurnRequest {
	return &hostv1.StartTurnRequest{
		Key:             v.Key,
		Purpose:         v.Purpose,
		ThreadId:        v.ThreadID,
		TaskId:          v.TaskID,
		Session:         string(v.Session),
		Prompt:          v.Prompt,
		SystemPrompt:    v.SystemPrompt,
		Model:           v.Model,
		Effort:          v.Effort,
		PermissionMode:  v.PermissionMode,
		Cwd:             v.Cwd,
		AllowedTools:    v.AllowedTools,
		DisallowedTools: v.DisallowedTools,
		JsonSchema:      v.JSONSchema,
		CostCapUsd:      v.CostCapUSD,
		Timeout:         durationTo(v.Timeout),
	}
}

func startTurnRequestFrom(m *hostv1.StartTurnRequest) pluginsdk.StartTurnRequest {
	return pluginsdk.StartTurnRequest{
		Key:             m.GetKey(),
		Purpose:         m.GetPurpose(),
		ThreadID:        m.GetThreadId(),
		TaskID:          m.GetTaskId(),
		Session:         pluginsdk.TurnSession(m.GetSession()),
		Prompt:          m.GetPrompt(),
		SystemPrompt:    m.GetSystemPrompt(),
		Model:           m.GetModel(),
		Effort:          m.GetEffort(),
		PermissionMode:  m.GetPermissionMode(),
		Cwd:             m.GetCwd(),
		AllowedTools:    m.GetAllowedTools(),
		DisallowedTools: m.GetDisallowedTools(),
		JSONSchema:      m.GetJsonSchema(),
		CostCapUSD:      m.GetCostCapUsd(),
		Timeout:         durationFrom(m.GetTimeout()),
	}
}

func startTurnResponseTo(v pluginsdk.StartTurnResponse) *hostv1.StartTurnResponse {
	return &hostv1.StartTurnResponse{
		RunId:   v.RunID,
		Existed: v.Existed,
	}
}

func startTurnResponseFrom(m *hostv1.StartTurnResponse) pluginsdk.StartTurnResponse {
	return pluginsdk.StartTurnResponse{
		RunID:   m.GetRunId(),
		Existed: m.GetExisted(),
	}
}

func waitTurnRequestTo(v pluginsdk.WaitTurnRequest) *hostv1.WaitTurnRequest {
	return &hostv1.WaitTurnRequest{
		RunId: v.RunID,
	}
}

func waitTurnRequestFrom(m *hostv1.WaitTurnRequest) pluginsdk.WaitTurnRequest {
	return pluginsdk.WaitTurnRequest{
		RunID: m.GetRunId(),
	}
}

func waitTurnResponseTo(v pluginsdk.WaitTurnResponse) *hostv1.WaitTurnResponse {
	return &hostv1.WaitTurnResponse{
		State:  string(v.State),
		Error:  v.Error,
		Result: pointerTo(v.Result, invokeResultTo),
	}
}

func waitTurnResponseFrom(m *hostv1.WaitTurnResponse) pluginsdk.WaitTurnResponse {
	return pluginsdk.WaitTurnResponse{
		State:  pluginsdk.RunState(m.GetState()),
		Error:  m.GetError(),
		Result: pointerFrom(m.GetResult(), invokeResultFrom),
	}
}

func cancelTurnRequestTo(v pluginsdk.CancelTurnRequest) *hostv1.CancelTurnRequest {
	return &hostv1.CancelTurnRequest{
		RunId: v.RunID,
	}
}

func cancelTurnRequestFrom(m *hostv1.CancelTurnRequest) pluginsdk.CancelTurnRequest {
	return pluginsdk.CancelTurnRequest{
		RunID: m.GetRunId(),
	}
}

func saveCronRequestTo(v pluginsdk.SaveCronRequest) *hostv1.SaveCronRequest {
	return &hostv1.SaveCronRequest{
		Spec:    cronSpecTo(v.Spec),
		Enabled: v.Enabled,
	}
}

func saveCronRequestFrom(m *hostv1.SaveCronRequest) pluginsdk.SaveCronRequest {
	return pluginsdk.SaveCronRequest{
		Spec:    cronSpecFrom(m.GetSpec()),
		Enabled: m.GetEnabled(),
	}
}

func saveCronResponseTo(v pluginsdk.SaveCronResponse) *hostv1.SaveCronResponse {
	return &hostv1.SaveCronResponse{
		Job:     cronJobTo(v.Job),
		Existed: v.Existed,
	}
}

func saveCronResponseFrom(m *hostv1.SaveCronResponse) pluginsdk.SaveCronResponse {
	return pluginsdk.SaveCronResponse{
		Job:     cronJobFrom(m.GetJob()),
		Existed: m.GetExisted(),
	}
}

func setCronEnabledRequestTo(v pluginsdk.SetCronEnabledRequest) *hostv1.SetCronEnabledRequest {
	return &hostv1.SetCronEnabledRequest{
		Name:    v.Name,
		Enabled: v.Enabled,
	}
}

func setCronEnabledRequestFrom(m *hostv1.SetCronEnabledRequest) pluginsdk.SetCronEnabledRequest {
	return pluginsdk.SetCronEnabledRequest{
		Name:    m.GetName(),
		Enabled: m.GetEnabled(),
	}
}

func setCronEnabledResponseTo(v pluginsdk.SetCronEnabledResponse) *hostv1.SetCronEnabledResponse {
	return &hostv1.SetCronEnabledResponse{
		Job: cronJobTo(v.Job),
	}
}

func setCronEnabledResponseFrom(m *hostv1.SetCronEnabledResponse) pluginsdk.SetCronEnabledResponse {
	return pluginsdk.SetCronEnabledResponse{
		Job: cronJobFrom(m.GetJob()),
	}
}

func reportCronRequestTo(v pluginsdk.ReportCronRequest) *hostv1.ReportCronRequest {
	return &hostv1.ReportCronRequest{
		Name:   v.Name,
		Status: cronStatusTo(v.Status),
		Fires:  listTo(v.Fires, cronFireTo),
	}
}

func reportCronRequestFrom(m *hostv1.ReportCronRequest) pluginsdk.ReportCronRequest {
	return pluginsdk.ReportCronRequest{
		Name:   m.GetName(),
		Status: cronStatusFrom(m.GetStatus()),
		Fires:  listFrom(m.GetFires(), cronFireFrom),
	}
}

func reportCronResponseTo(v pluginsdk.ReportCronResponse) *hostv1.ReportCronResponse {
	return &hostv1.ReportCronResponse{
		Job: cronJobTo(v.Job),
	}
}

func reportCronResponseFrom(m *hostv1.ReportCronResponse) pluginsdk.ReportCronResponse {
	return pluginsdk.ReportCronResponse{
		Job: cronJobFrom(m.GetJob()),
	}
}

func listCronsRequestTo(v pluginsdk.ListCronsRequest) *hostv1.ListCronsRequest {
	return &hostv1.ListCronsRequest{
		After: v.After,
		Limit: int64(v.Limit),
	}
}

func listCronsRequestFrom(m *hostv1.ListCronsRequest) pluginsdk.ListCronsRequest {
	return pluginsdk.ListCronsRequest{
		After: m.GetAfter(),
		Limit: int(m.GetLimit()),
	}
}

func listCronsResponseTo(v pluginsdk.ListCronsResponse) *hostv1.ListCronsResponse {
	return &hostv1.ListCronsResponse{
		Jobs: listTo(v.Jobs, cronJobTo),
		More: v.More,
	}
}

func listCronsResponseFrom(m *hostv1.ListCronsResponse) pluginsdk.ListCronsResponse {
	return pluginsdk.ListCronsResponse{
		Jobs: listFrom(m.GetJobs(), cronJobFrom),
		More: m.GetMore(),
	}
}

func cronFiresRequestTo(v pluginsdk.CronFiresRequest) *hostv1.ListCronFiresRequest {
	return &hostv1.ListCronFiresRequest{
		Name:   v.Name,
		Open:   v.Open,
		Before: timeTo(v.Before),
		Limit:  int64(v.Limit),
	}
}

func cronFiresRequestFrom(m *hostv1.ListCronFiresRequest) pluginsdk.CronFiresRequest {
	return pluginsdk.CronFiresRequest{
		Name:   m.GetName(),
		Open:   m.GetOpen(),
		Before: timeFrom(m.GetBefore()),
		Limit:  int(m.GetLimit()),
	}
}

func cronFiresResponseTo(v pluginsdk.CronFiresResponse) *hostv1.ListCronFiresResponse {
	return &hostv1.ListCronFiresResponse{
		Fires: listTo(v.Fires, cronFireTo),
		More:  v.More,
	}
}

func cronFiresResponseFrom(m *hostv1.ListCronFiresResponse) pluginsdk.CronFiresResponse {
	return pluginsdk.CronFiresResponse{
		Fires: listFrom(m.GetFires(), cronFireFrom),
		More:  m.GetMore(),
	}
}

func fireCronRequestTo(v pluginsdk.FireCronRequest) *hostv1.FireCronRequest {
	return &hostv1.FireCronRequest{
		Name: v.Name,
		Data: v.Data,
	}
}

func fireCronRequestFrom(m *hostv1.FireCronRequest) pluginsdk.FireCronRequest {
	return pluginsdk.FireCronRequest{
		Name: m.GetName(),
		Data: m.GetData(),
	}
}

func fireCronResponseTo(v pluginsdk.FireCronResponse) *hostv1.FireCronResponse {
	return &hostv1.FireCronResponse{
		Fire: cronFireTo(v.Fire),
	}
}

func fireCronResponseFrom(m *hostv1.FireCronResponse) pluginsdk.FireCronResponse {
	return pluginsdk.FireCronResponse{
		Fire: cronFireFrom(m.GetFire()),
	}
}

func askCronRequestTo(v pluginsdk.AskCronRequest) *hostv1.AskCronRequest {
	return &hostv1.AskCronRequest{
		Plugin:   v.Plugin,
		Question: cronQuestionTo(v.Question),
	}
}

func askCronRequestFrom(m *hostv1.AskCronRequest) pluginsdk.AskCronRequest {
	return pluginsdk.AskCronRequest{
		Plugin:   m.GetPlugin(),
		Question: cronQuestionFrom(m.GetQuestion()),
	}
}

func askCronResponseTo(v pluginsdk.AskCronResponse) *hostv1.AskCronResponse {
	return &hostv1.AskCronResponse{
		News: v.News,
		Text: v.Text,
	}
}

func askCronResponseFrom(m *hostv1.AskCronResponse) pluginsdk.AskCronResponse {
	return pluginsdk.AskCronResponse{
		News: m.GetNews(),
		Text: m.GetText(),
	}
}

func deleteCronRequestTo(v pluginsdk.DeleteCronRequest) *hostv1.DeleteCronRequest {
	return &hostv1.DeleteCronRequest{
		Name: v.Name,
	}
}

func deleteCronRequestFrom(m *hostv1.DeleteCronRequest) pluginsdk.DeleteCronRequest {
	return pluginsdk.DeleteCronRequest{
		Name: m.GetName(),
	}
}
