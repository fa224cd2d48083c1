package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

func getThreadRequestTo(v pluginsdk.GetThreadRequest) *hostv1.GetThreadRequest {
	return &hostv1.GetThreadRequest{
		Id: v.ID,
	}
}

func getThreadRequestFrom(m *hostv1.GetThreadRequest) pluginsdk.GetThreadRequest {
	return pluginsdk.GetThreadRequest{
		ID: m.GetId(),
	}
}

func getThreadResponseTo(v pluginsdk.GetThreadResponse) *hostv1.GetThreadResponse {
	return &hostv1.GetThreadResponse{
		Thread: threadTo(v.Thread),
	}
}

func getThreadResponseFrom(m *hostv1.GetThreadResponse) pluginsdk.GetThreadResponse {
	return pluginsdk.GetThreadResponse{
		Thread: threadFrom(m.GetThread()),
	}
}

func listThreadsRequestTo(v pluginsdk.ListThreadsRequest) *hostv1.ListThreadsRequest {
	return &hostv1.ListThreadsRequest{
		Query: threadQueryTo(v.Query),
	}
}

func listThreadsRequestFrom(m *hostv1.ListThreadsRequest) pluginsdk.ListThreadsRequest {
	return pluginsdk.ListThreadsRequest{
		Query: threadQueryFrom(m.GetQuery()),
	}
}

func listThreadsResponseTo(v pluginsdk.ListThreadsResponse) *hostv1.ListThreadsResponse {
	return &hostv1.ListThreadsResponse{
		Threads: listTo(v.Threads, threadTo),
	}
}

func listThreadsResponseFrom(m *hostv1.ListThreadsResponse) pluginsdk.ListThreadsResponse {
	return pluginsdk.ListThreadsResponse{
		Threads: listFrom(m.GetThreads(), threadFrom),
	}
}

func createThreadRequestTo(v pluginsdk.CreateThreadRequest) *hostv1.CreateThreadRequest {
	return &hostv1.CreateThreadRequest{
		Thread: newThreadTo(v.Thread),
	}
}

func createThreadRequestFrom(m *hostv1.CreateThreadRequest) pluginsdk.CreateThreadRequest {
	return pluginsdk.CreateThreadRequest{
		Thread: newThreadFrom(m.GetThread()),
	}
}

func createThreadResponseTo(v pluginsdk.CreateThreadResponse) *hostv1.CreateThreadResponse {
	return &hostv1.CreateThreadResponse{
		Thread:  threadTo(v.Thread),
		Existed: v.Existed,
	}
}

func createThreadResponseFrom(m *hostv1.CreateThreadResponse) pluginsdk.CreateThreadResponse {
	return pluginsdk.CreateThreadResponse{
		Thread:  threadFrom(m.GetThread()),
		Existed: m.GetExisted(),
	}
}

func updateThreadRequestTo(v pluginsdk.UpdateThreadRequest) *hostv1.UpdateThreadRequest {
	return &hostv1.UpdateThreadRequest{
		Id:    v.ID,
		Patch: threadPatchTo(v.Patch),
	}
}

func updateThreadRequestFrom(m *hostv1.UpdateThreadRequest) pluginsdk.UpdateThreadRequest {
	return pluginsdk.UpdateThreadRequest{
		ID:    m.GetId(),
		Patch: threadPatchFrom(m.GetPatch()),
	}
}

func updateThreadResponseTo(v pluginsdk.UpdateThreadResponse) *hostv1.UpdateThreadResponse {
	return &hostv1.UpdateThreadResponse{
		Thread: threadTo(v.Thread),
	}
}

func updateThreadResponseFrom(m *hostv1.UpdateThreadResponse) pluginsdk.UpdateThreadResponse {
	return pluginsdk.UpdateThreadResponse{
		Thread: threadFrom(m.GetThread()),
	}
}

