package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type messagesInput struct {
	ID     string                  `path:"id" maxLength:"100"`
	After  int64                   `query:"after" minimum:"0" doc:"Only messages with a greater id"`
	Before int64                   `query:"before" minimum:"0" doc:"Only messages with a smaller id"`
	Last   bool                    `query:"last" doc:"The newest of them instead of the oldest; oldest first all the same"`
	Run    string                  `query:"run" maxLength:"100" doc:"Only those of this run"`
	Limit  int                     `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most of a page. A page may be shorter although more follow: the end is an empty page"`
	Roles  []pluginsdk.Role        `query:"role,explode" enum:"user,assistant,system" doc:"Only these roles"`
	Kinds  []pluginsdk.MessageKind `query:"kind,explode" enum:"text,status,pipeline_step,thinking,tool_call,tool_result,notification,summary" doc:"Only these kinds"`
}

type messagesOutput struct {
	Body struct {
		Messages []pluginsdk.Message `json:"messages" nullable:"false"`
	}
}

func (h *handlers) registerMessages(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-messages", "/api/threads/{id}/messages", "Messages of a thread, oldest first")), h.listMessages)
}

func (h *handlers) listMessages(ctx context.Context, input *messagesInput) (*messagesOutput, error) {
	answer, err := h.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{
		ThreadID: input.ID, After: input.After, Before: input.Before, Last: input.Last, RunID: input.Run, Limit: input.Limit,
		Roles: input.Roles, Kinds: input.Kinds,
	}})
	if err != nil {
		return nil, h.fail("list-messages", err)
	}
	if len(answer.Messages) == 0 {
		if err := h.mustExist(ctx, "list-messages", input.ID); err != nil {
			return nil, err
		}
	}
	output := &messagesOutput{}
	output.Body.Messages = list(answer.Messages)
	return output, nil
}
