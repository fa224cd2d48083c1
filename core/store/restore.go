package store

import (
	"archive/tar"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// restoredAction is what the audit log says of a restore.
const restoredAction = "database.restore"

// Restore says what to restore, and where.
type Restore struct {
	File string // a backup
	// Workspace is the directory of the agent. What is there is replaced: the
	// caller has seen that it is nothing of anybody's.
	Workspace string
	// Settings puts the backup's harness.env beside the workspace, when there
	// is one in it and none there.
	Settings bool
	// Owner names this process for who wants the lock.
	Owner string
	// Fault, when set, is called before each step with its name. Tests end the
	// process there.
	Fault    func(step string)
	Progress Progress // may be nil
}

// RestoreReport is what was restored.
type RestoreReport struct {
	Manifest
	Into     string   // which database
	Schema   int      // its version now
	Problems []string // what Integrity says of it
}

// RestoreBackup puts a backup into a database that has nothing in it (it is made
// when it is missing) and its files into a workspace that has nothing of
// anybody's. The archive is verified as a whole before anything is changed. The
// rows are one transaction; the workspace is laid ready before its COMMIT and
// takes its place after it. Whoever dies in between leaves the place empty or
// SettleRestore to do the rest. It holds the lock: a daemon must not run.
func RestoreBackup(ctx context.Context, config Config, r Restore) (report RestoreReport, err error) {
	file, err := os.Open(r.File)
	if errors.Is(err, os.ErrNotExist) {
		return report, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no file %s; name a file that `harness backup` has made", r.File)
	}
	if err != nil {
		return report, fmt.Errorf("open the backup: %w", err)
	}
	defer file.Close() // it was only read
	if report.Manifest, err = readManifest(file, r.Progress); err != nil {
		return report, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"%s is damaged, or no backup of Harness; nothing was changed: %w", r.File, err)
	}
	config.Schema = SchemaMigrate // the file is made when it is missing
	newest, err := checkVersions(config, r.File, report.Manifest)
	if err != nil {
		return report, err
	}
	report.Schema = newest
	if r.Fault == nil {
		r.Fault = func(string) {}
	}
	r.Fault("open")
	if err := restore(ctx, config, r, file, report.Manifest); err != nil {
		return report, wrap("restore "+r.File, err)
	}
	report.Into, report.Problems, err = look(ctx, config)
	return report, err
}

// checkVersions refuses what this binary cannot read.
func checkVersions(config Config, name string, m Manifest) (newest int, err error) {
	if m.Format != backupFormat {
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s has the format %d, this program reads format %d; use harness %s, which made it",
			name, m.Format, backupFormat, m.Harness)
	}
	if newest, err = newestVersion(config.dialect()); err != nil {
		return 0, err
	}
	if m.Schema < 1 || m.Schema > newest {
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"%s was made by a newer program (harness %s): its schema is at version %d, this program knows versions up to %d; restore it with that one",
			name, m.Harness, m.Schema, newest)
	}
	for _, table := range m.Tables {
		if !slices.Contains(knownTables(), table.Name) {
			return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid,
				"%s has a table %q, which Harness has not; it was not made by `harness backup`; nothing was changed", name, table.Name)
		}
	}
	return newest, nil
}

// restore does all that changes anything.
func restore(ctx context.Context, config Config, r Restore, file *os.File, manifest Manifest) (err error) {
	if err := os.MkdirAll(config.Dir, 0o700); err != nil { // for the lock, also with Postgres
		return fmt.Errorf("make the data directory: %w", err)
	}
	back, err := openBackend(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, back.close()) }()
	lease, err := (&Store{config: config, back: back}).Lock(ctx, r.Owner)
	if err != nil {
		return err
	}
	defer lease.Release()
	if err := settle(ctx, back, r.Workspace); err != nil {
		return err
	}
	all, err := migrations(back.dialect())
	if err != nil {
		return err
	}
	id, err := newID()
	if err != nil {
		return err
	}
	staged := &stage{dir: staging(r.Workspace, id), settings: r.Settings}
	defer staged.close()
	err = back.migrating(ctx, func(conn *sql.Conn) error {
		l := loader{conn: conn, dialect: back.dialect(), manifest: manifest, all: all}
		return l.restore(ctx, r, file, staged, id)
	})
	if err == nil {
		r.Fault("committed")
	}
	// Also after an error: it may be that nobody knows what became of the COMMIT.
	if unsettled := settle(context.WithoutCancel(ctx), back, r.Workspace); err != nil || unsettled != nil {
		return errors.Join(err, unsettled)
	}
	return errors.Join(os.RemoveAll(replaced(r.Workspace, staged.dir)), os.RemoveAll(replacedFiles(filesBeside(r.Workspace), staged.dir)))
}

