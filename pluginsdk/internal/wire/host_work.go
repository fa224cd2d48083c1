package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// What a plugin has the core work on: tasks, turns of the agent, schedules.

// taskClient is the host's Tasks as a plugin sees it.
type taskClient struct {
	client hostv1.TaskServiceClient
}

func (s hostServer) CreateTask(ctx context.Context, m *hostv1.CreateTaskRequest) (*hostv1.CreateTaskResponse, error) {
	return answer(ctx, m, createTaskRequestFrom, s.host.Tasks.Create, createTaskResponseTo)
}

func (c taskClient) Create(ctx context.Context, request *pluginsdk.CreateTaskRequest) (*pluginsdk.CreateTaskResponse, error) {
	return ask(ctx, request, createTaskRequestTo, c.client.CreateTask, createTaskResponseFrom)
}

func (s hostServer) GetTask(ctx context.Context, m *hostv1.GetTaskRequest) (*hostv1.GetTaskResponse, error) {
	return answer(ctx, m, getTaskRequestFrom, s.host.Tasks.Get, getTaskResponseTo)
}

func (c taskClient) Get(ctx context.Context, request *pluginsdk.GetTaskRequest) (*pluginsdk.GetTaskResponse, error) {
	return ask(ctx, request, getTaskRequestTo, c.client.GetTask, getTaskResponseFrom)
}

func (s hostServer) ListTasks(ctx context.Context, m *hostv1.ListTasksRequest) (*hostv1.ListTasksResponse, error) {
	return answer(ctx, m, listTasksRequestFrom, s.host.Tasks.List, listTasksResponseTo)
}

func (c taskClient) List(ctx context.Context, request *pluginsdk.ListTasksRequest) (*pluginsdk.ListTasksResponse, error) {
	return ask(ctx, request, listTasksRequestTo, c.client.ListTasks, listTasksResponseFrom)
}

func (s hostServer) TaskHistory(ctx context.Context, m *hostv1.TaskHistoryRequest) (*hostv1.TaskHistoryResponse, error) {
	return answer(ctx, m, taskHistoryRequestFrom, s.host.Tasks.History, taskHistoryResponseTo)
}

func (c taskClient) History(ctx context.Context, request *pluginsdk.TaskHistoryRequest) (*pluginsdk.TaskHistoryResponse, error) {
	return ask(ctx, request, taskHistoryRequestTo, c.client.TaskHistory, taskHistoryResponseFrom)
}

func (s hostServer) IterateTask(ctx context.Context, m *hostv1.IterateTaskRequest) (*hostv1.IterateTaskResponse, error) {
	return answer(ctx, m, iterateTaskRequestFrom, s.host.Tasks.Iterate, iterateTaskResponseTo)
}

func (c taskClient) Iterate(ctx context.Context, request *pluginsdk.IterateTaskRequest) (*pluginsdk.IterateTaskResponse, error) {
	return ask(ctx, request, iterateTaskRequestTo, c.client.IterateTask, iterateTaskResponseFrom)
}

func (s hostServer) EvaluateTask(ctx context.Context, m *hostv1.EvaluateTaskRequest) (*hostv1.EvaluateTaskResponse, error) {
	return answer(ctx, m, evaluateTaskRequestFrom, s.host.Tasks.Evaluate, evaluateTaskResponseTo)
}

func (c taskClient) Evaluate(ctx context.Context, request *pluginsdk.EvaluateTaskRequest) (*pluginsdk.EvaluateTaskResponse, error) {
	return ask(ctx, request, evaluateTaskRequestTo, c.client.EvaluateTask, evaluateTaskResponseFrom)
}

func (s hostServer) SuspendTask(ctx context.Context, m *hostv1.SuspendTaskRequest) (*hostv1.SuspendTaskResponse, error) {
	return answer(ctx, m, suspendTaskRequestFrom, s.host.Tasks.Suspend, suspendTaskResponseTo)
}

