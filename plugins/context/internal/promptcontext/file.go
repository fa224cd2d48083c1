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

// file is what is kept of a context file: the beginning of it, clean.
type file struct {
	stat    fs.FileInfo // of when it was read
	content string
	kept    int // bytes of the file that content was made from
	cut     bool
}

// show returns the content, cut to room bytes, with a mark when something of
// the file is missing; the empty string when there is nothing in the file.
func (f file) show(name string, room int) string {
	content, kept, cut := f.content, f.kept, f.cut
	if len(content) > room {
		content, cut = clean(cutAt(content, room)), true
		kept = min(kept, len(content))
	}
	if !cut {
		return content
	}
	mark := fmt.Sprintf("[cut: the first %d of %d bytes of %s]", kept, max(f.stat.Size(), int64(kept)+1), name)
	return strings.TrimLeft(content+"\n\n"+mark, "\n")
}

// read returns a file, cut to the limit. What cannot be read is an empty file.
// Reads of an unchanged file are cached.
func (d *directory) read(name string) file {
	path := filepath.Join(d.path, name)
	stat, err := os.Stat(path)
	if err != nil {
		d.skip(name, err)
		return file{}
	}
	if kept, ok := d.cache[name]; ok && unchanged(kept.stat, stat) {
		return kept
	}
	now := time.Now()
	read, err := readRegular(path, stat, d.maxBytes)
	if err != nil {
		d.skip(name, err)
		return file{}
	}
	delete(d.skipped, name)
	delete(d.cache, name)
	if now.Sub(stat.ModTime()) > settleTime {
		d.cache[name] = read
	}
	return read
}

// unchanged reports whether a path leads to the same file as before, which has
// the same time and size.
func unchanged(before, now fs.FileInfo) bool {
	return os.SameFile(before, now) && before.ModTime().Equal(now.ModTime()) && before.Size() == now.Size()
}

// readRegular reads at most limit bytes of the regular file that stat is of.
func readRegular(path string, stat fs.FileInfo, limit int64) (file, error) {
	if !stat.Mode().IsRegular() {
		return file{}, fmt.Errorf("not a regular file but %s", stat.Mode().Type())
	}
	opened, err := os.Open(path)
	if err != nil {
		return file{}, err
	}
	defer opened.Close()
	now, err := opened.Stat()
	if err != nil {
		return file{}, err
	}
	if !os.SameFile(stat, now) {
		return file{}, errors.New("replaced while it was read")
	}
	raw, err := io.ReadAll(io.LimitReader(opened, limit+1))
	if err != nil {
		return file{}, err
	}
	kept := cutAt(string(raw), int(limit))
	return file{stat: stat, content: clean(kept), kept: len(kept), cut: len(kept) < len(raw)}, nil
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
