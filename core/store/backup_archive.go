package store

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
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
	filesName     = FilesName + "/"
)

// FilesName is the directory of the bytes of files, beside the workspace.
const FilesName = "files"

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

// SavedFile is a file in a backup: workspace/PATH, files/AB/SHA256 or harness.env.
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

// bytesName is how the bytes of files are named below their directory: AB/SHA256.
var bytesName = regexp.MustCompile(`^[0-9a-f]{2}/[0-9a-f]{64}$`)

// entryName checks a name in an archive: nothing in a backup may reach outside
// of the places that it is restored to.
func entryName(name string) error {
	rest, inWorkspace := strings.CutPrefix(name, workspaceName)
	table, inTables := strings.CutPrefix(name, tablePrefix)
	bytes, inFiles := strings.CutPrefix(name, filesName)
	switch {
	case name == manifestName, name == settingsName:
		return nil
	case inWorkspace && filepath.IsLocal(rest) && path.Clean(rest) == rest:
		return nil
	case inFiles && bytesName.MatchString(bytes) && strings.HasPrefix(path.Base(bytes), path.Dir(bytes)):
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

// archive is a backup that is being written. What goes into it is written to a
// spool file first: tar wants to know sizes beforehand, and what is saved may
// change meanwhile.
type archive struct {
	file  *os.File
	spool *os.File
	gzip  *gzip.Writer
	tar   *tar.Writer
	meter *meter
}

func newArchive(file, spool *os.File, tell Progress) *archive {
	zip := gzip.NewWriter(file)
	return &archive{file: file, spool: spool, gzip: zip, tar: tar.NewWriter(zip), meter: newMeter("saving", tell)}
}

// Progress is told, every MiB, what a backup or a restore is at, and how many bytes are
// done. It must return at once.
type Progress func(what string, done int64)

// meter counts the bytes that are written to it, for a Progress.
type meter struct {
	doing, entry string
	done, told   int64
	tell         Progress
}

func newMeter(doing string, tell Progress) *meter { return &meter{doing: doing, tell: tell} }

// of names the entry of the archive whose bytes follow.
func (m *meter) of(entry string) *meter {
	m.entry = entry
	return m
}

func (m *meter) Write(p []byte) (int, error) {
	m.done += int64(len(p))
	if m.tell != nil && m.done-m.told >= 1<<20 {
		m.told = m.done
		m.tell(m.doing+" "+m.entry, m.done)
	}
	return len(p), nil
}

// add saves what fill writes as a regular file.
func (a *archive) add(header tar.Header, fill func(io.Writer) error) (size int64, sum string, err error) {
	if err := a.rewind(true); err != nil {
		return 0, "", err
	}
	hash := sha256.New()
	spool := bufio.NewWriterSize(a.spool, 1<<16)
	if err := fill(io.MultiWriter(spool, hash, a.meter.of(header.Name))); err != nil {
		return 0, "", err
	}
	if err := spool.Flush(); err != nil {
		return 0, "", err
	}
	if size, err = a.spool.Seek(0, io.SeekCurrent); err != nil {
		return 0, "", err
	}
	if err := a.rewind(false); err != nil {
		return 0, "", err
	}
	header.Typeflag, header.Size = tar.TypeReg, size
	if err := a.tar.WriteHeader(&header); err != nil {
		return 0, "", err
	}
	_, err = io.Copy(a.tar, a.spool)
	return size, hex.EncodeToString(hash.Sum(nil)), err
}

// rewind goes to the spool's beginning, and empties it.
func (a *archive) rewind(empty bool) error {
	_, err := a.spool.Seek(0, io.SeekStart)
	if err == nil && empty {
		err = a.spool.Truncate(0)
	}
	return err
}

// finish writes what is pending, to the disk.
func (a *archive) finish() error {
	if err := a.tar.Close(); err != nil {
		return err
	}
	if err := a.gzip.Close(); err != nil {
		return err
	}
	return a.file.Sync()
}

// plainHeader is the header of a file that is made for the archive.
func plainHeader(name string, at time.Time) tar.Header {
	return tar.Header{Name: name, Mode: 0o600, ModTime: at}
}

// replaceFile makes path what write writes, wholly or not at all, readable for
// its owner only. Several may do so at once: each writes files of its own beside
// path, .NAME.*.tmp, of which only a process that is killed leaves one.
func replaceFile(path string, force bool, write func(file, spool *os.File) error) (err error) {
	if err := mayWrite(path, force); err != nil {
		return err
	}
	file, err := scratch(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no directory %s; make it first, or name another file", filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	defer func() {
		if file != nil {
			err = errors.Join(err, file.Close(), os.Remove(file.Name()))
		}
	}()
	spool, err := scratch(path)
	if err != nil {
		return err
	}
	defer spool.Close()                             // nobody reads it any more
	if err := os.Remove(spool.Name()); err != nil { // goes with the process, however that ends
		return err
	}
	if err := write(file, spool); err != nil {
		return err
	}
	if err := place(file.Name(), path, force); err != nil {
		return err
	}
	err, file = file.Close(), nil
	return errors.Join(err, syncDir(filepath.Dir(path)))
}

func mayWrite(path string, force bool) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory; name a file", path)
	case !force:
		return fmt.Errorf("%s exists already; name another file, or overwrite it with --force", path)
	}
	return nil
}

// scratch makes a file beside path that nobody else has, of mode 0600.
func scratch(path string) (*os.File, error) {
	dir, name := filepath.Split(path)
	return os.CreateTemp(filepath.Clean(dir), "."+name+".*.tmp")
}

// place gives a scratch file its name. Without force, a file that came there
// meanwhile stays: of a link, unlike of a rename, the system itself sees to it.
func place(from, path string, force bool) error {
	if !force && os.Link(from, path) == nil {
		return os.Remove(from)
	}
	// It exists, or it is forced, or the file system has no hard links.
	if err := mayWrite(path, force); err != nil {
		return err
	}
	return os.Rename(from, path)
}

// syncDir makes the names in a directory survive a power failure.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