// restore runs in the one transaction.
func (l loader) restore(ctx context.Context, r Restore, file *os.File, staged *stage, id string) error {
	if err := l.checkEmpty(ctx); err != nil {
		return err
	}
	r.Fault("schema")
	if err := l.makeSchema(ctx); err != nil {
		return err
	}
	r.Fault("rows")
	if err := staged.begin(); err != nil {
		return err
	}
	if err := walkArchive(file, newMeter("restoring", r.Progress), func(header *tar.Header, content io.Reader) error {
		table, ok := l.table(header.Name)
		if !ok {
			return staged.keep(header, content)
		}
		if err := l.load(ctx, table, content); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, table := range l.manifest.Tables {
		if err := l.resume(ctx, table); err != nil {
			return fmt.Errorf("ids of table %s: %w", table.Name, err)
		}
	}
	if err := l.migrate(ctx, l.manifest.Schema, l.all[len(l.all)-1].version); err != nil {
		return err
	}
	if err := staged.finish(); err != nil {
		return err
	}
	// Who has logged out since the backup would be logged in again, and a link that was used
	// up would be good once more. Tokens that were made for programs stay.
	if _, err := l.conn.ExecContext(ctx, "DELETE FROM tokens WHERE kind IN ('session', 'login')"); err != nil {
		return fmt.Errorf("end the sessions: %w", err)
	}
	r.Fault("commit")
	return l.sign(ctx, id, time.Now().UTC())
}

func (l loader) table(name string) (SavedTable, bool) {
	for _, table := range l.manifest.Tables {
		if name == tablePrefix+table.Name+tableSuffix {
			return table, true
		}
	}
	return SavedTable{}, false
}

// look opens what was restored, as everybody will.
func look(ctx context.Context, config Config) (into string, problems []string, err error) {
	config.Schema = SchemaCurrent
	s, err := Open(ctx, config)
	if err != nil {
		return "", nil, err
	}
	problems, err = s.Integrity(ctx)
	return s.Describe(), problems, errors.Join(err, s.Close())
}

// SettleRestore does what a restore that died has left to do: a workspace that
// was laid ready takes its place when the rows were committed, and is removed
// when they were not. Only the holder of the lock may call it, before it uses
// the workspace.
func (s *Store) SettleRestore(ctx context.Context, workspace string) error {
	return wrap("finish a restore that was interrupted", settle(ctx, s.back, workspace))
}

func settle(ctx context.Context, back backend, workspace string) error {
	left, err := filepath.Glob(escapeGlob(workspace) + stagingInfix + "*")
	if err != nil {
		return err
	}
	for _, dir := range left {
		committed, err := restored(ctx, back, strings.TrimPrefix(dir, workspace+stagingInfix))
		if err != nil {
			return err
		}
		if !committed {
			err = os.RemoveAll(dir)
		} else {
			err = install(dir, workspace)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// restored reports whether the restore of this id was committed.
func restored(ctx context.Context, back backend, id string) (bool, error) {
	columns, err := catalog{back.reader(), back.dialect()}.columns(ctx, "audit_entries")
	if err != nil || len(columns) == 0 {
		return false, err
	}
	var n int
	err = back.reader().QueryRowContext(ctx,
		"SELECT COUNT(*) FROM audit_entries WHERE id = $1 AND action = $2", id, restoredAction).Scan(&n)
	return n > 0, err
}

// escapeGlob makes filepath.Glob take a path as it is.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// dialect is that of the database which the configuration names.
func (c Config) dialect() string {
	if c.URL == "" {
		return dialect.SQLite
	}
	return dialect.Postgres
}
