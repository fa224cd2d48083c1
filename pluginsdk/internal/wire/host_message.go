package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// messageServer serves the host's Messages.
type messageServer struct {
	hostv1.UnimplementedMessageServiceServer
	messages pluginsdk.Messages
}

func (s messageServer) SubmitMessage(ctx context.Context, m *hostv1.SubmitMessageRequest) (*hostv1.SubmitMessageResponse, error) {
	accepted, err := s.messages.Submit(ctx, submissionFrom(m.GetSubmission()))
	return &hostv1.SubmitMessageResponse{Accepted: acceptedTo(accepted)}, err
}

func (s messageServer) AppendMessages(ctx context.Context, m *hostv1.AppendMessagesRequest) (*hostv1.AppendMessagesResponse, error) {
	messages, err := s.messages.Append(ctx, m.GetThreadId(), m.GetKey(), listFrom(m.GetMessages(), newMessageFrom))
	return &hostv1.AppendMessagesResponse{Messages: listTo(messages, messageTo)}, err
}

func (s messageServer) ListMessages(ctx context.Context, m *hostv1.ListMessagesRequest) (*hostv1.ListMessagesResponse, error) {
	messages, err := s.messages.List(ctx, messageQueryFrom(m.GetQuery()))
	return &hostv1.ListMessagesResponse{Messages: listTo(messages, messageTo)}, err
}

// messageClient is the host's Messages as a plugin sees them.
type messageClient struct {
	client hostv1.MessageServiceClient
}

func (c messageClient) Submit(ctx context.Context, submission pluginsdk.Submission) (pluginsdk.Accepted, error) {
	m, err := c.client.SubmitMessage(ctx, &hostv1.SubmitMessageRequest{Submission: submissionTo(submission)})
	return acceptedFrom(m.GetAccepted()), err
}

func (c messageClient) Append(ctx context.Context, threadID string, key string, messages []pluginsdk.NewMessage) ([]pluginsdk.Message, error) {
	m, err := c.client.AppendMessages(ctx, &hostv1.AppendMessagesRequest{ThreadId: threadID, Key: key, Messages: listTo(messages, newMessageTo)})
	return listFrom(m.GetMessages(), messageFrom), err
}

func (c messageClient) List(ctx context.Context, query pluginsdk.MessageQuery) ([]pluginsdk.Message, error) {
	m, err := c.client.ListMessages(ctx, &hostv1.ListMessagesRequest{Query: messageQueryTo(query)})
	return listFrom(m.GetMessages(), messageFrom), err
}
