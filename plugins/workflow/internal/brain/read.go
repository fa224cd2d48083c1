package brain

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Text is a file that somebody has left below .brain.
type Text struct {
	Path  string // in the project: .brain/research/storage.md
	Text  string
	Fault error // why it cannot be read
}

// Read reads a file that agents leave, such as PLAN.md or research/storage.md. found is false when there is
// none. A file that is larger than so many bytes, a link, and what is no text, are errors: nothing
// is left out of what is read.
func (b *Brain) Read(name string, most int) (text string, found bool, err error) {
	return readBelow(b.root, b.path, name, most)
}

// ReadIn is Read for any directory of a project, such as a worktree. It makes nothing there.
func ReadIn(dir, name string, most int) (text string, found bool, err error) {
	at := filepath.Join(dir, Dir)
	root, err := look(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, explain(at, err)
	}
	defer root.Close()
	return readBelow(root, at, name, most)
}

// TextsIn returns the Markdown files of a directory below .brain, by name, and how many more there are than
// so many files. Without such a directory there are none. Each file has at most so many bytes.
func TextsIn(dir, below string, files, most int) (texts []Text, more int, err error) {
	at := filepath.Join(dir, Dir, below)
	root, err := look(dir)
	if err == nil {
		defer root.Close()
		var inner *os.Root
		if inner, err = openBelow(root, below); err == nil {
			defer inner.Close()
			root = inner
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, nil
	case err != nil:
		return nil, 0, explain(at, err)
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, 0, explain(at, err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".md") })
	more = max(len(entries)-files, 0)
	for _, entry := range entries[:len(entries)-more] {
		text := Text{Path: path.Join(Dir, below, entry.Name())}
		text.Text, text.Fault = readText(root, entry.Name(), most)
		texts = append(texts, text)
	}
	return texts, more, nil
}

// look opens .brain of a directory, if it is there.
func look(dir string) (*os.Root, error) {
	above, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	return openDir(above, Dir)
}

// openBelow opens a directory below another, of which no part is a link.
func openBelow(root *os.Root, below string) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	for part := range strings.SplitSeq(filepath.ToSlash(below), "/") {
		if err != nil {
			return nil, err
		}
		if !filepath.IsLocal(part) {
			return nil, errors.Join(at.Close(), fmt.Errorf("%.60q leads out of it", below))
		}
		var next *os.Root
		next, err = openDir(at, part)
		at.Close()
		at = next
	}
	return at, err
}

func readBelow(root *os.Root, at, name string, most int) (text string, found bool, err error) {
	dir, file := path.Split(filepath.ToSlash(name))
	if !filepath.IsLocal(file) {
		return "", false, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%.60q is no file below %s", name, at)
	}
	if dir = strings.TrimSuffix(dir, "/"); dir != "" {
		below, err := openBelow(root, dir)
		if errors.Is(err, fs.ErrNotExist) {
			return "", false, nil
		}
		if err != nil {
			return "", false, explain(filepath.Join(at, dir), err)
		}
		defer below.Close()
		root = below
	}
	text, err = readText(root, file, most)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, explain(filepath.Join(at, name), err)
	}
	return text, true, nil
}

// readText reads a text whole.
func readText(dir *os.Root, name string, most int) (string, error) {
	file, err := openFile(dir, name, os.O_RDONLY)
	if err != nil {
		if of := new(fs.PathError); errors.As(err, &of) {
			err = of.Err
		}
		return "", err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	switch {
	case err != nil:
		return "", err
	case len(content) > most:
		return "", fmt.Errorf("%w: it has more than %d bytes; make it shorter", errNotPlain, most)
	case !utf8.Valid(content) || strings.ContainsRune(string(content), 0):
		return "", fmt.Errorf("%w: it is no text in UTF-8", errNotPlain)
	}
	return string(content), nil
}
