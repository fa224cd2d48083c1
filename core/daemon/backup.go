package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	starter "github.com/seed-706843ae/harness/context"
	"github.com/seed-706843ae/harness/core/store"
)

// BackupRequest says what Backup is to do.
type BackupRequest struct {
	File     string
	Force    bool           // overwrite File
	Settings bool           // save harness.env too
	Progress store.Progress // may be nil
}

// Backup saves the installation's database and workspace in a file, with the
// daemon up or down.
func Backup(ctx context.Context, config Config, request BackupRequest) (report store.BackupReport, err error) {
	database, err := OpenAsItIs(ctx, config)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	backup := store.Backup{
		File: request.File, Force: request.Force, Workspace: config.workspace(), Files: config.files(), Version: config.Version, Progress: request.Progress,
	}
	if request.Settings {
		backup.Settings = filepath.Join(config.Data, ConfigFile)
		if _, err := os.Stat(backup.Settings); err != nil {
			return report, fmt.Errorf("--with-settings: %w", err)
		}
	}
	return database.Backup(ctx, backup)
}

// Restore puts a backup into the installation, which must be new and its daemon
// down. Settings also restores harness.env, unless there is one. Tell may be nil.
func Restore(ctx context.Context, config Config, file string, settings bool, tell store.Progress) (store.RestoreReport, error) {
	if err := checkUntouched(starter.FS, config.workspace()); err != nil {
		return store.RestoreReport{}, err
	}
	return store.RestoreBackup(ctx, config.storeConfig(), store.Restore{
		File: file, Workspace: config.workspace(), Settings: settings, Owner: "harness restore", Progress: tell,
	})
}

// Migrate brings the schema of the installation's database up to date; its
// daemon must be down.
func Migrate(ctx context.Context, config Config) (store.Migrated, error) {
	return store.Migrate(ctx, config.storeConfig(), "harness db migrate")
}

func (c Config) workspace() string { return filepath.Join(c.Data, "workspace") }

// files is where the bytes of files lie, and threads where the agent finds and leaves
// them.
func (c Config) files() string { return filepath.Join(c.Data, store.FilesName) }

func (c Config) threads() string { return filepath.Join(c.Data, "threads") }
