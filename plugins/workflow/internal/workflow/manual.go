package workflow

import (
	"cmp"
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// manual is what the agent of a conversation is told of workflows. An installation's own CLAUDE.md is
// never changed for it.
const manual = `# Workflows

Software of several steps is built by a workflow: the tool ` + "`workflow__workflow_start`" + ` has it planned, built and reviewed in stages by other agents, and merged when a last review has approved all of it.
Start one when somebody asks for something that takes more than one sitting, and has a project's directory for it; say what it may cost. Small changes you make yourself, or delegate. Give it all that the person has said: its agents have not read this conversation. ` +
	"`workflow__workflow_status`" + ` says how far it is. When it waits, only a person can continue it: tell them why it waits, and what to type (/workflow continue ID).`

// OnBeforeInvoke puts the manual in front of the first prompt of a conversation's session.
func (*Plugin) OnBeforeInvoke(_ context.Context, request *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	thread := request.Thread
	if thread.SessionID != "" || thread.Kind != pluginsdk.ThreadPrimary && thread.Kind != pluginsdk.ThreadGeneral {
		return nil, nil //nolint:nilnil // the prompt stays as it is
	}
	return &pluginsdk.OnBeforeInvokeResponse{Prefix: manual}, nil
}

// editsFiles is the permission mode of a stage that works in the project's directory itself.
const editsFiles = "acceptEdits"

// OnTaskCreate gives the tasks of stages the permission mode of their roles. In a worktree the plugin worktree has
// let them edit files already.
func (p *Plugin) OnTaskCreate(ctx context.Context, request *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
	task := request.Task
	id := task.Labels[labelID]
	if task.Plugin != name || id == "" {
		return nil, nil //nolint:nilnil // it is nobody's stage
	}
	rec, err := p.flow(id).read(ctx)
	if err != nil {
		return nil, err
	}
	role := rec.Roles[task.Labels[labelAgent]]
	mode := cmp.Or(role.PermissionMode, editsFiles)
	if was := request.Context.PermissionMode; was != "" && was != "default" && was != editsFiles {
		return nil, nil //nolint:nilnil // it is somebody's will, such as plan
	}
	return &pluginsdk.OnTaskCreateResponse{PermissionMode: &mode}, nil
}