func submitMessageRequestTo(v pluginsdk.SubmitMessageRequest) *hostv1.SubmitMessageRequest {
	return &hostv1.SubmitMessageRequest{
		Submission: submissionTo(v.Submission),
	}
}

func submitMessageRequestFrom(m *hostv1.SubmitMessageRequest) pluginsdk.SubmitMessageRequest {
	return pluginsdk.SubmitMessageRequest{
		Submission: submissionFrom(m.GetSubmission()),
	}
}

func submitMessageResponseTo(v pluginsdk.SubmitMessageResponse) *hostv1.SubmitMessageResponse {
	return &hostv1.SubmitMessageResponse{
		Accepted: acceptedTo(v.Accepted),
	}
}

func submitMessageResponseFrom(m *hostv1.SubmitMessageResponse) pluginsdk.SubmitMessageResponse {
	return pluginsdk.SubmitMessageResponse{
		Accepted: acceptedFrom(m.GetAccepted()),
	}
}

func amendMessageRequestTo(v pluginsdk.AmendMessageRequest) *hostv1.AmendMessageRequest {
	return &hostv1.AmendMessageRequest{
		ThreadId:    v.ThreadID,
		Source:      v.Source,
		Key:         v.Key,
		Content:     v.Content,
		Attachments: listTo(v.Attachments, attachmentTo),
	}
}

func amendMessageRequestFrom(m *hostv1.AmendMessageRequest) pluginsdk.AmendMessageRequest {
	return pluginsdk.AmendMessageRequest{
		ThreadID:    m.GetThreadId(),
		Source:      m.GetSource(),
		Key:         m.GetKey(),
		Content:     m.GetContent(),
		Attachments: listFrom(m.GetAttachments(), attachmentFrom),
	}
}

func amendMessageResponseTo(v pluginsdk.AmendMessageResponse) *hostv1.AmendMessageResponse {
	return &hostv1.AmendMessageResponse{
		Message: messageTo(v.Message),
	}
}

func amendMessageResponseFrom(m *hostv1.AmendMessageResponse) pluginsdk.AmendMessageResponse {
	return pluginsdk.AmendMessageResponse{
		Message: messageFrom(m.GetMessage()),
	}
}

func appendMessagesRequestTo(v pluginsdk.AppendMessagesRequest) *hostv1.AppendMessagesRequest {
	return &hostv1.AppendMessagesRequest{
		ThreadId: v.ThreadID,
		Key:      v.Key,
		Messages: listTo(v.Messages, newMessageTo),
		Deliver:  v.Deliver,
	}
}

func appendMessagesRequestFrom(m *hostv1.AppendMessagesRequest) pluginsdk.AppendMessagesRequest {
	return pluginsdk.AppendMessagesRequest{
		ThreadID: m.GetThreadId(),
		Key:      m.GetKey(),
		Messages: listFrom(m.GetMessages(), newMessageFrom),
		Deliver:  m.GetDeliver(),
	}
}

func appendMessagesResponseTo(v pluginsdk.AppendMessagesResponse) *hostv1.AppendMessagesResponse {
	return &hostv1.AppendMessagesResponse{
		Messages: listTo(v.Messages, messageTo),
	}
}

func appendMessagesResponseFrom(m *hostv1.AppendMessagesResponse) pluginsdk.AppendMessagesResponse {
	return pluginsdk.AppendMessagesResponse{
		Messages: listFrom(m.GetMessages(), messageFrom),
	}
}

func listMessagesRequestTo(v pluginsdk.ListMessagesRequest) *hostv1.ListMessagesRequest {
	return &hostv1.ListMessagesRequest{
		Query: messageQueryTo(v.Query),
	}
}

func listMessagesRequestFrom(m *hostv1.ListMessagesRequest) pluginsdk.ListMessagesRequest {
	return pluginsdk.ListMessagesRequest{
		Query: messageQueryFrom(m.GetQuery()),
	}
}

func listMessagesResponseTo(v pluginsdk.ListMessagesResponse) *hostv1.ListMessagesResponse {
	return &hostv1.ListMessagesResponse{
		Messages: listTo(v.Messages, messageTo),
		More:     v.More,
	}
}

