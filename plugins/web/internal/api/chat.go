package api

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxContentBytes bounds what a person can say at once.
const maxContentBytes = 256 << 10

// ChatRequest is a message that asks for an answer.
type ChatRequest struct {
	ThreadID       string           `json:"threadId,omitempty" maxLength:"100" doc:"Thread to answer in; the primary thread when absent"`
	Content        string           `json:"content" doc:"What is said; at most 256 KiB. It may be empty when there are attachments"`
	IdempotencyKey string           `json:"idempotencyKey,omitempty" maxLength:"200" doc:"Repeated with the same key, the request returns the first one's ids; a random one when absent"`
	Source         string           `json:"source,omitempty" enum:"web,cli" doc:"Where the message comes from; web when absent"`
	Author         string           `json:"author,omitempty" maxLength:"200" doc:"Who says it; with a token, its name in place of this"`
	Attachments    []ChatAttachment `json:"attachments,omitempty" maxItems:"20" nullable:"false" doc:"Files that belong to the message"`
	Unattended     bool             `json:"unattended,omitempty" doc:"Nobody is there to answer: what the agent would ask people is denied at once"`
}

// ChatAttachment is a file of the message: one that was taken in, or one that lies
// elsewhere.
type ChatAttachment struct {
	FileID string `json:"fileId,omitempty" maxLength:"100" doc:"Id of a file that was taken in; the others are left out then"`
	Name   string `json:"name,omitempty" maxLength:"1000" doc:"What it is called"`
	Type   string `json:"type,omitempty" maxLength:"200" doc:"Media type (RFC 6838)"`
	Size   int64  `json:"size,omitempty" minimum:"0" doc:"In bytes"`
	Where  string `json:"where,omitempty" maxLength:"4096" doc:"A path or URL"`
}

type chatInput struct {
	Body ChatRequest
}

type chatOutput struct {
	Body pluginsdk.Accepted
}

func (h *handlers) registerChat(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeChat, post("chat", "/api/chat", "Say something to the agent", http.StatusAccepted)), h.chat)
}

// chat answers once the message and its run are durable, with their ids.
func (h *handlers) chat(ctx context.Context, input *chatInput) (*chatOutput, error) {
	request := input.Body
	if request.Content != "" || len(request.Attachments) == 0 {
		if err := checkContent(request.Content); err != nil {
			return nil, err
		}
	}
	attachments, err := h.attachments(ctx, request.Attachments)
	if err != nil {
		return nil, err
	}
	if err := admitTyped(ctx, request.Content); err != nil {
		return nil, err
	}
	submission := pluginsdk.Submission{
		ThreadID: request.ThreadID, Source: request.Source, Key: request.IdempotencyKey,
		Author: author(ctx, request.Author), Content: request.Content, Attachments: attachments, Unattended: request.Unattended,
		Scope: access.From(ctx).Scope(),
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

// attachments returns the attachments as a message has them.
func (h *handlers) attachments(ctx context.Context, given []ChatAttachment) (all []pluginsdk.Attachment, err error) {
	for n, one := range given {
		field := fmt.Sprintf("attachments[%d]", n)
		switch {
		case one.FileID != "" && one != (ChatAttachment{FileID: one.FileID}):
			return nil, invalid(field, "has a fileId, which says all the rest; leave that out")
		case one.FileID != "":
			answer, err := h.host.Files.Get(ctx, &pluginsdk.GetFileRequest{ID: one.FileID})
			if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
				return nil, invalid(field+".fileId", err.Error()+"; take the file in first, with POST "+filesPath)
			}
			if err != nil {
				return nil, h.fail("chat", err)
			}
			all = append(all, answer.File.Attachment())
		case one.Name == "" || one.Where == "":
			return nil, invalid(field, "needs a fileId, or a name and where it is")
		default:
			all = append(all, pluginsdk.Attachment{Name: one.Name, Type: one.Type, Size: one.Size, Where: one.Where})
		}
	}
	return all, nil
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
