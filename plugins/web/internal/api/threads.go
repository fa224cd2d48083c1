package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// ThreadRequest is what a thread is made from.
type ThreadRequest struct {
	Name           string             `json:"name,omitempty" maxLength:"200" doc:"What people call it"`
	SourceID       string             `json:"sourceId,omitempty" maxLength:"200" doc:"The caller's own id of the thread: repeated, the first thread is returned; a random one when absent"`
	ParentThreadID string             `json:"parentThreadId,omitempty" maxLength:"100"`
	Model          string             `json:"model,omitempty" maxLength:"100" doc:"The agent's model; the configured one when absent"`
	Effort         string             `json:"effort,omitempty" maxLength:"50"`
	PermissionMode string             `json:"permissionMode,omitempty" enum:"default,acceptEdits,plan,dontAsk"`
	Cwd            string             `json:"cwd,omitempty" maxLength:"4096" doc:"The agent's working directory; the workspace when absent"`
	OwnDirectory   bool               `json:"ownDirectory,omitempty" doc:"Without cwd: a directory that nobody else has, outside of the workspace, of which the agent learns nothing there"`
	ReportTo       string             `json:"reportTo,omitempty" maxLength:"300" doc:"Where replies go: PLUGIN:PLACE or thread:ID; to who carries its source when absent"`
	Instructions   string             `json:"instructions,omitempty" maxLength:"65536" doc:"Said to the agent with each message"`
	BusyMode       pluginsdk.BusyMode `json:"busyMode,omitempty" enum:"queue,steer,collect,interrupt" doc:"What a message does that arrives while the agent is busy; queue when absent"`
	AskTools       string             `json:"askTools,omitempty" maxLength:"4096" doc:"Tools whose calls people are asked about when nothing allows them: names with spaces between them, all, or none; the configured ones when absent"`
	Account        string             `json:"account,omitempty" maxLength:"40" doc:"The account of the agent's that it uses; the default one when absent"`
}

type threadInput struct {
	Body ThreadRequest
}

type threadOutput struct {
	Body pluginsdk.Thread
}

type idInput struct {
	ID string `path:"id" maxLength:"100"`
}

type threadsInput struct {
	After    string                   `query:"after" maxLength:"100" doc:"Id of the last thread of the page before"`
	Limit    int                      `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most of a page. A page may be shorter although more follow: the end is an empty page"`
	Source   string                   `query:"source" maxLength:"100"`
	SourceID string                   `query:"sourceId" maxLength:"200"`
	Kinds    []pluginsdk.ThreadKind   `query:"kind,explode" enum:"primary,task,cron,general" doc:"Only these kinds"`
	Statuses []pluginsdk.ThreadStatus `query:"status,explode" enum:"active,idle,archived" doc:"Only these statuses"`
	Text     string                   `query:"text" maxLength:"200" doc:"Only threads whose name has each of these words somewhere in it, whatever the case of the letters"`
	Order    pluginsdk.ThreadOrder    `query:"order" enum:"oldest,newest,activity" default:"oldest" doc:"activity: the latest activity first"`
	Unread   bool                     `query:"unread" doc:"Count what a person has not read in each"`
}

type threadsOutput struct {
	Body struct {
		Threads []pluginsdk.Thread `json:"threads" nullable:"false"`
	}
}

func (h *handlers) registerThreads(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeChat, post("create-thread", "/api/threads", "Make a thread", http.StatusCreated)), h.createThread)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-threads", "/api/threads", "Threads")), h.listThreads)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("get-thread", "/api/threads/{id}", "A thread")), h.getThread)
	huma.Register(api, needs(pluginsdk.ScopeChat, patch("update-thread", "/api/threads/{id}", "Change a thread")), h.updateThread)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, remove("delete-thread", "/api/threads/{id}", "Delete a thread for good")), h.deleteThread)
	huma.Register(api, needs(pluginsdk.ScopeChat, post("branch-thread", "/api/threads/{id}/branch", "Make a thread that has the messages of another up to one of them", http.StatusCreated)), h.branchThread)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-commands", "/api/commands", "What people can type")), h.listCommands)
	huma.Register(api, needs(pluginsdk.ScopeChat, post("stop-thread", "/api/threads/{id}/stop", "Interrupt what a thread is doing", http.StatusOK)), h.stopThread)
}