func listMessagesResponseFrom(m *hostv1.ListMessagesResponse) pluginsdk.ListMessagesResponse {
	return pluginsdk.ListMessagesResponse{
		Messages: listFrom(m.GetMessages(), messageFrom),
		More:     m.GetMore(),
	}
}

func getRunRequestTo(v pluginsdk.GetRunRequest) *hostv1.GetRunRequest {
	return &hostv1.GetRunRequest{
		Id: v.ID,
	}
}

func getRunRequestFrom(m *hostv1.GetRunRequest) pluginsdk.GetRunRequest {
	return pluginsdk.GetRunRequest{
		ID: m.GetId(),
	}
}

func getRunResponseTo(v pluginsdk.GetRunResponse) *hostv1.GetRunResponse {
	return &hostv1.GetRunResponse{
		Run: runTo(v.Run),
	}
}

func getRunResponseFrom(m *hostv1.GetRunResponse) pluginsdk.GetRunResponse {
	return pluginsdk.GetRunResponse{
		Run: runFrom(m.GetRun()),
	}
}

func listRunsRequestTo(v pluginsdk.ListRunsRequest) *hostv1.ListRunsRequest {
	return &hostv1.ListRunsRequest{
		Query: runQueryTo(v.Query),
	}
}

func listRunsRequestFrom(m *hostv1.ListRunsRequest) pluginsdk.ListRunsRequest {
	return pluginsdk.ListRunsRequest{
		Query: runQueryFrom(m.GetQuery()),
	}
}

func listRunsResponseTo(v pluginsdk.ListRunsResponse) *hostv1.ListRunsResponse {
	return &hostv1.ListRunsResponse{
		Runs: listTo(v.Runs, runTo),
	}
}

func listRunsResponseFrom(m *hostv1.ListRunsResponse) pluginsdk.ListRunsResponse {
	return pluginsdk.ListRunsResponse{
		Runs: listFrom(m.GetRuns(), runFrom),
	}
}

func waitRunRequestTo(v pluginsdk.WaitRunRequest) *hostv1.WaitRunRequest {
	return &hostv1.WaitRunRequest{
		Id: v.ID,
	}
}

func waitRunRequestFrom(m *hostv1.WaitRunRequest) pluginsdk.WaitRunRequest {
	return pluginsdk.WaitRunRequest{
		ID: m.GetId(),
	}
}

func waitRunResponseTo(v pluginsdk.WaitRunResponse) *hostv1.WaitRunResponse {
	return &hostv1.WaitRunResponse{
		Run: runTo(v.Run),
	}
}

func waitRunResponseFrom(m *hostv1.WaitRunResponse) pluginsdk.WaitRunResponse {
	return pluginsdk.WaitRunResponse{
		Run: runFrom(m.GetRun()),
	}
}

func cancelRunRequestTo(v pluginsdk.CancelRunRequest) *hostv1.CancelRunRequest {
	return &hostv1.CancelRunRequest{
		Id:     v.ID,
		Author: v.Author,
	}
}

func cancelRunRequestFrom(m *hostv1.CancelRunRequest) pluginsdk.CancelRunRequest {
	return pluginsdk.CancelRunRequest{
		ID:     m.GetId(),
		Author: m.GetAuthor(),
	}
}

func cancelRunResponseTo(v pluginsdk.CancelRunResponse) *hostv1.CancelRunResponse {
	return &hostv1.CancelRunResponse{
		Run: runTo(v.Run),
	}
}

func cancelRunResponseFrom(m *hostv1.CancelRunResponse) pluginsdk.CancelRunResponse {
	return pluginsdk.CancelRunResponse{
		Run: runFrom(m.GetRun()),
	}
}

func retryRunRequestTo(v pluginsdk.RetryRunRequest) *hostv1.RetryRunRequest {
	return &hostv1.RetryRunRequest{
		Id:     v.ID,
		Author: v.Author,
		Scope:  string(v.Scope),
	}
}

