package api_test

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type (
	commands  struct{ *host }
	workspace struct{ *host }
)

func (h commands) List(context.Context, *pluginsdk.ListCommandsRequest) (*pluginsdk.ListCommandsResponse, error) {
	return &pluginsdk.ListCommandsResponse{Commands: []pluginsdk.Command{
		{CommandSpec: pluginsdk.CommandSpec{Name: "stop", Options: []pluginsdk.CommandOption{{Name: "all", Type: pluginsdk.OptionFlag}}}},
		{CommandSpec: pluginsdk.CommandSpec{Name: "delegate"}, Plugin: "delegation"},
	}}, h.err
}

func (h workspace) List(context.Context, *pluginsdk.ListWorkspaceRequest) (*pluginsdk.ListWorkspaceResponse, error) {
	return &pluginsdk.ListWorkspaceResponse{Files: h.files}, h.err
}

func (h workspace) Read(_ context.Context, request *pluginsdk.ReadWorkspaceRequest) (*pluginsdk.ReadWorkspaceResponse, error) {
	key := request.Path
	if request.Version != "" {
		key += "@" + request.Version
	}
	text, ok := h.texts[key]
	if !ok {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no context file %q", key)
	}
	return &pluginsdk.ReadWorkspaceResponse{File: pluginsdk.WorkspaceFile{Path: request.Path, Version: "v2"}, Text: text}, nil
}

func (h workspace) Write(_ context.Context, request *pluginsdk.WriteWorkspaceRequest) (*pluginsdk.WriteWorkspaceResponse, error) {
	return &pluginsdk.WriteWorkspaceResponse{File: pluginsdk.WorkspaceFile{Path: request.Path, Version: "v3"}}, h.ask(*request)
}

func (h workspace) Delete(_ context.Context, request *pluginsdk.DeleteWorkspaceRequest) (*pluginsdk.DeleteWorkspaceResponse, error) {
	return &pluginsdk.DeleteWorkspaceResponse{}, h.ask(*request)
}

func (h workspace) History(_ context.Context, request *pluginsdk.WorkspaceHistoryRequest) (*pluginsdk.WorkspaceHistoryResponse, error) {
	return &pluginsdk.WorkspaceHistoryResponse{Changes: []pluginsdk.WorkspaceChange{{ID: 7, Path: "CLAUDE.md", Kind: pluginsdk.ChangeByAgent}}}, h.ask(*request)
}
