package pluginsdk

import (
	"context"
	"time"
)

// Workspace is the agent's context files: the Markdown files of the workspace, CLAUDE.md
// and those under context/, which the agent writes too.
type Workspace interface {
	// List returns the files, by path. Needs workspace.read.
	List(ctx context.Context, request *ListWorkspaceRequest) (*ListWorkspaceResponse, error)
	// Read returns a file, or one of its earlier texts. Needs workspace.read.
	Read(ctx context.Context, request *ReadWorkspaceRequest) (*ReadWorkspaceResponse, error)
	// Write makes or replaces a file, if it is still of the version that the writer has
	// seen: else CodeConflict, and the refused text is kept in the history. Needs
	// workspace.write.
	Write(ctx context.Context, request *WriteWorkspaceRequest) (*WriteWorkspaceResponse, error)
	// Delete removes a file, if it is of that version; its texts stay in the history.
	// Needs workspace.write.
	Delete(ctx context.Context, request *DeleteWorkspaceRequest) (*DeleteWorkspaceResponse, error)
	// History returns the changes of a file, or of all, newest first. Needs
	// workspace.read.
	History(ctx context.Context, request *WorkspaceHistoryRequest) (*WorkspaceHistoryResponse, error)
}

// WorkspaceFile is a context file as it is.
type WorkspaceFile struct {
	Path       string    `json:"path"`    // from the workspace, with slashes
	Version    string    `json:"version"` // SHA-256 of its text, hex
	Size       int64     `json:"size"`    // bytes
	ModifiedAt time.Time `json:"modifiedAt"`
}

// ChangeKind says who has changed a context file.
type ChangeKind string

// The kinds of change.
const (
	ChangeByAgent  ChangeKind = "agent"  // in a turn
	ChangeByPerson ChangeKind = "person" // through the API
	ChangeByPlugin ChangeKind = "plugin"
	ChangeOutside  ChangeKind = "outside"  // by who has access to the files: an editor, git
	ChangeRefused  ChangeKind = "conflict" // the text was not taken, because the file was of another version
)

// WorkspaceChange is one change of a context file.
type WorkspaceChange struct {
	ID       int64      `json:"id"`
	Path     string     `json:"path"`
	Kind     ChangeKind `json:"kind"`
	Before   string     `json:"before,omitempty"`  // version; empty: it was not there
	Version  string     `json:"version,omitempty"` // that it has become; empty: it was deleted
	Size     int64      `json:"size"`
	Author   string     `json:"author,omitempty"`
	Plugin   string     `json:"plugin,omitempty"`
	ThreadID string     `json:"threadId,omitempty"`
	RunID    string     `json:"runId,omitempty"` // of the agent's turn
	At       time.Time  `json:"at"`
	Origin   Origin     `json:"origin,omitzero"` // of a person's or a plugin's change; the core fills it in
}

// Label says who has made the change.
func (c WorkspaceChange) Label() Label {
	l := Label{Author: c.Author, Plugin: c.Plugin, Origin: c.Origin}
	if !l.OfAgent() && c.Plugin == "" && c.Author == "" {
		l.ThreadID, l.RunID = c.ThreadID, c.RunID
	}
	return l
}

// ListWorkspaceRequest asks for all files.
type ListWorkspaceRequest struct{}

// ListWorkspaceResponse has the files, at most 1000.
type ListWorkspaceResponse struct{ Files []WorkspaceFile }

// ReadWorkspaceRequest names a file.
type ReadWorkspaceRequest struct {
	Path    string
	Version string // an earlier text of the file; empty: as it is
}

// ReadWorkspaceResponse has the file with its text.
type ReadWorkspaceResponse struct {
	File WorkspaceFile
	Text string
}

// WriteWorkspaceRequest has the new text.
type WriteWorkspaceRequest struct {
	Path    string
	Text    string // UTF-8, at most 1 MiB
	Version string // that the writer has seen; empty: the file is not there
	Author  string // the person; empty: the plugin itself
	// Base is a text that the new one was made of, such as the newest starter, at most 1 MiB: the history has it as the
	// change before, and the file never says it. Empty: none.
	Base string
}

// WriteWorkspaceResponse has the file as it is now.
type WriteWorkspaceResponse struct{ File WorkspaceFile }

// DeleteWorkspaceRequest names a file.
type DeleteWorkspaceRequest struct {
	Path    string
	Version string
	Author  string
}

// DeleteWorkspaceResponse has nothing to say yet.
type DeleteWorkspaceResponse struct{}

// WorkspaceHistoryRequest selects changes.
type WorkspaceHistoryRequest struct {
	Path   string // empty: of all files
	Before int64  // id of the last change of the page before
	Limit  int    // default 100, at most 1000
}

// WorkspaceHistoryResponse has a page of changes.
type WorkspaceHistoryResponse struct{ Changes []WorkspaceChange }
