package plugintest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type workspace struct{ view }

// contextFile is a file of the workspace with its text.
type contextFile struct {
	pluginsdk.WorkspaceFile
	text string
}

// SetContextFile writes a file of the workspace as somebody does who has access to the
// files.
func (h *Host) SetContextFile(path, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keepFile(pluginsdk.WorkspaceChange{Path: path, Kind: pluginsdk.ChangeOutside}, text)
}

// ChangeContextFile writes a file of the workspace as the core would note it of somebody: the
// agent in a run, a person, a plugin. Of the change it takes the path, and whose it is.
func (h *Host) ChangeContextFile(change pluginsdk.WorkspaceChange, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keepFile(change, text)
}

// keepFile stores a text, and the change that it is.
func (h *Host) keepFile(change pluginsdk.WorkspaceChange, text string) pluginsdk.WorkspaceFile {
	sum := sha256.Sum256([]byte(text))
	change.Version, change.Size = hex.EncodeToString(sum[:]), int64(len(text))
	h.contextTexts[change.Version] = text
	if change.Kind != pluginsdk.ChangeRefused {
		change.Before = h.contextFiles[change.Path].Version
		h.contextFiles[change.Path] = contextFile{
			pluginsdk.WorkspaceFile{Path: change.Path, Version: change.Version, Size: change.Size, ModifiedAt: now()}, text,
		}
	}
	h.noteChange(change)
	return h.contextFiles[change.Path].WorkspaceFile
}

func (h *Host) noteChange(change pluginsdk.WorkspaceChange) {
	change.ID, change.At = h.next(), now()
	h.contextChanges = append(h.contextChanges, change)
}

func (s workspace) List(ctx context.Context, _ *pluginsdk.ListWorkspaceRequest) (*pluginsdk.ListWorkspaceResponse, error) {
	leave, err := s.h.enter(ctx, "Workspace.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	var files []pluginsdk.WorkspaceFile
	for _, file := range s.h.contextFiles {
		files = append(files, file.WorkspaceFile)
	}
	slices.SortFunc(files, func(a, b pluginsdk.WorkspaceFile) int { return strings.Compare(a.Path, b.Path) })
	return &pluginsdk.ListWorkspaceResponse{Files: files}, nil
}

func (s workspace) Read(ctx context.Context, request *pluginsdk.ReadWorkspaceRequest) (*pluginsdk.ReadWorkspaceResponse, error) {
	leave, err := s.h.enter(ctx, "Workspace.Read")
	if err != nil {
		return nil, err
	}
	defer leave()
	if request.Version != "" {
		at := slices.IndexFunc(s.h.contextChanges, func(c pluginsdk.WorkspaceChange) bool { return c.Path == request.Path && c.Version == request.Version })
		if at < 0 {
			return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "the file %s was never of the version %s", request.Path, request.Version)
		}
		change := s.h.contextChanges[at]
		return &pluginsdk.ReadWorkspaceResponse{
			File: pluginsdk.WorkspaceFile{Path: change.Path, Version: change.Version, Size: change.Size, ModifiedAt: change.At}, Text: s.h.contextTexts[change.Version],
		}, nil
	}
	file, ok := s.h.contextFiles[request.Path]
	if !ok {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no context file %q", request.Path)
	}
	return &pluginsdk.ReadWorkspaceResponse{File: file.WorkspaceFile, Text: file.text}, nil
}

// changed says of which kind a change of the plugin's is.
func (s workspace) changed(path, author string) pluginsdk.WorkspaceChange {
	change := pluginsdk.WorkspaceChange{Path: path, Kind: pluginsdk.ChangeByPlugin, Author: author, Plugin: s.manifest.Name}
	if author != "" {
		change.Kind = pluginsdk.ChangeByPerson
	}
	return change
}

// conflict refuses a change of a file that is of another version.
func (s workspace) conflict(path, version string) error {
	if is := s.h.contextFiles[path].Version; is != version {
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "the file %s is of the version %q, not %q", path, is, version)
	}
	return nil
}

func (s workspace) Write(ctx context.Context, request *pluginsdk.WriteWorkspaceRequest) (*pluginsdk.WriteWorkspaceResponse, error) {
	leave, err := s.h.enter(ctx, "Workspace.Write")
	if err != nil {
		return nil, err
	}
	defer leave()
	change := s.changed(request.Path, request.Author)
	if err := s.conflict(request.Path, request.Version); err != nil {
		change.Kind, change.Before = pluginsdk.ChangeRefused, request.Version
		s.h.keepFile(change, request.Text)
		return nil, err
	}
	if request.Base != "" {
		s.h.keepFile(change, request.Base)
	}
	return &pluginsdk.WriteWorkspaceResponse{File: s.h.keepFile(change, request.Text)}, nil
}

func (s workspace) Delete(ctx context.Context, request *pluginsdk.DeleteWorkspaceRequest) (*pluginsdk.DeleteWorkspaceResponse, error) {
	leave, err := s.h.enter(ctx, "Workspace.Delete")
	if err != nil {
		return nil, err
	}
	defer leave()
	if _, ok := s.h.contextFiles[request.Path]; !ok {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no context file %q", request.Path)
	}
	if err := s.conflict(request.Path, request.Version); err != nil {
		return nil, err
	}
	change := s.changed(request.Path, request.Author)
	change.Before = request.Version
	delete(s.h.contextFiles, request.Path)
	s.h.noteChange(change)
	return &pluginsdk.DeleteWorkspaceResponse{}, nil
}

func (s workspace) History(ctx context.Context, request *pluginsdk.WorkspaceHistoryRequest) (*pluginsdk.WorkspaceHistoryResponse, error) {
	leave, err := s.h.enter(ctx, "Workspace.History")
	if err != nil {
		return nil, err
	}
	defer leave()
	found := filter(ordered(s.h.contextChanges, true), func(c pluginsdk.WorkspaceChange) bool {
		return (request.Path == "" || c.Path == request.Path) && (request.Before == 0 || c.ID < request.Before)
	})
	return &pluginsdk.WorkspaceHistoryResponse{Changes: page(found, request.Limit)}, nil
}
