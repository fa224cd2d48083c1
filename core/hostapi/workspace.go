package hostapi

import (
	"cmp"
	"context"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

type workspace struct{ *caller }

func (s workspace) List(ctx context.Context, _ *pluginsdk.ListWorkspaceRequest) (*pluginsdk.ListWorkspaceResponse, error) {
	return serve(s.caller, "Workspace.List", func() (*pluginsdk.ListWorkspaceResponse, error) {
		files, err := s.Workspace.List(ctx)
		return &pluginsdk.ListWorkspaceResponse{Files: files}, err
	})
}

func (s workspace) Read(ctx context.Context, request *pluginsdk.ReadWorkspaceRequest) (*pluginsdk.ReadWorkspaceResponse, error) {
	return serve(s.caller, "Workspace.Read", func() (*pluginsdk.ReadWorkspaceResponse, error) {
		file, text, err := s.Workspace.Read(ctx, request.Path, request.Version)
		return &pluginsdk.ReadWorkspaceResponse{File: file, Text: text}, err
	})
}

func (s workspace) Write(ctx context.Context, request *pluginsdk.WriteWorkspaceRequest) (*pluginsdk.WriteWorkspaceResponse, error) {
	return serve(s.caller, "Workspace.Write", func() (*pluginsdk.WriteWorkspaceResponse, error) {
		var file pluginsdk.WorkspaceFile
		err := s.change(ctx, request.Author, int64(len(request.Text)+len(request.Base)), func(by ledger.By) (err error) {
			file, err = s.Workspace.Write(ctx, *request, by)
			return err
		})
		return &pluginsdk.WriteWorkspaceResponse{File: file}, err
	})
}

func (s workspace) Delete(ctx context.Context, request *pluginsdk.DeleteWorkspaceRequest) (*pluginsdk.DeleteWorkspaceResponse, error) {
	return serve(s.caller, "Workspace.Delete", func() (*pluginsdk.DeleteWorkspaceResponse, error) {
		err := s.change(ctx, request.Author, 0, func(by ledger.By) error { return s.Workspace.Delete(ctx, *request, by) })
		return &pluginsdk.DeleteWorkspaceResponse{}, err
	})
}

// change makes a change in the plugin's name, or through it in a person's, if its quotas
// allow it.
func (s workspace) change(ctx context.Context, author string, size int64, do func(ledger.By) error) error {
	if err := checkLengths(length{"author", len(author), maxWord}); err != nil {
		return err
	}
	if cmp.Or(pluginsdk.PersonFrom(ctx), author) != "" {
		if err := s.outsideOfHooks(ctx, "changes context files in a person's name"); err != nil {
			return err
		}
	}
	by, err := s.label(ctx, author)
	if err != nil {
		return err
	}
	return s.write(ctx, 1, size, func() error { return do(by) })
}

func (s workspace) History(ctx context.Context, request *pluginsdk.WorkspaceHistoryRequest) (*pluginsdk.WorkspaceHistoryResponse, error) {
	return serve(s.caller, "Workspace.History", func() (*pluginsdk.WorkspaceHistoryResponse, error) {
		query := *request
		query.Limit = min(cmp.Or(max(query.Limit, 0), 100), 1000)
		changes, err := s.Workspace.History(ctx, query)
		return &pluginsdk.WorkspaceHistoryResponse{Changes: page(changes, false, sizeOf)}, err
	})
}