func (h *handlers) createThread(ctx context.Context, input *threadInput) (*threadOutput, error) {
	request := input.Body
	if request.SourceID == "" {
		request.SourceID = rand.Text()
	}
	if err := admits(ctx, pluginsdk.ScopeAdmin, field{"permissionMode", request.PermissionMode != ""},
		field{"cwd", request.Cwd != ""}, field{"reportTo", request.ReportTo != ""}, field{"askTools", request.AskTools != ""},
		field{"account", request.Account != ""}); err != nil {
		return nil, err
	}
	target, err := reportTo(request.ReportTo)
	if err != nil {
		return nil, err
	}
	answer, err := h.host.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{
		Source: "web", SourceID: request.SourceID, Name: request.Name, ReportTo: target,
		Kind: pluginsdk.ThreadGeneral, ParentThreadID: request.ParentThreadID,
		Model: request.Model, Effort: request.Effort, PermissionMode: request.PermissionMode,
		Cwd: request.Cwd, Instructions: request.Instructions, BusyMode: request.BusyMode, AskTools: request.AskTools,
		OwnDirectory: request.OwnDirectory, Account: request.Account,
	}})
	if err != nil {
		return nil, h.fail("create-thread", err)
	}
	return &threadOutput{Body: answer.Thread}, nil
}

// reportTo reads where a thread's replies go.
func reportTo(text string) (pluginsdk.Target, error) {
	target, err := pluginsdk.ParseTarget(text)
	if err != nil {
		return target, invalid("reportTo", err.Error())
	}
	return target, nil
}

func (h *handlers) listThreads(ctx context.Context, input *threadsInput) (*threadsOutput, error) {
	answer, err := h.host.Threads.List(ctx, &pluginsdk.ListThreadsRequest{Query: pluginsdk.ThreadQuery{
		Source: input.Source, SourceID: input.SourceID, Kinds: input.Kinds, Statuses: input.Statuses,
		Text: input.Text, Order: input.Order, Unread: input.Unread, After: input.After, Limit: input.Limit,
	}})
	if err != nil {
		return nil, h.fail("list-threads", err)
	}
	output := &threadsOutput{}
	output.Body.Threads = list(answer.Threads)
	return output, nil
}

func (h *handlers) getThread(ctx context.Context, input *idInput) (*threadOutput, error) {
	answer, err := h.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: input.ID})
	if err != nil {
		return nil, h.fail("get-thread", err)
	}
	return &threadOutput{Body: answer.Thread}, nil
}

// mustExist tells an empty list of a thread from a thread that does not exist.
// It is asked only when a list came back empty.
func (h *handlers) mustExist(ctx context.Context, operation, threadID string) error {
	if _, err := h.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: threadID}); err != nil {
		return h.fail(operation, err)
	}
	return nil
}

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
	AskTools          *string                 `json:"askTools,omitempty" maxLength:"4096" doc:"Tools whose calls people are asked about when nothing allows them: names with spaces between them, all, or none; the configured ones when empty"`
	Account           *string                 `json:"account,omitempty" maxLength:"40" doc:"The account of the agent's that it uses, from the next message on, in a new session with its history; the default one when empty"`
	LastReadMessageID *int64                  `json:"lastReadMessageId,omitempty" minimum:"0" doc:"The newest message that a person has read"`
}

type threadChangeInput struct {
	ID   string `path:"id" maxLength:"100"`
	Body ThreadChange
}

