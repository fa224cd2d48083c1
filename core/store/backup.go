package store

import (
	"archive/tar"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"entgo.io/ent/dialect"
)

// Backup says what to save, and where.
type Backup struct {
	File  string // the archive to write
	Force bool   // overwrite File
	// Workspace is the directory of the agent; empty saves none.
	Workspace string
	// Files is the directory of the bytes of files; empty saves none.
	Files string
	// Settings is the file harness.env, which can hold secrets; empty leaves
	// it out.
	Settings string
	// Version is what the program calls itself.
	Version  string
	Progress Progress // may be nil
}

// BackupReport is what was saved.
type BackupReport struct {
	Manifest
	Bytes   int64    `json:"bytes"`             // size of the file
	Skipped []string `json:"skipped,omitempty"` // what of the workspace was left out, and why
	Damaged []string `json:"damaged,omitempty"` // bytes of files that are not what was kept: saved as they are
}

// Backup writes all rows, as they are at one instant, the bytes of files and the
// workspace into one file that Restore takes on either database. It is made while others read
// and write, in memory that does not depend on how much there is; on SQLite the
// write-ahead log grows meanwhile. Until it has succeeded there is no such
// file, only .NAME.*.tmp beside it, which a process that is killed leaves. A
// schema that is older than this binary's is saved as it is.
func (s *Store) Backup(ctx context.Context, b Backup) (report BackupReport, err error) {
	err = replaceFile(b.File, b.Force, func(file, spool *os.File) (err error) {
		report, err = s.backupInto(ctx, b, file, spool)
		return err
	})
	if err != nil {
		return BackupReport{}, wrap("back up to "+b.File, err)
	}
	return report, nil
}

func (s *Store) backupInto(ctx context.Context, b Backup, file, spool *os.File) (report BackupReport, err error) {
	archive := newArchive(file, spool, b.Progress)
	// The bytes of files come to their place before their rows, and go after them. So
	// those that are there before the tables are read, and those that came until after
	// that, are all that the rows refer to.
	saved := make(map[string]bool)
	if err := saveBytes(ctx, archive, b.Files, saved, &report); err != nil {
		return report, err
	}
	if err := s.saveTables(ctx, archive, b, &report); err != nil {
		return report, err
	}
	if err := saveBytes(ctx, archive, b.Files, saved, &report); err != nil {
		return report, err
	}
	if err := saveFiles(ctx, archive, b, &report); err != nil {
		return report, err
	}
	if err := saveManifest(archive, report.Manifest); err != nil {
		return report, err
	}
	if err := archive.finish(); err != nil {
		return report, err
	}
	report.Bytes, err = file.Seek(0, io.SeekCurrent)
	return report, err
}

// saveTables saves what one transaction sees, and so one instant.
func (s *Store) saveTables(ctx context.Context, to *archive, b Backup, report *BackupReport) error {
	begin := "BEGIN"
	if s.back.dialect() == dialect.Postgres {
		begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	}
	conn, err := s.back.reader().Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // it only goes back to the pool
	return inTransaction(ctx, conn, begin, func(conn *sql.Conn) error {
		from := catalog{conn, s.back.dialect()}
		version, err := from.version(ctx)
		if err != nil {
			return err
		}
		newest, err := newestVersion(from.dialect)
		if err != nil {
			return err
		}
		if version > newest {
			return newerSchema(version, newest)
		}
		report.Manifest = Manifest{
			Format: backupFormat, Harness: b.Version, Schema: version, Database: from.dialect, CreatedAt: s.now(), Files: report.Files,
		}
		for _, table := range knownTables() {
			if err := from.save(ctx, to, table, &report.Manifest); err != nil {
				return fmt.Errorf("table %s: %w", table, err)
			}
		}
		return nil
	})
}

// save adds one table; a table that the schema does not have yet is left out.
func (c catalog) save(ctx context.Context, to *archive, table string, manifest *Manifest) (err error) {
	saved := SavedTable{Name: table}
	if saved.Columns, err = c.columns(ctx, table); err != nil || len(saved.Columns) == 0 {
		return err
	}
	name := tablePrefix + table + tableSuffix
	_, saved.SHA256, err = to.add(plainHeader(name, manifest.CreatedAt), func(out io.Writer) error {
		saved.Rows, err = c.dump(ctx, table, saved.Columns, out)
		return err
	})
	if err != nil {
		return err
	}
	// After the rows: what it says now is no less than what they have.
	if saved.Sequence, err = c.sequence(ctx, table); err != nil {
		return err
	}
	manifest.Tables = append(manifest.Tables, saved)
	return nil
}

// dump writes the rows of a table, in the order of its first column, which is
// its primary key.
func (c catalog) dump(ctx context.Context, table string, columns []savedColumn, out io.Writer) (n int64, err error) {
	query := "SELECT " + quotedList(columns) + " FROM " + quoted(table) + " ORDER BY " + quoted(columns[0].Name)
	rows, err := c.from.QueryContext(ctx, query)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	var line []byte
	for ; rows.Next(); n++ {
		if err := rows.Scan(into...); err != nil {
			return n, err
		}
		if line, err = appendRow(line[:0], columns, values); err != nil {
			return n, fmt.Errorf("row %d: %w", n+1, err)
		}
		if _, err := out.Write(line); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}

func saveManifest(to *archive, manifest Manifest) error {
	encoded, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	_, _, err = to.add(plainHeader(manifestName, manifest.CreatedAt), func(out io.Writer) error {
		_, err := io.Copy(out, strings.NewReader(string(encoded)+"\n"))
		return err
	})
	return err
}

// saveFiles saves the workspace and the settings.
func saveFiles(ctx context.Context, to *archive, b Backup, report *BackupReport) error {
	if b.Settings != "" {
		info, err := os.Stat(b.Settings)
		if err != nil {
			return err
		}
		header := tar.Header{Name: settingsName, Mode: 0o600, ModTime: info.ModTime()}
		if err := saveFile(to, header, b.Settings, &report.Manifest); err != nil {
			return err
		}
	}
	if b.Workspace == "" {
		return nil
	}
	w := &workspaceSaver{to: to, root: b.Workspace, report: report}
	return w.save(ctx)
}

// saveBytes saves what lies in the directory of the bytes of files and is not among those
// that were saved, to which it adds. Those that are removed meanwhile are left out.
func saveBytes(ctx context.Context, to *archive, dir string, saved map[string]bool, report *BackupReport) error {
	if dir == "" {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if !entry.Type().IsRegular() || !bytesName.MatchString(name) || saved[name] {
			return nil
		}
		header := tar.Header{Name: filesName + name, Mode: 0o400, ModTime: report.CreatedAt}
		err = saveFile(to, header, path, &report.Manifest)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		saved[name] = true
		if sum := report.Files[len(report.Files)-1].SHA256; sum != entry.Name() {
			report.Damaged = append(report.Damaged, path+": its bytes have the checksum "+sum)
		}
		return nil
	})
}

// saveFile adds one regular file, as long as it is when it is opened.
func saveFile(to *archive, header tar.Header, path string, manifest *Manifest) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	size, sum, err := to.add(header, func(out io.Writer) error {
		_, err := io.Copy(out, io.LimitReader(file, info.Size()))
		return err
	})
	if err != nil {
		return err
	}
	manifest.Files = append(manifest.Files, SavedFile{Name: header.Name, Size: size, SHA256: sum})
	return nil
}
