package plugintest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// fileChunk is the most that is written or read at once, in bytes.
const fileChunk = 4 << 20

type files struct{ view }

// upload is a file that is coming in.
type upload struct {
	plugin string
	begun  pluginsdk.BeginFileRequest
	data   []byte
	fileID string // once it was committed
}

// AddFile puts a file into the host, and returns it: its id, hash, size and time are made
// when they are missing.
func (h *Host) AddFile(file pluginsdk.File, data []byte) pluginsdk.File {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.addFile(file, data)
}

func (h *Host) addFile(file pluginsdk.File, data []byte) pluginsdk.File {
	sum := sha256.Sum256(data)
	file.SHA256, file.Size = hex.EncodeToString(sum[:]), int64(len(data))
	if file.ID == "" {
		file.ID = h.nextID("file")
	}
	if file.Type == "" { // the core knows more types
		file.Type, _, _ = strings.Cut(http.DetectContentType(data), ";")
	}
	if file.CreatedAt.IsZero() {
		file.CreatedAt = now()
	}
	h.files = append(h.files, file)
	h.bytes[file.SHA256] = bytes.Clone(data)
	return file
}

// Files returns the files that there are, oldest first.
func (h *Host) Files() []pluginsdk.File {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.files)
}

func fileID(f pluginsdk.File) string { return f.ID }

func (s files) Begin(ctx context.Context, request *pluginsdk.BeginFileRequest) (*pluginsdk.BeginFileResponse, error) {
	leave, err := s.h.enter(ctx, "Files.Begin")
	if err != nil {
		return nil, err
	}
	defer leave()
	if request.Size < 0 {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "size: %d bytes is no size", request.Size)
	}
	id := s.h.nextID("upload")
	s.h.uploads[id] = &upload{plugin: s.manifest.Name, begun: *request}
	return &pluginsdk.BeginFileResponse{UploadID: id}, nil
}

// find returns the plugin's upload.
func (s files) find(id string) (*upload, error) {
	u := s.h.uploads[id]
	if u == nil || u.plugin != s.manifest.Name {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no upload %q under way", id)
	}
	return u, nil
}

func (s files) Write(ctx context.Context, request *pluginsdk.WriteFileRequest) (*pluginsdk.WriteFileResponse, error) {
	leave, err := s.h.enter(ctx, "Files.Write")
	if err != nil {
		return nil, err
	}
	defer leave()
	u, err := s.find(request.UploadID)
	if err != nil {
		return nil, err
	}
	written, end := int64(len(u.data)), request.Offset+int64(len(request.Data))
	switch {
	case len(request.Data) > fileChunk:
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "data: at most %d bytes at once, these are %d", fileChunk, len(request.Data))
	case request.Offset < 0 || request.Offset > written:
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "offset: %d; the next bytes are those from %d on", request.Offset, written)
	case end > u.begun.Size:
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "data: %d bytes are more than the %d that were announced", end, u.begun.Size)
	}
	known := min(end, written) - request.Offset
	if !bytes.Equal(u.data[request.Offset:request.Offset+known], request.Data[:known]) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeConflict, "offset: other bytes than these were written from %d on", request.Offset)
	}
	u.data = append(u.data, request.Data[known:]...)
	return &pluginsdk.WriteFileResponse{Written: int64(len(u.data))}, nil
}

func (s files) Commit(ctx context.Context, request *pluginsdk.CommitFileRequest) (*pluginsdk.CommitFileResponse, error) {
	leave, err := s.h.enter(ctx, "Files.Commit")
	if err != nil {
		return nil, err
	}
	defer leave()
	u, err := s.find(request.UploadID)
	if err != nil {
		return nil, err
	}
	if u.fileID == "" {
		if int64(len(u.data)) != u.begun.Size {
			delete(s.h.uploads, request.UploadID)
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the upload %s has %d bytes of the %d that were announced", request.UploadID, len(u.data), u.begun.Size)
		}
		sum := sha256.Sum256(u.data)
		if want := request.SHA256; want != "" && !strings.EqualFold(want, hex.EncodeToString(sum[:])) {
			delete(s.h.uploads, request.UploadID)
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "sha256: what was written is %x, not %s", sum, want)
		}
		u.fileID = s.h.addFile(pluginsdk.File{
			Name: path.Base(strings.ReplaceAll(u.begun.Name, `\`, "/")), ThreadID: u.begun.ThreadID, Plugin: u.plugin, Author: u.begun.Author,
		}, u.data).ID
	}
	i, err := find(s.h.files, "file", u.fileID, fileID)
	if err != nil {
		return nil, err
	}
	return &pluginsdk.CommitFileResponse{File: s.h.files[i]}, nil
}

func (s files) Get(ctx context.Context, request *pluginsdk.GetFileRequest) (*pluginsdk.GetFileResponse, error) {
	leave, err := s.h.enter(ctx, "Files.Get")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.files, "file", request.ID, fileID)
	if err != nil {
		return nil, err
	}
	return &pluginsdk.GetFileResponse{File: s.h.files[i]}, nil
}

func (s files) List(ctx context.Context, request *pluginsdk.ListFilesRequest) (*pluginsdk.ListFilesResponse, error) {
	leave, err := s.h.enter(ctx, "Files.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	query := request.Query
	rest := after(ordered(s.h.files, query.Newest), func(f pluginsdk.File) bool { return f.ID == query.After })
	return &pluginsdk.ListFilesResponse{Files: page(filter(rest, func(f pluginsdk.File) bool {
		return (query.ThreadID == "" || f.ThreadID == query.ThreadID) && (query.SHA256 == "" || f.SHA256 == query.SHA256)
	}), query.Limit)}, nil
}

func (s files) Read(ctx context.Context, request *pluginsdk.ReadFileRequest) (*pluginsdk.ReadFileResponse, error) {
	leave, err := s.h.enter(ctx, "Files.Read")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.files, "file", request.ID, fileID)
	if err != nil {
		return nil, err
	}
	if request.Offset < 0 || request.Limit < 0 {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "offset, limit: %d, %d: neither may be negative", request.Offset, request.Limit)
	}
	data, limit := s.h.bytes[s.h.files[i].SHA256], request.Limit
	if limit == 0 || limit > fileChunk {
		limit = fileChunk
	}
	rest := data[min(request.Offset, int64(len(data))):]
	return &pluginsdk.ReadFileResponse{Data: bytes.Clone(rest[:min(limit, len(rest))])}, nil
}

func (s files) Delete(ctx context.Context, request *pluginsdk.DeleteFileRequest) (*pluginsdk.DeleteFileResponse, error) {
	leave, err := s.h.enter(ctx, "Files.Delete")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.files, "file", request.ID, fileID)
	if err != nil {
		return &pluginsdk.DeleteFileResponse{}, nil //nolint:nilerr // an absent one is no error
	}
	if file := s.h.files[i]; file.Plugin != s.manifest.Name && !s.has(pluginsdk.CapThreadsAdmin) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "file %s was taken in by %q, and the manifest does not ask for %s", file.ID, file.Plugin, pluginsdk.CapThreadsAdmin)
	}
	s.h.files = slices.Delete(s.h.files, i, i+1)
	return &pluginsdk.DeleteFileResponse{}, nil
}
