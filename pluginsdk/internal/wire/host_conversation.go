package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// Threads, messages, runs, deliveries.

// threadClient is the host's Threads as a plugin sees it.
type threadClient struct {
	client hostv1.ThreadServiceClient
}

func (s hostServer) GetThread(ctx context.Context, m *hostv1.GetThreadRequest) (*hostv1.GetThreadResponse, error) {
	return answer(ctx, m, getThreadRequestFrom, s.host.Threads.Get, getThreadResponseTo)
}

func (c threadClient) Get(ctx context.Context, request *pluginsdk.GetThreadRequest) (*pluginsdk.GetThreadResponse, error) {
	return ask(ctx, request, getThreadRequestTo, c.client.GetThread, getThreadResponseFrom)
}

func (s hostServer) ListThreads(ctx context.Context, m *hostv1.ListThreadsRequest) (*hostv1.ListThreadsResponse, error) {
	return answer(ctx, m, listThreadsRequestFrom, s.host.Threads.List, listThreadsResponseTo)
}

func (c threadClient) List(ctx context.Context, request *pluginsdk.ListThreadsRequest) (*pluginsdk.ListThreadsResponse, error) {
	return ask(ctx, request, listThreadsRequestTo, c.client.ListThreads, listThreadsResponseFrom)
}

func (s hostServer) CreateThread(ctx context.Context, m *hostv1.CreateThreadRequest) (*hostv1.CreateThreadResponse, error) {
	return answer(ctx, m, createThreadRequestFrom, s.host.Threads.Create, createThreadResponseTo)
}

func (c threadClient) Create(ctx context.Context, request *pluginsdk.CreateThreadRequest) (*pluginsdk.CreateThreadResponse, error) {
	return ask(ctx, request, createThreadRequestTo, c.client.CreateThread, createThreadResponseFrom)
}

func (s hostServer) UpdateThread(ctx context.Context, m *hostv1.UpdateThreadRequest) (*hostv1.UpdateThreadResponse, error) {
	return answer(ctx, m, updateThreadRequestFrom, s.host.Threads.Update, updateThreadResponseTo)
}

func (c threadClient) Update(ctx context.Context, request *pluginsdk.UpdateThreadRequest) (*pluginsdk.UpdateThreadResponse, error) {
	return ask(ctx, request, updateThreadRequestTo, c.client.UpdateThread, updateThreadResponseFrom)
}

func (s hostServer) DeleteThread(ctx context.Context, m *hostv1.DeleteThreadRequest) (*hostv1.DeleteThreadResponse, error) {
	return answer(ctx, m, deleteThreadRequestFrom, s.host.Threads.Delete, emptyTo[hostv1.DeleteThreadResponse])
}

func (c threadClient) Delete(ctx context.Context, request *pluginsdk.DeleteThreadRequest) (*pluginsdk.DeleteThreadResponse, error) {
	return ask(ctx, request, deleteThreadRequestTo, c.client.DeleteThread, emptyFrom[pluginsdk.DeleteThreadResponse])
}

func (s hostServer) BranchThread(ctx context.Context, m *hostv1.BranchThreadRequest) (*hostv1.BranchThreadResponse, error) {
	return answer(ctx, m, branchThreadRequestFrom, s.host.Threads.Branch, branchThreadResponseTo)
}

func (c threadClient) Branch(ctx context.Context, request *pluginsdk.BranchThreadRequest) (*pluginsdk.BranchThreadResponse, error) {
	return ask(ctx, request, branchThreadRequestTo, c.client.BranchThread, branchThreadResponseFrom)
}

// messageClient is the host's Messages as a plugin sees it.
type messageClient struct {
	client hostv1.MessageServiceClient
}

func (s hostServer) SubmitMessage(ctx context.Context, m *hostv1.SubmitMessageRequest) (*hostv1.SubmitMessageResponse, error) {
	return answer(ctx, m, submitMessageRequestFrom, s.host.Messages.Submit, submitMessageResponseTo)
}

func (c messageClient) Submit(ctx context.Context, request *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	return ask(ctx, request, submitMessageRequestTo, c.client.SubmitMessage, submitMessageResponseFrom)
}

func (s hostServer) AmendMessage(ctx context.Context, m *hostv1.AmendMessageRequest) (*hostv1.AmendMessageResponse, error) {
	return answer(ctx, m, amendMessageRequestFrom, s.host.Messages.Amend, amendMessageResponseTo)
}

func (c messageClient) Amend(ctx context.Context, request *pluginsdk.AmendMessageRequest) (*pluginsdk.AmendMessageResponse, error) {
	return ask(ctx, request, amendMessageRequestTo, c.client.AmendMessage, amendMessageResponseFrom)
}

func (s hostServer) AppendMessages(ctx context.Context, m *hostv1.AppendMessagesRequest) (*hostv1.AppendMessagesResponse, error) {
	return answer(ctx, m, appendMessagesRequestFrom, s.host.Messages.Append, appendMessagesResponseTo)
}

func (c messageClient) Append(ctx context.Context, request *pluginsdk.AppendMessagesRequest) (*pluginsdk.AppendMessagesResponse, error) {
	return ask(ctx, request, appendMessagesRequestTo, c.client.AppendMessages, appendMessagesResponseFrom)
}

func (s hostServer) ListMessages(ctx context.Context, m *hostv1.ListMessagesRequest) (*hostv1.ListMessagesResponse, error) {
	return answer(ctx, m, listMessagesRequestFrom, s.host.Messages.List, listMessagesResponseTo)
}

