package store

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// stage is a directory beside the workspace, in which a restore lays the files
// ready: DIR/workspace, DIR/files, and DIR/harness.env when it is wanted.
type stage struct {
	dir      string
	settings bool
	root     *os.Root // of DIR/workspace; nothing is made outside of it
	// Links are made, and directories get their modes, when all files are
	// there: nothing is written through a link, or into a read-only directory.
	links, dirs []*tar.Header
}

func (s *stage) begin() (err error) {
	path := filepath.Join(s.dir, stagedWorkspace)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	s.root, err = os.OpenRoot(path)
	return err
}

// keep lays one entry ready; its name was checked.
func (s *stage) keep(header *tar.Header, content io.Reader) error {
	if header.Name == settingsName && s.settings {
		file, err := os.OpenFile(filepath.Join(s.dir, settingsName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		return fill(file, err, content)
	}
	if strings.HasPrefix(header.Name, filesName) { // its name was checked
		to := filepath.Join(s.dir, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
		return fill(file, err, content)
	}
	name, ok := strings.CutPrefix(header.Name, workspaceName)
	if !ok {
		return nil
	}
	name = strings.TrimSuffix(name, "/")
	switch header.Typeflag {
	case tar.TypeDir:
		s.dirs = append(s.dirs, header)
		return s.root.MkdirAll(name, 0o700)
	case tar.TypeSymlink:
		s.links = append(s.links, header)
		return nil
	}
	if err := s.root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := s.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err := fill(file, err, content); err != nil {
		return err
	}
	return errors.Join(s.root.Chmod(name, header.FileInfo().Mode().Perm()), s.root.Chtimes(name, header.ModTime, header.ModTime))
}

// fill writes a file that was just made, to the disk.
func fill(file *os.File, err error, content io.Reader) error {
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, content); err != nil {
		return errors.Join(err, file.Close())
	}
	return errors.Join(file.Sync(), file.Close())
}

// finish makes what has to come last, and closes the root.
func (s *stage) finish() error {
	for _, link := range s.links {
		if err := s.root.Symlink(link.Linkname, strings.TrimPrefix(link.Name, workspaceName)); err != nil {
			return err
		}
	}
	for _, dir := range slices.Backward(s.dirs) {
		name := strings.Trim(strings.TrimPrefix(dir.Name, workspaceName), "/")
		if err := s.syncDir(name); err != nil {
			return err
		}
		if err := s.root.Chmod(name, dir.FileInfo().Mode().Perm()); err != nil {
			return err
		}
	}
	shards, err := filepath.Glob(escapeGlob(filepath.Join(s.dir, FilesName)) + "/*")
	if err != nil {
		return err
	}
	for _, shard := range shards {
		if err := syncDir(shard); err != nil {
			return err
		}
	}
	if len(shards) > 0 {
		if err := syncDir(filepath.Join(s.dir, FilesName)); err != nil {
			return err
		}
	}
	return errors.Join(s.syncDir("."), syncDir(s.dir), syncDir(filepath.Dir(s.dir)))
}

func (s *stage) syncDir(name string) error {
	dir, err := s.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (s *stage) close() {
	if s.root != nil {
		s.root.Close() // all that was written is closed
	}
}

// install moves what was laid ready to its place. It may be repeated.
func install(dir, workspace string) error {
	staged := filepath.Join(dir, stagedWorkspace)
	if _, err := os.Lstat(staged); err == nil {
		err := os.Rename(workspace, replaced(workspace, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Rename(staged, workspace); err != nil {
			return err
		}
	}
	if err := installFiles(dir, filesBeside(workspace)); err != nil {
		return err
	}
	settings := filepath.Join(filepath.Dir(workspace), settingsName)
	if _, err := os.Lstat(settings); errors.Is(err, fs.ErrNotExist) {
		err := os.Rename(filepath.Join(dir, settingsName), settings)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(syncDir(filepath.Dir(workspace)), os.RemoveAll(dir))
}

// installFiles moves the bytes of files that were laid ready to their place, and what is
// there out of it: no row refers to that, for the database was empty.
func installFiles(dir, files string) error {
	staged := filepath.Join(dir, FilesName)
	if _, err := os.Lstat(staged); errors.Is(err, fs.ErrNotExist) {
		return nil // the backup had none, or they are at their place
	}
	err := os.Rename(files, replacedFiles(files, dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(staged, files)
}

// filesBeside is where the bytes of files lie.
func filesBeside(workspace string) string {
	return filepath.Join(filepath.Dir(workspace), FilesName)
}

const (
	stagedWorkspace = "workspace"
	stagingInfix    = ".restore-"
	replacedInfix   = ".replaced-"
)

// staging is where a restore lays the files ready.
func staging(workspace, id string) string { return workspace + stagingInfix + id }

// replaced is where the workspace is moved that a staged one takes the place
// of. It stays there when somebody else than the restore itself does it.
func replaced(workspace, staged string) string {
	return workspace + replacedInfix + strings.TrimPrefix(staged, workspace+stagingInfix)
}

// replacedFiles is the same for the bytes of files.
func replacedFiles(files, staged string) string {
	_, id, _ := strings.Cut(filepath.Base(staged), stagingInfix)
	return files + replacedInfix + id
}
