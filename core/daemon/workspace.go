package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// installation returns the id that marks everything this installation starts.
// It is made at first start and kept in the data directory.
func installation(data string) (string, error) {
	path := filepath.Join(data, "installation-id")
	content, err := os.ReadFile(path) //nolint:gosec // the operator's own directory
	if err == nil {
		if id := strings.TrimSpace(string(content)); id != "" {
			return id, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the installation's id: %w", err)
	}
	id := uuid.NewString()
	if err := os.WriteFile(path, []byte(id+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the installation's id: %w", err)
	}
	return id, nil
}

// checkEmptied refuses a data directory in which an installation has lived and whose
// database is gone: one that begins anew there, in silence, would be taken for the old
// one. The id and the workspace are what the first start leaves besides the database, the
// workspace last.
func checkEmptied(config Config) error {
	if config.DatabaseURL != "" {
		return nil
	}
	path := filepath.Join(config.Data, "harness.db")
	what := path + " is empty"
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		what = "there is no " + path
	case err != nil || info.Size() > 0:
		return nil // what is wrong with it is found when it is opened
	}
	for _, name := range []string{"installation-id", filepath.Join("workspace", "CLAUDE.md")} {
		if _, err := os.Stat(filepath.Join(config.Data, name)); err != nil {
			return nil
		}
	}
	return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s, but an installation has lived in %s: put its database back, or set "+
		"DATABASE_URL if it is in Postgres; to begin anew there with what else is left, delete %s",
		what, config.Data, filepath.Join(config.Data, "installation-id"))
}

// makeWorkspace lays the starter files where there are none. What exists is
// the agent's own and is never overwritten: CLAUDE.md at the top, the memory
// files under context/.
func makeWorkspace(starter fs.FS, dir string) error {
	return fs.WalkDir(starter, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".md" {
			return err
		}
		path := filepath.Join(dir, starterPath(name))
		if _, err := os.Lstat(path); err == nil {
			return nil
		}
		content, err := fs.ReadFile(starter, name)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, content, 0o600)
	})
}

// starterPath is where in the workspace a starter file lies.
func starterPath(name string) string {
	if name == "CLAUDE.md" {
		return name
	}
	return filepath.Join("context", name)
}

// checkUntouched refuses a workspace that holds anything but starter files as
// they were laid: it is somebody's.
func checkUntouched(starter fs.FS, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == dir {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		if entry.Type().IsRegular() {
			content, err := os.ReadFile(path) //nolint:gosec // the operator's own directory
			if err != nil {
				return err
			}
			laid, err := fs.ReadFile(starter, filepath.Base(path))
			if err == nil && bytes.Equal(laid, content) && path == filepath.Join(dir, starterPath(filepath.Base(path))) {
				return nil
			}
		}
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "the workspace is not empty, it has %s: a backup is restored into a new "+
			"installation only; move the data directory away first", path)
	})
}
