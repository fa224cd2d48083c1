package api

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// ThreadChange says which fields of a thread change, and to what.
type ThreadChange struct {
	Name              *string                 `json:"name,omitempty" maxLength:"200" doc:"What people call it"`
	Status            *pluginsdk.ThreadStatus `json:"status,omitempty" enum:"active,idle,archived"`
	Model             *string                 `json:"model,omitempty" maxLength:"100" doc:"The agent's model; the configured one when empty"`
	Effort            *string                 `json:"effort,omitempty" maxLength:"50"`
	PermissionMode    *string                 `json:"permissionMode,omitempty" enum:",default,acceptEdits,plan,dontAsk" doc:"The configured one when empty"`
	Cwd               *string                 `json:"cwd,omitempty" maxLength:"4096" doc:"The agent's working directory; the workspace when empty"`
	ReportTo          *string                 `json:"reportTo,omitempty" maxLength:"300" doc:"Where replies go: PLUGIN:PLACE or thread:ID; to who carries its source when empty"`
	Instructions      *string                 `json:"instructions,omitempty" maxLength:"65536" doc:"Said to the agent with each message"`
	BusyMode          *pluginsdk.BusyMode     `json:"busyMode,omitempty" enum:"queue,steer,collect,interrupt" doc:"What a message does that arrives while the agent is busy"`
	LastReadMessageID *int64                  `json:"lastReadMessageId,omitempty" minimum:"0" doc:"The newest message that a person has read"`
}

type threadChangeInput struct {
	ID   string `path:"id" maxLength:"100"`
	Body ThreadChange
}

func (h *handlers) updateThread(ctx context.Context, input *threadChangeInput) (*threadOutput, error) {
	change := input.Body
	request := &pluginsdk.UpdateThreadRequest{ID: input.ID, Patch: pluginsdk.ThreadPatch{
		Name: change.Name, Status: change.Status, Model: change.Model, Effort: change.Effort,
		PermissionMode: change.PermissionMode, Cwd: change.Cwd, Instructions: change.Instructions,
		BusyMode: change.BusyMode, LastReadMessageID: change.LastReadMessageID,
	}}
	if change.ReportTo != nil {
		target, err := reportTo(*change.ReportTo)
		if err != nil {
			return nil, err
		}
		request.Patch.ReportTo = &target
	}
	answer, err := h.host.Threads.Update(ctx, request)
	if err != nil {
		return nil, h.fail("update-thread", err)
	}
	return &threadOutput{Body: answer.Thread}, nil
}
