package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func workspaceFileTo(v pluginsdk.WorkspaceFile) *typesv1.WorkspaceFile {
	return &typesv1.WorkspaceFile{
		Path:       v.Path,
		Version:    v.Version,
		Size:       v.Size,
		ModifiedAt: timeTo(v.ModifiedAt),
	}
}

func workspaceFileFrom(m *typesv1.WorkspaceFile) pluginsdk.WorkspaceFile {
	return pluginsdk.WorkspaceFile{
		Path:       m.GetPath(),
		Version:    m.GetVersion(),
		Size:       m.GetSize(),
		ModifiedAt: timeFrom(m.GetModifiedAt()),
	}
}

func workspaceChangeTo(v pluginsdk.WorkspaceChange) *typesv1.WorkspaceChange {
	return &typesv1.WorkspaceChange{
		Id:       v.ID,
		Path:     v.Path,
		Kind:     string(v.Kind),
		Before:   v.Before,
		Version:  v.Version,
		Size:     v.Size,
		Author:   v.Author,
		Plugin:   v.Plugin,
		ThreadId: v.ThreadID,
		RunId:    v.RunID,
		At:       timeTo(v.At),
		Origin:   originTo(v.Origin),
	}
}

func workspaceChangeFrom(m *typesv1.WorkspaceChange) pluginsdk.WorkspaceChange {
	return pluginsdk.WorkspaceChange{
		ID:       m.GetId(),
		Path:     m.GetPath(),
		Kind:     pluginsdk.ChangeKind(m.GetKind()),
		Before:   m.GetBefore(),
		Version:  m.GetVersion(),
		Size:     m.GetSize(),
		Author:   m.GetAuthor(),
		Plugin:   m.GetPlugin(),
		ThreadID: m.GetThreadId(),
		RunID:    m.GetRunId(),
		At:       timeFrom(m.GetAt()),
		Origin:   originFrom(m.GetOrigin()),
	}
}

func listWorkspaceResponseTo(v pluginsdk.ListWorkspaceResponse) *hostv1.ListWorkspaceResponse {
	return &hostv1.ListWorkspaceResponse{
		Files: listTo(v.Files, workspaceFileTo),
	}
}

func listWorkspaceResponseFrom(m *hostv1.ListWorkspaceResponse) pluginsdk.ListWorkspaceResponse {
	return pluginsdk.ListWorkspaceResponse{
		Files: listFrom(m.GetFiles(), workspaceFileFrom),
	}
}

func readWorkspaceRequestTo(v pluginsdk.ReadWorkspaceRequest) *hostv1.ReadWorkspaceRequest {
	return &hostv1.ReadWorkspaceRequest{
		Path:    v.Path,
		Version: v.Version,
	}
}

func readWorkspaceRequestFrom(m *hostv1.ReadWorkspaceRequest) pluginsdk.ReadWorkspaceRequest {
	return pluginsdk.ReadWorkspaceRequest{
		Path:    m.GetPath(),
		Version: m.GetVersion(),
	}
}

func readWorkspaceResponseTo(v pluginsdk.ReadWorkspaceResponse) *hostv1.ReadWorkspaceResponse {
	return &hostv1.ReadWorkspaceResponse{
		File: workspaceFileTo(v.File),
		Text: v.Text,
	}
}

func readWorkspaceResponseFrom(m *hostv1.ReadWorkspaceResponse) pluginsdk.ReadWorkspaceResponse {
	return pluginsdk.ReadWorkspaceResponse{
		File: workspaceFileFrom(m.GetFile()),
		Text: m.GetText(),
	}
}

func writeWorkspaceRequestTo(v pluginsdk.WriteWorkspaceRequest) *hostv1.WriteWorkspaceRequest {
	return &hostv1.WriteWorkspaceRequest{
		Path:    v.Path,
		Text:    v.Text,
		Version: v.Version,
		Author:  v.Author,
		Base:    v.Base,
	}
}

func writeWorkspaceRequestFrom(m *hostv1.WriteWorkspaceRequest) pluginsdk.WriteWorkspaceRequest {
	return pluginsdk.WriteWorkspaceRequest{
		Path:    m.GetPath(),
		Text:    m.GetText(),
		Version: m.GetVersion(),
		Author:  m.GetAuthor(),
		Base:    m.GetBase(),
	}
}

func writeWorkspaceResponseTo(v pluginsdk.WriteWorkspaceResponse) *hostv1.WriteWorkspaceResponse {
	return &hostv1.WriteWorkspaceResponse{
		File: workspaceFileTo(v.File),
	}
}

func writeWorkspaceResponseFrom(m *hostv1.WriteWorkspaceResponse) pluginsdk.WriteWorkspaceResponse {
	return pluginsdk.WriteWorkspaceResponse{
		File: workspaceFileFrom(m.GetFile()),
	}
}

func deleteWorkspaceRequestTo(v pluginsdk.DeleteWorkspaceRequest) *hostv1.DeleteWorkspaceRequest {
	return &hostv1.DeleteWorkspaceRequest{
		Path:    v.Path,
		Version: v.Version,
		Author:  v.Author,
	}
}

func deleteWorkspaceRequestFrom(m *hostv1.DeleteWorkspaceRequest) pluginsdk.DeleteWorkspaceRequest {
	return pluginsdk.DeleteWorkspaceRequest{
		Path:    m.GetPath(),
		Version: m.GetVersion(),
		Author:  m.GetAuthor(),
	}
}

func workspaceHistoryRequestTo(v pluginsdk.WorkspaceHistoryRequest) *hostv1.WorkspaceHistoryRequest {
	return &hostv1.WorkspaceHistoryRequest{
		Path:   v.Path,
		Before: v.Before,
		Limit:  int64(v.Limit),
	}
}

func workspaceHistoryRequestFrom(m *hostv1.WorkspaceHistoryRequest) pluginsdk.WorkspaceHistoryRequest {
	return pluginsdk.WorkspaceHistoryRequest{
		Path:   m.GetPath(),
		Before: m.GetBefore(),
		Limit:  int(m.GetLimit()),
	}
}

func workspaceHistoryResponseTo(v pluginsdk.WorkspaceHistoryResponse) *hostv1.WorkspaceHistoryResponse {
	return &hostv1.WorkspaceHistoryResponse{
		Changes: listTo(v.Changes, workspaceChangeTo),
	}
}

func workspaceHistoryResponseFrom(m *hostv1.WorkspaceHistoryResponse) pluginsdk.WorkspaceHistoryResponse {
	return pluginsdk.WorkspaceHistoryResponse{
		Changes: listFrom(m.GetChanges(), workspaceChangeFrom),
	}
}
