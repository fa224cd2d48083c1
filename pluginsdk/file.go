package pluginsdk

import (
	"context"
	"time"
)

// Files keeps the bytes of files that people send and the agent makes. Bytes are kept
// once, by their SHA-256; a File is a name for them. What a message refers to
// (Attachment.Where, file:ID) is kept for as long as the message.
type Files interface {
	// Begin begins to take a file in. What was begun and not committed is forgotten after
	// an hour. More than a file, the plugin, or all files together may have is
	// CodeExhausted, and names the limit. Needs files.write.
	Begin(ctx context.Context, request *BeginFileRequest) (*BeginFileResponse, error)
	// Write adds bytes at the end of a file that was begun. Repeated with the same offset
	// and bytes, it does nothing. Needs files.write.
	Write(ctx context.Context, request *WriteFileRequest) (*WriteFileResponse, error)
	// Commit makes a file of what was written, once all of it is on disk; repeated, it
	// returns the first one. When that is not what was announced or meant, it is
	// CodeInvalid, and the upload is forgotten. Needs files.write.
	Commit(ctx context.Context, request *CommitFileRequest) (*CommitFileResponse, error)
	// Get returns what a file is, or CodeNotFound. Needs files.read.
	Get(ctx context.Context, request *GetFileRequest) (*GetFileResponse, error)
	// List returns the selected files. Needs files.read.
	List(ctx context.Context, request *ListFilesRequest) (*ListFilesResponse, error)
	// Read returns a part of a file's bytes. Needs files.read.
	Read(ctx context.Context, request *ReadFileRequest) (*ReadFileResponse, error)
	// Delete removes a file, also one that a message refers to: the message keeps its
	// name. An absent one is no error. Needs files.write, for one that another plugin took
	// in threads.admin too.
	Delete(ctx context.Context, request *DeleteFileRequest) (*DeleteFileResponse, error)
}

// File is a file that Harness keeps.
type File struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256"` // of its bytes, hex
	// Name is what it was called, without directories; never a path.
	Name string `json:"name"`
	// Type is the media type (RFC 6838) that its bytes are of, whatever was said of it:
	// application/octet-stream when they do not tell.
	Type      string    `json:"type"`
	Size      int64     `json:"size"` // bytes
	ThreadID  string    `json:"threadId,omitempty"`
	Plugin    string    `json:"plugin,omitempty"` // took it in; empty: the agent made it
	Author    string    `json:"author,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
}

// Attachment returns the file as a message refers to it.
func (f File) Attachment() Attachment {
	return Attachment{Name: f.Name, Type: f.Type, Size: f.Size, Where: fileReference + f.ID}
}

const fileReference = "file:"

// BeginFileRequest says what will come.
type BeginFileRequest struct {
	Name     string
	Size     int64  // bytes
	ThreadID string // it is for; empty: none
	Author   string // who sends it
}

// BeginFileResponse names the upload.
type BeginFileResponse struct{ UploadID string }

// WriteFileRequest has the next bytes.
type WriteFileRequest struct {
	UploadID string
	Offset   int64
	Data     []byte // at most 4 MiB
}

// WriteFileResponse says how much is there.
type WriteFileResponse struct{ Written int64 }

// CommitFileRequest names an upload.
type CommitFileRequest struct {
	UploadID string
	SHA256   string // hex; what was written is another: CodeInvalid. Empty: whatever was written
}

// CommitFileResponse has the file.
type CommitFileResponse struct{ File File }

// GetFileRequest names a file.
type GetFileRequest struct{ ID string }

// GetFileResponse has the file.
type GetFileResponse struct{ File File }

// FileQuery selects files, oldest first unless Newest is set. Zero fields do not restrict.
type FileQuery struct {
	ThreadID string `json:"threadId,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
	Newest   bool   `json:"newest,omitempty"`
	After    string `json:"after,omitempty"` // id of the last file of the page before
	Limit    int    `json:"limit,omitempty"` // default 100, at most 1000
}

// ListFilesRequest selects files.
type ListFilesRequest struct{ Query FileQuery }

// ListFilesResponse has a page of files.
type ListFilesResponse struct{ Files []File }

// ReadFileRequest names a part of a file.
type ReadFileRequest struct {
	ID     string
	Offset int64
	Limit  int // bytes; default and at most 4 MiB
}

// ReadFileResponse has the bytes; none at the end of the file.
type ReadFileResponse struct{ Data []byte }

// DeleteFileRequest names a file.
type DeleteFileRequest struct {
	ID     string
	Author string
}

// DeleteFileResponse has nothing to say yet.
type DeleteFileResponse struct{}