func retryRunRequestFrom(m *hostv1.RetryRunRequest) pluginsdk.RetryRunRequest {
	return pluginsdk.RetryRunRequest{
		ID:     m.GetId(),
		Author: m.GetAuthor(),
		Scope:  pluginsdk.TokenScope(m.GetScope()),
	}
}

func retryRunResponseTo(v pluginsdk.RetryRunResponse) *hostv1.RetryRunResponse {
	return &hostv1.RetryRunResponse{
		Accepted: acceptedTo(v.Accepted),
	}
}

func retryRunResponseFrom(m *hostv1.RetryRunResponse) pluginsdk.RetryRunResponse {
	return pluginsdk.RetryRunResponse{
		Accepted: acceptedFrom(m.GetAccepted()),
	}
}

func resumeRunRequestTo(v pluginsdk.ResumeRunRequest) *hostv1.ResumeRunRequest {
	return &hostv1.ResumeRunRequest{
		RunId:    v.RunID,
		Model:    v.Model,
		Fallback: v.Fallback,
		Author:   v.Author,
		Scope:    string(v.Scope),
	}
}

func resumeRunRequestFrom(m *hostv1.ResumeRunRequest) pluginsdk.ResumeRunRequest {
	return pluginsdk.ResumeRunRequest{
		RunID:    m.GetRunId(),
		Model:    m.GetModel(),
		Fallback: m.GetFallback(),
		Author:   m.GetAuthor(),
		Scope:    pluginsdk.TokenScope(m.GetScope()),
	}
}

func resumeRunResponseTo(v pluginsdk.ResumeRunResponse) *hostv1.ResumeRunResponse {
	return &hostv1.ResumeRunResponse{
		Run: runTo(v.Run),
	}
}

func resumeRunResponseFrom(m *hostv1.ResumeRunResponse) pluginsdk.ResumeRunResponse {
	return pluginsdk.ResumeRunResponse{
		Run: runFrom(m.GetRun()),
	}
}

func stopThreadRequestTo(v pluginsdk.StopThreadRequest) *hostv1.StopThreadRequest {
	return &hostv1.StopThreadRequest{
		ThreadId: v.ThreadID,
		Queue:    string(v.Queue),
		Author:   v.Author,
	}
}

func stopThreadRequestFrom(m *hostv1.StopThreadRequest) pluginsdk.StopThreadRequest {
	return pluginsdk.StopThreadRequest{
		ThreadID: m.GetThreadId(),
		Queue:    pluginsdk.Queue(m.GetQueue()),
		Author:   m.GetAuthor(),
	}
}

func stopThreadResponseTo(v pluginsdk.StopThreadResponse) *hostv1.StopThreadResponse {
	return &hostv1.StopThreadResponse{
		Stopped: stoppedTo(v.Stopped),
	}
}

func stopThreadResponseFrom(m *hostv1.StopThreadResponse) pluginsdk.StopThreadResponse {
	return pluginsdk.StopThreadResponse{
		Stopped: stoppedFrom(m.GetStopped()),
	}
}

func listDeliveriesRequestTo(v pluginsdk.ListDeliveriesRequest) *hostv1.ListDeliveriesRequest {
	return &hostv1.ListDeliveriesRequest{
		Query: deliveryQueryTo(v.Query),
	}
}

func listDeliveriesRequestFrom(m *hostv1.ListDeliveriesRequest) pluginsdk.ListDeliveriesRequest {
	return pluginsdk.ListDeliveriesRequest{
		Query: deliveryQueryFrom(m.GetQuery()),
	}
}

func listDeliveriesResponseTo(v pluginsdk.ListDeliveriesResponse) *hostv1.ListDeliveriesResponse {
	return &hostv1.ListDeliveriesResponse{
		Deliveries: listTo(v.Deliveries, deliveryTo),
	}
}

