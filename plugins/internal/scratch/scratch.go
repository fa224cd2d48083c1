// Package scratch has directories below the system's temporary directory in which a plugin makes
// checkouts and starts turns. A directory is remembered in the plugin's state, so that the plugin
// finds it again after a restart and removes what a crash has left in it.
package scratch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Place is one such directory. Its methods may be called at the same time.
type Place struct {
	// Key is where the plugin's state has the directory's name.
	Key string
	// Prefix begins the directory's name, which os.MkdirTemp completes.
	Prefix string
	// Check returns an error when a directory is no longer as it was made; another one is made then.
	// nil: Owned.
	Check func(dir string) error

	making sync.Mutex // held while the directory is made
}

// Dir returns the directory. It makes another one when there is none, or Check finds a fault in it.
func (p *Place) Dir(ctx context.Context, state pluginsdk.State) (string, error) {
	p.making.Lock()
	defer p.making.Unlock()
	check := p.Check
	if check == nil {
		check = Owned
	}
	answer, err := state.Get(ctx, &pluginsdk.GetStateRequest{Key: p.Key})
	if err == nil && check(string(answer.Entry.Value)) == nil {
		return string(answer.Entry.Value), nil
	}
	if err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		return "", err
	}
	dir, err := os.MkdirTemp("", p.Prefix)
	if err != nil {
		return "", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "there is no directory to look at work in: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	_, err = state.Put(ctx, &pluginsdk.PutStateRequest{Key: p.Key, Value: []byte(dir)})
	return dir, err
}

// plainID matches a task's id that can be the name of a directory.
var plainID = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$`)

// Of returns the path of the subdirectory that is a task's own. It is not made.
func (p *Place) Of(ctx context.Context, state pluginsdk.State, taskID string) (string, error) {
	if !plainID.MatchString(taskID) {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "task %.100q: its id can be no directory", taskID)
	}
	dir, err := p.Dir(ctx, state)
	return filepath.Join(dir, taskID), err
}

// Forget removes the subdirectory of a task, if there is one.
func (p *Place) Forget(ctx context.Context, state pluginsdk.State, taskID string) error {
	if !plainID.MatchString(taskID) {
		return nil
	}
	answer, err := state.Get(ctx, &pluginsdk.GetStateRequest{Key: p.Key})
	if err != nil {
		return nil //nolint:nilerr // no directory was ever made, or none can be found: what is in it stays
	}
	return RemoveAll(filepath.Join(string(answer.Entry.Value), taskID))
}

// Owned returns nil when a directory is there, and only this user's. One that is gone is made
// again.
func Owned(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ok || int(stat.Uid) != os.Getuid() {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s is not a directory that only this user can write", dir)
	}
	return nil
}

// Empty returns nil when a directory is Owned, and has nothing in it.
func Empty(dir string) error {
	if err := Owned(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s, where a turn is to be started, is not empty: remove %s", dir, entries[0].Name())
	}
	return err
}

// RemoveAll removes a directory, also where programs have made parts of it read-only.
func RemoveAll(dir string) error {
	err := os.RemoveAll(dir)
	if errors.Is(err, os.ErrPermission) {
		_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, _ error) error {
			if entry != nil && entry.IsDir() {
				_ = os.Chmod(path, 0o700) //nolint:gosec // it is a directory
			}
			return nil
		})
		err = os.RemoveAll(dir)
	}
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "remove a checkout: %w", err)
	}
	return nil
}
