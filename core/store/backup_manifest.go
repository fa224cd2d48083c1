package store

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// backupFormat is the version of the archive's layout.
const backupFormat = 1

// The names in a backup, which is a gzipped tar.
const (
	manifestName  = "manifest.json" // the last entry
	settingsName  = "harness.env"
	tablePrefix   = "tables/"
	tableSuffix   = ".jsonl"
	workspaceName = "workspace/"
)

// Manifest says what is in a backup. It is the archive's last entry, so that an
// archive without an end has none.
type Manifest struct {
	Format    int          `json:"format"`
	Harness   string       `json:"harness"`  // version of the program that made it
	Schema    int          `json:"schema"`   // version of the schema that the tables have
	Database  string       `json:"database"` // sqlite3 or postgres, where it was made
	CreatedAt time.Time    `json:"createdAt"`
	Tables    []SavedTable `json:"tables"`
	Files     []SavedFile  `json:"files,omitempty"`
}

// SavedTable is a table in a backup: tables/NAME.jsonl, a row a line.
type SavedTable struct {
	Name    string        `json:"name"`
	Rows    int64         `json:"rows"`
	SHA256  string        `json:"sha256"`
	Columns []savedColumn `json:"columns"`
	// Sequence is the highest id that was ever given out, of tables whose ids
	// the database makes.
	Sequence *int64 `json:"sequence,omitempty"`
}

// SavedFile is a file in a backup: workspace/PATH or harness.env.
type SavedFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"` // of regular files
	Link   string `json:"link,omitempty"`   // what a symbolic link points to
}

// Rows counts the rows of all tables.
func (m Manifest) Rows() (n int64) {
	for _, table := range m.Tables {
		n += table.Rows
	}
	return n
}

// entryName checks a name in an archive: nothing in a backup may reach outside
// of the places that it is restored to.
func entryName(name string) error {
	rest, inWorkspace := strings.CutPrefix(name, workspaceName)
	table, inTables := strings.CutPrefix(name, tablePrefix)
	switch {
	case name == manifestName, name == settingsName:
		return nil
	case inWorkspace && filepath.IsLocal(rest) && path.Clean(rest) == rest:
		return nil
	case inTables && strings.HasSuffix(table, tableSuffix) && !strings.ContainsAny(table, `/\`):
		return nil
	}
	return fmt.Errorf("%q has no place in a backup", name)
}

// insideLink returns what a link of the workspace is saved as, a path relative
// to the link, and false when it leads out of the workspace. Both name and root
// are as filepath.WalkDir gives them; name is relative to root.
func insideLink(root, name, target string) (string, bool) {
	if filepath.IsAbs(target) {
		relative, err := filepath.Rel(filepath.Join(root, filepath.Dir(name)), target)
		if err != nil {
			return "", false
		}
		target = relative
	}
	return target, filepath.IsLocal(filepath.Join(filepath.Dir(name), target))
}

// kept is what of a file's mode is saved.
func kept(mode fs.FileMode) int64 { return int64(mode.Perm()) }
