package api

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxContentBytes bounds what a person can say at once.
const maxContentBytes = 256 << 10

// ChatRequest is a message that asks for an answer.
type ChatRequest struct {
	ThreadID       string                 `json:"threadId,omitempty" maxLength:"100" doc:"Thread to answer in; the primary thread when absent"`
	Content        string                 `json:"content" minLength:"1" doc:"What is said; at most 256 KiB"`
	IdempotencyKey string                 `json:"idempotencyKey,omitempty" maxLength:"200" doc:"Repeated with the same key, the request returns the first one's ids; a random one when absent"`
	Source         string                 `json:"source,omitempty" enum:"web,cli" doc:"Where the message comes from; web when absent"`
	Author         string                 `json:"author,omitempty" maxLength:"200" doc:"Who says it"`
	Attachments    []pluginsdk.Attachment `json:"attachments,omitempty" maxItems:"20" nullable:"false" doc:"Files that belong to the message"`
}

type chatInput struct {
	Body ChatRequest
}

type chatOutput struct {
	Body pluginsdk.Accepted
}

func (h *handlers) registerChat(api huma.API) {
	huma.Register(api, post("chat", "/api/chat", "Say something to the agent", http.StatusAccepted), h.chat)
}

// chat answers once the message and its run are durable, with their ids.
func (h *handlers) chat(ctx context.Context, input *chatInput) (*chatOutput, error) {
	request := input.Body
	if err := checkContent(request.Content); err != nil {
		return nil, err
	}
	submission := pluginsdk.Submission{
		ThreadID: request.ThreadID, Source: request.Source, Key: request.IdempotencyKey,
		Author: request.Author, Content: request.Content, Attachments: request.Attachments,
	}
	if submission.Source == "" {
		submission.Source = "web"
	}
	if submission.Key == "" {
		submission.Key = rand.Text()
	}
	answer, err := h.host.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: submission})
	if err != nil {
		return nil, h.fail("chat", err)
	}
	return &chatOutput{Body: answer.Accepted}, nil
}

func checkContent(content string) error {
	switch {
	case strings.TrimSpace(content) == "":
		return invalid("content", "must not be empty")
	case len(content) > maxContentBytes:
		return invalid("content", fmt.Sprintf("has %d bytes; at most %d are accepted", len(content), maxContentBytes))
	case strings.ContainsRune(content, 0):
		return invalid("content", "must not contain NUL characters")
	}
	return nil
}