func (c messageClient) List(ctx context.Context, request *pluginsdk.ListMessagesRequest) (*pluginsdk.ListMessagesResponse, error) {
	return ask(ctx, request, listMessagesRequestTo, c.client.ListMessages, listMessagesResponseFrom)
}

// runClient is the host's Runs as a plugin sees it.
type runClient struct {
	client hostv1.RunServiceClient
}

func (s hostServer) GetRun(ctx context.Context, m *hostv1.GetRunRequest) (*hostv1.GetRunResponse, error) {
	return answer(ctx, m, getRunRequestFrom, s.host.Runs.Get, getRunResponseTo)
}

func (c runClient) Get(ctx context.Context, request *pluginsdk.GetRunRequest) (*pluginsdk.GetRunResponse, error) {
	return ask(ctx, request, getRunRequestTo, c.client.GetRun, getRunResponseFrom)
}

func (s hostServer) ListRuns(ctx context.Context, m *hostv1.ListRunsRequest) (*hostv1.ListRunsResponse, error) {
	return answer(ctx, m, listRunsRequestFrom, s.host.Runs.List, listRunsResponseTo)
}

func (c runClient) List(ctx context.Context, request *pluginsdk.ListRunsRequest) (*pluginsdk.ListRunsResponse, error) {
	return ask(ctx, request, listRunsRequestTo, c.client.ListRuns, listRunsResponseFrom)
}

func (s hostServer) WaitRun(ctx context.Context, m *hostv1.WaitRunRequest) (*hostv1.WaitRunResponse, error) {
	return answer(ctx, m, waitRunRequestFrom, s.host.Runs.Wait, waitRunResponseTo)
}

func (c runClient) Wait(ctx context.Context, request *pluginsdk.WaitRunRequest) (*pluginsdk.WaitRunResponse, error) {
	return ask(ctx, request, waitRunRequestTo, c.client.WaitRun, waitRunResponseFrom)
}

func (s hostServer) CancelRun(ctx context.Context, m *hostv1.CancelRunRequest) (*hostv1.CancelRunResponse, error) {
	return answer(ctx, m, cancelRunRequestFrom, s.host.Runs.Cancel, cancelRunResponseTo)
}

func (c runClient) Cancel(ctx context.Context, request *pluginsdk.CancelRunRequest) (*pluginsdk.CancelRunResponse, error) {
	return ask(ctx, request, cancelRunRequestTo, c.client.CancelRun, cancelRunResponseFrom)
}

func (s hostServer) RetryRun(ctx context.Context, m *hostv1.RetryRunRequest) (*hostv1.RetryRunResponse, error) {
	return answer(ctx, m, retryRunRequestFrom, s.host.Runs.Retry, retryRunResponseTo)
}

func (c runClient) Retry(ctx context.Context, request *pluginsdk.RetryRunRequest) (*pluginsdk.RetryRunResponse, error) {
	return ask(ctx, request, retryRunRequestTo, c.client.RetryRun, retryRunResponseFrom)
}

func (s hostServer) StopThread(ctx context.Context, m *hostv1.StopThreadRequest) (*hostv1.StopThreadResponse, error) {
	return answer(ctx, m, stopThreadRequestFrom, s.host.Runs.Stop, stopThreadResponseTo)
}

func (c runClient) Stop(ctx context.Context, request *pluginsdk.StopThreadRequest) (*pluginsdk.StopThreadResponse, error) {
	return ask(ctx, request, stopThreadRequestTo, c.client.StopThread, stopThreadResponseFrom)
}

func (s hostServer) ResumeRun(ctx context.Context, m *hostv1.ResumeRunRequest) (*hostv1.ResumeRunResponse, error) {
	return answer(ctx, m, resumeRunRequestFrom, s.host.Runs.Resume, resumeRunResponseTo)
}

func (c runClient) Resume(ctx context.Context, request *pluginsdk.ResumeRunRequest) (*pluginsdk.ResumeRunResponse, error) {
	return ask(ctx, request, resumeRunRequestTo, c.client.ResumeRun, resumeRunResponseFrom)
}

// deliveryClient is the host's Deliveries as a plugin sees it.
type deliveryClient struct {
	client hostv1.DeliveryServiceClient
}

func (s hostServer) ListDeliveries(ctx context.Context, m *hostv1.ListDeliveriesRequest) (*hostv1.ListDeliveriesResponse, error) {
	return answer(ctx, m, listDeliveriesRequestFrom, s.host.Deliveries.List, listDeliveriesResponseTo)
}

func (c deliveryClient) List(ctx context.Context, request *pluginsdk.ListDeliveriesRequest) (*pluginsdk.ListDeliveriesResponse, error) {
	return ask(ctx, request, listDeliveriesRequestTo, c.client.ListDeliveries, listDeliveriesResponseFrom)
}

func (s hostServer) RetryDelivery(ctx context.Context, m *hostv1.RetryDeliveryRequest) (*hostv1.RetryDeliveryResponse, error) {
	return answer(ctx, m, retryDeliveryRequestFrom, s.host.Deliveries.Retry, retryDeliveryResponseTo)
}

func (c deliveryClient) Retry(ctx context.Context, request *pluginsdk.RetryDeliveryRequest) (*pluginsdk.RetryDeliveryResponse, error) {
	return ask(ctx, request, retryDeliveryRequestTo, c.client.RetryDelivery, retryDeliveryResponseFrom)
}
