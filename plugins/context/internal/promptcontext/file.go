package promptcontext

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
)

// settleTime is how old a file's change must be for what was read to be kept:
// a second change within the resolution of the file system's clock would have
// the same time and could have the same size.
const settleTime = 2 * time.Second

// cachedFile is what a file held when it had this time and size.
type cachedFile struct {
	modified time.Time
	size     int64
	content  string
}

// read returns a file's content, trimmed and cut to the limit; the empty string
// when it is empty or cannot be read. Reads of an unchanged file are cached.
func (d *directory) read(name string) string {
	path := filepath.Join(d.path, name)
	stat, err := os.Lstat(path)
	if err != nil {
		d.unreadable(path, err)
		return ""
	}
	if kept, ok := d.cache[name]; ok && kept.modified.Equal(stat.ModTime()) && kept.size == stat.Size() {
		return kept.content
	}
	now := time.Now()
	content, err := readRegular(path, stat, d.maxBytes)
	if err != nil {
		d.unreadable(path, err)
		return ""
	}
	delete(d.cache, name)
	if now.Sub(stat.ModTime()) > settleTime {
		d.cache[name] = cachedFile{modified: stat.ModTime(), size: stat.Size(), content: content}
	}
	return content
}

func (d *directory) unreadable(path string, err error) {
	if !errors.Is(err, fs.ErrNotExist) { // gone since the directory was listed
		d.log.Warn("context file could not be read; the prompt goes without it", "file", path, "err", err)
	}
}

// readRegular reads at most limit bytes of the regular file that stat is of.
func readRegular(path string, stat fs.FileInfo, limit int64) (string, error) {
	if !stat.Mode().IsRegular() {
		return "", fmt.Errorf("not a regular file: %s", stat.Mode().Type())
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	opened, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !os.SameFile(stat, opened) {
		return "", errors.New("replaced while it was read")
	}
	raw, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return "", err
	}
	if int64(len(raw)) <= limit {
		return clean(string(raw)), nil
	}
	kept := cutAt(string(raw), int(limit))
	mark := fmt.Sprintf("[cut: the first %d of %d bytes of %s]", len(kept), max(opened.Size(), limit+1), stat.Name())
	return strings.TrimLeft(clean(kept)+"\n\n"+mark, "\n"), nil
}

// cutAt returns the first limit bytes of s, whole characters only.
func cutAt(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// clean returns s as valid UTF-8 without white space around it.
func clean(s string) string {
	return strings.TrimSpace(strings.ToValidUTF8(s, string(utf8.RuneError)))
}