func listDeliveriesResponseFrom(m *hostv1.ListDeliveriesResponse) pluginsdk.ListDeliveriesResponse {
	return pluginsdk.ListDeliveriesResponse{
		Deliveries: listFrom(m.GetDeliveries(), deliveryFrom),
	}
}

func retryDeliveryRequestTo(v pluginsdk.RetryDeliveryRequest) *hostv1.RetryDeliveryRequest {
	return &hostv1.RetryDeliveryRequest{
		Id: v.ID,
	}
}

func retryDeliveryRequestFrom(m *hostv1.RetryDeliveryRequest) pluginsdk.RetryDeliveryRequest {
	return pluginsdk.RetryDeliveryRequest{
		ID: m.GetId(),
	}
}

func retryDeliveryResponseTo(v pluginsdk.RetryDeliveryResponse) *hostv1.RetryDeliveryResponse {
	return &hostv1.RetryDeliveryResponse{
		Delivery: deliveryTo(v.Delivery),
	}
}

func retryDeliveryResponseFrom(m *hostv1.RetryDeliveryResponse) pluginsdk.RetryDeliveryResponse {
	return pluginsdk.RetryDeliveryResponse{
		Delivery: deliveryFrom(m.GetDelivery()),
	}
}

func deleteThreadRequestTo(v pluginsdk.DeleteThreadRequest) *hostv1.DeleteThreadRequest {
	return &hostv1.DeleteThreadRequest{
		Id:     v.ID,
		Author: v.Author,
	}
}

func deleteThreadRequestFrom(m *hostv1.DeleteThreadRequest) pluginsdk.DeleteThreadRequest {
	return pluginsdk.DeleteThreadRequest{
		ID:     m.GetId(),
		Author: m.GetAuthor(),
	}
}

func branchThreadRequestTo(v pluginsdk.BranchThreadRequest) *hostv1.BranchThreadRequest {
	return &hostv1.BranchThreadRequest{
		ThreadId:  v.ThreadID,
		MessageId: v.MessageID,
		Source:    v.Source,
		SourceId:  v.SourceID,
		Name:      v.Name,
	}
}

func branchThreadRequestFrom(m *hostv1.BranchThreadRequest) pluginsdk.BranchThreadRequest {
	return pluginsdk.BranchThreadRequest{
		ThreadID:  m.GetThreadId(),
		MessageID: m.GetMessageId(),
		Source:    m.GetSource(),
		SourceID:  m.GetSourceId(),
		Name:      m.GetName(),
	}
}

func branchThreadResponseTo(v pluginsdk.BranchThreadResponse) *hostv1.BranchThreadResponse {
	return &hostv1.BranchThreadResponse{
		Thread:  threadTo(v.Thread),
		Existed: v.Existed,
	}
}

func branchThreadResponseFrom(m *hostv1.BranchThreadResponse) pluginsdk.BranchThreadResponse {
	return pluginsdk.BranchThreadResponse{
		Thread:  threadFrom(m.GetThread()),
		Existed: m.GetExisted(),
	}
}

func commandTo(v pluginsdk.Command) *hostv1.Command {
	return &hostv1.Command{
		Spec:   commandSpecTo(v.CommandSpec),
		Plugin: v.Plugin,
	}
}

func commandFrom(m *hostv1.Command) pluginsdk.Command {
	return pluginsdk.Command{
		CommandSpec: commandSpecFrom(m.GetSpec()),
		Plugin:      m.GetPlugin(),
	}
}

func listCommandsResponseTo(v pluginsdk.ListCommandsResponse) *hostv1.ListCommandsResponse {
	return &hostv1.ListCommandsResponse{
		Commands: listTo(v.Commands, commandTo),
	}
}

func listCommandsResponseFrom(m *hostv1.ListCommandsResponse) pluginsdk.ListCommandsResponse {
	return pluginsdk.ListCommandsResponse{
		Commands: listFrom(m.GetCommands(), commandFrom),
	}
}