func (h *handlers) updateThread(ctx context.Context, input *threadChangeInput) (*threadOutput, error) {
	change := input.Body
	if err := admits(ctx, pluginsdk.ScopeAdmin, field{"permissionMode", change.PermissionMode != nil},
		field{"cwd", change.Cwd != nil}, field{"reportTo", change.ReportTo != nil}, field{"askTools", change.AskTools != nil},
		field{"account", change.Account != nil}); err != nil {
		return nil, err
	}
	if err := admits(ctx, pluginsdk.ScopeApprove, field{"model", change.Model != nil}, field{"effort", change.Effort != nil},
		field{"instructions", change.Instructions != nil}); err != nil {
		return nil, err
	}
	request := &pluginsdk.UpdateThreadRequest{ID: input.ID, Patch: pluginsdk.ThreadPatch{
		Name: change.Name, Status: change.Status, Model: change.Model, Effort: change.Effort,
		PermissionMode: change.PermissionMode, Cwd: change.Cwd, Instructions: change.Instructions,
		BusyMode: change.BusyMode, AskTools: change.AskTools, Account: change.Account, LastReadMessageID: change.LastReadMessageID,
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

type deleteThreadInput struct {
	ID     string `path:"id" maxLength:"100"`
	Author string `query:"author" maxLength:"200" doc:"Who wants it; the audit log says so"`
}

// deleteThread answers the same for a thread that is not there.
func (h *handlers) deleteThread(ctx context.Context, input *deleteThreadInput) (*struct{}, error) {
	_, err := h.host.Threads.Delete(ctx, &pluginsdk.DeleteThreadRequest{ID: input.ID, Author: cmp.Or(author(ctx, input.Author), somebody)})
	if err != nil {
		return nil, h.fail("delete-thread", err)
	}
	return nil, nil
}

// BranchRequest says where a new thread leaves another.
type BranchRequest struct {
	MessageID int64  `json:"messageId,omitempty" minimum:"0" doc:"The last message that is copied; the newest when absent"`
	SourceID  string `json:"sourceId,omitempty" maxLength:"200" doc:"The caller's own id of the new thread: repeated, the first one is returned; a random one when absent"`
	Name      string `json:"name,omitempty" maxLength:"200" doc:"What people call it; as the other when absent"`
}

type branchInput struct {
	ID   string         `path:"id" maxLength:"100"`
	Body *BranchRequest // may be absent
}

func (h *handlers) branchThread(ctx context.Context, input *branchInput) (*threadOutput, error) {
	var request BranchRequest
	if input.Body != nil {
		request = *input.Body
	}
	answer, err := h.host.Threads.Branch(ctx, &pluginsdk.BranchThreadRequest{
		ThreadID: input.ID, MessageID: request.MessageID, Source: "web", SourceID: cmp.Or(request.SourceID, rand.Text()), Name: request.Name,
	})
	if err != nil {
		return nil, h.fail("branch-thread", err)
	}
	return &threadOutput{Body: answer.Thread}, nil
}

type commandsOutput struct {
	Body struct {
		Commands []pluginsdk.Command `json:"commands" nullable:"false"`
	}
}

func (h *handlers) listCommands(ctx context.Context, _ *struct{}) (*commandsOutput, error) {
	answer, err := h.host.Commands.List(ctx, &pluginsdk.ListCommandsRequest{})
	if err != nil {
		return nil, h.fail("list-commands", err)
	}
	output := &commandsOutput{}
	output.Body.Commands = list(answer.Commands)
	return output, nil
}

// StopRequest says what becomes of the messages that wait, and who wants it.
type StopRequest struct {
	Queue  pluginsdk.Queue `json:"queue,omitempty" enum:"keep,drop" doc:"keep: they are answered next; drop: they are cancelled; keep when absent"`
	Author string          `json:"author,omitempty" maxLength:"200" doc:"Who wants it; the run says so. With a token, its name in place of this"`
}

// somebody is in whose name the API asks when the request names nobody: it was a
// person, and not the plugin.
const somebody = "a person"

// Stopped is what a stop did.
type Stopped struct {
	RunID   string   `json:"runId,omitempty" doc:"The run that was interrupted or given up; absent when there was none. An interrupted one ends a moment later"`
	Dropped []string `json:"dropped" nullable:"false" doc:"Ids of the runs that were cancelled in the queue"`
}

type stopInput struct {
	ID   string       `path:"id" maxLength:"100"`
	Body *StopRequest // may be absent
}

type stopOutput struct {
	Body Stopped
}

func (h *handlers) stopThread(ctx context.Context, input *stopInput) (*stopOutput, error) {
	var request StopRequest
	if input.Body != nil {
		request = *input.Body
	}
	answer, err := h.host.Runs.Stop(ctx, &pluginsdk.StopThreadRequest{
		ThreadID: input.ID, Queue: cmp.Or(request.Queue, pluginsdk.KeepQueue), Author: cmp.Or(author(ctx, request.Author), somebody),
	})
	if err != nil {
		return nil, h.fail("stop-thread", err)
	}
	return &stopOutput{Body: Stopped{RunID: answer.Stopped.RunID, Dropped: list(answer.Stopped.Dropped)}}, nil
}
