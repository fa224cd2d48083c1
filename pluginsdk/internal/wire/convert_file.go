package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func fileTo(v pluginsdk.File) *typesv1.File {
	return &typesv1.File{
		Id:        v.ID,
		Sha256:    v.SHA256,
		Name:      v.Name,
		Type:      v.Type,
		Size:      v.Size,
		ThreadId:  v.ThreadID,
		Plugin:    v.Plugin,
		Author:    v.Author,
		CreatedAt: timeTo(v.CreatedAt),
	}
}

func fileFrom(m *typesv1.File) pluginsdk.File {
	return pluginsdk.File{
		ID:        m.GetId(),
		SHA256:    m.GetSha256(),
		Name:      m.GetName(),
		Type:      m.GetType(),
		Size:      m.GetSize(),
		ThreadID:  m.GetThreadId(),
		Plugin:    m.GetPlugin(),
		Author:    m.GetAuthor(),
		CreatedAt: timeFrom(m.GetCreatedAt()),
	}
}

func fileQueryTo(v pluginsdk.FileQuery) *typesv1.FileQuery {
	return &typesv1.FileQuery{
		ThreadId: v.ThreadID,
		Sha256:   v.SHA256,
		Newest:   v.Newest,
		After:    v.After,
		Limit:    int64(v.Limit),
	}
}

func fileQueryFrom(m *typesv1.FileQuery) pluginsdk.FileQuery {
	return pluginsdk.FileQuery{
		ThreadID: m.GetThreadId(),
		SHA256:   m.GetSha256(),
		Newest:   m.GetNewest(),
		After:    m.GetAfter(),
		Limit:    int(m.GetLimit()),
	}
}

func beginFileRequestTo(v pluginsdk.BeginFileRequest) *hostv1.BeginFileRequest {
	return &hostv1.BeginFileRequest{
		Name:     v.Name,
		Size:     v.Size,
		ThreadId: v.ThreadID,
		Author:   v.Author,
	}
}

func beginFileRequestFrom(m *hostv1.BeginFileRequest) pluginsdk.BeginFileRequest {
	return pluginsdk.BeginFileRequest{
		Name:     m.GetName(),
		Size:     m.GetSize(),
		ThreadID: m.GetThreadId(),
		Author:   m.GetAuthor(),
	}
}

func beginFileResponseTo(v pluginsdk.BeginFileResponse) *hostv1.BeginFileResponse {
	return &hostv1.BeginFileResponse{
		UploadId: v.UploadID,
	}
}

func beginFileResponseFrom(m *hostv1.BeginFileResponse) pluginsdk.BeginFileResponse {
	return pluginsdk.BeginFileResponse{
		UploadID: m.GetUploadId(),
	}
}

func writeFileRequestTo(v pluginsdk.WriteFileRequest) *hostv1.WriteFileRequest {
	return &hostv1.WriteFileRequest{
		UploadId: v.UploadID,
		Offset:   v.Offset,
		Data:     v.Data,
	}
}

func writeFileRequestFrom(m *hostv1.WriteFileRequest) pluginsdk.WriteFileRequest {
	return pluginsdk.WriteFileRequest{
		UploadID: m.GetUploadId(),
		Offset:   m.GetOffset(),
		Data:     m.GetData(),
	}
}

func writeFileResponseTo(v pluginsdk.WriteFileResponse) *hostv1.WriteFileResponse {
	return &hostv1.WriteFileResponse{
		Written: v.Written,
	}
}

func writeFileResponseFrom(m *hostv1.WriteFileResponse) pluginsdk.WriteFileResponse {
	return pluginsdk.WriteFileResponse{
		Written: m.GetWritten(),
	}
}

func commitFileRequestTo(v pluginsdk.CommitFileRequest) *hostv1.CommitFileRequest {
	return &hostv1.CommitFileRequest{
		UploadId: v.UploadID,
		Sha256:   v.SHA256,
	}
}

func commitFileRequestFrom(m *hostv1.CommitFileRequest) pluginsdk.CommitFileRequest {
	return pluginsdk.CommitFileRequest{
		UploadID: m.GetUploadId(),
		SHA256:   m.GetSha256(),
	}
}

func commitFileResponseTo(v pluginsdk.CommitFileResponse) *hostv1.CommitFileResponse {
	return &hostv1.CommitFileResponse{
		File: fileTo(v.File),
	}
}

func commitFileResponseFrom(m *hostv1.CommitFileResponse) pluginsdk.CommitFileResponse {
	return pluginsdk.CommitFileResponse{
		File: fileFrom(m.GetFile()),
	}
}

func getFileRequestTo(v pluginsdk.GetFileRequest) *hostv1.GetFileRequest {
	return &hostv1.GetFileRequest{
		Id: v.ID,
	}
}

func getFileRequestFrom(m *hostv1.GetFileRequest) pluginsdk.GetFileRequest {
	return pluginsdk.GetFileRequest{
		ID: m.GetId(),
	}
}

func getFileResponseTo(v pluginsdk.GetFileResponse) *hostv1.GetFileResponse {
	return &hostv1.GetFileResponse{
		File: fileTo(v.File),
	}
}

func getFileResponseFrom(m *hostv1.GetFileResponse) pluginsdk.GetFileResponse {
	return pluginsdk.GetFileResponse{
		File: fileFrom(m.GetFile()),
	}
}

func listFilesRequestTo(v pluginsdk.ListFilesRequest) *hostv1.ListFilesRequest {
	return &hostv1.ListFilesRequest{
		Query: fileQueryTo(v.Query),
	}
}

func listFilesRequestFrom(m *hostv1.ListFilesRequest) pluginsdk.ListFilesRequest {
	return pluginsdk.ListFilesRequest{
		Query: fileQueryFrom(m.GetQuery()),
	}
}

func listFilesResponseTo(v pluginsdk.ListFilesResponse) *hostv1.ListFilesResponse {
	return &hostv1.ListFilesResponse{
		Files: listTo(v.Files, fileTo),
	}
}

func listFilesResponseFrom(m *hostv1.ListFilesResponse) pluginsdk.ListFilesResponse {
	return pluginsdk.ListFilesResponse{
		Files: listFrom(m.GetFiles(), fileFrom),
	}
}

func readFileRequestTo(v pluginsdk.ReadFileRequest) *hostv1.ReadFileRequest {
	return &hostv1.ReadFileRequest{
		Id:     v.ID,
		Offset: v.Offset,
		Limit:  int64(v.Limit),
	}
}

func readFileRequestFrom(m *hostv1.ReadFileRequest) pluginsdk.ReadFileRequest {
	return pluginsdk.ReadFileRequest{
		ID:     m.GetId(),
		Offset: m.GetOffset(),
		Limit:  int(m.GetLimit()),
	}
}

func readFileResponseTo(v pluginsdk.ReadFileResponse) *hostv1.ReadFileResponse {
	return &hostv1.ReadFileResponse{
		Data: v.Data,
	}
}

func readFileResponseFrom(m *hostv1.ReadFileResponse) pluginsdk.ReadFileResponse {
	return pluginsdk.ReadFileResponse{
		Data: m.GetData(),
	}
}

func deleteFileRequestTo(v pluginsdk.DeleteFileRequest) *hostv1.DeleteFileRequest {
	return &hostv1.DeleteFileRequest{
		Id:     v.ID,
		Author: v.Author,
	}
}

func deleteFileRequestFrom(m *hostv1.DeleteFileRequest) pluginsdk.DeleteFileRequest {
	return pluginsdk.DeleteFileRequest{
		ID:     m.GetId(),
		Author: m.GetAuthor(),
	}
}
