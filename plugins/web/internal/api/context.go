package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The agent's context files. Their paths are in the query, where a slash is a slash.

// ContextFile is a context file with its text.
type ContextFile struct {
	pluginsdk.WorkspaceFile

	Text string `json:"text"`
}

type contextFilesOutput struct {
	Body struct {
		Files []pluginsdk.WorkspaceFile `json:"files" nullable:"false"`
	}
}

type contextFileInput struct {
	Path    string `query:"path" required:"true" maxLength:"256" doc:"As it is listed, such as context/memory.md"`
	Version string `query:"version" maxLength:"64" doc:"An earlier text; as it is when absent"`
}

type contextFileOutput struct {
	Body ContextFile
}

// ContextText is what a context file is to say.
type ContextText struct {
	Text    string `json:"text" maxLength:"1048576" doc:"All of it"`
	Version string `json:"version,omitempty" maxLength:"64" doc:"That the writer has seen; when absent, the file must not be there"`
	Author  string `json:"author,omitempty" maxLength:"200" doc:"Who writes it; the history says so"`
	Base    string `json:"base,omitempty" maxLength:"1048576" doc:"A text that it was made of, such as the newest starter; the history has it as the change before"`
}

type contextWriteInput struct {
	Path string `query:"path" required:"true" maxLength:"256"`
	Body ContextText
}

type contextDeleteInput struct {
	Path    string `query:"path" required:"true" maxLength:"256"`
	Version string `query:"version" required:"true" maxLength:"64" doc:"That the caller has seen"`
	Author  string `query:"author" maxLength:"200" doc:"Who deletes it; the history says so"`
}

type writtenOutput struct {
	Body pluginsdk.WorkspaceFile
}

type contextHistoryInput struct {
	Path   string `query:"path" maxLength:"256" doc:"Only of this file"`
	Before int64  `query:"before" minimum:"0" doc:"Id of the last change of the page before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most of a page. A page may be shorter although more follow: the end is an empty page"`
}

type contextHistoryOutput struct {
	Body struct {
		Changes []pluginsdk.WorkspaceChange `json:"changes" nullable:"false"`
	}
}

func (h *handlers) registerContext(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-context", "/api/context", "The agent's context files")), h.listContext)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("get-context-file", "/api/context/file", "A context file, or an earlier text of it")), h.getContext)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, put("write-context-file", "/api/context/file", "Make or replace a context file")), h.writeContext)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, remove("delete-context-file", "/api/context/file", "Delete a context file")), h.deleteContext)
	file := api.OpenAPI().Paths["/api/context/file"]
	stale := &huma.Response{
		Description: "The file is of another version, or there is none where one was expected, or one where none was: current is it",
		Content: map[string]*huma.MediaType{"application/problem+json": {
			Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[contextConflict](), true, ""),
		}},
	}
	file.Put.Responses["409"], file.Delete.Responses["409"] = stale, stale
	huma.Register(api, needs(pluginsdk.ScopeRead, get("context-history", "/api/context/history", "Who changed the context files, newest first")), h.contextHistory)
}

func (h *handlers) listContext(ctx context.Context, _ *struct{}) (*contextFilesOutput, error) {
	answer, err := h.host.Workspace.List(ctx, &pluginsdk.ListWorkspaceRequest{})
	if err != nil {
		return nil, h.fail("list-context", err)
	}
	output := &contextFilesOutput{}
	output.Body.Files = list(answer.Files)
	return output, nil
}

func (h *handlers) getContext(ctx context.Context, input *contextFileInput) (*contextFileOutput, error) {
	answer, err := h.host.Workspace.Read(ctx, &pluginsdk.ReadWorkspaceRequest{Path: input.Path, Version: input.Version})
	if err != nil {
		return nil, h.fail("get-context-file", err)
	}
	return &contextFileOutput{Body: ContextFile{answer.File, answer.Text}}, nil
}

func (h *handlers) writeContext(ctx context.Context, input *contextWriteInput) (*writtenOutput, error) {
	answer, err := h.host.Workspace.Write(ctx, &pluginsdk.WriteWorkspaceRequest{
		Path: input.Path, Text: input.Body.Text, Version: input.Body.Version, Base: input.Body.Base, Author: cmp.Or(author(ctx, input.Body.Author), somebody),
	})
	if err != nil {
		return nil, h.conflict(ctx, "write-context-file", input.Path, err)
	}
	return &writtenOutput{Body: answer.File}, nil
}

func (h *handlers) deleteContext(ctx context.Context, input *contextDeleteInput) (*struct{}, error) {
	_, err := h.host.Workspace.Delete(ctx, &pluginsdk.DeleteWorkspaceRequest{
		Path: input.Path, Version: input.Version, Author: cmp.Or(author(ctx, input.Author), somebody),
	})
	if err != nil {
		return nil, h.conflict(ctx, "delete-context-file", input.Path, err)
	}
	return nil, nil
}

func (h *handlers) contextHistory(ctx context.Context, input *contextHistoryInput) (*contextHistoryOutput, error) {
	answer, err := h.host.Workspace.History(ctx, &pluginsdk.WorkspaceHistoryRequest{Path: input.Path, Before: input.Before, Limit: input.Limit})
	if err != nil {
		return nil, h.fail("context-history", err)
	}
	output := &contextHistoryOutput{}
	output.Body.Changes = list(answer.Changes)
	return output, nil
}

// contextConflict is a problem that shows the file as it is, so that the caller can decide
// what becomes of both texts.
type contextConflict struct {
	huma.ErrorModel

	Current *ContextFile `json:"current,omitempty"` // absent: it is not there
}

// conflict is fail for a change of a file: that of a version which is not the file's is
// answered with the file.
func (h *handlers) conflict(ctx context.Context, operation, path string, err error) error {
	if problem.Status(err) != http.StatusConflict {
		return h.fail(operation, err)
	}
	answer := &contextConflict{ErrorModel: huma.ErrorModel{Status: http.StatusConflict, Title: http.StatusText(http.StatusConflict), Detail: err.Error()}}
	if is, err := h.host.Workspace.Read(ctx, &pluginsdk.ReadWorkspaceRequest{Path: path}); err == nil {
		answer.Current = &ContextFile{is.File, is.Text}
	}
	return answer
}