func (c taskClient) Suspend(ctx context.Context, request *pluginsdk.SuspendTaskRequest) (*pluginsdk.SuspendTaskResponse, error) {
	return ask(ctx, request, suspendTaskRequestTo, c.client.SuspendTask, suspendTaskResponseFrom)
}

func (s hostServer) DecideTask(ctx context.Context, m *hostv1.DecideTaskRequest) (*hostv1.DecideTaskResponse, error) {
	return answer(ctx, m, decideTaskRequestFrom, s.host.Tasks.Decide, decideTaskResponseTo)
}

func (c taskClient) Decide(ctx context.Context, request *pluginsdk.DecideTaskRequest) (*pluginsdk.DecideTaskResponse, error) {
	return ask(ctx, request, decideTaskRequestTo, c.client.DecideTask, decideTaskResponseFrom)
}

func (s hostServer) FailTask(ctx context.Context, m *hostv1.FailTaskRequest) (*hostv1.FailTaskResponse, error) {
	return answer(ctx, m, failTaskRequestFrom, s.host.Tasks.Fail, failTaskResponseTo)
}

func (c taskClient) Fail(ctx context.Context, request *pluginsdk.FailTaskRequest) (*pluginsdk.FailTaskResponse, error) {
	return ask(ctx, request, failTaskRequestTo, c.client.FailTask, failTaskResponseFrom)
}

func (s hostServer) CancelTask(ctx context.Context, m *hostv1.CancelTaskRequest) (*hostv1.CancelTaskResponse, error) {
	return answer(ctx, m, cancelTaskRequestFrom, s.host.Tasks.Cancel, cancelTaskResponseTo)
}

func (c taskClient) Cancel(ctx context.Context, request *pluginsdk.CancelTaskRequest) (*pluginsdk.CancelTaskResponse, error) {
	return ask(ctx, request, cancelTaskRequestTo, c.client.CancelTask, cancelTaskResponseFrom)
}

// agentClient is the host's Agent as a plugin sees it.
type agentClient struct {
	client hostv1.AgentServiceClient
}

func (s hostServer) StartTurn(ctx context.Context, m *hostv1.StartTurnRequest) (*hostv1.StartTurnResponse, error) {
	return answer(ctx, m, startTurnRequestFrom, s.host.Agent.Start, startTurnResponseTo)
}

func (c agentClient) Start(ctx context.Context, request *pluginsdk.StartTurnRequest) (*pluginsdk.StartTurnResponse, error) {
	return ask(ctx, request, startTurnRequestTo, c.client.StartTurn, startTurnResponseFrom)
}

func (s hostServer) WaitTurn(ctx context.Context, m *hostv1.WaitTurnRequest) (*hostv1.WaitTurnResponse, error) {
	return answer(ctx, m, waitTurnRequestFrom, s.host.Agent.Wait, waitTurnResponseTo)
}

func (c agentClient) Wait(ctx context.Context, request *pluginsdk.WaitTurnRequest) (*pluginsdk.WaitTurnResponse, error) {
	return ask(ctx, request, waitTurnRequestTo, c.client.WaitTurn, waitTurnResponseFrom)
}

func (s hostServer) CancelTurn(ctx context.Context, m *hostv1.CancelTurnRequest) (*hostv1.CancelTurnResponse, error) {
	return answer(ctx, m, cancelTurnRequestFrom, s.host.Agent.Cancel, emptyTo[hostv1.CancelTurnResponse])
}

func (c agentClient) Cancel(ctx context.Context, request *pluginsdk.CancelTurnRequest) (*pluginsdk.CancelTurnResponse, error) {
	return ask(ctx, request, cancelTurnRequestTo, c.client.CancelTurn, emptyFrom[pluginsdk.CancelTurnResponse])
}

// cronClient is the host's Crons as a plugin sees it.
type cronClient struct {
	client hostv1.CronServiceClient
}

func (s hostServer) SaveCron(ctx context.Context, m *hostv1.SaveCronRequest) (*hostv1.SaveCronResponse, error) {
	return answer(ctx, m, saveCronRequestFrom, s.host.Crons.Save, saveCronResponseTo)
}

