package store

import (
	"archive/tar"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// workspaceSaver adds a directory to a backup. Others may write in it
// meanwhile: each file is saved as it is when it is read.
type workspaceSaver struct {
	to     *archive
	root   string
	report *BackupReport
}

func (w *workspaceSaver) save(ctx context.Context) error {
	// The workspace may be a link to where it really lies.
	if real, err := filepath.EvalSymlinks(w.root); err == nil {
		w.root = real
	}
	return filepath.WalkDir(w.root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == w.root:
			w.report.Skipped = append(w.report.Skipped, path+": there is no workspace here; is --data right?")
			return nil
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone meanwhile
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case path == w.root:
			return nil
		}
		err = w.add(path, entry)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

func (w *workspaceSaver) add(path string, entry fs.DirEntry) error {
	relative, err := filepath.Rel(w.root, path)
	if err != nil {
		return err
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	header := tar.Header{
		Name: workspaceName + filepath.ToSlash(relative), Mode: kept(info.Mode()), ModTime: info.ModTime(),
	}
	own, err := w.to.file.Stat()
	if err != nil {
		return err
	}
	switch {
	case os.SameFile(info, own):
		return errors.New("a backup cannot lie in the workspace that it saves; name a file elsewhere")
	case info.Mode().IsRegular():
		return saveFile(w.to, header, path, &w.report.Manifest)
	case info.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
		w.report.Files = append(w.report.Files, SavedFile{Name: header.Name})
		return w.to.tar.WriteHeader(&header)
	case info.Mode().Type() == fs.ModeSymlink:
		return w.link(header, path, relative)
	}
	w.report.Skipped = append(w.report.Skipped, path+": neither a file, nor a directory, nor a link")
	return nil
}

func (w *workspaceSaver) link(header tar.Header, path, relative string) error {
	target, err := os.Readlink(path)
	if err != nil {
		return err
	}
	inside, ok := insideLink(w.root, relative, target)
	if !ok {
		w.report.Skipped = append(w.report.Skipped, path+": a link out of the workspace, to "+target)
		return nil
	}
	header.Typeflag, header.Linkname = tar.TypeSymlink, filepath.ToSlash(inside)
	w.report.Files = append(w.report.Files, SavedFile{Name: header.Name, Link: header.Linkname})
	return w.to.tar.WriteHeader(&header)
}
