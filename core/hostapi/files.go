package hostapi

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Files keeps the bytes of files.
type Files interface {
	Begin(plugin string, request pluginsdk.BeginFileRequest) (uploadID string, err error)
	Write(plugin string, request pluginsdk.WriteFileRequest) (written int64, err error)
	Commit(ctx context.Context, plugin string, request pluginsdk.CommitFileRequest) (pluginsdk.File, error)
	// Coming is how many bytes were announced for the plugin's uploads that are under way.
	Coming(plugin string) int64
	Get(ctx context.Context, id string) (pluginsdk.File, error)
	List(ctx context.Context, query pluginsdk.FileQuery) ([]pluginsdk.File, error)
	Read(ctx context.Context, request pluginsdk.ReadFileRequest) ([]byte, error)
	Delete(ctx context.Context, id string) (was pluginsdk.File, found bool, err error)
}

type files struct{ *caller }

// sizeCounted is as much as counts of a file's size: more than any quota, and a number still
// when it is added to others.
const sizeCounted = 1 << 60

// What a file's name may be long when it comes in, as a path, and who sends it, in bytes.
const (
	maxFileName   = 4 << 10
	maxFileAuthor = 1 << 10
)

// Begin counts the file among the bytes that the plugin stores in all. They are not in
// its bytes a minute: no database writes them.
func (s files) Begin(ctx context.Context, request *pluginsdk.BeginFileRequest) (*pluginsdk.BeginFileResponse, error) {
	return serve(s.caller, "Files.Begin", func() (*pluginsdk.BeginFileResponse, error) {
		err := checkLengths(length{"name", len(request.Name), maxFileName}, length{"author", len(request.Author), maxFileAuthor})
		if err != nil {
			return nil, err
		}
		if request.ThreadID != "" {
			if _, err := s.Store.Thread(ctx, request.ThreadID); err != nil {
				return nil, pluginsdk.Errorf(pluginsdk.CodeOf(err), "threadId: %w", err)
			}
		}
		a := s.Quotas.account(s.plugin)
		a.uploads.Lock() // of several that begin at once, each finds the others
		defer a.uploads.Unlock()
		if err := s.Quotas.room(ctx, s.plugin, s.Files.Coming(s.plugin)+min(max(request.Size, 0), sizeCounted)); err != nil {
			return nil, err
		}
		id, err := s.Files.Begin(s.plugin, *request)
		return &pluginsdk.BeginFileResponse{UploadID: id}, err
	})
}

func (s files) Write(_ context.Context, request *pluginsdk.WriteFileRequest) (*pluginsdk.WriteFileResponse, error) {
	return serve(s.caller, "Files.Write", func() (*pluginsdk.WriteFileResponse, error) {
		written, err := s.Files.Write(s.plugin, *request)
		return &pluginsdk.WriteFileResponse{Written: written}, err
	})
}

func (s files) Commit(ctx context.Context, request *pluginsdk.CommitFileRequest) (*pluginsdk.CommitFileResponse, error) {
	return serve(s.caller, "Files.Commit", func() (response *pluginsdk.CommitFileResponse, err error) {
		err = s.write(ctx, 1, maxFileName, func() error {
			a := s.Quotas.account(s.plugin)
			a.uploads.RLock() // who begins finds it among what comes, or what is stored
			defer a.uploads.RUnlock()
			file, err := s.Files.Commit(ctx, s.plugin, *request)
			if err == nil {
				a.keep(file.Size)
			}
			response = &pluginsdk.CommitFileResponse{File: file}
			return err
		})
		return response, err
	})
}

func (s files) Get(ctx context.Context, request *pluginsdk.GetFileRequest) (*pluginsdk.GetFileResponse, error) {
	return serve(s.caller, "Files.Get", func() (*pluginsdk.GetFileResponse, error) {
		file, err := s.Files.Get(ctx, request.ID)
		return &pluginsdk.GetFileResponse{File: file}, err
	})
}

func (s files) List(ctx context.Context, request *pluginsdk.ListFilesRequest) (*pluginsdk.ListFilesResponse, error) {
	return serve(s.caller, "Files.List", func() (*pluginsdk.ListFilesResponse, error) {
		list, err := s.Files.List(ctx, request.Query)
		return &pluginsdk.ListFilesResponse{Files: page(list, false, sizeOf)}, err
	})
}

func (s files) Read(ctx context.Context, request *pluginsdk.ReadFileRequest) (*pluginsdk.ReadFileResponse, error) {
	return serve(s.caller, "Files.Read", func() (*pluginsdk.ReadFileResponse, error) {
		data, err := s.Files.Read(ctx, *request)
		return &pluginsdk.ReadFileResponse{Data: data}, err
	})
}

// Delete of a file that the plugin has not taken in itself is audited.
func (s files) Delete(ctx context.Context, request *pluginsdk.DeleteFileRequest) (*pluginsdk.DeleteFileResponse, error) {
	return serve(s.caller, "Files.Delete", func() (*pluginsdk.DeleteFileResponse, error) {
		file, err := s.Files.Get(ctx, request.ID)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			return &pluginsdk.DeleteFileResponse{}, nil
		}
		if err != nil {
			return nil, err
		}
		others := file.Plugin != s.plugin
		if others && !s.Grants.Granted(s.plugin, pluginsdk.CapThreadsAdmin) {
			return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "file %s was taken in by %s; %w",
				file.ID, cmp.Or(file.Plugin, "the core, from the agent"), lacks(s.plugin, pluginsdk.CapThreadsAdmin))
		}
		err = s.write(ctx, 1, 0, func() error {
			if others {
				detail := fmt.Sprintf("%s, %d bytes, sha256 %s", file.Name, file.Size, file.SHA256)
				by, err := s.label(ctx, request.Author)
				if err != nil {
					return err
				}
				if err := s.Store.Audit(ctx, by.AuditName(), "file.delete", file.ID, detail); err != nil {
					return err
				}
			}
			_, _, err := s.Files.Delete(ctx, file.ID)
			return err
		})
		return &pluginsdk.DeleteFileResponse{}, err
	})
}

// maxAttached is how many a message may have that is for the agent: each is looked up,
// copied, and in the prompt.
const maxAttached = 100

// checkAttachments refuses (CodeInvalid) a reference to a file that is not there, and more
// attachments than a message may have.
func (a *API) checkAttachments(ctx context.Context, attachments []pluginsdk.Attachment) error {
	if len(attachments) > maxAttached {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "attachments: a message has at most %d, these are %d; send the others with another one", maxAttached, len(attachments))
	}
	for n, one := range attachments {
		id, ok := one.FileID()
		if !ok {
			continue
		}
		if _, err := a.Files.Get(ctx, id); err != nil {
			code := pluginsdk.CodeOf(err)
			if code == pluginsdk.CodeNotFound {
				code = pluginsdk.CodeInvalid
			}
			return pluginsdk.Errorf(code, "attachments[%d]: %w; take the file in first (Files.Begin, POST /api/files)", n, err)
		}
	}
	return nil
}

// room refuses what would make a plugin keep more bytes than it may.
func (q *Quotas) room(ctx context.Context, plugin string, size int64) error {
	a := q.account(plugin)
	limit := cmp.Or(q.limits(plugin).StoredBytes, DefaultStoredBytes)
	if limit > 0 {
		if refusal := q.mayKeep(ctx, a, plugin, size+ledger.RowBytes, limit); refusal != nil {
			return q.refuse(a, plugin, "bytes in all", refusal)
		}
	}
	return nil
}

// keep counts what is stored from now on.
func (a *account) keep(size int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stored += size
}
