package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// changing is a change of a file that somebody asks for.
type changing struct {
	path, version string
	text          []byte // nil: the file goes
	base          string // what the text was made of, which the history is to have before it; empty: nothing
	by            ledger.By
}

// Write makes or replaces a file that is of the version that the writer has seen; an empty
// one says that it is not there. Else it is CodeConflict, the error names the version that
// it is of, and the text is kept in the history. The agent and other programs write past
// this room: what one of them writes in the very moment in which the file is replaced is lost
// from the file, and not from the history if a look came in between.
func (r *Room) Write(ctx context.Context, request pluginsdk.WriteWorkspaceRequest, by ledger.By) (pluginsdk.WorkspaceFile, error) {
	if err := errors.Join(checkPath(request.Path), checkText(request.Text), checkText(request.Base)); err != nil {
		return pluginsdk.WorkspaceFile{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.apply(ctx, changing{request.Path, request.Version, append([]byte{}, request.Text...), request.Base, by}); err != nil {
		return pluginsdk.WorkspaceFile{}, err
	}
	return fileOf(request.Path, r.known[request.Path]), nil
}

// Delete removes a file that is of a version; its texts stay in the history. CodeNotFound:
// there is none. CodeConflict as in Write.
func (r *Room) Delete(ctx context.Context, request pluginsdk.DeleteWorkspaceRequest, by ledger.By) error {
	if err := checkPath(request.Path); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.apply(ctx, changing{request.Path, request.Version, nil, "", by})
}

// apply makes a change, unless somebody was faster.
func (r *Room) apply(ctx context.Context, c changing) error {
	if err := r.refresh(ctx); err != nil {
		return err
	}
	is, there := r.known[c.path]
	if c.text == nil && !there {
		return absent(c.path)
	}
	if is.version != c.version {
		return r.refuse(ctx, c, is.version)
	}
	says := there && c.text != nil && is.version == versionOf(c.text)
	if says && c.base == "" {
		return nil // it says that already
	}
	if !there && len(r.known) >= maxFiles {
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "there are %d context files, and no more are allowed", maxFiles)
	}
	root, err := os.OpenRoot(r.config.Dir)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close() // what was written is on the disk
	if err := checkPlace(root, c.path); err != nil {
		return err
	}
	asSeen := func() error { return asSeen(root, c.path, is) }
	if says {
		err = asSeen()
	} else if c.text != nil {
		err = write(root, c.path, c.text, asSeen)
	} else if err = asSeen(); err == nil {
		err = errors.Join(root.Remove(c.path), syncDir(root, path.Dir(c.path)))
	}
	if errors.Is(err, errMeanwhile) {
		if there {
			r.known[c.path] = seen{version: is.version} // to be read, whatever its time is
		}
		if err := r.refresh(ctx); err != nil {
			return err
		}
		return r.refuse(ctx, c, r.known[c.path].version)
	}
	if err != nil {
		return fmt.Errorf("change %s: %w", c.path, err)
	}
	return r.changed(ctx, root, c)
}

// errMeanwhile says that a file is not as it was looked at.
var errMeanwhile = errors.New("somebody has changed it meanwhile")

// asSeen fails when a file is not as it was looked at. One that is there, and is none of the
// context files, is not written over either.
func asSeen(root *os.Root, name string, is seen) error {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && is.version == "":
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return errMeanwhile
	case err != nil:
		return err
	case is.version == "" && (!info.Mode().IsRegular() || info.Size() > MaxText):
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s is there, and is no file of text with at most %d bytes; move it away first", name, MaxText)
	}
	text, err := read(root, name)
	if errors.Is(err, errNoContext) {
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s is there, and is no text; move it away first", name)
	}
	if err == nil && versionOf(text) != is.version {
		err = errMeanwhile
	}
	return err
}

// changed notes a change that was made. One that cannot be stored now is with the next look.
func (r *Room) changed(ctx context.Context, root *os.Root, c changing) error {
	change := ledger.ContextChange{WorkspaceChange: r.asked(c), Text: c.text}
	is := seen{}
	if c.text != nil {
		is = seen{version: versionOf(c.text), size: int64(len(c.text))}
		if info, err := root.Lstat(c.path); err == nil {
			is.changed = info.ModTime()
		}
	}
	change.Version, change.Size = is.version, is.size
	changes := []ledger.ContextChange{change}
	r.unrecorded[c.path] = change
	if c.base != "" { // where it cannot be stored it is lost, and what the file was made of is not known
		base := change
		base.Text, base.Version, base.Size = []byte(c.base), versionOf([]byte(c.base)), int64(len(c.base))
		change.Before = base.Version
		changes = []ledger.ContextChange{base, change}
	}
	if err := r.store.RecordChanges(ctx, changes); err != nil {
		return fmt.Errorf("%s is changed, which could not be noted yet: %w", c.path, err)
	}
	delete(r.unrecorded, c.path)
	if c.text == nil {
		delete(r.known, c.path)
	} else {
		r.known[c.path] = is
	}
	return nil
}

// asked is a change as it is asked for, but for what it makes of the file.
func (r *Room) asked(c changing) pluginsdk.WorkspaceChange {
	change := pluginsdk.WorkspaceChange{
		Path: c.path, Kind: pluginsdk.ChangeByPlugin, Before: c.version, Author: c.by.Author, Plugin: c.by.Plugin, Origin: c.by.Origin, At: r.config.Now(),
	}
	if c.by.Author != "" {
		change.Kind = pluginsdk.ChangeByPerson
	}
	return change
}

// refuse keeps the text that was not taken, and says of which version the file is.
func (r *Room) refuse(ctx context.Context, c changing, is string) error {
	state := "is of the version " + is
	if is == "" {
		state = "is not there"
	}
	if c.text == nil {
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "version: %s %s; read it again", c.path, state)
	}
	change := ledger.ContextChange{WorkspaceChange: r.asked(c), Text: c.text}
	change.Kind, change.Version, change.Size = pluginsdk.ChangeRefused, versionOf(c.text), int64(len(c.text))
	if err := r.store.RecordChanges(ctx, []ledger.ContextChange{change}); err != nil {
		return err
	}
	return pluginsdk.Errorf(pluginsdk.CodeConflict, "version: %s %s; read it again. What was to be written is kept in the history, as the version %s",
		c.path, state, change.Version)
}