func (c cronClient) Save(ctx context.Context, request *pluginsdk.SaveCronRequest) (*pluginsdk.SaveCronResponse, error) {
	return ask(ctx, request, saveCronRequestTo, c.client.SaveCron, saveCronResponseFrom)
}

func (s hostServer) SetCronEnabled(ctx context.Context, m *hostv1.SetCronEnabledRequest) (*hostv1.SetCronEnabledResponse, error) {
	return answer(ctx, m, setCronEnabledRequestFrom, s.host.Crons.SetEnabled, setCronEnabledResponseTo)
}

func (c cronClient) SetEnabled(ctx context.Context, request *pluginsdk.SetCronEnabledRequest) (*pluginsdk.SetCronEnabledResponse, error) {
	return ask(ctx, request, setCronEnabledRequestTo, c.client.SetCronEnabled, setCronEnabledResponseFrom)
}

func (s hostServer) ReportCron(ctx context.Context, m *hostv1.ReportCronRequest) (*hostv1.ReportCronResponse, error) {
	return answer(ctx, m, reportCronRequestFrom, s.host.Crons.Report, reportCronResponseTo)
}

func (c cronClient) Report(ctx context.Context, request *pluginsdk.ReportCronRequest) (*pluginsdk.ReportCronResponse, error) {
	return ask(ctx, request, reportCronRequestTo, c.client.ReportCron, reportCronResponseFrom)
}

func (s hostServer) ListCrons(ctx context.Context, m *hostv1.ListCronsRequest) (*hostv1.ListCronsResponse, error) {
	return answer(ctx, m, listCronsRequestFrom, s.host.Crons.List, listCronsResponseTo)
}

func (c cronClient) List(ctx context.Context, request *pluginsdk.ListCronsRequest) (*pluginsdk.ListCronsResponse, error) {
	return ask(ctx, request, listCronsRequestTo, c.client.ListCrons, listCronsResponseFrom)
}

func (s hostServer) ListCronFires(ctx context.Context, m *hostv1.ListCronFiresRequest) (*hostv1.ListCronFiresResponse, error) {
	return answer(ctx, m, cronFiresRequestFrom, s.host.Crons.Fires, cronFiresResponseTo)
}

func (c cronClient) Fires(ctx context.Context, request *pluginsdk.CronFiresRequest) (*pluginsdk.CronFiresResponse, error) {
	return ask(ctx, request, cronFiresRequestTo, c.client.ListCronFires, cronFiresResponseFrom)
}

func (s hostServer) FireCron(ctx context.Context, m *hostv1.FireCronRequest) (*hostv1.FireCronResponse, error) {
	return answer(ctx, m, fireCronRequestFrom, s.host.Crons.Fire, fireCronResponseTo)
}

func (c cronClient) Fire(ctx context.Context, request *pluginsdk.FireCronRequest) (*pluginsdk.FireCronResponse, error) {
	return ask(ctx, request, fireCronRequestTo, c.client.FireCron, fireCronResponseFrom)
}

func (s hostServer) AskCron(ctx context.Context, m *hostv1.AskCronRequest) (*hostv1.AskCronResponse, error) {
	return answer(ctx, m, askCronRequestFrom, s.host.Crons.Ask, askCronResponseTo)
}

func (c cronClient) Ask(ctx context.Context, request *pluginsdk.AskCronRequest) (*pluginsdk.AskCronResponse, error) {
	return ask(ctx, request, askCronRequestTo, c.client.AskCron, askCronResponseFrom)
}

func (s hostServer) DeleteCron(ctx context.Context, m *hostv1.DeleteCronRequest) (*hostv1.DeleteCronResponse, error) {
	return answer(ctx, m, deleteCronRequestFrom, s.host.Crons.Delete, emptyTo[hostv1.DeleteCronResponse])
}

func (c cronClient) Delete(ctx context.Context, request *pluginsdk.DeleteCronRequest) (*pluginsdk.DeleteCronResponse, error) {
	return ask(ctx, request, deleteCronRequestTo, c.client.DeleteCron, emptyFrom[pluginsdk.DeleteCronResponse])
}
